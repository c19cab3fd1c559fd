//! The work of sparse matrices: products sampled at their entries, and products of their columns.

use super::{Counter, Use};
use ember_model::Applied;

impl Counter<'_> {
    /// Counts the products of edges, with this many operations per register of a row, and returns the number of rows
    /// with edges.
    pub(super) fn edges(&mut self, call: &Applied, operations: u64) -> Option<u64> {
        let (indices, offsets) = (call.stored("indices")?, call.stored("offsets")?);
        let (left, right) = (call.value("left")?, call.value("right")?);
        self.whole(indices);
        self.whole(offsets);
        let edges = self.positions(indices)?;
        let own = filled(&self.positions(offsets)?);
        let n = edges.len() as u64;
        let each = self.registers(right.dtype, n.saturating_mul(self.width(right)));
        let first = n + if operations > 2 { own.len() as u64 } else { 0 };
        self.operate(each.saturating_mul(operations).saturating_sub(first));
        self.lookups(right, indices, &edges, Use::Computed)?;
        self.lookups(left, offsets, &own, Use::InOrder)?;
        Some(own.len() as u64)
    }

    /// Counts the products of a matrix that is stored by columns: for each entry a product and a sum of a row. Only rows of
    /// the right side whose columns have entries are read.
    pub(super) fn columns(&mut self, call: &Applied) -> Option<()> {
        let (indices, offsets) = (call.stored("indices")?, call.stored("offsets")?);
        let right = call.value("right")?;
        self.whole(indices);
        self.whole(offsets);
        self.whole(call.stored("weights")?);
        let entries = self.tensor(indices)?.len();
        let products = self.registers(right.dtype, entries.saturating_mul(self.width(right)));
        self.operate(products.saturating_mul(2));
        let own = filled(&self.positions(offsets)?);
        self.lookups(right, offsets, &own, Use::InOrder)
    }
}

/// Returns the rows that have entries, by the offsets of rows.
fn filled(ends: &[u64]) -> Vec<u64> {
    (0u64..).zip(ends.windows(2)).filter(|(_, e)| e[0] < e[1]).map(|(row, _)| row).collect()
}
