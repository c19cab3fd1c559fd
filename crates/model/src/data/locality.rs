//! Locality of lookups, defined and measured by the reuse distance.
//!
//! The *reuse distance* of a lookup is the number of distinct other rows looked up since the last lookup of its row;
//! the first lookup of a row is *cold*. A cache of `n` rows with least-recently-used replacement hits exactly the
//! lookups with a distance below `n` (Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems
//! Journal 9(2), 1970). The distribution therefore gives the hit rate of each level of a memory hierarchy.
//!
//! A locality is a distribution of reuse distances. The share of lookups below a distance is
//!
//! | locality | 256 rows | 2,048 rows | 16,384 rows |
//! |---|---|---|---|
//! | low    |  2% |  5% | 15% |
//! | medium | 20% | 40% | 60% |
//! | high   | 55% | 80% | 92% |
//!
//! Each band between two bounds (the first from 1) is uniform in the logarithm. All other lookups are cold. Rows of 256
//! bytes (64 columns of f32) fill 64 KiB, 512 KiB and 4 MiB at the three bounds. Indices are drawn with an LRU stack: a
//! lookup draws a distance and takes the row at that depth of the stack. A distance beyond the rows seen so far is
//! cold, so a short run falls short of the shares while its stack fills. A cold lookup after every row was seen takes
//! the least recently used row.

use super::random::{Permutation, Random};
use rustc_hash::FxHashMap;

/// The locality of lookups: the typical time until a row is looked up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Locality {
    /// Nearly every lookup accesses a new row.
    Low,
    /// Two lookups of five hit 2,048 rows.
    Medium,
    /// Four lookups of five hit 2,048 rows.
    High,
}

/// The distances whose shares define a locality, in rows.
pub const BOUNDS: [u64; 3] = [256, 2_048, 16_384];

impl Locality {
    /// Every locality.
    pub const ALL: [Locality; 3] = [Locality::Low, Locality::Medium, Locality::High];

    /// Returns the name in model files.
    pub fn name(self) -> &'static str {
        match self {
            Locality::Low => "low",
            Locality::Medium => "medium",
            Locality::High => "high",
        }
    }

    /// Returns the share of lookups with a reuse distance below each of [`BOUNDS`].
    pub fn shares(self) -> [f64; 3] {
        match self {
            Locality::Low => [0.02, 0.05, 0.15],
            Locality::Medium => [0.20, 0.40, 0.60],
            Locality::High => [0.55, 0.80, 0.92],
        }
    }

    /// Draws a reuse distance; `None` for a cold lookup.
    fn distance(self, random: &mut Random) -> Option<u64> {
        let u = random.unit();
        let band = self.shares().iter().position(|share| u < *share)?;
        let (from, to) = (if band == 0 { 1 } else { BOUNDS[band - 1] } as f64, BOUNDS[band] as f64);
        let distance = (from * (to / from).powf(random.unit())) as u64;
        Some(distance.min(BOUNDS[band] - 1))
    }
}

/// Draws the row indices of `lookups` lookups into `rows` rows, at least one.
pub(super) fn draw(locality: Locality, rows: u64, lookups: usize, seed: u64) -> Vec<i64> {
    let mut random = Random::new(seed);
    let scatter = Permutation::new(rows, random.bits());
    let mut stack = Stack::new(lookups);
    let mut indices: Vec<i64> = Vec::with_capacity(lookups);
    for now in 0..lookups {
        let fresh = stack.len() as u64;
        let drawn = locality.distance(&mut random).filter(|d| *d < fresh);
        let depth = drawn.or((fresh >= rows).then(|| fresh.saturating_sub(1)));
        let row = match depth {
            Some(depth) => {
                let last = stack.at(depth as usize);
                stack.remove(last);
                indices[last]
            }
            None => scatter.at(fresh) as i64,
        };
        stack.push(now);
        indices.push(row);
    }
    indices
}

/// A histogram of the reuse distances of lookups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReuseHistogram {
    /// The number of first lookups of a row.
    pub cold: u64,
    /// The number of lookups by distance: entry 0 for distance 0, entry `k` for distances `2^(k-1) .. 2^k`.
    pub buckets: Vec<u64>,
}

impl ReuseHistogram {
    /// Returns the number of lookups.
    pub fn lookups(&self) -> u64 {
        self.cold + self.buckets.iter().sum::<u64>()
    }

