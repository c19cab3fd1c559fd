//! Operations that move elements: other extents, other orders, parts, and parts put together.

use super::{Builder, Built, misfit};
use crate::error::Problem;
use crate::graph::{Elem, Id, Op, count, is_one, shown};
use crate::limits::{FOLDED, RESULTS};
use ember_language::sexp::deeper;
use ember_model::Extent;
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::DType;
use itertools::Itertools;

impl Builder {
    /// Returns a dimension; negative ones count from the end.
    pub(crate) fn axis(&self, axis: i64, rank: usize) -> Result<usize, Problem> {
        let whole = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
        let found = usize::try_from(whole).ok().filter(|axis| *axis < rank);
        found
            .ok_or_else(|| misfit(format!("a tensor of {rank} dimensions has no dimension {axis}")))
    }

    /// Elements under other extents, in their order.
    pub(crate) fn reshape(&mut self, x: Id, shape: Vec<Extent>) -> Built {
        let own = self.shape(x);
        if own == shape {
            return Ok(x);
        }
        if let (Some(n), Some(m)) = (count(&own), count(&shape))
            && n != m
        {
            return Err(misfit(format!("({}) has no ({}) elements", shown(&own), shown(&shape))));
        }
        // Only the last extents matter.
        if let (Op::Reshape, [of]) = (&self.graph.node(x).op, &self.graph.node(x).operands[..]) {
            return self.reshape(*of, shape);
        }
        if let Some(inside) = self.reshaped_before(x, &shape)? {
            return Ok(inside);
        }
        if let Some(parts) = self.reshape_parts(x, &shape)? {
            return Ok(parts);
        }
        let elem = self.elem(x);
        self.add(Op::Reshape, vec![x], shape, elem)
    }

    /// Whole numbers are computed under the extents in which they are needed, as positions are, so that what they are
    /// made of is seen under these extents, too.
    fn reshaped_before(&mut self, x: Id, shape: &[Extent]) -> Result<Option<Id>, Problem> {
        let key = (x, shown(shape));
        if let Some(done) = self.reshaped.get(&key) {
            return Ok(*done);
        }
        let done = deeper(|| self.computed_under(x, shape))?;
        self.reshaped.insert(key, done);
        Ok(done)
    }

    /// An operation on whole numbers under other extents; `None` if it is none, or is not computed element by element.
    fn computed_under(&mut self, x: Id, shape: &[Extent]) -> Result<Option<Id>, Problem> {
        let node = self.graph.node(x).clone();
        let whole = node.elem.is_integer() || node.elem == Elem::Bool;
        let alike = node.operands.iter().all(|id| self.graph.shape(*id) == node.shape);
        // A conversion that follows another one is computed, too.
        let converted = |id: &Id| matches!(self.graph.node(*id).op, Op::Cast);
        let elementwise = match node.op {
            Op::Zip(_) | Op::Compare(_) | Op::Choose => true,
            Op::Cast => node.operands.iter().all(converted),
            _ => false,
        };
        let integers =
            node.operands.iter().all(|id| !matches!(self.elem(*id), Elem::Of(of) if of.is_float()));
        // What is repeated has no place of its own under other extents.
        let repeated = node.operands.iter().any(|id| {
            matches!(self.graph.node(*id).op, Op::Expand) && self.number_of(*id).is_none()
        });
        if !(whole && alike && elementwise && integers) || repeated {
            return Ok(None);
        }
        let mut operands = Vec::new();
        for id in node.operands {
            operands.push(match self.reshaped_before(id, shape)? {
                Some(done) => done,
                None if self.number_of(id).is_some() => {
                    let (x, elem) = (self.number_of(id).unwrap_or(0.0), self.elem(id));
                    self.full(x, shape.to_vec(), elem)?
                }
                None => self.add(Op::Reshape, vec![id], shape.to_vec(), self.elem(id))?,
            });
        }
        self.add(node.op, operands, shape.to_vec(), node.elem).map(Some)
    }

    /// A dimension of extent 1 before another one.
    pub(crate) fn unsqueeze(&mut self, x: Id, axis: usize) -> Built {
        let mut shape = self.shape(x);
        if axis > shape.len() {
            return Err(misfit(format!("no place {axis} for a dimension")));
        }
        shape.insert(axis, Extent::Const(1));
        self.reshape(x, shape)
    }

    /// Without a dimension, if it has the extent 1.
    pub(crate) fn squeeze(&mut self, x: Id, axis: usize) -> Built {
        let mut shape = self.shape(x);
        if shape.get(axis).is_none_or(|extent| !is_one(extent)) {
            return Ok(x);
        }
        shape.remove(axis);
        self.reshape(x, shape)
    }

