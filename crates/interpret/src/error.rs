//! What can go wrong while a term is interpreted, as values.

use ember_values::scalar::DType;
use thiserror::Error;

/// Why a term has no meaning on a store and in an environment.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// An index outside of its dimension.
    #[error("index {index} is outside of dimension {dimension} of `{tensor}`, which has {extent}")]
    OutOfBounds {
        /// The tensor.
        tensor: String,
        /// The dimension, from 0.
        dimension: usize,
        /// The index.
        index: i64,
        /// The dimension's extent.
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
    /// Operands of different types, or of a type that the operator does not take.
    #[error("`{operator}` does not take {found}")]
    Type {
        /// The operator.
        operator: String,
        /// The types that it met.
        found: String,
    },
    /// Vectors of different lengths, or a vector where a scalar is needed.
    #[error("`{operator}` does not take operands of {0} and {1} lanes", found.0, found.1)]
    Lanes {
        /// The operator.
        operator: String,
        /// The numbers of lanes that it met, 1 for a scalar.
        found: (usize, usize),
    },
    /// A number of lanes that no vector has.
    #[error("a vector of {0} lanes; at least 2 and at most 65536 are possible")]
    LaneCount(i64),
    /// A store of a lane that has no value.
    #[error("an active lane of the address meets an inactive lane of the value")]
    InactiveLane,
    /// A loop variable outside of every loop over it.
    #[error("the loop variable {0} is not bound here")]
    Unbound(String),
    /// A loop that gives its variable a value which the variable's own range does not have.
    #[error("a loop gives {variable} the value {value}, which is not in its range")]
    OutsideRange {
        /// The variable.
        variable: String,
        /// The value.
        value: i64,
    },
    /// A block of lanes that is not there because the loop ends before it.
    #[error("a block of lanes from {first}, where the loop ends at {hi}")]
    EmptyBlock {
        /// The block's first lane.
        first: i64,
        /// The end of the loop.
        hi: i64,
    },
    /// A step that does not lead anywhere.
    #[error("a loop with step {0}")]
    Step(i64),
    /// The two units disagree about the bounds of a loop that both run.
    #[error("the access unit loops from {0} to {1}, the execute unit from {2} to {3}",
        access.0, access.1, execute.0, execute.1)]
    Bounds {
        /// The bounds of the access unit.
        access: (i64, i64),
        /// The bounds of the execute unit.
        execute: (i64, i64),
    },
    /// A stream or a loop of both units that depends on a loop of the execute unit alone.
    #[error("the access unit cannot know about {0}, a loop of the execute unit alone")]
    Unfed(String),
    /// A load through the access unit of memory that the program writes.
    #[error("the access unit loads from `{0}`, which the program writes")]
    MutableLoad(String),
    /// A store to memory that the program must not write.
    #[error("a store to `{0}`, which is read-only")]
    ReadOnly(String),
    /// A tensor that is written, and read as frozen, with no barrier between.
    #[error("`{0}` is written and read as frozen without a barrier between")]
    Unfrozen(String),
    /// A tensor of another shape than the place where it goes.
    #[error("a tensor of shape {found:?} where one of shape {expected:?} is needed")]
    Shape {
        /// The shape that is needed.
        expected: Vec<i64>,
        /// The shape of the tensor.
        found: Vec<i64>,
    },
    /// Offsets that are not those of a matrix in CSR form.
    #[error("offsets do not rise from 0 to {0}, the number of entries")]
    Offsets(i64),
    /// A tensor or size that the store does not have.
    #[error("there is no {kind} called `{name}`")]
    UnknownName {
        /// What was looked for.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// An operator that has no meaning here.
    #[error("`{name}` with {arity} arguments has no meaning")]
    UnknownOperator {
        /// Its name.
        name: String,
        /// The number of its arguments.
        arity: usize,
    },
    /// A term of another sort than the place where it stands asks for.
    #[error("expected {expected}, found `{found}`")]
    Sort {
        /// The sort that was expected.
        expected: &'static str,
        /// The head of the term.
        found: String,
    },
    /// An id that is not of this term.
    #[error("no such node in the term")]
    NoSuchNode,
    /// More evaluated nodes than were allowed.
    #[error("gave up after {0} steps")]
    StepLimit(u64),
}

impl Error {
    /// An operator that met values of these types.
    pub(super) fn types(operator: String, found: &[DType]) -> Error {
        let found: Vec<&str> = found.iter().map(|d| d.name()).collect();
        Error::Type { operator, found: found.join(" and ") }
    }
}
