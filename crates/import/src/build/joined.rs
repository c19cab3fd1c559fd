//! Positions that are put together of parts, such as edges with a loop at each node behind them. They are computed, and
//! positions are inputs; so rows are looked up and combined part by part, which leaves each part as it was given.

use super::{Builder, Built};
use crate::error::Problem;
use crate::graph::{Elem, Id, Node, Op, is_one};
use crate::write::known;
use ember_language::sexp::deeper;
use ember_model::Extent;
use std::collections::BTreeMap;

/// Rows from one place on, so many of them.
#[derive(Clone, Copy)]
struct Range {
    first: u64,
    count: u64,
}

impl Builder {
    /// Returns the parts of positions in one dimension, if there are several and they are not known as a whole.
    fn parts(&self, index: Id) -> Result<Option<Vec<(Id, Range)>>, Problem> {
        let node = self.graph.node(index);
        if !matches!(node.op, Op::Concat(0)) || node.shape.len() != 1 {
            return Ok(None);
        }
        if known(&self.graph, index)?.is_some() {
            return Ok(None);
        }
        let mut first = 0;
        let mut parts = Vec::new();
        for part in &node.operands {
            let Some(count) = self.graph.shape(*part)[0].constant() else { return Ok(None) };
            parts.push((*part, Range { first, count }));
            first += count;
        }
        Ok(Some(parts))
    }

    /// Returns true for the positions of all rows in their order.
    fn is_every_row(&self, index: Id, rows: &Extent) -> Result<bool, Problem> {
        let own = rows.constant() == self.graph.shape(index)[0].constant();
        let all = if own { known(&self.graph, index)? } else { None };
        Ok(all.is_some_and(|all| (0i64..).zip(&all).all(|(row, own)| row == *own)))
    }

    /// Elements at positions of several dimensions, part by part; `None` for positions without parts.
    pub(super) fn gather_parts(
        &mut self,
        x: Id,
        axis: usize,
        index: Id,
    ) -> Result<Option<Id>, Problem> {
        let Node { op: Op::Concat(along), operands, shape, .. } = self.graph.node(index).clone()
        else {
            return Ok(None);
        };
        if shape.len() < 2 || known(&self.graph, index)?.is_some() {
            return Ok(None);
        }
        let mut found = Vec::new();
        for part in operands {
            found.push(self.gather(x, axis as i64, part)?);
        }
        self.concat(found, (axis + along) as i64).map(Some)
    }

    /// Rows at positions in one dimension.
    pub(super) fn rows_at(&mut self, table: Id, index: Id) -> Built {
        if let Some(parts) = self.parts(index)? {
            let rows = self.shape(table)[0].clone();
            let mut found = Vec::new();
            for (part, _) in parts {
                found.push(match self.is_every_row(part, &rows)? {
                    true => table,
                    false => self.rows_at(table, part)?,
                });
            }
            return self.concat(found, 0);
        }
        let mut shape = self.shape(table);
        shape[0] = self.shape(index)[0].clone();
        let elem = self.elem(table);
        self.add(Op::Gather, vec![table, index], shape, elem)
    }

    /// A table with rows combined into it part by part; `None` for positions without parts.
    pub(super) fn scatter_parts(
        &mut self,
        word: &str,
        table: Id,
        index: Id,
        rows: Id,
    ) -> Result<Option<Id>, Problem> {
        let Some(parts) = self.parts(index)? else { return Ok(None) };
        let extent = self.shape(table)[0].clone();
        let mut table = table;
        for (part, range) in parts {
            let own = self.rows_of(rows, range, &mut BTreeMap::new())?;
            table = match self.is_every_row(part, &extent)? {
                true => {
                    let own = self.cast(own, self.elem(table))?;
                    self.zip(word, table, own)?
                }
                false => self.scatter(word, table, 0, part, own)?,
            };
        }
        Ok(Some(table))
    }

    /// Some rows of a value, computed of the same rows of what it is made of.
    fn rows_of(&mut self, id: Id, range: Range, known: &mut BTreeMap<Id, Id>) -> Built {
        if let Some(done) = known.get(&id) {
            return Ok(*done);
        }
        let done = deeper(|| self.rows_of_node(id, range, known))?;
        known.insert(id, done);
        Ok(done)
    }

    fn rows_of_node(&mut self, id: Id, range: Range, known: &mut BTreeMap<Id, Id>) -> Built {
        let Node { op, operands, mut shape, elem, .. } = self.graph.node(id).clone();
        let rank = shape.len();
        let Some(rows) = shape.first().filter(|rows| !is_one(rows)).cloned() else {
            return Ok(id);
        };
        shape[0] = Extent::Const(range.count);
        // An operand with fewer dimensions, or one row, is the same for every row.
        let has_rows = |builder: &Builder, own: Id| {
            let own = builder.graph.shape(own);
            own.len() == rank && own[0] == rows
        };
        match (&op, &operands[..]) {
            (Op::Concat(0), parts) => {
                let mut first = 0;
                for part in parts {
                    let count = self.graph.shape(*part)[0].constant().unwrap_or(0);
                    if (first, count) == (range.first, range.count) {
                        return Ok(*part);
                    }
                    first += count;
                }
            }
            (
                Op::Zip(_)
                | Op::Compare(_)
                | Op::Choose
                | Op::Map(_)
                | Op::Leaky(_)
                | Op::Cast
                | Op::Expand,
                of,
            ) => {
                let mut parts = Vec::new();
                for own in of.iter().copied() {
                    parts.push(match has_rows(self, own) {
                        true => self.rows_of(own, range, known)?,
                        false => own,
                    });
                }
                return self.add(op, parts, shape, elem);
            }
            // Rows stay rows where only what is in each row has other extents.
            (Op::Reshape, [of]) if self.graph.shape(*of).first() == Some(&rows) => {
                let part = self.rows_of(*of, range, known)?;
                return self.reshape(part, shape);
            }
            (Op::Fold(_), [of]) if self.graph.shape(*of).first() == Some(&rows) => {
                let part = self.rows_of(*of, range, known)?;
                return self.add(op, vec![part], shape, elem);
            }
            (Op::Gather, [table, places]) => {
                let places = self.rows_of(*places, range, known)?;
                return self.rows_at(*table, places);
            }
            _ => {}
        }
        let (first, end) = (range.first as i64, (range.first + range.count) as i64);
        self.slice(id, 0, first, end, 1)
    }

