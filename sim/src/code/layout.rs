//! Lays out the access half: the fetcher of each stream, and the division of storage.

use super::access::{AccessCode, Compiler, Epoch, FetcherCode, Kind, UnitCode};
use crate::error::SimError;
use ember_targets::machine::Machine;
use std::collections::BTreeMap;

impl Compiler<'_> {
    /// Assigns streams to fetchers and storage to units.
    pub(super) fn finish(mut self, machine: &Machine) -> Result<AccessCode, SimError> {
        // The key makes the iteration outermost first: by depth, unit, epoch and level.
        let mut groups: BTreeMap<(u64, usize, usize, u32), Vec<usize>> = BTreeMap::new();
        groups.insert((0, 0, 0, 0), Vec::new());
        for (i, parent) in self.parents.iter().enumerate() {
            if parent.is_some() {
                groups.insert((self.depths[i + 1], i + 1, self.epochs[i + 1], 0), Vec::new());
            }
        }
        let mut levels = vec![0; self.streams.len()];
        for s in 0..self.streams.len() {
            let Some(first) = self.used[s] else { continue };
            let unit = self.streams[s].unit;
            for d in self.deps(s) {
                let loads = matches!(self.streams[d].kind, Kind::Mem(..));
                if self.streams[d].unit == unit {
                    levels[s] = levels[s].max(levels[d] + u32::from(loads));
                }
            }
            if matches!(self.streams[s].kind, Kind::Const(_)) {
                continue;
            }
            let epoch = if unit == 0 { first } else { self.epochs[unit] };
            let key = (self.depths[unit], unit, epoch, levels[s]);
            // A level may have no stream of its own; the next level still needs a fetcher to follow.
            for level in 0..=levels[s] {
                groups.entry((key.0, key.1, key.2, level)).or_default();
            }
            groups.entry(key).or_default().push(s);
        }
        let keys: Vec<_> = groups.keys().copied().collect();
        let per_cycle = machine.access.lanes.max(1) * machine.access.lane_bytes_per_cycle;
        let mut steppers = vec![(0, 0); self.parents.len() + 1];
        let mut fetchers: Vec<FetcherCode> = Vec::new();
        for (f, ((_, unit, epoch, level), streams)) in groups.into_iter().enumerate() {
            let (mut cycles, mut requests) = (0, 0);
            for &s in &streams {
                self.streams[s].fetcher = Some(f);
                if matches!(self.streams[s].kind, Kind::Mem(..)) {
                    // Prefetched data does not enter the access unit.
                    let comes =
                        if self.streams[s].dropped { 1 } else { self.streams[s].ty.bytes() };
                    cycles += comes.div_ceil(per_cycle);
                    requests += self.requests(s);
                }
            }
            let after = (level > 0 || (unit == 0 && epoch > 0)).then(|| f - 1);
            let after = after.filter(|&a| keys[a].1 == unit);
            if after.is_none() {
                steppers[unit].0 = f;
            }
            steppers[unit].1 = f;
            let cycles = cycles.max(machine.access.iteration_cycles);
            let stored = streams.iter().filter(|&&s| !self.streams[s].dropped);
            let sizes = stored.map(|&s| self.streams[s].ty.bytes());
            let bytes = if unit == 0 { 0 } else { sizes.sum::<u64>().max(8) };
            let (capacity, requests) = (1, requests.max(1));
            fetchers.push(FetcherCode {
                unit,
                after,
                epoch,
                streams,
                cycles,
                capacity,
                bytes,
                requests,
            });
        }
        self.divide(machine, &mut fetchers)?;
        let units = self.units(&steppers, &fetchers);
        let with_ahead = |ahead: &bool| Epoch { fetchers: Vec::new(), ahead: *ahead };
        let mut epochs: Vec<Epoch> = self.ahead.iter().map(with_ahead).collect();
        for (f, fetcher) in fetchers.iter().enumerate() {
            epochs[fetcher.epoch].fetchers.push(f);
        }
        let storage = machine.access.lanes * machine.access.storage_bytes;
        Ok(AccessCode {
            streams: self.streams,
            units,
            fetchers,
            steps: self.steps,
            epochs,
            storage,
            mixes: self.mixes,
        })
    }

    /// Returns the lines that an aligned element of a stream takes.
    fn requests(&self, stream: usize) -> u64 {
        self.streams[stream].ty.bytes().div_ceil(self.line_bytes)
    }

    /// Returns the units, each with room for the records of its roomiest fetcher.
    fn units(&self, ends: &[(usize, usize)], fetchers: &[FetcherCode]) -> Vec<UnitCode> {
        let children = |unit: usize| {
            let within = self.parents.iter().enumerate().filter(|(_, p)| **p == Some(unit));
            within.map(|(i, _)| ends[i + 1].0).collect()
        };
        let code = |me: usize, name: &str, parent, (lo, hi), step| UnitCode {
            name: name.to_string(),
            parent,
            lo,
            hi,
            step,
            capacity: fetchers
                .iter()
                .filter(|f| f.unit == me)
                .map(|f| f.capacity)
                .max()
                .unwrap_or(1),
            stepper: ends[me].0,
            last: ends[me].1,
            children: children(me),
            throttled: fetchers
                .iter()
                .filter(|f| f.unit == me && me != 0)
                .flat_map(|f| &f.streams)
                .copied()
                .filter(|&s| self.streams[s].throttled() && !self.streams[s].dropped)
                .collect(),
        };
        let mut units = vec![code(0, "program", 0, (0, 0), 1)];
        for (i, unit) in self.context.program.units.iter().enumerate() {
            let bounds = (unit.lo.index(), unit.hi.index());
            units.push(code(i + 1, &unit.name, self.parents[i].unwrap_or(0), bounds, unit.step));
        }
        units
    }

    /// Divides the storage. Root traversals use it in turn, so each has all of it. Every fetcher has room for one
    /// iteration, and in what remains for as many requests as every other. How many may be in flight has no part in it:
    /// with more of them, no fetcher takes room from another.
    fn divide(&self, machine: &Machine, fetchers: &mut [FetcherCode]) -> Result<(), SimError> {
        let storage = machine.access.lanes * machine.access.storage_bytes;
        for epoch in 0..=self.epoch {
            let mut group: Vec<&mut FetcherCode> =
                fetchers.iter_mut().filter(|f| f.unit != 0 && f.epoch == epoch).collect();
            let once = group.iter().map(|f| f.bytes).sum();
            let Some(left) = storage.checked_sub(once) else {
                return Err(SimError::limit(format!(
                    "one iteration of each traversal needs {once} bytes of storage where there \
                     are {storage}"
                )));
            };
            let a_request_of_each: f64 =
                group.iter().map(|f| f.bytes as f64 / f.requests as f64).sum();
            for fetcher in &mut group {
                let requests = left as f64 / a_request_of_each;
                fetcher.capacity = 1 + (requests / fetcher.requests as f64) as u64;
            }
        }
        Ok(())
    }
}
