//! The `tune` command: the search for the best point of a space, which a file describes, or rules for a model.

use super::common::{Exact, MOST_THREADS, NATIVE};
use super::output::{to_json, write_output, write_result};
use super::rule_paths::RulePaths;
use super::settings::Set;
use crate::html::{self, Page};
use crate::shipped;
use crate::tune::{self, Evaluator, Identity, Outcome, Store, Subject, Summary};
use clap::{Args, ValueEnum};
use ember_compile::pipeline::{self, Inputs, Options};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::load::load;
use ember_language::rules::{Parameter, Schedule};
use ember_language::suggest;
use ember_tools::progress::Line;
use ember_tools::render;
use ember_tune::{Method, Point, Space};
use itertools::Itertools;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The evaluations without `--budget`, if the space says nothing.
const BUDGET: usize = 60;

/// The most evaluations: each proposal looks at all before.
const MOST: usize = 10_000;

/// Options of `tune`.
#[derive(Debug, Args)]
pub(super) struct TuneArgs {
    /// The model whose parameters are tuned: those that the rules of its schedule leave open, and that matter for it.
    #[arg(required_unless_present = "space", conflicts_with = "space")]
    model: Option<PathBuf>,
    #[command(flatten)]
    compiled: CompiledArgs,
    /// A space to tune with `--command` instead of a model: a JSON file in the format of BaCO.
    #[arg(long, value_name = "FILE", requires = "command")]
    space: Option<PathBuf>,
    /// A line for the shell that prints the result of a point, or fails if the point has none. The point is on standard
    /// input as JSON, and the value of each parameter NAME in the variable TUNE_NAME.
    #[arg(long, value_name = "LINE", requires = "space")]
    command: Option<String>,
    /// The number of evaluations, at most 10000 [default: what the space says, or 60; all points with `--method
    /// exhaustive`].
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
    /// The file of results, lines of JSON; a tuning that was interrupted is continued [default: the path of the space or
    /// model, ending in .jsonl].
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

/// How a model is compiled.
#[derive(Debug, Args)]
struct CompiledArgs {
    #[command(flatten)]
    rules: RulePaths,
    /// The machine of a model: a name, or the file of a description.
    #[arg(long, value_name = "NAME|FILE", default_value = ember_targets::machine::DEFAULT)]
    target: String,
    /// The schedule of a model [default: `search`; `native` for a machine without an access unit].
    #[arg(long, value_name = "NAME")]
    schedule: Option<String>,
    /// The least exact rules that may run for a model.
    #[arg(long, value_enum, default_value_t = Exact::Bitwise)]
    exact: Exact,
    /// The threads of a model's program in C.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MOST_THREADS))]
    threads: u32,
    /// Tune this parameter of a model, and others only if they are named so, too.
    #[arg(long, value_name = "NAME")]
    parameter: Vec<String>,
    /// Print the space of a model's parameters in the format of BaCO, and evaluate nothing.
    #[arg(long)]
    print_space: bool,
    #[command(flatten)]
    set: Set,
}

/// The methods by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MethodName {
    /// By a model of the results so far.
    Bayesian,
    /// At random, for comparison.
    Random,
    /// Every point, in order.
    Exhaustive,
}

/// A space with what decides its results.
struct Tuned<'a> {
    /// The file that it is named after.
    path: &'a Path,
    space: Space,
    /// The text of the space.
    text: String,
    /// What evaluates a point.
    by: String,
}

impl TuneArgs {
    pub(super) fn run(&self, sources: &mut Sources, line: &Line) -> Checked<ExitCode> {
        match (&self.model, &self.space, &self.command) {
            (Some(model), ..) => self.of_model(sources, model, line),
            (None, Some(space), Some(command)) => self.of_command(sources, space, command, line),
            _ => Err(vec![Diagnostic::global("no model is given")]),
        }
    }

