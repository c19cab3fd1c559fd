//! Rules in which two loop variables are one, as instances are that violate the condition that they differ. A variable
//! carries the bounds of its loop, so that the bounds are then the same, too.

use super::expanded::{mentions, substituted};
use super::identified;
use super::places::Places;
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{Arg, Call, New, Rule, Signature};
use ember_language::term::{Head, Node};
use ember_values::scalar::Linear;

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

/// Returns true if a rule is as right where two of its variables are one as where they have the same bounds and differ:
/// each term stands within one of them wherever it stands within any, so that another name for that one changes
/// nothing.
pub(super) fn is_renamed(signature: &Signature, rule: &Rule, [x, y]: [Var; 2]) -> bool {
    let mut one = renamed(rule, y, &variable(x));
    let mut two = rule.clone();
    for _ in 0..MOST {
        match equal(signature, &one, x) {
            None => return true,
            Some(None) => break,
            Some(Some((v, term))) => {
                two = renamed(&two, v, &term);
                one = renamed(&one, v, &term);
            }
        }
    }
    let places = Places::of(signature, &two);
    let names = [x, y].map(|v| v.to_string());
    let free = |rule: &Rule, v: Var, term: Var| {
        let stated = |guard: &Call| guard.args == [Arg::Var(v), Arg::Var(term)];
        rule.guards.iter().any(|guard| guard.what.name == "not-free" && stated(guard))
    };
    let mut more: Vec<Call> = Vec::new();
    // The variable that each term may mention, if it is the same wherever the term stands.
    for (term, _) in &rule.variables {
        if [x, y].contains(term) || free(&one, x, *term) {
            continue;
        }
        let Some(inner) = places.innermost(*term, &names) else { return false };
        // Another loop variable differs from both, since any other name for one of them would do, too.
        let conditions = rule.guards.iter().filter(|guard| {
            guard.args.contains(&Arg::Var(*term)) && guard.what.name != "different"
        });
        let other = [y, x][usize::from(inner == Some(1))];
        // Conditions on the variables are about the one that the term may mention.
        if conditions.into_iter().any(|guard| guard.args.contains(&Arg::Var(other))) {
            return false;
        }
        more.extend(not_free(rule, other, *term));
    }
    for (term, _) in rule.variables.iter().filter(|(term, _)| free(&one, x, *term)) {
        more.extend([x, y].into_iter().filter_map(|v| not_free(rule, v, *term)));
    }
    two.guards.extend(more);
    let both = |guard: &&Call| [x, y].iter().all(|v| guard.args.contains(&Arg::Var(*v)));
    !rule.guards.iter().any(|guard| both(&guard) && guard.what.name != "different")
        && identified::are_alike(signature, &one, &two, [&names[1], &names[0]])
}

/// The condition that a term does not mention a variable.
fn not_free(rule: &Rule, v: Var, term: Var) -> Option<Call> {
    let own = rule.guards.iter().find(|guard| guard.what.name == "not-free")?;
    Some(Call { what: own.what, args: vec![Arg::Var(v), Arg::Var(term)] })
}

/// The greatest number of bounds that are made equal.
const MOST: usize = 8;

/// Returns a variable of the rule and the term that it is since all bounds of one loop variable are the same; an inner
/// `None` if there is no other, and `None` if two bounds differ.
#[allow(clippy::option_option, reason = "each absence has its own meaning")]
fn equal(signature: &Signature, rule: &Rule, x: Var) -> Option<Option<(Var, Term)>> {
    if rule.wheres.iter().any(|(v, pattern)| exceeds(signature, rule, *v, pattern)) {
        return None;
    }
    let all = bounds(signature, rule, x);
    let mut equal = Vec::new();
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
                        equal.push((v, b.clone()));
                    }
                    (_, Some(ENodeOrVar::Var(v))) if !mentions(a, v) => {
                        equal.push((v, a.clone()));
                    }
                    _ => {}
                }
            }
        }
    }
    Some(equal.into_iter().next())
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

/// Returns true if a pattern of a variable is the variable itself and a length or a number more, which nothing is.
fn exceeds(signature: &Signature, rule: &Rule, v: Var, pattern: &Term) -> bool {
    let Some(ENodeOrVar::ENode(node)) = pattern.as_ref().last() else { return false };
    let Some(parts) = signature.table().linear(node, Linear::Sum) else { return false };
    let some = |at: Id| match &pattern[at] {
        ENodeOrVar::Var(n) => is_length(rule, *n),
        ENodeOrVar::ENode(node) => matches!(node.head(), Head::Int(n) if n != 0),
    };
    let own = |at: Id| pattern[at] == ENodeOrVar::Var(v);
    own(parts[0]) && some(parts[1]) || own(parts[1]) && some(parts[0])
}

/// Returns true for two numbers that differ.
fn numbers(a: &Node, b: &Node) -> bool {
    matches!((a.head(), b.head()), (Head::Int(a), Head::Int(b)) if a != b)
}

/// Returns true if a variable is a length, which is 2 or more, and a number is not.
fn excludes(rule: &Rule, v: Var, number: &Node) -> bool {
    is_length(rule, v) && matches!(number.head(), Head::Int(n) if n < 2)
}

/// Returns true if a variable is a length, which is 2 or more.
fn is_length(rule: &Rule, v: Var) -> bool {
    rule.fors
        .iter()
        .any(|(n, call)| call.what.name == "length" && (*n == v || call.args == [Arg::Var(v)]))
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
