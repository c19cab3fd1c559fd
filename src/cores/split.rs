//! The ways to divide rows among cores.

use clap::ValueEnum;
use ember_compile::rows::Rows;
use ember_sim::Division;
use std::cmp::Reverse;
use std::ops::Range;

/// The parts that a core has, if it has several: each costs the start of a program, and more of them are more even.
pub(super) const PARTS: u64 = 8;

/// A way to divide rows among cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Split {
    /// Equally many rows in a row for each core.
    Contiguous,
    /// Parts of equally many rows, dealt to the cores in turn.
    Interleaved,
    /// Rows in a row for each core, so that the most lookups of one are as few as possible.
    NonZeros,
    /// Parts of about equally many lookups, the longest first, each to the core that has the least so far.
    LongestFirst,
    /// Parts of equally many rows, each taken by the core that is free first.
    Queue,
    /// Some columns of rows in a row for each core: as many slices as divide the cores, of whole lines of memory.
    Columns,
    /// Lookups of different tables at the same time, with equally many bytes for each core.
    Tables,
    /// Equally many lookups in a row for each core: long rows at the borders are cut, and their pieces added.
    Cut,
    /// Rows in a row for each core, by the time that cores took with the fastest of `contiguous`, `non-zeros` and `cut`.
    Balanced,
}

impl Split {
    /// All of them, in the order of tables.
    pub(crate) const ALL: [Split; 9] = [
        Split::Contiguous,
        Split::Interleaved,
        Split::NonZeros,
        Split::LongestFirst,
        Split::Queue,
        Split::Columns,
        Split::Tables,
        Split::Cut,
        Split::Balanced,
    ];

    /// Returns the name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Split::Contiguous => "contiguous",
            Split::Interleaved => "interleaved",
            Split::NonZeros => "non-zeros",
            Split::LongestFirst => "longest-first",
            Split::Queue => "queue",
            Split::Columns => "columns",
            Split::Tables => "tables",
            Split::Cut => "cut",
            Split::Balanced => "balanced",
        }
    }

    /// Returns true if each core has rows in order, so that the borders between cores can be moved.
    pub(super) fn has_borders(self) -> bool {
        matches!(self, Split::Contiguous | Split::NonZeros | Split::Cut | Split::Balanced)
    }

    /// Divides rows, each as a whole, before anything is run.
    pub(super) fn divide(self, rows: &Rows, cores: u64) -> Division {
        let (own, shared) = match self {
            Split::Contiguous => (each(evenly(rows.count(), cores)), Vec::new()),
            Split::Interleaved => (dealt(evenly(rows.count(), cores * PARTS), cores), Vec::new()),
            Split::NonZeros | Split::Columns | Split::Tables | Split::Cut | Split::Balanced => {
                (each(lightest(rows, cores)), Vec::new())
            }
            Split::LongestFirst => (longest_first(rows, cores), Vec::new()),
            Split::Queue => (vec![Vec::new(); cores as usize], evenly(rows.count(), cores * PARTS)),
        };
        number(own, shared)
    }

    /// Returns the most work that a core has in a division, and the parts of that core, if each core does the same work in
    /// the same time.
    pub(super) fn most(rows: &Rows, division: &Division) -> (u64, usize) {
        let weight = |part: &usize| rows.weight(&division.parts[*part]);
        let own = division.own.iter();
        let mut loads: Vec<(u64, usize)> =
            own.map(|parts| (parts.iter().map(weight).sum(), parts.len())).collect();
        for part in &division.shared {
            if let Some(first) = loads.iter_mut().min() {
                *first = (first.0 + weight(part), first.1 + 1);
            }
        }
        loads.into_iter().max().unwrap_or_default()
    }
}

/// Gives each core one part.
fn each(parts: Vec<Range<u64>>) -> Vec<Vec<Range<u64>>> {
    parts.into_iter().map(|part| vec![part]).collect()
}

/// Cuts rows into equally large parts.
fn evenly(rows: u64, parts: u64) -> Vec<Range<u64>> {
    let at = |part: u64| (u128::from(rows) * u128::from(part) / u128::from(parts)) as u64;
    (0..parts).map(|part| at(part)..at(part + 1)).collect()
}

/// Divides rows in order, given the work before those of each core and all work: each border is at the nearest end of a row.
pub(super) fn by_borders(rows: &Rows, borders: &[u64]) -> Division {
    let (mut row, mut before) = (0, 0);
    let mut place = |at: u64| {
        while let Some(weight) = rows.weights().get(row as usize)
            && before + weight / 2 < at
        {
            before += weight;
            row += 1;
        }
        row
    };
    let [_, within @ .., _] = borders else { return Division::undivided(1) };
    let within: Vec<u64> = within.iter().map(|at| place(*at)).collect();
    let places = || std::iter::once(0).chain(within.iter().copied());
    let parts = places().zip(places().skip(1).chain([rows.count()])).map(|(from, to)| from..to);
    number(each(parts.collect()), Vec::new())
}

