//! The scheduler: runs the units of the machine in time order and tracks who waits for what.
//!
//! Every fetcher, the marshaller and the execute unit is an actor with its own clock. The actor with the earliest clock
//! runs until another clock is earlier, so that shared resources see requests nearly in time order. The modules of the
//! actors contain their behaviour.

use crate::calendar::{Calendar, Slots};
use crate::code::{AccessCode, ExecuteCode};
use crate::core::Core;
use crate::data::Held;
use crate::error::{Blocked, SimError};
use crate::execute::Execution;
use crate::fetch::{Fetcher, StreamState, UnitState};
use crate::marshal::Marshaller;
use crate::memory::{Lines, Memory};
use crate::queue::{ControlQueue, DataQueue};
use crate::throttle::Throttle;
use crate::timeline::{Samples, Stall, Track};
use ember_targets::machine::{self, Machine};

/// The maximum number of steps of an actor before limits are checked again.
pub(crate) const BURST: usize = 4096;

/// The number of cycles that an actor may run past the next one, so that turns are not too short. Shared resources are
/// calendars, which admit requests out of order.
const SLACK: u64 = 64;

/// The event that an actor waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wait {
    /// The next record of a fetcher.
    Record(usize),
    /// Room in a unit's storage.
    Storage(usize),
    /// Storage that the previous root traversal still uses.
    Turn,
    /// A free chunk.
    DataRoom,
    /// A free entry of the control queue.
    TokenRoom,
    /// An operand.
    Operand,
    /// A token.
    Token,
    /// An idle execute unit.
    Barrier,
    /// The execute unit, which prefetches are too far ahead of.
    Ahead,
}

/// The state of an actor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Status {
    Ready,
    Waiting(Wait),
    Done,
}

/// The state of a run.
pub(crate) struct Sim<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) core_figures: &'a machine::Core,
    pub(crate) access: &'a AccessCode,
    pub(crate) code: &'a ExecuteCode,
    pub(crate) tensors: Vec<Held>,
    pub(crate) memory: Memory,
    pub(crate) lines: Lines,
    /// The number of cycles that writing a line into the data queue takes.
    pub(crate) line_write_cycles: u64,
    /// Indexed by actor: the fetchers, the marshaller, the execute unit.
    pub(crate) status: Vec<Status>,
    pub(crate) clocks: Vec<u64>,
    /// Indexed by actor; the execute unit's own track is in its [`Core`].
    pub(crate) tracks: Vec<Track>,
    /// Indexed by [`Sim::key`].
    waiters: Vec<Vec<usize>>,
    /// The actors that may run now: the fetchers of the current root traversal, those of the next once it has begun,
    /// the marshaller and the execute unit, in this order.
    active: Vec<usize>,
    /// The cycle up to which the running actor may go before another's turn.
    pub(crate) horizon: u64,
    pub(crate) fetchers: Vec<Fetcher>,
    pub(crate) units: Vec<UnitState>,
    pub(crate) streams: Vec<StreamState>,
    /// The access unit's requests in flight.
    pub(crate) outstanding: Slots,
    pub(crate) throttle: Throttle,
    pub(crate) request_port: Calendar,
    pub(crate) data: DataQueue,
    pub(crate) control: ControlQueue,
    pub(crate) samples: Option<Samples>,
    pub(crate) marshaller: Marshaller,
    pub(crate) core: Core,
    pub(crate) execution: Execution,
    /// The cycle in which it began.
    pub(crate) begun: u64,
}

/// The kind of a core, and what is recorded of it.
#[derive(Clone, Copy)]
pub(crate) struct Kind<'a> {
    pub(crate) figures: &'a machine::Core,
    pub(crate) in_order: bool,
    pub(crate) recorded: bool,
}

