//! Errors of real numbers, and how operations pass them on.

/// A real number that may be off by an error.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    /// The number.
    pub x: f64,
    /// The greatest distance from the exact number.
    pub error: f64,
}

impl Near {
    /// Returns true if a comparison with another number gives the same for all values within both errors.
    pub fn is_apart(self, other: Near) -> bool {
        let exact = self.error == 0.0 && other.error == 0.0;
        exact || (self.x - other.x).abs() > self.error + other.error
    }
}

/// The error of the greater of two numbers, and of the lesser, is at most the larger of their errors.
pub(super) fn larger_error(a: Near, b: Near, _: f64) -> f64 {
    a.error.max(b.error)
}

/// Returns the error of a comparison: 0 if it gives the same for all values within the errors of the operands, else 1.
pub(super) fn uncertain(a: Near, b: Near, _: f64) -> f64 {
    if a.is_apart(b) { 0.0 } else { 1.0 }
}

/// Returns the greatest distance of a power from `y` whose base and exponent are within their errors. A power of a
/// positive base is monotone in both of them, so that the extremes are at the ends.
pub(super) fn passed_by_power(a: Near, b: Near, y: f64) -> f64 {
    if a.error == 0.0 && b.error == 0.0 {
        return 0.0;
    }
    if a.x - a.error <= 0.0 {
        return f64::INFINITY;
    }
    let ends = [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)];
    let ends = ends.map(|(low, high)| libm::pow(a.x + low * a.error, b.x + high * b.error));
    ends.into_iter().map(|end| (end - y).abs()).fold(0.0, f64::max)
}
