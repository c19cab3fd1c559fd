//! Operations on rows: folds of a dimension, lookups, and what is combined where indices say.

use super::{Builder, Built, misfit};
use crate::error::Problem;
use crate::graph::{Elem, Id, Op, count, is_one, shown};
use crate::words::{ADD, DIV, MAX, MIN, MUL, POW, SUB};
use crate::write::known;
use ember_model::Extent;
use ember_values::scalar::DType;

/// Returns the number that changes nothing when rows are combined: 0 for sums, minus infinity for the greatest.
fn neutral(word: &str) -> Result<f64, Problem> {
    match word {
        ADD => Ok(0.0),
        MAX => Ok(f64::NEG_INFINITY),
        _ => Err(misfit(format!("rows are not combined by `{word}`"))),
    }
}

impl Builder {
    /// Returns dimensions in rising order; all of them if none is given.
    fn axes(&self, x: Id, axes: &[i64]) -> Result<Vec<usize>, Problem> {
        let rank = self.shape(x).len();
        let found: Result<Vec<usize>, Problem> =
            axes.iter().map(|axis| self.axis(*axis, rank)).collect();
        let mut found = found?;
        if found.is_empty() {
            found = (0..rank).collect();
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// A fold of dimensions: `sum`, `mean`, `max` or `min`.
    pub(crate) fn fold(&mut self, word: &str, x: Id, axes: &[i64], keep: bool) -> Built {
        if word == MIN {
            let x = self.map("neg", x)?;
            let most = self.fold(MAX, x, axes, keep)?;
            return self.map("neg", most);
        }
        let mut x =
            if self.elem(x) == Elem::Bool { self.cast(x, Elem::Of(DType::F32))? } else { x };
        let axes = self.axes(x, axes)?;
        let shape = self.shape(x);
        for axis in axes.iter().rev() {
            x = self.axis_last(x, *axis)?;
            let mut rest = self.shape(x);
            let last = rest.pop();
            // A fold of one element is that element.
            x = match last {
                Some(extent) if is_one(&extent) => self.reshape(x, rest)?,
                // The mean of nothing is no number.
                Some(Extent::Const(0)) if word == "mean" => {
                    let elem = self.elem(x);
                    self.full(f64::NAN, rest, elem)?
                }
                _ => {
                    let elem = self.elem(x);
                    self.add(Op::Fold(word.to_owned()), vec![x], rest, elem)?
                }
            };
        }
        if keep {
            let kept = |(i, e): (usize, &Extent)| match axes.contains(&i) {
                true => Extent::Const(1),
                false => e.clone(),
            };
            let kept = shape.iter().enumerate().map(kept).collect();
            x = self.reshape(x, kept)?;
        }
        Ok(x)
    }

    /// The norm of rows of some order.
    pub(crate) fn norm(&mut self, x: Id, order: f64, axes: &[i64], keep: bool) -> Built {
        let x = self.floating(x)?;
        if order == 1.0 || order.is_infinite() {
            let x = self.map("abs", x)?;
            let word = match order {
                1.0 => "sum",
                f64::NEG_INFINITY => MIN,
                _ => MAX,
            };
            return self.fold(word, x, axes, keep);
        }
        if order == 2.0 {
            let squares = self.zip(MUL, x, x)?;
            let sum = self.fold("sum", squares, axes, keep)?;
            return self.map("sqrt", sum);
        }
        if !order.is_finite() || order <= 0.0 {
            return Err(misfit(format!("the norm of order {order}")));
        }
        let x = self.map("abs", x)?;
        let elem = self.elem(x);
        let (power, root) = (self.number(order, elem)?, self.number(1.0 / order, elem)?);
        let powers = self.zip(POW, x, power)?;
        let sum = self.fold("sum", powers, axes, keep)?;
        self.zip(POW, sum, root)
    }

    pub(crate) fn softmax(&mut self, x: Id, axis: i64) -> Built {
        let x = self.floating(x)?;
        let axis = self.axis(axis, self.shape(x).len())?;
        let back = self.axis_last(x, axis)?;
        let (shape, elem) = (self.shape(back), self.elem(back));
        let shares = self.add(Op::Softmax, vec![back], shape, elem)?;
        self.restored(shares, axis)
    }

    /// The last dimension put where it was.
    fn restored(&mut self, x: Id, axis: usize) -> Built {
        let rank = self.shape(x).len();
        let mut order: Vec<usize> = (0..rank.saturating_sub(1)).collect();
        order.insert(axis, rank - 1);
        self.permute(x, order)
    }

    pub(crate) fn log_softmax(&mut self, x: Id, axis: i64) -> Built {
        let x = self.floating(x)?;
        let most = self.fold(MAX, x, &[axis], true)?;
        let shifted = self.zip(SUB, x, most)?;
        let raised = self.map("exp", shifted)?;
        let sum = self.fold("sum", raised, &[axis], true)?;
        let log = self.map("log", sum)?;
        self.zip(SUB, shifted, log)
    }

    /// Rows of so many last dimensions, less their mean and over their standard deviation.
    pub(crate) fn normalise(&mut self, x: Id, dimensions: usize, epsilon: f64) -> Built {
        let x = self.floating(x)?;
        let shape = self.shape(x);
        if dimensions == 0 || dimensions > shape.len() {
            return Err(misfit(format!("rows of {dimensions} dimensions are normalised")));
        }
        let (outer, inner) = shape.split_at(shape.len() - dimensions);
        let row = self.flat(inner)?;
        let rows = outer.iter().cloned().chain([row]).collect();
        let flat = self.reshape(x, rows)?;
        let (rows, elem) = (self.shape(flat), self.elem(flat));
        let done = self.add(Op::Normalise(epsilon), vec![flat], rows, elem)?;
        self.reshape(done, shape)
    }

    /// Checks that a value is made of positions.
    pub(super) fn positions(&self, index: Id) -> Result<(), Problem> {
        match self.elem(index) {
            Elem::Of(DType::I32 | DType::I64) => Ok(()),
            Elem::Bool => Err(misfit(
                "a mask selects as many rows as the data says, and extents are known before the data; keep all \
                 rows, and choose with `where` what counts",
            )),
            Elem::Of(_) => Err(misfit("positions are i32 or i64")),
        }
    }

    /// Elements of a dimension at positions, whose dimensions stand where that dimension was.
    pub(crate) fn gather(&mut self, x: Id, axis: i64, index: Id) -> Built {
        self.positions(index)?;
        let axis = self.axis(axis, self.shape(x).len())?;
        if let Some(columns) = self.gather_columns(x, axis, index)? {
            return Ok(columns);
        }
        if let Some(rows) = self.gather_parts(x, axis, index)? {
            return Ok(rows);
        }
        let front = self.axis_first(x, axis)?;
        let wanted = self.shape(index);
        let n = self.flat(&wanted)?;
        let flat = self.reshape(index, vec![n])?;
        let rows = self.rows_at(front, flat)?;
        let rows = self.first_to_axis(rows, axis)?;
        let mut shape = self.shape(rows);
        shape.splice(axis..=axis, wanted);
        self.reshape(rows, shape)
    }

    /// Elements at positions in several dimensions, as in `x[i, :, j]`; `None` takes all of a dimension. Of several
    /// positions those below 0 count from the end, if `from_the_end` says so.
    pub(crate) fn index(&mut self, x: Id, indices: &[Option<Id>], from_the_end: bool) -> Built {
        let given: Vec<(usize, Id)> =
            indices.iter().enumerate().filter_map(|(axis, id)| Some((axis, (*id)?))).collect();
        let shape = self.shape(x);
        let ((first, _), (last, index)) = match (given.first(), given.last()) {
            (Some(first), Some(last)) if last.0 < shape.len() => (*first, *last),
            (None, _) => return Ok(x),
            _ => return Err(misfit("more positions than dimensions")),
        };
        if given.len() == 1 {
            return self.gather(x, first as i64, index);
        }
        if last + 1 - first != given.len() {
            return Err(misfit("positions in dimensions that are not next to each other"));
        }
        let indices: Vec<Id> = given.iter().map(|(_, index)| *index).collect();
        let mut before_a_run = true;
        for index in &indices {
            before_a_run &= self.precedes(*index)?;
        }
        if first == 0 && !before_a_run {
            return self.index_each(x, &indices);
        }
        // Neighbouring dimensions are one: position i · n + j.
        let mut at: Option<Id> = None;
        for (axis, index) in given {
            let Some(n) = shape[axis].constant() else {
                return Err(misfit("positions in several dimensions whose extents are no numbers"));
            };
            self.positions(index)?;
            let index = if from_the_end { self.counted_from_the_end(index, n)? } else { index };
            at = Some(match at {
                None => index,
                Some(at) => {
                    let n = self.number(n as f64, self.elem(at))?;
                    let rows = self.zip(MUL, at, n)?;
                    self.zip(ADD, rows, index)?
                }
            });
        }
        let merged = self.flat(&shape[first..=last])?;
        let mut flat = shape;
        flat.splice(first..=last, [merged]);
        let x = self.reshape(x, flat)?;
        self.gather(x, first as i64, at.unwrap_or(index))
    }

    /// Returns positions without the dimensions along which they are repeated.
    fn one_a_row(&mut self, index: Id) -> Built {
        let mut base = index;
        while let (Op::Expand, Some(of)) =
            (&self.graph.node(base).op, self.graph.node(base).operands.first())
        {
            base = *of;
        }
        let (shape, wanted) = (self.shape(base), self.shape(index));
        let rows = shape.len() == wanted.len() && shape.first() == wanted.first();
        if rows && shape.iter().skip(1).all(is_one) {
            return self.reshape(base, wanted[..1].to_vec());
        }
        Ok(index)
    }

    /// A table with rows combined into the rows that positions name: `add` or `max`. The positions have one dimension,
    /// or are repeated along all others.
    pub(crate) fn scatter(
        &mut self,
        word: &str,
        table: Id,
        axis: i64,
        index: Id,
        rows: Id,
    ) -> Built {
        self.positions(index)?;
        let axis = self.axis(axis, self.shape(table).len())?;
        let mut index = index;
        if self.shape(index).len() > 1 {
            index = self.axis_first(index, axis)?;
        }
        let each = index;
        index = self.one_a_row(index)?;
        if self.shape(index).iter().skip(1).any(|extent| !is_one(extent))
            && known(&self.graph, index)?.is_none()
        {
            let each = self.first_to_axis(each, axis)?;
            return self.combine_each(word, table, axis, each, rows);
        }
        let (table, mut rows) = (self.axis_first(table, axis)?, self.axis_first(rows, axis)?);
        let (own, shape) = (self.shape(table), self.shape(rows));
        if own.len() != shape.len() || own.iter().zip(&shape).skip(1).any(|(a, b)| a != b) {
            return Err(misfit(format!(
                "rows of ({}) are combined into a table of ({})",
                shown(&shape),
                shown(&own)
            )));
        }
        rows = self.cast(rows, self.elem(table))?;
        let elem = self.elem(table);
        if own.iter().skip(1).filter(|extent| !is_one(extent)).count() > 1 {
            // Rows of several dimensions are as wide as all of their elements.
            let width = self.flat(&own[1..])?;
            let flat = self.reshape(table, vec![own[0].clone(), width.clone()])?;
            let rows = self.reshape(rows, vec![shape[0].clone(), width])?;
            if self.shape(index).len() > 1 {
                return Err(misfit("positions of rows with several dimensions have one dimension"));
            }
            let done = self.scatter(word, flat, 0, index, rows)?;
            let done = self.reshape(done, own)?;
            return self.first_to_axis(done, axis);
        }
        let done = match self.scatter_parts(word, table, index, rows)? {
            Some(done) => done,
            None => self.add(Op::Scatter(word.to_owned()), vec![table, index, rows], own, elem)?,
        };
        self.first_to_axis(done, axis)
    }

    /// The mean of rows that positions name, together with the row of the table if it counts.
    pub(crate) fn scatter_mean(
        &mut self,
        table: Id,
        axis: i64,
        index: Id,
        rows: Id,
        own: bool,
    ) -> Built {
        let (shape, elem) = (self.shape(table), self.elem(table));
        let start = if own { table } else { self.full(0.0, shape.clone(), elem)? };
        let sum = self.scatter(ADD, start, axis, index, rows)?;
        let begin = self.full(f64::from(u8::from(own)), shape, elem)?;
        let ones = self.full(1.0, self.shape(rows), elem)?;
        let count = self.scatter(ADD, begin, axis, index, ones)?;
        let one = self.number(1.0, elem)?;
        let divisor = self.zip(MAX, count, one)?;
        let mean = self.zip(DIV, sum, divisor)?;
        if own {
            return Ok(mean);
        }
        let zero = self.number(0.0, elem)?;
        let none = self.compare("eq", count, zero)?;
        self.choose(none, table, mean)
    }

    /// The sum or the greatest of rows that positions name, without the row of the table unless there are none.
    pub(crate) fn scatter_alone(
        &mut self,
        word: &str,
        table: Id,
        axis: i64,
        index: Id,
        rows: Id,
    ) -> Built {
        let (neutral, (shape, elem)) = (neutral(word)?, (self.shape(table), self.elem(table)));
        if self.number_of(table) == Some(neutral) {
            return self.scatter(word, table, axis, index, rows);
        }
        let start = self.full(neutral, shape.clone(), elem)?;
        let combined = self.scatter(word, start, axis, index, rows)?;
        let start = self.full(0.0, shape, elem)?;
        let ones = self.full(1.0, self.shape(rows), elem)?;
        let count = self.scatter(ADD, start, axis, index, ones)?;
        let zero = self.number(0.0, elem)?;
        let none = self.compare("eq", count, zero)?;
        self.choose(none, table, combined)
    }

    /// Bags of rows. Positions of two dimensions are bags of one length, without offsets.
    pub(crate) fn bag(
        &mut self,
        mode: &str,
        table: Id,
        indices: Id,
        offsets: Option<Id>,
        weights: Option<Id>,
        closed: bool,
    ) -> Built {
        self.positions(indices)?;
        let (own, positions) = (self.shape(table), self.shape(indices));
        let [_, columns] = &own[..] else {
            return Err(misfit("the table of bags has two dimensions"));
        };
        let (indices, offsets, weights, closed) = match (offsets, &positions[..]) {
            (Some(offsets), [_]) => (indices, offsets, weights, closed),
            (None, [bags, length]) => {
                let known = bags.constant().zip(length.constant());
                let Some((bags, length)) = known.filter(|(bags, _)| *bags < u64::MAX) else {
                    return Err(misfit("the number of bags of one length changes with the data"));
                };
                let n = self.flat(&positions)?;
                let step = i64::try_from(length).map_err(|_| misfit("bags too long"))?;
                let offsets = self.iota(0, step, bags + 1, Elem::Of(DType::I64))?;
                let flat = self.reshape(indices, vec![n.clone()])?;
                let weights = weights.map(|w| self.reshape(w, vec![n])).transpose()?;
                (flat, offsets, weights, true)
            }
            _ => {
                return Err(misfit("positions of bags have one dimension, or two without offsets"));
            }
        };
        let (offsets, closed) = match self.with_end(offsets).filter(|_| !closed) {
            Some(whole) => (whole, true),
            None => (offsets, closed),
        };
        self.positions(offsets)?;
        let ends = self.shape(offsets);
        let bags = match (&ends[..], closed) {
            ([ends], true) => ends.less_one(),
            ([ends], false) => Some(ends.clone()),
            _ => None,
        };
        let bags = bags.ok_or_else(|| {
            misfit("the last offset is the end of the last bag, so there must be one for all data")
        })?;
        let shape = vec![bags, columns.clone()];
        let operands = [table, indices, offsets].into_iter().chain(weights).collect();
        let elem = self.elem(table);
        self.add(Op::Bag { mode: mode.to_owned(), closed }, operands, shape, elem)
    }

    /// Bags in which one row of the table counts as nothing.
    #[allow(clippy::too_many_arguments, reason = "they are those of the operator")]
    pub(crate) fn bag_padded(
        &mut self,
        mode: &str,
        table: Id,
        indices: Id,
        offsets: Option<Id>,
        weights: Option<Id>,
        closed: bool,
        padding: i64,
    ) -> Built {
        let shape = self.shape(table);
        let (Some(rows), elem) = (shape.first().and_then(Extent::constant), self.elem(table))
        else {
            return Err(misfit("the rows of a table with a padding row change with the data"));
        };
        let padding = if padding < 0 { padding.saturating_add(rows as i64) } else { padding };
        if count(&shape).is_none() || !u64::try_from(padding).is_ok_and(|at| at < rows) {
            return Err(misfit(format!(
                "no padding row {padding} in a table of ({})",
                shown(&shape)
            )));
        }
        let places = self.iota(0, 1, rows, Elem::Of(DType::I64))?;
        let row = self.number(padding as f64, Elem::Of(DType::I64))?;
        let is_padding = self.compare("eq", places, row)?;
        let is_padding = self.unsqueeze(is_padding, 1)?;
        let number = |builder: &mut Builder, x: f64| builder.number(x, elem);
        let (zero, one) = (number(self, 0.0)?, number(self, 1.0)?);
        let nothing = if mode == MAX { number(self, f64::NEG_INFINITY)? } else { zero };
        let without = self.choose(is_padding, nothing, table)?;
        let most = self.bag(
            if mode == MAX { MAX } else { "sum" },
            without,
            indices,
            offsets,
            weights,
            closed,
        )?;
        match mode {
            "sum" => Ok(most),
            MAX => {
                let lowest = number(self, f64::NEG_INFINITY)?;
                let none = self.compare("eq", most, lowest)?;
                self.choose(none, zero, most)
            }
            _ => {
                let counted = self.choose(is_padding, zero, one)?;
                let count = self.bag("sum", counted, indices, offsets, None, closed)?;
                let divisor = self.zip(MAX, count, one)?;
                self.zip(DIV, most, divisor)
            }
        }
    }
}
