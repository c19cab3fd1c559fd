//! The pool of whole programs: those of all schedules, and of the searches without a rule set. More rules and a better
//! schedule should never lead to a worse program, so a program from the pool that beats the search shows a defect of it:
//! of the estimates, or of what is kept on the way.

use crate::report::{PooledReport, PooledSearch};
use crate::worth::Without;
use ember_compile::groups::Chosen;
use ember_compile::pipeline::{Case, Inputs};
use ember_host::threads;
use ember_language::diagnostic::Checked;
use ember_language::rules::{Exactness, Schedule};
use ember_sim::Values;
use ember_tools::progress::Line;
use ember_tools::tuning::Tuning;
use std::collections::BTreeSet;

/// The ratio to the cycles of the own program up to which others are run: only the faster ones are of interest.
const AS_FAST: f64 = 1.1;

/// A search with a program.
pub(crate) struct Other {
    /// The schedule, or the rule set that is left out.
    search: Search,
    /// Its program.
    pub(crate) chosen: Chosen,
    /// The least exact level of the rules that changed something.
    pub(crate) exactness: Exactness,
    /// The rules that changed something.
    pub(crate) fired: BTreeSet<&'static str>,
}

/// A search beside the one that was asked for.
#[derive(Clone)]
enum Search {
    Schedule(String),
    Without(String),
}

/// The programs of the other searches, beside that of the schedule that was asked for.
pub(crate) struct Pool {
    own: Chosen,
    others: Vec<Other>,
    /// The fastest of the others, if it is faster than the own program.
    better: Option<usize>,
}

impl Pool {
    /// Collects the programs, and compares them on the data that candidates are ranked on.
    pub(crate) fn of(
        tuning: &Tuning<'_>,
        schedule: &Schedule,
        own: &Chosen,
        withouts: &[Without],
        line: &Line,
    ) -> Checked<Pool> {
        let book = &tuning.inputs.book;
        let names = book.schedules.iter().map(|other| other.name.as_str());
        let names: Vec<&str> = names.filter(|name| *name != schedule.name.as_str()).collect();
        let attempts = tuning.all_known(&names, line)?;
        let schedules = names.iter().zip(&attempts).filter_map(|(name, attempt)| {
            Some(Other {
                search: Search::Schedule((*name).to_owned()),
                chosen: attempt.chosen.as_ref().ok()?.clone(),
                exactness: attempt.exactness,
                fired: attempt.searched.fired(),
            })
        });
        let without = withouts.iter().filter_map(|without| {
            Some(Other {
                search: Search::Without(without.rules.clone()),
                chosen: without.chosen.as_ref().ok()?.clone(),
                exactness: without.exactness,
                fired: without.fired.clone(),
            })
        });
        let others: Vec<Other> = schedules.chain(without).collect();
        let machine = &tuning.inputs.machine;
        let fewest = tuning.case.rank(&own.program, machine).map_or(u64::MAX, |m| m.cycles);
        let cycles = threads::map(&others, |other| {
            let measure =
                tuning.case.rank_within(&other.chosen.program, machine, fewest, Values::Integers);
            measure.map_or(u64::MAX, |measure| measure.cycles)
        });
        let fastest = cycles.iter().enumerate().min_by_key(|(_, cycles)| **cycles);
        let better = fastest.filter(|(_, cycles)| **cycles < fewest).map(|(at, _)| at);
        Ok(Pool { own: own.clone(), others, better })
    }

    /// Returns the fastest of the others, if it is faster than the own program.
    pub(crate) fn better(&self) -> Option<&Other> {
        Some(&self.others[self.better?])
    }

    /// Reports the cycles of all programs on the data that programs are judged on.
    pub(crate) fn judged(&self, inputs: &Inputs, judge: &Case) -> PooledReport {
        let own = judge.rank(&self.own.program, &inputs.machine).ok().map(|m| m.cycles);
        let most = own.map_or(u64::MAX, |own| (own as f64 * AS_FAST) as u64);
        let cycles = |other: &Other| {
            let program = &other.chosen.program;
            let measure = judge.rank_within(program, &inputs.machine, most, Values::Integers);
            measure.ok().map(|measure| measure.cycles)
        };
        let searches = threads::map(&self.others, |other| PooledSearch {
            cycles: cycles(other),
            ..PooledSearch::from(&other.search)
        });
        PooledReport {
            by: self.better().map(|other| PooledSearch::from(&other.search)),
            own_cycles: own,
            searches,
        }
    }
}

impl From<&Search> for PooledSearch {
    fn from(search: &Search) -> PooledSearch {
        let (schedule, without) = match search.clone() {
            Search::Schedule(name) => (Some(name), None),
            Search::Without(rules) => (None, Some(rules)),
        };
        PooledSearch { schedule, without, cycles: None }
    }
}
