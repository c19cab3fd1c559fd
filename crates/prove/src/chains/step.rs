//! One link of a chain of equal terms, and what chains are built with.

use egg::{Id, Language, Symbol, Var};
use ember_language::term::{Term, Terms};

/// Which way a rule was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From its left side to its right side.
    Forward,
    /// From its right side to its left side: the search had found the later term first.
    Backward,
}

/// What makes two terms equal.
#[derive(Clone, Debug, PartialEq)]
pub enum By {
    /// A rule.
    Rule {
        /// Its name.
        rule: Symbol,
        /// Which way it was read.
        direction: Direction,
        /// What its variables stand for, as far as its two sides mention them.
        substitution: Vec<(Var, Term)>,
    },
    /// Facts: arithmetic on constants, an extent that is declared, a cast to the type that is there.
    Computed,
}

/// One step from a term to an equal one.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What makes the two equal.
    pub by: By,
    /// Where it happened: which argument to take at each level, from the root, counted from 0.
    pub position: Vec<usize>,
    /// What stood there.
    pub before: Term,
    /// What stands there now.
    pub after: Term,
    /// The whole term after the step.
    pub whole: Term,
    /// Why the step could not be replayed, where it could not.
    pub doubt: Option<String>,
}

impl Step {
    /// The name of the rule, or `computed`.
    pub fn name(&self) -> &'static str {
        match &self.by {
            By::Rule { rule, .. } => rule.as_str(),
            By::Computed => "computed",
        }
    }

    /// Whether a rule was read backwards.
    pub fn backward(&self) -> bool {
        matches!(self.by, By::Rule { direction: Direction::Backward, .. })
    }
}

/// Equal terms, each a step from the one before.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The first.
    pub start: Term,
    /// The steps to the last.
    pub steps: Vec<Step>,
}

impl Chain {
    /// The terms that the chain goes through, the first included.
    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        std::iter::once(&self.start).chain(self.steps.iter().map(|step| &step.whole))
    }

    /// The last of these terms.
    pub fn last(&self) -> &Term {
        self.steps.last().map_or(&self.start, |step| &step.whole)
    }
}

/// The subterm at a position.
pub fn subterm(term: &Term, position: &[usize]) -> Option<Term> {
    let mut at = Id::from(term.len().checked_sub(1)?);
    for argument in position {
        at = *term[at].children().get(*argument)?;
    }
    Some(Terms::of(term, at))
}

/// How many words a term has, shared parts counted each time they stand in it.
pub fn tree_size(term: &Term) -> u64 {
    upwards(term, |below| below.fold(1, u64::saturating_add))
}

/// How many levels a term has.
pub fn depth(term: &Term) -> u64 {
    upwards(term, |below| 1 + below.max().unwrap_or(0))
}

/// A number of a term, given how a node's follows from those of its operands.
fn upwards(term: &Term, number: impl Fn(&mut dyn Iterator<Item = u64>) -> u64) -> u64 {
    let mut known: Vec<u64> = Vec::with_capacity(term.len());
    for node in term {
        let next = number(&mut node.children().iter().map(|child| known[usize::from(*child)]));
        known.push(next);
    }
    known.last().copied().unwrap_or(0)
}
