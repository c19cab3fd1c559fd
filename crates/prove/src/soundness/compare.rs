//! Interprets and compares both sides of an instance.

use super::case::Case;
use super::instance::Instance;
use crate::random::SCRATCH;
use egg::Id;
use ember_interpret::{Error, Interpreter, Phases, Store, Value};
use ember_language::rules::Kind;
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::Scalar;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The number of evaluated nodes after which a left side is considered to have no meaning.
pub(super) const STEPS: u64 = 8_000;

/// The limit for a right side, which may need many steps for one step of the left side.
pub(super) const LOWERED_STEPS: u64 = 20 * STEPS;

/// The seed of what memory holds beyond the extents of tensors.
const SEED: u64 = 7;

/// The meaning of a side in one store and one environment.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    Value(Value),
    /// Each place, with true if its tensor is frozen.
    Places(Vec<Option<(String, u64, bool)>>),
    /// The store, on open memory the elements that were changed beyond the extents, and how the run fits between
    /// others.
    Store(Store, BTreeMap<(String, u64), Scalar>, Option<Phases>),
}

/// The memory that a side runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// An index beyond an extent is a fault.
    Bounded,
    /// There is an element for each index.
    Open,
}

impl Memory {
    /// Returns an interpreter on this memory.
    pub fn of(self, interpreter: Interpreter) -> Interpreter {
        match self {
            Memory::Bounded => interpreter,
            Memory::Open => interpreter.on_open_memory(SEED),
        }
    }
}

/// The required precision of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alike {
    Bitwise,
    Within,
}

/// Evaluates a term of an instance.
pub(super) fn meaning(
    instance: &Instance,
    term: Id,
    store: &Store,
    environment: &[(Id, i64)],
    (memory, steps): (Memory, u64),
) -> Result<Meaning, Error> {
    evaluated(
        instance,
        term,
        environment,
        memory,
        instance.interpreter(store).with_step_limit(steps),
    )
}

/// Evaluates a term of an instance with noise in the last digits. The left side must stay within the real numbers.
pub(super) fn noisy_meaning(
    instance: &Instance,
    term: Id,
    case: &Case,
    seed: u64,
) -> Result<Meaning, Error> {
    let interpreter = instance.interpreter(&case.store).with_step_limit(LOWERED_STEPS);
    let interpreter = interpreter.with_noise(seed, term == instance.lhs);
    evaluated(instance, term, &case.environment, case.memory, interpreter)
}

fn evaluated(
    instance: &Instance,
    term: Id,
    environment: &[(Id, i64)],
    memory: Memory,
    interpreter: Interpreter,
) -> Result<Meaning, Error> {
    let mut interpreter = memory.of(interpreter);
    for (variable, value) in environment {
        interpreter.bind(*variable, *value)?;
    }
    match instance.kind {
        Kind::Value => interpreter.eval(term).map(Meaning::Value),
        Kind::Tensor => {
            let elements = interpreter.elements(term)?.into_iter().map(Some).collect();
            Ok(Meaning::Value(Value::Lanes(elements)))
        }
        Kind::Address => {
            let places = interpreter.places(term)?;
            let owned = |(name, at, frozen): (&str, u64, bool)| (name.to_string(), at, frozen);
            Ok(Meaning::Places(places.into_iter().map(|p| p.map(owned)).collect()))
        }
        Kind::Statement => {
            interpreter.run(term)?;
            let (mut beyond, mut phases) = (interpreter.beyond(), interpreter.phases());
            let mut store = interpreter.into_store();
            store.tensors.retain(|name, _| !name.starts_with(SCRATCH));
            beyond.retain(|(name, _), _| !name.starts_with(SCRATCH));
            if let Some(phases) = &mut phases {
                phases.retain(|name| !name.starts_with(SCRATCH));
            }
            Ok(Meaning::Store(store, beyond, phases))
        }
        _ => Err(Error::Sort {
            expected: "something that has a meaning",
            found: instance.sort.to_string(),
        }),
    }
}

impl Meaning {
    /// Returns true if it has no active lane, so that no operation was applied.
    pub fn is_void(&self) -> bool {
        match self {
            Meaning::Value(Value::Lanes(lanes)) => lanes.iter().all(Option::is_none),
            Meaning::Places(places) => places.iter().all(Option::is_none),
            Meaning::Value(Value::Scalar(_)) | Meaning::Store(..) => false,
        }
    }

    /// Returns true if the right side agrees with this meaning of the left side. If a lane of a value is inactive on
    /// the left, the right may have anything there.
    pub fn allows(&self, right: &Meaning) -> bool {
        match (self, right) {
            (Meaning::Value(Value::Scalar(a)), Meaning::Value(Value::Scalar(b))) => a == b,
            (Meaning::Value(Value::Lanes(a)), Meaning::Value(Value::Lanes(b))) => {
                let lane = |(a, b): (&Option<Scalar>, &Option<Scalar>)| match (a, b) {
                    (Some(a), Some(b)) => a == b,
                    (a, _) => a.is_none(),
                };
                a.len() == b.len() && a.iter().zip(b).all(lane)
            }
            // The right side must not store to a place that the left side does not store to.
            (Meaning::Places(a), Meaning::Places(b)) => a == b,
            (Meaning::Store(a, x, own), Meaning::Store(b, y, other)) => {
                x == y && a.difference(b).is_none() && fits(other.as_ref(), own.as_ref())
            }
            _ => false,
        }
    }

