//! Functions whose operands say extents: where programs compute shapes, and do not record them.

use super::Item;
use super::functions::Operands;
use super::known::{Known, Whole};
use crate::build::{Builder, misfit};
use crate::error::Problem;
use crate::graph::{Elem, Id};
use crate::words::ADD;
use ember_model::Extent;
use ember_values::scalar::DType;

/// The parts of one dimension that are taken.
pub(super) struct Range {
    first: Option<i64>,
    end: Option<i64>,
    step: i64,
    /// True if the dimension is one element and goes away.
    pub(super) single: bool,
}

impl Range {
    /// Returns the places of the elements in a dimension of this extent.
    pub(super) fn places(&self, n: usize) -> Vec<usize> {
        let n = n as i64;
        let within = |at: i64| (if at < 0 { at.saturating_add(n) } else { at }).clamp(0, n);
        let first = self.first.map_or(0, within);
        let end = if self.single { first + 1 } else { self.end.map_or(n, within) };
        (first..end).step_by(self.step.max(1) as usize).map(|at| at as usize).collect()
    }
}

/// Returns true if a bit of a mask is set.
fn bit(mask: i64, at: usize) -> bool {
    at < 63 && mask >> at & 1 == 1
}

impl Operands<'_> {
    /// Returns extents; `None` for the one that is written as -1.
    fn dims(&self, at: usize) -> Result<Vec<Option<Extent>>, Problem> {
        let Item::Known(Known { values, .. }) = self.item(at) else {
            return Err(misfit("a shape is computed from data"));
        };
        let dim = |value: &Whole| match value {
            Whole::Int(-1) => Ok(None),
            Whole::Int(n) => match u64::try_from(*n) {
                Ok(n) => Ok(Some(Extent::Const(n))),
                Err(_) => Err(misfit(format!("an extent of {n}"))),
            },
            Whole::Size(extent) => Ok(Some(extent.clone())),
        };
        values.iter().map(dim).collect()
    }

    fn extents(&self, at: usize) -> Result<Vec<Extent>, Problem> {
        let dims: Option<Vec<Extent>> = self.dims(at)?.into_iter().collect();
        dims.ok_or_else(|| misfit("an extent below 0"))
    }

    /// Returns the extents that a function which keeps all elements gives.
    pub(super) fn target(
        &self,
        builder: &mut Builder,
        own: &[Extent],
    ) -> Result<Vec<Extent>, Problem> {
        match self.function {
            "squeeze" => {
                let mut gone = Vec::new();
                for axis in self.ints(1)? {
                    gone.push(builder.axis(axis, own.len())?);
                }
                let all = gone.is_empty();
                let stays = |(at, extent): &(usize, &Extent)| {
                    **extent != Extent::Const(1) || !(all || gone.contains(at))
                };
                Ok(own.iter().enumerate().filter(stays).map(|(_, extent)| extent.clone()).collect())
            }
            "expand_dims" => {
                let mut shape = own.to_vec();
                shape.insert(builder.axis(self.int(1)?, own.len() + 1)?, Extent::Const(1));
                Ok(shape)
            }
            _ => {
                let dims = self.dims(1)?;
                let known: Vec<Extent> = dims.iter().flatten().cloned().collect();
                match dims.len() - known.len() {
                    0 => Ok(known),
                    1 => {
                        let rest = builder.rest(own, &known)?;
                        Ok(dims
                            .into_iter()
                            .map(|dim| dim.unwrap_or_else(|| rest.clone()))
                            .collect())
                    }
                    _ => Err(misfit("several extents are -1")),
                }
            }
        }
    }

    /// Returns the only range of a strided slice of one dimension.
    pub(super) fn range(&self) -> Result<Option<Range>, Problem> {
        let bounds = [1, 2, 3].map(|at| match self.item(at) {
            Item::Known(known) => known.ints(),
            _ => None,
        });
        let [Some(first), Some(end), Some(step)] = &bounds else { return Ok(None) };
        let ([first], [end], [step]) = (&first[..], &end[..], &step[..]) else { return Ok(None) };
        let masks = [self.int(4)?, self.int(5)?, self.int(6)?, self.int(7)?, self.int(8)?];
        if masks[2] != 0 || masks[3] != 0 || *step < 1 {
            return Ok(None);
        }
        Ok(Some(Range {
            first: (!bit(masks[0], 0)).then_some(*first),
            end: (!bit(masks[1], 0)).then_some(*end),
            step: *step,
            single: bit(masks[4], 0),
        }))
    }
}

