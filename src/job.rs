//! The main job: compiles a model to every program from the coupled loop nest to the best that the search finds, runs
//! them on the same data, and compares them with the reference and the physical bound.

mod hand_written;

use crate::pool::Pool;
use crate::report::{
    Ablation, Best, EstimateReport, GroupReport, PreparedReport, Record, Report, SampleReport,
    Times,
};
use crate::worth::{ablation, without};
use ember_compile::demand::{Spared, demand};
use ember_compile::groups::{Chosen, ChosenGroup, Plan, Searched, Unfinished};
use ember_compile::pipeline::{Case, Failure, Inputs, NoSample, Options, simulate};
use ember_compile::preparation::prepare;
use ember_host::threads;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::rules::{Exactness, Schedule};
use ember_model::{IndexUse, OffsetsUse, TensorId};
use ember_sim::{Bound, CoreKind, Outcome, Recording, bound};
use ember_targets::dlc::Program;
use ember_targets::print::print;
use ember_targets::tensor::Tensor;
use ember_tools::progress::Line;
use ember_tools::tables::EGraphReport;
use ember_tools::trace::{self, GroupTrace};
use ember_tools::tuning::{Attempt, Tuning};
use hand_written::hand_written;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use thiserror::Error;

/// The schedule of the sequential baseline.
const COUPLED: &str = "coupled";

/// The name of the coupled program on the in-order core.
pub(crate) const IN_ORDER: &str = "coupled-inorder";

/// The schedules of the programs that the best program is compared with.
const BASELINES: [&str; 4] = ["emb-opt0", "emb-opt1", "emb-opt2", "emb-opt3"];

/// A program that the best one is compared with.
struct Baseline {
    name: &'static str,
    schedule: &'static str,
    core: CoreKind,
}

/// Returns the programs that the best one is compared with, of those whose schedules the rules have.
fn baselines(inputs: &Inputs, scope: Scope) -> Vec<Baseline> {
    let coupled = [(IN_ORDER, CoreKind::InOrder), ("coupled-ooo", CoreKind::OutOfOrder)]
        .map(|(name, core)| Baseline { name, schedule: COUPLED, core });
    let decoupled =
        BASELINES.map(|name| Baseline { name, schedule: name, core: CoreKind::OutOfOrder });
    let wanted: Vec<Baseline> = match scope {
        Scope::Whole | Scope::Programs => coupled.into_iter().chain(decoupled).collect(),
        Scope::Compared => decoupled.into_iter().collect(),
        Scope::HandWritten | Scope::Best => Vec::new(),
    };
    let wanted = wanted.into_iter();
    wanted.filter(|baseline| inputs.book.schedule(baseline.schedule).is_some()).collect()
}

/// The extent of the main job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All programs.
    Whole,
    /// All programs, and no ablation of rule sets.
    Programs,
    /// Only decoupled programs, and no ablation of rule sets.
    Compared,
    /// The best program and the hand-written ones.
    HandWritten,
    /// The best program alone.
    Best,
}

/// A program to judge.
struct Contender {
    name: String,
    program: Result<Program, NoProgram>,
    core: CoreKind,
    exact: Exactness,
    /// The rules that contributed to it.
    rules: BTreeSet<&'static str>,
}

/// The error of a schedule that has no program for the model: the place in the model, and the reason there.
#[derive(Clone, Debug, Error)]
#[error("{}", reason(.0))]
struct NoProgram(Diagnostic);

/// Returns the reason for an error in one line, without its place.
pub(crate) fn reason(error: &Diagnostic) -> &str {
    error.at.as_ref().map_or(&error.message, |(_, label)| label)
}

/// The result of the main job: the report, and the best program for further use.
pub struct Done {
    /// The report.
    pub report: Report,
    /// The chosen program and its term.
    pub best: Chosen,
    /// The rules' activity in the search of the chosen program.
    pub trace: Vec<GroupTrace>,
    /// The outputs of the chosen program's run, by name.
    pub outputs: BTreeMap<String, Tensor>,
    /// The course of the chosen program's run, if it was to be recorded.
    pub recording: Option<Recording>,
}

