//! The table of operations on whole tensors, one row each: the name in models and terms, the operands and their roles,
//! and the kernel that computes the result. Code that reads, builds or evaluates an operation looks up its row; only
//! this table and the dialects name operations.

mod words;

pub use words::{
    BINARY, BINARY_OPERATIONS, COMPARISONS, Comparison, FUNCTIONS, Function, MODES, Mode, SCORES,
    Score, WORDS, Words,
};

use crate::scalar::BinaryOp;
use std::borrow::Cow;
use std::ops::RangeInclusive;

/// An operation on whole tensors.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The name in models and terms.
    pub name: &'static str,
    /// The operands in the order that terms use.
    pub operands: Cow<'static, [Operand]>,
    /// The positions in terms of the operands that models write, in the order that models use.
    pub written: Cow<'static, [usize]>,
    /// The kernel that computes it.
    pub kernel: Kernel,
    /// The cost class of one element of the result.
    pub element: Element,
}

/// An operand of an operation.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The name in the dialect, which kernels use to find the operand.
    pub name: &'static str,
    /// The word in the usage text of the operation.
    pub label: &'static str,
    /// The phrase for the operand in messages.
    pub phrase: &'static str,
    /// The role of the operand in the operation.
    pub role: Role,
    /// True if the operand is optional; only the last one may be.
    pub optional: bool,
}

/// The role of an operand in its operation.
#[derive(Clone, Debug)]
pub enum Role {
    /// One of several fixed words.
    Word(&'static Words),
    /// An element type.
    DType,
    /// A literal number.
    Number,
    /// A literal natural number: a dimension, a position or a count.
    Count,
    /// A tensor of a rank in this range, which may be computed in place.
    Tensor(RangeInclusive<usize>, Reads),
    /// A tensor of a rank in this range that has a location in memory.
    Stored(RangeInclusive<usize>),
    /// An input of positions in the first dimension of the named operand.
    Indices(RangeInclusive<usize>, &'static str),
    /// An input that divides the elements of the named operand into bags.
    Offsets(&'static str),
    /// Scratch memory of the program; models do not write it.
    Scratch(Holds),
}

/// What a program may hold in scratch memory of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// The elements of an operand, or one element for each lookup.
    Elements,
    /// The positions of the lookups, sorted by the rows of the result that they name.
    Order,
    /// Where the lookups of each row begin in that order, and where those of the last end.
    Starts,
}

/// The number of times an element of an operand is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Exactly once.
    Once,
    /// Possibly many times.
    Often,
    /// Once for each position that names its row: possibly many times, or never.
    Rows,
    /// Many times; the operand is computed in advance.
    Many,
    /// Possibly many times, from scratch memory of the operation if rules compute it there.
    Scratch,
    /// Rows, possibly many times: a model has the form in which they are stored in advance, and the form in which each is
    /// computed for every use of it.
    Kept,
}

/// The cost class of one element of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// At most loads and simple arithmetic.
    Cheap,
    /// A function of the elements in the same place, which takes more than simple arithmetic.
    Function,
    /// More than loads and simple arithmetic on the elements in the same place.
    Dear,
    /// One element cannot be computed without all the others.
    Whole,
}

/// The combination of several elements into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combined {
    /// Added in order, from +0.0.
    Sum,
    /// The greatest of them.
    Maximum,
}

