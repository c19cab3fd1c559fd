//! The whole story on a page: read → saturate → extract → decouple → verify → simulate → compare.
//!
//! Each stage is a plain function; [`crate::job`] composes them for the main job, [`crate::run`]
//! for a single program.

use crate::cost::{Goal, Rates};
use crate::coupled::coupled;
use crate::data::Instance;
use crate::decouple::{ModelContext, decouple};
use crate::diagnostic::{Checked, Diagnostic, Sources};
use crate::facts::{Facts, VectorUnit};
use crate::interpret::Store;
use crate::load::load;
use crate::model::Model;
use crate::reference::{Magnitudes, Mismatch, compare, evaluate, magnitudes};
use crate::rules::{self, CompiledRule, Exactness, RuleBook, Schedule};
use crate::saturate::{self, Progress};
use crate::search::{Candidate, Found, Search};
use crate::suggest;
use crate::target;
use crate::workload::Statistics;
use ember_sim::{Bindings, CoreKind, Outcome, SimError};
use ember_targets::dlc::Program;
use ember_targets::machine::Machine;
use ember_targets::print::print;
use ember_targets::tensor::Tensor;
use ember_targets::verify::{Limits, Verified, verify};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What a user may choose.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folders and files of rules.
    pub rules: Vec<PathBuf>,
    /// A machine's name, or the file that describes it.
    pub target: String,
    /// The schedule of the best program.
    pub schedule: String,
    /// The least exact rules that may run.
    pub exact: Exactness,
    /// The seed of the data that programs are judged on; the model's own if none.
    pub seed: Option<u64>,
    /// The seed of the data that candidates are ranked on; that of judging if none.
    pub tune_seed: Option<u64>,
    /// The most e-nodes of a saturation.
    pub node_limit: usize,
    /// The most iterations of a saturation.
    pub iter_limit: usize,
    /// How many of the best candidates the simulator ranks.
    pub candidates: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            rules: vec![PathBuf::from("rules")],
            target: "tmu-cpu".to_owned(),
            schedule: "search".to_owned(),
            exact: Exactness::Bitwise,
            seed: None,
            tune_seed: None,
            node_limit: 100_000,
            iter_limit: 100,
            candidates: 6,
        }
    }
}

/// Everything that is read before the work begins.
pub struct Inputs {
    /// The checked rules.
    pub book: RuleBook,
    /// The rules ready for the e-graph.
    pub compiled: Vec<CompiledRule>,
    /// The model.
    pub model: Model,
    /// The machine.
    pub machine: Machine,
    /// What is odd about the rules.
    pub warnings: Vec<Diagnostic>,
}

/// Reads rules, model and machine. The errors of all of them are reported together.
pub fn read(sources: &mut Sources, model: &Path, options: &Options) -> Checked<Inputs> {
    let book = rules::load(sources, &options.rules);
    let machine = target::load(sources, &options.target);
    let model = load(sources, model).and_then(|file| Model::parse(sources, file));
    let (book, machine, model) = match (book, machine, model) {
        (Ok(book), Ok(machine), Ok(model)) => (book, machine, model),
        (book, machine, model) => {
            let errors = [book.err(), machine.err(), model.err()];
            return Err(errors.into_iter().flatten().flatten().collect());
        }
    };
    let (book, warnings) = book;
    let compiled = book.compile();
    Ok(Inputs { book, compiled, model, machine, warnings })
}

impl Inputs {
    /// A schedule by name.
    pub fn schedule(&self, name: &str) -> Checked<&Schedule> {
        self.book.schedule(name).ok_or_else(|| {
            let known = self.book.schedules.iter().map(|s| s.name.as_str());
            let error = Diagnostic::global(format!("no schedule is named `{name}`"));
            vec![match suggest::help(name, known) {
                Some(help) => error.with_help(help),
                None => error,
            }]
        })
    }

    /// What programs for the model declare. Sizes stay symbolic: a program is for all data of the
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

/// The data of one seed, and what the reference makes of it.
pub struct Case {
    /// Tensors and sizes.
    pub instance: Instance,
    /// The same for the interpreter of terms.
    pub store: Store,
    /// The tensors that the model computes, by name.
    pub expected: BTreeMap<String, Tensor>,
    /// The names of the outputs among them.
    outputs: Vec<String>,
    magnitudes: Magnitudes,
    /// Measures of programs that were run here to be ranked, by their text; the same program comes up
    /// in many searches.
    ranked: Mutex<HashMap<String, Result<Measure, String>>>,
}

impl Case {
    /// Makes the data of a seed, checks it, and evaluates the model on it.
    pub fn new(model: &Model, seed: Option<u64>, exact: Exactness) -> Checked<Case> {
        let instance = model.instantiate(seed)?;
        let fail = || vec![Diagnostic::global("the model's data does not fit its operation")];
        let expected = evaluate(model, &instance).ok_or_else(fail)?;
        let magnitudes = match exact {
            Exactness::Bitwise => Magnitudes { sums: Vec::new(), lengths: Vec::new() },
            Exactness::Reassoc | Exactness::Approx => {
                magnitudes(model, &instance).ok_or_else(fail)?
            }
        };
        let store = Store {
            tensors: instance.tensors.clone(),
            sizes: instance.sizes.iter().map(|(name, n)| (name.clone(), *n as i64)).collect(),
        };
        let outputs = model.outputs().map(|out| out.name.clone()).collect();
        Ok(Case { instance, store, expected, outputs, magnitudes, ranked: Mutex::default() })
    }

