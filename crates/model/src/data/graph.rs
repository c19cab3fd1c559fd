//! Graphs in the form of compressed rows. They are generated from a few numbers and a seed, or read from files.
//!
//! A generated graph is a stream of rows that can be repeated from its seed, so that writing one holds a few numbers
//! per node and no edges. Duplicate edges and self loops are kept, as in Graph 500, so that a graph has exactly the
//! requested number of edges. `graphs.toml` lists the parameters of the R-MAT model and of the known graphs and
//! knowledge graphs. The reader handles the syntax of graphs in model files.

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

/// An error of a graph or its file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what}")]
pub struct Problem {
    /// The message.
    pub what: String,
    /// Advice.
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

/// The maximum number of nodes and of edges of a graph, each numbered by 32 bits.
pub const LIMIT: u64 = u32::MAX as u64;

/// The bytes held for each node while a graph is generated: its degree, and its place in either order.
const NODE_BYTES: u64 = 12;

/// The model that places the edges of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GraphModel {
    /// The recursive model of Chakrabarti, Zhan and Faloutsos (SDM 2004), with skewed degrees. Nodes are numbered at
    /// random, as in Graph 500, so that frequent nodes are not neighbours.
    RMat,
    /// A road-like graph: the nodes form a grid about as wide as high, numbered row by row, and each is joined to some
    /// of its four neighbours.
    Grid,
}

/// The parameters of a graph to generate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Graph {
    /// The number of nodes.
    pub nodes: u64,
    /// The number of edges; an undirected edge counts once.
    pub edges: u64,
    /// True if edges are directed.
    pub directed: bool,
    /// The placement of edges.
    pub model: GraphModel,
}

/// The edges of a graph, each once, as a stream of rows.
pub struct Edges {
    graph: Graph,
    made: Made,
}

enum Made {
    Rmat(Rmat),
    Grid(Grid),
}

impl Graph {
    /// Prepares the edges from a seed. Errors are a graph beyond [`LIMIT`] and a graph without room for its edges.
    pub fn generate(&self, seed: u64) -> Result<Edges, Problem> {
        for (what, n) in [("nodes", self.nodes), ("edges", self.edges)] {
            if n > LIMIT {
                let problem = Problem::new(format!("a graph of {n} {what}"));
                return Err(problem.with_help(format!("at most {LIMIT}")));
            }
        }
        if self.nodes.saturating_mul(NODE_BYTES) > super::HELD_LIMIT {
            let problem = Problem::new(format!("a graph of {} nodes", self.nodes));
            return Err(problem.with_help("too large to be held in memory"));
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
    /// Iterates over the nodes; each item lists the targets of the node's edges in ascending order. Every call gives
    /// the same rows.
    pub fn rows(&self) -> Box<dyn Iterator<Item = Vec<u32>> + '_> {
        match &self.made {
            Made::Rmat(rmat) => Box::new(rmat.rows()),
            Made::Grid(grid) => Box::new(grid.rows()),
        }
    }

    /// Returns the first `keep` rows as a matrix with one entry for each edge. An undirected graph has one entry for
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

/// Reads a graph from a file: Matrix Market if the name ends in `.mtx`, else a list of edges.
pub fn read(files: &dyn Files, path: &Path, options: &EdgeListOptions) -> Result<Csr, Problem> {
    if is_matrix_market(path) {
        matrix_market::read(lines::Lines::open(files, path)?)
    } else {
        edge_list::read(lines::Lines::open(files, path)?, options)
    }
}

/// Returns true if the file name ends in `.mtx`, the extension of Matrix Market files.
pub fn is_matrix_market(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("mtx"))
}

#[cfg(test)]
mod tests;
