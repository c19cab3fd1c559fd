//! The job for a machine without an access unit: compiles a model to C, compiles that for this machine, runs it beside
//! simpler programs, and compares outputs with the reference. Times are those of a clock.

mod batches;
mod callable;
mod measure;
mod race;
mod report;

pub(crate) use callable::callable;
pub use callable::{Argument, Callable, Computed, Made, MadeBy, Number, Output, Place, Step};
pub(crate) use race::Race;
pub(crate) use report::{NativeReport, text};

use crate::job::reason;
use batches::Batches;
use ember_compile::cost::Goal;
use ember_compile::native;
use ember_compile::pipeline::{Case, Inputs, Options, compile_by};
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::rules::Exactness;
use ember_native::{Buffers, Compiler, Contraction, Error, Found, Library};
use ember_targets::c::Source;
use ember_targets::machine::{HERE, Machine, MachineError};
use ember_targets::tensor::Tensor;
use ember_targets::verify::Verified;
use ember_tools::progress::Line;
use measure::{Clock, Times};
use report::{Program, Row};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The schedules of the programs that the best one is compared with.
const COMPARED: [&str; 2] = ["coupled", "vectors"];

/// The result of the job.
pub(crate) struct Done {
    /// The report.
    pub report: NativeReport,
    /// The outputs of the best program's run, by name.
    pub outputs: BTreeMap<String, Tensor>,
}

/// A program that is ready to run.
struct Ready {
    name: String,
    program: Verified,
    source: Source,
    library: Library,
    compile_ms: f64,
}

/// Completes the description of this machine by what is found out about it; other descriptions stay as they are.
pub(crate) fn complete(machine: &mut Machine) -> Checked<Option<Found>> {
    if machine.name != HERE {
        return Ok(None);
    }
    let found = ember_native::found();
    let own = |error: MachineError| Diagnostic::global(error.message);
    found.complete(machine).map_err(|errors| errors.into_iter().map(own).collect::<Vec<_>>())?;
    Ok(Some(found))
}

/// Writes the library and the header of a model's best program.
pub(crate) fn build(inputs: &Inputs, options: &Options, to: &Path) -> Checked<Source> {
    let schedule = inputs.schedule(&options.schedule)?;
    let chosen = compile_by(inputs, options, schedule, Goal::Coupled)?;
    let source = native::source(inputs, &chosen.program, options)?;
    let compiler = Compiler::find().map_err(failed)?;
    compiler.compile_to(&source, contraction(options.exact), to).map_err(failed)?;
    Ok(source)
}

/// Runs the job.
pub(crate) fn run(
    inputs: &Inputs,
    options: &Options,
    found: Option<Found>,
    line: &Line,
) -> Checked<Done> {
    line.say("making data");
    let case = Case::new(&inputs.model, options.seed, options.exact)?;
    let compiler = Compiler::find().map_err(failed)?;
    let mut rows = Vec::new();
    let mut ready = Vec::new();
    let compared = COMPARED.into_iter().filter(|_| options.rank);
    let schedules = compared.filter(|name| *name != options.schedule);
    for name in schedules.chain([options.schedule.as_str()]) {
        line.say(format!("compiling `{name}`"));
        match prepare(inputs, options, &compiler, name) {
            Ok(program) => ready.push(program),
            // A program to compare with may be missing; the best one may not.
            Err(errors) if name == options.schedule => return Err(errors),
            Err(errors) => rows.push(Row::none(name, errors.first().map_or("", reason))),
        }
    }
    line.say("running");
    let measured = measured(inputs, &case, options, &ready)?;
    // A program that is wrong is the best one only if all are.
    let fastest = measured.iter().enumerate().min_by(|(_, a), (_, b)| {
        a.row.valid.cmp(&b.row.valid).reverse().then(a.seconds.total_cmp(&b.seconds))
    });
    let Some((at, Measured { outputs, .. })) = fastest else { return Err(Vec::new()) };
    let (outputs, best) = (outputs.clone(), ready.swap_remove(at));
    rows.extend(measured.into_iter().map(|measured| measured.row));
    let program =
        Program { schedule: best.name, text: best.source.text, header: best.source.header };
    let report = NativeReport {
        model: inputs.model.name.clone(),
        target: inputs.machine.name.clone(),
        machine: found.map(|found| report::described(&found)),
        compiler: compiler.version().to_owned(),
        seed: case.instance.seed,
        exact: options.exact.name().to_owned(),
        threads: options.threads,
        programs: rows,
        best: program,
        expected: Vec::new(),
    };
    Ok(Done { report, outputs })
}

