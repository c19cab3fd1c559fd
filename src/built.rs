//! A model from a file, compiled on arrays in memory, and its program as something to call: what bindings to other
//! languages are made of.

use crate::cli;
use crate::compiler::Error;
use crate::job::{self, Done, Scope};
use crate::native;
use crate::report::Report;
use crate::shipped::{self, Shipped};
use crate::single::{self, Ran};
use clap::ValueEnum;
use ember_compile::machines;
use ember_compile::models;
use ember_compile::pipeline::{self, Arrays, Inputs, Options};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::rules::Exactness;
use ember_model::Parameter;
use ember_sim::CoreKind;
use ember_targets::print::print;
use ember_targets::tensor::Tensor;
use ember_targets::verify::Verified;
use ember_tools::progress::Line;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub use crate::native::{Argument, Callable, Number, Output, Place, Sorted, Step};

/// The settings of a compilation.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Folders and files of rules; `default` stands for the rules that come with this crate.
    pub rules: Vec<PathBuf>,
    /// The name of a machine, or the file that describes it.
    pub target: String,
    /// The schedule.
    pub schedule: String,
    /// The least exact rules that may run: `bitwise`, `reassoc` or `approx`.
    pub exact: String,
    /// The seed of data that is not given.
    pub seed: Option<u64>,
    /// True to compile and run the programs of the other schedules, too, for comparison.
    pub compare: bool,
    /// The threads of a program for this machine.
    pub threads: u32,
}

impl Default for Settings {
    /// The shipped rules, for the default machine, bit for bit, without comparison.
    fn default() -> Settings {
        let Options { target, schedule, exact, seed, threads, .. } = Options::default();
        let rules = vec![PathBuf::from(shipped::DEFAULT)];
        let exact = exact.name().to_owned();
        Settings { rules, target, schedule, exact, seed, compare: false, threads }
    }
}

impl Settings {
    fn options(&self, inputs: Option<BTreeMap<String, Tensor>>) -> Checked<Options> {
        let exact = [Exactness::Bitwise, Exactness::Reassoc, Exactness::Approx];
        let exact =
            exact.into_iter().find(|exact| exact.name() == self.exact).ok_or_else(|| {
                let message = format!("`{}` is no exactness", self.exact);
                vec![Diagnostic::global(message).with_help("use bitwise, reassoc or approx")]
            })?;
        Ok(Options {
            rules: self.rules.iter().cloned().map(shipped::resolved).collect(),
            target: self.target.clone(),
            schedule: self.schedule.clone(),
            exact,
            seed: self.seed,
            inputs: inputs.map(Arrays::Held),
            threads: self.threads,
            ..Options::default()
        })
    }
}

/// A compiled model.
pub struct Built {
    sources: Sources,
    inputs: Inputs,
    options: Options,
    report: Report,
    program: Verified,
}

/// Returns the operators of a PyTorch program in a file that have no counterpart, each by the name of its result and with
/// the reason. The program can be imported in parts between them.
///
/// # Errors
///
/// Fails if the file is no such program.
pub fn missing(path: &Path) -> Result<Vec<(String, String)>, Error> {
    let sources = Sources::new(Shipped::default());
    models::missing(&sources, path).map_err(|errors| Error::new(&sources, &errors))
}

/// Returns true if programs for a machine run in the simulator: it has an access unit. One without is a core like that of
/// this machine.
///
/// # Errors
///
/// Fails if there is no such machine.
pub fn is_simulated(target: &str) -> Result<bool, Error> {
    let mut sources = Sources::new(Shipped::default());
    let machine = machines::load(&mut sources, target);
    machine.map(|own| own.has_access_unit()).map_err(|errors| Error::new(&sources, &errors))
}

/// Compiles the model in a file to a library for this machine, as [`Built::compile`] does for a simulated one.
///
/// # Errors
///
/// Fails as [`Built::compile`] does, and without a C compiler.
pub fn callable(
    model: &Path,
    arrays: Option<BTreeMap<String, Tensor>>,
    settings: &Settings,
) -> Result<Callable, Error> {
    let mut sources = Sources::new(Shipped::default());
    let options = settings.options(arrays);
    let made = options.and_then(|options| {
        let inputs = pipeline::read(&mut sources, model, &options)?;
        native::callable(inputs, &options)
    });
    made.map_err(|errors| Error::new(&sources, &errors))
}

/// The result of a call.
#[derive(Clone, Debug)]
pub struct Called {
    /// The model's outputs, in its order.
    pub outputs: Vec<(String, Tensor)>,
    /// Cycles from the start to the last result.
    pub cycles: u64,
    /// Energy in joules.
    pub energy_j: f64,
}

