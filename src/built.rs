//! A model or kernel from a file, compiled on arrays in memory, and its program as something to call: what bindings to other
//! languages are made of.

use crate::cli;
use crate::compiler::Error;
use crate::job::{self, Done, Scope};
use crate::native;
use crate::report::{KernelReport, Record, Report, RunReport};
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
use ember_tools::kernel::{self, Data, Kernel};
use ember_tools::progress::Line;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub use crate::native::{Argument, Callable, Computed, Made, MadeBy, Number, Output, Place, Step};

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

/// A compiled model or kernel.
pub struct Built {
    sources: Sources,
    options: Options,
    of: Of,
    program: Verified,
}

/// The model or kernel that a program was compiled from, and its report.
enum Of {
    Model(Box<(Inputs, Report)>),
    Kernel(Box<(Kernel, Data, KernelReport)>),
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
    /// Compiles the model in a file: a model's text, or a program that a framework exported, or a kernel in MLIR text. The
    /// arrays have the names
    /// of the model's arguments or are called `input.0` and so on; without them, the data is that which the model
    /// describes, or random. `line` shows the progress.
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
        let built = match models::is_kernel(&sources, model) {
            true => Built::kernel(&mut sources, model, arrays, settings),
            false => Built::model(&mut sources, model, arrays, settings, line),
        };
        let (options, of, program) = built.map_err(|errors| Error::new(&sources, &errors))?;
        Ok(Built { sources, options, of, program })
    }

    /// Compiles a kernel for the arrays, or for random data.
    fn kernel(
        sources: &mut Sources,
        path: &Path,
        arrays: Option<BTreeMap<String, Tensor>>,
        settings: &Settings,
    ) -> Checked<(Options, Of, Verified)> {
        let options = settings.options(arrays)?;
        let kernel = kernel::read(sources, path, &options)?;
        let data = kernel.data(sources, &options)?;
        let program = kernel.compiled(&options, &data)?;
        let ran = kernel.run(&program, &data, &options, CoreKind::OutOfOrder)?;
        let record = Record::of_kernel(&kernel, &program, ran, options.exact);
        if let Some(wrong) = &record.mismatch {
            return Err(vec![Diagnostic::global(format!("program `{}`: {wrong}", record.name))]);
        }
        let best = RunReport {
            record: record.clone(),
            program: print(program.program()),
            preparation: Vec::new(),
            expected: Vec::new(),
        };
        let report = KernelReport {
            model: kernel.name().to_owned(),
            target: kernel.machine.name.clone(),
            clock_ghz: kernel.machine.core.clock_ghz,
            programs: vec![record],
            best,
        };
        Ok((options, Of::Kernel(Box::new((kernel, data, report))), program))
    }

    /// Compiles a model, and runs its programs.
    fn model(
        sources: &mut Sources,
        model: &Path,
        arrays: Option<BTreeMap<String, Tensor>>,
        settings: &Settings,
        line: &Line,
    ) -> Checked<(Options, Of, Verified)> {
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
        let Done { report, best, .. } = done;
        Ok((options, Of::Model(Box::new((inputs, report))), best.program))
    }

    /// Returns the report as JSON, in the form of `ember-rewrite --json`.
    pub fn report(&self) -> String {
        // The report is plain data with string keys, so serialising it cannot fail.
        match &self.of {
            Of::Model(of) => serde_json::to_string(&of.1),
            Of::Kernel(of) => serde_json::to_string(&of.2),
        }
        .unwrap_or_default()
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
        let text = match &self.of {
            Of::Model(of) => cli::emit(&of.0, &self.options, level, None),
            Of::Kernel(of) => cli::emit_kernel(&of.0, &self.options, level, Some(&of.1)),
        };
        text.map_err(|errors| Error::new(&self.sources, &errors))
    }

    /// Returns the names of the arguments, in order.
    pub fn arguments(&self) -> Vec<String> {
        match &self.of {
            Of::Model(of) => {
                let arguments = of.0.model.arguments();
                arguments.into_iter().map(|Parameter { name, .. }| name).collect()
            }
            Of::Kernel(of) => of.0.arguments().to_vec(),
        }
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
        let core = CoreKind::OutOfOrder;
        let (record, outputs) = match &self.of {
            Of::Model(of) => {
                let (inputs, _) = of.as_ref();
                let mut model = inputs.model.clone();
                model.give(arrays)?;
                let on = (&model, &inputs.machine);
                let Ran { record, mut outputs, .. } =
                    single::run(on, &self.options, &self.program, core, false)?;
                let names = model.outputs().map(|output| output.name.clone());
                let outputs = names.filter_map(|name| {
                    let output = model.as_result(&name, &outputs.remove(&name)?);
                    Some((name, output))
                });
                (record, outputs.collect())
            }
            Of::Kernel(of) => {
                let (kernel, ..) = of.as_ref();
                let options =
                    Options { inputs: Some(Arrays::Held(arrays)), ..self.options.clone() };
                let data = kernel.data(&self.sources, &options)?;
                let mut ran = kernel.run(&self.program, &data, &options, core)?;
                let names = kernel.outputs().into_iter();
                let outputs = names.filter_map(|name| ran.outputs.remove_entry(&name)).collect();
                let exact = options.exact;
                (Record::of_kernel(kernel, &self.program, ran, exact), outputs)
            }
        };
        let wrong = |why: &str| vec![Diagnostic::global(format!("the program failed: {why}"))];
        if let Some(mismatch) = &record.mismatch {
            return Err(wrong(mismatch));
        }
        let cycles = record.cycles.ok_or_else(|| wrong("its run did not end"))?;
        Ok(Called { outputs, cycles, energy_j: record.energy_j })
    }
}
