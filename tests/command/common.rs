//! Shared helpers of these tests: running the pipeline's stages, and what `process` has.

use ember_compile::cost::Goal;
use ember_compile::groups::Chosen;
use ember_compile::pipeline::{self, Case, Failure, Inputs, Options};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_model::Model;
use ember_model::reference::Mismatch;
use ember_sim::CoreKind;
use ember_targets::dlc::Program;
use ember_tools::progress::Line;
use ember_tools::render::render;
use ember_tools::tuning::Tuning;
use thiserror::Error;

pub use crate::process::{Ran, ember, folder, root, word};

/// The schedules of the programs that Ember generates, from the least optimised.
pub const OPT: [&str; 4] = ["emb-opt0", "emb-opt1", "emb-opt2", "emb-opt3"];

/// Returns the default options, with the project's rules wherever the test runs.
pub fn options() -> Options {
    Options { rules: vec![root().join("rules")], ..Options::default() }
}

/// Reads the rules, the machine and a model of the package.
pub fn inputs(model: &str) -> Inputs {
    let mut sources = Sources::new(Disk);
    pipeline::read(&mut sources, &root().join(model), &options())
        .unwrap_or_else(|errors| panic!("{}", render(&sources, &errors, false)))
}

/// Reads a model from its text as if it were in the file.
pub fn model(path: &str, text: &str) -> Model {
    let mut sources = Sources::new(Disk);
    let file = sources.add(root().join(path), text);
    Model::parse(&sources, file)
        .unwrap_or_else(|errors| panic!("{}\n{text}", render(&sources, &errors, false)))
}

/// Makes the data of a seed.
pub fn case(inputs: &Inputs, seed: u64) -> Case {
    Case::new(&inputs.model, Some(seed), options().exact).unwrap_or_else(|e| panic!("{e:#?}"))
}

/// Returns the program that a schedule finds, chosen on a case.
pub fn best(inputs: &Inputs, tune: &Case, schedule: &str, goal: Goal) -> Chosen {
    let options = options();
    let tuning = Tuning::new(inputs, tune, &options);
    let schedule = inputs.schedule(schedule).unwrap_or_else(|e| panic!("{e:#?}"));
    let attempt = tuning.own(schedule, goal, &Line::hidden());
    let chosen = attempt.and_then(|attempt| attempt.program(inputs, schedule).cloned());
    chosen.unwrap_or_else(|errors| panic!("{}: {errors:#?}", inputs.model.name))
}

/// The reason why a program is not right on a case.
#[derive(Debug, Error)]
pub enum Wrong {
    /// It has no result.
    #[error("{0}")]
    Failure(Failure),
    /// Its output is not the reference's.
    #[error("{0}")]
    Mismatch(Mismatch),
}

/// Runs a program on a case; returns its cycles if its output equals the reference's bit for bit.
pub fn judged(
    inputs: &Inputs,
    program: &Program,
    case: &Case,
    core: CoreKind,
) -> Result<u64, Wrong> {
    let outcome =
        pipeline::simulate(program, &inputs.machine, case, core, false).map_err(Wrong::Failure)?;
    case.compare(program, &outcome.tensors, options().exact).map_err(Wrong::Mismatch)?;
    Ok(outcome.stats.cycles)
}
