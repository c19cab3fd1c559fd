//! The memory hierarchy in time: private L1 and L2, shared last-level cache, main memory.
//!
//! This module holds only tags and times; [`crate::data`] holds the data. Cores exchange something only at barriers, so
//! private caches are made coherent with each other there and nowhere else.

mod cache;
mod dram;
mod pass;
mod prefetcher;
mod shared;
mod tlb;

pub use dram::Layout;
pub(crate) use pass::Way;
pub use prefetcher::NEAR_LINES;
pub(crate) use shared::Shared;

use crate::calendar::{Pipe, Slots};
use crate::stats::Counters;
use cache::Cache;
use ember_targets::dlc::Hint;
use ember_targets::machine::{Core, Machine};
use prefetcher::Prefetcher;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use tlb::Tlb;

/// The size of a line, a power of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    shift: u32,
    /// The bytes of a line, less one: the bits of an offset within a line.
    within: u64,
}

impl Lines {
    pub(crate) fn new(bytes: u64) -> Lines {
        Lines { shift: bytes.trailing_zeros(), within: bytes - 1 }
    }

    /// Returns the bytes of a line.
    pub(crate) fn bytes(self) -> u64 {
        self.within + 1
    }

    /// Returns the line of an address.
    #[inline(always)]
    pub(crate) fn of(self, address: u64) -> u64 {
        address >> self.shift
    }

    /// Returns the first line that starts at or after an address.
    #[inline(always)]
    pub(crate) fn after(self, address: u64) -> u64 {
        (address + self.within) >> self.shift
    }

    /// Returns true if a range of addresses consists of whole lines.
    #[inline(always)]
    pub(crate) fn whole(self, first: u64, end: u64) -> bool {
        (first | end) & self.within == 0
    }

    /// Returns the lines that a range of addresses touches.
    #[inline(always)]
    pub(crate) fn covering(self, first: u64, end: u64) -> Range<u64> {
        self.of(first)..self.after(end)
    }
}

/// Caches and main memory, as one core and its access unit see them; only [`Memory::shared`] is others' as well. Lines are numbers: addresses divided by the line
/// size. Times are in cycles.
#[derive(Debug)]
pub(crate) struct Memory {
    l1: Cache,
    l2: Cache,
    l2_pipe: Pipe,
    /// The core's port to the last-level cache.
    llc_pipe: Pipe,
    l2_misses: Slots,
    tlb: Tlb,
    /// The core's prefetcher, if it has one.
    prefetcher: Option<Prefetcher>,
    /// The parts that all cores share.
    shared: Rc<RefCell<Shared>>,
    l1_latency: u64,
    l2_latency: u64,
    queue_latency: u64,
    /// The miss buffers of the core.
    mshrs: Slots,
    pub(crate) counters: Counters,
}

impl Memory {
    /// Builds empty private caches of a core.
    pub(crate) fn new(machine: &Machine, core: &Core, shared: &Rc<RefCell<Shared>>) -> Memory {
        let line = machine.dram.line_bytes;
        let l2 = &machine.l2;
        Memory {
            l1: Cache::new(machine.l1.bytes / line, machine.l1.ways),
            l2: Cache::new(l2.bytes / l2.sharers / line, l2.ways),
            l2_misses: Slots::new((l2.misses / l2.sharers).max(1)),
            tlb: Tlb::new(machine),
            prefetcher: Prefetcher::new(core),
            l2_pipe: Pipe::new(line, machine.l2.bytes_per_cycle as f64),
            llc_pipe: Pipe::new(line, machine.llc.bytes_per_cycle as f64),
            shared: Rc::clone(shared),
            l1_latency: machine.l1.latency,
            l2_latency: machine.l2.latency,
            queue_latency: machine.queue.read_latency,
            mshrs: Slots::new(core.mshrs),
            counters: Counters::default(),
        }
    }

    /// Loads a line for the execute unit; returns the cycle in which the data is available.
    #[inline]
    pub(crate) fn core_load(&mut self, line: u64, at: u64) -> u64 {
        self.counters.l1 += 1;
        match self.l1.find(line) {
            Some(entry) => self.l1.ready(entry).max(at + self.l1_latency),
            None => self.core_miss(line, at, false),
        }
    }

