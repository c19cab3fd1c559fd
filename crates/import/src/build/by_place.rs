//! Operations in which the place of an element decides: each element looked up by a position of its own, parts of
//! matrices beside the diagonal, other elements at places.

use super::{Builder, Built, misfit};
use crate::error::Problem;
use crate::graph::{Elem, Id, Op, is_one};
use crate::words::{ADD, DIV, MAX, MIN, MUL};
use crate::write::known;
use ember_model::Extent;
use ember_targets::tensor::{Data, Tensor};
use ember_values::operation::Comparison;
use ember_values::scalar::DType;
use std::collections::BTreeSet;

/// The most columns of positions that are looked up one by one.
const COLUMNS: u64 = 128;

impl Builder {
    /// The numbers 0, 1, … along a dimension, which is one of so many.
    fn numbered(&mut self, axis: usize, rank: usize, extent: &Extent, elem: Elem) -> Built {
        let n =
            extent.constant().ok_or_else(|| misfit("places in a dimension that the data says"))?;
        let places = self.iota(0, 1, n, elem)?;
        let mut shape = vec![Extent::Const(1); rank];
        shape[axis] = extent.clone();
        self.reshape(places, shape)
    }

    /// For each place in a dimension of `extent`, put at the end: whether a position names it.
    fn named(&mut self, index: Id, extent: &Extent) -> Built {
        let rank = self.shape(index).len();
        let places = self.numbered(rank, rank + 1, extent, self.elem(index))?;
        let index = self.unsqueeze(index, rank)?;
        self.compare("eq", index, places)
    }

    /// Elements of a dimension at positions of which each matrix of a batch has its own; so many dimensions are the batch.
    pub(crate) fn gather_each(&mut self, x: Id, axis: i64, index: Id, batch: i64) -> Built {
        let rank = self.shape(x).len();
        let (axis, given) = (self.axis(axis, rank)?, self.shape(index));
        let batch = if batch < 0 { batch.saturating_add(given.len() as i64) } else { batch };
        if usize::try_from(batch) != Ok(axis) {
            return Err(misfit("positions in another dimension than the one behind the batch"));
        }
        let mut indices = vec![None; rank];
        for (at, one) in indices.iter_mut().enumerate().take(axis) {
            *one = Some(self.iota_along(at as i64, given.clone(), self.elem(index))?);
        }
        indices[axis] = Some(index);
        self.index(x, &indices, false)
    }

    /// Returns true for whole numbers that are known, or follow from arguments and known ones alone, so that they can be
    /// computed before the model runs.
    pub(super) fn precedes(&self, id: Id) -> Result<bool, Problem> {
        if known(&self.graph, id)?.is_some() {
            return Ok(true);
        }
        let (mut seen, mut open) = (BTreeSet::new(), vec![id]);
        while let Some(id) = open.pop() {
            let node = self.graph.node(id);
            let whole = node.elem.is_integer() || node.elem == Elem::Bool;
            let elementwise = matches!(
                node.op,
                Op::Argument(_)
                    | Op::Weight(_)
                    | Op::Number(_)
                    | Op::Iota { .. }
                    | Op::Zip(_)
                    | Op::Compare(_)
                    | Op::Choose
                    | Op::Cast
                    | Op::Reshape
                    | Op::Expand
                    | Op::Slice { .. }
            );
            if !(whole && elementwise) {
                return Ok(false);
            }
            open.extend(node.operands.iter().filter(|id| seen.insert(**id)));
        }
        Ok(true)
    }

    /// Elements of which each has a position of its own in one dimension, whole ones behind the dimension `last`.
    pub(super) fn pick_at(&mut self, x: Id, axis: usize, index: Id, last: usize) -> Built {
        let (own, wanted) = (self.shape(x), self.shape(index));
        // What is repeated behind that dimension is the same position.
        let first = wanted[..=last].to_vec();
        let mut place = index;
        for at in last + 1..wanted.len() {
            place = self.slice(place, at as i64, 0, 1, 1)?;
        }
        place = self.reshape(place, first.clone())?;
        let mut at: Option<Id> = None;
        for (dim, extent) in own[..=last].iter().enumerate() {
            let n = extent.constant();
            let n = n.ok_or_else(|| misfit("places in a dimension that the data says"))?;
            let here = match dim == axis {
                true => place,
                false => self.numbered(dim, first.len(), &first[dim], self.elem(place))?,
            };
            at = Some(match at {
                None => here,
                Some(at) => {
                    let n = self.number(n as f64, self.elem(at))?;
                    let before = self.zip(MUL, at, n)?;
                    self.zip(ADD, before, here)?
                }
            });
        }
        let at = self.expand(at.unwrap_or(place), first)?;
        let merged = self.flat(&own[..=last])?;
        let flat = std::iter::once(merged).chain(own[last + 1..].iter().cloned()).collect();
        let x = self.reshape(x, flat)?;
        self.gather(x, 0, at)
    }

