//! Operations on scalars: unary, binary, and the fold of lanes to one scalar.

use super::{DType, Scalar};

/// Declares the unary operations: of each one row, with what it computes in both types.
macro_rules! unary_operations {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $summary:literal, $price:ident,
        $f32:expr, $f64:expr;)*) => {
        /// A unary operation on a floating-point scalar.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum UnaryOp {
            $(#[doc = $summary] $(#[$doc])* $variant,)*
        }

        impl UnaryOp {
            /// Every unary operation.
            pub const ALL: &'static [UnaryOp] = &[$(UnaryOp::$variant),*];

            /// The name used in every text format.
            pub const fn name(self) -> &'static str {
                match self { $(UnaryOp::$variant => $name,)* }
            }

            /// What it computes.
            pub const fn doc(self) -> &'static str {
                match self { $(UnaryOp::$variant => $summary,)* }
            }

            /// How many operations of the vector unit it takes.
            pub const fn price(self) -> UnaryPrice {
                match self { $(UnaryOp::$variant => UnaryPrice::$price,)* }
            }

            /// The operation on a binary32 value.
            #[inline(always)]
            pub fn f32(self, x: f32) -> f32 {
                match self { $(UnaryOp::$variant => ($f32)(x),)* }
            }

            /// The operation on a binary64 value.
            #[inline(always)]
            pub fn f64(self, x: f64) -> f64 {
                match self { $(UnaryOp::$variant => ($f64)(x),)* }
            }
        }
    };
}

/// How a unary operation is priced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryPrice {
    /// As one operation of the vector unit.
    Operation,
    /// As the machine's exponential function.
    Exponential,
}

unary_operations! {
    /// The crate `libm` computes it, the same bits everywhere.
    Exp, "exp", "the exponential function", Exponential, libm::expf, libm::exp;
    /// It is rounded correctly, and NaN below -0.0.
    Sqrt, "sqrt", "the square root", Operation, f32::sqrt, f64::sqrt;
}

impl UnaryOp {
    /// The operation with this name.
    pub fn parse(name: &str) -> Option<UnaryOp> {
        UnaryOp::ALL.iter().copied().find(|o| o.name() == name)
    }

    /// Whether the operation is defined on a type: binary32 and binary64.
    pub fn takes(self, dtype: DType) -> bool {
        dtype.is_float() && !dtype.is_storage()
    }

    /// The operation on a scalar; `None` for a type that it does not take.
    pub fn apply(self, x: Scalar) -> Option<Scalar> {
        match x {
            Scalar::F32(x) => Some(Scalar::F32(self.f32(x))),
            Scalar::F64(x) => Some(Scalar::F64(self.f64(x))),
            _ => None,
        }
    }
}

