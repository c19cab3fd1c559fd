//! Explains why a rule's results were pruned when the best programs were kept.

use super::choice::parts;
use super::compare::{resources, whole};
use super::forced::Priced;
use super::stage::{Subject, plural};
use super::{Answer, Cause};
use crate::history::Stage;
use ember_compile::cost::{Model, Rates};
use ember_compile::search::Candidate;
use ember_extract::{Limits, extract};
use ember_language::term::Node;
use std::collections::BTreeSet;

/// The reason for pruning.
pub(super) enum Given {
    /// A program without the result is at least as good in every component of the cost.
    Beaten,
    /// A kept program is within a hundredth of it in every component.
    Near,
    /// The number of programs requested, and the rank of its best program among all.
    Many(usize, usize),
    /// A class keeps a limited number of forms of a part, and the forms with the result were not among them.
    Bounded,
}

impl Given {
    /// Finds the reason, for the best program with a marked node.
    pub fn up(
        stage: &Stage,
        model: &Model<'_>,
        marked: &BTreeSet<Node>,
        (asked, kept): (usize, &[Candidate]),
        best: &Priced,
    ) -> Given {
        let extraction = extract(&stage.egraph, stage.root, model, &Limits::default());
        let ranked = extraction.ranked();
        let has = |id: &_| !parts(&extraction.term(*id), &stage.egraph, marked).is_empty();
        if let Some(place) = ranked.iter().position(has) {
            let with = extraction.summary(ranked[place]);
            if kept.len() < asked || kept.iter().any(|other| other.cost.is_near(&with.cost)) {
                return Given::Near;
            }
            return Given::Many(asked, place + 1);
        }
        let beats = |id: &_| extraction.summary(*id).cost.at_most(&best.cost);
        // Without a bound, a part is pruned only if it is beaten.
        match !extraction.truncated || ranked.iter().any(beats) {
            true => Given::Beaten,
            false => Given::Bounded,
        }
    }

    /// Returns the answer, which compares the best program that has the result with the kept programs.
    pub fn answer(
        &self,
        subject: Subject<'_>,
        kept: &[Candidate],
        best: &Priced,
        rates: &Rates,
    ) -> Answer {
        let name = subject.rule().name;
        let first = kept.first();
        let times = best.estimate / first.map_or(best.estimate, |kept| kept.estimate).max(1.0);
        let (what, help) = match self {
            Given::Beaten => {
                ("programs with what it made are beaten in every respect".to_owned(), None)
            }
            Given::Near => ("what it made is within 1 % of what was kept in its place".to_owned(), None),
            Given::Many(asked, place) => (
                format!("what it made was given up by (keep {asked}): its best program is number {place}"),
                Some(format!("raise (keep {asked}) in the schedule, or run the rule after it")),
            ),
            Given::Bounded => (
                format!(
                    "a bound on forms of a part gave up what it made: the best program with it costs \
                     {times:.2} times the best that was kept"
                ),
                Some(
                    "each class keeps a few of its best forms only; a schedule with fewer rules has \
                     fewer to choose from"
                        .to_owned(),
                ),
            ),
        };
        let mut answer = subject.answer(Cause::Pruned, format!("`{name}` fired, and {what}"));
        answer.help = help;
        if let Some(first) = first {
            let last = kept.iter().map(|kept| kept.estimate).fold(first.estimate, f64::max);
            let programs = plural(kept.len(), "program", "programs");
            let (low, high) = (whole(first.estimate), whole(last));
            answer
                .evidence
                .push(("kept", format!("{programs} with estimates of {low} to {high} cycles")));
            answer.evidence.push(("with it", format!("{} cycles", whole(best.estimate))));
            answer.evidence.push(("resources", resources(rates, best, first)));
        }
        answer.evidence.push(("program", subject.line(&best.term)));
        answer
    }
}
