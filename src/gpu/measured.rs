//! Measurements of a GPU, in the file that `python -m ember_rewrite.gpu` writes.

use ember_host::Files;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::load::TEXT_LIMIT;
use itertools::Itertools;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The kind and version of a file; a file of others is read no further.
#[derive(Debug, Deserialize)]
struct Header {
    format: String,
    version: u64,
}

const FORMAT: &str = "ember-rewrite gpu measurements";
const VERSION: u64 = 1;

/// The file; further keys are ignored.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Measured {
    /// The path of the file.
    #[serde(skip)]
    pub(super) path: PathBuf,
    /// The device.
    pub(super) device: Device,
    /// The version of PyTorch.
    pub(super) torch: String,
    models: Vec<Point>,
}

/// The device that was measured.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Device {
    /// Its name, in its own words.
    pub(super) name: String,
    bandwidth_gb_per_s: Option<f64>,
    power_w: Option<f64>,
}

/// A model at one batch.
#[derive(Clone, Debug, Deserialize)]
struct Point {
    model: String,
    /// The factor of the batch in the model's file.
    scale: f64,
    /// The time of the fastest way.
    seconds: f64,
    #[serde(default)]
    ways: BTreeMap<String, Way>,
}

/// A way to run a model.
#[derive(Clone, Debug, Deserialize)]
struct Way {
    seconds: f64,
    watts: Option<f64>,
}

impl Measured {
    /// Reads the file.
    pub(crate) fn read(files: &dyn Files, path: &Path) -> Checked<Measured> {
        let error = |reason: String| Diagnostic::global(format!("{}: {reason}", path.display()));
        let fail = |reason: String| vec![error(reason)];
        let bytes = files.read(path, TEXT_LIMIT).map_err(|e| fail(e.to_string()))?;
        let json = |e: serde_json::Error| fail(format!("no measurements of a GPU: {e}"));
        let header: Header = serde_json::from_slice(&bytes).map_err(json)?;
        if header.format != FORMAT || header.version != VERSION {
            let Header { format, version } = header;
            let reason = format!("is `{format}`, version {version}");
            let help = format!(
                "`python -m ember_rewrite.gpu` writes `{FORMAT}`, version {VERSION}: measure anew"
            );
            return Err(vec![error(reason).with_help(help)]);
        }
        let mut measured: Measured = serde_json::from_slice(&bytes).map_err(json)?;
        measured.path = path.to_owned();
        for (what, option, value) in [
            ("bandwidth_gb_per_s", "--bandwidth-gb-per-s", measured.device.bandwidth_gb_per_s),
            ("power_w", "--power-w", measured.device.power_w),
        ] {
            let is_positive = value.is_some_and(|value| value.is_finite() && value > 0.0);
            if !is_positive {
                let shown = value.map_or_else(|| "not known".to_owned(), |value| value.to_string());
                let reason = format!("`{what}` of {} is {shown}", measured.device.name);
                let help = format!("`python -m ember_rewrite.gpu {option} N` states it");
                return Err(vec![error(reason).with_help(help)]);
            }
        }
        let wrong = |value: f64| !(value.is_finite() && value > 0.0);
        if let Some(point) = measured.models.iter().find(|p| wrong(p.scale) || wrong(p.seconds)) {
            let (model, scale, seconds) = (&point.model, point.scale, point.seconds);
            return Err(fail(format!("`{model}` takes {seconds} s at {scale} times its batch")));
        }
        measured.models.sort_by(|a, b| a.model.cmp(&b.model).then(a.scale.total_cmp(&b.scale)));
        Ok(measured)
    }

    /// Returns the peak bandwidth in GB/s.
    pub(super) fn gb_per_s(&self) -> f64 {
        self.device.bandwidth_gb_per_s.unwrap_or(f64::NAN)
    }

    /// Returns the power that the board is built for.
    pub(super) fn watts(&self) -> f64 {
        self.device.power_w.unwrap_or(f64::NAN)
    }

    /// Returns the names of the models.
    pub(super) fn names(&self) -> Vec<&str> {
        self.models.iter().map(|point| point.model.as_str()).dedup().collect()
    }

    /// Returns the factors of the batch at which a model was measured, in order, each with the seconds.
    pub(super) fn points(&self, model: &str) -> Vec<(f64, f64)> {
        let points = self.models.iter().filter(|point| point.model == model);
        points.map(|point| (point.scale, point.seconds)).collect()
    }

    /// Returns the seconds of a model at a factor of its batch. Between two measured factors the logarithm of time is
    /// linear in that of the factor; below the least it takes as long as there, above the greatest as much longer as
    /// the batch is greater. `None` for a model that was not measured.
    pub(super) fn seconds(&self, model: &str, scale: f64) -> Option<f64> {
        let points = self.points(model);
        let (first, last) = (points.first()?, points.last()?);
        if scale <= first.0 {
            return Some(first.1);
        }
        let between = points.iter().tuple_windows().find(|(_, right)| scale <= right.0);
        Some(match between {
            Some((left, right)) => {
                let share = (scale / left.0).ln() / (right.0 / left.0).ln();
                (left.1.ln() + share * (right.1 / left.1).ln()).exp()
            }
            None => last.1 * scale / last.0,
        })
    }

    /// Returns the watts while a model ran the fastest way, at the measured batch nearest to a factor.
    pub(super) fn drawn(&self, model: &str, scale: f64) -> Option<f64> {
        let drawn = |point: &Point| {
            let fastest = point.ways.values().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
            fastest.and_then(|way| way.watts)
        };
        let known = self.models.iter().filter(|point| point.model == model);
        let known =
            known.filter_map(|point| Some(((point.scale / scale).ln().abs(), drawn(point)?)));
        known.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, watts)| watts)
    }
}