/// Folds lanes to one; `None` if there are none. Halves are combined until one lane is left: with
/// `h` the half of `n` lanes, rounded up, lane `i` becomes `f(lane i, lane i + h)` for all `i + h`
/// below `n`. That is how vector units reduce in a logarithmic number of steps, and for a sum of
/// floating-point numbers it is not the order of a loop.
#[inline(always)]
pub fn fold_lanes<T: Copy>(lanes: &mut [T], mut f: impl FnMut(T, T) -> T) -> Option<T> {
    let mut n = lanes.len();
    while n > 1 {
        let half = n.div_ceil(2);
        let (low, high) = lanes[..n].split_at_mut(half);
        low.iter_mut().zip(high).for_each(|(a, b)| *a = f(*a, *b));
        n = half;
    }
    lanes.first().copied()
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
    pub const fn name(self) -> &'static str {
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

    /// What it computes.
    pub const fn doc(self) -> &'static str {
        match self {
            BinaryOp::Add => "sum; integers wrap",
            BinaryOp::Sub => "difference; integers wrap",
            BinaryOp::Mul => "product; integers wrap",
            BinaryOp::Div => "quotient; of integers truncated, and by zero 0",
            BinaryOp::Max => "IEEE 754-2019 maximum",
            BinaryOp::Min => "IEEE 754-2019 minimum",
            BinaryOp::Lt => "1 (i64) if the first is less, else 0",
        }
    }

    /// Whether it compares: the result is an i64.
    pub const fn compares(self) -> bool {
        matches!(self, BinaryOp::Lt)
    }

    /// The operation with this name.
    pub fn parse(name: &str) -> Option<BinaryOp> {
        BinaryOp::ALL.into_iter().find(|o| o.name() == name)
    }

    /// The type of the result for operands of type `dtype`.
    pub fn result(self, dtype: DType) -> DType {
        if self.compares() { DType::I64 } else { dtype }
    }

    /// The value that a reduction by this operation starts from: +0.0 for `add`, 1 for `mul`, the
    /// least value for `max`, the greatest for `min`; `None` where there is no such value, and for
    /// storage types.
    pub fn identity(self, dtype: DType) -> Option<Scalar> {
        let (least, greatest) = match dtype {
            DType::F32 => (Scalar::F32(f32::NEG_INFINITY), Scalar::F32(f32::INFINITY)),
            DType::F64 => (Scalar::F64(f64::NEG_INFINITY), Scalar::F64(f64::INFINITY)),
            DType::I32 => (Scalar::I32(i32::MIN), Scalar::I32(i32::MAX)),
            DType::I64 => (Scalar::I64(i64::MIN), Scalar::I64(i64::MAX)),
            DType::F16 | DType::BF16 | DType::U8 | DType::U4 => return None,
        };
        match self {
            BinaryOp::Add => Some(Scalar::zero(dtype)),
            BinaryOp::Mul => Some(Scalar::from_f64(dtype, 1.0)),
            BinaryOp::Max => Some(least),
            BinaryOp::Min => Some(greatest),
            BinaryOp::Sub | BinaryOp::Div | BinaryOp::Lt => None,
        }
    }

    /// Whether lanes can be folded by the operation: those that are associative, up to rounding.
    pub fn folds(self) -> bool {
        matches!(self, BinaryOp::Add | BinaryOp::Mul | BinaryOp::Max | BinaryOp::Min)
    }

    /// All lanes folded to one, as [`fold_lanes`] orders them; `None` where there are none, where
    /// types differ or are storage types, and where the operation does not fold.
    pub fn fold(self, lanes: &[Scalar]) -> Option<Scalar> {
        let first = *lanes.first()?;
        if !self.folds() || !lanes.iter().all(|x| x.dtype() == first.dtype()) {
            return None;
        }
        self.apply(first, first)?;
        let mut lanes = lanes.to_vec();
        fold_lanes(&mut lanes, |a, b| self.apply(a, b).unwrap_or(a))
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

    /// The number that the operation gives of two integers; `None` where there is none or it needs more than
    /// 64 bits, and for comparisons.
    pub fn checked(self, a: i64, b: i64) -> Option<i64> {
        match self {
            BinaryOp::Add => a.checked_add(b),
            BinaryOp::Sub => a.checked_sub(b),
            BinaryOp::Mul => a.checked_mul(b),
            BinaryOp::Div => a.checked_div(b),
            BinaryOp::Min => Some(a.min(b)),
            BinaryOp::Max => Some(a.max(b)),
            BinaryOp::Lt => None,
        }
    }

    /// The least and the greatest of what [`BinaryOp::checked`] gives of integers within bounds, both ends
    /// included. They are at the ends of the operands, since each operation is monotone in each of them; a
    /// quotient is where the divisor does not change its sign.
    pub fn range(self, a: (i64, i64), b: (i64, i64)) -> Option<(i64, i64)> {
        let ends = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)];
        let ends = ends.map(|(a, b)| self.checked(a, b).filter(|_| self != BinaryOp::Div || b > 0));
        Some((ends.into_iter().min()??, ends.into_iter().max()??))
    }

    /// The operation on two scalars of one type; `None` where the types differ or are storage types.
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
