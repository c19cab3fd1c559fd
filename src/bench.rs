//! The `bench` command: every workload of a folder, each a model, in one table.
//!
//! Programs are chosen on the model's seed and judged on another. A workload that cannot be run becomes a row that is
//! not valid, and the other workloads still run.

mod compare;
mod plot;
mod row;
mod table;

use crate::job::{self, Scope};
use crate::report::Report;
pub(crate) use compare::Published;
use ember_compile::machines;
use ember_compile::pipeline::{self, Inputs, Options};
use ember_host::Disk;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::rules;
use ember_tools::part::Part;
use ember_tools::progress::Line;
use ember_tools::render;
use regex_lite::Regex;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub use row::Row;
pub(crate) use table::geometric_mean;

/// The options of the bench.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The folder of workloads: `FAMILY/NAME.sexp`.
    pub workloads: PathBuf,
    /// A pattern that selects workloads by name; all if there is none.
    pub filter: Option<String>,
    /// The part of the workloads that is run.
    pub part: Part,
    /// The factor of the workloads' batches.
    pub scale: f64,
    /// A file of published figures to compare with.
    pub compare: Option<PathBuf>,
    /// The output file of a plot.
    pub svg: Option<PathBuf>,
    /// Rules, target and search. The seeds apply to every workload; without them, each workload's program is chosen on
    /// its model's own seed and judged on the next.
    pub options: Options,
}

/// The result of the bench.
pub struct Done {
    /// One row per workload.
    pub rows: Vec<Row>,
    /// The table in readable form.
    pub text: String,
}

/// Runs the bench. Returns an error if the workloads cannot be found, the pattern is invalid or the published figures
/// cannot be read; errors of a workload are printed and recorded in its row.
pub fn run(sources: &mut Sources, bench: &Bench, line: &Line) -> Checked<Done> {
    let workloads = bench.part.pick(find(bench)?);
    let published =
        bench.compare.as_deref().map(|path| Published::read(&Disk, path)).transpose()?;
    // Errors of the rules or the machine are reported once, not for every workload.
    let wrong = [
        rules::load(sources, &bench.options.rules).err(),
        machines::load(sources, &bench.options.target).err(),
    ];
    let wrong: Vec<Diagnostic> = wrong.into_iter().flatten().flatten().collect();
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let mut rows = Vec::new();
    for (i, (family, path)) in workloads.iter().enumerate() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        line.within(format!("{name} ({} of {}): ", i + 1, workloads.len()));
        let measured = measure(sources, path, &bench.options, bench.scale, Scope::Compared, line);
        let mut row = match measured {
            Ok(report) => Row::of(name, family.clone(), &report),
            Err(errors) => {
                line.aside(|| render::emit(sources, &errors));
                let why = errors.first().map(|e| e.message.clone()).unwrap_or_default();
                Row::failed(name, family.clone(), why)
            }
        };
        if let Some(published) = &published {
            published.put_beside(&mut row);
        }
        rows.push(row);
    }
    let mut text = table::table(&rows);
    if let Some(published) = &published {
        text += &published.report(&rows);
    }
    if let Some(path) = &bench.svg {
        let drawn = plot::draw(&rows)
            .map_err(|e| vec![Diagnostic::global(format!("cannot draw the plot: {e}"))])?;
        std::fs::write(path, drawn).map_err(|e| {
            vec![Diagnostic::global(format!("{}: cannot write: {e}", path.display()))]
        })?;
    }
    Ok(Done { rows, text })
}

/// Returns the families and files of the selected workloads, in alphabetical order.
fn find(bench: &Bench) -> Checked<Vec<(String, PathBuf)>> {
    let fail = |message: String| vec![Diagnostic::global(message)];
    let filter = bench.filter.as_deref().unwrap_or("");
    let filter = Regex::new(filter).map_err(|e| fail(format!("`{filter}` is no pattern: {e}")))?;
    let folder = &bench.workloads;
    let entries = |folder: &Path| -> Checked<Vec<PathBuf>> {
        let paths: std::io::Result<Vec<_>> = std::fs::read_dir(folder)
            .and_then(|entries| entries.map(|e| e.map(|e| e.path())).collect());
        let mut paths = paths.map_err(|e| fail(format!("{}: {e}", folder.display())))?;
        paths.sort();
        Ok(paths)
    };
    let mut found = Vec::new();
    for family in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
        let family_name = family.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for path in entries(&family)? {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            if path.extension().is_some_and(|e| e == "sexp") && filter.is_match(&name) {
                found.push((family_name.clone(), path));
            }
        }
    }
    if found.is_empty() {
        let error = Diagnostic::global(format!("{}: no workload to run", folder.display()));
        let help = "workloads are `FAMILY/NAME.sexp`, and `--filter` must fit the NAME";
        return Err(vec![error.with_help(help)]);
    }
    Ok(found)
}

/// Runs one workload, with its batch multiplied by `scale`.
pub(crate) fn measure(
    sources: &mut Sources,
    path: &Path,
    options: &Options,
    scale: f64,
    scope: Scope,
    line: &Line,
) -> Checked<Report> {
    let started = Instant::now();
    let (inputs, options) = read(sources, path, options, scale)?;
    let read = (started, started.elapsed());
    let done = job::run(sources, &inputs, &options, scope, false, read, line)?;
    Ok(done.report)
}

/// Reads a workload. Without seeds in the options, its program is chosen on its model's own seed and judged on the next.
pub(crate) fn read(
    sources: &mut Sources,
    path: &Path,
    options: &Options,
    scale: f64,
) -> Checked<(Inputs, Options)> {
    let mut options = options.clone();
    let mut inputs = pipeline::read(sources, path, &options)?;
    inputs.model.data.scale_batches(scale);
    let own = inputs.model.data.seed;
    options.tune_seed = options.tune_seed.or(Some(own));
    options.seed = options.seed.or(Some(own.wrapping_add(1)));
    Ok((inputs, options))
}
