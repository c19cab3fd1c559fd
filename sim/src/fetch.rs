//! The fetchers: traversal units that run ahead of the marshaller as far as their storage allows.

use crate::code::{AccessCode, Kind, StreamCode, UnitCode};
use crate::data::{raw, scalar};
use crate::error::SimError;
use crate::scheduler::{BURST, Sim, Status, Wait};
use crate::timeline::Stall;
use ember_targets::dlc::Hint;
use ember_targets::scalar::{BinaryOp, DType};
use std::cmp::Reverse;

/// What a record of a unit stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Record {
    Iteration,
    LastIteration,
    /// A traversal without iterations.
    Empty,
}

/// The place of record `k` in a ring whose length is a power of two: the machine's own storage need
/// not be one, and limits how far a fetcher runs ahead.
#[inline(always)]
pub(crate) fn ring(k: u64, length: usize) -> usize {
    k as usize & (length - 1)
}

/// A unit's storage: a ring of records.
#[derive(Debug)]
pub(crate) struct UnitState {
    pub(crate) records: Vec<Record>,
    /// The parent's record that each belongs to.
    parents: Vec<u64>,
    /// Records that the marshaller has finished with.
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
    /// The line requested last plus one, and when it arrived: neighbours share a request.
    line: u64,
    line_ready: u64,
}

impl StreamState {
    pub(crate) fn new(stream: &StreamCode, access: &AccessCode) -> StreamState {
        let constant = match stream.kind {
            Kind::Const(value) => Some(value),
            _ => None,
        };
        // Streams that nothing uses are not made; a constant has one element.
        let records = match stream.fetcher {
            Some(f) => access.fetchers[f].capacity.next_power_of_two() as usize,
            None => usize::from(constant.is_some()),
        };
        let lanes = stream.ty.lanes as usize;
        StreamState {
            lanes,
            values: vec![constant.unwrap_or(0); records * lanes],
            ready: vec![0; records],
            line: 0,
            line_ready: 0,
        }
    }
}

/// Where a fetcher stands.
#[derive(Debug, Default)]
pub(crate) struct Fetcher {
    /// Records it has finished.
    pub(crate) done: u64,
    /// A record has been begun.
    begun: bool,
    /// The stream of the record that is next, and for a load the line and the latest arrival.
    next: usize,
    line: u64,
    arrived: u64,
    /// A stepper's traversal: its next index, and its bound.
    index: i64,
    bound: i64,
    traversing: bool,
    /// The parent's record to be traversed next.
    parent: u64,
}

