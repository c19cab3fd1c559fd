//! Replays a step: checks that two terms are the two sides of a rule by pattern matching alone. Conditions were checked
//! when the rule ran and depend on facts that a term alone does not contain; they are not checked again.

use egg::{ENodeOrVar, Id, Language, PatternAst, Symbol, Var};
use ember_language::rules::Rule;
use ember_language::term::Terms;
use ember_language::term::{Head, Node, Term};
use ember_values::scalar::BinaryOp;
use std::collections::BTreeMap;
use thiserror::Error;

/// The reason why two terms are not the sides of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{side} side: {why}")]
pub struct Doubt {
    side: &'static str,
    why: Misfit,
}

/// The reason why a term does not match a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum Misfit {
    #[error("nothing stands there")]
    Nothing,
    #[error("`{0}` is both {1} and {2}")]
    Two(Var, Term, Term),
    #[error("`{0}` expected, `{1}` found")]
    Node(Node, Node),
    #[error("a number that does not exist")]
    NoNumber,
    #[error("{0} expected, `{1}` found")]
    Number(i64, Node),
}

/// Returns the substitution for which `left` and `right` are the two sides of the rule, or the reason why there is
/// none.
pub fn replay(rule: &Rule, left: &Term, right: &Term) -> Result<Vec<(Var, Term)>, Doubt> {
    let mut bound: BTreeMap<Var, Term> = BTreeMap::new();
    fits(&rule.lhs, left, &mut bound).map_err(|why| Doubt { side: "left", why })?;
    fits(&rule.rhs, right, &mut bound).map_err(|why| Doubt { side: "right", why })?;
    Ok(bound.into_iter().collect())
}

/// Binds the variables of a pattern to the matching parts of a term; returns the reason if the term does not match.
pub(super) fn fits(
    pattern: &PatternAst<Node>,
    term: &Term,
    bound: &mut BTreeMap<Var, Term>,
) -> Result<(), Misfit> {
    let (Some(p), Some(t)) = (pattern.len().checked_sub(1), term.len().checked_sub(1)) else {
        return Err(Misfit::Nothing);
    };
    let mut open = vec![(Id::from(p), Id::from(t))];
    // Computed numbers are compared at the end, when the variables that they need are bound.
    let mut computed: Vec<(Id, Id)> = Vec::new();
    while let Some((p, t)) = open.pop() {
        match &pattern[p] {
            ENodeOrVar::Var(variable) => {
                let found = Terms::of(term, t);
                match bound.get(variable) {
                    Some(known) if *known != found => {
                        return Err(Misfit::Two(*variable, known.clone(), found));
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
                    return Err(Misfit::Node(node.clone(), term[t].clone()));
                }
                let pairs = node.children().iter().zip(term[t].children());
                open.extend(pairs.map(|(p, t)| (*p, *t)));
            }
        }
    }
    for (p, t) in computed {
        let value = number(pattern, p, bound).ok_or(Misfit::NoNumber)?;
        if term[t].head() != Head::Int(value) {
            return Err(Misfit::Number(value, term[t].clone()));
        }
    }
    Ok(())
}

/// Returns the number that a pattern computes.
pub(super) fn number(
    pattern: &PatternAst<Node>,
    at: Id,
    bound: &BTreeMap<Var, Term>,
) -> Option<i64> {
    // Operands precede their operators, so that one pass suffices.
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
