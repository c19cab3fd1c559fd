//! Checks rules by interpretation: instances of a rule's left side are made, the rule is applied to
//! them in an e-graph with real facts, and both sides must mean the same.
//!
//! Two tiers. *Sampled*: random instances on random stores that are full of edge cases (empty loops,
//! duplicate and boundary indices, lengths that no vector length divides, NaN, signed zeros, outputs
//! that are read while they are written). *Exhaustive*: the smallest of these instances on every
//! small store. A rule that could not be exercised often enough has not been checked, and the
//! report says so. Knows operators by the operator table alone (`types.rs`, `grammar.rs`); what
//! operators mean is in [`ember_interpret`], and nothing here knows any rule.

mod apply;
mod attributes;
mod bank;
mod build;
mod case;
mod compare;
mod exhaust;
mod grammar;
mod grow;
mod instance;
mod refutation;
mod together;
mod types;
mod world;

pub use attributes::{Answer as Known, Claim, check_attributes};
pub use refutation::Refutation;
pub use together::{Whole, check_whole};

use apply::Applied;
use case::Case;
use compare::Alike;
use egg::Id;
use ember_engine::CompiledRule;
use ember_language::rules::Operators;
use ember_language::rules::{Exactness, Rule, RuleBook, Signature};
use exhaust::Exhausted;
use fastrand::Rng;
use grammar::Grammar;
use instance::Instance;
use serde::Serialize;
use std::sync::Arc;

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The seed of everything random; a rule's own seed is made of it and the rule's name.
    pub seed: u64,
    /// Sampled cases below which a rule has not been checked.
    pub least: usize,
    /// Instances that are made of every rule.
    pub instances: usize,
    /// Instances after which a rule that still has too few cases is given up.
    pub most: usize,
    /// Instances that are tried on every small store.
    pub exhaustive: usize,
    /// Programs that are made for all rules together.
    pub programs: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            seed: 1,
            least: 100,
            instances: 1500,
            most: 60_000,
            exhaustive: 3,
            programs: 3000,
        }
    }
}

/// How a rule was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// On random stores only.
    Sampled,
    /// Some of its instances on every small store too.
    Exhaustive,
}

/// What is known of a rule.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Nothing was found against it.
    Holds(Tier),
    /// It is wrong.
    Refuted(Box<Refutation>),
    /// Too few instances could be made, so that nothing is known.
    Unchecked,
}

/// What came of checking a rule.
#[derive(Clone, Debug)]
pub struct Report {
    /// The rule.
    pub rule: &'static str,
    /// Instances that were made.
    pub attempts: usize,
    /// Instances to which the rule applied.
    pub applied: usize,
    /// Random cases in which the left side had a meaning and both sides were compared.
    pub sampled: usize,
    /// The same on every small store.
    pub exhaustive: usize,
    /// What is known now.
    pub verdict: Verdict,
    /// The seed with which this is found again.
    pub seed: u64,
}

/// Checks every rule of a book, in order, that claims something.
pub fn check(book: &RuleBook, options: &Options) -> Vec<Report> {
    book.claims().map(|rule| check_rule(&book.signature, &rule, options)).collect()
}

/// Checks one rule.
pub fn check_rule(signature: &Signature, rule: &Rule, options: &Options) -> Report {
    let mut checker = Checker {
        grammar: Grammar::new(signature),
        rule,
        compiled: CompiledRule::new(rule),
        operators: signature.table().clone(),
        alike: match rule.exact {
            Exactness::Bitwise => Alike::Bitwise,
            Exactness::Reassoc | Exactness::Approx => Alike::Within,
        },
        rng: Rng::with_seed(options.seed ^ fnv(rule.name.as_str())),
        report: Report {
            rule: rule.name.as_str(),
            attempts: 0,
            applied: 0,
            sampled: 0,
            exhaustive: 0,
            verdict: Verdict::Unchecked,
            seed: options.seed,
        },
        smallest: Vec::new(),
    };
    checker.report.verdict = match checker.run(options) {
        Err(refutation) => Verdict::Refuted(refutation),
        Ok(_) if checker.report.sampled < options.least => Verdict::Unchecked,
        Ok(tier) => Verdict::Holds(tier),
    };
    checker.report
}

/// Stores on which an instance is tried.
const STORES: usize = 3;

struct Checker<'a> {
    grammar: Grammar<'a>,
    rule: &'a Rule,
    compiled: CompiledRule,
    operators: Arc<Operators>,
    alike: Alike,
    rng: Rng,
    report: Report,
    /// Instances with their right sides, the smallest first.
    smallest: Vec<((u64, usize), Instance, Id)>,
}

impl Checker<'_> {
    fn run(&mut self, options: &Options) -> Result<Tier, Box<Refutation>> {
        while self.report.attempts < options.instances
            || (self.report.sampled < options.least && self.report.attempts < options.most)
        {
            self.attempt(options)?;
        }
        let mut tier = Tier::Sampled;
        for (_, instance, rhs) in std::mem::take(&mut self.smallest) {
            let Exhausted { cases, complete } = exhaust::exhaust(&instance, rhs, self.alike)?;
            self.report.exhaustive += cases;
            if complete && cases > 0 {
                tier = Tier::Exhaustive;
            }
        }
        Ok(tier)
    }

    /// Makes one instance and tries it.
    fn attempt(&mut self, options: &Options) -> Result<(), Box<Refutation>> {
        self.report.attempts += 1;
        let size = (self.report.attempts % 3) as u32;
        let tame = self.alike == Alike::Within;
        let Some(mut instance) =
            Instance::random(self.rule, &self.grammar, &mut self.rng, size, tame)
        else {
            return Ok(());
        };
        // Most instances without a meaning are told by their first store, before an e-graph is made.
        let mut cases = Vec::new();
        for _ in 0..STORES {
            cases.extend(Case::random(&instance, &mut self.rng, tame));
        }
        if cases.is_empty() {
            return Ok(());
        }
        let sides = match apply::apply(self.rule, &self.compiled, &self.operators, &mut instance) {
            Applied::Equal(sides) => sides,
            Applied::Contradiction(found) => {
                return Err(Box::new(Refutation::contradiction(&instance, found)));
            }
        };
        self.report.applied += usize::from(!sides.is_empty());
        for side in sides {
            for case in &cases {
                case.compare(&instance, side, self.alike)?;
            }
            self.report.sampled += cases.len();
            let nodes = instance.bank.extract(instance.lhs).len();
            let size = (exhaust::elements(&instance), nodes);
            let at = self.smallest.partition_point(|(n, ..)| *n <= size);
            if at < options.exhaustive {
                self.smallest.insert(at, (size, instance.clone(), side));
                self.smallest.truncate(options.exhaustive);
            }
        }
        Ok(())
    }
}

/// The FNV-1a hash of a name, so that a rule's samples do not depend on the rules beside it.
fn fnv(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