/// The kernel that computes an operation. The variants name the operands they use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Rows of a `table` at `indices`, each multiplied by one of the `weights` if there are any. If there are
    /// `offsets`, the rows of a bag are combined by the `mode`, or added if there is no `mode`.
    Rows,
    /// For each edge, the product of its rows of `left` and `right`. With an `edge` function, the rows of `right` are
    /// summed with the function's values as weights.
    Edges,
    /// The `score` of rows of `entities` and `relations` at `heads`, `rels` and `tails`.
    Triples,
    /// Blocks of a `table` at `indices`, one after another.
    Blocks,
    /// The `codes` times the scale of their row plus its bias, both from `scales`.
    Dequantise,
    /// Conversion of `x` to the element type of the result.
    Convert,
    /// A function of each element of `x`: a fixed one, or the one that `function` names.
    Map(Option<Function>),
    /// A binary operation on the elements of `a` and `b`: a fixed one, or the one that `op` names.
    Zip(Option<BinaryOp>),
    /// The operation `op` on each element of `x` and a number `by`.
    ByNumber,
    /// The operation `op` on each element of `x` and the number of its column in `numbers`.
    ByColumn,
    /// Each element of `x`, times a number `slope` if it is below 0.
    Leaky,
    /// The element of `x` if those of `a` and `b`, or of `a` and a number `by`, compare as `comparison` says; else the
    /// element of `y`.
    Where,
    /// A number `by` times each element of `x`.
    Scale,
    /// A vector `bias` added to each row of `x`.
    Bias,
    /// A fold over the last dimension of `x`.
    Fold(Combined),
    /// The sum over the last dimension of `x`, divided by its extent; 0 if there are no elements.
    Mean,
    /// A binary operation on the elements of each row of `x` and the number of that row in `numbers`: a fixed one, or the
    /// one that `op` names.
    ByRow(Option<BinaryOp>),
    /// The product of matrices `a` and `b`.
    Product {
        /// True if `b` is given transposed.
        transposed: bool,
    },
    /// The part of each matrix of `x` below the diagonal, in row order.
    Triangle,
    /// The dimension `axis` of `x` and the next one exchanged.
    Swap,
    /// The elements of `x` from `first` on, `count` of them, in the dimension `axis`.
    Slice,
    /// The dimension `axis` of `x` as two dimensions, the second of extent `columns`.
    Split,
    /// The dimension `axis` of `x` and the next one as one.
    Merge,
    /// A fold of the `values` between neighbouring `offsets`.
    Segments(Combined),
    /// The `function` of the operation `op` on each of the `values` and the number of its segment in `numbers`.
    Spread,
    /// The `table` with each of the `rows` combined into the row that `indices` names, in order.
    Scatter(Combined),
    /// The `table` plus each row of `right`, times each of the `weights` of its column, which `offsets` divide by columns.
    /// Products are added to the rows that `indices` name, in order.
    Columns,
    /// The meaning that lowering rules give an operation of a rule file.
    Lowered,
}

impl Kernel {
    /// Returns true if the elements of the result are elements of an operand at other places.
    pub fn moves(self) -> bool {
        matches!(
            self,
            Kernel::Blocks
                | Kernel::Triangle
                | Kernel::Swap
                | Kernel::Slice
                | Kernel::Split
                | Kernel::Merge
        )
    }

    /// Returns true if an element of the result depends only on the elements at its own place in the operands, so that
    /// it is cheap to compute again.
    pub fn is_elementwise(self) -> bool {
        matches!(
            self,
            Kernel::Dequantise
                | Kernel::Convert
                | Kernel::Map(_)
                | Kernel::Zip(_)
                | Kernel::Scale
                | Kernel::Leaky
                | Kernel::Where
                | Kernel::Bias
                | Kernel::ByNumber
                | Kernel::ByColumn
                | Kernel::ByRow(_)
        )
    }

    /// Returns true if each row of the result, along the last dimension, depends only on the same rows of the operands.
    pub fn is_rowwise(self) -> bool {
        self.is_elementwise() || matches!(self, Kernel::Fold(_) | Kernel::Mean)
    }
}

const fn operand(
    name: &'static str,
    label: &'static str,
    phrase: &'static str,
    role: Role,
) -> Operand {
    Operand { name, label, phrase, role, optional: false }
}

const fn word(name: &'static str, words: &'static Words) -> Operand {
    operand(name, "", "", Role::Word(words))
}

/// Returns an operand of an elementwise operation: a tensor of any rank, read once.
const fn x(name: &'static str) -> Operand {
    operand(name, "TENSOR", "a tensor", Role::Tensor(1..=3, Reads::Once))
}

const fn number(name: &'static str) -> Operand {
    operand(name, "NUMBER", "a number", Role::Number)
}

const fn count(name: &'static str, label: &'static str) -> Operand {
    operand(name, label, "a natural number", Role::Count)
}

/// Returns an operand that is a tensor with rows.
const fn rows(name: &'static str) -> Operand {
    operand(name, "TENSOR", "a tensor", Role::Tensor(2..=3, Reads::Once))
}

const fn stored(
    name: &'static str,
    label: &'static str,
    phrase: &'static str,
    ranks: RangeInclusive<usize>,
) -> Operand {
    operand(name, label, phrase, Role::Stored(ranks))
}

/// Returns an operand that is a table whose rows are looked up.
const fn table(name: &'static str, label: &'static str, phrase: &'static str) -> Operand {
    operand(name, label, phrase, Role::Tensor(2..=2, Reads::Rows))
}

