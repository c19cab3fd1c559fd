//! Mutants of a rule's conditions: each dropped, or replaced by a weaker one.

use super::{Kind, Mutant};
use crate::random::Aim;
use ember_language::conditions::PREDICATES;
use ember_language::rules::{Arg, Call, Rule};
use std::sync::Arc;

/// Weaker predicates over the same arguments.
const WEAKER: [(&str, &str); 6] = [
    ("below", "at-most"),
    ("below-in-loop", "at-most-in-loop"),
    ("bounded", "index"),
    ("independent", "undisturbed"),
    ("runs-once", "runs"),
    ("unread", "unwritten"),
];

/// Returns the mutants of a rule's conditions. Conditions that only guide the search are left alone, since the rule
/// without them is as right as before.
pub(super) fn mutants(rule: &Arc<Rule>) -> Vec<Mutant> {
    let mut found = Vec::new();
    for (at, guard) in rule.guards.iter().enumerate().filter(|(_, guard)| guard.what.is_claim()) {
        let lacking = Aim::Condition(guard.clone());
        let mutant = |kind, change, weaker| Mutant {
            kind,
            change,
            rule: weaker,
            original: Arc::clone(rule),
            lacking: Some(lacking.clone()),
        };
        let mut dropped = Rule::clone(rule);
        dropped.guards.remove(at);
        found.push(mutant(Kind::Dropped, text(guard), dropped));
        for weaker in weaker(guard) {
            let mut weakened = Rule::clone(rule);
            let change = format!("{} -> {}", text(guard), text(&weaker));
            weakened.guards[at] = weaker;
            found.push(mutant(Kind::Weakened, change, weakened));
        }
    }
    for (at, new) in rule.news.iter().enumerate() {
        let mut dropped = Rule::clone(rule);
        dropped.news.remove(at);
        let change = format!("(new {} in {})", new.variable, new.within);
        found.push(Mutant {
            kind: Kind::Dropped,
            change,
            rule: dropped,
            original: Arc::clone(rule),
            lacking: Some(Aim::New(new.clone())),
        });
    }
    found
}

/// Returns conditions that hold wherever another one does, and elsewhere.
fn weaker(guard: &Call) -> Vec<Call> {
    let with = |args: Vec<Arg>| Call { what: guard.what, args };
    let named = WEAKER.iter().filter(|(name, _)| *name == guard.what.name);
    let mut found: Vec<Call> = named
        .filter_map(|(_, other)| PREDICATES.iter().find(|what| what.name == *other))
        .map(|what| Call { what, args: guard.args.clone() })
        .collect();
    match (guard.what.name, guard.args.as_slice()) {
        ("independent", [a, b]) => {
            found.extend(found.first().map(|one| Call { args: vec![*b, *a], ..one.clone() }));
        }
        ("independent-lanes", [v, a, b]) if a != b => {
            found.extend([with(vec![*v, *a, *a]), with(vec![*v, *b, *b])]);
        }
        ("at-most" | "below", [Arg::Int(n), other]) => {
            found.extend(n.checked_sub(1).map(|n| with(vec![Arg::Int(n), *other])));
        }
        _ => {}
    }
    found
}

/// Returns a condition as rule files write it.
pub(super) fn text(call: &Call) -> String {
    let args = call.args.iter().map(|arg| match arg {
        Arg::Var(v) => format!(" {v}"),
        Arg::Int(n) => format!(" {n}"),
    });
    format!("({}{})", call.what.name, args.collect::<String>())
}
