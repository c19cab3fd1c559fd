//! The options of the commands that run a model's programs: the main job and `run`.

use super::rule_paths::RulePaths;
use super::settings::Set;
use clap::{Args, ValueEnum};
use ember_compile::pipeline::{Arrays, Inputs, Options};
use ember_language::rules::{Exactness, Phase};
use ember_model::data::TensorFile;
use ember_model::reference::Tolerance;
use std::path::PathBuf;
use thiserror::Error;

/// The exactness of rules as a word of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Exact {
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

/// The forms of a program that can be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// Sequential loops.
    Scf,
    /// Scalar code of the access and execute unit: without the rules of the phase `optimise`.
    Slc,
    /// Code of both units with lanes: what the DLC program is made of.
    Slcv,
    /// The two halves.
    Dlc,
    /// Sequential loops, as MLIR text.
    Mlir,
    /// Scalar code of both units, as MLIR text in the dialects of Ember's public artifact.
    MlirSlc,
    /// The same with lanes.
    MlirSlcv,
    /// The two halves, as MLIR text in the dialects of Ember's public artifact.
    MlirDlc,
    /// A program for one core, as C: with `--schedule native`, or `--target cpu`.
    C,
    /// The header of that program.
    Header,
    /// The e-graph that the program is extracted from, as Graphviz text.
    Dot,
    /// The same as JSON, in the format of `egraph-serialize`.
    EgraphJson,
}

/// Options of the commands that run a model's programs.
#[derive(Debug, Args)]
pub(super) struct Common {
    #[command(flatten)]
    pub rules: RulePaths,
    /// The machine: a name, or the file of a description.
    #[arg(long, value_name = "NAME|FILE", default_value = ember_targets::machine::DEFAULT)]
    pub target: String,
    /// The schedule of the best program [default: `search`; `native` for a machine without an access unit, and for C].
    #[arg(long, value_name = "NAME")]
    pub schedule: Option<String>,
    /// The least exact rules that may run.
    #[arg(long, value_enum, default_value_t = Exact::Bitwise)]
    pub exact: Exact,
    /// The seed of the data that programs are judged on [default: the model's].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// The seed of the data that candidates are ranked on [default: that of judging].
    #[arg(long, value_name = "N")]
    pub tune_seed: Option<u64>,
    #[command(flatten)]
    pub sample: Sample,
    /// The most e-nodes of a saturation.
    #[arg(long, value_name = "N", default_value_t = Options::default().node_limit)]
    pub node_limit: usize,
    /// The most iterations of a saturation.
    #[arg(long, value_name = "N", default_value_t = Options::default().iter_limit)]
    pub iter_limit: usize,
    /// How many of the best candidates the simulator ranks, beside the best by other prices of prefetches; half
    /// as many of programs to compare with [default: what the schedule says, or 12].
    #[arg(long, value_name = "N")]
    pub candidates: Option<usize>,
    /// Also choose from the whole programs of all schedules, and of the searches without a rule set; takes several
    /// times as long.
    #[arg(long, conflicts_with_all = ["no_rank", "emit", "emit_after"])]
    pub pool: bool,
    /// Do not search again without each rule set to see what it is worth, which takes most of the time of a report.
    #[arg(long, conflicts_with = "pool")]
    pub no_ablation: bool,
    #[command(flatten)]
    pub set: Set,
    /// The most cycles that a program may run.
    #[arg(long, value_name = "N", default_value_t = Options::default().cycle_limit)]
    pub cycle_limit: u64,
    /// The threads of a program in C, which share the rows of its loops.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MOST_THREADS))]
    pub threads: u32,
    /// Let the cost model choose, and run no candidate: with `--emit`, nothing is run at all.
    #[arg(long, visible_alias = "no-measure")]
    pub no_rank: bool,
    /// Print the best program at a level, and nothing else.
    #[arg(long, value_enum, conflicts_with = "json")]
    pub emit: Option<Level>,
    /// Print the best program that the rules of the phases up to this one make, and before it the one without
    /// this phase, as two programs that `equiv` compares.
    #[arg(long, value_name = "PHASE", value_parser = phase, conflicts_with_all = ["json", "emit"])]
    pub emit_after: Option<Phase>,
    /// Of which statement `--emit dot` and `--emit egraph-json` show the e-graph, counted from 0.
    #[arg(long, value_name = "N", requires = "emit")]
    pub statement: Option<usize>,
    /// Print what each rule did in each saturation of the best program's search.
    #[arg(long, conflicts_with = "emit")]
    pub trace: bool,
    /// Write what is printed to a file.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Write the run as a Chrome trace, which Perfetto opens.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["emit", "emit_after"])]
    pub timeline: Option<PathBuf>,
    /// Write the report as a page for a browser, one file without references to others.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["emit", "emit_after"])]
    pub html: Option<PathBuf>,
    /// Write the outputs that the best program computed: FILE ends in .safetensors or .npz.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["emit", "emit_after"])]
    pub outputs: Option<TensorFile>,
    /// Take the inputs from the arrays of a file, which have the inputs' names or are called input.0, input.1 and so
    /// on, in order: FILE ends in .safetensors or .npz.
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<TensorFile>,
    /// Compare the outputs with the arrays of a file, which have the outputs' names or are called output.0, output.1 and
    /// so on: FILE ends in .safetensors or .npz.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["emit", "emit_after"])]
    pub expect: Option<TensorFile>,
    /// The largest error that `--expect` allows: RTOL times the expected value, and ATOL more [default: by the element
    /// type of each output; for f32 1.3e-6,1e-5].
    #[arg(long, value_name = "RTOL,ATOL", requires = "expect")]
    pub tolerance: Option<Tolerance>,
}

