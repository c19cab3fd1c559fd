//! Checks rules by interpretation: generates instances of a rule's left side, applies the rule to them in an e-graph
//! with real facts, and requires both sides to have the same meaning.
//!
//! There are two tiers. *Sampled*: random instances on random stores that are full of edge cases (empty loops,
//! duplicate and boundary indices, lengths that no vector length divides, NaN, signed zeros, outputs that are read
//! while they are written). *Exhaustive*: the smallest of these instances on every small store. A rule that could not
//! be exercised often enough counts as unchecked, and is reported so. The modules know operators only through the
//! operator table ([`crate::random`]); the meaning of operators is in [`ember_interpret`], and no code here is
//! specific to a rule.

mod apply;
mod attributes;
mod case;
mod compare;
mod exhaust;
mod instance;
mod refutation;
mod rounding;
mod scopes;
mod together;

pub use attributes::{Answer as Known, Claim, check_attributes};
pub(crate) use instance::{left_side, ranks};
pub use refutation::Refutation;
pub use together::{Whole, check_whole};

use crate::random::{Aim, Grammar, Said};
use apply::Applied;
use case::Case;
use compare::Alike;
use egg::Id;
use ember_engine::CompiledRule;
use ember_import::check as imports;
use ember_language::rules::{Exactness, Rule, RuleBook, Signature};
use exhaust::Exhausted;
use fastrand::Rng;
use instance::Instance;
use schemars::JsonSchema;
use serde::Serialize;

/// The amount of testing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The seed of all random choices; a rule's own seed is computed from it and what the rule says.
    pub seed: u64,
    /// The smallest number of sampled cases for a rule to count as checked.
    pub least: usize,
    /// The number of instances made of every rule.
    pub instances: usize,
    /// The number of instances after which a rule that still has too few cases is given up.
    pub most: usize,
    /// The number of instances tested on every small store.
    pub exhaustive: usize,
    /// The number of programs generated to test all rules together.
    pub programs: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            seed: 1,
            least: 300,
            instances: 1500,
            most: 90_000,
            exhaustive: 3,
            programs: 3000,
        }
    }
}

/// The method by which a rule was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Random stores only.
    Sampled,
    /// Some instances on every small store as well.
    Exhaustive,
}

/// The result of checking a rule.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// No counterexample was found.
    Holds(Tier),
    /// The rule is wrong.
    Refuted(Box<Refutation>),
    /// Too few instances could be made to check the rule.
    Unchecked,
}

/// The report on checking one rule.
#[derive(Clone, Debug)]
pub struct Report {
    /// The rule.
    pub rule: &'static str,
    /// The number of instances made.
    pub attempts: usize,
    /// The number of instances to which the rule applied.
    pub applied: usize,
    /// The number of random cases in which the left side had a meaning and both sides were compared.
    pub sampled: usize,
    /// The number of cases on small stores, counted likewise.
    pub exhaustive: usize,
    /// The result.
    pub verdict: Verdict,
    /// The seed that reproduces the report.
    pub seed: u64,
}

/// Checks every rule of a book that makes a claim, in order.
pub fn check(book: &RuleBook, options: &Options) -> Vec<Report> {
    book.claims().map(|rule| check_rule(&book.signature, &rule, options)).collect()
}

/// Checks one rule.
pub fn check_rule(signature: &Signature, rule: &Rule, options: &Options) -> Report {
    check_beyond(signature, rule, None, options)
}

/// A rule with a condition that a weaker rule lacks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stronger<'a> {
    pub rule: &'a Rule,
    /// The condition that instances should violate.
    pub aim: &'a Aim,
}

