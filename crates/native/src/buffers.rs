//! The memory that a program is called on.

use super::pages::of_capacity;
use ember_targets::dlc::{Program, TensorDecl};
use ember_targets::tensor::{Data, Hashed, Tensor};
use ember_values::scalar::{DType, Scalar};
use std::ops::Range;
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
    /// The elements as they were given.
    given: Data,
    elements: Data,
    /// The elements of the memory before the first one, which begins a line of the cache.
    before: usize,
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
        Buffers::sharing(program, tensors, sizes, |_| None)
    }

    /// [`Buffers::new`], but a tensor is the one that other buffers of the program have, if `shared` returns some and it has
    /// the same shape there. Nobody writes the memory of two.
    ///
    /// # Errors
    ///
    /// As [`Buffers::new`].
    pub fn sharing<'a>(
        program: &Program,
        tensors: &[Tensor],
        sizes: &[i64],
        shared: impl Fn(&Tensor) -> Option<&'a Buffers>,
    ) -> Result<Buffers, TooLarge> {
        let bytes = |tensor: &Tensor| tensor.dtype.bytes_of(elements(&tensor.shape));
        let bytes = tensors.iter().map(bytes).fold(0, u64::saturating_add);
        if bytes > MOST {
            return Err(TooLarge { bytes });
        }
        let buffer = |(at, tensor): (usize, &Tensor)| {
            let there = shared(tensor).and_then(|other| other.buffers.get(at));
            let alike =
                |there: &&Buffer| there.dtype == tensor.dtype && there.shape == tensor.shape;
            there.filter(alike).cloned().unwrap_or_else(|| {
                let written = program.tensors.get(at).is_some_and(TensorDecl::writable);
                Buffer::new(tensor, written)
            })
        };
        let buffers = tensors.iter().enumerate().map(buffer).collect();
        Ok(Buffers { sizes: sizes.to_vec(), buffers })
    }

    /// Returns where each tensor starts. No two of them overlap, and those that the program writes belong to nobody
    /// else.
    pub(crate) fn pointers(&mut self) -> Vec<*mut u8> {
        let start = |own: &mut Buffer| start(&mut own.elements, own.before, own.written);
        self.buffers.iter_mut().map(start).collect()
    }

    /// Returns the tensors, as the last call has left them.
    pub fn tensors(&self) -> Vec<Tensor> {
        self.buffers.iter().map(Buffer::tensor).collect()
    }
}

impl Buffer {
    fn new(tensor: &Tensor, written: bool) -> Buffer {
        let (elements, before) = in_memory(tensor);
        let (dtype, shape, given) = (tensor.dtype, tensor.shape.clone(), tensor.data.clone());
        Buffer { dtype, shape, given, elements, before, written }
    }

    fn tensor(&self) -> Tensor {
        let data = match &self.elements {
            _ if !self.written => self.given.clone(),
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

/// Returns the elements of a tensor in memory, and how many there are before the first one.
fn in_memory(tensor: &Tensor) -> (Data, usize) {
    let held = match &tensor.data {
        Data::Hashed(hashed) => {
            let all = 0..elements(&tensor.shape);
            match tensor.dtype {
                DType::F32 => return table(hashed, all),
                dtype => Data::held(dtype, all.map(|at| hashed.at(dtype, at))),
            }
        }
        held => held.clone(),
    };
    let held = match held {
        Data::U4(halves) => {
            let byte = |pair: &[u8]| pair.iter().rev().fold(0, |byte, half| byte << 4 | half);
            Data::U8(Arc::new(halves.chunks(2).map(byte).collect()))
        }
        held => held,
    };
    (held, 0)
}

/// Returns the elements of a table in large pages, whose first one begins a line of the cache, and how many there are before
/// it. An allocator may place large memory some bytes behind the start of a line, so that each row lies in one line more.
fn table(hashed: &Hashed, all: Range<u64>) -> (Data, usize) {
    const LINE: usize = 64;
    let most = LINE / size_of::<f32>();
    let count = usize::try_from(all.end).unwrap_or(0);
    let mut elements: Vec<f32> = Vec::with_capacity(count.saturating_add(most));
    of_capacity(&elements);
    let before = elements.as_ptr().align_offset(LINE).min(most);
    elements.resize(before, 0.0);
    elements.extend(all.map(|at| hashed.f32(at)));
    (Data::F32(Arc::new(elements)), before)
}

/// Returns where elements start. Those that are written are copied first if somebody else holds them, too.
fn start(elements: &mut Data, before: usize, written: bool) -> *mut u8 {
    macro_rules! start {
        ($x:expr) => {
            if written {
                Arc::make_mut($x)[before..].as_mut_ptr().cast()
            } else {
                $x[before..].as_ptr().cast_mut().cast()
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

#[cfg(test)]
mod tests {
    use super::*;
    use ember_targets::dlc::{Dim, Purpose};

    #[test]
    fn tables_begin_a_line_and_are_shared_if_they_have_one_shape() {
        let decl = |rows| TensorDecl {
            name: "table".to_owned(),
            dtype: DType::F32,
            shape: vec![Dim::Const(rows), Dim::Const(16)],
            purpose: Purpose::of(false),
        };
        let hashed = Hashed { seed: 1, lo: -1.0, hi: 1.0 };
        let tensor =
            |rows| Tensor { dtype: DType::F32, shape: vec![rows, 16], data: Data::Hashed(hashed) };
        // Small memory, and so large that it has pages of its own.
        for rows in [3, 100_000] {
            let program = Program { tensors: vec![decl(rows)], ..Program::default() };
            let mut first = Buffers::new(&program, &[tensor(rows)], &[]).unwrap();
            let own = first.pointers()[0];
            assert_eq!(own.addr() % 64, 0, "{rows}");
            let Buffer { elements: Data::F32(held), before, .. } = &first.buffers[0] else {
                panic!("a table is held")
            };
            let right = |at: u64| held[before + at as usize] == hashed.f32(at);
            assert!((0..rows * 16).all(right));
            assert!(matches!(first.tensors()[0].data, Data::Hashed(_)));
            let mut again =
                Buffers::sharing(&program, &[tensor(rows)], &[], |_| Some(&first)).unwrap();
            assert_eq!(again.pointers()[0], own);
            let mut other =
                Buffers::sharing(&program, &[tensor(rows + 1)], &[], |_| Some(&first)).unwrap();
            assert_ne!(other.pointers()[0], own);
        }
    }
}