impl Sim<'_> {
    /// Builds a core and its access unit for a program that begins at a cycle, with caches that may hold lines already.
    pub(crate) fn new<'a>(
        machine: &'a Machine,
        kind: Kind<'a>,
        halves: (&'a AccessCode, &'a ExecuteCode),
        tensors: Vec<Held>,
        memory: Memory,
        begun: u64,
    ) -> Sim<'a> {
        let Kind { figures: core_figures, in_order, recorded } = kind;
        let (access, code) = halves;
        let lines = Lines::new(machine.dram.line_bytes);
        let actors = access.fetchers.len() + 2;
        let products = machine.matrix.products_per_cycle;
        let mut core = Core::new(core_figures, products, in_order, recorded);
        core.clock = begun;
        Sim {
            machine,
            core_figures,
            access,
            code,
            tensors,
            memory,
            lines,
            line_write_cycles: lines.bytes().div_ceil(machine.queue.write_bytes_per_cycle),
            status: vec![Status::Ready; actors],
            clocks: vec![begun; actors],
            tracks: (0..actors).map(|_| Track::new(recorded)).collect(),
            waiters: vec![Vec::new(); access.fetchers.len() + access.units.len() + 7],
            active: active(access, 0..1),
            horizon: 0,
            fetchers: access.fetchers.iter().map(|_| Fetcher::default()).collect(),
            units: access.units.iter().map(UnitState::new).collect(),
            streams: access.streams.iter().map(|s| StreamState::new(s, access)).collect(),
            outstanding: Slots::new(machine.access.outstanding),
            throttle: Throttle::new(
                access.shares_of_l2(machine.access.prefetch_bytes / lines.bytes(), lines.bytes()),
            ),
            request_port: Calendar::new(machine.access.requests_per_cycle),
            data: DataQueue::new(&machine.queue, lines),
            control: ControlQueue::new(&machine.queue),
            samples: recorded.then(Samples::new),
            marshaller: Marshaller::new(access),
            core,
            execution: Execution::new(code, recorded),
            begun,
        }
    }

    /// Returns the marshaller's number.
    pub(crate) fn marshaller_id(&self) -> usize {
        self.fetchers.len()
    }

    /// Returns the execute unit's number.
    pub(crate) fn execute_id(&self) -> usize {
        self.fetchers.len() + 1
    }

    /// Returns the index of a wait in the list of waiters.
    #[inline(always)]
    fn key(&self, wait: Wait) -> usize {
        match wait {
            Wait::Turn => 0,
            Wait::DataRoom => 1,
            Wait::TokenRoom => 2,
            Wait::Operand => 3,
            Wait::Token => 4,
            Wait::Barrier => 5,
            Wait::Ahead => 6,
            Wait::Storage(unit) => 7 + unit,
            Wait::Record(fetcher) => 7 + self.units.len() + fetcher,
        }
    }

    /// Returns true if the execute unit waits for something to be marshalled.
    pub(crate) fn starves(&self) -> bool {
        let status = self.status[self.execute_id()];
        matches!(status, Status::Waiting(Wait::Operand | Wait::Token))
    }

    /// Puts an actor to sleep until [`Sim::wake`].
    pub(crate) fn wait(&mut self, actor: usize, wait: Wait) {
        self.status[actor] = Status::Waiting(wait);
        let key = self.key(wait);
        self.waiters[key].push(actor);
    }

    /// Wakes the actors that wait for an event, which happened at a cycle.
    #[inline(always)]
    pub(crate) fn wake(&mut self, wait: Wait, at: u64) {
        let key = self.key(wait);
        if !self.waiters[key].is_empty() {
            self.wake_all(key, wait, at);
        }
    }

    fn wake_all(&mut self, key: usize, wait: Wait, at: u64) {
        while let Some(actor) = self.waiters[key].pop() {
            self.status[actor] = Status::Ready;
            let stall = match wait {
                Wait::Record(_) => Stall::Memory,
                Wait::Storage(_) | Wait::DataRoom | Wait::TokenRoom => Stall::Full,
                Wait::Barrier | Wait::Ahead => Stall::Full,
                Wait::Operand | Wait::Token => Stall::Empty,
                Wait::Turn => Stall::Idle,
            };
            if actor == self.execute_id() {
                self.core.wait(at, Some(stall));
                self.clocks[actor] = self.core.clock;
            } else {
                self.stall(actor, at, stall);
            }
            self.horizon = self.horizon.min(self.clocks[actor].saturating_add(SLACK));
        }
    }

    /// Lets the fetchers of more root traversals run, from a cycle on.
    pub(crate) fn open(&mut self, epochs: std::ops::Range<usize>, at: u64) {
        // A stream of no loop may still be in flight when the traversal that first needs it has ended without reading
        // it: a loop of no iterations needs no bounds of inner loops. The next traversal may wait for it.
        let late = |f: &usize| {
            let code = &self.access.fetchers[*f];
            code.unit == 0 && code.epoch < epochs.start && self.status[*f] != Status::Done
        };
        let late = (0..self.access.fetchers.len()).filter(late);
        self.active = late.chain(active(self.access, epochs.clone())).collect();
        let begun = epochs.end.saturating_sub(1);
        for &f in self.access.epochs.get(begun).into_iter().flat_map(|e| &e.fetchers) {
            self.stall(f, at, Stall::Idle);
            self.horizon = self.horizon.min(self.clocks[f].saturating_add(SLACK));
        }
    }

    /// Moves an actor's clock to a later cycle without work.
    #[inline]
    pub(crate) fn stall(&mut self, actor: usize, until: u64, stall: Stall) {
        let clock = &mut self.clocks[actor];
        if until > *clock {
            self.tracks[actor].stall(stall, *clock, until);
            *clock = until;
        }
    }

    /// Runs the program until all that may run is later than a cycle. Returns the cycle of what is earliest then; `None`
    /// at the program's end.
    pub(crate) fn turn(&mut self, until: u64, max_cycles: u64) -> Result<Option<u64>, SimError> {
        loop {
            // Find the earliest actor, outermost first among equals, and how long it stays the earliest.
            let (mut next, mut first, mut second) = (None, u64::MAX, u64::MAX);
            for &actor in &self.active {
                if self.status[actor] == Status::Ready {
                    let clock = self.clocks[actor];
                    if next.is_none() || clock < first {
                        (next, second, first) = (Some(actor), first, clock);
                    } else if clock < second {
                        second = clock;
                    }
                }
            }
            if self.status[self.execute_id()] == Status::Done {
                return Ok(None);
            }
            let Some(actor) = next else { return Err(self.deadlock()) };
            if first > max_cycles {
                return Err(SimError::Cycles { limit: max_cycles });
            }
            if first > until {
                return Ok(Some(first));
            }
            self.horizon = second.saturating_add(SLACK).min(until);
            if actor == self.execute_id() {
                self.execute()?;
            } else if actor == self.marshaller_id() {
                self.marshal()?;
            } else {
                self.fetch(actor)?;
            }
        }
    }

    /// Returns the cycle of the last result of a program that has ended.
    pub(crate) fn last_result(&self) -> Result<u64, SimError> {
        let left = self.data.left();
        if left > 0 {
            return Err(SimError::Unbalanced {
                message: format!("{left} operands were not popped"),
            });
        }
        let marshalled = self.clocks[self.marshaller_id()].max(self.marshaller.written);
        Ok(self.core.retired.cycle().max(self.core.clock).max(marshalled))
    }

    /// Reports the waiting actors, the two ends of the queues first.
    fn deadlock(&self) -> SimError {
        let mut blocked = Vec::new();
        for actor in (0..self.status.len()).rev() {
            let Status::Waiting(wait) = self.status[actor] else { continue };
            let fetcher = actor < self.fetchers.len();
            // Fetchers that merely wait for their parent's iterations add no information.
            if fetcher && !matches!(wait, Wait::Storage(_)) {
                continue;
            }
            blocked.push(Blocked { unit: self.name(actor), waits_for: self.describe(wait) });
        }
        SimError::Deadlock { blocked }
    }

    /// Returns an actor's name in reports.
    pub(crate) fn name(&self, actor: usize) -> String {
        if actor == self.execute_id() {
            return match self.execution.case.and_then(|c| self.code.case_names.get(c)) {
                Some(case) => format!("the execute unit (case `{case}`)"),
                None => "the execute unit".into(),
            };
        }
        match self.access.fetchers.get(actor) {
            Some(f) => format!("unit `{}`", self.access.units[f.unit].name),
            None => "the marshaller".into(),
        }
    }

    fn describe(&self, wait: Wait) -> String {
        let marshalled = self.status[self.marshaller_id()] == Status::Done;
        let done = if marshalled { ", and everything has been marshalled" } else { "" };
        match wait {
            Wait::Record(f) => {
                format!(
                    "an iteration of unit `{}`",
                    self.access.units[self.access.fetchers[f].unit].name
                )
            }
            Wait::Storage(u) => {
                format!("room in the storage of unit `{}`", self.access.units[u].name)
            }
            Wait::Turn => "storage that the traversal before still uses".into(),
            Wait::DataRoom => "room in the data queue, which is full".into(),
            Wait::TokenRoom => "room in the control queue, which is full".into(),
            Wait::Operand => format!("an operand in the data queue, which is empty{done}"),
            Wait::Token => format!("a token in the control queue, which is empty{done}"),
            Wait::Barrier => "the execute unit to finish before a barrier".into(),
            Wait::Ahead => "the execute unit, which its prefetches are too far ahead of".into(),
        }
    }
}

/// Returns the actors of some root traversals, outermost first, then the marshaller and the execute unit.
fn active(access: &AccessCode, epochs: std::ops::Range<usize>) -> Vec<usize> {
    let fetchers = access.fetchers.len();
    let begun = access.epochs.get(epochs).into_iter().flatten();
    let mut actors: Vec<usize> = begun.flat_map(|e| e.fetchers.iter().copied()).collect();
    actors.sort_unstable();
    actors.extend([fetchers, fetchers + 1]);
    actors
}
