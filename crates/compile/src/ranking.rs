//! The measures of programs on the data of one case. Many searches find the same program, and it runs once for all of
//! them.

use crate::pipeline::{Failure, NoProgram};
use ember_sim::{Outcome, SimError};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The measured time and energy of a program.
#[derive(Clone, Debug, Default)]
pub struct Measure {
    /// Cycles from the start to the last result.
    pub cycles: u64,
    /// Energy in joules.
    pub energy_j: f64,
}

/// The knowledge of a program's running time.
#[derive(Clone, Debug, Default)]
enum Known {
    /// It has not run.
    #[default]
    Nothing,
    /// It was stopped after so many cycles.
    Longer(u64),
    /// It ran to its end.
    Ended(Result<Measure, NoProgram>),
}

/// The measures by the text of programs.
#[derive(Debug, Default)]
pub(crate) struct Ranking {
    known: Mutex<FxHashMap<String, Arc<Mutex<Known>>>>,
}

impl Ranking {
    /// Returns the measure of a program that takes at most `limit` cycles. `run` runs it within that limit, unless the
    /// measure is known. A thread that asks for a program that another thread runs waits for the result.
    pub(crate) fn measure(
        &self,
        text: String,
        limit: u64,
        run: impl FnOnce() -> Result<Outcome, Failure>,
    ) -> Result<Measure, NoProgram> {
        let entry = Arc::clone(lock(&self.known).entry(text).or_default());
        let mut known = lock(&entry);
        if matches!(&*known, Known::Nothing) || matches!(&*known, Known::Longer(n) if *n < limit) {
            *known = match run() {
                Err(Failure::Run(SimError::Cycles { limit })) => Known::Longer(limit),
                Err(failure) => Known::Ended(Err(NoProgram::Run(failure))),
                Ok(outcome) => Known::Ended(Ok(Measure {
                    cycles: outcome.stats.cycles,
                    energy_j: outcome.stats.energy_j,
                })),
            };
        }
        match &*known {
            Known::Ended(Ok(measure)) if measure.cycles <= limit => Ok(measure.clone()),
            Known::Ended(Err(reason)) => Err(reason.clone()),
            _ => Err(NoProgram::Run(Failure::Run(SimError::Cycles { limit }))),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
