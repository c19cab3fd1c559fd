//! The `cores` command: a program on several cores that divide its rows and meet where layers exchange some, by number of
//! cores and by way to divide rows, beside the bound of so many cores.

mod balance;
mod columns;
mod cut;
mod lookups;
mod phases;
mod plan;
mod split;
mod steps;
mod table;

use ember_compile::demand::{Spared, demand};
use ember_compile::groups;
use ember_compile::pipeline::{Case, Failure, Inputs, Options};
use ember_compile::rows::Rows;
use ember_host::threads;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_sim::{Demand, SimError, Together, Workers, bound_on, run_phases};
use ember_targets::dlc::Program;
use ember_targets::machine::Machine;
use itertools::Itertools;
use phases::Ways;
use plan::{Key, Pieces, Plan};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use columns::{Columns, Slices};
pub(crate) use cut::ADDER;
pub(crate) use split::Split;
pub(crate) use table::text;

/// The most cores that are simulated.
pub(crate) const MOST_CORES: u64 = 256;

/// A program on several numbers of cores.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct Cores {
    /// The model's name.
    pub(crate) model: String,
    /// The machine's name.
    pub(crate) target: String,
    /// The program's name.
    pub(crate) program: String,
    /// The seed of the data.
    pub(crate) seed: u64,
    /// The size that counts the rows that are divided.
    pub(crate) rows_of: String,
    /// The rows.
    pub(crate) rows: u64,
    /// The part of all work, as lookups and rows, that the longest row is.
    pub(crate) longest_row: f64,
    /// The results by number of cores, first those of one.
    pub(crate) cores: Vec<Count>,
}

/// The results of one number of cores.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct Count {
    /// The cores.
    pub(crate) cores: u64,
    /// The fewest cycles that are physically possible, however rows are divided.
    pub(crate) bound_cycles: u64,
    /// The resource that requires them.
    pub(crate) bound_by: String,
    /// The split with the fewest cycles; `null` if no run ended well.
    pub(crate) best: Option<String>,
    /// The split that the estimate takes for the best.
    pub(crate) expected: String,
    /// Every split.
    pub(crate) splits: Vec<Divided>,
}

/// The result of one split.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub(crate) struct Divided {
    /// The split.
    pub(crate) split: String,
    /// The share of memory that its program was chosen for.
    pub(crate) program_for: String,
    /// The cycles to expect, from those of one core and the lookups of the core that has the most; if borders were moved,
    /// from those of the cores before.
    pub(crate) estimated_cycles: u64,
    /// Cycles from the start to the last result of the last core: the makespan; `null` if a run did not end.
    pub(crate) cycles: Option<u64>,
    /// True if the outputs are the reference's.
    pub(crate) valid: bool,
    /// The reason why they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mismatch: Option<String>,
    /// The speed, as a multiple of that of one core.
    pub(crate) speedup: Option<f64>,
    /// The speedup for each core.
    pub(crate) efficiency: Option<f64>,
    /// The efficiency as a part of the bound's.
    pub(crate) of_bound_efficiency: Option<f64>,
    /// The bound's cycles as a part of these.
    pub(crate) of_bound: Option<f64>,
    /// The mean of the cores' last results, without their cycles at barriers, as a part of the makespan: a makespan that no
    /// division of the same work can shorten further if it is 1.
    pub(crate) balance: Option<f64>,
    /// The traffic of main memory in GB/s.
    pub(crate) gb_per_s: Option<f64>,
    /// Bytes read from and written to main memory.
    pub(crate) dram_bytes: u64,
    /// Energy in joules, of all cores.
    pub(crate) energy_j: f64,
    /// The barriers between layers.
    pub(crate) barriers: usize,
    /// The mean of the cores' cycles at barriers, from their last result before one to its end, as a part of the makespan.
    pub(crate) at_barriers: Option<f64>,
    /// The parts that the rows are divided into.
    pub(crate) parts: usize,
    /// The cycle in which the first core was done, and that in which the last was.
    pub(crate) done: (u64, u64),
}