impl Built {
    /// Compiles the model in a file: a model's text, or a program that a framework exported. The arrays have the names
    /// of the model's arguments or are called `input.0` and so on; without them, the data is that which the model
    /// describes. `line` shows the progress.
    ///
    /// # Errors
    ///
    /// Fails if a file or the arrays are not well-formed, or no program is found.
    pub fn compile(
        model: &Path,
        arrays: Option<BTreeMap<String, Tensor>>,
        settings: &Settings,
        line: &Line,
    ) -> Result<Built, Error> {
        let mut sources = Sources::new(Shipped::default());
        let built = Built::compiled(&mut sources, model, arrays, settings, line);
        let (inputs, options, done) = built.map_err(|errors| Error::new(&sources, &errors))?;
        let Done { report, best, .. } = done;
        Ok(Built { sources, inputs, options, report, program: best.program })
    }

    fn compiled(
        sources: &mut Sources,
        model: &Path,
        arrays: Option<BTreeMap<String, Tensor>>,
        settings: &Settings,
        line: &Line,
    ) -> Checked<(Inputs, Options, Done)> {
        let started = Instant::now();
        let options = settings.options(arrays)?;
        let inputs = pipeline::read(sources, model, &options)?;
        let scope = if settings.compare { Scope::Programs } else { Scope::Best };
        let read = (started, started.elapsed());
        let done = job::run(sources, &inputs, &options, scope, false, read, line)?;
        if let Some(wrong) = done.report.failed().next() {
            let what = wrong.mismatch.as_deref().unwrap_or("no output");
            return Err(vec![Diagnostic::global(format!("program `{}`: {what}", wrong.name))]);
        }
        Ok((inputs, options, done))
    }

    /// Returns the report as JSON, in the form of `ember-rewrite --json`.
    pub fn report(&self) -> String {
        // The report is plain data with string keys, so serialising it cannot fail.
        serde_json::to_string(&self.report).unwrap_or_default()
    }

    /// Returns the program as DLC text.
    pub fn dlc(&self) -> String {
        print(self.program.program())
    }

    /// Returns the program as text, in a form that `ember-rewrite --emit` names: its level, or MLIR.
    ///
    /// # Errors
    ///
    /// Fails if there is no such form, or the program cannot be printed in it.
    pub fn text(&self, form: &str) -> Result<String, Error> {
        let level = cli::Level::from_str(form, false).map_err(|_| {
            let forms =
                cli::Level::value_variants().iter().filter_map(ValueEnum::to_possible_value);
            let forms: Vec<String> = forms.map(|form| form.get_name().to_owned()).collect();
            let error = Diagnostic::global(format!("there is no form `{form}`"));
            let error = error.with_help(format!("the forms are {}", forms.join(", ")));
            Error::new(&self.sources, &[error])
        })?;
        let text = cli::emit(&self.inputs, &self.options, level, None);
        text.map_err(|errors| Error::new(&self.sources, &errors))
    }

    /// Returns the names of the model's arguments, in order.
    pub fn arguments(&self) -> Vec<String> {
        let arguments = self.inputs.model.arguments();
        arguments.into_iter().map(|Parameter { name, .. }| name).collect()
    }

    /// Runs the program in the simulator on other arrays, under names as in [`Built::compile`].
    ///
    /// # Errors
    ///
    /// Fails if the arrays do not fit the model, or the outputs are not those of the model's reference.
    pub fn call(&self, arrays: BTreeMap<String, Tensor>) -> Result<Called, Error> {
        self.called(arrays).map_err(|errors| Error::new(&self.sources, &errors))
    }

    fn called(&self, arrays: BTreeMap<String, Tensor>) -> Checked<Called> {
        let mut model = self.inputs.model.clone();
        model.give(arrays)?;
        let machine = &self.inputs.machine;
        let core = CoreKind::OutOfOrder;
        let ran = single::run((&model, machine), &self.options, &self.program, core, false)?;
        let Ran { record, mut outputs, .. } = ran;
        let wrong = |why: &str| vec![Diagnostic::global(format!("the program failed: {why}"))];
        if let Some(mismatch) = &record.mismatch {
            return Err(wrong(mismatch));
        }
        let cycles = record.cycles.ok_or_else(|| wrong("its run did not end"))?;
        let names = model.outputs().map(|output| output.name.clone());
        let outputs = names.filter_map(|name| {
            let output = model.as_result(&name, &outputs.remove(&name)?);
            Some((name, output))
        });
        let outputs = outputs.collect();
        Ok(Called { outputs, cycles, energy_j: record.energy_j })
    }
}
