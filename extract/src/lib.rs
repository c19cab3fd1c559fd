//! Extraction from e-graphs: of each class that is needed, one node.
//!
//! There are two ways in. A [`Graph`] has a cost for each node, and is read from the JSON format of the crate
//! `egraph-serialize` or made by a [`Builder`]; every [`Extractor`] runs on it, and [`check`] validates what they find.
//! [`pareto::extract`] takes an e-graph in memory and a [`CostModel`], in which costs are vectors and depend on the
//! context; [`floor()`] bounds the costs of all terms of a class in such a model. This crate knows e-graphs and nothing
//! of embeddings.
//!
//! ```
//! use ember_extract::{Graph, check, extractors};
//!
//! // f(g, h), where g and h may both be made of the expensive x, or each of a cheaper leaf.
//! let graph = Graph::from_json(r#"{
//!     "nodes": {
//!         "f": { "op": "f", "children": ["g", "h"], "eclass": "0", "cost": 1 },
//!         "g": { "op": "g", "children": ["x"], "eclass": "1", "cost": 1 },
//!         "a": { "op": "a", "children": [], "eclass": "1", "cost": 10 },
//!         "h": { "op": "h", "children": ["x"], "eclass": "2", "cost": 1 },
//!         "b": { "op": "b", "children": [], "eclass": "2", "cost": 10 },
//!         "x": { "op": "x", "children": [], "eclass": "3", "cost": 12 }
//!     },
//!     "root_eclasses": ["0"]
//! }"#).expect("a graph");
//! let [tree, greedy, exact] = ["tree", "greedy-dag", "exact"].map(|name| {
//!     let extractor = extractors().into_iter().find(|e| e.name() == name).expect("it exists");
//!     check(&graph, &extractor.extract(&graph).selection).expect("an extraction")
//! });
//! assert_eq!((tree.tree, tree.dag), (21.0, 21.0));
//! assert_eq!((greedy.tree, greedy.dag), (21.0, 21.0));
//! assert_eq!((exact.tree, exact.dag), (27.0, 15.0));
//! ```

mod bound;
mod build;
mod check;
mod exact;
mod fault;
mod floor;
mod graph;
mod greedy;
mod json;
mod lists;
mod order;
pub mod pareto;
mod prices;
mod settle;
mod shared;
mod tree;

pub use bound::forced;
pub use build::{Builder, NewNode};
pub use check::{Broken, Costs, Selection, check};
pub use exact::Exact;
pub use fault::Fault;
pub use floor::{FloorLimits, Relaxation, floor};
pub use graph::{Class, Graph, Node};
pub use greedy::GreedyDag;
pub use pareto::{CandidateId, CostModel, Extraction, Limits, extract, is_member};
pub use prices::Prices;
pub use tree::Tree;

/// A way to choose nodes of a graph.
pub trait Extractor: Send + Sync {
    /// Returns the name, as it is written on the command line.
    fn name(&self) -> &'static str;

    /// Returns a node for each class that the roots need. The work is bounded, and the result depends on the graph alone.
    fn extract(&self, graph: &Graph) -> Found;
}

/// The result of an extractor.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The chosen nodes.
    pub selection: Selection,
    /// A DAG cost that no selection is below, as far as the extractor can tell.
    pub bound: f64,
    /// The limit that ended the search before its end; `None` if it ended by itself.
    pub unfinished: Option<&'static str>,
}

impl Found {
    /// Creates the result of an extractor that proves nothing.
    fn heuristic(selection: Selection) -> Found {
        Found { selection, bound: 0.0, unfinished: None }
    }
}

/// Returns every extractor with its default limits, from the fastest to the slowest.
pub fn extractors() -> Vec<Box<dyn Extractor>> {
    vec![
        Box::new(Tree),
        Box::<GreedyDag>::default(),
        Box::<Prices>::default(),
        Box::<Exact>::default(),
    ]
}

#[cfg(test)]
mod tests;