/// The programs to run.
pub(crate) struct Programs {
    /// The programs for all columns. Only the first runs on one core; of several cores, each split has the one that is
    /// the fastest with it.
    pub(crate) candidates: Vec<Candidate>,
    /// The programs for slices of columns.
    pub(crate) slices: Slices,
    /// The program that adds the pieces of rows that are cut.
    pub(crate) adder: Program,
}

/// A program to run, and the machine that it was chosen for.
pub(crate) struct Candidate {
    /// The share of memory that a core has there, in a few words.
    pub(crate) chosen_for: &'static str,
    /// The program.
    pub(crate) program: Program,
    /// Its cycles on one core, if it computes only some of the columns.
    pub(crate) cycles: Option<u64>,
}

/// Runs programs on numbers of cores, of which the first is 1.
pub(crate) fn run(
    inputs: &Inputs,
    options: &Options,
    programs: &Programs,
    (cores, splits): (&[u64], &[Split]),
) -> Checked<Cores> {
    let Some(first) = programs.candidates.first() else {
        return Err(vec![Diagnostic::global("there is no program to run")]);
    };
    let case = Case::new(&inputs.model, options.seed, options.exact)?;
    let machine = &inputs.machine;
    let rows = Rows::of(&inputs.model, &case.instance)?;
    let pieces = Pieces::of(inputs, &rows, options.exact);
    let work = Work::of(inputs, &case, &rows, &pieces);
    let owned = plan::owned(programs, (&rows, &case.instance), machine.dram.line_bytes)?;
    let cuts = pieces.cuts(inputs, &case, &rows, &owned, (cores, splits))?;
    let mut planned: Vec<Plan<'_>> = (cores.iter())
        .flat_map(|cores| plan::plans(inputs, &rows, (&owned, &cuts, &pieces), (*cores, splits)))
        .collect();
    let run = |plan: &Plan<'_>| simulate(plan, &rows, machine, (&case, options), &programs.adder);
    // Several splits may be the same, such as those by rows and by lookups if each row has equally many.
    let distinct: Vec<&Plan<'_>> = planned.iter().unique_by(|plan| plan.key()).collect();
    let mut runs = judge(&distinct, run)?;
    if splits.contains(&Split::Balanced) {
        balance::balance(&mut planned, &mut runs, (&inputs.model, &rows, &case), run)?;
    }
    let one = planned.first().and_then(|plan| runs.get(&plan.key())?.cycles());
    let bound_of_one = work.bound(machine, 1).0;

    let mut counts: Vec<Count> = Vec::new();
    for plan in &planned {
        let n = plan.cores;
        let (bound, by) = work.bound(machine, n);
        let bound_efficiency = bound_of_one as f64 / (n * bound.max(1)) as f64;
        let mut divided = Divided {
            split: plan.split.name().to_owned(),
            program_for: plan.own.candidate.chosen_for.to_owned(),
            estimated_cycles: work.estimate(machine, &rows, plan, one.unwrap_or(0)),
            barriers: plan.barriers(),
            parts: plan.division.parts.len(),
            ..Divided::default()
        };
        if let Some(run) = runs.get(&plan.key()) {
            divided.measure(run, machine, (n, one), (bound, bound_efficiency));
        }
        match counts.iter_mut().find(|count| count.cores == n) {
            Some(count) => count.add(divided),
            None => counts.push(Count {
                cores: n,
                bound_cycles: bound,
                bound_by: by,
                best: None,
                expected: String::new(),
                splits: vec![divided],
            }),
        }
    }
    counts.iter_mut().for_each(Count::choose);
    let heaviest = rows.weights().iter().max().copied().unwrap_or(0);
    Ok(Cores {
        model: inputs.model.name.clone(),
        target: machine.name.clone(),
        program: first.program.name.clone(),
        seed: case.instance.seed,
        rows_of: rows.size.clone(),
        rows: rows.count(),
        longest_row: heaviest as f64 / rows.weight(&(0..rows.count())).max(1) as f64,
        cores: counts,
    })
}

