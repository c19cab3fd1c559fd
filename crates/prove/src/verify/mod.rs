//! Verifies rules: the tiers of checking that each rule has passed.
//!
//! 1. *Sampled*: both sides interpreted on random and edge data ([`crate::soundness`]).
//! 2. *Exhaustive*: the smallest instances on every small store ([`crate::soundness`]).
//! 3. *Integers*: the rule's claims about loops, lanes and indices, proved by an SMT solver.
//!
//! A tier that could not be reached never counts as passed.

mod claims;
mod integers;
mod mutants;
mod solver;
mod symbolic;

pub use integers::{Integers, Values};
pub use mutants::{Changed, Chosen, Harmless, Judged, Kind, Reason, Tried, harmless, mutants};
pub use solver::Solver;

use crate::soundness::{Options, Tier, Verdict, check_rule};
use ember_host::{clock, threads};
use ember_import::check::is_about_imports;
use ember_language::rules::{Exactness, RuleBook};
use integers::Arithmetic;
use schemars::JsonSchema;
use serde::Serialize;

/// The result of verifying one rule.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Verified {
    /// The rule.
    pub rule: &'static str,
    /// The rule set that it belongs to.
    pub ruleset: &'static str,
    /// Its declared exactness.
    #[schemars(with = "String")]
    pub exact: Exactness,
    /// The higher of the first two tiers that it has passed; `null` if it was refuted or too few instances could be
    /// made.
    pub tier: Option<Tier>,
    /// The number of random cases in which both sides were compared.
    pub sampled: usize,
    /// The number of cases on small stores.
    pub exhaustive: usize,
    /// The result of the third tier.
    pub integers: Integers,
    /// A case in which the rule is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counterexample: Option<String>,
    /// The seed that reproduces the result.
    pub seed: u64,
    /// The time of the check on one core, in milliseconds.
    pub time_ms: f64,
}

impl Verified {
    /// Returns true if no counterexample was found and enough was tested.
    pub fn passed(&self) -> bool {
        self.tier.is_some()
            && !matches!(self.integers, Integers::Refuted { .. } | Integers::Unknown { .. })
    }
}

/// Verifies the selected rules of a book, several at a time, and returns the results in the book's order. Calls `done`
/// after each rule.
pub fn verify(
    book: &RuleBook,
    wanted: impl Fn(&str) -> bool,
    options: &Options,
    solver: Option<&dyn Solver>,
    done: impl Fn(&'static str) + Sync,
) -> Vec<Verified> {
    let rules: Vec<_> = book.claims().filter(|rule| wanted(rule.name.as_str())).collect();
    let verify = |rule: &ember_language::rules::Rule| {
        let started = clock::start();
        // The numbers of imported graphs are elements of tensors, not indices of loops.
        let integers = match is_about_imports(&book.signature, rule) {
            true => Integers::None,
            false => integers::check(&book.signature, rule, solver, Arithmetic::Unbounded),
        };
        let report = check_rule(&book.signature, rule, options);
        done(report.rule);
        let (tier, counterexample) = match report.verdict {
            Verdict::Holds(tier) => (Some(tier), None),
            Verdict::Refuted(case) => (None, Some(case.to_string())),
            Verdict::Unchecked => (None, None),
        };
        Verified {
            rule: report.rule,
            ruleset: book.sets.get(rule.set).map_or("", |set| set.name.as_str()),
            exact: rule.exact,
            tier,
            sampled: report.sampled,
            exhaustive: report.exhaustive,
            integers,
            counterexample,
            seed: report.seed,
            time_ms: started.elapsed().as_secs_f64() * 1e3,
        }
    };
    threads::map(&rules, |rule| verify(rule))
}
