//! The errors of a run.

use std::fmt;

/// The reason why a run ended without a result.
#[derive(Clone, Debug, PartialEq)]
pub enum SimError {
    /// The data does not fit the program's declarations.
    Binding {
        /// The mismatch.
        message: String,
    },
    /// The program is not well formed: the verifier rejects it.
    Invalid {
        /// The violation and its position.
        message: String,
    },
    /// An access outside a tensor.
    OutOfBounds {
        /// The tensor.
        tensor: String,
        /// The stream or statement.
        place: String,
        /// The index; for a run, the index of the last active lane.
        index: i64,
        /// The dimension it indexes.
        dimension: usize,
        /// The extent of that dimension.
        extent: u64,
    },
    /// No unit can continue.
    Deadlock {
        /// Every waiting unit, the blocked queue first.
        blocked: Vec<Blocked>,
    },
    /// Operands or tokens were pushed but never popped.
    Unbalanced {
        /// The remaining operands or tokens.
        message: String,
    },
    /// The run takes more cycles than the options allow.
    Cycles {
        /// The most cycles allowed.
        limit: u64,
    },
    /// The program is larger than the machine or the simulator allows.
    Limit {
        /// The limit, and the value that exceeds it.
        message: String,
    },
}

/// A unit that waits in a deadlock.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocked {
    /// The unit.
    pub unit: String,
    /// The queue, unit or event it waits for.
    pub waits_for: String,
}

impl SimError {
    pub(crate) fn invalid(message: impl Into<String>) -> SimError {
        SimError::Invalid { message: message.into() }
    }

    pub(crate) fn limit(message: impl Into<String>) -> SimError {
        SimError::Limit { message: message.into() }
    }
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimError::Binding { message } => write!(f, "the data does not fit: {message}"),
            SimError::Invalid { message } => write!(f, "the program is not valid: {message}"),
            SimError::OutOfBounds { tensor, place, index, dimension, extent } => write!(
                f,
                "{place} reaches index {index} in dimension {dimension} of `{tensor}`, \
                 which has {extent}"
            ),
            SimError::Deadlock { blocked } => {
                f.write_str("deadlock:")?;
                for (i, b) in blocked.iter().enumerate() {
                    let separator = if i == 0 { "" } else { ";" };
                    write!(f, "{separator} {} waits for {}", b.unit, b.waits_for)?;
                }
                Ok(())
            }
            SimError::Unbalanced { message } => write!(f, "the queues are unbalanced: {message}"),
            SimError::Cycles { limit } => write!(f, "the run takes more than {limit} cycles"),
            SimError::Limit { message } => write!(f, "a limit is exceeded: {message}"),
        }
    }
}

impl std::error::Error for SimError {}
