//! The published graphs that can be imitated, by name, from the rows of `graphs.toml`.

use super::{Graph, GraphModel, Triples};
use serde::Deserialize;
use std::sync::LazyLock;

/// The contents of `graphs.toml`.
#[derive(Debug, Deserialize)]
struct Table {
    #[serde(rename = "r-mat")]
    quadrants: Quadrants,
    graph: Vec<GraphRow>,
    triples: Vec<TriplesRow>,
}

/// The shares of the quadrants of the adjacency matrix in R-MAT: upper left, upper right, lower left, lower right.
/// Their sum is 1.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Quadrants {
    pub(super) a: f64,
    pub(super) b: f64,
    pub(super) c: f64,
    pub(super) d: f64,
}

#[derive(Debug, Deserialize)]
struct GraphRow {
    name: String,
    nodes: u64,
    edges: u64,
    directed: bool,
    model: GraphModel,
}

#[derive(Debug, Deserialize)]
struct TriplesRow {
    name: String,
    entities: u64,
    relations: u64,
    triples: u64,
    entity_skew: f64,
    relation_skew: f64,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    // The text is part of the program, and a test parses it.
    toml::from_str(include_str!("graphs.toml")).expect("graphs.toml is well formed")
});

/// Returns the quadrants of every R-MAT graph.
pub(super) fn quadrants() -> Quadrants {
    TABLE.quadrants
}

/// Returns true if a word is a published name, with or without the prefix of its collection (`ogbn-arxiv` or `arxiv`).
fn is_named(name: &str, word: &str) -> bool {
    name == word || ["ogbn-", "ogbl-"].iter().any(|p| name.strip_prefix(p) == Some(word))
}

fn scaled(n: u64, scale: f64) -> u64 {
    ((n as f64 * scale).round() as u64).max(1)
}

/// Returns a published graph with its nodes and edges multiplied by a scale; `None` for an unknown name.
pub fn graph(name: &str, scale: f64) -> Option<Graph> {
    let row = TABLE.graph.iter().find(|row| is_named(&row.name, name))?;
    Some(Graph {
        nodes: scaled(row.nodes, scale),
        edges: scaled(row.edges, scale),
        directed: row.directed,
        model: row.model,
    })
}

/// Returns a published knowledge graph with its entities and triples multiplied by a scale and its relations unchanged;
/// `None` for an unknown name.
pub fn triples(name: &str, scale: f64) -> Option<Triples> {
    let row = TABLE.triples.iter().find(|row| is_named(&row.name, name))?;
    Some(Triples {
        entities: scaled(row.entities, scale),
        relations: row.relations,
        triples: scaled(row.triples, scale),
        entity_skew: row.entity_skew,
        relation_skew: row.relation_skew,
    })
}

/// Iterates over the names of the graphs.
pub fn graph_names() -> impl Iterator<Item = &'static str> {
    TABLE.graph.iter().map(|row| row.name.as_str())
}

/// Iterates over the names of the knowledge graphs.
pub fn triples_names() -> impl Iterator<Item = &'static str> {
    TABLE.triples.iter().map(|row| row.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_found_and_scaled() {
        for name in graph_names() {
            let whole = graph(name, 1.0).expect(name);
            let tenth = graph(name, 0.1).expect(name);
            assert!(whole.nodes.abs_diff(10 * tenth.nodes) <= 5, "{name}");
            assert!(whole.edges.abs_diff(10 * tenth.edges) <= 5, "{name}");
        }
        assert_eq!(graph("arxiv", 1.0), graph("ogbn-arxiv", 1.0));
        assert_eq!(graph("Talk", 1.0), None);
        assert_eq!(triples("biokg", 1.0).map(|t| t.relations), Some(51));
        assert_eq!(triples_names().count(), 2);
        let Quadrants { a, b, c, d } = quadrants();
        assert!((a + b + c + d - 1.0).abs() < 1e-12);
    }
}
