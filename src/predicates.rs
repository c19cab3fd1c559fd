//! The closed list of predicates that a rule's `:when` may ask, and of generators for its `:for`.
//!
//! Each answers from facts alone. Missing facts make a predicate false and a generator empty, so
//! that a rule never fires on what is not known.

use crate::effects::{Effects, Index, Place, disjoint, lane_local, variable_key};
use crate::facts::{EGraph, single_value};
use crate::primitive::Primitive;
use crate::term::{Head, Node};
use egg::{Id, Language};
use ember_targets::scalar::DType;
use itertools::Itertools;

/// A question about classes.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// The name in rule files.
    pub name: &'static str,
    /// What it asks.
    pub doc: &'static str,
    /// The sorts of its arguments; those that start with `'` are any sort, and [`VARIABLE`] is that of
    /// variables.
    pub sorts: &'static [&'static str],
    /// The answer for arguments of those sorts.
    pub holds: fn(&EGraph, &[Id]) -> bool,
}

/// A source of constants that follow from classes and the machine.
#[derive(Clone, Debug)]
pub struct Generator {
    /// The name in rule files.
    pub name: &'static str,
    /// What it gives.
    pub doc: &'static str,
    /// The sorts of its arguments.
    pub sorts: &'static [&'static str],
    /// The constants, in ascending order.
    pub values: fn(&EGraph, &[Id]) -> Vec<i64>,
}

/// In the sorts of arguments: the sort of variables, which operators of the dialects bind.
pub const VARIABLE: &str = "Var";

