//! Addresses: elements, runs and blocks of tensors.

use super::{Dim, Expr, TensorId};
use ember_values::scalar::Scalar;

/// An element of a tensor, a run of contiguous elements along its last dimension, or a block of a matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Addr<I> {
    /// The tensor.
    pub tensor: TensorId,
    /// One scalar index per dimension; for a run, the last is the index of lane 0.
    pub index: Vec<I>,
    /// The lanes of a run; `None` for a single element.
    pub lanes: Option<Lanes<I>>,
    /// The rows of a block of a matrix, which start at the last index but one; `lanes` are then its columns. Only an operand
    /// of a product is a block.
    pub rows: Option<Lanes<I>>,
}

impl<I> Addr<I> {
    /// Iterates over its indices, and the bounds of a run's lanes and of a block's rows.
    pub fn expressions(&self) -> impl Iterator<Item = &I> {
        let ranges = self.lanes.iter().chain(&self.rows);
        self.index.iter().chain(ranges.map(|range| &range.limit))
    }

    /// Iterates over the same, to change them.
    pub fn expressions_mut(&mut self) -> impl Iterator<Item = &mut I> {
        let ranges = self.lanes.iter_mut().chain(&mut self.rows);
        self.index.iter_mut().chain(ranges.map(|range| &mut range.limit))
    }

    /// Returns the address of a whole tensor, as a product of matrices has it.
    pub fn whole(tensor: TensorId) -> Addr<I> {
        Addr { tensor, index: Vec::new(), lanes: None, rows: None }
    }
}

impl Addr<Expr> {
    /// Returns the block of some rows of a whole matrix, with all of its columns; `None` of another tensor, or of an unknown
    /// number of columns.
    pub fn some_rows(
        tensor: TensorId,
        shape: &[Dim],
        rows: &Lanes<Expr>,
        first: &Expr,
    ) -> Option<Addr<Expr>> {
        let side = Side { run: rows.clone(), first: first.clone() };
        Addr::whole(tensor).block(shape, [Some(side), None])
    }

    /// Returns the block of a matrix with all of its rows and as many columns from one on as another matrix has rows; `None`
    /// if extents are not known numbers. A matrix is a tensor or one matrix of a batch; the shapes are those of the tensors.
    pub fn some_columns(
        &self,
        shape: &[Dim],
        (other, others): (&Addr<Expr>, &[Dim]),
        first: &Expr,
    ) -> Option<Addr<Expr>> {
        let count = extent(others.get(other.index.len())?)?;
        let run = Lanes { count, limit: number(extent(shape.last()?)?) };
        self.block(shape, [None, Some(Side { run, first: first.clone() })])
    }

    /// Returns a block of a matrix; a side that is not given has all rows or columns. `None` if it is not known how many these
    /// are.
    pub fn block(&self, shape: &[Dim], sides: [Option<Side>; 2]) -> Option<Addr<Expr>> {
        let &[rows, columns] = shape.get(self.index.len()..)? else { return None };
        let all = |dim: &Dim| {
            let count = extent(dim)?;
            Some(Side { run: Lanes { count, limit: number(count) }, first: number(0) })
        };
        let [down, across] = sides;
        let (down, across) = (down.or_else(|| all(&rows))?, across.or_else(|| all(&columns))?);
        let index = [&self.index[..], &[down.first, across.first]].concat();
        let (rows, lanes) = (Some(down.run), Some(across.run));
        (self.lanes.is_none()).then_some(Addr { tensor: self.tensor, index, lanes, rows })
    }
}

/// A side of a block: its rows or its columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Their number, and the bound that they stay below.
    pub run: Lanes<Expr>,
    /// The first of them.
    pub first: Expr,
}

fn number(n: u32) -> Expr {
    Expr::Const(Scalar::I64(n.into()))
}

/// Returns an extent that is a known number of lanes.
fn extent(dim: &Dim) -> Option<u32> {
    match dim {
        Dim::Const(n) => u32::try_from(*n).ok(),
        Dim::Size(_) => None,
    }
}

/// The lanes of a run that starts at some index `base`, or the rows of a block that do.
#[derive(Clone, Debug, PartialEq)]
pub struct Lanes<I> {
    /// The number of lanes.
    pub count: u32,
    /// Lane `k` is active if `base + k < limit`. Inactive lanes neither load nor store nor fault; a loaded inactive
    /// lane holds zero.
    pub limit: I,
}
