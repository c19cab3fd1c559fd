//! The steps of a chain of equal terms, and helpers for subterms and sizes.

use egg::{Id, Language, Symbol, Var};
use ember_language::term::{Term, Terms};

/// The direction in which a rule was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the left side to the right side.
    Forward,
    /// From the right side to the left side: the search had found the later term first.
    Backward,
}

/// The reason why two terms are equal.
#[derive(Clone, Debug, PartialEq)]
pub enum By {
    /// A rule.
    Rule {
        /// The name of the rule.
        rule: Symbol,
        /// The direction in which it was read.
        direction: Direction,
        /// The terms of the variables that its two sides mention.
        substitution: Vec<(Var, Term)>,
    },
    /// Facts: arithmetic on constants, a declared extent, or a cast to the operand's own type.
    Computed,
}

/// One step from a term to an equal one.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The reason why the two terms are equal.
    pub by: By,
    /// The position of the step: the argument to take at each level, from the root, counted from 0.
    pub position: Vec<usize>,
    /// The subterm at the position before the step.
    pub before: Term,
    /// The subterm at the position after the step.
    pub after: Term,
    /// The whole term after the step.
    pub whole: Term,
    /// The reason why the step could not be replayed, if it could not.
    pub doubt: Option<String>,
}

impl Step {
    /// Returns the name of the rule, or `computed`.
    pub fn name(&self) -> &'static str {
        match &self.by {
            By::Rule { rule, .. } => rule.as_str(),
            By::Computed => "computed",
        }
    }

    /// Returns true if a rule was read backwards.
    pub fn backward(&self) -> bool {
        matches!(self.by, By::Rule { direction: Direction::Backward, .. })
    }
}

/// A chain of equal terms, each one step from the term before.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The first term.
    pub start: Term,
    /// The steps to the last term.
    pub steps: Vec<Step>,
}

impl Chain {
    /// Iterates over the terms of the chain, including the first.
    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        std::iter::once(&self.start).chain(self.steps.iter().map(|step| &step.whole))
    }

    /// Returns the last term of the chain.
    pub fn last(&self) -> &Term {
        self.steps.last().map_or(&self.start, |step| &step.whole)
    }
}

/// Returns the subterm at a position.
pub fn subterm(term: &Term, position: &[usize]) -> Option<Term> {
    let mut at = Id::from(term.len().checked_sub(1)?);
    for argument in position {
        at = *term[at].children().get(*argument)?;
    }
    Some(Terms::of(term, at))
}

/// Returns the number of nodes of a term as a tree, with shared parts counted at each occurrence.
pub fn tree_size(term: &Term) -> u64 {
    upwards(term, |below| below.fold(1, u64::saturating_add))
}

/// Returns the number of levels of a term.
pub fn depth(term: &Term) -> u64 {
    upwards(term, |below| 1 + below.max().unwrap_or(0))
}

/// Computes a number bottom-up: the number of a node from the numbers of its operands.
fn upwards(term: &Term, number: impl Fn(&mut dyn Iterator<Item = u64>) -> u64) -> u64 {
    let mut known: Vec<u64> = Vec::with_capacity(term.len());
    for node in term {
        let next = number(&mut node.children().iter().map(|child| known[usize::from(*child)]));
        known.push(next);
    }
    known.last().copied().unwrap_or(0)
}