    /// Elements of which each has a position of its own in one dimension: a sum over that dimension, in which all others
    /// count as 0.
    pub(super) fn pick_each(&mut self, x: Id, axis: usize, index: Id) -> Built {
        let (own, wanted) = (self.shape(x), self.shape(index));
        let mut x = x;
        for at in (0..own.len()).filter(|at| *at != axis && own[*at] != wanted[*at]) {
            let n = wanted[at].constant().and_then(|n| i64::try_from(n).ok());
            let n = n.ok_or_else(|| misfit("positions of parts that the data says"))?;
            x = self.slice(x, at as i64, 0, n, 1)?;
        }
        let named = self.named(index, &own[axis])?;
        // The elements of the dimension stand behind all others, with one place where they were.
        let last = self.axis_last(x, axis)?;
        let last = self.unsqueeze(last, axis)?;
        let zero = self.number(0.0, self.elem(x))?;
        let chosen = self.choose(named, last, zero)?;
        self.fold("sum", chosen, &[-1], false)
    }

    /// A tensor with elements combined (`add` or `max`) of which each has a position of its own in one dimension.
    pub(super) fn combine_each(
        &mut self,
        word: &str,
        table: Id,
        axis: usize,
        index: Id,
        rows: Id,
    ) -> Built {
        let (own, given) = (self.shape(table), self.shape(index));
        let fits = own.len() == given.len()
            && given == self.shape(rows)
            && (0..own.len()).all(|at| at == axis || own[at] == given[at]);
        if !fits {
            return Err(misfit("elements are combined with a part of the other dimensions"));
        }
        // [.., k, ..] and the place behind: the fold over k is an element for each place.
        let named = self.named(index, &own[axis])?;
        let rows = self.cast(rows, self.elem(table))?;
        let rows = self.unsqueeze(rows, own.len())?;
        let (nothing, fold) = if word == MAX { (f64::NEG_INFINITY, MAX) } else { (0.0, "sum") };
        let nothing = self.number(nothing, self.elem(table))?;
        let chosen = self.choose(named, rows, nothing)?;
        let folded = self.fold(fold, chosen, &[axis as i64], false)?;
        let mut order: Vec<usize> = (0..own.len() - 1).collect();
        order.insert(axis, own.len() - 1);
        let folded = self.permute(folded, order)?;
        self.zip(word, table, folded)
    }

    /// The elements of matrices whose column is at most (`le`) or at least (`ge`) so many right of the row: 1, others 0.
    pub(crate) fn beside(&mut self, word: &str, shape: &[Extent], diagonal: i64) -> Built {
        let [.., rows, columns] = shape else { return Err(misfit("a diagonal of no matrix")) };
        let n = rows.constant().ok_or_else(|| misfit("rows that the data says have a diagonal"))?;
        let elem = Elem::Of(DType::I64);
        let ends = self.iota(diagonal, 1, n, elem)?;
        let ends = self.unsqueeze(ends, 1)?;
        let columns = self.numbered(1, 2, columns, elem)?;
        self.compare(word, columns, ends)
    }

    /// Matrices with 0 on one side of a diagonal.
    pub(crate) fn triangle(&mut self, word: &str, x: Id, diagonal: i64) -> Built {
        let inside = self.beside(word, &self.shape(x), diagonal)?;
        let zero = self.number(0.0, self.elem(x))?;
        self.choose(inside, x, zero)
    }

    /// A tensor with its elements in one dimension moved on, the last ones to the front.
    pub(crate) fn roll(&mut self, x: Id, by: i64, axis: i64) -> Built {
        let at = self.axis(axis, self.shape(x).len())?;
        let n = self.shape(x)[at].constant().and_then(|n| i64::try_from(n).ok());
        let n = n.filter(|n| *n > 0).ok_or_else(|| misfit("a dimension that the data says"))?;
        let by = by.rem_euclid(n);
        if by == 0 {
            return Ok(x);
        }
        let end = self.slice(x, axis, n - by, n, 1)?;
        let front = self.slice(x, axis, 0, n - by, 1)?;
        self.concat(vec![end, front], axis)
    }

