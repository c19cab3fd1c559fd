//! The fetchers: they run traversal units ahead of the marshaller as far as storage allows.

mod element;

use crate::code::{AccessCode, FetcherCode, Kind, StreamCode, UnitCode};
use crate::data::{raw, scalar};
use crate::error::SimError;
use crate::scheduler::{BURST, Sim, Status, Wait};
use crate::timeline::Stall;
use ember_values::scalar::{BinaryOp, DType};

/// The kind of a unit's record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Record {
    Iteration,
    LastIteration,
    /// A traversal without iterations.
    Empty,
}

/// Returns the slot of record `k` in a ring whose length is a power of two. The machine's own storage need not be one;
/// it limits how far a fetcher runs ahead.
#[inline(always)]
pub(crate) fn ring(k: u64, length: usize) -> usize {
    k as usize & (length - 1)
}

/// A unit's storage: a ring of records.
#[derive(Debug)]
pub(crate) struct UnitState {
    pub(crate) records: Vec<Record>,
    /// The parent's record of each record.
    parents: Vec<u64>,
    /// The number of records that the marshaller has finished with.
    pub(crate) taken: u64,
}

impl UnitState {
    pub(crate) fn new(unit: &UnitCode) -> UnitState {
        let capacity = unit.capacity.next_power_of_two() as usize;
        UnitState { records: vec![Record::Empty; capacity], parents: vec![0; capacity], taken: 0 }
    }
}

/// A stream's elements, one for each record of its unit.
#[derive(Debug)]
pub(crate) struct StreamState {
    pub(crate) lanes: usize,
    pub(crate) values: Vec<u64>,
    pub(crate) ready: Vec<u64>,
    /// If the stream is throttled, the lines that it had requested by the end of each element.
    pub(crate) requested: Vec<u64>,
    /// The line requested last plus one, and its arrival: neighbours share a request.
    line: u64,
    line_ready: u64,
}

impl StreamState {
    pub(crate) fn new(stream: &StreamCode, access: &AccessCode) -> StreamState {
        let constant = match stream.kind {
            Kind::Const(value) => Some(value),
            _ => None,
        };
        // Unused streams are not made; a constant has one element.
        let records = match stream.fetcher {
            Some(f) => access.fetchers[f].capacity.next_power_of_two() as usize,
            None => usize::from(constant.is_some()),
        };
        let lanes = if stream.dropped { 0 } else { stream.lanes };
        StreamState {
            lanes,
            values: vec![constant.unwrap_or(0); records * lanes],
            ready: vec![0; records],
            requested: vec![0; if stream.throttled() { records } else { 0 }],
            line: 0,
            line_ready: 0,
        }
    }
}

/// The state of a fetcher.
#[derive(Debug, Default)]
pub(crate) struct Fetcher {
    /// The number of finished records.
    pub(crate) done: u64,
    /// True if a record has been begun.
    begun: bool,
    /// The next stream of the record, and for a load the line and the latest arrival.
    next: usize,
    line: u64,
    arrived: u64,
    /// For a stepper, the next index and the bound of its traversal.
    index: i64,
    bound: i64,
    traversing: bool,
    /// True if the current iteration is the traversal's last.
    last: bool,
    /// The next parent record to traverse.
    parent: u64,
    /// The indices of the run under evaluation.
    values: Vec<i64>,
}

