//! Binary operations on scalars, and the fold of lanes to one scalar.

use super::near::{Near, larger_error, passed_by_power, uncertain};
use super::price::{Latency, ScalarPrice};
use super::{DType, Scalar};

/// Declares the binary operations, one row each, with the computation in each type and the term for solvers of integer
/// arithmetic.
macro_rules! binary_operations {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $summary:literal {
        f32: $f32:expr, f64: $f64:expr, i64: $i64:expr, checked: $checked:expr,
        monotone: $monotone:expr, magnitude: $magnitude:expr, start: $start:expr,
        compares: $compares:literal, chooses: $chooses:expr, price: $price:ident, latency: $latency:ident, solver: $solver:expr, infix: $infix:expr,
        linear: $linear:expr, undoes: $undoes:expr, roundings: $roundings:literal, underflows: $underflows:literal, passed: $passed:expr,
    })*) => {
        /// A binary operation on two scalars of one type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum BinaryOp {
            $(#[doc = $summary] $(#[$doc])* $variant,)*
        }

        impl BinaryOp {
            /// Every binary operation.
            pub const ALL: [BinaryOp; [$(BinaryOp::$variant),*].len()] = [$(BinaryOp::$variant),*];

            /// Returns the name used in every text format.
            pub const fn name(self) -> &'static str {
                match self { $(BinaryOp::$variant => $name,)* }
            }

            /// Returns a short description of the result.
            pub const fn doc(self) -> &'static str {
                match self { $(BinaryOp::$variant => $summary,)* }
            }

            /// Returns the start of a reduction by the operation; `None` if lanes cannot be folded by it.
            const fn start(self) -> Option<Start> {
                match self { $(BinaryOp::$variant => $start,)* }
            }

            /// Applies the operation to two binary32 values; a comparison gives 1.0 or 0.0.
            #[inline(always)]
            pub fn f32(self, a: f32, b: f32) -> f32 {
                match self { $(BinaryOp::$variant => ($f32)(a, b),)* }
            }

            /// Applies the operation to two binary64 values; a comparison gives 1.0 or 0.0.
            #[inline(always)]
            pub fn f64(self, a: f64, b: f64) -> f64 {
                match self { $(BinaryOp::$variant => ($f64)(a, b),)* }
            }

            /// Passes [`Self::f32`] on as a function of its own, so that a loop over lanes is compiled for each operation.
            #[inline(always)]
            pub fn with_f32<U: UseF32>(self, user: U) {
                match self { $(BinaryOp::$variant => user.with($f32),)* }
            }

            /// Returns [`Self::f32`] as a function that C can call.
            pub fn c_f32(self) -> extern "C" fn(f32, f32) -> f32 {
                match self { $(BinaryOp::$variant => {
                    extern "C" fn call(a: f32, b: f32) -> f32 { ($f32)(a, b) }
                    call
                })* }
            }

            /// Returns [`Self::f64`] as a function that C can call.
            pub fn c_f64(self) -> extern "C" fn(f64, f64) -> f64 {
                match self { $(BinaryOp::$variant => {
                    extern "C" fn call(a: f64, b: f64) -> f64 { ($f64)(a, b) }
                    call
                })* }
            }

            /// Applies the operation to two 64-bit integers.
            #[inline(always)]
            pub fn i64(self, a: i64, b: i64) -> i64 {
                match self { $(BinaryOp::$variant => ($i64)(a, b),)* }
            }

            /// Applies the operation to two integers without wrapping; `None` if there is no result, and if the result
            /// needs more than 64 bits.
            pub fn checked(self, a: i64, b: i64) -> Option<i64> {
                match self { $(BinaryOp::$variant => ($checked)(a, b),)* }
            }

            /// Returns true if the result is monotone in each integer operand, given that the second one is at least
            /// `b`.
            fn is_monotone(self, b: i64) -> bool {
                match self { $(BinaryOp::$variant => ($monotone)(b),)* }
            }

            /// Returns the largest distance from 0 that a result for integers may have, given those of the operands;
            /// `None` if it is not known. A result within it has not wrapped.
            pub fn magnitude(self, a: Option<u64>, b: Option<u64>) -> Option<u64> {
                match self { $(BinaryOp::$variant => ($magnitude)(a, b),)* }
            }

            /// Returns true if the operation is a comparison, whose result is an i64.
            pub const fn compares(self) -> bool {
                match self { $(BinaryOp::$variant => $compares,)* }
            }

            /// Returns the price class on the vector unit.
            pub const fn price(self) -> ScalarPrice {
                match self { $(BinaryOp::$variant => ScalarPrice::$price,)* }
            }

            /// Returns the operand that the result always is; `None` if it is another number.
            pub const fn chooses(self) -> Option<Chosen> {
                match self { $(BinaryOp::$variant => $chooses,)* }
            }

            /// Returns the latency of the machine that the operation incurs.
            pub const fn latency(self) -> Latency {
                match self { $(BinaryOp::$variant => Latency::$latency,)* }
            }

            /// Returns the operation on integers of any size as an SMT-LIB term over `a` and `b`; `None` if there is no
            /// such term. It agrees with [`BinaryOp::i64`] if no result needs more than 64 bits.
            pub const fn solver(self) -> Option<&'static str> {
                match self { $(BinaryOp::$variant => $solver,)* }
            }

            /// Returns what the operation does to linear forms; `None` if the result is none.
            pub const fn linear(self) -> Option<Linear> {
                match self { $(BinaryOp::$variant => $linear,)* }
            }

            /// Returns the effect on linear forms that the operation undoes, for integers truncated towards zero.
            pub const fn undoes(self) -> Option<Linear> {
                match self { $(BinaryOp::$variant => $undoes,)* }
            }

            /// Returns an upper bound of the rounding errors of the operation itself, in units of one rounding to
            /// nearest.
            pub const fn roundings(self) -> f64 {
                match self { $(BinaryOp::$variant => $roundings,)* }
            }

            /// Returns true if a result below the normal numbers may be rounded.
            pub const fn underflows(self) -> bool {
                match self { $(BinaryOp::$variant => $underflows,)* }
            }

            /// Returns the greatest error of the result `y` that follows from the errors of the operands.
            pub fn passed(self, a: Near, b: Near, y: f64) -> f64 {
                match self { $(BinaryOp::$variant => ($passed)(a, b, y),)* }
            }

            /// Returns the operators of C for floating-point numbers and for integers that wrap; `None` if C has none.
            const fn infixes(self) -> [Option<&'static str>; 2] {
                match self { $(BinaryOp::$variant => $infix,)* }
            }
        }
    };
}

