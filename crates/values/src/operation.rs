//! The table of operations on whole tensors, a row each: the name in models and terms, the operands with what
//! each is to the operation, and the kernel that computes it. Whoever reads, builds or evaluates such an
//! operation asks its row; operations are named here and in the dialects alone.

use crate::scalar::BinaryOp;
use std::borrow::Cow;
use std::ops::RangeInclusive;

/// An operation on whole tensors.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The name in models and terms.
    pub name: &'static str,
    /// The operands in the order of terms.
    pub operands: Cow<'static, [Operand]>,
    /// The operands that models write, in their order, by their positions in terms.
    pub written: Cow<'static, [usize]>,
    /// What computes it.
    pub kernel: Kernel,
    /// What one element of the result takes.
    pub element: Element,
}

/// An operand of an operation.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The name in the dialect, by which kernels ask for it.
    pub name: &'static str,
    /// The word in the usage of the operation.
    pub label: &'static str,
    /// The words in messages.
    pub phrase: &'static str,
    /// What it is to the operation.
    pub role: Role,
    /// Whether it may be missing; only the last one may.
    pub optional: bool,
}

/// What an operand is to its operation.
#[derive(Clone, Debug)]
pub enum Role {
    /// One of several words.
    Word(&'static Words),
    /// An element type.
    DType,
    /// A literal number.
    Number,
    /// A tensor of one of some ranks, which may be computed in place.
    Tensor(RangeInclusive<usize>, Reads),
    /// A tensor of one of some ranks that has a place in memory.
    Stored(RangeInclusive<usize>),
    /// An input of positions in the first dimension of another operand.
    Indices(RangeInclusive<usize>, &'static str),
    /// An input that parts the elements of another operand into bags.
    Offsets(&'static str),
    /// Memory that programs may use; models do not write it.
    Scratch,
}

/// How often an element of an operand is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Once.
    Once,
    /// Perhaps many times.
    Often,
    /// Many times: the operand is computed before.
    Many,
}

/// What one element of a result takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// No more than loads and simple arithmetic.
    Cheap,
    /// More than that.
    Dear,
    /// It cannot be had without all others.
    Whole,
}

/// What computes an operation. Operands are those that the variants name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Rows of a `table` at `indices`, each times one of the `weights` if there are some; those of a bag are
    /// combined by the `mode`, or added, if there are `offsets`.
    Rows,
    /// For each edge the product of its rows of `left` and `right`; with an `edge` function, the rows of `right`
    /// are added up with the function's values as weights.
    Edges,
    /// The `score` of rows of `entities` and `relations` at `heads`, `rels` and `tails`.
    Triples,
    /// Blocks of a `table` at `indices`, one after another.
    Blocks,
    /// The `codes` times their row's scale plus its bias, from `scales`.
    Dequantise,
    /// Conversion of `x` to the type of the result.
    Convert,
    /// A function of each element of `x`.
    Map(Function),
    /// An operation on the elements of `a` and `b`.
    Zip(BinaryOp),
    /// A number `by` times each element of `x`.
    Scale,
    /// A vector `bias` added to each row of `x`.
    Bias,
    /// The last dimension of `x` folded.
    Fold(BinaryOp),
    /// An operation on the elements of each row of `x` and the row's one of the `numbers`.
    ByRow(BinaryOp),
    /// The product of matrices `a` and `b`, of which the second may be transposed.
    Product {
        /// Whether the second is given transposed.
        transposed: bool,
    },
    /// The part of each matrix of `x` that stands under the diagonal, by rows.
    Triangle,
    /// What lowering rules say of an operation that only rule files know.
    Lowered,
}

impl Kernel {
    /// Whether an element of the result needs no more than the elements at its own place of what it is computed from,
    /// so that computing it again costs little.
    pub fn is_elementwise(self) -> bool {
        matches!(
            self,
            Kernel::Dequantise
                | Kernel::Convert
                | Kernel::Map(_)
                | Kernel::Zip(_)
                | Kernel::Scale
                | Kernel::Bias
                | Kernel::ByRow(_)
        )
    }
}

/// The words of an operand.
#[derive(Debug)]
pub struct Words {
    /// What messages call one of them.
    pub what: &'static str,
    /// What terms write before them.
    pub prefix: &'static str,
    /// The words as models write them.
    pub names: &'static [&'static str],
}

impl Words {
    /// The place of a word as terms write it.
    pub fn parse(&self, word: &str) -> Option<usize> {
        let word = word.strip_prefix(self.prefix)?;
        self.names.iter().position(|name| *name == word)
    }
}

/// The words of all operands that are one of several.
pub static WORDS: [&Words; 3] = [&MODES, &FUNCTIONS, &SCORES];

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
    /// How a bag combines its rows.
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
    /// Itself.
    Identity "identity",
    /// Nothing below 0.
    Relu "relu",
    /// The logistic function.
    Sigmoid "sigmoid",
    /// The exponential.
    Exp "exp",
}

