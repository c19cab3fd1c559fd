//! The common parts of all evaluation: the count of steps, the growth of the stack, and the error for a misplaced term.

use super::op::{At, Does};
use super::{Error, Interpreter};

/// The stack that one level of a term may use, and the amount by which the stack grows if less is left, in bytes.
pub(super) const RED_ZONE: usize = 64 << 10;
pub(super) const SEGMENT: usize = 1 << 20;

impl Interpreter {
    /// Counts one step; an error beyond the limit.
    pub(super) fn step(&mut self) -> Result<(), Error> {
        self.steps += 1;
        if self.steps > self.limit { Err(Error::StepLimit(self.limit)) } else { Ok(()) }
    }

    /// Returns the error for a node of the wrong sort, or the node's own error if it has no meaning at all.
    pub(super) fn wrong(&self, at: At, expected: &'static str) -> Error {
        match self.program.ops[at].does {
            Does::Wrong(error) => self.program.errors[error].clone(),
            _ => Error::Sort { expected, found: self.head(at) },
        }
    }
}
