//! Compressed sparse rows: the start of each row's entries, and the column of each entry.

use super::{LIMIT, Problem};

/// The bytes held for each row in addition to the entries: its offset, and two more numbers while entries are placed.
pub(super) const ROW_BYTES: u64 = 24;

/// A sparse matrix, or the adjacency of a graph. The entries of row `r` are at `offsets[r] .. offsets[r + 1]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    /// The start of each row, and the end of the last one.
    pub offsets: Vec<u64>,
    /// The column of each entry.
    pub columns: Vec<u32>,
    /// The value of each entry, if entries have values.
    pub values: Option<Vec<f64>>,
    /// The number of columns.
    pub width: u64,
}

/// The entries of a matrix in any order, as read from a file.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// The row and column of each entry.
    pub(super) places: Vec<(u32, u32)>,
    /// The value of each entry; empty if entries have no values.
    pub(super) values: Vec<f64>,
    /// True if an entry away from the diagonal also represents its mirrored entry.
    pub(super) mirrored: bool,
}

impl Csr {
    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.offsets.len() as u64 - 1
    }

    /// Keeps the first rows only.
    pub fn truncate(&mut self, rows: u64) {
        if rows < self.rows() {
            self.offsets.truncate(rows as usize + 1);
            let entries = self.offsets.last().copied().unwrap_or(0) as usize;
            self.columns.truncate(entries);
            if let Some(values) = &mut self.values {
                values.truncate(entries);
            }
        }
    }

    /// Returns copies of the matrix as the blocks of a diagonal, which is how several graphs are one. An error is a
    /// number of columns beyond [`LIMIT`].
    pub(in crate::data) fn side_by_side(self, copies: u64) -> Result<Csr, Problem> {
        let width = self.width.saturating_mul(copies);
        if width > LIMIT {
            return Err(Problem::new(format!("{copies} graphs of {} nodes", self.width))
                .with_help(format!("at most {LIMIT} nodes together")));
        }
        if copies == 1 {
            return Ok(self);
        }
        let mut all = Csr { offsets: vec![0], columns: Vec::new(), values: None, width };
        for copy in 0..copies {
            let first = all.columns.len() as u64;
            all.offsets.extend(self.offsets[1..].iter().map(|offset| first + offset));
            // The limit on columns makes the products fit.
            let shift = (copy * self.width) as u32;
            all.columns.extend(self.columns.iter().map(|column| column + shift));
        }
        all.values = self.values.map(|values| values.repeat(copies as usize));
        Ok(all)
    }

    /// Builds a matrix from its rows in order.
    pub(super) fn of_rows(rows: impl Iterator<Item = Vec<u32>>, width: u64) -> Csr {
        let (mut offsets, mut columns) = (vec![0], Vec::new());
        for row in rows {
            columns.extend(row);
            offsets.push(columns.len() as u64);
        }
        Csr { offsets, columns, values: None, width }
    }

    /// Builds a matrix from rows that hold each undirected edge once: the first `keep` rows with every edge at both of
    /// its ends, self loops once, and columns in ascending order. The rows are iterated twice, to count and to place
    /// the entries, so that nothing else has to be held.
    pub(super) fn both_directions<I: Iterator<Item = Vec<u32>>>(
        rows: impl Fn() -> I,
        keep: u64,
        width: u64,
    ) -> Csr {
        fn each(rows: impl Iterator<Item = Vec<u32>>, keep: u64, mut act: impl FnMut(u32, u32)) {
            for (row, columns) in (0u32..).zip(rows) {
                for column in columns {
                    if u64::from(row) < keep {
                        act(row, column);
                    }
                    if u64::from(column) < keep && column != row {
                        act(column, row);
                    }
                }
            }
        }
        let mut lengths = vec![0u64; keep as usize];
        each(rows(), keep, |row, _| lengths[row as usize] += 1);
        let (offsets, mut next) = starts(&lengths);
        let mut columns = vec![0; offsets.last().map_or(0, |n| *n as usize)];
        each(rows(), keep, |row, column| {
            let at = &mut next[row as usize];
            columns[*at as usize] = column;
            *at += 1;
        });
        for bounds in offsets.windows(2) {
            columns[bounds[0] as usize..bounds[1] as usize].sort_unstable();
        }
        Csr { offsets, columns, values: None, width }
    }

    /// Builds a matrix from entries whose rows are below `rows`. Columns ascend within a row; entries with the same row
    /// and column keep their order.
    pub(super) fn of_entries(entries: &Entries, rows: u64, width: u64) -> Csr {
        let mut placed: Vec<(u32, u32, u32)> = Vec::with_capacity(entries.places.len());
        for (i, &(row, column)) in (0u32..).zip(&entries.places) {
            placed.push((row, column, i));
            if entries.mirrored && row != column {
                placed.push((column, row, i));
            }
        }
        placed.sort_unstable();
        let mut lengths = vec![0u64; rows as usize];
        placed.iter().for_each(|(row, ..)| lengths[*row as usize] += 1);
        let value = |&(_, _, i): &(u32, u32, u32)| entries.values.get(i as usize).copied();
        let valued = entries.places.is_empty() || !entries.values.is_empty();
        Csr {
            offsets: starts(&lengths).0,
            columns: placed.iter().map(|(_, column, _)| *column).collect(),
            values: valued.then(|| placed.iter().filter_map(value).collect()),
            width,
        }
    }
}

/// Returns the starts of rows of these lengths, once with the end of the last row and once without.
fn starts(lengths: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let mut offsets = vec![0];
    offsets.extend(lengths.iter().scan(0, |sum, n| {
        *sum += n;
        Some(*sum)
    }));
    let next = offsets[..lengths.len()].to_vec();
    (offsets, next)
}
