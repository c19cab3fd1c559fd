//! The report of a finished run.

use crate::scheduler::Sim;
use crate::stats::{DramBytes, Energy, Stats};
use crate::timeline::{Track, trace};

impl Sim<'_> {
    /// Returns the statistics of a run that ended at a cycle.
    pub(crate) fn stats(&self, cycles: u64) -> Stats {
        let mut c = self.memory.counters;
        c.alu = self.core.uops() - self.core.vector_uops();
        c.vector = self.core.vector_uops();
        let (reads, writes) = self.memory.dram_lines();
        let dram_bytes =
            DramBytes { read: reads * self.lines.bytes(), written: writes * self.lines.bytes() };
        let moved = dram_bytes.read + dram_bytes.written;
        let energy = Energy::of(self.machine, &c, moved, cycles);
        let units = self.tracks();
        Stats {
            cycles,
            energy_j: energy.total(),
            energy,
            dram_bytes,
            queue_bytes: c.queue_bytes,
            operands: c.operands,
            tokens: c.tokens,
            l1_accesses: c.l1,
            l2_accesses: c.l2,
            llc_accesses: c.llc,
            llc_loads: c.llc_loads,
            llc_misses: c.llc_misses,
            page_walks: c.page_walks,
            requests: c.requests,
            elements: c.elements,
            uops: self.core.uops(),
            vector_uops: self.core.vector_uops(),
            macs: c.macs,
            units: units
                .into_iter()
                .map(|(name, track, done)| track.stats(name, done, cycles))
                .collect(),
        }
    }

    /// Returns the Chrome trace of the run.
    pub(crate) fn timeline(&self, program: &str) -> serde_json::Value {
        trace(program, self.machine.core.clock_ghz, &self.tracks(), self.samples.as_ref())
    }

    /// Returns the cycles of each statement of the execute half.
    pub(crate) fn statements(&self) -> Vec<u64> {
        let mut cycles = vec![0; self.code.statements];
        let spent = self.execution.spent.iter().flatten();
        for (spent, owner) in spent.zip(&self.code.owners) {
            if let Some(own) = cycles.get_mut(*owner) {
                *own += spent;
            }
        }
        cycles
    }

    /// Returns every unit that took part, with its stalls and the cycle in which it finished.
    fn tracks(&self) -> Vec<(String, &Track, u64)> {
        let mut tracks = Vec::new();
        if !self.access.steps.is_empty() {
            for (f, code) in self.access.fetchers.iter().enumerate() {
                if code.unit == 0 && code.streams.is_empty() {
                    continue;
                }
                let name = &self.access.units[code.unit].name;
                let level =
                    self.access.fetchers[..f].iter().filter(|o| o.unit == code.unit).count();
                let name = match level {
                    0 => name.clone(),
                    level => format!("{name} (level {level})"),
                };
                tracks.push((name, &self.tracks[f], self.clocks[f]));
            }
            let me = self.marshaller_id();
            tracks.push(("marshaller".to_string(), &self.tracks[me], self.clocks[me]));
        }
        tracks.push(("execute".to_string(), &self.core.track, self.core.clock));
        tracks
    }
}
