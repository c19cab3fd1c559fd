//! Runs a schedule: the [`Driver`] selects the next step, applies its rules and decides when a repetition ends. An
//! [`Observer`] watches it, and chooses the terms to start again from.

use crate::compile::CompiledRule;
use crate::knowledge::{EGraph, Knowledge};
use crate::saturate::{Limits, Progress, Saturation, StopReason, saturate_observed};
use egg::Id;
use ember_host::clock;
use ember_language::rules::{Attempt, MOST_STEPS, ScheduleStep, Sketch};
use ember_language::term::Term;
use siphasher::sip::SipHasher13;
use std::hash::{Hash, Hasher};
use std::time::Duration;

/// Watches a run, and decides what the driver cannot know. Every method has a default for those who only
/// want the rules applied.
pub trait Observer<A: Knowledge> {
    /// Hears how far a saturation has come, after each iteration.
    fn progress(&mut self, _: Progress) {}

    /// Ends a saturation before its next iteration if enough has been found.
    fn enough(&mut self, _: &EGraph<A>) -> bool {
        false
    }

    /// Prepares the e-graph for a step's rules.
    fn starting(&mut self, _: &mut Driver<'_, A>, _rules: &[usize]) {}

    /// Takes what a step's rules did; says if they are applied again.
    fn saturated(
        &mut self,
        _: &mut Driver<'_, A>,
        _rules: &[usize],
        _done: Saturation,
    ) -> AppliedAgain {
        AppliedAgain::No
    }

    /// Chooses this many terms and starts again from them, if there is anything to choose between.
    fn keep(&mut self, _: &mut Driver<'_, A>, _terms: usize) {}

    /// True once steps that repeat until a sketch is found have found it.
    fn found(&self, _: &EGraph<A>, _: &Sketch) -> bool {
        false
    }

    /// True if there is a finished program, so that steps which serve only to find one are left out.
    fn finished(&mut self, _: &EGraph<A>) -> bool {
        false
    }

    /// True if there is no use in going on. A contradiction is no basis for anything.
    fn ended(&self, driver: &Driver<'_, A>) -> bool {
        driver.contradictory()
    }
}

/// Nobody watches.
impl<A: Knowledge> Observer<A> for () {}

/// An answer of [`Observer::saturated`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppliedAgain {
    /// The step is done.
    No,
    /// The step applies its rules once more.
    Yes,
}

/// A run of a schedule: an e-graph, the rules that may run in it, and what they have done so far.
pub struct Driver<'a, A: Knowledge> {
    /// The e-graph.
    pub egraph: EGraph<A>,
    /// The iterations of all saturations together.
    pub iterations: usize,
    /// Why the last saturation that a limit or a contradiction ended stopped, else saturated.
    pub stop: StopReason,
    /// The time in saturation.
    pub time: Duration,
    rules: &'a [CompiledRule],
    /// True of each rule that may run.
    allowed: Vec<bool>,
    limits: Limits,
    /// Steps that may still be run. A schedule's counted repetitions stay within this number; its repetitions until
    /// something is found may exceed it, because they nest.
    left: usize,
    /// A hash of the terms that the e-graph was last started from.
    origin: u64,
}

impl<'a, A: Knowledge> Driver<'a, A> {
    /// A run of a book's rules, in the book's order, within limits for each saturation.
    pub fn new(egraph: EGraph<A>, rules: &'a [CompiledRule], limits: Limits) -> Driver<'a, A> {
        Driver {
            egraph,
            iterations: 0,
            stop: StopReason::Saturated,
            time: Duration::ZERO,
            rules,
            allowed: vec![true; rules.len()],
            limits,
            left: MOST_STEPS,
            origin: 0,
        }
    }

    /// Leaves out all other rules; a rule is given with its place in the book.
    pub fn allowing(mut self, may_run: impl Fn(usize, &CompiledRule) -> bool) -> Driver<'a, A> {
        self.allowed = self.rules.iter().enumerate().map(|(at, rule)| may_run(at, rule)).collect();
        self
    }

    /// Runs steps in order. `(until …)` repeats its steps at most as often as a saturation may iterate.
    pub fn run(&mut self, steps: &[ScheduleStep], observer: &mut impl Observer<A>) {
        if !self.steps(steps, observer) {
            self.stop = StopReason::IterationLimit;
        }
    }

