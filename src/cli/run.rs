//! The `run` command: one program on a model's data.

use super::common::{Common, Level};
use super::compile::{expected, judge, write_outputs};
use super::output::{to_json, write_output, write_result};
use crate::report::{self, PreparedReport, Record, RunReport};
use crate::results::Expected;
use crate::single;
use clap::ValueEnum;
use ember_compile::models;
use ember_compile::pipeline;
use ember_compile::preparation::prepare;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_sim::CoreKind;
use ember_targets::print::print;
use ember_tools::kernel;
use std::path::Path;
use std::process::ExitCode;

/// The core that runs the execute half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CoreName {
    InOrder,
    OutOfOrder,
}

impl CoreName {
    fn kind(self) -> CoreKind {
        match self {
            CoreName::InOrder => CoreKind::InOrder,
            CoreName::OutOfOrder => CoreKind::OutOfOrder,
        }
    }
}

/// Runs a kernel in MLIR text on data of its own, or a program on a model's data.
pub(super) fn run_any(
    sources: &mut Sources,
    program: &Path,
    model: Option<&Path>,
    core: CoreName,
    common: &Common,
) -> Checked<ExitCode> {
    match model {
        Some(model) => run_program(sources, program, model, core, common),
        None if models::is_kernel(sources, program) => run_kernel(sources, program, core, common),
        None => {
            let error = Diagnostic::global("no model is given");
            Err(vec![error.with_help("a program runs on a model's data: `run PROGRAM MODEL`")])
        }
    }
}

/// Runs a kernel on the arrays that are given, or on random data.
fn run_kernel(
    sources: &mut Sources,
    path: &Path,
    core: CoreName,
    common: &Common,
) -> Checked<ExitCode> {
    let options = common.options();
    let kernel = kernel::read(sources, path, &options)?;
    let outputs = kernel.outputs();
    let read = |file| Expected::read(sources, file, (kernel.name(), &outputs), common.tolerance);
    let expected = common.expect.as_ref().map(read).transpose()?;
    let data = kernel.data(sources, &options)?;
    let program = kernel.compiled(&options, &data)?;
    let ran = kernel.run(&program, &data, &options, core.kind())?;
    write_outputs(common, None, &ran.outputs)?;
    let expected = expected.map(|e| e.compare(None, &ran.outputs)).unwrap_or_default();
    let report = RunReport {
        record: Record::of_kernel(&kernel, &program, ran, options.exact),
        program: print(program.program()),
        preparation: Vec::new(),
        expected,
    };
    let text = if common.json { to_json(&report) } else { report::one(&report) };
    write_result(common.output.as_deref(), &text)?;
    let failed = report.record.has_failed().then_some(&report.record);
    Ok(judge(failed.as_slice(), &report.expected))
}

/// Runs one program.
fn run_program(
    sources: &mut Sources,
    program: &Path,
    model: &Path,
    core: CoreName,
    common: &Common,
) -> Checked<ExitCode> {
    let options = common.options();
    let inputs = pipeline::read(sources, model, &options)?;
    let program = single::read_program(sources, program, &inputs)?;
    if common.emit == Some(Level::Dlc) {
        return write_result(common.output.as_deref(), &print(program.program()))
            .map(|()| ExitCode::SUCCESS);
    }
    if common.emit.is_some() || common.emit_after.is_some() {
        let error = Diagnostic::global("`run` can emit a program as DLC only");
        return Err(vec![error.with_help("give `--emit dlc`")]);
    }
    if common.html.is_some() {
        let error = Diagnostic::global("`run` writes no page");
        return Err(vec![
            error.with_help("the main job writes one: leave out `run` and the program"),
        ]);
    }
    if common.pool {
        let error = Diagnostic::global("`run` chooses no program");
        return Err(vec![error.with_help("leave out `--pool`, or `run` and the program")]);
    }
    let expected = expected(sources, common, &inputs)?;
    let core = core.kind();
    let recorded = common.timeline.is_some();
    let ran = single::run((&inputs.model, &inputs.machine), &options, &program, core, recorded)?;
    if let (Some(path), Some(recording)) = (&common.timeline, &ran.recording) {
        write_output(path, recording.timeline.to_string())?;
    }
    write_outputs(common, Some(&inputs.model), &ran.outputs)?;
    let prepared = prepare(&inputs, &inputs.model.instantiate(options.seed)?)?;
    let report = RunReport {
        record: ran.record,
        program: print(program.program()),
        preparation: prepared.into_iter().map(PreparedReport::from).collect(),
        expected: expected
            .map(|e| e.compare(Some(&inputs.model), &ran.outputs))
            .unwrap_or_default(),
    };
    let text = if common.json { to_json(&report) } else { report::one(&report) };
    write_result(common.output.as_deref(), &text)?;
    let failed = report.record.has_failed().then_some(&report.record);
    Ok(judge(failed.as_slice(), &report.expected))
}
