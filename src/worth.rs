//! The worth of each rule set: the search without it, and the cycles of the program that is found then.

use crate::report::{Ablation, MATTERS};
use ember_compile::groups::{Chooser, Chosen, Enough, Rival, Searched};
use ember_compile::pipeline::{COMPARED, NoProgram, goal, search_without};
use ember_host::threads;
use ember_language::diagnostic::Checked;
use ember_language::rules::{Exactness, Schedule};
use ember_sim::Values;
use ember_tools::progress::Line;
use ember_tools::tuning::Tuning;
use itertools::Itertools;
use std::collections::BTreeSet;

/// The slowdown from which on a rule set counts as required: programs without it are not run for longer.
const REQUIRED: u64 = 3;

/// The search without one rule set.
pub(crate) struct Without {
    /// The name of the rule set.
    pub(crate) rules: String,
    /// The best program, or the reasons why there is none.
    pub(crate) chosen: Result<Chosen, Vec<NoProgram>>,
    /// The least exact level of the rules that changed something.
    pub(crate) exactness: Exactness,
    /// The rules that changed something.
    pub(crate) fired: BTreeSet<&'static str>,
}

/// Searches without each rule set of a schedule. The programs of rivals that rules of the set had a part in are left out,
/// too. If programs are pooled, any that is better than the chosen one counts; otherwise one that is as fast is enough.
pub(crate) fn without(
    tuning: &Tuning<'_>,
    schedule: &Schedule,
    searched: &Searched,
    chosen: &Chosen,
    line: &Line,
) -> Checked<Vec<Without>> {
    let Tuning { inputs, case, statistics, options, .. } = tuning;
    let rules = schedule.rules();
    let allowed = rules.iter().filter(|rule| inputs.compiled[**rule].exact <= options.exact);
    let sets: Vec<usize> = allowed.map(|rule| inputs.book.rules[*rule].set).unique().collect();
    let rank = options.rank.then_some(*case);
    let mut chooser = Chooser::new(inputs, rank, goal(&inputs.book, schedule));
    chooser.cycles = most(tuning, chosen);
    chooser.places = COMPARED;
    chooser.enough = (!options.pool).then_some(Enough { chosen, within: MATTERS });
    let rivals = tuning.all_known(&tuning.rivals(schedule), line)?;
    let takes_part = |set: usize, fired: &BTreeSet<&str>| {
        let in_set = |rule: &&str| inputs.book.rule(rule).is_some_and(|rule| rule.set == set);
        fired.iter().any(in_set)
    };
    Ok(threads::map(&sets, |set| {
        let others: Vec<Rival<'_>> = rivals
            .iter()
            .filter(|rival| !takes_part(*set, &rival.searched.fired()))
            .map(|rival| Rival { searched: &rival.searched, chosen: rival.chosen.as_ref().ok() })
            .collect();
        let rules = inputs.book.sets[*set].name.to_string();
        let exactness = others.iter().map(|rival| rival.searched.exactness());
        let mut fired: BTreeSet<&str> =
            others.iter().flat_map(|rival| rival.searched.fired()).collect();
        if others.len() == rivals.len() && !takes_part(*set, &searched.fired()) {
            fired.extend(searched.fired());
            let exactness = exactness.fold(searched.exactness(), Ord::max);
            return Without { rules, chosen: Ok(chosen.clone()), exactness, fired };
        }
        let found = search_without(inputs, statistics, options, schedule, *set, searched);
        fired.extend(found.fired());
        let exactness = exactness.fold(found.exactness(), Ord::max);
        let chosen = chooser.choose_among(&found, &others).map_err(|none| none.rejected);
        Without { rules, chosen, exactness, fired }
    }))
}

/// Returns the most cycles for which programs without a rule set are run.
fn most(tuning: &Tuning<'_>, chosen: &Chosen) -> u64 {
    cycles(tuning, chosen).saturating_mul(REQUIRED)
}

/// Returns the cycles of the chosen program on the data that candidates are ranked on.
fn cycles(tuning: &Tuning<'_>, chosen: &Chosen) -> u64 {
    let measure = tuning.case.rank(&chosen.program, &tuning.inputs.machine);
    measure.map_or(u64::MAX, |measure| measure.cycles)
}

/// Compares the programs that are found without each rule set with the chosen one.
pub(crate) fn ablation(
    tuning: &Tuning<'_>,
    chosen: &Chosen,
    withouts: &[Without],
) -> Vec<Ablation> {
    let (with, most) = (cycles(tuning, chosen), most(tuning, chosen));
    threads::map(withouts, |without| {
        let machine = &tuning.inputs.machine;
        let measured = match &without.chosen {
            Ok(other) => tuning
                .case
                .rank_within(&other.program, machine, most, Values::Integers)
                .map_err(|why| why.takes_more_than(most)),
            Err(rejected) => Err(rejected.iter().any(|why| why.takes_more_than(most))),
        };
        let cycles = measured.as_ref().ok().map(|measure| measure.cycles);
        Ablation {
            rules: without.rules.clone(),
            cycles,
            slowdown: cycles.map(|cycles| cycles as f64 / with.max(1) as f64),
            more_than: (measured.err() == Some(true)).then_some(REQUIRED as f64),
        }
    })
}
