//! Where the elements of a value are: which tensor of the model holds them, and which of its dimensions is which of the
//! value's. Dimensions of extent 1, repetition and order cost nothing until an operation needs them otherwise.

use crate::graph::{Id, is_one};
use ember_model::Extent;
use ember_targets::tensor::Tensor;
use ember_values::scalar::DType;
use std::sync::Arc;

/// A part of an argument: so many elements of a dimension, from one on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Part {
    pub(crate) axis: usize,
    pub(crate) first: u64,
    pub(crate) count: u64,
}

/// The holder of the elements.
#[derive(Clone, Debug)]
pub(crate) enum Base {
    /// A tensor of the model.
    Tensor(String),
    /// One number everywhere.
    Number(f64),
    /// Elements of an argument in row-major order, which becomes an input when it is used.
    View {
        /// The argument.
        argument: usize,
        /// The parts of it, one taken of the other.
        parts: Vec<Part>,
    },
    /// Whole numbers that are computed of arguments, in row-major order of the value's dimensions. They become an input when
    /// they are used as positions, and statements when they are computed with.
    Whole(Id),
    /// The values of edges, which become an input in the order of rows when they are used.
    Sorted {
        /// The values.
        of: Id,
        /// The row of each edge.
        by: Id,
        /// The number of rows.
        rows: Extent,
    },
    /// Where bags start, which becomes an input when it is used.
    Sums {
        /// The lengths of the bags.
        lengths: Id,
    },
    /// Where the edges of each row start, which becomes an input when it is used.
    Starts {
        /// The row of each edge.
        by: Id,
    },
    /// Elements that are known at import, which become an input when they are used.
    Constant {
        /// The name.
        name: String,
        /// The elements, in the order of the dimensions of the layout.
        tensor: Arc<Tensor>,
    },
}

/// A value's elements in place.
#[derive(Clone, Debug)]
pub(crate) struct Laid {
    pub(crate) base: Base,
    /// The extents of what holds the elements.
    pub(crate) extents: Vec<Extent>,
    /// For each of them the dimension of the value; `None` for extents of 1. The value's other dimensions are repeated.
    pub(crate) axes: Vec<Option<usize>>,
    pub(crate) dtype: DType,
}

impl Laid {
    /// A value that is laid out as it is.
    pub(crate) fn plain(base: Base, shape: &[Extent], dtype: DType) -> Laid {
        let axes = (0..shape.len()).map(Some).collect();
        Laid { base, extents: shape.to_vec(), axes, dtype }
    }

    /// A number.
    pub(crate) fn number(x: f64, dtype: DType) -> Laid {
        Laid { base: Base::Number(x), extents: Vec::new(), axes: Vec::new(), dtype }
    }

    /// Returns the dimensions of the value that are held and are not 1, in the order in which they are held.
    pub(crate) fn live(&self) -> Vec<usize> {
        let held = self.axes.iter().zip(&self.extents).filter(|(_, extent)| !is_one(extent));
        held.filter_map(|(axis, _)| *axis).collect()
    }

    /// Returns the place of a dimension among those that are held.
    pub(crate) fn place(&self, axis: usize) -> Option<usize> {
        self.axes.iter().position(|own| *own == Some(axis))
    }

    /// Returns true if the dimensions that are held stand in the value's order.
    pub(crate) fn in_order(&self) -> bool {
        self.live().is_sorted()
    }

    /// Returns the elements with other dimensions.
    pub(crate) fn renamed(&self, rename: impl Fn(usize) -> Option<usize>) -> Laid {
        let axes = self.axes.iter().map(|axis| axis.and_then(&rename)).collect();
        Laid { axes, ..self.clone() }
    }

    /// The value as the last dimensions of one with so many more.
    pub(crate) fn shifted(&self, by: usize) -> Laid {
        self.renamed(|axis| Some(axis + by))
    }
}

/// Returns the dimensions that are not 1.
pub(crate) fn live(shape: &[Extent]) -> Vec<usize> {
    (0..shape.len()).filter(|axis| !is_one(&shape[*axis])).collect()
}
