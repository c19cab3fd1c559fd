//! The `run` command: one program on a model's data.

use super::common::{Common, Level};
use super::compile::{expected, judge, write_outputs};
use super::output::{to_json, write_output, write_result};
use crate::report::{self, RunReport};
use crate::single;
use clap::ValueEnum;
use ember_compile::pipeline;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_sim::CoreKind;
use ember_targets::print::print;
use std::path::Path;
use std::process::ExitCode;

/// The core that runs the execute half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CoreName {
    InOrder,
    OutOfOrder,
}

/// Runs one program.
pub(super) fn run_program(
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
    let expected = expected(sources, common, &inputs)?;
    let core = match core {
        CoreName::InOrder => CoreKind::InOrder,
        CoreName::OutOfOrder => CoreKind::OutOfOrder,
    };
    let recorded = common.timeline.is_some();
    let ran = single::run((&inputs.model, &inputs.machine), &options, &program, core, recorded)?;
    if let (Some(path), Some(recording)) = (&common.timeline, &ran.recording) {
        write_output(path, recording.timeline.to_string())?;
    }
    write_outputs(common, &ran.outputs)?;
    let report = RunReport {
        record: ran.record,
        program: print(program.program()),
        expected: expected.map(|e| e.compare(&ran.outputs)).unwrap_or_default(),
    };
    let text = if common.json { to_json(&report) } else { report::one(&report) };
    write_result(common.output.as_deref(), &text)?;
    let failed = report.record.has_failed().then_some(&report.record);
    Ok(judge(failed.as_slice(), &report.expected))
}
