//! Compares patterns: equality up to renaming, and occurrence of one inside the other.

use super::book::{Arg, Call, Rule};
use crate::term::{Head, Node};
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A node of a pattern: its head or variable, and the numbers of its children.
type Part = (Result<Head, Var>, SmallVec<[usize; 4]>);

/// Structural numbers of pattern nodes: two nodes have the same number if and only if they are the same term.
#[derive(Default)]
pub struct Numbers {
    known: FxHashMap<Part, usize>,
}

impl Numbers {
    /// Returns the numbers of all nodes of a pattern.
    pub fn of(&mut self, pattern: &PatternAst<Node>) -> Vec<usize> {
        let mut numbers: Vec<usize> = Vec::with_capacity(pattern.len());
        for node in pattern {
            let key = match node {
                ENodeOrVar::Var(v) => (Err(*v), SmallVec::new()),
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

    /// Returns the number of a variable, if it has been seen.
    pub fn variable(&self, variable: Var) -> Option<usize> {
        self.known.get(&(Err(variable), SmallVec::new())).copied()
    }
}

/// The sides of a rule with its variables numbered in the order of their occurrence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sides {
    lhs: String,
    rhs: String,
}

impl Sides {
    /// Returns the sides of a rule, and its conditions with the same numbering of variables.
    pub fn of(rule: &Rule) -> (Sides, BTreeSet<String>) {
        let mut names = BTreeMap::new();
        let lhs = written(&rule.lhs, &mut names);
        let rhs = written(&rule.rhs, &mut names);
        (Sides { lhs, rhs }, conditions(rule, &mut names))
    }

    /// Returns true if the sides are the same term.
    pub fn equal(&self) -> bool {
        self.lhs == self.rhs
    }
}

/// Returns the conditions of a rule, with its variables numbered.
fn conditions(rule: &Rule, names: &mut BTreeMap<Var, usize>) -> BTreeSet<String> {
    let mut conditions = BTreeSet::new();
    for (x, pattern) in &rule.wheres {
        let x = number(*x, names);
        conditions.insert(format!("where {x} {}", written(pattern, names)));
    }
    let mut call = |name: &str, args: &[Arg]| {
        let mut text = name.to_owned();
        for arg in args {
            let _ = match arg {
                Arg::Var(v) => write!(text, " ?{}", number(*v, names)),
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
    for new in &rule.news {
        let within = number(new.within, names);
        conditions.insert(format!("new {} {within}", written(&new.variable, names)));
    }
    conditions
}

fn number(variable: Var, names: &mut BTreeMap<Var, usize>) -> usize {
    let next = names.len();
    *names.entry(variable).or_insert(next)
}

/// Returns a pattern as text. A node that occurs several times is written once and referred to, so that abbreviations
/// do not blow up the text.
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

/// Returns true if the right side contains a larger instance of the left side, so that the rule applies to its own
/// result without end. A mere renaming, as in commutativity, is not larger; neither is an instance that one of `rules`
/// undoes.
pub(super) fn instance_of_left(rule: &Rule, rules: &[Rule]) -> bool {
    instances_of_left(rule, rules, |_| true)
}

/// [`instance_of_left`] for instances whose conditions concern the same terms as before.
pub(super) fn growing_instance(rule: &Rule, rules: &[Rule]) -> bool {
    let guards = rule.guards.iter().flat_map(|guard| &guard.args);
    let asked = guards.chain(rule.fors.iter().flat_map(|(_, call)| &call.args));
    let mut asked: BTreeSet<Var> = asked.filter_map(variable).collect();
    asked.extend(rule.wheres.iter().map(|(x, _)| *x));
    instances_of_left(rule, rules, |bound| {
        let itself = |v: &Var| match bound.get(v) {
            Some(at) => rule.rhs[Id::from(*at)] == ENodeOrVar::Var(*v),
            // A variable that the left side does not bind is searched again in each application.
            None => true,
        };
        asked.iter().all(itself)
    })
}

fn variable(arg: &Arg) -> Option<Var> {
    match arg {
        Arg::Var(v) => Some(*v),
        Arg::Int(_) => None,
    }
}

/// Returns true if the right side contains a larger instance of the left side that `wanted` accepts.
fn instances_of_left(
    rule: &Rule,
    rules: &[Rule],
    wanted: impl Fn(&BTreeMap<Var, usize>) -> bool,
) -> bool {
    let mut numbers = Numbers::default();
    let left = numbers.of(&rule.lhs).last().copied();
    let numbers = numbers.of(&rule.rhs);
    let outside = outside(&rule.rhs, &numbers, left);
    (0..rule.rhs.len()).any(|at| {
        let Some(bound) = matches(&rule.lhs, &rule.rhs, &numbers, at) else { return false };
        let larger = |(v, at): (&Var, &usize)| {
            let is_node = matches!(rule.rhs[Id::from(*at)], ENodeOrVar::ENode(_));
            let back = || rules.iter().any(|known| takes_back(known, rule, &numbers, *v, *at));
            is_node && outside.contains(v) && !back()
        };
        bound.iter().any(larger) && wanted(&bound)
    })
}

/// Returns the variables of a right side outside of a copy of the left side in it. A larger term for a variable inside
/// the copy makes nothing new, because the copy is equal to the term already present.
fn outside(rhs: &PatternAst<Node>, numbers: &[usize], left: Option<usize>) -> BTreeSet<Var> {
    let mut open = vec![rhs.len() - 1];
    let mut seen = vec![false; rhs.len()];
    let mut found = BTreeSet::new();
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut seen[at], true) || Some(numbers[at]) == left {
            continue;
        }
        match &rhs[Id::from(at)] {
            ENodeOrVar::Var(v) => {
                found.insert(*v);
            }
            ENodeOrVar::ENode(node) => open.extend(node.children().iter().map(|c| usize::from(*c))),
        }
    }
    found
}

/// Returns true if a rule without conditions rewrites a part of another rule's right side to a variable.
fn takes_back(known: &Rule, rule: &Rule, numbers: &[usize], variable: Var, at: usize) -> bool {
    let free = known.guards.is_empty() && known.wheres.is_empty() && known.fors.is_empty();
    let Some(ENodeOrVar::Var(result)) = known.rhs.as_ref().last() else { return false };
    let stands = |bound: BTreeMap<Var, usize>| {
        bound.get(result).is_some_and(|at| rule.rhs[Id::from(*at)] == ENodeOrVar::Var(variable))
    };
    free && matches(&known.lhs, &rule.rhs, numbers, at).is_some_and(stands)
}

/// A rule that may be a special case of others.
pub(super) struct Special<'a> {
    rule: &'a Rule,
    numbers: Numbers,
    left: Vec<usize>,
    right: usize,
}

impl Special<'_> {
    /// Prepares a rule for the comparison.
    pub fn new(rule: &Rule) -> Special<'_> {
        let mut numbers = Numbers::default();
        let left = numbers.of(&rule.lhs);
        let right = numbers.of(&rule.rhs).last().copied().unwrap_or_default();
        Special { rule, numbers, left, right }
    }

