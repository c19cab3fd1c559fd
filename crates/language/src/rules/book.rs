//! Checked rules and rule sets: every name resolved, every side well-sorted.

use super::define::{self, Definitions};
use super::schedule::Schedule;
use super::signature::{Signature, Sort};
use crate::conditions::{Generator, Predicate};
use crate::diagnostic::{Checked, Diagnostic, Span};
use crate::suggest;
use crate::term::{Node, Term};
use egg::{ENodeOrVar, PatternAst, Symbol, Var};
use serde::Serialize;
use std::fmt;

/// When a rule is meant to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Takes operators of one level to those of the next.
    Lower,
    /// Trades one program of a level for another.
    Optimise,
    /// Splits a program between the units.
    Decouple,
    /// Trades one finished program for another, on the few that were kept.
    Refine,
}

/// How exactly a rule keeps the results of floating-point arithmetic, from the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Exactness {
    /// The same bits.
    Bitwise,
    /// The same operations in another order: bounded by the length of the reductions.
    Reassoc,
    /// Other operations.
    Approx,
}

macro_rules! named {
    ($type:ident { $($variant:ident = $name:literal),* }) => {
        impl $type {
            /// Every one, in order.
            pub const ALL: &'static [$type] = &[$($type::$variant),*];
            /// The names used in every text format, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The name used in every text format.
            pub fn name(self) -> &'static str {
                match self { $($type::$variant => $name),* }
            }

            /// The one with this name.
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

named!(Phase { Lower = "lower", Optimise = "optimise", Decouple = "decouple", Refine = "refine" });
named!(Exactness { Bitwise = "bitwise", Reassoc = "reassoc", Approx = "approx" });

/// An argument of a predicate or generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// What a variable of the rule stands for.
    Var(Var),
    /// An integer.
    Int(i64),
}

/// A predicate or generator applied to arguments.
#[derive(Clone, Debug)]
pub struct Call<F: 'static> {
    /// What is called.
    pub what: &'static F,
    /// Its arguments.
    pub args: Vec<Arg>,
}

/// A term and what a rule must turn it into. Variables in them are opaque leaves.
#[derive(Clone, Debug)]
pub struct Test {
    /// The term before.
    pub input: Term,
    /// The term that must be equal to it after the rule; `None`: the rule must not apply to it.
    pub expected: Option<Term>,
    /// Where it stands.
    pub span: Span,
}

/// That a variable which a rule makes is new where something comes to be bound by it.
#[derive(Clone, Debug)]
pub struct New {
    /// The variable, as the right side has it.
    pub variable: PatternAst<Node>,
    /// What must not depend on it.
    pub within: Var,
}

/// A checked rule: the left side equals the right side wherever its conditions hold.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name; the backward direction of a `<=>` rule is called NAME-rev.
    pub name: Symbol,
    /// What it does, in a sentence.
    pub doc: String,
    /// The index of its set in the [`RuleBook`].
    pub set: usize,
    /// When it is meant to run.
    pub phase: Phase,
    /// How exactly it keeps results.
    pub exact: Exactness,
    /// The sort of both sides; `None` where the rule holds for any sort.
    pub sort: Option<Sort>,
    /// What is matched.
    pub lhs: PatternAst<Node>,
    /// Patterns that the class of a variable must also contain. A variable that stands neither on the left
    /// side nor in an earlier pattern is that of any class that contains its pattern.
    pub wheres: Vec<(Var, PatternAst<Node>)>,
    /// Variables that range over the integers of a generator.
    pub fors: Vec<(Var, Call<Generator>)>,
    /// Conditions.
    pub guards: Vec<Call<Predicate>>,
    /// Conditions on variables that it makes.
    pub news: Vec<New>,
    /// What it is equal to, abbreviations written out. A node `!` with an operation and two
    /// arguments is a number computed when the rule is applied.
    pub rhs: PatternAst<Node>,
    /// The variables of the sides and conditions, and their sorts where those are determined.
    pub variables: Vec<(Var, Option<Sort>)>,
    /// Whether what was matched is taken out of the search afterwards.
    pub subsume: bool,
    /// What it must do and must not do.
    pub tests: Vec<Test>,
    /// Where its name stands.
    pub span: Span,
}

impl Rule {
    /// Whether one of its `wheres` is a `:with`: one whose variable stands neither on the left side nor in
    /// an earlier pattern.
    pub fn is_with(&self, at: usize) -> bool {
        let Some((x, _)) = self.wheres.get(at) else { return false };
        let stands = |pattern: &PatternAst<Node>| pattern.as_ref().contains(&ENodeOrVar::Var(*x));
        let earlier = &self.wheres[..at];
        !stands(&self.lhs) && !earlier.iter().any(|(y, pattern)| y == x || stands(pattern))
    }
}

/// Rules that belong together, usually one file.
#[derive(Clone, Debug)]
pub struct RuleSet {
    /// Its name.
    pub name: Symbol,
    /// What it is for.
    pub doc: String,
    /// The phase of its rules where they do not say.
    pub phase: Phase,
    /// The exactness of its rules where they do not say.
    pub exact: Exactness,
    /// Its rules, as indices into [`RuleBook::rules`].
    pub rules: Vec<usize>,
    /// Where its name stands.
    pub span: Span,
}

/// Everything that was read from rule files, checked.
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
    /// What defined operators stand for.
    pub definitions: Definitions,
}

impl RuleBook {
    /// A rule set by name.
    pub fn set(&self, name: &str) -> Option<&RuleSet> {
        self.sets.iter().find(|s| s.name.as_str() == name)
    }

    /// A rule by name.
    pub fn rule(&self, name: &str) -> Option<&Rule> {
        let name = Symbol::from(name);
        self.rules.iter().find(|r| r.name == name)
    }

    /// The rules that claim something, in order, with every defined operator written out: what a
    /// definition says is true because it says so.
    pub fn claims(&self) -> impl Iterator<Item = Rule> {
        let claims = self.rules.iter().filter(|rule| !self.is_definition(rule));
        claims.map(|rule| self.definitions.expand_rule(rule))
    }

    /// Whether a rule says what a defined operator stands for.
    pub fn is_definition(&self, rule: &Rule) -> bool {
        self.sets[rule.set].name.as_str() == define::SET
    }

    /// A schedule by name.
    pub fn schedule(&self, name: &str) -> Option<&Schedule> {
        self.schedules.iter().find(|s| s.name.as_str() == name)
    }

    /// Named steps.
    pub fn steps(&self, name: &str) -> Option<&Schedule> {
        self.named_steps.iter().find(|s| s.name.as_str() == name)
    }

    /// A schedule by name; where there is none, the error that says so.
    pub fn require_schedule(&self, name: &str) -> Checked<&Schedule> {
        let known = || self.schedules.iter().map(|s| s.name.as_str());
        self.schedule(name).ok_or_else(|| missing("schedule", name, known()))
    }

    /// A rule's place in the book by name; where there is none, the error that says so.
    pub fn require_rule(&self, name: &str) -> Checked<usize> {
        let known = || self.rules.iter().map(|r| r.name.as_str());
        known().position(|known| known == name).ok_or_else(|| missing("rule", name, known()))
    }
}

/// The error for a name that nothing has.
fn missing<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Vec<Diagnostic> {
    let error = Diagnostic::global(format!("no {what} is named `{name}`"));
    vec![match suggest::help(name, known) {
        Some(help) => error.with_help(help),
        None => error,
    }]
}
