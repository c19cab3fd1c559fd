//! The counts of a run, and the energy computed from them.

use ember_targets::machine::Machine;
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::AddAssign;

/// Events that several units cause; all other events are counted by their unit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) l1: u64,
    pub(crate) l2: u64,
    pub(crate) llc: u64,
    pub(crate) llc_loads: LoadsByHint,
    pub(crate) llc_misses: u64,
    pub(crate) page_walks: u64,
    pub(crate) alu: u64,
    pub(crate) vector: u64,
    pub(crate) queue_bytes: u64,
    pub(crate) operands: u64,
    pub(crate) tokens: u64,
    pub(crate) iterations: u64,
    pub(crate) requests: u64,
    pub(crate) elements: u64,
    pub(crate) macs: u64,
    /// Floating-point operations outside of the matrix unit.
    pub(crate) flops: u64,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.l1 += other.l1;
        self.l2 += other.l2;
        self.llc += other.llc;
        self.llc_loads.temporal += other.llc_loads.temporal;
        self.llc_loads.temporal_l2 += other.llc_loads.temporal_l2;
        self.llc_loads.non_temporal += other.llc_loads.non_temporal;
        self.llc_misses += other.llc_misses;
        self.page_walks += other.page_walks;
        self.alu += other.alu;
        self.vector += other.vector;
        self.queue_bytes += other.queue_bytes;
        self.operands += other.operands;
        self.tokens += other.tokens;
        self.iterations += other.iterations;
        self.requests += other.requests;
        self.elements += other.elements;
        self.macs += other.macs;
        self.flops += other.flops;
    }
}

/// What all cores have done, part by part.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) counters: Counters,
    /// The cycles of each unit, added up over its parts and over the cores.
    units: Vec<UnitStats>,
}

impl Tally {
    /// Adds the cycles of a unit to those of the units of its name.
    pub(crate) fn add(&mut self, more: UnitStats) {
        let Some(unit) = self.units.iter_mut().find(|unit| unit.name == more.name) else {
            self.units.push(more);
            return;
        };
        unit.busy += more.busy;
        unit.memory += more.memory;
        unit.full += more.full;
        unit.empty += more.empty;
        unit.dispatch += more.dispatch;
        unit.idle += more.idle;
    }

    /// Returns the statistics of a run of some cores, and the lines that main memory read and wrote.
    pub(crate) fn stats(
        self,
        machine: &Machine,
        (reads, writes): (u64, u64),
        (cores, cycles): (u64, u64),
    ) -> Stats {
        let Tally { counters: c, mut units } = self;
        let line = machine.dram.line_bytes;
        let dram_bytes = DramBytes { read: reads * line, written: writes * line };
        let energy = Energy::of(machine, &c, dram_bytes.read + dram_bytes.written, cores * cycles);
        for unit in &mut units {
            let UnitStats { busy, memory, full, empty, dispatch, idle, .. } = *unit;
            let counted = busy + memory + full + empty + dispatch + idle;
            unit.idle += (cores * cycles).saturating_sub(counted);
        }
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
            uops: c.alu + c.vector,
            vector_uops: c.vector,
            macs: c.macs,
            flops: c.flops + 2 * c.macs,
            units,
        }
    }
}

/// The statistics of a run. Cycles are those of the core's clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stats {
    /// From the start to the last result in main memory.
    pub cycles: u64,
    /// The total energy: the sum of [`Stats::energy`].
    pub energy_j: f64,
    /// The energy of each part.
    pub energy: Energy,
    /// Traffic of main memory.
    pub dram_bytes: DramBytes,
    /// Bytes written into the data queue, alignment included.
    pub queue_bytes: u64,
    /// Operands marshalled.
    pub operands: u64,
    /// Tokens pushed.
    pub tokens: u64,
    /// Accesses of the first-level cache.
    pub l1_accesses: u64,
    /// Accesses of the second-level cache, queue reads included.
    pub l2_accesses: u64,
    /// Accesses of the last-level cache.
    pub llc_accesses: u64,
    /// Accesses of the last-level cache for loads of the access unit.
    pub llc_loads: LoadsByHint,
    /// Reads that the last-level cache could not serve.
    pub llc_misses: u64,
    /// Walks of the page table: addresses whose translation was not known.
    pub page_walks: u64,
    /// Memory requests of the access unit, after coalescing.
    pub requests: u64,
    /// Tensor elements loaded, by either unit.
    pub elements: u64,
    /// Micro-operations of the execute unit.
    pub uops: u64,
    /// Micro-operations that need a vector port.
    pub vector_uops: u64,
    /// Multiply-adds of the matrix unit.
    pub macs: u64,
    /// Floating-point operations of the execute unit: one for each lane, and two for each multiply-add. Loads, stores, moves
    /// and conversions are none.
    pub flops: u64,
    /// The cycles of every unit by activity: traversal units, the marshaller, the execute unit; of several cores, those of
    /// all units of a name.
    pub units: Vec<UnitStats>,
}

