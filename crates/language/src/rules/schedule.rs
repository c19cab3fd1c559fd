//! Schedules as data: the order in which rules run.

use super::book::RuleBook;
use super::sketch::Sketch;
use super::syntax::ScheduleForm;
use crate::diagnostic::Span;
use egg::Symbol;
use itertools::Itertools;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The limit on the steps of a schedule, with repeated steps counted repeatedly.
pub const MOST_STEPS: usize = 10_000;

/// A checked schedule, or named steps.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Its name.
    pub name: Symbol,
    /// Its purpose.
    pub doc: String,
    /// Its steps, in order.
    pub steps: Vec<ScheduleStep>,
    /// The place of its name.
    pub span: Span,
}

/// A step of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleStep {
    /// Applies rules until nothing changes; the rules are indices into [`RuleBook::rules`], ascending.
    Saturate(Vec<usize>),
    /// Extracts this many different terms and starts again from them.
    Keep(usize),
    /// Sets how many of the best candidates are simulated.
    Rank(usize),
    /// Runs steps that the setting of a parameter chose.
    Chosen(Symbol, Vec<ScheduleStep>),
    /// Runs steps this many times, or until they change nothing.
    Repeat(usize, Vec<ScheduleStep>),
    /// Runs steps in order; named steps are shared by all steps that include them.
    Seq(Arc<Vec<ScheduleStep>>),
    /// Runs steps repeatedly until a sketch is found or nothing changes.
    Until(Sketch, Vec<ScheduleStep>),
    /// Runs steps if there is no finished program yet.
    Otherwise(Vec<ScheduleStep>),
    /// Adds the best programs of other schedules, by name, to the candidates.
    Besides(Vec<Symbol>),
    /// Runs named steps as one attempt at an answer; a search for one starts each attempt from its question alone.
    Attempt(Attempt),
}

/// Steps that are one attempt at an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The name of the steps.
    pub name: Symbol,
    /// Their purpose.
    pub doc: String,
    /// The largest number of e-nodes, if it is less than a search allows.
    pub nodes: Option<usize>,
    /// The steps.
    pub steps: Arc<Vec<ScheduleStep>>,
}

impl Schedule {
    pub(super) fn new(form: &ScheduleForm, steps: Vec<ScheduleStep>) -> Schedule {
        let (name, doc) = (Symbol::from(&form.name.text), form.doc.clone());
        Schedule { name, doc, steps, span: form.name.span }
    }

    /// Returns true if some step chooses between programs, which requires a machine and a model.
    pub fn keeps(&self) -> bool {
        simple(&self.steps).any(|step| matches!(step, ScheduleStep::Keep(_)))
    }

    /// Returns the names of the schedules whose best programs are candidates, too.
    pub fn rivals(&self) -> Vec<Symbol> {
        let rivals = |step: &ScheduleStep| match step {
            ScheduleStep::Besides(names) => names.clone(),
            _ => Vec::new(),
        };
        simple(&self.steps).flat_map(rivals).collect()
    }

    /// Returns the number of best candidates that are simulated, if a step sets it: the last one.
    pub fn ranked(&self) -> Option<usize> {
        let ranked = |step: &ScheduleStep| match step {
            ScheduleStep::Rank(candidates) => Some(*candidates),
            _ => None,
        };
        simple(&self.steps).filter_map(ranked).last()
    }

    /// Returns the parameters that chose steps.
    pub fn parameters(&self) -> Vec<Symbol> {
        let (mut found, mut open) = (Vec::new(), vec![self.steps.as_slice()]);
        while let Some(steps) = open.pop() {
            for step in steps {
                if let ScheduleStep::Chosen(parameter, _) = step {
                    found.push(*parameter);
                }
                open.push(step.parts());
            }
        }
        found
    }

    /// Returns the schedule restricted to the rules that `keep` accepts.
    pub fn only(&self, keep: impl Fn(usize) -> bool) -> Schedule {
        self.running(&|rules| rules.iter().copied().filter(|rule| keep(*rule)).collect())
    }

    /// Returns the schedule with further rules, from later in the book, in every step that runs rules.
    pub fn extended(&self, further: &[usize]) -> Schedule {
        self.running(&|rules| rules.iter().chain(further).copied().unique().collect())
    }

    /// Returns the schedule with other rules in each step that runs rules.
    fn running(&self, rules: &impl Fn(&[usize]) -> Vec<usize>) -> Schedule {
        let steps = self.steps.iter().map(|step| step.running(rules)).collect();
        Schedule { steps, ..self.clone() }
    }