    /// Returns all numbers of the meaning in a fixed order, `None` for an inactive lane.
    pub fn numbers(&self) -> Vec<Option<Scalar>> {
        match self {
            Meaning::Value(Value::Scalar(x)) => vec![Some(*x)],
            Meaning::Value(Value::Lanes(lanes)) => lanes.clone(),
            Meaning::Places(_) => Vec::new(),
            Meaning::Store(store, beyond, _) => {
                let elements =
                    |tensor: &Tensor| (0..tensor.len()).map(|at| tensor.get(at)).collect();
                let inside = store.tensors.values().flat_map::<Vec<Option<Scalar>>, _>(elements);
                inside.chain(beyond.values().map(|x| Some(*x))).collect()
            }
        }
    }

    /// Returns true if two meanings differ in their numbers alone.
    pub fn is_like(&self, other: &Meaning) -> bool {
        let shape = |tensor: (&String, &Tensor)| (tensor.0.clone(), tensor.1.dtype, tensor.1.len());
        match (self, other) {
            (Meaning::Value(Value::Scalar(_)), Meaning::Value(Value::Scalar(_))) => true,
            (Meaning::Value(Value::Lanes(a)), Meaning::Value(Value::Lanes(b))) => {
                a.len() == b.len()
            }
            (Meaning::Places(a), Meaning::Places(b)) => a == b,
            (Meaning::Store(a, x, own), Meaning::Store(b, y, other)) => {
                x.keys().eq(y.keys())
                    && a.tensors.iter().map(shape).eq(b.tensors.iter().map(shape))
                    && fits(other.as_ref(), own.as_ref())
            }
            _ => false,
        }
    }

    /// Returns the first difference between this left side and the right side as text, for each side.
    pub fn beside(&self, right: &Meaning) -> (String, String) {
        if let (Meaning::Store(a, x, own), Meaning::Store(b, y, other)) = (self, right)
            && a.difference(b).is_none()
            && x == y
            && let (Some(own), Some(other)) = (own, other)
        {
            return (phases_text(own), phases_text(other));
        }
        if let (Meaning::Store(a, ..), Meaning::Store(b, ..)) = (self, right)
            && let Some((name, at)) = a.difference(b)
        {
            let element = |store: &Store| {
                let element = store.tensors.get(name).and_then(|t| t.get(at));
                let element = element.map_or("missing".to_string(), |x| x.to_string());
                format!("element {at} of {name} is {element}")
            };
            return (element(a), element(b));
        }
        (self.to_string(), right.to_string())
    }
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Meaning::Value(value) => value.fmt(f),
            Meaning::Places(places) => {
                for place in places {
                    match place {
                        Some((name, at, frozen)) => {
                            write!(f, "{}{name}[{at}] ", if *frozen { "frozen " } else { "" })?;
                        }
                        None => f.write_str("_ ")?,
                    }
                }
                Ok(())
            }
            Meaning::Store(store, beyond, _) => {
                f.write_str(&store_text(store))?;
                beyond.iter().try_for_each(|((name, _), x)| writeln!(f, "{name}, beyond = {x}"))
            }
        }
    }
}

/// Returns true if a run may stand wherever another does, as far as both have phases.
fn fits(own: Option<&Phases>, other: Option<&Phases>) -> bool {
    own.zip(other).is_none_or(|(own, other)| own.fits(other))
}

/// Prints what matters to frozen reads of what stands before and behind a statement.
fn phases_text(phases: &Phases) -> String {
    let listed = |[written, frozen]: &[BTreeSet<String>; 2]| {
        let names = |names: &BTreeSet<String>| match names.len() {
            0 => "nothing".to_owned(),
            _ => names.iter().map(String::as_str).collect::<Vec<_>>().join(" "),
        };
        format!("writes {} and reads {} as frozen", names(written), names(frozen))
    };
    match phases.barrier {
        false => format!("without a barrier, it {}", listed(&phases.last)),
        true => format!(
            "before its first barrier, it {}; behind its last, it {}",
            listed(&phases.first),
            listed(&phases.last)
        ),
    }
}

/// Prints the sizes and tensors of a store, one per line.
pub(super) fn store_text(store: &Store) -> String {
    let mut text = String::new();
    for (name, n) in &store.sizes {
        text.push_str(&format!("{name} = {n}\n"));
    }
    for (name, tensor) in &store.tensors {
        // What is computed where it is read may be too large to be shown.
        let shown = if matches!(tensor.data, Data::Hashed(_)) { 0 } else { tensor.len() };
        let elements: Vec<String> =
            (0..shown).filter_map(|i| tensor.get(i)).map(|x| x.to_string()).collect();
        text.push_str(&format!("{name} {:?} = {}\n", tensor.shape, elements.join(" ")));
    }
    text
}
