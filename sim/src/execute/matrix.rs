//! The matrix unit: products of matrices by outer products of vector registers.
//!
//! A block of the output stays in accumulator tiles while the unit walks the folded dimension, one register per step. A
//! step loads both operands through the core's caches and forms outer products; the last step is followed by the
//! stores; if the product is added to what the output holds, the first one is after loads of that. Each of these is a micro-operation in the core's pipeline, so that the reorder buffer, the ports and the
//! caches limit the unit like everything else. Vectors along the folded dimension are transposed first, by one
//! permutation each. Operands are read in place: they are neither packed nor blocked for the caches.

use crate::code::{Chosen, Product, Size};
use crate::core::{Port, Ready};
use crate::data::Held;
use crate::error::SimError;
use crate::scheduler::Sim;
use ember_values::scalar::DType;

/// A product in progress: the next block and step.
#[derive(Debug)]
pub(super) struct Multiplication {
    batch: u64,
    row: u64,
    column: u64,
    depth: u64,
    /// The first elements of the output and of the operands.
    first: [u64; 3],
    size: Size,
    /// The ready time of each tile of the block.
    tiles: Vec<Ready>,
    /// `None` if they are not computed.
    values: Option<Values>,
}

/// The values of a block and of one step, in the type of the computation.
#[derive(Debug)]
enum Values {
    F32(Block<f32>),
    F64(Block<f64>),
}

/// Row-major values of a block, and of the operands of one step.
#[derive(Debug, Default)]
struct Block<T> {
    sums: Vec<T>,
    a: Vec<T>,
    b: Vec<T>,
    lanes: Vec<u64>,
}

/// The part of a product that one step computes.
#[derive(Clone, Copy, Debug)]
struct Step {
    batch: u64,
    row: u64,
    rows: u64,
    column: u64,
    columns: u64,
    depth: u64,
    depths: u64,
    first: [u64; 3],
}

impl Multiplication {
    fn new(product: &Product, first: [u64; 3], size: Size) -> Multiplication {
        let values = product.computed.then(|| match product.dtype {
            DType::F64 => Values::F64(Block::default()),
            _ => Values::F32(Block::default()),
        });
        let tiles = vec![Ready::default(); product.tiles.iter().product::<u64>() as usize];
        let column = size.columns.start;
        Multiplication { batch: 0, row: 0, column, depth: 0, first, size, tiles, values }
    }

    /// Returns the next step; `None` after the last.
    fn step(&self, product: &Product) -> Option<Step> {
        let [rows, columns] = product.block();
        let Size { rows: all, columns: own, depth } = &self.size;
        let some = self.batch < product.batches && *all > 0 && !own.is_empty();
        some.then(|| Step {
            batch: self.batch,
            row: self.row,
            rows: rows.min(all - self.row),
            column: self.column,
            columns: columns.min(own.end - self.column),
            depth: self.depth,
            depths: product.side.min(depth - self.depth),
            first: self.first,
        })
    }

    /// Advances to the next step. Returns true if the block is complete.
    fn advance(&mut self, step: &Step) -> bool {
        self.depth += step.depths;
        if self.depth < self.size.depth {
            return false;
        }
        self.depth = 0;
        self.column += step.columns;
        if self.column >= self.size.columns.end {
            self.column = self.size.columns.start;
            self.row += step.rows;
        }
        if self.row >= self.size.rows {
            self.row = 0;
            self.batch += 1;
        }
        true
    }
}

impl Product {
    /// Returns the position of row `row` of the left operand at the step's depth.
    fn a_at(&self, step: &Step, row: u64) -> u64 {
        step.first[1] + step.batch * self.matrices[1] + row * self.strides[1] + step.depth
    }

    /// Returns a position in the right operand: at depth `outer` and the step's first column, or, if it is transposed,
    /// at column `outer` and the step's first depth.
    fn b_at(&self, step: &Step, outer: u64) -> u64 {
        let own = if self.own_b { step.batch * self.matrices[2] } else { 0 };
        let inner = if self.transposed { step.depth } else { step.column };
        step.first[2] + own + outer * self.strides[2] + inner
    }

    /// Returns the position of a row of the output at the step's first column.
    fn out_at(&self, step: &Step, row: u64) -> u64 {
        step.first[0] + step.batch * self.matrices[0] + row * self.strides[0] + step.column
    }

