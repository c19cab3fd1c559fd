//! The effect of changes of one number at a time: on the cycles of each schedule, and on the order of schedules.

use super::changes::Changed;
use super::plan::Plan;
use super::row::Row;
use super::summary::stem;
use crate::bench::geometric_mean;
use ember_tools::tables::{narrow, wrapped};
use itertools::Itertools;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The most changes and findings in the tables.
const SHOWN: usize = 40;

/// By how much a program may be slower on a better machine: replacement and banks have anomalies.
const ANOMALY: f64 = 1.01;

/// The effect of changes of one number at a time.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Tornado {
    /// The changes on each machine, those with the greatest effect on the first schedule first.
    pub bars: Vec<Bar>,
    /// How often each schedule is at least as fast as the next one of the sweep.
    pub order: Vec<Order>,
    /// Every point at which it is slower.
    pub behind: Vec<Behind>,
    /// Every point that is over 1 % slower on a machine that a change makes better.
    pub worse: Vec<Worse>,
}

/// A change on a machine, over all models.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Bar {
    /// The machine.
    pub target: String,
    /// The change.
    pub change: Changed,
    /// Its effect on each schedule, in the order of the sweep.
    pub schedules: Vec<Effect>,
}

/// The effect of a change on a schedule: cycles with it over cycles without it.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Effect {
    /// The schedule.
    pub schedule: String,
    /// The geometric mean over models.
    pub mean: Option<f64>,
    /// The least, with its model.
    pub least: Option<(f64, String)>,
    /// The greatest, with its model.
    pub most: Option<(f64, String)>,
    /// The speed relative to the next schedule: the geometric mean over models.
    pub of_next: Option<f64>,
    /// The least of it, with its model.
    pub least_of_next: Option<(f64, String)>,
}

/// How often a schedule is at least as fast as the next one.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Order {
    /// The schedule.
    pub schedule: String,
    /// The next one.
    pub next: String,
    /// The points at which both ran.
    pub points: usize,
    /// The points at which it is at least as fast.
    pub as_fast: usize,
    /// The points at which it is at most 1 % slower.
    pub about_as_fast: usize,
}

/// A point at which a schedule is slower than the next one.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Behind {
    /// The number of its point.
    pub point: usize,
    /// The model.
    pub model: String,
    /// The machine.
    pub target: String,
    /// The change; `null` for the machine as it is.
    pub change: Option<Changed>,
    /// The schedule.
    pub schedule: String,
    /// The next one.
    pub next: String,
    /// Its speed relative to the next one's.
    pub of_next: f64,
}

/// A point that is slower on a better machine.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Worse {
    /// The number of its point.
    pub point: usize,
    /// The model.
    pub model: String,
    /// The machine.
    pub target: String,
    /// The change.
    pub change: Changed,
    /// The schedule.
    pub schedule: String,
    /// Cycles with the change over cycles without it.
    pub slower: f64,
}

/// The settings of a point, by which points are found that differ in the change alone, or in the schedule alone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    settings: Vec<String>,
    change: Option<String>,
    schedule: String,
}

fn place(row: &Row) -> Place {
    let own = [&row.model, &row.target, &row.exact].map(Clone::clone);
    let numbers = row.parameters.iter().map(|(name, value)| format!("{name} {value}"));
    let settings = own.into_iter().chain([row.seed.to_string()]).chain(numbers).collect();
    let change = row.change.as_ref().map(|own| format!("{} {}", own.parameter, own.factor));
    Place { settings, change, schedule: row.schedule.clone() }
}

/// Returns the cycles of a point whose output is right.
fn cycles(row: &Row) -> Option<f64> {
    let right = row.result.cycles.filter(|_| !row.result.has_failed());
    right.map(|cycles| cycles.max(1) as f64)
}

