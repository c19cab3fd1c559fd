//! Statements that write whole tensors: outputs, and parts of outputs.

use super::error::Fault;
use super::eval::grow;
use super::op::At;
use super::tensors::Whole;
use super::{Error, Interpreter};
use ember_values::operation::Kernel;
use ember_values::primitive::form::Part;
use ember_values::scalar::Scalar;

impl Interpreter {
    /// Writes every element of a tensor to an output or to a part of it, in order.
    pub(super) fn output(&mut self, to: At, part: Part<At>, from: At) -> Result<(), Fault> {
        let to = self.place(to)?;
        let extents = &self.tensor(to).1.shape[to.depth as usize..];
        let extents: Vec<i64> =
            extents.iter().map(|n| i64::try_from(*n).unwrap_or(i64::MAX)).collect();
        let (counts, slot, shift) = match (part, extents.as_slice()) {
            (Part::Whole, all @ ([_] | [_, _] | [_, _, _])) => {
                self.demand(from, all)?;
                (all.to_vec(), None, 0)
            }
            (Part::Slot(k), &[rows, _, columns]) => (vec![rows, columns], Some(self.index(k)?), 0),
            (Part::Columns(k), &[rows, _]) => {
                let shape = self.shape(from)?;
                let columns = self.extent_of(&shape, 1)?;
                (vec![rows, columns], None, self.index(k)?)
            }
            _ => return Err(self.rank_error(to, extents.len())),
        };
        self.each_index(&counts, |this, index| {
            let value = this.element_at(from, index)?;
            let mut place = to;
            for (at, i) in index.iter().enumerate() {
                let last = at + 1 == index.len();
                if let Some(slot) = slot.filter(|_| last) {
                    place = this.within(place, Scalar::I64(slot))?;
                }
                let i = if last { i.wrapping_add(shift) } else { *i };
                place = this.within(place, Scalar::I64(i))?;
            }
            this.set(place, value)
        })
    }

    /// Calls `f` with every index within these extents, in row-major order.
    pub(super) fn each_index(
        &mut self,
        extents: &[i64],
        mut f: impl FnMut(&mut Self, &[i64]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if extents.iter().any(|n| *n <= 0) {
            return Ok(());
        }
        let mut index = vec![0; extents.len()];
        loop {
            f(self, &index)?;
            let Some(at) = (0..extents.len()).rev().find(|at| index[*at] + 1 < extents[*at]) else {
                return Ok(());
            };
            index[at] += 1;
            index[at + 1..].fill(0);
        }
    }

    /// Checks the requirements of a tensor on the output that it fills completely, beyond the checks of its elements.
    fn demand(&mut self, from: At, expected: &[i64]) -> Result<(), Fault> {
        let (kernel, op) = match self.whole(from)? {
            Whole::Stored(_) => return Ok(()),
            Whole::Computed(kernel, op) => (kernel, op),
            Whole::Lowered(_) => return self.has_shape(from, expected),
        };
        let passes_messages = kernel == Kernel::Edges && op.named("scratch").is_some();
        match kernel {
            Kernel::Edges if passes_messages => {
                for row in 0..expected.first().copied().unwrap_or(0) {
                    self.computed(from, op, (&[row], 0, 0), |_| {})?;
                }
            }
            Kernel::Edges | Kernel::Spread => {
                let [offsets] = self.named(&op, ["offsets"])?;
                let rows = expected.first().copied().unwrap_or(0);
                self.untraced(|this| this.divides(offsets, rows))?;
            }
            Kernel::Columns => {
                let [offsets, indices, weights, right] =
                    self.named(&op, ["offsets", "indices", "weights", "right"])?;
                let entries = self.extents(indices)?;
                let all = self.extent_of(&entries, 0)?;
                self.untraced(|this| this.divides(offsets, all))?;
                let columns = self.extent_of(&self.extents(offsets)?, 0)?.saturating_sub(1);
                let width = self.extent_of(expected, 1)?;
                self.has_shape(right, &[columns, width])?;
                let numbers = self.extents(weights)?;
                if numbers != entries {
                    return Err(Error::Shape { expected: entries, found: numbers }.into());
                }
                self.untraced(|this| this.names_rows(indices, expected))?;
            }
            Kernel::Product { transposed } => {
                let [a, b] = self.named(&op, ["a", "b"])?;
                self.fits(expected, a, b, transposed)?;
                // A lowering may compute one of the matrices there.
                if let Some(scratch) = op.named("scratch") {
                    let computed = if self.is_tensor(b) { b } else { a };
                    let extents = self.extents(scratch)?;
                    self.has_shape(computed, &extents)?;
                    grow(|| self.demand(computed, &extents))?;
                }
            }
            Kernel::Scatter(_) => {
                let [indices, rows] = self.named(&op, ["indices", "rows"])?;
                let [added, own] = [self.extents(indices)?, self.shape(rows)?];
                let entries = self.extent_of(&added, 0)?;
                if own.first() != Some(&entries) || own.get(1) != expected.get(1) {
                    return Err(Error::Shape { expected: expected.to_vec(), found: own }.into());
                }
                self.untraced(|this| this.names_rows(indices, expected))?;
            }
            Kernel::Blocks | Kernel::Triangle | Kernel::Merge => {}
            _ => return Ok(()),
        }
        if passes_messages { Ok(()) } else { self.has_shape(from, expected) }
    }

    /// Checks that offsets rise from 0 to the number of entries that they divide.
    fn divides(&mut self, offsets: At, entries: i64) -> Result<(), Fault> {
        let mut end = 0;
        let segments = self.extent_of(&self.extents(offsets)?, 0)?.saturating_sub(1);
        for segment in 0..segments {
            let (lo, hi) = self.lookups(offsets, segment)?;
            if lo != end || hi < lo {
                return Err(Error::Offsets(entries).into());
            }
            end = hi;
        }
        if end == entries { Ok(()) } else { Err(Error::Offsets(entries).into()) }
    }

    /// Checks that indices are those of rows of an output.
    fn names_rows(&mut self, indices: At, expected: &[i64]) -> Result<(), Fault> {
        let entries = self.extent_of(&self.extents(indices)?, 0)?;
        let rows = self.extent_of(expected, 0)?;
        for l in 0..entries {
            let row = self.stored_at(indices, &[l])?;
            let row = self.integer(row)?;
            if !(0..rows).contains(&row) {
                let expected = expected.to_vec();
                return Err(Error::Shape { expected, found: vec![row] }.into());
            }
        }
        Ok(())
    }

    /// Checks the extents of a tensor.
    fn has_shape(&mut self, of: At, expected: &[i64]) -> Result<(), Fault> {
        let found = self.shape(of)?;
        if found == expected {
            return Ok(());
        }
        Err(Error::Shape { expected: expected.to_vec(), found }.into())
    }
}