/// Line reads of the access unit that reached the last-level cache, by the hint of the load. Reads that the private L2
/// serves are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LoadsByHint {
    /// [`Hint::Temporal`](ember_targets::dlc::Hint::Temporal).
    pub temporal: u64,
    /// [`Hint::TemporalL2`](ember_targets::dlc::Hint::TemporalL2).
    pub temporal_l2: u64,
    /// [`Hint::NonTemporal`](ember_targets::dlc::Hint::NonTemporal).
    pub non_temporal: u64,
}

/// Bytes moved between the last-level cache and main memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DramBytes {
    /// From memory to the cache.
    pub read: u64,
    /// From the cache to memory: dirty lines, when they are evicted or at the end.
    pub written: u64,
}

/// Energy by part, in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Energy {
    /// Scalar operations.
    pub alu: f64,
    /// Vector operations.
    pub vector: f64,
    /// The matrix unit.
    pub matrix: f64,
    /// First-level cache.
    pub l1: f64,
    /// Second-level cache.
    pub l2: f64,
    /// Last-level cache.
    pub llc: f64,
    /// Main memory.
    pub dram: f64,
    /// Writes into the data queue.
    pub queue: f64,
    /// Tokens and their dispatch.
    pub dispatch: f64,
    /// Traversal units.
    pub access: f64,
    /// Leakage and clock.
    #[serde(rename = "static")]
    pub idle: f64,
}

impl Energy {
    /// Returns the energy of some counts; the cycles are those of all cores together.
    fn of(machine: &Machine, c: &Counters, dram_bytes: u64, cycles: u64) -> Energy {
        let e = &machine.energy;
        let joules = |count: u64, pj: f64| count as f64 * pj * 1e-12;
        Energy {
            alu: joules(c.alu, e.alu_pj),
            vector: joules(c.vector, e.vector_pj),
            matrix: joules(c.macs, e.mac_pj),
            l1: joules(c.l1, e.l1_pj),
            l2: joules(c.l2, e.l2_pj),
            llc: joules(c.llc, e.llc_pj),
            dram: joules(dram_bytes, e.dram_byte_pj),
            queue: joules(c.queue_bytes, e.queue_byte_pj),
            dispatch: joules(c.tokens, e.dispatch_pj),
            access: joules(c.iterations, e.iteration_pj),
            idle: joules(cycles, e.static_cycle_pj),
        }
    }

    /// Returns the sum of all parts.
    pub fn total(&self) -> f64 {
        let Energy { alu, vector, matrix, l1, l2, llc, dram, queue, dispatch, access, idle } =
            *self;
        alu + vector + matrix + l1 + l2 + llc + dram + queue + dispatch + access + idle
    }
}

/// The cycles of one unit by activity; they add up to the run's, times the number of cores.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct UnitStats {
    /// The unit.
    pub name: String,
    /// Doing its work.
    pub busy: u64,
    /// Waiting for memory.
    pub memory: u64,
    /// Waiting for room in a queue or in storage.
    pub full: u64,
    /// Waiting for an operand or a token.
    pub empty: u64,
    /// Dispatching callbacks, and recovering from mispredicted branches.
    pub dispatch: u64,
    /// Not begun, or done.
    pub idle: u64,
}
