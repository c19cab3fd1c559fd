//! The sample that candidates were ranked on, with the error of its estimate for the chosen program.

use ember_compile::pipeline::{Case, Inputs, NoSample};
use ember_targets::dlc::Program;
use ember_tools::tables::grouped;
use schemars::JsonSchema;
use serde::Serialize;

/// The sample that candidates were ranked on, or the reason why they were ranked on all data.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Sample")]
#[serde(rename_all = "snake_case")]
pub enum SampleReport {
    /// Some of the rows.
    Rows(Estimated),
    /// All data, for the reason given.
    All(String),
}

/// The estimate for the chosen program from some of the rows.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Estimated {
    /// The windows of rows that the program ran on.
    pub windows: usize,
    /// The part of all lookups and rows in them.
    pub part: f64,
    /// The cycles on all data, as estimated from these windows.
    pub cycles: u64,
    /// The standard error of these cycles, as a part of them: the largest that was allowed, or less.
    pub standard_error: f64,
    /// The difference to the cycles on all data, as a part of those; `null` if that run did not end.
    pub off: Option<f64>,
}

impl SampleReport {
    /// Reports the sample for a program that takes so many cycles on all data; `None` if none was asked for.
    pub(crate) fn of(
        inputs: &Inputs,
        (case, unsampled): (&Case, Option<&NoSample>),
        program: &Program,
        cycles: Option<u64>,
    ) -> Option<SampleReport> {
        if let Some(why) = unsampled {
            return Some(SampleReport::All(why.to_string()));
        }
        if !case.is_sampled() {
            return None;
        }
        let Some(Ok(estimate)) = case.estimate(program, &inputs.machine) else {
            let why = "for the chosen program, which windows of rows do not tell of";
            return Some(SampleReport::All(why.to_owned()));
        };
        let estimated = estimate.measure.cycles;
        Some(SampleReport::Rows(Estimated {
            windows: estimate.windows,
            part: estimate.part,
            cycles: estimated,
            standard_error: estimate.standard_error,
            off: cycles.map(|cycles| estimated as f64 / cycles.max(1) as f64 - 1.0),
        }))
    }

    /// Returns the sample in a sentence.
    pub(super) fn line(&self) -> String {
        let percent = |part: f64| format!("{:.1} %", 100.0 * part);
        match self {
            SampleReport::All(why) => format!("sample: all data was taken; {why}"),
            SampleReport::Rows(Estimated { windows, part, cycles, standard_error, off }) => {
                let off = off.map_or_else(String::new, |off| {
                    let side = if off < 0.0 { "below" } else { "above" };
                    format!(", {} {side} those on all data", percent(off.abs()))
                });
                format!(
                    "sample: {windows} windows with {} of all lookups and rows; estimated {} cycles with a standard \
                     error of {}{off}",
                    percent(*part),
                    grouped(*cycles),
                    percent(*standard_error)
                )
            }
        }
    }
}
