//! The stages of compilation in order: read → saturate → extract → decouple → verify → simulate → compare.
//!
//! Each stage is a plain function. The main crate composes them, both for a whole comparison and for a single program.

use crate::cost::{Goal, Rates};
use crate::coupled::coupled;
use crate::decouple::{DecoupleError, ModelContext, decouple};
use crate::groups::{Chooser, Chosen, Group, Plan, Searched, no_program};
use crate::machines;
use crate::models;
use crate::ranking::{Ended, Measure, Ranking};
use crate::search::{Found, Search, Watch};
use crate::workload::Statistics;
use ember_analysis::facts::{Facts, VectorUnit};
use ember_engine::CompiledRule;
use ember_engine::saturate::{self, Progress};
use ember_host::threads;
use ember_interpret::Store;
use ember_language::diagnostic::{Checked, Diagnostic, Sources, Span};
use ember_language::rules::{
    self, Definitions, Exactness, Kind, Operators, RuleBook, Schedule, Settings, Unit,
};
use ember_language::term::Term;
use ember_language::text::Words;
use ember_model::Model;
use ember_model::data::{Instance, TensorFile};
use ember_model::reference::{Mismatch, compare, error_bounds, evaluate};
use ember_sim::{Bindings, CoreKind, Outcome, SimError, Values};
use ember_targets::contract::contracted;
use ember_targets::dlc::{Program, Purpose, TensorDecl};
use ember_targets::machine::{self, Machine};
use ember_targets::narrow::narrow;
use ember_targets::print::print;
use ember_targets::tensor::Tensor;
use ember_targets::verify::{Limits, Verified, VerifyError, lacking, verify};
use ember_values::capability::Capability;
use itertools::Itertools;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use thiserror::Error;

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
    /// The maximum number of e-nodes in a saturation.
    pub node_limit: usize,
    /// The maximum number of iterations of a saturation.
    pub iter_limit: usize,
    /// The number of best candidates that the simulator ranks, in addition to the best one without prefetches; `None`
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
    /// True if the whole programs of all schedules, and of the searches without a rule set, are candidates, too.
    pub pool: bool,
}

/// The number of best candidates that the simulator ranks, if neither the user nor the schedule says one.
const CANDIDATES: usize = 12;

impl Options {
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
            node_limit: 100_000,
            iter_limit: 100,
            candidates: None,
            settings: Settings::new(),
            cycle_limit: ember_sim::CYCLES,
            inputs: None,
            rank: true,
            threads: 1,
            pool: false,
        }
    }
}

/// Arrays for the arguments of a model, under the arguments' names or called `input.N`.
#[derive(Clone, Debug)]
pub enum Arrays {
    /// Those of a file.
    File(TensorFile),
    /// Those in memory.
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

/// The data of one seed, with the results of the reference.
pub struct Case {
    /// The tensors and sizes.
    pub instance: Instance,
    /// The tensors and sizes for the interpreter of terms.
    pub store: Store,
    /// The tensors that the model computes, by name.
    pub expected: BTreeMap<String, Tensor>,
    /// The names of the outputs among the computed tensors.
    outputs: Vec<String>,
    /// True if rules alone say what some output is.
    unreferenced: bool,
    /// The error bounds of their elements, if programs need not be exact.
    errors: BTreeMap<String, Vec<f64>>,
    /// The measures of programs that were ranked on this data.
    ranking: Ranking,
    /// The most cycles of a run.
    cycle_limit: u64,
}

impl Case {
    /// Generates the data of a seed, checks it, and evaluates the model on it.
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
        let outputs: Vec<String> = model.outputs().map(|out| out.name.clone()).collect();
        let unreferenced = model.unreferenced();
        let unreferenced =
            unreferenced.iter().any(|tensor| outputs.contains(&model.tensor(*tensor).name));
        let (ranking, cycle_limit) = (Ranking::default(), ember_sim::CYCLES);
        Ok(Case { instance, store, expected, outputs, unreferenced, errors, ranking, cycle_limit })
    }

