//! Scalars: the element types, their values, and the only definition of arithmetic on them.
//!
//! The interpreter, the simulator and the constant folder all call these functions, so that an operation has one
//! meaning everywhere. The submodules `unary` and `binary` define the operations.

mod binary;
mod extreme;
mod near;
mod price;
mod unary;

pub use binary::{BinaryOp, Chosen, Linear, UseF32, fold_lanes};
pub use extreme::EXTREMES;
pub use near::Near;
pub use price::{Latency, ScalarPrice};
pub use unary::UnaryOp;

use half::{bf16, f16};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The largest extent of a tensor, and the largest size: part of every claim about programs.
pub const LARGEST_SIZE: u64 = 1 << 40;

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// Two's complement 32-bit integer.
    I32,
    /// Two's complement 64-bit integer; also the type of every index and loop variable.
    I64,
    /// IEEE 754 binary16; for storage only.
    F16,
    /// The upper half of a binary32; for storage only.
    BF16,
    /// Unsigned 8-bit integer; for storage only.
    U8,
    /// Unsigned 4-bit integer, two to a byte, the earlier in the low half; for storage only.
    U4,
    /// Two's complement 8-bit integer; for storage only.
    I8,
}

impl DType {
    /// Every element type, in the order that diagnostics use.
    pub const ALL: [DType; 9] = [
        DType::F32,
        DType::F64,
        DType::I32,
        DType::I64,
        DType::F16,
        DType::BF16,
        DType::U8,
        DType::U4,
        DType::I8,
    ];

    /// The element types that support arithmetic.
    pub const ARITHMETIC: [DType; 4] = [DType::F32, DType::F64, DType::I32, DType::I64];

    /// Returns the size of one element in bits, a power of two.
    pub fn bits(self) -> u64 {
        match self {
            DType::F64 | DType::I64 => 64,
            DType::F32 | DType::I32 => 32,
            DType::F16 | DType::BF16 => 16,
            DType::U8 | DType::I8 => 8,
            DType::U4 => 4,
        }
    }

    /// Returns the number of bytes that contiguous elements take from the start of a byte; saturates.
    pub fn bytes_of(self, elements: u64) -> u64 {
        let bits = u128::from(elements) * u128::from(self.bits());
        u64::try_from(bits.div_ceil(8)).unwrap_or(u64::MAX)
    }

    /// Returns the number of elements of this type that fit in a number of bytes.
    pub fn elements_in(self, bytes: u64) -> u64 {
        bytes.saturating_mul(8) / self.bits()
    }

    /// Returns true if the type is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F64 | DType::F16 | DType::BF16)
    }

    /// Returns true if elements are only stored, moved and converted, and have no arithmetic.
    pub fn is_storage(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::U8 | DType::U4 | DType::I8)
    }

    /// Returns the name used in every text format.
    pub fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::U8 => "u8",
            DType::U4 => "u4",
            DType::I8 => "i8",
        }
    }

    /// Finds the type with this name.
    pub fn parse(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One value. Equality is by bits, except that every NaN equals every NaN.
#[derive(Clone, Copy, Debug)]
pub enum Scalar {
    /// A binary32 value.
    F32(f32),
    /// A binary64 value.
    F64(f64),
    /// A 32-bit integer.
    I32(i32),
    /// A 64-bit integer.
    I64(i64),
    /// A binary16 value.
    F16(f16),
    /// An upper half of a binary32 value.
    BF16(bf16),
    /// An unsigned 8-bit integer.
    U8(u8),
    /// An unsigned 4-bit integer, below 16.
    U4(u8),
    /// An 8-bit integer.
    I8(i8),
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.dtype() == other.dtype()
            && (self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan()))
    }
}

impl Scalar {
    /// Returns the type of the value.
    #[inline(always)]
    pub fn dtype(self) -> DType {
        match self {
            Scalar::F32(_) => DType::F32,
            Scalar::F64(_) => DType::F64,
            Scalar::I32(_) => DType::I32,
            Scalar::I64(_) => DType::I64,
            Scalar::F16(_) => DType::F16,
            Scalar::BF16(_) => DType::BF16,
            Scalar::U8(_) => DType::U8,
            Scalar::U4(_) => DType::U4,
            Scalar::I8(_) => DType::I8,
        }
    }

    /// Returns the zero (+0.0) of a type.
    pub fn zero(dtype: DType) -> Scalar {
        Scalar::from_bits(dtype, 0)
    }

    /// Returns the bits of the value; integers are extended to 64 bits by their sign.
    #[inline(always)]
    pub fn to_bits(self) -> u64 {
        match self {
            Scalar::F32(x) => u64::from(x.to_bits()),
            Scalar::F64(x) => x.to_bits(),
            Scalar::I32(x) => i64::from(x) as u64,
            Scalar::I64(x) => x as u64,
            Scalar::F16(x) => u64::from(x.to_bits()),
            Scalar::BF16(x) => u64::from(x.to_bits()),
            Scalar::U8(x) | Scalar::U4(x) => u64::from(x),
            Scalar::I8(x) => i64::from(x) as u64,
        }
    }

    /// Inverts [`Scalar::to_bits`]; bits beyond the width of the type are dropped.
    #[inline(always)]
    pub fn from_bits(dtype: DType, bits: u64) -> Scalar {
        match dtype {
            DType::F32 => Scalar::F32(f32::from_bits(bits as u32)),
            DType::F64 => Scalar::F64(f64::from_bits(bits)),
            DType::I32 => Scalar::I32(bits as i32),
            DType::I64 => Scalar::I64(bits as i64),
            DType::F16 => Scalar::F16(f16::from_bits(bits as u16)),
            DType::BF16 => Scalar::BF16(bf16::from_bits(bits as u16)),
            DType::U8 => Scalar::U8(bits as u8),
            DType::U4 => Scalar::U4(bits as u8 & 15),
            DType::I8 => Scalar::I8(bits as i8),
        }
    }

