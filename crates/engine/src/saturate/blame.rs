//! Finds the rules to blame for a contradiction.

use super::StopReason;
use crate::knowledge::{EGraph, Knowledge};
use egg::{Id, Language};
use ember_language::term::{Head, Node};
use ember_values::scalar::Scalar;
use std::collections::BTreeSet;

/// The number of levels below the class of a contradiction in which rules are searched.
const DEPTH: usize = 4;

/// The number of a class's terms that a description shows, and their depth.
const SHOWN: (usize, usize) = (3, 3);

/// Returns the stop reason for two constants that met in one class.
pub(super) fn contradiction<A: Knowledge>(
    egraph: &EGraph<A>,
    constants: (Scalar, Scalar),
    unions: &[(Id, Id, usize)],
    name: &dyn Fn(usize) -> &'static str,
) -> StopReason {
    let class = guilty_class(egraph, constants, unions);
    let rules = class.map(|class| rules_below(egraph, class, unions)).unwrap_or_default();
    StopReason::Contradiction {
        rules: rules.into_iter().map(name).collect(),
        constants,
        class: class.map(|class| describe_class(egraph, class)).unwrap_or_default(),
    }
}

/// Returns the class that holds both constants: the class of the last union if it does, else the first.
fn guilty_class<A: Knowledge>(
    egraph: &EGraph<A>,
    constants: (Scalar, Scalar),
    unions: &[(Id, Id, usize)],
) -> Option<Id> {
    let last = unions.last().map(|(a, _, _)| egraph.find(*a));
    let mut both: Vec<Id> = egraph
        .classes()
        .filter(|class| {
            class.nodes.iter().filter(|n| is_constant(egraph, n, constants)).count() > 1
        })
        .map(|class| class.id)
        .collect();
    both.sort_unstable();
    both.iter().copied().find(|class| Some(*class) == last).or(both.first().copied()).or(last)
}

fn is_constant<A: Knowledge>(egraph: &EGraph<A>, node: &Node, constants: (Scalar, Scalar)) -> bool {
    match node.head() {
        Head::Int(n) => [constants.0, constants.1].contains(&Scalar::I64(n)),
        Head::Op(_) => egraph.analysis.is_literal(node),
        Head::Real(_) => false,
    }
}

/// Returns the rules that made unions in a class, the last first. If congruence alone united the class, returns the
/// rules of the classes below it.
fn rules_below<A: Knowledge>(
    egraph: &EGraph<A>,
    class: Id,
    unions: &[(Id, Id, usize)],
) -> Vec<usize> {
    let mut level = BTreeSet::from([egraph.find(class)]);
    for _ in 0..DEPTH {
        let mut rules = Vec::new();
        for (a, _, rule) in unions.iter().rev() {
            if level.contains(&egraph.find(*a)) && !rules.contains(rule) {
                rules.push(*rule);
            }
        }
        if !rules.is_empty() {
            return rules;
        }
        let nodes = level.iter().flat_map(|class| &egraph[*class].nodes);
        level = nodes.flat_map(|node| node.children()).map(|id| egraph.find(*id)).collect();
    }
    Vec::new()
}

/// Describes some of a class's terms, cut off at a depth.
fn describe_class<A: Knowledge>(egraph: &EGraph<A>, class: Id) -> String {
    let (terms, depth) = SHOWN;
    let nodes = &egraph[class].nodes;
    let mut shown: Vec<String> =
        nodes.iter().take(terms).map(|node| describe(egraph, node, depth)).collect();
    if nodes.len() > terms {
        shown.push(format!("{} more", nodes.len() - terms));
    }
    shown.join(", ")
}

fn describe<A: Knowledge>(egraph: &EGraph<A>, node: &Node, depth: usize) -> String {
    if node.is_leaf() {
        return node.to_string();
    }
    if depth == 0 {
        return "…".to_owned();
    }
    let children = node.children().iter().map(|child| {
        let nodes = &egraph[*child].nodes;
        let first = nodes.iter().find(|n| n.is_leaf()).or(nodes.first());
        first.map_or_else(String::new, |node| describe(egraph, node, depth - 1))
    });
    let children: Vec<String> = children.collect();
    format!("({node} {})", children.join(" "))
}
