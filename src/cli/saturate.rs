//! The `saturate` command: applies any rules to any terms.

use super::output::{to_json, write_result};
use super::rule_paths::RulePaths;
use clap::Args;
use ember_compile::pipeline;
use ember_engine::saturate::{Limits, RuleReport};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::rules;
use ember_tools::cost_table::Costs;
use ember_tools::progress::Line;
use ember_tools::render;
use ember_tools::system::{self, GoalReport, Report, TermReport};
use ember_tools::tables::{grouped, table};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `saturate`.
#[derive(Debug, Args)]
pub(super) struct SaturateArgs {
    /// The terms: each may be followed by `:same TERM`, `:goal SKETCH` and `:never SKETCH`.
    terms: PathBuf,
    #[command(flatten)]
    rules: RulePaths,
    /// The schedule of the rules [default: all rules at once].
    #[arg(long, value_name = "NAME")]
    schedule: Option<String>,
    /// A table of costs by operator (TOML): prints the cheapest term for each.
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
    /// The most iterations of a saturation.
    #[arg(long, value_name = "N", default_value_t = pipeline::Options::default().iter_limit)]
    iter_limit: usize,
    /// The most e-nodes of a saturation.
    #[arg(long, value_name = "N", default_value_t = pipeline::Options::default().node_limit)]
    node_limit: usize,
    /// Threads that match rules; the result does not depend on it [default: all cores].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Write what is printed to a file.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl SaturateArgs {
    pub(super) fn run(&self, sources: &mut Sources, line: &Line) -> Checked<ExitCode> {
        let (book, warnings) = rules::load(sources, &self.rules.rules)?;
        render::emit(sources, &warnings);
        let steps = system::steps(&book, self.schedule.as_deref())?;
        let costs = match &self.costs {
            Some(path) => Some(Costs::load(sources, path, &book.signature)?),
            None => None,
        };
        let roots = system::read(sources, &self.terms, &book.signature)?;
        let limits = Limits { iterations: self.iter_limit, nodes: self.node_limit };
        // Rayon takes 0 as one thread per core, so a given number is at least 1.
        let threads = self.threads.map_or(0, |threads| threads.clamp(1, 1024));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool =
            pool.map_err(|e| vec![Diagnostic::global(format!("cannot start threads: {e}"))])?;
        let report = pool.install(|| {
            system::run(&book, &roots, &steps, limits, costs.as_ref(), &mut |progress| {
                let (iteration, nodes) = (progress.iteration, progress.nodes);
                line.say(format!("iteration {iteration}, {nodes} nodes"));
            })
        });
        line.done();
        let text = if self.json { to_json(&report) } else { text(&report) };
        write_result(self.output.as_deref(), &text)?;
        let mut errors: Vec<Diagnostic> = report.terms.iter().flat_map(complaints).collect();
        errors.extend(report.contradiction.as_ref().map(|c| Diagnostic::global(c.to_string())));
        render::emit(&Sources::default(), &errors);
        Ok(if report.passed() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

/// Returns a diagnostic for each missed goal.
fn complaints(term: &TermReport) -> impl Iterator<Item = Diagnostic> + '_ {
    let missed = |goal: &&GoalReport| goal.found != goal.wanted;
    term.goals.iter().filter(missed).map(|goal| {
        let what = if goal.wanted { "was not found equal to" } else { "was found equal to" };
        Diagnostic::global(format!("{} {what} {}", term.term, goal.pattern))
    })
}

fn text(report: &Report) -> String {
    let mut rules = table(&["rule", "matches", "refused", "applications", "equalities", "nodes"]);
    let matched = |rule: &&RuleReport| rule.matches > 0;
    for rule in report.rules.iter().filter(matched) {
        let counts = [rule.matches, rule.refused, rule.applications, rule.unions, rule.nodes];
        let counts = counts.map(|n| grouped(n as u64));
        rules.add_row([rule.rule.to_owned()].into_iter().chain(counts));
    }
    let (graph, time) = (&report.egraph, &report.time_ms);
    let mut out = format!("{rules}\n");
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "e-graph: {} nodes, {} classes, {} iterations, {}",
        graph.nodes, graph.classes, graph.iterations, graph.stop_reason
    );
    let _ = writeln!(out, "time: saturate {:.1} ms, extract {:.1} ms", time.saturate, time.extract);
    for term in &report.terms {
        let _ = writeln!(out, "\n{}", term.term);
        if let Some(cheapest) = &term.cheapest {
            let (before, after) = (cheapest.cost_before, cheapest.cost);
            let _ = writeln!(out, "  cost {before} -> {after}: {}", cheapest.term);
        }
        for goal in &term.goals {
            let answer = if goal.found { "equal to" } else { "not found equal to" };
            let wrong = if goal.found == goal.wanted { "" } else { "  WRONG" };
            let _ = writeln!(out, "  {answer} {}{wrong}", goal.pattern);
        }
    }
    out
}
