//! The number types of the reference evaluation: exact elements of each type. Elements with a bound of their rounding
//! error are in [`super::bounded`].

use ember_targets::tensor::{Data, Tensor};
use ember_values::operation::{Comparison, Function};
use ember_values::scalar::{BinaryOp, Chosen, DType, Linear, Scalar, UnaryOp};
use std::f64::consts::FRAC_1_SQRT_2;

/// The factors of the approximation of `gelu` by a hyperbolic tangent: `√(2/π)` and that of the cube (Hendrycks and
/// Gimpel, *Gaussian Error Linear Units*, 2016).
const GELU_SLOPE: f64 = 0.797_884_560_802_865_4;
const GELU_CUBIC: f64 = 0.044_715;

/// An element of a tensor. Models use only operations that the element's type supports.
pub trait Number: Copy + Send + Sync + 'static {
    /// The zero +0.0.
    const ZERO: Self;

    /// The maximum of no elements.
    const LEAST: Self;

    /// An unfinished sum.
    type Sum: Copy + Send + Sync + 'static;

    /// The sum of no elements, +0.0.
    const EMPTY: Self::Sum;

    /// Adds the next term to a sum.
    fn accumulate(sum: &mut Self::Sum, x: Self);

    /// Finishes a sum.
    fn total(sum: Self::Sum) -> Self;

    /// Applies a binary operation.
    fn apply(op: BinaryOp, a: Self, b: Self) -> Self;

    /// Applies a unary operation.
    fn function(op: UnaryOp, x: Self) -> Self;

    /// Converts a value with its error bound to a type that these numbers represent.
    fn convert(x: Scalar, error: f64, to: DType) -> Self;

    /// Returns the value and its error bound.
    fn value(self) -> (Scalar, f64);

    /// Starts a sum from its first term.
    fn start(x: Self) -> Self::Sum {
        let mut sum = Self::EMPTY;
        Self::accumulate(&mut sum, x);
        sum
    }

    /// Returns `x` if two numbers compare so, or else `y`.
    fn choose(how: Comparison, pair: [Self; 2], x: Self, y: Self) -> Self;

    /// Fills a buffer from an input of this type, starting at a row-major position.
    fn read(tensor: &Tensor, start: u64, row: &mut [Self]) -> Option<()> {
        for (i, x) in row.iter_mut().enumerate() {
            *x = Self::convert(tensor.get(start + i as u64)?, 0.0, tensor.dtype);
        }
        Some(())
    }

    /// The product.
    fn mul(self, other: Self) -> Self {
        Self::apply(const { Linear::Product.operation() }, self, other)
    }

    /// The sum.
    fn add(self, other: Self) -> Self {
        Self::apply(const { Linear::Sum.operation() }, self, other)
    }

    /// The difference.
    fn sub(self, other: Self) -> Self {
        Self::apply(const { Linear::Difference.operation() }, self, other)
    }

    /// The greater of two numbers.
    fn maximum(self, other: Self) -> Self {
        Self::apply(const { Chosen::Greatest.operation() }, self, other)
    }

    /// The quotient.
    fn over(self, other: Self) -> Self {
        Self::apply(const { Linear::Product.inverse() }, self, other)
    }

    /// Returns `0 - x`.
    fn negated(self) -> Self {
        Self::ZERO.sub(self)
    }

    /// Applies a function to one element of a type.
    fn map(function: Function, x: Self, dtype: DType) -> Self {
        if let Some(op) = function.primitive() {
            return Self::function(op, x);
        }
        match function {
            Function::Silu => x.over_one_plus_exp(x, dtype),
            Function::Relu => x.relu(),
            Function::Sigmoid => x.sigmoid(dtype),
            Function::Neg => x.negated(),
            Function::Abs => x.maximum(x.negated()),
            Function::Gelu => {
                let erf = Self::map(Function::Erf, x.times(FRAC_1_SQRT_2, dtype), dtype);
                x.times(0.5, dtype).mul(erf.plus_one(dtype))
            }
            Function::GeluTanh => {
                let cubed = x.mul(x).mul(x).times(GELU_CUBIC, dtype);
                let tanh = Self::map(Function::Tanh, x.add(cubed).times(GELU_SLOPE, dtype), dtype);
                x.times(0.5, dtype).mul(tanh.plus_one(dtype))
            }
            _ => x,
        }
    }

    /// Returns `max(x, 0)`.
    fn relu(self) -> Self {
        self.maximum(Self::ZERO)
    }

    /// Returns `1 / (1 + exp(0 - x))` in a floating-point type.
    fn sigmoid(self, dtype: DType) -> Self {
        let one = Self::convert(Scalar::I64(1), 0.0, dtype);
        one.over_one_plus_exp(self, dtype)
    }

    /// Returns `self / (1 + exp(0 - x))` in a floating-point type.
    fn over_one_plus_exp(self, x: Self, dtype: DType) -> Self {
        let exp = Self::map(Function::Exp, x.negated(), dtype);
        self.over(exp.plus_one(dtype))
    }

    /// Returns `1 + x`.
    fn plus_one(self, dtype: DType) -> Self {
        Self::convert(Scalar::I64(1), 0.0, dtype).add(self)
    }

    /// Returns the product with a number, which is first converted to the type.
    fn times(self, by: f64, dtype: DType) -> Self {
        self.mul(Self::convert(Scalar::F64(by), 0.0, dtype))
    }
}

