//! The reference interpreter: a model's output computed on whole tensors, in the one order of
//! operations that defines it.
//!
//! Element `[j, e]` of a bag's output, over the bag's lookups `l` in order, with
//! `x(l) = table[indices[l], e]`, or `weights[l] * x(l)` (one rounding) where there are weights:
//!
//! - sum: `(((0 + x) + x) + …)`, from +0.0;
//! - mean: the sum divided by `max(count, 1)` converted to the table's type;
//! - max: [`BinaryOp::Max`] folded from its identity; 0 where the bag is empty.
//!
//! A gather copies. Nothing is contracted or reassociated, and integers wrap.

mod compare;
mod statistics;

pub use compare::{Mismatch, compare};
pub use statistics::{LINE, Statistics, statistics};

use crate::data::Instance;
use crate::model::{Expr, Mode, Model, Op, TensorId};
use ember_targets::scalar::{BinaryOp, DType, Scalar};
use ember_targets::tensor::{Data, Tensor};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The tensors that a model computes on an instance of it, by name. An instance of another model
/// gives `None`.
pub fn evaluate(model: &Model, instance: &Instance) -> Option<BTreeMap<String, Tensor>> {
    let out = Problem::new(model, instance)?.evaluate()?;
    Some(BTreeMap::from([(model.tensor(model.statements[0].target).name.clone(), out)]))
}

/// What bounds the rounding error of each output element.
#[derive(Clone, Debug, PartialEq)]
pub struct Magnitudes {
    /// For each element the sum of the magnitudes of what is added up for it, divided by the count
    /// for a mean, in binary64. Empty where the operation adds nothing up and rounds nothing that
    /// another order would round otherwise: gather, maximum, integers.
    pub sums: Vec<f64>,
    /// For each row the number of terms of a sum.
    pub lengths: Vec<u64>,
}

/// The magnitudes behind each element of [`evaluate`]'s result.
pub fn magnitudes(model: &Model, instance: &Instance) -> Option<Magnitudes> {
    Problem::new(model, instance)?.magnitudes()
}

/// A model's operation with its tensors.
pub(crate) struct Problem<'a> {
    mode: Option<Mode>,
    pub(crate) table: &'a Tensor,
    pub(crate) indices: &'a Tensor,
    pub(crate) offsets: Option<&'a Tensor>,
    pub(crate) weights: Option<&'a Tensor>,
    /// The output, of zeros.
    out: &'a Tensor,
    /// Columns of table and output.
    pub(crate) width: usize,
}

impl<'a> Problem<'a> {
    pub(crate) fn new(model: &Model, instance: &'a Instance) -> Option<Problem<'a>> {
        let tensor = |at: TensorId| instance.tensors.get(&model.tensor(at).name);
        let [statement] = &model.statements[..] else { return None };
        let (table, indices, offsets, weights, mode) = match &statement.value.op {
            Op::Bag { mode, table, indices, offsets, weights } => {
                (table, indices, Some(*offsets), *weights, Some(*mode))
            }
            Op::Gather { table, indices } => (table, indices, None, None, None),
            _ => return None,
        };
        let Expr { op: Op::Tensor(table), .. } = **table else { return None };
        let weights = match weights {
            Some(at) => Some(tensor(at)?),
            None => None,
        };
        let offsets = match offsets {
            Some(at) => Some(tensor(at)?),
            None => None,
        };
        let table = tensor(table)?;
        Some(Problem {
            mode,
            table,
            indices: tensor(*indices)?,
            offsets,
            weights,
            out: tensor(statement.target)?,
            width: usize::try_from(*table.shape.get(1)?).ok()?,
        })
    }

    /// The lookups of each row of the output.
    pub(crate) fn bags(&self) -> Box<dyn Iterator<Item = (u64, u64)> + '_> {
        match self.offsets {
            None => Box::new((0..self.indices.len()).map(|l| (l, l + 1))),
            Some(offsets) => {
                let at = |j| position(offsets, j);
                Box::new((0..offsets.len().saturating_sub(1)).map(move |j| (at(j), at(j + 1))))
            }
        }
    }

    fn evaluate(&self) -> Option<Tensor> {
        let data = match self.out.dtype {
            DType::F32 => Data::F32(Arc::new(self.fold::<f32>()?)),
            DType::F64 => Data::F64(Arc::new(self.fold::<f64>()?)),
            DType::I32 => Data::I32(Arc::new(self.fold::<i32>()?)),
            DType::I64 => Data::I64(Arc::new(self.fold::<i64>()?)),
            DType::F16 | DType::BF16 | DType::U8 | DType::U4 => return None,
        };
        Some(Tensor { dtype: self.out.dtype, shape: self.out.shape.clone(), data })
    }

