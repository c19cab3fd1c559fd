//! The common graph that every reader gives: operations of frameworks reduced to a few, each with its shape, its
//! element type and the source line that it comes from.

use ember_model::Extent;
use ember_targets::tensor::Tensor;
use ember_values::scalar::DType;
use std::collections::BTreeMap;

/// A value of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub(crate) usize);

/// The element type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Elem {
    /// Numbers of a type that tensors of models have.
    Of(DType),
    /// The answers of comparisons.
    Bool,
}

impl Elem {
    /// Returns true for integers.
    pub fn is_integer(self) -> bool {
        matches!(self, Elem::Of(DType::I32 | DType::I64 | DType::U8 | DType::U4 | DType::I8))
    }
}

/// An operator of the imported program: where a node comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The operator's name.
    pub name: String,
    /// The name of its result.
    pub result: String,
    /// The source line that the export recorded.
    pub line: Option<String>,
}

/// An argument of the imported program.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The name.
    pub name: String,
    /// The element type.
    pub elem: Elem,
    /// The extents.
    pub shape: Vec<Extent>,
}

/// A tensor that the file holds.
#[derive(Clone, Debug)]
pub struct Weight {
    /// The name.
    pub name: String,
    /// The elements.
    pub tensor: Tensor,
}

/// One value and how it is computed.
#[derive(Clone, Debug)]
pub struct Node {
    /// The operation.
    pub op: Op,
    /// The values that it takes.
    pub operands: Vec<Id>,
    /// The extents of the result.
    pub shape: Vec<Extent>,
    /// The element type of the result.
    pub elem: Elem,
    /// The operator that it comes from, by its place in [`Graph::origins`]; `None` for what no operator computes.
    pub origin: Option<usize>,
}

/// An operation of the common graph. Words are those of the operations on elements (`relu`, `add`, `lt`, `sum`, …).
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// An argument, by its place.
    Argument(usize),
    /// A tensor of the file, by its place.
    Weight(usize),
    /// A number, the same for every element. It takes the type of what it is used with.
    Number(f64),
    /// `first + step · i`.
    Iota {
        /// The first number.
        first: i64,
        /// The distance of two numbers.
        step: i64,
    },
    /// A function of each element.
    Map(String),
    /// Elements below 0 times a number.
    Leaky(f64),
    /// An operation on the elements of two tensors, the smaller one repeated.
    Zip(String),
    /// A comparison of the elements of two tensors.
    Compare(String),
    /// Elements of the second operand where the first one is true, else of the third.
    Choose,
    /// Conversion to the element type of the node.
    Cast,
    /// A fold of the last dimension.
    Fold(String),
    /// The softmax over the last dimension.
    Softmax,
    /// Rows less their mean, over their standard deviation.
    Normalise(f64),
    /// The product of matrices, or of batches of them.
    Product,
    /// Elements under other extents, in their order.
    Reshape,
    /// Dimensions in another order: that of the result's dimension `i` in the operand.
    Permute(Vec<usize>),
    /// Repetition along dimensions of extent 1, or new ones in front.
    Expand,
    /// Elements from one on, so many as the node's shape says, in one dimension.
    Slice {
        /// The dimension.
        axis: usize,
        /// The first element.
        first: u64,
    },
    /// Tensors one after the other in one dimension.
    Concat(usize),
    /// Rows (elements of the first dimension) of the first operand at the positions of the second.
    Gather,
    /// The first operand with the rows of the third combined into the rows that the second one names.
    Scatter(String),
    /// Rows of a table at positions, combined in bags that start at offsets; a fourth operand is weights.
    Bag {
        /// The way to combine.
        mode: String,
        /// True if the last offset is the end of the last bag.
        closed: bool,
    },
    /// The first operand, values of edges, in the order of the rows that the second one says.
    Ordered {
        /// The number of rows.
        rows: Extent,
    },
    /// Where bags of these lengths start, and the end of the last one.
    Sums,
    /// Where the edges of each row start in that order, and the number of edges.
    Starts,
    /// An operation that only idioms contain, by its word in the rules.
    Spelled(String),
    /// An operation that the graph spelled out, by its word in the rules.
    Idiom(String),
}

/// An imported program.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The arguments in order.
    pub arguments: Vec<Argument>,
    /// True if that is not the order in which the program takes them, which the file does not record.
    pub unordered: bool,
    /// True if the framework itself writes `i < 0 ? i + n : i` for positions `i`, wherever rows are looked up.
    pub from_the_end: bool,
    /// The tensors of the file.
    pub weights: Vec<Weight>,
    /// The values in an order in which operands come first.
    pub nodes: Vec<Node>,
    /// The operators of the program.
    pub origins: Vec<Origin>,
    /// The results in order, with their names.
    pub outputs: Vec<(String, Id)>,
    /// The extents of the results in the program.
    pub results: Vec<Vec<Extent>>,
    /// The operations that idioms over edges were before: those whose edges cannot be sorted.
    pub spelled: BTreeMap<Id, (Op, Vec<Id>)>,
    /// The sizes in extents, each with the value it had in the export.
    pub sizes: BTreeMap<String, u64>,
    /// The sizes that are one more than the greatest of these positions.
    pub counted: BTreeMap<String, Id>,
    /// The sizes that follow from others, or from computed values, by what they are; no input has them.
    pub made: BTreeMap<String, String>,
}

impl Graph {
    /// Returns a value.
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id.0]
    }

    /// Returns the extents of a value.
    pub fn shape(&self, id: Id) -> &[Extent] {
        &self.node(id).shape
    }
}

/// Formats a shape for messages.
pub(crate) fn shown(shape: &[Extent]) -> String {
    shape.iter().map(Extent::to_string).collect::<Vec<_>>().join(" ")
}

/// Returns the number of elements, if every extent is a number and the product is one.
pub(crate) fn count(shape: &[Extent]) -> Option<u64> {
    shape.iter().try_fold(1u64, |n, extent| n.checked_mul(extent.constant()?))
}

/// Returns true if the extent is 1 for all data.
pub(crate) fn is_one(extent: &Extent) -> bool {
    *extent == Extent::Const(1)
}