/// Deals parts to cores in turn.
fn dealt(parts: Vec<Range<u64>>, cores: u64) -> Vec<Vec<Range<u64>>> {
    let of = |core: u64| parts.iter().skip(core as usize).step_by(cores as usize).cloned();
    (0..cores).map(|core| of(core).collect()).collect()
}

/// Cuts rows in order into as many parts as cores, the heaviest of which is as light as possible.
pub(super) fn lightest(rows: &Rows, cores: u64) -> Vec<Range<u64>> {
    let total: u64 = rows.weights().iter().sum();
    let heaviest = rows.weights().iter().max().copied().unwrap_or(0);
    let (mut low, mut high) = (heaviest.max(total.div_ceil(cores)), total);
    while low < high {
        let most = low + (high - low) / 2;
        if cut(rows, most).len() as u64 <= cores {
            high = most;
        } else {
            low = most + 1;
        }
    }
    let mut parts = cut(rows, high);
    parts.resize(cores as usize, rows.count()..rows.count());
    parts
}

/// Cuts rows in order into parts of at most so much work, or of one row.
fn cut(rows: &Rows, most: u64) -> Vec<Range<u64>> {
    let mut parts: Vec<Range<u64>> = Vec::new();
    let mut work = 0;
    for (row, weight) in (0..).zip(rows.weights()) {
        match parts.last_mut() {
            Some(part) if work + weight <= most => {
                part.end = row + 1;
                work += weight;
            }
            _ => {
                parts.push(row..row + 1);
                work = *weight;
            }
        }
    }
    parts
}

/// Gives each part, the longest first, to the core that has the least so far. Parts of a core that follow each other are
/// one part.
fn longest_first(rows: &Rows, cores: u64) -> Vec<Vec<Range<u64>>> {
    let total: u64 = rows.weights().iter().sum();
    let mut parts = cut(rows, total / (cores * PARTS));
    parts.sort_by_key(|part| Reverse(rows.weight(part)));
    let mut own: Vec<(u64, Vec<Range<u64>>)> = vec![(0, Vec::new()); cores as usize];
    for part in parts {
        if let Some((load, parts)) = own.iter_mut().min_by_key(|(load, _)| *load) {
            *load += rows.weight(&part);
            parts.push(part);
        }
    }
    own.into_iter().map(|(_, parts)| joined(parts)).collect()
}

/// Joins parts that follow each other.
fn joined(mut parts: Vec<Range<u64>>) -> Vec<Range<u64>> {
    parts.sort_by_key(|part| part.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for part in parts {
        match joined.last_mut() {
            Some(last) if last.end == part.start => last.end = part.end,
            _ => joined.push(part),
        }
    }
    joined
}

/// Numbers parts without those that have no rows.
fn number(own: Vec<Vec<Range<u64>>>, shared: Vec<Range<u64>>) -> Division {
    let mut parts = Vec::new();
    let mut number = |of: Vec<Range<u64>>| -> Vec<usize> {
        let some = of.into_iter().filter(|part| !part.is_empty());
        let numbered = some.map(|part| {
            parts.push(part);
            parts.len() - 1
        });
        numbered.collect()
    };
    let own = own.into_iter().map(&mut number).collect();
    let shared = number(shared);
    if parts.is_empty() {
        parts.push(0..0);
    }
    Division { parts, own, shared, ..Division::undivided(0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    quickcheck! {
        fn every_row_is_in_one_part(lengths: Vec<u8>, cores: u8) -> bool {
            let cores = u64::from(cores % 12) + 1;
            let rows = Rows::weighing(lengths.iter().map(|n| u64::from(*n) + 1).collect());
            Split::ALL.into_iter().all(|split| {
                let division = split.divide(&rows, cores);
                let numbers = division.own.iter().flatten().chain(&division.shared);
                let mut all: Vec<u64> =
                    numbers.flat_map(|part| division.parts[*part].clone()).collect();
                all.sort_unstable();
                division.own.len() as u64 == cores && all.into_iter().eq(0..rows.count())
            })
        }

        fn cuts_by_lookups_are_the_lightest(lengths: Vec<u8>) -> bool {
            let rows = Rows::weighing(lengths.iter().map(|n| u64::from(*n) + 1).collect());
            let most = |parts: &[Range<u64>]| parts.iter().map(|part| rows.weight(part)).max();
            let best = (0..=rows.count()).map(|at| most(&[0..at, at..rows.count()])).min();
            most(&lightest(&rows, 2)) == best.flatten()
        }
    }

    #[test]
    fn the_longest_come_first_and_neighbours_are_joined() {
        let rows = Rows::weighing(vec![1, 1, 9, 1, 1, 3]);
        let joined: Vec<String> =
            longest_first(&rows, 2).iter().map(|parts| format!("{parts:?}")).collect();
        assert_eq!(joined, ["[2..3]", "[0..2, 3..6]"]);
    }
}
