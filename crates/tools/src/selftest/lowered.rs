//! Checks every program that the search finds for a random program. Each is run as a term and, split between the units
//! and verified, on the simulator; the text of the DLC program is read back and run as a term again.

use super::data::{Data, Relation, Run};
use egg::{Id, Language};
use ember_analysis::facts::{Facts, VectorUnit};
use ember_compile::cost::{Goal, Rates};
use ember_compile::pipeline::lower;
use ember_compile::search::Search;
use ember_compile::workload::Statistics;
use ember_engine::CompiledRule;
use ember_engine::saturate::{Limits, StopReason};
use ember_interpret::Store;
use ember_language::rules::{Exactness, Kind, OpInfo, Operators, RuleBook};
use ember_language::term::Term;
use ember_language::text;
use ember_prove::equiv::{Failure, lifted, store_after};
use ember_prove::random::Made;
use ember_targets::dlc::Program;
use ember_targets::machine::Machine;
use fastrand::Rng;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

/// The counts of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Lowered {
    /// Random programs.
    pub made: usize,
    /// Extracted terms.
    pub terms: usize,
    /// Simulated DLC programs.
    pub programs: usize,
    /// Terms that need more registers or units than the machine has.
    pub rejected: usize,
    /// Terms that load from a place that depends on no loop. A decoupled program loads it before any loop runs, even if
    /// no iteration needs it; this faults on a tensor without elements, so such terms are not simulated.
    pub early: usize,
    /// DLC programs that were read back as statements of one processor, as proofs read them.
    pub read: usize,
    /// Pairs of runs that ended and agreed.
    pub runs: usize,
}

/// The limits of each saturation.
const LIMITS: Limits = Limits { iterations: 30, nodes: 20_000 };

/// The number of programs extracted for each schedule.
const BEST: usize = 24;

/// The simulated cycles after which a run is given up.
const CYCLES: u64 = 5_000_000;

/// The schedules that are run: the search, the steps on the way to it, and one processor alone.
const SCHEDULES: [(&str, Goal); 5] = [
    ("coupled", Goal::Coupled),
    ("emb-opt0", Goal::Decoupled),
    ("emb-opt2", Goal::Decoupled),
    ("emb-opt3", Goal::Decoupled),
    ("search", Goal::Decoupled),
];

/// An error in the results of a schedule.
#[derive(Clone, Debug, Error)]
pub enum Wrong {
    /// The rules contradict each other.
    #[error("{schedule}: {stop}")]
    Rules { schedule: &'static str, stop: StopReason },
    /// A program does not have the results of its source.
    #[error("{schedule}: {what}: {why}\n{text}")]
    Program { schedule: &'static str, what: &'static str, why: String, text: String },
}

/// A random program with an error in its results.
#[derive(Clone, Debug, Error)]
#[error("program {seed}: {why}\nof\n{text}")]
pub struct WrongProgram {
    /// The seed from which it is made.
    pub seed: u64,
    /// The error.
    pub why: Box<Wrong>,
    /// Its text.
    pub text: String,
}

/// Searches the programs of a random program by every schedule and compares the results of each with the results of the
/// program itself, on all of the data.
///
/// # Errors
/// Returns the first error, with the program that causes it.
pub fn lowered(
    made: &Made,
    (book, compiled, machine): (&RuleBook, &[CompiledRule], &Machine),
    (data, expected): (&Data, &[Run]),
) -> Result<Lowered, Wrong> {
    let context = made.declarations.context();
    let unit = VectorUnit {
        simd_bytes: machine.core.simd_bytes,
        registers: machine.core.vector_registers,
    };
    let operators = book.signature.table();
    let facts = Facts::new(&context.tensors, &context.sizes, operators.clone(), unit);
    let store = Store::default();
    let statistics = Statistics::of_store(&store);
    let words = made.declarations.words(&book.signature);
    let mut done = Lowered { made: 1, ..Lowered::default() };
    for (name, goal) in SCHEDULES {
        let Some(schedule) = book.schedule(name) else { continue };
        let search = Search {
            book,
            rules: compiled,
            schedule,
            without: None,
            exact: Exactness::Bitwise,
            goal,
            facts: &facts,
            statistics: &statistics,
            rates: &Rates::of(machine),
            limits: LIMITS,
            bounded: false,
            best: BEST,
        };
        let found = search.run(&made.term, &mut |_| {});
        if let StopReason::Contradiction { .. } = found.stop {
            return Err(Wrong::Rules { schedule: name, stop: found.stop });
        }
        for candidate in found.candidates {
            let wrong = |what: &'static str, why: String| Wrong::Program {
                schedule: name,
                what,
                why,
                text: text::program(&candidate.term, &words),
            };
            match data.relation(expected, &data.of_term(&candidate.term)) {
                Relation::Same(runs) => done.runs += runs,
                Relation::Different(why) | Relation::Fault(why) => {
                    return Err(wrong("the term", why));
                }
            }
            done.terms += 1;
            if goal == Goal::Decoupled && early(&candidate.term, operators) {
                done.early += 1;
                continue;
            }
            // A machine has a limited number of registers and units; a term that needs more is no program for it.
            let Ok(program) = lower(operators, machine, &candidate.term, &context, goal) else {
                done.rejected += 1;
                continue;
            };
            let simulated = data.results(|store| run(program.program(), machine, store));
            match data.relation(expected, &simulated) {
                Relation::Same(runs) => done.runs += runs,
                Relation::Different(why) | Relation::Fault(why) => {
                    return Err(wrong("the DLC program", why));
                }
            }
            done.programs += 1;
            let Ok(statement) = lifted(&program, book.signature.table()) else { continue };
            match data.relation(expected, &data.of_term(&statement)) {
                Relation::Same(runs) => done.runs += runs,
                Relation::Different(why) | Relation::Fault(why) => {
                    let read = text::program(&statement, &words);
                    return Err(wrong("the DLC program as it is read", format!("{why}\n{read}")));
                }
            }
            done.read += 1;
        }
    }
    Ok(done)
}

