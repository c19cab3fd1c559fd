//! Unary operations on scalars.

use super::price::{Latency, ScalarPrice};
use super::{DType, Scalar};

/// Declares the unary operations, one row each, with the computation in both types.
macro_rules! unary_operations {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $summary:literal {
        f32: $f32:expr, f64: $f64:expr, price: $price:ident, latency: $latency:expr,
        roundings: $roundings:literal, passed: $passed:expr,
    })*) => {
        /// A unary operation on a floating-point scalar.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum UnaryOp {
            $(#[doc = $summary] $(#[$doc])* $variant,)*
        }

        impl UnaryOp {
            /// Every unary operation.
            pub const ALL: &'static [UnaryOp] = &[$(UnaryOp::$variant),*];

            /// Returns the name used in every text format.
            pub const fn name(self) -> &'static str {
                match self { $(UnaryOp::$variant => $name,)* }
            }

            /// Returns a short description of the result.
            pub const fn doc(self) -> &'static str {
                match self { $(UnaryOp::$variant => $summary,)* }
            }

            /// Returns the price class on the vector unit.
            pub const fn price(self) -> ScalarPrice {
                match self { $(UnaryOp::$variant => ScalarPrice::$price,)* }
            }

            /// Returns the latencies of the machine that the operation incurs one after another.
            pub const fn latency(self) -> &'static [Latency] {
                match self { $(UnaryOp::$variant => $latency,)* }
            }

            /// Applies the operation to a binary32 value.
            #[inline(always)]
            pub fn f32(self, x: f32) -> f32 {
                match self { $(UnaryOp::$variant => ($f32)(x),)* }
            }

            /// Applies the operation to a binary64 value.
            #[inline(always)]
            pub fn f64(self, x: f64) -> f64 {
                match self { $(UnaryOp::$variant => ($f64)(x),)* }
            }

            /// Returns [`Self::f32`] as a function that C can call.
            pub fn c_f32(self) -> extern "C" fn(f32) -> f32 {
                match self { $(UnaryOp::$variant => {
                    extern "C" fn call(x: f32) -> f32 { ($f32)(x) }
                    call
                })* }
            }

            /// Returns [`Self::f64`] as a function that C can call.
            pub fn c_f64(self) -> extern "C" fn(f64) -> f64 {
                match self { $(UnaryOp::$variant => {
                    extern "C" fn call(x: f64) -> f64 { ($f64)(x) }
                    call
                })* }
            }

            /// Returns an upper bound of the rounding errors of the operation itself, in units of one rounding to
            /// nearest.
            pub const fn roundings(self) -> f64 {
                match self { $(UnaryOp::$variant => $roundings,)* }
            }

            /// Returns the greatest error of the result if the operand `x` is off by up to `error`; `None` if no
            /// operand within that distance has a result.
            pub fn passed(self, x: f64, error: f64) -> Option<f64> {
                let y = self.f64(x);
                match self { $(UnaryOp::$variant => ($passed)(x, y, error),)* }
            }
        }
    };
}

unary_operations! {
    /// Computed by the crate `libm`, so that the bits are the same everywhere.
    Exp, "exp", "the exponential function" {
        f32: libm::expf, f64: libm::exp, price: Exponential, latency: &[Latency::Exponential],
        // `libm` promises less than one unit in the last place, and 2 leave room for the rounding of the argument.
        roundings: 4.0, passed: |_, y: f64, error: f64| Some(y * error.exp_m1()),
    }
    /// The result is correctly rounded, and NaN below -0.0.
    Sqrt, "sqrt", "the square root" {
        f32: f32::sqrt, f64: f64::sqrt, price: Operation, latency: &[Latency::Root],
        roundings: 1.0, passed: |x: f64, y: f64, error: f64| {
            let (least, most) = ((x - error).max(0.0).sqrt(), (x + error).sqrt());
            (x + error >= 0.0).then(|| (most - y).max(y - least))
        },
    }
    /// Both the square root and the quotient are rounded. The result is infinite at zeros, with the sign of the zero,
    /// and NaN below -0.0.
    Rsqrt, "rsqrt", "1 over the square root" {
        f32: |x: f32| 1.0 / x.sqrt(), f64: |x: f64| 1.0 / x.sqrt(),
        price: Operation, latency: &[Latency::Root, Latency::Quotient],
        roundings: 3.0, passed: |x: f64, y: f64, error: f64| {
            let (least, most) = (1.0 / (x + error).sqrt(), 1.0 / (x - error).max(0.0).sqrt());
            (x + error >= 0.0).then(|| (most - y).max(y - least))
        },
    }
    /// Computed by the crate `libm`. The result is infinite at zeros, and NaN below them.
    Log, "log", "the natural logarithm" {
        f32: libm::logf, f64: libm::log, price: Exponential, latency: &[Latency::Exponential],
        roundings: 4.0, passed: |x: f64, y: f64, error: f64| {
            let (least, most) = (libm::log((x - error).max(0.0)), libm::log(x + error));
            (x + error >= 0.0).then(|| (most - y).max(y - least))
        },
    }
    /// Computed by the crate `libm`, which reduces arguments of any size exactly.
    Sin, "sin", "the sine of an angle in radians" {
        f32: libm::sinf, f64: libm::sin, price: Exponential, latency: &[Latency::Exponential],
        roundings: 4.0, passed: |x: f64, _, error: f64| flat(x, error, 1.0),
    }
    /// Computed by the crate `libm`, which reduces arguments of any size exactly.
    Cos, "cos", "the cosine of an angle in radians" {
        f32: libm::cosf, f64: libm::cos, price: Exponential, latency: &[Latency::Exponential],
        roundings: 4.0, passed: |x: f64, _, error: f64| flat(x, error, 1.0),
    }
    /// Computed by the crate `libm`.
    Tanh, "tanh", "the hyperbolic tangent" {
        f32: libm::tanhf, f64: libm::tanh, price: Exponential, latency: &[Latency::Exponential],
        // `libm` states no bound; 3 units in the last place is that of the code it derives from.
        roundings: 8.0, passed: |x: f64, _, error: f64| flat(x, error, 1.0),
    }
    /// Computed by the crate `libm`.
    Erf, "erf", "the error function" {
        f32: libm::erff, f64: libm::erf, price: Exponential, latency: &[Latency::Exponential],
        roundings: 4.0, passed: |x: f64, _, error: f64| flat(x, error, std::f64::consts::FRAC_2_SQRT_PI),
    }
}

/// Returns the greatest error of a function of slope at most `slope` whose values are within 1 of 0.
fn flat(x: f64, error: f64, slope: f64) -> Option<f64> {
    x.is_finite().then(|| (slope * error).min(2.0))
}

impl UnaryOp {
    /// Finds the operation with this name.
    pub fn parse(name: &str) -> Option<UnaryOp> {
        UnaryOp::ALL.iter().copied().find(|o| o.name() == name)
    }

    /// Returns true if the operation is defined on a type: binary32 and binary64.
    pub fn takes(self, dtype: DType) -> bool {
        dtype.is_float() && !dtype.is_storage()
    }

    /// Applies the operation to a scalar; `None` for a type that it does not take.
    pub fn apply(self, x: Scalar) -> Option<Scalar> {
        match x {
            Scalar::F32(x) => Some(Scalar::F32(self.f32(x))),
            Scalar::F64(x) => Some(Scalar::F64(self.f64(x))),
            _ => None,
        }
    }
}
