//! Conditions that hold wherever the left side has a meaning: its operators leave no other types, lanes, ranks or
//! addresses. Other conditions may contribute, as the lanes of one operand are those of the other.

use crate::random::{Hole, Types};
use crate::soundness::{left_side, ranks};
use egg::{ENodeOrVar, Language, Var};
use ember_language::rules::{Arg, Call, Rule, Signature, Sort};
use ember_values::primitive::{Typing, Width};
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
            rule.guards.iter().try_for_each(|guard| apply(signature, rule, &mut types, guard))?;
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
fn apply(signature: &Signature, rule: &Rule, types: &mut Types, guard: &Call) -> Option<()> {
    let [Arg::Var(v)] = guard.args.as_slice() else { return Some(()) };
    let (one_lane, integer) = match guard.what.name {
        "scalar" => (true, false),
        "index" | "bounded" => (true, true),
        _ => return Some(()),
    };
    let hole = |types: &Types, v: Var| types.holes.get(&v).cloned();
    // An operator hands on the type and the lanes of an operand.
    let part = |of_lanes: bool| {
        let (_, pattern) = rule.wheres.iter().find(|(own, _)| own == v)?;
        let ENodeOrVar::ENode(node) = pattern.as_ref().last()? else { return None };
        let info = signature.table().of(node)?;
        let at = match (of_lanes, info.typing, info.width) {
            (true, _, Some(Width::Of(at))) | (false, Some(Typing::Of(at)), _) => at,
            _ => return None,
        };
        match &pattern[*node.children().get(at)?] {
            ENodeOrVar::Var(part) => Some(*part),
            ENodeOrVar::ENode(_) => None,
        }
    };
    let own = |of_lanes: bool| if types.holes.contains_key(v) { Some(*v) } else { part(of_lanes) };
    let [wide, typed] = [own(true), own(false)];
    if let Some(Hole { lanes, .. }) = wide.filter(|_| one_lane).and_then(|v| hole(types, v)) {
        types.lanes.set(lanes, 1)?;
    }
    if let Some(Hole { dtype, .. }) = typed.filter(|_| integer).and_then(|v| hole(types, v)) {
        types.dtypes.set(dtype, DType::I64)?;
    }
    Some(())
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
