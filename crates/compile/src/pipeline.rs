//! The whole story on a page: read → saturate → extract → decouple → verify → simulate → compare.
//!
//! Each stage is a plain function; the main crate composes them, for the main job and for a single
//! program.

use crate::cost::{Goal, Rates};
use crate::coupled::coupled;
use crate::decouple::{DecoupleError, ModelContext, decouple};
use crate::groups::{Chosen, Group, Plan, Searched, choose};
use crate::machines;
use crate::search::{Found, Search, Watch};
use crate::workload::Statistics;
use ember_analysis::facts::{Facts, VectorUnit};
use ember_engine::CompiledRule;
use ember_engine::saturate::{self, Progress};
use ember_host::threads;
use ember_interpret::Store;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::load::load;
use ember_language::rules::{self, Definitions, Exactness, Operators, RuleBook, Schedule};
use ember_language::term::Term;
use ember_language::text::Words;
use ember_model::Model;
use ember_model::data::Instance;
use ember_model::reference::{Mismatch, compare, error_bounds, evaluate};
use ember_sim::{Bindings, CoreKind, Outcome, SimError};
use ember_targets::dlc::Program;
use ember_targets::machine::Machine;
use ember_targets::print::print;
use ember_targets::tensor::Tensor;
use ember_targets::verify::{Limits, Verified, VerifyError, verify};
use itertools::Itertools;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use thiserror::Error;

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
    /// How many of the best candidates the simulator ranks, beside the best without prefetches. Of
    /// programs that are there to compare with, other schedules' and those without a rule set, it ranks half
    /// as many.
    pub candidates: usize,
    /// Whether the simulator ranks them; else the cost model's best is taken.
    pub rank: bool,
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
            candidates: 12,
            rank: true,
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
    let machine = machines::load(sources, &options.target);
    let definitions =
        book.as_ref().map_or_else(|_| Definitions::default(), |(book, _)| book.definitions.clone());
    let model =
        load(sources, model).and_then(|file| Model::parse_with(sources, file, &definitions));
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

impl Inputs {
    /// A schedule by name.
    pub fn schedule(&self, name: &str) -> Checked<&Schedule> {
        self.book.require_schedule(name)
    }

    /// The words of program text for the model.
    pub fn words(&self) -> Words<'_> {
        self.model.words(&self.book.signature)
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
    /// How far their elements may be off where programs need not be exact.
    errors: BTreeMap<String, Vec<f64>>,
    /// Measures of programs that were run here to be ranked, by their text; the same program comes up
    /// in many searches.
    ranked: Mutex<FxHashMap<String, Result<Measure, NoProgram>>>,
}

impl Case {
    /// Makes the data of a seed, checks it, and evaluates the model on it.
    pub fn new(model: &Model, seed: Option<u64>, exact: Exactness) -> Checked<Case> {
        let instance = model.instantiate(seed)?;
        let fail = || vec![Diagnostic::global("the model's data does not fit its operation")];
        let expected = evaluate(model, &instance).ok_or_else(fail)?;
        let errors = match exact {
            Exactness::Bitwise => BTreeMap::new(),
            Exactness::Reassoc | Exactness::Approx => {
                error_bounds(model, &instance).ok_or_else(fail)?
            }
        };
        let store = store(&instance);
        let outputs = model.outputs().map(|out| out.name.clone()).collect();
        Ok(Case { instance, store, expected, outputs, errors, ranked: Mutex::default() })
    }

    /// What the data says about the loops and loads of programs for the model.
    pub fn statistics<'a>(&'a self, model: &Model) -> Statistics<'a> {
        Statistics::new(model, &self.instance, &self.store)
    }

    /// What a program takes on this data, or why it does not come to its end.
    pub fn rank(&self, program: &Program, machine: &Machine) -> Result<Measure, NoProgram> {
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
            .map_err(NoProgram::Run);
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
                Some(output) => {
                    let errors = self.errors.get(name).map_or(&[][..], Vec::as_slice);
                    compare(name, expected, output, exact, errors)?;
                }
                None => return Err(Mismatch::Missing { name: name.clone() }),
            }
        }
        Ok(())
    }
}

