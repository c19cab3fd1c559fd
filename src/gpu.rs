//! GPUs beside our machine: the time of a model on a GPU, from measurements or from an analytic model, compared at equal
//! bandwidth and at equal power. The book's page "Beside a GPU" states the formulas.

mod beside;
#[cfg(test)]
mod fit;
mod measured;
mod table;
mod time;
mod work;

use ember_compile::pipeline::Inputs;
use ember_language::diagnostic::{Checked, Diagnostic, Sources, Span};
use ember_language::load;
use ember_language::suggest;
use ember_model::Model;
use ember_targets::machine::gpu::Gpu;
use measured::Measured;
use std::path::{Path, PathBuf};

pub(crate) use beside::{Beside, Summary};
pub(crate) use table::text;

/// A GPU to compare with.
#[derive(Clone, Debug)]
pub(crate) enum Compared {
    /// A description, from which times are estimated.
    Described(Box<Gpu>),
    /// Measurements, with the shipped description of the device if there is one.
    Measured(Box<Measured>, Option<Box<Gpu>>),
}

impl Compared {
    /// Reads measurements from a file (`.json`) or a description from a file (`.toml`), or finds a shipped description
    /// by its name.
    pub(crate) fn load(sources: &mut Sources, name: &str) -> Checked<Compared> {
        if name.ends_with(".json") {
            let measured = Measured::read(sources.files().as_ref(), Path::new(name))?;
            let device = measured.device.name.to_lowercase();
            let is_named = |known: &String| device.split([' ', '-']).any(|word| word == known);
            let known = shipped().into_iter().find(is_named);
            let described = known.map(|name| described(sources, &path(&name))).transpose()?;
            return Ok(Compared::Measured(Box::new(measured), described.map(Box::new)));
        }
        if name.contains(std::path::MAIN_SEPARATOR) || name.ends_with(".toml") {
            let gpu = described(sources, Path::new(name))?;
            return Ok(Compared::Described(Box::new(gpu)));
        }
        let known = shipped();
        if known.iter().all(|other| other != name) {
            let known = suggest::list(known.iter().map(String::as_str));
            let help = format!(
                "one of {known}; or the path of a description (`.toml`) or of measurements \
                 (`.json`)"
            );
            let error = Diagnostic::global(format!("no GPU is named `{name}`"));
            return Err(vec![error.with_help(help)]);
        }
        let gpu = described(sources, &path(name))?;
        Ok(Compared::Described(Box::new(gpu)))
    }

    /// Returns an error if these are measurements that lack one of the models.
    pub(crate) fn has<'a>(&self, mut models: impl Iterator<Item = &'a str>) -> Checked<()> {
        let Compared::Measured(measured, _) = self else { return Ok(()) };
        let known = || measured.names().into_iter();
        match models.find(|model| known().all(|name| name != *model)) {
            None => Ok(()),
            Some(model) => {
                let message = format!("{}: no measurement of `{model}`", measured.path.display());
                let help = format!("it has {}", suggest::list(known()));
                Err(vec![Diagnostic::global(message).with_help(help)])
            }
        }
    }

    /// Returns the name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Compared::Described(gpu) => &gpu.name,
            Compared::Measured(measured, _) => &measured.device.name,
        }
    }

    /// Returns the peak bandwidth of memory in GB/s.
    pub(crate) fn gb_per_s(&self) -> f64 {
        match self {
            Compared::Described(gpu) => gpu.memory.gb_per_s,
            Compared::Measured(measured, _) => measured.gb_per_s(),
        }
    }

    /// Returns the power that the board is built for, in watts.
    pub(crate) fn watts(&self) -> f64 {
        match self {
            Compared::Described(gpu) => gpu.power.board_w,
            Compared::Measured(measured, _) => measured.watts(),
        }
    }

    /// Returns the seconds of a model whose batch, `scale` times that of its file, is multiplied by `times` more.
    fn seconds(&self, inputs: &Inputs, scale: f64, times: f64, seed: Option<u64>) -> Checked<f64> {
        match self {
            Compared::Described(gpu) => modelled(gpu, &inputs.model, times, seed),
            Compared::Measured(measured, _) => {
                let seconds = measured.seconds(&inputs.model.name, scale * times);
                let message = format!("no measurement of `{}`", inputs.model.name);
                seconds.ok_or_else(|| vec![Diagnostic::global(message)])
            }
        }
    }
}

/// The folder of the shipped descriptions, among the shipped files.
const FOLDER: &str = "targets/gpu";

/// Returns the names of the shipped descriptions.
fn shipped() -> Vec<String> {
    let own = crate::shipped::files().filter(|(path, _)| path.starts_with(FOLDER));
    own.filter_map(|(path, _)| Some(path.file_stem()?.to_string_lossy().into_owned())).collect()
}

/// Returns the path of a shipped description.
fn path(name: &str) -> PathBuf {
    Path::new(crate::shipped::ROOT).join(FOLDER).join(format!("{name}.toml"))
}

/// Reads a description.
fn described(sources: &mut Sources, path: &Path) -> Checked<Gpu> {
    let file = load::load(sources, path)?;
    let text = sources.get(file).text.clone();
    Gpu::parse(&text).map_err(|errors| {
        let placed = errors.into_iter().map(|error| {
            let span = Span::new(file, error.range.unwrap_or(text.len()..text.len()));
            let shown = Diagnostic::error(error.message, span, "in this description");
            if error.help.is_empty() { shown } else { shown.with_help(error.help) }
        });
        placed.collect()
    })
}

/// Returns the seconds that the analytic model gives a model whose batch is multiplied by `times`.
fn modelled(gpu: &Gpu, model: &Model, times: f64, seed: Option<u64>) -> Checked<f64> {
    let mut model = model.clone();
    // A whole number of batches is a whole number of graphs.
    let _ = model.data.scale_batches(times);
    let instance = model.instantiate(seed)?;
    let launches = work::launches(&model, &instance, gpu);
    Ok(time::seconds(gpu, &launches))
}
