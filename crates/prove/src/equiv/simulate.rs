//! Runs a side on data, and finds the first element at which two results differ.

use super::data::{Before, Given};
use super::declare::Purpose;
use super::sides::{Side, Sides, What};
use crate::rounding::{RUNS, may_be};
use ember_interpret::{Error, Interpreter, Program as Prepared, Store};
use ember_language::rules::Exactness;
use ember_sim::{Bindings, SimError};
use ember_targets::dlc::Program;
use ember_targets::machine::Machine;
use ember_targets::tensor::Tensor;
use ember_values::scalar::Scalar;
use serde::Serialize;
use std::cell::LazyCell;
use std::sync::Arc;

/// The number of simulated cycles after which a run is given up.
const CYCLES: u64 = 20_000_000;

/// The first difference between two programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The tensor; empty if a program has no result.
    pub tensor: String,
    /// The index of the element.
    pub index: Vec<u64>,
    /// The first program's element, or the reason why there is none.
    pub left: String,
    /// The second program's element, or the reason why there is none.
    pub right: String,
    /// True if both programs have a value there.
    #[serde(skip)]
    pub values: bool,
}

impl Difference {
    /// Returns the tensor and index as text.
    pub fn place(&self) -> String {
        let index: String = self.index.iter().map(|i| format!("[{i}]")).collect();
        format!("{}{index}", self.tensor)
    }
}

/// The outcome of running both sides.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// Both have results, and they are equal.
    Same,
    /// Neither has a result, or a run would take too long.
    Nothing,
    /// They differ.
    Different(Difference),
}

/// The reason why a program has no result.
pub enum Failure {
    /// It would take too long.
    Limit,
    /// It ended with a fault.
    Fault(String),
}

/// Both sides, ready to run any number of times.
pub(super) struct Runs<'a> {
    sides: &'a Sides,
    machine: Machine,
    pub exact: Exactness,
    /// The term of each side, if it has one.
    terms: [Option<Arc<Prepared>>; 2],
}

