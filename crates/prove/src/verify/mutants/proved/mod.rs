//! Mutants that are as right as their rules: no term has a meaning and violates the condition ([`plain`]), the condition
//! follows from what remains ([`implied`]), it is about what both sides do at the same time or in the same environment
//! ([`places`]), both sides or both right sides say the same ([`identified`]), or a solver proves what the condition is
//! about ([`solved`]).

mod asked;
mod expanded;
mod identified;
mod implied;
mod merged;
mod places;
mod plain;
mod scopes;
mod single;
mod solved;
mod unmentioned;

use super::super::solver::Solver;
use super::Mutant;
use crate::random::Aim;
use egg::{ENodeOrVar, Id, PatternAst, Var};
use ember_language::rules::{Arg, Kind, Rule, Signature, SortTerm, Unit};
use ember_language::term::Node;
use ember_values::primitive::form::{Form, Operation};
use ember_values::scalar::Linear;
use expanded::expanded;
use places::Places;
use schemars::JsonSchema;
use serde::Serialize;
pub(super) use solved::{Solved, solve};

/// The reason why a mutant is as right as its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// No term of the left side that has a meaning violates the condition.
    Plain,
    /// The condition follows from the others, or from the form of the left side.
    Implied,
    /// Both sides evaluate the term only before they write anything.
    Early,
    /// The variable has one value, in its loop and outside of it.
    Single,
    /// The term stands outside of all that binds the variable, which may have any other name.
    Apart,
    /// No loop has both variables, whose bounds differ.
    Bounds,
    /// The term has no meaning where the condition does not hold, and both sides mention it.
    Meaningless,
    /// The right side is the rule's with other names, or both sides are the same with other names.
    Identified,
    /// The solver proves it.
    Solver,
}

/// Returns the reason why a mutant is right if its rule is, as far as that follows from the texts alone.
pub(super) fn reason(signature: &Signature, mutant: &Mutant) -> Option<Reason> {
    let Mutant { rule, original, lacking, .. } = mutant;
    match lacking {
        // Names are all that is compared, and different ones are of different variables; the bounds that a value must lie
        // between, which may be written, are not, nor is the unit that reads what may be written.
        Some(aim) => of_condition(signature, rule, aim).or_else(|| {
            let apart = aim.is_of_memory()
                || is_of_names(signature, rule, aim)
                || is_of_unit(signature, rule, aim);
            let same = match aim {
                Aim::New(new) if apart => {
                    let made = expanded(signature, rule, &new.variable).to_string();
                    identified::says_nothing_without(signature, rule, &made)
                }
                _ => !apart && identified::says_nothing(signature, rule),
            };
            same.then_some(Reason::Identified)
        }),
        None => {
            let same = identified::say_the_same(signature, original, rule)
                || identified::says_nothing(signature, rule);
            let same = same && scopes::are_kept(signature, original, rule);
            same.then_some(Reason::Identified)
        }
    }
}

/// Returns true if a condition keeps two loop variables apart.
fn is_of_names(signature: &Signature, rule: &Rule, aim: &Aim) -> bool {
    match aim {
        Aim::Condition(call) => call.what.name == "different",
        Aim::New(new) => is_variable(signature, rule, new.within),
    }
}

/// Returns true for a variable of a rule that is a loop's.
fn is_variable(signature: &Signature, rule: &Rule, v: Var) -> bool {
    let sort = rule.variables.iter().find(|(own, _)| *own == v).and_then(|(_, sort)| *sort);
    let kind = sort.and_then(|sort| signature.sort(sort.name())?.kind);
    kind == Some(Kind::Variable)
}

/// Returns true if a condition says that nothing writes what the access unit reads.
fn is_of_unit(signature: &Signature, rule: &Rule, aim: &Aim) -> bool {
    let is_streamed = |node: &ENodeOrVar<Node>| match node {
        ENodeOrVar::ENode(node) => match signature.operator_of(node).map(|own| own.result) {
            Some(SortTerm::Is(sort)) => {
                signature.sort(sort.name()).is_some_and(|sort| sort.unit == Some(Unit::Access))
            }
            Some(SortTerm::Any(_)) | None => false,
        },
        ENodeOrVar::Var(_) => false,
    };
    let of_access = matches!(aim, Aim::Condition(call) if call.what.name == "read-only");
    let sides = [&rule.lhs, &rule.rhs];
    of_access && sides.into_iter().any(|side| side.as_ref().iter().any(is_streamed))
}

