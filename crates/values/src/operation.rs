//! The table of operations on whole tensors, one row each: the name in models and terms, the operands and their roles,
//! and the kernel that computes the result. Code that reads, builds or evaluates an operation looks up its row; only
//! this table and the dialects name operations.

use crate::scalar::{BinaryOp, UnaryOp};
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
    /// A tensor of a rank in this range, which may be computed in place.
    Tensor(RangeInclusive<usize>, Reads),
    /// A tensor of a rank in this range that has a location in memory.
    Stored(RangeInclusive<usize>),
    /// An input of positions in the first dimension of the named operand.
    Indices(RangeInclusive<usize>, &'static str),
    /// An input that divides the elements of the named operand into bags.
    Offsets(&'static str),
    /// Scratch memory of the program; models do not write it.
    Scratch,
}

/// The number of times an element of an operand is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Exactly once.
    Once,
    /// Possibly many times.
    Often,
    /// Many times; the operand is computed in advance.
    Many,
}

/// The cost class of one element of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// At most loads and simple arithmetic.
    Cheap,
    /// More than loads and simple arithmetic.
    Dear,
    /// One element cannot be computed without all the others.
    Whole,
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
    /// A number `by` times each element of `x`.
    Scale,
    /// A vector `bias` added to each row of `x`.
    Bias,
    /// A fold over the last dimension of `x`.
    Fold(BinaryOp),
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
    /// The meaning that lowering rules give an operation of a rule file.
    Lowered,
}

impl Kernel {
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
                | Kernel::Bias
                | Kernel::ByNumber
                | Kernel::ByColumn
                | Kernel::ByRow(_)
        )
    }
}

/// The words that an operand accepts.
#[derive(Debug)]
pub struct Words {
    /// The noun for one of the words in messages.
    pub what: &'static str,
    /// The prefix of the words in terms.
    pub prefix: &'static str,
    /// The words in the form that models use.
    pub names: &'static [&'static str],
}

impl Words {
    /// Returns the position of a word in the form that terms use; `None` if it is not one of the words.
    pub fn parse(&self, word: &str) -> Option<usize> {
        let word = word.strip_prefix(self.prefix)?;
        self.names.iter().position(|name| *name == word)
    }
}

/// The word lists of all operands that take one of several words.
pub static WORDS: [&Words; 4] = [&MODES, &FUNCTIONS, &SCORES, &BINARY];

/// The binary operations on elements that an operand may name.
pub const BINARY_OPERATIONS: [BinaryOp; 6] =
    [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Max, BinaryOp::Min];

/// The words for a binary operation on elements, in the order of [`BINARY_OPERATIONS`].
pub static BINARY: Words = Words { what: "operation", prefix: "", names: &BINARY_NAMES };

const BINARY_NAMES: [&str; BINARY_OPERATIONS.len()] = {
    let mut names = [""; BINARY_OPERATIONS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = BINARY_OPERATIONS[at].name();
        at += 1;
    }
    names
};

