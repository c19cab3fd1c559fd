//! The DAE simulator: executes a [`Program`] on real data and counts cycles, bytes and energy. It knows programs and
//! machines, but nothing of rules or e-graphs.
//!
//! ```
//! use ember_sim::{Demand, Resource, bound};
//! use ember_targets::machine::Machine;
//!
//! let machine = Machine::plus().expect("a description");
//! let bound = bound(&Demand { stores: 1_000_000, ..Demand::default() }, &machine);
//! assert_eq!(bound.bound_by, Resource::ExecutePorts);
//! ```
//!
//! [`run`] executes a verified program on tensors, [`run_divided`] on several cores that divide its rows, and
//! [`run_phases`] several programs with barriers between them.

mod bound;
mod calendar;
mod code;
mod core;
mod cores;
mod data;
mod error;
mod execute;
mod fetch;
mod marshal;
mod memory;
mod queue;
mod report;
mod scheduler;
mod stats;
mod throttle;
mod timeline;

pub use bound::{Bound, Demand, Resource, Workers, bound, bound_on};
pub use cores::{
    CoreRun, Division, Passed, Phase, Together, Visit, run_divided, run_passing, run_phases,
};
pub use error::{Blocked, SimError};
pub use memory::{Layout, NEAR_LINES};
pub use stats::{DramBytes, Energy, LoadsByHint, Stats, UnitStats};

use ember_targets::dlc::Program;
use ember_targets::machine::Machine;
use ember_targets::tensor::Tensor;
use ember_values::scalar::DType;

/// The data of a program.
#[derive(Clone, Debug)]
pub struct Bindings {
    /// The tensors, in the program's order.
    pub tensors: Vec<Tensor>,
    /// The symbolic sizes, in the program's order.
    pub sizes: Vec<i64>,
}

/// The core that runs the execute half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreKind {
    /// [`Machine::in_order`], which stalls on the first use of a value that is not ready.
    InOrder,
    /// [`Machine::core`], limited by its reorder buffer.
    OutOfOrder,
}

/// The most cycles of a run by default: ten times those of the longest run of a shipped workload, and about a minute of
/// simulation.
pub const CYCLES: u64 = 500_000_000;

/// The values that a run computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// All.
    All,
    /// Integers alone: time depends on addresses and bounds, and on no other value. A program that makes an integer of a
    /// floating-point value computes all.
    Integers,
}

impl Values {
    /// Returns true if values of a type are computed.
    fn has(self, dtype: DType) -> bool {
        self == Values::All || !dtype.is_float()
    }
}

/// The options of a run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The core.
    pub core: CoreKind,
    /// The values that are computed.
    pub values: Values,
    /// True to record the run.
    pub recorded: bool,
    /// A run that takes more cycles ends with [`SimError::Cycles`].
    pub max_cycles: u64,
}

impl Default for Options {
    /// The out-of-order core, all values, no recording, and [`CYCLES`].
    fn default() -> Options {
        let (core, values) = (CoreKind::OutOfOrder, Values::All);
        Options { core, values, recorded: false, max_cycles: CYCLES }
    }
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The tensors at the end, in the program's order; none if only integers were to be computed.
    pub tensors: Vec<Tensor>,
    /// The counts of the run.
    pub stats: Stats,
    /// The course of the run, if it was to be recorded.
    pub recording: Option<Recording>,
}

/// The course of a run.
#[derive(Clone, Debug)]
pub struct Recording {
    /// A Chrome trace that Perfetto opens.
    pub timeline: serde_json::Value,
    /// The cycles of each statement of the execute half, in the order in which programs print them: those by which its
    /// micro-operations retire later than all before them. Their sum is the cycle in which the last one retires.
    pub statements: Vec<u64>,
}

/// Runs a program to its end.
///
/// # Errors
///
/// Fails if the data does not fit, the program is not well formed, an access is outside a tensor, the program
/// deadlocks, or a limit of the machine or the options is exceeded; see [`SimError`].
pub fn run(
    program: &Program,
    machine: &Machine,
    data: Bindings,
    options: Options,
) -> Result<Outcome, SimError> {
    let division = Division::undivided(1);
    let Together { outcome, .. } = run_divided(program, machine, data, options, division)?;
    Ok(outcome)
}
