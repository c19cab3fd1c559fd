//! Conditions that hold wherever the left side has a meaning: its operators leave no other types, lanes, ranks or
//! addresses. Other conditions may contribute, as the lanes of one operand are those of the other.

use crate::random::{Hole, Types};
use crate::soundness::{left_side, ranks};
use ember_language::rules::{Arg, Call, Rule, Signature, Sort};
use ember_values::scalar::DType;

/// Returns true if a condition holds wherever the left side has a meaning and the other conditions of the rule hold.
pub(super) fn is_plain(signature: &Signature, rule: &Rule, condition: &Call) -> bool {
    let typings = typings(signature, rule);
    let holds =
        |types: &Types| holds(types, condition) == Some(true) || is_shared(types, rule, condition);
    !typings.is_empty() && typings.iter().all(holds)
}

/// The requirements of the left side and of the conditions on its variables: one for each choice of what is open.
fn typings(signature: &Signature, rule: &Rule) -> Vec<Types> {
    let (pattern, others, _) = left_side(rule);
    let ranks = ranks(rule);
    let sorts: Vec<Sort> = match rule.sort {
        Some(sort) => vec![sort],
        None => Vec::new(),
    };
    let choices = sorts
        .into_iter()
        .flat_map(|sort| (0..=3).flat_map(move |rank| (1..=3).map(move |open| (sort, rank, open))));
    choices
        .filter_map(|(sort, rank, open)| {
            let mut types = Types::of(signature, &pattern, &others, sort, rank, &ranks, open)?;
            rule.guards.iter().try_for_each(|guard| apply(&mut types, guard))?;
            Some(types)
        })
        .collect()
}

/// Returns true if another value of the same type and lanes satisfies a condition on type and lanes.
fn is_shared(types: &Types, rule: &Rule, condition: &Call) -> bool {
    let hole = |call: &Call| match call.args.as_slice() {
        [Arg::Var(v)] => types.holes.get(v),
        _ => None,
    };
    let Some(own) = hole(condition) else { return false };
    let (typed, wide) = match condition.what.name {
        "float" => (true, false),
        "index" => (true, true),
        "scalar" => (false, true),
        _ => return false,
    };
    let alike = |other: &Hole| {
        (!typed || types.dtypes.are_one(own.dtype, other.dtype))
            && (!wide || types.lanes.are_one(own.lanes, other.lanes))
    };
    let same = rule.guards.iter().filter(|guard| guard.what.name == condition.what.name);
    same.filter_map(hole).any(alike)
}

/// Adds what a condition says of types and lanes. Returns `None` if it never holds.
fn apply(types: &mut Types, guard: &Call) -> Option<()> {
    let [Arg::Var(v)] = guard.args.as_slice() else { return Some(()) };
    let Some(Hole { dtype, lanes, .. }) = types.holes.get(v).cloned() else { return Some(()) };
    match guard.what.name {
        "scalar" => types.lanes.set(lanes, 1),
        "index" | "bounded" => {
            types.lanes.set(lanes, 1)?;
            types.dtypes.set(dtype, DType::I64)
        }
        _ => Some(()),
    }
}

/// Returns true if a condition holds for terms of these types; `None` if it is about something else.
fn holds(types: &Types, condition: &Call) -> Option<bool> {
    let hole = |arg: &Arg| match arg {
        Arg::Var(v) => types.holes.get(v),
        Arg::Int(_) => None,
    };
    let first = hole(condition.args.first()?)?;
    let one_lane = types.lanes.get(first.lanes) == Some(1);
    let dtype = types.dtypes.get(first.dtype);
    Some(match condition.what.name {
        "scalar" => one_lane,
        "index" => one_lane && dtype == Some(DType::I64),
        "float" => dtype.is_some_and(DType::is_float),
        "writable" => first.written,
        "rank" => condition.args.get(1) == Some(&Arg::Int(i64::try_from(first.rank).ok()?)),
        // A step and a number of lanes are literal numbers.
        "reads-only-in" | "constant" => first.step || first.count,
        "not-free" => {
            let within = hole(condition.args.get(1)?)?;
            within.step || within.count
        }
        _ => return None,
    })
}
