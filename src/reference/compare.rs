//! Whether a program's output is the reference's: bit for bit, or within the rounding error that
//! another order of the same operations can have.

use super::Magnitudes;
use crate::rules::Exactness;
use ember_targets::scalar::{DType, Scalar};
use ember_targets::tensor::Tensor;
use std::fmt;

/// The first element of a program's output that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Mismatch {
    /// An element.
    Element {
        /// Its index.
        index: Vec<u64>,
        /// The reference's value.
        expected: Scalar,
        /// The program's value.
        got: Scalar,
        /// How far they may be apart; 0 where they must agree in every bit.
        bound: f64,
    },
    /// An output that the program does not have.
    Missing {
        /// Its name.
        name: String,
    },
    /// The whole: another type or shape.
    Shape {
        /// The reference's.
        expected: (DType, Vec<u64>),
        /// The program's.
        got: (DType, Vec<u64>),
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Element { index, expected, got, bound } => {
                write!(f, "element {index:?} is {got}, expected {expected}")?;
                if *bound > 0.0 { write!(f, " to within {bound:e}") } else { Ok(()) }
            }
            Mismatch::Missing { name } => write!(f, "the program has no tensor `{name}`"),
            Mismatch::Shape { expected, got } => write!(
                f,
                "the output is {} {:?}, expected {} {:?}",
                got.0, got.1, expected.0, expected.1
            ),
        }
    }
}

/// Compares a program's output with the reference's.
///
/// Where the exactness allows it, elements may be apart by `2 γ(n) Σ|x|` with
/// `γ(n) = n u / (1 - n u)`, `u` being the unit roundoff (2^-24 for f32, 2^-53 for f64): a sum of `n`
/// terms in any order is within `γ(n-1) Σ|x|` of the exact one (Higham, *Accuracy and Stability of
/// Numerical Algorithms*, 2nd ed., §3.1 and §4.2), and both outputs are such sums. `n` is the row's
/// length, plus a rounding each for a product and a quotient, plus one for a division done as a
/// multiplication under [`Exactness::Approx`]. Where finite terms are so large that one order
/// overflows and another does not, an infinite or NaN result is accepted; for f64 it is not, where
/// the sum of magnitudes itself overflows, because that looks like an infinite term.
pub fn compare(
    expected: &Tensor,
    got: &Tensor,
    exactness: Exactness,
    magnitudes: &Magnitudes,
) -> Result<(), Mismatch> {
    let kind = |t: &Tensor| (t.dtype, t.shape.clone());
    if kind(expected) != kind(got) {
        return Err(Mismatch::Shape { expected: kind(expected), got: kind(got) });
    }
    let columns = expected.shape.last().copied().unwrap_or(1).max(1);
    let pairs = (0..expected.len()).map(|i| (i, expected.get(i), got.get(i)));
    for (i, a, b) in pairs.filter(|(_, a, b)| a != b) {
        let (Some(a), Some(b)) = (a, b) else { continue };
        let sum = magnitudes.sums.get(i as usize).copied().unwrap_or(0.0);
        let length = magnitudes.lengths.get((i / columns) as usize).copied().unwrap_or(0);
        let (x, y) = (a.as_f64(), b.as_f64());
        // Terms that are infinite or NaN decide the result in every order.
        let inexact = exactness != Exactness::Bitwise && sum.is_finite();
        let bound = if inexact { bound(a.dtype(), exactness, length, sum) } else { 0.0 };
        let near = inexact && (x - y).abs() <= bound;
        let overflow = inexact && sum > largest(a.dtype()) / 2.0 && !(x - y).is_finite();
        if !near && !overflow {
            let index = index(i, &expected.shape);
            return Err(Mismatch::Element { index, expected: a, got: b, bound });
        }
    }
    Ok(())
}

/// How far an element may be off; infinite for sums too long for any bound.
fn bound(dtype: DType, exactness: Exactness, length: u64, sum: f64) -> f64 {
    let unit = match dtype {
        DType::F32 => f64::from(f32::EPSILON) / 2.0,
        _ => f64::EPSILON / 2.0,
    };
    let roundings = (length + if exactness == Exactness::Approx { 3 } else { 2 }) as f64;
    let gamma = roundings * unit / (1.0 - roundings * unit);
    if gamma < 0.0 { f64::INFINITY } else { 2.0 * gamma * sum }
}

/// The largest finite value of a type.
fn largest(dtype: DType) -> f64 {
    if dtype == DType::F32 { f64::from(f32::MAX) } else { f64::MAX }
}

/// The index of a row-major position.
fn index(position: u64, shape: &[u64]) -> Vec<u64> {
    let mut rest = position;
    let mut index: Vec<u64> = shape
        .iter()
        .rev()
        .map(|n| {
            let i = rest % n.max(&1);
            rest /= n.max(&1);
            i
        })
        .collect();
    index.reverse();
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use ember_targets::tensor::Data;
    use std::sync::Arc;

    fn row(x: &[f32]) -> Tensor {
        let data = Data::F32(Arc::new(x.to_vec()));
        Tensor { dtype: DType::F32, shape: vec![1, x.len() as u64], data }
    }

    fn within(a: f32, b: f32, exactness: Exactness, length: u64, sum: f64) -> bool {
        let magnitudes = Magnitudes { sums: vec![sum], lengths: vec![length] };
        compare(&row(&[a]), &row(&[b]), exactness, &magnitudes).is_ok()
    }

    #[test]
    fn bitwise_tells_zeros_apart_and_not_nans() {
        assert!(within(f32::NAN, -f32::NAN, Exactness::Bitwise, 1, 1.0));
        assert!(!within(0.0, -0.0, Exactness::Bitwise, 1, 1.0));
        assert!(within(0.0, -0.0, Exactness::Reassoc, 1, 0.0));
    }

    #[test]
    fn the_bound_grows_with_length_and_magnitude() {
        let next = 1.0 + f32::EPSILON;
        assert!(!within(1.0, next, Exactness::Bitwise, 100, 1.0));
        assert!(within(1.0, next, Exactness::Reassoc, 1, 1.0));
        assert!(!within(1.0, 1.0001, Exactness::Reassoc, 100, 1.0));
        assert!(within(1.0, 1.0001, Exactness::Reassoc, 1000, 2.0));
        assert!(!within(1.0, f32::NAN, Exactness::Approx, 1, 1.0));
        assert!(within(1.0, f32::INFINITY, Exactness::Reassoc, 3, 6e38), "one order overflows");
        assert!(!within(f32::INFINITY, 1.0, Exactness::Reassoc, 3, f64::INFINITY), "a term is inf");
    }

    #[test]
    fn the_first_difference_is_named() {
        let none = Magnitudes { sums: Vec::new(), lengths: Vec::new() };
        let (a, b) = (row(&[1.0, 2.0, 3.0]), row(&[1.0, 5.0, 6.0]));
        let error = compare(&a, &b, Exactness::Approx, &none).expect_err("differs");
        assert_eq!(error.to_string(), "element [0, 1] is 5.0, expected 2.0");
        let error = compare(&a, &row(&[1.0]), Exactness::Bitwise, &none).expect_err("differs");
        assert_eq!(error.to_string(), "the output is f32 [1, 1], expected f32 [1, 3]");
    }
}
