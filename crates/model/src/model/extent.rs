//! Extents of shapes: numbers, or sizes that are known with the data.

use std::collections::BTreeMap;
use std::fmt;

/// One extent of a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A number.
    Const(u64),
    /// A size known with the data, with a number added.
    Size {
        /// The size's name.
        name: String,
        /// What is added.
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
    /// Its value where the sizes give it one that fits `u64`.
    pub fn value(&self, sizes: &BTreeMap<String, u64>) -> Option<u64> {
        match self {
            Extent::Const(n) => Some(*n),
            Extent::Size { name, plus } => sizes.get(name)?.checked_add(*plus),
        }
    }

    /// The number, if it is one for all data.
    pub fn constant(&self) -> Option<u64> {
        match self {
            Extent::Const(n) => Some(*n),
            Extent::Size { .. } => None,
        }
    }

    /// The names of sizes that programs may mention for it: its own, and that with the number added.
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
