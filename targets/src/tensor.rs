//! Tensors: row-major data that a program reads and writes.
//!
//! A tensor is either held in memory or computed element by element from a seed, so that a table
//! larger than memory costs nothing until it is read.

use ember_values::scalar::{DType, Scalar};
use half::{bf16, f16};
use std::sync::Arc;

/// Row-major data with its type and shape.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// The element type.
    pub dtype: DType,
    /// The extents; their product fits `u64`.
    pub shape: Vec<u64>,
    /// The elements.
    pub data: Data,
}

/// The source of the elements. Held data is shared between runs and copied on the first write.
#[derive(Clone, Debug)]
pub enum Data {
    /// Held binary32 elements.
    F32(Arc<Vec<f32>>),
    /// Held binary64 elements.
    F64(Arc<Vec<f64>>),
    /// Held 32-bit integers.
    I32(Arc<Vec<i32>>),
    /// Held 64-bit integers.
    I64(Arc<Vec<i64>>),
    /// Held binary16 elements.
    F16(Arc<Vec<f16>>),
    /// Held bfloat16 elements: the upper halves of binary32 elements.
    BF16(Arc<Vec<bf16>>),
    /// Held unsigned 8-bit integers.
    U8(Arc<Vec<u8>>),
    /// Held unsigned 4-bit integers, one per byte, each below 16.
    U4(Arc<Vec<u8>>),
    /// Held signed 8-bit integers.
    I8(Arc<Vec<i8>>),
    /// Computed on demand, read-only.
    Hashed(Hashed),
}

/// Elements uniform in `[lo, hi)`, each a function of the seed and its position alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hashed {
    /// The seed; different tensors of one model use different seeds.
    pub seed: u64,
    /// The least value.
    pub lo: f64,
    /// The exclusive upper bound, before values are rounded to their type (integers truncate).
    pub hi: f64,
}

impl Hashed {
    /// Returns the element at a row-major position as a fraction of the range, in `[0, 1)`, with 24 bits so that it is
    /// exact in binary32.
    ///
    /// The mixer is the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
    #[inline(always)]
    pub fn unit(&self, position: u64) -> f32 {
        let mut z = position.wrapping_add(self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 * (1.0 / 16_777_216.0)
    }

    /// Returns the element at a row-major position in the given type.
    #[inline(always)]
    pub fn at(&self, dtype: DType, position: u64) -> Scalar {
        match dtype {
            DType::F32 => Scalar::F32(self.f32(position)),
            _ => Scalar::from_f64(
                dtype,
                self.lo + f64::from(self.unit(position)) * (self.hi - self.lo),
            ),
        }
    }

    /// Returns the element at a row-major position, as binary32.
    #[inline(always)]
    pub fn f32(&self, position: u64) -> f32 {
        self.lo as f32 + self.unit(position) * ((self.hi - self.lo) as f32)
    }
}

impl Data {
    /// Builds held elements of a type; elements of another type are left out.
    pub fn held(dtype: DType, elements: impl Iterator<Item = Scalar>) -> Data {
        macro_rules! collect {
            ($variant:ident) => {{
                let pick = |x| match x {
                    Scalar::$variant(x) => Some(x),
                    _ => None,
                };
                Data::$variant(Arc::new(elements.filter_map(pick).collect()))
            }};
        }
        match dtype {
            DType::F32 => collect!(F32),
            DType::F64 => collect!(F64),
            DType::I32 => collect!(I32),
            DType::I64 => collect!(I64),
            DType::F16 => collect!(F16),
            DType::BF16 => collect!(BF16),
            DType::U8 => collect!(U8),
            DType::U4 => collect!(U4),
            DType::I8 => collect!(I8),
        }
    }

    /// Builds held elements from bytes, in little-endian or big-endian order. Bytes of u4 become u8, two elements each.
    pub fn of_bytes(dtype: DType, bytes: &[u8], little: bool) -> Data {
        macro_rules! convert {
            ($variant:ident, $t:ty) => {{
                let (chunks, _) = bytes.as_chunks();
                let read = |b: &[u8; size_of::<$t>()]| {
                    if little { <$t>::from_le_bytes(*b) } else { <$t>::from_be_bytes(*b) }
                };
                Data::$variant(Arc::new(chunks.iter().map(read).collect()))
            }};
        }
        match dtype {
            DType::F32 => convert!(F32, f32),
            DType::F64 => convert!(F64, f64),
            DType::I32 => convert!(I32, i32),
            DType::I64 => convert!(I64, i64),
            DType::F16 => convert!(F16, f16),
            DType::BF16 => convert!(BF16, bf16),
            DType::U8 | DType::U4 => Data::U8(Arc::new(bytes.to_vec())),
            DType::I8 => convert!(I8, i8),
        }
    }