/// Every predicate, by name.
pub const PREDICATES: &[Predicate] = &[
    Predicate {
        name: "at-most",
        doc: "the greatest value of the first is not above the least of the second",
        sorts: &["Value", "Value"],
        holds: |g, x| g[x[0]].data.range.max <= g[x[1]].data.range.min && known_range(g, x),
    },
    Predicate {
        name: "below",
        doc: "the greatest value of the first is below the least of the second",
        sorts: &["Value", "Value"],
        holds: |g, x| g[x[0]].data.range.max < g[x[1]].data.range.min && known_range(g, x),
    },
    Predicate {
        name: "constant",
        doc: "the same value in every environment: a number, or arithmetic on sizes of the model",
        sorts: &["Value"],
        holds: |g, x| {
            let fact = &g[x[0]].data;
            fact.constant.is_some()
                || (fact.free.is_empty()
                    && fact.dtype == Some(DType::I64)
                    && fact.lanes == Some(1)
                    && fact.effects.as_ref().is_some_and(Effects::is_empty))
        },
    },
    Predicate {
        name: "different",
        doc: "two variables that are not the same",
        sorts: &["Var", "Var"],
        holds: |g, x| match (variable_key(g, x[0]), variable_key(g, x[1])) {
            (Some(a), Some(b)) => a != b,
            _ => false,
        },
    },
    Predicate {
        name: "distinct",
        doc: "two values that are not known to be the same",
        sorts: &["Value", "Value"],
        holds: |g, x| g.find(x[0]) != g.find(x[1]),
    },
    Predicate {
        name: "divides",
        doc: "both are constants and the first divides the second",
        sorts: &["Value", "Value"],
        holds: |g, x| match (g[x[0]].data.integer(), g[x[1]].data.integer()) {
            (Some(a), Some(b)) => b.checked_rem(a) == Some(0),
            _ => false,
        },
    },
    Predicate {
        name: "float",
        doc: "a value of a floating-point type",
        sorts: &["Value"],
        holds: |g, x| g[x[0]].data.dtype.is_some_and(DType::is_float),
    },
    Predicate {
        name: "independent",
        doc: "two statements or values in either order do the same: neither writes what the other touches",
        sorts: &["'a", "'b"],
        holds: |g, x| match (effects(g, x[0]), effects(g, x[1])) {
            (Some(a), Some(b)) => untouched(a, b) && untouched(b, a),
            _ => false,
        },
    },
    Predicate {
        name: "independent-lanes",
        doc: "no iteration of the loop over the variable writes what the second or third touches in another",
        sorts: &["Var", "'a", "'b"],
        holds: |g, x| independent_lanes(g, x[0], &[x[1], x[2]]).unwrap_or(false),
    },
    Predicate {
        name: "index",
        doc: "a scalar i64",
        sorts: &["Value"],
        holds: |g, x| g[x[0]].data.dtype == Some(DType::I64) && g[x[0]].data.lanes == Some(1),
    },
    Predicate {
        name: "lane-count",
        doc: "a number that some run of lanes is known to have",
        sorts: &["Value"],
        holds: |g, x| {
            let operators = g.analysis.operators();
            let Some(lanes) = operators.named(Primitive::Lanes, None) else { return false };
            let runs = g.classes_for_op(&Node::new(Head::Op(lanes), &[x[0]; 3]).discriminant());
            runs.unwrap_or_default().iter().flat_map(|class| &g[*class].nodes).any(|node| {
                let n = operators.parts(node, Primitive::Lanes);
                n.is_some_and(|[n, ..]: [Id; 3]| g.find(n) == g.find(x[0]))
            })
        },
    },
    Predicate {
        name: "loop-free",
        doc: "some form of the term has no loop; what is not lowered yet may have one",
        sorts: &["'a"],
        holds: |g, x| !g[x[0]].data.has_loop,
    },
    Predicate {
        name: "may-be-free",
        doc: "the second depends on the variable, as far as is known; later it may turn out not to",
        sorts: &["Var", "'a"],
        holds: |g, x| variable_key(g, x[0]).is_some_and(|key| is_free(g, key, x[1])),
    },
    Predicate {
        name: "not-free",
        doc: "the second does not depend on the variable",
        sorts: &["Var", "'a"],
        holds: |g, x| variable_key(g, x[0]).is_some_and(|key| !is_free(g, key, x[1])),
    },
    Predicate {
        name: "only-writes",
        doc: "evaluating the second writes the tensor of the address and no other",
        sorts: &["Address", "'a"],
        holds: |g, x| match (&g[x[0]].data.address, effects(g, x[1])) {
            (Some(a), Some(e)) => e.writes.iter().all(|p| p.tensor == a.tensor),
            _ => false,
        },
    },
    Predicate {
        name: "own-lane",
        doc: "writing the address in one iteration of the loop over the variable touches nothing that \
              another writes there or reads in evaluating the value",
        sorts: &["Var", "Address", "Value"],
        holds: |g, x| own_lane(g, x[0], x[1], x[2]).unwrap_or(false),
    },
    Predicate {
        name: "rank",
        doc: "the address lacks as many indices as the second, a number, says",
        sorts: &["Address", "Value"],
        holds: |g, x| {
            let rank =
                g[x[0]].data.address.as_ref().and_then(|a| {
                    g.analysis.tensor(a.tensor)?.shape.len().checked_sub(a.index.len())
                });
            rank.is_some() && rank.map(|n| n as i64) == g[x[1]].data.integer()
        },
    },
    Predicate {
        name: "read-only",
        doc: "the address is of a tensor that nothing writes before the next barrier",
        sorts: &["Address"],
        holds: |g, x| g[x[0]].data.address.as_ref().is_some_and(|a| !a.writable),
    },
    Predicate {
        name: "reads-only-in",
        doc: "a value that reads no tensor that something writes before the next barrier",
        sorts: &["'a"],
        holds: |g, x| {
            g[x[0]].data.dtype.is_some()
                && effects(g, x[0]).is_some_and(|e| {
                    let fixed = |p: &Place| p.frozen || !writable(g, p.tensor.as_str());
                    e.writes.is_empty() && e.reads.iter().all(fixed)
                })
        },
    },
    Predicate {
        name: "runs",
        doc: "the variable of a loop that runs at least once, whatever the data",
        sorts: &["Var"],
        holds: |g, x| runs(g, x[0]).unwrap_or(false),
    },
    Predicate {
        name: "runs-once",
        doc: "the variable of a loop that runs exactly once, whatever the data",
        sorts: &["Var"],
        holds: |g, x| single_value(g, x[0]).is_some(),
    },
    Predicate {
        name: "scalar",
        doc: "a value of one lane",
        sorts: &["Value"],
        holds: |g, x| g[x[0]].data.lanes == Some(1),
    },
    Predicate {
        name: "speculable",
        doc: "evaluating the second outside of the loop over the variable cannot fault where the loop \
              does not: it loads nothing, or the loop runs at least once",
        sorts: &["Var", "Value"],
        holds: |g, x| {
            effects(g, x[1]).is_some_and(|e| e.reads.is_empty()) || runs(g, x[0]).unwrap_or(false)
        },
    },
    Predicate {
        name: "undisturbed",
        doc: "evaluating the second writes nothing that the first touches",
        sorts: &["'a", "'b"],
        holds: |g, x| match (effects(g, x[0]), effects(g, x[1])) {
            (Some(a), Some(b)) => untouched(b, a),
            _ => false,
        },
    },
    Predicate {
        name: "unit-stride",
        doc: "every place that the statement writes moves with the variable by one element of its \
              tensor's last dimension, and as far as is known in no other",
        sorts: &["Var", "Stmt"],
        holds: |g, x| unit_stride(g, x[0], x[1]).unwrap_or(false),
    },
    Predicate {
        name: "unread",
        doc: "evaluating the second does not read the tensor of the address",
        sorts: &["Address", "'a"],
        holds: |g, x| match (&g[x[0]].data.address, effects(g, x[1])) {
            (Some(a), Some(e)) => e.places().all(|p| p.tensor != a.tensor),
            _ => false,
        },
    },
    Predicate {
        name: "untiled",
        doc: "the loop variable is not that of a block loop or of a loop within a block",
        sorts: &["Var"],
        holds: |g, x| {
            g[x[0]].nodes.iter().all(|var| {
                var.children().first().is_some_and(|name| {
                    g[*name].nodes.iter().all(|n| !matches!(n.name(), Some("outer" | "inner")))
                })
            })
        },
    },
    Predicate {
        name: "unwritten",
        doc: "evaluating the second does not write the tensor of the address",
        sorts: &["Address", "'a"],
        holds: |g, x| match (&g[x[0]].data.address, effects(g, x[1])) {
            (Some(a), Some(e)) => e.writes.iter().all(|p| p.tensor != a.tensor),
            _ => false,
        },
    },
    Predicate {
        name: "writable",
        doc: "the address is of a tensor that the program writes",
        sorts: &["Address"],
        holds: |g, x| g[x[0]].data.address.as_ref().is_some_and(|a| a.writable),
    },
];

