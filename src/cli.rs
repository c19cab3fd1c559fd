//! The command line: the commands, their options and their output.
//!
//! Only results go to standard output. Exit codes: 0 all right; 1 a program's output is wrong or its run did not end; 2
//! bad input.

mod ask;
mod bench;
mod check;
mod check_certificate;
mod equiv;
mod explain;
mod fmt;
mod lsp;
mod mutants;
pub(crate) mod rule_paths;
mod rules;
mod saturate;
mod self_test;
mod test;
mod verify;
mod why_not;

use crate::generate;
use crate::job::{self, Done, Scope};
use crate::report::{self, Record};
use crate::shipped::{self, Shipped};
use crate::single;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use ember_compile::pipeline::{self, Inputs, Options};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::rules::Exactness;
use ember_language::rules::Phase;
use ember_sim::CoreKind;
use ember_targets::print::print;
use ember_tools::emit;
use ember_tools::progress::Line;
use ember_tools::render;
use ember_tools::trace;
use rule_paths::RulePaths;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use thiserror::Error;

/// Compiles embedding operations for decoupled access-execute machines with rules in an e-graph.
///
/// Finds the best program for a model, runs it and its baselines on the model's data in a
/// simulator, and compares every output with the reference.
#[derive(Debug, Parser)]
#[command(
    name = "ember-rewrite",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Example:\n  ember-rewrite --rules rules/ examples/embedding_bag.sexp\n  \
                  ember-rewrite run programs/bag_sum_paper.dlc examples/embedding_bag.sexp\n\n\
                  Exit codes: 0 all right, 1 an output is wrong or a run did not end, 2 bad input."
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    common: Common,
    /// The model.
    #[arg(required = true)]
    model: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs one program, SCF, SLC or DLC text, on a model's data.
    #[command(after_help = "Example:\n  ember-rewrite run programs/bag_sum_expert_64.dlc \
                            examples/embedding_bag.sexp --timeline trace.json")]
    Run {
        /// The program.
        program: PathBuf,
        /// The model.
        model: PathBuf,
        /// The core that runs the execute half.
        #[arg(long, value_enum, default_value_t = CoreName::OutOfOrder)]
        core: CoreName,
        #[command(flatten)]
        common: Common,
    },
    /// Runs every workload of a folder and prints one table.
    #[command(after_help = "Example:\n  ember-rewrite bench --filter KG --compare \
                            workloads/published.json --svg bench.svg")]
    Bench(bench::BenchArgs),
    /// Checks rule files without running them, and says all that is wrong or odd about them.
    #[command(after_help = "Example:\n  ember-rewrite check rules/\n\n\
                            Exit codes: 0 nothing is wrong, 1 something is, 2 a path cannot be read.")]
    Check(check::CheckArgs),
    /// Runs the tests of rules, and case files.
    #[command(after_help = "Example:\n  ember-rewrite test examples/rules/algebra.rules \
                            examples/rules/algebra.case\n\n\
                            Exit codes: 0 all pass, 1 one fails, 2 bad input.")]
    Test(test::TestArgs),
    /// Formats rule files, models, cases and terms in place. Comments stay where they are.
    #[command(after_help = "Example:\n  ember-rewrite fmt --check rules examples workloads\n  \
                            ember-rewrite fmt --stdin < my.rules\n\n\
                            Exit codes: 0 all is formatted, 1 with --check: something is not, 2 bad input.")]
    Fmt(fmt::FmtArgs),
    /// Serves editors that speak the language server protocol, on standard input and output.
    #[command(
        after_help = "Example:\n  editors/vscode starts it; any other client runs `ember-rewrite lsp`\n\n\
                            Exit codes: 0 ended as asked, 1 ended without, 2 what came in was no protocol."
    )]
    Lsp(lsp::LspArgs),
    /// Verifies rules: both sides interpreted on random and on all small data, and what they claim of
    /// integers proved by an SMT solver.
    #[command(after_help = "Example:\n  ember-rewrite verify rules/ --filter '^vec-'\n\n\
                            Exit codes: 0 nothing speaks against a rule, 1 something does, 2 bad input.")]
    Verify(verify::VerifyArgs),
    /// Compares two models or programs: equal, with a proof; different, with data that shows it; or
    /// unknown, with the reason.
    #[command(
        after_help = "Example:\n  ember-rewrite equiv tests/cases/equiv/interchange.pair\n\n\
                            Exit codes: 0 equal, 1 different, 2 bad input, 3 unknown."
    )]
    Equiv(equiv::EquivArgs),
    /// Tries equivalence checking and lowering on random programs of which is known what they do.
    #[command(
        after_help = "Example:\n  ember-rewrite self-test --pairs 10000 --programs 1000 --keep open\n\n\
                            Exit codes: 0 nothing is wrong, 1 something is, 2 bad input."
    )]
    SelfTest(self_test::SelfTestArgs),
    /// Checks a certificate that two programs are equal.
    #[command(after_help = "Example:\n  ember-rewrite check-certificate proof.cert\n\n\
                            Exit codes: 0 it holds, 1 it does not, 2 bad input.")]
    CheckCertificate(check_certificate::CheckCertificateArgs),
    /// Writes rules that stand in no file as rule text.
    Rules {
        #[command(subcommand)]
        which: rules::Which,
    },
    /// Applies any rules to any terms: prints what each rule did, and the cheapest terms.
    #[command(after_help = "Example:\n  ember-rewrite saturate --rules rules/extra/math.rules \
                            examples/terms/calculus.sexp --iter-limit 8\n\n\
                            Exit codes: 0 every goal as wanted, 1 not, 2 bad input.")]
    Saturate(saturate::SaturateArgs),
    /// Shows the rules that lead from a model to its program, or from one term to another.
    #[command(after_help = "Example:\n  ember-rewrite explain examples/embedding_bag.sexp")]
    Explain(explain::ExplainArgs),
    /// Says why a rule did not fire, or fired and has no part in the chosen program.
    #[command(
        after_help = "Example:\n  ember-rewrite why-not vec-store examples/embedding_bag.sexp\n\n\
                            Exit codes: 0 it has a part in the program, 1 it has none, 2 bad input."
    )]
    WhyNot(why_not::WhyNotArgs),
    /// Generates data from a seed: bags, graphs, triples or block patterns; or a program.
    Gen {
        #[command(subcommand)]
        what: generate::What,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CoreName {
    InOrder,
    OutOfOrder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Exact {
    Bitwise,
    Reassoc,
    Approx,
}

impl From<Exact> for Exactness {
    fn from(exact: Exact) -> Exactness {
        match exact {
            Exact::Bitwise => Exactness::Bitwise,
            Exact::Reassoc => Exactness::Reassoc,
            Exact::Approx => Exactness::Approx,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Level {
    /// Sequential loops.
    Scf,
    /// Scalar code of the access and execute unit: without the rules of the phase `optimise`.
    Slc,
    /// Code of both units with lanes: what the DLC program is made of.
    Slcv,
    /// The two halves.
    Dlc,
    /// The e-graph that the program is extracted from, as Graphviz text.
    Dot,
    /// The same as JSON, in the format of `egraph-serialize`.
    EgraphJson,
}

#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    rules: RulePaths,
    /// The machine: a name, or the file of a description.
    #[arg(long, value_name = "NAME|FILE", default_value = "tmu-cpu")]
    target: String,
    /// The schedule of the best program.
    #[arg(long, value_name = "NAME", default_value = "search")]
    schedule: String,
    /// The least exact rules that may run.
    #[arg(long, value_enum, default_value_t = Exact::Bitwise)]
    exact: Exact,
    /// The seed of the data that programs are judged on [default: the model's].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The seed of the data that candidates are ranked on [default: that of judging].
    #[arg(long, value_name = "N")]
    tune_seed: Option<u64>,
    /// The most e-nodes of a saturation.
    #[arg(long, value_name = "N", default_value_t = Options::default().node_limit)]
    node_limit: usize,
    /// The most iterations of a saturation.
    #[arg(long, value_name = "N", default_value_t = Options::default().iter_limit)]
    iter_limit: usize,
    /// How many of the best candidates the simulator ranks, beside the best without prefetches; half as
    /// many of programs to compare with.
    #[arg(long, value_name = "N", default_value_t = Options::default().candidates)]
    candidates: usize,
    /// Let the cost model choose, and run no candidate: with `--emit`, nothing is run at all.
    #[arg(long)]
    no_rank: bool,
    /// Print the best program at a level, and nothing else.
    #[arg(long, value_enum, conflicts_with = "json")]
    emit: Option<Level>,
    /// Print the best program that the rules of the phases up to this one make, and before it the one without
    /// this phase, as two programs that `equiv` compares.
    #[arg(long, value_name = "PHASE", value_parser = phase, conflicts_with_all = ["json", "emit"])]
    emit_after: Option<Phase>,
    /// Of which statement `--emit dot` and `--emit egraph-json` show the e-graph, counted from 0.
    #[arg(long, value_name = "N", requires = "emit")]
    statement: Option<usize>,
    /// Print what each rule did in each saturation of the best program's search.
    #[arg(long, conflicts_with = "emit")]
    trace: bool,
    /// Write what is printed to a file.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Write the run as a Chrome trace, which Perfetto opens.
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
}

impl Common {
    fn options(&self) -> Options {
        Options {
            rules: self.rules.rules.clone(),
            target: self.target.clone(),
            schedule: self.schedule.clone(),
            exact: self.exact.into(),
            seed: self.seed,
            tune_seed: self.tune_seed,
            node_limit: self.node_limit,
            iter_limit: self.iter_limit,
            candidates: self.candidates.max(1),
            rank: !self.no_rank,
        }
    }
}

/// The error of a word that names no phase.
#[derive(Clone, Copy, Debug, Error)]
#[error("a phase is one of {}", Phase::NAMES.join(", "))]
struct NoPhase;

/// Parses the name of a phase.
fn phase(name: &str) -> Result<Phase, NoPhase> {
    Phase::parse(name).ok_or(NoPhase)
}

/// The largest number of threads. The environment may ask for more than a system can start.
const MOST_THREADS: usize = 256;

/// Starts as many threads as `RAYON_NUM_THREADS` asks for, within [`MOST_THREADS`].
fn limit_threads() {
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|n| n.parse::<usize>().ok());
    if asked.is_some_and(|n| n > MOST_THREADS) {
        // An error means that threads have been started before, which nothing does.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(MOST_THREADS).build_global();
    }
}

/// Runs the command with the process's arguments.
pub fn main() -> ExitCode {
    let matches = Cli::command().get_matches();
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    limit_threads();
    let mut sources = Sources::new(Shipped::default());
    let result = match (&cli.command, &cli.model) {
        (Some(Command::Run { program, model, core, common }), _) => {
            run_program(&mut sources, program, model, *core, common)
        }
        (Some(Command::Bench(args)), _) => args.run(&mut sources),
        (Some(Command::Check(args)), _) => args.run(&mut sources),
        (Some(Command::Test(args)), _) => args.run(&mut sources),
        (Some(Command::Fmt(args)), _) => args.run(&mut sources),
        (Some(Command::Lsp(args)), _) => args.run(),
        (Some(Command::Verify(args)), _) => args.run(&mut sources),
        (Some(Command::Equiv(args)), _) => args.run(&mut sources),
        (Some(Command::SelfTest(args)), _) => args.run(&mut sources),
        (Some(Command::CheckCertificate(args)), _) => args.run(&mut sources),
        (Some(Command::Rules { which }), _) => which.run(&mut sources),
        (Some(Command::Saturate(args)), _) => args.run(&mut sources),
        (Some(Command::WhyNot(args)), _) => args.run(&mut sources),
        (Some(Command::Explain(args)), _) => args.run(&mut sources),
        (Some(Command::Gen { what }), _) => {
            let line = Line::on_terminal();
            let done = generate::run(&mut sources, what, &line);
            line.done();
            done.map(|()| ExitCode::SUCCESS)
        }
        (None, Some(model)) => main_job(&mut sources, model, &cli.common),
        (None, None) => Err(vec![Diagnostic::global("no model is given")]),
    };
    match result {
        Ok(code) => code,
        Err(errors) => {
            render::emit(&sources, &errors);
            ExitCode::from(2)
        }
    }
}

fn main_job(sources: &mut Sources, model: &Path, common: &Common) -> Checked<ExitCode> {
    let started = Instant::now();
    let options = common.options();
    let inputs = pipeline::read(sources, model, &options)?;
    render::emit(sources, &inputs.warnings);
    if let Some(phase) = common.emit_after {
        let text = emit::around(&inputs, &options, phase)?;
        return write_result(common.output.as_deref(), &text).map(|()| ExitCode::SUCCESS);
    }
    if let Some(level) = common.emit {
        let text = emit(&inputs, &options, level, common.statement)?;
        return write_result(common.output.as_deref(), &text).map(|()| ExitCode::SUCCESS);
    }
    let line = Line::on_terminal();
    let read = (started, started.elapsed());
    let done =
        job::run(sources, &inputs, &options, Scope::Whole, common.timeline.is_some(), read, &line);
    line.done();
    let mut done = done?;
    if let (Some(path), Some(trace)) = (&common.timeline, &done.timeline) {
        write_output(path, &trace.to_string())?;
    }
    done.report.trace = common.trace.then(|| std::mem::take(&mut done.trace));
    let text = if common.json { to_json(&done.report) } else { text(&done) };
    write_result(common.output.as_deref(), &text)?;
    let failed: Vec<&Record> = done.report.failed().collect();
    for record in &failed {
        complain(record);
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Returns the text of the best program at a level, or of its e-graph.
fn emit(
    inputs: &Inputs,
    options: &Options,
    level: Level,
    statement: Option<usize>,
) -> Checked<String> {
    if matches!(level, Level::Dot | Level::EgraphJson) {
        let snapshot = emit::snapshot(inputs, options, statement.unwrap_or(0))?;
        return Ok(match level {
            Level::Dot => emit::dot(&snapshot),
            _ => to_json(&emit::json(&snapshot)),
        });
    }
    if statement.is_some() {
        let error =
            Diagnostic::global("only `--emit dot` and `--emit egraph-json` take a statement");
        return Err(vec![error]);
    }
    let level = match level {
        Level::Scf => emit::Level::Scf,
        Level::Slc => emit::Level::Slc,
        Level::Slcv => emit::Level::Slcv,
        _ => emit::Level::Dlc,
    };
    emit::program(inputs, options, level)
}

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
    let core = match core {
        CoreName::InOrder => CoreKind::InOrder,
        CoreName::OutOfOrder => CoreKind::OutOfOrder,
    };
    let timeline = common.timeline.is_some();
    let (record, trace) = single::run(&inputs, &options, &program, core, timeline)?;
    if let (Some(path), Some(trace)) = (&common.timeline, &trace) {
        write_output(path, &trace.to_string())?;
    }
    let text = if common.json { to_json(&record) } else { report::one(&record) };
    write_result(common.output.as_deref(), &text)?;
    if record.valid {
        return Ok(ExitCode::SUCCESS);
    }
    complain(&record);
    Ok(ExitCode::from(1))
}

/// Returns the report in readable form.
fn text(done: &Done) -> String {
    let report = &done.report;
    let trace = report.trace.as_deref().map(trace::print).unwrap_or_default();
    format!(
        "{}\nAssumes:\n{}\n{} on {}, seed {}, {} table elements\n{}\n\nWhere the cycles of `{}` go\n{}\n\n\
         What each rule set is worth\n{}\n{trace}{}\n{}",
        print(done.best.program.program()).trim_end(),
        report::assumptions(report),
        report.model,
        report.target,
        report.seed,
        report.elements,
        report::programs(report),
        report.best.record.name,
        report::stalls(report),
        report::worth(report),
        report::groups(report),
        report::summary(report)
    )
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

fn to_json(value: &impl serde::Serialize) -> String {
    // The value is plain data with string keys, so serialising it cannot fail.
    serde_json::to_string_pretty(value).map(|text| text + "\n").unwrap_or_default()
}

fn write_result(output: Option<&Path>, text: &str) -> Checked<()> {
    match output {
        Some(path) => write_output(path, text),
        None => {
            let mut out = std::io::stdout().lock();
            match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
                // A reader that has seen enough closes the pipe, which is not an error.
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    Err(vec![Diagnostic::global(format!(
                        "cannot write to standard output: {error}"
                    ))])
                }
                _ => Ok(()),
            }
        }
    }
}

/// Writes what a command made to a file, which must be none of those that the command has read.
fn write_output(path: &Path, text: &str) -> Checked<()> {
    if shipped::was_read(path) {
        let error = Diagnostic::global(format!("`{}` is an input of this command", path.display()));
        return Err(vec![error.with_help("name another file: an input is not written over")]);
    }
    write_file(path, text)
}

fn write_file(path: &Path, text: &str) -> Checked<()> {
    std::fs::write(path, text)
        .map_err(|e| vec![Diagnostic::global(format!("{}: cannot write: {e}", path.display()))])
}
