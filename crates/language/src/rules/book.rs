//! Checked rules and rule sets: every name is resolved, every side is well-sorted.

use super::define::{self, Definitions};
use super::parameters::{Parameter, Parameters};
use super::schedule::Schedule;
use super::signature::{Signature, Sort};
use crate::conditions::Condition;
use crate::diagnostic::{Checked, Diagnostic, Span};
use crate::suggest;
use crate::term::{Head, Node, Term};
use egg::{ENodeOrVar, PatternAst, Symbol, Var};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// The phase in which a rule is meant to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Lowers operators of one level to operators of the next.
    Lower,
    /// Replaces a program by another of the same level.
    Optimise,
    /// Splits a program between the units.
    Decouple,
    /// Replaces a finished program by another, on the few programs that were kept.
    Refine,
    /// Code for a core without an access unit.
    Native,
}

/// The degree to which a rule preserves the results of floating-point arithmetic, from the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Exactness {
    /// The results have the same bits.
    Bitwise,
    /// The operations run in another order; the length of the reductions bounds the difference.
    Reassoc,
    /// Other operations run.
    Approx,
}

macro_rules! named {
    ($type:ident { $($variant:ident = $name:literal),* }) => {
        impl $type {
            /// Every value, in order.
            pub const ALL: &'static [$type] = &[$($type::$variant),*];
            /// The names used in every text format, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The name used in every text format.
            pub fn name(self) -> &'static str {
                match self { $($type::$variant => $name),* }
            }

            /// Returns the value with this name.
            pub fn parse(name: &str) -> Option<$type> {
                $type::ALL.iter().copied().find(|x| x.name() == name)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

named!(Phase { Lower = "lower", Optimise = "optimise", Decouple = "decouple", Refine = "refine", Native = "native" });
named!(Exactness { Bitwise = "bitwise", Reassoc = "reassoc", Approx = "approx" });

/// An argument of a predicate or generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// The term bound to a variable of the rule.
    Var(Var),
    /// An integer.
    Int(i64),
}

/// A predicate or generator applied to arguments.
#[derive(Clone, Debug)]
pub struct Call {
    /// The predicate or generator.
    pub what: &'static Condition,
    /// Its arguments.
    pub args: Vec<Arg>,
}

/// A term, and the term that a rule must turn it into. Variables in them are opaque leaves.
#[derive(Clone, Debug)]
pub struct Test {
    /// The input term.
    pub input: Term,
    /// The term that must be equal to the input after the rule was applied; `None` if the rule must not apply.
    pub expected: Option<Term>,
    /// The test's place in its file.
    pub span: Span,
}

/// That a variable which a rule makes is new where something comes to be bound by it.
#[derive(Clone, Debug)]
pub struct New {
    /// The variable, as the right side has it.
    pub variable: PatternAst<Node>,
    /// The term that must not mention it.
    pub within: Var,
}

/// A checked rule: the left side equals the right side whenever its conditions hold.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name; the backward direction of a `<=>` rule is called NAME-rev.
    pub name: Symbol,
    /// A sentence that describes it.
    pub doc: String,
    /// The index of its set in the [`RuleBook`].
    pub set: usize,
    /// The phase in which it is meant to run.
    pub phase: Phase,
    /// The degree to which it preserves results.
    pub exact: Exactness,
    /// The sort of both sides; `None` if the rule holds for any sort.
    pub sort: Option<Sort>,
    /// The pattern to match.
    pub lhs: PatternAst<Node>,
    /// Patterns that the class of a variable must also contain. A variable that occurs neither on the left side nor in
    /// an earlier pattern ranges over all classes that contain its pattern.
    pub wheres: Vec<(Var, PatternAst<Node>)>,
    /// Variables that range over the integers of a generator.
    pub fors: Vec<(Var, Call)>,
    /// Conditions.
    pub guards: Vec<Call>,
    /// Conditions on variables that it makes.
    pub news: Vec<New>,
    /// The parameters that its conditions ask about.
    pub parameters: Vec<Symbol>,
    /// The result, with abbreviations written out. A node `!` with an operation and two arguments is a number computed
    /// when the rule is applied.
    pub rhs: PatternAst<Node>,
    /// The variables of the sides and conditions, each with its sort if it is determined.
    pub variables: Vec<(Var, Option<Sort>)>,
    /// True if the matched node is removed from the search after the rule was applied.
    pub subsume: bool,
    /// Its examples and counterexamples.
    pub tests: Vec<Test>,
    /// The place of its name.
    pub span: Span,
}

impl Rule {
    /// Iterates over the operators that the rule matches: those of its left side and of its further patterns.
    pub fn matched(&self) -> impl Iterator<Item = Symbol> + '_ {
        let patterns = std::iter::once(&self.lhs).chain(self.wheres.iter().map(|(_, p)| p));
        patterns.flat_map(|pattern| pattern.iter()).filter_map(|node| match node {
            ENodeOrVar::ENode(node) => match node.head() {
                Head::Op(name) => Some(name),
                Head::Int(_) | Head::Real(_) => None,
            },
            ENodeOrVar::Var(_) => None,
        })
    }

    /// Returns true if the `wheres` entry is a `:with`: its variable occurs neither on the left side nor in an earlier
    /// pattern.
    pub fn is_with(&self, at: usize) -> bool {
        let Some((x, _)) = self.wheres.get(at) else { return false };
        let stands = |pattern: &PatternAst<Node>| pattern.as_ref().contains(&ENodeOrVar::Var(*x));
        let earlier = &self.wheres[..at];
        !stands(&self.lhs) && !earlier.iter().any(|(y, pattern)| y == x || stands(pattern))
    }
}