    /// Stores to a line for the execute unit: the line becomes dirty. A missing line is fetched, unless the store
    /// writes the whole line: then the core needs none of the old line and requests only its ownership (for example the
    /// write-streaming mode of Arm cores).
    #[inline]
    pub(crate) fn core_store(&mut self, line: u64, at: u64, whole: bool) {
        self.counters.l1 += 1;
        match self.l1.find(line) {
            Some(entry) => self.l1.soil(entry),
            None if whole => {
                if let Some(victim) = self.l1.insert(line, at + self.l1_latency, true) {
                    self.l2_write(victim, at);
                }
            }
            None => {
                self.core_miss(line, at, true);
            }
        }
    }

    fn core_miss(&mut self, line: u64, at: u64, dirty: bool) -> u64 {
        let at = self.translate(line, at);
        let missed = self.counters.llc;
        let done = self.l2_read(line, at.max(self.mshrs.free()));
        let missed = self.counters.llc > missed;
        self.mshrs.hold(done);
        if let Some(victim) = self.l1.insert(line, done, dirty) {
            self.l2_write(victim, done);
        }
        if let Some(prefetcher) = &mut self.prefetcher {
            for ahead in prefetcher.observe(line, missed) {
                self.prefetch(ahead, at);
            }
        }
        done
    }

    /// Reads a line that the core's prefetcher expects into the L2, unless all misses are in use.
    fn prefetch(&mut self, line: u64, at: u64) {
        if self.l2.find(line).is_none() && self.l2_misses.free() <= at {
            self.l2_read(line, at);
        }
    }

    /// Returns the cycle in which the translation of a line's address is known.
    #[inline]
    fn translate(&mut self, line: u64, at: u64) -> u64 {
        match self.tlb.translate(line, at) {
            Ok(known) => known,
            Err(walk) => {
                self.counters.page_walks += 1;
                let done = self.l2_read(walk.line, walk.start);
                self.tlb.walked(&walk, done);
                done
            }
        }
    }

    /// Reads an operand's line from the data queue, which is in the L2.
    #[inline]
    pub(crate) fn queue_read(&mut self, at: u64) -> u64 {
        self.counters.l2 += 1;
        let (start, _) = self.l2_pipe.transfer(at);
        start + self.queue_latency
    }

    fn l2_read(&mut self, line: u64, at: u64) -> u64 {
        self.counters.l2 += 1;
        let (start, _) = self.l2_pipe.transfer(at);
        if let Some(entry) = self.l2.find(line) {
            return self.l2.ready(entry).max(start + self.l2_latency);
        }
        let done = self.llc_read(line, start.max(self.l2_misses.free()), true);
        self.l2_misses.hold(done);
        if let Some(victim) = self.l2.insert(line, done, false) {
            self.llc_write(victim, done);
        }
        done
    }

    fn l2_write(&mut self, line: u64, at: u64) {
        self.counters.l2 += 1;
        match self.l2.find(line) {
            Some(entry) => self.l2.soil(entry),
            None => {
                if let Some(victim) = self.l2.insert(line, at, true) {
                    self.llc_write(victim, at);
                }
            }
        }
    }

    /// Reads a line for the access unit; returns the cycle in which it is in the unit's storage.
    #[inline]
    pub(crate) fn access_read(&mut self, line: u64, at: u64, hint: Hint) -> u64 {
        let at = self.translate(line, at);
        let loads = &mut self.counters.llc_loads;
        match hint {
            Hint::TemporalL2 => {
                loads.temporal_l2 += u64::from(self.l2.find(line).is_none());
                self.l2_read(line, at)
            }
            Hint::Temporal => {
                loads.temporal += 1;
                self.llc_read(line, at, true)
            }
            Hint::NonTemporal => {
                loads.non_temporal += 1;
                self.llc_read(line, at, false)
            }
        }
    }

    /// Prefetches a line for the access unit; returns the cycle in which it is where the hint places it. A line that
    /// the L2 already holds is not moved.
    pub(crate) fn access_prefetch(&mut self, line: u64, at: u64, hint: Hint) -> u64 {
        match (hint, self.l2.find(line)) {
            (Hint::TemporalL2, Some(entry)) => {
                self.counters.l2 += 1;
                self.l2.ready(entry).max(at + self.l2_latency)
            }
            _ => self.access_read(line, at, hint),
        }
    }

