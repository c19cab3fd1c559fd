//! Numbers that may be one, computed with other roundings, as runs with noise in the last digits show.

use ember_values::scalar::Scalar;
use std::ops::RangeInclusive;

/// The seeds of the runs of each side with noise.
pub(crate) const RUNS: RangeInclusive<u64> = 1..=8;

/// The rounding error of a run, at most, in multiples of the largest deviation that noise has caused.
const MARGIN: f64 = 8.0;

/// The rounding error that every result may have, in units of its last place.
const LAST_PLACES: u64 = 4;

/// Returns true if two different numbers may be one, given the results of [`RUNS`] of both with noise. They may if the
/// first is no real number.
pub(crate) fn may_be(
    a: Scalar,
    b: Scalar,
    lefts: &[Option<Scalar>],
    rights: &[Option<Scalar>],
) -> bool {
    if a.dtype() != b.dtype() {
        return false;
    }
    if !a.dtype().is_float() {
        // An integer that depends on rounding, as that of a comparison does, is not the same in all runs.
        let steady = |x: Scalar, runs: &[Option<Scalar>]| runs.iter().all(|run| *run == Some(x));
        return !(steady(a, lefts) && steady(b, rights));
    }
    let Some(left) = deviation(a, lefts).filter(|_| a.as_f64().is_finite()) else { return true };
    let Some(right) = deviation(b, rights) else {
        return rights.iter().flatten().any(|run| run.as_f64().is_finite());
    };
    let magnitude = Scalar::from_f64(a.dtype(), a.as_f64().abs().max(b.as_f64().abs()));
    let above = Scalar::from_bits(a.dtype(), magnitude.to_bits().saturating_add(LAST_PLACES));
    let floor = above.as_f64() - magnitude.as_f64();
    (a.as_f64() - b.as_f64()).abs() <= MARGIN * (left + right) + floor
}

/// Returns the largest distance of the runs with noise from the run without; `None` if one is not finite.
fn deviation(x: Scalar, runs: &[Option<Scalar>]) -> Option<f64> {
    let far = |run: &Option<Scalar>| Some((run.as_ref()?.as_f64() - x.as_f64()).abs());
    let far: Vec<f64> = runs.iter().map(far).collect::<Option<_>>()?;
    far.into_iter().try_fold(0.0, |most: f64, far| far.is_finite().then(|| most.max(far)))
}
