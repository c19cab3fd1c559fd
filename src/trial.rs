//! Trials of random models: every schedule has a valid program or a reason, no program is faster than the bound, the
//! search's is no slower than another schedule's, and a nested model takes the cycles of the same model with names.

use crate::job::{self, Scope};
use crate::report::Report;
use ember_compile::pipeline::{self, Inputs, Options};
use ember_language::diagnostic::{Diagnostic, Sources};
use ember_language::rules::Definitions;
use ember_prove::random::RandomModel;
use ember_tools::progress::Line;
use ember_tools::render::render;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// The file of a random model in messages.
const MODEL: &str = "<random>";

/// The relative difference in cycles between the two forms of a model.
const SAME_COST: f64 = 0.01;

/// The most models that are tried in order to make a failing one smaller.
const SMALLER: usize = 60;

/// The result of all trials.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct Trials {
    /// The models.
    pub models: usize,
    /// The programs that were run.
    pub programs: usize,
    /// The schedules without a program, each with its reason.
    pub missing: usize,
    /// The models that break a promise.
    pub findings: Vec<Finding>,
    /// The longest time of one model in milliseconds.
    pub slowest_ms: f64,
}

/// A model that breaks a promise.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "ModelFinding")]
pub struct Finding {
    /// The number of the model.
    pub model: usize,
    /// The broken promise.
    pub kind: Broken,
    /// The particulars.
    pub reason: String,
    /// The model, made as small as it still breaks the promise.
    pub text: String,
}

/// A promise that a model breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Broken {
    /// The compiler panicked.
    Panic,
    /// The job ended with an error.
    Error,
    /// A program's output is wrong, or its run did not end.
    Wrong,
    /// A program is faster than the bound.
    Bound,
    /// The search's program is slower than another schedule's.
    Slower,
    /// The nested and the named form of a model differ in cycles.
    Forms,
}

impl Broken {
    /// Returns the promise in a word or two.
    pub fn name(self) -> &'static str {
        match self {
            Broken::Panic => "panic",
            Broken::Error => "error",
            Broken::Wrong => "wrong output",
            Broken::Bound => "faster than the bound",
            Broken::Slower => "slower than another schedule",
            Broken::Forms => "nested and named differ",
        }
    }
}

/// Tries the models of a seed.
pub fn trials(
    sources: &Sources,
    options: &Options,
    definitions: &Definitions,
    (seed, models): (u64, &[usize]),
    done: impl Fn() + Sync,
) -> Trials {
    let one = |&at: &usize| {
        let seed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(at as u64);
        let model = RandomModel::random(seed, definitions);
        let start = Instant::now();
        let mut tried = try_one(sources, options, &model);
        let time = start.elapsed();
        if let Some((kind, _)) = tried.broken.clone() {
            let smallest = smallest(sources, options, definitions, model, kind);
            let reason =
                try_one(sources, options, &smallest).broken.map_or_else(String::new, |b| b.1);
            tried.finding = Some(Finding { model: at, kind, reason, text: smallest.text() });
        }
        done();
        (tried, time)
    };
    let all: Vec<(Tried, Duration)> = models.par_iter().map(one).collect();
    let slowest = all.iter().map(|(_, time)| time.as_secs_f64() * 1e3).fold(0.0, f64::max);
    let mut trials = Trials { models: models.len(), slowest_ms: slowest, ..Trials::default() };
    for (tried, _) in all {
        trials.programs += tried.programs;
        trials.missing += tried.missing;
        trials.findings.extend(tried.finding);
    }
    trials
}

/// The result of one model.
#[derive(Default)]
struct Tried {
    programs: usize,
    missing: usize,
    broken: Option<(Broken, String)>,
    finding: Option<Finding>,
}

