//! The evaluation of a point of a model's parameters: a program is compiled, and simulated or run on this machine.

use super::evaluate::Outcome;
use crate::job::{self, Scope, reason};
use crate::native::{self, Race};
use ember_compile::pipeline::{self, Inputs, Options};
use ember_language::diagnostic::{Checked, Sources};
use ember_language::rules::Settings;
use ember_tools::progress::Line;
use std::path::Path;
use std::time::Instant;

/// The name of the result of a simulated program.
const CYCLES: &str = "cycles";

/// The name of the result of a program that runs on this machine: its median time as a share of that of the program of
/// the defaults, which runs in turn with it, so that what disturbs the machine disturbs both.
const RELATIVE: &str = "time / default";

/// A model whose parameters are tuned.
pub struct Subject<'a> {
    model: &'a Path,
    options: Options,
    /// The programs that run on this machine; `None` if they are simulated.
    race: Option<Race>,
}

impl<'a> Subject<'a> {
    /// Prepares the evaluation, and compiles the program of the defaults if it runs on this machine.
    ///
    /// # Errors
    ///
    /// Fails if that program does not compile or run.
    pub fn new(model: &'a Path, inputs: &Inputs, options: Options) -> Checked<Subject<'a>> {
        let race = match inputs.machine.has_access_unit() {
            true => None,
            false => Some(Race::new(inputs, &options)?),
        };
        Ok(Subject { model, options, race })
    }

    /// Returns the name of the result.
    pub fn objective(inputs: &Inputs) -> &'static str {
        if inputs.machine.has_access_unit() { CYCLES } else { RELATIVE }
    }

    /// Returns the result of the defaults, or the reason why there is none.
    ///
    /// # Errors
    ///
    /// Fails as [`evaluate`](Subject::evaluate) does.
    pub fn default(&self, sources: &mut Sources) -> Checked<Outcome> {
        match self.race {
            Some(_) => Ok(Ok(1.0)),
            None => self.evaluate(sources, Settings::new()),
        }
    }

    /// Returns the result of the model with these settings besides those of the options, or the reason why there is none.
    ///
    /// # Errors
    ///
    /// Fails if the inputs cannot be read any more.
    pub fn evaluate(&self, sources: &mut Sources, settings: Settings) -> Checked<Outcome> {
        let started = Instant::now();
        let mut options = self.options.clone();
        options.settings.extend(settings);
        let mut inputs = pipeline::read(sources, self.model, &options)?;
        native::complete(&mut inputs.machine)?;
        if let Some(race) = &self.race {
            return Ok(race.relative(&inputs, &options));
        }
        let (read, line) = ((started, started.elapsed()), Line::hidden());
        let done = job::run(sources, &inputs, &options, Scope::Best, false, read, &line);
        Ok(match done {
            Ok(done) => {
                let record = done.report.best.record;
                let mismatch = record.mismatch.filter(|_| !record.unjudged && !record.valid);
                match (mismatch, record.cycles) {
                    (None, Some(cycles)) => Ok(cycles as f64),
                    (why, _) => Err(why.unwrap_or_else(|| "the run did not end".to_owned())),
                }
            }
            Err(errors) => Err(errors.first().map_or("", reason).to_owned()),
        })
    }
}
