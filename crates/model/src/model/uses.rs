//! What statements ask of the data of their positions: which tensors indices point into, and where
//! offsets must end.

use super::{Expr, Extent, Model, Op, TensorId};
use std::collections::BTreeMap;

/// Indices that must be positions in a tensor's first dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexUse {
    /// The input that holds the indices.
    pub indices: TensorId,
    /// How many positions there are.
    pub rows: Extent,
    /// The tensor whose rows they are; `None` where these are not those of a tensor.
    pub table: Option<TensorId>,
}

/// Offsets that must partition lookups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetsUse {
    /// The input that holds the offsets.
    pub offsets: TensorId,
    /// The input whose elements they partition.
    pub indices: TensorId,
}

impl Model {
    /// What is asked of every input of indices, in the order of the statements, each once.
    pub fn index_uses(&self) -> Vec<IndexUse> {
        let mut uses = Vec::new();
        let mut add = |indices: TensorId, table: &Expr| {
            let new = IndexUse { indices, rows: table.shape[0].clone(), table: table.source() };
            if !uses.contains(&new) {
                uses.push(new);
            }
        };
        for expr in self.expressions() {
            match &expr.op {
                Op::Bag { table, indices, .. }
                | Op::Gather { table, indices }
                | Op::Spmm { table, indices, .. }
                | Op::BlockGather { table, indices } => add(*indices, table),
                Op::Sddmm { right, indices, .. } | Op::Mp { right, indices, .. } => {
                    add(*indices, right);
                }
                Op::Kg { entities, relations, heads, rels, tails, .. } => {
                    add(*heads, entities);
                    add(*rels, relations);
                    add(*tails, entities);
                }
                _ => {}
            }
        }
        uses
    }

    /// What is asked of every input of offsets, in the order of the statements, each once.
    pub fn offsets_uses(&self) -> Vec<OffsetsUse> {
        let mut uses = Vec::new();
        for expr in self.expressions() {
            if let Op::Bag { indices, offsets, .. }
            | Op::Spmm { indices, offsets, .. }
            | Op::Sddmm { indices, offsets, .. }
            | Op::Mp { indices, offsets, .. } = &expr.op
            {
                let new = OffsetsUse { offsets: *offsets, indices: *indices };
                if !uses.contains(&new) {
                    uses.push(new);
                }
            }
        }
        uses
    }

    /// The elements that an operator reads for its result, without those of its operands: the work
    /// of computing it, up to a small factor. Every size must be known; else it is 0.
    pub fn work(&self, expr: &Expr, sizes: &BTreeMap<String, u64>) -> u64 {
        let product = |extents: &[Extent]| {
            extents.iter().fold(1u64, |n, e| n.saturating_mul(e.value(sizes).unwrap_or(0)))
        };
        let stored = |tensor: TensorId| product(&self.tensor(tensor).shape);
        let columns = |expr: &Expr| product(&expr.shape[1..]);
        match &expr.op {
            Op::Tensor(_) => 0,
            Op::Bag { table, indices, .. } | Op::Spmm { table, indices, .. } => {
                stored(*indices).saturating_mul(columns(table))
            }
            Op::Sddmm { right, indices, .. } | Op::Mp { right, indices, .. } => {
                stored(*indices).saturating_mul(columns(right)).saturating_mul(2)
            }
            Op::Kg { entities, heads, .. } => {
                stored(*heads).saturating_mul(columns(entities)).saturating_mul(3)
            }
            Op::Row(_, x) => product(&x.shape),
            Op::Matmul { a, b, transposed } => {
                let (a, b) = (&self.tensor(*a).shape, &self.tensor(*b).shape);
                let columns = b.len() - if *transposed { 2 } else { 1 };
                product(a).saturating_mul(product(&b[columns..=columns]))
            }
            _ => product(&expr.shape),
        }
    }

    /// Every expression of every statement, each before its operands.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.statements.iter().flat_map(|statement| statement.value.walk())
    }
}
