//! Positions that are computed, and edges sorted into the rows that they lead to: what programs prepare is compared with
//! this.

use super::Instance;
use super::check;
use super::instantiate::Maker;
use crate::model::{Input, Model, SortUse, TensorId, Whole};
use ember_language::diagnostic::{Diagnostic, Span};
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::{DType, Scalar};
use itertools::Itertools;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Returns the first edge of each row, and the number of edges.
fn offsets(rows: u64, positions: &[i64]) -> Vec<i64> {
    let mut offsets = vec![0; rows as usize + 1];
    positions.iter().for_each(|row| offsets[*row as usize + 1] += 1);
    (0..rows as usize).for_each(|row| offsets[row + 1] += offsets[row]);
    offsets
}

/// Returns the edges in the order of the rows that they lead to, those of one row in their own order.
fn order(positions: &[i64]) -> Vec<u64> {
    let mut order: Vec<u64> = (0..positions.len() as u64).collect();
    order.sort_by_key(|edge| positions[*edge as usize]);
    order
}

/// Returns what scratch memory holds in which a program has sorted the lookups of a use.
pub fn sorted(
    model: &Model,
    instance: &Instance,
    sort: &SortUse,
) -> Option<[(TensorId, Tensor); 2]> {
    let tensor = |id: TensorId| instance.tensors.get(&model.tensor(id).name);
    let all: Vec<i64> = check::positions(tensor(sort.indices)?).collect();
    let rows = tensor(sort.starts)?.len().saturating_sub(1);
    let held = |numbers: Vec<i64>| {
        let (dtype, shape) = (DType::I64, vec![numbers.len() as u64]);
        Tensor { dtype, shape, data: Data::I64(numbers.into()) }
    };
    let order = order(&all).into_iter().map(|at| at as i64).collect();
    Some([(sort.order, held(order)), (sort.starts, held(offsets(rows, &all)))])
}

/// Returns the shape of what is computed of tensors of these shapes, which are repeated along dimensions that they lack or
/// have once; `None` if they do not fit each other.
pub fn broadcast<'a>(shapes: impl Iterator<Item = &'a [u64]>) -> Option<Vec<u64>> {
    shapes.map(<[u64]>::to_vec).try_fold(Vec::new(), |a: Vec<u64>, b| {
        let rank = a.len().max(b.len());
        let extent = |own: &[u64], at: usize| (at + own.len()).checked_sub(rank).map(|at| own[at]);
        let extents = (0..rank).map(|at| match (extent(&a, at), extent(&b, at)) {
            (Some(1) | None, Some(n)) | (Some(n), Some(1) | None) => Some(n),
            (a, b) => a.filter(|_| a == b),
        });
        extents.collect()
    })
}

/// Returns the place of an element in a tensor of `own` shape that is repeated to a shape.
fn place(own: &[u64], shape: &[u64], element: u64) -> u64 {
    let (mut at, mut scale, mut rest) = (0, 1, element);
    for (k, extent) in shape.iter().enumerate().rev() {
        let index = rest % extent;
        rest /= extent;
        if let Some(n) = (k + own.len()).checked_sub(shape.len()).map(|k| own[k]) {
            at += scale * if n == 1 { 0 } else { index };
            scale *= n;
        }
    }
    at
}