    /// Returns its attempts, in order. Steps outside of any attempt precede the steps of the next one; without an
    /// attempt, the whole schedule is one.
    pub fn attempts(&self) -> Vec<Attempt> {
        let (mut before, mut attempts) = (Vec::new(), Vec::new());
        for step in &self.steps {
            match step {
                ScheduleStep::Attempt(attempt) if before.is_empty() => {
                    attempts.push(attempt.clone())
                }
                ScheduleStep::Attempt(attempt) => {
                    let steps = before.iter().chain(attempt.steps.iter()).cloned().collect();
                    attempts.push(Attempt { steps: Arc::new(steps), ..attempt.clone() });
                }
                step => before.push(step.clone()),
            }
        }
        if attempts.is_empty() {
            let (name, doc, steps) = (self.name, self.doc.clone(), Arc::new(self.steps.clone()));
            attempts.push(Attempt { name, doc, nodes: None, steps });
        }
        attempts
    }

    /// Returns the rules that it runs, as indices into [`RuleBook::rules`].
    pub fn rules(&self) -> BTreeSet<usize> {
        let rules = |step: &ScheduleStep| match step {
            ScheduleStep::Saturate(rules) => rules.clone(),
            _ => Vec::new(),
        };
        simple(&self.steps).flat_map(rules).collect()
    }
}

impl ScheduleStep {
    /// Applies every rule of a book at once.
    pub fn all(book: &RuleBook) -> ScheduleStep {
        ScheduleStep::Saturate((0..book.rules.len()).collect())
    }

    /// Returns the step with other rules.
    fn running(&self, rules: &impl Fn(&[usize]) -> Vec<usize>) -> ScheduleStep {
        let of = |steps: &[ScheduleStep]| steps.iter().map(|step| step.running(rules)).collect();
        match self {
            ScheduleStep::Saturate(own) => ScheduleStep::Saturate(rules(own)),
            ScheduleStep::Keep(terms) => ScheduleStep::Keep(*terms),
            ScheduleStep::Rank(candidates) => ScheduleStep::Rank(*candidates),
            ScheduleStep::Chosen(parameter, steps) => ScheduleStep::Chosen(*parameter, of(steps)),
            ScheduleStep::Repeat(times, steps) => ScheduleStep::Repeat(*times, of(steps)),
            ScheduleStep::Seq(steps) => ScheduleStep::Seq(Arc::new(of(steps))),
            ScheduleStep::Until(sketch, steps) => ScheduleStep::Until(sketch.clone(), of(steps)),
            ScheduleStep::Otherwise(steps) => ScheduleStep::Otherwise(of(steps)),
            ScheduleStep::Besides(names) => ScheduleStep::Besides(names.clone()),
            ScheduleStep::Attempt(attempt) => {
                let steps = Arc::new(of(&attempt.steps));
                ScheduleStep::Attempt(Attempt { steps, ..attempt.clone() })
            }
        }
    }

    /// Returns the steps inside this one.
    fn parts(&self) -> &[ScheduleStep] {
        match self {
            ScheduleStep::Saturate(_)
            | ScheduleStep::Keep(_)
            | ScheduleStep::Rank(_)
            | ScheduleStep::Besides(_) => &[],
            ScheduleStep::Repeat(_, steps)
            | ScheduleStep::Chosen(_, steps)
            | ScheduleStep::Until(_, steps)
            | ScheduleStep::Otherwise(steps) => steps,
            ScheduleStep::Seq(steps) | ScheduleStep::Attempt(Attempt { steps, .. }) => steps,
        }
    }

    /// Returns the number of steps that it takes if nothing ends it early and every `until` finds its sketch at once.
    pub(super) fn length(&self) -> usize {
        let times = match self {
            ScheduleStep::Repeat(times, _) => *times,
            _ => 1,
        };
        times.saturating_mul(length(self.parts()).max(1))
    }
}

/// Returns the steps that contain no others, in order.
pub(super) fn simple(steps: &[ScheduleStep]) -> impl Iterator<Item = &ScheduleStep> {
    let mut open: Vec<&ScheduleStep> = steps.iter().rev().collect();
    std::iter::from_fn(move || {
        loop {
            let step = open.pop()?;
            if step.parts().is_empty() {
                return Some(step);
            }
            open.extend(step.parts().iter().rev());
        }
    })
}

/// Returns the number of steps that steps take together, as [`ScheduleStep::length`] counts them.
pub(super) fn length(steps: &[ScheduleStep]) -> usize {
    steps.iter().map(ScheduleStep::length).fold(0, usize::saturating_add)
}

/// Returns the depth of the nesting of steps.
pub(super) fn height(steps: &[ScheduleStep]) -> usize {
    steps.iter().map(|step| 1 + height(step.parts())).max().unwrap_or(0)
}