    /// Iterates over the rows of the tiles of a step's block: the tile, the position in the output, and the elements.
    fn tile_rows(&self, step: Step) -> impl Iterator<Item = (usize, u64, u64)> {
        (0..step.rows).flat_map(move |row| {
            let at = self.out_at(&step, step.row + row);
            (0..step.columns).step_by(self.side as usize).map(move |first| {
                let tile = row / self.side * self.tiles[1] + first / self.side;
                (tile as usize, at + first, self.side.min(step.columns - first))
            })
        })
    }
}

impl Sim<'_> {
    /// Runs one step of a product. Returns true if it was the last.
    pub(super) fn multiply(&mut self, product: &Product) -> Result<bool, SimError> {
        let mut at = match self.execution.product.take() {
            Some(at) => at,
            None => {
                let (first, size) = self.placed(product)?;
                self.core.wait(self.core.clock + self.machine.matrix.startup_cycles, None);
                Box::new(Multiplication::new(product, first, size))
            }
        };
        let Some(step) = at.step(product) else { return Ok(true) };
        match &mut at.values {
            Some(Values::F32(block)) => block.step(product, &step, &self.tensors),
            Some(Values::F64(block)) => block.step(product, &step, &self.tensors),
            None => {}
        }
        self.step_time(product, &step, &mut at.tiles);
        if at.advance(&step) {
            self.store_time(product, &step, &mut at.tiles);
            let out = &mut self.tensors[product.out];
            match &mut at.values {
                Some(Values::F32(block)) => block.store(product, &step, out),
                Some(Values::F64(block)) => block.store(product, &step, out),
                None => {}
            }
        }
        let done = at.step(product).is_none();
        self.execution.product = (!done).then_some(at);
        Ok(done)
    }

    /// Returns the first elements of the output and of the operands of a product, and its size.
    fn placed(&self, product: &Product) -> Result<([u64; 3], Size), SimError> {
        let mut first = product.starts;
        // Of the output, the left and the right operand, the rows and columns of those that are blocks.
        let mut sides: [Option<[u64; 2]>; 3] = [None; 3];
        for (at, tensor) in [product.out, product.a, product.b].into_iter().enumerate() {
            let Some(chosen) = &product.chosen[at] else { continue };
            let lanes = &self.execution.lanes;
            let index: Vec<u64> = chosen.index.iter().map(|slot| lanes[*slot]).collect();
            let rank = index.len();
            if let Some(own) = &chosen.sides {
                let active = |dimension: usize| {
                    let own = &own[dimension + 2 - rank];
                    let left = (lanes[own.limit] as i64).saturating_sub(index[dimension] as i64);
                    left.clamp(0, own.count as i64) as u64
                };
                sides[at] = Some([active(rank - 2), active(rank - 1)]);
            }
            first[at] = self.first(product, chosen, tensor, &index, sides[at])?;
        }
        let Size { rows, columns, depth } = product.size.clone();
        let [out, a, b] = sides;
        let b = b.map(|[x, y]| if product.transposed { [y, x] } else { [x, y] });
        // Operands that are no blocks are as large as the blocks may be.
        let all = |declared: u64, blocks: [Option<u64>; 2]| {
            let [one, other] = blocks.map(|block| block.unwrap_or(declared));
            (one == other).then_some(one)
        };
        let size = (
            all(rows, [out, a].map(|side| side.map(|[rows, _]| rows))),
            all(columns.end, [out, b].map(|side| side.map(|[_, columns]| columns))),
            all(depth, [a.map(|[_, depth]| depth), b.map(|[depth, _]| depth)]),
        );
        match size {
            (Some(rows), Some(end), Some(depth)) => {
                Ok((first, Size { rows, columns: columns.start..end, depth }))
            }
            _ => {
                let place = &product.place;
                let all = columns.end;
                let shown = |at: usize, whole: [u64; 2]| {
                    let [rows, columns] = sides[at].unwrap_or(whole);
                    format!("({rows} {columns})")
                };
                let right = if product.transposed { [all, depth] } else { [depth, all] };
                let (a, b) = (shown(1, [rows, depth]), shown(2, right));
                let out = shown(0, [rows, all]);
                let blocks = format!("{place} multiplies blocks that do not match");
                Err(SimError::invalid(format!("{blocks}: {a} by {b} into {out}")))
            }
        }
    }

    /// Returns the first element of a part of a tensor, of which `active` are the rows and columns if it is a block.
    fn first(
        &self,
        product: &Product,
        chosen: &Chosen,
        tensor: usize,
        index: &[u64],
        active: Option<[u64; 2]>,
    ) -> Result<u64, SimError> {
        let held = &self.tensors[tensor];
        let rank = index.len();
        let mut first = 0;
        for (dimension, extent) in held.shape.iter().enumerate() {
            let given = index.get(dimension).copied().unwrap_or(0);
            let from = if dimension == 0 { chosen.from } else { 0 };
            let count = match active {
                Some(active) if dimension + 2 >= rank => active[dimension + 2 - rank],
                _ => u64::from(dimension < rank),
            };
            // As an unsigned number, a negative index is above every extent.
            let at = given.wrapping_add(from);
            let last = at.wrapping_add(count).wrapping_sub(1);
            if count > 0 && (at >= *extent || last >= *extent) {
                return Err(SimError::OutOfBounds {
                    tensor: held.name.clone(),
                    place: product.place.clone(),
                    index: if at >= *extent { at } else { last } as i64,
                    dimension,
                    extent: *extent,
                });
            }
            first = first * extent + if count > 0 { at } else { 0 };
        }
        Ok(first)
    }

    /// Schedules the loads of a step's operands and its outer products.
    fn step_time(&mut self, product: &Product, step: &Step, tiles: &mut [Ready]) {
        let side = product.side as usize;
        let mut left = vec![Ready::default(); product.tiles[0] as usize];
        for row in 0..step.rows {
            let at = product.a_at(step, step.row + row);
            let turned = self.load_turned(product.a, at, step.depths);
            let tile = &mut left[row as usize / side];
            *tile = (*tile).max(turned);
        }
        let across = step.columns.div_ceil(product.side) as usize;
        let mut right = vec![Ready::default(); across];
        if product.transposed {
            for column in 0..step.columns {
                let at = product.b_at(step, step.column + column);
                let turned = self.load_turned(product.b, at, step.depths);
                let tile = &mut right[column as usize / side];
                *tile = (*tile).max(turned);
            }
        }
        let down = step.rows.div_ceil(product.side) as usize;
        if product.adds && step.depth == 0 {
            self.load_tiles(product, step, tiles);
        }
        let latency = self.machine.matrix.product_latency;
        for depth in 0..step.depths {
            if !product.transposed {
                let at = product.b_at(step, step.depth + depth);
                for (tile, ready) in right.iter_mut().enumerate() {
                    let first = tile as u64 * product.side;
                    let n = product.side.min(step.columns - first);
                    *ready = self.load_vector(product.b, at + first, n);
                }
            }
            for (row, &left) in left.iter().take(down).enumerate() {
                for (column, &right) in right.iter().enumerate() {
                    let tile = &mut tiles[row * product.tiles[1] as usize + column];
                    *tile = self.core.operate(Port::Matrix, left.max(right).max(*tile), latency);
                }
            }
        }
        self.memory.counters.macs += step.rows * step.columns * step.depths;
    }

    /// Schedules the loads of what the output holds of a block, tile row by tile row.
    fn load_tiles(&mut self, product: &Product, step: &Step, tiles: &mut [Ready]) {
        for (tile, at, n) in product.tile_rows(*step) {
            let loaded = self.load_vector(product.out, at, n);
            tiles[tile] = tiles[tile].max(loaded);
        }
    }

    /// Schedules the stores of a block, tile row by tile row, and clears its tiles.
    fn store_time(&mut self, product: &Product, step: &Step, tiles: &mut [Ready]) {
        for (tile, at, n) in product.tile_rows(*step) {
            let (from, to) = self.tensors[product.out].bytes(at, n);
            self.store_span(from, to, tiles[tile]);
        }
        tiles.fill(Ready::default());
    }

    /// Schedules the load of a vector; returns its ready time.
    fn load_vector(&mut self, tensor: usize, position: u64, n: u64) -> Ready {
        let tensor = &self.tensors[tensor];
        let (from, to) = tensor.bytes(position, n);
        self.memory.counters.elements += n;
        self.load_span(from, to, Ready::default())
    }

    /// Schedules the load of a vector along the folded dimension and its transposition.
    fn load_turned(&mut self, tensor: usize, position: u64, n: u64) -> Ready {
        if n == 0 {
            return Ready::default();
        }
        let loaded = self.load_vector(tensor, position, n);
        self.core.operate(Port::Vector, loaded, self.core_figures.permute_latency)
    }
}

