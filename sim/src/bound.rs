//! The physical bound: a lower bound on the cycles that a machine needs for a computation.
//!
//! It ignores dispatch, dependencies and start-up, so that no program can beat it.

use crate::memory::unloaded_latency;
use ember_targets::machine::Machine;
use ember_values::scalar::DType;
use serde::Serialize;

/// The work that a computation needs whichever program performs it. Fields that a kind of program does not need, for
/// example the queue of a coupled program, are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Demand {
    /// Distinct cache lines of input that must come from main memory.
    pub lines: u64,
    /// Cache lines of output that must go to main memory.
    pub written_lines: u64,
    /// Distinct rows of main memory's banks that hold these lines of input; 0 if they are not known.
    pub bank_rows: u64,
    /// Bytes that must pass through the lanes of the access unit.
    pub lane_bytes: u64,
    /// Bytes of rows that the access unit must pass on: it writes them into the data queue or into memory, or reads
    /// them into the core's L2 for the core to load.
    pub row_bytes: u64,
    /// Operations on the vector ports, each of at most one vector register.
    pub vector_ops: u64,
    /// Loads and pops by the execute unit, each of at most one vector register.
    pub loads: u64,
    /// Stores by the execute unit, each of at most one vector register.
    pub stores: u64,
    /// Multiply-adds of binary32 on the matrix unit; one of binary64 counts as four.
    pub macs: u64,
}

/// A resource that bounds a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Resource {
    /// The share of main memory's bandwidth.
    #[serde(rename = "dram bandwidth")]
    DramBandwidth,
    /// The share of the activations of main memory's rows.
    #[serde(rename = "dram rows")]
    DramRows,
    /// The ports of the last-level cache, or the network behind them.
    #[serde(rename = "llc port")]
    LlcPort,
    /// The maximum number of requests in flight over the minimum latency of one.
    #[serde(rename = "outstanding requests")]
    OutstandingRequests,
    /// The bandwidth of the access unit's lanes.
    #[serde(rename = "lanes")]
    Lanes,
    /// The two paths out of the access unit: its write port and the core's L2.
    #[serde(rename = "rows")]
    Rows,
    /// The matrix unit.
    #[serde(rename = "matrix unit")]
    MatrixUnit,
    /// The execute unit's ports.
    #[serde(rename = "execute ports")]
    ExecutePorts,
}

impl Resource {
    /// Returns the name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Resource::DramBandwidth => "dram bandwidth",
            Resource::DramRows => "dram rows",
            Resource::LlcPort => "llc port",
            Resource::OutstandingRequests => "outstanding requests",
            Resource::Lanes => "lanes",
            Resource::Rows => "rows",
            Resource::MatrixUnit => "matrix unit",
            Resource::ExecutePorts => "execute ports",
        }
    }
}

/// The fewest cycles, and the resource that requires them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// The greatest of [`Bound::each`].
    pub cycles: u64,
    /// The resource with that many cycles.
    pub bound_by: Resource,
    /// The fewest cycles of each resource.
    pub each: Vec<(Resource, u64)>,
}

/// Computes the physical bound of a demand on a machine's out-of-order core and access unit.
pub fn bound(demand: &Demand, machine: &Machine) -> Bound {
    bound_on(demand, machine, Workers { working: 1, cores: 1 })
}

/// The cores that a demand is divided among.
#[derive(Clone, Copy, Debug)]
pub struct Workers {
    /// The cores that work on it.
    pub working: u64,
    /// The cores whose shares of the memory system it may use, at least as many.
    pub cores: u64,
}

/// Computes the physical bound of a demand that is divided evenly among cores.
pub fn bound_on(demand: &Demand, machine: &Machine, workers: Workers) -> Bound {
    let Workers { working, cores } = workers;
    let (access, core) = (&machine.access, &machine.core);
    let shares = cores.min(machine.dram.sharers) as f64;
    let network = if cores > 1 { machine.network.bytes_per_cycle } else { u64::MAX };
    let ports_of_llc = working.saturating_mul(machine.llc.bytes_per_cycle).min(network);
    let line = machine.dram.line_bytes as f64;
    let moved = (demand.lines + demand.written_lines) as f64 * line;
    let turning = demand.written_lines as f64 * machine.turning_lines() * line;
    // The first window of each channel begins with its activations.
    let at_once = machine.dram.activations * machine.dram.channels;
    let activated = demand.bank_rows.saturating_sub(at_once) as f64;
    // Both halves may have requests in flight.
    let in_flight = ((access.outstanding + core.mshrs) * working) as f64;
    let latency = unloaded_latency(machine) as f64;
    let ports = [
        (demand.vector_ops, core.vector_ports),
        (demand.loads, core.load_ports),
        (demand.stores, core.store_ports),
    ];
    let bandwidth = machine.share_bytes_per_cycle() * shares;
    let lane_bytes = access.lanes * access.lane_bytes_per_cycle * working;
    let side = DType::F32.elements_in(core.simd_bytes);
    let products = machine.matrix.products_per_cycle * side * side;
    let each = vec![
        (Resource::DramBandwidth, ((moved + turning) / bandwidth) as u64),
        (Resource::DramRows, (activated / machine.activations_per_cycle() / shares) as u64),
        (Resource::LlcPort, (moved / ports_of_llc as f64) as u64),
        (Resource::OutstandingRequests, (demand.lines as f64 * latency / in_flight) as u64),
        // Without an access unit, nothing passes through its lanes.
        (Resource::Lanes, demand.lane_bytes.checked_div(lane_bytes).unwrap_or(0)),
        (
            Resource::Rows,
            demand.row_bytes
                / ((machine.queue.write_bytes_per_cycle + machine.l2.bytes_per_cycle) * working),
        ),
        (Resource::MatrixUnit, demand.macs / (products * working)),
        (
            Resource::ExecutePorts,
            ports.into_iter().map(|(n, k)| n / (k * working)).max().unwrap_or(0),
        ),
    ];
    let mut greatest = (Resource::DramBandwidth, 0);
    for &(resource, cycles) in &each {
        if cycles > greatest.1 {
            greatest = (resource, cycles);
        }
    }
    Bound { cycles: greatest.1, bound_by: greatest.0, each }
}