    /// Returns true if both hold the same elements, to the bit.
    fn same_bits(&self, other: &Data) -> bool {
        macro_rules! same {
            ($a:ident, $b:ident, $bits:expr) => {
                Arc::ptr_eq($a, $b) || $a.iter().map($bits).eq($b.iter().map($bits))
            };
        }
        match (self, other) {
            (Data::F32(a), Data::F32(b)) => same!(a, b, |x| x.to_bits()),
            (Data::F64(a), Data::F64(b)) => same!(a, b, |x| x.to_bits()),
            (Data::I32(a), Data::I32(b)) => same!(a, b, |x| x),
            (Data::I64(a), Data::I64(b)) => same!(a, b, |x| x),
            (Data::F16(a), Data::F16(b)) => same!(a, b, |x| x.to_bits()),
            (Data::BF16(a), Data::BF16(b)) => same!(a, b, |x| x.to_bits()),
            (Data::U8(a), Data::U8(b)) | (Data::U4(a), Data::U4(b)) => same!(a, b, |x| x),
            (Data::I8(a), Data::I8(b)) => same!(a, b, |x| x),
            (Data::Hashed(a), Data::Hashed(b)) => a == b,
            _ => false,
        }
    }

    /// Returns the number of held elements; `None` for data computed on demand.
    pub fn held_len(&self) -> Option<u64> {
        Some(match self {
            Data::F32(v) => v.len() as u64,
            Data::F64(v) => v.len() as u64,
            Data::I32(v) => v.len() as u64,
            Data::I64(v) => v.len() as u64,
            Data::F16(v) => v.len() as u64,
            Data::BF16(v) => v.len() as u64,
            Data::U8(v) | Data::U4(v) => v.len() as u64,
            Data::I8(v) => v.len() as u64,
            Data::Hashed(_) => return None,
        })
    }
}

impl Tensor {
    /// Returns the size of the elements in a machine's memory, in bytes; saturates.
    pub fn bytes(&self) -> u64 {
        self.dtype.bytes_of(self.len())
    }

    /// Returns true if both have the same type, shape and elements, to the bit.
    pub fn same_bits(&self, other: &Tensor) -> bool {
        self.dtype == other.dtype && self.shape == other.shape && self.data.same_bits(&other.data)
    }