impl<'a> Runs<'a> {
    /// Prepares both sides; DLC programs run on the machine.
    pub fn new(sides: &'a Sides, machine: Machine, exact: Exactness) -> Runs<'a> {
        let prepared = |side: &Side| {
            let term = side.term().ok()?;
            Some(Arc::new(Prepared::new(term, &sides.operators)))
        };
        let terms = [&sides.left, &sides.right].map(prepared);
        Runs { sides, machine, exact, terms }
    }

    /// Runs both sides and compares their outputs. Written tensors hold zeros before, or other numbers. The run of a
    /// term is given up after this number of steps.
    pub fn compare(&self, (given, before): (&Given, Before), steps: u64) -> Outcome {
        let store = given.store(&self.sides.declarations, before);
        let left = self.run(0, &store, steps);
        let right = match &left {
            Err(Failure::Limit) => return Outcome::Nothing,
            _ => self.run(1, &store, steps),
        };
        let fault = |left: &str, right: &str| {
            Outcome::Different(Difference {
                tensor: String::new(),
                index: Vec::new(),
                left: left.to_owned(),
                right: right.to_owned(),
                values: false,
            })
        };
        match (left, right) {
            (_, Err(Failure::Limit)) | (Err(_), Err(_)) | (Err(Failure::Limit), _) => {
                Outcome::Nothing
            }
            (Err(Failure::Fault(why)), Ok(_)) => fault(&why, "no fault"),
            (Ok(_), Err(Failure::Fault(why))) => fault("no fault", &why),
            (Ok(a), Ok(b)) => match self.difference((&a, &b), (&store, steps)) {
                Some(difference) => Outcome::Different(difference),
                None => Outcome::Same,
            },
        }
    }

    /// Runs the first or the second side.
    fn run(&self, side: usize, store: &Store, steps: u64) -> Result<Store, Failure> {
        let what = [&self.sides.left.what, &self.sides.right.what][side];
        match (what, &self.terms[side]) {
            (What::Dlc { program, .. }, _) => store_after(program, &self.machine, store, CYCLES),
            (What::Term { .. }, term) => {
                let term = term.clone().ok_or_else(|| Failure::Fault("there is no term".into()))?;
                let mut run = Interpreter::of(term, store.clone()).with_step_limit(steps);
                match run.run(run.root()) {
                    Ok(()) => Ok(run.into_store()),
                    Err(Error::StepLimit(_)) => Err(Failure::Limit),
                    Err(error) => Err(Failure::Fault(error.to_string())),
                }
            }
        }
    }

    /// Returns the first element of an output that differs by more than what other roundings explain, if they are
    /// allowed.
    fn difference(
        &self,
        (left, right): (&Store, &Store),
        (store, steps): (&Store, u64),
    ) -> Option<Difference> {
        let noisy = |side: usize| self.noisy(side, store, steps);
        let runs = LazyCell::new(|| noisy(0).zip(noisy(1)));
        let declared = &self.sides.declarations.tensors;
        for declared in declared.iter().filter(|t| t.purpose == Purpose::Output) {
            let name = &declared.name;
            let (a, b) = (left.tensors.get(name)?, right.tensors.get(name)?);
            let of = |runs: &[Store], at: u64| -> Vec<Option<Scalar>> {
                runs.iter().map(|run| run.tensors.get(name)?.get(at)).collect()
            };
            let unlike = |at: &u64| match (a.get(*at), b.get(*at)) {
                (Some(a), Some(b)) if a == b => false,
                (Some(a), Some(b)) if self.exact > Exactness::Bitwise => {
                    runs.as_ref().is_some_and(|(lefts, rights)| {
                        !may_be(a, b, &of(lefts, *at), &of(rights, *at))
                    })
                }
                (a, b) => a.is_some() || b.is_some(),
            };
            let Some(at) = (0..a.len().max(b.len())).find(unlike) else { continue };
            let value =
                |t: &Tensor| t.get(at).map_or_else(|| "missing".to_owned(), |x| x.to_string());
            return Some(Difference {
                tensor: declared.name.clone(),
                index: a.index(at),
                left: value(a),
                right: value(b),
                values: true,
            });
        }
        None
    }

    /// Runs a side with noise in the last digits of its results; `None` if it is no term, or computes what is no real
    /// number, so that nothing is known about its roundings.
    fn noisy(&self, side: usize, store: &Store, steps: u64) -> Option<Vec<Store>> {
        let term = self.terms[side].as_ref()?;
        let run = |seed: u64| {
            let run = Interpreter::of(term.clone(), store.clone()).with_step_limit(steps);
            let mut run = run.with_noise(seed, true);
            run.run(run.root()).ok()?;
            Some(run.into_store())
        };
        RUNS.map(run).collect()
    }
}

/// Returns the store after a DLC program has run on the simulator, for a limited number of cycles.
pub fn store_after(
    program: &Program,
    machine: &Machine,
    store: &Store,
    max_cycles: u64,
) -> Result<Store, Failure> {
    let missing = |name: &String| Failure::Fault(format!("there is no `{name}`"));
    let tensor = |name: &String| store.tensors.get(name).cloned().ok_or_else(|| missing(name));
    let size = |name: &String| store.sizes.get(name).copied().ok_or_else(|| missing(name));
    let tensors = program.tensors.iter().map(|t| tensor(&t.name)).collect::<Result<_, _>>()?;
    let sizes = program.sizes.iter().map(size).collect::<Result<_, _>>()?;
    let options = ember_sim::Options { max_cycles, ..ember_sim::Options::default() };
    match ember_sim::run(program, machine, Bindings { tensors, sizes }, options) {
        Ok(outcome) => {
            let mut after = store.clone();
            for (declared, tensor) in program.tensors.iter().zip(outcome.tensors) {
                after.tensors.insert(declared.name.clone(), tensor);
            }
            Ok(after)
        }
        Err(SimError::Cycles { .. } | SimError::Limit { .. }) => Err(Failure::Limit),
        Err(error) => Err(Failure::Fault(error.to_string())),
    }
}
