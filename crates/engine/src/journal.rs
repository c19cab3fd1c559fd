//! What a saturation did, one equality after the other, for those who are asked to explain it.
//!
//! The journal stands in the e-graph's analysis, because both kinds of equalities are found where that
//! is at hand: a rule's by saturation, a computed one by folding. It is empty unless somebody asked
//! for it, and changes nothing.

use egg::{Id, Symbol};

/// One equality that was found or found again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A rule was applied.
    Rule {
        /// The rule's name.
        rule: Symbol,
        /// The class of its left side.
        root: Id,
        /// The classes of its variables, in the order of the compiled rule's slots.
        slots: Box<[Id]>,
        /// The class of its right side.
        right: Id,
        /// Whether the two were not known to be equal.
        united: bool,
    },
    /// Facts of a class gave a shorter node for it.
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
    /// A journal that records.
    pub fn recording() -> Journal {
        Journal { recording: true, entries: Vec::new() }
    }

    /// What was recorded.
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
