//! The answers to the predicates of a rule's `:when` and the generators of its `:for`, in the order of
//! [`ember_language::conditions`].
//!
//! Answers depend on facts alone. If facts are missing, a predicate is false and a generator is empty, so that a rule
//! never fires on an unknown property.

mod binders;
mod lengths;

use crate::bounds::{DEPTH, bounded_product, distance_in_loop, is_bounded, magnitude};
use crate::effects::{
    Counter, Effects, Index, Place, address, disjoint, distances, effects, lane_local, variable_key,
};
use crate::facts::{EGraph, single_value};
use binders::binds;
use egg::{Id, Language};
use ember_language::conditions::{GENERATORS, PREDICATES};
use ember_language::rules::Kind;
use ember_language::term::{Head, Node};
use ember_targets::dlc::Dim;
use ember_values::distance::ANY_WIDTH;
use ember_values::primitive::form::Form;
use ember_values::scalar::DType;
use itertools::Itertools;
use lengths::{even, simd_lanes, tile_lengths, trips, wide_lanes};

/// The implementation of one predicate or generator.
pub struct Answer<T: 'static> {
    /// The name in rule files.
    name: &'static str,
    /// Computes the answer for arguments of the declared sorts.
    pub answer: fn(&EGraph, &[Id]) -> T,
}

/// The implementations are in the order of the declarations, which this checks at compile time.
const _: () = {
    let mut at = 0;
    while at < PREDICATES.len() {
        assert!(same(HOLDS[at].name, PREDICATES[at].name), "predicates and answers differ");
        at += 1;
    }
    at = 0;
    while at < GENERATORS.len() {
        assert!(same(VALUES[at].name, GENERATORS[at].name), "generators and answers differ");
        at += 1;
    }
};

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    a.len() == b.len() && at == a.len()
}