words! {
    /// How triples of a knowledge graph are scored.
    Score, SCORES, "score", "score.",
    /// Translation: minus the 1-norm of head + relation - tail.
    TransE "transe",
    /// The sum of the products of the three.
    DistMult "distmult",
    /// The real part of the same with complex numbers and the tail's conjugate.
    ComplEx "complex",
    /// Rotation: minus the sum of the moduli of head times relation minus tail, all complex.
    RotatE "rotate",
}

impl Function {
    /// Whether it needs a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Function::Sigmoid | Function::Exp)
    }
}

impl Score {
    /// Whether it takes roots, which needs a floating-point type.
    pub fn has_roots(self) -> bool {
        self == Score::RotatE
    }

    /// Whether rows hold complex numbers: the real parts in the first half, the imaginary ones in the second.
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

/// A tensor of any rank that an operation on elements takes, each once.
const fn x(name: &'static str) -> Operand {
    operand(name, "TENSOR", "a tensor", Role::Tensor(1..=3, Reads::Once))
}

/// A tensor that has rows.
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

/// A table of which rows are looked up.
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

/// A row whose operands models write in the order of terms.
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

/// Every operation, the embedding bag first.
#[rustfmt::skip]
pub static OPERATIONS: [Operation; 24] = [
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
    row("nn.relu", &[x("x")], Kernel::Map(Function::Relu), Element::Cheap),
    row("nn.sigmoid", &[x("x")], Kernel::Map(Function::Sigmoid), Element::Dear),
    row("nn.exp", &[x("x")], Kernel::Map(Function::Exp), Element::Dear),
    row("nn.add", &[x("a"), x("b")], Kernel::Zip(BinaryOp::Add), Element::Cheap),
    row("nn.sub", &[x("a"), x("b")], Kernel::Zip(BinaryOp::Sub), Element::Cheap),
    row("nn.mul", &[x("a"), x("b")], Kernel::Zip(BinaryOp::Mul), Element::Cheap),
    row("nn.scale", &[operand("by", "NUMBER", "a number", Role::Number), x("x")],
        Kernel::Scale, Element::Cheap),
    row("nn.bias", &[rows("x"), stored("bias", "VECTOR", "a bias", 1..=1)], Kernel::Bias, Element::Cheap),
    row("nn.row_max", &[rows("x")], Kernel::Fold(BinaryOp::Max), Element::Dear),
    row("nn.row_sum", &[rows("x")], Kernel::Fold(BinaryOp::Add), Element::Dear),
    row("nn.sub_rows", &[rows("x"), numbers()], Kernel::ByRow(BinaryOp::Sub), Element::Cheap),
    row("nn.div_rows", &[rows("x"), numbers()], Kernel::ByRow(BinaryOp::Div), Element::Cheap),
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

/// One number for each row of another operand.
const fn numbers() -> Operand {
    operand("numbers", "NUMBERS", "numbers of rows", Role::Tensor(1..=2, Reads::Many))
}

/// The operation with a name.
pub fn named(name: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.name == name)
}

/// The operation with a kernel; of several, the first.
pub fn computed_by(kernel: Kernel) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.kernel == kernel)
}

impl Operation {
    /// The position of an operand in terms.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.operands.iter().position(|operand| operand.name == name)
    }

    /// The operands that models write, in their order.
    pub fn written(&self) -> impl Iterator<Item = &Operand> {
        self.written.iter().map(|at| &self.operands[*at])
    }

    /// What models write after the name.
    pub fn usage(&self) -> String {
        let word = |operand: &Operand| match &operand.role {
            Role::Word(words) => words.names.join("|"),
            _ if operand.optional => format!("[{}]", operand.label),
            _ => operand.label.to_owned(),
        };
        self.written().map(word).collect::<Vec<_>>().join(" ")
    }

    /// Whether terms may have so many operands.
    pub fn fits(&self, operands: usize) -> bool {
        let required = self.operands.iter().filter(|operand| !operand.optional).count();
        (required..=self.operands.len()).contains(&operands)
    }

    /// The shortest form in which models may write it.
    pub fn example(&self) -> String {
        let word = |operand: &Operand| match &operand.role {
            Role::Word(words) => words.names.first().copied().unwrap_or_default(),
            _ => operand.label,
        };
        let required = self.written().filter(|operand| !operand.optional);
        let words: Vec<&str> = std::iter::once(self.name).chain(required.map(word)).collect();
        format!("({})", words.join(" "))
    }

    /// Whether models may write so many operands.
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
        assert_eq!(usage("emb.mp"), "identity|relu|sigmoid|exp LEFT RIGHT INDICES OFFSETS");
    }
}
