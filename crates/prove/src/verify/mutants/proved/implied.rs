//! Conditions that follow from the others, or from the form of the left side: a loop variable carries its bounds, and
//! no term is a part of itself.

use super::expanded::text;
use super::is_evaluated;
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{Arg, Call, Kind, New, Rule, Signature};
use ember_language::term::{Head, Node};
use ember_values::primitive::form::Form;
use ember_values::scalar::Linear;

/// Conditions, each with one that it follows from. Single letters are arguments.
const FOLLOWS: [(&str, &str); 11] = [
    ("at-most a b", "below a b"),
    ("index x", "bounded x"),
    ("not-free v x", "constant x"),
    ("reads-only-in x", "constant x"),
    ("runs v", "runs-once v"),
    ("scalar x", "index x"),
    ("speculable v x", "constant x"),
    ("speculable v x", "runs v"),
    ("undisturbed a b", "independent a b"),
    ("undisturbed a b", "independent b a"),
    ("unwritten a x", "unread a x"),
];

/// Returns true if a condition follows from the conditions and the left side of a rule.
pub(super) fn follows(signature: &Signature, rule: &Rule, condition: &Call) -> bool {
    let args: Vec<Arg> = condition.args.clone();
    match (condition.what.name, args.as_slice()) {
        ("not-free" | "different", [Arg::Var(v), Arg::Var(x)])
            if carries(signature, rule, *v, *x)
                || condition.what.name == "different"
                    && (carries(signature, rule, *x, *v)
                        || [[*v, *x], [*x, *v]]
                            .into_iter()
                            .any(|[a, b]| counts_from(signature, rule, [a, b], &[]))) =>
        {
            true
        }
        (name, args) if of_generators(rule, name, args) => true,
        ("reads-only-in", [Arg::Var(x)]) if is_composed(signature, rule, *x) => true,
        // What writes nothing disturbs nothing.
        ("independent", [a, b]) if is_pure(signature, rule, *a) => {
            derived(rule, "undisturbed", &[*a, *b], FOLLOWS.len())
        }
        ("independent", [a, b]) if is_pure(signature, rule, *b) => {
            derived(rule, "undisturbed", &[*b, *a], FOLLOWS.len())
        }
        (name, args) => derived(rule, name, args, FOLLOWS.len()),
    }
}

/// Returns true if a generator has answers only where a condition holds: a length is a number, and bounds between which
/// there are always as many iterations are sums of loop variables, sizes and numbers, as are numbers whose distance follows
/// from the ends of loops.
fn of_generators(rule: &Rule, name: &str, args: &[Arg]) -> bool {
    const OF_NUMBERS: [&str; 7] =
        ["bounded", "constant", "index", "not-free", "reads-only-in", "scalar", "speculable"];
    const OF_SUMS: [&str; 6] = ["index", "reads-only-in", "scalar", "total", "unread", "unwritten"];
    const ORDERED: [&str; 2] = ["at-most-in-loop", "below-in-loop"];
    const COUNTED: [&str; 3] = ["few-trips", "half-way", "one-trip"];
    let Some(x) = args.last() else { return false };
    let ordered = |guard: &Call| ORDERED.contains(&guard.what.name) && guard.args.contains(x);
    if OF_SUMS.contains(&name) && rule.guards.iter().any(ordered) {
        return true;
    }
    rule.fors.iter().any(|(n, call)| {
        let is_number = *x == Arg::Var(*n) || call.what.name == "length" && call.args == [*x];
        let is_sum = COUNTED.contains(&call.what.name) && call.args[..2].contains(x);
        is_number && OF_NUMBERS.contains(&name) || is_sum && OF_SUMS.contains(&name)
    })
}

/// Returns true if a value is an arithmetic pattern of constants and of values that only read what nothing writes.
fn is_composed(signature: &Signature, rule: &Rule, x: Var) -> bool {
    let is_constant = |v: Var| {
        let divides =
            |guard: &Call| guard.what.name == "divides" && guard.args.contains(&Arg::Var(v));
        rule.guards.iter().any(divides)
    };
    let fits = |node: &ENodeOrVar<Node>| match node {
        ENodeOrVar::Var(v) => {
            is_constant(*v)
                || *v != x && derived(rule, "reads-only-in", &[Arg::Var(*v)], FOLLOWS.len())
        }
        ENodeOrVar::ENode(node) => {
            matches!(node.head(), Head::Int(_))
                || matches!(signature.table().form(node), Some(Form::Binary(..)))
        }
    };
    rule.wheres.iter().any(|(v, pattern)| *v == x && pattern.as_ref().iter().all(fits))
}

/// Returns true if evaluating terms of a variable writes nothing.
fn is_pure(signature: &Signature, rule: &Rule, x: Arg) -> bool {
    match x {
        Arg::Var(x) => is_evaluated(signature, rule, x),
        Arg::Int(_) => true,
    }
}

