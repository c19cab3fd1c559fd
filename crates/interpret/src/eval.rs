//! The common parts of all evaluation: the count of steps, the growth of the stack, and the error for a misplaced term.

use super::error::Fault;
use super::op::{At, Does};
use super::{Error, Interpreter};

/// The stack that the levels of a term between two looks at it may use, and the amount by which the stack grows if less
/// is left, in bytes.
const RED_ZONE: usize = 128 << 10;
const SEGMENT: usize = 1 << 20;

/// Calls a function with enough stack for some levels of a term.
pub(super) fn grow<T>(f: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE, SEGMENT, f)
}

impl Interpreter {
    /// Evaluates a node in some way, with enough stack.
    #[inline]
    pub(super) fn deeper<T>(&mut self, at: At, evaluate: fn(&mut Self, At) -> T) -> T {
        if self.program.ops[at].grows { grow(|| evaluate(self, at)) } else { evaluate(self, at) }
    }

    /// Counts one step; an error beyond the limit.
    #[inline]
    pub(super) fn step(&mut self) -> Result<(), Fault> {
        self.steps += 1;
        if self.steps > self.limit { Err(Error::StepLimit(self.limit).into()) } else { Ok(()) }
    }

    /// Returns the error for a node of the wrong sort, or the node's own error if it has no meaning at all.
    pub(super) fn wrong(&self, at: At, expected: &'static str) -> Fault {
        match self.program.ops[at].does {
            Does::Wrong(error) => self.program.errors[error].clone().into(),
            Does::Root(place, _) if self.places[place].is_none() => self.no_tensor(place),
            Does::Size(place) if self.values[place].is_none() => self.no_size(place),
            _ => Error::Sort { expected, found: self.head(at) }.into(),
        }
    }

    /// Returns the place in the store of a tensor of the program.
    pub(super) fn tensor_at(&self, place: usize) -> Result<u32, Fault> {
        self.places[place].ok_or_else(|| self.no_tensor(place))
    }

    /// Returns the value of a size of the program.
    pub(super) fn size_at(&self, place: usize) -> Result<i64, Fault> {
        self.values[place].ok_or_else(|| self.no_size(place))
    }

    fn no_tensor(&self, place: usize) -> Fault {
        Error::UnknownName { kind: "tensor", name: self.program.tensors[place].clone() }.into()
    }

    fn no_size(&self, place: usize) -> Fault {
        Error::UnknownName { kind: "size", name: self.program.sizes[place].clone() }.into()
    }
}
