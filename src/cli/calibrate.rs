//! The `calibrate` command: the fit of a machine's numbers to published speedups.

use super::output::{to_json, write_result};
use crate::calibrate::{self, Plan, Runs};
use clap::Args;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_tools::progress::Line;
use ember_tools::render;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `calibrate`.
#[derive(Debug, Args)]
pub(super) struct CalibrateArgs {
    /// The fit: a TOML file that names published figures, workloads, and numbers of a machine with their ranges.
    fit: PathBuf,
    /// The file of runs, lines of JSON; a fit that was interrupted is continued [default: the fit's path, ending in
    /// .jsonl].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Begin anew, whatever the file of runs holds.
    #[arg(long)]
    restart: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl CalibrateArgs {
    pub(super) fn run(&self, sources: &mut Sources, line: &Line) -> Checked<ExitCode> {
        let plan = Plan::read(sources, &self.fit)?;
        let output = self.output.clone().unwrap_or_else(|| self.fit.with_extension("jsonl"));
        let mut runs = Runs::open(&plan, &output, self.restart)?;
        let summary = calibrate::run(&plan, &mut runs, line)?;
        line.done();
        let text = match self.json {
            true => to_json(&summary),
            false => format!("{}\n{} has every run.\n", summary.text(), output.display()),
        };
        write_result(None, &text)?;
        let errors: Vec<Diagnostic> =
            summary.wrong.iter().map(|why| Diagnostic::global(why.clone())).collect();
        render::emit(&Sources::default(), &errors);
        Ok(ExitCode::from(u8::from(!errors.is_empty())))
    }
}
