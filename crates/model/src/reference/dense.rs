//! Dense operators on whole tensors: folds of rows, products and triangles.

use super::element::Number;
use super::evaluate::{Evaluator, Mode};
use crate::model::{Expr, TensorId};
use ember_values::scalar::BinaryOp;

impl<M: Mode> Evaluator<'_, M> {
    /// Folds the last dimension: a sum in order from +0.0, or a maximum.
    pub(super) fn fold<T: Number>(&mut self, op: BinaryOp, x: &Expr) -> Option<Vec<T>> {
        let x = self.source(x)?;
        let columns = x.columns();
        let rows = x.shape[..x.shape.len() - 1].iter().product::<u64>() as usize;
        let mut row = vec![T::ZERO; columns];
        let mut out = Vec::with_capacity(rows);
        for r in 0..rows {
            self.read(&x, r * columns, &mut row)?;
            out.push(match op {
                BinaryOp::Max => row.iter().fold(T::LEAST, |a, x| T::apply(op, a, *x)),
                _ => sum(row.iter().copied()),
            });
        }
        Some(out)
    }

    /// Multiplies matrices: `Σ a[i][k] b[k][j]` in the order of `k`, from +0.0.
    pub(super) fn product<T: Number>(
        &mut self,
        a: TensorId,
        b: TensorId,
        transposed: bool,
    ) -> Option<Vec<T>> {
        let (a, b) = (self.stored(a)?, self.stored(b)?);
        let inner = a.columns();
        let (rows, columns) = (b.shape[b.shape.len() - 2] as usize, b.columns());
        let outer = if transposed { rows } else { columns };
        // Without its own batch, the second matrix applies to all rows of the first.
        let own_batch = b.shape.len() == 3;
        let batch = if own_batch { b.shape[0] as usize } else { 1 };
        let height = a.shape[..a.shape.len() - 1].iter().product::<u64>() as usize;
        let height = if own_batch { height / batch.max(1) } else { height };
        let mut row = vec![T::ZERO; inner];
        let mut out = Vec::with_capacity(batch * height * outer);
        for n in 0..batch {
            let mut second = vec![T::ZERO; rows * columns];
            for (k, into) in second.chunks_exact_mut(columns.max(1)).enumerate() {
                self.read(&b, (n * rows + k) * columns, into)?;
            }
            if transposed {
                second = transpose(&second, rows, columns);
            }
            for i in 0..height {
                self.read(&a, (n * height + i) * inner, &mut row)?;
                let mut sums = vec![T::EMPTY; outer];
                for (x, other) in row.iter().zip(second.chunks_exact(outer.max(1))) {
                    for (sum, y) in sums.iter_mut().zip(other) {
                        T::accumulate(sum, x.mul(*y));
                    }
                }
                out.extend(sums.into_iter().map(T::total));
            }
        }
        Some(out)
    }

    /// Returns the elements below the diagonals, by rows.
    pub(super) fn triangle<T: Number>(&mut self, x: &Expr) -> Option<Vec<T>> {
        let x = self.source(x)?;
        let (batch, n) = (x.shape[0] as usize, x.columns());
        let mut out = Vec::new();
        for b in 0..batch {
            for i in 1..n {
                out.extend(self.run_of::<T>(&x, (b * n + i) * n, i)?);
            }
        }
        Some(out)
    }
}

/// Returns a sum in order, from +0.0.
fn sum<T: Number>(terms: impl Iterator<Item = T>) -> T {
    let mut sum = T::EMPTY;
    terms.for_each(|x| T::accumulate(&mut sum, x));
    T::total(sum)
}

fn transpose<T: Copy>(matrix: &[T], rows: usize, columns: usize) -> Vec<T> {
    let column = |j| (0..rows).map(move |i| matrix[i * columns + j]);
    (0..columns).flat_map(column).collect()
}
