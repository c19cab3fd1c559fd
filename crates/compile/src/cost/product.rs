//! The cost of products of matrices: the work of the matrix unit, and the memory that it reads and writes.

use super::term::{Operand, Priced};
use super::{Cost, Model, Summary};
use egg::Id;
use ember_targets::machine::tiles;
use ember_values::primitive::form::Block;

/// The size of a product: batches of so many rows and columns, each of which folds `depth` products.
#[derive(Clone, Copy)]
struct Size {
    batches: f64,
    rows: f64,
    columns: f64,
    depth: f64,
}

impl Model<'_> {
    /// Prices a product of the matrices `a` and `b`, the second of which may be given transposed, or a block of it.
    pub(super) fn product(
        &self,
        term: &Priced<'_>,
        [out, a, b]: [Operand<'_>; 3],
        block: Block<Operand<'_>>,
        transposed: bool,
    ) -> Option<Summary> {
        let mut summary = Summary::merge(term.operands)?;
        summary.touched.extend(term.operands.iter().filter_map(|x| x.tensor));
        // A product of matrices of unknown sizes has no competing form, so its own cost decides nothing.
        if let Some(size) = self.size(term, [out, a, b], block) {
            summary.cost = summary.cost + self.multiplied(&size, out.summary.element, transposed);
            let Size { batches, rows, columns, depth } = size;
            let element = out.summary.element;
            let left = (batches * rows * depth, a.summary, place_of_first(a, block));
            let right = self.matrices(b).unwrap_or(1.0) * depth * columns;
            let right = (right, b.summary, place_of_second(b, block));
            let [left, right] = [left, right].map(|(elements, of, place)| {
                let once = self.repeated(&summary, &place).recip();
                (elements * element * self.misses(of), once, placed(of, &place))
            });
            let row = self.extents(b).and_then(|extents| extents.last()).map(|n| n * element);
            self.await_lines(&mut summary, (right.0 * right.1, &right.2), row.unwrap_or(0.0));
            for (bytes, once, of) in [left, right] {
                // Of a finished program, the loops around pay once for what they read again.
                let dram_bytes = if self.is_finished_program() { bytes } else { bytes * once };
                let read = Cost { dram_bytes, ..Cost::default() };
                self.access_memory(&mut summary, &of, false, read);
            }
            let written = batches * rows * columns * element;
            let result = placed(out.summary, &place_of_result(out, block));
            match block {
                // What is added up stays in the caches until it is finished.
                Block::Added(_) | Block::Part { .. } => {
                    summary.chain(&result.variables(), written);
                }
                _ => {
                    let written = self.rates.write_back(written);
                    self.access_memory(&mut summary, &result, true, written);
                }
            }
        } else {
            summary.cost = summary.cost + self.rates.operations(1.0);
        }
        summary.admissible().then_some(summary)
    }

    /// Returns how many iterations of the loops around a product read the same, whose place depends on these terms: it is
    /// still in the caches.
    fn repeated(&self, product: &Summary, place: &[&Summary]) -> f64 {
        let depends = |key: &Id| {
            let own = |x: &&Summary| x.stream_scope.contains(key) || x.execute_scope.contains(key);
            place.iter().any(own)
        };
        let loops = product.stream_scope.union(&product.execute_scope);
        loops.filter(|key| !depends(key)).map(|key| self.trips(*key).max(1.0)).product()
    }

    /// Returns the size of a block of a product.
    fn size(
        &self,
        term: &Priced<'_>,
        [out, a, b]: [Operand<'_>; 3],
        block: Block<Operand<'_>>,
    ) -> Option<Size> {
        let [.., rows, columns] = *self.extents(out)? else { return None };
        let batches = self.matrices(out)?;
        let whole = Size { batches, rows, columns, depth: *self.extents(a)?.last()? };
        let size = match block {
            Block::Whole => whole,
            Block::Rows([count, ..]) => {
                let count = term.number(count.id).map_or(rows, |count| count as f64);
                Size { rows: rows.min(count), ..whole }
            }
            Block::Columns(_) => Size { columns: *self.extents(b)?.first()?, ..whole },
            Block::Added(_) => Size { depth: *self.extents(b)?.first()?, ..whole },
            Block::Part { rows: [count, ..], depth: [deep, ..], columns: some } => {
                let most = |all: f64, of: Operand<'_>| {
                    term.number(of.id).map_or(all, |count| all.min(count as f64))
                };
                Size {
                    rows: most(rows, count),
                    depth: most(whole.depth, deep),
                    columns: some.map_or(columns, |[wide, ..]| most(columns, wide)),
                    ..whole
                }
            }
        };
        Some(size)
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

/// Returns the summary of a factor whose place depends on these terms.
fn placed(of: &Summary, place: &[&Summary]) -> Summary {
    let mut placed = of.clone();
    for term in place {
        placed.stream_scope.unite(&term.stream_scope);
        placed.execute_scope.unite(&term.execute_scope);
    }
    placed
}

/// Returns the terms that the place of a product's result depends on, of which a block may be written.
fn place_of_result<'a>(out: Operand<'a>, block: Block<Operand<'a>>) -> Vec<&'a Summary> {
    match block {
        Block::Whole | Block::Added(_) => vec![out.summary],
        Block::Rows([_, _, first]) | Block::Columns(first) => vec![out.summary, first.summary],
        Block::Part { rows: [_, _, row], columns, .. } => [out, row]
            .into_iter()
            .chain(columns.map(|[.., left]| left))
            .map(|x| x.summary)
            .collect(),
    }
}

/// Returns the terms that the place of a product's first factor depends on, of which a block may be read.
fn place_of_first<'a>(a: Operand<'a>, block: Block<Operand<'a>>) -> Vec<&'a Summary> {
    match block {
        Block::Whole | Block::Columns(_) => vec![a.summary],
        Block::Rows([_, _, first]) | Block::Added(first) => vec![a.summary, first.summary],
        Block::Part { rows: [_, _, row], depth: [_, _, from], .. } => {
            vec![a.summary, row.summary, from.summary]
        }
    }
}

/// Returns the terms that the place of a product's second factor depends on.
fn place_of_second<'a>(b: Operand<'a>, block: Block<Operand<'a>>) -> Vec<&'a Summary> {
    match block {
        Block::Part { depth: [_, _, from], columns, .. } => {
            [b, from].into_iter().chain(columns.map(|[.., left]| left)).map(|x| x.summary).collect()
        }
        _ => vec![b.summary],
    }
}
