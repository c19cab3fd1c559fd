//! The main job: compiles a model, and prints the report or the program.

use super::common::{Common, Level};
use super::output::{to_json, write_output, write_result};
use crate::html::{self, Page};
use crate::job::{self, Scope};
use crate::native;
use crate::report::{self, Record};
use crate::results::{self, Compared, Expected};
use ember_compile::models;
use ember_compile::pipeline::{self, Inputs, Options};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_model::{Model, Prepared, Preparing};
use ember_native::Found;
use ember_targets::tensor::Tensor;
use ember_tools::emit;
use ember_tools::explain;
use ember_tools::kernel::{self, Data, Kernel};
use ember_tools::progress::Line;
use ember_tools::render;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// Compiles a model and prints the report, or the best program in some form.
pub(super) fn main_job(
    sources: &mut Sources,
    model: &Path,
    common: &Common,
    line: &Line,
) -> Checked<ExitCode> {
    if models::is_kernel(sources, model) {
        return kernel_job(sources, model, common);
    }
    let started = Instant::now();
    let options = common.options();
    let mut inputs = pipeline::read(sources, model, &options)?;
    render::emit(sources, &inputs.warnings);
    let found = native::complete(&mut inputs.machine)?;
    let options = common.options_for(&inputs);
    if options.threads > 1 && !common.is_in_c(&inputs) {
        let message = format!("a program for `{}` has no threads", inputs.machine.name);
        let help = "choose `--target cpu`, or simulate several cores with `ember-rewrite cores`";
        return Err(vec![Diagnostic::global(message).with_help(help)]);
    }
    if let Some(phase) = common.emit_after {
        let text = emit::around(&inputs, &options, phase)?;
        return write_result(common.output.as_deref(), &text).map(|()| ExitCode::SUCCESS);
    }
    if let Some(level) = common.emit {
        let text = emit(&inputs, &options, level, common.statement)?;
        return write_result(common.output.as_deref(), &text).map(|()| ExitCode::SUCCESS);
    }
    let expected = expected(sources, common, &inputs)?;
    if !inputs.machine.has_access_unit() {
        return native_job(common, &inputs, &options, found, expected, line);
    }
    let read = (started, started.elapsed());
    let recorded = common.timeline.is_some() || common.html.is_some();
    let scope = if common.no_ablation { Scope::Programs } else { Scope::Whole };
    let options = Options { bounded: true, ..options };
    let mut done = job::run(sources, &inputs, &options, scope, recorded, read, line)?;
    if let (Some(path), Some(recording)) = (&common.timeline, &done.recording) {
        write_output(path, recording.timeline.to_string())?;
    }
    if let Some(path) = &common.html {
        let groups = explained(&inputs, &options, line)?;
        let recording = done.recording.as_ref();
        let activity = recording.map(|own| html::activity(&own.timeline)).unwrap_or_default();
        let statements = recording.map_or(&[][..], |own| &own.statements);
        let lines = html::lines(done.best.program.program(), statements);
        let page = html::page(&Page::Report { report: &done.report, activity, lines, groups });
        write_output(path, page)?;
    }
    line.done();
    write_outputs(common, Some(&inputs.model), &done.outputs)?;
    done.report.expected =
        expected.map(|e| e.compare(Some(&inputs.model), &done.outputs)).unwrap_or_default();
    done.report.trace = common.trace.then(|| std::mem::take(&mut done.trace));
    let text = if common.json {
        to_json(&done.report)
    } else {
        report::text(&done.report, done.best.program.program())
    };
    write_result(common.output.as_deref(), &text)?;
    let failed: Vec<&Record> = done.report.failed().collect();
    Ok(judge(&failed, &done.report.expected))
}

