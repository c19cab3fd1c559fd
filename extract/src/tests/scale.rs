//! Deep chains and a million nodes.

use super::graphs::{chain, large};
use crate::{Graph, Selection, check, extractors};
use std::time::Instant;

/// A time far above what an extractor takes, and far below what a quadratic one would.
const SECONDS: f64 = 60.0;

fn all_extract(graph: &Graph) {
    for extractor in extractors() {
        let start = Instant::now();
        let found = extractor.extract(graph);
        let seconds = start.elapsed().as_secs_f64();
        let costs = check(graph, &found.selection).expect("an extraction");
        println!("{}: {costs:?}, at least {}, {seconds:.2} s", extractor.name(), found.bound);
        assert!(seconds < SECONDS, "{}: {seconds} s", extractor.name());
    }
}

#[test]
fn a_chain_of_100_000_classes() {
    let graph = chain(100_000);
    all_extract(&graph);
    let mut selection = Selection::new(&graph);
    graph.nodes().for_each(|node| selection.choose(graph.class_of(node), node));
    let costs = check(&graph, &selection).expect("an extraction");
    assert_eq!(costs.dag, 100_000.0);
    assert_eq!(costs.tree, f64::INFINITY);
}

#[test]
fn a_million_nodes() {
    all_extract(&large(1_000_000));
}