    /// Builds a held tensor of zeros. The caller bounds the size.
    pub fn zeros(dtype: DType, shape: Vec<u64>) -> Tensor {
        let n = shape.iter().product::<u64>() as usize;
        let data = match dtype {
            DType::F32 => Data::F32(Arc::new(vec![0.0; n])),
            DType::F64 => Data::F64(Arc::new(vec![0.0; n])),
            DType::I32 => Data::I32(Arc::new(vec![0; n])),
            DType::I64 => Data::I64(Arc::new(vec![0; n])),
            DType::F16 => Data::F16(Arc::new(vec![f16::ZERO; n])),
            DType::BF16 => Data::BF16(Arc::new(vec![bf16::ZERO; n])),
            DType::U8 => Data::U8(Arc::new(vec![0; n])),
            DType::U4 => Data::U4(Arc::new(vec![0; n])),
            DType::I8 => Data::I8(Arc::new(vec![0; n])),
        };
        Tensor { dtype, shape, data }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> u64 {
        self.shape.iter().product()
    }

    /// The index of the element at a row-major position.
    pub fn index(&self, position: u64) -> Vec<u64> {
        let mut rest = position;
        let mut index: Vec<u64> = Vec::with_capacity(self.shape.len());
        for extent in self.shape.iter().rev() {
            index.push(rest % extent.max(&1));
            rest /= extent.max(&1);
        }
        index.reverse();
        index
    }

    /// Returns true if the tensor has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the element at a row-major position; `None` past the end.
    #[inline(always)]
    pub fn get(&self, position: u64) -> Option<Scalar> {
        let i = position as usize;
        match &self.data {
            Data::F32(v) => v.get(i).copied().map(Scalar::F32),
            Data::F64(v) => v.get(i).copied().map(Scalar::F64),
            Data::I32(v) => v.get(i).copied().map(Scalar::I32),
            Data::I64(v) => v.get(i).copied().map(Scalar::I64),
            Data::F16(v) => v.get(i).copied().map(Scalar::F16),
            Data::BF16(v) => v.get(i).copied().map(Scalar::BF16),
            Data::U8(v) => v.get(i).copied().map(Scalar::U8),
            Data::U4(v) => v.get(i).copied().map(Scalar::U4),
            Data::I8(v) => v.get(i).copied().map(Scalar::I8),
            Data::Hashed(h) => (position < self.len()).then(|| h.at(self.dtype, position)),
        }
    }

    /// Writes one element of a held tensor. Returns `false` past the end, for another type, or for data computed on
    /// demand.
    #[inline(always)]
    pub fn set(&mut self, position: u64, value: Scalar) -> bool {
        fn put<T: Clone>(v: &mut Arc<Vec<T>>, i: u64, x: T) -> bool {
            match Arc::make_mut(v).get_mut(i as usize) {
                Some(slot) => {
                    *slot = x;
                    true
                }
                None => false,
            }
        }
        match (&mut self.data, value) {
            (Data::F32(v), Scalar::F32(x)) => put(v, position, x),
            (Data::F64(v), Scalar::F64(x)) => put(v, position, x),
            (Data::I32(v), Scalar::I32(x)) => put(v, position, x),
            (Data::I64(v), Scalar::I64(x)) => put(v, position, x),
            (Data::F16(v), Scalar::F16(x)) => put(v, position, x),
            (Data::BF16(v), Scalar::BF16(x)) => put(v, position, x),
            (Data::U8(v), Scalar::U8(x)) | (Data::U4(v), Scalar::U4(x)) => put(v, position, x),
            (Data::I8(v), Scalar::I8(x)) => put(v, position, x),
            _ => false,
        }
    }

    /// Returns the row-major position of an index; `None` if the rank differs or the index is out of bounds.
    pub fn position(&self, index: &[i64]) -> Option<u64> {
        if index.len() != self.shape.len() {
            return None;
        }
        let mut at = 0u64;
        for (&i, &n) in index.iter().zip(&self.shape) {
            let i = u64::try_from(i).ok().filter(|&i| i < n)?;
            at = at * n + i;
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_integers_on_demand_are_uniform() {
        for (dtype, hi) in [(DType::U8, 256usize), (DType::U4, 16)] {
            let hashed = Hashed { seed: 5, lo: 0.0, hi: hi as f64 };
            let mut counts = vec![0u64; hi];
            let n = 1000 * hi as u64;
            for position in 0..n {
                let Some(x) = hashed.at(dtype, position).as_i64() else { panic!("an integer") };
                counts[x as usize] += 1;
            }
            // Each count is 1000 on average; the bounds are five standard deviations to either side.
            assert!(counts.iter().all(|c| (840..1160).contains(c)), "{dtype}: {counts:?}");
        }
    }

    #[test]
    fn held_elements_of_every_type_are_read_back_as_they_were_written() {
        for dtype in DType::ALL {
            let mut tensor = Tensor::zeros(dtype, vec![3, 5]);
            assert_eq!(tensor.get(14), Some(Scalar::zero(dtype)));
            let x = Scalar::from_f64(dtype, 9.0);
            assert!(tensor.set(7, x) && !tensor.set(15, x));
            assert_eq!((tensor.get(7), tensor.get(8)), (Some(x), Some(Scalar::zero(dtype))));
            let other = if dtype == DType::U4 { Scalar::U8(9) } else { Scalar::U4(9) };
            assert!(!tensor.set(7, other));
            assert_eq!(tensor.bytes(), (15 * dtype.bits()).div_ceil(8));
            let copy = Data::held(dtype, (0..15).filter_map(|i| tensor.get(i)));
            assert_eq!(copy.held_len(), Some(15));
        }
    }
}
