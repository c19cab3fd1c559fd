//! Several cores, each with its access unit and private caches, in front of one last-level cache and main memory.
//!
//! Rows are divided: each core runs the whole program, or a step of it, on some of the rows as though they were all. Cores
//! take turns, the one that is furthest behind first, so that what they share sees requests nearly in time order.
//! Programs that follow each other are separated by a barrier.

mod division;
mod passing;

pub use division::{Division, Phase};
pub use passing::{Passed, Visit};

use crate::code::{AccessCode, Context, ExecuteCode, compile_access, compile_execute};
use crate::data::{self, Held};
use crate::error::SimError;
use crate::memory::{Lines, Memory, Shared};
use crate::scheduler::{Kind, Sim};
use crate::stats::Tally;
use crate::{Bindings, CoreKind, Options, Outcome, Recording, Values};
use ember_targets::dlc::{Program, TensorId};
use ember_targets::machine::Machine;
use ember_targets::verify::Footprint;
use passing::Passing;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

/// The number of cycles that a core may run past the one behind it, so that turns are not too short. Shared resources admit
/// requests out of order; but the more cores are ahead, the later is the slot that the last one gets of what all of them fill.
const TURN: u64 = 16;

/// The result of several cores.
#[derive(Clone, Debug)]
pub struct Together {
    /// The tensors of the first program, and the counts of all cores; cycles are those from the start to the last result in
    /// main memory. Only the run of one part is recorded.
    pub outcome: Outcome,
    /// Each core's part of it.
    pub cores: Vec<CoreRun>,
    /// The cycles of each part of the last program, from its start to its last result.
    pub parts: Vec<u64>,
}

/// One core's part in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreRun {
    /// The parts that it ran.
    pub parts: usize,
    /// The cycle of its last result; of the last barrier, if it had nothing to do after it.
    pub end: u64,
    /// The cycles from its last result before each barrier to the barrier's end.
    pub waited: u64,
    /// Of these, the cycles in which it wrote back what others may read.
    pub released: u64,
}

/// The halves of a program, compiled for one part.
type Halves = (AccessCode, ExecuteCode);

/// A program and its division, ready to run.
struct Stage<'a> {
    name: &'a str,
    division: &'a Division,
    /// The halves for each part.
    code: &'a [Halves],
    /// For each of the program's tensors, its place among all.
    places: Vec<usize>,
    /// For each of them, true if each part has a copy.
    copied: Vec<bool>,
    /// The lines of the tensors that the program writes.
    written: Vec<Range<u64>>,
}

/// A core that runs a part, and the parts that it runs after it.
struct Worker<'a> {
    core: usize,
    part: usize,
    sim: Sim<'a>,
    own: VecDeque<usize>,
}

/// All cores of a run, and what they share.
struct Cluster<'a> {
    machine: &'a Machine,
    kind: Kind<'a>,
    /// The tensors, with what has been written, except for what the core whose turn it is has borrowed.
    whole: Vec<Held>,
    /// The distance in memory between the scratch of one core and that of the next.
    reach: u64,
    /// The parts that nobody has taken yet.
    queue: VecDeque<usize>,
    /// The time of an access of the last-level cache: to take a part, to arrive at a barrier, or to see that it is over.
    access: u64,
    shared: Rc<RefCell<Shared>>,
    ran: Vec<CoreRun>,
    /// The private caches of the cores that do not work.
    memories: BTreeMap<usize, Memory>,
    tally: Tally,
    recording: Option<Recording>,
    /// The cycles of each part of the program that runs.
    parts: Vec<u64>,
    /// The rows that are passed over before parts, if some are.
    passing: Option<Passing<'a>>,
}

/// Runs a program on cores that divide its rows.
///
/// The results are those of one core for any program whose rows do not depend on each other. Rows that do are not found
/// out: callers know which sizes count independent rows, and compare the results.
///
/// # Errors
///
/// As [`run`](crate::run); and if the division is not one of the program's rows.
pub fn run_divided(
    program: &Program,
    machine: &Machine,
    data: Bindings,
    options: Options,
    division: Division,
) -> Result<Together, SimError> {
    run_phases(vec![Phase::only(program, data, division)], machine, options)
}

