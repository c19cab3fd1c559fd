//! The elements that a run reads and writes, and what is known of a term besides its value.

use super::{Error, Interpreter};
use egg::Id;
use ember_values::scalar::DType;
use std::collections::BTreeSet;

/// Elements by their tensors' names and row-major positions.
pub type Elements = BTreeSet<(String, u64)>;

/// The elements that were touched since tracing began.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Read.
    pub reads: Elements,
    /// Written.
    pub writes: Elements,
}

impl Interpreter {
    /// Records every element that is read or written from here on.
    pub fn traced(mut self) -> Interpreter {
        self.trace = Some(Box::default());
        self
    }

    /// What was touched since tracing began; nothing where it did not.
    pub fn trace(self) -> Trace {
        self.trace.map(|trace| *trace).unwrap_or_default()
    }

    /// The elements that a term of sort Address stands for: all below the places that it is.
    pub fn covered(&mut self, id: Id) -> Result<Elements, Error> {
        let at = self.node(id)?;
        let mut elements = Elements::new();
        for place in self.address(at)?.into_iter().flatten() {
            let (name, tensor) = self.tensor(place);
            let below: u64 = tensor.shape.iter().skip(place.depth as usize).product();
            let first = place.position * below;
            elements.extend((first..first + below).map(|at| (name.to_owned(), at)));
        }
        Ok(elements)
    }

    /// The element type of a value, an address or a tensor.
    pub fn type_at(&mut self, id: Id) -> Result<DType, Error> {
        let at = self.node(id)?;
        self.type_of(at)
    }

    pub(super) fn record(&mut self, tensor: u32, position: u64, write: bool) {
        if let Some(trace) = &mut self.trace {
            let element = (self.names[tensor as usize].clone(), position);
            let set = if write { &mut trace.writes } else { &mut trace.reads };
            set.insert(element);
        }
    }
}
