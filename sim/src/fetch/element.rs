//! Makes the elements of streams: arithmetic, and loads with their requests.

use super::{Fetcher, apply, ring};
use crate::code::{Address, Kind, Located};
use crate::data::clear;
use crate::error::SimError;
use crate::scheduler::{Sim, Wait};
use crate::timeline::Stall;
use ember_targets::dlc::Hint;
use std::ops::Range;

impl Sim<'_> {
    /// Returns the slot of a stream's element that belongs to record `k` of a unit; waits if it has not been made.
    #[inline(always)]
    pub(super) fn produced(
        &mut self,
        f: usize,
        stream: usize,
        unit: usize,
        k: u64,
    ) -> Option<usize> {
        let Some(maker) = self.access.streams[stream].fetcher else { return Some(0) };
        let k = self.record_of(stream, unit, k);
        if maker != f && self.fetchers[maker].done <= k {
            self.wait(f, Wait::Record(maker));
            return None;
        }
        Some(ring(k, self.streams[stream].ready.len()))
    }

    /// Returns the record of a stream's unit that record `k` of a unit inside of it belongs to.
    #[inline(always)]
    fn record_of(&self, stream: usize, mut unit: usize, mut k: u64) -> u64 {
        let own = self.access.streams[stream].unit;
        while unit != own {
            let state = &self.units[unit];
            k = state.parents[ring(k, state.parents.len())];
            unit = self.access.units[unit].parent;
        }
        k
    }

    /// Returns the value of an index that has been made for record `k` of a unit.
    #[inline(always)]
    fn index(&self, stream: usize, unit: usize, k: u64) -> i64 {
        let slot = match self.access.streams[stream].fetcher {
            Some(_) => ring(self.record_of(stream, unit, k), self.streams[stream].ready.len()),
            None => 0,
        };
        self.streams[stream].values[slot] as i64
    }

    /// Makes the element of a stream for the current record of unit `u`. Returns false if the fetcher must wait or yield.
    #[inline(always)]
    pub(super) fn make(
        &mut self,
        f: usize,
        u: usize,
        state: &mut Fetcher,
        s: usize,
    ) -> Result<bool, SimError> {
        let access = self.access;
        let k = state.done;
        match &access.streams[s].kind {
            Kind::Const(_) => {}
            Kind::IndVar => {
                let stream = &mut self.streams[s];
                let slot = ring(k, stream.ready.len());
                stream.values[slot] = state.index as u64;
                stream.ready[slot] = self.clocks[f];
            }
            Kind::Alu(op, a, b) => {
                let Some(x) = self.produced(f, *a, u, k) else { return Ok(false) };
                let Some(y) = self.produced(f, *b, u, k) else { return Ok(false) };
                let dtype = access.streams[*a].ty.dtype;
                let [a, b] = [&self.streams[*a], &self.streams[*b]];
                let ready = a.ready[x].max(b.ready[y]).max(self.clocks[f]) + 1;
                let values = a.values.get(x).zip(b.values.get(y));
                let value = values.map(|(x, y)| apply(*op, dtype, *x, *y));
                let stream = &mut self.streams[s];
                let slot = ring(k, stream.ready.len());
                if let Some((to, value)) = stream.values.get_mut(slot).zip(value) {
                    *to = value;
                }
                stream.ready[slot] = ready;
            }
            Kind::Spread(from) => {
                let Some(x) = self.produced(f, *from, u, k) else { return Ok(false) };
                let from = &self.streams[*from];
                let value = from.values.get(x).copied().unwrap_or_default();
                let ready = from.ready[x].max(self.clocks[f]) + 1;
                let stream = &mut self.streams[s];
                let slot = ring(k, stream.ready.len());
                stream.values[slot * stream.lanes..(slot + 1) * stream.lanes].fill(value);
                stream.ready[slot] = ready;
            }
            Kind::Mem(address, hint) => return self.load_element(f, u, state, s, address, *hint),
        }
        Ok(true)
    }

    /// Loads an element: one request for each line that the previous element did not request.
    #[inline(always)]
    fn load_element(
        &mut self,
        f: usize,
        u: usize,
        state: &mut Fetcher,
        s: usize,
        address: &Address<usize>,
        hint: Hint,
    ) -> Result<bool, SimError> {
        let k = state.done;
        let mut ready = 0;
        state.values.clear();
        for &d in &address.index {
            let Some(at) = self.produced(f, d, u, k) else { return Ok(false) };
            ready = ready.max(self.streams[d].ready[at]);
            if address.run {
                state.values.push(self.streams[d].values[at] as i64);
            }
        }
        if ready > self.clocks[f] {
            self.stall(f, ready, Stall::Memory);
            if self.clocks[f] > self.horizon {
                return Ok(false);
            }
        }
        let throttled = self.access.streams[s].throttled();
        // While the execute unit waits, the lines that it waits for may be behind those that are throttled.
        if throttled && state.line == 0 && self.throttle.holds(s) && !self.starves() {
            self.wait(f, Wait::Ahead);
            return Ok(false);
        }
        // A single element's few indices are read again faster than they are kept.
        let located = match address.run {
            true => address.locate(&self.tensors, |i, _| state.values[i]),
            false => address.locate(&self.tensors, |_, d| self.index(d, u, k)),
        };
        let located = match located {
            // Nothing is asked for outside of the tensor.
            Err(_) if self.access.streams[s].dropped => {
                Located::nowhere(&self.tensors[address.tensor])
            }
            located => located?,
        };
        if located.active > 0 {
            let lines = self.lines.covering(located.address, located.end);
            let written = self.tensors[address.tensor].is_writable();
            if !self.request(f, state, s, lines, hint, written) {
                return Ok(false);
            }
        }
        let stream = &mut self.streams[s];
        let slot = ring(k, stream.ready.len());
        // A stream that is only prefetched, or whose values are not computed, has no space for them.
        let values = &mut stream.values[slot * stream.lanes..(slot + 1) * stream.lanes];
        if !values.is_empty() {
            let (active, inactive) = values.split_at_mut(located.active);
            self.tensors[address.tensor].read(located.position, active);
            clear(inactive);
        }
        stream.ready[slot] = state.arrived.max(self.clocks[f]);
        if throttled {
            stream.requested[slot] = self.throttle.requested(s);
        }
        self.memory.counters.elements += located.active as u64;
        state.line = 0;
        state.arrived = 0;
        Ok(true)
    }

    /// Requests the lines of one element. Returns false if the fetcher must yield; it then continues at the same line.
    #[inline(always)]
    fn request(
        &mut self,
        f: usize,
        state: &mut Fetcher,
        s: usize,
        lines: Range<u64>,
        hint: Hint,
        written: bool,
    ) -> bool {
        let first = if state.line == 0 { lines.start } else { state.line };
        for line in first..lines.end {
            // Lines of bound tensors are never 0: their addresses start above the first page.
            if self.streams[s].line != line {
                if !self.admit(f) {
                    state.line = line;
                    return false;
                }
                let at = self.request_port.take(self.clocks[f]);
                self.clocks[f] = at;
                let from = if written { self.memory.snoop(line, at) } else { at };
                if self.access.streams[s].throttled() {
                    self.throttle.request(s);
                }
                let done = match self.access.streams[s].dropped {
                    true => self.memory.access_prefetch(line, from, hint),
                    false => self.memory.access_read(line, from, hint),
                };
                self.memory.counters.requests += 1;
                self.outstanding.hold(done);
                self.streams[s].line = line;
                self.streams[s].line_ready = done;
            }
            state.arrived = state.arrived.max(self.streams[s].line_ready);
        }
        true
    }

    /// Waits until one more request may be in flight. Returns false if the fetcher must yield.
    fn admit(&mut self, f: usize) -> bool {
        self.stall(f, self.outstanding.free(), Stall::Memory);
        self.clocks[f] <= self.horizon
    }
}
