//! Numbers with a bound of their rounding error: the greatest distance of a floating-point result from the result of
//! exact arithmetic, for any order of adding its sums.
//!
//! Each operation has one rounding, of at most `u |x|`, with the unit roundoff `u` (2^-24 for f32, 2^-53 for f64). A
//! sum of `n` terms in any order is within `γ(n) Σ|x|` of the exact one, with `γ(n) = n u / (1 - n u)` (Higham,
//! *Accuracy and Stability of Numerical Algorithms*, 2nd ed., §3.1 and §4.2). Each operation propagates the errors of
//! its operands by its own law. A bound is infinite if one order may overflow and another may not. A bound is NaN if
//! terms that are infinite or NaN decide the result in every order.

use super::element::Number;
use ember_values::operation::Comparison;
use ember_values::scalar::{BinaryOp, DType, Near, Scalar, UnaryOp};

/// A number of a floating-point type with this many bits of precision.
#[derive(Clone, Copy)]
pub struct Bounded<const BITS: i32> {
    x: f64,
    error: f64,
}

/// A sum of terms in any order.
#[derive(Clone, Copy)]
pub struct Sum {
    x: f64,
    error: f64,
    /// The sum of the magnitudes; NaN if a single term decides the sum.
    magnitude: f64,
    terms: f64,
}

impl<const BITS: i32> Bounded<BITS> {
    const UNIT: f64 = 1.0 / (1u64 << BITS) as f64;
    const LARGEST: f64 = if BITS == 24 { f32::MAX as f64 } else { f64::MAX };
    /// The maximum error of a rounding below the normal numbers.
    const TINY: f64 = if BITS == 24 { 1.5e-45 } else { 5e-324 };

    fn near(self) -> Near {
        Near { x: self.x, error: self.error }
    }

    /// Returns a result with the error from its operands and roundings.
    fn settled(x: f64, error: f64, finite: bool) -> Self {
        let error = match finite {
            true if x.abs() <= Self::LARGEST / 2.0 => error,
            true => f64::INFINITY,
            false if x.is_finite() => Self::UNIT * x.abs(),
            false => f64::NAN,
        };
        // An operand that may have any value gives the result any value.
        Bounded { x, error: if finite && error.is_nan() { f64::INFINITY } else { error } }
    }
}

impl<const BITS: i32> Number for Bounded<BITS> {
    const ZERO: Self = Bounded { x: 0.0, error: 0.0 };
    const LEAST: Self = Bounded { x: f64::NEG_INFINITY, error: 0.0 };
    type Sum = Sum;
    const EMPTY: Sum = Sum { x: 0.0, error: 0.0, magnitude: 0.0, terms: 0.0 };

    #[inline(always)]
    fn accumulate(sum: &mut Sum, term: Self) {
        sum.x += term.x;
        sum.error += term.error;
        sum.magnitude += if term.x.is_finite() { term.x.abs() + term.error } else { f64::NAN };
        sum.terms += 1.0;
    }

    fn total(sum: Sum) -> Self {
        let roundings = sum.terms * Self::UNIT;
        let gamma = if roundings < 1.0 { roundings / (1.0 - roundings) } else { f64::INFINITY };
        let x = sum.x;
        let error = if sum.magnitude.is_nan() {
            f64::NAN
        } else if sum.magnitude > Self::LARGEST / 2.0 {
            f64::INFINITY
        } else if sum.terms <= 1.0 {
            sum.error
        } else {
            sum.error + gamma * sum.magnitude
        };
        Bounded { x, error }
    }

    fn apply(op: BinaryOp, a: Self, b: Self) -> Self {
        let finite = a.x.is_finite() && b.x.is_finite();
        let x = op.f64(a.x, b.x);
        let passed = op.passed(a.near(), b.near(), x);
        // An operation without roundings gives one of its operands, or a truth value.
        if op.roundings() == 0.0 {
            return Bounded { x, error: if x.is_finite() { passed } else { f64::NAN } };
        }
        let tiny = if op.underflows() { Self::TINY } else { 0.0 };
        let error = passed + op.roundings() * (Self::UNIT * x.abs() + tiny);
        Self::settled(x, error, finite)
    }

    fn function(op: UnaryOp, a: Self) -> Self {
        let x = op.f64(a.x);
        let Some(passed) = op.passed(a.x, a.error) else {
            return Bounded { x, error: f64::NAN };
        };
        let error = passed + op.roundings() * Self::UNIT * x.abs() + Self::TINY;
        Self::settled(x, error, a.x.is_finite())
    }

    fn choose(how: Comparison, pair: [Self; 2], x: Self, y: Self) -> Self {
        let (taken, other) = if how.holds(&pair[0].x, &pair[1].x) { (x, y) } else { (y, x) };
        if pair[0].near().is_apart(pair[1].near()) {
            return taken;
        }
        let error = taken.error.max((taken.x - other.x).abs() + other.error);
        // Two infinities differ by no number.
        Bounded { x: taken.x, error: if error.is_nan() { f64::INFINITY } else { error } }
    }

    fn convert(x: Scalar, error: f64, _: DType) -> Self {
        let x = x.as_f64();
        let exact = BITS == 53 || f64::from(x as f32) == x || !x.is_finite();
        let rounding = if exact { 0.0 } else { Self::UNIT * x.abs() };
        Self::settled(x, error + rounding, x.is_finite())
    }

    fn value(self) -> (Scalar, f64) {
        (Scalar::F64(self.x), self.error)
    }
}
