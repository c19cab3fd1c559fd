//! The course of a fit: evaluations for all figures, further ones without each family, then the fits that are about as
//! good.

use super::fit::{Figure, History, Of, Tried, figures};
use super::plan::{Headline, Plan};
use super::runs::{self, Found, Key, Programs, Runs};
use super::summary::{Interval, Measured, Read, Summary};
use crate::bench::{Row, geometric_mean};
use crate::job::Scope;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_tools::progress::Line;
use ember_tune::Point;
use std::collections::BTreeMap;

/// Fits, with the runs that are known already, and says what came of it.
///
/// # Errors
///
/// Fails if a run cannot be stored, or no point has all figures.
pub(crate) fn run(plan: &Plan, runs: &mut Runs, line: &Line) -> Checked<Summary> {
    let figures = figures(plan);
    let mut history = History { figures: &figures, tried: Vec::new() };
    let all = plan.evaluations + plan.without_family * plan.families.len();
    let families = (0..plan.families.len()).filter(|_| plan.families.len() > 1).map(Of::Without);
    let phases = std::iter::once((Of::All, plan.evaluations))
        .chain(families.map(|of| (of, plan.without_family)));
    for (of, count) in phases {
        for _ in 0..count {
            let Some(point) = history.propose(plan, of) else { break };
            let best = history.best(Of::All).and_then(|at| history.factor(at, Of::All));
            let best = best.map_or(String::new(), |best| format!(", mean factor {best:.3}"));
            line.within(format!("evaluation {} of {all}{best}: ", history.tried.len() + 1));
            let residuals = residuals(plan, runs, &figures, &point, line)?;
            history.tried.push(Tried { point, residuals });
        }
    }
    if history.best(Of::All).is_none() {
        return Err(vec![none(&history)]);
    }
    for number in 0..plan.space.parameters.len() {
        for up in [false, true] {
            line.within(format!("the ends of {}: ", plan.space.parameters[number].name));
            ends(plan, runs, &mut history, (number, up), line)?;
        }
    }
    let Some(best) = history.best(Of::All) else { return Err(vec![none(&history)]) };
    line.within("the best fit: ");
    let rows = rows(plan, &history.tried[best].point, line)?;
    let readings = readings(plan, runs, &history.tried[best].point, line)?;
    let good = history.as_good(plan);
    let headline = match &plan.headline {
        Some(own) => {
            let chosen = history.spread(plan, &good, own.fits);
            headline(plan, own, runs, (&history, &chosen), line)?
        }
        None => Vec::new(),
    };
    Ok(Summary::new(plan, &history, &good, rows, readings, headline).with_wrong(runs.wrong()))
}

/// Evaluates points that differ from the best fit in one number: by halves towards the last value, in one direction, that is
/// about as good. A point that is better than the best counts as one that is about as good.
fn ends(
    plan: &Plan,
    runs: &mut Runs,
    history: &mut History<'_>,
    (number, up): (usize, bool),
    line: &Line,
) -> Checked<()> {
    let Some(best) = history.best(Of::All) else { return Ok(()) };
    let limit = history.rms(best, Of::All).unwrap_or(0.0) * plan.as_good;
    let mut good = history.tried[best].point.clone();
    let mut end = good.clone();
    end[number] = plan.space.parameters[number].end(up);
    for at in 0..plan.ends {
        // The end of the range comes first: all values may be about as good.
        let middle = plan.space.parameters[number].middle(&good[number], &end[number]);
        let value = if at == 0 { Some(end[number].clone()) } else { middle };
        let Some(value) = value.filter(|value| *value != good[number]) else { break };
        let mut point = good.clone();
        point[number] = value;
        let known = history.tried.iter().position(|tried| tried.point == point);
        let known = match known {
            Some(known) => known,
            None => {
                let residuals = residuals(plan, runs, history.figures, &point, line)?;
                history.tried.push(Tried { point: point.clone(), residuals });
                history.tried.len() - 1
            }
        };
        if history.rms(known, Of::All).is_some_and(|rms| rms <= limit) {
            good = point;
        } else {
            end = point;
        }
    }
    Ok(())
}

/// Returns the error of a fit without a point that has all figures.
fn none(history: &History<'_>) -> Diagnostic {
    let reason = history.tried.iter().find_map(|tried| tried.residuals.as_ref().err());
    let reason = reason.map_or_else(|| "there are no figures".to_owned(), Clone::clone);
    let error = Diagnostic::global(format!("no point has all figures: {reason}"));
    error.with_help("the workloads must run on the machine, `ember-rewrite bench` shows each")
}

