//! The cost vector and the rates of the machine that convert it to cycles.

use ember_targets::machine::Machine;
use ember_values::capability::Capabilities;
use std::ops::{Add, Mul};

/// The cost of one evaluation of a term, with each component in the unit of its resource.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Iterations and arithmetic steps of traversal units.
    pub steps: f64,
    /// Line requests of the access unit.
    pub lines: f64,
    /// Cycles of the execute unit, without the operations counted below.
    pub execute: f64,
    /// Micro-operations of the execute unit that no loop encloses yet.
    pub issued: f64,
    /// Operations of its vector ports, which also execute floating-point scalar operations.
    pub vector: f64,
    /// Registers loaded from memory or the data queue.
    pub loaded: f64,
    /// Bytes transferred between its L2 and their readers.
    pub l2_bytes: f64,
    /// Lines that are prefetched from DRAM while nothing passes the queue, so that no operand or token tells the execute
    /// unit that they are there.
    pub unannounced: f64,
    /// Cycles in which both units wait, because the execute unit asks for such lines itself.
    pub waits: f64,
    /// Control tokens.
    pub tokens: f64,
    /// Cycles of the marshaller in addition to its writes into the data queue: tokens, starts of traversals, and
    /// operands too narrow for a write of their own.
    pub marshal: f64,
    /// Bytes in the data queue, including padding.
    pub queue_bytes: f64,
    /// Bytes from and to DRAM.
    pub dram_bytes: f64,
    /// Energy in picojoules.
    pub energy: f64,
    /// Registers stored to memory. This and the components below are counted for finished programs alone, and no choice
    /// is made by them.
    pub stored: f64,
    /// Bytes from the last-level cache.
    pub llc_bytes: f64,
    /// Micro-operations that loops enclose.
    pub enclosed: f64,
    /// Lines from DRAM that the execute unit asks for itself, as long as no loop moves them.
    pub missed: f64,
    /// Rows of DRAM's banks that are activated.
    pub activated: f64,
    /// Bytes from DRAM by which the half of the run with more of them has more than the other half.
    pub uneven_bytes: f64,
    /// Cycles in which the requests of the access unit are in flight, if as many are at a time as may be.
    pub in_flight: f64,
    /// Cycles that parts take one after the other in addition to those that they would take beside each other, if no loop
    /// encloses them.
    pub apart: f64,
}

impl Cost {
    /// Returns true if no component is larger than in the other.
    pub fn at_most(&self, other: &Cost) -> bool {
        self.components().iter().zip(other.components()).all(|(a, b)| *a <= b)
    }

    /// Returns true if something passes the queue.
    pub fn announces(&self) -> bool {
        self.tokens > 0.0 || self.queue_bytes > 0.0
    }
}

impl Cost {
    /// Returns the components by which choices are made, in the order of the fields.
    fn components(&self) -> [f64; 14] {
        [
            self.steps,
            self.lines,
            self.execute,
            self.issued,
            self.vector,
            self.loaded,
            self.l2_bytes,
            self.unannounced,
            self.waits,
            self.tokens,
            self.marshal,
            self.queue_bytes,
            self.dram_bytes,
            self.energy,
        ]
    }

    /// Returns true if every component is within one hundredth of the other's.
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
            unannounced: self.unannounced + other.unannounced,
            waits: self.waits + other.waits,
            tokens: self.tokens + other.tokens,
            marshal: self.marshal + other.marshal,
            queue_bytes: self.queue_bytes + other.queue_bytes,
            dram_bytes: self.dram_bytes + other.dram_bytes,
            energy: self.energy + other.energy,
            stored: self.stored + other.stored,
            llc_bytes: self.llc_bytes + other.llc_bytes,
            enclosed: self.enclosed + other.enclosed,
            missed: self.missed + other.missed,
            activated: self.activated + other.activated,
            uneven_bytes: self.uneven_bytes + other.uneven_bytes,
            in_flight: self.in_flight + other.in_flight,
            apart: self.apart + other.apart,
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
            unannounced: self.unannounced * by,
            waits: self.waits * by,
            tokens: self.tokens * by,
            marshal: self.marshal * by,
            queue_bytes: self.queue_bytes * by,
            dram_bytes: self.dram_bytes * by,
            energy: self.energy * by,
            stored: self.stored * by,
            llc_bytes: self.llc_bytes * by,
            enclosed: self.enclosed * by,
            missed: self.missed * by,
            activated: self.activated * by,
            uneven_bytes: self.uneven_bytes * by,
            in_flight: self.in_flight * by,
            apart: self.apart * by,
        }
    }
}