    /// Dimensions in another order.
    pub(crate) fn permute(&mut self, x: Id, order: Vec<usize>) -> Built {
        let own = self.shape(x);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if sorted != (0..own.len()).collect::<Vec<_>>() {
            return Err(misfit(format!("{order:?} is no order of {} dimensions", own.len())));
        }
        if order == sorted {
            return Ok(x);
        }
        let shape = order.iter().map(|axis| own[*axis].clone()).collect();
        let elem = self.elem(x);
        self.add(Op::Permute(order), vec![x], shape, elem)
    }

    /// Two dimensions exchanged.
    pub(crate) fn transpose(&mut self, x: Id, a: i64, b: i64) -> Built {
        let rank = self.shape(x).len();
        let (a, b) = (self.axis(a, rank)?, self.axis(b, rank)?);
        let mut order: Vec<usize> = (0..rank).collect();
        order.swap(a, b);
        self.permute(x, order)
    }

    /// A dimension put first.
    pub(super) fn axis_first(&mut self, x: Id, axis: usize) -> Built {
        let rank = self.shape(x).len();
        let rest = (0..rank).filter(|other| *other != axis);
        self.permute(x, std::iter::once(axis).chain(rest).collect())
    }

    /// A dimension put last.
    pub(super) fn axis_last(&mut self, x: Id, axis: usize) -> Built {
        let rank = self.shape(x).len();
        let rest = (0..rank).filter(|other| *other != axis);
        self.permute(x, rest.chain([axis]).collect())
    }

    /// The first dimension put where another one is.
    pub(super) fn first_to_axis(&mut self, x: Id, axis: usize) -> Built {
        let rank = self.shape(x).len();
        let mut order: Vec<usize> = (1..rank).collect();
        order.insert(axis, 0);
        self.permute(x, order)
    }

    /// Repetition along dimensions of extent 1, and along new ones in front.
    pub(crate) fn expand(&mut self, x: Id, shape: Vec<Extent>) -> Built {
        let own = self.shape(x);
        if own == shape {
            return Ok(x);
        }
        let skipped = shape.len().checked_sub(own.len());
        let fits = skipped.is_some_and(|skipped| {
            own.iter().zip(&shape[skipped..]).all(|(own, wanted)| own == wanted || is_one(own))
        });
        if !fits {
            return Err(misfit(format!(
                "({}) cannot be repeated to ({})",
                shown(&own),
                shown(&shape)
            )));
        }
        let elem = self.elem(x);
        self.add(Op::Expand, vec![x], shape, elem)
    }

    /// Elements of one dimension, from one on and before another. Numbers below 0 count from the end.
    pub(crate) fn slice(&mut self, x: Id, axis: i64, first: i64, end: i64, step: i64) -> Built {
        let mut shape = self.shape(x);
        let axis = self.axis(axis, shape.len())?;
        if first == 0 && step == 1 && end == i64::MAX {
            return Ok(x);
        }
        let Some(extent) = shape[axis].constant().and_then(|n| i64::try_from(n).ok()) else {
            // So many less at either end are left, whatever the data says.
            if let (Ok(from), true) =
                (u64::try_from(first), step == 1 && (end < 0 || end == i64::MAX))
            {
                let behind = if end < 0 { end } else { 0 };
                shape[axis] = self.more(&shape[axis], behind.saturating_sub(first))?;
                let elem = self.elem(x);
                return self.add(Op::Slice { axis, first: from }, vec![x], shape, elem);
            }
            return Err(misfit(format!("a slice of the dimension `{}`", shape[axis])));
        };
        let within = |n: i64| if n < 0 { n.saturating_add(extent) } else { n }.clamp(0, extent);
        let (first, end) = (within(first), within(end));
        if step < 1 {
            return Err(misfit("a slice with a step below 1"));
        }
        let n = (end - first).max(0) as u64;
        let (first, step) = (first as u64, step as u64);
        shape[axis] = Extent::Const(n.div_ceil(step));
        let elem = self.elem(x);
        if shape == self.shape(x) {
            return Ok(x);
        }
        if step > 1 {
            // Elements apart are looked up.
            let places =
                self.iota(first as i64, step as i64, n.div_ceil(step), Elem::Of(DType::I64))?;
            return self.gather(x, axis as i64, places);
        }
        if let Some(parts) = self.slice_parts(x, axis, [first as i64, end])? {
            return Ok(parts);
        }
        self.add(Op::Slice { axis, first }, vec![x], shape, elem)
    }

