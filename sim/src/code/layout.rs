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
            let mut cycles = 0;
            for &s in &streams {
                self.streams[s].fetcher = Some(f);
                if matches!(self.streams[s].kind, Kind::Mem(..)) {
                    // Prefetched data does not enter the access unit.
                    let comes =
                        if self.streams[s].dropped { 1 } else { self.streams[s].ty.bytes() };
                    cycles += comes.div_ceil(per_cycle);
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
            let capacity = 1;
            fetchers.push(FetcherCode { unit, after, epoch, streams, cycles, capacity, bytes });
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
        };
        let mut units = vec![code(0, "program", 0, (0, 0), 1)];
        for (i, unit) in self.context.program.units.iter().enumerate() {
            let bounds = (unit.lo.index(), unit.hi.index());
            units.push(code(i + 1, &unit.name, self.parents[i].unwrap_or(0), bounds, unit.step));
        }
        units
    }

    /// Divides the storage. Root traversals use it in turn, so each has all of it. Its fetchers get room for as many
    /// iterations as there may be requests in flight, those with small iterations first, or an equal share of the
    /// remaining storage.
    fn divide(&self, machine: &Machine, fetchers: &mut [FetcherCode]) -> Result<(), SimError> {
        for epoch in 0..=self.epoch {
            let mut left = machine.access.lanes * machine.access.storage_bytes;
            let mut group: Vec<&mut FetcherCode> =
                fetchers.iter_mut().filter(|f| f.unit != 0 && f.epoch == epoch).collect();
            group.sort_by_key(|f| f.bytes);
            let count = group.len() as u64;
            for (i, fetcher) in group.into_iter().enumerate() {
                let (size, share) = (fetcher.bytes, left / (count - i as u64));
                fetcher.capacity = (share / size).min(machine.access.outstanding);
                left -= fetcher.capacity * size;
                if fetcher.capacity == 0 {
                    let name = &self.context.program.units[fetcher.unit - 1].name;
                    return Err(SimError::limit(format!(
                        "an iteration of unit `{name}` needs {size} bytes of storage where it \
                         has {share}"
                    )));
                }
            }
        }
        Ok(())
    }
}