    /// Sets the most cycles that a program may run.
    pub fn with_cycle_limit(self, cycle_limit: u64) -> Case {
        Case { cycle_limit, ..self }
    }

    /// Returns the statistics of the data for the loops and loads of programs for the model.
    pub fn statistics<'a>(&'a self, inputs: &Inputs) -> Statistics<'a> {
        Statistics::new(&inputs.model, &self.instance, &self.store, &inputs.machine)
    }

    /// Measures a program on this data; an error if it does not finish.
    pub fn rank(&self, program: &Program, machine: &Machine) -> Result<Measure, NoProgram> {
        self.rank_within(program, machine, self.cycle_limit, Values::All)
    }

    /// [`rank`](Case::rank) of a program that is of interest only if it takes at most `cycles`; it is not run further.
    /// A program that is likely to be the choice computes all values, so that it need not run again for its results.
    pub fn rank_within(
        &self,
        program: &Program,
        machine: &Machine,
        cycles: u64,
        values: Values,
    ) -> Result<Measure, NoProgram> {
        let max_cycles = cycles.min(self.cycle_limit);
        let options = ember_sim::Options { max_cycles, values, ..ember_sim::Options::default() };
        let run = || Ok(self.ended(program, &simulate_with(program, machine, self, options)?));
        self.ranking.measure(&print(program), max_cycles, run).map_err(NoProgram::Run)
    }

    /// Returns the part of a run's outcome that is kept. Its results are those of the reference if the tensors at the
    /// end, as far as the program writes them, are the reference's to the bit.
    fn ended(&self, program: &Program, outcome: &Outcome) -> Ended {
        let mut tensors = program.tensors.iter().zip(&outcome.tensors);
        let expected = outcome.tensors.len() == program.tensors.len()
            && tensors.all(|(tensor, data)| {
                let same = |expected: &Tensor| expected.same_bits(data);
                let result = tensor.purpose == Purpose::Output;
                !result || self.expected.get(&tensor.name).is_some_and(same)
            });
        Ended { stats: outcome.stats.clone(), expected }
    }

    /// Binds a program to this data. Tensors that the reference computes have its values if `computed` says so of their
    /// declaration, for a program of some of the statements reads what the others compute.
    fn bind(
        &self,
        program: &Program,
        computed: impl Fn(&TensorDecl) -> bool,
    ) -> Result<Bindings, Failure> {
        let (mut tensors, sizes) = self.instance.bind(program).map_err(Failure::Input)?;
        for (decl, tensor) in program.tensors.iter().zip(&mut tensors) {
            if let Some(expected) = self.expected.get(&decl.name).filter(|_| computed(decl)) {
                *tensor = expected.clone();
            }
        }
        Ok(Bindings { tensors, sizes })
    }

    /// Binds a program to this data, with nothing computed yet.
    pub fn bindings(&self, program: &Program) -> Result<Bindings, Failure> {
        self.bind(program, |tensor| !tensor.writable())
    }

    /// Returns the model's outputs from the tensors at the end of a program's run, by name.
    pub fn outputs(&self, program: &Program, tensors: &[Tensor]) -> BTreeMap<String, Tensor> {
        let at = |name: &String| program.tensors.iter().position(|tensor| tensor.name == *name);
        let output = |name: &String| Some((name.clone(), tensors.get(at(name)?)?.clone()));
        self.outputs.iter().filter_map(output).collect()
    }

    /// Compares the outputs among the tensors at the end of a program's run with the reference, or with what rules say where there is none. An output
    /// that is known to be wrong comes before one that cannot be judged.
    pub fn compare(
        &self,
        program: &Program,
        tensors: &[Tensor],
        exact: Exactness,
    ) -> Result<(), Mismatch> {
        let mut unjudged = None;
        for name in &self.outputs {
            let Some(expected) = self.expected.get(name) else { continue };
            let at = program.tensors.iter().position(|tensor| tensor.name == *name);
            match at.and_then(|at| tensors.get(at)) {
                Some(output) => {
                    let errors = self.errors.get(name).map_or(&[][..], Vec::as_slice);
                    match compare(name, expected, output, exact, errors) {
                        Err(mismatch) if !mismatch.is_wrong() => unjudged = Some(mismatch),
                        compared => compared?,
                    }
                }
                None => return Err(Mismatch::Missing { name: name.clone() }),
            }
        }
        let unreferenced = self.unreferenced.then_some(Mismatch::Unreferenced);
        unjudged.or(unreferenced).map_or(Ok(()), Err)
    }
}

