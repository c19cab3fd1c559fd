//! The demands of a rule's conditions on the terms of its variables, so that most instances satisfy the conditions.

use super::aim::OF_MEMORY;
use egg::{ENodeOrVar, Var};
use ember_language::rules::{Arg, Call, Rule};
use ember_language::term::Head;
use std::collections::{BTreeMap, BTreeSet};

/// A demand of a condition on a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stated {
    /// It is a constant of 2 or more.
    Length,
    /// A length divides it.
    Multiple,
    /// It is at least this.
    Least(i64),
    /// It is at most this.
    Most(i64),
    /// It is at least what another variable is, and so much more.
    AtLeast(Var, i64),
    /// It is at most what another variable is less so much.
    AtMost(Var, i64),
}

/// The demands of a rule's conditions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    /// The demands on numbers.
    pub numbers: BTreeMap<Var, Vec<Stated>>,
    /// The loop variables that terms must not mention: each with a term.
    hidden: BTreeSet<(Var, Var)>,
    /// The statements whose iterations must touch places of their own, each with the variable of the loop.
    apart: BTreeMap<Var, Var>,
    /// The statements that must write one tensor alone, each with that.
    into: BTreeMap<Var, Var>,
    /// The ends of loops whose iterations are counted, each with the start.
    counted: BTreeMap<Var, Var>,
    /// The variables that range over the length that a term is, each with the term.
    lengths: BTreeMap<Var, Var>,
    /// True if a condition is on memory that several terms touch.
    pub meets: bool,
    /// The integers that the rule mentions.
    pub literals: Vec<i64>,
}

impl Said {
    /// Collects what the conditions of a rule say.
    pub fn of(rule: &Rule) -> Said {
        let mut said = Said {
            numbers: numbers(rule),
            meets: rule.guards.iter().any(|guard| OF_MEMORY.contains(&guard.what.name)),
            literals: literals(rule),
            ..Said::default()
        };
        for guard in &rule.guards {
            match (guard.what.name, guard.args.as_slice()) {
                ("not-free", [Arg::Var(x), Arg::Var(within)]) => {
                    said.hidden.extend(parts(rule, *within).into_iter().map(|part| (*x, part)));
                }
                ("independent-lanes" | "separable", [Arg::Var(x), statements @ ..]) => {
                    let variables = statements.iter().filter_map(variable);
                    said.apart.extend(variables.map(|statement| (statement, *x)));
                }
                ("only-writes", [Arg::Var(tensor), Arg::Var(statement)]) => {
                    said.into.insert(*statement, *tensor);
                }
                _ => {}
            }
        }
        for (number, call) in &rule.fors {
            match (call.what.name, call.args.as_slice()) {
                ("few-trips" | "half-way" | "one-trip", [Arg::Var(lo), Arg::Var(hi), ..]) => {
                    said.counted.insert(*hi, *lo);
                }
                ("length", [Arg::Var(term)]) => {
                    said.lengths.insert(*number, *term);
                }
                _ => {}
            }
        }
        said
    }

    /// Returns the term whose length a variable ranges over.
    pub fn with_length(&self, number: Var) -> Option<Var> {
        self.lengths.get(&number).copied()
    }

    /// Returns the start of a loop whose iterations are counted up to this end.
    pub fn start(&self, end: Var) -> Option<Var> {
        self.counted.get(&end).copied()
    }

    /// Returns true if a term must not mention a loop variable.
    pub fn hides(&self, x: Var, within: Var) -> bool {
        self.hidden.contains(&(x, within))
    }

    /// Returns the tensor that a statement must write alone.
    pub fn only(&self, statement: Var) -> Option<Var> {
        self.into.get(&statement).copied()
    }

    /// Returns a tensor that some statement must write alone.
    pub fn written(&self) -> Option<Var> {
        self.into.values().next().copied()
    }

    /// Returns the loop variable in whose iterations a statement must touch different places.
    pub fn own_places(&self, statement: Var) -> Option<Var> {
        self.apart.get(&statement).copied()
    }
}

/// Returns the integers in the patterns and conditions of a rule.
fn literals(rule: &Rule) -> Vec<i64> {
    let sides = rule.wheres.iter().map(|(_, pattern)| pattern).chain([&rule.lhs, &rule.rhs]);
    let of_sides = sides.flat_map(|side| side.as_ref()).filter_map(|node| match node {
        ENodeOrVar::ENode(node) => match node.head() {
            Head::Int(n) => Some(n),
            Head::Op(_) | Head::Real(_) => None,
        },
        ENodeOrVar::Var(_) => None,
    });
    let of_conditions =
        rule.guards.iter().flat_map(|guard| &guard.args).filter_map(|arg| match arg {
            Arg::Int(n) => Some(*n),
            Arg::Var(_) => None,
        });
    let all: BTreeSet<i64> = of_sides.chain(of_conditions).collect();
    all.into_iter().collect()
}

fn variable(arg: &Arg) -> Option<Var> {
    match arg {
        Arg::Var(v) => Some(*v),
        Arg::Int(_) => None,
    }
}

/// Returns a variable and those that patterns have in its place.
fn parts(rule: &Rule, v: Var) -> Vec<Var> {
    let mut found = vec![v];
    let mut known = 0;
    while let Some(v) = found.get(known).copied() {
        known += 1;
        for (_, pattern) in rule.wheres.iter().filter(|(own, _)| *own == v) {
            for node in pattern {
                match node {
                    ENodeOrVar::Var(part) if !found.contains(part) => found.push(*part),
                    _ => {}
                }
            }
        }
    }
    found
}

/// Returns what the conditions of a rule say of its numbers: those that are lengths, those that lengths divide, and
/// bounds of others.
fn numbers(rule: &Rule) -> BTreeMap<Var, Vec<Stated>> {
    let lengths = rule.fors.iter().filter(|(_, call)| call.what.name == "length");
    let lengths = lengths.filter_map(|(_, call)| Some((call.args.first()?, Stated::Length)));
    let divides = rule.guards.iter().filter(|guard| guard.what.name == "divides");
    let multiples = divides.filter_map(|call| Some((call.args.get(1)?, Stated::Multiple)));
    let bounded = rule.guards.iter().flat_map(|guard| bounds(rule, guard));
    let mut found: BTreeMap<Var, Vec<Stated>> = BTreeMap::new();
    for (arg, stated) in bounded.chain(multiples).chain(lengths) {
        if let Some(v) = variable(arg) {
            found.entry(v).or_default().push(stated);
        }
    }
    found
}

/// Returns the arguments of a comparison that the other one bounds.
fn bounds<'r>(rule: &Rule, guard: &'r Call) -> Vec<(&'r Arg, Stated)> {
    let below = match guard.what.name {
        "at-most" | "at-most-in-loop" => 0,
        "below" | "below-in-loop" => 1,
        _ => return Vec::new(),
    };
    let is_length = |x: &Arg| {
        rule.fors.iter().any(|(n, call)| {
            call.what.name == "length" && (call.args == [*x] || *x == Arg::Var(*n))
        })
    };
    match guard.args.as_slice() {
        [Arg::Int(n), x] => vec![(x, Stated::Least(n.saturating_add(below)))],
        [x, Arg::Int(n)] => vec![(x, Stated::Most(n.saturating_sub(below)))],
        [x, y] if is_length(y) => vec![(x, Stated::Most(2 - below))],
        [x @ Arg::Var(a), y @ Arg::Var(b)] => {
            vec![(x, Stated::AtMost(*b, below)), (y, Stated::AtLeast(*a, below))]
        }
        _ => Vec::new(),
    }
}
