//! The `equiv` command's options, and the output of its result.

use super::common::Exact;
use super::output::{to_json, write_output, write_result};
use super::rule_paths::RulePaths;
use clap::Args;
use ember_certify::Rules;
use ember_compile::machines;
use ember_engine::saturate::Limits;
use ember_language::diagnostic::{Checked, Sources};
use ember_prove::equiv::{self, Options, Report, Verdict};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Options of `equiv`.
#[derive(Debug, Args)]
pub(super) struct EquivArgs {
    /// Two models or programs (SCF, SLC or DLC text), or one file with declarations and two programs; and a file
    /// of the layouts and conditions that their inputs have.
    #[arg(required = true, num_args = 1..=3, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A model that declares the tensors of programs that do not.
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    #[command(flatten)]
    rules: RulePaths,
    /// The machine: a name, or the file of a description.
    #[arg(long, value_name = "NAME|FILE", default_value = ember_targets::machine::DEFAULT)]
    target: String,
    /// What counts as equal: the same bits, the same up to the order of sums, or other operations too.
    #[arg(long, value_enum, default_value_t = Exact::Bitwise)]
    exact: Exact,
    /// The seed of random data.
    #[arg(long, value_name = "N", default_value_t = Options::default().seed)]
    seed: u64,
    /// The most e-nodes of a saturation.
    #[arg(long, value_name = "N", default_value_t = Options::default().limits.nodes)]
    node_limit: usize,
    /// The most iterations of a saturation.
    #[arg(long, value_name = "N", default_value_t = Options::default().limits.iterations)]
    iter_limit: usize,
    /// Random data to try where no proof is found.
    #[arg(long, value_name = "N", default_value_t = Options::default().tries)]
    tries: usize,
    /// Write the certificate to a file, where they are equal.
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Write the data on which they differ to a file, as a model or in front of the programs.
    #[arg(long, value_name = "FILE")]
    counterexample: Option<PathBuf>,
    /// Print what each attempt at a proof came to, even where one succeeded.
    #[arg(long)]
    phases: bool,
    /// Write what is printed to a file.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl EquivArgs {
    pub(super) fn run(&self, sources: &mut Sources) -> Checked<ExitCode> {
        let start = Instant::now();
        let paths = equiv::rule_paths(sources.files().as_ref(), &self.rules.rules);
        let book = equiv::load_rules(sources, &self.rules.rules)?;
        let machine = machines::load(sources, &self.target)?;
        let sides = equiv::read(sources, &book, &machine, &self.files, self.model.as_deref())?;
        let compiled = ember_engine::compile(&book);
        let options = Options {
            exact: self.exact.into(),
            seed: self.seed,
            limits: Limits { iterations: self.iter_limit, nodes: self.node_limit },
            tries: self.tries,
        };
        let rules = Rules::read(sources, &paths)?;
        let answer = equiv::compare(&sides, &book, &compiled, &rules, &machine, &options)?;
        if let (Some(path), Verdict::Equal(Ok(certificate))) = (&self.certificate, &answer.verdict)
        {
            write_output(path, certificate.text())?;
        }
        let counterexample = match &answer.verdict {
            Verdict::Different(found) => {
                Some(equiv::counterexample(sources, &book.signature, &sides, found))
            }
            _ => None,
        };
        if let (Some(path), Some(text)) = (&self.counterexample, &counterexample) {
            write_output(path, text)?;
        }
        let report = Report {
            answer: &answer,
            sides: &sides,
            counterexample,
            time_ms: start.elapsed().as_secs_f64() * 1e3,
            phases: self.phases,
        };
        let text = match self.json {
            true => to_json(&equiv::json(&report)),
            false => equiv::text(&report),
        };
        write_result(self.output.as_deref(), &text)?;
        Ok(match answer.verdict {
            Verdict::Equal(_) => ExitCode::SUCCESS,
            Verdict::Different(_) => ExitCode::from(1),
            Verdict::Unknown(_) => ExitCode::from(3),
        })
    }
}
