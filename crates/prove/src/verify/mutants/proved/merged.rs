//! Rules in which two loop variables are one, as instances are that violate the condition that they differ. A variable
//! carries the bounds of its loop, so that the bounds are then the same, too.

use super::places::substituted;
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{Arg, Call, New, Rule, Signature};
use ember_language::term::{Head, Node};

/// A term of a pattern.
type Term = PatternAst<Node>;

/// Returns a rule in which the second variable is the first; `None` if no loop has both bounds.
pub(super) fn merged(signature: &Signature, rule: &Rule, [x, y]: [Var; 2]) -> Option<Rule> {
    let mut rule = renamed(rule, y, &variable(x));
    // The bounds of either may be bounds of others.
    for _ in 0..MOST {
        let Some((v, term)) = equal(signature, &rule, x)? else { break };
        rule = renamed(&rule, v, &term);
    }
    Some(rule)
}

/// The greatest number of bounds that are made equal.
const MOST: usize = 8;

/// Returns a variable of the rule and the term that it is since all bounds of one loop variable are the same; an inner
/// `None` if there is no other, and `None` if two bounds differ.
#[allow(clippy::option_option, reason = "each absence has its own meaning")]
fn equal(signature: &Signature, rule: &Rule, x: Var) -> Option<Option<(Var, Term)>> {
    let all = bounds(signature, rule, x);
    for (k, first) in all.iter().enumerate() {
        for second in &all[k + 1..] {
            for (a, b) in first.iter().zip(second).filter(|(a, b)| a != b) {
                match (leaf(a), leaf(b)) {
                    (Some(ENodeOrVar::ENode(a)), Some(ENodeOrVar::ENode(b))) if numbers(&a, &b) => {
                        return None;
                    }
                    (Some(ENodeOrVar::Var(v)), Some(ENodeOrVar::ENode(n)))
                    | (Some(ENodeOrVar::ENode(n)), Some(ENodeOrVar::Var(v)))
                        if excludes(rule, v, &n) =>
                    {
                        return None;
                    }
                    (Some(ENodeOrVar::Var(v)), _) if !mentions(b, v) => {
                        return Some(Some((v, b.clone())));
                    }
                    (_, Some(ENodeOrVar::Var(v))) if !mentions(a, v) => {
                        return Some(Some((v, a.clone())));
                    }
                    _ => {}
                }
            }
        }
    }
    Some(None)
}

/// Returns the bounds and steps that a variable has, wherever the rule finds it.
fn bounds(signature: &Signature, rule: &Rule, x: Var) -> Vec<[Term; 3]> {
    let operators = signature.table();
    let part = |side: &Term, at: Id| -> Term { side[at].build_recexpr(|id| side[id].clone()) };
    let mut found = Vec::new();
    let sides = std::iter::once(&rule.lhs).chain(rule.wheres.iter().map(|(_, side)| side));
    for side in sides {
        for node in side {
            let ENodeOrVar::ENode(node) = node else { continue };
            let own = operators.looped(node).filter(|own| own.access.is_none());
            let own = own.filter(|own| side[own.variable] == ENodeOrVar::Var(x));
            found.extend(own.map(|own| [own.lo, own.hi, own.step].map(|at| part(side, at))));
        }
    }
    for (_, side) in rule.wheres.iter().filter(|(v, _)| *v == x) {
        let Some(ENodeOrVar::ENode(node)) = side.as_ref().last() else { continue };
        let made = operators.variable(node);
        found.extend(made.map(|[_, lo, hi, step]| [lo, hi, step].map(|at| part(side, at))));
    }
    found
}

/// Returns true for two numbers that differ.
fn numbers(a: &Node, b: &Node) -> bool {
    matches!((a.head(), b.head()), (Head::Int(a), Head::Int(b)) if a != b)
}

/// Returns true if a variable is a length, which is 2 or more, and a number is not.
fn excludes(rule: &Rule, v: Var, number: &Node) -> bool {
    let is_length = rule
        .fors
        .iter()
        .any(|(n, call)| call.what.name == "length" && (*n == v || call.args == [Arg::Var(v)]));
    is_length && matches!(number.head(), Head::Int(n) if n < 2)
}

/// Returns a rule with a term in the place of a variable. Conditions that cannot name the term are left out, which
/// claims more.
fn renamed(rule: &Rule, from: Var, to: &Term) -> Rule {
    let side = |side: &Term| substituted(side, from, to);
    let name = match leaf(to) {
        Some(ENodeOrVar::Var(v)) => Some(Arg::Var(v)),
        Some(ENodeOrVar::ENode(node)) => match node.head() {
            Head::Int(n) => Some(Arg::Int(n)),
            Head::Op(_) | Head::Real(_) => None,
        },
        None => None,
    };
    let call = |call: &Call| -> Option<Call> {
        let arg = |arg: &Arg| if *arg == Arg::Var(from) { name } else { Some(*arg) };
        let args = call.args.iter().map(arg).collect::<Option<_>>()?;
        Some(Call { what: call.what, args })
    };
    let variable = |v: Var| match name {
        Some(Arg::Var(to)) if v == from => to,
        _ => v,
    };
    let kept =
        |new: &New| name.is_some_and(|name| matches!(name, Arg::Var(_))) || new.within != from;
    Rule {
        lhs: side(&rule.lhs),
        rhs: side(&rule.rhs),
        wheres: rule.wheres.iter().map(|(v, pattern)| (variable(*v), side(pattern))).collect(),
        fors: rule.fors.iter().filter_map(|(v, own)| Some((*v, call(own)?))).collect(),
        guards: rule.guards.iter().filter_map(call).collect(),
        news: rule
            .news
            .iter()
            .filter(|new| kept(new))
            .map(|new| New { variable: side(&new.variable), within: variable(new.within) })
            .collect(),
        ..rule.clone()
    }
}

fn variable(v: Var) -> Term {
    let mut term = Term::default();
    term.add(ENodeOrVar::Var(v));
    term
}

/// Returns the only node of a term.
fn leaf(term: &Term) -> Option<ENodeOrVar<Node>> {
    match term.as_ref() {
        [one] => Some(one.clone()),
        _ => None,
    }
}

fn mentions(term: &Term, v: Var) -> bool {
    term.as_ref().contains(&ENodeOrVar::Var(v))
}
