//! R-MAT graphs as a stream of rows.
//!
//! An edge falls into one quadrant of the adjacency matrix, then into one quadrant of that, and so on
//! down to an entry; one that falls outside the nodes is drawn again. Rows come in order without any
//! edge being held: a first pass draws every edge and counts them by row, and a row's columns are then
//! drawn from their distribution *given the row*, which makes the same model. Two numbers a node are
//! held.

use super::known;
use crate::data::random::{Permutation, Random, nth_seed};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// Edges that are counted with one random stream; part of what a seed means.
const CHUNK: u64 = 1 << 16;

/// An R-MAT graph that is ready to be streamed.
pub(super) struct Rmat {
    nodes: u64,
    /// Halvings from the whole matrix to an entry.
    levels: u32,
    bounds: Bounds,
    /// The edges of each row of the matrix, before nodes are numbered at random.
    degrees: Vec<u32>,
    /// The node of each row of the matrix.
    nodes_of_rows: Vec<u32>,
    /// The seed of the rows' columns.
    seed: u64,
}

/// Quadrants as bounds on 32 random bits.
struct Bounds {
    /// Below are the quadrants a; a and b; a, b and c.
    whole: [u32; 3],
    /// Below is the left half, given the upper or the lower one.
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
        (0..edges.div_ceil(CHUNK)).into_par_iter().for_each(|chunk| {
            let mut random = Random::new(nth_seed(counting, chunk));
            for _ in 0..CHUNK.min(edges - chunk * CHUNK) {
                let row = bounds.row(nodes, levels, &mut random);
                // Sums do not depend on the order of their terms.
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

    /// The nodes in order, each with its edges' ends in ascending order.
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

    /// A column, given the row.
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
    /// The row of an edge that falls inside the nodes.
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

/// Random numbers of 32 bits, two from each of 64.
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