    /// Snoops the private caches before the access unit reads a line that the core may have written: the coherent read
    /// moves dirty data to the last-level cache. Returns the cycle in which the read can continue.
    pub(crate) fn snoop(&mut self, line: u64, at: u64) -> u64 {
        let mut dirty = false;
        for cache in [&mut self.l1, &mut self.l2] {
            dirty |= cache.clean(line);
        }
        if !dirty {
            return at;
        }
        self.counters.l2 += 1;
        self.llc_write(line, at + self.l2_latency);
        at + self.l2_latency
    }

    fn llc_read(&mut self, line: u64, at: u64, allocate: bool) -> u64 {
        self.counters.llc += 1;
        let (start, _) = self.llc_pipe.transfer(at);
        let (done, missed) = self.shared.borrow_mut().read(line, start, allocate);
        self.counters.llc_misses += u64::from(missed);
        done
    }

    /// Writes a line for the access unit. A partly written line is fetched first. Copies in the private caches become
    /// invalid.
    pub(crate) fn access_write(&mut self, line: u64, at: u64, whole: bool) -> u64 {
        self.l1.drop_line(line);
        self.l2.drop_line(line);
        if whole { self.llc_write(line, at) } else { self.llc_fetch_and_write(line, at) }
    }

    fn llc_fetch_and_write(&mut self, line: u64, at: u64) -> u64 {
        let done = self.llc_read(line, at, true);
        self.shared.borrow_mut().soil(line);
        done
    }

    fn llc_write(&mut self, line: u64, at: u64) -> u64 {
        self.counters.llc += 1;
        let (_, done) = self.llc_pipe.transfer(at);
        self.shared.borrow_mut().write(line, done)
    }

    /// Makes the private caches coherent with those of the other cores at a barrier: what this core has written goes to the
    /// last-level cache, and other lines in the ranges that some core has written are dropped. What it wrote itself it keeps.
    /// Returns the cycle in which everything is there.
    pub(crate) fn release(&mut self, at: u64, written: &[Range<u64>]) -> u64 {
        self.l1.drop_clean(written);
        self.l2.drop_clean(written);
        // The first-level cache has the newest data of a line.
        let private = [&mut self.l2, &mut self.l1].map(Cache::clean_all);
        let private: BTreeMap<u64, u64> = private.into_iter().flatten().collect();
        self.counters.l2 += private.len() as u64;
        let there = private.into_iter().map(|(line, data)| self.llc_write(line, at.max(data)));
        there.max().unwrap_or(at).max(at)
    }

    /// Accesses the last-level cache once, for a word that cores share.
    pub(crate) fn signal(&mut self) {
        self.counters.llc += 1;
    }

    /// Writes back the dirty lines of the private caches at the end of a run: returns them with the arrivals of their
    /// data, and the cycle in which they have passed the last-level cache's port. Runs follow one another: lines that
    /// one leaves behind are displaced during the next, as those of the last were during this one. So they take the time
    /// in which the path was idle, and only what does not fit there comes after the end. The run may be only a part of one
    /// that was idle in the same way.
    pub(crate) fn write_back(&mut self, end: u64, part: f64) -> (BTreeMap<u64, u64>, u64) {
        // The first-level cache has the newest data of a line.
        let private = [&mut self.l2, &mut self.l1].map(Cache::clean_all);
        let private: BTreeMap<u64, u64> = private.into_iter().flatten().collect();
        let idle = self.llc_pipe.most(end).saturating_sub(self.counters.llc);
        let idle = (idle as f64 / part) as u64;
        self.counters.llc += private.len() as u64;
        let late = (private.len() as u64).saturating_sub(idle);
        let passed = (0..late).map(|_| self.llc_pipe.transfer(end).1).max();
        (private, passed.unwrap_or(end))
    }
}

/// Returns the minimum time from a request of the access unit to its data if no cache holds the line.
pub(crate) fn unloaded_latency(machine: &Machine) -> u64 {
    machine.llc.latency + dram::unloaded_latency(machine)
}