/// Applies a function; `None` if there is none of this name.
pub(super) fn call(b: &mut Builder, given: &Operands) -> Result<Option<Id>, Problem> {
    let done = match given.function {
        "reshape_to" | "squeeze" | "expand_dims" => {
            let x = given.tensor(b, 0)?;
            let own = b.shape(x);
            let target = given.target(b, &own)?;
            b.reshape(x, target)?
        }
        "repeat_to" => {
            let x = given.tensor(b, 0)?;
            b.expand(x, given.extents(1)?)?
        }
        "fill" => {
            let x = given.tensor(b, 1)?;
            b.expand(x, given.extents(0)?)?
        }
        "tile" => {
            let x = given.tensor(b, 0)?;
            tile(b, x, given)?
        }
        "strided" => {
            let x = given.tensor(b, 0)?;
            strided(b, x, given)?
        }
        "slice_sizes" => {
            let mut x = given.tensor(b, 0)?;
            for (axis, (first, n)) in given.ints(1)?.into_iter().zip(given.dims(2)?).enumerate() {
                let own = b.shape(x).get(axis).cloned();
                if first == 0 && (n.is_none() || n == own) {
                    continue;
                }
                let n = n.map(|n| {
                    n.constant()
                        .and_then(|n| i64::try_from(n).ok())
                        .ok_or_else(|| misfit("a slice of a length that the data says"))
                });
                let end = n.transpose()?.map_or(i64::MAX, |n| first.saturating_add(n));
                x = b.slice(x, axis as i64, first, end, 1)?;
            }
            x
        }
        "pad" => {
            let mut x = given.tensor(b, 0)?;
            for (axis, by) in given.ints(1)?.chunks(2).enumerate() {
                let number = given.item(2).number().unwrap_or(0.0);
                let side = |b: &mut Builder, n: i64| -> Result<Option<Id>, Problem> {
                    let n = u64::try_from(n).map_err(|_| misfit("a margin below 0"))?;
                    let mut shape = b.shape(x);
                    *shape.get_mut(axis).ok_or_else(|| misfit("margins of more dimensions"))? =
                        Extent::Const(n);
                    let elem = b.elem(x);
                    (n > 0).then(|| b.full(number, shape, elem)).transpose()
                };
                let (&[before, after], true) = (by, by.len() == 2) else {
                    return Err(misfit("a margin has two sides"));
                };
                let parts = [side(b, before)?, Some(x), side(b, after)?];
                x = b.concat(parts.into_iter().flatten().collect(), axis as i64)?;
            }
            x
        }
        "range" => {
            let (Some(0), Some(1)) = (given.known_int(0), given.known_int(2)) else {
                return Err(misfit("numbers that do not rise from 0 by 1, to a computed one"));
            };
            match given.item(1) {
                Item::Known(_) => {
                    let limit = given.extents(1)?;
                    b.spelled("iota", Vec::new(), limit, Elem::Of(DType::I64))?
                }
                _ => {
                    let limit = given.tensor(b, 1)?;
                    b.range(limit)?
                }
            }
        }
        "by_segment" => {
            let (x, ids) = (given.tensor(b, 1)?, given.tensor(b, 2)?);
            let (n, lowest) = match given.item(3) {
                Item::None => (given.segments(b, ids)?, false),
                _ => {
                    let n =
                        given.extents(3)?.pop().ok_or_else(|| misfit("no number of segments"))?;
                    (n, given.truth(4)?)
                }
            };
            b.by_segment(given.word(0)?, x, ids, n, lowest)?
        }
        "quotient_or_zero" => {
            let (x, y) = (given.tensor(b, 0)?, given.tensor(b, 1)?);
            b.quotient_or_zero(x, y)?
        }
        "fold_over" => {
            let x = given.tensor(b, 1)?;
            match &given.ints(2)?[..] {
                // No dimension is none here, not all.
                [] => x,
                _ if given.word(0)? == "prod" => {
                    return Err(misfit("a product over computed elements"));
                }
                axes => b.fold(given.word(0)?, x, axes, given.truth(3)?)?,
            }
        }
        "floor_div" => return Err(misfit("a quotient of computed whole numbers")),
        "choose_rows" => {
            let (mut condition, x) = (given.tensor(b, 0)?, given.tensor(b, 1)?);
            let (own, rank) = (b.shape(condition), b.shape(x).len());
            // A vector of conditions decides on rows.
            if own.len() == 1 && rank > 1 {
                let columns = std::iter::repeat_n(Extent::Const(1), rank - 1);
                condition = b.reshape(condition, own.into_iter().chain(columns).collect())?;
            }
            let y = given.tensor(b, 2)?;
            b.choose(condition, x, y)?
        }
        "total" => {
            let mut parts = given.tensors(b, 0)?.into_iter();
            let first = parts.next().ok_or_else(|| misfit("a sum of nothing"))?;
            parts.try_fold(first, |sum, part| b.zip(ADD, sum, part))?
        }
        "one_hot" => {
            let (x, [depth, ..]) = (given.tensor(b, 0)?, &given.extents(1)?[..]) else {
                return Err(misfit("no number of classes"));
            };
            let n = depth.constant().ok_or_else(|| misfit("as many classes as the data says"))?;
            let classes = b.iota(0, 1, n, b.elem(x))?;
            let rank = b.shape(x).len();
            let x = b.unsqueeze(x, rank)?;
            let own = b.compare("eq", x, classes)?;
            let (on, off) = (given.tensor(b, 2)?, given.tensor(b, 3)?);
            b.choose(own, on, off)?
        }
        "einsum" => {
            let parts = match given.item(1) {
                Item::List(_) => given.tensors(b, 1)?,
                _ => given.tensors_from(b, 1)?,
            };
            b.einsum(given.word(0)?, &parts)?
        }
        "nonzero" => {
            let x = given.tensor(b, 0)?;
            b.nonzero(x)?
        }
        "gather_nd" => {
            let (x, index) = (given.tensor(b, 0)?, given.tensor(b, 1)?);
            b.gather_nd(x, index)?
        }
        "scatter_nd" => {
            let (index, rows) = (given.tensor(b, 2)?, given.tensor(b, 3)?);
            let table = match given.item(1) {
                Item::Tensor(table) => *table,
                _ => {
                    let (shape, elem) = (given.extents(1)?, b.elem(rows));
                    b.full(0.0, shape, elem)?
                }
            };
            b.scatter_nd(given.word(0)?, table, index, rows)?
        }
        "adjoint" => {
            let x = given.tensor(b, 0)?;
            if given.truth(1)? { b.transpose(x, -2, -1)? } else { x }
        }
        _ => return Ok(None),
    };
    Ok(Some(done))
}