/// The start of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Zero,
    One,
    Least,
    Greatest,
}

/// The effect of an operation on linear forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linear {
    /// The sum of both forms.
    Sum,
    /// The difference of both forms.
    Difference,
    /// The product of both forms, which is linear if one of them is a constant.
    Product,
}

/// Finds the first operation with an entry in a column. A constant that no operation has does not compile.
macro_rules! first {
    ($column:ident, $entry:expr) => {{
        let mut at = 0;
        loop {
            match BinaryOp::ALL[at].$column() {
                Some(entry) if entry as u8 == $entry as u8 => break BinaryOp::ALL[at],
                _ => at += 1,
            }
        }
    }};
}

impl Linear {
    /// Returns the operation with this effect.
    pub const fn operation(self) -> BinaryOp {
        first!(linear, self)
    }

    /// Returns the operation that undoes this effect.
    pub const fn inverse(self) -> BinaryOp {
        first!(undoes, self)
    }
}

/// A loop over lanes that is compiled for each operation on binary32 values.
pub trait UseF32 {
    /// Runs the loop with an operation.
    fn with(self, op: impl Fn(f32, f32) -> f32);
}

/// The operand that the result of an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// The lesser one.
    Least,
    /// The greater one.
    Greatest,
}

impl Chosen {
    /// Returns the operation whose result is this operand.
    pub const fn operation(self) -> BinaryOp {
        first!(chooses, self)
    }
}