/// A set of related rules, usually one file.
#[derive(Clone, Debug)]
pub struct RuleSet {
    /// Its name.
    pub name: Symbol,
    /// Its purpose.
    pub doc: String,
    /// The phase of its rules that declare none.
    pub phase: Phase,
    /// The exactness of its rules that declare none.
    pub exact: Exactness,
    /// Its rules, as indices into [`RuleBook::rules`].
    pub rules: Vec<usize>,
    /// The place of its name.
    pub span: Span,
}

/// The checked content of rule files.
#[derive(Clone, Debug, Default)]
pub struct RuleBook {
    /// The sorts and operators.
    pub signature: Signature,
    /// The sets in the order in which they were read.
    pub sets: Vec<RuleSet>,
    /// The rules in the order in which they were read.
    pub rules: Vec<Rule>,
    /// Named steps, which schedules include.
    pub named_steps: Vec<Schedule>,
    /// The schedules in the order in which they were read.
    pub schedules: Vec<Schedule>,
    /// The definitions of defined operators.
    pub definitions: Definitions,
    /// The parameters that rules and schedules leave open.
    pub parameters: Parameters,
}

impl RuleBook {
    /// Returns a rule set by name.
    pub fn set(&self, name: &str) -> Option<&RuleSet> {
        self.sets.iter().find(|s| s.name.as_str() == name)
    }

    /// Returns a rule by name.
    pub fn rule(&self, name: &str) -> Option<&Rule> {
        let name = Symbol::from(name);
        self.rules.iter().find(|r| r.name == name)
    }

    /// Returns the rules that claim something, in order, with every defined operator written out. A definition is true
    /// by itself and claims nothing.
    pub fn claims(&self) -> impl Iterator<Item = Rule> {
        let claims = self.rules.iter().filter(|rule| !self.is_definition(rule));
        claims.map(|rule| self.definitions.expand_rule(rule))
    }

    /// Returns true if the rule is the definition of an operator.
    pub fn is_definition(&self, rule: &Rule) -> bool {
        self.sets[rule.set].name.as_str() == define::SET
    }

    /// Returns true if every saturation applies the rule at this place: a definition, or the meaning of an operator.
    pub fn is_known(&self, rule: usize) -> bool {
        self.is_definition(&self.rules[rule]) || self.signature.table().lowerings.has(rule)
    }

    /// Returns a schedule by name.
    pub fn schedule(&self, name: &str) -> Option<&Schedule> {
        self.schedules.iter().find(|s| s.name.as_str() == name)
    }

    /// Returns named steps by name.
    pub fn steps(&self, name: &str) -> Option<&Schedule> {
        self.named_steps.iter().find(|s| s.name.as_str() == name)
    }

    /// Returns the parameters that a schedule or one of its rules depends on, in the order in which they were read.
    pub fn parameters_of<'a>(
        &'a self,
        schedule: &'a Schedule,
    ) -> impl Iterator<Item = &'a Parameter> {
        let rules = schedule.rules();
        let of_rules = rules.into_iter().flat_map(|rule| self.rules[rule].parameters.clone());
        let used: BTreeSet<Symbol> = of_rules.chain(schedule.parameters()).collect();
        self.parameters.all.iter().filter(move |own| used.contains(&own.name))
    }

    /// Returns a schedule by name, or an error if there is none.
    pub fn require_schedule(&self, name: &str) -> Checked<&Schedule> {
        let known = || self.schedules.iter().map(|s| s.name.as_str());
        self.schedule(name).ok_or_else(|| missing("schedule", name, known()))
    }

    /// Returns a rule's index in the book by name, or an error if there is none.
    pub fn require_rule(&self, name: &str) -> Checked<usize> {
        let known = || self.rules.iter().map(|r| r.name.as_str());
        known().position(|known| known == name).ok_or_else(|| match self.set_named(name) {
            Some(set) => {
                let rules = suggest::list(set.rules.iter().map(|at| self.rules[*at].name.as_str()));
                let error = Diagnostic::global(format!("`{name}` is a rule set, not a rule"));
                vec![error.with_help(format!("its rules are {rules}"))]
            }
            None => missing("rule", name, known()),
        })
    }

    fn set_named(&self, name: &str) -> Option<&RuleSet> {
        self.sets.iter().find(|set| set.name.as_str() == name)
    }
}

/// Returns the error for an unknown name.
fn missing<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Vec<Diagnostic> {
    let error = Diagnostic::global(format!("no {what} is named `{name}`"));
    vec![match suggest::help(name, known) {
        Some(help) => error.with_help(help),
        None => error,
    }]
}