impl Count {
    /// Adds a split, or replaces it if another program is faster with it. A wrong output stays.
    fn add(&mut self, divided: Divided) {
        match self.splits.iter_mut().find(|known| known.split == divided.split) {
            None => self.splits.push(divided),
            Some(known) if !known.valid => {}
            Some(known) if divided.valid && known.cycles <= divided.cycles => {}
            Some(known) => *known = divided,
        }
    }

    /// Chooses the split with the fewest cycles, and the one that the estimate takes for that; the first among equals.
    fn choose(&mut self) {
        let expected = self.splits.iter().min_by_key(|split| split.estimated_cycles);
        self.expected = expected.map(|split| split.split.clone()).unwrap_or_default();
        let right = self.splits.iter().filter(|split| split.valid);
        let ended = right.filter_map(|split| Some((split.cycles?, split)));
        self.best = ended.min_by_key(|(cycles, _)| *cycles).map(|(_, split)| split.split.clone());
    }

    /// Returns the split with the fewest cycles.
    pub(crate) fn best(&self) -> Option<&Divided> {
        self.splits.iter().find(|split| Some(&split.split) == self.best.as_ref())
    }
}

impl Divided {
    fn measure(
        &mut self,
        run: &Judged,
        machine: &Machine,
        (n, one): (u64, Option<u64>),
        (bound, bound_efficiency): (u64, f64),
    ) {
        (self.valid, self.mismatch) = (run.mismatch.is_none(), run.mismatch.clone());
        let Some(together) = &run.together else { return };
        let stats = &together.outcome.stats;
        let cycles = stats.cycles.max(1) as f64;
        self.cycles = Some(stats.cycles);
        self.dram_bytes = stats.dram_bytes.read + stats.dram_bytes.written;
        self.energy_j = stats.energy_j;
        self.gb_per_s = Some(self.dram_bytes as f64 / machine.seconds(stats.cycles.max(1)) / 1e9);
        self.of_bound = Some(bound as f64 / cycles);
        self.speedup = one.map(|one| one as f64 / cycles);
        self.efficiency = self.speedup.map(|speedup| speedup / n as f64);
        self.of_bound_efficiency = self.efficiency.map(|own| own / bound_efficiency);
        let ends = || together.cores.iter().map(|core| core.end);
        self.done = (ends().min().unwrap_or(0), ends().max().unwrap_or(0));
        let waited = together.cores.iter().map(|core| core.waited).sum::<u64>() as f64 / n as f64;
        let mean = ends().sum::<u64>() as f64 / n as f64;
        self.balance = Some((mean - waited) / self.done.1.max(1) as f64);
        self.at_barriers = Some(waited / cycles);
    }
}

/// A run, and why its outputs are not the reference's.
struct Judged {
    together: Option<Together>,
    mismatch: Option<String>,
}

impl Judged {
    /// Returns the cycles of a run that has ended.
    fn cycles(&self) -> Option<u64> {
        Some(self.together.as_ref()?.outcome.stats.cycles)
    }
}

