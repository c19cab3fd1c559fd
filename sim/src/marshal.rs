//! The marshaller: walks the access half in program order and writes operands and tokens into the queues, and the
//! access unit's own stores into memory.

use crate::code::{AccessCode, Address, Step};
use crate::error::SimError;
use crate::fetch::{Record, ring};
use crate::queue::Room;
use crate::scheduler::{BURST, Sim, Status, Wait};
use crate::timeline::Stall;

/// The state of the marshaller.
#[derive(Debug)]
pub(crate) struct Marshaller {
    step: usize,
    /// For each unit, its current record.
    current: Vec<u64>,
    /// For each unit, true if it is in a traversal.
    traversing: Vec<bool>,
    /// The current root traversal.
    pub(crate) epoch: usize,
    /// True if the fetchers of the next root traversal have begun.
    pub(crate) next_begun: bool,
    /// The number of fetchers of the current root traversal that have more to fetch.
    pub(crate) fetching: usize,
    /// The number of items marshalled in this cycle.
    slots: u64,
    /// True if something was marshalled since the last step of a unit.
    worked: bool,
    /// True if it waits for a stream's element until its clock.
    pub(crate) stalled: bool,
    /// The line that gathers stores, and the number of its written bytes.
    gathered: Option<(u64, u64)>,
    /// The cycle in which the last store reached the last-level cache.
    pub(crate) written: u64,
}

impl Marshaller {
    pub(crate) fn new(access: &AccessCode) -> Marshaller {
        Marshaller {
            step: 0,
            current: vec![0; access.units.len()],
            traversing: vec![false; access.units.len()],
            epoch: 0,
            next_begun: false,
            fetching: access.epochs.first().map_or(0, |e| e.fetchers.len()),
            slots: 0,
            worked: false,
            stalled: false,
            gathered: None,
            written: 0,
        }
    }
}

