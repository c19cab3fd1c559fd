//! Several cores, each with its access unit and private caches, in front of one last-level cache and main memory.
//!
//! Rows are divided, not programs: each core runs the whole program on some of the rows as though they were all. Cores
//! take turns, the one that is furthest behind first, so that what they share sees requests nearly in time order.

use crate::code::{AccessCode, Context, ExecuteCode, compile_access, compile_execute};
use crate::data::{self, Held};
use crate::error::SimError;
use crate::memory::{Memory, Shared};
use crate::scheduler::{Kind, Sim};
use crate::stats::Tally;
use crate::{Bindings, CoreKind, Options, Outcome, Recording, Values};
use ember_targets::dlc::{Dim, Program, SizeId};
use ember_targets::machine::Machine;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

/// The number of cycles that a core may run past the one behind it, so that turns are not too short. Shared resources are
/// calendars, which admit requests out of order.
const TURN: u64 = 128;

/// The most cores of a run, and the most parts.
const MOST: usize = 1 << 16;

/// The division of a program's rows into parts, and of the parts among cores.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Division {
    /// The sizes that count rows: each is the number of rows and so many more. Tensors whose first extent is one of them
    /// are divided; any other tensor that is written is scratch, of which each core has a copy.
    pub sizes: Vec<(SizeId, u64)>,
    /// The rows of each part.
    pub parts: Vec<Range<u64>>,
    /// For each core, the parts that it runs, in order.
    pub own: Vec<Vec<usize>>,
    /// Parts that cores take after their own, in order, each by the core that is free first. Taking one costs an access
    /// of the last-level cache.
    pub shared: Vec<usize>,
}

impl Division {
    /// Returns the division of everything to one core.
    pub fn undivided() -> Division {
        let parts = std::iter::once(0..0).collect();
        Division { sizes: Vec::new(), parts, own: vec![vec![0]], shared: Vec::new() }
    }
}

/// The result of several cores.
#[derive(Clone, Debug)]
pub struct Together {
    /// The tensors, and the counts of all cores; cycles are those from the start to the last result in main memory. Only
    /// the run of one part is recorded.
    pub outcome: Outcome,
    /// Each core's part of it.
    pub cores: Vec<CoreRun>,
}

/// One core's part in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreRun {
    /// The parts that it ran.
    pub parts: usize,
    /// The cycle of its last result.
    pub end: u64,
}

/// The halves of a program, compiled for one part.
type Halves = (AccessCode, ExecuteCode);

/// A core that runs a part, and the parts that it runs after it.
struct Worker<'a> {
    core: usize,
    sim: Sim<'a>,
    own: VecDeque<usize>,
}

/// All cores of a run, and what they share.
struct Cluster<'a> {
    machine: &'a Machine,
    kind: Kind<'a>,
    program: &'a Program,
    division: &'a Division,
    code: &'a [Halves],
    /// For each tensor that is divided, how many more rows than its own each part has of it.
    divided: Vec<Option<u64>>,
    /// The tensors, with what has been written, except for what the core whose turn it is has borrowed.
    whole: Vec<Held>,
    /// The distance in memory between the scratch of one core and that of the next.
    reach: u64,
    /// The parts that nobody has taken yet, and the time that it takes to take one.
    queue: VecDeque<usize>,
    taking: u64,
    shared: Rc<RefCell<Shared>>,
    ran: Vec<CoreRun>,
    /// The private caches of the cores that are done.
    memories: Vec<Memory>,
    tally: Tally,
    recording: Option<Recording>,
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
    division: &Division,
) -> Result<Together, SimError> {
    let cores = division.own.len();
    check(program, &data, division)?;
    let in_order = options.core == CoreKind::InOrder;
    let figures = if in_order { &machine.in_order } else { &machine.core };
    let compile = |values: Values| -> Result<Vec<Halves>, SimError> {
        let each = division.parts.iter().map(|rows| {
            let sizes = division.sizes_of(&data.sizes, rows);
            let context = Context { program, sizes: &sizes, values };
            Ok((compile_access(context, machine)?, compile_execute(context, figures)?))
        });
        each.collect()
    };
    let (mut values, mut code) = (options.values, compile(options.values)?);
    let mixes = code.iter().any(|(access, execute)| access.mixes || execute.mixes);
    if values == Values::Integers && mixes {
        (values, code) = (Values::All, compile(Values::All)?);
    }
    let whole = data::bind(program, data.tensors, &data.sizes, values)?;
    let recorded = options.recorded && division.parts.len() == 1;
    let cluster = Cluster {
        machine,
        kind: Kind { figures, in_order, recorded },
        program,
        division,
        code: &code,
        divided: division.divided(program),
        reach: whole.iter().map(Held::end).max().unwrap_or(0),
        whole,
        queue: division.shared.iter().copied().collect(),
        taking: machine.llc.latency + machine.farther(cores as u64),
        shared: Rc::new(RefCell::new(Shared::new(machine, cores as u64))),
        ran: vec![CoreRun::default(); cores],
        memories: Vec::new(),
        tally: Tally::default(),
        recording: None,
    };
    cluster.run(options)
}