/// The implementation of every predicate, sorted by name.
pub static HOLDS: [Answer<bool>; PREDICATES.len()] = [
    Answer {
        name: "at-most",
        answer: |g, x| g[x[0]].data.range.max <= g[x[1]].data.range.min && known_range(g, x),
    },
    Answer {
        name: "at-most-in-loop",
        answer: |g, x| distance_in_loop(g, x[0], x[1]).is_some_and(|least| least >= 0),
    },
    Answer {
        name: "at-setting",
        answer: |g, x| {
            let number = |id: &Id| g[*id].data.integer();
            let Some((own, set)) = x.split_first() else { return false };
            set.is_empty() || set.iter().any(|set| number(set) == number(own))
        },
    },
    Answer {
        name: "below",
        answer: |g, x| g[x[0]].data.range.max < g[x[1]].data.range.min && known_range(g, x),
    },
    Answer {
        name: "below-in-loop",
        answer: |g, x| distance_in_loop(g, x[0], x[1]).is_some_and(|least| least > 0),
    },
    Answer { name: "bounded", answer: |g, x| is_bounded(g, x[0]) },
    Answer { name: "bounded-product", answer: |g, x| bounded_product(g, x[0], x[1]) },
    Answer {
        name: "constant",
        answer: |g, x| {
            let fact = &g[x[0]].data;
            fact.constant.is_some()
                || (fact.free.is_empty()
                    && fact.dtype == Some(DType::I64)
                    && fact.lanes == Some(1)
                    && fact.effects.as_ref().is_some_and(Effects::is_empty))
        },
    },
    Answer {
        name: "different",
        answer: |g, x| match (variable_key(g, x[0]), variable_key(g, x[1])) {
            (Some(a), Some(b)) => a != b,
            _ => false,
        },
    },
    Answer { name: "distinct", answer: |g, x| g.find(x[0]) != g.find(x[1]) },
    Answer {
        name: "divides",
        answer: |g, x| match (g[x[0]].data.integer(), g[x[1]].data.integer()) {
            (Some(a), Some(b)) => b.checked_rem(a) == Some(0),
            _ => false,
        },
    },
    Answer { name: "float", answer: |g, x| g[x[0]].data.dtype.is_some_and(DType::is_float) },
    Answer {
        name: "in-scope",
        answer: |g, x| {
            g[x[0]].data.free.iter().all(|key| is_free(g, g.analysis.variable(*key), x[1]))
        },
    },
    Answer {
        name: "independent",
        answer: |g, x| match (effects(g, x[0]), effects(g, x[1])) {
            (Some(a), Some(b)) => untouched(&a, &b) && untouched(&b, &a),
            _ => false,
        },
    },
    Answer {
        name: "independent-lanes",
        answer: |g, x| independent_lanes(g, x[0], &[x[1], x[2]]).unwrap_or(false),
    },
    Answer {
        name: "index",
        answer: |g, x| g[x[0]].data.dtype == Some(DType::I64) && is_scalar(g, x[0]),
    },
    Answer {
        name: "interchangeable",
        answer: |g, x| interchangeable(g, x[0], x[1], x[2]).unwrap_or(false),
    },
    Answer {
        name: "lane-count",
        answer: |g, x| {
            let operators = g.analysis.operators();
            let counting = Form::Spread { lanes: (), x: (), below: Some(()) };
            let Some(lanes) = operators.named(counting, None) else { return false };
            let runs = g.classes_for_op(&Node::new(Head::Op(lanes), &[x[0]; 3]).discriminant());
            runs.unwrap_or_default().iter().flat_map(|class| &g[*class].nodes).any(|node| {
                matches!(operators.form(node), Some(Form::Spread { lanes, below: Some(_), .. }) if g.find(lanes) == g.find(x[0]))
            })
        },
    },
    Answer { name: "loop-free", answer: |g, x| !g[x[0]].data.has_loop },
    Answer {
        name: "may-be-free",
        answer: |g, x| variable_key(g, x[0]).is_some_and(|key| is_free(g, key, x[1])),
    },
    Answer {
        name: "may-run",
        answer: |g, x| {
            g[x[0]].data.free.iter().all(|key| !never_runs(g, g.analysis.variable(*key)))
        },
    },
    Answer {
        name: "not-free",
        answer: |g, x| variable_key(g, x[0]).is_some_and(|key| !is_free(g, key, x[1])),
    },
    Answer {
        name: "only-writes",
        answer: |g, x| match (&g[x[0]].data.address, effects(g, x[1])) {
            (Some(a), Some(e)) => e.writes.iter().all(|p| p.tensor == a.tensor),
            _ => false,
        },
    },
    Answer { name: "own-lane", answer: |g, x| own_lane(g, x[0], x[1], x[2]).unwrap_or(false) },
    Answer {
        name: "rank",
        answer: |g, x| {
            let rank =
                g[x[0]].data.address.as_ref().and_then(|a| {
                    g.analysis.tensor(a.tensor)?.shape.len().checked_sub(a.index.len())
                });
            rank.is_some() && rank.map(|n| n as i64) == g[x[1]].data.integer()
        },
    },
    Answer {
        name: "read-only",
        answer: |g, x| g[x[0]].data.address.as_ref().is_some_and(|a| !a.writable),
    },
    Answer {
        name: "reads-only-in",
        answer: |g, x| {
            let own = &g[x[0]].data;
            (own.dtype.is_some() || own.address.is_some())
                && effects(g, x[0]).is_some_and(|e| {
                    let fixed = |p: &Place| !writable(g, p.tensor.as_str());
                    e.writes.is_empty() && e.reads.iter().all(fixed)
                })
        },
    },
    Answer {
        name: "rising",
        answer: |g, x| {
            let whole = g[x[0]].data.address.as_ref().filter(|a| a.index.is_empty());
            whole.is_some_and(|a| g.analysis.rises(a.tensor))
        },
    },
    Answer { name: "runs", answer: |g, x| runs(g, x[0]).unwrap_or(false) },
    Answer { name: "runs-once", answer: |g, x| single_value(g, x[0]).is_some() },
    Answer { name: "scalar", answer: |g, x| is_scalar(g, x[0]) },
    Answer { name: "separable", answer: |g, x| separable(g, x[0], x[1], x[2]).unwrap_or(false) },
    Answer {
        name: "speculable",
        answer: |g, x| {
            let fails = |own: &Effects| !own.reads.is_empty() || own.folds;
            effects(g, x[1]).is_some_and(|own| !fails(&own)) || runs(g, x[0]).unwrap_or(false)
        },
    },
    Answer { name: "total", answer: |g, x| effects(g, x[0]).is_some_and(|own| total(g, &own)) },
    Answer { name: "unbound", answer: |g, x| !binds(g, x[0], x[1]) },
    Answer {
        name: "undisturbed",
        answer: |g, x| match (effects(g, x[0]), effects(g, x[1])) {
            (Some(a), Some(b)) => untouched(&b, &a),
            _ => false,
        },
    },
    Answer { name: "unit-stride", answer: |g, x| unit_stride(g, x[0], x[1]).unwrap_or(false) },
    Answer {
        name: "unread",
        answer: |g, x| match (&g[x[0]].data.address, effects(g, x[1])) {
            (Some(a), Some(e)) => e.places().all(|p| p.tensor != a.tensor),
            _ => false,
        },
    },
    Answer {
        name: "untiled",
        answer: |g, x| {
            // The loops of a tiling are named after the divided loop and the number of iterations of a block.
            const DIVIDED: [Option<Kind>; 2] = [Some(Kind::Variable), Some(Kind::Value)];
            let operators = g.analysis.operators();
            let is_part =
                |n: &Node| operators.of(n).is_some_and(|info| info.operand_kinds == DIVIDED);
            g[x[0]].nodes.iter().all(|var| {
                let name = var.children().first();
                name.is_some_and(|name| !g[*name].nodes.iter().any(is_part))
            })
        },
    },
    Answer {
        name: "unwritten",
        answer: |g, x| match (&g[x[0]].data.address, effects(g, x[1])) {
            (Some(a), Some(e)) => e.writes.iter().all(|p| p.tensor != a.tensor),
            _ => false,
        },
    },
    Answer {
        name: "writable",
        answer: |g, x| g[x[0]].data.address.as_ref().is_some_and(|a| a.writable),
    },
];

