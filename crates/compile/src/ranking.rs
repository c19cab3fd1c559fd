//! The measures of programs on the data of one case. Many searches find the same program, and it runs once for all of
//! them.

use crate::pipeline::Failure;
use ember_sim::{SimError, Stats};
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The measured time and energy of a program.
#[derive(Clone, Debug, Default)]
pub struct Measure {
    /// Cycles from the start to the last result.
    pub cycles: u64,
    /// Energy in joules.
    pub energy_j: f64,
    /// True if both are estimates from samples.
    pub sampled: bool,
}

impl Measure {
    /// Returns the mean of measures.
    pub(crate) fn mean(measures: &[Measure]) -> Measure {
        let count = measures.len().max(1);
        let energy: f64 = measures.iter().map(|measure| measure.energy_j).sum();
        Measure {
            cycles: measures.iter().map(|measure| measure.cycles).sum::<u64>() / count as u64,
            energy_j: energy / count as f64,
            sampled: measures.iter().any(|measure| measure.sampled),
        }
    }
}

/// A run that came to its end.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    /// The counts of the run.
    pub(crate) stats: Stats,
    /// True if all tensors that the program writes are the reference's at the end.
    pub(crate) expected: bool,
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
    Ended(Box<Result<Ended, Failure>>),
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
        text: &str,
        limit: u64,
        run: impl FnOnce() -> Result<Ended, Failure>,
    ) -> Result<Measure, Failure> {
        let entry = Arc::clone(lock(&self.known).entry(text.to_owned()).or_default());
        let mut known = lock(&entry);
        if matches!(&*known, Known::Nothing) || matches!(&*known, Known::Longer(n) if *n < limit) {
            *known = match run() {
                Err(Failure::Run(SimError::Cycles { limit })) => Known::Longer(limit),
                ended => Known::Ended(Box::new(ended)),
            };
        }
        if let Known::Ended(end) = &*known {
            let Ended { stats, .. } = end.as_ref().as_ref().map_err(Failure::clone)?;
            if stats.cycles <= limit {
                let (cycles, energy_j) = (stats.cycles, stats.energy_j);
                return Ok(Measure { cycles, energy_j, sampled: false });
            }
        }
        Err(Failure::Run(SimError::Cycles { limit }))
    }

    /// Returns the counts of a program's run if it came to its end with the reference's results.
    pub(crate) fn expected(&self, text: &str) -> Option<Stats> {
        let entry = Arc::clone(lock(&self.known).get(text)?);
        let known = lock(&entry);
        let Known::Ended(end) = &*known else { return None };
        let ended = end.as_ref().as_ref().ok()?;
        ended.expected.then(|| ended.stats.clone())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