    /// A tensor with dimensions the other way round.
    pub(crate) fn flip(&mut self, x: Id, axes: &[i64]) -> Built {
        let mut x = x;
        for axis in axes {
            let at = self.axis(*axis, self.shape(x).len())?;
            let n = self.shape(x)[at].constant();
            let n =
                n.ok_or_else(|| misfit("a dimension that the data says, the other way round"))?;
            if n > 1 {
                let places = self.iota(n as i64 - 1, -1, n, Elem::Of(DType::I64))?;
                x = self.gather(x, *axis, places)?;
            }
        }
        Ok(x)
    }

    /// A tensor so many times in each dimension; further dimensions stand in front.
    pub(crate) fn repeat(&mut self, x: Id, times: &[i64]) -> Built {
        let own = self.shape(x);
        let front = times.len().checked_sub(own.len());
        let front = front.ok_or_else(|| misfit("fewer repetitions than dimensions"))?;
        let padded = vec![Extent::Const(1); front].into_iter().chain(own).collect();
        let mut x = self.reshape(x, padded)?;
        for (axis, times) in times.iter().enumerate().filter(|(_, times)| **times != 1) {
            let Ok(times @ 0..=64) = u64::try_from(*times) else {
                return Err(misfit("a dimension is repeated very often"));
            };
            let mut shape = self.shape(x);
            if is_one(&shape[axis]) {
                shape[axis] = Extent::Const(times);
                x = self.expand(x, shape)?;
            } else {
                x = self.concat(vec![x; times as usize], axis as i64)?;
            }
        }
        Ok(x)
    }

    /// A tensor with margins of a number: for each dimension from the last on, before and after it.
    pub(crate) fn margins(&mut self, x: Id, margins: &[i64], number: f64) -> Built {
        let (mut x, rank) = (x, self.shape(x).len());
        for (at, by) in margins.chunks(2).enumerate() {
            let axis =
                rank.checked_sub(at + 1).ok_or_else(|| misfit("margins of more dimensions"))?;
            let side = |b: &mut Builder, n: i64| -> Result<Option<Id>, Problem> {
                let n = u64::try_from(n).map_err(|_| misfit("a margin below 0"))?;
                let mut shape = b.shape(x);
                shape[axis] = Extent::Const(n);
                let elem = b.elem(x);
                (n > 0).then(|| b.full(number, shape, elem)).transpose()
            };
            let &[before, after] = by else { return Err(misfit("a margin has two sides")) };
            let parts = [side(self, before)?, Some(x), side(self, after)?];
            x = self.concat(parts.into_iter().flatten().collect(), axis as i64)?;
        }
        Ok(x)
    }

    /// A tensor with another one in place of a part: of elements of one dimension, from one on.
    pub(crate) fn replaced(&mut self, x: Id, part: Id, axis: i64, first: i64) -> Built {
        let (own, given) = (self.shape(x), self.shape(part));
        let at = self.axis(axis, own.len())?;
        let extent = |shape: &[Extent]| {
            shape.get(at).and_then(Extent::constant).and_then(|n| i64::try_from(n).ok())
        };
        let (Some(n), Some(count)) = (extent(&own), extent(&given)) else {
            return Err(misfit("a part of a dimension that the data says"));
        };
        let first = if first < 0 { first.saturating_add(n) } else { first }.clamp(0, n);
        let end = first.saturating_add(count).min(n);
        let before = self.slice(x, axis, 0, first, 1)?;
        let after = self.slice(x, axis, end, n, 1)?;
        let part = self.cast(part, self.elem(x))?;
        let is_part = |b: &Builder, id: Id| b.shape(id)[at] != Extent::Const(0);
        let parts: Vec<Id> =
            [before, part, after].into_iter().filter(|id| is_part(self, *id)).collect();
        self.concat(parts, axis)
    }