/// The implementation of every generator, sorted by name. Constants are returned in ascending order.
pub static VALUES: [Answer<Vec<i64>>; GENERATORS.len()] = [
    Answer {
        name: "even-simd-lanes",
        answer: |g, x| even(g, x, simd_lanes(g, x[2]).into_iter().collect()),
    },
    Answer {
        name: "even-wide-lanes",
        answer: |g, x| even(g, x, wide_lanes(g, x[1], x[2]).unwrap_or_default()),
    },
    Answer {
        name: "few-trips",
        answer: |g, x| {
            trips(g, [x[0], x[1], x[2]]).filter(|n| (2..=8).contains(n)).into_iter().collect()
        },
    },
    Answer {
        name: "half-way",
        answer: |g, x| {
            let half = |n: i64| Some(n / 2 * g[x[2]].data.integer()?);
            let several = trips(g, [x[0], x[1], x[2]]).filter(|n| (2..=64).contains(n));
            several.and_then(half).into_iter().collect()
        },
    },
    Answer {
        name: "length",
        answer: |g, x| {
            let known = g[x[0]].data.integer();
            known.filter(|n| (2..=4096).contains(n)).into_iter().collect()
        },
    },
    Answer {
        name: "one-trip",
        answer: |g, x| trips(g, [x[0], x[1], x[2]]).filter(|n| *n == 1).into_iter().collect(),
    },
    Answer {
        name: "setting",
        answer: |g, x| x.iter().filter_map(|id| g[*id].data.integer()).collect(),
    },
    Answer { name: "simd-lanes", answer: |g, x| simd_lanes(g, x[0]).into_iter().collect() },
    Answer { name: "tile-lengths", answer: |g, x| tile_lengths(g, x[0], x[1]).unwrap_or_default() },
    Answer { name: "wide-lanes", answer: |g, x| wide_lanes(g, x[0], x[1]).unwrap_or_default() },
];

