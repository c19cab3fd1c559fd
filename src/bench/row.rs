//! The figures of one workload, in the form of the JSON output.

use super::compare::Beside;
use crate::gpu;
use crate::report::{EstimateReport, PooledReport, Record, Report};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One workload's figures.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Row {
    /// Its name: the model's, with the factor of its batch if there are several.
    pub workload: String,
    /// The name of its model.
    pub model: String,
    /// The factor of its model's batch.
    pub scale: f64,
    /// Its family: the folder that contains it.
    pub family: String,
    /// Cycles of every program, and the bound.
    pub cycles: Cycles,
    /// True if every program's output equals the reference's.
    pub valid: bool,
    /// The speed of `search` in percent of that of `paper`.
    pub percent_of_paper: Option<f64>,
    /// The speed of `search` in percent of that of `expert`.
    pub percent_of_expert: Option<f64>,
    /// The bound's cycles in percent of those of `search`.
    pub percent_of_bound: Option<f64>,
    /// The resource that determines the bound.
    pub bound_by: String,
    /// The cost model's estimate of `search`, and how far it is from the best in the e-graph. `null` if the workload could
    /// not be run.
    pub estimate: Option<EstimateReport>,
    /// Table elements that one run reads.
    pub elements: u64,
    /// The least exact rules that ran for `search`.
    pub exactness: String,
    /// The utilisation of the units for every program.
    pub utilisation: Programs<Utilisation>,
    /// Accesses of the last-level cache of every program per thousand elements.
    pub llc_accesses_per_thousand_elements: Programs<f64>,
    /// The part of those accesses that are loads by the access unit, by hint.
    pub llc_loads_per_thousand_elements: Programs<Loads>,
    /// The programs of other searches that `search` was chosen from; only if programs are pooled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pooled: Option<PooledReport>,
    /// The published speedups of the workload, if a comparison was requested.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub published: Programs<Beside>,
    /// The published cache accesses of the workload, by program and hint.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub published_llc_loads: Programs<BTreeMap<String, Beside>>,
    /// Our machine beside each GPU that a comparison was requested with, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<gpu::Beside>,
    /// The errors of a workload that is not valid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}

/// A value for every program, by name.
pub type Programs<T> = BTreeMap<String, T>;

/// Cycles of the compared programs; `None` for a program that does not exist or did not end.
#[derive(Clone, Copy, Debug, Default, JsonSchema, Serialize)]
pub struct Cycles {
    /// Decoupled only.
    #[serde(rename = "emb-opt0")]
    pub opt0: Option<u64>,
    /// Decoupled and vectorised.
    #[serde(rename = "emb-opt1")]
    pub opt1: Option<u64>,
    /// Decoupled, vectorised and bufferised.
    #[serde(rename = "emb-opt2")]
    pub opt2: Option<u64>,
    /// Decoupled, vectorised, bufferised and queue-aligned.
    #[serde(rename = "emb-opt3")]
    pub opt3: Option<u64>,
    /// The best of all combinations.
    pub search: Option<u64>,
    /// The simpler hand-written program.
    pub paper: Option<u64>,
    /// The better hand-written program.
    pub expert: Option<u64>,
    /// The fewest that the machine allows.
    pub bound: Option<u64>,
}

