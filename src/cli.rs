//! The command line: the commands, their options and their output.
//!
//! Only results go to standard output. Exit codes: 0 all right; 1 a program's output is wrong or its run did not end; 2
//! bad input.

mod ask;
mod bench;
mod build;
mod calibrate;
mod check;
mod check_certificate;
mod common;
mod compile;
mod cores;
mod equiv;
mod explain;
mod extract;
mod fmt;
mod help;
mod import;
mod lsp;
mod mutants;
mod output;
pub(crate) mod rule_paths;
mod rules;
mod run;
mod saturate;
mod schema;
mod self_test;
mod settings;
mod sweep;
mod test;
mod time_limit;
mod tune;
mod verify;
mod why_not;

use crate::compiler::Error;
use crate::generate;
use crate::shipped::Shipped;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use common::Common;
pub(crate) use common::Level;
use compile::main_job;
pub(crate) use compile::{emit, emit_kernel};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_tools::progress::Line;
use run::{CoreName, run_any};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use time_limit::TimeLimit;

/// Compiles embedding operations for decoupled access-execute machines with rules in an e-graph.
///
/// Finds the best program for a model, runs it and its baselines on the model's data in a
/// simulator, and compares every output with the reference.
#[derive(Debug, Parser)]
#[command(
    name = "ember-rewrite",
    version,
    disable_help_subcommand = true,
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
    /// End with an error if the command is not done after so many seconds.
    #[arg(long, global = true, value_name = "SECONDS", value_parser = time_limit::seconds)]
    time_limit: Option<TimeLimit>,
    /// The model.
    #[arg(required = true)]
    model: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs one program, SCF, SLC or DLC text, on a model's data; or a kernel, MLIR text, on arrays or random data.
    #[command(after_help = "Example:\n  ember-rewrite run programs/bag_sum_expert_64.dlc \
                            examples/embedding_bag.sexp --timeline trace.json")]
    Run {
        /// The program.
        program: PathBuf,
        /// The model; a kernel needs none.
        model: Option<PathBuf>,
        /// The core that runs the execute half.
        #[arg(long, value_enum, default_value_t = CoreName::OutOfOrder)]
        core: CoreName,
        #[command(flatten)]
        common: Common,
    },
    /// Writes a program of a framework as a model with its weights.
    #[command(after_help = "Example:\n  ember-rewrite import model.pt2 -o imported")]
    Import(import::ImportArgs),
    /// Compiles a model to a shared library for this machine, with a header for C.
    #[command(
        after_help = "Example:\n  ember-rewrite build examples/embedding_bag.sexp -o libbag.so"
    )]
    Build(build::BuildArgs),
    /// Runs every workload of a folder and prints one table.
    #[command(after_help = "Example:\n  ember-rewrite bench --filter KG --compare \
                            workloads/published.json --svg bench.svg")]
    Bench(bench::BenchArgs),
    /// Runs a model's best program on several cores that divide its rows or columns, by number of cores and by way to divide them.
    #[command(
        after_help = "Example:\n  ember-rewrite cores examples/embedding_bag.sexp --cores 1,8\n\n\
                            Exit codes: 0 all right, 1 an output is wrong or a run did not end, 2 bad input."
    )]
    Cores(cores::CoresArgs),
    /// Compiles and runs every combination of models, targets, schedules and parameters of targets; what was
    /// interrupted is continued.
    #[command(
        after_help = "Example:\n  ember-rewrite sweep examples/lanes.toml -o lanes.sqlite --html lanes.html\n\n\
                            Exit codes: 0 every point ran or has no program, 1 one failed, 2 bad input."
    )]
    Sweep(sweep::SweepArgs),
    /// Tunes the parameters that rules leave open for a model, or those of any command: searches a space for the point
    /// with the least result; what was interrupted is continued.
    #[command(
        after_help = "Examples:\n  ember-rewrite tune examples/embedding_bag.sexp --target cpu\n  \
                            ember-rewrite tune --space space.json --command './measure $TUNE_tile' --budget 60\n\n\
                            Exit codes: 0 a best point was found, 2 bad input, or no point has a value."
    )]
    Tune(tune::TuneArgs),
    /// Fits numbers of a machine to published speedups, and shows what is left and how far the results move over all fits
    /// that are about as good; what was interrupted is continued.
    #[command(
        after_help = "Example:\n  ember-rewrite calibrate workloads/calibrate.toml -o fit.jsonl\n\n\
                            Exit codes: 0 fitted, 1 an output is wrong or a run did not end, 2 bad input."
    )]
    Calibrate(calibrate::CalibrateArgs),
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
    /// Extracts from an e-graph in JSON: by tree cost, and by cost with sharing, with a bound on what is best.
    #[command(
        after_help = "Example:\n  ember-rewrite extract examples/egraphs/shared.json --extractor greedy-dag\n\n\
                            Exit codes: 0 extracted, 2 bad input."
    )]
    Extract(extract::ExtractArgs),
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
    /// Prints the help of a command, or explains the columns and units of the report.
    #[command(after_help = "Example:\n  ember-rewrite help report\n  ember-rewrite help gen bags")]
    Help(help::HelpArgs),
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
    if let Some(limit) = cli.time_limit {
        limit.start(wants_json(&matches));
    }
    let mut sources = Sources::new(Shipped::default());
    match run(&cli, &mut sources, &Line::on_terminal()) {
        Ok(code) => code,
        Err(errors) => {
            output::report(&sources, &errors, wants_json(&matches));
            ExitCode::from(2)
        }
    }
}

