//! Splits over tables: cores look up rows of different tables at the same time.
//!
//! Lookups of several tables that do not need each other are steps of one phase. Its work is laid out table after table, and
//! cut into as many equal stretches as there are cores; so the private caches of a core hold rows of few tables. A table at a
//! border is divided by rows.

use ember_compile::rows::Rows;
use ember_sim::Division;
use ember_targets::Step;
use itertools::Itertools;

/// A border within this part of a core's work from the border of a table is moved there: a few rows cost the start of a
/// program.
const NEAR: u64 = 8;

/// A step that looks up rows of tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lookup {
    pub(super) step: Step,
    /// The bytes of the rows that it looks up.
    pub(super) bytes: u64,
}

/// Divides lookups among cores, each of which has equally many bytes to look up. Parts are in the order of cores.
pub(super) fn divide(lookups: &[Lookup], rows: &Rows, cores: usize) -> Division {
    let borders = borders(&lookups.iter().map(|lookup| lookup.bytes).collect_vec(), cores);
    let ends = rows.weights().iter().scan(0, |end, weight| {
        *end += weight;
        Some(*end)
    });
    let ends: Vec<u64> = ends.collect();
    let work = ends.last().copied().unwrap_or(0);
    let row = |lookup: usize, bytes: u64| {
        let (all, bytes) = (u128::from(lookups[lookup].bytes.max(1)), u128::from(bytes));
        ends.partition_point(|end| u128::from(*end) * all <= bytes * u128::from(work)) as u64
    };
    let (mut parts, mut steps, mut own) = (Vec::new(), Vec::new(), Vec::new());
    for ((first, from), (last, to)) in borders.into_iter().tuple_windows() {
        let mut mine = Vec::new();
        for lookup in (first..=last).take_while(|lookup| *lookup < lookups.len()) {
            let start = if lookup == first { row(lookup, from) } else { 0 };
            let end = if lookup == last { row(lookup, to) } else { rows.count() };
            if start < end {
                mine.push(parts.len());
                parts.push(start..end);
                steps.push(lookup);
            }
        }
        own.push(mine);
    }
    if parts.is_empty() {
        // A division has a part at least.
        parts.push(0..0);
        steps.push(0);
    }
    Division { parts, steps, own, ..Division::undivided(0) }
}

/// Returns the places where cores begin, and the end: a number of a lookup and bytes of it.
fn borders(bytes: &[u64], cores: usize) -> Vec<(usize, u64)> {
    let total: u64 = bytes.iter().sum();
    let near = total / (cores as u64 * NEAR);
    let (mut lookup, mut before) = (0, 0);
    let mut place = |core: usize| {
        let at = (u128::from(total) * core as u128 / cores as u128) as u64;
        while lookup < bytes.len() && before + bytes[lookup] <= at {
            before += bytes[lookup];
            lookup += 1;
        }
        match bytes.get(lookup) {
            Some(bytes) if before + bytes - at <= near && at > before => (lookup + 1, 0),
            Some(_) if at - before <= near => (lookup, 0),
            Some(_) => (lookup, at - before),
            None => (lookup, 0),
        }
    };
    let starts = (0..cores).map(&mut place).collect_vec();
    starts.into_iter().chain([(bytes.len(), 0)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    fn lookups(bytes: &[u64]) -> Vec<Lookup> {
        let lookup =
            |bytes: &u64| Lookup { step: Step { access: 0..0, main: 0..0 }, bytes: *bytes };
        bytes.iter().map(lookup).collect()
    }

    quickcheck! {
        fn every_row_of_every_table_is_in_one_part(bytes: Vec<u8>, lengths: Vec<u8>, cores: u8) -> bool {
            let cores = usize::from(cores % 20) + 1;
            let bytes: Vec<u64> = bytes.into_iter().map(|n| u64::from(n) + 1).collect();
            let rows = Rows::weighing(lengths.iter().map(|n| u64::from(*n) + 1).collect());
            let division = divide(&lookups(&bytes), &rows, cores);
            let own = division.own.iter().flatten();
            let mut all: Vec<(usize, u64)> = own
                .flat_map(|part| division.parts[*part].clone().map(|row| (division.steps[*part], row)))
                .collect();
            all.sort_unstable();
            let every = (0..bytes.len()).flat_map(|table| (0..rows.count()).map(move |row| (table, row)));
            division.own.len() == cores && all.into_iter().eq(every)
        }
    }

    #[test]
    fn borders_near_those_of_tables_are_moved_there() {
        assert_eq!(borders(&[8, 8, 8, 8], 4), [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0)]);
        assert_eq!(borders(&[100, 104, 98, 98], 2), [(0, 0), (2, 0), (4, 0)]);
        assert_eq!(borders(&[300, 100], 4), [(0, 0), (0, 100), (0, 200), (1, 0), (2, 0)]);
        assert_eq!(borders(&[10, 10, 10], 2), [(0, 0), (1, 5), (3, 0)]);
    }
}
