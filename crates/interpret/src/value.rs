//! Values, lanes, places and addresses.

use ember_values::scalar::Scalar;
use std::fmt;

/// The result of evaluating a term of sort Value. Equality is the equality of [`Scalar`].
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// One scalar.
    Scalar(Scalar),
    /// A vector, with `None` in inactive lanes.
    Lanes(Vec<Option<Scalar>>),
}

impl Value {
    /// Returns the number of lanes, 1 for a scalar.
    pub fn lanes(&self) -> usize {
        match self {
            Value::Scalar(_) => 1,
            Value::Lanes(lanes) => lanes.len(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Scalar(x) => x.fmt(f),
            Value::Lanes(lanes) => {
                f.write_str("<")?;
                for (i, lane) in lanes.iter().enumerate() {
                    f.write_str(if i > 0 { " " } else { "" })?;
                    match lane {
                        Some(x) => x.fmt(f)?,
                        None => f.write_str("_")?,
                    }
                }
                f.write_str(">")
            }
        }
    }
}

/// A part of a tensor. The first `depth` indices are fixed, and `position` is the number of the part in row-major
/// order, in units of its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub tensor: u32,
    pub depth: u32,
    pub position: u64,
    pub writable: bool,
    /// True if the tensor must not change between two barriers.
    pub frozen: bool,
    /// True if it lies beyond the extents of the tensor; `position` is then a hash of the indices.
    pub beyond: bool,
}

/// The result of evaluating a term of sort Address.
#[derive(Clone, Debug)]
pub(super) enum Address {
    One(Place),
    Lanes(Vec<Option<Place>>),
}

impl Address {
    /// Returns the number of lanes, 1 for a single place.
    pub fn lanes(&self) -> usize {
        match self {
            Address::One(_) => 1,
            Address::Lanes(lanes) => lanes.len(),
        }
    }

    /// Iterates over the places, lane by lane.
    pub fn into_iter(self) -> impl Iterator<Item = Option<Place>> {
        let (one, lanes) = match self {
            Address::One(place) => (Some(Some(place)), Vec::new()),
            Address::Lanes(lanes) => (None, lanes),
        };
        one.into_iter().chain(lanes)
    }
}
