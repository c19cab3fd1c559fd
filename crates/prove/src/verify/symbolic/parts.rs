//! Helpers for parts of patterns and formulas as text.

use super::LANE;
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::Operators;
use ember_language::term::Node;
use ember_values::primitive::form::{By, Form};
use itertools::Itertools;
use std::collections::{BTreeMap, BTreeSet};

pub(super) type Part<'a> = (&'a PatternAst<Node>, Id);

/// Returns the variables in the bounds of a pattern's loops and lanes.
pub(super) fn bounds(pattern: &PatternAst<Node>, operators: &Operators) -> BTreeSet<Var> {
    let mut ends: Vec<Id> = Vec::new();
    for node in pattern.as_ref() {
        let ENodeOrVar::ENode(node) = node else { continue };
        let over = operators.looped(node);
        ends.extend(over.iter().flat_map(|l| [l.lo, l.hi, l.step]));
        if let Some(Form::Replaced { by: By::Lanes { lanes, hi, .. }, .. }) = operators.form(node) {
            ends.extend([lanes, hi]);
        }
    }
    let variables = ends.into_iter().filter_map(|id| match &pattern[id] {
        ENodeOrVar::Var(v) => Some(*v),
        ENodeOrVar::ENode(_) => None,
    });
    variables.collect()
}

/// Returns the number of nodes of a pattern as a tree, in which nothing is shared.
pub(super) fn written_out(pattern: &PatternAst<Node>) -> usize {
    let mut sizes: Vec<usize> = Vec::with_capacity(pattern.len());
    for node in pattern.as_ref() {
        let parts = node.children().iter().map(|child| sizes[usize::from(*child)]);
        sizes.push(parts.fold(1, usize::saturating_add));
    }
    sizes.last().copied().unwrap_or(0)
}

/// Returns the text of a part of a pattern.
pub(super) fn text(p: &PatternAst<Node>, id: Id) -> String {
    match &p[id] {
        ENodeOrVar::Var(v) => v.to_string(),
        ENodeOrVar::ENode(node) if node.is_leaf() => node.to_string(),
        ENodeOrVar::ENode(node) => {
            let parts = node.children().iter().map(|child| text(p, *child));
            format!("({node} {})", parts.collect_vec().join(" "))
        }
    }
}

pub(super) fn literal(n: i64) -> String {
    if n < 0 { format!("(- {})", n.unsigned_abs()) } else { n.to_string() }
}

/// Returns the formula that a number lies between two others.
pub fn within(x: &str, least: i64, most: i64) -> String {
    format!("(and (<= {} {x}) (<= {x} {}))", literal(least), literal(most))
}

/// Quotes a symbol, so that it may contain any text.
pub(super) fn quoted(name: &str) -> String {
    format!("|{name}|")
}

pub(super) fn applied(name: &str, args: &[String]) -> String {
    if args.is_empty() { name.to_owned() } else { format!("({name} {})", args.join(" ")) }
}

/// Returns the loop variables that the rule names, and the lane. Variables that the rule creates cannot occur elsewhere
/// and are left out.
pub(super) fn of_rule(values: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let named = |name: &str| name.starts_with('?') || name == LANE;
    values.iter().filter(|(name, _)| named(name)).map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// Returns true if a formula mentions a name.
pub fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| c.is_whitespace() || "()".contains(c)).any(|word| word == name)
}