impl Sim<'_> {
    /// Runs a fetcher until it waits or its clock passes the horizon.
    pub(crate) fn fetch(&mut self, f: usize) -> Result<(), SimError> {
        // The state is moved out while the fetcher runs; nothing else reads it.
        let mut state = std::mem::take(&mut self.fetchers[f]);
        let result = self.fetch_records(f, &mut state);
        self.fetchers[f] = state;
        result
    }

    fn fetch_records(&mut self, f: usize, state: &mut Fetcher) -> Result<(), SimError> {
        let access = self.access;
        let code = &access.fetchers[f];
        for _ in 0..BURST {
            if self.clocks[f] > self.horizon {
                break;
            }
            if !state.begun && !self.begin(f, code, state) {
                break;
            }
            if !state.begun {
                continue;
            }
            while let Some(&stream) = code.streams.get(state.next) {
                if !self.make(f, code.unit, state, stream)? {
                    return Ok(());
                }
                state.next += 1;
            }
            self.clocks[f] += code.cycles;
            self.end(f, code, state);
        }
        Ok(())
    }

    /// Ends a record whose streams have been made.
    fn end(&mut self, f: usize, code: &FetcherCode, state: &mut Fetcher) {
        state.next = 0;
        state.begun = false;
        if code.after.is_none() && code.unit != 0 {
            if state.last {
                self.leave(f, state, code.unit);
            } else {
                state.index += self.access.units[code.unit].step;
            }
        }
        self.finish_record(f, state);
    }

    fn finish_record(&mut self, f: usize, state: &mut Fetcher) {
        state.done += 1;
        self.wake(Wait::Record(f), self.clocks[f]);
    }

    /// Begins the fetcher's next record. Returns false if it must wait.
    fn begin(&mut self, f: usize, code: &FetcherCode, state: &mut Fetcher) -> bool {
        if self.marshaller.epoch < code.epoch && !self.has_room_ahead(f, state) {
            self.wait(f, Wait::Turn);
            return false;
        }
        if code.unit != 0 && code.after.is_none() {
            return self.step(f, code, state);
        }
        if code.unit == 0 && state.done == 1 {
            return self.exhausted(f);
        }
        let Some(before) = code.after else {
            state.begun = true;
            return true;
        };
        if self.fetchers[before].done <= state.done {
            if code.unit != 0 && self.status[before] == Status::Done {
                return self.exhausted(f);
            }
            self.wait(f, Wait::Record(before));
            return false;
        }
        if code.unit != 0 && state.done - self.units[code.unit].taken >= code.capacity {
            self.wait(f, Wait::Storage(code.unit));
            return false;
        }
        let records = &self.units[code.unit].records;
        let record = records[ring(state.done, records.len())];
        state.begun = code.unit == 0 || record != Record::Empty;
        if !state.begun {
            self.finish_record(f, state);
        }
        true
    }

    /// Returns true if the storage has room for a record of the next root traversal in addition to the records held for
    /// the current one.
    fn has_room_ahead(&self, f: usize, state: &Fetcher) -> bool {
        let access = self.access;
        let held = |g: usize| {
            let (code, done) = (&access.fetchers[g], self.fetchers[g].done);
            // The state of the asking fetcher is moved out of the list.
            let done = if g == f { state.done } else { done };
            done.saturating_sub(self.units[code.unit].taken).saturating_mul(code.bytes)
        };
        let epoch = access.fetchers[f].epoch;
        let both = access.epochs[epoch.saturating_sub(1)..=epoch].iter();
        let used: u64 = both.flat_map(|e| &e.fetchers).map(|&g| held(g)).sum();
        used + access.fetchers[f].bytes <= access.storage
    }

    /// Marks a fetcher as done and wakes the fetchers that follow it.
    fn exhausted(&mut self, f: usize) -> bool {
        self.status[f] = Status::Done;
        let at = self.clocks[f];
        self.wake(Wait::Record(f), at);
        if self.access.fetchers[f].epoch == self.marshaller.epoch {
            self.marshaller.fetching = self.marshaller.fetching.saturating_sub(1);
            self.begin_next(at);
        }
        false
    }

    /// Steps a unit's loop. Returns false if it must wait.
    fn step(&mut self, f: usize, code: &FetcherCode, state: &mut Fetcher) -> bool {
        let access = self.access;
        let unit = &access.units[code.unit];
        // A record's slot is free once the marshaller and every unit inside are past it.
        let within = unit.children.iter().map(|&c| self.fetchers[c].parent);
        let past = within.fold(self.units[code.unit].taken, u64::min);
        if state.done - past >= code.capacity {
            self.wait(f, Wait::Storage(code.unit));
            return false;
        }
        if !state.traversing && !self.enter(f, unit, state) {
            return false;
        }
        self.memory.counters.iterations += 1;
        let next = state.index.checked_add(unit.step).filter(|&i| i < state.bound);
        state.last = next.is_none();
        state.begun = state.index < state.bound;
        let storage = &mut self.units[code.unit];
        let slot = ring(state.done, storage.records.len());
        storage.parents[slot] = state.parent;
        storage.records[slot] = match state.begun {
            true if state.last => Record::LastIteration,
            true => Record::Iteration,
            false => Record::Empty,
        };
        if !state.begun {
            self.leave(f, state, code.unit);
            self.clocks[f] += code.cycles;
            self.finish_record(f, state);
        }
        true
    }

    /// Enters the traversal of the parent's next iteration. Returns false if it must wait.
    fn enter(&mut self, f: usize, unit: &UnitCode, state: &mut Fetcher) -> bool {
        let (p, k) = (unit.parent, state.parent);
        let stepper = self.access.units[p].stepper;
        if self.fetchers[stepper].done <= k {
            if self.status[stepper] == Status::Done {
                return self.exhausted(f);
            }
            self.wait(f, Wait::Record(stepper));
            return false;
        }
        let parent = &self.units[p];
        if p != 0 && parent.records[ring(k, parent.records.len())] == Record::Empty {
            state.parent += 1;
            self.wake(Wait::Storage(p), self.clocks[f]);
            // Nothing has begun; the fetcher's next turn tries again.
            return false;
        }
        let mut ready = 0;
        let mut bounds = [0, 0];
        for (bound, stream) in bounds.iter_mut().zip([unit.lo, unit.hi]) {
            let Some(slot) = self.produced(f, stream, p, k) else { return false };
            ready = ready.max(self.streams[stream].ready[slot]);
            *bound = self.streams[stream].values[slot] as i64;
        }
        self.stall(f, ready, Stall::Memory);
        if self.clocks[f] > self.horizon {
            return false;
        }
        state.traversing = true;
        [state.index, state.bound] = bounds;
        true
    }

    /// Leaves a traversal.
    fn leave(&mut self, f: usize, state: &mut Fetcher, unit: usize) {
        state.traversing = false;
        state.parent += 1;
        self.wake(Wait::Storage(self.access.units[unit].parent), self.clocks[f]);
    }
}

/// Applies an operation to raw lanes of one type.
#[inline(always)]
pub(crate) fn apply(op: BinaryOp, dtype: DType, a: u64, b: u64) -> u64 {
    match op.apply(scalar(dtype, a), scalar(dtype, b)) {
        Some(value) => raw(value),
        None => 0,
    }
}
