//! What the cores share: the last-level cache, the network to it, and main memory.

use super::cache::Cache;
use super::dram::Dram;
use crate::calendar::{Calendar, Slots};
use ember_targets::machine::Machine;
use std::collections::BTreeMap;

/// The last-level cache and main memory. Fewer cores than share them have their shares alone, and the others the rest;
/// more cores have all of it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) llc: Cache,
    misses: Slots,
    /// The lines that the network moves in a cycle; `None` for one core, whose port is no wider than the network.
    network: Option<Calendar>,
    dram: Dram,
    /// The latency of the last-level cache, with the network of so many cores.
    latency: u64,
}

impl Shared {
    /// Builds an empty cache for some cores.
    pub(crate) fn new(machine: &Machine, cores: u64) -> Shared {
        let (llc, line) = (&machine.llc, machine.dram.line_bytes);
        let part = cores.min(llc.sharers);
        let network = || Calendar::new(machine.network.bytes_per_cycle / line);
        Shared {
            llc: Cache::new(llc.bytes * part / llc.sharers / line, llc.ways),
            misses: Slots::new((llc.misses * part / llc.sharers).max(1)),
            network: (cores > 1).then(network),
            dram: Dram::new(machine, cores),
            latency: machine.llc.latency + machine.farther(cores),
        }
    }

    /// Moves a line over the network at or after a cycle; returns the cycle in which it starts.
    #[inline]
    fn pass(&mut self, at: u64) -> u64 {
        self.network.as_mut().map_or(at, |network| network.take(at))
    }

    /// Reads a line that a core's port asks for at a cycle; returns the cycle in which it is there, and whether the cache
    /// missed it.
    pub(super) fn read(&mut self, line: u64, at: u64, allocate: bool) -> (u64, bool) {
        let found = self.pass(at) + self.latency;
        if let Some(entry) = self.llc.find(line) {
            return (self.llc.ready(entry).max(found), false);
        }
        let done = self.dram.read(line, found.max(self.misses.free()));
        self.misses.hold(done);
        if allocate && let Some(victim) = self.llc.insert(line, done, false) {
            self.dram.write(victim, done);
        }
        (done, true)
    }

    /// Writes a line that has passed a core's port by a cycle; returns the cycle in which it is there.
    pub(super) fn write(&mut self, line: u64, at: u64) -> u64 {
        let done = self.pass(at);
        match self.llc.find(line) {
            Some(entry) => self.llc.soil(entry),
            None => {
                if let Some(victim) = self.llc.insert(line, done, true) {
                    self.dram.write(victim, done);
                }
            }
        }
        done
    }

    /// Marks a line as written, if it is there.
    pub(super) fn soil(&mut self, line: u64) {
        if let Some(entry) = self.llc.find(line) {
            self.llc.soil(entry);
        }
    }

    /// Writes back all dirty lines at the end of a run, with those of the private caches, and returns the cycle in which
    /// that is over. Only what main memory could not write in the time in which it was idle comes after the end. The run may
    /// be only a part of one that was idle in the same way.
    pub(crate) fn write_back(
        &mut self,
        private: BTreeMap<u64, u64>,
        (end, part): (u64, f64),
    ) -> u64 {
        let mut dirty: BTreeMap<u64, u64> = self.llc.clean_all().into_iter().collect();
        dirty.extend(private);
        self.dram.write_back(&dirty, end, part)
    }

    /// Returns the lines read from and written to main memory.
    pub(crate) fn dram_lines(&self) -> (u64, u64) {
        (self.dram.reads, self.dram.writes)
    }
}