macro_rules! number {
    ($t:ty, $variant:ident, $dtype:expr, $zero:expr, $least:expr, $apply:expr, $function:expr) => {
        impl Number for $t {
            const ZERO: Self = $zero;
            const LEAST: Self = $least;
            type Sum = $t;
            const EMPTY: Self = $zero;

            #[inline(always)]
            fn accumulate(sum: &mut Self, x: Self) {
                *sum = sum.add(x);
            }

            #[inline(always)]
            fn total(sum: Self) -> Self {
                sum
            }

            #[inline(always)]
            fn apply(op: BinaryOp, a: Self, b: Self) -> Self {
                $apply(op, a, b)
            }

            #[inline(always)]
            fn function(op: UnaryOp, x: Self) -> Self {
                $function(op, x)
            }

            fn start(x: Self) -> Self {
                x
            }

            fn choose(how: Comparison, [a, b]: [Self; 2], x: Self, y: Self) -> Self {
                if how.holds(&a, &b) { x } else { y }
            }

            #[inline(always)]
            fn convert(x: Scalar, _: f64, _: DType) -> Self {
                match x.cast($dtype) {
                    Scalar::$variant(x) => x,
                    _ => $zero,
                }
            }

            fn value(self) -> (Scalar, f64) {
                (Scalar::$variant(self), 0.0)
            }

            fn read(tensor: &Tensor, start: u64, row: &mut [Self]) -> Option<()> {
                match &tensor.data {
                    Data::$variant(v) => {
                        let start = usize::try_from(start).ok()?;
                        row.copy_from_slice(v.get(start..start.checked_add(row.len())?)?);
                    }
                    Data::Hashed(h) => {
                        for (i, x) in row.iter_mut().enumerate() {
                            let Scalar::$variant(element) = h.at($dtype, start + i as u64) else {
                                return None;
                            };
                            *x = element;
                        }
                    }
                    _ => return None,
                }
                Some(())
            }
        }
    };
}

number!(f32, F32, DType::F32, 0.0, f32::NEG_INFINITY, BinaryOp::f32, UnaryOp::f32);
number!(f64, F64, DType::F64, 0.0, f64::NEG_INFINITY, BinaryOp::f64, UnaryOp::f64);
number!(i64, I64, DType::I64, 0, i64::MIN, BinaryOp::i64, |_, x| x);
number!(
    i32,
    I32,
    DType::I32,
    0,
    i32::MIN,
    |op: BinaryOp, a: i32, b: i32| op.i64(i64::from(a), i64::from(b)) as i32,
    |_, x| x
);

/// An element of a type without arithmetic, with its error bound.
#[derive(Clone, Copy)]
pub struct Kept(Scalar, f64);

impl Number for Kept {
    const ZERO: Self = Kept(Scalar::U8(0), 0.0);
    const LEAST: Self = Self::ZERO;
    type Sum = Kept;
    const EMPTY: Self = Self::ZERO;

    fn accumulate(_: &mut Self, _: Self) {}

    fn total(sum: Self) -> Self {
        sum
    }

    fn apply(_: BinaryOp, a: Self, _: Self) -> Self {
        a
    }

    fn function(_: UnaryOp, x: Self) -> Self {
        x
    }

    fn choose(_: Comparison, _: [Self; 2], x: Self, _: Self) -> Self {
        x
    }

    fn convert(x: Scalar, error: f64, to: DType) -> Self {
        // An inexact value may also round to a neighbour of the correct one.
        let unit = match to {
            DType::F16 => x.as_f64().abs() * 2f64.powi(-11),
            DType::BF16 => x.as_f64().abs() * 2f64.powi(-8),
            _ => 1.0,
        };
        Kept(x.cast(to), if error == 0.0 { 0.0 } else { error + 2.0 * unit })
    }

    fn value(self) -> (Scalar, f64) {
        (self.0, self.1)
    }
}