impl Sim<'_> {
    /// Lets a fetcher run until it waits or its clock passes the horizon.
    #[inline(never)]
    pub(crate) fn fetch(&mut self, f: usize) -> Result<(), SimError> {
        for _ in 0..BURST {
            if self.clocks[f] > self.horizon {
                break;
            }
            if !self.fetchers[f].begun && !self.begin(f) {
                break;
            }
            if !self.fetchers[f].begun {
                continue;
            }
            let code = &self.access.fetchers[f];
            while let Some(&stream) = code.streams.get(self.fetchers[f].next) {
                if !self.make(f, stream)? {
                    return Ok(());
                }
                self.fetchers[f].next += 1;
            }
            self.clocks[f] += code.cycles;
            self.end(f);
        }
        Ok(())
    }

    /// Ends a record whose streams have been made.
    fn end(&mut self, f: usize) {
        let access = self.access;
        let code = &access.fetchers[f];
        let state = &mut self.fetchers[f];
        state.next = 0;
        state.begun = false;
        if code.after.is_none() && code.unit != 0 {
            let unit = &self.units[code.unit];
            match unit.records[ring(state.done, unit.records.len())] {
                Record::LastIteration => self.leave(f, code.unit),
                _ => state.index += access.units[code.unit].step,
            }
        }
        self.finish_record(f);
    }

    fn finish_record(&mut self, f: usize) {
        self.fetchers[f].done += 1;
        self.wake(Wait::Record(f), self.clocks[f]);
    }

    /// Begins the fetcher's next record; false if it must wait.
    fn begin(&mut self, f: usize) -> bool {
        let access = self.access;
        let code = &access.fetchers[f];
        if self.marshaller.epoch < code.epoch {
            self.wait(f, Wait::Epoch);
            return false;
        }
        let done = self.fetchers[f].done;
        if code.unit == 0 && done == 1 {
            self.status[f] = Status::Done;
            return false;
        }
        if let Some(before) = code.after {
            if self.fetchers[before].done <= done {
                self.wait(f, Wait::Record(before));
                return false;
            }
            if code.unit != 0 && done - self.units[code.unit].taken >= code.capacity {
                self.wait(f, Wait::Storage(code.unit));
                return false;
            }
            let unit = &self.units[code.unit];
            let slot = ring(done, unit.records.len());
            self.fetchers[f].begun = code.unit == 0 || unit.records[slot] != Record::Empty;
            if !self.fetchers[f].begun {
                self.finish_record(f);
            }
            return true;
        }
        if code.unit == 0 {
            self.fetchers[f].begun = true;
            return true;
        }
        self.step(f)
    }

    /// Steps a unit's loop; false if it must wait.
    fn step(&mut self, f: usize) -> bool {
        let access = self.access;
        let u = access.fetchers[f].unit;
        let unit = &access.units[u];
        let done = self.fetchers[f].done;
        // A record's place is free once the marshaller and every unit within are past it.
        let within = unit.children.iter().map(|&c| self.fetchers[c].parent);
        let past = within.fold(self.units[u].taken, u64::min);
        if done - past >= access.fetchers[f].capacity {
            self.wait(f, Wait::Storage(u));
            return false;
        }
        if !self.fetchers[f].traversing && !self.enter(f, u) {
            return false;
        }
        self.memory.counters.iterations += 1;
        let state = &mut self.fetchers[f];
        let slot = ring(done, self.units[u].records.len());
        self.units[u].parents[slot] = state.parent;
        if state.index >= state.bound {
            self.units[u].records[slot] = Record::Empty;
            self.leave(f, u);
            self.clocks[f] += access.fetchers[f].cycles;
            self.finish_record(f);
            return true;
        }
        let next = state.index.checked_add(unit.step).filter(|&i| i < state.bound);
        let last = next.is_none();
        self.units[u].records[slot] = if last { Record::LastIteration } else { Record::Iteration };
        state.begun = true;
        true
    }

    /// Enters the traversal of the parent's next iteration; false if it must wait.
    fn enter(&mut self, f: usize, u: usize) -> bool {
        let access = self.access;
        let unit = &access.units[u];
        let p = unit.parent;
        let stepper = access.units[p].stepper;
        let k = self.fetchers[f].parent;
        if self.fetchers[stepper].done <= k {
            self.wait(f, Wait::Record(stepper));
            return false;
        }
        let parent = &self.units[p];
        if p != 0 && parent.records[ring(k, parent.records.len())] == Record::Empty {
            self.fetchers[f].parent += 1;
            self.wake(Wait::Storage(p), self.clocks[f]);
            // Nothing has been begun; the caller tries again.
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
        let state = &mut self.fetchers[f];
        state.traversing = true;
        [state.index, state.bound] = bounds;
        true
    }

    /// Leaves a traversal.
    fn leave(&mut self, f: usize, u: usize) {
        self.fetchers[f].traversing = false;
        self.fetchers[f].parent += 1;
        self.wake(Wait::Storage(self.access.units[u].parent), self.clocks[f]);
    }

    /// The place of a stream's element that belongs to record `k` of a unit; waits if it has not
    /// been made.
    #[inline]
    fn produced(&mut self, f: usize, stream: usize, unit: usize, k: u64) -> Option<usize> {
        let Some(maker) = self.access.streams[stream].fetcher else { return Some(0) };
        let (k, slot) = self.place(stream, unit, k);
        if maker != f && self.fetchers[maker].done <= k {
            self.wait(f, Wait::Record(maker));
            return None;
        }
        Some(slot)
    }

    /// The record of a stream's own unit that belongs to record `k` of a unit in it, and its place.
    #[inline]
    fn place(&self, stream: usize, mut unit: usize, mut k: u64) -> (u64, usize) {
        let target = self.access.streams[stream].unit;
        while unit != target {
            let state = &self.units[unit];
            k = state.parents[ring(k, state.parents.len())];
            unit = self.access.units[unit].parent;
        }
        (k, ring(k, self.streams[stream].ready.len()))
    }

    /// Makes the current record's element of a stream; false if the fetcher must wait or yield.
    fn make(&mut self, f: usize, s: usize) -> Result<bool, SimError> {
        let access = self.access;
        let u = access.fetchers[f].unit;
        let k = self.fetchers[f].done;
        let slot = ring(k, self.streams[s].ready.len());
        match &access.streams[s].kind {
            Kind::Const(_) => {}
            Kind::IndVar => {
                let state = &mut self.fetchers[f];
                self.streams[s].values[slot] = state.index as u64;
                self.streams[s].ready[slot] = self.clocks[f];
            }
            Kind::Alu(op, a, b) => {
                let Some(x) = self.produced(f, *a, u, k) else { return Ok(false) };
                let Some(y) = self.produced(f, *b, u, k) else { return Ok(false) };
                let dtype = access.streams[*a].ty.dtype;
                let [a, b] = [&self.streams[*a], &self.streams[*b]];
                let ready = a.ready[x].max(b.ready[y]).max(self.clocks[f]) + 1;
                let value = apply(*op, dtype, a.values[x], b.values[y]);
                self.streams[s].values[slot] = value;
                self.streams[s].ready[slot] = ready;
            }
            Kind::Mem(..) => return self.fetch_element(f, s, slot),
        }
        Ok(true)
    }

    /// Loads an element: one request for each line that its neighbour did not request already.
    fn fetch_element(&mut self, f: usize, s: usize, slot: usize) -> Result<bool, SimError> {
        let access = self.access;
        let (u, k) = (access.fetchers[f].unit, self.fetchers[f].done);
        let Kind::Mem(address, hint) = &access.streams[s].kind else { return Ok(true) };
        if self.fetchers[f].line == 0 {
            let mut ready = 0;
            for &d in address.index.iter().chain(&address.limit) {
                let Some(at) = self.produced(f, d as usize, u, k) else { return Ok(false) };
                ready = ready.max(self.streams[d as usize].ready[at]);
            }
            self.stall(f, ready, Stall::Memory);
            if self.clocks[f] > self.horizon {
                return Ok(false);
            }
        }
        let located = address.locate(&self.tensors, |d| {
            // A constant is in its only place, 0, like every stream of the program itself.
            self.streams[d as usize].values[self.place(d as usize, u, k).1] as i64
        })?;
        if located.active > 0 {
            let bytes = located.active as u64 * self.tensors[address.tensor].element_bytes;
            let lines = self.lines.covering(located.address, located.address + bytes);
            if !self.request(f, s, lines, *hint) {
                return Ok(false);
            }
        }
        let stream = &mut self.streams[s];
        let values = &mut stream.values[slot * stream.lanes..(slot + 1) * stream.lanes];
        let (active, inactive) = values.split_at_mut(located.active);
        self.tensors[address.tensor].read(located.position, active);
        inactive.fill(0);
        stream.ready[slot] = self.fetchers[f].arrived.max(self.clocks[f]);
        self.memory.counters.elements += located.active as u64;
        self.fetchers[f].line = 0;
        self.fetchers[f].arrived = 0;
        Ok(true)
    }

    /// Requests the lines of one element; false if the fetcher must let others go first, in which
    /// case it goes on at the same line.
    fn request(&mut self, f: usize, s: usize, lines: std::ops::Range<u64>, hint: Hint) -> bool {
        let begun = self.fetchers[f].line;
        let first = if begun == 0 { lines.start } else { begun };
        for line in first..lines.end {
            // Lines of bound tensors are never 0: their addresses start above the first page.
            if self.streams[s].line != line {
                if !self.admit(f) {
                    self.fetchers[f].line = line;
                    return false;
                }
                let at = self.request_port.take(self.clocks[f]);
                self.clocks[f] = at;
                let done = self.memory.access_read(line, at, hint);
                self.memory.counters.requests += 1;
                self.outstanding.pop();
                self.outstanding.push(Reverse(done));
                self.streams[s].line = line;
                self.streams[s].line_ready = done;
            }
            let arrived = self.streams[s].line_ready;
            self.fetchers[f].arrived = self.fetchers[f].arrived.max(arrived);
        }
        true
    }

    /// Waits until one more request may be in flight; false if the fetcher must let others go first.
    fn admit(&mut self, f: usize) -> bool {
        let free = self.outstanding.peek().map_or(0, |free| free.0);
        self.stall(f, free, Stall::Memory);
        self.clocks[f] <= self.horizon
    }
}

/// An operation on raw lanes of one type.
#[inline(always)]
pub(crate) fn apply(op: BinaryOp, dtype: DType, a: u64, b: u64) -> u64 {
    match op.apply(scalar(dtype, a), scalar(dtype, b)) {
        Some(value) => raw(value),
        None => 0,
    }
}