/// The misses that a full window of scalar code keeps in flight.
const OVERLAPPING: f64 = 4.0;

/// The rates and prices of the machine that estimates need.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// The abilities of the access unit; a program that uses others has no price.
    pub capabilities: Capabilities,
    /// Micro-operations per cycle.
    pub issue_width: f64,
    /// Bytes per vector register.
    pub simd_bytes: f64,
    /// Vector operations per cycle.
    pub vector_ports: f64,
    /// Outer products of the matrix unit per cycle.
    pub products: f64,
    /// Cycles from one outer product to the next on the same accumulators.
    pub product_latency: f64,
    /// Cycles in which the matrix unit begins and ends a product.
    pub product_startup: f64,
    /// Loads per cycle.
    pub load_ports: f64,
    /// Stores per cycle.
    pub store_ports: f64,
    /// Micro-operations between the first that has not ended and the last that has begun.
    pub window: f64,
    /// Misses that the core keeps in flight.
    pub misses: f64,
    /// Cycles to memory and back, if it is not busy.
    pub latency: f64,
    /// Lines that the core's prefetcher asks for once it follows a stream.
    pub expected: f64,
    /// Micro-operations per register of an exponential.
    pub exponential: f64,
    /// Cycles from one step of a fold to the next.
    pub fold_latency: f64,
    /// Cycles from one accumulation into an element in memory to the next.
    pub accumulation: f64,
    /// Cycles of the execute unit for a callback's token.
    pub dispatch: f64,
    /// Cycles of the execute unit after the end of a loop that it has not foreseen.
    pub mispredicted: f64,
    /// Cycles of the execute unit for reading a line of the data queue, if nothing hides them.
    pub pop: f64,
    /// Cycles of the marshaller for a token.
    pub token: f64,
    /// Cycles of the marshaller for starting a traversal.
    pub traversal: f64,
    /// Cycles that a load of the execute unit waits for DRAM, in addition to the cycles that its window hides.
    pub exposed_latency: f64,
    /// The share of requests for lines from memory that the core drops.
    pub dropped: f64,
    /// Cycles that a load of the execute unit waits for the last level cache, in addition to the cycles that its window
    /// hides.
    pub exposed_llc: f64,
    /// Bytes per cycle from the core's L2.
    pub l2_rate: f64,
    /// Bytes per cycle from the last-level cache.
    pub llc_rate: f64,
    /// Bytes of the core's share of the last-level cache.
    pub llc_bytes: f64,
    /// Bytes per cache line.
    pub line_bytes: f64,
    /// Line requests per cycle of the access unit.
    pub requests: f64,
    /// Requests of the access unit in flight at a time.
    pub outstanding: f64,
    /// Misses of the core's L2 in flight at a time.
    pub l2_misses: f64,
    /// Cycles from the core's L2 to the last-level cache and back.
    pub llc_latency: f64,
    /// Cycles from the last-level cache to DRAM and back, if it is not busy.
    pub dram_latency: f64,
    /// Bytes per cycle into the data queue.
    pub queue_rate: f64,
    /// Bytes per cycle from DRAM.
    pub dram_rate: f64,
    /// Rows of DRAM's banks that are activated per cycle: what refreshes leave.
    pub activations: f64,
    /// Bytes of a row of one bank of DRAM.
    pub row_bytes: f64,
    /// Lines that follow each other in one channel of DRAM.
    pub interleaved: u64,
    /// Channels of DRAM.
    pub channels: f64,
    /// Bytes that the bus of DRAM could move while it turns for a written byte.
    pub turning: f64,
    /// Picojoules per access to the core's L2.
    pub l2_energy: f64,
    /// Picojoules per access to the last level cache.
    pub llc_energy: f64,
    /// Picojoules per byte from DRAM.
    pub dram_energy: f64,
    /// Picojoules per byte through the data queue.
    pub queue_energy: f64,
    /// Picojoules per micro-operation.
    pub operation_energy: f64,
}

