//! The journal of a saturation: every equality in the order in which it was found, for explanations.
//!
//! The journal is part of the e-graph's analysis, because both saturation (which finds a rule's equalities) and folding
//! (which finds computed ones) can reach it there. It stays empty unless recording was requested, and does not
//! influence the saturation.

use egg::{Id, Symbol};

/// One equality that was found or found again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The application of a rule.
    Rule {
        /// The rule's name.
        rule: Symbol,
        /// The class of its left side.
        root: Id,
        /// The classes of its variables, in the order of the compiled rule's slots.
        slots: Box<[Id]>,
        /// The class of its right side.
        right: Id,
        /// True if the two classes were not known to be equal.
        united: bool,
    },
    /// A shorter node for a class, computed from its facts.
    Computed {
        /// The class.
        class: Id,
        /// The shorter node.
        folded: Id,
    },
}

/// Equalities in the order in which they were found.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    recording: bool,
    entries: Vec<Entry>,
}

impl Journal {
    /// Creates a journal that records.
    pub fn recording() -> Journal {
        Journal { recording: true, entries: Vec::new() }
    }

    /// Returns the recorded entries.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Records the application of a rule.
    pub fn applied(&mut self, rule: Symbol, root: Id, slots: &[Id], right: Id, united: bool) {
        if self.recording {
            self.entries.push(Entry::Rule { rule, root, slots: slots.into(), right, united });
        }
    }

    /// Records a computed equality.
    pub fn computed(&mut self, class: Id, folded: Id) {
        if self.recording {
            self.entries.push(Entry::Computed { class, folded });
        }
    }
}
