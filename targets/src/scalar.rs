//! Scalars: the element types, their values, and the one definition of arithmetic on them.
//!
//! The interpreter, the simulator and the constant folder all call these functions, so an
//! operation has one meaning everywhere.

use serde::{Deserialize, Serialize};
use std::fmt;

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
}

impl DType {
    /// Every element type, in the order of their names in diagnostics.
    pub const ALL: [DType; 4] = [DType::F32, DType::F64, DType::I32, DType::I64];

    /// Size of one element in bytes.
    pub fn bytes(self) -> u64 {
        match self {
            DType::F32 | DType::I32 => 4,
            DType::F64 | DType::I64 => 8,
        }
    }

    /// Whether the type is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F64)
    }

    /// The name used in every text format.
    pub fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::I32 => "i32",
            DType::I64 => "i64",
        }
    }

    /// The type with this name.
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
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        match (*self, *other) {
            (Scalar::F32(a), Scalar::F32(b)) => {
                a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
            }
            (Scalar::F64(a), Scalar::F64(b)) => {
                a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
            }
            (Scalar::I32(a), Scalar::I32(b)) => a == b,
            (Scalar::I64(a), Scalar::I64(b)) => a == b,
            _ => false,
        }
    }
}

impl Scalar {
    /// The type of the value.
    pub fn dtype(self) -> DType {
        match self {
            Scalar::F32(_) => DType::F32,
            Scalar::F64(_) => DType::F64,
            Scalar::I32(_) => DType::I32,
            Scalar::I64(_) => DType::I64,
        }
    }

    /// Zero (+0.0) of a type.
    pub fn zero(dtype: DType) -> Scalar {
        Scalar::from_f64(dtype, 0.0)
    }

    /// The value of `x` in the given type; integers truncate towards zero and saturate.
    pub fn from_f64(dtype: DType, x: f64) -> Scalar {
        match dtype {
            DType::F32 => Scalar::F32(x as f32),
            DType::F64 => Scalar::F64(x),
            DType::I32 => Scalar::I32(x as i32),
            DType::I64 => Scalar::I64(x as i64),
        }
    }

    /// The value as binary64 (exact for every type but large `i64`).
    pub fn as_f64(self) -> f64 {
        match self {
            Scalar::F32(x) => f64::from(x),
            Scalar::F64(x) => x,
            Scalar::I32(x) => f64::from(x),
            Scalar::I64(x) => x as f64,
        }
    }

    /// The value as an index; `None` for floating-point values.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Scalar::I32(x) => Some(i64::from(x)),
            Scalar::I64(x) => Some(x),
            Scalar::F32(_) | Scalar::F64(_) => None,
        }
    }

    /// Conversion to another type, rounding to nearest even; float to integer truncates and
    /// saturates, integer to integer wraps.
    pub fn cast(self, to: DType) -> Scalar {
        match (self, to) {
            (Scalar::I64(x), DType::I32) => Scalar::I32(x as i32),
            (Scalar::I64(x), DType::I64) => Scalar::I64(x),
            (Scalar::I64(x), DType::F32) => Scalar::F32(x as f32),
            (Scalar::I32(x), DType::F32) => Scalar::F32(x as f32),
            (Scalar::I32(x), DType::I64) => Scalar::I64(i64::from(x)),
            (x, to) => Scalar::from_f64(to, x.as_f64()),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::F32(x) => write!(f, "{x:?}"),
            Scalar::F64(x) => write!(f, "{x:?}"),
            Scalar::I32(x) => write!(f, "{x}"),
            Scalar::I64(x) => write!(f, "{x}"),
        }
    }
}

/// A binary operation on two scalars of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BinaryOp {
    /// Sum; integers wrap.
    Add,
    /// Difference; integers wrap.
    Sub,
    /// Product; integers wrap.
    Mul,
    /// Quotient; integer division truncates, and by zero gives zero.
    Div,
    /// IEEE 754-2019 `maximum`: NaN wins, and +0.0 is above -0.0.
    Max,
    /// IEEE 754-2019 `minimum`: NaN wins, and -0.0 is below +0.0.
    Min,
    /// 1 (i64) where the first is less than the second, else 0.
    Lt,
}

impl BinaryOp {
    /// Every binary operation.
    pub const ALL: [BinaryOp; 7] = [
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::Max,
        BinaryOp::Min,
        BinaryOp::Lt,
    ];