impl Maker<'_> {
    /// Computes whole numbers of other inputs.
    pub(super) fn compute(
        &mut self,
        input: &Input,
        whole: &Whole,
        len: u64,
        span: Span,
    ) -> Option<Data> {
        let mut of = Vec::new();
        for name in whole.inputs() {
            of.push((name, self.other(name)?.1));
        }
        let in_place = whole.in_place();
        let spread = of.iter().filter(|(name, _)| in_place.contains(name));
        let shape = broadcast(spread.clone().map(|(_, tensor)| &tensor.shape[..]));
        let elements =
            |shape: &[u64]| shape.iter().try_fold(1u64, |n, extent| n.checked_mul(*extent));
        let Some(shape) = shape.filter(|shape| elements(shape) == Some(len)) else {
            let shapes = spread.map(|(name, tensor)| {
                format!("`{name}` ({})", tensor.shape.iter().map(u64::to_string).join(" "))
            });
            let message = format!("`{}` has {len} elements", input.tensor.name);
            let label = format!("made of {}", shapes.collect::<Vec<_>>().join(" and "));
            let help = "dimensions are equal, counted from the last one, or have the extent 1";
            self.errors.push(Diagnostic::error(message, span, label).with_help(help));
            return None;
        };
        if !self.hold(&input.tensor, len, 8, span) {
            return None;
        }
        let of: BTreeMap<&str, Tensor> = of.into_iter().collect();
        let outside = Cell::new(None);
        let element = |at: u64| {
            whole.value(&|name, computed| {
                let Some((name, tensor)) = of.get_key_value(name) else { return 0 };
                let own = match computed {
                    Some(computed) => u64::try_from(computed).ok(),
                    None => Some(place(&tensor.shape, &shape, at)),
                };
                let x = own.and_then(|own| tensor.get(own)?.as_i64());
                if x.is_none() && outside.get().is_none() {
                    outside.set(Some((*name, computed.unwrap_or_default(), at)));
                }
                x.unwrap_or(0)
            })
        };
        let numbers = (0..len).map(element).collect();
        if let Some((name, place, at)) = outside.get() {
            let message = format!("`{name}` has no element {place}");
            let label = format!("computed for element {at} of `{}`", input.tensor.name);
            let help = format!("`{name}` has {} elements, the first of which is 0", of[name].len());
            self.errors.push(Diagnostic::error(message, span, label).with_help(help));
            return None;
        }
        self.integers(input, numbers, span)
    }

    /// Adds the lengths of bags up.
    pub(super) fn running_sum(
        &mut self,
        input: &Input,
        lengths: &str,
        len: u64,
        span: Span,
    ) -> Option<Data> {
        let (_, of) = self.other(lengths)?;
        if of.len().checked_add(1) != Some(len) {
            let message = format!("`{}` has {len} elements", input.tensor.name);
            let label = format!("`{lengths}` has {}, and offsets are one more", of.len());
            self.errors.push(Diagnostic::error(message, span, label));
            return None;
        }
        if !self.hold(&input.tensor, len, 8, span) {
            return None;
        }
        let sums = check::positions(&of).scan(0i64, |end, length| {
            *end = end.wrapping_add(length);
            Some(*end)
        });
        self.integers(input, std::iter::once(0).chain(sums).collect(), span)
    }

    /// Sorts edges: their values, or the offsets of so many rows.
    pub(super) fn prepare(
        &mut self,
        input: &Input,
        (values, positions): (Option<&str>, &str),
        len: u64,
        span: Span,
    ) -> Option<Data> {
        let (positions_at, positions) = self.other(positions)?;
        let all: Vec<i64> = check::positions(&positions).collect();
        if let Some(values) = values {
            let (_, values) = self.other(values)?;
            let moved = order(&all).into_iter().filter_map(|edge| values.get(edge));
            let data: Vec<Scalar> = moved.collect();
            let fits = self.hold(&input.tensor, len, input.tensor.dtype.bytes_of(1), span);
            return fits.then(|| Data::held(input.tensor.dtype, data.into_iter()));
        }
        let rows = len.saturating_sub(1);
        if !self.hold(&input.tensor, len, 8, span) {
            return None;
        }
        let source = self.source(positions_at)?;
        let named = format!("`{}`", input.tensor.name);
        match check::indices(self.input(positions_at), source, &positions, &named, rows) {
            Ok(()) => self.integers(input, offsets(rows, &all), span),
            Err(error) => {
                self.errors.push(error);
                None
            }
        }
    }

    /// Returns an input that another one is prepared of.
    fn other(&mut self, name: &str) -> Option<(usize, Tensor)> {
        let at = self.model.inputs.iter().position(|own| own.tensor.name == name)?;
        if !self.made.contains_key(&at) {
            self.fill(at);
        }
        Some((at, self.made.get(&at)?.clone()))
    }
}