/// Searches each group of a model's statements separately.
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

/// Searches one group of a plan, with a watcher and with recording in the e-graphs.
pub fn watch(
    inputs: &Inputs,
    statistics: &Statistics<'_>,
    options: &Options,
    schedule: &Schedule,
    (plan, at): (&Plan, usize),
    watch: &mut Watch<'_>,
) -> Found {
    let goal = goal(&inputs.book, schedule);
    let run = Run { inputs, statistics, options, schedule, goal, without: None };
    run.with_search(plan, at, |search| search.watched(&plan.groups[at].term, watch))
}

/// Searches again without one rule set, given the result `with` it. A group for which none of the set's rules changed
/// anything keeps its result.
pub fn search_without(
    inputs: &Inputs,
    statistics: &Statistics<'_>,
    options: &Options,
    schedule: &Schedule,
    set: usize,
    with: &Searched,
) -> Searched {
    let without = Some(set);
    let goal = goal(&inputs.book, schedule);
    let run = Run { inputs, statistics, options, schedule, goal, without };
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

/// The common inputs of the searches of all groups.
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

    /// Calls `then` with the search of a group.
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
            facts: &facts(inputs, group).rounding(options.exact),
            statistics: self.statistics,
            rates: &Rates::of(&inputs.machine),
            limits: saturate::Limits { iterations: options.iter_limit, nodes: options.node_limit },
            best: match self.schedule.name.as_str() == options.schedule && self.without.is_none() {
                true => options.ranked(self.schedule),
                false => options.ranked(self.schedule).div_ceil(2),
            },
        })
    }
}

/// Returns the facts about a group's tensors and the machine, for a fresh e-graph.
pub fn facts(inputs: &Inputs, group: &Group) -> Facts {
    let vector_unit = VectorUnit {
        simd_bytes: inputs.machine.core.simd_bytes,
        registers: inputs.machine.core.vector_registers,
    };
    let operators = inputs.book.signature.table().clone();
    Facts::new(&group.context.tensors, &group.sizes(), operators, vector_unit)
}

/// Lowers a finished term to a decoupled or coupled program, and verifies it.
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
    }?;
    let private = |name: &str| {
        let own = context.tensors.iter().find(|tensor| tensor.name == name);
        own.is_some_and(|tensor| tensor.purpose == Purpose::Scratch)
    };
    let program = match goal {
        Goal::Decoupled => contracted(program, private),
        Goal::Coupled => program,
    };
    let program = match lacking(&program, machine) {
        // What cannot be written in registers stays as it is, and the verifier refuses it.
        Some(Capability::WideRows) => narrow(&program, machine.core.simd_bytes).unwrap_or(program),
        _ => program,
    };
    Ok(verify(program, &Limits::of(machine))?)
}

/// Compiles a model to a program without running anything, by the choice of the cost model.
pub fn compile(inputs: &Inputs, options: &Options, goal: Goal) -> Checked<Chosen> {
    compile_by(inputs, options, inputs.schedule(&options.schedule)?, goal)
}

/// [`compile`] with a schedule that may differ from the schedule in the options.
pub fn compile_by(
    inputs: &Inputs,
    options: &Options,
    schedule: &Schedule,
    goal: Goal,
) -> Checked<Chosen> {
    let instance = inputs.model.instantiate(options.tune_seed.or(options.seed))?;
    let store = store(&instance);
    let statistics = Statistics::new(&inputs.model, &instance, &store, &inputs.machine);
    let name = schedule.name.as_str();
    let searched = search(inputs, &statistics, options, schedule, goal, &|_| ());
    consistent(&searched, name)?;
    Chooser::new(inputs, None, goal)
        .choose(&searched)
        .map_err(|unfinished| vec![no_program(inputs, schedule, &searched, &unfinished)])
}

