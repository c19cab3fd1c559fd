//! The points of a sweep with their results, in the form of the JSON output and of the columns of the file.

use super::changes::Changed;
use crate::report::{Record, Report};
use ember_sim::Bound;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A point with its result.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Point")]
pub struct Row {
    /// Its number, counted from 0: models vary slowest, the last parameter fastest.
    pub point: usize,
    /// A digest of everything that decides its result.
    pub key: String,
    /// The path of the model, relative to the sweep.
    pub model: String,
    /// The machine that its own one is derived from.
    pub target: String,
    /// The schedule.
    pub schedule: String,
    /// The least exact rules that might run.
    pub exact: String,
    /// The seed of the data.
    pub seed: u64,
    /// The numbers that were replaced, by section and key.
    pub parameters: BTreeMap<String, f64>,
    /// The number of the machine that was changed, if the sweep has changes of one at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Changed>,
    /// Its result.
    #[serde(flatten)]
    pub result: Result,
}

/// The result of a point.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema, Serialize)]
#[schemars(rename = "PointResult")]
pub struct Result {
    /// Cycles of the chosen program; `null` if there is none or its run did not end.
    pub cycles: Option<u64>,
    /// The same in seconds, at the clock of the machine's core.
    pub time_s: Option<f64>,
    /// The fewest cycles that are physically possible.
    pub bound_cycles: Option<u64>,
    /// The resource that requires them.
    pub bound_by: Option<String>,
    /// The bound divided by the cycles.
    pub of_bound: Option<f64>,
    /// Energy in joules.
    pub energy_j: Option<f64>,
    /// Bytes read from and written to main memory.
    pub dram_bytes: Option<u64>,
    /// True if the output equals the reference's; `null` if there is no program, or nothing to judge it by.
    pub valid: Option<bool>,
    /// The reason why there is no program, or why its output is not known to be right.
    pub reason: Option<String>,
}

impl Result {
    /// Returns the result of a compilation.
    pub(super) fn of(report: &Report) -> Result {
        let best = &report.best;
        Result::new(&best.record, best.bound_cycles, &best.bound_by)
    }

    /// Returns the result of a hand-written program.
    pub(super) fn by_hand(record: &Record, bound: &Bound) -> Result {
        Result::new(record, bound.cycles, bound.bound_by.name())
    }

    fn new(record: &Record, bound_cycles: u64, bound_by: &str) -> Result {
        let Record { cycles, time_s, energy_j, dram_bytes, valid, unjudged, mismatch, .. } = record;
        let ended = cycles.is_some();
        Result {
            cycles: *cycles,
            time_s: *time_s,
            bound_cycles: Some(bound_cycles),
            bound_by: Some(bound_by.to_owned()),
            of_bound: cycles.map(|cycles| bound_cycles as f64 / cycles.max(1) as f64),
            energy_j: ended.then_some(*energy_j),
            dram_bytes: ended.then_some(*dram_bytes),
            valid: (!unjudged).then_some(*valid),
            reason: mismatch.clone(),
        }
    }

    /// Returns the result of a point without a program.
    pub(super) fn none(reason: String) -> Result {
        Result { reason: Some(reason), ..Result::default() }
    }

    /// Returns true if there is no program.
    pub fn is_refused(&self) -> bool {
        self.cycles.is_none() && self.valid.is_none()
    }

    /// Returns true if the output is wrong, or the run did not end.
    pub fn has_failed(&self) -> bool {
        self.valid == Some(false)
    }
}

/// The settings in which points differ.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Axis {
    /// `model`, `target`, `schedule`, `exact`, `seed`, the section and key of a number, or `change`.
    pub name: String,
    /// Its values as written, in the order of the sweep.
    pub values: Vec<String>,
    /// True for the number of a machine.
    pub parameter: bool,
}

impl Row {
    /// Returns the value on an axis, as it is shown.
    pub fn value(&self, axis: &str) -> String {
        match axis {
            "model" => self.model.clone(),
            "target" => self.target.clone(),
            "schedule" => self.schedule.clone(),
            "exact" => self.exact.clone(),
            "seed" => self.seed.to_string(),
            "change" => self.change.as_ref().map_or_else(
                || "none".to_owned(),
                |own| format!("{} {} to {}", own.parameter, own.before, own.after),
            ),
            name => self.parameters.get(name).map(f64::to_string).unwrap_or_default(),
        }
    }
}
