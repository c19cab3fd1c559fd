//! The `self-test` command: tries equivalence checking and lowering on random programs.

use super::output::{to_json, write_file, write_result};
use super::rule_paths::RulePaths;
use crate::trial::{self, Trials, trials};
use clap::Args;
use ember_compile::pipeline;
use ember_engine::saturate::Limits;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_prove::equiv;
use ember_tools::part::Part;
use ember_tools::progress::Line;
use ember_tools::render;
use ember_tools::selftest::{self, Finding, Lowered, Options, Summary, Tools, Wrong};
use ember_tools::tables::{grouped, table};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Options of `self-test`.
#[derive(Debug, Args)]
pub(super) struct SelfTestArgs {
    /// Pairs of programs of known relation that are compared.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pairs: usize,
    /// Programs of which every extraction is run.
    #[arg(long, value_name = "N", default_value_t = 100)]
    programs: usize,
    /// Models that are compiled by every schedule and run.
    #[arg(long, value_name = "N", default_value_t = 0)]
    models: usize,
    /// Only the K-th of N parts of all these.
    #[arg(long, value_name = "K/N", default_value = "1/1", hide_default_value = true)]
    part: Part,
    /// The seed of everything random.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The most e-nodes of a saturation in the search for a proof.
    #[arg(long, value_name = "N", default_value_t = 8000)]
    node_limit: usize,
    #[command(flatten)]
    rules: RulePaths,
    /// The machine: a name, or the file of a description.
    #[arg(long, value_name = "NAME|FILE", default_value = ember_targets::machine::DEFAULT)]
    target: String,
    /// Write each pair without the right answer to a file in this folder, for `equiv`.
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Write what is printed to a file.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// The JSON output.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "SelfTest")]
pub(super) struct Report {
    seed: u64,
    pairs: Summary,
    programs: Lowered,
    models: Trials,
}

impl SelfTestArgs {
    pub(super) fn run(&self, sources: &mut Sources, line: &Line) -> Checked<ExitCode> {
        let tools = Tools::read(sources, &self.rules.rules, &self.target)?;
        let count = AtomicUsize::new(0);
        let done = |what: &str, total: usize| {
            let done = count.fetch_add(1, Ordering::Relaxed) + 1;
            line.part(done, total, what);
        };
        let (book, _) = ember_language::rules::load(sources, &self.rules.rules)?;
        let compiled = ember_engine::compile(&book);
        let lowering = (&book, compiled.as_slice(), &tools.machine);
        let [pairs, programs, models] =
            [self.pairs, self.programs, self.models].map(|number| self.part.pick(0..number));
        let (all, all_models) = (pairs.len(), models.len());
        let lowered = selftest::all_lowered(lowering, self.seed, &programs, || {
            done("programs", programs.len());
        });
        count.store(0, Ordering::Relaxed);
        let limits = Limits { nodes: self.node_limit, ..equiv::Options::default().limits };
        let options = Options { pairs, seed: self.seed, limits };
        let summary = selftest::trial(&tools, &options, || done("pairs", all));
        count.store(0, Ordering::Relaxed);
        let compiler = pipeline::Options {
            rules: self.rules.rules.clone(),
            target: self.target.clone(),
            ..pipeline::Options::default()
        };
        let models = trials(sources, &compiler, &book.definitions, (self.seed, &models), || {
            done("models", all_models);
        });
        line.done();
        if let Some(folder) = &self.keep {
            for finding in &summary.findings {
                keep(folder, finding)?;
            }
        }
        let mut errors: Vec<Diagnostic> =
            summary.findings.iter().filter_map(|finding| self.complaint(finding)).collect();
        errors.extend(models.findings.iter().map(|finding| {
            let trial::Finding { model, kind, reason, text } = finding;
            let message = format!("model {model} ({}): {reason}\n{}", kind.name(), text.trim_end());
            Diagnostic::global(message).with_help(format!("`--seed {}` finds it again", self.seed))
        }));
        let programs = lowered.unwrap_or_else(|why| {
            errors.push(Diagnostic::global(why.to_string()));
            Lowered::default()
        });
        let report = Report { seed: self.seed, pairs: summary, programs, models };
        let text = if self.json { to_json(&report) } else { text(&report) };
        write_result(self.output.as_deref(), &text)?;
        render::emit(&Sources::default(), &errors);
        Ok(if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }

    fn complaint(&self, finding: &Finding) -> Option<Diagnostic> {
        let what = match finding.wrong {
            Wrong::No | Wrong::Unknown => return None,
            Wrong::Answer => "a wrong answer",
            Wrong::Rules => "the rules make a program of another that it does not equal",
        };
        let text = finding.text.as_deref().unwrap_or_default().trim_end();
        let Finding { pair, kind, reason, .. } = finding;
        let error = Diagnostic::global(format!("pair {pair} ({kind}): {what}: {reason}\n{text}"));
        Some(error.with_help(format!("`--seed {}` finds it again", self.seed)))
    }
}

/// Writes a pair to its own file.
fn keep(folder: &std::path::Path, finding: &Finding) -> Checked<()> {
    let Some(text) = &finding.text else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(|error| {
        vec![Diagnostic::global(format!("cannot make `{}`: {error}", folder.display()))]
    })?;
    let answer = match finding.wrong {
        Wrong::No | Wrong::Unknown => "unknown",
        Wrong::Answer | Wrong::Rules => "wrong",
    };
    let related = match finding.equal {
        Some(true) => "equal",
        Some(false) => "different",
        None => "alike",
    };
    let name = format!("{:05}-{related}-{answer}.pair", finding.pair);
    let heading = format!("; {}, {:.0} ms: {}\n", finding.kind, finding.time_ms, finding.reason);
    write_file(&folder.join(name), &(heading + text))
}

fn text(report: &Report) -> String {
    let Report { pairs: summary, programs, models, .. } = report;
    let mut rows = table(&["pairs", "number", "unknown", "share", "wrong"]);
    let mut row = |name: &str, tally: &selftest::Tally| {
        rows.add_row([
            name.to_owned(),
            grouped(tally.pairs as u64),
            grouped(tally.unknown as u64),
            format!("{:.2} %", tally.share() * 100.0),
            tally.wrong.to_string(),
        ]);
    };
    row("equal, by rules", &summary.equal);
    row("mutants that differ", &summary.mutants);
    row("mutants that do the same, as far as is known", &summary.alike);
    for (kind, tally) in &summary.kinds {
        row(&format!("  {kind}"), tally);
    }
    let mut text = format!("{rows}\n\n");
    for (reason, times) in &summary.reasons {
        let _ = writeln!(text, "{times} unknown: {reason}");
    }
    let known = summary.equal.pairs + summary.mutants.pairs;
    let (median, most) = summary.time_ms;
    let _ = writeln!(
        text,
        "Of {} pairs of known relation {} are answered wrongly and {:.2} % not at all; {median:.1} ms in the \
         median, {:.1} s at most.",
        grouped(known as u64),
        summary.wrong(),
        summary.unknown() * 100.0,
        most / 1e3
    );
    let Lowered { made, terms, programs, rejected, early, read, runs } = programs;
    let _ = writeln!(
        text,
        "Of {} programs {} terms were extracted and {} DLC programs made of them ({} need more than the \
         machine has, {} load from a place that no loop decides), of which {} are read as statements; all \
         agree in {} runs.",
        grouped(*made as u64),
        grouped(*terms as u64),
        grouped(*programs as u64),
        grouped(*rejected as u64),
        grouped(*early as u64),
        grouped(*read as u64),
        grouped(*runs as u64)
    );
    if models.models > 0 {
        let _ = writeln!(
            text,
            "Of {} models {} programs were run, and {} schedules have none and a reason; {} models break a promise. The \
             slowest took {:.1} s.",
            grouped(models.models as u64),
            grouped(models.programs as u64),
            grouped(models.missing as u64),
            grouped(models.findings.len() as u64),
            models.slowest_ms / 1e3
        );
    }
    text
}
