//! The `bench` command: every workload of a folder, each a model, in one table.
//!
//! Programs are chosen on the model's seed and judged on another. A workload that cannot be run becomes a row that is
//! not valid, and the other workloads still run.

mod compare;
mod plot;
mod pooled;
mod row;
mod table;

use crate::gpu;
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
use itertools::Itertools;
use regex_lite::Regex;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub use row::Row;
pub(crate) use table::geometric_mean;

/// The options of the bench.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The models that are run; those of the folder if there are none.
    pub models: Vec<PathBuf>,
    /// The folder of workloads: `FAMILY/NAME.sexp`.
    pub workloads: PathBuf,
    /// A pattern that selects workloads by name; all if there is none.
    pub filter: Option<String>,
    /// The part of the workloads that is run.
    pub part: Part,
    /// The factors of the workloads' batches, at least one.
    pub scales: Vec<f64>,
    /// The GPUs to compare with, each a name, a description or measurements.
    pub gpus: Vec<String>,
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
    /// One row for each workload and factor of its batch.
    pub rows: Vec<Row>,
    /// The comparison with each GPU.
    pub gpus: Vec<gpu::Summary>,
    /// The table in readable form.
    pub text: String,
}

/// Runs the bench. Returns an error if the workloads cannot be found, the pattern is invalid or the published figures
/// cannot be read; errors of a workload are printed and recorded in its row.
pub fn run(sources: &mut Sources, bench: &Bench, line: &Line) -> Checked<Done> {
    let workloads = bench.part.pick(find(bench)?);
    let published =
        bench.compare.as_deref().map(|path| Published::read(&Disk, path)).transpose()?;
    // Errors of the rules, the machine or the GPU are reported once, not for every workload.
    let rules = rules::load(sources, &bench.options.rules).map(|_| ());
    let machine = machines::load(sources, &bench.options.target);
    let compared: Checked<Vec<_>> =
        bench.gpus.iter().map(|gpu| gpu::Compared::load(sources, gpu)).collect();
    let (machine, compared) = match (rules, machine, compared) {
        (Ok(()), Ok(machine), Ok(compared)) => (machine, compared),
        (rules, machine, compared) => {
            let wrong = [rules.err(), machine.err(), compared.err()];
            return Err(wrong.into_iter().flatten().flatten().collect());
        }
    };
    let named = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let names: Vec<String> = workloads.iter().map(|(_, path)| named(path)).collect();
    for compared in &compared {
        compared.has(names.iter().map(String::as_str))?;
    }
    let mut rows = Vec::new();
    let runs: Vec<_> = workloads.iter().cartesian_product(&bench.scales).collect();
    for (i, ((family, path), scale)) in runs.iter().enumerate() {
        let (model, scale) = (named(path), **scale);
        line.within(format!("{model} ({} of {}): ", i + 1, runs.len()));
        let at = (model.clone(), scale);
        let measured = measure(sources, path, &bench.options, scale, Scope::Compared, line);
        let measured = measured.and_then(|report| {
            let mut row = Row::of(at.clone(), family.clone(), &report);
            row.gpus = beside(sources, path, bench, scale, &report, &compared)?;
            Ok(row)
        });
        let mut row = measured.unwrap_or_else(|errors| {
            line.aside(|| render::emit(sources, &errors));
            let why = errors.first().map(|e| e.message.clone()).unwrap_or_default();
            Row::failed(at, family.clone(), why)
        });
        if bench.scales.len() > 1 {
            row.workload = format!("{model} x {scale}");
        }
        if let Some(published) = &published {
            published.put_beside(&mut row);
        }
        rows.push(row);
    }
    let mut text = table::table(&rows);
    text += &pooled::text(&rows);
    if let Some(published) = &published {
        text += &published.report(&rows);
    }
    let summary = |(at, compared)| gpu::Summary::of(compared, &machine, &rows, at);
    let gpus: Vec<gpu::Summary> = compared.iter().enumerate().map(summary).collect();
    if !gpus.is_empty() {
        text += &gpu::text(&gpus, &rows);
    }
    if let Some(path) = &bench.svg {
        let drawn = plot::draw(&rows)
            .map_err(|e| vec![Diagnostic::global(format!("cannot draw the plot: {e}"))])?;
        std::fs::write(path, drawn).map_err(|e| {
            vec![Diagnostic::global(format!("{}: cannot write: {e}", path.display()))]
        })?;
    }
    Ok(Done { rows, gpus, text })
}

/// Compares the best program of a workload with each GPU; with none if it did not end.
fn beside(
    sources: &mut Sources,
    path: &Path,
    bench: &Bench,
    scale: f64,
    report: &Report,
    compared: &[gpu::Compared],
) -> Checked<Vec<gpu::Beside>> {
    let best = &report.best.record;
    let ran = best.time_s.filter(|seconds| *seconds > 0.0).map(|seconds| (seconds, best.energy_j));
    let Some(ran) = ran.filter(|_| !compared.is_empty()) else { return Ok(Vec::new()) };
    let (inputs, options) = read(sources, path, &bench.options, scale)?;
    let each = compared.iter();
    each.map(|gpu| gpu::Beside::of(gpu, &inputs, scale, options.seed, ran)).collect()
}

/// Returns the families and files of the selected workloads: the given models, or those of the folder in alphabetical
/// order.
fn find(bench: &Bench) -> Checked<Vec<(String, PathBuf)>> {
    let fail = |message: String| vec![Diagnostic::global(message)];
    let filter = bench.filter.as_deref().unwrap_or("");
    let filter = Regex::new(filter).map_err(|e| fail(format!("`{filter}` is no pattern: {e}")))?;
    if !bench.models.is_empty() {
        let family = |path: &Path| {
            let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
            folder.to_string_lossy().into_owned()
        };
        let name =
            |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let chosen = bench.models.iter().filter(|path| filter.is_match(&name(path)));
        return Ok(chosen.map(|path| (family(path), path.clone())).collect());
    }
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
    if !inputs.model.data.scale_batches(scale) {
        let name = &inputs.model.name;
        let error = Diagnostic::global(format!("no {scale} times the batch of `{name}`"));
        let help = "its batch is a number of whole graphs: choose a whole factor";
        return Err(vec![error.with_help(help)]);
    }
    let own = inputs.model.data.seed;
    options.tune_seed = options.tune_seed.or(Some(own));
    options.seed = options.seed.or(Some(own.wrapping_add(1)));
    Ok((inputs, options))
}
