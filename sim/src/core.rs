//! The execute unit's pipeline in time: the start and the end of each micro-operation.
//!
//! This is a timestamp model: micro-operations come in program order, each with the time when its operands are ready,
//! and take their places in the front end, the reorder buffer and the ports. The model knows nothing of the values they
//! compute.

use crate::calendar::Calendar;
use crate::timeline::{Stall, Track};
use ember_targets::machine;

/// The cycle in which a value is available, and in the lowest bit whether a load made it, so that a stall can be
/// attributed. The later of two is the greater.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ready(u64);

impl Ready {
    /// Builds the time of a value made by an operation.
    #[inline(always)]
    pub(crate) fn at(cycle: u64) -> Ready {
        Ready(cycle << 1)
    }

    /// Builds the time of a value made by a load.
    #[inline(always)]
    pub(crate) fn loaded(cycle: u64) -> Ready {
        Ready(cycle << 1 | 1)
    }

    /// Returns the cycle.
    #[inline(always)]
    pub(crate) fn cycle(self) -> u64 {
        self.0 >> 1
    }

    /// Returns the later of two.
    #[inline(always)]
    pub(crate) fn max(self, other: Ready) -> Ready {
        Ready(self.0.max(other.0))
    }

    #[inline(always)]
    fn stall(self) -> Option<Stall> {
        (self.0 & 1 == 1).then_some(Stall::Memory)
    }
}

/// The port that a micro-operation uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Port {
    Int,
    Vector,
    Load,
    Store,
    Matrix,
}

/// The number of entries for recent stores that a load may depend on, in a direct-mapped table by address.
const STORES: usize = 1024;

/// One core's pipeline.
#[derive(Debug)]
pub(crate) struct Core {
    /// The cycle in which the next micro-operation is dispatched: the unit's clock.
    pub(crate) clock: u64,
    slots: u64,
    width: u64,
    /// The retirement times of the last micro-operations, oldest at `head`.
    rob: Vec<Ready>,
    head: usize,
    /// The retirement time of the last one: the end of everything so far.
    pub(crate) retired: Ready,
    ports: [Calendar; 5],
    /// True for an in-order core, which starts nothing before its predecessor.
    in_order: bool,
    started: u64,
    /// The address plus one, and the cycle in which the stored data is available.
    stores: Box<[(u64, u64); STORES]>,
    forward: u64,
    /// The micro-operations of each port.
    started_on: [u64; 5],
    pub(crate) track: Track,
}

impl Core {
    /// Builds the core of the given figures, with a matrix unit that starts `products` products per cycle.
    pub(crate) fn new(core: &machine::Core, products: u64, in_order: bool, recorded: bool) -> Core {
        let ports =
            [core.int_ports, core.vector_ports, core.load_ports, core.store_ports, products];
        Core {
            clock: 0,
            slots: 0,
            width: core.issue_width,
            rob: vec![Ready::default(); core.rob as usize],
            head: 0,
            retired: Ready::default(),
            ports: ports.map(Calendar::new),
            in_order,
            started: 0,
            stores: Box::new([(0, 0); STORES]),
            forward: core.forward_latency,
            started_on: [0; 5],
            track: Track::new(recorded),
        }
    }

    /// Stalls the front end until a cycle.
    #[inline]
    pub(crate) fn wait(&mut self, until: u64, stall: Option<Stall>) {
        if until > self.clock {
            if let Some(stall) = stall {
                self.track.stall(stall, self.clock, until);
            }
            self.clock = until;
            self.slots = 0;
        }
    }

    /// Stalls the front end until a value is ready.
    #[inline(always)]
    fn wait_for(&mut self, value: Ready) {
        if value.cycle() > self.clock {
            self.wait(value.cycle(), value.stall());
        }
    }

    /// Starts a micro-operation whose operands are ready at a time; returns its start cycle.
    #[inline(always)]
    pub(crate) fn start(&mut self, port: Port, ready: Ready) -> u64 {
        self.started_on[port as usize] += 1;
        if self.slots == self.width {
            self.clock += 1;
            self.slots = 0;
        }
        self.wait_for(self.rob[self.head]);
        if self.in_order {
            self.wait(self.started, None);
            self.wait_for(ready);
        }
        self.slots += 1;
        let start = self.ports[port as usize].take(self.clock.max(ready.cycle()));
        self.started = start;
        start
    }

    /// Records the end of the micro-operation that was started last.
    #[inline(always)]
    pub(crate) fn finish(&mut self, done: Ready) -> Ready {
        self.retired = self.retired.max(done);
        self.rob[self.head] = self.retired;
        self.head += 1;
        if self.head == self.rob.len() {
            self.head = 0;
        }
        done
    }

    /// Returns the number of micro-operations so far.
    pub(crate) fn uops(&self) -> u64 {
        self.started_on.iter().sum()
    }

    /// Returns the number of micro-operations so far that used a vector port.
    pub(crate) fn vector_uops(&self) -> u64 {
        self.started_on[Port::Vector as usize]
    }

    /// Runs a micro-operation of known latency; returns the time of its result.
    #[inline(never)]
    pub(crate) fn operate(&mut self, port: Port, ready: Ready, latency: u64) -> Ready {
        let start = self.start(port, ready);
        self.finish(Ready::at(start + latency))
    }

    /// Returns the time when a load that the cache answers at `done` has its data, given the stores before it. Only a
    /// store at the same start address is found; other overlaps cost nothing.
    #[inline]
    pub(crate) fn forwarded(&self, address: u64, done: u64) -> Ready {
        let (key, stored) = self.stores[(address >> 2) as usize % STORES];
        Ready::loaded(if key == address + 1 { done.max(stored + self.forward) } else { done })
    }

    /// Records a store's address and the cycle in which its data is available.
    #[inline]
    pub(crate) fn stored(&mut self, address: u64, at: u64) {
        self.stores[(address >> 2) as usize % STORES] = (address + 1, at);
    }
}