macro_rules! words {
    ($(#[$doc:meta])* $type:ident, $words:ident, $what:literal, $prefix:literal,
     $($(#[$each:meta])* $variant:ident $name:literal,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $type { $($(#[$each])* $variant,)* }

        #[doc = concat!("The words for a ", $what, ".")]
        pub static $words: Words =
            Words { what: $what, prefix: $prefix, names: &[$($name),*] };

        impl $type {
            #[doc = concat!("Every ", $what, ", in the order of its words.")]
            pub const ALL: &'static [$type] = &[$($type::$variant),*];

            #[doc = concat!("The ", $what, " of a word as terms write it.")]
            pub fn parse(word: &str) -> Option<$type> {
                $words.parse(word).map(|at| $type::ALL[at])
            }
        }
    };
}

words! {
    /// The combination of the rows of a bag.
    Mode, MODES, "mode", "mode.",
    /// Added in order, from +0.0.
    Sum "sum",
    /// The sum divided by the number of rows; 0 if there are none.
    Mean "mean",
    /// IEEE 754-2019 maximum; 0 if there are no rows.
    Max "max",
}

words! {
    /// A function of one element, or of the product of an edge.
    Function, FUNCTIONS, "edge function", "edge.",
    /// The element itself.
    Identity "identity",
    /// The maximum of the element and 0.
    Relu "relu",
    /// The logistic function.
    Sigmoid "sigmoid",
    /// The exponential.
    Exp "exp",
    /// 0 less the element.
    Neg "neg",
    /// The maximum of the element and 0 less the element.
    Abs "abs",
    /// The square root.
    Sqrt "sqrt",
    /// The natural logarithm.
    Log "log",
    /// The sine.
    Sin "sin",
    /// The cosine.
    Cos "cos",
    /// The hyperbolic tangent.
    Tanh "tanh",
    /// The error function.
    Erf "erf",
    /// The element times its logistic function, as one quotient.
    Silu "silu",
    /// Half the element times 1 plus the error function of the element over the root of 2.
    Gelu "gelu",
    /// [`Function::Gelu`] with the error function approximated by a hyperbolic tangent.
    GeluTanh "gelu_tanh",
}

words! {
    /// The score of a triple of a knowledge graph.
    Score, SCORES, "score", "score.",
    /// Translation: minus the 1-norm of head + relation - tail.
    TransE "transe",
    /// The sum of the elementwise products of head, relation and tail.
    DistMult "distmult",
    /// The real part of the [`Score::DistMult`] sum over complex numbers, with the tail conjugated.
    ComplEx "complex",
    /// Rotation: minus the sum of the moduli of head times relation minus tail, all complex.
    RotatE "rotate",
}

impl Function {
    /// Returns true if the function requires a floating-point type.
    pub fn is_float(self) -> bool {
        !matches!(self, Function::Identity | Function::Relu | Function::Neg | Function::Abs)
    }

    /// Returns the scalar operation of the same name, which the function is.
    pub fn primitive(self) -> Option<UnaryOp> {
        UnaryOp::parse(FUNCTIONS.names[self as usize])
    }
}

impl Score {
    /// Returns true if it takes roots, which requires a floating-point type.
    pub fn has_roots(self) -> bool {
        self == Score::RotatE
    }

    /// Returns true if rows hold complex numbers: the real parts in the first half, the imaginary parts in the second.
    pub fn is_complex(self) -> bool {
        matches!(self, Score::ComplEx | Score::RotatE)
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
    operand(name, label, phrase, Role::Tensor(2..=2, Reads::Often))
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
pub static OPERATIONS: [Operation; 29] = [
    row("emb.bag", &[word("mode", &MODES), TABLE, INDICES, OFFSETS, WEIGHTS], Kernel::Rows, Element::Dear),
    row("emb.gather", &[TABLE, INDICES], Kernel::Rows, Element::Dear),
    written_as(&[3, 1, 0, 2], "emb.spmm",
        &[OFFSETS, INDICES, stored("weights", "VALUES", "values", 1..=1), TABLE],
        Kernel::Rows, Element::Dear),
    written_as(&[2, 3, 1, 0], "emb.sddmm",
        &[OFFSETS, NEIGHBOURS, LEFT, RIGHT], Kernel::Edges, Element::Whole),
    written_as(&[0, 3, 4, 2, 1], "emb.mp",
        &[word("edge", &FUNCTIONS), OFFSETS, NEIGHBOURS, LEFT, RIGHT, operand("scratch", "", "", Role::Scratch)],
        Kernel::Edges, Element::Whole),
    row("emb.kg",
        &[word("score", &SCORES), table("entities", "ENTITIES", "entities"),
          table("relations", "RELATIONS", "relations"), indices("heads", "HEADS", "entities"),
          indices("rels", "RELS", "relations"), indices("tails", "TAILS", "entities")],
        Kernel::Triples, Element::Whole),
    row("emb.block_gather",
        &[operand("table", "TABLE", "a table of blocks", Role::Tensor(3..=3, Reads::Often)),
          operand("indices", "INDICES", "indices", Role::Indices(1..=2, "table"))],
        Kernel::Blocks, Element::Whole),
    row("emb.dequantise",
        &[stored("codes", "CODES", "codes", 2..=2), stored("scales", "SCALES", "scales", 2..=2)],
        Kernel::Dequantise, Element::Cheap),
    row("nn.cast", &[operand("dtype", "DTYPE", "an element type", Role::DType), x("x")],
        Kernel::Convert, Element::Cheap),
    row("nn.relu", &[x("x")], Kernel::Map(Some(Function::Relu)), Element::Cheap),
    row("nn.sigmoid", &[x("x")], Kernel::Map(Some(Function::Sigmoid)), Element::Dear),
    row("nn.exp", &[x("x")], Kernel::Map(Some(Function::Exp)), Element::Dear),
    row("nn.map", &[word("function", &FUNCTIONS), x("x")], Kernel::Map(None), Element::Dear),
    row("nn.zip", &[word("op", &BINARY), x("a"), x("b")], Kernel::Zip(None), Element::Cheap),
    row("nn.zip_number", &[word("op", &BINARY), x("x"), operand("by", "NUMBER", "a number", Role::Number)],
        Kernel::ByNumber, Element::Cheap),
    row("nn.zip_columns",
        &[word("op", &BINARY), rows("x"), stored("numbers", "VECTOR", "numbers of columns", 1..=1)],
        Kernel::ByColumn, Element::Cheap),
    row("nn.zip_rows", &[word("op", &BINARY), rows("x"), numbers()], Kernel::ByRow(None), Element::Cheap),
    row("nn.add", &[x("a"), x("b")], Kernel::Zip(Some(BinaryOp::Add)), Element::Cheap),
    row("nn.sub", &[x("a"), x("b")], Kernel::Zip(Some(BinaryOp::Sub)), Element::Cheap),
    row("nn.mul", &[x("a"), x("b")], Kernel::Zip(Some(BinaryOp::Mul)), Element::Cheap),
    row("nn.scale", &[operand("by", "NUMBER", "a number", Role::Number), x("x")],
        Kernel::Scale, Element::Cheap),
    row("nn.bias", &[rows("x"), stored("bias", "VECTOR", "a bias", 1..=1)], Kernel::Bias, Element::Cheap),
    row("nn.row_max", &[rows("x")], Kernel::Fold(BinaryOp::Max), Element::Dear),
    row("nn.row_sum", &[rows("x")], Kernel::Fold(BinaryOp::Add), Element::Dear),
    row("nn.sub_rows", &[rows("x"), numbers()], Kernel::ByRow(Some(BinaryOp::Sub)), Element::Cheap),
    row("nn.div_rows", &[rows("x"), numbers()], Kernel::ByRow(Some(BinaryOp::Div)), Element::Cheap),
    row("nn.matmul", &[matrix("a", "the first matrix"), matrix("b", "the second matrix")],
        Kernel::Product { transposed: false }, Element::Whole),
    row("nn.matmul_t", &[matrix("a", "the first matrix"), matrix("b", "the second matrix")],
        Kernel::Product { transposed: true }, Element::Whole),
    row("nn.triangle",
        &[operand("x", "TENSOR", "a batch of matrices", Role::Tensor(3..=3, Reads::Once))],
        Kernel::Triangle, Element::Whole),
];

const fn matrix(name: &'static str, phrase: &'static str) -> Operand {
    stored(name, "TENSOR", phrase, 2..=3)
}

/// Returns an operand that holds one number for each row of another operand.
const fn numbers() -> Operand {
    operand("numbers", "NUMBERS", "numbers of rows", Role::Tensor(1..=2, Reads::Many))
}

/// Finds the operation with this name.
pub fn named(name: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.name == name)
}

/// Finds the first operation with this kernel.
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
mod tests {
    use super::*;

    #[test]
    fn roles_speak_of_operands_that_the_row_has() {
        for row in &OPERATIONS {
            assert_eq!(OPERATIONS.iter().filter(|other| other.name == row.name).count(), 1);
            for (at, operand) in row.operands.iter().enumerate() {
                let is_written = row.written.contains(&at);
                assert_eq!(is_written, !matches!(operand.role, Role::Scratch), "{}", row.name);
                if let Role::Indices(_, of) | Role::Offsets(of) = operand.role {
                    assert!(row.place(of).is_some(), "`{}` has no operand `{of}`", row.name);
                }
            }
        }
    }

    #[test]
    fn usage_is_in_the_order_of_models() {
        let usage = |name| named(name).map(Operation::usage).unwrap_or_default();
        assert_eq!(usage("emb.bag"), "sum|mean|max TABLE INDICES OFFSETS [WEIGHTS]");
        assert_eq!(usage("emb.spmm"), "TABLE INDICES OFFSETS VALUES");
        assert_eq!(
            usage("emb.mp"),
            format!("{} LEFT RIGHT INDICES OFFSETS", FUNCTIONS.names.join("|"))
        );
    }
}
