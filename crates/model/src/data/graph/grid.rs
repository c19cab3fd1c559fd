//! Road-like graphs: a grid of nodes with some of its edges.
//!
//! A road network is nearly planar, has degrees between one and four, and joins nodes with near numbers. R-MAT graphs
//! have none of these properties. Exactly the requested number of edges is taken, and each set of edges is equally
//! likely (Knuth, *The Art of Computer Programming* 2, 3.4.2, algorithm S).

use super::Problem;
use crate::data::random::Random;

/// A grid that is ready for streaming.
pub(super) struct Grid {
    nodes: u64,
    width: u64,
    edges: u64,
    /// The number of pairs of neighbours.
    pairs: u64,
    seed: u64,
}

impl Grid {
    pub(super) fn new(nodes: u64, edges: u64, seed: u64) -> Result<Grid, Problem> {
        let width = nodes.isqrt().max(1);
        // Every node except those at the right end of a row has a right neighbour, and every node except the last
        // `width` nodes has a lower neighbour.
        let pairs = nodes - nodes.div_ceil(width) + nodes.saturating_sub(width);
        if edges > pairs {
            let problem = Problem::new(format!("a grid of {nodes} nodes and {edges} edges"));
            return Err(problem.with_help(format!("it has {pairs} pairs of neighbours")));
        }
        Ok(Grid { nodes, width, edges, pairs, seed })
    }

    /// Iterates over the nodes in order, each with its edges to later nodes.
    pub(super) fn rows(&self) -> impl Iterator<Item = Vec<u32>> + '_ {
        let mut random = Random::new(self.seed);
        let (mut needed, mut left) = (self.edges, self.pairs);
        (0..self.nodes).map(move |node| {
            let right = ((node + 1) % self.width != 0).then_some(node + 1);
            [right, Some(node + self.width)]
                .into_iter()
                .flatten()
                .filter(|other| *other < self.nodes)
                .filter(|_| {
                    let taken = random.unit() * (left as f64) < needed as f64;
                    left -= 1;
                    needed -= u64::from(taken);
                    taken
                })
                .map(|other| other as u32)
                .collect()
        })
    }
}