    /// The name used in every text format.
    pub fn name(self) -> &'static str {
        match self {
            BinaryOp::Add => "add",
            BinaryOp::Sub => "sub",
            BinaryOp::Mul => "mul",
            BinaryOp::Div => "div",
            BinaryOp::Max => "max",
            BinaryOp::Min => "min",
            BinaryOp::Lt => "lt",
        }
    }

    /// The operation with this name.
    pub fn parse(name: &str) -> Option<BinaryOp> {
        BinaryOp::ALL.into_iter().find(|o| o.name() == name)
    }

    /// The type of the result for operands of type `dtype`.
    pub fn result(self, dtype: DType) -> DType {
        if self == BinaryOp::Lt { DType::I64 } else { dtype }
    }

    /// The value that a reduction by this operation starts from: +0.0 for `add`, 1 for `mul`, the
    /// least value for `max`, the greatest for `min`; `None` where there is no such value.
    pub fn identity(self, dtype: DType) -> Option<Scalar> {
        let (least, greatest) = match dtype {
            DType::F32 => (Scalar::F32(f32::NEG_INFINITY), Scalar::F32(f32::INFINITY)),
            DType::F64 => (Scalar::F64(f64::NEG_INFINITY), Scalar::F64(f64::INFINITY)),
            DType::I32 => (Scalar::I32(i32::MIN), Scalar::I32(i32::MAX)),
            DType::I64 => (Scalar::I64(i64::MIN), Scalar::I64(i64::MAX)),
        };
        match self {
            BinaryOp::Add => Some(Scalar::zero(dtype)),
            BinaryOp::Mul => Some(Scalar::from_f64(dtype, 1.0)),
            BinaryOp::Max => Some(least),
            BinaryOp::Min => Some(greatest),
            BinaryOp::Sub | BinaryOp::Div | BinaryOp::Lt => None,
        }
    }

    /// The operation on two binary32 values; `Lt` gives 1.0 or 0.0.
    #[inline(always)]
    pub fn f32(self, a: f32, b: f32) -> f32 {
        match self {
            BinaryOp::Add => a + b,
            BinaryOp::Sub => a - b,
            BinaryOp::Mul => a * b,
            BinaryOp::Div => a / b,
            BinaryOp::Max => maximum_f32(a, b),
            BinaryOp::Min => -maximum_f32(-a, -b),
            BinaryOp::Lt => f32::from(u8::from(a < b)),
        }
    }

    /// The operation on two binary64 values; `Lt` gives 1.0 or 0.0.
    #[inline(always)]
    pub fn f64(self, a: f64, b: f64) -> f64 {
        match self {
            BinaryOp::Add => a + b,
            BinaryOp::Sub => a - b,
            BinaryOp::Mul => a * b,
            BinaryOp::Div => a / b,
            BinaryOp::Max => maximum_f64(a, b),
            BinaryOp::Min => -maximum_f64(-a, -b),
            BinaryOp::Lt => f64::from(u8::from(a < b)),
        }
    }

    /// The operation on two 64-bit integers.
    #[inline(always)]
    pub fn i64(self, a: i64, b: i64) -> i64 {
        match self {
            BinaryOp::Add => a.wrapping_add(b),
            BinaryOp::Sub => a.wrapping_sub(b),
            BinaryOp::Mul => a.wrapping_mul(b),
            BinaryOp::Div => {
                if b == 0 {
                    0
                } else {
                    a.wrapping_div(b)
                }
            }
            BinaryOp::Max => a.max(b),
            BinaryOp::Min => a.min(b),
            BinaryOp::Lt => i64::from(a < b),
        }
    }

    /// The operation on two scalars of one type; `None` where the types differ.
    pub fn apply(self, a: Scalar, b: Scalar) -> Option<Scalar> {
        let lt = self == BinaryOp::Lt;
        Some(match (a, b) {
            (Scalar::F32(a), Scalar::F32(b)) if lt => Scalar::I64(i64::from(a < b)),
            (Scalar::F64(a), Scalar::F64(b)) if lt => Scalar::I64(i64::from(a < b)),
            (Scalar::I32(a), Scalar::I32(b)) if lt => Scalar::I64(i64::from(a < b)),
            (Scalar::F32(a), Scalar::F32(b)) => Scalar::F32(self.f32(a, b)),
            (Scalar::F64(a), Scalar::F64(b)) => Scalar::F64(self.f64(a, b)),
            (Scalar::I32(a), Scalar::I32(b)) => {
                Scalar::I32(self.i64(i64::from(a), i64::from(b)) as i32)
            }
            (Scalar::I64(a), Scalar::I64(b)) => Scalar::I64(self.i64(a, b)),
            _ => return None,
        })
    }
}

/// IEEE 754-2019 `maximum`, written out because `f32::max` prefers the number over the NaN and
/// leaves the order of zeros open.
#[inline(always)]
fn maximum_f32(a: f32, b: f32) -> f32 {
    if a > b {
        a
    } else if b > a {
        b
    } else if a == b {
        if a.is_sign_positive() { a } else { b }
    } else {
        f32::NAN
    }
}

/// As [`maximum_f32`].
#[inline(always)]
fn maximum_f64(a: f64, b: f64) -> f64 {
    if a > b {
        a
    } else if b > a {
        b
    } else if a == b {
        if a.is_sign_positive() { a } else { b }
    } else {
        f64::NAN
    }
}