/// Returns the kind of program that a schedule is for. No program of a schedule is decoupled unless one of its rules takes
/// the boundary between a statement and the two units.
pub fn goal(book: &RuleBook, schedule: &Schedule) -> Goal {
    let boundary = book.signature.table().boundary(Kind::Statement, Unit::Both);
    let takes = |rule: usize| {
        boundary.is_some_and(|name| book.rules[rule].matched().any(|other| other == name))
    };
    if schedule.rules().into_iter().any(takes) { Goal::Decoupled } else { Goal::Coupled }
}

/// Returns an error if the rules of a schedule contradict each other.
pub fn consistent(searched: &Searched, schedule: &str) -> Checked<()> {
    let stop = searched.stop();
    if !matches!(stop, saturate::StopReason::Contradiction { .. }) {
        return Ok(());
    }
    let error = Diagnostic::global(format!("schedule `{schedule}`: {stop}"));
    Err(vec![error.with_help("one of these rules is wrong; take it out or correct it")])
}

/// Returns an instance as a store for the interpreter of terms.
pub fn store(instance: &Instance) -> Store {
    Store {
        tensors: instance.tensors.clone(),
        sizes: instance.sizes.iter().map(|(name, n)| (name.clone(), *n as i64)).collect(),
    }
}

/// Runs a program on the data of a case. A program that has run there already, with the reference's results, does not run
/// again.
pub fn simulate(
    program: &Program,
    machine: &Machine,
    case: &Case,
    core: CoreKind,
    recorded: bool,
) -> Result<Outcome, Failure> {
    let max_cycles = case.cycle_limit;
    let options = ember_sim::Options { core, values: Values::All, recorded, max_cycles };
    let run = || simulate_with(program, machine, case, options);
    if core != ember_sim::Options::default().core || recorded {
        return run();
    }
    let text = print(program);
    let mut outcome = None;
    case.ranking
        .measure(&text, case.cycle_limit, || Ok(case.ended(program, outcome.insert(run()?))))?;
    if let Some(outcome) = outcome {
        return Ok(outcome);
    }
    let Some(stats) = case.ranking.expected(&text) else { return run() };
    let Bindings { tensors, .. } = case.bind(program, |_| true)?;
    Ok(Outcome { tensors, stats, recording: None })
}

fn simulate_with(
    program: &Program,
    machine: &Machine,
    case: &Case,
    options: ember_sim::Options,
) -> Result<Outcome, Failure> {
    let data = case.bindings(program)?;
    ember_sim::run(program, machine, data, options).map_err(Failure::Run)
}

/// The reason a term does not yield a program that runs.
#[derive(Clone, Debug, Error)]
pub enum NoProgram {
    /// The term cannot be split between the units, or written as one loop nest.
    #[error(transparent)]
    Lower(#[from] DecoupleError),
    /// The verifier rejects the program.
    #[error("{}", .0.iter().join("; "))]
    Verify(Vec<VerifyError>),
    /// The groups of statements cannot be composed.
    #[error("the dialects declare no sequence or no barrier to put groups together")]
    Apart,
    /// The program of a group loads what another group computes before everything else.
    #[error("a stream outside every unit loads what an earlier statement computes")]
    Early,
    /// The program does not finish.
    #[error("{0}")]
    Run(Failure),
}

impl NoProgram {
    /// Returns true if the program's run was stopped after at least so many cycles.
    pub fn takes_more_than(&self, cycles: u64) -> bool {
        matches!(self, NoProgram::Run(Failure::Run(SimError::Cycles { limit })) if *limit >= cycles)
    }
}

impl From<Vec<VerifyError>> for NoProgram {
    fn from(errors: Vec<VerifyError>) -> NoProgram {
        NoProgram::Verify(errors)
    }
}

/// The reason a program has no result.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The data does not fit the program.
    Input(Vec<Diagnostic>),
    /// The program did not finish.
    Run(SimError),
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