fn of_condition(signature: &Signature, rule: &Rule, aim: &Aim) -> Option<Reason> {
    let call = match aim {
        Aim::New(new) if implied::is_new(signature, rule, new) => return Some(Reason::Implied),
        Aim::New(new) => {
            let apart = Places::of(signature, rule).is_apart(&new.variable.to_string(), new.within)
                || unmentioned::is_unmentioned(signature, rule, new);
            return apart.then_some(Reason::Apart);
        }
        Aim::Condition(call) => call,
    };
    if plain::is_plain(signature, rule, call) {
        return Some(Reason::Plain);
    }
    if implied::follows(signature, rule, call) {
        return Some(Reason::Implied);
    }
    let places = || Places::of(signature, rule);
    match (call.what.name, call.args.as_slice()) {
        ("reads-only-in", [Arg::Var(x)])
        | ("unread" | "unwritten", [_, Arg::Var(x)])
        | ("undisturbed", [Arg::Var(x), _])
            if is_evaluated(signature, rule, *x) && places().is_early(*x) =>
        {
            Some(Reason::Early)
        }
        ("read-only", _) if places().writes_nothing() => Some(Reason::Early),
        ("may-run", [Arg::Var(x)]) if places().is_free(*x) => Some(Reason::Meaningless),
        ("at-most", [Arg::Int(1), Arg::Var(x)])
            if is_at_least(rule, *x, 0)
                && [&rule.lhs, &rule.rhs].iter().all(|side| divides(signature, rule, side, *x)) =>
        {
            // Terms without a meaning may be one, but not one with another term.
            Some(Reason::Meaningless)
        }
        ("not-free", [Arg::Var(v), Arg::Var(x)]) if places().is_apart(&v.to_string(), *x) => {
            Some(Reason::Apart)
        }
        ("not-free", [Arg::Var(v), _])
            if runs_once(rule, *v) || single::has_one_value(signature, rule, *v) =>
        {
            Some(Reason::Single)
        }
        ("different", [Arg::Var(x), Arg::Var(y)]) => {
            match merged::merged(signature, rule, [*x, *y]) {
                None => Some(Reason::Bounds),
                Some(one) => {
                    let same = identified::says_nothing(signature, &one)
                        || merged::is_renamed(signature, rule, [*x, *y]);
                    same.then_some(Reason::Identified)
                }
            }
        }
        _ => None,
    }
}

/// Returns true if a condition says that the loop over a variable runs once.
fn runs_once(rule: &Rule, v: Var) -> bool {
    rule.guards.iter().any(|guard| guard.what.name == "runs-once" && guard.args == [Arg::Var(v)])
}

/// Returns true if a condition says that a value is at least a number.
fn is_at_least(rule: &Rule, x: Var, n: i64) -> bool {
    let args = [Arg::Int(n), Arg::Var(x)];
    rule.guards.iter().any(|guard| guard.what.name == "at-most" && guard.args == args)
}

/// Returns true if a side is arithmetic in which something is divided by a value or by a product with it, so that the side
/// has no meaning where the value is 0.
fn divides(signature: &Signature, rule: &Rule, side: &PatternAst<Node>, x: Var) -> bool {
    let side = expanded(signature, rule, side);
    let binary = |at: Id| match &side[at] {
        ENodeOrVar::ENode(node) => match signature.table().form(node)? {
            Form::Binary(Operation::Is(op), operands) => Some((op, operands)),
            _ => None,
        },
        ENodeOrVar::Var(_) => None,
    };
    let is_multiple = |at: Id| {
        let mut open = vec![at];
        while let Some(at) = open.pop() {
            if side[at] == ENodeOrVar::Var(x) {
                return true;
            }
            open.extend(
                binary(at)
                    .filter(|(op, _)| op.linear() == Some(Linear::Product))
                    .into_iter()
                    .flat_map(|(_, parts)| parts),
            );
        }
        false
    };
    let mut open: Vec<Id> = side.len().checked_sub(1).map(Id::from).into_iter().collect();
    while let Some(at) = open.pop() {
        let Some((op, operands)) = binary(at) else { continue };
        let fails_at_0 = op.checked(1, 0).is_none() && op.checked(1, 1).is_some();
        if fails_at_0 && is_multiple(operands[1]) {
            return true;
        }
        open.extend(operands);
    }
    false
}

/// Returns true if terms of a variable are values or addresses, whose evaluation yields a number or a place.
fn is_evaluated(signature: &Signature, rule: &Rule, x: Var) -> bool {
    let sort = rule.variables.iter().find(|(v, _)| *v == x).and_then(|(_, sort)| *sort);
    let kind = sort.and_then(|sort| signature.sort(sort.name())?.kind);
    matches!(kind, Some(Kind::Value | Kind::Address))
}
