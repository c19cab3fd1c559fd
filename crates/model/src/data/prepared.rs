//! Edges sorted into the rows that they lead to: what programs prepare is compared with this.

use super::check;
use super::instantiate::Maker;
use crate::model::Input;
use ember_language::diagnostic::Span;
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::Scalar;

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

impl Maker<'_> {
    /// Sorts edges: their values, or the offsets of so many rows.
    pub(super) fn prepare(
        &mut self,
        input: &Input,
        (values, positions): (Option<&str>, &str),
        len: u64,
        span: Span,
    ) -> Option<Data> {
        let (positions_at, positions) = self.vector(positions)?;
        let all: Vec<i64> = check::positions(&positions).collect();
        if let Some(values) = values {
            let (_, values) = self.vector(values)?;
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
    fn vector(&mut self, name: &str) -> Option<(usize, Tensor)> {
        let at = self.model.inputs.iter().position(|own| own.tensor.name == name)?;
        if !self.made.contains_key(&at) {
            self.fill(at);
        }
        Some((at, self.made.get(&at)?.clone()))
    }
}
