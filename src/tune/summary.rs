//! The result of a tuning: its evaluations, and the best of them.

use super::store::Store;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_tools::tables::{grouped, narrow, wrapped};
use ember_tune::{Method, Space};
use itertools::Itertools;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt::Write;

/// The most improvements in the table, and the most reasons below it.
const SHOWN: usize = 8;

/// The result of a tuning.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Tuning")]
pub struct Summary {
    /// The parameters, in the order of the space.
    pub parameters: Vec<String>,
    /// The name of the result, which is made small.
    pub objective: String,
    /// `bayesian` or `random`.
    pub method: String,
    /// The seed of the search.
    pub seed: u64,
    /// The result of the parameters' defaults, if what is tuned is a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<f64>,
    /// The parameters that are not tuned, since no rule with them fires for the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untuned: Vec<String>,
    /// The number of points that meet the conditions, if it is known.
    pub points: Option<u64>,
    /// Every evaluation, in order.
    pub evaluations: Vec<Evaluated>,
    /// The number of the best evaluation.
    pub best: usize,
    /// The evaluations without a value.
    pub failed: usize,
}

/// A point with its value.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Evaluated {
    /// The number of the evaluation, from 1.
    pub evaluation: usize,
    /// The values of the parameters.
    pub point: Map<String, Value>,
    /// The result; `None` if the point has none.
    pub value: Option<f64>,
    /// The reason why it has none.
    pub reason: Option<String>,
}

impl Summary {
    /// Summarises the stored evaluations.
    ///
    /// # Errors
    ///
    /// Fails if none has a value.
    pub fn new(space: &Space, (method, seed): (Method, u64), store: &Store) -> Checked<Summary> {
        let known = store.history.iter().zip(&store.reasons).enumerate();
        let evaluations: Vec<Evaluated> = known
            .map(|(at, (known, reason))| Evaluated {
                evaluation: at + 1,
                point: space.write(&known.point),
                value: known.value,
                reason: reason.clone(),
            })
            .collect();
        let valued = evaluations.iter().filter_map(|own| Some((own.value?, own.evaluation)));
        let best = valued.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, number)| number);
        let Some(best) = best else { return Err(vec![none_has_a_value(&evaluations)]) };
        let failed = evaluations.iter().filter(|own| own.value.is_none()).count();
        Ok(Summary {
            parameters: space.parameters.iter().map(|own| own.name.clone()).collect(),
            objective: space.objective.clone(),
            default: None,
            untuned: Vec::new(),
            method: format!("{method:?}").to_lowercase(),
            seed,
            points: space.size(),
            evaluations,
            best,
            failed,
        })
    }

    /// Returns the summary in readable form.
    pub fn text(&self) -> String {
        let mut table = narrow(&["evaluation", &self.objective, "point"]);
        let better = self.improvements();
        for own in better.iter().skip(better.len().saturating_sub(SHOWN)) {
            let value = own.value.map_or_else(String::new, |value| value.to_string());
            table.add_row([own.evaluation.to_string(), value, self.settings(own)]);
        }
        let count = grouped(self.evaluations.len() as u64);
        let all = self
            .points
            .map_or_else(String::new, |points| format!(" of {} points", grouped(points)));
        let mut text = format!("The points that were better than all before\n{table}\n\n");
        let _ = writeln!(
            text,
            "{count}{all} evaluated, {} without a value.",
            grouped(self.failed as u64)
        );
        if let Some(default) = self.default {
            let _ = writeln!(text, "The defaults have {default}.");
        }
        for (reason, count) in reasons(&self.evaluations).into_iter().take(SHOWN) {
            let _ = writeln!(text, "{}", wrapped(&format!("{count} without a value: {reason}")));
        }
        text
    }

    /// Returns the best evaluation.
    pub fn best(&self) -> Option<&Evaluated> {
        self.evaluations.iter().find(|own| own.evaluation == self.best)
    }

    /// Returns the evaluations that are better than all before.
    fn improvements(&self) -> Vec<&Evaluated> {
        let mut least = f64::INFINITY;
        let better = |own: &&Evaluated| {
            let better = own.value.is_some_and(|value| value < least);
            least = own.value.map_or(least, |value| least.min(value));
            better
        };
        self.evaluations.iter().filter(better).collect()
    }

    fn settings(&self, own: &Evaluated) -> String {
        let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let setting =
            |name: &String| format!("{name} {}", own.point.get(name).map_or(String::new(), shown));
        self.parameters.iter().map(setting).join("\n")
    }
}

/// Returns the reasons of points without a value, the most frequent first.
fn reasons(evaluations: &[Evaluated]) -> Vec<(&str, usize)> {
    let reasons = evaluations.iter().filter_map(|own| own.reason.as_deref());
    let mut counts: Vec<(&str, usize)> = reasons.counts().into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    counts
}

fn none_has_a_value(evaluations: &[Evaluated]) -> Diagnostic {
    let message = format!("none of {} evaluations has a value", evaluations.len());
    let error = Diagnostic::global(message);
    match reasons(evaluations).first() {
        Some((reason, count)) => error.with_help(format!("the reason of {count} is: {reason}")),
        None => error.with_help("`--budget` is the number of evaluations"),
    }
}