/// One run of the search over a model, each group of its statements by itself.
pub fn search(
    inputs: &Inputs,
    statistics: &Statistics<'_>,
    options: &Options,
    schedule: &Schedule,
    goal: Goal,
    progress: &(dyn Fn(Progress) + Sync),
) -> Searched {
    let plan = Plan::new(inputs.book.signature.table(), &inputs.model, statistics);
    let run = Run { inputs, statistics, options, schedule, goal, without: None };
    let groups: Vec<usize> = plan.searched().collect();
    let found = threads::map(&groups, |&at| (at, run.group(&plan, at, progress)));
    let found = found.into_iter().collect();
    Searched { plan, found }
}

/// The search of one group of a plan, watched and recorded.
pub fn watch(
    inputs: &Inputs,
    statistics: &Statistics<'_>,
    options: &Options,
    schedule: &Schedule,
    (plan, at): (&Plan, usize),
    watch: &mut Watch<'_>,
) -> Found {
    let goal = Goal::Decoupled;
    let run = Run { inputs, statistics, options, schedule, goal, without: None };
    run.with_search(plan, at, |search| search.watched(&plan.groups[at].term, watch))
}

/// The same without one rule set, given what was found with it: where none of its rules changed
/// anything, nothing changes.
pub fn search_without(
    inputs: &Inputs,
    statistics: &Statistics<'_>,
    options: &Options,
    schedule: &Schedule,
    set: usize,
    with: &Searched,
) -> Searched {
    let without = Some(set);
    let run = Run { inputs, statistics, options, schedule, goal: Goal::Decoupled, without };
    let rules = inputs.book.rules.iter().filter(|rule| rule.set == set);
    let rules: BTreeSet<&str> = rules.map(|rule| rule.name.as_str()).collect();
    let plan = with.plan.clone();
    let before: Vec<_> = with.found.iter().collect();
    let found = threads::map(&before, |&(at, found)| {
        let same = found.fired.iter().all(|rule| !rules.contains(rule));
        (*at, if same { found.clone() } else { run.group(&plan, *at, &|_| ()) })
    });
    let found = found.into_iter().collect();
    Searched { plan, found }
}

/// What the searches of all groups have in common.
struct Run<'a> {
    inputs: &'a Inputs,
    statistics: &'a Statistics<'a>,
    options: &'a Options,
    schedule: &'a Schedule,
    goal: Goal,
    without: Option<usize>,
}

impl Run<'_> {
    /// Searches one group.
    fn group(&self, plan: &Plan, at: usize, progress: &(dyn Fn(Progress) + Sync)) -> Found {
        self.with_search(plan, at, |search| search.run(&plan.groups[at].term, &mut |p| progress(p)))
    }

    /// Hands over the search of a group.
    fn with_search<T>(&self, plan: &Plan, at: usize, then: impl FnOnce(&Search<'_>) -> T) -> T {
        let Run { inputs, options, .. } = *self;
        let group = &plan.groups[at];
        then(&Search {
            book: &inputs.book,
            rules: &inputs.compiled,
            schedule: self.schedule,
            without: self.without,
            exact: options.exact,
            goal: self.goal,
            facts: &facts(inputs, group),
            statistics: self.statistics,
            rates: &Rates::of(&inputs.machine),
            limits: saturate::Limits { iterations: options.iter_limit, nodes: options.node_limit },
            best: match self.schedule.name.as_str() == options.schedule && self.without.is_none() {
                true => options.candidates,
                false => options.candidates.div_ceil(2),
            },
        })
    }
}

/// What is known of a group's tensors and of the machine, for a fresh e-graph.
pub fn facts(inputs: &Inputs, group: &Group) -> Facts {
    let vector_unit = VectorUnit {
        simd_bytes: inputs.machine.core.simd_bytes,
        registers: inputs.machine.core.vector_registers,
    };
    let operators = inputs.book.signature.table().clone();
    Facts::new(&group.context.tensors, &group.sizes(), operators, vector_unit)
}

/// A finished term's program: decoupled or coupled, and verified. `Err` says why it is none.
pub fn lower(
    operators: &Operators,
    machine: &Machine,
    term: &Term,
    context: &ModelContext,
    goal: Goal,
) -> Result<Verified, NoProgram> {
    let program = match goal {
        Goal::Decoupled => decouple(operators, term, context),
        Goal::Coupled => coupled(operators, term, context),
    };
    Ok(verify(program?, &Limits::of(machine))?)
}

