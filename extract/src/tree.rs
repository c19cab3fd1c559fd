//! Extraction by tree cost: a subterm costs as often as it occurs.

use crate::graph::{Graph, Node};
use crate::settle::{Settled, Values, settle};
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
        Found::heuristic(by_tree_cost(graph).selection)
    }
}

/// Settles classes by tree cost.
pub(crate) fn by_tree_cost(graph: &Graph) -> Settled {
    let value = |node: Node, costs: &Values<f64>, _: Option<f64>| {
        let children = graph.children(node).iter();
        let sum: f64 = children.filter_map(|child| costs[child.index()]).sum();
        Some(graph.cost(node) + sum)
    };
    settle(graph, value, |cost| *cost)
}
