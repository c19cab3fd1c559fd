//! Cases: a store and an environment in which the left side of an instance has a meaning.

use super::Refutation;
use super::compare::{Alike, LOWERED_STEPS, Meaning, Memory, STEPS, meaning};
use super::instance::Instance;
use super::rounding;
use egg::Id;
use ember_interpret::{Error, Store};
use ember_language::rules::Kind;
use fastrand::Rng;

/// A store, an environment, and the meaning of the left side there.
pub(super) struct Case {
    pub store: Store,
    /// The values of free variables.
    pub environment: Vec<(Id, i64)>,
    pub memory: Memory,
    pub left: Meaning,
}

impl Case {
    /// Creates a case; `None` if the left side has no meaning.
    pub fn new(
        instance: &Instance,
        store: Store,
        environment: Vec<(Id, i64)>,
        memory: Memory,
    ) -> Option<Case> {
        Case::on(instance, &store, &environment, memory).ok()
    }

    fn on(
        instance: &Instance,
        store: &Store,
        environment: &[(Id, i64)],
        memory: Memory,
    ) -> Result<Case, Error> {
        let left = meaning(instance, instance.lhs, store, environment, (memory, STEPS))?;
        let (store, environment) = (store.clone(), environment.to_vec());
        Ok(Case { store, environment, memory, left })
    }

    /// Creates a random case; `tame` restricts numbers to plain ones.
    pub fn random(instance: &Instance, rng: &mut Rng, tame: bool) -> Option<Case> {
        let store = instance.world.store(rng, &instance.tensors(), tame);
        let values = environment(instance, rng, &store, Memory::Bounded)?;
        match Case::on(instance, &store, &values, Memory::Bounded) {
            Err(Error::OutOfBounds { .. }) => {
                // On open memory, more bounds of variables have a value.
                let values = environment(instance, rng, &store, Memory::Open)?;
                Case::on(instance, &store, &values, Memory::Open).ok()
            }
            case => case.ok(),
        }
    }

    /// Creates a case in which symbolic extents may be as large as any, if an instance of a value depends on them and
    /// reads no elements.
    pub fn huge(instance: &Instance, rng: &mut Rng, numbers: &[i64]) -> Option<Case> {
        if instance.kind != Kind::Value || !instance.measures() || instance.reads(instance.lhs) {
            return None;
        }
        let store = instance.world.huge(rng, &instance.tensors(), numbers)?;
        let values = environment(instance, rng, &store, Memory::Bounded)?;
        Case::new(instance, store, values, Memory::Bounded)
    }

    /// Compares the meaning of the right side with the meaning of the left side.
    pub fn compare(
        &self,
        instance: &Instance,
        rhs: Id,
        alike: Alike,
    ) -> Result<(), Box<Refutation>> {
        let limits = (self.memory, LOWERED_STEPS);
        let right = meaning(instance, rhs, &self.store, &self.environment, limits);
        // Loops over the greatest numbers may take longer in another order, which says nothing of their results.
        if let Err(Error::StepLimit(_)) = right {
            return Ok(());
        }
        let within = |right: &Meaning| {
            alike == Alike::Within && rounding::may_differ(instance, rhs, self, right)
        };
        match &right {
            Ok(found) if within(found) => Ok(()),
            _ => Refutation::judge(instance, rhs, self, right),
        }
    }
}

/// Chooses values of all variables of an instance; `None` if it mentions one that has none.
///
/// Variables that are bound inside have a value outside as well: if facts show that a term does not depend on a variable
/// (for example, because it has a single value), the term may occur outside of its loop.
fn environment(
    instance: &Instance,
    rng: &mut Rng,
    store: &Store,
    memory: Memory,
) -> Option<Vec<(Id, i64)>> {
    let mut interpreter = memory.of(instance.interpreter(store).with_step_limit(STEPS));
    let mut environment = Vec::new();
    let mentioned = instance.mentioned([instance.lhs; 2]);
    for variable in instance.variables() {
        let range = interpreter.values_of(variable).ok().filter(|(_, count, _)| *count > 0);
        let Some((lo, count, step)) = range else {
            // A variable of an empty range has no value in any environment.
            if mentioned.contains(&variable) {
                return None;
            }
            continue;
        };
        let value = lo.wrapping_add(step.wrapping_mul(rng.u64(0..count) as i64));
        interpreter.bind(variable, value).ok()?;
        environment.push((variable, value));
    }
    Some(environment)
}