/// From a model to its program without running anything: the cost model chooses.
pub fn compile(inputs: &Inputs, options: &Options, goal: Goal) -> Checked<Chosen> {
    compile_by(inputs, options, inputs.schedule(&options.schedule)?, goal)
}

/// The same by a schedule that need not be that of the options.
pub fn compile_by(
    inputs: &Inputs,
    options: &Options,
    schedule: &Schedule,
    goal: Goal,
) -> Checked<Chosen> {
    let instance = inputs.model.instantiate(options.tune_seed.or(options.seed))?;
    let store = store(&instance);
    let statistics = Statistics::new(&inputs.model, &instance, &store);
    let name = schedule.name.as_str();
    let searched = search(inputs, &statistics, options, schedule, goal, &|_| ());
    consistent(&searched, name)?;
    choose(inputs, None, &searched, goal)
        .map_err(|rejected| vec![no_program(&searched, name, &rejected)])
}

/// An error where the rules of a schedule contradict each other.
pub fn consistent(searched: &Searched, schedule: &str) -> Checked<()> {
    let stop = searched.stop();
    if !matches!(stop, saturate::StopReason::Contradiction { .. }) {
        return Ok(());
    }
    let error = Diagnostic::global(format!("schedule `{schedule}`: {stop}"));
    Err(vec![error.with_help("one of these rules is wrong; take it out or correct it")])
}

/// The error that a schedule's search has led to nothing.
pub fn no_program(searched: &Searched, schedule: &str, rejected: &[NoProgram]) -> Diagnostic {
    let stop = searched.stop();
    let error =
        Diagnostic::global(format!("schedule `{schedule}` found no program that runs ({stop})"));
    error.with_help(rejected.first().map_or_else(
        || "the rules reach no finished term; see that every operator has its rules".to_owned(),
        |first| format!("the best candidate: {first}"),
    ))
}

/// An instance for the interpreter of terms.
pub fn store(instance: &Instance) -> Store {
    Store {
        tensors: instance.tensors.clone(),
        sizes: instance.sizes.iter().map(|(name, n)| (name.clone(), *n as i64)).collect(),
    }
}

/// Runs a program on the data of a case.
pub fn simulate(
    program: &Program,
    machine: &Machine,
    case: &Case,
    core: CoreKind,
    timeline: bool,
) -> Result<Outcome, Failure> {
    let (mut tensors, sizes) = case.instance.bind(program).map_err(Failure::Input)?;
    // What a program for some of the statements only reads, others have computed.
    for (decl, tensor) in program.tensors.iter().zip(&mut tensors).filter(|(t, _)| !t.writable) {
        if let Some(computed) = case.expected.get(&decl.name) {
            *tensor = computed.clone();
        }
    }
    let options = ember_sim::Options { core, timeline, ..ember_sim::Options::default() };
    ember_sim::run(program, machine, Bindings { tensors, sizes }, options).map_err(Failure::Run)
}

/// Why a term is no program that runs.
#[derive(Clone, Debug, Error)]
pub enum NoProgram {
    /// It cannot be split between the units, or written as one loop nest.
    #[error(transparent)]
    Lower(#[from] DecoupleError),
    /// The verifier rejects it.
    #[error("{}", .0.iter().join("; "))]
    Verify(Vec<VerifyError>),
    /// Groups of statements cannot be put together.
    #[error("the dialects declare no sequence or no barrier to put groups together")]
    Apart,
    /// It does not come to its end.
    #[error("{0}")]
    Run(Failure),
}

impl From<Vec<VerifyError>> for NoProgram {
    fn from(errors: Vec<VerifyError>) -> NoProgram {
        NoProgram::Verify(errors)
    }
}

/// Why a program has no result.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The data does not fit it.
    Input(Vec<Diagnostic>),
    /// It did not come to its end.
    Run(SimError),
}

/// What a program takes.
#[derive(Clone, Debug, Default)]
pub struct Measure {
    /// Cycles from the start to the last result.
    pub cycles: u64,
    /// Energy in joules.
    pub energy_j: f64,
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
