//! Measures the power of verification: makes wrong variants of each rule, and counts those that the tiers refute.
//!
//! A mutant differs from its rule in one place: a condition is dropped or weaker, or one node of the right side is
//! another. Some mutants are as right as the rule: of some that follows from the texts alone ([`proved`]); a list
//! beside the rules names others, each with its reason.

mod guards;
mod listed;
mod proved;
mod sides;

pub use listed::{Harmless, harmless};
pub use proved::Reason;

use super::solver::Solver;
use crate::random::Aim;
use crate::soundness::{Options, Stronger, Verdict, check_beyond};
use ember_host::threads;
use ember_language::rules::{Rule, RuleBook, Signature};
use fastrand::Rng;
use proved::Solved;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

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
    /// The rule without the change.
    original: Arc<Rule>,
    /// The condition of the rule that the mutant lacks.
    lacking: Option<Aim>,
}

/// The result of verifying a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judged {
    /// Data shows that it is wrong.
    Refuted,
    /// The solver shows that it is wrong.
    Disproved,
    /// It is right, which follows from its text or is proved by the solver.
    Proved,
    /// It is right for a listed reason.
    Listed,
    /// No instance violated the condition that it lacks.
    Unviolated,
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
    /// The reason why it is as right as its rule, if that follows from its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The number of cases in which the condition was violated that the mutant lacks; until one refutes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violating: Option<usize>,
    /// A counterexample to a mutant that is listed or proved as right; this is an error of the list or of the proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
}

/// The mutants to verify.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chosen {
    /// The mutants of conditions alone, or of right sides alone.
    pub part: Option<Changed>,
    /// So many of them, chosen by the seed.
    pub sample: Option<usize>,
}

/// The part of a rule that mutants change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// Its conditions.
    Conditions,
    /// Its right side.
    Sides,
}

/// Verifies the chosen mutants of the selected rules, in the book's order. Calls `done` after each with the number of
/// all.
pub fn mutants(
    book: &RuleBook,
    wanted: impl Fn(&str) -> bool,
    options: &Options,
    chosen: Chosen,
    solver: Option<&dyn Solver>,
    listed: &[Harmless],
    done: impl Fn(usize) + Sync,
) -> Vec<Tried> {
    let rules = book.claims().filter(|rule| wanted(rule.name.as_str()));
    let mut all: Vec<Mutant> = rules.flat_map(|rule| of_rule(&book.signature, &rule)).collect();
    if let Some(part) = chosen.part {
        all.retain(|mutant| mutant.kind.is_guard() == (part == Changed::Conditions));
    }
    if let Some(size) = chosen.sample {
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

/// How often as many instances as of a rule are made of a mutant that lacks a condition, since few of them violate it.
const VIOLATED_TIMES: usize = 3;

/// How often as many instances as of a rule are made of a mutant of a right side, if it passes.
const PASSED_TIMES: usize = 10;

/// How often as many cases must violate the condition as a rule is tried in, where there are not enough instances.
const VIOLATED_LEAST: usize = 15;

fn of_rule(signature: &Signature, rule: &Rule) -> Vec<Mutant> {
    let rule = &Arc::new(rule.clone());
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
    let Mutant { kind, change, rule, original, lacking } = mutant;
    let name = rule.name.as_str();
    let is_listed = listed.iter().any(|entry| entry.rule == name && entry.change == *change);
    let mut reason = proved::reason(signature, mutant);
    let is_right = is_listed || reason.is_some();
    // What is known to be right is tried, too, but not until it is violated often.
    let options = match (is_right, lacking) {
        (true, _) => Options { most: options.instances, ..*options },
        (false, Some(_)) => Options {
            least: options.least.saturating_mul(VIOLATED_LEAST),
            instances: options.instances.saturating_mul(VIOLATED_TIMES),
            most: options.most.saturating_mul(VIOLATED_TIMES),
            ..*options
        },
        (false, None) => *options,
    };
    let stronger = lacking.as_ref().map(|aim| Stronger { rule: original, aim });
    let mut report = check_beyond(signature, rule, stronger, &options);
    if !is_right && lacking.is_none() && !matches!(report.verdict, Verdict::Refuted(_)) {
        let more = Options {
            instances: options.instances.saturating_mul(PASSED_TIMES),
            most: options.most.saturating_mul(PASSED_TIMES),
            ..options
        };
        report = check_beyond(signature, rule, None, &more);
    }
    let counterexample = match report.verdict {
        Verdict::Refuted(case) => Some(case.to_string()),
        Verdict::Holds(_) | Verdict::Unchecked => None,
    };
    // The solver is asked about what nothing else settles.
    let open = counterexample.is_none() && !is_right;
    let solved = open.then(|| proved::solve(signature, mutant, solver)).flatten();
    if solved == Some(Solved::Right) {
        reason = Some(Reason::Solver);
    }
    let violating = lacking.as_ref().map(|_| report.sampled);
    let judged = match &counterexample {
        _ if reason.is_some() => Judged::Proved,
        _ if is_listed => Judged::Listed,
        Some(_) => Judged::Refuted,
        None if solved == Some(Solved::Wrong) => Judged::Disproved,
        None if violating == Some(0) => Judged::Unviolated,
        None => Judged::Missed,
    };
    let wrong = counterexample.filter(|_| is_right);
    Tried { rule: name, kind: *kind, change: change.clone(), judged, reason, violating, wrong }
}
