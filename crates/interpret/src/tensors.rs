//! Whole tensors: element types, shapes and single elements. What operations on them compute is in
//! [`super::operations`], statements that write whole tensors in [`super::outputs`].

use super::error::Fault;
use super::eval::grow;
use super::op::{At, Does, Op};
use super::program::Given;
use super::value::Place;
use super::{Bound, Error, Interpreter};
use ember_values::operation::Kernel;
use ember_values::primitive::Typing;
use ember_values::primitive::form::{Form, View};
use ember_values::scalar::{DType, Scalar};

/// A tensor as a function of its indices.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whole {
    /// The tensor stored at an address.
    Stored(At),
    /// A tensor computed by a kernel.
    Computed(Kernel, Op),
    /// A tensor that rules describe, by its place in the program.
    Lowered(usize),
}

impl Interpreter {
    /// Returns the tensor of the node at a position.
    pub(super) fn whole(&self, at: At) -> Result<Whole, Fault> {
        let op = self.program.ops[at];
        match op.does {
            Does::Form(Form::View { address, view: View::Tensor }) => Ok(Whole::Stored(address)),
            Does::Operation(operation) => Ok(Whole::Computed(operation.kernel, op)),
            Does::Lowered(lowered) => Ok(Whole::Lowered(lowered)),
            _ => Err(self.wrong(at, "a tensor")),
        }
    }

