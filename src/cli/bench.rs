//! The `bench` command's options, and the output of its result.

use super::common::{Exact, Sample};
use super::output::{to_json, write_output, write_result};
use super::rule_paths::RulePaths;
use crate::bench::{self, Bench};
use crate::generate;
use crate::html::{self, Page};
use clap::Args;
use ember_compile::pipeline::Options;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_tools::part::Part;
use ember_tools::progress::Line;
use ember_tools::render;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `bench`.
#[derive(Debug, Args)]
pub(super) struct BenchArgs {
    /// Models to run in place of a folder of workloads.
    #[arg(value_name = "MODEL")]
    models: Vec<PathBuf>,
    /// The folder of workloads: FAMILY/NAME.sexp.
    #[arg(long, value_name = "FOLDER", default_value = "workloads")]
    workloads: PathBuf,
    /// Runs those whose name this regular expression fits.
    #[arg(long, value_name = "PATTERN")]
    filter: Option<String>,
    /// Runs only the K-th of N parts of them.
    #[arg(long, value_name = "K/N", default_value = "1/1", hide_default_value = true)]
    part: Part,
    /// The factors that the workloads' batches are multiplied by; each gives a row.
    #[arg(
        long,
        value_name = "FACTOR,…",
        value_parser = generate::scale,
        value_delimiter = ',',
        default_value = "1"
    )]
    scale: Vec<f64>,
    /// Prints a GPU beside our machine: one of t4, a100, h100 and h200, the file of a description (.toml), or of
    /// measurements (.json). May be given again.
    #[arg(long, value_name = "NAME|FILE")]
    gpu: Vec<String>,
    /// Prints published figures beside ours, such as workloads/published.json.
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Writes a plot.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Writes a page for a browser, one file without references to others.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    rules: RulePaths,
    /// The machine: a name, or the file of a description.
    #[arg(long, value_name = "NAME|FILE", default_value = ember_targets::machine::DEFAULT)]
    target: String,
    /// The least exact rules that may run: dot products are vectorised only from `reassoc` on.
    #[arg(long, value_enum, default_value_t = Exact::Reassoc)]
    exact: Exact,
    /// The seed of the data that programs are judged on [default: one after the model's].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The seed of the data that programs are chosen on [default: the model's].
    #[arg(long, value_name = "N")]
    tune_seed: Option<u64>,
    #[command(flatten)]
    sample: Sample,
    /// How many of the best candidates the simulator ranks, beside the best by other prices of prefetches [default: what the
    /// schedule says, or 12].
    #[arg(long, value_name = "N")]
    candidates: Option<usize>,
    /// Chooses from the programs of all schedules and of the searches without a rule set, too, and prints which of those
    /// searches find better programs than the one with all rules.
    #[arg(long)]
    pool: bool,
    /// Write what is printed to a file.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl BenchArgs {
    pub(super) fn run(&self, sources: &mut Sources, line: &Line) -> Checked<ExitCode> {
        let bench = Bench {
            models: self.models.clone(),
            workloads: self.workloads.clone(),
            filter: self.filter.clone(),
            part: self.part,
            scales: self.scale.clone(),
            gpus: self.gpu.clone(),
            compare: self.compare.clone(),
            svg: self.svg.clone(),
            options: Options {
                rules: self.rules.rules.clone(),
                target: self.target.clone(),
                exact: self.exact.into(),
                seed: self.seed,
                tune_seed: self.tune_seed,
                sample: self.sample.error(),
                candidates: self.candidates.map(|candidates| candidates.max(1)),
                pool: self.pool,
                bounded: true,
                ..Options::default()
            },
        };
        let done = bench::run(sources, &bench, line)?;
        line.done();
        if let Some(path) = &self.html {
            write_output(path, html::page(&Page::Bench { workloads: &done.rows }))?;
        }
        let result = json!({ "workloads": done.rows, "gpus": done.gpus });
        let text = if self.json { to_json(&result) } else { done.text };
        write_result(self.output.as_deref(), &text)?;
        let failed = done.rows.iter().filter(|row| !row.valid);
        let errors: Vec<Diagnostic> = failed
            .flat_map(|row| {
                row.errors.iter().map(move |e| format!("workload `{}`: {e}", row.workload))
            })
            .map(Diagnostic::global)
            .collect();
        render::emit(&Sources::default(), &errors);
        Ok(if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}