/// Returns true if a loop runs at least once, whatever the data.
fn runs(egraph: &EGraph, var: Id) -> Option<bool> {
    let (lo, hi, _) = egraph[var].data.variable?;
    Some(known_range(egraph, &[lo, hi]) && egraph[lo].data.range.max < egraph[hi].data.range.min)
}

/// Returns true if the loop over a variable is known never to run, whatever the data.
fn never_runs(egraph: &EGraph, var: Id) -> bool {
    egraph[var].data.variable.is_some_and(|(lo, hi, _)| {
        known_range(egraph, &[lo, hi]) && egraph[hi].data.range.max <= egraph[lo].data.range.min
    })
}

/// Returns true if a class may depend on the variable with this key.
fn is_free(egraph: &EGraph, key: Id, id: Id) -> bool {
    egraph[id].data.free.iter().any(|free| egraph.analysis.variable(*free) == key)
}

/// Returns true if `writes` writes no place that `other` touches.
fn untouched(writes: &Effects, other: &Effects) -> bool {
    writes.writes.iter().all(|write| other.places().all(|place| disjoint(write, place)))
}

pub(crate) fn known_range(egraph: &EGraph, ids: &[Id]) -> bool {
    ids.iter().all(|id| egraph[*id].data.dtype == Some(DType::I64))
}

/// Returns true if a tensor, given by its name in terms, may be written. This is the case for an undeclared tensor.
fn writable(egraph: &EGraph, name: &str) -> bool {
    egraph.analysis.tensor(name.into()).is_none_or(|t| t.writable())
}

fn independent_lanes(egraph: &EGraph, var: Id, parts: &[Id]) -> Option<bool> {
    let counter = counter(egraph, var)?;
    let effects: Vec<_> = parts.iter().map(|p| effects(egraph, *p)).collect::<Option<_>>()?;
    let writes = effects.iter().flat_map(|e| &e.writes);
    Some(
        writes
            .cartesian_product(&effects)
            .all(|(write, other)| other.places().all(|place| lane_local(write, place, counter))),
    )
}

/// Returns true if two loops around a statement may change places: two iterations that touch one place are in the same
/// order afterwards, since they differ in one variable only or in both in the same direction.
fn interchangeable(egraph: &EGraph, outer: Id, inner: Id, statement: Id) -> Option<bool> {
    let variables = forward(egraph, [outer, inner])?;
    let effects = effects(egraph, statement)?;
    let kept = |write: &Place, other: &Place| match distances(write, other, variables) {
        None | Some([Some(0), _] | [_, Some(0)]) => true,
        Some([Some(outer), Some(inner)]) => (outer > 0) == (inner > 0),
        Some(_) => false,
    };
    Some(effects.writes.iter().all(|write| effects.places().all(|other| kept(write, other))))
}

/// Returns true if a loop over two statements may be one over the first and then one over the second.
fn separable(egraph: &EGraph, variable: Id, first: Id, second: Id) -> Option<bool> {
    let variables = forward(egraph, [variable])?;
    let (first, second) = (effects(egraph, first)?, effects(egraph, second)?);
    // An iteration of the first statement that touches what one of the second does is not behind it.
    let kept = |second: &Place, first: &Place| match distances(second, first, variables) {
        None => true,
        Some([distance]) => distance.is_some_and(|distance| distance <= 0),
    };
    let writes = second.writes.iter().all(|own| first.places().all(|other| kept(own, other)));
    Some(writes && first.writes.iter().all(|own| second.places().all(|other| kept(other, own))))
}

