//! Sets of rows of classes; they record the matches that a rule has been applied to.

use egg::Id;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// A set of rows of one width. The rows are contiguous in one allocation.
#[derive(Debug, Default)]
pub(super) struct RowSet {
    width: usize,
    cells: Vec<Id>,
    table: HashTable<u32>,
}

impl RowSet {
    /// Creates an empty set of rows of `width` classes.
    pub fn new(width: usize) -> RowSet {
        RowSet { width, cells: Vec::new(), table: HashTable::new() }
    }

    /// Returns true if the set contains the row.
    pub fn contains(&self, row: &[Id]) -> bool {
        self.table.find(hash(row), |&at| self.row(at) == row).is_some()
    }

    /// Adds a row that is not in the set. A full set (four billion rows) is left unchanged.
    pub fn insert(&mut self, row: &[Id]) {
        debug_assert_eq!(row.len(), self.width);
        let Ok(at) = u32::try_from(self.table.len()) else { return };
        self.cells.extend_from_slice(row);
        let (cells, width) = (&self.cells, self.width);
        self.table.insert_unique(hash(row), at, |&at| hash(cell_row(cells, width, at)));
    }

    fn row(&self, at: u32) -> &[Id] {
        cell_row(&self.cells, self.width, at)
    }
}

fn cell_row(cells: &[Id], width: usize, at: u32) -> &[Id] {
    let start = at as usize * width;
    &cells[start..start + width]
}

fn hash(row: &[Id]) -> u64 {
    let mut hasher = FxHasher::default();
    for id in row {
        hasher.write_usize(usize::from(*id));
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_was_inserted() {
        let row = |n: usize| [Id::from(n), Id::from(n * n)];
        let mut set = RowSet::new(2);
        (0..1000).step_by(2).for_each(|n| set.insert(&row(n)));
        assert!((0..1000).all(|n| set.contains(&row(n)) == (n % 2 == 0)));
    }
}
