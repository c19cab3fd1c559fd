//! Samples of long data: windows of rows, on which programs are ranked in place of all rows.
//!
//! The windows have about equally much work. A program runs on one of them in each of some stretches of the data, drawn by a
//! lot that is the same for all programs, so that two programs are compared on the same windows; on twice as many until its
//! estimate is precise enough. What lies between is passed over: caches are as though it had run. The estimate for all rows
//! is that of the ratio of cycles to work, with its standard error for samples without replacement (Cochran, *Sampling
//! Techniques*, 3rd ed., 1977, chapter 6). A window with far more work than the others, such as a long row, always runs.
//!
//! A program starts in each window, which makes estimates a little too high. The standard error leaves that out.

use super::{Case, Failure, NoProgram};
use crate::ranking::Measure;
use crate::rows::{Accesses, Rows};
use ember_language::diagnostic::Diagnostic;
use ember_model::Model;
use ember_model::data::Instance;
use ember_sim::{Division, Options, Passed, SimError, Together, Values, Visit, run_passing};
use ember_targets::dlc::Program;
use ember_targets::machine::Machine;
use itertools::Itertools;
use rustc_hash::FxHashMap;
use siphasher::sip::SipHasher13;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use thiserror::Error;

/// The least bytes of rows in a window, those of the outputs and those looked up: with less, the start of a program is more
/// than a percent of its time.
const LEAST: u64 = 2 << 20;

/// The most windows.
const MOST: u64 = 256;

/// The fewest windows of data that is sampled.
const FEWEST: usize = 16;

/// The windows that a program first runs on, besides those that always run.
const FIRST: usize = 8;

/// The multiple of a window's least work from which on it always runs.
const HEAVY: u64 = 4;

/// The standard errors by which an estimate is above a limit when the program is given up.
const SURE: f64 = 3.0;

/// The multiple of their part of a limit that windows take when the program is given up.
const SLOW: f64 = 4.0;

/// The multiple of the last-level cache's lines that are accessed before a window: what was accessed before these is gone.
const REMEMBERED: u64 = 4;

/// The windows of some data.
pub(super) struct Sample {
    rows: Rows,
    /// The windows that always run.
    always: Vec<Window>,
    /// The others.
    others: Vec<Window>,
    /// The standard error that an estimate may have, as a part of it.
    error: f64,
    /// The estimates of programs, by their text.
    known: Mutex<FxHashMap<String, Estimate>>,
}

/// Some rows one after another.
#[derive(Clone)]
struct Window {
    rows: Range<u64>,
    /// The lookups of the rows, and one for each of them.
    work: u64,
}

/// A program to run on windows.
struct Subject<'a> {
    program: &'a Program,
    machine: &'a Machine,
    case: &'a Case,
    /// Its division into no parts yet.
    division: Division,
    accesses: Accesses<'a>,
}

/// The time and energy of a program for all rows, as estimated from some of them.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The estimate itself.
    pub measure: Measure,
    /// The standard error of the cycles, as a part of them.
    pub standard_error: f64,
    /// The windows that the program ran on.
    pub windows: usize,
    /// The part of all lookups and rows in them.
    pub part: f64,
}

/// The reason why programs are ranked on all data.
#[derive(Clone, Debug, Error)]
pub enum NoSample {
    /// Rows of outputs do not follow from inputs by themselves.
    #[error("{}", described(.0))]
    Dependent(Vec<Diagnostic>),
    /// A model looks up rows that it computes.
    #[error("the model looks up rows of what it computes")]
    Exchanged,
    /// Some rows have most of the work.
    #[error("the longest rows have {heavy} of {all} lookups and rows")]
    Heavy {
        /// The work in them.
        heavy: u64,
        /// The work in all rows.
        all: u64,
    },
    /// The data is short.
    #[error("its rows are {:.1} MB, and samples are taken of {:.1} MB or more", mega(*bytes), mega(LEAST * FEWEST as u64))]
    Short {
        /// The bytes of all rows.
        bytes: u64,
    },
}