/// Returns the speedup of a program over `emb-opt0`, or the reason why there is none.
fn speedup(found: &Found, model: &str, program: &str) -> Result<f64, String> {
    if let Some(reason) = found.refused.as_ref().or(found.wrong.as_ref()) {
        return Err(format!("`{model}`: {reason}"));
    }
    let cycles = |program: &str| found.cycles.get(program).map(|cycles| (*cycles).max(1) as f64);
    let both = cycles("emb-opt0").zip(cycles(program));
    both.map(|(base, own)| base / own).ok_or_else(|| format!("`{model}` has no `{program}`"))
}

fn key(plan: &Plan, point: &Point, model: &str) -> Key {
    let (model, target) = (model.to_owned(), plan.target.clone());
    Key { model, target, parameters: plan.values(point), programs: Programs::Published }
}

/// Evaluates a point.
fn residuals(
    plan: &Plan,
    runs: &mut Runs,
    figures: &[Figure],
    point: &Point,
    line: &Line,
) -> Checked<Result<Vec<f64>, String>> {
    let mut residuals = Vec::new();
    for Figure { model, program, published, .. } in figures {
        let found = runs.get(plan, key(plan, point, model), line)?;
        match speedup(&found, model, program) {
            Ok(ours) => residuals.push((ours / published).ln()),
            Err(reason) => return Ok(Err(reason)),
        }
    }
    Ok(Ok(residuals))
}

/// Runs all programs of the workloads with published figures, for every comparison.
fn rows(plan: &Plan, point: &Point, line: &Line) -> Checked<Vec<Row>> {
    let fitted = plan.families.iter();
    let fitted =
        fitted.flat_map(|own| own.models.iter().map(|model| (&own.name, model, &plan.target)));
    let other = "not fitted".to_owned();
    let beside = plan.beside.iter().map(|model| (&other, model, &plan.beside_target));
    let mut rows: Vec<Row> = Vec::new();
    for (family, model, target) in fitted.chain(beside) {
        let name = super::plan::stem(model);
        if rows.iter().any(|row| row.workload == name) {
            continue;
        }
        line.say(model);
        let key = Key { target: target.clone(), ..key(plan, point, model) };
        let report = runs::report(plan, &key, Scope::Compared)?;
        let mut row = Row::of((name, 1.0), family.clone(), &report);
        plan.published.put_beside(&mut row);
        rows.push(row);
    }
    Ok(rows)
}

/// Compares figures with the workloads that they may belong to.
fn readings(plan: &Plan, runs: &mut Runs, point: &Point, line: &Line) -> Checked<Vec<Read>> {
    let mut readings = Vec::new();
    for (figures, models) in &plan.readings {
        for model in models {
            let found = runs.get(plan, key(plan, point, model), line)?;
            let published = plan.published.speedups_of(figures).into_iter().flatten();
            let factors = published.filter_map(|(program, published)| {
                let ours = speedup(&found, model, program).ok()?;
                Some((ours / published).ln().abs().exp())
            });
            let mean_factor = geometric_mean(factors);
            let workload = super::plan::stem(model);
            readings.push(Read { figures: figures.clone(), workload, mean_factor });
        }
    }
    Ok(readings)
}

/// Measures the headline at points, and with the machine as it is, on every target.
fn headline(
    plan: &Plan,
    own: &Headline,
    runs: &mut Runs,
    (history, chosen): (&History<'_>, &[usize]),
    line: &Line,
) -> Checked<Vec<Interval>> {
    let mut intervals = Vec::new();
    for target in &own.targets {
        let mut measure = |parameters: Vec<(String, String)>| -> Checked<Measured> {
            let mut cycles: BTreeMap<String, Found> = BTreeMap::new();
            for model in &own.models {
                let (target, parameters) = (target.clone(), parameters.clone());
                let programs = Programs::Best;
                let key = Key { model: model.clone(), target, parameters, programs };
                cycles.insert(model.clone(), runs.get(plan, key, line)?);
            }
            Ok(Measured::new(&cycles))
        };
        line.within(format!("{target} as it is: "));
        let now = measure(Vec::new())?;
        let mut fits = Vec::new();
        for (at, fit) in chosen.iter().enumerate() {
            line.within(format!("{target}, fit {} of {}: ", at + 1, chosen.len()));
            fits.push((fit + 1, measure(plan.values(&history.tried[*fit].point))?));
        }
        intervals.push(Interval::new(target.clone(), now, fits));
    }
    Ok(intervals)
}
