//! The result of a fit.

use super::fit::{History, Of};
use super::plan::Plan;
use super::runs::Found;
use crate::bench::{Row, geometric_mean};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The result of a fit.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Calibration")]
pub(crate) struct Summary {
    /// The machine whose numbers are fitted.
    pub target: String,
    /// The numbers.
    pub parameters: Vec<Fitted>,
    /// The number of published figures that are fitted.
    pub figures: usize,
    /// Every evaluation, in order.
    pub evaluations: Vec<Evaluated>,
    /// The number of the best evaluation.
    pub best: usize,
    /// The best fits to all figures but those of one family.
    pub without: Vec<Without>,
    /// The published figures at the best fit, by workload.
    pub workloads: Vec<Row>,
    /// Published figures, compared with each workload that they may belong to.
    pub readings: Vec<Read>,
    /// The headline on each machine.
    pub headline: Vec<Interval>,
    /// Workloads with wrong outputs, each with the reason.
    pub wrong: Vec<String>,
    /// The tables of published figures, in readable form.
    #[serde(skip)]
    pub compared: String,
}

/// A number that is fitted.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct Fitted {
    /// Its section and key.
    pub name: String,
    /// The least and the greatest value.
    pub range: [f64; 2],
    /// The reason for the range.
    pub source: String,
    /// Its value in the description, if that lies within the range.
    pub now: Option<f64>,
    /// Its value in the best fit.
    pub fitted: f64,
    /// The least and the greatest value in fits that are about as good.
    pub as_good: [f64; 2],
}

/// A point that was evaluated.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "CalibrationPoint")]
pub(crate) struct Evaluated {
    /// The number of the evaluation, from 1.
    pub evaluation: usize,
    /// The values of the numbers.
    pub point: Map<String, Value>,
    /// The root mean square of the logarithms of our figures over the published ones.
    pub rms: Option<f64>,
    /// The mean factor between our figures and the published ones.
    pub mean_factor: Option<f64>,
    /// True if it is about as good as the best.
    pub as_good: bool,
    /// The reason why it has no figures.
    pub reason: Option<String>,
}

/// The best fit to all figures but those of one family.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct Without {
    /// The family.
    pub family: String,
    /// The number of the evaluation.
    pub evaluation: usize,
    /// The mean factor over the figures that it was fitted to.
    pub mean_factor_of_fitted: f64,
    /// The mean factor over the family's figures, which it did not see.
    pub mean_factor_of_family: f64,
}

/// Published figures read as those of a workload.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct Read {
    /// The name of the figures.
    pub figures: String,
    /// The workload.
    pub workload: String,
    /// The mean factor between our figures and the published ones.
    pub mean_factor: Option<f64>,
}

/// The headline on a machine.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct Interval {
    /// The machine.
    pub target: String,
    /// With the numbers of its description.
    pub now: Measured,
    /// With those of fits that are about as good.
    pub fits: Vec<FitMeasured>,
    /// The least and the greatest `percent_of_paper` of these fits.
    pub percent_of_paper: Option<[f64; 2]>,
}

/// The headline with the numbers of a fit.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct FitMeasured {
    /// The number of the evaluation.
    pub evaluation: usize,
    /// The result.
    #[serde(flatten)]
    pub measured: Measured,
}

/// The speed of `search`, in the geometric mean over workloads.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "SearchSpeed")]
pub(crate) struct Measured {
    /// In percent of the speed of `paper`.
    pub percent_of_paper: Option<f64>,
    /// In percent of the speed of `expert`.
    pub percent_of_expert: Option<f64>,
    /// The workload with the least speed relative to `expert`, and that speed in percent.
    pub least_of_expert: Option<(String, f64)>,
}

impl Measured {
    pub(super) fn new(found: &BTreeMap<String, Found>) -> Measured {
        let of = |program: &'static str| {
            found.iter().filter_map(move |(model, found)| {
                let cycles = |name: &str| found.cycles.get(name).map(|n| (*n).max(1) as f64);
                Some((model, 100.0 * cycles(program)? / cycles("search")?))
            })
        };
        let least = of("expert").min_by(|a, b| a.1.total_cmp(&b.1));
        Measured {
            percent_of_paper: geometric_mean(of("paper").map(|own| own.1)),
            percent_of_expert: geometric_mean(of("expert").map(|own| own.1)),
            least_of_expert: least.map(|(model, percent)| (super::plan::stem(model), percent)),
        }
    }
}

impl Interval {
    pub(super) fn new(target: String, now: Measured, fits: Vec<(usize, Measured)>) -> Interval {
        let own = || fits.iter().filter_map(|(_, measured)| measured.percent_of_paper);
        let least = own().min_by(f64::total_cmp);
        let most = own().max_by(f64::total_cmp);
        let percent_of_paper = least.zip(most).map(|(least, most)| [least, most]);
        let fits = fits
            .into_iter()
            .map(|(evaluation, measured)| FitMeasured { evaluation, measured })
            .collect();
        Interval { target, now, fits, percent_of_paper }
    }
}

impl Summary {
    pub(super) fn new(
        plan: &Plan,
        history: &History<'_>,
        good: &[usize],
        workloads: Vec<Row>,
        readings: Vec<Read>,
        headline: Vec<Interval>,
    ) -> Summary {
        let best = good.first().copied().unwrap_or(0);
        let evaluations = history.tried.iter().enumerate().map(|(at, tried)| Evaluated {
            evaluation: at + 1,
            point: plan.space.write(&tried.point),
            rms: history.rms(at, Of::All),
            mean_factor: history.factor(at, Of::All),
            as_good: good.contains(&at),
            reason: tried.residuals.as_ref().err().cloned(),
        });
        let parameters = plan.space.parameters.iter().zip(&plan.sources).enumerate();
        let parameters = parameters.map(|(number, (own, source))| {
            let value = |at: usize| own.number(&history.tried[at].point[number]);
            let least = good.iter().map(|at| value(*at)).fold(f64::INFINITY, f64::min);
            let most = good.iter().map(|at| value(*at)).fold(f64::NEG_INFINITY, f64::max);
            Fitted {
                name: own.name.clone(),
                range: match own.kind {
                    ember_tune::Kind::Integer(low, high) => [low as f64, high as f64],
                    ember_tune::Kind::Real(low, high) => [low, high],
                    _ => [f64::NAN; 2],
                },
                source: source.clone(),
                now: own.default.as_ref().map(|value| own.number(value)),
                fitted: value(best),
                as_good: [least, most],
            }
        });
        let families = plan.families.iter().enumerate().filter(|_| plan.families.len() > 1);
        let without = families.filter_map(|(number, family)| {
            let at = history.best(Of::Without(number))?;
            Some(Without {
                family: family.name.clone(),
                evaluation: at + 1,
                mean_factor_of_fitted: history.factor(at, Of::Without(number))?,
                mean_factor_of_family: history.factor(at, Of::Family(number))?,
            })
        });
        Summary {
            target: plan.target.clone(),
            parameters: parameters.collect(),
            figures: history.figures.len(),
            evaluations: evaluations.collect(),
            best: best + 1,
            without: without.collect(),
            compared: plan.published.report(&workloads),
            workloads,
            readings,
            headline,
            wrong: Vec::new(),
        }
    }

    /// Adds the workloads with wrong outputs.
    pub(super) fn with_wrong(self, wrong: Vec<String>) -> Summary {
        Summary { wrong, ..self }
    }
}
