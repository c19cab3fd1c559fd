//! Extents of shapes: numbers, or sizes that are known only with the data.

use std::collections::BTreeMap;
use std::fmt;

/// One extent of a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A number.
    Const(u64),
    /// A size that is known with the data, plus a number.
    Size {
        /// The name of the size.
        name: String,
        /// The number that is added.
        plus: u64,
    },
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Const(n) => write!(f, "{n}"),
            Extent::Size { name, plus: 0 } => f.write_str(name),
            Extent::Size { name, plus } => write!(f, "{name}+{plus}"),
        }
    }
}

impl Extent {
    /// Returns the value of the extent; `None` if its size is unknown or it does not fit `u64`.
    pub fn value(&self, sizes: &BTreeMap<String, u64>) -> Option<u64> {
        match self {
            Extent::Const(n) => Some(*n),
            Extent::Size { name, plus } => sizes.get(name)?.checked_add(*plus),
        }
    }

    /// Returns the number, if it is the same for all data.
    pub fn constant(&self) -> Option<u64> {
        match self {
            Extent::Const(n) => Some(*n),
            Extent::Size { .. } => None,
        }
    }

    /// Iterates over the size names that programs may use for the extent: the name of its size, and the name with the
    /// number added.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let names = match self {
            Extent::Const(_) => Vec::new(),
            Extent::Size { name, .. } => vec![name.clone(), self.to_string()],
        };
        names.into_iter()
    }

    /// So much more, or less, if it is known to be at least 0 for all data.
    pub fn plus(&self, n: i64) -> Option<Extent> {
        Some(match self {
            Extent::Const(own) => Extent::Const(own.checked_add_signed(n)?),
            Extent::Size { name, plus } => {
                Extent::Size { name: name.clone(), plus: plus.checked_add_signed(n)? }
            }
        })
    }

    /// One less, where it is at least 1 for all data: the bags of so many offsets.
    pub fn less_one(&self) -> Option<Extent> {
        self.plus(-1)
    }
}
