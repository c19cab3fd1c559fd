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

/// One bound tensor, or another view of it.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) name: String,
    pub(crate) shape: Vec<u64>,
    /// The base-2 logarithm of an element's size in bits.
    element_shift: u32,
    /// The address of element 0, a multiple of a page.
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

/// Binds tensors to the program's declarations behind those that there are already, and checks the sizes that they imply.
/// A tensor of a name that there is already is the same. What is written but not computed is not held. Returns where each of
/// the program's tensors is.
pub(crate) fn bind(
    program: &Program,
    tensors: Vec<Tensor>,
    sizes: &[i64],
    values: Values,
    held: &mut Vec<Held>,
) -> Result<Vec<usize>, SimError> {
    let wrong = |message: String| SimError::Binding { message };
    let before = held.len();
    let known = |held: &[Held], name: &String| held[..before].iter().position(|h| h.name == *name);
    let new = program.tensors.iter().filter(|decl| known(held, &decl.name).is_none()).count();
    if tensors.len() != new {
        let m = tensors.len();
        return Err(wrong(format!("the program has {new} tensors, the data {m}")));
    }
    if sizes.len() != program.sizes.len() {
        let (n, m) = (program.sizes.len(), sizes.len());
        return Err(wrong(format!("the program has {n} sizes, the data {m}")));
    }
    let mut next = held.last().map_or(PAGE, Held::end);
    let (mut tensors, mut places) = (tensors.into_iter(), Vec::new());
    for decl in &program.tensors {
        let name = &decl.name;
        if let Some(place) = known(held, name) {
            places.push(place);
            continue;
        }
        places.push(held.len());
        let Some(tensor) = tensors.next() else { continue };
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
            element_shift: decl.dtype.bits().trailing_zeros(),
            base: next,
            dtype: decl.dtype,
            contents,
        });
        // A page between tensors ensures that no two share a line or a row.
        next = end.next_multiple_of(PAGE) + PAGE;
    }
    Ok(places)
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

    /// Returns a view of the tensor. What is written is with this one until it is lent.
    pub(crate) fn view(&self) -> Held {
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
        let Held { element_shift, dtype, .. } = *self;
        let (name, shape) = (self.name.clone(), self.shape.clone());
        Held { name, shape, element_shift, base, dtype, contents }
    }

    /// Lends what is written to another view of the tensor, or takes it back.
    pub(crate) fn lend(&mut self, to: &mut Held) {
        if self.is_writable() && to.is_writable() {
            std::mem::swap(&mut self.contents, &mut to.contents);
        }
    }

    /// Returns the addresses of the tensor's elements.
    pub(crate) fn addresses(&self) -> Range<u64> {
        let (first, end) = self.bytes(0, self.shape.iter().product());
        first..end
    }

    /// Returns the first address of a page behind the tensor that it does not share with it.
    pub(crate) fn end(&self) -> u64 {
        self.addresses().end.next_multiple_of(PAGE) + PAGE
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