/// Runs parts of a program's rows on one core, and passes over the rows before each part: they take no time, but caches are
/// as though they had run. What the program writes there is not computed.
///
/// # Errors
///
/// As [`run_divided`].
pub fn run_passing(
    program: &Program,
    machine: &Machine,
    data: Bindings,
    options: Options,
    (division, passed): (Division, Passed<'_>),
) -> Result<Together, SimError> {
    let phases = vec![Phase::only(program, data, division)];
    run_cluster(phases, machine, options, Some(Passing::new(program, passed)))
}

/// Runs programs one after the other on cores that divide the rows of each.
///
/// Between two programs is a barrier. Before a core arrives there, it writes what is dirty in its private caches back to the
/// last-level cache, and drops its copies of lines that others may have written. Arriving is an access of the last-level
/// cache, and so is seeing that the last core has arrived.
///
/// # Errors
///
/// As [`run_divided`].
pub fn run_phases(
    phases: Vec<Phase<'_>>,
    machine: &Machine,
    options: Options,
) -> Result<Together, SimError> {
    run_cluster(phases, machine, options, None)
}

fn run_cluster(
    mut phases: Vec<Phase<'_>>,
    machine: &Machine,
    options: Options,
    passing: Option<Passing<'_>>,
) -> Result<Together, SimError> {
    let Some(first) = phases.first() else {
        return Err(SimError::invalid("there is no program to run"));
    };
    let (cores, results) = (first.division.own.len(), first.program.tensors.len());
    for phase in &phases {
        phase.check()?;
        if phase.division.own.len() != cores {
            let message = "programs are divided among different cores".to_owned();
            return Err(SimError::Binding { message });
        }
    }
    let in_order = options.core == CoreKind::InOrder;
    let figures = if in_order { &machine.in_order } else { &machine.core };
    let compile = |values: Values| -> Result<Vec<Vec<Halves>>, SimError> {
        let halves = |phase: &Phase<'_>, (part, rows): (usize, &Range<u64>)| {
            let (program, division) = (phase.program_of(part), &phase.division);
            let sizes = division.sizes_of(&phase.sizes, rows);
            let columns = division.columns.get(part);
            let (sizes, first) = (&sizes, rows.start);
            let context = Context { program, sizes, division, first, columns, values };
            Ok((compile_access(context, machine)?, compile_execute(context, figures)?))
        };
        let each = |phase: &Phase<'_>| {
            phase.division.parts.iter().enumerate().map(|part| halves(phase, part)).collect()
        };
        phases.iter().map(each).collect()
    };
    let (mut values, mut code) = (options.values, compile(options.values)?);
    let mixes = code.iter().flatten().any(|(access, execute)| access.mixes || execute.mixes);
    if values == Values::Integers && mixes {
        (values, code) = (Values::All, compile(Values::All)?);
    }
    let mut whole = Vec::new();
    let mut places = Vec::new();
    for phase in &mut phases {
        let tensors = std::mem::take(&mut phase.tensors);
        places.push(data::bind(phase.program, tensors, &phase.sizes, values, &mut whole)?);
    }
    let lines = Lines::new(machine.dram.line_bytes);
    let written = |phase: &Phase<'_>, places: &[usize]| {
        let addresses = |tensor: TensorId| whole[places[tensor.index()]].addresses();
        let effects = Footprint::of(phase.program);
        let written = effects.written().map(addresses);
        written.map(|Range { start, end }| lines.covering(start, end)).collect()
    };
    let each = phases.iter().zip(&code).zip(places);
    let stages: Vec<Stage<'_>> = each
        .map(|((phase, code), places)| Stage {
            name: &phase.program.name,
            division: &phase.division,
            code,
            copied: phase.program.ids().map(|id| phase.division.copied.contains(&id)).collect(),
            written: written(phase, &places),
            places,
        })
        .collect();
    let parts: usize = phases.iter().map(|phase| phase.division.parts.len()).sum();
    let shared = Rc::new(RefCell::new(Shared::new(machine, cores as u64)));
    let memory = |core| (core, Memory::new(machine, figures, &shared));
    let cluster = Cluster {
        machine,
        kind: Kind { figures, in_order, recorded: options.recorded && parts == 1 },
        reach: whole.iter().map(Held::end).max().unwrap_or(0),
        whole,
        queue: VecDeque::new(),
        access: machine.llc.latency + machine.farther(cores as u64),
        memories: (0..cores).map(memory).collect(),
        shared,
        ran: vec![CoreRun::default(); cores],
        tally: Tally::default(),
        recording: None,
        parts: Vec::new(),
        passing,
    };
    cluster.run(&stages, options, results)
}

