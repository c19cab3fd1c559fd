//! The cost vector and the machine's rates that turn it into cycles.

use ember_targets::machine::Machine;
use std::ops::{Add, Mul};

/// What one evaluation of a term takes, in units of the resource it takes it from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Iterations and arithmetic of traversal units.
    pub steps: f64,
    /// Line requests of the access unit.
    pub lines: f64,
    /// Cycles of the execute unit, but for those of the operations that follow.
    pub execute: f64,
    /// Micro-operations of the execute unit that no loop encloses yet.
    pub issued: f64,
    /// Those of its vector ports, which floating-point scalars share.
    pub vector: f64,
    /// Registers that it loads, from memory or the data queue.
    pub loaded: f64,
    /// Bytes between its L2 and whoever reads them there.
    pub l2_bytes: f64,
    /// Control tokens.
    pub tokens: f64,
    /// Cycles of the marshaller beside its writes into the data queue: tokens, starts of traversals,
    /// operands too narrow to take a write of their own.
    pub marshal: f64,
    /// Bytes in the data queue, padding included.
    pub queue_bytes: f64,
    /// Bytes from DRAM.
    pub dram_bytes: f64,
    /// Energy in picojoules.
    pub energy: f64,
}

impl Cost {
    /// Whether this is no larger in any component.
    pub fn at_most(&self, other: &Cost) -> bool {
        self.components().iter().zip(other.components()).all(|(a, b)| *a <= b)
    }
}

impl Cost {
    /// The components, in the order of the fields.
    fn components(&self) -> [f64; 12] {
        [
            self.steps,
            self.lines,
            self.execute,
            self.issued,
            self.vector,
            self.loaded,
            self.l2_bytes,
            self.tokens,
            self.marshal,
            self.queue_bytes,
            self.dram_bytes,
            self.energy,
        ]
    }

    /// Whether every component is within a hundredth of the other's.
    pub fn is_near(&self, other: &Cost) -> bool {
        self.components()
            .iter()
            .zip(other.components())
            .all(|(a, b)| (a - b).abs() <= 0.01 * a.abs().max(b.abs()))
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            steps: self.steps + other.steps,
            lines: self.lines + other.lines,
            execute: self.execute + other.execute,
            issued: self.issued + other.issued,
            vector: self.vector + other.vector,
            loaded: self.loaded + other.loaded,
            l2_bytes: self.l2_bytes + other.l2_bytes,
            tokens: self.tokens + other.tokens,
            marshal: self.marshal + other.marshal,
            queue_bytes: self.queue_bytes + other.queue_bytes,
            dram_bytes: self.dram_bytes + other.dram_bytes,
            energy: self.energy + other.energy,
        }
    }
}

impl Mul<f64> for Cost {
    type Output = Cost;

    fn mul(self, by: f64) -> Cost {
        Cost {
            steps: self.steps * by,
            lines: self.lines * by,
            execute: self.execute * by,
            issued: self.issued * by,
            vector: self.vector * by,
            loaded: self.loaded * by,
            l2_bytes: self.l2_bytes * by,
            tokens: self.tokens * by,
            marshal: self.marshal * by,
            queue_bytes: self.queue_bytes * by,
            dram_bytes: self.dram_bytes * by,
            energy: self.energy * by,
        }
    }
}

/// The machine's rates and prices, as far as estimates need them.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// Micro-operations in a cycle.
    pub issue_width: f64,
    /// Bytes of a vector register.
    pub simd_bytes: f64,
    /// Vector operations in a cycle.
    pub vector_ports: f64,
    /// Loads in a cycle.
    pub load_ports: f64,
    /// Micro-operations of an exponential per register.
    pub exponential: f64,
    /// Cycles from one step of a fold to the next.
    pub fold_latency: f64,
    /// Cycles of the execute unit for a callback's token.
    pub dispatch: f64,
    /// Cycles of the execute unit for reading a line of the data queue, where nothing hides them.
    pub pop: f64,
    /// Cycles of the marshaller for a token.
    pub token: f64,
    /// Cycles of the marshaller for starting a traversal.
    pub traversal: f64,
    /// Cycles that a load of the execute unit waits for DRAM, after what its window hides.
    pub exposed_latency: f64,
    /// The same for the last level cache.
    pub exposed_llc: f64,
    /// Bytes from the core's L2 in a cycle.
    pub l2_rate: f64,
    /// Bytes of a cache line.
    pub line_bytes: f64,
    /// Line requests of the access unit in a cycle.
    pub requests: f64,
    /// Bytes into the data queue in a cycle.
    pub queue_rate: f64,
    /// Bytes from DRAM in a cycle.
    pub dram_rate: f64,
    /// Picojoules of an access to the last level cache.
    pub llc_energy: f64,
    /// Picojoules of a byte from DRAM.
    pub dram_energy: f64,
    /// Picojoules of a byte through the data queue.
    pub queue_energy: f64,
    /// Picojoules of a micro-operation.
    pub operation_energy: f64,
}