/// A type that products are computed in; its products and sums are each rounded.
trait Real: Copy + Default {
    fn of(raw: u64) -> Self;
    fn raw(self) -> u64;
    fn add_product(self, a: Self, b: Self) -> Self;
}

macro_rules! real {
    ($t:ty, $bits:ty) => {
        impl Real for $t {
            #[inline(always)]
            fn of(raw: u64) -> Self {
                <$t>::from_bits(raw as $bits)
            }

            #[inline(always)]
            fn raw(self) -> u64 {
                u64::from(self.to_bits())
            }

            #[inline(always)]
            fn add_product(self, a: Self, b: Self) -> Self {
                self + a * b
            }
        }
    };
}

real!(f32, u32);
real!(f64, u64);

impl<T: Real> Block<T> {
    /// Adds a step's outer products to the sums, which start from +0.0 or from what the output holds.
    fn step(&mut self, product: &Product, step: &Step, tensors: &[Held]) {
        let (columns, depths) = (step.columns as usize, step.depths as usize);
        if step.depth == 0 {
            self.sums.clear();
            self.sums.resize(step.rows as usize * columns, T::default());
            if product.adds {
                for (sums, row) in self.sums.chunks_exact_mut(columns).zip(step.row..) {
                    let at = product.out_at(step, row);
                    read(&tensors[product.out], at, &mut self.lanes, sums.iter_mut());
                }
            }
        }
        self.a.resize(step.rows as usize * depths, T::default());
        self.b.resize(depths * columns, T::default());
        for row in 0..step.rows {
            let at = product.a_at(step, step.row + row);
            let to = &mut self.a[row as usize * depths..][..depths];
            read(&tensors[product.a], at, &mut self.lanes, to.iter_mut());
        }
        let b = &tensors[product.b];
        if product.transposed {
            for column in 0..columns {
                let at = product.b_at(step, step.column + column as u64);
                let to = self.b[column.min(depths * columns)..].iter_mut().step_by(columns);
                read(b, at, &mut self.lanes, to.take(depths));
            }
        } else {
            for (depth, to) in self.b.chunks_exact_mut(columns).enumerate() {
                let at = product.b_at(step, step.depth + depth as u64);
                read(b, at, &mut self.lanes, to.iter_mut());
            }
        }
        // The depths are the second innermost loop, so that each element is folded in their order while the columns are
        // processed together.
        for (row, sums) in self.sums.chunks_exact_mut(columns).enumerate() {
            let a = &self.a[row * depths..][..depths];
            let (fours, rest) = a.as_chunks();
            let mut b = self.b.chunks_exact(columns);
            for &[a0, a1, a2, a3] in fours {
                let (Some(b0), Some(b1), Some(b2), Some(b3)) =
                    (b.next(), b.next(), b.next(), b.next())
                else {
                    break;
                };
                for ((((sum, &b0), &b1), &b2), &b3) in
                    sums.iter_mut().zip(b0).zip(b1).zip(b2).zip(b3)
                {
                    let two = sum.add_product(a0, b0).add_product(a1, b1);
                    *sum = two.add_product(a2, b2).add_product(a3, b3);
                }
            }
            for (&a, b) in rest.iter().zip(b) {
                for (sum, &b) in sums.iter_mut().zip(b) {
                    *sum = sum.add_product(a, b);
                }
            }
        }
    }

    /// Writes the sums to the output.
    fn store(&mut self, product: &Product, step: &Step, out: &mut Held) {
        for (row, sums) in self.sums.chunks_exact(step.columns as usize).enumerate() {
            self.lanes.clear();
            self.lanes.extend(sums.iter().map(|x| x.raw()));
            out.write(product.out_at(step, step.row + row as u64), &self.lanes);
        }
    }
}

/// Reads contiguous elements at a position, as many as the destination holds.
#[inline(always)]
fn read<'a, T: Real + 'a>(
    from: &Held,
    position: u64,
    lanes: &mut Vec<u64>,
    to: impl ExactSizeIterator<Item = &'a mut T>,
) {
    lanes.resize(to.len(), 0);
    from.read(position, lanes);
    to.zip(lanes.iter()).for_each(|(to, &raw)| *to = T::of(raw));
}