/// Every generator, by name.
pub const GENERATORS: &[Generator] = &[
    Generator {
        name: "even-simd-lanes",
        doc: "the lanes of one vector register, for the element type of the third, where the bounds are \
              constants that these lanes divide",
        sorts: &["Value", "Value", "Value"],
        values: |g, x| even(g, x, simd_lanes(g, x[2]).into_iter().collect()),
    },
    Generator {
        name: "even-wide-lanes",
        doc: "those of the `wide-lanes` of the second that divide both bounds, which are constants",
        sorts: &["Value", "Value", "Value"],
        values: |g, x| even(g, x, wide_lanes(g, x[1], x[2]).unwrap_or_default()),
    },
    Generator {
        name: "few-trips",
        doc: "how often a loop with these bounds and this step runs, where that is the same always and \
              from 2 to 8",
        sorts: &["Value", "Value", "Value"],
        values: |g, x| {
            trips(g, [x[0], x[1], x[2]]).filter(|n| (2..=8).contains(n)).into_iter().collect()
        },
    },
    Generator {
        name: "length",
        doc: "a constant from 2 to 4096",
        sorts: &["Value"],
        values: |g, x| {
            let known = g[x[0]].data.integer();
            known.filter(|n| (2..=4096).contains(n)).into_iter().collect()
        },
    },
    Generator {
        name: "one-trip",
        doc: "1 where a loop with these bounds and this step runs once, whatever the data",
        sorts: &["Value", "Value", "Value"],
        values: |g, x| trips(g, [x[0], x[1], x[2]]).filter(|n| *n == 1).into_iter().collect(),
    },
    Generator {
        name: "simd-lanes",
        doc: "the lanes of one vector register, for the element type that a statement writes or a value \
              has",
        sorts: &["'a"],
        values: |g, x| simd_lanes(g, x[0]).into_iter().collect(),
    },
    Generator {
        name: "tile-lengths",
        doc: "the bound, a constant, halved again and again, as long as a half is a multiple of two \
              vector registers' lanes",
        sorts: &["Value", "Stmt"],
        values: |g, x| tile_lengths(g, x[0], x[1]).unwrap_or_default(),
    },
    Generator {
        name: "wide-lanes",
        doc: "multiples of a vector register's lanes, doubling, up to a bound that is a constant and to \
              the lanes that half the registers hold",
        sorts: &["Value", "'a"],
        values: |g, x| wide_lanes(g, x[0], x[1]).unwrap_or_default(),
    },
];

/// Whether a loop runs at least once, whatever the data.
fn runs(egraph: &EGraph, var: Id) -> Option<bool> {
    let (lo, hi, _) = egraph[var].data.variable?;
    Some(known_range(egraph, &[lo, hi]) && egraph[lo].data.range.max < egraph[hi].data.range.min)
}

/// Whether a class may depend on the variable of a key.
fn is_free(egraph: &EGraph, key: Id, id: Id) -> bool {
    egraph[id].data.free.iter().any(|free| egraph.analysis.variable(*free) == key)
}

fn effects(egraph: &EGraph, id: Id) -> Option<&Effects> {
    egraph[id].data.effects.as_ref()
}