/// [`lowered`] for many programs of a seed, several at a time; calls `done` after each.
///
/// # Errors
/// Returns the first error, with the random program that causes it.
pub fn all_lowered(
    tools: (&RuleBook, &[CompiledRule], &Machine),
    seed: u64,
    programs: &[usize],
    done: impl Fn() + Sync,
) -> Result<Lowered, WrongProgram> {
    let one = |&number: &usize| {
        let mut rng = Rng::with_seed(seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let own = rng.u64(..);
        let made = Made::random(tools.0, own, rng.u32(0..3));
        let data = Data::new(&made, tools.0.signature.table(), own);
        let found = lowered(&made, tools, (&data, &data.of_term(&made.term)));
        done();
        found.map_err(|why| WrongProgram {
            seed: own,
            why: Box::new(why),
            text: made.text(&tools.0.signature),
        })
    };
    let all: Vec<Result<Lowered, WrongProgram>> = programs.par_iter().map(one).collect();
    all.into_iter().try_fold(Lowered::default(), |sum, one| {
        let one = one?;
        Ok(Lowered {
            made: sum.made + one.made,
            terms: sum.terms + one.terms,
            programs: sum.programs + one.programs,
            rejected: sum.rejected + one.rejected,
            early: sum.early + one.early,
            read: sum.read + one.read,
            runs: sum.runs + one.runs,
        })
    })
}

/// Returns true if a term has a position that is a number.
fn early(term: &Term, operators: &Operators) -> bool {
    let number = |id: Id| {
        let info = operators.of(&term[id]);
        let given =
            |info: &OpInfo| info.is_transparent() && !info.boundary && info.operand_units == [None];
        term[id].name().is_none() || info.is_some_and(given)
    };
    let mut nodes = term.as_ref().iter();
    nodes.any(|node| {
        let info = operators.of(node).filter(|info| info.kind == Some(Kind::Address));
        let index = info.and_then(|info| info.first_of(Kind::Value));
        index.is_some_and(|at| number(node.children()[at]))
    })
}

/// Runs a DLC program.
fn run(program: &Program, machine: &Machine, store: &Store) -> Run {
    match store_after(program, machine, store, CYCLES) {
        Ok(after) => Run::Ended(Box::new(after)),
        Err(Failure::Limit) => Run::Long,
        Err(Failure::Fault(why)) => Run::Fault(why),
    }
}