impl<'a> Cluster<'a> {
    /// Runs all parts.
    fn run(mut self, options: Options) -> Result<Together, SimError> {
        // The cores by the cycle that they have come to.
        let mut turns: BTreeMap<(u64, usize), Box<Worker<'a>>> = BTreeMap::new();
        for (core, own) in self.division.own.iter().enumerate() {
            let memory = Memory::new(self.machine, self.kind.figures, &self.shared);
            let begun = self.begin(core, own.iter().copied().collect(), memory, 0);
            turns.extend(begun.map(|worker| ((worker.sim.begun, core), worker)));
        }
        while let Some((_, mut worker)) = turns.pop_first() {
            let behind = turns.first_key_value().map(|((clock, _), _)| *clock);
            let until = behind.map_or(u64::MAX, |clock| clock.saturating_add(TURN));
            self.lend(&mut worker);
            let turn = worker.sim.turn(until, options.max_cycles)?;
            self.lend(&mut worker);
            let next = match turn {
                Some(clock) => Some((clock, worker)),
                None => self.end(*worker)?.map(|worker| (worker.sim.begun, worker)),
            };
            turns.extend(next.map(|(clock, worker)| ((clock, worker.core), worker)));
        }
        Ok(self.finish(options.values))
    }

    /// Begins the next part of a core that is free from a cycle on; a core without one is done.
    fn begin(
        &mut self,
        core: usize,
        mut own: VecDeque<usize>,
        memory: Memory,
        free: u64,
    ) -> Option<Box<Worker<'a>>> {
        let next = own.pop_front().map(|part| (part, free));
        let taken = || Some((self.queue.pop_front()?, free + self.taking));
        let Some((part, at)) = next.or_else(taken) else {
            self.memories.push(memory);
            return None;
        };
        let (access, execute) = &self.code[part];
        let tensors = self.views(core, part);
        let sim = Sim::new(self.machine, self.kind, (access, execute), tensors, memory, at);
        Some(Box::new(Worker { core, sim, own }))
    }

    /// Returns what a core sees of the tensors when it runs a part.
    fn views(&self, core: usize, part: usize) -> Vec<Held> {
        let Range { start, end } = self.division.parts[part];
        let view = |(n, tensor): (usize, &Held)| match self.divided[n] {
            Some(more) => tensor.rows(start..end + more),
            None if self.lends(n) => tensor.whole(),
            None => tensor.copy(core as u64 * self.reach),
        };
        self.whole.iter().enumerate().map(view).collect()
    }

    /// Returns true if a tensor is the same for all cores.
    fn lends(&self, tensor: usize) -> bool {
        let scratch = self.divided[tensor].is_none() && self.whole[tensor].is_writable();
        !scratch || self.division.sizes.is_empty()
    }

    /// Lends what has been written to the core whose turn it is, or takes it back.
    fn lend(&mut self, worker: &mut Worker<'_>) {
        for (n, view) in worker.sim.tensors.iter_mut().enumerate() {
            if self.lends(n) {
                view.lend(&mut self.whole[n]);
            }
        }
    }

    /// Ends a part, and begins the core's next.
    fn end(&mut self, worker: Worker<'a>) -> Result<Option<Box<Worker<'a>>>, SimError> {
        let Worker { core, sim, own } = worker;
        let end = sim.last_result()?;
        sim.count(&mut self.tally);
        if self.kind.recorded {
            let (timeline, statements) = (sim.timeline(&self.program.name), sim.statements());
            self.recording = Some(Recording { timeline, statements });
        }
        self.ran[core] = CoreRun { parts: self.ran[core].parts + 1, end };
        Ok(self.begin(core, own, sim.memory, end))
    }

    /// Writes back what is dirty when all cores are done.
    fn finish(mut self, values: Values) -> Together {
        let end = self.ran.iter().map(|core| core.end).max().unwrap_or(0);
        let (mut dirty, mut passed) = (BTreeMap::new(), end);
        for memory in &mut self.memories {
            let (lines, by) = memory.write_back(end);
            dirty.extend(lines);
            passed = passed.max(by);
            self.tally.counters += memory.counters;
        }
        let mut shared = self.shared.borrow_mut();
        let cycles = shared.write_back(dirty, end).max(passed);
        let cores = self.ran.len() as u64;
        let stats = self.tally.stats(self.machine, shared.dram_lines(), (cores, cycles));
        let tensors = match values {
            Values::All => self.whole.into_iter().map(Held::release).collect(),
            Values::Integers => Vec::new(),
        };
        let outcome = Outcome { tensors, stats, recording: self.recording };
        Together { outcome, cores: self.ran }
    }
}

