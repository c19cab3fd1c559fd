//! Tests that every class of a saturated e-graph has one sort, whichever rules ran.

use crate::common::inputs;
use egg::Id;
use ember_analysis::facts::{EGraph, Facts, VectorUnit};
use ember_compile::pipeline::Inputs;
use ember_engine::saturate::{Limits, saturate};
use ember_language::rules::{Schedule, ScheduleStep, Sort};
use ember_language::term::Node;
use std::collections::BTreeMap;

/// Returns the sort of each class. Panics if two nodes of a class disagree, or if a node is not well-sorted.
fn sorts(inputs: &Inputs, egraph: &EGraph, what: &str) -> BTreeMap<Id, Sort> {
    let signature = &inputs.book.signature;
    let mut sorts: BTreeMap<Id, Sort> = BTreeMap::new();
    // Classes may be cyclic, so sorts spread from the leaves until none is added.
    loop {
        let before = sorts.len();
        for class in egraph.classes() {
            for node in &class.nodes {
                let found = signature.node_sort(node, |id| sorts.get(&egraph.find(id)).copied());
                let Some(found) = found else { continue };
                let known = *sorts.entry(class.id).or_insert(found);
                assert_eq!(known, found, "{what}: a class holds {:?}", class.nodes);
            }
        }
        if sorts.len() == before {
            break;
        }
    }
    for class in egraph.classes() {
        for node in &class.nodes {
            let sort = signature.node_sort(node, |id| sorts.get(&egraph.find(id)).copied());
            assert!(sort.is_some(), "{what}: {node:?} has no sort");
        }
    }
    sorts
}

/// Runs the saturations of a schedule and discards nothing between them.
fn saturations(inputs: &Inputs, egraph: &mut EGraph, steps: &[ScheduleStep]) {
    for step in steps {
        match step {
            ScheduleStep::Saturate(rules) => {
                let rules: Vec<_> = rules.iter().map(|rule| &inputs.compiled[*rule]).collect();
                let limits = Limits { iterations: 40, nodes: 20_000 };
                saturate(egraph, &rules, &limits);
            }
            ScheduleStep::Seq(steps) => saturations(inputs, egraph, steps),
            ScheduleStep::Attempt(attempt) => saturations(inputs, egraph, &attempt.steps),
            ScheduleStep::Repeat(_, steps)
            | ScheduleStep::Until(_, steps)
            | ScheduleStep::Chosen(_, steps)
            | ScheduleStep::Otherwise(steps) => {
                saturations(inputs, egraph, steps);
            }
            ScheduleStep::Keep(_) | ScheduleStep::Rank(_) | ScheduleStep::Besides(_) => {}
        }
    }
}

/// Saturates a model's term and checks the sorts of all classes.
fn check(inputs: &Inputs, schedule: &Schedule) {
    let context = inputs.context();
    let operators = inputs.book.signature.table().clone();
    let facts = Facts::new(&context.tensors, &context.sizes, operators, VectorUnit::default());
    let mut egraph = EGraph::new(facts);
    let statement = egraph.add_expr(&inputs.model.root_term(inputs.book.signature.table()));
    let program = egraph.add(Node::op("slc", &[statement]));
    egraph.rebuild();
    saturations(inputs, &mut egraph, &schedule.steps);
    let what = format!("{} under {}", inputs.model.name, schedule.name);
    let sorts = sorts(inputs, &egraph, &what);
    assert_eq!(sorts[&egraph.find(statement)], Sort::named("Stmt"), "{what}");
    assert_eq!(sorts[&egraph.find(program)], Sort::named("Slc"), "{what}");
    assert!(egraph.number_of_classes() > 20, "{what} did nothing");
}

#[test]
fn terms_of_two_sorts_never_share_a_class() {
    for model in ["embedding_bag", "bag_mean", "bag_max", "bag_weighted", "gather"] {
        let inputs = inputs(&format!("examples/{model}.sexp"));
        for schedule in &inputs.book.schedules {
            check(&inputs, schedule);
        }
    }
}
