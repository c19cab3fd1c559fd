//! The `cores` command's options, and the output of its result.

use super::common::{Exact, Sample};
use super::output::{to_json, write_result};
use super::rule_paths::RulePaths;
use crate::cores::{self, Candidate, Columns, MOST_CORES, Programs, Slices, Split};
use crate::{shipped, single};
use clap::Args;
use ember_compile::groups::{Chooser, Searched};
use ember_compile::pipeline::{self, Case, Inputs, Options, goal, search_without};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::rules::Schedule;
use ember_targets::dlc::{Program, Stmt};
use ember_tools::progress::Line;
use ember_tools::render;
use ember_tools::tuning::Tuning;
use itertools::Itertools;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use thiserror::Error;

/// Options of `cores`.
#[derive(Debug, Args)]
pub(super) struct CoresArgs {
    /// The model.
    model: PathBuf,
    /// The program to run, SCF, SLC or DLC text, in place of the best.
    #[arg(long, value_name = "FILE", conflicts_with = "schedule")]
    program: Option<PathBuf>,
    /// The numbers of cores; one core is always run as well.
    #[arg(long, value_name = "N,…", value_parser = number, value_delimiter = ',', default_value = "1,2,4,8")]
    cores: Vec<u64>,
    /// The ways to divide rows, columns and tables among them [default: all].
    #[arg(long, value_enum, value_delimiter = ',')]
    split: Vec<Split>,
    #[command(flatten)]
    rules: RulePaths,
    /// The machine: a name, or the file of a description.
    #[arg(long, value_name = "NAME|FILE", default_value = ember_targets::machine::DEFAULT)]
    target: String,
    /// The schedule of the best program.
    #[arg(long, value_name = "NAME", default_value_t = Options::default().schedule)]
    schedule: String,
    /// The least exact rules that may run.
    #[arg(long, value_enum, default_value_t = Exact::Bitwise)]
    exact: Exact,
    /// The seed of the data [default: the model's].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How many of the best candidates the simulator ranks on one core, beside the best by other prices of prefetches
    /// [default: what the schedule says, or 12].
    #[arg(long, value_name = "N")]
    candidates: Option<usize>,
    #[command(flatten)]
    sample: Sample,
    /// The most cycles of a run.
    #[arg(long, value_name = "N", default_value_t = Options::default().cycle_limit)]
    cycle_limit: u64,
    /// Write what is printed to a file.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// The error of a number of cores that is not simulated.
#[derive(Clone, Copy, Debug, Error)]
#[error("1 to {MOST_CORES} cores can be simulated")]
struct NoCores;

/// Reads a number of cores.
fn number(text: &str) -> Result<u64, NoCores> {
    text.parse().ok().filter(|n| (1..=MOST_CORES).contains(n)).ok_or(NoCores)
}

impl CoresArgs {
    pub(super) fn run(&self, sources: &mut Sources, line: &Line) -> Checked<ExitCode> {
        let options = Options {
            rules: self.rules.rules.clone(),
            target: self.target.clone(),
            schedule: self.schedule.clone(),
            exact: self.exact.into(),
            seed: self.seed,
            candidates: self.candidates.map(|candidates| candidates.max(1)),
            sample: self.sample.error(),
            cycle_limit: self.cycle_limit,
            ..Options::default()
        };
        let inputs = pipeline::read(sources, &self.model, &options)?;
        let candidates = match &self.program {
            Some(path) => {
                let program = single::read_program(sources, path, &inputs)?.into_program();
                vec![Candidate { chosen_for: GIVEN, program, cycles: None }]
            }
            None => candidates(sources, self, &options, &inputs, line)?,
        };
        let adder = Path::new(shipped::ROOT).join(cores::ADDER);
        let adder = single::read_program(sources, &adder, &inputs)?.into_program();
        let counts: Vec<u64> =
            std::iter::once(1).chain(self.cores.iter().copied()).sorted().dedup().collect();
        let splits = if self.split.is_empty() { &Split::ALL[..] } else { &self.split };
        let splits: Vec<Split> = splits.iter().copied().unique_by(|split| split.name()).collect();
        let slices = match self.program.is_none() && splits.contains(&Split::Columns) {
            true => slices(sources, self, &options, (&inputs, &counts), line)?,
            false => Slices::new(),
        };
        line.say("simulating");
        let programs = Programs { candidates, slices, adder };
        let done = cores::run(&inputs, &options, &programs, (&counts, &splits))?;
        line.done();
        let text = if self.json { to_json(&done) } else { cores::text(&done) };
        write_result(self.output.as_deref(), &text)?;
        let runs = done.cores.iter().flat_map(|count| count.splits.iter().map(move |s| (count, s)));
        let errors: Vec<Diagnostic> = runs
            .filter_map(|(count, split)| {
                let why = split.mismatch.as_ref()?;
                Some(format!("{} cores, {}: {why}", count.cores, split.split))
            })
            .map(Diagnostic::global)
            .collect();
        render::emit(&Sources::default(), &errors);
        Ok(if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

/// What the programs are for: that of a file, and those that are chosen.
const GIVEN: &str = "any share of memory";
const SHARE: &str = "a share of memory";
const ALL: &str = "all of memory";
const WHOLE: &str = "whole products of matrices";

/// The rules by which programs multiply parts of matrices one after the other, whose columns cores cannot divide.
const DEPTHS: &str = "depths";

/// Returns the best programs of a schedule for one core: with its share of memory, as all cores have it together; with all of
/// memory, which suits cores that wait for others less than for their own units; and the one of these that multiplies whole
/// matrices, if the best does not.
fn candidates(
    sources: &mut Sources,
    args: &CoresArgs,
    options: &Options,
    inputs: &Inputs,
    line: &Line,
) -> Checked<Vec<Candidate>> {
    let mut alone = pipeline::read(sources, &args.model, options)?;
    (alone.machine.dram.sharers, alone.machine.llc.sharers) = (1, 1);
    let (program, _) = best(inputs, options, line)?;
    let mut found = vec![Candidate { chosen_for: SHARE, program, cycles: None }];
    let schedule = alone.schedule(&options.schedule)?;
    let (case, _) = Case::to_rank(&alone.model, options)?;
    let tuning = Tuning::new(&alone, &case, options);
    let attempt = tuning.best_of(schedule, line)?;
    let program = attempt.program(&alone, schedule)?.program.program().clone();
    if program != found[0].program {
        found.push(Candidate { chosen_for: ALL, program, cycles: None });
    }
    if found.iter().any(|own| own.program.bodies().into_iter().any(adds_products)) {
        let whole = whole_products(&tuning, schedule, &attempt.searched);
        found.extend(whole.map(|program| Candidate { chosen_for: WHOLE, program, cycles: None }));
    }
    Ok(found)
}

/// Returns true if statements add products of parts of matrices.
fn adds_products(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Matmul { adds, .. } => *adds,
        Stmt::For(own) | Stmt::Walk(_, own) => adds_products(&own.body),
        _ => false,
    })
}

/// Returns the best program of a search that multiplies whole matrices; `None` if all of its programs do.
fn whole_products(
    tuning: &Tuning<'_>,
    schedule: &Schedule,
    searched: &Searched,
) -> Option<Program> {
    let Tuning { inputs, case, statistics, options, .. } = tuning;
    let set = |rule: &&str| inputs.book.rule(rule).map(|rule| rule.set);
    let is_depths = |set: &usize| inputs.book.sets[*set].name.as_str() == DEPTHS;
    let depths = searched.fired().iter().filter_map(set).find(is_depths)?;
    let found = search_without(inputs, statistics, options, schedule, depths, searched);
    let rank = options.rank.then_some(*case);
    let chooser = Chooser::new(inputs, rank, goal(&inputs.book, schedule));
    Some(chooser.choose_among(&found, &[]).ok()?.program.program().clone())
}

/// Returns the best programs for the slices of columns that some cores have, with all of memory; none for a model whose data
/// or programs do not fit slices.
fn slices(
    sources: &mut Sources,
    args: &CoresArgs,
    options: &Options,
    (inputs, counts): (&Inputs, &[u64]),
    line: &Line,
) -> Checked<Slices> {
    let mut found = Slices::new();
    let Some(columns) = Columns::of(&inputs.model, &inputs.machine) else { return Ok(found) };
    for slices in counts.iter().flat_map(|cores| columns.slices(*cores)).unique() {
        let mut narrow = pipeline::read(sources, &args.model, options)?;
        narrow.model = columns.narrow(&inputs.model, slices);
        (narrow.machine.dram.sharers, narrow.machine.llc.sharers) = (1, 1);
        let Ok((program, cycles)) = best(&narrow, options, line) else { continue };
        let wide = columns.wide(&inputs.model, program, &inputs.machine);
        let candidate = |program| Candidate { chosen_for: ALL, program, cycles };
        found.extend(wide.map(|program| (slices, candidate(program))));
    }
    Ok(found)
}

/// Returns the best program of a schedule on one core, and its cycles.
fn best(inputs: &Inputs, options: &Options, line: &Line) -> Checked<(Program, Option<u64>)> {
    let schedule = inputs.schedule(&options.schedule)?;
    line.say("making data");
    let (case, _) = Case::to_rank(&inputs.model, options)?;
    let attempt = Tuning::new(inputs, &case, options).best_of(schedule, line)?;
    let program = attempt.program(inputs, schedule)?.program.program().clone();
    let cycles = case.rank(&program, &inputs.machine).ok().map(|measure| measure.cycles);
    Ok((program, cycles))
}
