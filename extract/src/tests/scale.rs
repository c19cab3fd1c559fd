//! Deep chains and a million nodes.

use super::graphs::{chain, large};
use crate::{Exact, Extractor, Graph, Selection, Tree, check, extractors};
use std::time::Instant;

/// A time far above what an extractor takes, and far below what a quadratic one would.
const SECONDS: f64 = 60.0;

fn extracts(extractor: &dyn Extractor, graph: &Graph) {
    let start = Instant::now();
    let found = extractor.extract(graph);
    let seconds = start.elapsed().as_secs_f64();
    let costs = check(graph, &found.selection).expect("an extraction");
    println!("{}: {costs:?}, at least {}, {seconds:.2} s", extractor.name(), found.bound);
    assert!(seconds < SECONDS, "{}: {seconds} s", extractor.name());
}

#[test]
fn a_chain_of_100_000_classes() {
    let graph = chain(100_000);
    extractors().iter().for_each(|extractor| extracts(extractor.as_ref(), &graph));
    let mut selection = Selection::new(&graph);
    graph.nodes().for_each(|node| selection.choose(graph.class_of(node), node));
    let costs = check(&graph, &selection).expect("an extraction");
    assert_eq!(costs.dag, 100_000.0);
    assert_eq!(costs.tree, f64::INFINITY);
}

#[test]
fn a_million_nodes() {
    let graph = large(1_000_000);
    extracts(&Tree, &graph);
    // It begins with prices, and these with the greedy extraction by DAG cost: their times are parts of its own.
    extracts(&Exact::default(), &graph);
}