    /// Applies rules until nothing changes, a limit is reached or the observer has enough.
    pub fn apply(&mut self, rules: &[usize], observer: &mut impl Observer<A>) -> Saturation {
        let start = clock::start();
        let chosen: Vec<&CompiledRule> = rules.iter().map(|rule| &self.rules[*rule]).collect();
        let done = saturate_observed(&mut self.egraph, &chosen, &self.limits, observer);
        self.iterations += done.iterations;
        if !matches!(done.stop, StopReason::Saturated | StopReason::Enough) {
            self.stop = done.stop.clone();
        }
        self.time += start.elapsed();
        done
    }

    /// Starts again in a fresh e-graph, in which these terms are equal. Gives their class; without a term
    /// everything stays.
    pub fn restart<'t>(
        &mut self,
        analysis: A,
        terms: impl IntoIterator<Item = &'t Term>,
    ) -> Option<Id> {
        let (mut egraph, mut hasher) = (EGraph::new(analysis), SipHasher13::new());
        let mut root = None;
        for term in terms {
            term.hash(&mut hasher);
            let class = egraph.add_expr(term);
            egraph.union(*root.get_or_insert(class), class);
        }
        egraph.rebuild();
        let root = egraph.find(root?);
        (self.egraph, self.origin) = (egraph, hasher.finish());
        Some(root)
    }

    /// Returns true if two different constants met in one class.
    pub fn contradictory(&self) -> bool {
        matches!(self.stop, StopReason::Contradiction { .. })
    }

    /// Runs steps in order. Returns false if the budget of steps ran out first.
    fn steps(&mut self, steps: &[ScheduleStep], observer: &mut impl Observer<A>) -> bool {
        steps.iter().all(|step| observer.ended(self) || self.step(step, observer))
    }

    fn step(&mut self, step: &ScheduleStep, observer: &mut impl Observer<A>) -> bool {
        match step {
            ScheduleStep::Saturate(rules) => self.once(|run| run.saturate(rules, observer)),
            ScheduleStep::Keep(terms) => self.once(|run| observer.keep(run, *terms)),
            ScheduleStep::Chosen(_, steps) => self.steps(steps, observer),
            ScheduleStep::Seq(steps) | ScheduleStep::Attempt(Attempt { steps, .. }) => {
                self.steps(steps, observer)
            }
            ScheduleStep::Otherwise(steps) => {
                observer.finished(&self.egraph) || self.steps(steps, observer)
            }
            // What other schedules find is not searched for in this e-graph.
            ScheduleStep::Besides(_) | ScheduleStep::Rank(_) => true,
            ScheduleStep::Repeat(times, steps) => self.again(*times, None, steps, observer),
            ScheduleStep::Until(sketch, steps) => {
                self.again(self.limits.iterations, Some(sketch), steps, observer)
            }
        }
    }

    fn once(&mut self, step: impl FnOnce(&mut Self)) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        step(self);
        true
    }

    /// Applies a step's rules, of which those run that may.
    fn saturate(&mut self, rules: &[usize], observer: &mut impl Observer<A>) {
        let rules: Vec<usize> = rules.iter().copied().filter(|rule| self.allowed[*rule]).collect();
        observer.starting(self, &rules);
        loop {
            let done = self.apply(&rules, observer);
            let again = observer.saturated(self, &rules, done);
            if again == AppliedAgain::No || observer.ended(self) {
                return;
            }
        }
    }

    /// Runs steps so often, until they change nothing or until a sketch is found.
    fn again(
        &mut self,
        times: usize,
        until: Option<&Sketch>,
        steps: &[ScheduleStep],
        observer: &mut impl Observer<A>,
    ) -> bool {
        for _ in 0..times {
            let before = self.mark();
            if until.is_some_and(|sketch| observer.found(&self.egraph, sketch)) {
                break;
            }
            if !self.steps(steps, observer) {
                return false;
            }
            if self.mark() == before {
                break;
            }
        }
        true
    }

    /// Nodes ever made, classes, and the e-graph's origin: equal before and after steps that change nothing.
    fn mark(&self) -> (usize, usize, u64) {
        (self.egraph.nodes().len(), self.egraph.number_of_classes(), self.origin)
    }
}