/// Checks one rule. If it is weaker than another, it is checked where only it applies: on instances that violate the
/// other's condition, of which many are made on purpose.
pub(crate) fn check_beyond(
    signature: &Signature,
    rule: &Rule,
    stronger: Option<Stronger>,
    options: &Options,
) -> Report {
    if imports::is_about_imports(signature, rule) {
        return imported(rule, options);
    }
    let mut checker = Checker {
        grammar: Grammar::new(signature),
        rule,
        compiled: CompiledRule::new(&anywhere(rule)),
        stronger: stronger.map(|stronger| (stronger, CompiledRule::new(stronger.rule))),
        alike: match rule.exact {
            Exactness::Bitwise => Alike::Bitwise,
            Exactness::Reassoc | Exactness::Approx => Alike::Within,
        },
        literals: Said::of(rule).literals,
        unsaid: instance::unsaid(rule, signature),
        rng: Rng::with_seed(options.seed ^ fnv(&text(rule))),
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

/// Returns a rule that also applies where a term does not mention a variable that it may mention. No rule depends on
/// that to be right, and few random terms mention a given variable.
fn anywhere(rule: &Rule) -> Rule {
    let mut rule = rule.clone();
    rule.guards.retain(|guard| guard.what.name != "may-be-free");
    rule
}

/// Checks a rule about imported graphs, whose terms are whole tensors.
fn imported(rule: &Rule, options: &Options) -> Report {
    let seed = options.seed ^ fnv(rule.name.as_str());
    let done = imports::check_rule(rule, seed, options.least, options.most);
    let verdict = match done.refuted {
        Some(case) => Verdict::Refuted(Box::new(Refutation::imported(rule, case))),
        None if done.cases < options.least || done.cases == 0 => Verdict::Unchecked,
        None => Verdict::Holds(Tier::Sampled),
    };
    Report {
        rule: rule.name.as_str(),
        attempts: done.attempts,
        applied: done.cases,
        sampled: done.cases,
        exhaustive: 0,
        verdict,
        seed: options.seed,
    }
}

/// The number of stores on which an instance is tested.
const STORES: usize = 3;

/// The number of further stores for an instance to which only the weaker rule applies.
const MORE_STORES: usize = 9;

struct Checker<'a> {
    grammar: Grammar<'a>,
    rule: &'a Rule,
    compiled: CompiledRule,
    /// The rule beyond which this one is checked.
    stronger: Option<(Stronger<'a>, CompiledRule)>,
    alike: Alike,
    /// The integers that the rule mentions.
    literals: Vec<i64>,
    /// The conditions that the rule might have forgotten.
    unsaid: Vec<Aim>,
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

    /// Returns the right sides that a rule makes equal to the left side of an instance.
    fn sides(
        &self,
        rule: &Rule,
        compiled: &CompiledRule,
        instance: &mut Instance,
    ) -> Result<Vec<Id>, Box<Refutation>> {
        match apply::apply(rule, compiled, instance) {
            Applied::Equal(sides) => Ok(sides),
            Applied::Contradiction(found) => {
                Err(Box::new(Refutation::contradiction(instance, found)))
            }
            Applied::OtherLoop(side) => Err(Box::new(Refutation::other_loop(instance, side))),
        }
    }

    /// Makes one instance and tests it.
    fn attempt(&mut self, options: &Options) -> Result<(), Box<Refutation>> {
        self.report.attempts += 1;
        let size = (self.report.attempts % 3) as u32;
        let tame = self.alike == Alike::Within;
        let aim = match &self.stronger {
            Some((stronger, _)) => Some(stronger.aim),
            None if self.rng.bool() => self.rng.choice(&self.unsaid),
            None => None,
        };
        let Some(mut instance) =
            Instance::random(self.rule, &self.grammar, &mut self.rng, size, tame, aim)
        else {
            return Ok(());
        };
        // Most instances without a meaning are detected by their first store, before an e-graph is built.
        let mut cases = Vec::new();
        for _ in 0..STORES {
            cases.extend(Case::random(&instance, &mut self.rng, tame));
        }
        let huge = Case::huge(&instance, &mut self.rng, &self.literals);
        if cases.is_empty() && huge.is_none() {
            return Ok(());
        }
        let mut sides = self.sides(self.rule, &self.compiled, &mut instance)?;
        if let Some((stronger, compiled)) = &self.stronger
            && !sides.is_empty()
        {
            // An instance to which the stronger rule applies, too, says nothing of the difference.
            let known = self.sides(stronger.rule, compiled, &mut instance)?;
            sides.retain(|side| !known.contains(side));
            // Few instances violate a condition, and few contents of memory show it.
            for _ in 0..if sides.is_empty() { 0 } else { MORE_STORES } {
                cases.extend(Case::random(&instance, &mut self.rng, tame));
            }
        }
        self.report.applied += usize::from(!sides.is_empty());
        for side in sides {
            if let Some(variable) = scopes::unbound(&instance, side, self.rule.exact) {
                return Err(Box::new(Refutation::unbound(&instance, side, variable)));
            }
            let huge = huge.iter().filter(|_| !instance.reads(side));
            for case in cases.iter().chain(huge) {
                case.compare(&instance, side, self.alike)?;
            }
            self.report.sampled += cases.len();
            let nodes = instance.terms.part(instance.lhs).len();
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

/// Returns what a rule says without its name, so that its samples depend on neither that nor other rules.
fn text(rule: &Rule) -> String {
    let conditions =
        rule.guards.iter().map(|guard| format!("{} {:?}", guard.what.name, guard.args));
    format!("{} {} {}", rule.lhs, rule.rhs, conditions.collect::<Vec<_>>().join(" "))
}

/// Computes the FNV-1a hash of a text.
fn fnv(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