/// Runs the best program on this machine, and prints the report.
fn native_job(
    common: &Common,
    inputs: &Inputs,
    options: &Options,
    found: Option<Found>,
    expected: Option<Expected>,
    line: &Line,
) -> Checked<ExitCode> {
    let of_simulators = [
        ("--timeline", common.timeline.is_some()),
        ("--pool", common.pool),
        ("--sample", options.sample.is_some()),
        ("--cycle-limit", options.cycle_limit != Options::default().cycle_limit),
    ];
    if let Some((option, _)) = of_simulators.into_iter().find(|(_, given)| *given) {
        let message = format!("`{option}` is for simulated programs, and this machine's are run");
        return Err(vec![Diagnostic::global(message).with_help("choose another `--target`")]);
    }
    let mut done = native::run(inputs, options, found, line)?;
    if let Some(path) = &common.html {
        let options = Options { schedule: done.report.best.schedule.clone(), ..options.clone() };
        let groups = explained(inputs, &options, line)?;
        write_output(path, html::page(&Page::Native { report: &done.report, groups }))?;
    }
    line.done();
    write_outputs(common, Some(&inputs.model), &done.outputs)?;
    done.report.expected =
        expected.map(|e| e.compare(Some(&inputs.model), &done.outputs)).unwrap_or_default();
    let text = if common.json { to_json(&done.report) } else { native::text(&done.report) };
    write_result(common.output.as_deref(), &text)?;
    let wrong = done.report.programs.iter().filter(|row| !row.valid);
    let mut complaints = wrong.map(|row| {
        let what = row.mismatch.as_deref().unwrap_or("no output");
        Diagnostic::global(format!("program `{}`: {what}", row.name))
    });
    let wrong: Vec<Diagnostic> = complaints.by_ref().collect();
    render::emit(&Sources::default(), &wrong);
    let compared = judge(&[], &done.report.expected);
    Ok(if wrong.is_empty() { compared } else { ExitCode::from(1) })
}

/// Returns the chains of rules that lead to the best program, by group of statements.
fn explained(inputs: &Inputs, options: &Options, line: &Line) -> Checked<Value> {
    let explained = explain::explain(inputs, options, None, line)?;
    Ok(explain::to_json(&inputs.book, &explained)["groups"].take())
}

/// Returns the text of the best program at a level, or of its e-graph.
pub(crate) fn emit(
    inputs: &Inputs,
    options: &Options,
    level: Level,
    statement: Option<usize>,
) -> Checked<String> {
    if matches!(level, Level::Dot | Level::EgraphJson) {
        let snapshot = emit::snapshot(inputs, options, statement.unwrap_or(0))?;
        return Ok(match level {
            Level::Dot => emit::dot(&snapshot),
            // This form is that of the crate `egraph-serialize`, whose readers know no other members.
            _ => format!("{:#}\n", emit::json(&snapshot)),
        });
    }
    if statement.is_some() {
        let error =
            Diagnostic::global("only `--emit dot` and `--emit egraph-json` take a statement");
        return Err(vec![error]);
    }
    Ok(prepared(&inputs.model, level) + &emit::program(inputs, options, program_level(level))?)
}

/// Returns a comment for each input that is prepared before the program runs.
fn prepared(model: &Model, level: Level) -> String {
    let mlir = matches!(level, Level::Mlir | Level::MlirSlc | Level::MlirSlcv | Level::MlirDlc);
    let comment = if mlir { "//" } else { ";" };
    let name = |id| model.tensor(id).name.as_str();
    let note = |Prepared { input, by }| {
        let input = name(input);
        match by {
            Preparing::Computed(whole) => format!("{comment} {input}: {whole}\n"),
            Preparing::Sums { lengths } => {
                format!("{comment} {input}: where bags of the lengths {} start\n", name(lengths))
            }
            Preparing::Offsets { positions } => {
                let positions = name(positions);
                format!("{comment} {input}: where the edges of each row of {positions} start\n")
            }
            Preparing::InRows { values, positions } => {
                let (values, positions) = (name(values), name(positions));
                format!("{comment} {input}: {values} in the order of the rows of {positions}\n")
            }
        }
    };
    model.prepared().into_iter().map(note).collect()
}

/// Returns the level of a program that is printed.
fn program_level(level: Level) -> emit::Level {
    match level {
        Level::Scf => emit::Level::Scf,
        Level::Slc => emit::Level::Slc,
        Level::Slcv => emit::Level::Slcv,
        Level::Mlir => emit::Level::Mlir,
        Level::MlirDlc => emit::Level::MlirDlc,
        Level::MlirSlc => emit::Level::MlirSlc,
        Level::MlirSlcv => emit::Level::MlirSlcv,
        Level::C => emit::Level::C,
        Level::Header => emit::Level::Header,
        Level::Dlc | Level::Dot | Level::EgraphJson => emit::Level::Dlc,
    }
}