impl Operands<'_> {
    fn known_int(&self, at: usize) -> Option<i64> {
        match self.item(at) {
            Item::Known(known) => known.ints()?.first().copied(),
            _ => None,
        }
    }

    /// Returns the number of segments that ascending positions name.
    fn segments(&self, b: &mut Builder, ids: Id) -> Result<Extent, Problem> {
        match self.item(2) {
            Item::Known(known) => {
                let last = known.ints().and_then(|ids| ids.into_iter().max()).unwrap_or(-1);
                Ok(Extent::Const(u64::try_from(last.saturating_add(1)).unwrap_or(0)))
            }
            _ => b.segment_count(ids),
        }
    }
}

/// Repetition of whole dimensions.
fn tile(b: &mut Builder, x: Id, given: &Operands) -> Result<Id, Problem> {
    let times = given.extents(1)?;
    let own = b.shape(x);
    if own.len() != times.len() {
        return Err(misfit("as many numbers of repetitions as dimensions are needed"));
    }
    let mut x = x;
    for (axis, times) in times.into_iter().enumerate() {
        let mut shape = b.shape(x);
        match (shape[axis].constant(), times.constant()) {
            (_, Some(1)) => {}
            (Some(1), _) => {
                shape[axis] = times;
                x = b.expand(x, shape)?;
            }
            (_, Some(n @ 0..=64)) => x = b.concat(vec![x; n as usize], axis as i64)?,
            _ => {
                return Err(misfit(
                    "a dimension is repeated very often, or as often as the data says",
                ));
            }
        }
    }
    Ok(x)
}

/// Parts of dimensions with bounds, and masks that leave bounds out, drop dimensions and add them.
fn strided(b: &mut Builder, x: Id, given: &Operands) -> Result<Id, Problem> {
    let (first, end, step) = (given.ints(1)?, given.ints(2)?, given.ints(3)?);
    let masks = [given.int(4)?, given.int(5)?, given.int(6)?, given.int(7)?, given.int(8)?];
    let [no_first, no_end, all, new, single] = masks;
    let count = first.len().min(end.len()).min(step.len());
    let (mut x, mut axis) = (x, 0usize);
    for at in 0..count {
        if bit(all, at) {
            // All dimensions but those that are named behind.
            let behind = (at + 1..count).filter(|at| !bit(new, *at)).count();
            axis = b.shape(x).len().saturating_sub(behind).max(axis);
            continue;
        }
        if bit(new, at) {
            x = b.unsqueeze(x, axis)?;
            axis += 1;
            continue;
        }
        if bit(single, at) {
            x = b.select(x, axis as i64, first[at])?;
            continue;
        }
        let from = if bit(no_first, at) { 0 } else { first[at] };
        let to = if bit(no_end, at) { i64::MAX } else { end[at] };
        x = b.slice(x, axis as i64, from, to, step[at])?;
        axis += 1;
    }
    Ok(x)
}
