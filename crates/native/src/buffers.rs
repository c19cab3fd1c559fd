//! The memory that a program is called on.

use super::pages::of_capacity;
use ember_targets::dlc::Program;
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::{DType, Scalar};
use std::sync::Arc;
use thiserror::Error;

/// The most bytes of all tensors of a call.
const MOST: u64 = 1 << 34;

/// The error of tensors that would take too much memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the tensors take {bytes} bytes, and at most {MOST} are given to a program on this machine"
)]
pub struct TooLarge {
    /// The bytes of all tensors.
    pub bytes: u64,
}

/// The sizes and tensors of a call, in the order of the program.
#[derive(Clone, Debug)]
pub struct Buffers {
    pub(crate) sizes: Vec<i64>,
    buffers: Vec<Buffer>,
}

/// One tensor as the program sees it: its elements one after the other, of u4 two a byte.
#[derive(Clone, Debug)]
struct Buffer {
    dtype: DType,
    shape: Vec<u64>,
    elements: Data,
    written: bool,
}

impl Buffers {
    /// Takes tensors and sizes of a program, both in its order. Elements that are computed on demand are computed; held
    /// ones are not copied unless the program writes them.
    ///
    /// # Errors
    ///
    /// Fails if the tensors take too much memory together.
    pub fn new(program: &Program, tensors: &[Tensor], sizes: &[i64]) -> Result<Buffers, TooLarge> {
        let bytes = |tensor: &Tensor| tensor.dtype.bytes_of(elements(&tensor.shape));
        let bytes = tensors.iter().map(bytes).fold(0, u64::saturating_add);
        if bytes > MOST {
            return Err(TooLarge { bytes });
        }
        let written = program.tensors.iter().map(|tensor| tensor.writable());
        let buffers = tensors.iter().zip(written).map(|(tensor, written)| Buffer {
            dtype: tensor.dtype,
            shape: tensor.shape.clone(),
            elements: in_memory(tensor),
            written,
        });
        Ok(Buffers { sizes: sizes.to_vec(), buffers: buffers.collect() })
    }

    /// Returns where each tensor starts. No two of them overlap, and those that the program writes belong to nobody
    /// else.
    pub(crate) fn pointers(&mut self) -> Vec<*mut u8> {
        let start = |buffer: &mut Buffer| start(&mut buffer.elements, buffer.written);
        self.buffers.iter_mut().map(start).collect()
    }

    /// Returns the tensors, as the last call has left them.
    pub fn tensors(&self) -> Vec<Tensor> {
        self.buffers.iter().map(Buffer::tensor).collect()
    }
}

impl Buffer {
    fn tensor(&self) -> Tensor {
        let data = match &self.elements {
            Data::U8(pairs) if self.dtype == DType::U4 => {
                let halves = pairs.iter().flat_map(|byte| [byte & 15, byte >> 4]).map(Scalar::U4);
                let count = usize::try_from(elements(&self.shape)).unwrap_or(usize::MAX);
                Data::held(DType::U4, halves.take(count))
            }
            held => held.clone(),
        };
        Tensor { dtype: self.dtype, shape: self.shape.clone(), data }
    }
}

/// Returns the number of elements of a shape.
fn elements(shape: &[u64]) -> u64 {
    shape.iter().fold(1, |n: u64, extent| n.saturating_mul(*extent))
}

/// Returns the elements of a tensor in memory.
fn in_memory(tensor: &Tensor) -> Data {
    let held = match &tensor.data {
        Data::Hashed(hashed) => {
            let all = 0..elements(&tensor.shape);
            match tensor.dtype {
                DType::F32 => {
                    let mut elements = Vec::with_capacity(usize::try_from(all.end).unwrap_or(0));
                    of_capacity(&elements);
                    elements.extend(all.map(|at| hashed.f32(at)));
                    Data::F32(Arc::new(elements))
                }
                dtype => Data::held(dtype, all.map(|at| hashed.at(dtype, at))),
            }
        }
        held => held.clone(),
    };
    match held {
        Data::U4(halves) => {
            let byte = |pair: &[u8]| pair.iter().rev().fold(0, |byte, half| byte << 4 | half);
            Data::U8(Arc::new(halves.chunks(2).map(byte).collect()))
        }
        held => held,
    }
}

/// Returns where elements start. Those that are written are copied first if somebody else holds them, too.
fn start(elements: &mut Data, written: bool) -> *mut u8 {
    macro_rules! start {
        ($x:expr) => {
            if written {
                Arc::make_mut($x).as_mut_ptr().cast()
            } else {
                $x.as_ptr().cast_mut().cast()
            }
        };
    }
    match elements {
        Data::F32(x) => start!(x),
        Data::F64(x) => start!(x),
        Data::I32(x) => start!(x),
        Data::I64(x) => start!(x),
        Data::F16(x) => start!(x),
        Data::BF16(x) => start!(x),
        Data::U8(x) | Data::U4(x) => start!(x),
        Data::I8(x) => start!(x),
        // `in_memory` leaves none of these.
        Data::Hashed(_) => std::ptr::null_mut(),
    }
}
