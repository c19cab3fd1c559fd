//! Runs a schedule: which step comes next, and when repeating ends. What rules are applied to and what
//! it means to choose is the business of whoever runs it ([`Driven`]).

use crate::knowledge::EGraph;
use ember_egraph::Analysis;
use ember_language::rules::{MOST_STEPS, ScheduleStep, Sketch};
use ember_language::term::Node;

/// What a schedule runs on.
pub trait Driven {
    /// Applies rules until nothing changes.
    fn saturate(&mut self, rules: &[usize]);

    /// Chooses this many terms and starts again from them.
    fn keep(&mut self, terms: usize);

    /// Whether what is looked for is there.
    fn found(&self, sketch: &Sketch) -> bool;

    /// Where it stands: equal before and after steps that change nothing.
    fn mark(&self) -> Mark;

    /// Whether there is no use in going on.
    fn ended(&self) -> bool;

    /// Told when steps are left that are not run, because they repeat without end.
    fn cut_short(&mut self);
}

/// What changes whenever an e-graph does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Nodes ever made.
    made: usize,
    /// Classes.
    classes: usize,
    /// What it was last started from.
    origin: u64,
}

impl Mark {
    /// That of an e-graph; `origin` tells apart e-graphs that were started from different terms.
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
    /// Steps that may still be run. What a schedule repeats a given number of times is never more; what
    /// it repeats until something is found may be, since that nests.
    left: usize,
}

impl<D: Driven> Drive<'_, D> {
    /// Answers whether all that was to be run has been.
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

    /// Runs steps so often, or until they change nothing or it is done.
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