/// Returns bytes in MB.
fn mega(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn described(errors: &[Diagnostic]) -> String {
    let described = |error: &Diagnostic| match &error.at {
        Some((_, label)) => format!("{}: {label}", error.message),
        None => error.message.clone(),
    };
    errors.iter().map(described).join("; ")
}

impl Sample {
    /// Divides data into windows for estimates with a standard error of at most `error`, as a part of them.
    pub(super) fn of(model: &Model, instance: &Instance, error: f64) -> Result<Sample, NoSample> {
        let rows = Rows::of(model, instance).map_err(NoSample::Dependent)?;
        if rows.exchange() {
            return Err(NoSample::Exchanged);
        }
        let all = rows.weight(&(0..rows.count()));
        let bytes = rows.bytes(model, instance).max(1);
        let least = (LEAST as f64 * all as f64 / bytes as f64).ceil() as u64;
        let least = least.max(all / MOST).max(all / rows.count().max(1));
        let (always, others): (Vec<Window>, Vec<Window>) =
            windows(&rows, least).partition(|window| window.work >= HEAVY * least);
        let heavy = work(&always);
        if heavy > all / 2 {
            return Err(NoSample::Heavy { heavy, all });
        }
        if others.len() < FEWEST {
            return Err(NoSample::Short { bytes });
        }
        Ok(Sample { rows, always, others, error, known: Mutex::default() })
    }

    /// Estimates what a program takes for all rows of the data; an error if that is more than `limit` cycles.
    ///
    /// `None` for a program that must run on all rows. One that does something with all rows before it does something else
    /// with them finds less in the caches than windows tell: it is at least as slow as in these.
    pub(super) fn estimate(
        &self,
        program: &Program,
        machine: &Machine,
        (case, text, limit): (&Case, &str, u64),
    ) -> Option<Result<Estimate, NoProgram>> {
        let division = self.rows.division(program)?;
        let longer = || NoProgram::Run(Failure::Run(SimError::Cycles { limit }));
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known().get(text).cloned();
        let accesses = Accesses::of(&self.rows, program, &case.instance);
        let subject = Subject { program, machine, case, division, accesses };
        let estimate = match before.map_or_else(|| self.measured(&subject, limit), Ok) {
            Ok(estimate) => estimate,
            // It may be stopped before the limit, by which others know why it has no measure.
            Err(why) if why.takes_more_than(0) => return Some(Err(longer())),
            Err(why) => return Some(Err(why)),
        };
        known().entry(text.to_owned()).or_insert_with(|| estimate.clone());
        match self.rows.in_turn(program) {
            _ if estimate.measure.cycles > limit => Some(Err(longer())),
            true => Some(Ok(estimate)),
            false => None,
        }
    }

    /// Runs a program on more and more windows until its estimate is precise enough; an error if it is surely above a limit.
    fn measured(&self, subject: &Subject<'_>, limit: u64) -> Result<Estimate, NoProgram> {
        let mut taken = FIRST;
        loop {
            let drawn = self.drawn(taken, subject.case.instance.seed);
            let of_all = self.always.iter().chain(&drawn);
            let windows: Vec<&Window> = of_all.sorted_by_key(|w| w.rows.start).collect();
            let part = windows.iter().map(|window| window.work).sum::<u64>() as f64
                / (work(&self.always) + work(&self.others)) as f64;
            let ran = self.run(subject, &windows, (part, limit))?;
            let estimate = self.total(&windows, &ran, (drawn.len(), part));
            let least = estimate.measure.cycles as f64 * (1.0 - SURE * estimate.standard_error);
            if least > limit as f64 {
                return Err(NoProgram::Run(Failure::Run(SimError::Cycles { limit })));
            }
            if estimate.standard_error <= self.error || taken == self.others.len() {
                return Ok(estimate);
            }
            taken = (2 * taken).min(self.others.len());
        }
    }

    /// Runs a program on windows, which are a part of all rows, and passes over the rows between them.
    fn run(
        &self,
        subject: &Subject<'_>,
        windows: &[&Window],
        (part, limit): (f64, u64),
    ) -> Result<Together, NoProgram> {
        let Subject { program, machine, case, division, accesses } = subject;
        let max_cycles = ((limit as f64 * part * SLOW) as u64).min(case.cycle_limit);
        let options = Options { max_cycles, values: Values::Integers, ..Options::default() };
        let parts: Vec<Range<u64>> = windows.iter().map(|window| window.rows.clone()).collect();
        let own = vec![(0..parts.len()).collect()];
        let division = Division { parts: parts.clone(), own, ..division.clone() };
        let remembered = REMEMBERED * machine.llc_share() / machine.dram.line_bytes;
        let passed = |part: usize, visit: &mut Visit<'_>| {
            let since = part.checked_sub(1).map_or(0, |before| parts[before].end);
            let end = parts.get(part).map_or(self.rows.count(), |rows| rows.start);
            accesses.each(self.rows.last(since..end, remembered), visit);
        };
        let passed = Passed { accesses: &passed, part };
        let data = case.bindings(program).map_err(NoProgram::Run)?;
        let ran = run_passing(program, machine, data, options, (division, passed));
        ran.map_err(|error| NoProgram::Run(Failure::Run(error)))
    }

    /// Draws one window from each of so many stretches of the data.
    fn drawn(&self, stretches: usize, seed: u64) -> Vec<Window> {
        let at = |stretch: usize| stretch * self.others.len() / stretches;
        let one = |stretch: usize| {
            let windows = &self.others[at(stretch)..at(stretch + 1)];
            let mut lot = SipHasher13::new();
            (seed, stretch, stretches).hash(&mut lot);
            windows[(lot.finish() % windows.len() as u64) as usize].clone()
        };
        (0..stretches).map(one).collect()
    }

    /// Returns the estimate for all rows from the cycles in windows, of which so many are drawn.
    fn total(&self, windows: &[&Window], ran: &Together, (drawn, part): (usize, f64)) -> Estimate {
        let always = |window: &Window| self.always.iter().any(|own| own.rows == window.rows);
        let taken = windows.iter().zip(&ran.parts);
        let (known, taken): (Vec<_>, Vec<_>) = taken
            .map(|(window, cycles)| (always(window), window.work as f64, *cycles as f64))
            .partition(|(always, ..)| *always);
        let sum = |of: &[(bool, f64, f64)]| -> (f64, f64) {
            (of.iter().map(|(_, work, _)| work).sum(), of.iter().map(|(.., cycles)| cycles).sum())
        };
        let ((_, known), (taken_work, taken_cycles)) = (sum(&known), sum(&taken));
        let (n, work) = (drawn as f64, work(&self.others) as f64);
        let ratio = taken_cycles / taken_work;
        let off = |(_, work, cycles): &(bool, f64, f64)| (cycles - ratio * work).powi(2);
        let variance = taken.iter().map(off).sum::<f64>() / (n - 1.0).max(1.0);
        let left_out = 1.0 - n / self.others.len() as f64;
        let error = (variance / n * left_out).sqrt() * work / (taken_work / n);
        let stats = &ran.outcome.stats;
        let written_back = stats.cycles.saturating_sub(ran.parts.iter().sum());
        let cycles = (known + ratio * work + written_back as f64).max(1.0);
        let energy_j = stats.energy_j * cycles / (known + taken_cycles).max(1.0);
        Estimate {
            measure: Measure { cycles: cycles as u64, energy_j, sampled: true },
            standard_error: error / cycles,
            windows: windows.len(),
            part,
        }
    }
}

fn work(windows: &[Window]) -> u64 {
    windows.iter().map(|window| window.work).sum()
}

/// Divides rows into windows of at least so much work, but for the last.
fn windows(rows: &Rows, least: u64) -> impl Iterator<Item = Window> {
    let mut windows: Vec<Window> = Vec::new();
    for (row, weight) in (0..).zip(rows.weights()) {
        match windows.last_mut().filter(|window| window.work < least) {
            Some(window) => {
                window.rows.end = row + 1;
                window.work += weight;
            }
            None => windows.push(Window { rows: row..row + 1, work: *weight }),
        }
    }
    windows.into_iter()
}
