//! Data that fits the declarations of a random program, and the results of programs on it. It shares nothing with the
//! search for counterexamples, so that each detects errors that the other overlooks.

use ember_interpret::{EDGES, Error, Interpreter, Store};
use ember_language::rules::Operators;
use ember_language::term::Term;
use ember_prove::equiv::Purpose;
use ember_prove::random::Made;
use ember_targets::tensor::Tensor;
use ember_values::scalar::{EXTREMES, Scalar};
use fastrand::Rng;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of evaluated nodes after which a run is given up.
const STEPS: u64 = 400_000;

/// The size up to which all sizes are tried, and the number of contents of positions tried with each.
const SMALL: u64 = 2;
const CONTENTS: u64 = 6;

/// The number of random stores, and their largest size.
const RANDOM: usize = 48;
const LARGEST: u64 = 10;

/// The stores on which programs with the same declarations are compared.
#[derive(Clone, Debug)]
pub struct Data {
    stores: Vec<Store>,
    outputs: Vec<String>,
    operators: Arc<Operators>,
}

/// The relation of two programs on all stores.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// The results are equal for all runs that ended; the number counts these runs.
    Same(usize),
    /// The results differ: the place and both values.
    Different(String),
    /// One program faults on data on which the other does not.
    Fault(String),
}

impl Data {
    /// Creates small data, as far as its positions can be enumerated, and random data.
    pub fn new(made: &Made, operators: &Arc<Operators>, seed: u64) -> Data {
        let names = made.declarations.sizes();
        let mut rng = Rng::with_seed(seed);
        let mut stores = Vec::new();
        let choices = (SMALL + 1).pow(names.len() as u32);
        for choice in 0..choices {
            let digit = |k: usize| choice / (SMALL + 1).pow(k as u32) % (SMALL + 1);
            let sizes = names.iter().enumerate().map(|(k, name)| (name.clone(), digit(k)));
            let sizes: BTreeMap<String, u64> = sizes.collect();
            for content in 0..CONTENTS {
                stores.extend(store(made, &sizes, Some(content), &mut rng));
            }
        }
        for _ in 0..RANDOM {
            let size = |name: &String| (name.clone(), rng.u64(0..=LARGEST));
            let sizes: BTreeMap<String, u64> = names.iter().map(size).collect();
            stores.extend(store(made, &sizes, None, &mut rng));
        }
        Data { stores, outputs: made.declarations.outputs(), operators: operators.clone() }
    }

    /// Runs a program on each store.
    pub fn results(&self, run: impl Fn(&Store) -> Run) -> Vec<Run> {
        self.stores.iter().map(run).collect()
    }

    /// Runs a term on each store.
    pub fn of_term(&self, term: &Term) -> Vec<Run> {
        self.results(|store| interpret(term, &self.operators, store))
    }

    /// Compares the results of two programs. Other results count before a fault of one program.
    pub fn relation(&self, left: &[Run], right: &[Run]) -> Relation {
        let (mut same, mut fault) = (0, None);
        for ((store, left), right) in self.stores.iter().zip(left).zip(right) {
            match (left, right) {
                (Run::Long, _) | (_, Run::Long) | (Run::Fault(_), Run::Fault(_)) => {}
                (Run::Fault(why), Run::Ended(_)) => {
                    fault.get_or_insert_with(|| format!("left: {why}"));
                }
                (Run::Ended(_), Run::Fault(why)) => {
                    fault.get_or_insert_with(|| format!("right: {why}"));
                }
                (Run::Ended(left), Run::Ended(right)) => match unlike(&self.outputs, left, right) {
                    Some(found) => {
                        return Relation::Different(format!("{:?}: {found}", store.sizes));
                    }
                    None => same += 1,
                },
            }
        }
        fault.map_or(Relation::Same(same), Relation::Fault)
    }
}

/// Returns the first element of the given tensors in which two stores differ.
pub(super) fn unlike(outputs: &[String], left: &Store, right: &Store) -> Option<String> {
    outputs.iter().find_map(|name| {
        let (a, b) = (left.tensors.get(name)?, right.tensors.get(name)?);
        let at = (0..a.len().max(b.len())).find(|at| a.get(*at) != b.get(*at))?;
        Some(format!("{name}, element {at}: {:?} and {:?}", a.get(at), b.get(at)))
    })
}

/// The result of a run.
#[derive(Clone, Debug)]
pub enum Run {
    /// The store afterwards.
    Ended(Box<Store>),
    /// The reason of a fault.
    Fault(String),
    /// The run was given up.
    Long,
}

/// Runs a term.
pub(super) fn interpret(term: &Term, operators: &Operators, store: &Store) -> Run {
    let mut run = Interpreter::new(term, operators, store.clone()).with_step_limit(STEPS);
    match run.run(run.root()) {
        Ok(()) => Run::Ended(Box::new(run.into_store())),
        Err(Error::StepLimit(_)) => Run::Long,
        Err(error) => Run::Fault(error.to_string()),
    }
}

/// Creates a store of these sizes, with the n-th content of positions and plain numbers, or with random content. `None`
/// if a tensor of positions has no valid position.
fn store(
    made: &Made,
    sizes: &BTreeMap<String, u64>,
    content: Option<u64>,
    rng: &mut Rng,
) -> Option<Store> {
    let mut store = Store { sizes: made.declarations.all_sizes(sizes), ..Store::default() };
    let mut rest = content.unwrap_or(0);
    let plain = content.is_some();
    let tame = !plain && rng.bool();
    for declared in &made.declarations.tensors {
        let extents: Option<Vec<u64>> = declared.shape.iter().map(|e| e.value(sizes)).collect();
        let mut tensor = Tensor::zeros(declared.dtype, extents?);
        let bound = match made.positions_in(&declared.name) {
            Some((extent, more)) => Some(extent.value(sizes)? + more),
            None => None,
        };
        if bound == Some(0) && !tensor.is_empty() {
            return None;
        }
        let mut positions: Vec<i64> = Vec::new();
        for at in 0..tensor.len() {
            let value = match (bound, declared.purpose) {
                (Some(bound), _) => {
                    let position = if plain { rest % bound } else { rng.u64(0..bound) };
                    rest /= bound;
                    positions.push(position as i64);
                    continue;
                }
                (None, Purpose::Input) if plain => f64::from(2 + at as u32 * 3 % 7),
                (None, Purpose::Input) if tame => f64::from(rng.i8(-6..9)),
                (None, Purpose::Input) if !declared.dtype.is_float() || rng.u8(0..5) == 0 => {
                    tensor.set(at, declared.dtype.extreme(rng.u64(0..EXTREMES)));
                    continue;
                }
                (None, Purpose::Input) => EDGES[rng.usize(0..EDGES.len())],
                (None, _) if plain => 0.0,
                (None, _) => f64::from(rng.i8(-90..90)),
            };
            tensor.set(at, Scalar::from_f64(declared.dtype, value));
        }
        if made.rises(&declared.name) {
            positions.sort_unstable();
        }
        for (at, position) in positions.into_iter().enumerate() {
            tensor.set(at as u64, Scalar::I64(position));
        }
        store.tensors.insert(declared.name.clone(), tensor);
    }
    Some(store)
}