/// Runs a command, whose progress a line shows.
fn run(cli: &Cli, sources: &mut Sources, line: &Line) -> Checked<ExitCode> {
    let done = run_command(cli, sources, line);
    // A command that ends with errors does not get so far itself.
    line.done();
    done
}

fn run_command(cli: &Cli, sources: &mut Sources, line: &Line) -> Checked<ExitCode> {
    match (&cli.command, &cli.model) {
        (Some(Command::Run { program, model, core, common }), _) => {
            run_any(sources, program, model.as_deref(), *core, common)
        }
        (Some(Command::Import(args)), _) => args.run(sources),
        (Some(Command::Build(args)), _) => args.run(sources),
        (Some(Command::Bench(args)), _) => args.run(sources, line),
        (Some(Command::Cores(args)), _) => args.run(sources, line),
        (Some(Command::Sweep(args)), _) => args.run(sources, line),
        (Some(Command::Tune(args)), _) => args.run(sources, line),
        (Some(Command::Calibrate(args)), _) => args.run(sources, line),
        (Some(Command::Check(args)), _) => args.run(sources),
        (Some(Command::Test(args)), _) => args.run(sources),
        (Some(Command::Fmt(args)), _) => args.run(sources),
        (Some(Command::Lsp(args)), _) => args.run(),
        (Some(Command::Verify(args)), _) => args.run(sources, line),
        (Some(Command::Equiv(args)), _) => args.run(sources),
        (Some(Command::SelfTest(args)), _) => args.run(sources, line),
        (Some(Command::CheckCertificate(args)), _) => args.run(sources),
        (Some(Command::Rules { which }), _) => which.run(sources),
        (Some(Command::Saturate(args)), _) => args.run(sources, line),
        (Some(Command::Extract(args)), _) => args.run(sources),
        (Some(Command::WhyNot(args)), _) => args.run(sources, line),
        (Some(Command::Explain(args)), _) => args.run(sources, line),
        (Some(Command::Help(args)), _) => args.run(Cli::command()),
        (Some(Command::Gen { what }), _) => {
            generate::run(sources, what, line)?;
            line.done();
            Ok(ExitCode::SUCCESS)
        }
        (None, Some(model)) => main_job(sources, model, &cli.common, line),
        (None, None) => Err(vec![Diagnostic::global("no model is given")]),
    }
}

/// Runs a command within another program, where its errors are values. What it prints goes to the file of its option
/// `--output`, or else to standard output; `line` shows its progress. Options that end the process have no effect.
///
/// # Errors
///
/// Fails if the words are no command, or the command ends with errors.
pub fn command<W: Into<OsString> + Clone>(
    words: impl IntoIterator<Item = W>,
    line: &Line,
) -> Result<ExitCode, Error> {
    let mut sources = Sources::new(Shipped::default());
    let cli = Cli::try_parse_from(words)
        .map_err(|error| Error::new(&sources, &[Diagnostic::global(error.to_string())]))?;
    run(&cli, &mut sources, line).map_err(|errors| Error::new(&sources, &errors))
}

/// Returns true if the option `--json` of the command is set.
fn wants_json(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        Some((_, matches)) => wants_json(matches),
        None => matches!(matches.try_get_one("json"), Ok(Some(true))),
    }
}
