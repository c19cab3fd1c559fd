//! Graphs: those that are generated from a few numbers and a seed, and those that are read from
//! files, both as compressed rows.
//!
//! A generated graph is a stream of rows that can be had again from its seed, so that writing one
//! holds a few numbers a node and no edges. Duplicate edges and self loops are kept, as Graph 500
//! does: a graph has exactly the edges that were asked for. What models and knowledge graphs are made
//! of stands in `graphs.toml`; how a model file asks for them is the reader's matter, not this one's.

mod csr;
mod edge_list;
mod grid;
mod known;
mod lines;
mod matrix_market;
mod rmat;
mod triples;

pub use csr::Csr;
pub use edge_list::EdgeListOptions;
pub use known::{graph as known_graph, graph_names, triples as known_triples, triples_names};
pub use triples::Triples;

use ember_host::Files;
use grid::Grid;
use rmat::Rmat;
use serde::Deserialize;
use std::path::Path;
use thiserror::Error;

/// What is wrong with a graph or its file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what}")]
pub struct Problem {
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Problem {
    pub(super) fn new(what: impl Into<String>) -> Problem {
        Problem { what: what.into(), help: None }
    }

    pub(super) fn with_help(self, help: impl Into<String>) -> Problem {
        Problem { help: Some(help.into()), ..self }
    }
}

/// The most nodes and the most edges of a graph: each is numbered by 32 bits.
pub const LIMIT: u64 = u32::MAX as u64;

/// How edges are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GraphModel {
    /// The recursive model of Chakrabarti, Zhan and Faloutsos (SDM 2004): skewed degrees. Nodes are
    /// numbered at random, as in Graph 500, so that frequent ones are no neighbours.
    RMat,
    /// Like roads: nodes on a grid about as wide as high, numbered row by row, each joined to some of
    /// the four beside it.
    Grid,
}

/// A graph to be generated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Graph {
    /// Nodes.
    pub nodes: u64,
    /// Edges; an undirected one counts once.
    pub edges: u64,
    /// Whether an edge leads one way only.
    pub directed: bool,
    /// How edges are placed.
    pub model: GraphModel,
}

/// A graph's edges, each stored once, as a stream of rows.
pub struct Edges {
    graph: Graph,
    made: Made,
}

enum Made {
    Rmat(Rmat),
    Grid(Grid),
}

impl Graph {
    /// Prepares the edges from a seed. Graphs beyond [`LIMIT`] and those that have no room for their
    /// edges are errors.
    pub fn generate(&self, seed: u64) -> Result<Edges, Problem> {
        for (what, n) in [("nodes", self.nodes), ("edges", self.edges)] {
            if n > LIMIT {
                let problem = Problem::new(format!("a graph of {n} {what}"));
                return Err(problem.with_help(format!("at most {LIMIT}")));
            }
        }
        if self.nodes == 0 && self.edges > 0 {
            return Err(Problem::new(format!("a graph of {} edges without nodes", self.edges)));
        }
        let made = match self.model {
            GraphModel::RMat => Made::Rmat(Rmat::new(self.nodes, self.edges, seed)),
            GraphModel::Grid => Made::Grid(Grid::new(self.nodes, self.edges, seed)?),
        };
        Ok(Edges { graph: *self, made })
    }
}

impl Edges {
    /// The nodes, each with the nodes its edges lead to, in ascending order. The same every time.
    pub fn rows(&self) -> Box<dyn Iterator<Item = Vec<u32>> + '_> {
        match &self.made {
            Made::Rmat(rmat) => Box::new(rmat.rows()),
            Made::Grid(grid) => Box::new(grid.rows()),
        }
    }

    /// The first `keep` rows as a matrix: an entry for each edge, and of an undirected graph one for
    /// each direction, but one for a self loop.
    pub fn matrix(&self, keep: u64) -> Csr {
        let keep = keep.min(self.graph.nodes);
        if self.graph.directed {
            Csr::of_rows(self.rows().take(keep as usize), self.graph.nodes)
        } else {
            Csr::both_directions(|| self.rows(), keep, self.graph.nodes)
        }
    }
}

/// Reads a graph from a file: Matrix Market where the name ends in `.mtx`, else a list of edges.
pub fn read(files: &dyn Files, path: &Path, options: &EdgeListOptions) -> Result<Csr, Problem> {
    if is_matrix_market(path) {
        matrix_market::read(lines::Lines::open(files, path)?)
    } else {
        edge_list::read(lines::Lines::open(files, path)?, options)
    }
}

/// Whether a file is Matrix Market by its name.
pub fn is_matrix_market(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("mtx"))
}

#[cfg(test)]
mod tests;