    /// Returns the share of lookups with a reuse distance below `2^bits`; 0 if there are no lookups.
    pub fn share_below(&self, bits: usize) -> f64 {
        let below: u64 = self.buckets.iter().take(bits + 1).sum();
        below as f64 / self.lookups().max(1) as f64
    }
}

/// Measures the reuse distances of a sequence of lookups, in time `n log n`.
pub fn reuse_distances(indices: impl ExactSizeIterator<Item = i64>) -> ReuseHistogram {
    let mut histogram = ReuseHistogram::default();
    let mut stack = Stack::new(indices.len());
    let mut last: FxHashMap<i64, usize> = FxHashMap::default();
    for (now, row) in indices.enumerate() {
        match last.insert(row, now) {
            None => histogram.cold += 1,
            Some(before) => {
                let distance = stack.depth(before);
                let bucket = (usize::BITS - distance.leading_zeros()) as usize;
                if histogram.buckets.len() <= bucket {
                    histogram.buckets.resize(bucket + 1, 0);
                }
                histogram.buckets[bucket] += 1;
                stack.remove(before);
            }
        }
        stack.push(now);
    }
    histogram
}

/// An LRU stack over times, in which each row has the time of its last lookup. A Fenwick tree counts the times in use,
/// so that depth and time can be converted into each other in logarithmic time.
struct Stack {
    tree: Vec<u32>,
    len: usize,
}

impl Stack {
    /// The bytes held for each lookup, in addition to the lookup itself.
    const BYTES: u64 = 4;

    fn new(times: usize) -> Stack {
        Stack { tree: vec![0; times + 1], len: 0 }
    }

    fn len(&self) -> usize {
        self.len
    }

    fn push(&mut self, time: usize) {
        self.len += 1;
        self.change(time, 1);
    }

    fn remove(&mut self, time: usize) {
        self.len -= 1;
        self.change(time, u32::MAX);
    }

    /// Adds to the count at a time, modulo 2^32.
    fn change(&mut self, time: usize, by: u32) {
        let mut i = time + 1;
        while i < self.tree.len() {
            self.tree[i] = self.tree[i].wrapping_add(by);
            i += i & i.wrapping_neg();
        }
    }

    /// Returns the number of rows above the row at a time, which must be in the stack.
    fn depth(&self, time: usize) -> usize {
        let (mut i, mut up_to) = (time + 1, 0);
        while i > 0 {
            up_to += self.tree[i] as usize;
            i &= i - 1;
        }
        self.len - up_to
    }

    /// Returns the time of the row at a depth, which must be less than the number of rows.
    fn at(&self, depth: usize) -> usize {
        // The number of rows at earlier times that remain to be skipped.
        let mut before = self.len - 1 - depth;
        let mut i = 0;
        let mut bit = self.tree.len().next_power_of_two();
        while bit > 0 {
            if let Some(&count) = self.tree.get(i + bit).filter(|c| **c as usize <= before) {
                i += bit;
                before -= count as usize;
            }
            bit /= 2;
        }
        i
    }
}

/// The bytes that [`draw`] holds for each lookup in addition to the result.
pub(super) const SCRATCH: u64 = Stack::BYTES;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_distinct_rows_between() {
        let rows = [1, 1, 2, 3, 2, 1, 1];
        let histogram = reuse_distances(rows.into_iter());
        // The distances are: cold, 0, cold, cold, 1, 2, 0.
        assert_eq!(histogram, ReuseHistogram { cold: 3, buckets: vec![2, 1, 1] });
        assert_eq!(histogram.lookups(), 7);
        assert_eq!(reuse_distances([].into_iter()).share_below(3), 0.0);
    }

    #[test]
    fn drawn_indices_have_the_distances_that_define_them() {
        for locality in Locality::ALL {
            let indices = draw(locality, 1_000_000, 500_000, 5);
            let histogram = reuse_distances(indices.iter().copied());
            let shares = [8, 11, 14].map(|bits| histogram.share_below(bits));
            for (got, wanted) in shares.into_iter().zip(locality.shares()) {
                assert!((got - wanted).abs() < 0.02, "{locality:?}: {shares:?}");
            }
        }
    }

    #[test]
    fn few_rows_are_taken_in_turn() {
        let indices = draw(Locality::Low, 3, 1_000, 5);
        assert!(indices.iter().all(|i| (0..3).contains(i)));
        assert_eq!(draw(Locality::High, 1, 4, 5), [0; 4]);
    }
}
