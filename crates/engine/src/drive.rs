//! Runs a schedule: selects the next step and decides when a repetition ends. The implementor of [`Driven`] defines the
//! terms that rules are applied to and the way of choosing among them.

use crate::knowledge::EGraph;
use ember_egraph::Analysis;
use ember_language::rules::{MOST_STEPS, ScheduleStep, Sketch};
use ember_language::term::Node;

/// The target that a schedule runs on.
pub trait Driven {
    /// Applies rules until nothing changes.
    fn saturate(&mut self, rules: &[usize]);

    /// Chooses this many terms and starts again from them.
    fn keep(&mut self, terms: usize);

    /// Returns true if a term that matches the sketch has been found.
    fn found(&self, sketch: &Sketch) -> bool;

    /// Returns a mark of the current state, which is equal before and after steps that change nothing.
    fn mark(&self) -> Mark;

    /// Returns true if further steps are useless.
    fn ended(&self) -> bool;

    /// Called when steps remain that are not run, because the schedule repeats without end.
    fn cut_short(&mut self);
}

/// A fingerprint of an e-graph that changes whenever the e-graph does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The number of nodes ever made.
    made: usize,
    /// The number of classes.
    classes: usize,
    /// The identity of the terms that the e-graph was last started from.
    origin: u64,
}

impl Mark {
    /// Returns the mark of an e-graph; `origin` distinguishes e-graphs that were started from different terms.
    pub fn of<A: Analysis<Node>>(egraph: &EGraph<A>, origin: u64) -> Mark {
        let (made, classes) = (egraph.nodes().len(), egraph.number_of_classes());
        Mark { made, classes, origin }
    }
}

/// Runs steps in order. `(until …)` repeats its steps at most `rounds` times.
pub fn drive(run: &mut impl Driven, steps: &[ScheduleStep], rounds: usize) {
    let mut drive = Drive { run, rounds, left: MOST_STEPS };
    if !drive.steps(steps) {
        drive.run.cut_short();
    }
}

struct Drive<'a, D> {
    run: &'a mut D,
    rounds: usize,
    /// Steps that may still be run. A schedule's counted repetitions stay within this number; its repetitions until
    /// something is found may exceed it, because they nest.
    left: usize,
}

impl<D: Driven> Drive<'_, D> {
    /// Runs steps in order. Returns false if the budget of steps ran out first.
    fn steps(&mut self, steps: &[ScheduleStep]) -> bool {
        steps.iter().all(|step| {
            if self.run.ended() {
                return true;
            }
            match step {
                ScheduleStep::Saturate(rules) => self.once(|run| run.saturate(rules)),
                ScheduleStep::Keep(terms) => self.once(|run| run.keep(*terms)),
                ScheduleStep::Seq(steps) => self.steps(steps),
                ScheduleStep::Repeat(times, steps) => self.again(*times, |_| false, steps),
                ScheduleStep::Until(sketch, steps) => {
                    self.again(self.rounds, |run| run.found(sketch), steps)
                }
            }
        })
    }

    fn once(&mut self, step: impl FnOnce(&mut D)) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        step(self.run);
        true
    }

    /// Runs steps `times` times, or until they change nothing or `done` holds.
    fn again(&mut self, times: usize, done: impl Fn(&D) -> bool, steps: &[ScheduleStep]) -> bool {
        for _ in 0..times {
            let before = self.run.mark();
            if done(self.run) {
                break;
            }
            if !self.steps(steps) {
                return false;
            }
            if self.run.mark() == before {
                break;
            }
        }
        true
    }
}
