//! Sides of rules with the patterns of values in the place of their variables.

use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{Arg, Rule, Signature};
use ember_language::term::Node;

/// Returns a side in which the patterns of values stand for their variables; loop variables keep their names.
pub(super) fn expanded(
    signature: &Signature,
    rule: &Rule,
    side: &PatternAst<Node>,
) -> PatternAst<Node> {
    let is_variable = |pattern: &PatternAst<Node>| match pattern.as_ref().last() {
        Some(ENodeOrVar::ENode(node)) => signature.table().is_variable(node),
        _ => false,
    };
    // A length is the number that it has.
    let lengths = rule.fors.iter().filter(|(_, call)| call.what.name == "length");
    let lengths = lengths.filter_map(|(n, call)| match call.args.as_slice() {
        [Arg::Var(of)] => Some((*of, PatternAst::from(vec![ENodeOrVar::Var(*n)]))),
        _ => None,
    });
    let lengths: Vec<_> = lengths.collect();
    let with_lengths = |side: &PatternAst<Node>| {
        lengths.iter().fold(side.clone(), |side, (of, number)| substituted(&side, *of, number))
    };
    let values = rule.wheres.iter().filter(|(_, pattern)| !is_variable(pattern));
    let values: Vec<_> = values.map(|(x, pattern)| (*x, with_lengths(pattern))).collect();
    // A term that contains itself is written as the least of what it is.
    let (loops, plain): (Vec<_>, Vec<_>) =
        values.iter().cloned().partition(|(x, pattern)| reaches(&values, pattern, *x));
    // A pattern may mention the variables of patterns before it or behind it.
    let expand = |side: &PatternAst<Node>| {
        let all = plain.iter().rev().chain(&plain);
        all.fold(side.clone(), |side, (x, pattern)| substituted(&side, *x, pattern))
    };
    let again = loops.iter().chain(&loops);
    again.fold(expand(&with_lengths(side)), |side, (x, pattern)| {
        contracted(&side, &expand(pattern), *x)
    })
}

/// Returns true if a pattern contains a variable, itself or in the patterns of its variables.
fn reaches(values: &[(Var, PatternAst<Node>)], pattern: &PatternAst<Node>, x: Var) -> bool {
    let (mut seen, mut open) = (Vec::new(), vec![pattern]);
    while let Some(pattern) = open.pop() {
        if mentions(pattern, x) {
            return true;
        }
        for (v, inner) in values.iter().filter(|(v, _)| mentions(pattern, *v)) {
            if !seen.contains(v) {
                seen.push(*v);
                open.push(inner);
            }
        }
    }
    false
}

/// Returns a side in which a variable stands for a pattern.
fn contracted(side: &PatternAst<Node>, pattern: &PatternAst<Node>, x: Var) -> PatternAst<Node> {
    let pattern = pattern.to_string();
    let mut next = PatternAst::default();
    let mut ids: Vec<Id> = Vec::with_capacity(side.len());
    for (at, node) in side.items() {
        let id = match text(side, at) == pattern {
            true => next.add(ENodeOrVar::Var(x)),
            false => next.add(node.clone().map_children(|child| ids[usize::from(child)])),
        };
        ids.push(id);
    }
    match ids.last() {
        Some(root) => next[*root].build_recexpr(|id| next[id].clone()),
        None => next,
    }
}

/// Returns true if a pattern has a variable.
pub(super) fn mentions(pattern: &PatternAst<Node>, v: Var) -> bool {
    pattern.as_ref().contains(&ENodeOrVar::Var(v))
}

/// Returns a side in which a pattern stands for a variable.
pub(super) fn substituted(
    side: &PatternAst<Node>,
    x: Var,
    pattern: &PatternAst<Node>,
) -> PatternAst<Node> {
    if !side.as_ref().contains(&ENodeOrVar::Var(x)) {
        return side.clone();
    }
    let mut next = PatternAst::default();
    let mut inner: Vec<Id> = Vec::with_capacity(pattern.len());
    for node in pattern {
        inner.push(next.add(node.clone().map_children(|child| inner[usize::from(child)])));
    }
    let mut ids: Vec<Id> = Vec::with_capacity(side.len());
    for node in side {
        let id = match (node, inner.last()) {
            (ENodeOrVar::Var(v), Some(last)) if *v == x => *last,
            _ => next.add(node.clone().map_children(|child| ids[usize::from(child)])),
        };
        ids.push(id);
    }
    match ids.last() {
        Some(root) => next[*root].build_recexpr(|id| next[id].clone()),
        None => next,
    }
}

/// Returns a part of a side as text.
pub(super) fn text(side: &PatternAst<Node>, at: Id) -> String {
    side[at].build_recexpr(|id| side[id].clone()).to_string()
}
