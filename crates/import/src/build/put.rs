//! Rows in the place of others.

use super::{Builder, Built};
use crate::error::Problem;
use crate::graph::{Elem, Id};
use crate::words::{ADD, MAX};
use crate::write::known;
use ember_model::Extent;
use ember_values::scalar::DType;

impl Builder {
    /// A table with rows in the place of those at positions. Of several rows at one position, the last one is kept, where
    /// their number is known; else the greatest of their elements.
    pub(crate) fn put(&mut self, table: Id, axis: i64, index: Id, rows: Id) -> Built {
        self.positions(index)?;
        let given = self.shape(index);
        let [Extent::Const(n)] = given[..] else {
            return self.scatter_alone(MAX, table, axis, index, rows);
        };
        let axis = self.axis(axis, self.shape(table).len())?;
        let (table, rows) = (self.axis_first(table, axis)?, self.axis_first(rows, axis)?);
        let elem = self.elem(table);
        let rows = self.cast(rows, elem)?;
        // Each row has a number, in the type of what is chosen by it.
        let numbers = match elem {
            Elem::Of(dtype) if dtype.is_float() && n < 1 << 24 => elem,
            _ => Elem::Of(DType::I64),
        };
        let numbered = self.iota(0, 1, n, Elem::Of(DType::I64))?;
        let numbered = self.cast(numbered, numbers)?;
        let start = self.full(-1.0, self.shape(table)[..1].to_vec(), numbers)?;
        let last = self.scatter(MAX, start, 0, index, numbered)?;
        let none = self.number(-1.0, numbers)?;
        let others = self.compare("eq", last, none)?;
        let others = self.for_rows(others, table)?;
        let zero = self.number(0.0, elem)?;
        let kept = self.choose(others, table, zero)?;
        let rows = match self.differ(index)? {
            true => rows,
            false => {
                let at_position = self.gather(last, 0, index)?;
                let is_last = self.compare("eq", at_position, numbered)?;
                let is_last = self.for_rows(is_last, rows)?;
                self.choose(is_last, rows, zero)?
            }
        };
        let done = self.scatter(ADD, kept, 0, index, rows)?;
        self.first_to_axis(done, axis)
    }

    /// Returns true for positions that are known to differ from each other.
    fn differ(&self, index: Id) -> Result<bool, Problem> {
        let known = known(&self.graph, index)?;
        Ok(known.is_some_and(|mut all| {
            all.sort_unstable();
            all.windows(2).all(|pair| pair[0] != pair[1])
        }))
    }

    /// One answer for each row, for all elements of the rows.
    fn for_rows(&mut self, answers: Id, rows: Id) -> Built {
        let mut shape = self.shape(answers);
        shape.resize(self.shape(rows).len(), Extent::Const(1));
        self.reshape(answers, shape)
    }
}
