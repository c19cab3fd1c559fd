//! The search of every group, and what it took together.

use super::group::Plan;
use crate::search::Found;
use ember_engine::saturate::StopReason;
use ember_language::rules::Exactness;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What was found for the groups of a model.
#[derive(Debug)]
pub struct Searched {
    /// The groups.
    pub plan: Plan,
    /// What was found for each group that is like none before it.
    pub found: BTreeMap<usize, Found>,
}

impl Searched {
    fn sum<T: std::iter::Sum>(&self, of: impl Fn(&Found) -> T) -> T {
        self.found.values().map(of).sum()
    }

    /// E-nodes of the largest e-graph of each group.
    pub fn nodes(&self) -> usize {
        self.sum(|found| found.nodes)
    }

    /// E-classes of those e-graphs.
    pub fn classes(&self) -> usize {
        self.sum(|found| found.classes)
    }

    /// Iterations of all saturations.
    pub fn iterations(&self) -> usize {
        self.sum(|found| found.iterations)
    }

    /// Candidates of all groups.
    pub fn candidates(&self) -> usize {
        self.sum(|found| found.candidates.len())
    }

    /// Time in saturation, of all groups.
    pub fn saturate_time(&self) -> Duration {
        self.sum(|found| found.saturate_time)
    }

    /// Time in extraction, of all groups.
    pub fn extract_time(&self) -> Duration {
        self.sum(|found| found.extract_time)
    }

    /// Why a search stopped: a contradiction above all, else the first that did not saturate.
    pub fn stop(&self) -> StopReason {
        let stops = || self.found.values().map(|found| &found.stop);
        let contradiction = stops().find(|s| matches!(s, StopReason::Contradiction { .. }));
        let cut = || stops().find(|s| **s != StopReason::Saturated);
        contradiction.or_else(cut).cloned().unwrap_or(StopReason::Saturated)
    }

    /// The rules that changed something.
    pub fn fired(&self) -> BTreeSet<&'static str> {
        self.found.values().flat_map(|found| found.fired.iter().copied()).collect()
    }

    /// The least exact of those.
    pub fn exactness(&self) -> Exactness {
        let found = self.found.values().map(|found| found.exactness);
        found.max().unwrap_or(Exactness::Bitwise)
    }
}
