//! Evaluates a rule's conditions on each match.

use egg::{Id, Var};
use ember_analysis::facts::{EGraph, Facts};
use ember_engine::Knowledge;
use ember_engine::saturate::are_new;
use ember_engine::{CompiledRule, New, Step};
use ember_language::rules::{Arg, Rule};
use ember_language::term::{Head, Node};
use std::collections::BTreeMap;

/// The limit on the matches that are evaluated.
const MOST: usize = 20_000;

/// The reason why a match is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Refusal {
    /// The `:when` with this index is false.
    When(usize),
    /// The `:for` with this index has no value.
    For(usize),
    /// The loop variable with this place that the right side makes is not new.
    New(usize),
    /// A number cannot be computed.
    Number,
    /// None: the rule applies.
    None,
}

/// A match and its refusal.
#[derive(Clone, Debug)]
pub(super) struct Match {
    pub root: Id,
    pub bound: BTreeMap<Var, Id>,
    pub refusal: Refusal,
}

/// Returns the matches of a rule in an e-graph, each with its present refusal.
pub(super) fn matches(egraph: &EGraph, rule: &Rule, compiled: &CompiledRule) -> Vec<Match> {
    let mut rows: Vec<Vec<Id>> = Vec::new();
    compiled.search(
        egraph,
        compiled.roots(egraph),
        |_| 0,
        |row| {
            rows.push(row.to_vec());
            rows.len() < MOST
        },
    );
    let judge = |row: Vec<Id>| {
        let slots = row[1..].iter().map(|id| egraph.find(*id));
        let bound: BTreeMap<Var, Id> = compiled.variables.iter().copied().zip(slots).collect();
        let refusal = judge(egraph, rule, compiled, &bound);
        Match { root: row[0], bound, refusal }
    };
    rows.into_iter().map(judge).collect()
}

/// Returns the classes of a call's arguments; `None` if one does not exist (yet).
pub(super) fn arguments(
    egraph: &EGraph,
    args: &[Arg],
    bound: &BTreeMap<Var, Id>,
) -> Option<Vec<Id>> {
    let class = |arg: &Arg| match arg {
        Arg::Var(variable) => bound.get(variable).map(|id| egraph.find(*id)),
        Arg::Int(n) => egraph.lookup(Node::int(*n)),
    };
    args.iter().map(class).collect()
}

fn judge(
    egraph: &EGraph,
    rule: &Rule,
    compiled: &CompiledRule,
    bound: &BTreeMap<Var, Id>,
) -> Refusal {
    let ranged: Vec<Var> = rule.fors.iter().map(|(x, _)| *x).collect();
    let needs = |args: &[Arg]| args.iter().any(|a| matches!(a, Arg::Var(v) if ranged.contains(v)));
    for (at, guard) in rule.guards.iter().enumerate().filter(|(_, guard)| !needs(&guard.args)) {
        let holds = arguments(egraph, &guard.args, bound)
            .is_some_and(|args| Facts::holds(egraph, guard.what.index(), &args));
        if !holds {
            return Refusal::When(at);
        }
    }
    range(egraph, rule, compiled, bound, 0, &needs)
}

/// Returns the best outcome for the values of the `:for`s from one on.
fn range(
    egraph: &EGraph,
    rule: &Rule,
    compiled: &CompiledRule,
    bound: &BTreeMap<Var, Id>,
    at: usize,
    needs: &dyn Fn(&[Arg]) -> bool,
) -> Refusal {
    let Some((x, call)) = rule.fors.get(at) else {
        for (at, guard) in rule.guards.iter().enumerate().filter(|(_, guard)| needs(&guard.args)) {
            let holds = arguments(egraph, &guard.args, bound)
                .is_some_and(|args| Facts::holds(egraph, guard.what.index(), &args));
            if !holds {
                return Refusal::When(at);
            }
        }
        if let Some(at) = compiled.news.iter().position(|new| !new_in(egraph, new, compiled, bound))
        {
            return Refusal::New(at);
        }
        let exists = !compiled.computes || computable(egraph, compiled, bound);
        return if exists { Refusal::None } else { Refusal::Number };
    };
    let values = arguments(egraph, &call.args, bound)
        .map(|args| Facts::values(egraph, call.what.index(), &args));
    let values = values.unwrap_or_default();
    let tried = values.iter().filter_map(|value| {
        let mut bound = bound.clone();
        // A number that was never tried is not in the e-graph, because a limit stopped the rule first.
        bound.insert(*x, egraph.lookup(Node::int(*value))?);
        Some(range(egraph, rule, compiled, &bound, at + 1, needs))
    });
    tried.max().unwrap_or(if values.is_empty() { Refusal::For(at) } else { Refusal::None })
}

/// Returns true if a loop variable that the right side makes is new.
fn new_in(egraph: &EGraph, new: &New, compiled: &CompiledRule, bound: &BTreeMap<Var, Id>) -> bool {
    let slots = compiled.variables.iter().map(|v| bound.get(v).copied());
    let slots: Option<Vec<Id>> = slots.collect();
    slots.is_none_or(|slots| are_new(egraph, std::slice::from_ref(new), &slots))
}

/// Returns true if every number that the right side computes exists.
fn computable(egraph: &EGraph, compiled: &CompiledRule, bound: &BTreeMap<Var, Id>) -> bool {
    let mut known: Vec<Option<i64>> = Vec::with_capacity(compiled.plan.len());
    for step in &compiled.plan {
        let value = match step {
            Step::Slot(slot) => {
                let class = compiled.variables.get(*slot).and_then(|v| bound.get(v));
                class.and_then(|id| egraph[*id].data.integer())
            }
            Step::Node(node) => match node.head() {
                Head::Int(n) => Some(n),
                Head::Op(_) | Head::Real(_) => None,
            },
            Step::Compute(op, a, b) => {
                let both = known[*a].zip(known[*b]);
                match both.and_then(|(a, b)| ember_engine::saturate::compute(*op, a, b)) {
                    Some(n) => Some(n),
                    None => return false,
                }
            }
        };
        known.push(value);
    }
    true
}