    /// Returns true if the value is a NaN.
    pub fn is_nan(self) -> bool {
        match self {
            Scalar::F32(x) => x.is_nan(),
            Scalar::F64(x) => x.is_nan(),
            Scalar::F16(x) => x.is_nan(),
            Scalar::BF16(x) => x.is_nan(),
            Scalar::I32(_) | Scalar::I64(_) | Scalar::U8(_) | Scalar::U4(_) | Scalar::I8(_) => {
                false
            }
        }
    }

    /// Converts `x` to the given type, rounded once to nearest even; integers truncate towards zero and saturate.
    pub fn from_f64(dtype: DType, x: f64) -> Scalar {
        match dtype {
            DType::F32 => Scalar::F32(x as f32),
            DType::F64 => Scalar::F64(x),
            DType::I32 => Scalar::I32(x as i32),
            DType::I64 => Scalar::I64(x as i64),
            DType::F16 => Scalar::F16(f16::from_f32(rounded_to_odd(x))),
            DType::BF16 => Scalar::BF16(bf16::from_f32(rounded_to_odd(x))),
            DType::U8 => Scalar::U8(x as u8),
            DType::U4 => Scalar::U4((x as u8).min(15)),
            DType::I8 => Scalar::I8(x as i8),
        }
    }

    /// Returns the value as binary64 (exact for every type but large `i64`).
    pub fn as_f64(self) -> f64 {
        match self {
            Scalar::F32(x) => f64::from(x),
            Scalar::F64(x) => x,
            Scalar::I32(x) => f64::from(x),
            Scalar::I64(x) => x as f64,
            Scalar::F16(x) => f64::from(x.to_f32()),
            Scalar::BF16(x) => f64::from(x.to_f32()),
            Scalar::U8(x) | Scalar::U4(x) => f64::from(x),
            Scalar::I8(x) => f64::from(x),
        }
    }

    /// Returns the value as an index; `None` for floating-point values.
    #[inline(always)]
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Scalar::I32(x) => Some(i64::from(x)),
            Scalar::I64(x) => Some(x),
            Scalar::U8(x) | Scalar::U4(x) => Some(i64::from(x)),
            Scalar::I8(x) => Some(i64::from(x)),
            Scalar::F32(_) | Scalar::F64(_) | Scalar::F16(_) | Scalar::BF16(_) => None,
        }
    }

    /// Converts to another type, rounding to nearest even. Float to integer truncates and saturates; integer to integer
    /// wraps.
    pub fn cast(self, to: DType) -> Scalar {
        match (self.as_i64(), to) {
            (Some(x), DType::F32) => Scalar::F32(x as f32),
            (Some(x), DType::F16 | DType::BF16) => Scalar::from_f64(to, sticky(x)),
            (Some(x), DType::I32 | DType::I64 | DType::U8 | DType::U4 | DType::I8) => {
                Scalar::from_bits(to, x as u64)
            }
            _ => Scalar::from_f64(to, self.as_f64()),
        }
    }
}

/// Returns the binary32 value at or next towards zero from `x`, with its last bit set if it is not exact. Rounding it
/// further to a type of at most 22 bits of precision then gives the same result as rounding `x` itself (Boldo and
/// Melquiond, "Emulation of FMA and correctly rounded sums", 2008). The function is needed because conversions of
/// binary64 in the crate `half` round twice on some processors.
fn rounded_to_odd(x: f64) -> f32 {
    let nearest = x as f32;
    if x.is_nan() || f64::from(nearest) == x {
        return nearest;
    }
    let beyond = f64::from(nearest.abs()) > x.abs();
    f32::from_bits((nearest.to_bits() - u32::from(beyond)) | 1)
}

/// Converts an integer to binary64, with the last bit set if the result is not exact, like [`rounded_to_odd`].
fn sticky(x: i64) -> f64 {
    if x.unsigned_abs() < 1 << 53 {
        return x as f64;
    }
    ((x >> 11) | i64::from(x & 2047 != 0)) as f64 * 2048.0
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::F32(x) => write!(f, "{x:?}"),
            Scalar::F64(x) => write!(f, "{x:?}"),
            Scalar::I32(x) => write!(f, "{x}"),
            Scalar::I64(x) => write!(f, "{x}"),
            Scalar::F16(x) => write!(f, "{:?}", x.to_f32()),
            Scalar::BF16(x) => write!(f, "{:?}", x.to_f32()),
            Scalar::U8(x) | Scalar::U4(x) => write!(f, "{x}"),
            Scalar::I8(x) => write!(f, "{x}"),
        }
    }
}

impl DType {
    /// Parses a number in this type: a whole number in range for an integer type, else a real number, `inf` or `nan`,
    /// rounded once.
    pub fn number(self, text: &str) -> Option<Scalar> {
        match self {
            DType::F32 => text.parse().ok().map(Scalar::F32),
            DType::I32 => text.parse().ok().map(Scalar::I32),
            DType::I64 => text.parse().ok().map(Scalar::I64),
            DType::F64 | DType::F16 | DType::BF16 => {
                text.parse().ok().map(|x| Scalar::from_f64(self, x))
            }
            DType::U8 => text.parse().ok().map(Scalar::U8),
            DType::I8 => text.parse().ok().map(Scalar::I8),
            DType::U4 => text.parse().ok().filter(|n| *n < 16).map(Scalar::U4),
        }
    }
}

#[cfg(test)]
mod tests;
