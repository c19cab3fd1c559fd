//! Extraction from an e-graph over cost vectors: a Pareto set of candidates per e-class.
//!
//! Knows e-graphs and nothing of embeddings: what a node costs and which label it carries comes
//! from a [`CostModel`](crate) given by the caller.