    /// Returns the operands with these names, of an operation on whole tensors.
    pub(super) fn named<const N: usize>(
        &self,
        op: &Op,
        names: [&'static str; N],
    ) -> Result<[At; N], Fault> {
        let mut found = [0; N];
        for (at, name) in found.iter_mut().zip(names) {
            let missing = || Error::Sort { expected: "an operand", found: name.into() };
            *at = op.named(name).ok_or_else(missing)?;
        }
        Ok(found)
    }

    /// Returns the element type of the tensor at a position.
    pub(super) fn element_type(&self, at: At) -> Result<DType, Fault> {
        let (kernel, op) = match self.whole(at)? {
            Whole::Stored(address) => return self.dtype(address),
            Whole::Computed(kernel, op) => (kernel, op),
            Whole::Lowered(lowered) => {
                return match self.program.lowered[lowered].typing {
                    Some(Typing::I64) => Ok(DType::I64),
                    Some(Typing::Named(to)) => self.program.dtype(to),
                    Some(Typing::Of(of)) => grow(|| self.dtype(of)),
                    None => Err(self.wrong(at, "a tensor of a known type")),
                };
            }
        };
        let of = match kernel {
            Kernel::Convert => {
                let [to] = self.named(&op, ["dtype"])?;
                return self.program.dtype(to);
            }
            Kernel::Dequantise => "scales",
            Kernel::Rows | Kernel::Blocks => "table",
            Kernel::Edges => "right",
            Kernel::Triples => "entities",
            Kernel::Zip(_) | Kernel::Product { .. } => "a",
            Kernel::Segments(_) | Kernel::Spread => "values",
            Kernel::Scatter(_) | Kernel::Columns => "table",
            _ => "x",
        };
        let [of] = self.named(&op, [of])?;
        grow(|| self.dtype(of))
    }

    /// Returns the free extents of an address.
    pub(super) fn extents(&self, at: At) -> Result<Vec<i64>, Fault> {
        let (tensor, depth) = self.declared(at)?;
        Ok(tensor.shape.iter().skip(depth).map(|n| i64::try_from(*n).unwrap_or(i64::MAX)).collect())
    }

    /// Returns the extents of a tensor.
    pub(super) fn shape(&mut self, at: At) -> Result<Vec<i64>, Fault> {
        let whole = self.whole(at)?;
        grow(|| match whole {
            Whole::Stored(address) => self.extents(address),
            Whole::Computed(kernel, op) => {
                let shape = self.computed_shape(kernel, &op)?;
                self.order_stands(&op, &shape)?;
                Ok(shape)
            }
            Whole::Lowered(lowered) => self.lowered_shape(at, lowered),
        })
    }

    /// The extents of an operand: of a tensor, or the free ones of an address.
    pub(super) fn extents_of(&mut self, at: At) -> Result<Vec<i64>, Fault> {
        if self.is_tensor(at) { self.shape(at) } else { self.extents(at) }
    }

    pub(super) fn is_tensor(&self, at: At) -> bool {
        let does = self.program.ops[at].does;
        matches!(
            does,
            Does::Operation(_)
                | Does::Lowered(_)
                | Does::Form(Form::View { view: View::Tensor, .. })
        )
    }

    fn computed_shape(&mut self, kernel: Kernel, op: &Op) -> Result<Vec<i64>, Fault> {
        let first = |this: &Self, at: At| this.extent_of(&this.extents(at)?, 0);
        match kernel {
            Kernel::Rows => {
                let [table, indices] = self.named(op, ["table", "indices"])?;
                let rows = match op.named("offsets") {
                    Some(offsets) => first(self, offsets)?.saturating_sub(1),
                    None => first(self, indices)?,
                };
                let table = self.shape(table)?;
                Ok(vec![rows, self.extent_of(&table, 1)?])
            }
            Kernel::Edges => {
                let [right, indices, offsets] = self.named(op, ["right", "indices", "offsets"])?;
                if op.named("edge").is_none() {
                    return Ok(vec![first(self, indices)?]);
                }
                let (rows, right) = (first(self, offsets)?.saturating_sub(1), self.shape(right)?);
                Ok(vec![rows, self.extent_of(&right, 1)?])
            }
            Kernel::Triples => {
                let [heads] = self.named(op, ["heads"])?;
                Ok(vec![first(self, heads)?])
            }
            Kernel::Blocks => {
                let [table, indices] = self.named(op, ["table", "indices"])?;
                let (indices, table) = (self.extents(indices)?, self.shape(table)?);
                let (rows, columns) = (self.extent_of(&table, 1)?, self.extent_of(&table, 2)?);
                let rows = indices.get(1).map_or(rows, |blocks| blocks.saturating_mul(rows));
                Ok(vec![self.extent_of(&indices, 0)?, rows, columns])
            }
            Kernel::Dequantise => {
                let [codes] = self.named(op, ["codes"])?;
                self.extents(codes)
            }
            Kernel::Zip(_) => {
                let [a] = self.named(op, ["a"])?;
                self.shape(a)
            }
            Kernel::Segments(_) => {
                let [offsets] = self.named(op, ["offsets"])?;
                Ok(vec![first(self, offsets)?.saturating_sub(1)])
            }
            Kernel::Spread => {
                let [values] = self.named(op, ["values"])?;
                self.extents(values)
            }
            Kernel::Scatter(_) | Kernel::Columns => {
                let [table] = self.named(op, ["table"])?;
                self.shape(table)
            }
            Kernel::Swap | Kernel::Slice | Kernel::Split | Kernel::Merge => {
                self.moved_shape(kernel, op)
            }
            Kernel::Fold(_) | Kernel::Mean => {
                let [x] = self.named(op, ["x"])?;
                let mut shape = self.shape(x)?;
                shape.pop();
                Ok(shape)
            }
            Kernel::Product { transposed } => {
                let [a, b] = self.named(op, ["a", "b"])?;
                let (mut a, b) = (self.extents_of(a)?, self.extents_of(b)?);
                a.pop();
                a.push(self.extent_of(&b, b.len().wrapping_sub(1 + usize::from(transposed)))?);
                Ok(a)
            }
            Kernel::Triangle => {
                let [x] = self.named(op, ["x"])?;
                let x = self.shape(x)?;
                let n = self.extent_of(&x, 1)?;
                Ok(vec![self.extent_of(&x, 0)?, n.saturating_mul(n.saturating_sub(1)) / 2])
            }
            _ => {
                let [x] = self.named(op, ["x"])?;
                self.shape(x)
            }
        }
    }

    /// The extents of a tensor whose elements move to other places.
    pub(super) fn moved_shape(&mut self, kernel: Kernel, op: &Op) -> Result<Vec<i64>, Fault> {
        let [x, axis] = self.named(op, ["x", "axis"])?;
        let (mut shape, axis) = (self.shape(x)?, self.index(axis)?);
        let axis = usize::try_from(axis).unwrap_or(usize::MAX);
        let extent = self.extent_of(&shape, axis)?;
        match kernel {
            Kernel::Slice => {
                let [first, count] = self.named(op, ["first", "count"])?;
                let (first, count) = (self.index(first)?, self.index(count)?);
                if first < 0 || count < 0 || first.saturating_add(count) > extent {
                    return Err(Error::Shape { expected: vec![first, count], found: shape }.into());
                }
                shape[axis] = count;
            }
            Kernel::Split => {
                let [columns] = self.named(op, ["columns"])?;
                let columns = self.index(columns)?;
                if columns <= 0 || extent % columns != 0 {
                    return Err(Error::Shape { expected: vec![columns], found: shape }.into());
                }
                shape[axis] = extent / columns;
                shape.insert(axis + 1, columns);
            }
            Kernel::Merge => {
                shape[axis] = extent.saturating_mul(self.extent_of(&shape, axis + 1)?);
                shape.remove(axis + 1);
            }
            _ => {
                self.extent_of(&shape, axis + 1)?;
                shape.swap(axis, axis + 1);
            }
        }
        Ok(shape)
    }

    /// The extents that rules give an operator, as many as its operands say that it has.
    fn lowered_shape(&mut self, at: At, lowered: usize) -> Result<Vec<i64>, Fault> {
        let operands = self.program.operands[at].clone();
        let ranks: Vec<Option<usize>> =
            operands.iter().map(|x| Some(self.extents_of(*x).ok()?.len())).collect();
        let lowered = &self.program.lowered[lowered];
        let rank = lowered.info.as_ref().and_then(|info| info.rank_from(|at| *ranks.get(at)?));
        let (Some(rank), Some(extent)) = (rank, lowered.extent) else {
            return Err(self.wrong(at, "a tensor of known extents"));
        };
        (0..rank).map(|k| self.given(extent, &[k as i64], Self::index)).collect()
    }

    pub(super) fn extent_of(&self, shape: &[i64], k: usize) -> Result<i64, Fault> {
        let found = || format!("one of {} dimensions", shape.len());
        let missing = || Error::Sort { expected: "a tensor", found: found() }.into();
        shape.get(k).copied().ok_or_else(missing)
    }

    /// Returns an extent of a tensor.
    pub(super) fn extent(&mut self, of: At, k: At) -> Result<i64, Fault> {
        let k = usize::try_from(self.index(k)?).unwrap_or(usize::MAX);
        let shape = self.shape(of)?;
        self.extent_of(&shape, k)
    }

    /// Evaluates one element of a tensor; the indices are terms.
    pub(super) fn element(&mut self, of: At, index: &[At]) -> Result<Scalar, Fault> {
        let index: Vec<i64> = index.iter().map(|i| self.index(*i)).collect::<Result<_, _>>()?;
        self.element_at(of, &index)
    }

    pub(super) fn element_at(&mut self, of: At, index: &[i64]) -> Result<Scalar, Fault> {
        self.step()?;
        grow(|| match self.whole(of)? {
            Whole::Stored(address) => self.stored_at(address, index),
            Whole::Computed(_, op) => {
                let Some((last, above)) = index.split_last() else {
                    return Err(self.wrong(of, "a tensor of this rank"));
                };
                let mut one = None;
                self.computed(of, op, (above, *last, 1), |x| one = Some(x))?;
                one.ok_or_else(|| self.wrong(of, "a tensor of this rank"))
            }
            Whole::Lowered(lowered) => {
                let elements = &self.program.lowered[lowered].elements;
                let element = elements.iter().find(|element| element.count == index.len());
                match element.copied() {
                    Some(element) => self.given(element, index, Self::scalar),
                    None => Err(self.wrong(of, "a tensor of this rank")),
                }
            }
        })
    }

    /// An element of what is stored at an address.
    pub(super) fn stored_at(&mut self, address: At, index: &[i64]) -> Result<Scalar, Fault> {
        let place = self.stored_part(address, index)?;
        self.get(place)
    }

    /// The part of what is stored at an address that has the given first indices.
    pub(super) fn stored_part(&mut self, address: At, index: &[i64]) -> Result<Place, Fault> {
        let place = self.place(address)?;
        index.iter().try_fold(place, |place, i| self.within(place, Scalar::I64(*i)))
    }

    /// The address that a tensor or an address has; `None` for a tensor that is computed.
    pub(super) fn stored(&self, of: At) -> Result<Option<At>, Fault> {
        if !self.is_tensor(of) {
            return Ok(Some(of));
        }
        Ok(match self.whole(of)? {
            Whole::Stored(address) => Some(address),
            _ => None,
        })
    }

    /// Evaluates the node of a value with given numbers.
    fn given<T>(
        &mut self,
        given: Given,
        numbers: &[i64],
        evaluate: fn(&mut Self, At) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let places = given.first..given.first + given.count;
        let outer = self.environment[places.clone()].to_vec();
        for (at, value) in places.clone().zip(numbers) {
            self.environment[at] = Some(Bound { value: *value, fed: true });
        }
        let result = evaluate(self, given.body);
        self.environment[places].copy_from_slice(&outer);
        result
    }
}
