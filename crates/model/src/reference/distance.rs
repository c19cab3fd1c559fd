//! Comparison of an output with an array from elsewhere, such as the result of a framework, within a tolerance.

use ember_targets::tensor::Tensor;
use ember_values::scalar::{DType, Scalar};
use schemars::JsonSchema;
use serde::Serialize;
use std::str::FromStr;
use thiserror::Error;

/// The allowed error of an element: `relative * |expected| + absolute`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// The part in proportion to the expected value.
    pub relative: f64,
    /// The part that does not depend on the expected value.
    pub absolute: f64,
}

impl Tolerance {
    /// Returns the tolerance that suits an element type: that of `torch.testing.assert_close` (the table in PyTorch's
    /// documentation of that function). Integers must be equal.
    pub fn of(dtype: DType) -> Tolerance {
        let (relative, absolute) = match dtype {
            DType::F16 => (1e-3, 1e-5),
            DType::BF16 => (1.6e-2, 1e-5),
            DType::F32 => (1.3e-6, 1e-5),
            DType::F64 => (1e-7, 1e-7),
            DType::I32 | DType::I64 | DType::U8 | DType::U4 | DType::I8 => (0.0, 0.0),
        };
        Tolerance { relative, absolute }
    }

    /// Returns the error that is allowed around a value. A value that is not finite has no proportion.
    fn around(self, expected: f64) -> f64 {
        let relative = if expected.is_finite() { self.relative * expected.abs() } else { 0.0 };
        relative + self.absolute
    }
}

/// The error of a text that is no tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a tolerance is two numbers, RTOL,ATOL, neither of them negative")]
pub struct NoTolerance;

impl FromStr for Tolerance {
    type Err = NoTolerance;

    fn from_str(text: &str) -> Result<Tolerance, NoTolerance> {
        let number = |text: &str| {
            let number: f64 = text.trim().parse().ok()?;
            (number.is_finite() && number >= 0.0).then_some(number)
        };
        let (relative, absolute) = text.split_once(',').ok_or(NoTolerance)?;
        let (Some(relative), Some(absolute)) = (number(relative), number(absolute)) else {
            return Err(NoTolerance);
        };
        Ok(Tolerance { relative, absolute })
    }
}

/// The distance between an output and an array of the same shape.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Distance {
    /// The number of elements.
    pub elements: u64,
    /// The number of elements whose error is larger than allowed.
    pub beyond: u64,
    /// The element with the largest error, the first of them; an element beyond its tolerance if there is any. `null` if
    /// all elements are equal.
    pub largest: Option<Apart>,
}

/// An element of an output that differs from the expected one.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Apart {
    /// Its index.
    pub index: Vec<u64>,
    /// The expected value; `null` in JSON if it is not finite.
    #[schemars(with = "Option<f64>")]
    pub expected: f64,
    /// The value of the output; `null` in JSON if it is not finite.
    #[schemars(with = "Option<f64>")]
    pub got: f64,
    /// Their distance; `null` in JSON if it is infinite, as that of a number and a NaN is.
    #[schemars(with = "Option<f64>")]
    pub error: f64,
    /// The largest error that is allowed here.
    pub allowed: f64,
}

/// Returns the distance of two tensors; `None` if their shapes differ, extents of 1 aside. Element types may differ. Two NaNs are equal, and
/// so are two infinities of one sign.
pub fn distance(expected: &Tensor, got: &Tensor, tolerance: Tolerance) -> Option<Distance> {
    let extents = |tensor: &Tensor| -> Vec<u64> {
        tensor.shape.iter().copied().filter(|extent| *extent != 1).collect()
    };
    if extents(expected) != extents(got) {
        return None;
    }
    let mut found = Distance { elements: expected.len(), ..Distance::default() };
    let mut worst = (false, 0.0);
    for i in 0..expected.len() {
        let (Some(a), Some(b)) = (expected.get(i), got.get(i)) else { continue };
        let error = apart(a, b);
        let allowed = tolerance.around(a.as_f64());
        let beyond = error > allowed;
        found.beyond += u64::from(beyond);
        if (beyond, error) > worst {
            worst = (beyond, error);
            let index = expected.index(i);
            let (expected, got) = (a.as_f64(), b.as_f64());
            found.largest = Some(Apart { index, expected, got, error, allowed });
        }
    }
    Some(found)
}

/// Returns the distance of two numbers, exactly for integers of any size; infinity for a number and a NaN.
fn apart(a: Scalar, b: Scalar) -> f64 {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return a.abs_diff(b) as f64;
    }
    let (a, b) = (a.as_f64(), b.as_f64());
    if a == b || (a.is_nan() && b.is_nan()) {
        return 0.0;
    }
    let error = (a - b).abs();
    if error.is_nan() { f64::INFINITY } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ember_targets::tensor::Data;
    use std::sync::Arc;

    fn row(x: &[f64]) -> Tensor {
        let shape = vec![1, x.len() as u64];
        Tensor { dtype: DType::F64, shape, data: Data::F64(Arc::new(x.to_vec())) }
    }

    const NEAR: Tolerance = Tolerance { relative: 0.1, absolute: 0.01 };

    #[test]
    fn the_largest_error_is_one_beyond_its_tolerance() {
        let found = distance(&row(&[1.0, 100.0, 0.0]), &row(&[1.0, 105.0, 1.0]), NEAR);
        let found = found.expect("has the same shape");
        assert_eq!((found.elements, found.beyond), (3, 1));
        let largest = found.largest.expect("differs");
        assert_eq!((largest.index.as_slice(), largest.error), ([0, 2].as_slice(), 1.0));
        let found = distance(&row(&[1.0, 100.0]), &row(&[1.05, 105.0]), NEAR).expect("fits");
        assert_eq!((found.beyond, found.largest.map(|l| l.error)), (0, Some(5.0)));
    }

    #[test]
    fn numbers_that_are_not_finite_equal_themselves_alone() {
        let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0];
        for (i, a) in special.iter().enumerate() {
            for (j, b) in special.iter().enumerate() {
                let found = distance(&row(&[*a]), &row(&[*b]), NEAR).expect("fits");
                assert_eq!(found.beyond, u64::from(i != j), "{a} and {b}");
            }
        }
    }

    #[test]
    fn integers_are_compared_exactly() {
        let of = |x: i64| Tensor {
            dtype: DType::I64,
            shape: vec![],
            data: Data::I64(Arc::new(vec![x])),
        };
        let found = distance(&of(i64::MAX), &of(i64::MAX - 1), Tolerance::of(DType::I64));
        assert_eq!(found.expect("fits").beyond, 1);
        let found = distance(&of(i64::MAX), &of(i64::MIN), Tolerance::of(DType::I64));
        assert_eq!(found.expect("fits").beyond, 1);
    }

    #[test]
    fn tolerances_are_two_numbers() {
        assert_eq!("1e-3, 0".parse(), Ok(Tolerance { relative: 1e-3, absolute: 0.0 }));
        for wrong in ["", "1", "1,", "-1,0", "NaN,0", "inf,0", "1,2,3"] {
            assert_eq!(wrong.parse::<Tolerance>(), Err(NoTolerance), "{wrong}");
        }
    }
}