fn unchecked<T>(f: impl Fn(i64, i64) -> T) -> impl Fn(i64, i64) -> Option<T> {
    move |a, b| Some(f(a, b))
}

fn always(_: i64) -> bool {
    true
}

fn sum_of(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a?.checked_add(b?)
}

fn larger(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a?.max(b?))
}

binary_operations! {
    Add, "add", "sum; integers wrap" {
        f32: |a, b| a + b, f64: |a, b| a + b, i64: i64::wrapping_add, checked: i64::checked_add,
        monotone: always, magnitude: sum_of, start: Some(Start::Zero),
        compares: false, chooses: None, price: Operation, latency: Sum, solver: Some("(+ a b)"),
        infix: [Some("+"); 2],
        linear: Some(Linear::Sum), undoes: None, roundings: 1.0, underflows: false, passed: |a: Near, b: Near, _| a.error + b.error,
    }
    Sub, "sub", "difference; integers wrap" {
        f32: |a, b| a - b, f64: |a, b| a - b, i64: i64::wrapping_sub, checked: i64::checked_sub,
        monotone: always, magnitude: sum_of, start: None,
        compares: false, chooses: None, price: Operation, latency: Sum, solver: Some("(- a b)"),
        infix: [Some("-"); 2],
        linear: Some(Linear::Difference), undoes: Some(Linear::Sum), roundings: 1.0, underflows: false, passed: |a: Near, b: Near, _| a.error + b.error,
    }
    Mul, "mul", "product; integers wrap" {
        f32: |a, b| a * b, f64: |a, b| a * b, i64: i64::wrapping_mul, checked: i64::checked_mul,
        monotone: always, magnitude: |a: Option<u64>, b: Option<u64>| a?.checked_mul(b?), start: Some(Start::One),
        compares: false, chooses: None, price: Operation, latency: Product, solver: Some("(* a b)"),
        infix: [Some("*"); 2],
        linear: Some(Linear::Product), undoes: None, roundings: 1.0, underflows: true, passed: |a: Near, b: Near, _| {
            a.x.abs() * b.error + b.x.abs() * a.error + a.error * b.error
        },
    }
    Div, "div", "quotient; of integers truncated, and by zero 0" {
        f32: |a, b| a / b, f64: |a, b| a / b,
        i64: |a: i64, b| if b == 0 { 0 } else { a.wrapping_div(b) }, checked: i64::checked_div,
        monotone: |b| b > 0, magnitude: |a, _| a, start: None,
        compares: false, chooses: None, price: Operation, latency: Quotient, solver: Some("(ite (= b 0) 0 (ite (>= a 0) (div a b) (- (div (- a) b))))"),
        infix: [Some("/"), None],
        // The quotient may also be a product with a rounded reciprocal.
        linear: None, undoes: Some(Linear::Product), roundings: 3.0, underflows: true, passed: |a: Near, b: Near, y: f64| {
            let room = b.x.abs() - b.error;
            if room > 0.0 { (a.error + y.abs() * b.error) / room } else { f64::INFINITY }
        },
    }
    /// NaN wins, and +0.0 is greater than -0.0.
    Max, "max", "IEEE 754-2019 maximum" {
        f32: maximum_f32, f64: maximum_f64, i64: i64::max, checked: unchecked(i64::max),
        monotone: always, magnitude: larger, start: Some(Start::Least),
        compares: false, chooses: Some(Chosen::Greatest), price: Operation, latency: Sum, solver: Some("(ite (>= a b) a b)"),
        infix: [None; 2],
        linear: None, undoes: None, roundings: 0.0, underflows: false, passed: larger_error,
    }
    /// NaN wins, and -0.0 is less than +0.0.
    Min, "min", "IEEE 754-2019 minimum" {
        f32: |a: f32, b: f32| -maximum_f32(-a, -b), f64: |a: f64, b: f64| -maximum_f64(-a, -b),
        i64: i64::min, checked: unchecked(i64::min),
        monotone: always, magnitude: larger, start: Some(Start::Greatest),
        compares: false, chooses: Some(Chosen::Least), price: Operation, latency: Sum, solver: Some("(ite (<= a b) a b)"),
        infix: [None; 2],
        linear: None, undoes: None, roundings: 0.0, underflows: false, passed: larger_error,
    }
    /// Computed by the crate `libm`. Of integers, the product wraps, and a power with a negative exponent is truncated.
    Pow, "pow", "power, the second operand being the exponent" {
        f32: libm::powf, f64: libm::pow, i64: power,
        checked: |a: i64, b| u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        monotone: |_| false, magnitude: |_, _| None, start: None,
        compares: false, chooses: None, price: Exponential, latency: Exponential, solver: None,
        infix: [None; 2],
        // `libm` promises less than one unit in the last place.
        linear: None, undoes: None, roundings: 4.0, underflows: true, passed: passed_by_power,
    }
    Lt, "lt", "1 (i64) if the first is less, else 0" {
        f32: |a, b| f32::from(u8::from(a < b)), f64: |a, b| f64::from(u8::from(a < b)),
        i64: |a, b| i64::from(a < b), checked: unchecked(|a, b| i64::from(a < b)),
        monotone: always, magnitude: |_, _| Some(1), start: None,
        compares: true, chooses: None, price: Operation, latency: Sum, solver: Some("(ite (< a b) 1 0)"),
        infix: [Some("<"); 2],
        linear: None, undoes: None, roundings: 0.0, underflows: false, passed: uncertain,
    }
    Le, "le", "1 (i64) if the first is less or equal, else 0" {
        f32: |a, b| f32::from(u8::from(a <= b)), f64: |a, b| f64::from(u8::from(a <= b)),
        i64: |a, b| i64::from(a <= b), checked: unchecked(|a, b| i64::from(a <= b)),
        monotone: always, magnitude: |_, _| Some(1), start: None,
        compares: true, chooses: None, price: Operation, latency: Sum, solver: Some("(ite (<= a b) 1 0)"),
        infix: [Some("<="); 2],
        linear: None, undoes: None, roundings: 0.0, underflows: false, passed: uncertain,
    }
}