impl Rates {
    /// The rates of a machine.
    pub fn of(machine: &Machine) -> Rates {
        let (core, energy) = (&machine.core, &machine.energy);
        let unloaded = machine.dram.controller_ns + machine.dram.t_rcd_ns + machine.dram.t_cas_ns;
        Rates {
            issue_width: core.issue_width as f64,
            simd_bytes: core.simd_bytes as f64,
            vector_ports: core.vector_ports as f64,
            load_ports: core.load_ports as f64,
            exponential: core.exp_uops as f64,
            fold_latency: core.float_add_latency as f64,
            dispatch: core.dispatch_cycles as f64,
            pop: machine.queue.read_latency as f64,
            token: machine.access.token_cycles as f64,
            traversal: machine.access.traversal_cycles as f64,
            // A full window of scalar code keeps a few misses in flight.
            exposed_latency: machine.cycles(unloaded) as f64 / 4.0,
            exposed_llc: machine.llc.latency as f64 / 4.0,
            l2_rate: machine.l2.bytes_per_cycle as f64,
            line_bytes: machine.dram.line_bytes as f64,
            requests: machine.access.requests_per_cycle as f64,
            queue_rate: machine.queue.write_bytes_per_cycle as f64,
            dram_rate: machine.share_bytes_per_cycle(),
            llc_energy: energy.llc_pj,
            dram_energy: energy.dram_byte_pj,
            queue_energy: energy.queue_byte_pj,
            operation_energy: energy.vector_pj,
        }
    }

    /// Vector registers that a value of this many bytes takes; at least one.
    pub fn registers(&self, bytes: f64) -> f64 {
        (bytes / self.simd_bytes).ceil().max(1.0)
    }

    /// The cost of a number of micro-operations that need neither a vector nor a load port.
    pub fn operations(&self, count: f64) -> Cost {
        Cost { issued: count, energy: count * self.operation_energy, ..Cost::default() }
    }

    /// The cost of a number of vector operations.
    pub fn vector(&self, count: f64) -> Cost {
        Cost { vector: count, ..self.operations(count) }
    }

    /// The cost of loading a value of so many bytes from memory.
    pub fn load(&self, bytes: f64) -> Cost {
        let registers = self.registers(bytes);
        Cost { loaded: registers, ..self.operations(registers) }
    }

    /// The cost of loading a value of so many bytes from the core's L2.
    pub fn load_from_l2(&self, bytes: f64) -> Cost {
        Cost { l2_bytes: bytes, ..self.load(bytes) }
    }

    /// The cost of a callback whose case pops so many bytes: they are read before the next token is
    /// taken. Narrow operands share lines.
    pub fn callback(&self, popped: f64) -> Cost {
        Cost {
            execute: self.dispatch + (popped / self.line_bytes).min(1.0) * self.pop,
            tokens: 1.0,
            marshal: self.token,
            ..Cost::default()
        }
    }

    /// With the execute unit's operations as time. Those of one iteration of a loop overlap, so that
    /// the busiest of its ports decides; those of different loops hardly do.
    pub fn settled(&self, cost: &Cost) -> Cost {
        let ports = [
            cost.issued / self.issue_width,
            cost.vector / self.vector_ports,
            cost.loaded / self.load_ports,
        ];
        let execute = cost.execute + ports.into_iter().fold(0.0, f64::max);
        Cost { execute, issued: 0.0, vector: 0.0, loaded: 0.0, ..*cost }
    }

    /// The cycles that each resource is busy for a cost.
    pub fn resources(&self, cost: &Cost) -> [(&'static str, f64); 6] {
        let cost = &self.settled(cost);
        [
            ("traversal", cost.steps),
            ("requests", cost.lines / self.requests),
            ("execute", cost.execute),
            ("L2", cost.l2_bytes / self.l2_rate),
            ("queue", cost.marshal + cost.queue_bytes / self.queue_rate),
            ("DRAM", cost.dram_bytes / self.dram_rate),
        ]
    }

    /// An estimate in cycles: the units overlap, so the slowest resource decides; a small share of
    /// the rest tells apart programs that it does not.
    pub fn cycles(&self, cost: &Cost) -> f64 {
        let resources = self.resources(cost).map(|(_, cycles)| cycles);
        let slowest = resources.iter().copied().fold(0.0, f64::max);
        slowest + 0.01 * resources.iter().sum::<f64>() + 1e-5 * cost.energy
    }
}