    /// Tunes a space by a command.
    fn of_command(
        &self,
        sources: &mut Sources,
        path: &Path,
        command: &str,
        line: &Line,
    ) -> Checked<ExitCode> {
        let limit = Duration::try_from_secs_f64(self.evaluation_limit).ok();
        let limit = limit.filter(|limit| !limit.is_zero()).ok_or_else(|| {
            vec![Diagnostic::global("`--evaluation-limit` is a number of seconds above 0")]
        })?;
        let file = load(sources, path)?;
        let space = ember_tune::read(sources, file)?;
        let text = sources.get(file).text.clone();
        let evaluator = Evaluator { command: command.to_owned(), limit };
        let tuned = Tuned { path, space, text, by: command.to_owned() };
        let (summary, output) =
            self.tuned(&tuned, line, |point| evaluator.evaluate(&tuned.space, point))?;
        self.print(&summary, &output, "")
    }

    /// Tunes the parameters of a model.
    fn of_model(&self, sources: &mut Sources, model: &Path, line: &Line) -> Checked<ExitCode> {
        let own = &self.compiled;
        let set = own.set.settings();
        let options = Options {
            rules: own.rules.rules.clone(),
            target: own.target.clone(),
            exact: own.exact.into(),
            threads: own.threads,
            settings: set.clone(),
            ..Options::default()
        };
        let mut inputs = pipeline::read(sources, model, &options)?;
        render::emit(sources, &inputs.warnings);
        crate::native::complete(&mut inputs.machine)?;
        let default =
            if inputs.machine.has_access_unit() { options.schedule.as_str() } else { NATIVE };
        let schedule = own.schedule.clone().unwrap_or_else(|| default.to_owned());
        let options = Options { schedule, ..options };
        let schedule = inputs.schedule(&options.schedule)?;
        let (parameters, untuned) = self.parameters(&inputs, &options, schedule)?;
        let objective = Subject::objective(&inputs);
        let of = (parameters.as_slice(), &set);
        let (space, text) = tune::space(sources, &inputs.book, of, objective)?;
        if own.print_space {
            write_result(None, &format!("{text}\n"))?;
            return Ok(ExitCode::SUCCESS);
        }
        line.say("compiling the program of the defaults");
        let subject = Subject::new(model, &inputs, options)?;
        let default = subject.default(sources)?.ok();
        let tuned = Tuned { path: model, space, text, by: own.described(sources, model) };
        let evaluate =
            |point: &Point| subject.evaluate(sources, tune::settings(&tuned.space.write(point)));
        let (summary, output) = self.tuned(&tuned, line, evaluate)?;
        let untuned: Vec<String> = untuned.into_iter().map(str::to_owned).collect();
        let summary = Summary { default, untuned, ..summary };
        self.print(&summary, &output, &advice(&summary))
    }

