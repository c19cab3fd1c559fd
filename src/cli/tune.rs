//! The `tune` command: the search for the best point of a space.

use super::output::{to_json, write_output, write_result};
use crate::html::{self, Page};
use crate::tune::{self, Evaluator, Identity, Store, Summary};
use clap::{Args, ValueEnum};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::load::load;
use ember_tools::progress::Line;
use ember_tune::Method;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The evaluations without `--budget`, if the space says nothing.
const BUDGET: usize = 60;

/// The most evaluations: each proposal looks at all before.
const MOST: usize = 10_000;

/// Options of `tune`.
#[derive(Debug, Args)]
pub(super) struct TuneArgs {
    /// The space: a JSON file in the format of BaCO.
    #[arg(long, value_name = "FILE")]
    space: PathBuf,
    /// A line for the shell that prints the result of a point, or fails if the point has none. The point is on standard
    /// input as JSON, and the value of each parameter NAME in the variable TUNE_NAME.
    #[arg(long, value_name = "LINE")]
    command: String,
    /// The number of evaluations, at most 10000 [default: what the space says, or 60].
    #[arg(long, value_name = "N")]
    budget: Option<usize>,
    /// The seed of the search: with equal results, equal seeds propose equal points.
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// The method by which points are chosen.
    #[arg(long, value_enum, default_value_t = MethodName::Bayesian)]
    method: MethodName,
    /// The seconds after which a command is ended, and its point has no value.
    #[arg(long, default_value_t = 600.0, value_name = "SECONDS")]
    evaluation_limit: f64,
    /// The file of results, lines of JSON; a tuning that was interrupted is continued [default: the space's path, ending
    /// in .jsonl].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Begin anew, whatever the file of results holds.
    #[arg(long)]
    restart: bool,
    /// Write the results as a page for a browser, one file without references to others.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// The methods by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MethodName {
    /// By a model of the results so far.
    Bayesian,
    /// At random, for comparison.
    Random,
}

impl TuneArgs {
    pub(super) fn run(&self, sources: &mut Sources) -> Checked<ExitCode> {
        let limit = Duration::try_from_secs_f64(self.evaluation_limit).ok();
        let limit = limit.filter(|limit| !limit.is_zero()).ok_or_else(|| {
            vec![Diagnostic::global("`--evaluation-limit` is a number of seconds above 0")]
        })?;
        let file = load(sources, &self.space)?;
        let space = ember_tune::read(sources, file)?;
        let iterations = |n: usize| n.saturating_add(space.initial.unwrap_or(0));
        let budget = self.budget.or_else(|| space.iterations.map(iterations)).unwrap_or(BUDGET);
        let method = match self.method {
            MethodName::Bayesian => Method::Bayesian,
            MethodName::Random => Method::Random,
        };
        let how = (method, self.seed);
        let identity = Identity::new(&sources.get(file).text, &self.command, method, self.seed);
        let output = self.output.clone().unwrap_or_else(|| self.space.with_extension("jsonl"));
        let mut store = Store::open(&output, &identity, &space, self.restart)?;
        let evaluator = Evaluator { command: self.command.clone(), limit };
        let line = Line::on_terminal();
        let evaluate = |point: &ember_tune::Point| evaluator.evaluate(&space, point);
        let ran = tune::run(&space, how, budget.min(MOST), &mut store, &line, evaluate);
        line.done();
        ran?;
        let summary = Summary::new(&space, how, &store)?;
        if let Some(path) = &self.html {
            write_output(path, html::page(&Page::Tuning { tuning: &summary }))?;
        }
        let text = match self.json {
            true => to_json(&summary),
            false => format!("{}{} has every evaluation.\n", summary.text(), output.display()),
        };
        write_result(None, &text)?;
        Ok(ExitCode::SUCCESS)
    }
}