/// Compiles a model by a schedule, and loads the program.
fn prepare(inputs: &Inputs, options: &Options, compiler: &Compiler, name: &str) -> Checked<Ready> {
    let started = Instant::now();
    let (program, source, path) = compiled(inputs, options, compiler, name)?;
    let library = Library::load(&path, &source)
        .map_err(|error| vec![Diagnostic::global(error.to_string())])?;
    let compile_ms = started.elapsed().as_secs_f64() * 1e3;
    Ok(Ready { name: name.to_owned(), program, source, library, compile_ms })
}

/// Compiles a model by a schedule to a library.
fn compiled(
    inputs: &Inputs,
    options: &Options,
    compiler: &Compiler,
    schedule: &str,
) -> Checked<(Verified, Source, PathBuf)> {
    let chosen = compile_by(inputs, options, inputs.schedule(schedule)?, Goal::Coupled)?;
    let source = native::source(inputs, &chosen.program, options)?;
    let path = compiler.compile(&source, contraction(options.exact)).map_err(failed)?;
    Ok((chosen.program, source, path))
}

/// The runs of one program.
struct Measured {
    row: Row,
    /// The median time.
    seconds: f64,
    /// The outputs by name.
    outputs: BTreeMap<String, Tensor>,
}

/// Runs the programs once each to compare their outputs, and then in turn.
fn measured(
    inputs: &Inputs,
    case: &Case,
    options: &Options,
    ready: &[Ready],
) -> Checked<Vec<Measured>> {
    let global = |message: String| vec![Diagnostic::global(message)];
    let Some(first) = ready.first() else { return Ok(Vec::new()) };
    // The programs of a model have the same tensors, and so they share them.
    let data = case.bindings(&first.program).map_err(|e| global(e.to_string()))?;
    let sizes = data.sizes.clone();
    let mut buffers = Buffers::new(&first.program, &data.tensors, &sizes)
        .map_err(|error| global(error.to_string()))?;
    let mut compared = Vec::new();
    for Ready { program, library, name, .. } in ready {
        library
            .call(&mut buffers)
            .map_err(|refused| global(format!("program `{name}`: {refused}")))?;
        let tensors = buffers.tensors();
        let mismatch = case.compare(program, &tensors, options.exact).err();
        compared.push((mismatch, case.outputs(program, &tensors)));
    }
    let times = match options.rank {
        true => {
            let data = (case.instance.seed, &data.tensors[..], buffers);
            let mut batches = Batches::new(inputs, &first.program, data)?;
            let libraries: Vec<&Library> = ready.iter().map(|ready| &ready.library).collect();
            turns(&libraries, &mut batches, measure::WALL)
        }
        false => measure::interleaved(ready.len(), 1, measure::WALL, |_, at| {
            // The data was accepted before, and programs do not write what they check.
            let _ = ready[at].library.call(&mut buffers);
        }),
    };
    let runs = ready.iter().zip(times).zip(compared);
    Ok(runs
        .map(|((ready, times), (mismatch, outputs))| Measured {
            row: Row::of(&ready.name, &times, ready.compile_ms, mismatch),
            seconds: times.quantile(0.5),
            outputs,
        })
        .collect())
}

/// Runs programs in turn on batches of data, and returns the times of each.
fn turns(libraries: &[&Library], batches: &mut Batches, clock: Clock) -> Vec<Times> {
    // The first program to write a batch's outputs finds them without memory.
    for batch in batches.each() {
        let _ = libraries.first().map(|library| library.call(batch));
    }
    measure::interleaved(libraries.len(), measure::MOST, clock, |round, at| {
        // Data of a model is accepted, and programs do not write what they check.
        let _ = libraries[at].call(batches.of(round, (at, libraries.len())));
    })
}

/// Returns what compilers may do to products and sums. Fused, they have one rounding less, which the bounds of programs
/// that are not exact cover.
fn contraction(exact: Exactness) -> Contraction {
    match exact {
        Exactness::Bitwise => Contraction::Off,
        Exactness::Reassoc | Exactness::Approx => Contraction::Fast,
    }
}

/// Returns the diagnostic of a failed compilation.
fn failed(error: Error) -> Vec<Diagnostic> {
    let diagnostic = Diagnostic::global(error.to_string());
    vec![match error.help() {
        Some(help) => diagnostic.with_help(help),
        None => diagnostic,
    }]
}