    /// Returns true if a more general rule covers it: its left side is an instance of the other's left side, its right
    /// side is the same instance, and it has all conditions of the other.
    pub fn of(&self, general: &Rule) -> bool {
        let rule = self.rule;
        if !general.wheres.is_empty() || !general.fors.is_empty() || general.subsume != rule.subsume
        {
            return false;
        }
        let root = rule.lhs.len() - 1;
        let Some(bound) = matches(&general.lhs, &rule.lhs, &self.left, root) else { return false };
        general.guards.iter().all(|guard| self.asks(guard, &bound))
            && self.instance(&general.rhs, &bound) == Some(self.right)
    }

    /// Returns true if the rule has this condition of a general rule, with the variables replaced by their terms.
    fn asks(&self, guard: &Call, bound: &BTreeMap<Var, usize>) -> bool {
        let arg = |arg: &Arg| match arg {
            Arg::Int(n) => Some(Arg::Int(*n)),
            Arg::Var(v) => match &self.rule.lhs[Id::from(*bound.get(v)?)] {
                ENodeOrVar::Var(v) => Some(Arg::Var(*v)),
                ENodeOrVar::ENode(node) => match node.head() {
                    Head::Int(n) => Some(Arg::Int(n)),
                    Head::Op(_) | Head::Real(_) => None,
                },
            },
        };
        let args: Option<Vec<Arg>> = guard.args.iter().map(arg).collect();
        let same =
            |own: &Call| own.what.name == guard.what.name && args.as_ref() == Some(&own.args);
        self.rule.guards.iter().any(same)
    }

    /// Returns the number of the instance of a general rule's right side, if the instance is a part of this rule.
    fn instance(&self, rhs: &PatternAst<Node>, bound: &BTreeMap<Var, usize>) -> Option<usize> {
        let mut instance: Vec<Option<usize>> = Vec::with_capacity(rhs.len());
        for node in rhs {
            let number = match node {
                ENodeOrVar::Var(v) => bound.get(v).map(|at| self.left[*at]),
                ENodeOrVar::ENode(node) => {
                    let children = node.children().iter().map(|c| instance[usize::from(*c)]);
                    let children: Option<SmallVec<[usize; 4]>> = children.collect();
                    let key = children.map(|children| (Ok(node.head()), children));
                    key.and_then(|key| self.numbers.known.get(&key).copied())
                }
            };
            instance.push(number);
        }
        instance.last().copied().flatten()
    }
}

/// Returns the bindings of a pattern's variables if it matches another pattern at a node.
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
