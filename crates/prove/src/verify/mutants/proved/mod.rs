//! Mutants that are as right as their rules, which follows from the texts alone: no term has a meaning and violates the
//! condition ([`plain`]), the condition follows from what remains ([`implied`]), or both right sides say the same
//! ([`identified`]).

mod identified;
mod implied;
mod plain;

use super::Mutant;
use crate::random::Aim;
use ember_language::rules::Signature;
use schemars::JsonSchema;
use serde::Serialize;

/// The reason why a mutant is as right as its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// No term of the left side that has a meaning violates the condition.
    Plain,
    /// The condition follows from the others, or from the form of the left side.
    Implied,
    /// The right side is the rule's with other names.
    Identified,
}

/// Returns the reason why a mutant is right if its rule is; `None` if none of these is.
pub(super) fn reason(signature: &Signature, mutant: &Mutant) -> Option<Reason> {
    let Mutant { rule, original, lacking, .. } = mutant;
    match lacking {
        Some(Aim::Condition(call)) if plain::is_plain(signature, rule, call) => Some(Reason::Plain),
        Some(Aim::Condition(call)) if implied::follows(signature, rule, call) => {
            Some(Reason::Implied)
        }
        Some(Aim::New(new)) if implied::is_new(signature, rule, new) => Some(Reason::Implied),
        Some(_) => None,
        None if identified::say_the_same(signature, original, rule) => Some(Reason::Identified),
        None => None,
    }
}
