//! Generated positions: the offsets of ragged bags and the rows of lookups. All of them are held in memory.

use super::HELD_LIMIT;
use super::locality::{self, Locality};
use super::random::{Permutation, Random, nth_seed, tensor_seed};
use super::zipf::Zipf;
use crate::model::Source;

/// The maximum number of rows that Zipf ranks are drawn from; binary64 cannot distinguish more ranks.
pub(super) const ZIPF_ROWS: u64 = 1 << 53;

/// Generates offsets of `bags` bags with the given mean length and share of empty bags; `None` if there would be more
/// than `most` lookups.
pub(super) fn ragged(bags: u64, mean: f64, empty: f64, most: u64, seed: u64) -> Option<Vec<i64>> {
    let mut random = Random::new(seed);
    // Lengths uniform from 1 to this number have the mean of the non-empty bags.
    let lengths = if empty < 1.0 { 2.0 * mean / (1.0 - empty) - 1.0 } else { 0.0 };
    let mut end = 0u64;
    let mut offsets = vec![0];
    for _ in 0..bags {
        // Both numbers are drawn for every bag, so that they depend only on the bag's position.
        let (kind, size) = (random.unit(), random.unit());
        if kind >= empty {
            end = end.checked_add(1 + (size * lengths) as u64).filter(|end| *end <= most)?;
        }
        offsets.push(i64::try_from(end).ok()?);
    }
    Some(offsets)
}

/// Generates the offsets of one table's bags, of many tables. Each bag has `lookups` lookups, or has them on average if
/// a share of empty bags is given. Table 0 has the offsets that a model's input `offsets` gets from the same seed.
/// Returns `None` if there are more lookups than memory can hold.
pub fn bag_offsets(
    bags: u64,
    lookups: u64,
    empty: Option<f64>,
    seed: u64,
    table: u64,
) -> Option<Vec<i64>> {
    let most = HELD_LIMIT / 16;
    match empty {
        Some(empty) => {
            ragged(bags, lookups as f64, empty, most, table_seed(seed, "offsets", table))
        }
        _ => fixed(bags, lookups, most),
    }
}

/// Draws the rows of the lookups into one of many tables. A table without rows counts as one row. Table 0 has the rows
/// that a model's input `indices` gets from the same seed.
pub fn bag_lookups(kind: Locality, rows: u64, lookups: u64, seed: u64, table: u64) -> Vec<i64> {
    locality::draw(kind, rows.max(1), lookups as usize, table_seed(seed, "indices", table))
}

/// Returns the seed of a model's input `indices`.
pub fn indices_seed(seed: u64) -> u64 {
    tensor_seed(seed, "indices")
}

fn table_seed(seed: u64, name: &str, table: u64) -> u64 {
    let first = tensor_seed(seed, name);
    if table == 0 { first } else { nth_seed(first, table) }
}

/// Generates offsets of bags of equal length; `None` if there are more than `most` lookups in total.
pub(super) fn fixed(bags: u64, lookups: u64, most: u64) -> Option<Vec<i64>> {
    bags.checked_mul(lookups).filter(|n| *n <= most)?;
    (bags < most).then(|| (0..=bags).map(|bag| (bag * lookups) as i64).collect())
}

/// Returns the bytes per lookup that drawing from a source needs in addition to the result.
pub(super) fn scratch(source: &Source) -> u64 {
    match source {
        Source::Locality(_) => locality::SCRATCH,
        _ => 0,
    }
}

/// Draws the rows of `lookups` lookups into a table of `rows`, which is at least 1 and for Zipf at most [`ZIPF_ROWS`];
/// `None` if the source is not a distribution of rows.
pub(super) fn rows(source: &Source, rows: u64, lookups: usize, seed: u64) -> Option<Vec<i64>> {
    let mut random = Random::new(seed);
    match *source {
        Source::Zipf { exponent } => {
            let scatter = Permutation::new(rows, random.bits());
            let zipf = Zipf::new(rows, exponent);
            Some((0..lookups).map(|_| scatter.at(zipf.rank(&mut random) - 1) as i64).collect())
        }
        Source::Locality(kind) => Some(locality::draw(kind, rows, lookups, seed)),
        Source::Blocks(pattern) => {
            let blocks = (0..).flat_map(|query| pattern.row(query, rows, seed));
            Some(blocks.take(lookups).map(|block| block as i64).collect())
        }
        Source::Uniform { lo, hi } => {
            Some((0..lookups).map(|_| (lo + random.unit() * (hi - lo)).floor() as i64).collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ragged_bags_have_the_mean_and_the_empty_ones() {
        let offsets = ragged(20_000, 80.0, 0.05, u64::MAX, 1).expect("fits");
        let lengths: Vec<i64> = offsets.windows(2).map(|w| w[1] - w[0]).collect();
        let mean = *offsets.last().expect("not empty") as f64 / 20_000.0;
        let empty = lengths.iter().filter(|n| **n == 0).count() as f64 / 20_000.0;
        assert!((mean - 80.0).abs() < 1.0, "mean {mean}");
        assert!((empty - 0.05).abs() < 0.005, "empty {empty}");
        assert_eq!(ragged(0, 80.0, 0.05, 10, 1), Some(vec![0]));
        assert_eq!(ragged(3, 0.0, 1.0, 10, 1), Some(vec![0; 4]));
        assert_eq!(ragged(9, 80.0, 0.0, 10, 1), None);
    }

    #[test]
    fn one_row_is_always_hit() {
        for source in [Source::Zipf { exponent: 1.0 }, Source::Locality(Locality::High)] {
            assert_eq!(rows(&source, 1, 5, 3), Some(vec![0; 5]));
        }
    }
}
