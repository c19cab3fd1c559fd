//! Folds of rows, products, lookups, and rows combined where indices say.

use super::Writer;
use crate::error::Problem;
use crate::graph::{Id, is_one, shown};
use crate::layout::{Base, Laid, live};
use crate::words::{BAG, BLOCK_GATHER, GATHER, MATMUL, MATMUL_T};
use ember_model::Extent;

impl Writer<'_> {
    /// Returns a value as rows of its last dimension: two or three dimensions, the last of them last.
    fn as_rows(&mut self, x: Id) -> Result<(String, Vec<Option<usize>>), Problem> {
        let (laid, shape) = (self.laid(x)?, self.shape(x));
        let Some(last) = shape.len().checked_sub(1) else {
            return Err(Problem::Operands("a number has no rows".to_owned()));
        };
        // The order of the rows does not matter.
        let mut wanted: Vec<Option<usize>> = match laid.in_order() {
            true => live(&shape).into_iter().filter(|axis| *axis != last).map(Some).collect(),
            false => {
                let held = laid.live();
                let repeated = live(&shape).into_iter().filter(|axis| !held.contains(axis));
                let all: Vec<usize> = held.iter().copied().chain(repeated).collect();
                all.into_iter().filter(|axis| *axis != last).map(Some).collect()
            }
        };
        if wanted.is_empty() {
            let one = laid.axes.first().copied().filter(|axis| *axis != Some(last));
            wanted.push(one.flatten());
        }
        wanted.push(Some(last));
        let name = self.arrange(&laid, &wanted, &shape)?;
        Ok((name, wanted))
    }

    pub(super) fn fold(&mut self, word: &str, x: Id) -> Result<Laid, Problem> {
        let (name, mut axes) = self.as_rows(x)?;
        let name = self.step(format!("(nn.row_{word} {name})"));
        axes.pop();
        Ok(self.laid_as(name, axes, &self.shape(x), self.dtype_of(x)))
    }

    /// An operation that changes rows, each by itself.
    pub(super) fn by_rows(
        &mut self,
        x: Id,
        operation: impl Fn(&str) -> String,
    ) -> Result<Laid, Problem> {
        let (name, axes) = self.as_rows(x)?;
        let name = self.step(operation(&name));
        Ok(self.laid_as(name, axes, &self.shape(x), self.dtype_of(x)))
    }

    pub(super) fn product(&mut self, a: Id, b: Id, shape: &[Extent]) -> Result<Laid, Problem> {
        let (x, y) = (self.laid(a)?, self.laid(b)?);
        let (own, other) = (self.shape(a), self.shape(b));
        let (rank, of_a, of_b) = (shape.len(), own.len(), other.len());
        let batch = live(&shape[..rank - 2]);
        let first = &batch[..];
        if first.len() > 1 {
            return Err(Problem::Rank(shown(shape)));
        }
        let batch = first.first().copied();
        // The batch dimension among those of an operand, if it has one.
        let within = |of: usize| batch.and_then(|axis| (axis + of).checked_sub(rank));
        let has = |of: usize, shape: &[Extent]| within(of).filter(|axis| !is_one(&shape[*axis]));
        let in_b = has(of_b, &other);
        let (m, k, n) = (of_a - 2, of_a - 1, of_b - 1);
        let mut left = vec![Some(m), Some(k)];
        let mut own = own;
        let mut x = x;
        if let Some(axis) = batch {
            // The first factor has every matrix of the batch.
            let by = rank - of_a;
            x = x.shifted(by);
            own =
                shape[..rank - 2].iter().cloned().chain(own[of_a - 2..].iter().cloned()).collect();
            left = vec![Some(axis), Some(m + by), Some(k + by)];
        }
        let left = self.arrange(&x, &left, &own)?;
        let inner = of_b - 2;
        let transposed = match (y.place(n), y.place(inner)) {
            (Some(n), Some(k)) => n < k,
            _ => false,
        };
        let mut right = match transposed {
            true => vec![Some(n), Some(inner)],
            false => vec![Some(inner), Some(n)],
        };
        if let Some(axis) = in_b {
            right.insert(0, Some(axis));
        }
        let right = self.arrange(&y, &right, &other)?;
        let name = self.step(match transposed {
            true => format!("({MATMUL_T} {left} {right})"),
            false => format!("({MATMUL} {left} {right})"),
        });
        let axes = batch.into_iter().chain([rank - 2, rank - 1]).map(Some).collect();
        Ok(self.laid_as(name, axes, shape, x.dtype))
    }

    /// The dimensions in which rows are held: the first one, then those of a row, at least one.
    fn row_axes(&self, shape: &[Extent], most: usize) -> Result<Vec<Option<usize>>, Problem> {
        let mut axes = vec![Some(0)];
        axes.extend(live(shape).into_iter().filter(|axis| *axis != 0).map(Some));
        if axes.len() == 1 {
            axes.push(None);
        }
        if axes.len() > most {
            return Err(Problem::Rank(shown(shape)));
        }
        Ok(axes)
    }

    pub(super) fn gather(&mut self, table: Id, index: Id) -> Result<Laid, Problem> {
        let (x, shape) = (self.laid(table)?, self.shape(table));
        let axes = self.row_axes(&shape, 3)?;
        let rows = shape[0].clone();
        let index_name = self.positions(index, &rows)?;
        let name = self.arrange(&x, &axes, &shape)?;
        let name = self.step(match axes.len() {
            2 => format!("({GATHER} {name} {index_name})"),
            _ => format!("({BLOCK_GATHER} {name} {index_name})"),
        });
        let mut result = shape;
        result[0] = self.shape(index).first().cloned().unwrap_or(Extent::Const(1));
        Ok(self.laid_as(name, axes, &result, x.dtype))
    }

    pub(super) fn scatter(
        &mut self,
        word: &str,
        table: Id,
        index: Id,
        rows: Id,
    ) -> Result<Laid, Problem> {
        let (x, shape) = (self.laid(table)?, self.shape(table));
        let (y, added) = (self.laid(rows)?, self.shape(rows));
        let axes = self.row_axes(&shape, 2)?;
        let index = self.positions(index, &shape[0])?;
        let (x_name, y) = (self.arrange(&x, &axes, &shape)?, self.arrange(&y, &axes, &added)?);
        let name = self.step(format!("(emb.scatter_{word} {x_name} {index} {y})"));
        Ok(self.laid_as(name, axes, &shape, x.dtype))
    }

    pub(super) fn bag(
        &mut self,
        mode: &str,
        closed: bool,
        operands: &[Id],
    ) -> Result<Laid, Problem> {
        let [table, indices, offsets, weights @ ..] = operands else {
            return Err(Problem::Operands("a bag lacks operands".to_owned()));
        };
        let (x, shape) = (self.laid(*table)?, self.shape(*table));
        let lookups = self.shape(*indices).first().cloned().unwrap_or(Extent::Const(1));
        let index = self.positions(*indices, &shape[0])?;
        let name = self.arrange(&x, &[Some(0), Some(1)], &shape)?;
        let bounds = self.offsets(*offsets, &lookups, closed)?;
        let mut operation = format!("({BAG} {mode} {name} {index} {bounds}");
        if let Some(weights) = weights.first() {
            let (laid, of) = (self.laid(*weights)?, self.shape(*weights));
            let weights = self.arrange(&laid, &[Some(0)], &of)?;
            operation += &format!(" {weights}");
        }
        let name = self.step(operation + ")");
        let ends = self.shape(*offsets).first().cloned().unwrap_or(Extent::Const(1));
        let bags = if closed { ends.less_one().unwrap_or(ends) } else { ends };
        let result = [bags, shape[1].clone()];
        let base = Base::Tensor(name);
        let axes = vec![Some(0), Some(1)];
        Ok(Laid { base, extents: result.to_vec(), axes, dtype: x.dtype })
    }
}
