//! The errors of interpreting a term.

use ember_values::scalar::DType;
use thiserror::Error;

/// The reason a term has no meaning on a store and in an environment.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// An index outside of its dimension.
    #[error("index {index} is outside of dimension {dimension} of `{tensor}`, which has {extent}")]
    OutOfBounds {
        /// The tensor.
        tensor: String,
        /// The dimension, counted from 0.
        dimension: usize,
        /// The index.
        index: i64,
        /// The extent of the dimension.
        extent: u64,
    },
    /// An address with more or fewer indices than the tensor has dimensions.
    #[error("`{tensor}` has {rank} dimensions and is used with {indices} indices")]
    Rank {
        /// The tensor.
        tensor: String,
        /// Its number of dimensions.
        rank: usize,
        /// The number of indices.
        indices: usize,
    },
    /// Operands of different types, or of a type that the operator does not accept.
    #[error("`{operator}` does not take {found}")]
    Type {
        /// The operator.
        operator: String,
        /// The types of the operands.
        found: String,
    },
    /// Vectors of different lengths, or a vector in place of a scalar.
    #[error("`{operator}` does not take operands of {0} and {1} lanes", found.0, found.1)]
    Lanes {
        /// The operator.
        operator: String,
        /// The numbers of lanes of the operands, 1 for a scalar.
        found: (usize, usize),
    },
    /// A vector width outside the supported range.
    #[error("a vector of {0} lanes; at least 2 and at most 65536 are possible")]
    LaneCount(i64),
    /// An active lane of a store's address without a value.
    #[error("an active lane of the address meets an inactive lane of the value")]
    InactiveLane,
    /// A loop variable used outside every loop over it.
    #[error("the loop variable {0} is not bound here")]
    Unbound(String),
    /// A loop that gives its variable a value outside the variable's own range.
    #[error("a loop gives {variable} the value {value}, which is not in its range")]
    OutsideRange {
        /// The variable.
        variable: String,
        /// The value.
        value: i64,
    },
    /// A block of lanes that starts at or after the end of the loop.
    #[error("a block of lanes from {first}, where the loop ends at {hi}")]
    EmptyBlock {
        /// The first lane of the block.
        first: i64,
        /// The end of the loop.
        hi: i64,
    },
    /// A step that is not positive.
    #[error("a loop with step {0}")]
    Step(i64),
    /// Different bounds on the two units for a loop that both units run.
    #[error("the access unit loops from {0} to {1}, the execute unit from {2} to {3}",
        access.0, access.1, execute.0, execute.1)]
    Bounds {
        /// The bounds of the access unit.
        access: (i64, i64),
        /// The bounds of the execute unit.
        execute: (i64, i64),
    },
    /// A stream, or a loop of both units, that depends on a loop of the execute unit alone.
    #[error("the access unit cannot know about {0}, a loop of the execute unit alone")]
    Unfed(String),
    /// A load by the access unit from memory that the program writes.
    #[error("the access unit loads from `{0}`, which the program writes")]
    MutableLoad(String),
    /// A store to read-only memory.
    #[error("a store to `{0}`, which is read-only")]
    ReadOnly(String),
    /// A tensor that is written and read as frozen without a barrier in between.
    #[error("`{0}` is written and read as frozen without a barrier between")]
    Unfrozen(String),
    /// A tensor whose shape does not fit its destination.
    #[error("a tensor of shape {found:?} where one of shape {expected:?} is needed")]
    Shape {
        /// The required shape.
        expected: Vec<i64>,
        /// The shape of the tensor.
        found: Vec<i64>,
    },
    /// Offsets that do not form a matrix in CSR form.
    #[error("offsets do not rise from 0 to {0}, the number of entries")]
    Offsets(i64),
    /// A tensor or size that is missing from the store.
    #[error("there is no {kind} called `{name}`")]
    UnknownName {
        /// The kind of thing that was looked up.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// An operator without a meaning.
    #[error("`{name}` with {arity} arguments has no meaning")]
    UnknownOperator {
        /// Its name.
        name: String,
        /// The number of its arguments.
        arity: usize,
    },
    /// A term of the wrong sort for its position.
    #[error("expected {expected}, found `{found}`")]
    Sort {
        /// The sort that was expected.
        expected: &'static str,
        /// The head of the term.
        found: String,
    },
    /// A node id that does not occur in the term.
    #[error("no such node in the term")]
    NoSuchNode,
    /// A floating-point result of finite operands that exceeds its type, in a run with noise.
    #[error("a result exceeds its type")]
    Overflow,
    /// A floating-point result that is not one of real numbers, in a run that must be real.
    #[error("a result is no real number")]
    NotReal,
    /// A run that evaluated more nodes than the step limit.
    #[error("gave up after {0} steps")]
    StepLimit(u64),
}

/// An error, on the heap: every level of a term returns a result, which should be small.
pub(super) type Fault = Box<Error>;

impl Error {
    /// Returns the error for operand types that an operator does not accept.
    pub(super) fn types(operator: String, found: &[DType]) -> Fault {
        let found: Vec<&str> = found.iter().map(|d| d.name()).collect();
        Error::Type { operator, found: found.join(" and ") }.into()
    }
}