impl Rates {
    /// Returns the rates of a machine.
    pub fn of(machine: &Machine) -> Rates {
        let (core, energy) = (&machine.core, &machine.energy);
        let unloaded = machine.dram.controller_ns + machine.dram.t_rcd_ns + machine.dram.t_cas_ns;
        Rates {
            capabilities: machine.capabilities(),
            issue_width: core.issue_width as f64,
            simd_bytes: core.simd_bytes as f64,
            vector_ports: core.vector_ports as f64,
            products: machine.matrix.products_per_cycle as f64,
            product_latency: machine.matrix.product_latency as f64,
            product_startup: machine.matrix.startup_cycles as f64,
            load_ports: core.load_ports as f64,
            store_ports: core.store_ports as f64,
            window: core.rob as f64,
            misses: core.mshrs as f64,
            latency: (machine.l2.latency + machine.llc.latency + machine.cycles(unloaded)) as f64,
            expected: core.prefetch_lines as f64,
            exponential: core.exp_uops as f64,
            fold_latency: core.float_add_latency as f64,
            accumulation: (core.forward_latency + core.float_add_latency) as f64,
            dispatch: core.dispatch_cycles as f64,
            mispredicted: core.mispredict_cycles as f64,
            pop: machine.queue.read_latency as f64,
            token: machine.access.token_cycles as f64,
            traversal: machine.access.traversal_cycles as f64,
            exposed_latency: machine.cycles(unloaded) as f64 / OVERLAPPING,
            dropped: core.dropped_requests,
            exposed_llc: machine.llc.latency as f64 / OVERLAPPING,
            l2_rate: machine.l2.bytes_per_cycle as f64,
            llc_bytes: machine.llc_share() as f64,
            llc_rate: machine.llc.bytes_per_cycle as f64,
            line_bytes: machine.dram.line_bytes as f64,
            requests: machine.access.requests_per_cycle as f64,
            outstanding: machine.access.outstanding as f64,
            l2_misses: machine.l2.misses as f64,
            llc_latency: machine.llc.latency as f64,
            dram_latency: machine.cycles(unloaded) as f64,
            queue_rate: machine.queue.write_bytes_per_cycle as f64,
            dram_rate: machine.share_bytes_per_cycle(),
            activations: machine.activations_per_cycle() * (1.0 - machine.refreshing()),
            row_bytes: machine.dram.row_bytes as f64,
            interleaved: machine.dram.interleave_bytes / machine.dram.line_bytes,
            channels: machine.dram.channels as f64,
            turning: machine.turning_lines(),
            l2_energy: energy.l2_pj,
            llc_energy: energy.llc_pj,
            dram_energy: energy.dram_byte_pj,
            queue_energy: energy.queue_byte_pj,
            operation_energy: energy.vector_pj,
        }
    }

    /// Returns the vector registers that a value of this many bytes takes; at least one.
    pub fn registers(&self, bytes: f64) -> f64 {
        (bytes / self.simd_bytes).ceil().max(1.0)
    }

    /// Returns the cost of a number of micro-operations that need neither a vector port nor a load port.
    pub fn operations(&self, count: f64) -> Cost {
        Cost { issued: count, energy: count * self.operation_energy, ..Cost::default() }
    }

    /// Returns the cost of a number of vector operations.
    pub fn vector(&self, count: f64) -> Cost {
        Cost { vector: count, ..self.operations(count) }
    }

    /// Returns the cost of loading a value of this many bytes from memory.
    pub fn load(&self, bytes: f64) -> Cost {
        let registers = self.registers(bytes);
        Cost { loaded: registers, ..self.operations(registers) }
    }

    /// Returns the cost of loading a value of this many bytes from the core's L2.
    pub fn load_from_l2(&self, bytes: f64) -> Cost {
        Cost { l2_bytes: bytes, ..self.load(bytes) }
    }