/// Runs the main job. `read_time` is the time spent reading the inputs.
pub fn run(
    sources: &mut Sources,
    inputs: &Inputs,
    options: &Options,
    scope: Scope,
    recorded: bool,
    (started, read_time): (Instant, Duration),
    line: &Line,
) -> Checked<Done> {
    let schedule = inputs.schedule(&options.schedule)?;
    let hand_written = match scope {
        Scope::Best => Vec::new(),
        _ => hand_written(sources, inputs)?,
    };
    line.say("making data");
    let cases = Cases::new(inputs, options)?;
    let judge = &cases.judge;
    let tuning = Tuning::new(inputs, cases.rank(), options);

    let compared_from = Instant::now();
    let baselines = baselines(inputs, scope);
    let schedules: Vec<&str> = baselines.iter().map(|baseline| baseline.schedule).collect();
    let attempts = tuning.all_known(&schedules, line)?;
    let mut contenders = Vec::new();
    for (Baseline { name, schedule, core }, attempt) in baselines.into_iter().zip(&attempts) {
        contenders.push(contender(name, core, inputs, inputs.schedule(schedule)?, attempt));
    }
    contenders.extend(hand_written.into_iter().map(|(name, program)| Contender {
        name,
        program,
        core: CoreKind::OutOfOrder,
        exact: options.exact,
        rules: BTreeSet::new(),
    }));
    contenders.retain(|c| c.name != options.schedule);
    let run = |contender: &Contender, recorded: bool| {
        let program = contender.program.as_ref().ok()?;
        Some(simulate(program, &inputs.machine, judge, contender.core, recorded))
    };
    // The last come first, for the search asks for those.
    let run_on = |core: CoreKind| {
        let last_first: Vec<&Contender> = contenders.iter().rev().collect();
        let run = |c: &&Contender| (c.core == core).then(|| run(c, false)).flatten();
        let mut outcomes = threads::map(&last_first, run);
        outcomes.reverse();
        outcomes
    };
    let search = || search(&tuning, schedule, scope, line, |best| run(best, recorded));
    // No choice depends on a run of a program that is only compared. The search asks for some of these runs, too, and
    // each runs once.
    let (in_order, (out_of_order, searched)) = rayon::join(
        || run_on(CoreKind::InOrder),
        || rayon::join(|| run_on(CoreKind::OutOfOrder), search),
    );
    let Sought { best, chosen, searched: found, outcome, ablation, pool } = searched?;
    let mut outcomes: Vec<_> =
        out_of_order.into_iter().zip(in_order).map(|(a, b)| a.or(b)).collect();
    outcomes.push(outcome);
    contenders.push(best);
    let compared = compared_from.elapsed();
    let last = outcomes.last().and_then(|outcome| outcome.as_ref()?.as_ref().ok());
    let outputs =
        last.map(|outcome| judge.outputs(&chosen.program, &outcome.tensors)).unwrap_or_default();
    let mut recording = None;
    let records: Vec<Record> = contenders
        .iter()
        .zip(outcomes)
        .map(|(c, outcome)| record(c, outcome, inputs, judge, &mut recording))
        .collect();

    let prepared = prepare(inputs, &judge.instance)?.into_iter().map(PreparedReport::from);
    let (bound, elements) = physical_bound(inputs, judge);
    let record = records.last().cloned().unwrap_or_default();
    let ranked = (cases.rank(), cases.unsampled.as_ref());
    let sample = SampleReport::of(inputs, ranked, chosen.program.program(), record.cycles);
    let report = Report {
        model: inputs.model.name.clone(),
        target: inputs.machine.name.clone(),
        clock_ghz: inputs.machine.core.clock_ghz,
        seed: judge.instance.seed,
        elements,
        programs: records,
        best: Best {
            record,
            program: print(chosen.program.program()),
            bound_cycles: bound.cycles,
            bound_by: bound.bound_by.name().to_owned(),
            assumptions: assumptions(inputs),
            ablation,
            pooled: pool.map(|pool| pool.judged(inputs, judge)),
            estimate: EstimateReport::sum(estimates(&chosen, &found)),
            groups: groups(inputs, &chosen, &found),
        },
        preparation: prepared.collect(),
        sample,
        egraph: EGraphReport {
            nodes: found.nodes(),
            classes: found.classes(),
            iterations: found.iterations(),
            stop_reason: found.stop().to_string(),
        },
        time_ms: Times {
            read: millis(read_time),
            saturate: millis(found.saturate_time()),
            extract: millis(found.extract_time()),
            simulate: millis(compared.saturating_sub(found.saturate_time() + found.extract_time())),
            total: millis(started.elapsed()),
        },
        expected: Vec::new(),
        trace: None,
    };
    Ok(Done { report, trace: trace::of(inputs, &found), best: chosen, outputs, recording })
}