const fn indices(name: &'static str, label: &'static str, of: &'static str) -> Operand {
    operand(name, label, "indices", Role::Indices(1..=1, of))
}

const TABLE: Operand = table("table", "TABLE", "a table");
const LEFT: Operand = table("left", "LEFT", "the left side");
const RIGHT: Operand = table("right", "RIGHT", "the right side");
const INDICES: Operand = indices("indices", "INDICES", "table");
const NEIGHBOURS: Operand = indices("indices", "INDICES", "right");
const OFFSETS: Operand = operand("offsets", "OFFSETS", "offsets", Role::Offsets("indices"));
const AXIS: Operand = count("axis", "AXIS");
const VALUES: Operand = stored("values", "VALUES", "values", 1..=1);
const SEGMENTS: Operand = operand("offsets", "OFFSETS", "offsets", Role::Offsets("values"));
const WEIGHTS: Operand =
    Operand { optional: true, ..stored("weights", "WEIGHTS", "weights", 1..=1) };

/// Returns a row whose operands models write in the order of terms.
const fn row(
    name: &'static str,
    operands: &'static [Operand],
    kernel: Kernel,
    element: Element,
) -> Operation {
    const IN_ORDER: &[usize] = &[0, 1, 2, 3, 4, 5];
    written_as(IN_ORDER.split_at(operands.len()).0, name, operands, kernel, element)
}

/// A row whose operands models write in an order of their own.
const fn written_as(
    written: &'static [usize],
    name: &'static str,
    operands: &'static [Operand],
    kernel: Kernel,
    element: Element,
) -> Operation {
    let (operands, written) = (Cow::Borrowed(operands), Cow::Borrowed(written));
    Operation { name, operands, written, kernel, element }
}