/// Removes operations from a model as long as it breaks the same promise.
fn smallest(
    sources: &Sources,
    options: &Options,
    definitions: &Definitions,
    mut model: RandomModel,
    kind: Broken,
) -> RandomModel {
    let mut left = SMALLER;
    loop {
        let smaller: Vec<RandomModel> = model.smaller(definitions).collect();
        let breaks = smaller.into_iter().take_while(|_| {
            left = left.saturating_sub(1);
            left > 0
        });
        let mut breaks = breaks.filter(|smaller| {
            try_one(sources, options, smaller).broken.is_some_and(|(other, _)| other == kind)
        });
        match breaks.next() {
            Some(smaller) => model = smaller,
            None => return model,
        }
    }
}

/// Runs both forms of a model.
fn try_one(sources: &Sources, options: &Options, model: &RandomModel) -> Tried {
    let run = |text: String| {
        let caught = catch_unwind(AssertUnwindSafe(|| report(sources, options, &text)));
        caught.unwrap_or_else(|_| Err((Broken::Panic, "the compiler panicked".to_owned())))
    };
    let nested = match run(model.text()) {
        Ok(report) => report,
        Err(broken) => return Tried { broken: Some(broken), ..Tried::default() },
    };
    let missing = nested.programs.iter().filter(|record| record.missing.is_some()).count();
    let named = run(model.bound());
    let broken = promises(&nested).or_else(|| match named {
        Err((kind, reason)) => Some((kind, format!("with a name for every part: {reason}"))),
        Ok(named) => promises(&named).or_else(|| forms(&nested, &named)),
    });
    Tried { programs: nested.programs.len() - missing, missing, broken, finding: None }
}

fn report(sources: &Sources, options: &Options, text: &str) -> Result<Report, (Broken, String)> {
    let mut sources = sources.clone();
    sources.add(MODEL, text);
    let error = |sources: &Sources, errors: Vec<Diagnostic>| {
        (Broken::Error, render(sources, &errors, false))
    };
    let started = Instant::now();
    let inputs: Inputs = match pipeline::read(&mut sources, Path::new(MODEL), options) {
        Ok(inputs) => inputs,
        Err(errors) => return Err(error(&sources, errors)),
    };
    let (scope, line) = (Scope::Programs, Line::hidden());
    let time = (started, started.elapsed());
    match job::run(&mut sources, &inputs, options, scope, false, time, &line) {
        Ok(done) => Ok(done.report),
        Err(errors) => Err(error(&sources, errors)),
    }
}

/// Returns the first promise that a report breaks.
fn promises(report: &Report) -> Option<(Broken, String)> {
    let bound = report.best.bound_cycles;
    let best = report.best.record.cycles.unwrap_or(u64::MAX);
    let own = report.best.record.name.as_str();
    report.programs.iter().find_map(|record| {
        let name = &record.name;
        if record.missing.is_some() {
            return None;
        }
        if record.has_failed() {
            let reason = record.mismatch.as_deref().unwrap_or("no output");
            return Some((Broken::Wrong, format!("`{name}`: {reason}")));
        }
        let cycles = record.cycles.unwrap_or(u64::MAX);
        if cycles < bound {
            let by = &report.best.bound_by;
            return Some((
                Broken::Bound,
                format!("`{name}`: {cycles} cycles, bound {bound} ({by})"),
            ));
        }
        // Another core is another machine.
        let slower = cycles < best && name != job::IN_ORDER;
        slower.then(|| (Broken::Slower, format!("`{name}`: {cycles} cycles, `{own}`: {best}")))
    })
}

/// Returns the difference between the two forms of a model.
fn forms(nested: &Report, named: &Report) -> Option<(Broken, String)> {
    let cycles = |report: &Report| report.best.record.cycles.unwrap_or(0);
    let (nested, named) = (cycles(nested), cycles(named));
    let apart = nested.abs_diff(named) as f64 > SAME_COST * nested.min(named) as f64;
    apart.then(|| (Broken::Forms, format!("{nested} cycles nested, {named} with names")))
}
