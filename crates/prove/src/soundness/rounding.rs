//! Differences that rounding explains. The sides of a rule that may round in another way are equal as real numbers; the
//! results of a run are then as far from each other as their rounding errors allow, which runs with noise in the last
//! digits show.

use super::case::Case;
use super::compare::{Meaning, noisy_meaning};
use super::instance::Instance;
use egg::Id;
use ember_values::scalar::Scalar;
use itertools::izip;

/// The number of runs of each side with noise.
const RUNS: u64 = 8;

/// The rounding error of a run, at most, in multiples of the largest deviation that noise has caused.
const MARGIN: f64 = 8.0;

/// The rounding error that every result may have, in units of its last place.
const LAST_PLACES: u64 = 4;

/// Returns true if rounding may be the reason for the difference of two sides, or if the left side has no real number to
/// compare with. Noise decides nothing where it changes more than digits.
pub(super) fn may_differ(instance: &Instance, rhs: Id, case: &Case, right: &Meaning) -> bool {
    if !case.left.is_like(right) {
        return false;
    }
    let noisy = |term: Id| -> Option<Vec<Vec<Option<Scalar>>>> {
        let run = |seed: u64| {
            let run = noisy_meaning(instance, term, case, seed).ok()?;
            run.is_like(right).then(|| run.numbers())
        };
        (1..=RUNS).map(run).collect()
    };
    let (Some(lefts), Some(rights)) = (noisy(instance.lhs), noisy(rhs)) else { return true };
    let of = |runs: &[Vec<Option<Scalar>>], at: usize| -> Vec<Option<Scalar>> {
        runs.iter().map(|run| run[at]).collect()
    };
    let sides = izip!(case.left.numbers(), right.numbers()).enumerate();
    sides.map(|(at, (a, b))| (a, b, of(&lefts, at), of(&rights, at))).all(
        |(a, b, lefts, rights)| match (a, b) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(a), Some(b)) => a == b || may_be(a, b, &lefts, &rights),
        },
    )
}

/// Returns true if two different numbers may be one, computed with other roundings.
fn may_be(a: Scalar, b: Scalar, lefts: &[Option<Scalar>], rights: &[Option<Scalar>]) -> bool {
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
