//! Applies a rule to an instance in an e-graph with real facts.

use super::instance::Instance;
use egg::{Id, Var};
use ember_analysis::facts::{EGraph, Facts, VectorUnit};
use ember_engine::CompiledRule;
use ember_engine::Knowledge;
use ember_engine::saturate::{Limits, StopReason, saturate};
use ember_language::rules::{Arg, Call, Exactness, Rule};
use ember_language::term::Node;
use ember_values::scalar::DType;
use std::collections::BTreeMap;

/// The limits on one application of one rule.
const LIMITS: Limits = Limits { iterations: 1, nodes: 100_000 };

/// The outcome of applying a rule.
pub(super) enum Applied {
    /// The right sides that the rule made equal to the left side; empty if its conditions do not hold.
    Equal(Vec<Id>),
    /// Two different constants became equal.
    Contradiction(String),
    /// A loop's variable carries other bounds than the loop has, so that facts speak of another loop.
    OtherLoop(String),
}

/// Creates an e-graph with the facts of an instance's world.
pub(super) fn egraph(instance: &Instance, exact: Exactness) -> EGraph {
    let Instance { world, operators, .. } = instance;
    let unit = VectorUnit { simd_bytes: world.simd_bytes, registers: 32 };
    let tensors = world.tensors(&instance.tensors());
    let facts = Facts::new(&tensors, world.sizes(), operators.clone(), unit);
    let rising = world.rising();
    EGraph::new(facts.rising(rising.as_deref().into_iter()).telling_rows().rounding(exact))
}

/// Adds an instance to an e-graph and applies this rule alone, once.
pub(super) fn apply(rule: &Rule, compiled: &CompiledRule, instance: &mut Instance) -> Applied {
    let mut egraph = egraph(instance, rule.exact);
    let root = egraph.add_expr(&instance.terms.part(instance.lhs));
    for other in &instance.others {
        egraph.add_expr(&instance.terms.part(*other));
    }
    egraph.rebuild();
    decide(rule, instance, &mut egraph);

    let mut numbers = vec![BTreeMap::new()];
    for (v, call) in &rule.fors {
        numbers = numbers
            .into_iter()
            .flat_map(|known| values(&mut egraph, instance, call, *v, known))
            .collect();
    }
    let mut sides = Vec::new();
    for numbers in numbers {
        let Some(side) = instance.substitute(&rule.rhs, &numbers) else { continue };
        let term = instance.terms.part(side);
        // An equality that facts establish without the rule does not test the rule.
        if egraph.lookup_expr(&term).map(|id| egraph.find(id)) != Some(egraph.find(root)) {
            sides.push((side, term, numbers));
        }
    }
    if sides.is_empty() {
        return Applied::Equal(Vec::new());
    }
    let run = saturate(&mut egraph, &[compiled], &LIMITS);
    if let StopReason::Contradiction { .. } = run.stop {
        return Applied::Contradiction(run.stop.to_string());
    }
    let root = egraph.find(root);
    let equal = |(_, term, _): &(Id, _, _)| {
        let class = egraph.lookup_expr(term);
        class.map(|id| egraph.find(id)) == Some(root)
    };
    sides.retain(equal);
    for (_, term, numbers) in &sides {
        let loops = instance.loops(&rule.rhs, numbers);
        let class = |id: &Id| {
            let class = egraph.lookup_expr(&instance.terms.part(*id))?;
            Some(egraph.find(class))
        };
        for (own, carried) in loops {
            let differ =
                |(own, carried): (&Id, &Id)| own != carried && class(own) != class(carried);
            if own.iter().zip(&carried).any(differ) {
                return Applied::OtherLoop(term.to_string());
            }
        }
    }
    Applied::Equal(sides.into_iter().map(|(side, ..)| side).collect())
}

/// Makes each pattern whose range leaves one number equal to that, as other rules may do. Conditions on the pattern then say
/// less of its parts.
fn decide(rule: &Rule, instance: &Instance, egraph: &mut EGraph) {
    for (x, _) in &rule.wheres {
        let term = instance.holes.get(x).map(|id| instance.terms.part(*id));
        let Some(class) = term.and_then(|term| egraph.lookup_expr(&term)) else { continue };
        let fact = &egraph[class].data;
        let is_index = fact.dtype == Some(DType::I64) && fact.lanes == Some(1);
        if is_index && fact.range.min == fact.range.max {
            let number = egraph.add(Node::int(fact.range.min));
            egraph.union(class, number);
        }
    }
    egraph.rebuild();
}

/// Extends an assignment of numbers by each value of one more variable.
fn values(
    egraph: &mut EGraph,
    instance: &Instance,
    call: &Call,
    v: Var,
    known: BTreeMap<Var, i64>,
) -> Vec<BTreeMap<Var, i64>> {
    let mut classes: Vec<Id> = Vec::new();
    for arg in &call.args {
        let class = match arg {
            Arg::Int(n) => Some(egraph.add(Node::int(*n))),
            Arg::Var(v) => match (known.get(v), instance.holes.get(v)) {
                (Some(n), _) => Some(egraph.add(Node::int(*n))),
                (None, Some(id)) => egraph.lookup_expr(&instance.terms.part(*id)),
                (None, None) => None,
            },
        };
        let Some(class) = class else { return Vec::new() };
        classes.push(egraph.find(class));
    }
    let with = |n: i64| {
        let mut known = known.clone();
        known.insert(v, n);
        known
    };
    Facts::values(egraph, call.what.index(), &classes).into_iter().map(with).collect()
}