    /// Elements at positions in neighbouring dimensions from the first on, of which no position is known: rows at the
    /// first positions, then a sum over each other dimension.
    pub(super) fn index_each(&mut self, x: Id, indices: &[Id]) -> Built {
        let [first, rest @ ..] = indices else { return Ok(x) };
        let (first, rest) = (*first, rest.to_vec());
        let mut shape = self.shape(first);
        for index in &rest {
            shape = super::broadcast(&shape, &self.shape(*index))?;
        }
        let first = self.expand(first, shape.clone())?;
        let mut found = self.gather(x, 0, first)?;
        let at = shape.len();
        for index in rest {
            let own = self.shape(found);
            let n = own.get(at).and_then(Extent::constant);
            let n = n.ok_or_else(|| misfit("positions in a dimension that the data says"))?;
            let index = self.counted_from_the_end(index, n)?;
            let index = self.expand(index, shape.clone())?;
            let named = self.named(index, &own[at])?;
            let mut wide = self.shape(named);
            wide.resize(own.len(), Extent::Const(1));
            let named = self.reshape(named, wide)?;
            let zero = self.number(0.0, self.elem(found))?;
            let chosen = self.choose(named, found, zero)?;
            found = self.fold("sum", chosen, &[at as i64], false)?;
        }
        Ok(found)
    }

    /// Positions of which those below 0 count from the end.
    pub(super) fn counted_from_the_end(&mut self, index: Id, n: u64) -> Built {
        if let Some(mut values) = known(&self.graph, index)? {
            if values.iter().all(|value| *value >= 0) {
                return Ok(index);
            }
            let last = i64::try_from(n).unwrap_or(i64::MAX);
            let negative = values.iter_mut().filter(|value| **value < 0);
            negative.for_each(|value| *value = value.saturating_add(last));
            let shape = self.shape(index).iter().filter_map(Extent::constant).collect();
            let data = Data::I64(values.into());
            let counted = Tensor { dtype: DType::I64, shape, data };
            return self.constant(counted, Elem::Of(DType::I64));
        }
        let elem = self.elem(index);
        let (zero, n) = (self.number(0.0, elem)?, self.number(n as f64, elem)?);
        let negative = self.compare(Comparison::Less.word(), index, zero)?;
        let sum = self.zip(ADD, index, n)?;
        self.choose(negative, sum, index)
    }

    /// The middle dimension in groups, as rows: (n, c, …) as (n, groups, c / groups · …).
    pub(crate) fn groups(&mut self, x: Id, groups: i64) -> Built {
        let shape = self.shape(x);
        let [first, rest @ ..] = &shape[..] else { return Err(misfit("groups of a number")) };
        let n = self.flat(rest)?.constant();
        let groups = u64::try_from(groups).ok().filter(|groups| *groups > 0);
        let width = n.zip(groups).map(|(n, groups)| (groups, n / groups));
        let (groups, width) = width.ok_or_else(|| misfit("groups of unknown size"))?;
        self.reshape(x, vec![first.clone(), Extent::Const(groups), Extent::Const(width)])
    }

