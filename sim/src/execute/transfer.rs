//! Moves data between the execute unit's registers and memory or the data queue.

use crate::code::{Address, Located, Place, Reg};
use crate::core::{Port, Ready};
use crate::data::{clear, copy_lanes};
use crate::error::SimError;
use crate::scheduler::{Sim, Status, Wait};
use crate::timeline::Stall;

/// An evaluated address: the registers it needs have been read.
pub(super) struct Reached {
    position: u64,
    active: usize,
    address: u64,
    end: u64,
    ready: Ready,
}

impl Sim<'_> {
    /// Evaluates an address and schedules the operations that compute it.
    #[inline(always)]
    pub(super) fn reach(&mut self, addr: &Address<Place>) -> Result<Reached, SimError> {
        let execution = &self.execution;
        let located = addr.locate(&self.tensors, |_, r| execution.lanes[r.slot] as i64)?;
        let mut ready = Ready::default();
        for place in &addr.index {
            ready = ready.max(execution.ready[place.piece]);
        }
        for _ in 0..addr.uops {
            ready = self.core.operate(Port::Int, ready, self.core_figures.int_latency);
        }
        let Located { position, active, address, end } = located;
        Ok(Reached { position, active, address, end, ready })
    }

    /// Loads a register from an evaluated address.
    #[inline(always)]
    pub(super) fn load(&mut self, dst: &Reg, addr: &Address<Place>, at: &Reached) {
        let lanes = &mut self.execution.lanes[dst.slot..dst.slot + dst.lanes];
        let (active, inactive) = lanes.split_at_mut(at.active.min(dst.lanes));
        self.tensors[addr.tensor].read(at.position, active);
        clear(inactive);
        self.memory.counters.elements += at.active as u64;
        let mut first = at.address;
        for p in 0..dst.pieces {
            let end = self.end_of_piece(dst, at, p, first);
            self.execution.ready[dst.piece + p] = self.load_span(first, end, at.ready);
            first = end;
        }
    }

    /// Loads the lines of an address for no register; nothing happens outside of the tensor.
    pub(super) fn touch(&mut self, addr: &Address<Place>) {
        let Ok(at) = self.reach(addr) else { return };
        let mut first = at.address;
        while first < at.end {
            let end = at.end.min(first + self.core_figures.simd_bytes);
            self.load_span(first, end, at.ready);
            first = end;
        }
    }

    /// Stores a register to an evaluated address.
    #[inline(always)]
    pub(super) fn store(&mut self, src: &Reg, addr: &Address<Place>, at: &Reached) {
        let values = &self.execution.lanes[src.slot..src.slot + at.active.min(src.lanes)];
        self.tensors[addr.tensor].write(at.position, values);
        let mut first = at.address;
        for p in 0..src.pieces {
            let end = self.end_of_piece(src, at, p, first);
            let ready = at.ready.max(self.execution.ready[src.piece + p]);
            self.store_span(first, end, ready);
            first = end;
        }
    }

    /// Returns the address after the active bytes of piece `p`, which start at `first`.
    #[inline(always)]
    fn end_of_piece(&self, reg: &Reg, at: &Reached, p: usize, first: u64) -> u64 {
        match p + 1 == reg.pieces {
            // A run that starts within a byte may extend one byte past its registers.
            true => at.end,
            false => at.end.min(first + self.core_figures.simd_bytes),
        }
    }

    /// Schedules one load of an address range, at most a register wide; returns its ready time.
    #[inline(always)]
    pub(super) fn load_span(&mut self, first: u64, end: u64, ready: Ready) -> Ready {
        let start = self.core.start(Port::Load, ready);
        let mut done = start + 1;
        if first < end {
            for line in self.lines.covering(first, end) {
                done = done.max(self.memory.core_load(line, start));
            }
        }
        let done = self.core.forwarded(first, done);
        self.core.finish(done)
    }

    /// Schedules one store to an address range, at most a register wide.
    #[inline(always)]
    pub(super) fn store_span(&mut self, first: u64, end: u64, ready: Ready) {
        let start = self.core.start(Port::Store, ready);
        self.core.finish(Ready::at(start + 1));
        if first < end {
            self.core.stored(first, start);
            let whole = self.lines.whole(first, end);
            for line in self.lines.covering(first, end) {
                self.memory.core_store(line, start + 1, whole);
            }
        }
    }

    /// Pops an operand. Returns false if none is visible.
    pub(super) fn pop(&mut self, dst: &Reg) -> Result<bool, SimError> {
        let me = self.execute_id();
        if self.data.shows_nothing() {
            // A waiting marshaller makes its partly filled chunk visible.
            let now = self.core.clock;
            let other = self.marshaller_id();
            let waits = self.status[other] != Status::Ready
                || (self.marshaller.stalled && self.clocks[other] > now);
            if waits {
                self.data.flush(now);
            }
        }
        let Some(operand) = self.data.front(dst.lanes) else {
            self.wait(me, Wait::Operand);
            self.wake(Wait::Ahead, self.core.clock);
            return Ok(false);
        };
        if operand.ty != dst.ty {
            let (a, b) = (operand.ty, dst.ty);
            return Err(SimError::invalid(format!(
                "{} pops {}x{} where {}x{} was marshalled",
                self.name(me),
                b.dtype,
                b.lanes,
                a.dtype,
                a.lanes
            )));
        }
        self.core.wait(operand.visible, Some(Stall::Empty));
        let to = &mut self.execution.lanes[dst.slot..dst.slot + dst.lanes];
        copy_lanes(to, operand.values);
        let ready = Ready::at(operand.visible);
        let (mut read, mut fresh) = (0, false);
        for p in 0..dst.pieces {
            let line = self.lines.of(operand.offset + p as u64 * self.core_figures.simd_bytes);
            let start = self.core.start(Port::Load, ready);
            let done = if line != self.execution.queue_line {
                fresh = true;
                self.memory.queue_read(start)
            } else {
                self.memory.counters.l1 += 1;
                start + self.machine.l1.latency
            };
            self.execution.queue_line = line;
            read = read.max(done);
            self.execution.ready[dst.piece + p] = self.core.finish(Ready::at(done));
        }
        if fresh {
            // A chunk can end only at the end of a line, so only there is the pointer compared with the chunk's end.
            // The pointer's increment is an addressing mode.
            self.core.operate(Port::Int, Ready::default(), self.core_figures.int_latency);
        }
        self.execution.popped = self.execution.popped.max(read);
        if self.data.pop(dst.lanes, read) {
            self.execution.queue_line = u64::MAX;
            self.sample(self.core.clock);
            self.wake(Wait::DataRoom, read);
        }
        self.took();
        Ok(true)
    }

    /// Counts an item of the queues, and lets prefetches that waited for it go on.
    #[inline(always)]
    pub(super) fn took(&mut self) {
        if self.throttle.take() {
            self.wake(Wait::Ahead, self.core.clock);
        }
    }
}