impl Cycles {
    /// Returns every entry with its name, in the order of the table.
    pub fn named(&self) -> [(&'static str, Option<u64>); 8] {
        [
            ("emb-opt0", self.opt0),
            ("emb-opt1", self.opt1),
            ("emb-opt2", self.opt2),
            ("emb-opt3", self.opt3),
            ("paper", self.paper),
            ("expert", self.expert),
            ("search", self.search),
            ("bound", self.bound),
        ]
    }

    fn of(&self, program: &str) -> Option<u64> {
        self.named().into_iter().find(|(name, _)| *name == program).and_then(|(_, cycles)| cycles)
    }

    /// Returns the speedup of a program over `emb-opt0`.
    pub fn speedup(&self, program: &str) -> Option<f64> {
        Some(self.opt0? as f64 / self.of(program)?.max(1) as f64)
    }

    /// Returns the bound's cycles in percent of a program's.
    pub fn percent_of_bound(&self, program: &str) -> Option<f64> {
        Some(100.0 * self.bound? as f64 / self.of(program)?.max(1) as f64)
    }
}

/// Loads that reach the last-level cache, whether they bypass the private L2 or pass through it.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, Serialize)]
pub struct Loads {
    /// Loads of data that is worth caching.
    pub temporal: f64,
    /// Loads of data that is not.
    pub non_temporal: f64,
}

/// The share of a run's cycles in which units do their work, in percent.
#[derive(Clone, Copy, Debug, Default, JsonSchema, Serialize)]
pub struct Utilisation {
    /// The busiest unit of the access side.
    pub access: f64,
    /// The execute unit.
    pub execute: f64,
}

impl Utilisation {
    fn of(record: &Record) -> Utilisation {
        let cycles = record.cycles.unwrap_or(0).max(1) as f64;
        let mut shares = Utilisation::default();
        for unit in &record.stalls {
            let share = 100.0 * unit.busy as f64 / cycles;
            if unit.name == "execute" {
                shares.execute = share;
            } else {
                shares.access = shares.access.max(share);
            }
        }
        shares
    }
}

impl Row {
    pub(crate) fn of((model, scale): (String, f64), family: String, report: &Report) -> Row {
        let cycles =
            |name: &str| report.programs.iter().find(|r| r.name == name).and_then(|r| r.cycles);
        let cycles = Cycles {
            opt0: cycles("emb-opt0"),
            opt1: cycles("emb-opt1"),
            opt2: cycles("emb-opt2"),
            opt3: cycles("emb-opt3"),
            search: report.best.record.cycles,
            paper: cycles("paper"),
            expert: cycles("expert"),
            bound: Some(report.best.bound_cycles),
        };
        let percent = |of: Option<u64>| {
            Some(100.0 * of? as f64 / cycles.search.filter(|search| *search > 0)? as f64)
        };
        let errors: Vec<String> = report
            .failed()
            .map(|r| format!("{}: {}", r.name, r.mismatch.as_deref().unwrap_or("no output")))
            .collect();
        let per_thousand = |n: u64| 1000.0 * n as f64 / report.elements.max(1) as f64;
        let ran = || report.programs.iter().filter(|r| r.cycles.is_some());
        Row {
            workload: model.clone(),
            model,
            scale,
            family,
            cycles,
            valid: errors.is_empty(),
            percent_of_paper: percent(cycles.paper),
            percent_of_expert: percent(cycles.expert),
            percent_of_bound: percent(cycles.bound),
            bound_by: report.best.bound_by.clone(),
            estimate: Some(report.best.estimate),
            elements: report.elements,
            exactness: report.best.record.exactness.clone(),
            utilisation: ran().map(|r| (r.name.clone(), Utilisation::of(r))).collect(),
            llc_accesses_per_thousand_elements: ran()
                .map(|r| (r.name.clone(), per_thousand(r.llc_accesses)))
                .collect(),
            llc_loads_per_thousand_elements: ran()
                .map(|r| {
                    let temporal = per_thousand(r.llc_loads.temporal + r.llc_loads.temporal_l2);
                    let non_temporal = per_thousand(r.llc_loads.non_temporal);
                    (r.name.clone(), Loads { temporal, non_temporal })
                })
                .collect(),
            pooled: report.best.pooled.clone(),
            published: BTreeMap::new(),
            published_llc_loads: BTreeMap::new(),
            gpus: Vec::new(),
            errors,
        }
    }

    /// Returns the row of a workload that could not be run.
    pub(crate) fn failed((model, scale): (String, f64), family: String, why: String) -> Row {
        Row {
            workload: model.clone(),
            model,
            scale,
            family,
            cycles: Cycles::default(),
            valid: false,
            percent_of_paper: None,
            percent_of_expert: None,
            percent_of_bound: None,
            bound_by: String::new(),
            estimate: None,
            elements: 0,
            exactness: String::new(),
            utilisation: BTreeMap::new(),
            llc_accesses_per_thousand_elements: BTreeMap::new(),
            llc_loads_per_thousand_elements: BTreeMap::new(),
            pooled: None,
            published: BTreeMap::new(),
            published_llc_loads: BTreeMap::new(),
            gpus: Vec::new(),
            errors: vec![why],
        }
    }
}
