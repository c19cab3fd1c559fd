//! Tests an instance on every small store and environment.

use super::Refutation;
use super::case::Case;
use super::compare::{Alike, Memory, STEPS};
use super::instance::Instance;
use crate::random::{COLUMNS, ENTRIES, ROWS};
use egg::Id;
use ember_interpret::{EDGES, Store};
use ember_values::scalar::{DType, Scalar};

/// The greatest extents, and the number of values of an index.
const EXTENTS: [u64; 3] = [2, 2, 3];
const VALUES: u64 = 3;

/// The largest number of integer elements in a store, which gives 3^6 contents.
const ELEMENTS: usize = 6;

/// The largest number of runs of both sides of one instance.
const RUNS: usize = 10_000;

/// The largest range of a free variable of which every value is tried.
const MOST_VALUES: u64 = 8;

/// The outcome of an exhaustive test.
pub(super) struct Exhausted {
    /// The number of runs in which the left side had a meaning.
    pub cases: usize,
    /// True if every small store was tried.
    pub complete: bool,
}

/// Returns the number of integer elements of an instance at the greatest extents. The number of its stores is
/// exponential in it.
pub(super) fn elements(instance: &Instance) -> u64 {
    let store = instance.world.zeros(&instance.tensors(), instance.world.concrete(EXTENTS));
    store.tensors.values().filter(|t| !t.dtype.is_float()).map(|t| t.len()).sum()
}

/// Compares both sides on every store with extents up to 2 rows, 2 columns and 3 entries, with every content of its
/// integer tensors from 0, 1 and 2, and every value of the free variables. Floating-point elements are edge cases, each
/// a different one.
pub(super) fn exhaust(
    instance: &Instance,
    rhs: Id,
    alike: Alike,
) -> Result<Exhausted, Box<Refutation>> {
    let names = instance.tensors();
    let free = instance.mentioned([instance.lhs, rhs]);
    let mut done = Exhausted { cases: 0, complete: true };
    let mut runs = 0;
    let fixed = |k: usize| instance.world.extents[k];
    for extents in (0..=EXTENTS[ROWS])
        .flat_map(|r| (0..=EXTENTS[COLUMNS]).map(move |c| (r, c)))
        .flat_map(|(r, c)| (0..=EXTENTS[ENTRIES]).map(move |e| [r, c, e]))
    {
        // A fixed extent ignores the loop's value, so that each store is visited only once.
        if (0..3).any(|k| fixed(k).is_some() && extents[k] != 0) {
            continue;
        }
        let mut store = instance.world.zeros(&names, instance.world.concrete(extents));
        fill(&mut store, alike);
        let integers: Vec<(String, u64)> = store
            .tensors
            .iter()
            .filter(|(_, tensor)| !tensor.dtype.is_float())
            .flat_map(|(name, tensor)| (0..tensor.len()).map(|i| (name.clone(), i)))
            .collect();
        if integers.len() > ELEMENTS {
            done.complete = false;
            continue;
        }
        for content in 0..VALUES.pow(integers.len() as u32) {
            let mut content = content;
            for (name, at) in &integers {
                if let Some(tensor) = store.tensors.get_mut(name) {
                    let value = Scalar::I64((content % VALUES) as i64).cast(tensor.dtype);
                    tensor.set(*at, value);
                }
                content /= VALUES;
            }
            if !instance.world.admits(&store) {
                continue;
            }
            for environment in environments(instance, &store, &free) {
                runs += 1;
                if runs > RUNS {
                    done.complete = false;
                    return Ok(done);
                }
                if let Some(case) = Case::new(instance, store.clone(), environment, Memory::Bounded)
                {
                    done.cases += 1;
                    case.compare(instance, rhs, alike)?;
                }
            }
        }
    }
    Ok(done)
}

/// Sets each floating-point element to a different edge case, or to a plain number if the last bits may change.
fn fill(store: &mut Store, alike: Alike) {
    let mut k = 0;
    for tensor in store.tensors.values_mut().filter(|t| t.dtype.is_float()) {
        for i in 0..tensor.len() {
            let dtype: DType = tensor.dtype;
            let x = match (alike, k % 3) {
                (Alike::Bitwise, 0) => dtype.extreme(k / 3),
                (Alike::Bitwise, _) => Scalar::from_f64(dtype, EDGES[k as usize % EDGES.len()]),
                _ => Scalar::from_f64(dtype, 1.0 + k as f64 / 8.0),
            };
            tensor.set(i, x);
            k += 1;
        }
    }
}

/// Returns the numbers below a count; of many, only the first and the last.
fn places(count: u64) -> Vec<u64> {
    match count {
        0..=MOST_VALUES => (0..count).collect(),
        _ => vec![0, 1, count - 2, count - 1],
    }
}

/// Returns every combination of values of the free variables, each in its range. Variables that are bound inside have a
/// value outside as well, as in [`Case::random`].
fn environments(instance: &Instance, store: &Store, free: &[Id]) -> Vec<Vec<(Id, i64)>> {
    let mut open = vec![Vec::new()];
    for variable in instance.variables().filter(|v| free.contains(v) || !instance.free.contains(v))
    {
        let mut next = Vec::new();
        for environment in open {
            let mut interpreter = instance.interpreter(store).with_step_limit(STEPS);
            let bound: Result<Vec<()>, _> =
                environment.iter().map(|(v, x)| interpreter.bind(*v, *x)).collect();
            let range = bound.and_then(|_| interpreter.values_of(variable));
            let is_free = free.contains(&variable);
            let Some((lo, count, step)) = range.ok().filter(|(_, count, _)| *count > 0) else {
                if !is_free {
                    next.push(environment);
                }
                continue;
            };
            for k in places(if is_free { count } else { 1 }) {
                let mut environment: Vec<(Id, i64)> = environment.clone();
                environment.push((variable, lo.wrapping_add(step.wrapping_mul(k as i64))));
                next.push(environment);
            }
        }
        open = next;
    }
    open
}
