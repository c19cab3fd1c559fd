//! The stages of compilation in order: read → saturate → extract → decouple → verify → simulate → compare.
//!
//! Each stage is a plain function. The main crate composes them, both for a whole comparison and for a single program.

mod case;
mod inputs;
mod sample;

pub use case::{Case, Failure, simulate, store};
pub use inputs::{Arrays, Inputs, Options, read};
pub use sample::{Estimate, NoSample};

use crate::cost::{Goal, Rates};
use crate::coupled::coupled;
use crate::decouple::{DecoupleError, ModelContext, decouple};
use crate::groups::{Chooser, Chosen, Group, Plan, Searched, no_program};
use crate::search::{Found, Search, Watch};
use crate::workload::Statistics;
use ember_analysis::facts::{Facts, VectorUnit};
use ember_engine::saturate::{self, Progress};
use ember_host::threads;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::rules::{Kind, Operators, RuleBook, Schedule, Unit};
use ember_language::term::Term;
use ember_sim::SimError;
use ember_targets::contract::contracted;
use ember_targets::dlc::Purpose;
use ember_targets::machine::Machine;
use ember_targets::narrow::narrow;
use ember_targets::verify::{Limits, Verified, VerifyError, lacking, verify};
use ember_values::capability::Capability;
use itertools::Itertools;
use std::collections::BTreeSet;
use thiserror::Error;

/// The most candidates of a search whose result the chosen program is only compared with.
pub const COMPARED: usize = 6;

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
    Searched { goal, plan, found }
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
    run.with_search(plan, at, |search| {
        search.watched(&plan.groups[at].term, &plan.groups[at].forms, watch)
    })
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
    Searched { goal, plan, found }
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
        let Group { term, forms, .. } = &plan.groups[at];
        self.with_search(plan, at, |search| search.run_forms(term, forms, &mut |p| progress(p)))
    }

    /// Calls `then` with the search of a group.
    fn with_search<T>(&self, plan: &Plan, at: usize, then: impl FnOnce(&Search<'_>) -> T) -> T {
        let Run { inputs, options, .. } = *self;
        let group = &plan.groups[at];
        let own = self.schedule.name.as_str() == options.schedule;
        let sought = own && self.without.is_none();
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
            bounded: sought && options.bounded,
            // The choice may be any of them without a rule set, too.
            best: match own {
                true => options.ranked(self.schedule),
                false => options.ranked(self.schedule).min(COMPARED),
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
    // A search does not tell rows apart: that gave more forms of programs, none of them better, which displaced others.
    let offsets = inputs.model.offsets_uses();
    let rising = offsets.iter().map(|used| inputs.model.tensor(used.offsets).name.as_str());
    Facts::new(&group.context.tensors, &group.sizes(), operators, vector_unit)
        .rising(rising)
        .computed(group.computed.iter().copied())
}

/// Lowers a finished term to a decoupled or coupled program, and verifies it.
pub fn lower(
    operators: &Operators,
    machine: &Machine,
    term: &Term,
    context: &ModelContext,
    goal: Goal,
) -> Result<Verified, NoProgram> {
    let context = &context.of_term(term);
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