impl<'a> Cluster<'a> {
    /// Runs all programs, of the first of which so many tensors are results.
    fn run(
        mut self,
        stages: &'a [Stage<'a>],
        options: Options,
        results: usize,
    ) -> Result<Together, SimError> {
        for (n, stage) in stages.iter().enumerate() {
            if let Some(before) = n.checked_sub(1) {
                self.meet(&stages[before]);
            }
            self.run_stage(stage, options.max_cycles)?;
            if let Some(mut memory) = self.memories.remove(&0) {
                let (parts, tensors) = (stage.division.parts.len(), self.views(stage, 0));
                self.pass(parts, &tensors, &mut memory, self.ran[0].end);
                self.memories.insert(0, memory);
            }
        }
        Ok(self.finish(options.values, results))
    }

    /// Runs all parts of a program.
    fn run_stage(&mut self, stage: &'a Stage<'a>, max_cycles: u64) -> Result<(), SimError> {
        // The cores by the cycle that they have come to.
        let mut turns: BTreeMap<(u64, usize), Box<Worker<'a>>> = BTreeMap::new();
        self.queue = stage.division.shared.iter().copied().collect();
        self.parts = vec![0; stage.division.parts.len()];
        for (core, own) in stage.division.own.iter().enumerate() {
            let begun = self.begin(stage, core, own.iter().copied().collect());
            turns.extend(begun.map(|worker| ((worker.sim.begun, core), worker)));
        }
        while let Some((_, mut worker)) = turns.pop_first() {
            let behind = turns.first_key_value().map(|((clock, _), _)| *clock);
            let until = behind.map_or(u64::MAX, |clock| clock.saturating_add(TURN));
            self.lend(stage, &mut worker);
            let turn = worker.sim.turn(until, max_cycles)?;
            self.lend(stage, &mut worker);
            let next = match turn {
                Some(clock) => Some((clock, worker)),
                None => self.end(stage, *worker)?.map(|worker| (worker.sim.begun, worker)),
            };
            turns.extend(next.map(|(clock, worker)| ((clock, worker.core), worker)));
        }
        Ok(())
    }

    /// Begins the next part of a core that is free; a core without one is done.
    fn begin(
        &mut self,
        stage: &'a Stage<'a>,
        core: usize,
        mut own: VecDeque<usize>,
    ) -> Option<Box<Worker<'a>>> {
        let free = self.ran[core].end;
        let next = own.pop_front().map(|part| (part, free));
        let (part, at) = next.or_else(|| Some((self.queue.pop_front()?, free + self.access)))?;
        let (access, execute) = &stage.code[part];
        let tensors = self.views(stage, core);
        let mut memory = self.memories.remove(&core)?;
        self.pass(part, &tensors, &mut memory, at);
        let sim = Sim::new(self.machine, self.kind, (access, execute), tensors, memory, at);
        Some(Box::new(Worker { core, part, sim, own }))
    }

    /// Returns what a core sees of a program's tensors.
    fn views(&self, stage: &Stage<'_>, core: usize) -> Vec<Held> {
        let view = |(place, copied): (&usize, &bool)| match copied {
            true => self.whole[*place].copy(core as u64 * self.reach),
            false => self.whole[*place].view(),
        };
        stage.places.iter().zip(&stage.copied).map(view).collect()
    }

    /// Lends what has been written to the core whose turn it is, or takes it back.
    fn lend(&mut self, stage: &Stage<'_>, worker: &mut Worker<'_>) {
        let places = stage.places.iter().zip(&stage.copied);
        for (view, (place, copied)) in worker.sim.tensors.iter_mut().zip(places) {
            if !copied {
                view.lend(&mut self.whole[*place]);
            }
        }
    }

    /// Ends a part, and begins the core's next.
    fn end(
        &mut self,
        stage: &'a Stage<'a>,
        worker: Worker<'a>,
    ) -> Result<Option<Box<Worker<'a>>>, SimError> {
        let Worker { core, part, sim, own } = worker;
        let end = sim.last_result()?;
        self.parts[part] = end - sim.begun;
        sim.count(&mut self.tally);
        if self.kind.recorded {
            let (timeline, statements) = (sim.timeline(stage.name), sim.statements());
            self.recording = Some(Recording { timeline, statements });
        }
        self.memories.insert(core, sim.memory);
        self.ran[core].parts += 1;
        self.ran[core].end = end;
        Ok(self.begin(stage, core, own))
    }

    /// Passes over the rows before a part, or behind all parts, if some are passed over.
    fn pass(&self, part: usize, tensors: &[Held], memory: &mut Memory, at: u64) {
        if let Some(passing) = &self.passing {
            let lines = Lines::new(self.machine.dram.line_bytes);
            passing.before(part, tensors, lines, memory, at);
        }
    }

    /// Lets all cores wait for each other behind a program.
    fn meet(&mut self, stage: &Stage<'_>) {
        let mut last = 0;
        for (core, memory) in &mut self.memories {
            let ran = &mut self.ran[*core];
            let released = memory.release(ran.end, &stage.written);
            ran.released += released - ran.end;
            last = last.max(released + self.access);
            memory.signal();
            memory.signal();
        }
        let over = last + self.access;
        for core in &mut self.ran {
            core.waited += over - core.end;
            core.end = over;
        }
    }

    /// Writes back what is dirty when all cores are done.
    fn finish(mut self, values: Values, results: usize) -> Together {
        let end = self.ran.iter().map(|core| core.end).max().unwrap_or(0);
        let (mut dirty, mut passed) = (BTreeMap::new(), end);
        let part = self.passing.as_ref().map_or(1.0, |passing| passing.passed.part);
        for memory in self.memories.values_mut() {
            let (lines, by) = memory.write_back(end, part);
            dirty.extend(lines);
            passed = passed.max(by);
            self.tally.counters += memory.counters;
        }
        let mut shared = self.shared.borrow_mut();
        let cycles = shared.write_back(dirty, (end, part)).max(passed);
        let cores = self.ran.len() as u64;
        let stats = self.tally.stats(self.machine, shared.dram_lines(), (cores, cycles));
        let tensors = match values {
            Values::All => self.whole.into_iter().take(results).map(Held::release).collect(),
            Values::Integers => Vec::new(),
        };
        let outcome = Outcome { tensors, stats, recording: self.recording };
        Together { outcome, cores: self.ran, parts: self.parts }
    }
}