impl Division {
    /// Returns the sizes of a program that has some rows.
    fn sizes_of(&self, sizes: &[i64], rows: &Range<u64>) -> Vec<i64> {
        let mut sizes = sizes.to_vec();
        for (size, more) in &self.sizes {
            sizes[size.index()] = (rows.end - rows.start + more) as i64;
        }
        sizes
    }

    /// Returns the rows that each part has of a tensor beyond its own, for each tensor that is divided.
    fn divided(&self, program: &Program) -> Vec<Option<u64>> {
        let more = |dim: &Dim| match dim {
            Dim::Size(size) => self.sizes.iter().find(|(own, _)| own == size).map(|(_, n)| *n),
            Dim::Const(_) => None,
        };
        program.tensors.iter().map(|tensor| more(tensor.shape.first()?)).collect()
    }
}

/// Checks that a division is one of a program's rows.
fn check(program: &Program, data: &Bindings, division: &Division) -> Result<(), SimError> {
    let (cores, parts) = (division.own.len(), division.parts.len());
    if !(1..=MOST).contains(&cores) || !(1..=MOST).contains(&parts) {
        let message = format!("{parts} parts on {cores} cores; 1 to {MOST} are possible");
        return Err(SimError::limit(message));
    }
    let wrong = |message: &str| Err(SimError::Binding { message: message.to_owned() });
    let mut known = division.own.iter().flatten().chain(&division.shared);
    if known.any(|part| *part >= parts) {
        return wrong("a core has a part that there is not");
    }
    if program.sizes.len() != data.sizes.len() && !division.sizes.is_empty() {
        return wrong("the program has other sizes than the data");
    }
    let rows = |size: &SizeId| data.sizes.get(size.index()).copied().unwrap_or(-1);
    for (size, more) in &division.sizes {
        let fits = |rows_of: &Range<u64>| {
            let last = i64::try_from(rows_of.end.saturating_add(*more)).unwrap_or(i64::MAX);
            rows_of.start <= rows_of.end && last <= rows(size)
        };
        if !division.parts.iter().all(fits) {
            return wrong("a part has rows that there are not");
        }
    }
    let counts = |dim: &Dim| division.sizes.iter().any(|(size, _)| *dim == Dim::Size(*size));
    match program.tensors.iter().find(|tensor| tensor.shape.iter().skip(1).any(counts)) {
        Some(tensor) => {
            wrong(&format!("`{}` has rows in another extent than its first", tensor.name))
        }
        None => Ok(()),
    }
}
