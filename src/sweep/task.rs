//! The work for one point. It refers to nothing but the files that it comes with and those inside this crate, so that it
//! can be done anywhere.

use super::files::Reach;
use super::parameters::{self, DERIVED};
use super::row::Result;
use crate::job::{self, Scope, reason};
use crate::shipped;
use ember_compile::pipeline::{self, Options};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::rules::Exactness;
use ember_tools::progress::Line;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The settings of a point.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub struct Task {
    /// The version of the compiler that the sweep was planned with.
    pub version: String,
    /// The path of the model.
    pub model: String,
    /// The machine.
    pub target: String,
    /// The numbers of the machine that are replaced, as in TOML.
    pub parameters: Vec<(String, String)>,
    /// The schedule, or the name of a hand-written program of the model.
    pub schedule: String,
    /// The least exact rules that may run.
    pub exact: String,
    /// The seed of the data.
    pub seed: u64,
    /// Folders and files of rules.
    pub rules: Vec<String>,
}

impl Task {
    /// Compiles and simulates the point. A point without a program has a reason for it.
    ///
    /// # Errors
    ///
    /// Fails if the sweep was planned by another version of the compiler.
    pub fn run(&self, reach: Reach) -> Checked<Result> {
        let version = shipped::version();
        if self.version != version {
            let message =
                format!("the sweep was planned by version {}, this is {version}", self.version);
            let error = Diagnostic::global(message);
            return Err(vec![error.with_help("install the same version everywhere")]);
        }
        Ok(self.compile(reach).unwrap_or_else(Result::none))
    }

    /// Returns the result, or the reason why there is none.
    fn compile(&self, reach: Reach) -> std::result::Result<Result, String> {
        let started = Instant::now();
        let mut sources = Sources::new(reach);
        parameters::add(&mut sources, &self.target, &self.parameters);
        let options = Options {
            rules: self.rules.iter().map(PathBuf::from).map(shipped::resolved).collect(),
            target: DERIVED.to_owned(),
            schedule: self.schedule.clone(),
            exact: exactness(&self.exact)
                .map_err(|errors| first(&errors, |error| &error.message))?,
            seed: Some(self.seed),
            ..Options::default()
        };
        let inputs = pipeline::read(&mut sources, Path::new(&self.model), &options);
        let inputs = inputs.map_err(|errors| first(&errors, |error| &error.message))?;
        if inputs.book.schedule(&self.schedule).is_none() {
            let ran = job::by_hand(&mut sources, &inputs, &options, &self.schedule);
            let (record, bound) = ran.map_err(|errors| first(&errors, |error| &error.message))?;
            return Ok(Result::by_hand(&record, &bound));
        }
        let read = (started, started.elapsed());
        let line = Line::hidden();
        let done = job::run(&mut sources, &inputs, &options, Scope::Best, false, read, &line);
        let done = done.map_err(|errors| first(&errors, reason))?;
        Ok(Result::of(&done.report))
    }
}

/// Returns what the first error says.
fn first(errors: &[Diagnostic], says: impl Fn(&Diagnostic) -> &str) -> String {
    errors.first().map(says).unwrap_or_default().to_owned()
}

/// Returns the exactness of a name.
pub(super) fn exactness(name: &str) -> Checked<Exactness> {
    Exactness::parse(name).ok_or_else(|| {
        let error = Diagnostic::global(format!("`{name}` is no exactness"));
        vec![error.with_help("use bitwise, reassoc or approx")]
    })
}
