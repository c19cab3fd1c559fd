//! Mutants that a solver proves or disproves: those that lack a condition about integers, and right sides that are equal
//! to the rule's.

use super::super::super::integers::{Arithmetic, Integers, ORDER_FREE, check};
use super::merged::merged;
use super::places::Places;
use super::{Mutant, Solver, identified};
use crate::random::Aim;
use egg::Var;
use ember_language::rules::{Arg, Call, Exactness, Rule, Signature};

/// Conditions about integers alone.
const OF_INTEGERS: [&str; 4] = ["at-most", "below", "divides", "runs-once"];

/// The answer of a solver about a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Solved {
    /// It is as right as its rule.
    Right,
    /// It is wrong.
    Wrong,
}

/// Returns true if a condition says that nothing writes what a term reads.
fn is_fixed(rule: &Rule, x: Var) -> bool {
    let stated = |guard: &Call| guard.args == [Arg::Var(x)];
    rule.guards
        .iter()
        .any(|guard| ["reads-only-in", "constant"].contains(&guard.what.name) && stated(guard))
}

/// Asks a solver whether a mutant is right; `None` if it cannot tell.
pub(in super::super) fn solve(
    signature: &Signature,
    mutant: &Mutant,
    solver: Option<&dyn Solver>,
) -> Option<Solved> {
    let Mutant { rule, original, lacking, .. } = mutant;
    let ask = |rule: &Rule, arithmetic| check(signature, rule, solver, arithmetic);
    // What holds of unbounded integers only is wrong where they wrap.
    let holds = |rule: &Rule| {
        [Arithmetic::Unbounded, Arithmetic::Wrapping]
            .into_iter()
            .all(|arithmetic| matches!(ask(rule, arithmetic), Integers::Proved { .. }))
    };
    let unbounded = ask(rule, Arithmetic::Unbounded);
    if let Integers::Refuted { .. } = unbounded {
        return Some(Solved::Wrong);
    }
    let right = match lacking {
        Some(Aim::Condition(call)) => match (call.what.name, call.args.as_slice()) {
            ("bounded", _) => match ask(rule, Arithmetic::Wrapping) {
                Integers::Proved { .. } => true,
                // The rule itself must hold there.
                Integers::Refuted { .. } => {
                    let original = ask(original, Arithmetic::Wrapping);
                    let holds = !matches!(original, Integers::Refuted { .. });
                    return holds.then_some(Solved::Wrong);
                }
                _ => false,
            },
            (name, _) if OF_INTEGERS.contains(&name) => {
                let proved = |answer| matches!(answer, Integers::Proved { .. });
                proved(unbounded) && proved(ask(rule, Arithmetic::Wrapping))
            }
            // A bound that may be another in each iteration of a loop around it, wherever it is evaluated.
            ("not-free", [Arg::Var(v), Arg::Var(x)])
                if is_fixed(rule, *x)
                    && Places::of(signature, rule).is_within(&v.to_string(), *x)
                    && identified::carries_all(signature, rule) =>
            {
                let proved = |answer| matches!(answer, Integers::Proved { .. });
                proved(unbounded) && proved(ask(rule, Arithmetic::Wrapping))
            }
            ("different", [Arg::Var(x), Arg::Var(y)]) => merged(signature, rule, [*x, *y])
                .is_some_and(|one| identified::carries_all(signature, &one) && holds(&one)),
            _ => false,
        },
        Some(Aim::New(_)) => false,
        None => {
            // What makes an order immaterial between the sides of the rule need not do so between right sides.
            let mut sides = Rule { lhs: original.rhs.clone(), ..Rule::clone(rule) };
            sides.guards.retain(|guard| !ORDER_FREE.contains(&guard.what.name));
            // Numbers that may be rounded are no integers.
            rule.exact == Exactness::Bitwise
                && identified::carries_all(signature, rule)
                && holds(&sides)
        }
    };
    right.then_some(Solved::Right)
}
