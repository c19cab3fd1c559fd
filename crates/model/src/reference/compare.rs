//! Comparison of a program's output with the reference: bit for bit, or within the rounding error that another order of
//! the same operations can have.

use ember_language::rules::Exactness;
use ember_targets::tensor::Tensor;
use ember_values::scalar::{DType, Scalar};
use std::fmt;

/// The first element of a program's output that is wrong, or the reason why no answer exists.
#[derive(Clone, Debug, PartialEq)]
pub enum Mismatch {
    /// A wrong element.
    Element {
        /// The name of the tensor.
        tensor: String,
        /// The index of the element.
        index: Vec<u64>,
        /// The value of the reference.
        expected: Scalar,
        /// The value of the program.
        got: Scalar,
        /// The allowed distance; 0 if the values must agree in every bit.
        bound: f64,
    },
    /// An output that is missing from the program.
    Missing {
        /// The name of the tensor.
        name: String,
    },
    /// A tensor of another type or shape.
    Shape {
        /// The name of the tensor.
        tensor: String,
        /// The type and shape of the reference.
        expected: (DType, Vec<u64>),
        /// The type and shape of the program.
        got: (DType, Vec<u64>),
    },
    /// An element that differs, with no finite bound on the difference that another order may make.
    Unbounded {
        /// The name of the tensor.
        tensor: String,
        /// The index of the element.
        index: Vec<u64>,
    },
    /// An output that no reference computes: only lowering rules say what it is, and it agrees with these.
    Unreferenced,
}

impl Mismatch {
    /// Returns true if the output is known to be wrong.
    pub fn is_wrong(&self) -> bool {
        !matches!(self, Mismatch::Unbounded { .. } | Mismatch::Unreferenced)
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Element { tensor, index, expected, got, bound } => {
                write!(f, "element {index:?} of `{tensor}` is {got}, expected {expected}")?;
                if *bound > 0.0 { write!(f, " to within {bound:e}") } else { Ok(()) }
            }
            Mismatch::Missing { name } => write!(f, "the program has no tensor `{name}`"),
            Mismatch::Shape { tensor, expected, got } => write!(
                f,
                "`{tensor}` is {} {:?}, expected {} {:?}",
                got.0, got.1, expected.0, expected.1
            ),
            Mismatch::Unbounded { tensor, index } => {
                write!(f, "not judged: no finite error bound for element {index:?} of `{tensor}`")
            }
            Mismatch::Unreferenced => f.write_str("not compared"),
        }
    }
}

/// Compares a tensor of a program with the reference. `errors` are its [`error_bounds`](super::error_bounds), or empty.
///
/// Without errors, or if programs must be exact, every element must be equal. Otherwise, two elements may differ by
/// twice the error, because each of them may be off by it. If the error is NaN, they must be equal; if it is infinite,
/// a difference is not judged, unless another element is wrong.
pub fn compare(
    name: &str,
    expected: &Tensor,
    got: &Tensor,
    exactness: Exactness,
    errors: &[f64],
) -> Result<(), Mismatch> {
    let kind = |t: &Tensor| (t.dtype, t.shape.clone());
    if kind(expected) != kind(got) {
        let (expected, got) = (kind(expected), kind(got));
        return Err(Mismatch::Shape { tensor: name.to_owned(), expected, got });
    }
    let mut unbounded = None;
    let pairs = (0..expected.len()).map(|i| (i, expected.get(i), got.get(i)));
    for (i, a, b) in pairs.filter(|(_, a, b)| a != b) {
        let (Some(a), Some(b)) = (a, b) else { continue };
        let error = errors.get(i as usize).filter(|_| exactness != Exactness::Bitwise);
        let bound = 2.0 * error.copied().unwrap_or(0.0);
        let near = error.is_some() && (a.as_f64() - b.as_f64()).abs() <= bound;
        if bound == f64::INFINITY {
            unbounded.get_or_insert(i);
        } else if !near {
            let bound = if bound.is_nan() { 0.0 } else { bound };
            let (tensor, index) = (name.to_owned(), expected.index(i));
            return Err(Mismatch::Element { tensor, index, expected: a, got: b, bound });
        }
    }
    match unbounded {
        Some(i) => Err(Mismatch::Unbounded { tensor: name.to_owned(), index: expected.index(i) }),
        None => Ok(()),
    }
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

    fn within(a: f32, b: f32, exactness: Exactness, error: f64) -> bool {
        compare("out", &row(&[a]), &row(&[b]), exactness, &[error]).is_ok()
    }

    #[test]
    fn bitwise_tells_zeros_apart_and_not_nans() {
        assert!(within(f32::NAN, -f32::NAN, Exactness::Bitwise, 1.0));
        assert!(!within(0.0, -0.0, Exactness::Bitwise, 1.0));
        assert!(within(0.0, -0.0, Exactness::Reassoc, 0.0));
    }

    #[test]
    fn errors_are_allowed_where_orders_differ() {
        let next = 1.0 + f32::EPSILON;
        assert!(!within(1.0, next, Exactness::Bitwise, 1.0));
        assert!(within(1.0, next, Exactness::Reassoc, 1e-7));
        assert!(!within(1.0, 1.0001, Exactness::Reassoc, 1e-5));
        assert!(!within(1.0, f32::NAN, Exactness::Approx, 1.0));
        assert!(!within(f32::INFINITY, 1.0, Exactness::Reassoc, f64::NAN), "a term is inf");
    }

    #[test]
    fn differences_without_a_bound_are_not_judged() {
        let (a, b) = (row(&[1.0, 2.0]), row(&[f32::INFINITY, 2.0]));
        let one_overflows = [f64::INFINITY, 1.0];
        let error =
            compare("out", &a, &b, Exactness::Reassoc, &one_overflows).expect_err("differs");
        assert!(!error.is_wrong(), "{error}");
        assert!(compare("out", &a, &a, Exactness::Reassoc, &one_overflows).is_ok(), "equal");
        let wrong = row(&[f32::INFINITY, 5.0]);
        let error =
            compare("out", &a, &wrong, Exactness::Reassoc, &one_overflows).expect_err("differs");
        assert!(error.is_wrong(), "{error}");
    }

    #[test]
    fn the_first_difference_is_named() {
        let (a, b) = (row(&[1.0, 2.0, 3.0]), row(&[1.0, 5.0, 6.0]));
        let error = compare("out", &a, &b, Exactness::Approx, &[]).expect_err("differs");
        assert_eq!(error.to_string(), "element [0, 1] of `out` is 5.0, expected 2.0");
        let error = compare("out", &a, &row(&[1.0]), Exactness::Bitwise, &[]).expect_err("differs");
        assert_eq!(error.to_string(), "`out` is f32 [1, 1], expected f32 [1, 3]");
    }
}