/// Runs plans.
fn judge(
    plans: &[&Plan<'_>],
    run: impl Fn(&Plan<'_>) -> Checked<Judged> + Sync,
) -> Checked<FxHashMap<Key, Judged>> {
    let judged = |plan: &&Plan<'_>| Ok((plan.key(), run(plan)?));
    threads::map(plans, judged).into_iter().collect()
}

fn simulate(
    plan: &Plan<'_>,
    rows: &Rows,
    machine: &Machine,
    (case, options): (&Case, &Options),
    adder: &Program,
) -> Checked<Judged> {
    let (program, division) = (&plan.own.candidate.program, &plan.division);
    let bound = match &plan.cut {
        Some(cut) => cut.bindings(program).map_err(Failure::Input),
        None => case.bindings(program),
    };
    let data = match bound {
        Ok(data) => data,
        Err(Failure::Input(errors)) => return Err(errors),
        Err(failure) => return Ok(Judged { together: None, mismatch: Some(failure.to_string()) }),
    };
    let cut = plan.cut.as_ref().map(|cut| (cut, cut.adder(adder)));
    let mut phases = plan.phases.divided(division, rows, data);
    phases.extend(cut.iter().map(|(cut, adder)| cut.phase(adder, plan.cores)));
    let run =
        ember_sim::Options { max_cycles: options.cycle_limit, ..ember_sim::Options::default() };
    Ok(match run_phases(phases, machine, run) {
        Ok(mut together) => {
            let mut tensors = std::mem::take(&mut together.outcome.tensors);
            if let Some((cut, _)) = &cut {
                cut.joined(program, &mut tensors);
            }
            let compared = case.compare(program, &tensors, options.exact);
            Judged { together: Some(together), mismatch: compared.err().map(|e| e.to_string()) }
        }
        Err(error @ SimError::Cycles { .. }) => {
            let why = format!("{error}; `--cycle-limit` allows more");
            Judged { together: None, mismatch: Some(why) }
        }
        Err(error) => Judged { together: None, mismatch: Some(error.to_string()) },
    })
}

/// The work of a model: all of it, and that of the longest row, which one core does.
struct Work {
    all: Demand,
    longest: Demand,
}

impl Work {
    /// Rows that several cores may compute have no bound of their own.
    fn of(inputs: &Inputs, case: &Case, rows: &Rows, pieces: &Pieces) -> Work {
        let statistics = case.statistics(inputs);
        let plan = groups::Plan::new(inputs.book.signature.table(), &inputs.model, &statistics);
        let spared = Spared::of(inputs, &plan);
        let of = |instance: &_| demand(&inputs.model, instance, &inputs.machine, &spared).0;
        let alone = |row| of(&rows.part(row..row + 1, &inputs.model, &case.instance));
        // What the longest row needs from memory may be in the last-level cache because of another row.
        let longest = rows
            .heaviest()
            .filter(|_| rows.apart() && !pieces.any())
            .map(alone)
            .unwrap_or_default();
        let longest = Demand { lines: 0, bank_rows: 0, written_lines: 0, ..longest };
        Work { all: of(&case.instance), longest }
    }

    /// Returns the fewest cycles of some cores, and the resource that requires them.
    fn bound(&self, machine: &Machine, cores: u64) -> (u64, String) {
        let all = bound_on(&self.all, machine, Workers { working: cores, cores });
        let row = bound_on(&self.longest, machine, Workers { working: 1, cores });
        match row.cycles > all.cycles {
            true => (row.cycles, format!("{} of the longest row", row.bound_by.name())),
            false => (all.cycles, all.bound_by.name().to_owned()),
        }
    }

    /// Returns the cycles to expect of a plan, given those of one core for all columns: the bound, or what the core with
    /// the most work needs if it is as fast as that one; and the start of each of its parts after the first.
    fn estimate(&self, machine: &Machine, rows: &Rows, plan: &Plan<'_>, one: u64) -> u64 {
        let Plan { cores, division, expected, .. } = plan;
        if let Some(expected) = expected {
            return *expected;
        }
        let one = plan.own.candidate.cycles.unwrap_or(one);
        let (share, parts) = match &plan.cut {
            Some(_) => (1.0 / *cores as f64, 2),
            None if plan.phases.ways != Ways::default() => {
                (1.0 / *cores as f64, 1 + plan.barriers())
            }
            None => {
                let (most, parts) = Split::most(rows, division);
                (most as f64 / rows.weight(&(0..rows.count())).max(1) as f64, parts)
            }
        };
        let started = start(machine) * parts.saturating_sub(1) as u64;
        self.bound(machine, *cores).0.max((one as f64 * share) as u64) + started
    }
}

/// Returns the cycles that the start of a part takes: the latencies of its first offset, index and row.
fn start(machine: &Machine) -> u64 {
    let dram = &machine.dram;
    let memory = machine.cycles(dram.t_rcd_ns + dram.t_cas_ns + dram.controller_ns);
    3 * (machine.llc.latency + memory)
}