    /// What a program takes on this data, or why it does not come to its end.
    fn rank(&self, program: &Program, machine: &Machine) -> Result<Measure, String> {
        let text = print(program);
        let known = || self.ranked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(measure) = known().get(&text) {
            return measure.clone();
        }
        let measure = simulate(program, machine, self, CoreKind::OutOfOrder, false)
            .map(|outcome| Measure {
                cycles: outcome.stats.cycles,
                energy_j: outcome.stats.energy_j,
            })
            .map_err(|failure| failure.to_string());
        known().insert(text, measure.clone());
        measure
    }

    /// Compares the outputs of a program's run with the reference's.
    pub fn compare(
        &self,
        program: &Program,
        outcome: &Outcome,
        exact: Exactness,
    ) -> Result<(), Mismatch> {
        for name in &self.outputs {
            let Some(expected) = self.expected.get(name) else { continue };
            let at = program.tensors.iter().position(|tensor| tensor.name == *name);
            match at.and_then(|at| outcome.tensors.get(at)) {
                Some(output) => compare(expected, output, exact, &self.magnitudes)?,
                None => return Err(Mismatch::Missing { name: name.clone() }),
            }
        }
        Ok(())
    }
}

/// One run of the search over a model.
pub fn search(
    inputs: &Inputs,
    case: &Case,
    options: &Options,
    schedule: &Schedule,
    goal: Goal,
    without: Option<usize>,
    progress: &mut dyn FnMut(Progress),
) -> Found {
    let context = inputs.context();
    let vector_unit = VectorUnit {
        simd_bytes: inputs.machine.core.simd_bytes,
        registers: inputs.machine.core.vector_registers,
    };
    let binders = inputs.book.signature.binders();
    let search = Search {
        book: &inputs.book,
        rules: &inputs.compiled,
        schedule,
        without,
        exact: options.exact,
        goal,
        facts: &Facts::new(&context.tensors, &context.sizes, binders, vector_unit),
        statistics: &Statistics::new(&inputs.model, &case.instance, &case.store),
        rates: &Rates::of(&inputs.machine),
        limits: saturate::Limits { iterations: options.iter_limit, nodes: options.node_limit },
        best: options.candidates,
    };
    search.run(&inputs.model.root_term(), progress)
}

/// A candidate's program: decoupled or coupled, and verified. `Err` says why it is none.
pub fn lower(inputs: &Inputs, candidate: &Candidate, goal: Goal) -> Result<Verified, String> {
    let context = inputs.context();
    let program = match goal {
        Goal::Decoupled => decouple(&candidate.term, &context),
        Goal::Coupled => coupled(&candidate.term, &context),
    };
    let program = program.map_err(|e| e.to_string())?;
    verify(program, &Limits::of(&inputs.machine))
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

/// Runs a program on the data of a case.
pub fn simulate(
    program: &Program,
    machine: &Machine,
    case: &Case,
    core: CoreKind,
    timeline: bool,
) -> Result<Outcome, Failure> {
    let (tensors, sizes) = case.instance.bind(program).map_err(Failure::Input)?;
    let options = ember_sim::Options { core, timeline, ..ember_sim::Options::default() };
    ember_sim::run(program, machine, Bindings { tensors, sizes }, options).map_err(Failure::Run)
}

/// Why a program has no result.
#[derive(Debug)]
pub enum Failure {
    /// The data does not fit it.
    Input(Vec<Diagnostic>),
    /// It did not come to its end.
    Run(SimError),
}

/// Two programs are as fast as one another where their cycles differ by no more than this part:
/// other data would turn them round.
const SAME_SPEED: u64 = 5000;

/// What a program takes.
#[derive(Clone, Debug)]
struct Measure {
    cycles: u64,
    energy_j: f64,
}

/// A program chosen from candidates.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// Its term.
    pub candidate: Candidate,
    /// The program.
    pub program: Verified,
    /// Its cycles on the data it was chosen on.
    pub cycles: u64,
    /// Its energy there, in joules.
    pub energy_j: f64,
}

/// The candidate that runs fastest on a case; among those that are as fast, the one that takes the
/// least energy, the first of equals. Candidates that the verifier
/// rejects or that do not come to their end are passed over, and why is told.
pub fn choose(
    inputs: &Inputs,
    case: &Case,
    candidates: &[Candidate],
    goal: Goal,
) -> Result<Chosen, Vec<String>> {
    let tried: Vec<Result<Chosen, String>> = candidates
        .par_iter()
        .map(|candidate| {
            let program = lower(inputs, candidate, goal)?;
            let Measure { cycles, energy_j } = case.rank(program.program(), &inputs.machine)?;
            Ok(Chosen { candidate: candidate.clone(), program, cycles, energy_j })
        })
        .collect();
    let (chosen, rejected): (Vec<Chosen>, Vec<String>) =
        itertools::Itertools::partition_result(tried.into_iter());
    let fastest = chosen.iter().map(|chosen| chosen.cycles).min().unwrap_or(0);
    chosen
        .into_iter()
        .filter(|chosen| chosen.cycles - fastest <= fastest / SAME_SPEED)
        .min_by(|a, b| a.energy_j.total_cmp(&b.energy_j))
        .ok_or(rejected)
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Input(errors) => f.write_str(
                &errors.iter().map(|e| e.message.as_str()).collect::<Vec<_>>().join("; "),
            ),
            Failure::Run(error) => error.fmt(f),
        }
    }
}