/// Whether the one writes nothing that the other touches.
fn untouched(writes: &Effects, other: &Effects) -> bool {
    writes.writes.iter().all(|write| other.places().all(|place| disjoint(write, place)))
}

fn known_range(egraph: &EGraph, ids: &[Id]) -> bool {
    ids.iter().all(|id| egraph[*id].data.dtype == Some(DType::I64))
}

/// Whether a tensor, by its name in terms, may be written; an undeclared one may.
fn writable(egraph: &EGraph, name: &str) -> bool {
    egraph.analysis.tensor(name.into()).is_none_or(|t| t.writable)
}

fn independent_lanes(egraph: &EGraph, var: Id, parts: &[Id]) -> Option<bool> {
    let key = variable_key(egraph, var)?;
    let (_, _, step) = egraph[var].data.variable?;
    let step = egraph[step].data.integer()?;
    let effects: Vec<&Effects> =
        parts.iter().map(|p| effects(egraph, *p)).collect::<Option<_>>()?;
    let writes = effects.iter().flat_map(|e| &e.writes);
    Some(
        writes
            .cartesian_product(&effects)
            .all(|(write, other)| other.places().all(|place| lane_local(write, place, key, step))),
    )
}

fn own_lane(egraph: &EGraph, var: Id, address: Id, value: Id) -> Option<bool> {
    let key = variable_key(egraph, var)?;
    let (_, _, step) = egraph[var].data.variable?;
    let step = egraph[step].data.integer()?;
    let write = egraph[address].data.address.as_ref()?.place();
    let mut places =
        effects(egraph, value)?.places().chain(effects(egraph, address)?.places()).chain([&write]);
    Some(places.all(|place| lane_local(&write, place, key, step)))
}

fn unit_stride(egraph: &EGraph, var: Id, statement: Id) -> Option<bool> {
    let key = variable_key(egraph, var)?;
    let writes = &effects(egraph, statement)?.writes;
    let unit = |place: &Place| {
        let rank = egraph.analysis.tensor(place.tensor)?.shape.len();
        let (last, outer) = place.index.split_last()?;
        // An index that is not affine has not been seen to move.
        let fixed = |i: &Index| i.as_ref().is_none_or(|run| run.start.coefficient(&key) == 0);
        let last = last.as_ref()?;
        let element = last.lanes == 1 && last.rows.is_none();
        let moves = element && last.start.coefficient(&key) == 1;
        Some(place.index.len() == rank && moves && outer.iter().all(fixed))
    };
    Some(!writes.is_empty() && writes.iter().all(|place| unit(place) == Some(true)))
}

/// The lengths that divide the first two, which are constants.
fn even(egraph: &EGraph, bounds: &[Id], lengths: Vec<i64>) -> Vec<i64> {
    let whole = |n: i64| {
        let divides =
            |id: &Id| egraph[*id].data.integer().and_then(|x| x.checked_rem(n)) == Some(0);
        bounds.iter().take(2).all(divides)
    };
    lengths.into_iter().filter(|n| whole(*n)).collect()
}

/// How often a loop with these bounds and this step runs, where that does not depend on anything.
fn trips(egraph: &EGraph, [lo, hi, step]: [Id; 3]) -> Option<i64> {
    let affine = |id: Id| egraph[id].data.affine.as_ref();
    let step = egraph[step].data.integer().filter(|step| *step > 0)?;
    let distance = affine(hi)?.sub(affine(lo)?)?.as_constant()?;
    Some(distance.max(0).checked_add(step - 1)? / step)
}

fn simd_lanes(egraph: &EGraph, id: Id) -> Option<i64> {
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

fn tile_lengths(egraph: &EGraph, bound: Id, statement: Id) -> Option<Vec<i64>> {
    let least = simd_lanes(egraph, statement)?.checked_mul(2)?;
    let bound = egraph[bound].data.integer()?;
    let halves = std::iter::successors(Some(bound), |n| (n % 2 == 0).then_some(n / 2));
    let mut lengths: Vec<i64> =
        halves.skip(1).take_while(|n| *n >= least && n % least == 0).collect();
    lengths.reverse();
    Some(lengths)
}

fn wide_lanes(egraph: &EGraph, bound: Id, statement: Id) -> Option<Vec<i64>> {
    let simd = simd_lanes(egraph, statement)?;
    let bound = egraph[bound].data.integer()?;
    let most = simd.saturating_mul((egraph.analysis.vector_unit().registers / 2) as i64);
    // One length past the bound would only add inactive lanes.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(PREDICATES.iter().tuple_windows().all(|(a, b)| a.name < b.name));
        assert!(GENERATORS.iter().tuple_windows().all(|(a, b)| a.name < b.name));
    }
}
