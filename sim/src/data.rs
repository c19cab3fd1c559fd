//! The data of a run: tensors as raw 64-bit lanes, each with an address. This module has no notion of time.

use crate::Values;
use crate::error::SimError;
use ember_targets::dlc::{Dim, Program};
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::{DType, Scalar};
use std::ops::Range;

/// Returns the raw lane of a value: its bits, integers sign-extended.
#[inline(always)]
pub(crate) fn raw(value: Scalar) -> u64 {
    value.to_bits()
}

/// Returns the value of a raw lane.
#[inline(always)]
pub(crate) fn scalar(dtype: DType, raw: u64) -> Scalar {
    Scalar::from_bits(dtype, raw)
}

/// Copies equally many lanes; a single one, the most frequent case, without a call.
#[inline(always)]
pub(crate) fn copy_lanes(to: &mut [u64], from: &[u64]) {
    match (to, from) {
        ([to], [from]) => *to = *from,
        (to, from) => to.copy_from_slice(from),
    }
}

/// Sets lanes to zero; none, the most frequent case, without a call.
#[inline(always)]
pub(crate) fn clear(lanes: &mut [u64]) {
    if !lanes.is_empty() {
        lanes.fill(0);
    }
}

/// One bound tensor, or the rows of it that a program works on.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) name: String,
    pub(crate) shape: Vec<u64>,
    /// The position of its first element in the whole tensor.
    pub(crate) first: u64,
    /// The base-2 logarithm of an element's size in bits.
    element_shift: u32,
    /// The address of element 0 of the whole tensor, a multiple of a page.
    pub(crate) base: u64,
    dtype: DType,
    contents: Contents,
}

#[derive(Clone, Debug)]
enum Contents {
    ReadOnly(Data),
    Writable(Vec<u64>),
}

pub(crate) const PAGE: u64 = 4096;

/// Binds tensors to the program's declarations, and checks the sizes that they imply. What is written but not computed is
/// not held.
pub(crate) fn bind(
    program: &Program,
    tensors: Vec<Tensor>,
    sizes: &[i64],
    values: Values,
) -> Result<Vec<Held>, SimError> {
    let wrong = |message: String| SimError::Binding { message };
    if tensors.len() != program.tensors.len() {
        let (n, m) = (program.tensors.len(), tensors.len());
        return Err(wrong(format!("the program has {n} tensors, the data {m}")));
    }
    if sizes.len() != program.sizes.len() {
        let (n, m) = (program.sizes.len(), sizes.len());
        return Err(wrong(format!("the program has {n} sizes, the data {m}")));
    }
    let mut next = PAGE;
    let mut held = Vec::new();
    for (decl, tensor) in program.tensors.iter().zip(tensors) {
        let name = &decl.name;
        if tensor.dtype != decl.dtype {
            let (a, b) = (decl.dtype, tensor.dtype);
            return Err(wrong(format!("`{name}` is declared {a}, its data is {b}")));
        }
        let mut shape = Vec::new();
        for dim in &decl.shape {
            let extent = match *dim {
                Dim::Const(n) => Some(n),
                Dim::Size(s) => sizes.get(s.index()).and_then(|&n| u64::try_from(n).ok()),
            };
            shape.push(extent.ok_or_else(|| wrong(format!("`{name}` has a negative extent")))?);
        }
        if shape != tensor.shape {
            let have = &tensor.shape;
            return Err(wrong(format!("`{name}` is declared {shape:?}, its data is {have:?}")));
        }
        let length = shape.iter().try_fold(1u64, |n, &m| n.checked_mul(m));
        let bytes = length.map(|n| decl.dtype.bytes_of(n));
        // Line numbers are stored plus one, and tensor sizes are counted in bits, so addresses use an eighth of the
        // range.
        let end = bytes.and_then(|b| next.checked_add(b)).filter(|&e| e < u64::MAX / 8);
        let end = end.ok_or_else(|| wrong(format!("`{name}` does not fit the address space")))?;
        if length != Some(tensor.data.held_len().unwrap_or(length.unwrap_or(0))) {
            return Err(wrong(format!("the data of `{name}` does not fill its shape")));
        }
        let on_demand = tensor.data.held_len().is_none();
        let contents = match decl.writable() {
            true if on_demand => {
                return Err(wrong(format!("`{name}` is written but computed on demand")));
            }
            true if !values.has(decl.dtype) => Contents::Writable(Vec::new()),
            true => Contents::Writable(lanes(&tensor.data).unwrap_or_default()),
            false => Contents::ReadOnly(tensor.data),
        };
        held.push(Held {
            name: name.clone(),
            shape,
            first: 0,
            element_shift: decl.dtype.bits().trailing_zeros(),
            base: next,
            dtype: decl.dtype,
            contents,
        });
        // A page between tensors ensures that no two share a line or a row.
        next = end.next_multiple_of(PAGE) + PAGE;
    }
    Ok(held)
}

/// Returns the raw lanes of held data.
fn lanes(data: &Data) -> Option<Vec<u64>> {
    let mut lanes = vec![0; data.held_len()? as usize];
    read_held(data, 0, &mut lanes);
    Some(lanes)
}

