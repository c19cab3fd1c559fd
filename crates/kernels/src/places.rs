//! Kernels that move elements to other places: triangles, transposition, slices, and dimensions split and merged.

use super::element::Number;
use super::{Operands, Run};

impl<T: Number, O: Operands> Run<'_, T, O> {
    /// The part of a matrix under its diagonal, by rows.
    pub(super) fn triangle(&mut self) -> Result<(), O::Error> {
        let [batch] = self.indices()?;
        let x = self.operands.needed("x")?;
        for (k, place) in self.places() {
            // Row i starts at i (i - 1) / 2.
            let row = (1 + (1 + 8 * i128::from(place.max(0))).isqrt()) / 2;
            let column = i128::from(place) - row * (row - 1) / 2;
            self.out[k] = self.one(x, &[batch, row as i64], column as i64)?;
        }
        Ok(())
    }

    /// Elements from other places: `from` takes an index of the result to that of an operand.
    fn moved(&mut self, from: impl Fn(&mut Vec<i64>)) -> Result<(), O::Error> {
        let x = self.operands.needed("x")?;
        for (k, place) in self.places() {
            let mut at = [self.index, &[place]].concat();
            from(&mut at);
            let Some((last, above)) = at.split_last() else {
                return Err(self.operands.missing());
            };
            self.out[k] = self.one(x, above, *last)?;
        }
        Ok(())
    }

    /// The dimension that an operand names, which has so many others behind it in the result.
    fn axis(&mut self, behind: usize) -> Result<usize, O::Error> {
        let axis = usize::try_from(self.count("axis")?).ok();
        let fits = axis.filter(|axis| axis.saturating_add(behind) <= self.index.len());
        fits.ok_or_else(|| self.operands.missing())
    }

    /// Two dimensions exchanged.
    pub(super) fn swap(&mut self) -> Result<(), O::Error> {
        let axis = self.axis(1)?;
        self.moved(|at| at.swap(axis, axis + 1))
    }

    /// The elements from a place on in one dimension.
    pub(super) fn slice(&mut self) -> Result<(), O::Error> {
        let (axis, first) = (self.axis(0)?, self.count("first")?);
        self.moved(|at| at[axis] = at[axis].saturating_add(first))
    }

    /// One dimension as rows of so many columns.
    pub(super) fn split(&mut self) -> Result<(), O::Error> {
        let (axis, columns) = (self.axis(1)?, self.count("columns")?);
        self.moved(|at| {
            let column = at.remove(axis + 1);
            at[axis] = at[axis].saturating_mul(columns).saturating_add(column);
        })
    }

    /// Two dimensions as one.
    pub(super) fn merge(&mut self) -> Result<(), O::Error> {
        let axis = self.axis(0)?;
        let x = self.operands.needed("x")?;
        let columns = self.operands.extents(x)?.get(axis + 1).copied().unwrap_or(0).max(1);
        self.moved(|at| {
            at.insert(axis + 1, at[axis].rem_euclid(columns));
            at[axis] = at[axis].div_euclid(columns);
        })
    }
}