/// Returns true if a made variable is new in a term because it is made from that: a term is no part of itself. So is a
/// variable that a bound of a part depends on.
pub(super) fn is_new(signature: &Signature, rule: &Rule, new: &New) -> bool {
    let last = Id::from(new.variable.len().saturating_sub(1));
    let parts = direct(signature, &new.variable, last);
    parts.iter().any(|part| {
        *part == new.within
            || carries(signature, rule, *part, new.within)
            || depends(signature, rule, *part, new.within)
            || counts_from(signature, rule, [*part, new.within], &parts)
    }) || is_rest(signature, rule, new)
        || starts_within(signature, new)
}

/// Returns true if a made variable counts from another one that is made from a term, or from a number more, to where that
/// one ends. The first one is then made from the term, too, unless the other one has a single value. It has then at most
/// one itself; which it has under any name and everywhere.
fn starts_within(signature: &Signature, new: &New) -> bool {
    let operators = signature.table();
    let side = &new.variable;
    let node = |at: Id| match &side[at] {
        ENodeOrVar::ENode(node) => Some(node),
        ENodeOrVar::Var(_) => None,
    };
    let last = side.len().checked_sub(1).map(Id::from);
    let Some([_, lo, hi, _]) = last.and_then(|last| operators.variable(node(last)?)) else {
        return false;
    };
    let is_number =
        |at: Id| node(at).is_some_and(|node| matches!(node.head(), Head::Int(n) if n >= 0));
    let from = match node(lo).and_then(|node| operators.linear(node, Linear::Sum)) {
        Some([from, more]) if is_number(more) => from,
        _ => lo,
    };
    let other = node(from).and_then(|node| operators.iv(node));
    let bounds = other.and_then(|other| Some((other, operators.variable(node(other)?)?)));
    bounds.is_some_and(|(other, [_, _, end, step])| {
        text(side, end) == text(side, hi)
            && node(step).is_some_and(|node| node.head() == Head::Int(1))
            && direct(signature, side, other).contains(&new.within)
    })
}

/// Returns true if a bound of the loop over a variable is another loop variable, or that and a number or a term that does
/// not depend on it. The first one is then made from the second, unless that has a single value; which it has under any
/// name and everywhere. `parts` are terms that are parts of the second one, and so do not depend on it.
fn counts_from(
    signature: &Signature,
    rule: &Rule,
    [variable, other]: [Var; 2],
    parts: &[Var],
) -> bool {
    let operators = signature.table();
    let side = &rule.lhs;
    let node = |at: Id| match &side[at] {
        ENodeOrVar::ENode(node) => Some(node),
        ENodeOrVar::Var(_) => None,
    };
    let is_other = |at: Id| {
        let variable = node(at).and_then(|node| operators.iv(node));
        variable.is_some_and(|v| side[v] == ENodeOrVar::Var(other))
    };
    let is_free = |x: Var| {
        let own = [Arg::Var(other), Arg::Var(x)];
        let is_asked = |guard: &Call| guard.what.name == "not-free" && guard.args == own;
        parts.contains(&x) || rule.guards.iter().any(is_asked)
    };
    let is_number = |at: Id| match &side[at] {
        ENodeOrVar::ENode(node) => matches!(node.head(), Head::Int(_)),
        ENodeOrVar::Var(x) => is_free(*x),
    };
    let is_moved = |at: Id| {
        let effects = [Linear::Sum, Linear::Difference].into_iter();
        let mut parts = effects.filter_map(|effect| operators.linear(node(at)?, effect));
        is_other(at)
            || parts.any(|[a, b]| is_other(a) && is_number(b) || is_number(a) && is_other(b))
    };
    side.as_ref().iter().any(|node| {
        let ENodeOrVar::ENode(node) = node else { return false };
        let own = operators.looped(node).filter(|own| own.access.is_none());
        let own = own.filter(|own| side[own.variable] == ENodeOrVar::Var(variable));
        own.is_some_and(|own| is_moved(own.lo) || is_moved(own.hi))
    })
}

/// Returns true if a term is what remains of a bound of a made variable without terms in which that is known to be new:
/// the bound is no part of itself, nor then is the value of what remains.
fn is_rest(signature: &Signature, rule: &Rule, new: &New) -> bool {
    let side = &new.variable;
    let Some(ENodeOrVar::ENode(made)) = side.as_ref().last() else { return false };
    let own = side.to_string();
    let known = |x: Var| {
        rule.news.iter().any(|other| other.within == x && other.variable.to_string() == own)
    };
    let bounds = signature.table().variable(made);
    let bounds = bounds.into_iter().flat_map(|[_, lo, hi, _]| [lo, hi]);
    bounds.into_iter().any(|at| has_rest(signature, side, at, new.within, &known))
}