    fn fold<T: Element>(&self) -> Option<Vec<T>> {
        let mut out = vec![T::ZERO; self.out.len() as usize];
        let op = if self.mode == Some(Mode::Max) { BinaryOp::Max } else { BinaryOp::Add };
        let mut row = vec![T::ZERO; self.width];
        // An output without columns has no chunks, and nothing to compute either.
        for (result, (from, to)) in out.chunks_exact_mut(self.width.max(1)).zip(self.bags()) {
            if op == BinaryOp::Max && from < to {
                result.fill(T::LEAST);
            }
            for l in from..to {
                let start = position(self.indices, l).checked_mul(self.width as u64)?;
                T::read(self.table, start, &mut row)?;
                if let Some(weights) = self.weights {
                    let weight = T::from_scalar(weights.get(l)?)?;
                    row.iter_mut().for_each(|x| *x = T::apply(BinaryOp::Mul, weight, *x));
                }
                match op {
                    // A gather's row is copied: added to +0.0, a -0.0 would be lost.
                    _ if self.mode.is_none() => result.copy_from_slice(&row),
                    BinaryOp::Max => combine(result, &row, |a, x| T::apply(BinaryOp::Max, a, x)),
                    _ => combine(result, &row, |a, x| T::apply(BinaryOp::Add, a, x)),
                }
            }
            if self.mode == Some(Mode::Mean) {
                let count = Scalar::I64(to.saturating_sub(from).max(1) as i64);
                let count = T::from_scalar(count.cast(self.out.dtype))?;
                result.iter_mut().for_each(|x| *x = T::apply(BinaryOp::Div, *x, count));
            }
        }
        Some(out)
    }

    fn magnitudes(&self) -> Option<Magnitudes> {
        let lengths: Vec<u64> = self.bags().map(|(from, to)| to.saturating_sub(from)).collect();
        let rounds = self.out.dtype.is_float() && !matches!(self.mode, None | Some(Mode::Max));
        let mut sums = Vec::new();
        if rounds {
            sums = vec![0.0; self.out.len() as usize];
            for (result, (from, to)) in sums.chunks_exact_mut(self.width.max(1)).zip(self.bags()) {
                let mean = self.mode == Some(Mode::Mean);
                let count = if mean { to.saturating_sub(from).max(1) } else { 1 };
                for l in from..to {
                    let start = position(self.indices, l).checked_mul(self.width as u64)?;
                    let weight = match self.weights {
                        Some(weights) => weights.get(l)?.as_f64(),
                        None => 1.0,
                    };
                    for (e, sum) in result.iter_mut().enumerate() {
                        let x = self.table.get(start + e as u64)?.as_f64();
                        *sum += (weight * x).abs() / count as f64;
                    }
                }
            }
        }
        Some(Magnitudes { sums, lengths })
    }
}

/// An element of a tensor of positions; checked instances hold no negative ones.
fn position(tensor: &Tensor, at: u64) -> u64 {
    tensor.get(at).and_then(Scalar::as_i64).and_then(|i| u64::try_from(i).ok()).unwrap_or(0)
}

#[inline(always)]
fn combine<T: Copy>(into: &mut [T], row: &[T], f: impl Fn(T, T) -> T) {
    for (a, x) in into.iter_mut().zip(row) {
        *a = f(*a, *x);
    }
}

/// An element type, with arithmetic as [`BinaryOp`] defines it.
trait Element: Copy {
    const ZERO: Self;
    /// The identity of the maximum.
    const LEAST: Self;
    fn apply(op: BinaryOp, a: Self, b: Self) -> Self;
    fn from_scalar(x: Scalar) -> Option<Self>;
    /// Fills a buffer from a tensor of this type, from a row-major position on.
    fn read(tensor: &Tensor, start: u64, row: &mut [Self]) -> Option<()>;
}

macro_rules! element {
    ($t:ty, $variant:ident, $zero:expr, $least:expr, $apply:expr) => {
        impl Element for $t {
            const ZERO: Self = $zero;
            const LEAST: Self = $least;

            #[inline(always)]
            fn apply(op: BinaryOp, a: Self, b: Self) -> Self {
                $apply(op, a, b)
            }

            fn from_scalar(x: Scalar) -> Option<Self> {
                match x {
                    Scalar::$variant(x) => Some(x),
                    _ => None,
                }
            }

            fn read(tensor: &Tensor, start: u64, row: &mut [Self]) -> Option<()> {
                match &tensor.data {
                    Data::$variant(v) => {
                        let start = usize::try_from(start).ok()?;
                        row.copy_from_slice(v.get(start..start.checked_add(row.len())?)?);
                    }
                    Data::Hashed(h) => {
                        for (i, x) in row.iter_mut().enumerate() {
                            *x = Self::from_scalar(h.at(tensor.dtype, start + i as u64))?;
                        }
                    }
                    _ => return None,
                }
                Some(())
            }
        }
    };
}

element!(f32, F32, 0.0, f32::NEG_INFINITY, BinaryOp::f32);
element!(f64, F64, 0.0, f64::NEG_INFINITY, BinaryOp::f64);
element!(i64, I64, 0, i64::MIN, BinaryOp::i64);
element!(i32, I32, 0, i32::MIN, |op: BinaryOp, a: i32, b: i32| op.i64(i64::from(a), i64::from(b))
    as i32);

#[cfg(test)]
mod tests;
