//! The elements that a run reads and writes, and other facts about a term than its value.

use super::{Error, Interpreter};
use egg::Id;
use ember_values::scalar::DType;
use std::collections::BTreeSet;

/// A set of elements, each as the tensor's name and the row-major position.
pub type Elements = BTreeSet<(String, u64)>;

/// The elements that were accessed since tracing began.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The elements that were read.
    pub reads: Elements,
    /// The elements that were written.
    pub writes: Elements,
}

impl Interpreter {
    /// Starts recording every element that is read or written.
    pub fn traced(mut self) -> Interpreter {
        self.trace = Some(Box::default());
        self
    }

    /// Returns the elements that were accessed since tracing began; an empty trace if tracing is off.
    pub fn trace(self) -> Trace {
        self.trace.map(|trace| *trace).unwrap_or_default()
    }

    /// Returns the elements that a term of sort Address refers to: all elements within its places.
    pub fn covered(&mut self, id: Id) -> Result<Elements, Error> {
        let at = self.node(id)?;
        let mut elements = Elements::new();
        let address = self.address(at).map_err(|error| *error)?;
        for place in address.into_iter().flatten() {
            let (name, tensor) = self.tensor(place);
            let below: u64 = tensor.shape.iter().skip(place.depth as usize).product();
            let first = place.position * below;
            elements.extend((first..first + below).map(|at| (name.to_owned(), at)));
        }
        Ok(elements)
    }

    /// Returns the element type of a value, an address or a tensor.
    pub fn type_at(&mut self, id: Id) -> Result<DType, Error> {
        let at = self.node(id)?;
        self.type_of(at).map_err(|error| *error)
    }

    /// Returns the number of dimensions of a tensor, or of those that an address leaves free.
    pub fn rank_at(&mut self, id: Id) -> Result<usize, Error> {
        let at = self.node(id)?;
        self.extents_of(at).map(|extents| extents.len()).map_err(|error| *error)
    }

    /// Runs a check of what a statement requires. What it reads is not recorded: it is no access of the statement.
    pub(super) fn untraced<T>(&mut self, check: impl FnOnce(&mut Self) -> T) -> T {
        let trace = self.trace.take();
        let checked = check(self);
        self.trace = trace;
        checked
    }

    pub(super) fn record(&mut self, tensor: u32, position: u64, write: bool) {
        if let Some(trace) = &mut self.trace {
            let element = (self.names[tensor as usize].clone(), position);
            let set = if write { &mut trace.writes } else { &mut trace.reads };
            set.insert(element);
        }
    }
}
