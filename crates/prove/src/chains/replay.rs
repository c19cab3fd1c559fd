//! Replaying a step: whether two terms are the two sides of a rule, by matching text with pattern and
//! nothing else. Conditions were asked when the rule ran, of facts that a term alone does not tell; they
//! are not asked again.

use egg::{ENodeOrVar, Id, Language, PatternAst, Symbol, Var};
use ember_language::rules::Rule;
use ember_language::term::Terms;
use ember_language::term::{Head, Node, Term};
use ember_values::scalar::BinaryOp;
use std::collections::BTreeMap;

/// What the variables of a rule stand for where `left` is its left side and `right` its right side;
/// `Err` says why they are not.
pub fn replay(rule: &Rule, left: &Term, right: &Term) -> Result<Vec<(Var, Term)>, String> {
    let mut bound: BTreeMap<Var, Term> = BTreeMap::new();
    fits(&rule.lhs, left, &mut bound).map_err(|why| format!("left side: {why}"))?;
    fits(&rule.rhs, right, &mut bound).map_err(|why| format!("right side: {why}"))?;
    Ok(bound.into_iter().collect())
}

/// Binds the variables of a pattern to what a term has in their places; `Err` says why it does not fit.
pub(super) fn fits(
    pattern: &PatternAst<Node>,
    term: &Term,
    bound: &mut BTreeMap<Var, Term>,
) -> Result<(), String> {
    let (Some(p), Some(t)) = (pattern.len().checked_sub(1), term.len().checked_sub(1)) else {
        return Err("nothing stands there".to_owned());
    };
    let mut open = vec![(Id::from(p), Id::from(t))];
    // Numbers that are computed are compared when the variables that they need are bound.
    let mut computed: Vec<(Id, Id)> = Vec::new();
    while let Some((p, t)) = open.pop() {
        match &pattern[p] {
            ENodeOrVar::Var(variable) => {
                let found = Terms::of(term, t);
                match bound.get(variable) {
                    Some(known) if *known != found => {
                        return Err(format!("`{variable}` is both {known} and {found}"));
                    }
                    Some(_) => {}
                    None => {
                        bound.insert(*variable, found);
                    }
                }
            }
            ENodeOrVar::ENode(node) if node.name() == Some("!") => computed.push((p, t)),
            ENodeOrVar::ENode(node) => {
                if !node.matches(&term[t]) {
                    return Err(format!("`{node}` expected, `{}` found", term[t]));
                }
                let pairs = node.children().iter().zip(term[t].children());
                open.extend(pairs.map(|(p, t)| (*p, *t)));
            }
        }
    }
    for (p, t) in computed {
        let value = number(pattern, p, bound).ok_or("a number that does not exist")?;
        if term[t].head() != Head::Int(value) {
            return Err(format!("{value} expected, `{}` found", term[t]));
        }
    }
    Ok(())
}

/// The number that a pattern computes.
pub(super) fn number(
    pattern: &PatternAst<Node>,
    at: Id,
    bound: &BTreeMap<Var, Term>,
) -> Option<i64> {
    // Operands stand before what they are operands of, so one pass suffices.
    let mut known: Vec<Option<i64>> = Vec::with_capacity(usize::from(at) + 1);
    for node in pattern.as_ref().iter().take(usize::from(at) + 1) {
        known.push(match node {
            ENodeOrVar::Var(variable) => match bound.get(variable).map(AsRef::as_ref) {
                Some([node]) => match node.head() {
                    Head::Int(n) => Some(n),
                    Head::Op(_) | Head::Real(_) => None,
                },
                _ => None,
            },
            ENodeOrVar::ENode(node) => match (node.head(), node.children()) {
                (Head::Int(n), []) => Some(n),
                (Head::Op(name), [op, a, b]) if name == Symbol::from("!") => {
                    let ENodeOrVar::ENode(op) = &pattern[*op] else { return None };
                    let op = BinaryOp::parse(op.name()?)?;
                    let of = |id: &Id| known[usize::from(*id)];
                    of(a).zip(of(b)).and_then(|(a, b)| super::proof::compute(op, a, b))
                }
                _ => None,
            },
        });
    }
    known.last().copied().flatten()
}