impl Sim<'_> {
    /// Runs the marshaller until it waits or its clock passes the horizon.
    pub(crate) fn marshal(&mut self) -> Result<(), SimError> {
        let me = self.marshaller_id();
        for _ in 0..BURST {
            if self.clocks[me] > self.horizon {
                break;
            }
            let Some(step) = self.access.steps.get(self.marshaller.step) else {
                self.write_gathered();
                self.status[me] = Status::Done;
                self.offer(self.clocks[me]);
                self.wake(Wait::Token, self.clocks[me]);
                break;
            };
            let goes_on = match step {
                Step::Operand(stream) => self.operand(*stream)?,
                Step::Prefetch(stream) => self.prefetch(*stream),
                Step::Token(case) => self.token(*case),
                Step::Store(address, value) => self.store_stream(address, *value)?,
                Step::Barrier => self.barrier(),
                Step::Epoch => {
                    self.next_traversal();
                    true
                }
                Step::Enter(unit, exit) => self.enter_iteration(*unit, *exit),
                Step::Next(unit, enter) => self.next_iteration(*unit, *enter),
            };
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    /// Advances to the next root traversal.
    fn next_traversal(&mut self) {
        let at = self.clocks[self.marshaller_id()];
        self.marshaller.epoch += 1;
        self.marshaller.step += 1;
        let epoch = self.marshaller.epoch;
        let fetchers = self.access.epochs.get(epoch).map_or(&[][..], |e| &e.fetchers);
        let fetching = |f: &&usize| self.status[**f] != Status::Done;
        self.marshaller.fetching = fetchers.iter().filter(fetching).count();
        self.open(epoch..epoch + 1, if self.marshaller.next_begun { 0 } else { at });
        self.wake(Wait::Turn, at);
        self.marshaller.next_begun = false;
        self.begin_next(at);
    }

    /// Begins the next root traversal if the current one has fetched everything and no barrier lies between them. Its
    /// loops are configured after the current ones; it takes the storage that these free.
    pub(crate) fn begin_next(&mut self, at: u64) {
        let next = self.marshaller.epoch + 1;
        let ahead = self.access.epochs.get(next).is_some_and(|e| e.ahead);
        if ahead && self.marshaller.fetching == 0 && !self.marshaller.next_begun {
            self.marshaller.next_begun = true;
            self.open(next - 1..next + 1, at);
        }
    }

    /// Waits, and makes the operands written so far visible to a starving execute unit.
    fn marshaller_waits(&mut self, wait: Wait) -> bool {
        let me = self.marshaller_id();
        self.wait(me, wait);
        self.offer(self.clocks[me]);
        false
    }

    /// Makes a partly filled chunk visible if the execute unit waits for an operand.
    #[inline(never)]
    fn offer(&mut self, at: u64) {
        let starving = self.status[self.execute_id()] == Status::Waiting(Wait::Operand);
        if starving && self.data.flush(at) {
            self.wake(Wait::Operand, at);
        }
    }

    /// Waits until a record of a fetcher is complete. Returns false if it is not.
    #[inline(always)]
    fn complete(&mut self, fetcher: usize, record: u64) -> bool {
        if self.fetchers[fetcher].done <= record {
            return self.marshaller_waits(Wait::Record(fetcher));
        }
        true
    }

    /// Returns the slot of a stream's current element; `None` if it has not arrived yet.
    #[inline(always)]
    fn element(&mut self, stream: usize) -> Option<usize> {
        let access = self.access;
        let code = &access.streams[stream];
        let Some(maker) = code.fetcher else { return Some(0) };
        let record = self.marshaller.current[code.unit];
        if !self.complete(maker, record) {
            return None;
        }
        let slot = ring(record, self.streams[stream].ready.len());
        let me = self.marshaller_id();
        let (now, ready) = (self.clocks[me], self.streams[stream].ready[slot]);
        self.marshaller.stalled = ready > now;
        if ready > now {
            self.offer(now);
            self.stall(me, ready, Stall::Memory);
            return None;
        }
        Some(slot)
    }

    /// Advances to the next step after `cycles` cycles, or after one of the cycle's slots.
    #[inline(always)]
    fn advance(&mut self, cycles: u64) {
        let me = self.marshaller_id();
        self.marshaller.worked = true;
        self.marshaller.step += 1;
        self.marshaller.slots += 1;
        if cycles > 0 || self.marshaller.slots >= self.machine.access.marshal_per_cycle {
            self.marshaller.slots = 0;
            self.clocks[me] += cycles.max(1);
        }
    }

    fn operand(&mut self, stream: usize) -> Result<bool, SimError> {
        let me = self.marshaller_id();
        let Some(slot) = self.element(stream) else { return Ok(false) };
        let format = &self.access.streams[stream].format;
        let now = self.clocks[me];
        let offset = match self.data.fits(format) {
            Some(offset) => offset,
            None => {
                let (room, closed) = self.data.room(format, now);
                if closed {
                    self.wake(Wait::Operand, now);
                }
                match room {
                    Room::Yes => 0,
                    Room::Later(since) => {
                        self.stall(me, since, Stall::Full);
                        return Ok(true);
                    }
                    Room::Full => return Ok(self.marshaller_waits(Wait::DataRoom)),
                    Room::Never => {
                        return Err(SimError::limit(format!(
                            "an operand of {} bytes does not fit a chunk of {}",
                            format.bytes, self.machine.queue.chunk_bytes
                        )));
                    }
                }
            }
        };
        let (lines, bytes) = self.data.takes(format, offset);
        self.advance(lines * self.line_write_cycles);
        let state = &self.streams[stream];
        let values = &state.values[slot * state.lanes..(slot + 1) * state.lanes];
        let by = self.clocks[me];
        let closed = self.data.push(format, values, offset, by);
        self.memory.counters.queue_bytes += bytes;
        self.memory.counters.operands += 1;
        self.throttle.push();
        self.sample(by);
        if closed {
            self.wake(Wait::Operand, by);
        }
        Ok(true)
    }

    /// Continues once the current element has been requested; only its later load waits for its arrival. A prefetch
    /// uses no port, so it takes no time.
    fn prefetch(&mut self, stream: usize) -> bool {
        let code = &self.access.streams[stream];
        let record = self.marshaller.current[code.unit];
        if code.fetcher.is_some_and(|maker| !self.complete(maker, record)) {
            return false;
        }
        if code.dropped {
            let requested = &self.streams[stream].requested;
            self.throttle.pass(stream, requested[ring(record, requested.len())]);
        }
        self.marshaller.step += 1;
        true
    }

    fn token(&mut self, case: usize) -> bool {
        if self.control.is_full() {
            return self.marshaller_waits(Wait::TokenRoom);
        }
        self.advance(self.machine.access.token_cycles);
        // The core sees it after a write to its L2 and a read from it.
        let visible = self.clocks[self.marshaller_id()] + self.machine.l2.latency;
        self.control.push(case, visible);
        self.memory.counters.tokens += 1;
        self.throttle.push();
        self.wake(Wait::Token, visible);
        true
    }

    pub(crate) fn sample(&mut self, at: u64) {
        if let Some(samples) = &mut self.samples {
            samples.add(at, self.data.bytes, self.control.len() as u64);
        }
    }

    fn barrier(&mut self) -> bool {
        self.write_gathered();
        let idle = self.status[self.execute_id()] == Status::Waiting(Wait::Token);
        if !idle || self.control.len() > 0 {
            return self.marshaller_waits(Wait::Barrier);
        }
        let me = self.marshaller_id();
        // After this stall, the writes of both units are visible to both.
        self.stall(me, self.core.retired.cycle().max(self.marshaller.written), Stall::Full);
        self.marshaller.step += 1;
        true
    }

    fn enter_iteration(&mut self, u: usize, exit: usize) -> bool {
        let unit = &self.access.units[u];
        let record = self.units[u].taken;
        if !self.complete(unit.stepper, record) {
            return false;
        }
        if self.units[u].records[ring(record, self.units[u].records.len())] != Record::Empty {
            if !std::mem::replace(&mut self.marshaller.traversing[u], true) {
                let me = self.marshaller_id();
                self.clocks[me] += self.machine.access.traversal_cycles;
                self.marshaller.slots = 0;
            }
            self.marshaller.current[u] = record;
            self.marshaller.step += 1;
            return true;
        }
        if !self.complete(unit.last, record) {
            return false;
        }
        self.take_record(u, exit);
        true
    }

    fn next_iteration(&mut self, u: usize, enter: usize) -> bool {
        let unit = &self.access.units[u];
        let record = self.marshaller.current[u];
        if !self.complete(unit.last, record) {
            return false;
        }
        for &stream in &self.access.units[u].throttled {
            let requested = &self.streams[stream].requested;
            self.throttle.pass(stream, requested[ring(record, requested.len())]);
        }
        let slot = ring(record, self.units[u].records.len());
        let last = self.units[u].records[slot] == Record::LastIteration;
        self.marshaller.traversing[u] = !last;
        let next = if last { self.marshaller.step + 1 } else { enter };
        self.take_record(u, next);
        true
    }

    /// Finishes a record. A step that marshals nothing takes a cycle of its own.
    #[inline(always)]
    fn take_record(&mut self, u: usize, next: usize) {
        let me = self.marshaller_id();
        if !std::mem::take(&mut self.marshaller.worked) {
            self.clocks[me] += 1;
        }
        self.units[u].taken += 1;
        self.marshaller.step = next;
        self.wake(Wait::Storage(u), self.clocks[me]);
        self.wake(Wait::Turn, self.clocks[me]);
    }

    /// Writes memory without the execute unit.
    fn store_stream(&mut self, address: &Address<usize>, value: usize) -> Result<bool, SimError> {
        let Some(slot) = self.element(value) else { return Ok(false) };
        for &d in &address.index {
            if self.element(d).is_none() {
                return Ok(false);
            }
        }
        let located = address.locate(&self.tensors, |_, d| {
            let records = self.streams[d].ready.len();
            let record = self.marshaller.current[self.access.streams[d].unit];
            self.streams[d].values[ring(record, records)] as i64
        })?;
        let lanes = self.streams[value].lanes;
        let first = slot * lanes;
        let values = &self.streams[value].values[first..first + located.active.min(lanes)];
        self.tensors[address.tensor].write(located.position, values);
        let mut at = located.address;
        let end = located.end;
        while at < end {
            let line = self.lines.of(at);
            let until = end.min((line + 1) * self.lines.bytes());
            match &mut self.marshaller.gathered {
                Some((open, bytes)) if *open == line => *bytes += until - at,
                _ => {
                    self.write_gathered();
                    self.marshaller.gathered = Some((line, until - at));
                }
            }
            at = until;
        }
        let bytes = end - located.address;
        self.advance(bytes.div_ceil(self.machine.queue.write_bytes_per_cycle));
        Ok(true)
    }

    /// Sends the gathered line to the last-level cache.
    fn write_gathered(&mut self) {
        if let Some((line, bytes)) = self.marshaller.gathered.take() {
            let at = self.clocks[self.marshaller_id()];
            let done = self.memory.access_write(line, at, bytes >= self.lines.bytes());
            self.marshaller.written = self.marshaller.written.max(done);
        }
    }
}
