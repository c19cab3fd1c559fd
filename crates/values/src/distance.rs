//! Distances between the iterations of a loop in which two indices are the same element.
//!
//! An index is computed in arithmetic that wraps, so that `k · i` is the same for values `i` that are far apart: with
//! `k = 2^62` for any two that are 4 apart. The width of the variable, which is how far apart any two of its values
//! may be, excludes such values or does not.

/// The width of a variable of which nothing is known: a loop ends below the greatest `i64`, so that its values are at
/// most this far apart.
pub const ANY_WIDTH: u64 = u64::MAX - 1;

/// The number of values of a machine word.
const WORD: u128 = 1 << 64;

/// What is known about the distance between two values of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// No two values have such a distance.
    Never,
    /// The second value is this much above the first.
    Is(i64),
    /// The distance may be one of several.
    Unknown,
}

/// Solves `by · distance = apart`, in arithmetic that wraps, for two values of a variable of this width; `by` is not 0.
///
/// ```
/// use ember_values::distance::{ANY_WIDTH, Distance, distance};
///
/// assert_eq!(distance(3, 6, 100), Distance::Is(2));
/// assert_eq!(distance(3, 7, 100), Distance::Never);
/// assert_eq!(distance(4, 0, ANY_WIDTH), Distance::Unknown);
/// ```
pub fn distance(by: i64, apart: i64, width: u64) -> Distance {
    let product = u128::from(by.unsigned_abs()) * u128::from(width);
    let no_wrap = product + u128::from(apart.unsigned_abs()) < WORD;
    if !no_wrap {
        return if apart == 0 && is_one_to_one(by, width) {
            Distance::Is(0)
        } else {
            Distance::Unknown
        };
    }
    match (apart.checked_rem(by), apart.checked_div(by)) {
        (Some(0), Some(distance)) if distance.unsigned_abs() <= width => Distance::Is(distance),
        _ => Distance::Never,
    }
}

/// Returns true if `by · i` is at least `lanes` away from `by · j`, in arithmetic that wraps, for any two different
/// values `i` and `j` of a loop with this step and width.
///
/// ```
/// use ember_values::distance::{ANY_WIDTH, stay_apart};
///
/// assert!(stay_apart(1, 8, 8, ANY_WIDTH));
/// assert!(!stay_apart(1, 8, 9, 100));
/// assert!(!stay_apart(1 << 62, 4, 1, 4));
/// ```
pub fn stay_apart(by: i64, step: i64, lanes: i64, width: u64) -> bool {
    let (k, lanes) = (u128::from(by.unsigned_abs()), u128::from(lanes.unsigned_abs()));
    let advance = k * u128::from(step.unsigned_abs());
    let no_wrap = k * u128::from(width) + lanes <= WORD;
    // All distances are multiples of the largest power of two in what one iteration advances by.
    let granule = 1u128 << advance.trailing_zeros().min(64);
    advance > 0 && (no_wrap && advance >= lanes || is_one_to_one(by, width) && granule >= lanes)
}

/// Returns true if `by · i` differs from `by · j`, in arithmetic that wraps, for different values `i` and `j` of a
/// variable of this width.
fn is_one_to_one(by: i64, width: u64) -> bool {
    by != 0 && u128::from(width) < WORD >> by.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::{TestResult, quickcheck};

    /// Numbers with many or few trailing zeros, of any size.
    fn spread(n: i64, shift: u8) -> i64 {
        n.wrapping_shl(u32::from(shift % 64)) | (n & 1)
    }

    quickcheck! {
        fn a_distance_is_the_only_one(by: i64, shift: u8, first: i64, other: i64, width: u64) -> TestResult {
            let (by, far) = (spread(by, shift), i128::from(other) - i128::from(first));
            let width = (width >> (shift % 64)).min(ANY_WIDTH);
            if by == 0 || far.unsigned_abs() > u128::from(width) {
                return TestResult::discard();
            }
            let apart = by.wrapping_mul(other).wrapping_sub(by.wrapping_mul(first));
            TestResult::from_bool(match distance(by, apart, width) {
                Distance::Never => false,
                Distance::Is(found) => i128::from(found) == far,
                Distance::Unknown => true,
            })
        }

        fn values_that_stay_apart_do(by: i64, shift: u8, step: u32, trips: u16, lanes: u8) -> bool {
            let (by, step) = (spread(by, shift), i64::from(step).wrapping_shl(u32::from(shift % 31)));
            let far = i128::from(step) * i128::from(trips);
            let Some(width) = u64::try_from(far).ok().filter(|far| *far <= ANY_WIDTH) else {
                return true;
            };
            let moved = by.wrapping_mul(far as i64) as u64;
            let circular = moved.min(moved.wrapping_neg());
            far == 0 || !stay_apart(by, step, i64::from(lanes), width) || circular >= u64::from(lanes)
        }
    }

    #[test]
    fn wrapped_indices_are_the_same_element() {
        assert_eq!(distance(1 << 62, 0, 4), Distance::Unknown);
        assert_eq!(distance(1 << 62, 0, 3), Distance::Is(0));
        assert_eq!(distance(3, 1, ANY_WIDTH), Distance::Unknown);
        assert_eq!(distance(i64::MIN, 0, 1), Distance::Is(0));
        assert_eq!(distance(-1, 5, 1 << 40), Distance::Is(-5));
        assert_eq!(distance(1, 5, 4), Distance::Never);
        assert!(stay_apart(64, 1, 64, 1 << 40));
        assert!(!stay_apart(64, 1 << 58, 1, ANY_WIDTH));
    }
}
