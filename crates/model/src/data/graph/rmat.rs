//! R-MAT graphs as a stream of rows.
//!
//! An edge falls into one quadrant of the adjacency matrix, then into one quadrant of that, and so on down to an entry.
//! An edge outside the nodes is drawn again. The rows are produced in order without holding any edge: a first pass
//! draws every edge and counts the edges by row, and the columns of a row are then drawn from their distribution *given
//! the row*, which yields the same model. Two numbers per node are held.

use super::known;
use crate::data::random::{Permutation, Random, nth_seed};
use ember_host::threads;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of edges that one random stream counts; a different number would change the graphs of all seeds.
const CHUNK: u64 = 1 << 16;

/// An R-MAT graph that is ready for streaming.
pub(super) struct Rmat {
    nodes: u64,
    /// The number of halvings from the whole matrix to an entry.
    levels: u32,
    bounds: Bounds,
    /// The number of edges of each row of the matrix, before nodes are numbered at random.
    degrees: Vec<u32>,
    /// The node of each row of the matrix.
    nodes_of_rows: Vec<u32>,
    /// The seed of the rows' columns.
    seed: u64,
}

/// The quadrants as bounds on 32 random bits.
struct Bounds {
    /// Upper bounds of the quadrants a; a and b; a, b and c.
    whole: [u32; 3],
    /// Upper bounds of the left half, given the upper or the lower half.
    left: [u32; 2],
}

impl Rmat {
    pub(super) fn new(nodes: u64, edges: u64, seed: u64) -> Rmat {
        let known::Quadrants { a, b, c, d } = known::quadrants();
        let bound = |share: f64| (share * 2f64.powi(32)) as u32;
        let bounds = Bounds {
            whole: [bound(a), bound(a + b), bound(a + b + c)],
            left: [bound(a / (a + b)), bound(c / (c + d))],
        };
        let [counting, columns, numbers] = [0, 1, 2].map(|part| nth_seed(seed, part));
        let levels = u64::BITS - nodes.saturating_sub(1).leading_zeros();
        let counts: Vec<AtomicU32> = (0..nodes).map(|_| AtomicU32::new(0)).collect();
        let chunks: Vec<u64> = (0..edges.div_ceil(CHUNK)).collect();
        threads::map(&chunks, |&chunk| {
            let mut random = Random::new(nth_seed(counting, chunk));
            for _ in 0..CHUNK.min(edges - chunk * CHUNK) {
                let row = bounds.row(nodes, levels, &mut random);
                // Relaxed ordering suffices because sums do not depend on the order of their terms.
                counts[row as usize].fetch_add(1, Ordering::Relaxed);
            }
        });
        let scatter = Permutation::new(nodes, numbers);
        Rmat {
            nodes,
            levels,
            bounds,
            degrees: counts.into_iter().map(AtomicU32::into_inner).collect(),
            nodes_of_rows: (0..nodes).map(|row| scatter.at(row) as u32).collect(),
            seed: columns,
        }
    }

    /// Iterates over the nodes in order, each with the targets of its edges in ascending order.
    pub(super) fn rows(&self) -> impl Iterator<Item = Vec<u32>> + '_ {
        let mut rows_of_nodes = vec![0u32; self.nodes as usize];
        for (row, node) in (0u32..).zip(&self.nodes_of_rows) {
            rows_of_nodes[*node as usize] = row;
        }
        rows_of_nodes.into_iter().map(|row| {
            let mut random = Random::new(nth_seed(self.seed, u64::from(row)));
            let column = |_| self.nodes_of_rows[self.column(row, &mut random) as usize];
            let mut columns: Vec<u32> = (0..self.degrees[row as usize]).map(column).collect();
            columns.sort_unstable();
            columns
        })
    }

    /// Draws a column given the row.
    fn column(&self, row: u32, random: &mut Random) -> u64 {
        loop {
            let mut bits = Bits::new(random);
            let column = (0..self.levels).rev().fold(0, |column, level| {
                let lower = (row >> level) & 1;
                let right = bits.next() >= self.bounds.left[lower as usize];
                column << 1 | u64::from(right)
            });
            if column < self.nodes {
                return column;
            }
        }
    }
}

impl Bounds {
    /// Draws the row of an edge that falls inside the nodes.
    fn row(&self, nodes: u64, levels: u32, random: &mut Random) -> u64 {
        let [a, ab, abc] = self.whole;
        loop {
            let mut bits = Bits::new(random);
            let (mut row, mut column) = (0, 0);
            for _ in 0..levels {
                let u = bits.next();
                row = row << 1 | u64::from(u >= ab);
                column = column << 1 | u64::from((u >= a) ^ (u >= ab) ^ (u >= abc));
            }
            if row < nodes && column < nodes {
                return row;
            }
        }
    }
}

/// A stream of 32-bit random numbers, two from each 64-bit number.
struct Bits<'a> {
    random: &'a mut Random,
    left: Option<u32>,
}

impl<'a> Bits<'a> {
    fn new(random: &'a mut Random) -> Bits<'a> {
        Bits { random, left: None }
    }

    fn next(&mut self) -> u32 {
        self.left.take().unwrap_or_else(|| {
            let both = self.random.bits();
            self.left = Some(both as u32);
            (both >> 32) as u32
        })
    }
}