    /// The parts of whole numbers under other extents, if these only have other dimensions of extent 1; `None` for what
    /// has no parts.
    pub(super) fn reshape_parts(&mut self, x: Id, shape: &[Extent]) -> Result<Option<Id>, Problem> {
        let Node { op: Op::Concat(axis), operands, shape: own, elem, .. } =
            self.graph.node(x).clone()
        else {
            return Ok(None);
        };
        let live = |shape: &[Extent]| -> Vec<usize> {
            (0..shape.len()).filter(|axis| !is_one(&shape[*axis])).collect()
        };
        let (before, after) = (live(&own), live(shape));
        let same = before.iter().map(|at| &own[*at]).eq(after.iter().map(|at| &shape[*at]));
        let place = before.iter().position(|at| *at == axis).map(|at| after.get(at));
        let (true, true, Some(Some(place))) = (elem.is_integer(), same, place) else {
            return Ok(None);
        };
        let mut parts = Vec::new();
        for part in operands {
            let mut wanted = shape.to_vec();
            wanted[*place] = self.graph.shape(part)[axis].clone();
            parts.push(self.reshape(part, wanted)?);
        }
        self.concat(parts, *place as i64).map(Some)
    }

    /// A slice of each part of whole numbers that are put together in another dimension, or of the part that has it in the
    /// same dimension; `None` for what has no parts.
    pub(super) fn slice_parts(
        &mut self,
        x: Id,
        axis: usize,
        [first, end]: [i64; 2],
    ) -> Result<Option<Id>, Problem> {
        let Node { op, operands, elem, .. } = self.graph.node(x).clone();
        if !elem.is_integer() && elem != Elem::Bool {
            return Ok(None);
        }
        let along = match (op, &operands[..]) {
            (op @ (Op::Zip(_) | Op::Choose | Op::Compare(_)), of) => {
                return self.slice_of_each(x, op, of, axis, [first, end]);
            }
            (Op::Concat(along), _) => along,
            (Op::Gather, [table, places]) if axis == 0 => {
                return self.slice_of_rows(*table, *places, [first, end]);
            }
            _ => return Ok(None),
        };
        if along == axis {
            let mut before = 0;
            for part in operands {
                let count = self.graph.shape(part)[axis].constant().unwrap_or(0) as i64;
                if before <= first && end <= before + count {
                    return self
                        .slice(part, axis as i64, first - before, end - before, 1)
                        .map(Some);
                }
                before += count;
            }
            return Ok(None);
        }
        let mut parts = Vec::new();
        for part in operands {
            parts.push(self.slice(part, axis as i64, first, end, 1)?);
        }
        self.concat(parts, along as i64).map(Some)
    }

    /// A part of whole numbers that are computed of others, computed of the same parts; `None` if they are made of others.
    fn slice_of_each(
        &mut self,
        x: Id,
        op: Op,
        of: &[Id],
        axis: usize,
        [first, end]: [i64; 2],
    ) -> Result<Option<Id>, Problem> {
        let (mut shape, elem) = (self.shape(x), self.elem(x));
        if of.iter().any(|own| matches!(self.elem(*own), Elem::Of(dtype) if dtype.is_float())) {
            return Ok(None);
        }
        let mut parts = Vec::new();
        for own in of.iter().copied() {
            // An operand with fewer dimensions, or one element of this one, is the same everywhere.
            let rank = self.shape(own).len();
            let at = (axis + rank).checked_sub(shape.len());
            let at = at.filter(|at| self.graph.shape(own)[*at] == shape[axis]);
            parts.push(match at {
                Some(at) => self.slice(own, at as i64, first, end, 1)?,
                None => own,
            });
        }
        shape[axis] = Extent::Const((end - first) as u64);
        self.add(op, parts, shape, elem).map(Some)
    }

    /// Some of the rows at known places, if these follow one another in the table.
    fn slice_of_rows(
        &mut self,
        table: Id,
        places: Id,
        [first, end]: [i64; 2],
    ) -> Result<Option<Id>, Problem> {
        let (from, to) = (first.max(0) as usize, end.max(0) as usize);
        let places = known(&self.graph, places)?;
        let Some([start, ..]) = places.as_deref().and_then(|places| places.get(from..to)) else {
            return Ok(None);
        };
        let rows = self.shape(table)[0].constant().and_then(|rows| i64::try_from(rows).ok());
        let (start, last) = (*start, start.saturating_add(end - first));
        let places = places.as_deref().unwrap_or_default();
        let follows = (start..last).eq(places[from..to].iter().copied());
        let there = start >= 0 && rows.is_some_and(|rows| last <= rows);
        (follows && there).then(|| self.slice(table, 0, start, last, 1)).transpose()
    }
}
