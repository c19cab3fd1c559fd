//! Conditions on memory that a rule does not state. Its instances violate them on purpose, since a rule that forgot one is
//! wrong in these alone: where a statement writes what a guard, an index or a bound reads.

use super::aim::Aim;
use super::types::{Hole, Types};
use super::world::is_scratch;
use egg::Var;
use ember_language::conditions::{Condition, PREDICATES};
use ember_language::rules::{Arg, Call, Kind, Rule};

/// Returns the conditions on memory that a rule might have forgotten, where its variables have these types.
pub(crate) fn unsaid(rule: &Rule, types: &Types) -> Vec<Aim> {
    let of_kind = |kind: Kind| {
        let fits = move |hole: &Hole| {
            hole.kind == kind && !hole.step && !hole.count && !is_scratch(hole.role)
        };
        types.holes.iter().filter(move |(_, hole)| fits(hole))
    };
    let statements: Vec<Var> = of_kind(Kind::Statement).map(|(v, _)| *v).collect();
    let addresses: Vec<Var> = of_kind(Kind::Address).map(|(v, _)| *v).collect();
    let read = of_kind(Kind::Value).chain(of_kind(Kind::Address)).map(|(v, _)| *v);
    let mut found = Vec::new();
    for x in read {
        let around = statements.iter().map(|s| ("undisturbed", x, *s));
        let stored = addresses.iter().map(|a| ("unread", *a, x));
        found.extend(around.chain(stored).filter(|(name, a, b)| !is_stated(rule, name, *a, *b)));
    }
    let aim = |(name, a, b): (&str, Var, Var)| {
        let what: &Condition = PREDICATES.iter().find(|predicate| predicate.name == name)?;
        Some(Aim::Condition(Call { what, args: vec![Arg::Var(a), Arg::Var(b)] }))
    };
    found.into_iter().filter_map(aim).collect()
}

/// Returns true if a rule states a condition on two terms, or that neither writes what the other touches.
fn is_stated(rule: &Rule, name: &str, a: Var, b: Var) -> bool {
    let [a, b] = [a, b].map(Arg::Var);
    rule.guards.iter().any(|guard| match guard.what.name {
        "independent" => guard.args == [a, b] || guard.args == [b, a],
        own => own == name && guard.args == [a, b],
    })
}