/// All operations, the embedding bag first.
#[rustfmt::skip]
pub static OPERATIONS: [Operation; 48] = [
    row("emb.bag", &[word("mode", &MODES), TABLE, INDICES, OFFSETS, WEIGHTS], Kernel::Rows, Element::Dear),
    row("emb.gather", &[TABLE, INDICES], Kernel::Rows, Element::Dear),
    written_as(&[3, 1, 0, 2], "emb.spmm",
        &[OFFSETS, INDICES, stored("weights", "VALUES", "values", 1..=1), TABLE],
        Kernel::Rows, Element::Dear),
    written_as(&[0, 1, 2, 3], "emb.bag_computed",
        &[word("mode", &MODES), KEPT, INDICES, OFFSETS, SCRATCH], Kernel::Rows, Element::Dear),
    written_as(&[3, 1, 0, 2], "emb.spmm_computed",
        &[OFFSETS, INDICES, stored("weights", "VALUES", "values", 1..=1), KEPT, SCRATCH],
        Kernel::Rows, Element::Dear),
    written_as(&[2, 3, 1, 0], "emb.sddmm",
        &[OFFSETS, NEIGHBOURS, LEFT, RIGHT], Kernel::Edges, Element::Whole),
    written_as(&[0, 3, 4, 2, 1], "emb.mp",
        &[word("edge", &FUNCTIONS), OFFSETS, NEIGHBOURS, LEFT, RIGHT, SCRATCH],
        Kernel::Edges, Element::Whole),
    row("emb.kg",
        &[word("score", &SCORES), table("entities", "ENTITIES", "entities"),
          table("relations", "RELATIONS", "relations"), indices("heads", "HEADS", "entities"),
          indices("rels", "RELS", "relations"), indices("tails", "TAILS", "entities")],
        Kernel::Triples, Element::Whole),
    row("emb.block_gather",
        &[operand("table", "TABLE", "a table of blocks", Role::Tensor(3..=3, Reads::Rows)),
          operand("indices", "INDICES", "indices", Role::Indices(1..=2, "table"))],
        Kernel::Blocks, Element::Whole),
    row("emb.dequantise",
        &[stored("codes", "CODES", "codes", 2..=2), stored("scales", "SCALES", "scales", 2..=2)],
        Kernel::Dequantise, Element::Cheap),
    row("nn.cast", &[operand("dtype", "DTYPE", "an element type", Role::DType), x("x")],
        Kernel::Convert, Element::Cheap),
    row("nn.relu", &[x("x")], Kernel::Map(Some(Function::Relu)), Element::Cheap),
    row("nn.sigmoid", &[x("x")], Kernel::Map(Some(Function::Sigmoid)), Element::Function),
    row("nn.exp", &[x("x")], Kernel::Map(Some(Function::Exp)), Element::Function),
    row("nn.map", &[word("function", &FUNCTIONS), x("x")], Kernel::Map(None), Element::Function),
    row("nn.zip", &[word("op", &BINARY), x("a"), x("b")], Kernel::Zip(None), Element::Cheap),
    row("nn.zip_number", &[word("op", &BINARY), x("x"), number("by")], Kernel::ByNumber, Element::Cheap),
    row("nn.zip_columns",
        &[word("op", &BINARY), rows("x"), stored("numbers", "VECTOR", "numbers of columns", 1..=1)],
        Kernel::ByColumn, Element::Cheap),
    row("nn.zip_rows", &[word("op", &BINARY), rows("x"), numbers()], Kernel::ByRow(None), Element::Cheap),
    row("nn.add", &[x("a"), x("b")], Kernel::Zip(Some(BinaryOp::Add)), Element::Cheap),
    row("nn.sub", &[x("a"), x("b")], Kernel::Zip(Some(BinaryOp::Sub)), Element::Cheap),
    row("nn.mul", &[x("a"), x("b")], Kernel::Zip(Some(BinaryOp::Mul)), Element::Cheap),
    row("nn.scale", &[number("by"), x("x")], Kernel::Scale, Element::Cheap),
    row("nn.leaky_relu", &[number("slope"), x("x")], Kernel::Leaky, Element::Cheap),
    row("nn.where", &[word("comparison", &COMPARISONS), x("a"), x("b"), x("x"), x("y")],
        Kernel::Where, Element::Cheap),
    row("nn.where_number", &[word("comparison", &COMPARISONS), x("a"), number("by"), x("x"), x("y")],
        Kernel::Where, Element::Cheap),
    row("nn.bias", &[rows("x"), stored("bias", "VECTOR", "a bias", 1..=1)], Kernel::Bias, Element::Cheap),
    row("nn.row_max", &[rows("x")], Kernel::Fold(Combined::Maximum), Element::Dear),
    row("nn.row_sum", &[rows("x")], Kernel::Fold(Combined::Sum), Element::Dear),
    row("nn.row_mean", &[rows("x")], Kernel::Mean, Element::Dear),
    row("nn.sub_rows", &[rows("x"), numbers()], Kernel::ByRow(Some(BinaryOp::Sub)), Element::Cheap),
    row("nn.div_rows", &[rows("x"), numbers()], Kernel::ByRow(Some(BinaryOp::Div)), Element::Cheap),
    row("nn.matmul", &[matrix("a", "the first matrix"), matrix("b", "the second matrix")],
        Kernel::Product { transposed: false }, Element::Whole),
    row("nn.matmul_t", &[matrix("a", "the first matrix"), matrix("b", "the second matrix")],
        Kernel::Product { transposed: true }, Element::Whole),
    written_as(&[0, 1], "nn.matmul_computed",
        &[matrix("a", "the first matrix"), COMPUTED, SCRATCH],
        Kernel::Product { transposed: false }, Element::Whole),
    written_as(&[0, 1], "nn.matmul_t_computed",
        &[matrix("a", "the first matrix"), COMPUTED, SCRATCH],
        Kernel::Product { transposed: true }, Element::Whole),
    written_as(&[0, 1], "nn.computed_matmul",
        &[Operand { name: "a", label: "TENSOR", phrase: "the first matrix", ..KEPT },
          stored("b", "TENSOR", "the second matrix", 2..=2), SCRATCH],
        Kernel::Product { transposed: false }, Element::Dear),
    row("nn.triangle",
        &[operand("x", "TENSOR", "a batch of matrices", Role::Tensor(3..=3, Reads::Once))],
        Kernel::Triangle, Element::Whole),
    row("nn.swap", &[AXIS, rows("x")], Kernel::Swap, Element::Dear),
    row("nn.slice", &[AXIS, count("first", "FIRST"), count("count", "COUNT"), x("x")],
        Kernel::Slice, Element::Dear),
    row("nn.split",
        &[AXIS, count("columns", "COLUMNS"), operand("x", "TENSOR", "a tensor", Role::Tensor(1..=2, Reads::Once))],
        Kernel::Split, Element::Dear),
    row("nn.merge", &[AXIS, rows("x")], Kernel::Merge, Element::Whole),
    row("emb.segment_max", &[VALUES, SEGMENTS], Kernel::Segments(Combined::Maximum), Element::Dear),
    row("emb.segment_sum", &[VALUES, SEGMENTS], Kernel::Segments(Combined::Sum), Element::Dear),
    row("emb.segment_map",
        &[word("function", &FUNCTIONS), word("op", &BINARY), VALUES,
          stored("numbers", "NUMBERS", "numbers of segments", 1..=1), SEGMENTS],
        Kernel::Spread, Element::Whole),
    written_as(&[0, 1, 2], "emb.scatter_add",
        &[operand("table", "TABLE", "a table", Role::Tensor(2..=2, Reads::Once)), INDICES,
          operand("rows", "ROWS", "rows to add", Role::Tensor(2..=2, Reads::Once)), ORDER, STARTS],
        Kernel::Scatter(Combined::Sum), Element::Whole),
    written_as(&[0, 1, 2], "emb.scatter_max",
        &[operand("table", "TABLE", "a table", Role::Tensor(2..=2, Reads::Once)), INDICES,
          operand("rows", "ROWS", "rows to combine", Role::Tensor(2..=2, Reads::Once)), ORDER, STARTS],
        Kernel::Scatter(Combined::Maximum), Element::Whole),
    written_as(&[0, 4, 2, 1, 3], "emb.spmm_csc",
        &[operand("table", "TABLE", "a table", Role::Tensor(2..=2, Reads::Once)), OFFSETS, INDICES,
          stored("weights", "VALUES", "values", 1..=1),
          operand("right", "RIGHT", "the right side", Role::Tensor(2..=2, Reads::Often))],
        Kernel::Columns, Element::Whole),
];

