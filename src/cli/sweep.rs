//! The `sweep` command: every combination of models, targets, schedules and parameters.

use super::output::{to_json, write_output, write_result};
use crate::html::{self, Page};
use crate::sweep::{self, Plan, Row, Store, Summary};
use clap::Args;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_tools::progress::Line;
use ember_tools::render;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// Options of `sweep`.
#[derive(Debug, Args)]
pub(super) struct SweepArgs {
    /// The sweep: a TOML file that lists models, targets, schedules and values of parameters.
    sweep: PathBuf,
    /// The file of results, an SQLite database; a sweep that was interrupted is continued [default: the sweep's path,
    /// ending in .sqlite].
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

impl SweepArgs {
    pub(super) fn run(&self, sources: &mut Sources, line: &Line) -> Checked<ExitCode> {
        let plan = Plan::read(sources, &self.sweep)?;
        let output = self.output.clone().unwrap_or_else(|| self.sweep.with_extension("sqlite"));
        let mut store = Store::open(&plan, &output, self.restart)?;
        sweep::run(&plan, &mut store, &AtomicBool::new(false), line)?;
        line.done();
        let summary = Summary::new(&plan, store.finish(&plan)?);
        if let Some(path) = &self.html {
            write_output(path, html::page(&Page::Sweep { sweep: &summary }))?;
        }
        let text = match self.json {
            true => to_json(&summary),
            false => format!("{}{} has every point.\n", summary.text(), output.display()),
        };
        write_result(None, &text)?;
        let errors: Vec<Diagnostic> = summary.points.iter().filter_map(complaint).collect();
        render::emit(&Sources::default(), &errors);
        Ok(ExitCode::from(u8::from(!errors.is_empty())))
    }
}

/// Returns the error of a point that failed.
fn complaint(row: &Row) -> Option<Diagnostic> {
    let reason = row.result.reason.as_deref().unwrap_or("no output");
    let message = format!("point {}, model `{}`: {reason}", row.point, row.model);
    row.result.has_failed().then(|| Diagnostic::global(message))
}