    /// Returns the cost of writing results of so many bytes back to memory, which they reach in the end.
    pub fn write_back(&self, bytes: f64) -> Cost {
        let dram_bytes = bytes * (1.0 + self.turning);
        Cost { dram_bytes, energy: bytes * self.dram_energy, ..Cost::default() }
    }

    /// Returns the cost of a callback whose case pops this many bytes, which are read before the next token is taken.
    /// Narrow operands share lines.
    pub fn callback(&self, popped: f64) -> Cost {
        Cost {
            execute: self.dispatch + (popped / self.line_bytes).min(1.0) * self.pop,
            tokens: 1.0,
            marshal: self.token,
            ..Cost::default()
        }
    }

    /// Returns the cost of one iteration of a loop of the access unit, in which the units may have run apart. If an item
    /// passes the queue, the execute unit waits for it, and then for no more of the lines that were prefetched since the
    /// last than for the first: the access unit is ahead by then.
    pub fn announced(&self, iteration: &Cost) -> Cost {
        if !iteration.announces() {
            return *iteration;
        }
        let waits = self.exposed_latency * iteration.unannounced.min(OVERLAPPING);
        Cost { unannounced: 0.0, waits: iteration.waits + waits, ..*iteration }
    }

    /// Converts the operations of the execute unit to time. The operations of one loop iteration overlap, so the
    /// busiest port decides. The operations of different loops hardly overlap, so their times add up.
    pub fn settled(&self, cost: &Cost) -> Cost {
        let ports = [
            cost.issued / self.issue_width,
            cost.vector / self.vector_ports,
            cost.loaded / self.load_ports,
            cost.stored / self.store_ports,
        ];
        let execute = cost.execute + ports.into_iter().fold(0.0, f64::max);
        Cost { execute, issued: 0.0, vector: 0.0, loaded: 0.0, stored: 0.0, ..*cost }
    }

    /// Returns the cycles for which a cost occupies each resource.
    pub fn resources(&self, cost: &Cost) -> [(&'static str, f64); 6] {
        let cost = &self.settled(cost);
        // Nothing keeps the access unit from running so far ahead that its prefetches are for nothing.
        let unaided = cost.unannounced * self.exposed_latency;
        [
            ("traversal", cost.steps),
            (
                "requests",
                [cost.lines / self.requests, cost.llc_bytes / self.llc_rate, cost.in_flight]
                    .into_iter()
                    .fold(0.0, f64::max),
            ),
            ("execute", cost.execute + unaided),
            ("L2", cost.l2_bytes / self.l2_rate),
            ("queue", cost.marshal + cost.queue_bytes / self.queue_rate),
            ("DRAM", (cost.dram_bytes / self.dram_rate).max(cost.activated / self.activations)),
        ]
    }

    /// Estimates the cycles of a cost, for choices: a small share of its energy distinguishes programs that take as long.
    pub fn cycles(&self, cost: &Cost) -> f64 {
        self.slowest(cost) + self.beside(cost)
    }

    /// Estimates the cycles of a run.
    pub fn expected(&self, cost: &Cost) -> f64 {
        self.slowest(cost) + self.overlapped(cost)
    }

    /// Returns the cycles of the slowest resource, since the units overlap: in each half of the run, if DRAM has more to do in
    /// one of them.
    fn slowest(&self, cost: &Cost) -> f64 {
        let [others @ .., (_, dram)] = self.resources(cost);
        let others = others.iter().map(|(_, cycles)| *cycles).fold(0.0, f64::max);
        let uneven = cost.uneven_bytes / self.dram_rate;
        let half = |dram: f64| others.max(dram) / 2.0;
        half(dram + uneven) + half(dram - uneven) + cost.waits + cost.apart
    }

    /// Returns the share of an estimate that all resources have, whichever is the slowest: now and then one waits for another.
    fn overlapped(&self, cost: &Cost) -> f64 {
        let all: f64 = self.resources(cost).iter().map(|(_, cycles)| cycles).sum();
        0.01 * all
    }

    /// Returns the share of an estimate that all resources and the energy have, whichever is the slowest.
    pub(super) fn beside(&self, cost: &Cost) -> f64 {
        self.overlapped(cost) + 1e-5 * cost.energy
    }
}
