//! Properties of every extractor on small random graphs.

use super::graphs::{best, random};
use crate::{Broken, Class, Costs, Graph, Node, Selection, Tree, check, extractors};
use crate::{Exact, Extractor, GreedyDag};
use quickcheck::{Gen, QuickCheck, TestResult};

/// Checks a property of random graphs that have an extraction.
fn holds(property: fn(u64) -> TestResult) {
    QuickCheck::new().rng(Gen::from_size_and_seed(100, 1)).tests(3000).quickcheck(property);
}

/// Runs a property on a random graph; a false answer says on which.
fn on(seed: u64, property: impl Fn(&Graph) -> bool) -> TestResult {
    random(seed).map_or_else(TestResult::discard, |graph| TestResult::from_bool(property(&graph)))
}

fn costs(graph: &Graph, extractor: &dyn Extractor) -> Costs {
    check(graph, &extractor.extract(graph).selection).expect("an extraction")
}

#[test]
fn extractions_are_valid_and_no_better_than_the_best() {
    holds(|seed| {
        on(seed, |graph| {
            let best = best(graph);
            extractors().iter().all(|extractor| {
                let found = costs(graph, &**extractor);
                found.tree >= best.tree && found.dag >= best.dag && found.dag <= found.tree
            })
        })
    });
}

#[test]
fn bounds_are_no_higher_than_the_best() {
    holds(|seed| {
        on(seed, |graph| {
            let best = best(graph).dag;
            extractors().iter().all(|extractor| extractor.extract(graph).bound <= best + 1e-9)
        })
    });
}

#[test]
fn the_greedy_dag_is_no_worse_than_the_tree() {
    holds(|seed| {
        on(seed, |graph| costs(graph, &GreedyDag::default()).dag <= costs(graph, &Tree).dag)
    });
}

#[test]
fn exact_is_the_best_and_proves_it() {
    holds(|seed| {
        on(seed, |graph| {
            let (found, best) = (Exact::default().extract(graph), best(graph).dag);
            let costs = check(graph, &found.selection).expect("an extraction");
            costs.dag == best && found.bound == best && found.unfinished.is_none()
        })
    });
}

#[test]
fn the_tree_is_the_best_tree() {
    holds(|seed| on(seed, |graph| costs(graph, &Tree).tree == best(graph).tree));
}

#[test]
fn small_sets_give_an_extraction_too() {
    holds(|seed| on(seed, |graph| costs(graph, &GreedyDag { steps: 0 }).dag >= best(graph).dag));
}

#[test]
fn a_selection_is_read_back_at_the_same_costs() {
    holds(|seed| {
        on(seed, |graph| {
            let selection = GreedyDag::default().extract(graph).selection;
            let costs = check(graph, &selection).expect("an extraction");
            let again = Graph::from_json(&graph.to_json(&selection)).expect("a graph");
            again.classes().all(|class| again.nodes_of(class).len() == 1)
                && check(&again, &Tree.extract(&again).selection) == Ok(costs)
        })
    });
}

#[test]
fn broken_selections_are_refused() {
    holds(|seed| {
        on(seed, |graph| {
            let good = Tree.extract(graph).selection;
            good.nodes(graph).iter().all(|node| refuses(graph, &good, *node))
        })
    });
}

/// Returns true if the validator refuses a selection in which a needed node is missing, foreign, or replaced so that a cycle
/// arises, and no other.
fn refuses(graph: &Graph, good: &Selection, node: Node) -> bool {
    let class = graph.class_of(node);
    let mut missing = Selection::new(graph);
    graph
        .classes()
        .filter(|other| *other != class)
        .filter_map(|other| Some((other, good.of(other)?)))
        .for_each(|(other, node)| missing.choose(other, node));
    let foreign = graph.nodes().find(|other| graph.class_of(*other) != class).is_none_or(|other| {
        let mut selection = good.clone();
        selection.choose(class, other);
        matches!(check(graph, &selection), Err(Broken::Foreign { .. }))
    });
    let cyclic = graph.nodes_of(class).iter().all(|other| {
        let mut selection = good.clone();
        selection.choose(class, *other);
        let complete = is_complete(graph, &selection);
        match check(graph, &selection) {
            Err(Broken::Cyclic { .. }) => leads_back(graph, &selection, class),
            Err(Broken::Missing { .. }) => !complete,
            Err(Broken::Foreign { .. }) => false,
            Ok(_) => complete && !leads_back(graph, &selection, class),
        }
    });
    matches!(check(graph, &missing), Err(Broken::Missing { .. })) && foreign && cyclic
}

fn is_complete(graph: &Graph, selection: &Selection) -> bool {
    selection
        .nodes(graph)
        .iter()
        .flat_map(|node| graph.children(*node))
        .all(|class| selection.of(*class).is_some())
}

/// Returns true if a class can be reached from its own chosen node.
fn leads_back(graph: &Graph, selection: &Selection, class: Class) -> bool {
    let mut seen: Vec<Class> = selection.of(class).map_or(&[][..], |n| graph.children(n)).to_vec();
    let mut next = 0;
    while let Some(found) = seen.get(next).copied() {
        for child in selection.of(found).map_or(&[][..], |node| graph.children(node)) {
            if !seen.contains(child) {
                seen.push(*child);
            }
        }
        next += 1;
    }
    seen.contains(&class)
}
