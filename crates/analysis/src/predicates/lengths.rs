//! Numbers of iterations, of lanes and of elements in a tile, which follow from bounds and from the vector unit.

use crate::effects::effects;
use crate::facts::EGraph;
use egg::Id;
use ember_values::scalar::DType;
use itertools::Itertools;

/// Returns the lengths that divide both of the first two bounds, which must be constants.
pub(super) fn even(egraph: &EGraph, bounds: &[Id], lengths: Vec<i64>) -> Vec<i64> {
    let whole = |n: i64| {
        let divides =
            |id: &Id| egraph[*id].data.integer().and_then(|x| x.checked_rem(n)) == Some(0);
        bounds.iter().take(2).all(divides)
    };
    lengths.into_iter().filter(|n| whole(*n)).collect()
}

/// Returns the trip count of a loop with these bounds and this step, if it is a constant.
pub(super) fn trips(egraph: &EGraph, [lo, hi, step]: [Id; 3]) -> Option<i64> {
    let affine = |id: Id| egraph.analysis.current(egraph[id].data.affine.as_ref()?);
    let step = egraph[step].data.integer().filter(|step| *step > 0)?;
    let distance = affine(hi)?.sub(&affine(lo)?)?.as_constant()?;
    Some(distance.max(0).checked_add(step - 1)? / step)
}

/// Returns the lanes of a register of the elements of a value, or of those that a statement writes, if they are two or more.
pub(super) fn simd_lanes(egraph: &EGraph, id: Id) -> Option<i64> {
    let dtype = match egraph[id].data.dtype {
        Some(dtype) => dtype,
        None => effects(egraph, id)?
            .writes
            .iter()
            .map(|place| egraph.analysis.tensor(place.tensor).map(|t| t.dtype))
            .collect::<Option<Vec<DType>>>()?
            .into_iter()
            .all_equal_value()
            .ok()?,
    };
    i64::try_from(dtype.elements_in(egraph.analysis.vector_unit().simd_bytes))
        .ok()
        .filter(|n| *n >= 2)
}

/// Returns the lengths of tiles that divide a bound by halves and are at least two registers of what a statement writes.
pub(super) fn tile_lengths(egraph: &EGraph, bound: Id, statement: Id) -> Option<Vec<i64>> {
    let least = simd_lanes(egraph, statement)?.checked_mul(2)?;
    let bound = egraph[bound].data.integer()?;
    let halves = std::iter::successors(Some(bound), |n| (n % 2 == 0).then_some(n / 2));
    let mut lengths: Vec<i64> =
        halves.skip(1).take_while(|n| *n >= least && n % least == 0).collect();
    lengths.reverse();
    Some(lengths)
}

/// Returns the numbers of lanes of several registers for a loop up to a bound, for what a statement writes.
pub(super) fn wide_lanes(egraph: &EGraph, bound: Id, statement: Id) -> Option<Vec<i64>> {
    let simd = simd_lanes(egraph, statement)?;
    let bound = egraph[bound].data.integer()?;
    let most = simd.saturating_mul((egraph.analysis.vector_unit().registers / 2) as i64);
    // One length beyond the bound would only add inactive lanes.
    let needed = bound.div_euclid(simd) + i64::from(bound % simd != 0);
    let doubling = std::iter::successors(Some(simd.saturating_mul(2)), |n| n.checked_mul(2));
    let whole = needed.saturating_mul(simd);
    Some(
        doubling
            .take_while(|n| *n < whole && *n <= most)
            .chain((whole > simd && whole <= most).then_some(whole))
            .collect(),
    )
}
