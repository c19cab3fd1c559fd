//! Measures the power of verification: makes wrong variants of each rule, and counts those that the tiers refute.
//!
//! A mutant differs from its rule in one place: a condition is dropped or weaker, or one node of the right side is
//! another. Some mutants are as right as the rule; a list beside the rules names these, each with its reason.

mod guards;
mod listed;
mod sides;

pub use listed::{Harmless, harmless};

use super::integers::{self, Integers};
use super::solver::Solver;
use crate::random::Aim;
use crate::soundness::{Options, Verdict, check_aimed};
use ember_host::threads;
use ember_language::rules::{Rule, RuleBook, Signature};
use fastrand::Rng;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A condition is missing.
    Dropped,
    /// A condition is weaker.
    Weakened,
    /// A number of the right side is another.
    Constant,
    /// An operator is another.
    Operator,
    /// Two operands have changed places.
    Operands,
    /// A variable of the rule is another.
    Variable,
    /// A term is one of its operands.
    Part,
}

impl Kind {
    /// Every kind, in order.
    pub const ALL: [Kind; 7] = [
        Kind::Dropped,
        Kind::Weakened,
        Kind::Constant,
        Kind::Operator,
        Kind::Operands,
        Kind::Variable,
        Kind::Part,
    ];

    /// Returns true if the change is one of a condition.
    pub fn is_guard(self) -> bool {
        matches!(self, Kind::Dropped | Kind::Weakened)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Dropped => "condition dropped",
            Kind::Weakened => "condition weakened",
            Kind::Constant => "number",
            Kind::Operator => "operator",
            Kind::Operands => "operands exchanged",
            Kind::Variable => "variable",
            Kind::Part => "part of a term",
        })
    }
}

/// A rule with one change.
#[derive(Clone, Debug)]
struct Mutant {
    kind: Kind,
    /// The dropped or weakened condition, or the changed right side.
    change: String,
    rule: Rule,
    /// The condition that instances should violate.
    aim: Option<Aim>,
}

impl Mutant {
    fn new(kind: Kind, change: String, rule: Rule) -> Mutant {
        Mutant { kind, change, rule, aim: None }
    }
}

/// The result of verifying a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judged {
    /// Data shows that it is wrong.
    Refuted,
    /// The solver shows that it is wrong.
    Disproved,
    /// It is right for a listed reason.
    Listed,
    /// It passed.
    Missed,
}

/// A mutant with its result.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Tried {
    /// The rule.
    pub rule: &'static str,
    /// The kind of the change.
    pub kind: Kind,
    /// The dropped or weakened condition, or the changed right side.
    pub change: String,
    /// The result.
    pub judged: Judged,
    /// A counterexample to a mutant that is listed as right; this is an error of the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
}

/// Verifies the mutants of the selected rules, in the book's order, or a `sample` of them chosen by the seed. Calls
/// `done` after each with the number of all.
pub fn mutants(
    book: &RuleBook,
    wanted: impl Fn(&str) -> bool,
    options: &Options,
    sample: Option<usize>,
    solver: Option<&dyn Solver>,
    listed: &[Harmless],
    done: impl Fn(usize) + Sync,
) -> Vec<Tried> {
    let rules = book.claims().filter(|rule| wanted(rule.name.as_str()));
    let mut all: Vec<Mutant> = rules.flat_map(|rule| of_rule(&book.signature, &rule)).collect();
    if let Some(size) = sample {
        Rng::with_seed(options.seed).shuffle(&mut all);
        all.truncate(size);
    }
    let count = all.len();
    threads::map(&all, |mutant| {
        let tried = judge(&book.signature, mutant, options, solver, listed);
        done(count);
        tried
    })
}

fn of_rule(signature: &Signature, rule: &Rule) -> Vec<Mutant> {
    let mut all = guards::mutants(rule);
    all.extend(sides::mutants(signature, rule));
    all
}

fn judge(
    signature: &Signature,
    mutant: &Mutant,
    options: &Options,
    solver: Option<&dyn Solver>,
    listed: &[Harmless],
) -> Tried {
    let Mutant { kind, change, rule, aim } = mutant;
    let name = rule.name.as_str();
    let is_listed = listed.iter().any(|entry| entry.rule == name && entry.change == *change);
    let counterexample = match check_aimed(signature, rule, aim.as_ref(), options).verdict {
        Verdict::Refuted(case) => Some(case.to_string()),
        Verdict::Holds(_) | Verdict::Unchecked => None,
    };
    let disproved = || matches!(integers::check(signature, rule, solver), Integers::Refuted { .. });
    let judged = match &counterexample {
        _ if is_listed => Judged::Listed,
        Some(_) => Judged::Refuted,
        None if disproved() => Judged::Disproved,
        None => Judged::Missed,
    };
    let wrong = counterexample.filter(|_| is_listed);
    Tried { rule: name, kind: *kind, change: change.clone(), judged, wrong }
}
