//! Differences that rounding explains. The sides of a rule that may round in another way are equal as real numbers; the
//! results of a run are then as far from each other as their rounding errors allow, which runs with noise in the last
//! digits show.

use super::case::Case;
use super::compare::{Meaning, noisy_meaning};
use super::instance::Instance;
use crate::rounding::{RUNS, may_be};
use egg::Id;
use ember_values::scalar::Scalar;
use itertools::izip;

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
        RUNS.map(run).collect()
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