/// Returns true if a sum or a difference has a term once, beside numbers and terms of which something is known.
fn has_rest(
    signature: &Signature,
    side: &PatternAst<Node>,
    at: Id,
    x: Var,
    known: &impl Fn(Var) -> bool,
) -> bool {
    let ENodeOrVar::ENode(node) = &side[at] else { return side[at] == ENodeOrVar::Var(x) };
    let both = [Linear::Sum, Linear::Difference]
        .into_iter()
        .find_map(|effect| signature.table().linear(node, effect));
    let Some([a, b]) = both else { return false };
    let is_known = |at: Id| {
        let part = side[at].build_recexpr(|id| side[id].clone());
        part.as_ref().iter().all(|node: &ENodeOrVar<Node>| match node {
            ENodeOrVar::Var(v) => *v != x && known(*v),
            ENodeOrVar::ENode(node) => {
                let linear = |effect| signature.table().linear(node, effect).is_some();
                matches!(node.head(), Head::Int(_))
                    || linear(Linear::Sum)
                    || linear(Linear::Difference)
            }
        })
    };
    has_rest(signature, side, a, x, known) && is_known(b)
        || has_rest(signature, side, b, x, known) && is_known(a)
}

/// Returns true if a bound of a loop variable is known to depend on another variable.
fn depends(signature: &Signature, rule: &Rule, variable: Var, other: Var) -> bool {
    rule.guards.iter().any(|guard| match guard.args.as_slice() {
        [Arg::Var(x), Arg::Var(bound)] => {
            guard.what.name == "may-be-free"
                && *x == other
                && carries(signature, rule, variable, *bound)
        }
        _ => false,
    })
}

/// Returns true if a condition is one of a rule's or follows from them by at most so many steps.
fn derived(rule: &Rule, name: &str, args: &[Arg], steps: usize) -> bool {
    let stated = rule.guards.iter().any(|guard| {
        guard.what.name == name && (guard.args == args || is_stricter(name, &guard.args, args))
    });
    let Some(steps) = steps.checked_sub(1).filter(|_| !stated) else { return stated };
    FOLLOWS.iter().any(|(conclusion, premise)| {
        let (mut words, mut premise) = (conclusion.split(' '), premise.split(' '));
        if words.next() != Some(name) {
            return false;
        }
        let known: Vec<(&str, Arg)> = words.zip(args.iter().copied()).collect();
        let Some(name) = premise.next() else { return false };
        let of = |word: &str| known.iter().find(|(own, _)| *own == word).map(|(_, arg)| *arg);
        let args: Option<Vec<Arg>> = premise.map(of).collect();
        args.is_some_and(|args| derived(rule, name, &args, steps))
    })
}

/// Returns true if a comparison with a number follows from one with another number.
fn is_stricter(name: &str, stated: &[Arg], wanted: &[Arg]) -> bool {
    match (name, stated, wanted) {
        ("at-most" | "below", [Arg::Int(m), x], [Arg::Int(n), y]) => m >= n && x == y,
        ("at-most" | "below", [x, Arg::Int(m)], [y, Arg::Int(n)]) => m <= n && x == y,
        _ => false,
    }
}

/// Returns true if a loop variable of the left side has a term as a bound or step, or its name is made from it.
fn carries(signature: &Signature, rule: &Rule, variable: Var, part: Var) -> bool {
    let operators = signature.table();
    let sides = std::iter::once(&rule.lhs).chain(rule.wheres.iter().map(|(_, side)| side));
    let mut parts: Vec<Var> = sides
        .flat_map(|side| {
            let loops = side.into_iter().filter_map(|node| match node {
                ENodeOrVar::ENode(node) => operators.looped(node),
                ENodeOrVar::Var(_) => None,
            });
            let own = loops.filter(|own| side[own.variable] == ENodeOrVar::Var(variable));
            let bounds = own.flat_map(|own| [own.lo, own.hi, own.step]);
            bounds.filter_map(|at| named(side, at)).collect::<Vec<Var>>()
        })
        .collect();
    for (x, side) in rule.wheres.iter().filter(|(x, _)| *x == variable) {
        let last = Id::from(side.len().saturating_sub(1));
        parts.extend(direct(signature, side, last).into_iter().filter(|part| part != x));
    }
    parts.contains(&part)
}

fn named(side: &PatternAst<Node>, at: Id) -> Option<Var> {
    match &side[at] {
        ENodeOrVar::Var(v) => Some(*v),
        ENodeOrVar::ENode(_) => None,
    }
}

/// Returns the variables that a loop variable is made from directly. Below other operators they do not count: their
/// terms may be equal to terms without them.
pub(super) fn direct(signature: &Signature, side: &PatternAst<Node>, root: Id) -> Vec<Var> {
    let makes = |node: &Node| {
        let info = signature.table().of(node);
        info.is_some_and(|info| info.makes_variable || info.kind == Some(Kind::Label))
    };
    let (mut open, mut found) = (vec![root], Vec::new());
    while let Some(at) = open.pop() {
        match &side[at] {
            ENodeOrVar::Var(v) => found.push(*v),
            ENodeOrVar::ENode(node) if makes(node) => open.extend(node.children()),
            ENodeOrVar::ENode(_) => {}
        }
    }
    found
}
