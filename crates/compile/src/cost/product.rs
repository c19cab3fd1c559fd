//! The cost of products of matrices: the work of the matrix unit, and the memory that it reads and writes.

use super::term::{Operand, Priced};
use super::{Cost, Model, Summary};
use ember_targets::machine::tiles;

/// The size of a product: batches of so many rows and columns, each of which folds `depth` products.
struct Size {
    batches: f64,
    rows: f64,
    columns: f64,
    depth: f64,
}

impl Model<'_> {
    /// Prices a product of the matrices `a` and `b`, the second of which may be given transposed, or so many rows of it.
    pub(super) fn product(
        &self,
        term: &Priced<'_>,
        [out, a, b]: [Operand<'_>; 3],
        rows: Option<i64>,
        transposed: bool,
    ) -> Option<Summary> {
        let mut summary = Summary::merge(term.operands)?;
        summary.touched.extend(term.operands.iter().filter_map(|x| x.tensor));
        // A product of matrices of unknown sizes has no competing form, so its own cost decides nothing.
        if let Some((size, whole)) = self.size([out, a], rows) {
            let matrices = self.matrices(b).unwrap_or(1.0);
            summary.cost = summary.cost + self.multiplied(&size, out.summary.element, transposed);
            let Size { batches, rows, columns, depth } = size;
            let element = out.summary.element;
            let read = |elements: f64, of: &Summary| {
                let bytes = elements * element * self.misses(of);
                Cost { dram_bytes: bytes, ..Cost::default() }
            };
            // All strips of rows together read the second matrix once.
            let share = if whole > 0.0 { rows / whole } else { 1.0 };
            let right = matrices * depth * columns * share;
            for (elements, of) in [(batches * rows * depth, a), (right, b)] {
                self.access_memory(&mut summary, of.summary, false, read(elements, of.summary));
            }
            let written = self.rates.write_back(batches * rows * columns * element);
            self.access_memory(&mut summary, out.summary, true, written);
        } else {
            summary.cost = summary.cost + self.rates.operations(1.0);
        }
        summary.admissible().then_some(summary)
    }

    /// Returns the size of a product and the number of its rows without bounds.
    fn size(&self, [out, a]: [Operand<'_>; 2], some: Option<i64>) -> Option<(Size, f64)> {
        let [.., rows, columns] = *self.extents(out)? else { return None };
        let depth = *self.extents(a)?.last()?;
        let own = some.map_or(rows, |some| rows.min(some as f64));
        Some((Size { batches: self.matrices(out)?, rows: own, columns, depth }, rows))
    }

    /// Returns the extents of an operand without those that it gives indices for.
    fn extents(&self, of: Operand<'_>) -> Option<&[f64]> {
        self.workload.extents.get(&of.summary.tensor?)?.get(of.summary.indices..)
    }

    /// Returns the number of matrices in an operand.
    fn matrices(&self, of: Operand<'_>) -> Option<f64> {
        let [batch @ .., _, _] = self.extents(of)? else { return None };
        Some(batch.iter().product())
    }

    /// Returns the cycles of the matrix unit, which loads vectors of both operands for each block of the output and each
    /// step along the folded dimension, turns those along it, and forms outer products.
    fn multiplied(&self, size: &Size, element: f64, transposed: bool) -> Cost {
        let rates = self.rates;
        let (side, [down, across]) =
            tiles(rates.simd_bytes as u64, element as u64, size.columns as u64);
        let [side, down, across] = [side, down, across].map(|n| n as f64);
        let [tall, wide] = [size.rows / side, size.columns / side].map(f64::ceil);
        let [blocks_down, blocks_across] = [tall / down, wide / across].map(f64::ceil);
        let turns = |vectors: f64, along: f64| vectors * (along / side).ceil();
        let left = blocks_across * turns(size.rows, size.depth);
        let (right, turned) = match transposed {
            true => (blocks_down * turns(size.columns, size.depth), 1.0),
            false => (blocks_down * wide * size.depth, 0.0),
        };
        let products = tall * wide * size.depth;
        let stored = size.rows * wide;
        let work = rates.vector(left + right * turned)
            + rates.operations(products + stored)
            + Cost { loaded: left + right, ..rates.operations(left + right) };
        let alone = rates.settled(&(work * size.batches));
        let chained = blocks_down * blocks_across * size.depth * rates.product_latency;
        let least = size.batches * (products / rates.products).max(chained);
        Cost { execute: alone.execute.max(least) + rates.product_startup, ..alone }
    }
}
