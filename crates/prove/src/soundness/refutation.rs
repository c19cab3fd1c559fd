//! Refutations: a case in which a rule is wrong, as shown to the author of the rule.

use super::case::Case;
use super::compare::{Meaning, store_text};
use super::instance::Instance;
use egg::Id;
use ember_import::check::Different;
use ember_interpret::{Error, Store};
use ember_language::rules::Rule;
use std::fmt;

/// A case in which a rule is wrong.
#[derive(Clone, Debug)]
pub struct Refutation {
    /// The instance of the left side.
    pub left: String,
    /// The instance of the right side; empty if a fact is wrong rather than a term.
    pub right: String,
    /// The values of free variables.
    pub environment: Vec<(String, String)>,
    /// The store before the evaluation.
    pub store: Store,
    /// The result of the left side.
    pub expected: String,
    /// The result of the right side, or the reason why it has none.
    pub found: String,
}

impl Refutation {
    /// Creates a refutation from a case, the right side if it is a term, and the expected and actual results.
    pub(super) fn new(
        instance: &Instance,
        rhs: Option<Id>,
        case: &Case,
        (expected, found): (String, String),
    ) -> Refutation {
        let text = |id: Id| instance.terms.part(id).to_string();
        let mentioned = instance.mentioned([instance.lhs, rhs.unwrap_or(instance.lhs)]);
        let bound = case.environment.iter().filter(|(v, _)| mentioned.contains(v));
        Refutation {
            left: text(instance.lhs),
            right: rhs.map(text).unwrap_or_default(),
            environment: bound.map(|(v, x)| (text(*v), x.to_string())).collect(),
            store: case.store.clone(),
            expected,
            found,
        }
    }

    /// Creates a refutation from two different constants that became equal.
    pub(super) fn contradiction(instance: &Instance, found: String) -> Refutation {
        Refutation {
            left: instance.terms.part(instance.lhs).to_string(),
            right: String::new(),
            environment: Vec::new(),
            store: Store::default(),
            expected: "no contradiction".to_string(),
            found,
        }
    }

    /// Creates a refutation from a right side in which a loop's variable carries other bounds than the loop has.
    pub(super) fn other_loop(instance: &Instance, right: String) -> Refutation {
        Refutation {
            left: instance.terms.part(instance.lhs).to_string(),
            right,
            environment: Vec::new(),
            store: Store::default(),
            expected: "loops whose variables carry their bounds".to_string(),
            found: "a loop whose variable carries other bounds".to_string(),
        }
    }

    /// Creates a refutation from a right side that depends on a loop variable which only the left side binds.
    pub(super) fn unbound(instance: &Instance, right: Id, variable: Id) -> Refutation {
        Refutation {
            left: instance.terms.part(instance.lhs).to_string(),
            right: instance.terms.part(right).to_string(),
            environment: Vec::new(),
            store: Store::default(),
            expected: "loop variables within their loops".to_string(),
            found: format!("{} outside of its loop", instance.terms.part(variable)),
        }
    }

    /// Creates a refutation from a case of a rule about imported graphs.
    pub(super) fn imported(rule: &Rule, case: Different) -> Refutation {
        Refutation {
            left: rule.lhs.to_string(),
            right: rule.rhs.to_string(),
            environment: case.instance,
            store: Store::default(),
            expected: case.left,
            found: case.right,
        }
    }

    /// Checks that the result of the right side agrees with the meaning of the left side in a case.
    pub(super) fn judge(
        instance: &Instance,
        rhs: Id,
        case: &Case,
        right: Result<Meaning, Error>,
    ) -> Result<(), Box<Refutation>> {
        let both = match &right {
            Ok(right) if case.left.allows(right) => return Ok(()),
            Ok(right) => case.left.beside(right),
            Err(error) => (case.left.to_string(), error.to_string()),
        };
        Err(Box::new(Refutation::new(instance, Some(rhs), case, both)))
    }
}

impl fmt::Display for Refutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "left side:  {}", self.left)?;
        writeln!(f, "right side: {}", self.right)?;
        for (variable, value) in &self.environment {
            writeln!(f, "where {variable} = {value}")?;
        }
        for line in store_text(&self.store).lines() {
            writeln!(f, "where {line}")?;
        }
        writeln!(f, "left gives:  {}", self.expected)?;
        writeln!(f, "right gives: {}", self.found)
    }
}