/// Returns the effect of the changes of a sweep; `None` if it has none.
pub(super) fn tornado(plan: &Plan, rows: &[Row]) -> Option<Tornado> {
    if plan.changes.is_empty() {
        return None;
    }
    let known: BTreeMap<Place, &Row> = rows.iter().map(|row| (place(row), row)).collect();
    let schedules = plan.schedules();
    let next: BTreeMap<&str, &str> =
        schedules.iter().tuple_windows().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    // Cycles with the change over those without it.
    let effect = |row: &Row| {
        let base = known.get(&Place { change: None, ..place(row) })?;
        Some(cycles(row)? / cycles(base)?)
    };
    // The speed relative to the next schedule.
    let of_next = |row: &Row| {
        let schedule = (*next.get(row.schedule.as_str())?).to_owned();
        let other = known.get(&Place { schedule, ..place(row) })?;
        Some(cycles(other)? / cycles(row)?)
    };
    let changed = rows.iter().filter(|row| row.change.is_some());
    let groups = changed.into_group_map_by(|row| {
        let place = place(row);
        (row.target.clone(), place.change)
    });
    let summary = |rows: &[&Row], schedule: &str| {
        let own = || rows.iter().filter(|row| row.schedule == schedule);
        let effects: Vec<(f64, String)> =
            own().filter_map(|row| Some((effect(row)?, stem(&row.model)))).collect();
        let relative: Vec<(f64, String)> =
            own().filter_map(|row| Some((of_next(row)?, stem(&row.model)))).collect();
        let mean = |of: &[(f64, String)]| geometric_mean(of.iter().map(|own| own.0));
        let least = |of: &[(f64, String)]| of.iter().min_by(|a, b| a.0.total_cmp(&b.0)).cloned();
        Effect {
            schedule: schedule.to_owned(),
            mean: mean(&effects),
            least: least(&effects),
            most: effects.iter().max_by(|a, b| a.0.total_cmp(&b.0)).cloned(),
            of_next: mean(&relative),
            least_of_next: least(&relative),
        }
    };
    let mut bars: Vec<Bar> = groups
        .into_iter()
        .sorted_by(|a, b| a.1[0].point.cmp(&b.1[0].point))
        .filter_map(|((target, _), rows)| {
            let change = rows[0].change.clone()?;
            let schedules = schedules.iter().map(|schedule| summary(&rows, schedule)).collect();
            Some(Bar { target, change, schedules })
        })
        .collect();
    bars.sort_by(|a, b| b.reach().total_cmp(&a.reach()));
    let order = next.iter().map(|(schedule, next)| {
        let own = rows.iter().filter(|row| row.schedule == *schedule);
        let speeds: Vec<f64> = own.filter_map(of_next).collect();
        Order {
            schedule: (*schedule).to_owned(),
            next: (*next).to_owned(),
            points: speeds.len(),
            as_fast: speeds.iter().filter(|speed| **speed >= 1.0).count(),
            about_as_fast: speeds.iter().filter(|speed| **speed * ANOMALY >= 1.0).count(),
        }
    });
    let order = order.sorted_by_key(|own| schedules.iter().position(|name| *name == own.schedule));
    let behind = rows.iter().filter_map(|row| {
        let speed = of_next(row).filter(|speed| *speed < 1.0)?;
        Some(Behind {
            point: row.point,
            model: row.model.clone(),
            target: row.target.clone(),
            change: row.change.clone(),
            schedule: row.schedule.clone(),
            next: (*next.get(row.schedule.as_str())?).to_owned(),
            of_next: speed,
        })
    });
    let better = |row: &Row| {
        let own = row.change.as_ref()?;
        let same = plan
            .changes
            .iter()
            .find(|other| other.parameter == own.parameter && other.factor == own.factor);
        same.filter(|change| change.better).map(|_| own.clone())
    };
    let worse = rows.iter().filter_map(|row| {
        let change = better(row)?;
        let slower = effect(row).filter(|slower| *slower > ANOMALY)?;
        let (model, target) = (row.model.clone(), row.target.clone());
        let (point, schedule) = (row.point, row.schedule.clone());
        Some(Worse { point, model, target, change, schedule, slower })
    });
    Some(Tornado {
        bars,
        order: order.collect(),
        behind: behind.sorted_by(|a, b| a.of_next.total_cmp(&b.of_next)).collect(),
        worse: worse.sorted_by(|a, b| b.slower.total_cmp(&a.slower)).collect(),
    })
}

impl Bar {
    /// Returns by how much the change moves the first schedule, whatever the direction.
    fn reach(&self) -> f64 {
        self.schedules.first().and_then(|own| own.mean).map_or(0.0, |mean| mean.ln().abs())
    }
}

impl Tornado {
    /// Returns the effects in readable form.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        let several = self.bars.iter().map(|bar| &bar.target).unique().count() > 1;
        let first = self.bars.first().and_then(|bar| bar.schedules.first());
        let first = first.map_or("", |own| own.schedule.as_str());
        let cycles = format!("cycles of {first}");
        let mut table = narrow(&["change", &cycles, "least", "most", "least of next"]);
        for bar in self.bars.iter().take(SHOWN) {
            let Changed { parameter, before, after, .. } = &bar.change;
            let on = if several { format!("{}\n", bar.target) } else { String::new() };
            let own = bar.schedules.first();
            let percent = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), signed);
            let named = |x: Option<&(f64, String)>| {
                x.map_or_else(|| "-".to_owned(), |(x, model)| format!("{}\n{model}", signed(*x)))
            };
            let next = bar.schedules.iter().filter_map(|own| {
                let (speed, _) = own.least_of_next.as_ref()?;
                Some(format!("{} {:.1} %", own.schedule, 100.0 * speed))
            });
            table.add_row([
                format!("{on}{parameter}\n{before} to {after}"),
                percent(own.and_then(|own| own.mean)),
                named(own.and_then(|own| own.least.as_ref())),
                named(own.and_then(|own| own.most.as_ref())),
                next.collect::<Vec<_>>().join("\n"),
            ]);
        }
        let _ = writeln!(out, "The effect of each change, over all models\n{table}");
        if self.bars.len() > SHOWN {
            let _ = writeln!(out, "{} further changes have less effect.", self.bars.len() - SHOWN);
        }
        for Order { schedule, next, points, as_fast, about_as_fast } in &self.order {
            let share = 100.0 * *as_fast as f64 / (*points).max(1) as f64;
            let line = format!(
                "`{schedule}` is at least as fast as `{next}` at {as_fast} of {points} points ({share:.1} %), and at \
                 most 1 % slower at {about_as_fast}."
            );
            let _ = writeln!(out, "\n{}", wrapped(&line));
        }
        for own in self.behind.iter().take(SHOWN) {
            let line = format!(
                "{} on {}, {}: `{}` is at {:.1} % of `{}`",
                stem(&own.model),
                own.target,
                own.change.as_ref().map_or_else(|| "as it is".to_owned(), described),
                own.schedule,
                100.0 * own.of_next,
                own.next
            );
            let _ = writeln!(out, "{}", wrapped(&line));
        }
        if self.behind.len() > SHOWN {
            let _ = writeln!(out, "and {} further points", self.behind.len() - SHOWN);
        }
        for own in &self.worse {
            let line = format!(
                "{} on {}, {}: `{}` is {:.1} % slower on a better machine",
                stem(&own.model),
                own.target,
                described(&own.change),
                own.schedule,
                100.0 * (own.slower - 1.0)
            );
            let _ = writeln!(out, "{}", wrapped(&line));
        }
        out
    }
}

fn signed(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * (ratio - 1.0))
}

fn described(change: &Changed) -> String {
    format!("{} from {} to {}", change.parameter, change.before, change.after)
}
