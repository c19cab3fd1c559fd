//! The data a program runs on: tensors as raw 64-bit lanes, with an address each. No time here.

use crate::error::SimError;
use ember_targets::dlc::{Dim, Program};
use ember_targets::scalar::{DType, Scalar};
use ember_targets::tensor::{Data, Tensor};
use std::sync::Arc;

/// The raw lane of a value: its bits, integers sign-extended.
#[inline(always)]
pub(crate) fn raw(value: Scalar) -> u64 {
    match value {
        Scalar::F32(x) => u64::from(x.to_bits()),
        Scalar::F64(x) => x.to_bits(),
        Scalar::I32(x) => i64::from(x) as u64,
        Scalar::I64(x) => x as u64,
    }
}

/// The value of a raw lane.
#[inline(always)]
pub(crate) fn scalar(dtype: DType, raw: u64) -> Scalar {
    match dtype {
        DType::F32 => Scalar::F32(f32::from_bits(raw as u32)),
        DType::F64 => Scalar::F64(f64::from_bits(raw)),
        DType::I32 => Scalar::I32(raw as i32),
        DType::I64 => Scalar::I64(raw as i64),
    }
}

/// Copies lanes of equal number; a single one, the most frequent case, without a call.
#[inline(always)]
pub(crate) fn copy_lanes(to: &mut [u64], from: &[u64]) {
    match (to, from) {
        ([to], [from]) => *to = *from,
        (to, from) => to.copy_from_slice(from),
    }
}

/// One bound tensor.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) name: String,
    pub(crate) shape: Vec<u64>,
    pub(crate) element_bytes: u64,
    /// Address of element 0, a multiple of a page.
    pub(crate) base: u64,
    dtype: DType,
    contents: Contents,
}

#[derive(Debug)]
enum Contents {
    ReadOnly(Data),
    Writable(Vec<u64>),
}

const PAGE: u64 = 4096;

/// Binds tensors to the program's declarations, with the sizes that these imply checked.
pub(crate) fn bind(
    program: &Program,
    tensors: Vec<Tensor>,
    sizes: &[i64],
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
        let bytes = length.and_then(|n| n.checked_mul(decl.dtype.bytes()));
        // Lines are numbered plus one and times carry a flag bit, so a quarter of the space is left.
        let end = bytes.and_then(|b| next.checked_add(b)).filter(|&e| e < u64::MAX / 4);
        let end = end.ok_or_else(|| wrong(format!("`{name}` does not fit the address space")))?;
        if length != Some(stored(&tensor.data).unwrap_or(length.unwrap_or(0))) {
            return Err(wrong(format!("the data of `{name}` does not fill its shape")));
        }
        let contents = if decl.writable {
            Contents::Writable(
                lanes(&tensor.data)
                    .ok_or_else(|| wrong(format!("`{name}` is written but computed on demand")))?,
            )
        } else {
            Contents::ReadOnly(tensor.data)
        };
        held.push(Held {
            name: name.clone(),
            shape,
            element_bytes: decl.dtype.bytes(),
            base: next,
            dtype: decl.dtype,
            contents,
        });
        // A page between tensors, so that no two share a line or a row.
        next = end.next_multiple_of(PAGE) + PAGE;
    }
    Ok(held)
}

/// The number of held elements; `None` for data computed on demand.
fn stored(data: &Data) -> Option<u64> {
    Some(match data {
        Data::F32(v) => v.len() as u64,
        Data::F64(v) => v.len() as u64,
        Data::I32(v) => v.len() as u64,
        Data::I64(v) => v.len() as u64,
        Data::Hashed(_) => return None,
    })
}

fn lanes(data: &Data) -> Option<Vec<u64>> {
    Some(match data {
        Data::F32(v) => v.iter().map(|&x| raw(Scalar::F32(x))).collect(),
        Data::F64(v) => v.iter().map(|&x| raw(Scalar::F64(x))).collect(),
        Data::I32(v) => v.iter().map(|&x| raw(Scalar::I32(x))).collect(),
        Data::I64(v) => v.iter().map(|&x| raw(Scalar::I64(x))).collect(),
        Data::Hashed(_) => return None,
    })
}

impl Held {
    /// Whether the program writes it.
    #[inline]
    pub(crate) fn is_writable(&self) -> bool {
        matches!(self.contents, Contents::Writable(_))
    }

    /// Reads contiguous elements. The caller has checked that they lie inside.
    #[inline]
    pub(crate) fn read(&self, position: u64, out: &mut [u64]) {
        let first = position as usize;
        let n = out.len();
        match &self.contents {
            Contents::Writable(v) => copy_lanes(out, &v[first..first + n]),
            Contents::ReadOnly(data) => match data {
                Data::F32(v) => copy(out, &v[first..first + n], |x| raw(Scalar::F32(x))),
                Data::F64(v) => copy(out, &v[first..first + n], |x| raw(Scalar::F64(x))),
                Data::I32(v) => copy(out, &v[first..first + n], |x| raw(Scalar::I32(x))),
                Data::I64(v) => copy(out, &v[first..first + n], |x| raw(Scalar::I64(x))),
                Data::Hashed(h) if self.dtype == DType::F32 => {
                    for (o, at) in out.iter_mut().zip(position..) {
                        *o = raw(Scalar::F32(h.f32(at)));
                    }
                }
                Data::Hashed(h) => {
                    for (o, at) in out.iter_mut().zip(position..) {
                        *o = raw(h.at(self.dtype, at));
                    }
                }
            },
        }
    }

    /// Writes contiguous elements of a writable tensor. The caller has checked both.
    #[inline]
    pub(crate) fn write(&mut self, position: u64, values: &[u64]) {
        if let Contents::Writable(v) = &mut self.contents {
            let first = position as usize;
            copy_lanes(&mut v[first..first + values.len()], values);
        }
    }

    /// The tensor as it is after the run.
    pub(crate) fn release(self) -> Tensor {
        let data = match self.contents {
            Contents::ReadOnly(data) => data,
            Contents::Writable(v) => match self.dtype {
                DType::F32 => {
                    Data::F32(Arc::new(v.iter().map(|&x| f32::from_bits(x as u32)).collect()))
                }
                DType::F64 => Data::F64(Arc::new(v.iter().map(|&x| f64::from_bits(x)).collect())),
                DType::I32 => Data::I32(Arc::new(v.iter().map(|&x| x as i32).collect())),
                DType::I64 => Data::I64(Arc::new(v.iter().map(|&x| x as i64).collect())),
            },
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
