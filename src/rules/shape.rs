//! What two patterns have in common: the same up to renaming, or one inside the other.

use super::book::{Arg, Rule};
use crate::term::{Head, Node};
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

/// Structural numbers of pattern nodes: two nodes have one number where they are one term.
#[derive(Default)]
pub(super) struct Numbers {
    known: HashMap<(Result<Head, Var>, Vec<usize>), usize>,
}

impl Numbers {
    /// The numbers of every node of a pattern.
    pub fn of(&mut self, pattern: &PatternAst<Node>) -> Vec<usize> {
        let mut numbers: Vec<usize> = Vec::with_capacity(pattern.len());
        for node in pattern {
            let key = match node {
                ENodeOrVar::Var(v) => (Err(*v), Vec::new()),
                ENodeOrVar::ENode(n) => {
                    let children = n.children().iter().map(|c| numbers[usize::from(*c)]);
                    (Ok(n.head()), children.collect())
                }
            };
            let next = self.known.len();
            numbers.push(*self.known.entry(key).or_insert(next));
        }
        numbers
    }

    /// The number of a variable, if it has been seen.
    pub fn variable(&self, variable: Var) -> Option<usize> {
        self.known.get(&(Err(variable), Vec::new())).copied()
    }
}

/// The sides of a rule with its variables numbered in the order in which they stand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sides {
    lhs: String,
    rhs: String,
}

impl Sides {
    /// The sides of a rule.
    pub fn of(rule: &Rule) -> Sides {
        let mut names = BTreeMap::new();
        let lhs = written(&rule.lhs, &mut names);
        let rhs = written(&rule.rhs, &mut names);
        Sides { lhs, rhs }
    }

    /// Whether the sides are one term.
    pub fn equal(&self) -> bool {
        self.lhs == self.rhs
    }

    /// The conditions of the rule, with its variables numbered alike.
    pub fn conditions(&self, rule: &Rule) -> BTreeSet<String> {
        let mut names = BTreeMap::new();
        written(&rule.lhs, &mut names);
        written(&rule.rhs, &mut names);
        let mut conditions = BTreeSet::new();
        for (x, pattern) in &rule.wheres {
            let x = number(*x, &mut names);
            conditions.insert(format!("where {x} {}", written(pattern, &mut names)));
        }
        let mut call = |name: &str, args: &[Arg]| {
            let mut text = name.to_owned();
            for arg in args {
                let _ = match arg {
                    Arg::Var(v) => write!(text, " ?{}", number(*v, &mut names)),
                    Arg::Int(n) => write!(text, " {n}"),
                };
            }
            text
        };
        for (x, generator) in &rule.fors {
            let values = call(generator.what.name, &generator.args);
            let x = call("for", &[Arg::Var(*x)]);
            conditions.insert(format!("{x} {values}"));
        }
        for guard in &rule.guards {
            conditions.insert(call(guard.what.name, &guard.args));
        }
        conditions
    }
}

fn number(variable: Var, names: &mut BTreeMap<Var, usize>) -> usize {
    let next = names.len();
    *names.entry(variable).or_insert(next)
}

/// A pattern as text. A node that stands in several places is written once and referred to, so
/// that abbreviations do not blow it up.
fn written(pattern: &PatternAst<Node>, names: &mut BTreeMap<Var, usize>) -> String {
    let mut text = String::new();
    let numbers = Numbers::default().of(pattern);
    let mut reached = vec![false; pattern.len()];
    if let Some(root) = reached.last_mut() {
        *root = true;
    }
    for (i, node) in pattern.as_ref().iter().enumerate().rev() {
        if reached[i] {
            node.children().iter().for_each(|c| reached[usize::from(*c)] = true);
        }
    }
    let mut order: BTreeMap<usize, usize> = BTreeMap::new();
    for (i, node) in pattern.as_ref().iter().enumerate() {
        if !reached[i] || order.contains_key(&numbers[i]) {
            continue;
        }
        order.insert(numbers[i], order.len());
        let _ = match node {
            ENodeOrVar::Var(v) => write!(text, "?{}", number(*v, names)),
            ENodeOrVar::ENode(n) => write!(text, "({}", n.head()),
        };
        for child in node.children() {
            let _ = write!(text, " {}", order[&numbers[usize::from(*child)]]);
        }
        text.push(';');
    }
    text
}

/// Whether the right side contains a larger instance of the left side, so that the rule applies to
/// its own result without end. A mere renaming, as in commutativity, is not larger.
pub(super) fn instance_of_left(rule: &Rule) -> bool {
    let mut numbers = Numbers::default();
    let rhs_numbers = numbers.of(&rule.rhs);
    let root = rule.rhs.len() - 1;
    (0..rule.rhs.len()).any(|at| {
        let Some(bound) = matches(&rule.lhs, &rule.rhs, &rhs_numbers, at) else { return false };
        let grows = bound.values().any(|&i| !matches!(rule.rhs[Id::from(i)], ENodeOrVar::Var(_)));
        at != root || grows
    })
}

/// What the variables of a pattern stand for where it matches another at a node.
fn matches(
    pattern: &PatternAst<Node>,
    term: &PatternAst<Node>,
    numbers: &[usize],
    at: usize,
) -> Option<BTreeMap<Var, usize>> {
    let mut bound: BTreeMap<Var, usize> = BTreeMap::new();
    let mut open = vec![(pattern.len() - 1, at)];
    while let Some((p, t)) = open.pop() {
        match (&pattern[Id::from(p)], &term[Id::from(t)]) {
            (ENodeOrVar::Var(v), _) => {
                let first = *bound.entry(*v).or_insert(t);
                if numbers[first] != numbers[t] {
                    return None;
                }
            }
            (ENodeOrVar::ENode(a), ENodeOrVar::ENode(b)) if a.matches(b) => {
                let pairs = a.children().iter().zip(b.children());
                open.extend(pairs.map(|(x, y)| (usize::from(*x), usize::from(*y))));
            }
            _ => return None,
        }
    }
    Some(bound)
}