    /// One element of a dimension, which is left out.
    pub(crate) fn select(&mut self, x: Id, axis: i64, at: i64) -> Built {
        let shape = self.shape(x);
        let axis = self.axis(axis, shape.len())?;
        let extent = shape[axis].constant().and_then(|n| i64::try_from(n).ok());
        let at = match extent {
            Some(extent) if at < 0 => at.saturating_add(extent),
            _ => at,
        };
        if at < 0 || extent.is_none_or(|extent| at >= extent) {
            return Err(misfit(format!("no element {at} in the dimension `{}`", shape[axis])));
        }
        let part = self.slice(x, axis as i64, at, at + 1, 1)?;
        self.squeeze(part, axis)
    }

    /// Tensors one after the other in one dimension.
    pub(crate) fn concat(&mut self, parts: Vec<Id>, axis: i64) -> Built {
        // Frameworks skip vectors without elements.
        let empty = |builder: &Builder, id: &Id| builder.shape(*id) == [Extent::Const(0)];
        let parts: Vec<Id> = match parts.iter().all(|id| empty(self, id)) {
            true => parts,
            false => parts.into_iter().filter(|id| !empty(self, id)).collect(),
        };
        let Some(first) = parts.first() else { return Err(misfit("nothing is put together")) };
        let mut shape = self.shape(*first);
        let axis = self.axis(axis, shape.len())?;
        let mut elem = self.elem(*first);
        for part in &parts {
            elem = super::wider(elem, self.elem(*part));
        }
        let mut sum = Some(0u64);
        let mut cast = Vec::new();
        for part in &parts {
            let own = self.shape(*part);
            sum = sum
                .zip(own.get(axis).and_then(Extent::constant))
                .and_then(|(a, b)| a.checked_add(b));
            let alike = own.len() == shape.len()
                && own.iter().zip(&shape).enumerate().all(|(i, (a, b))| i == axis || a == b);
            if !alike {
                return Err(misfit(format!(
                    "({}) and ({}) cannot be put together",
                    shown(&shape),
                    shown(&own)
                )));
            }
            cast.push(self.cast(*part, elem)?);
        }
        if let [only] = cast[..] {
            return Ok(only);
        }
        if let Some(starts) = self.starts_behind_zero(&cast)? {
            return Ok(starts);
        }
        let Some(sum) = sum else {
            return Err(misfit(
                "parts are put together along a dimension that changes with the data",
            ));
        };
        shape[axis] = Extent::Const(sum);
        self.add(Op::Concat(axis), cast, shape, elem)
    }

    /// Tensors one after the other in a new dimension.
    pub(crate) fn stack(&mut self, parts: Vec<Id>, axis: i64) -> Built {
        let rank = parts.first().map_or(0, |first| self.shape(*first).len());
        let at = self.axis(axis, rank + 1)?;
        let parts: Result<Vec<Id>, Problem> =
            parts.into_iter().map(|part| self.unsqueeze(part, at)).collect();
        self.concat(parts?, at as i64)
    }

    /// Parts of so many elements of a dimension each, the last one shorter.
    pub(crate) fn split(&mut self, x: Id, size: i64, axis: i64) -> Result<Vec<Id>, Problem> {
        let at = self.axis(axis, self.shape(x).len())?;
        let extent = self.shape(x)[at].constant().and_then(|n| i64::try_from(n).ok());
        let parts = extent.filter(|_| size > 0).map(|n| n / size + i64::from(n % size > 0));
        let Some(parts) = parts.filter(|parts| *parts <= RESULTS as i64) else {
            return Err(misfit("a dimension of unknown extent, or with too many parts, is split"));
        };
        let part = |k: i64| self.slice(x, axis, k * size, (k * size).saturating_add(size), 1);
        (0..parts).map(part).collect()
    }

    /// `first + step · i` for so many `i`.
    pub(crate) fn iota(&mut self, first: i64, step: i64, n: u64, elem: Elem) -> Built {
        self.add(Op::Iota { first, step }, Vec::new(), vec![Extent::Const(n)], elem)
    }

    /// The rows, and below them the columns, of the elements of a matrix on one side of a diagonal, row by row.
    pub(crate) fn triangle_places(
        &mut self,
        word: &str,
        rows: i64,
        columns: i64,
        diagonal: i64,
    ) -> Built {
        let all = rows.checked_mul(columns).and_then(|n| u64::try_from(n).ok());
        if all.is_none_or(|n| n > FOLDED) {
            return Err(misfit(format!("the triangle of a matrix of {rows} times {columns}")));
        }
        let inside = |(row, column): &(i64, i64)| match word {
            "le" => column - row <= diagonal,
            _ => column - row >= diagonal,
        };
        let places = (0..rows).cartesian_product(0..columns).filter(inside);
        let (mut all, last): (Vec<i64>, Vec<i64>) = places.unzip();
        let shape = vec![2, last.len() as u64];
        all.extend(last);
        let tensor = Tensor { dtype: DType::I64, shape, data: Data::I64(all.into()) };
        self.constant(tensor, Elem::Of(DType::I64))
    }
}