/// The data that programs are judged on, and that on which they are chosen.
struct Cases {
    judge: Case,
    /// The other data on which they are chosen, or samples of the same, if they are not chosen on what they are judged on.
    other: Option<Case>,
    /// The reason why candidates are ranked on all data, though samples were asked for.
    unsampled: Option<NoSample>,
}

impl Cases {
    fn new(inputs: &Inputs, options: &Options) -> Checked<Cases> {
        let model = &inputs.model;
        let apart = options.tunes_apart(model);
        let (rank, unsampled) = Case::to_rank(model, options)?;
        if !apart && !rank.is_sampled() {
            return Ok(Cases { judge: rank, other: None, unsampled });
        }
        let judge = Case::new(model, options.seed, options.exact)?;
        let judge = judge.with_cycle_limit(options.cycle_limit);
        let judge = if apart { judge.with_further_seeds(model) } else { judge };
        Ok(Cases { judge, other: Some(rank), unsampled })
    }

    /// Returns the data on which programs are chosen.
    fn rank(&self) -> &Case {
        self.other.as_ref().unwrap_or(&self.judge)
    }
}

/// Runs the programs that the best one is compared with, as the main job does, but not the best one.
///
/// # Errors
///
/// Fails if there is no data, or a schedule contradicts itself.
pub(crate) fn compared(inputs: &Inputs, options: &Options) -> Checked<Vec<Record>> {
    let cases = Cases::new(inputs, options)?;
    let judge = &cases.judge;
    let tuning = Tuning::new(inputs, cases.rank(), options);
    let baselines = baselines(inputs, Scope::Compared);
    let schedules: Vec<&str> = baselines.iter().map(|baseline| baseline.schedule).collect();
    let attempts = tuning.all_known(&schedules, &Line::hidden())?;
    let mut contenders = Vec::new();
    for (Baseline { name, schedule, core }, attempt) in baselines.into_iter().zip(&attempts) {
        contenders.push(contender(name, core, inputs, inputs.schedule(schedule)?, attempt));
    }
    Ok(threads::map(&contenders, |contender| {
        let program = contender.program.as_ref().ok();
        let outcome =
            program.map(|program| simulate(program, &inputs.machine, judge, contender.core, false));
        record(contender, outcome, inputs, judge, &mut None)
    }))
}

/// The result of the search for the best program.
struct Sought {
    /// The best program, to be judged.
    best: Contender,
    /// The best program with its term and the choices for its groups.
    chosen: Chosen,
    /// The search that found it.
    searched: Arc<Searched>,
    /// The outcome of its run.
    outcome: Option<Result<Outcome, Failure>>,
    /// The worth of each rule set.
    ablation: Vec<Ablation>,
    /// The programs of other searches that it was chosen from, if they are pooled.
    pool: Option<Pool>,
}