/// The choice to rank candidates on samples.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Sample {
    /// Rank candidates on samples of the rows, if the data is long: for each, as many as it takes for a standard error of
    /// PERCENT of its cycles. The chosen program runs on all data.
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "1", value_parser = percent)]
    sample: Option<f64>,
}

impl Sample {
    /// Returns the standard error as a part of the cycles.
    pub fn error(self) -> Option<f64> {
        self.sample.map(|percent| percent / 100.0)
    }
}

/// The error of a word that is no standard error.
#[derive(Clone, Copy, Debug, Error)]
#[error("a standard error is a number of percent above 0, at most 50")]
struct NoPercent;

/// Parses a standard error in percent.
fn percent(text: &str) -> Result<f64, NoPercent> {
    let number: f64 = text.parse().map_err(|_| NoPercent)?;
    if number > 0.0 && number <= 50.0 { Ok(number) } else { Err(NoPercent) }
}

/// The most threads of a program.
pub(super) const MOST_THREADS: i64 = 1024;

/// The schedule for a machine without an access unit.
pub(super) const NATIVE: &str = "native";

impl Common {
    /// Returns the options for inputs that are read: a machine without an access unit has a schedule of its own.
    pub fn options_for(&self, inputs: &Inputs) -> Options {
        let options = self.options();
        match self.schedule {
            None if self.is_in_c(inputs) => Options { schedule: NATIVE.to_owned(), ..options },
            _ => options,
        }
    }

    /// Returns true if the program is one in C.
    pub fn is_in_c(&self, inputs: &Inputs) -> bool {
        matches!(self.emit, Some(Level::C | Level::Header)) || !inputs.machine.has_access_unit()
    }

    /// Returns the options of the compiler.
    pub fn options(&self) -> Options {
        Options {
            rules: self.rules.rules.clone(),
            target: self.target.clone(),
            schedule: self.schedule.clone().unwrap_or(Options::default().schedule),
            exact: self.exact.into(),
            seed: self.seed,
            tune_seed: self.tune_seed,
            sample: self.sample.error(),
            node_limit: self.node_limit,
            iter_limit: self.iter_limit,
            candidates: self.candidates.map(|candidates| candidates.max(1)),
            settings: self.set.settings(),
            cycle_limit: self.cycle_limit,
            inputs: self.inputs.clone().map(Arrays::File),
            rank: !self.no_rank,
            threads: self.threads,
            bounded: false,
            pool: self.pool,
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
