//! The results of searching every group, with totals over all groups.

use super::group::Plan;
use crate::cost::Goal;
use crate::search::Found;
use ember_engine::saturate::StopReason;
use ember_language::rules::Exactness;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The results of the search for the groups of a model.
#[derive(Debug)]
pub struct Searched {
    /// The kind of programs.
    pub goal: Goal,
    /// The groups.
    pub plan: Plan,
    /// The result for each group that was searched.
    pub found: BTreeMap<usize, Found>,
}

impl Searched {
    fn sum<T: std::iter::Sum>(&self, of: impl Fn(&Found) -> T) -> T {
        self.found.values().map(of).sum()
    }

    /// Returns the e-nodes of the largest e-graph of each group, added up.
    pub fn nodes(&self) -> usize {
        self.sum(|found| found.nodes)
    }

    /// Returns the e-classes of the largest e-graph of each group, added up.
    pub fn classes(&self) -> usize {
        self.sum(|found| found.classes)
    }

    /// Returns the iterations of all saturations.
    pub fn iterations(&self) -> usize {
        self.sum(|found| found.iterations)
    }

    /// Returns the number of candidates of all groups.
    pub fn candidates(&self) -> usize {
        self.sum(|found| found.candidates.len())
    }

    /// Returns the estimate of the best candidates of all groups by the cost model, in cycles.
    pub fn estimate(&self) -> f64 {
        let of = |like: &usize| self.found.get(like)?.candidates.first();
        self.plan.like.iter().filter_map(of).map(|candidate| candidate.estimate).sum()
    }

    /// Returns the time in saturation of all groups.
    pub fn saturate_time(&self) -> Duration {
        self.sum(|found| found.saturate_time)
    }

    /// Returns the time in extraction of all groups.
    pub fn extract_time(&self) -> Duration {
        self.sum(|found| found.extract_time)
    }

    /// Returns the stop reason of the searches: a contradiction if there is one, or else the first one that did not
    /// saturate.
    pub fn stop(&self) -> StopReason {
        let stops = || self.found.values().map(|found| &found.stop);
        let contradiction = stops().find(|s| matches!(s, StopReason::Contradiction { .. }));
        let cut = || stops().find(|s| **s != StopReason::Saturated);
        contradiction.or_else(cut).cloned().unwrap_or(StopReason::Saturated)
    }

    /// Returns the rules that changed something.
    pub fn fired(&self) -> BTreeSet<&'static str> {
        self.found.values().flat_map(|found| found.fired.iter().copied()).collect()
    }

    /// Returns the least exact level of the rules that changed something.
    pub fn exactness(&self) -> Exactness {
        let found = self.found.values().map(|found| found.exactness);
        found.max().unwrap_or(Exactness::Bitwise)
    }
}
