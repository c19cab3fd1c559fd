//! Compiles a product of matrices: its tensors, their parts, and the tiles of the matrix unit.

use super::Context;
use crate::error::SimError;
use ember_targets::dlc::{Addr, Dim, Expr, TensorDecl, TensorId};
use ember_targets::machine::tiles;
use ember_values::scalar::DType;
use std::ops::Range;

/// The part of a tensor that an operand of a product is.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The registers with the indices: the number of a matrix in a batch, or the first element of a block.
    pub(crate) index: Vec<usize>,
    /// The rows and columns of a block.
    pub(crate) sides: Option<[Side; 2]>,
    /// The first index of the tensor that the first of the indices counts from.
    pub(crate) from: u64,
}

/// The rows or the columns of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    /// The most there are.
    pub(crate) count: u64,
    /// The register with the index that they stay below.
    pub(crate) limit: usize,
}

/// The numbers of rows and columns of a product, and the extent of the folded dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) rows: u64,
    /// The columns that are computed, which are a part if others are another core's.
    pub(crate) columns: Range<u64>,
    pub(crate) depth: u64,
}

/// A product of matrices, or of batches of them, with its tiles.
#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) out: usize,
    pub(crate) a: usize,
    pub(crate) b: usize,
    pub(crate) dtype: DType,
    /// True if its values are computed, and not only its time.
    pub(crate) computed: bool,
    /// True if `b` is `[n, k]`.
    pub(crate) transposed: bool,
    /// True if every batch has its own `b`.
    pub(crate) own_b: bool,
    /// True if the product is added to what the output holds.
    pub(crate) adds: bool,
    pub(crate) batches: u64,
    /// Of operands that are blocks, the most rows and columns.
    pub(crate) size: Size,
    /// The elements from one row of the output and of the operands to the next.
    pub(crate) strides: [u64; 3],
    /// The elements from one matrix of a batch to the next.
    pub(crate) matrices: [u64; 3],
    /// The elements of one vector register: the side of an accumulator tile, and the depth of a step.
    pub(crate) side: u64,
    /// The number of tiles in the rows and in the columns of a block.
    pub(crate) tiles: [u64; 2],
    /// The parts that the output and the operands are of their tensors.
    pub(crate) chosen: [Option<Chosen>; 3],
    /// The first elements of those that are whole tensors.
    pub(crate) starts: [u64; 3],
    /// The statement, for messages.
    pub(crate) place: String,
}

impl Product {
    /// Returns the rows and columns of a whole block.
    pub(crate) fn block(&self) -> [u64; 2] {
        self.tiles.map(|n| n * self.side)
    }
}

impl Context<'_> {
    /// Checks a product's types and shapes, and lays out its blocks for registers of the given size.
    pub(super) fn product(
        &self,
        operands: [&Addr<Expr>; 3],
        transposed: bool,
        simd_bytes: u64,
        place: &str,
    ) -> Result<Product, SimError> {
        let wrong = |what: &str| SimError::invalid(format!("{place} multiplies {what}"));
        let [out, a, b] = operands.map(|addr| addr.tensor);
        let decl = |id: TensorId| self.program.tensors.get(id.index());
        let (Some(o), Some(x), Some(y)) = (decl(out), decl(a), decl(b)) else {
            return Err(wrong("a tensor that is not declared"));
        };
        self.writable(out, place)?;
        if out == a || out == b {
            return Err(wrong("a matrix into itself"));
        }
        let dtype = x.dtype;
        if !matches!(dtype, DType::F32 | DType::F64) || [o, y].iter().any(|t| t.dtype != dtype) {
            return Err(wrong("other types than f32 or f64"));
        }
        let mut shapes = [self.extents(o)?, self.extents(x)?, self.extents(y)?];
        let (mut starts, mut strides, mut matrices) = ([0; 3], [1; 3], [1; 3]);
        for (at, (shape, addr)) in shapes.iter_mut().zip(operands).enumerate() {
            if let [.., rows, columns] = shape[..] {
                (strides[at], matrices[at]) = (columns, rows * columns);
            }
            match (&addr.rows, &addr.lanes, addr.index.len(), shape.len()) {
                (None, None, 0, _) => {
                    let row: u64 = shape.iter().skip(1).product();
                    starts[at] = self.from(addr.tensor, || true) * row;
                }
                (None, None, 1, 3) => {
                    shape.remove(0);
                }
                (Some(rows), Some(columns), given, rank @ (2 | 3)) if given == rank => {
                    *shape = vec![rows.count.into(), columns.count.into()];
                }
                _ => {
                    return Err(wrong(
                        "a part that is neither a matrix of a batch nor a block of one",
                    ));
                }
            }
        }
        let [o_shape, a_shape, b_shape] = shapes;
        let shapes = (a_shape.split_last_chunk(), b_shape.split_last_chunk());
        let (Some((batch, [rows, depth])), Some((own, &[first, last]))) = shapes else {
            return Err(wrong("tensors without rows and columns"));
        };
        let (inner, columns) = if transposed { (last, first) } else { (first, last) };
        let fits = batch.len() <= 1 && (own.is_empty() || own == batch) && inner == *depth;
        if !fits || o_shape != [batch, &[*rows, columns]].concat() {
            return Err(wrong("shapes that do not match"));
        }
        let within = |part: &Range<u64>| part.start.min(columns)..part.end.min(columns);
        let columns = self.columns.map_or(0..columns, within);
        let (side, tiles) = tiles(simd_bytes, dtype.bytes_of(1), columns.end - columns.start);
        // Batches that share `b` are rows of one product.
        let all: u64 = batch.iter().product();
        let (batches, rows) = if own.is_empty() { (1, all * rows) } else { (all, *rows) };
        Ok(Product {
            out: out.index(),
            a: a.index(),
            b: b.index(),
            dtype,
            computed: self.values.has(dtype),
            transposed,
            own_b: !own.is_empty(),
            adds: false,
            batches,
            size: Size { rows, columns, depth: *depth },
            strides,
            matrices,
            side,
            tiles,
            chosen: [const { None }; 3],
            starts,
            place: place.to_owned(),
        })
    }

    /// Returns a tensor's extents.
    fn extents(&self, decl: &TensorDecl) -> Result<Vec<u64>, SimError> {
        let extent = |dim: &Dim| match *dim {
            Dim::Const(n) => Ok(n),
            Dim::Size(size) => Ok(u64::try_from(self.size(size)?).unwrap_or(0)),
        };
        decl.shape.iter().map(extent).collect()
    }
}
