//! Rules verified: the tiers of checking that each rule has passed, and how.
//!
//! 1. *Sampled*: both sides interpreted on random and edge data ([`crate::soundness`]).
//! 2. *Exhaustive*: the smallest instances on every small store (the same).
//! 3. *Integers*: what the rule claims of loops, lanes and indices, proved by an SMT solver.
//!
//! A tier that could not be reached is never called passed.

mod claims;
mod integers;
mod solver;
mod symbolic;

pub use integers::Integers;
pub use solver::Solver;

use crate::soundness::{self, Options, Tier, Verdict, check_rule};
use ember_host::{clock, threads};
use ember_language::rules::{Exactness, RuleBook};
use serde::Serialize;

/// What is known of one rule.
#[derive(Clone, Debug, Serialize)]
pub struct Verified {
    /// The rule.
    pub rule: &'static str,
    /// The set that it belongs to.
    pub ruleset: &'static str,
    /// What it says of itself.
    pub exact: Exactness,
    /// The highest of the first two tiers that it has passed; `null` where it was refuted or too few
    /// instances could be made.
    pub tier: Option<Tier>,
    /// Random cases in which both sides were compared.
    pub sampled: usize,
    /// Cases on small stores.
    pub exhaustive: usize,
    /// The third tier.
    pub integers: Integers,
    /// A case in which the rule is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counterexample: Option<String>,
    /// The seed with which all of this is found again.
    pub seed: u64,
    /// Milliseconds of one core that the check took.
    pub time_ms: f64,
}

impl Verified {
    /// Whether nothing speaks against the rule and enough was tried.
    pub fn passed(&self) -> bool {
        self.tier.is_some()
            && !matches!(self.integers, Integers::Refuted { .. } | Integers::Unknown { .. })
    }
}

/// Verifies the rules of a book that are wanted, in its order; several at a time. Tells of each rule
/// as it is done.
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
        let integers = integers::check(&book.signature, rule, solver);
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

/// All rules together on random programs; see [`soundness::check_whole`].
///
/// # Errors
/// The first program of which something wrong is said.
pub fn together(book: &RuleBook, options: &Options) -> Result<soundness::Whole, String> {
    soundness::check_whole(book, options).map_err(|case| case.to_string())
}
