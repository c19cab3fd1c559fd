//! Deep chains and a million nodes.

use super::graphs::{chain, large};
use crate::{Exact, Extractor, Graph, Selection, Tree, check, extractors};
use std::time::Instant;

/// Processor time far above what an extractor takes, and far below what a quadratic one would.
const SECONDS: f64 = 60.0;

/// Returns the seconds that this thread has run, excluding other processes; wall time if the system does not report it.
fn seconds(epoch: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| epoch.elapsed().as_secs_f64(), |n| n / 1e9)
}

fn extracts(extractor: &dyn Extractor, graph: &Graph) {
    let epoch = Instant::now();
    let start = seconds(epoch);
    let found = extractor.extract(graph);
    let seconds = seconds(epoch) - start;
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
