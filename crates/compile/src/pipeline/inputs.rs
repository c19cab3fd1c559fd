//! The inputs of a compilation: rules, model and machine, and the options of a user.

use crate::decouple::ModelContext;
use crate::machines;
use crate::models;
use ember_engine::CompiledRule;
use ember_language::diagnostic::{Checked, Diagnostic, Sources, Span};
use ember_language::rules::{self, Definitions, Exactness, RuleBook, Schedule, Settings};
use ember_language::text::Words;
use ember_model::Model;
use ember_model::data::TensorFile;
use ember_targets::machine::{self, Machine};
use ember_targets::tensor::Tensor;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The options of a user.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folders and files of rules.
    pub rules: Vec<PathBuf>,
    /// The name of a machine, or the file that describes it.
    pub target: String,
    /// The schedule of the best program.
    pub schedule: String,
    /// The least exact rules that may run.
    pub exact: Exactness,
    /// The seed of the data that programs are judged on; `None` for the model's own seed.
    pub seed: Option<u64>,
    /// The seed of the data that candidates are ranked on; `None` for the seed of judging.
    pub tune_seed: Option<u64>,
    /// The standard error that the cycles of a candidate may have, as a part of them, if it is ranked on samples of long
    /// data; `None` to rank all on all data.
    pub sample: Option<f64>,
    /// The maximum number of e-nodes in a saturation.
    pub node_limit: usize,
    /// The maximum number of iterations of a saturation.
    pub iter_limit: usize,
    /// The number of best candidates that the simulator ranks, in addition to the best by other prices of prefetches; `None`
    /// for that of the schedule. For programs that only serve for comparison (other schedules, and the search without a
    /// rule set), it ranks half as many.
    pub candidates: Option<usize>,
    /// The values that parameters of rules and schedules are set to.
    pub settings: Settings,
    /// The most cycles of a program's run.
    pub cycle_limit: u64,
    /// Arrays for the model's arguments, in place of the data that the model describes.
    pub inputs: Option<Arrays>,
    /// True if the simulator ranks the candidates; otherwise the best by the cost model is chosen.
    pub rank: bool,
    /// The threads of a program in C.
    pub threads: u32,
    /// True to bound the estimates of all programs that the schedule of the best program could have extracted.
    pub bounded: bool,
    /// True if the whole programs of all schedules, and of the searches without a rule set, are candidates, too.
    pub pool: bool,
}

/// The number of best candidates that the simulator ranks, if neither the user nor the schedule says one.
const CANDIDATES: usize = 12;

impl Options {
    /// Returns true if candidates are ranked on other data than programs are judged on.
    pub fn tunes_apart(&self, model: &Model) -> bool {
        let judged = self.seed.unwrap_or(model.data.seed);
        self.tune_seed.is_some_and(|seed| seed != judged)
    }

    /// Returns the number of best candidates of a schedule that the simulator ranks.
    pub fn ranked(&self, schedule: &Schedule) -> usize {
        self.candidates.or_else(|| schedule.ranked()).unwrap_or(CANDIDATES)
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            rules: vec![PathBuf::from("rules")],
            target: machine::DEFAULT.to_owned(),
            schedule: "search".to_owned(),
            exact: Exactness::Bitwise,
            seed: None,
            tune_seed: None,
            sample: None,
            node_limit: 100_000,
            iter_limit: 100,
            candidates: None,
            settings: Settings::new(),
            cycle_limit: ember_sim::CYCLES,
            inputs: None,
            rank: true,
            threads: 1,
            bounded: false,
            pool: false,
        }
    }
}

/// Arrays for the arguments of a model, under the arguments' names or called `input.N`.
#[derive(Clone, Debug)]
pub enum Arrays {
    /// Arrays of a file.
    File(TensorFile),
    /// Arrays in memory.
    Held(BTreeMap<String, Tensor>),
}

impl Arrays {
    /// Returns the arrays.
    pub fn read(&self, sources: &Sources) -> Checked<BTreeMap<String, Tensor>> {
        match self {
            Arrays::File(file) => {
                let arrays = file.read(sources.files().as_ref());
                arrays.map_err(|e| vec![Diagnostic::global(self.placed(e.to_string()))])
            }
            Arrays::Held(arrays) => Ok(arrays.clone()),
        }
    }

    /// Puts the name of the file, if there is one, before a message.
    fn placed(&self, message: String) -> String {
        match self {
            Arrays::File(file) => format!("{}: {message}", file.path().display()),
            Arrays::Held(_) => message,
        }
    }
}

/// The inputs of a compilation.
pub struct Inputs {
    /// The checked rules.
    pub book: RuleBook,
    /// The rules compiled for the e-graph.
    pub compiled: Vec<CompiledRule>,
    /// The model.
    pub model: Model,
    /// The machine.
    pub machine: Machine,
    /// The warnings about the rules.
    pub warnings: Vec<Diagnostic>,
}

/// Reads rules, model and machine, and reports the errors of all of them together.
pub fn read(sources: &mut Sources, model: &Path, options: &Options) -> Checked<Inputs> {
    let book = rules::load_set(sources, &options.rules, &options.settings);
    let machine = machines::load(sources, &options.target);
    let definitions =
        book.as_ref().map_or_else(|_| Definitions::default(), |(book, _)| book.definitions.clone());
    let model = model_of(sources, model, &definitions, options);
    let (book, machine, model) = match (book, machine, model) {
        (Ok(book), Ok(machine), Ok(model)) => (book, machine, model),
        (book, machine, model) => {
            let errors = [book.err(), machine.err(), model.err()];
            return Err(errors.into_iter().flatten().flatten().collect());
        }
    };
    let (book, warnings) = book;
    let compiled = ember_engine::compile(&book);
    Ok(Inputs { book, compiled, model, machine, warnings })
}

/// Reads a model and gives it the arrays of the options. The data then decides which functions of tables are computed in
/// advance.
fn model_of(
    sources: &mut Sources,
    path: &Path,
    definitions: &Definitions,
    options: &Options,
) -> Checked<Model> {
    let loaded = models::load(sources, path)?;
    let given = match &options.inputs {
        Some(given) => Some((given, given.read(sources)?)),
        None => None,
    };
    let read = |in_advance: BTreeSet<Span>| -> Checked<Model> {
        let mut model = loaded.model(sources, definitions, in_advance)?;
        if let Some((given, arrays)) = &given {
            model.give(arrays.clone()).map_err(|mut errors| {
                for error in &mut errors {
                    error.message = given.placed(std::mem::take(&mut error.message));
                }
                errors
            })?;
        }
        Ok(model)
    };
    let model = read(BTreeSet::new())?;
    let in_advance = model.in_advance(options.tune_seed.or(options.seed));
    if in_advance.is_empty() { Ok(model) } else { read(in_advance) }
}

impl Inputs {
    /// Finds a schedule by its name.
    pub fn schedule(&self, name: &str) -> Checked<&Schedule> {
        self.book.require_schedule(name)
    }

    /// Returns the vocabulary of program text for the model.
    pub fn words(&self) -> Words<'_> {
        self.model.words(&self.book.signature)
    }

    /// Returns the declarations of programs for the model. Sizes stay symbolic, so a program works for all data of the
    /// declared shapes.
    pub fn context(&self) -> ModelContext {
        let declared = self.model.declarations(&BTreeMap::new());
        ModelContext {
            name: self.model.name.clone(),
            sizes: declared.sizes,
            tensors: declared.tensors,
        }
    }
}