/// Returns the variables whose loops have positive steps.
fn forward<const N: usize>(egraph: &EGraph, variables: [Id; N]) -> Option<[Counter; N]> {
    let counters = variables.map(|variable| counter(egraph, variable).filter(|own| own.step > 0));
    counters.into_iter().collect::<Option<Vec<_>>>()?.try_into().ok()
}

/// Returns a loop variable whose step is a constant.
fn counter(egraph: &EGraph, variable: Id) -> Option<Counter> {
    let (lo, hi, step) = egraph[variable].data.variable?;
    let (least, end) = (egraph[lo].data.range.min, egraph[hi].data.range.max);
    let by_range =
        end.checked_sub(1).filter(|last| *last >= least).map(|last| last.abs_diff(least));
    let far = |id: Id| magnitude(egraph, id, DEPTH);
    let by_bounds = far(lo).zip(far(hi)).map(|(lo, hi)| lo.saturating_add(hi));
    let width = by_range.into_iter().chain(by_bounds).min();
    Some(Counter {
        key: variable_key(egraph, variable)?,
        step: egraph[step].data.integer()?,
        width: width.unwrap_or(ANY_WIDTH),
    })
}

fn own_lane(egraph: &EGraph, var: Id, address: Id, value: Id) -> Option<bool> {
    let counter = counter(egraph, var)?;
    let write = self::address(egraph, address)?.place();
    let (value, address) = (effects(egraph, value)?, effects(egraph, address)?);
    let mut places = value.places().chain(address.places()).chain([&write]);
    Some(places.all(|place| lane_local(&write, place, counter)))
}

fn unit_stride(egraph: &EGraph, var: Id, statement: Id) -> Option<bool> {
    let key = variable_key(egraph, var)?;
    let effects = effects(egraph, statement)?;
    let writes = &effects.writes;
    let unit = |place: &Place| {
        let rank = egraph.analysis.tensor(place.tensor)?.shape.len();
        let (last, outer) = place.index.split_last()?;
        // An index that is not affine is not known to move; it is accepted as fixed.
        let fixed = |i: &Index| i.as_ref().is_none_or(|run| run.start.coefficient(&key) == 0);
        let last = last.as_ref()?;
        let element = last.lanes == 1 && last.rows.is_none();
        let moves = element && last.start.coefficient(&key) == 1;
        Some(place.index.len() == rank && moves && outer.iter().all(fixed))
    };
    Some(!writes.is_empty() && writes.iter().all(|place| unit(place) == Some(true)))
}

/// Returns true if effects cannot fault: no lanes are folded, and each element that is read is there for all sizes.
fn total(egraph: &EGraph, own: &Effects) -> bool {
    let there = |index: &Index, dim: &Dim| {
        let at = index.as_ref().filter(|run| run.lanes == 1 && run.rows.is_none());
        let at = at.and_then(|run| u64::try_from(run.start.as_constant()?).ok());
        matches!((at, dim), (Some(at), Dim::Const(extent)) if at < *extent)
    };
    let exists = |place: &Place| {
        let shape = egraph.analysis.tensor(place.tensor).map(|tensor| &tensor.shape);
        shape.filter(|shape| !place.frozen && shape.len() == place.index.len()).is_some_and(
            |shape| place.index.iter().zip(shape).all(|(index, dim)| there(index, dim)),
        )
    };
    !own.folds && own.reads.iter().all(exists)
}

/// Returns true if a class is a value of one lane. An address in another environment has lanes, and is none.
pub(crate) fn is_scalar(egraph: &EGraph, id: Id) -> bool {
    let fact = &egraph[id].data;
    fact.lanes == Some(1) && fact.address.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(PREDICATES.iter().tuple_windows().all(|(a, b)| a.name < b.name));
        assert!(GENERATORS.iter().tuple_windows().all(|(a, b)| a.name < b.name));
    }
}