/// Searches for the best program of a schedule, runs it, and leaves out each rule set if the scope or the pool asks for
/// it.
fn search(
    tuning: &Tuning<'_>,
    schedule: &Schedule,
    scope: Scope,
    line: &Line,
    run: impl Fn(&Contender) -> Option<Result<Outcome, Failure>> + Sync,
) -> Checked<Sought> {
    let inputs = tuning.inputs;
    let attempt = tuning.best_of(schedule, line)?;
    let chosen = attempt.program(inputs, schedule)?.clone();
    let name = schedule.name.as_str();
    let mut best = contender(name, CoreKind::OutOfOrder, inputs, schedule, &attempt);
    let searched = attempt.searched;
    line.say(match scope {
        Scope::Whole => "simulating, and leaving out each rule set",
        _ => "simulating",
    });
    let left_out = || without(tuning, schedule, &searched, &chosen, line);
    if tuning.options.pool {
        let withouts = left_out()?;
        let pool = Pool::of(tuning, schedule, &chosen, &withouts, line)?;
        let chosen = match pool.better() {
            None => chosen,
            Some(other) => {
                best.program = Ok(other.chosen.program.program().clone());
                best.exact = other.exactness;
                best.rules.clone_from(&other.fired);
                other.chosen.clone()
            }
        };
        let (outcome, ablation) =
            rayon::join(|| run(&best), || ablation(tuning, &chosen, &withouts));
        return Ok(Sought { best, chosen, searched, outcome, ablation, pool: Some(pool) });
    }
    let ablated = || -> Checked<Vec<Ablation>> {
        match scope {
            Scope::Whole => Ok(ablation(tuning, &chosen, &left_out()?)),
            _ => Ok(Vec::new()),
        }
    };
    let (outcome, ablation) = rayon::join(|| run(&best), ablated);
    Ok(Sought { best, chosen, searched, outcome, ablation: ablation?, pool: None })
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn contender(
    name: &str,
    core: CoreKind,
    inputs: &Inputs,
    schedule: &Schedule,
    attempt: &Attempt,
) -> Contender {
    let Attempt { searched, chosen, exactness } = attempt;
    let program = chosen.as_ref().map(|chosen| chosen.program.program().clone());
    let none = |why: &Unfinished| NoProgram(attempt.reason(inputs, schedule, why));
    Contender {
        name: name.to_owned(),
        program: program.map_err(none),
        core,
        exact: *exactness,
        rules: searched.fired(),
    }
}

/// Runs a hand-written program of the model by itself, with the physical bound of its cycles.
///
/// # Errors
///
/// Fails if the model has no such program that the machine is able to run, or there is no data.
pub(crate) fn by_hand(
    sources: &mut Sources,
    inputs: &Inputs,
    options: &Options,
    name: &str,
) -> Checked<(Record, Bound)> {
    let named = hand_written(sources, inputs)?.into_iter().find(|(own, _)| own == name);
    let program = named.ok_or_else(|| {
        vec![Diagnostic::global(format!("`{}` has no program `{name}`", inputs.model.name))]
    })?;
    let program = program.1.map_err(|none| vec![none.0])?;
    let case = Case::new(&inputs.model, options.seed, options.exact)?
        .with_cycle_limit(options.cycle_limit);
    let core = CoreKind::OutOfOrder;
    let outcome = simulate(&program, &inputs.machine, &case, core, false);
    let (program, exact) = (Ok(program), options.exact);
    let contender =
        Contender { name: name.to_owned(), program, core, exact, rules: BTreeSet::new() };
    let record = record(&contender, Some(outcome), inputs, &case, &mut None);
    Ok((record, physical_bound(inputs, &case).0))
}

fn record(
    contender: &Contender,
    outcome: Option<Result<Outcome, Failure>>,
    inputs: &Inputs,
    judge: &Case,
    recording: &mut Option<Recording>,
) -> Record {
    let mut record = Record {
        name: contender.name.clone(),
        exactness: contender.exact.name().to_owned(),
        rules: contender.rules.iter().map(ToString::to_string).collect(),
        ..Record::default()
    };
    let program = match (&contender.program, outcome) {
        (Ok(program), Some(outcome)) => outcome.map(|outcome| (program, outcome)),
        (Err(none), _) => {
            record.missing = Some(none.to_string());
            return record;
        }
        (Ok(_), None) => return record,
    };
    match program {
        Ok((program, outcome)) => {
            let compared = judge.compare(program, &outcome.tensors, contender.exact);
            record.compare(compared);
            record.measure(&outcome.stats, &inputs.machine);
            if outcome.recording.is_some() {
                *recording = outcome.recording;
            }
        }
        Err(failure) => record.fail(&failure),
    }
    record
}

/// Returns the fewest cycles that the machine needs for the model's demand on memory and units, and the number of table
/// elements that the model reads.
pub fn physical_bound(inputs: &Inputs, case: &Case) -> (Bound, u64) {
    let statistics = case.statistics(inputs);
    let plan = Plan::new(inputs.book.signature.table(), &inputs.model, &statistics);
    let spared = Spared::of(inputs, &plan);
    let (demand, elements) = demand(&inputs.model, &case.instance, &inputs.machine, &spared);
    (bound(&demand, &inputs.machine), elements)
}

/// Reports the groups of statements that were searched together.
fn groups(inputs: &Inputs, chosen: &Chosen, searched: &Searched) -> Vec<GroupReport> {
    let names = |statements: &[usize]| {
        let name = |at: &usize| inputs.model.statement_name(*at);
        statements.iter().map(name).collect::<Vec<_>>()
    };
    let report = |((at, group), estimate): ((usize, &ChosenGroup), _)| GroupReport {
        statements: names(&group.statements),
        like: (group.like != at).then(|| names(&chosen.groups[group.like].statements)),
        cycles: group.measure.as_ref().map(|measure| measure.cycles),
        estimate,
    };
    chosen.groups.iter().enumerate().zip(estimates(chosen, searched)).map(report).collect()
}

/// Reports the estimates of the candidate that was chosen for each group, beside those of its search.
fn estimates(chosen: &Chosen, searched: &Searched) -> impl Iterator<Item = EstimateReport> {
    chosen.groups.iter().map(|group| {
        let cycles = group.candidate.estimate;
        let found = searched.found.get(&group.like);
        let candidates = found.iter().flat_map(|found| &found.candidates);
        // The chosen program may be another schedule's, from an e-graph of its own.
        let least = candidates.map(|candidate| candidate.estimate).reduce(f64::min);
        let at_least = found.and_then(|found| found.at_least);
        EstimateReport::new(cycles, least.unwrap_or(cycles), at_least)
    })
}

/// Returns the assumptions of a program beyond the declared shapes and types; they are checked when data is made or
/// read.
fn assumptions(inputs: &Inputs) -> Vec<String> {
    let model = &inputs.model;
    let name = |tensor: TensorId| model.tensor(tensor).name.as_str();
    let rows =
        model.index_uses().into_iter().map(|IndexUse { indices, table, rows, .. }| match table {
            Some(table) => {
                format!("every element of `{}` names a row of `{}`", name(indices), name(table))
            }
            None => format!("every element of `{}` is at least 0 and below {rows}", name(indices)),
        });
    let bags = model.offsets_uses().into_iter().map(|OffsetsUse { offsets, indices }| {
        let (offsets, indices) = (name(offsets), name(indices));
        if model.offsets_uses().len() == 1 {
            return format!(
                "`{offsets}` starts at 0, never falls and ends at the number of lookups"
            );
        }
        format!("`{offsets}` starts at 0, never falls and ends at the number of `{indices}`")
    });
    rows.chain(bags).collect()
}
