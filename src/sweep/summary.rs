//! The result of a sweep in short: the points of each model that no other one beats, and the points without a program.

use super::plan::Plan;
use super::row::{Axis, Row};
use super::tornado::{Tornado, tornado};
use ember_tools::tables::{grouped, narrow, prefixed, wrapped};
use itertools::Itertools;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::path::Path;

/// The most points of a model in the table.
const SHOWN: usize = 6;

/// The result of a sweep.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Sweep")]
pub struct Summary {
    /// The settings in which points differ.
    pub axes: Vec<Axis>,
    /// Every point, in order.
    pub points: Vec<Row>,
    /// By model, the numbers of the points that no other one beats in both time and energy, the fastest first.
    pub pareto: BTreeMap<String, Vec<usize>>,
    /// The effect of changes of one number at a time, if the sweep has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tornado: Option<Tornado>,
    /// The points without a program.
    pub refused: usize,
    /// The points whose output is wrong or whose run did not end.
    pub failed: usize,
}

/// Returns the numbers of the points that no other one beats in both time and energy, the fastest first.
pub fn pareto<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<usize> {
    let measured = |row: &Row| {
        let ended = row.result.time_s.zip(row.result.energy_j).filter(|_| !row.result.has_failed());
        ended.map(|(time, energy)| (time, energy, row.point))
    };
    let mut measured: Vec<(f64, f64, usize)> = rows.into_iter().filter_map(measured).collect();
    measured.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
    let mut least = f64::INFINITY;
    measured.retain(|(_, energy, _)| {
        let better = *energy < least;
        least = least.min(*energy);
        better
    });
    measured.into_iter().map(|(_, _, point)| point).collect()
}

/// Returns the name of a model's file without its ending.
pub(super) fn stem(model: &str) -> String {
    let stem = Path::new(model).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.unwrap_or_else(|| model.to_owned())
}

impl Summary {
    /// Summarises the rows of a sweep.
    pub fn new(plan: &Plan, points: Vec<Row>) -> Summary {
        let by_model = points.iter().into_group_map_by(|row| row.model.clone()).into_iter();
        let pareto = by_model.map(|(model, rows)| (model, pareto(rows))).collect();
        let refused = points.iter().filter(|row| row.result.is_refused()).count();
        let failed = points.iter().filter(|row| row.result.has_failed()).count();
        let tornado = tornado(plan, &points);
        Summary { axes: plan.axes().to_vec(), points, pareto, tornado, refused, failed }
    }

    /// Returns the summary in readable form.
    pub fn text(&self) -> String {
        let Summary { points, refused, failed, .. } = self;
        let mut text = match &self.tornado {
            Some(tornado) => format!("{}\n", tornado.text()),
            None => format!(
                "The points that no other one beats in both time and energy\n{}\n\n",
                self.table()
            ),
        };
        if let Some(schedules) = self.schedules() {
            let _ = writeln!(text, "The schedules of each model, the fastest first\n{schedules}\n");
        }
        let ran = points.len() - refused - failed;
        let numbers = [ran, *refused, *failed].map(|n| grouped(n as u64));
        let [ran, refused, failed] = numbers;
        let all = grouped(points.len() as u64);
        let _ =
            writeln!(text, "{all} points: {ran} ran, {refused} have no program, {failed} failed.");
        for (reason, count) in self.reasons().into_iter().take(SHOWN) {
            let _ =
                writeln!(text, "{}", wrapped(&format!("{count} without a valid result: {reason}")));
        }
        text
    }

    fn table(&self) -> impl Display {
        let mut table = narrow(&["model", "point", "cycles", "of bound", "energy", "settings"]);
        for (model, front) in &self.pareto {
            for point in front.iter().take(SHOWN) {
                let row = &self.points[*point];
                table.add_row([
                    stem(model),
                    point.to_string(),
                    row.result.cycles.map_or_else(String::new, grouped),
                    row.result
                        .of_bound
                        .map_or_else(String::new, |of| format!("{:.1} %", of * 100.0)),
                    row.result.energy_j.map_or_else(String::new, |energy| prefixed(energy, "J")),
                    self.settings(row),
                ]);
            }
        }
        table
    }

    /// Returns the schedules of each model by their cycles, if points differ in nothing but the model and the schedule.
    fn schedules(&self) -> Option<impl Display> {
        let differ = |axis: &&Axis| axis.values.len() > 1 && axis.name != "model";
        let [axis] = &self.axes.iter().filter(differ).collect_vec()[..] else { return None };
        (axis.name == "schedule").then_some(())?;
        let mut table = narrow(&["model", "fastest", "cycles", "others, in times its cycles"]);
        for (model, rows) in &self.points.iter().chunk_by(|row| &row.model) {
            let ended = rows.filter(|row| !row.result.has_failed());
            let cycles = ended.filter_map(|row| Some((row.result.cycles?, &*row.schedule)));
            let by_cycles = cycles.sorted_by_key(|(cycles, _)| *cycles).collect_vec();
            let Some(((least, fastest), others)) = by_cycles.split_first() else { continue };
            let times = |cycles: u64| cycles as f64 / (*least).max(1) as f64;
            let mut others =
                others.iter().map(|(cycles, name)| format!("{name} {:.2}", times(*cycles)));
            table.add_row([stem(model), (*fastest).to_owned(), grouped(*least), others.join("\n")]);
        }
        Some(table)
    }

    /// Returns the values of a point on the axes that points differ in, the model apart.
    fn settings(&self, row: &Row) -> String {
        let axes = self.axes.iter().filter(|axis| axis.values.len() > 1 && axis.name != "model");
        axes.map(|axis| format!("{} {}", axis.name, row.value(&axis.name))).join("\n")
    }

    /// Returns the reasons of points that have one, the most frequent first.
    fn reasons(&self) -> Vec<(&str, usize)> {
        let reasons = self.points.iter().filter_map(|row| row.result.reason.as_deref());
        let mut counts: Vec<(&str, usize)> = reasons.counts().into_iter().collect();
        counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        counts
    }
}
