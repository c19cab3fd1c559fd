//! The report of a finished run.

use crate::scheduler::Sim;
use crate::stats::Tally;
use crate::timeline::{Track, trace};

impl Sim<'_> {
    /// Counts what the core's units have done since they began; shared counters are the memory's.
    pub(crate) fn count(&self, tally: &mut Tally) {
        tally.counters.alu += self.core.uops() - self.core.vector_uops();
        tally.counters.vector += self.core.vector_uops();
        for (name, track, done) in self.tracks() {
            tally.add(track.stats(name, done - self.begun));
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