/// Reads contiguous held elements; does nothing for data computed on demand.
#[inline(always)]
fn read_held(data: &Data, first: usize, out: &mut [u64]) {
    let n = out.len();
    match data {
        Data::F32(v) => copy(out, &v[first..first + n], |x| raw(Scalar::F32(x))),
        Data::F64(v) => copy(out, &v[first..first + n], |x| raw(Scalar::F64(x))),
        Data::I32(v) => copy(out, &v[first..first + n], |x| raw(Scalar::I32(x))),
        Data::I64(v) => copy(out, &v[first..first + n], |x| raw(Scalar::I64(x))),
        Data::F16(v) => copy(out, &v[first..first + n], |x| raw(Scalar::F16(x))),
        Data::BF16(v) => copy(out, &v[first..first + n], |x| raw(Scalar::BF16(x))),
        Data::U8(v) | Data::U4(v) => copy(out, &v[first..first + n], |x| raw(Scalar::U8(x))),
        Data::I8(v) => copy(out, &v[first..first + n], |x| raw(Scalar::I8(x))),
        Data::Hashed(_) => {}
    }
}

impl Held {
    /// Returns true if the program writes it.
    #[inline]
    pub(crate) fn is_writable(&self) -> bool {
        matches!(self.contents, Contents::Writable(_))
    }

    /// Returns some rows of the tensor. What is written is with the whole tensor until it is lent.
    pub(crate) fn rows(&self, rows: Range<u64>) -> Held {
        let row: u64 = self.shape.iter().skip(1).product();
        let extents = [rows.end - rows.start].into_iter().chain(self.shape.iter().skip(1).copied());
        Held { shape: extents.collect(), first: rows.start * row, ..self.whole() }
    }

    /// Returns the whole tensor. What is written is with this one until it is lent.
    pub(crate) fn whole(&self) -> Held {
        let contents = match &self.contents {
            Contents::ReadOnly(data) => Contents::ReadOnly(data.clone()),
            Contents::Writable(_) => Contents::Writable(Vec::new()),
        };
        self.with(self.base, contents)
    }

    /// Returns a copy of the tensor somewhere else.
    pub(crate) fn copy(&self, distance: u64) -> Held {
        self.with(self.base + distance, self.contents.clone())
    }

    fn with(&self, base: u64, contents: Contents) -> Held {
        let Held { first, element_shift, dtype, .. } = *self;
        let (name, shape) = (self.name.clone(), self.shape.clone());
        Held { name, shape, first, element_shift, base, dtype, contents }
    }

    /// Lends what is written to another view of the tensor, or takes it back.
    pub(crate) fn lend(&mut self, to: &mut Held) {
        if self.is_writable() && to.is_writable() {
            std::mem::swap(&mut self.contents, &mut to.contents);
        }
    }

    /// Returns the first address of a page behind the tensor that it does not share with it.
    pub(crate) fn end(&self) -> u64 {
        let elements: u64 = self.shape.iter().product();
        self.bytes(elements, 0).1.next_multiple_of(PAGE) + PAGE
    }

    /// Returns the byte addresses of `n` contiguous elements: the first, and the one after the last. An element smaller
    /// than a byte takes the whole byte.
    #[inline(always)]
    pub(crate) fn bytes(&self, position: u64, n: u64) -> (u64, u64) {
        let first = (position << self.element_shift) >> 3;
        let end = ((position + n) << self.element_shift).div_ceil(8);
        (self.base + first, self.base + end)
    }

    /// Reads contiguous elements. The caller has checked that they are in bounds.
    #[inline(always)]
    pub(crate) fn read(&self, position: u64, out: &mut [u64]) {
        let first = position as usize;
        match (&self.contents, &mut *out) {
            (_, []) => {}
            // Single elements are the most frequent case.
            (Contents::Writable(v), [out]) => *out = v[first],
            (Contents::ReadOnly(Data::F32(v)), [out]) => *out = raw(Scalar::F32(v[first])),
            (Contents::ReadOnly(Data::I64(v)), [out]) => *out = raw(Scalar::I64(v[first])),
            (Contents::ReadOnly(Data::Hashed(h)), [out]) if self.dtype == DType::F32 => {
                *out = raw(Scalar::F32(h.f32(position)));
            }
            _ => self.read_run(first, out),
        }
    }

    fn read_run(&self, first: usize, out: &mut [u64]) {
        let position = first as u64;
        match &self.contents {
            Contents::Writable(v) => copy_lanes(out, &v[first..first + out.len()]),
            Contents::ReadOnly(Data::Hashed(h)) if self.dtype == DType::F32 => {
                for (o, at) in out.iter_mut().zip(position..) {
                    *o = raw(Scalar::F32(h.f32(at)));
                }
            }
            Contents::ReadOnly(Data::Hashed(h)) => {
                for (o, at) in out.iter_mut().zip(position..) {
                    *o = raw(h.at(self.dtype, at));
                }
            }
            Contents::ReadOnly(data) => read_held(data, first, out),
        }
    }

    /// Writes contiguous elements of a writable tensor. The caller has checked the bounds and that it is writable.
    #[inline]
    pub(crate) fn write(&mut self, position: u64, values: &[u64]) {
        if let Contents::Writable(v) = &mut self.contents
            && !values.is_empty()
        {
            let first = position as usize;
            copy_lanes(&mut v[first..first + values.len()], values);
        }
    }

    /// Returns the tensor after the run.
    pub(crate) fn release(self) -> Tensor {
        let data = match self.contents {
            Contents::ReadOnly(data) => data,
            Contents::Writable(v) => {
                Data::held(self.dtype, v.iter().map(|&x| scalar(self.dtype, x)))
            }
        };
        Tensor { dtype: self.dtype, shape: self.shape, data }
    }
}

#[inline(always)]
fn copy<T: Copy>(out: &mut [u64], from: &[T], f: impl Fn(T) -> u64) {
    for (o, &x) in out.iter_mut().zip(from) {
        *o = f(x);
    }
}