const fn matrix(name: &'static str, phrase: &'static str) -> Operand {
    stored(name, "TENSOR", phrase, 2..=3)
}

const SCRATCH: Operand = operand("scratch", "", "", Role::Scratch(Holds::Elements));
const ORDER: Operand =
    Operand { optional: true, ..operand("order", "", "", Role::Scratch(Holds::Order)) };
const STARTS: Operand =
    Operand { optional: true, ..operand("starts", "", "", Role::Scratch(Holds::Starts)) };
const KEPT: Operand = operand("table", "TABLE", "a table", Role::Tensor(2..=2, Reads::Kept));
const COMPUTED: Operand =
    operand("b", "TENSOR", "the second matrix", Role::Tensor(2..=3, Reads::Scratch));

/// Returns an operand that holds one number for each row of another operand.
const fn numbers() -> Operand {
    operand("numbers", "NUMBERS", "numbers of rows", Role::Tensor(1..=2, Reads::Many))
}

/// Finds the operation with this name.
pub fn named(name: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.name == name)
}

/// Finds the first operation with this kernel, whose operands are those that it names.
pub fn computed_by(kernel: Kernel) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.kernel == kernel)
}

impl Operation {
    /// Finds the position of an operand in terms by its name.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.operands.iter().position(|operand| operand.name == name)
    }

    /// Iterates over the operands that models write, in the order that models use.
    pub fn written(&self) -> impl Iterator<Item = &Operand> {
        self.written.iter().map(|at| &self.operands[*at])
    }

    /// Returns the usage text of the operands, as models write them after the name.
    pub fn usage(&self) -> String {
        let word = |operand: &Operand| match &operand.role {
            Role::Word(words) => words.names.join("|"),
            _ if operand.optional => format!("[{}]", operand.label),
            _ => operand.label.to_owned(),
        };
        self.written().map(word).collect::<Vec<_>>().join(" ")
    }

    /// Returns true if terms may have this number of operands.
    pub fn fits(&self, operands: usize) -> bool {
        let required = self.operands.iter().filter(|operand| !operand.optional).count();
        (required..=self.operands.len()).contains(&operands)
    }

    /// Returns the shortest form in which models may write the operation.
    pub fn example(&self) -> String {
        let word = |operand: &Operand| match &operand.role {
            Role::Word(words) => words.names.first().copied().unwrap_or_default(),
            _ => operand.label,
        };
        let required = self.written().filter(|operand| !operand.optional);
        let words: Vec<&str> = std::iter::once(self.name).chain(required.map(word)).collect();
        format!("({})", words.join(" "))
    }

    /// Returns true if models may write this number of operands.
    pub fn takes(&self, operands: usize) -> bool {
        let required = self.written().filter(|operand| !operand.optional).count();
        (required..=self.written.len()).contains(&operands)
    }
}

#[cfg(test)]
mod tests;
