//! What a run asks of the phase that it begins in, and what it leaves to the one that it ends in. A phase is what is
//! between two barriers.

use super::Interpreter;
use super::op::{Does, Op};
use ember_values::primitive::form::Form;
use std::collections::BTreeSet;

/// The flags of all tensors: those written in a phase, and those read as frozen in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Touched {
    pub written: Vec<bool>,
    pub frozen: Vec<bool>,
}

/// How a run fits between others. What comes before it must not have written what it reads as frozen in its first
/// phase, nor have read as frozen what it writes there; what comes behind it must do the same to its last phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phases {
    /// The tensors written in the first phase, and those read as frozen in it.
    pub first: [BTreeSet<String>; 2],
    /// The tensors written in the last phase, and those read as frozen in it.
    pub last: [BTreeSet<String>; 2],
    /// True if a barrier ended the first phase.
    pub barrier: bool,
}

impl Phases {
    /// Returns true if a run may stand wherever one with the other phases stands, as far as frozen reads matter.
    pub fn fits(&self, other: &Phases) -> bool {
        let within = |own: &[BTreeSet<String>; 2], other: &[BTreeSet<String>; 2]| {
            own.iter().zip(other).all(|(own, other)| own.is_subset(other))
        };
        within(&self.first, &other.first)
            && within(&self.last, &other.last)
            && (self.barrier || !other.barrier)
    }

    /// Removes tensors by name.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        for names in self.first.iter_mut().chain(&mut self.last) {
            names.retain(|name| keep(name));
        }
    }
}

impl Interpreter {
    /// Returns the phases of what has run so far; `None` for a term with statements that are undone, as no program has.
    pub fn phases(&self) -> Option<Phases> {
        let undoes = |op: &Op| matches!(op.does, Does::Form(Form::Undone { .. }));
        if self.program.ops.iter().any(undoes) {
            return None;
        }
        let last = Touched { written: self.written.clone(), frozen: self.frozen.clone() };
        let first = self.first.as_ref().unwrap_or(&last);
        let named = |flags: &[bool]| {
            let touched = self.names.iter().zip(flags).filter(|(_, touched)| **touched);
            touched.map(|(name, _)| name.clone()).collect()
        };
        let both = |touched: &Touched| [named(&touched.written), named(&touched.frozen)];
        Some(Phases { first: both(first), last: both(&last), barrier: self.first.is_some() })
    }
}