    /// Rows at positions that have a known number added, or of which only the data says how many there are: those of each
    /// column by themselves. `None` if positions are looked up together.
    pub(super) fn gather_columns(
        &mut self,
        x: Id,
        axis: usize,
        index: Id,
    ) -> Result<Option<Id>, Problem> {
        let wanted = self.shape(index);
        let plain = if self.graph.from_the_end { self.in_front(index) } else { index };
        let (from, added) = match self.shifted(plain)? {
            Some(shifted) => shifted,
            None if self.flat(&wanted).is_err() => (index, Vec::new()),
            None => return Ok(None),
        };
        let part = |b: &mut Builder, column: Id, at: usize| {
            let first = added.get(at).or(added.first()).copied().unwrap_or(0);
            if first < 0 {
                return Err(misfit("positions less a number"));
            }
            let table = b.slice(x, axis as i64, first, i64::MAX, 1)?;
            b.gather(table, axis as i64, column)
        };
        let columns = wanted.last().and_then(Extent::constant);
        match columns.filter(|columns| *columns <= COLUMNS) {
            Some(_) if wanted.len() > 1 || added.len() > 1 => {
                let last = wanted.len() as i64 - 1;
                let mut parts = Vec::new();
                for at in 0..columns.unwrap_or(0) {
                    let column = self.select(from, last, at as i64)?;
                    parts.push(part(self, column, at as usize)?);
                }
                self.stack(parts, axis as i64 + last).map(Some)
            }
            _ if added.len() == 1 => part(self, from, 0).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns `i` of positions `i < 0 ? i + n : i` that a framework chooses: what is looked up is checked to be in front.
    fn in_front(&self, index: Id) -> Id {
        let of = |id: Id| (&self.graph.node(id).op, &self.graph.node(id).operands[..]);
        if let (Op::Choose, &[condition, sum, plain]) = of(index)
            && let (Op::Compare(less), &[compared, zero]) = of(condition)
            && let (Op::Zip(add), &[own, _]) = of(sum)
            && less == Comparison::Less.word()
            && add == ADD
            && compared == plain
            && own == plain
            && self.number_of(zero) == Some(0.0)
        {
            return plain;
        }
        index
    }

    /// Returns what positions are without a known sum, and the numbers added: one, or one for each column.
    fn shifted(&self, index: Id) -> Result<Option<(Id, Vec<i64>)>, Problem> {
        let node = self.graph.node(index);
        let (Op::Zip(word), &[a, b]) = (&node.op, &node.operands[..]) else { return Ok(None) };
        if word != ADD || known(&self.graph, index)?.is_some() {
            return Ok(None);
        }
        for (from, number) in [(a, b), (b, a)] {
            let shape = self.shape(number);
            let in_columns = node.shape.len() > 1 && shape.iter().rev().skip(1).all(is_one);
            if let (Some(numbers), true) = (known(&self.graph, number)?, in_columns)
                && self.shape(from) == node.shape
            {
                return Ok(Some((from, numbers)));
            }
        }
        Ok(None)
    }

    /// Segments of rows, where empty ones are what a fold of nothing is: the start, or no number.
    pub(crate) fn segments_from(
        &mut self,
        word: &str,
        data: Id,
        offsets: Id,
        start: Option<f64>,
    ) -> Built {
        if word == "sum" {
            let sum = self.segments(word, data, offsets)?;
            let start = self.number(start.unwrap_or(0.0), self.elem(data))?;
            return match self.number_of(start) {
                Some(0.0) => Ok(sum),
                _ => self.zip(ADD, sum, start),
            };
        }
        if word == MIN {
            let less = self.map("neg", data)?;
            let most = self.segments_from(MAX, less, offsets, start.map(|x| -x))?;
            return self.map("neg", most);
        }
        let elem = self.elem(data);
        let (folded, start) = match word {
            "mean" => {
                let sum = self.segments_from("sum", data, offsets, start)?;
                let count = self.lengths(data, offsets)?;
                (self.zip(DIV, sum, count)?, start)
            }
            _ => (self.segments(word, data, offsets)?, Some(start.unwrap_or(f64::NEG_INFINITY))),
        };
        // Nothing over nothing is no number, which only a start replaces.
        let Some(start) = start else { return Ok(folded) };
        let counts = word == "mean" || start == f64::NEG_INFINITY;
        let (zero, start) = (self.number(0.0, elem)?, self.number(start, elem)?);
        let count = self.lengths(data, offsets)?;
        let empty = self.compare("eq", count, zero)?;
        let all = if counts { folded } else { self.zip(MAX, folded, start)? };
        self.choose(empty, start, all)
    }

    /// The numbers of rows of segments, beside the rows that they are folded to.
    fn lengths(&mut self, data: Id, offsets: Id) -> Built {
        let shape = self.shape(data);
        let rows = shape.first().cloned().unwrap_or(Extent::Const(1));
        let ones = self.full(1.0, vec![rows], self.elem(data))?;
        let count = self.segments("sum", ones, offsets)?;
        if shape.len() > 1 { self.unsqueeze(count, 1) } else { Ok(count) }
    }

    /// Attention weights before the softmax: scaled, and without what a mask leaves out.
    pub(super) fn masked(&mut self, scores: Id, mask: Option<Id>, causal: bool) -> Built {
        let mut scores = scores;
        let lowest = self.number(f64::NEG_INFINITY, self.elem(scores))?;
        if causal {
            let seen = self.beside("le", &self.shape(scores), 0)?;
            scores = self.choose(seen, scores, lowest)?;
        }
        match mask {
            Some(mask) if self.elem(mask) == Elem::Bool => self.choose(mask, scores, lowest),
            Some(mask) => self.zip(ADD, scores, mask),
            None => Ok(scores),
        }
    }

    /// A tensor times a number.
    pub(super) fn scaled(&mut self, x: Id, by: f64) -> Built {
        let by = self.number(by, self.elem(x))?;
        self.zip(MUL, x, by)
    }
}
