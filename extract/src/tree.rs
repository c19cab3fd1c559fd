//! Extraction by tree cost: a subterm costs as often as it occurs.

use crate::graph::Graph;
use crate::settle::settle;
use crate::{Extractor, Found};

/// The extractor of least tree cost. Its result is the best by that measure; by DAG cost it misses what sharing would
/// save.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tree;

impl Extractor for Tree {
    fn name(&self) -> &'static str {
        "tree"
    }

    fn extract(&self, graph: &Graph) -> Found {
        let selection = settle(
            graph,
            |node, costs, _| {
                let children = graph.children(node).iter();
                let sum: f64 = children.filter_map(|child| costs[child.index()]).sum();
                Some(graph.cost(node) + sum)
            },
            |cost| *cost,
        );
        Found::heuristic(selection)
    }
}