/// The result of the main job for a kernel, which describes no data to run on.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Kernel")]
pub(super) struct KernelReport<'a> {
    /// The kernel's name.
    kernel: &'a str,
    /// The machine's name.
    target: &'a str,
    /// The text of the program that the cost model chose, at the level of DLC.
    program: String,
}

/// Returns a kernel's program as text, compiled for data if there is any.
pub(crate) fn emit_kernel(
    kernel: &Kernel,
    options: &Options,
    level: Level,
    data: Option<&Data>,
) -> Checked<String> {
    match level {
        Level::Dot | Level::EgraphJson => Err(programs_alone()),
        level => kernel.program(options, program_level(level), data),
    }
}

/// Returns the error for a form that is no program's.
fn programs_alone() -> Vec<Diagnostic> {
    let error = Diagnostic::global("of a kernel, programs are printed alone");
    vec![error.with_help("give `--emit` scf, slc, slcv, dlc or mlir")]
}

/// Compiles a kernel and prints its best program, as DLC if no level is given.
fn kernel_job(sources: &mut Sources, path: &Path, common: &Common) -> Checked<ExitCode> {
    let level = common.emit.unwrap_or(Level::Dlc);
    if common.emit_after.is_some() {
        return Err(programs_alone());
    }
    let of_run = [
        ("--timeline", common.timeline.is_some()),
        ("--html", common.html.is_some()),
        ("--outputs", common.outputs.is_some()),
        ("--inputs", common.inputs.is_some()),
        ("--expect", common.expect.is_some()),
        ("--trace", common.trace),
        ("--pool", common.pool),
    ];
    if let Some((option, _)) = of_run.into_iter().find(|(_, given)| *given) {
        let error = Diagnostic::global(format!("`{option}` needs a model: a kernel has no data"));
        let help = "`ember-rewrite run KERNEL` runs a kernel on random data, `run KERNEL --inputs FILE` on arrays, and \
                    `run KERNEL MODEL` on a model's data";
        return Err(vec![error.with_help(help)]);
    }
    let options = common.options();
    let kernel = kernel::read(sources, path, &options)?;
    let program = emit_kernel(&kernel, &options, level, None)?;
    let text = match common.json {
        true => {
            to_json(&KernelReport { kernel: kernel.name(), target: &kernel.machine.name, program })
        }
        false => program,
    };
    write_result(common.output.as_deref(), &text).map(|()| ExitCode::SUCCESS)
}

/// Reads the arrays that the outputs are expected to equal, if any are given.
pub(super) fn expected(
    sources: &Sources,
    common: &Common,
    inputs: &Inputs,
) -> Checked<Option<Expected>> {
    let model = &inputs.model;
    let outputs: Vec<String> = model.outputs().map(|output| output.name.clone()).collect();
    let read = |file| Expected::read(sources, file, (&model.name, &outputs), common.tolerance);
    common.expect.as_ref().map(read).transpose()
}

/// Writes the outputs of a run, if a file for them is given.
pub(super) fn write_outputs(
    common: &Common,
    model: Option<&Model>,
    outputs: &BTreeMap<String, Tensor>,
) -> Checked<()> {
    let Some(file) = &common.outputs else { return Ok(()) };
    write_output(file.path(), results::content(file, model, outputs)?)
}

/// Reports wrong outputs on standard error, and returns the exit code.
pub(super) fn judge(records: &[&Record], compared: &[Compared]) -> ExitCode {
    let wrong: Vec<_> =
        compared.iter().filter_map(Compared::wrong).map(Diagnostic::global).collect();
    for record in records {
        complain(record);
    }
    render::emit(&Sources::default(), &wrong);
    ExitCode::from(u8::from(!records.is_empty() || !wrong.is_empty()))
}

/// Reports a wrong output of a program on standard error.
fn complain(record: &Record) {
    let what = record.mismatch.as_deref().unwrap_or("no output");
    let mut error = Diagnostic::global(format!("program `{}`: {what}", record.name));
    if !record.rules.is_empty() {
        error = error.with_help(format!("rules that ran: {}", record.rules.join(", ")));
    }
    render::emit(&Sources::default(), &[error]);
}
