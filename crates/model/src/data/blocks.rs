//! Block-sparse attention patterns, which define the key blocks that a query block attends to.
//!
//! The pattern is BigBird's (Zaheer et al., "Big Bird: transformers for longer sequences", NeurIPS 2020). It combines a
//! window around the block's own position, which wraps around at the ends; the first blocks of the sequence, which
//! every block attends to; and random blocks. The blocks of a row are distinct. If window and global blocks coincide,
//! more random blocks are added, so that every row has the same number of blocks.

use super::random::{Random, nth_seed};

/// The number of blocks of each kind that a query block attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPattern {
    /// Blocks of the window around its own position, including itself.
    pub window: u64,
    /// Blocks at the start of the sequence.
    pub global: u64,
    /// Random blocks.
    pub random: u64,
}

impl BlockPattern {
    /// Returns the total number of blocks in a row; `None` if it overflows.
    pub fn width(&self) -> Option<u64> {
        self.window.checked_add(self.global)?.checked_add(self.random)
    }

    /// Returns the key blocks of a query block, out of `blocks` in total, which is at least 1. Window, global and
    /// random blocks follow in this order. If there are fewer blocks than [`Self::width`], the row has all of them.
    pub fn row(&self, query: u64, blocks: u64, seed: u64) -> Vec<u64> {
        let mut random = Random::new(nth_seed(seed, query));
        let width = self.width().unwrap_or(0) as usize;
        let mut row: Vec<u64> = Vec::with_capacity(width);
        let first = query % blocks + blocks - self.window / 2 % blocks;
        let regular = (0..self.window).map(|i| (first + i) % blocks).chain(0..self.global);
        for block in regular {
            if !row.contains(&block) {
                row.push(block);
            }
        }
        while row.len() < width {
            let block = (random.unit() * blocks as f64) as u64;
            // Most blocks of a long sequence are free. In a short one, the next free block is taken.
            let free = (0..blocks).map(|i| (block + i) % blocks).find(|b| !row.contains(b));
            let Some(free) = free else { break };
            row.push(free);
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use itertools::Itertools;

    #[test]
    fn rows_have_window_global_and_random_blocks() {
        let pattern = BlockPattern { window: 3, global: 2, random: 3 };
        for query in 0..64 {
            let row = pattern.row(query, 64, 1);
            assert_eq!(row.len(), 8);
            assert!(row.iter().all_unique() && row.iter().all(|b| *b < 64), "{row:?}");
            for wanted in [(query + 63) % 64, query, (query + 1) % 64, 0, 1] {
                assert!(row.contains(&wanted), "{query}: {row:?}");
            }
        }
        assert_eq!(pattern.row(9, 64, 1)[..5], [8, 9, 10, 0, 1]);
        assert_ne!(pattern.row(9, 64, 1), pattern.row(9, 64, 2));
        assert_ne!(pattern.row(9, 64, 1)[5..], pattern.row(10, 64, 1)[5..]);
    }

    #[test]
    fn a_row_may_take_every_block() {
        let pattern = BlockPattern { window: 3, global: 2, random: 3 };
        for query in 0..8 {
            assert_eq!(
                pattern.row(query, 8, 1).into_iter().sorted().collect_vec(),
                (0..8).collect_vec()
            );
        }
        let window = BlockPattern { window: 1, global: 0, random: 0 };
        assert_eq!(window.row(5, 1, 1), [0]);
    }
}