    /// Returns the parameters that are tuned: those that are named, or else those that matter for the model; and the names
    /// of those that do not.
    fn parameters<'a>(
        &self,
        inputs: &'a Inputs,
        options: &Options,
        schedule: &'a Schedule,
    ) -> Checked<(Vec<&'a Parameter>, Vec<&'a str>)> {
        let named = &self.compiled.parameter;
        let is_set = |own: &&Parameter| options.settings.contains_key(own.name.as_str());
        let known: Vec<&Parameter> =
            inputs.book.parameters_of(schedule).filter(|own| !is_set(own)).collect();
        let mut names: Vec<&str> = known.iter().map(|own| own.name.as_str()).collect();
        let unknown = named.iter().find(|name| !names.contains(&name.as_str()));
        if let Some(name) = unknown.map(String::as_str).or(names.is_empty().then_some("")) {
            return Err(vec![none_named(name, &options.schedule, &names)]);
        }
        if !named.is_empty() {
            let is_named = |own: &&Parameter| named.iter().any(|name| own.name.as_str() == name);
            return Ok((known.into_iter().filter(is_named).collect(), Vec::new()));
        }
        let parameters = tune::that_matter(inputs, options, schedule, &known)?;
        if parameters.is_empty() {
            let message = "no rule with a parameter fires for this model";
            let help = format!("`--parameter` tunes one nevertheless: {}", suggest::list(names));
            return Err(vec![Diagnostic::global(message).with_help(help)]);
        }
        names.retain(|name| parameters.iter().all(|own| own.name.as_str() != *name));
        Ok((parameters, names))
    }

    /// Evaluates points until the budget is spent, and returns the result and the file that holds it.
    fn tuned(
        &self,
        tuned: &Tuned<'_>,
        line: &Line,
        evaluate: impl FnMut(&Point) -> Checked<Outcome>,
    ) -> Checked<(Summary, PathBuf)> {
        let space = &tuned.space;
        let method = match self.method {
            MethodName::Bayesian => Method::Bayesian,
            MethodName::Random => Method::Random,
            MethodName::Exhaustive => Method::Exhaustive,
        };
        let iterations = |n: usize| n.saturating_add(space.initial.unwrap_or(0));
        let said = || match method {
            Method::Exhaustive => Some(MOST),
            Method::Bayesian | Method::Random => space.iterations.map(iterations),
        };
        let budget = self.budget.or_else(said).unwrap_or(BUDGET).min(MOST);
        let identity = Identity::new(&tuned.text, &tuned.by, method, self.seed);
        let output = self.output.clone().unwrap_or_else(|| tuned.path.with_extension("jsonl"));
        let mut store = Store::open(&output, &identity, space, self.restart)?;
        let how = (method, self.seed);
        let ran = tune::run(space, how, budget, &mut store, line, evaluate);
        line.done();
        ran?;
        Ok((Summary::new(space, how, &store)?, output))
    }

    fn print(&self, summary: &Summary, output: &Path, best: &str) -> Checked<ExitCode> {
        if let Some(path) = &self.html {
            write_output(path, html::page(&Page::Tuning { tuning: summary }))?;
        }
        let text = match self.json {
            true => to_json(summary),
            false => {
                format!("{}{best}{} has every evaluation.\n", summary.text(), output.display())
            }
        };
        write_result(None, &text)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the lines that say how to compile the model with the best point, and which parameters have none.
fn advice(summary: &Summary) -> String {
    let best = summary.best();
    let mut text = match best.and_then(|best| best.value).zip(summary.default) {
        Some((value, default)) if default <= value => {
            "No point is better than the defaults.\n".to_owned()
        }
        _ => {
            let best = best.map(|best| tune::settings(&best.point)).unwrap_or_default();
            let best = best.iter().map(|(name, value)| format!("--set {name}={value}")).join(" ");
            format!("The best: {best}\n")
        }
    };
    if !summary.untuned.is_empty() {
        let untuned = suggest::list(summary.untuned.iter().map(String::as_str));
        text += &format!("Not tuned, since no rule with them fires: {untuned}\n");
    }
    text
}

/// The error for a parameter that a schedule does not leave open, or for a schedule that leaves none open.
fn none_named(name: &str, schedule: &str, known: &[&str]) -> Diagnostic {
    if known.is_empty() {
        let message = format!("schedule `{schedule}` leaves no parameter open");
        return Diagnostic::global(message).with_help("declare one in a rule file: (tune NAME …)");
    }
    let message = format!("schedule `{schedule}` leaves no parameter `{name}` open");
    match suggest::help(name, known.iter().copied()) {
        Some(help) => Diagnostic::global(message).with_help(help),
        None => Diagnostic::global(message),
    }
}

impl CompiledArgs {
    /// Returns what decides the results besides the parameters that are tuned: the options, and digests of the rules and
    /// the model.
    fn described(&self, sources: &Sources, model: &Path) -> String {
        let digest = tune::digest(sources);
        let set = self.set.settings();
        let set = set.iter().map(|(name, value)| format!(" --set {name}={value}")).join("");
        format!(
            "{} --target {} --schedule {} --exact {:?} --threads {}{set}, version {}, texts {digest}",
            model.display(),
            self.target,
            self.schedule.as_deref().unwrap_or("-"),
            self.exact,
            self.threads,
            shipped::version(),
        )
    }
}