/// Returns an integer power: the wrapping product of `exponent` factors. A power with a negative exponent is truncated to
/// an integer, which is 0 unless the base is 1 or -1; that of 0 is 0.
fn power(base: i64, exponent: i64) -> i64 {
    if exponent < 0 && !matches!(base, 1 | -1) {
        return 0;
    }
    let (mut product, mut square, mut rest) = (1i64, base, exponent.unsigned_abs());
    while rest > 0 {
        if rest % 2 == 1 {
            product = product.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        rest /= 2;
    }
    product
}

impl BinaryOp {
    /// Finds the operation with this name.
    pub fn parse(name: &str) -> Option<BinaryOp> {
        BinaryOp::ALL.into_iter().find(|o| o.name() == name)
    }

    /// Returns true for a comparison that equal operands do not meet.
    pub fn is_strict(self) -> bool {
        self.compares() && self.i64(0, 0) == 0
    }

    /// Returns the type of the result for operands of type `dtype`.
    pub fn result(self, dtype: DType) -> DType {
        if self.compares() { DType::I64 } else { dtype }
    }

    /// Returns the operator of C for two operands of a type; `None` if C has none.
    pub fn infix(self, dtype: DType) -> Option<&'static str> {
        let [float, integer] = self.infixes();
        if dtype.is_float() { float } else { integer }
    }

    /// Returns the start value of a reduction by this operation: +0.0 for `add`, 1 for `mul`, the least value for
    /// `max`, the greatest for `min`; `None` for other operations and for storage types.
    pub fn identity(self, dtype: DType) -> Option<Scalar> {
        let (least, greatest) = match dtype {
            DType::F32 => (Scalar::F32(f32::NEG_INFINITY), Scalar::F32(f32::INFINITY)),
            DType::F64 => (Scalar::F64(f64::NEG_INFINITY), Scalar::F64(f64::INFINITY)),
            DType::I32 => (Scalar::I32(i32::MIN), Scalar::I32(i32::MAX)),
            DType::I64 => (Scalar::I64(i64::MIN), Scalar::I64(i64::MAX)),
            DType::F16 | DType::BF16 | DType::U8 | DType::U4 | DType::I8 => return None,
        };
        Some(match self.start()? {
            Start::Zero => Scalar::zero(dtype),
            Start::One => Scalar::from_f64(dtype, 1.0),
            Start::Least => least,
            Start::Greatest => greatest,
        })
    }

    /// Returns true if lanes can be folded by the operation, which requires it to be associative up to rounding.
    pub fn folds(self) -> bool {
        self.start().is_some()
    }

    /// Folds all lanes to one in the order of [`fold_lanes`]; `None` if there are no lanes, if types differ or are
    /// storage types, or if the operation does not fold.
    pub fn fold(self, lanes: &[Scalar]) -> Option<Scalar> {
        let first = *lanes.first()?;
        if !self.folds() || !lanes.iter().all(|x| x.dtype() == first.dtype()) {
            return None;
        }
        self.apply(first, first)?;
        let mut lanes = lanes.to_vec();
        fold_lanes(&mut lanes, |a, b| self.apply(a, b).unwrap_or(a))
    }

    /// Returns the least and the greatest result of [`BinaryOp::checked`] for operands within inclusive bounds. They
    /// occur at the ends of the operands because each operation is monotone in each of them; a quotient is monotone
    /// only if the divisor does not change its sign. The range of a power is not known.
    pub fn range(self, a: (i64, i64), b: (i64, i64)) -> Option<(i64, i64)> {
        let ends = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)];
        let ends = ends.map(|(a, b)| self.checked(a, b).filter(|_| self.is_monotone(b)));
        Some((ends.into_iter().min()??, ends.into_iter().max()??))
    }

    /// Returns the least and the greatest remainder of a truncated division of integers within inclusive bounds; `None`
    /// if the divisor may be 0 or negative.
    pub fn remainders(a: (i64, i64), b: (i64, i64)) -> Option<(i64, i64)> {
        let most = b.1.checked_sub(1).filter(|_| b.0 > 0)?;
        Some((a.0.clamp(-most, 0), a.1.clamp(0, most)))
    }

    /// Applies the operation to two scalars of one type; `None` if the types differ or are storage types.
    pub fn apply(self, a: Scalar, b: Scalar) -> Option<Scalar> {
        let compares = self.compares();
        Some(match (a, b) {
            (Scalar::F32(a), Scalar::F32(b)) if compares => Scalar::I64(self.f32(a, b) as i64),
            (Scalar::F64(a), Scalar::F64(b)) if compares => Scalar::I64(self.f64(a, b) as i64),
            (Scalar::I32(a), Scalar::I32(b)) if compares => {
                Scalar::I64(self.i64(i64::from(a), i64::from(b)))
            }
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

/// Computes the IEEE 754-2019 `maximum`. It is written out because `f32::max` prefers the number over the NaN and
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

/// [`maximum_f32`] for binary64 values.
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

/// Folds lanes to one; `None` if there are no lanes. Halves are combined until one lane is left: with `h` half of `n`
/// lanes, rounded up, lane `i` becomes `f(lane i, lane i + h)` for all `i + h` below `n`. Vector units reduce in this
/// order in a logarithmic number of steps. For a sum of floating-point numbers, this order differs from the order of a
/// loop.
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
