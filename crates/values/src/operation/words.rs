//! The words that operands of operations may be: modes, functions, scores, comparisons and binary operations.

use crate::scalar::{BinaryOp, Scalar, UnaryOp};

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
pub static WORDS: [&Words; 5] = [&MODES, &FUNCTIONS, &SCORES, &BINARY, &COMPARISONS];

/// The binary operations on elements that an operand may name: those whose result is of the type of its operands.
pub const BINARY_OPERATIONS: [BinaryOp; closed()] = {
    let mut operations = [BinaryOp::ALL[0]; closed()];
    let (mut at, mut found) = (0, 0);
    while at < BinaryOp::ALL.len() {
        if !BinaryOp::ALL[at].compares() {
            operations[found] = BinaryOp::ALL[at];
            found += 1;
        }
        at += 1;
    }
    operations
};

/// Returns the number of binary operations that are no comparisons.
const fn closed() -> usize {
    let (mut at, mut found) = (0, 0);
    while at < BinaryOp::ALL.len() {
        found += !BinaryOp::ALL[at].compares() as usize;
        at += 1;
    }
    found
}

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

            #[doc = concat!("Returns the word of the ", $what, " as models write it.")]
            pub fn word(self) -> &'static str {
                $words.names[self as usize]
            }

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

words! {
    /// A comparison of two elements.
    Comparison, COMPARISONS, "comparison", "is.",
    /// The first is less.
    Less "lt",
    /// The first is less or equal.
    AtMost "le",
    /// The first is greater.
    Greater "gt",
    /// The first is greater or equal.
    AtLeast "ge",
    /// Both are equal; zeros of either sign are.
    Equal "eq",
    /// The two differ, or one is NaN.
    Different "ne",
}

impl Comparison {
    /// Returns true if two elements compare so. With NaN, only [`Comparison::Different`] does.
    pub fn holds<T: PartialOrd>(self, a: &T, b: &T) -> bool {
        match self {
            Comparison::Less => a < b,
            Comparison::AtMost => a <= b,
            Comparison::Greater => a > b,
            Comparison::AtLeast => a >= b,
            Comparison::Equal => a == b,
            Comparison::Different => a != b,
        }
    }

    /// Returns the comparison that holds for `b` and `a` if this one does for `a` and `b`.
    pub fn swapped(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::AtMost => Comparison::AtLeast,
            Comparison::Greater => Comparison::Less,
            Comparison::AtLeast => Comparison::AtMost,
            Comparison::Equal | Comparison::Different => self,
        }
    }

    /// Returns true if two scalars compare so; `None` if their types differ or are storage types.
    pub fn scalars(self, a: Scalar, b: Scalar) -> Option<bool> {
        match (a, b) {
            (Scalar::F32(a), Scalar::F32(b)) => Some(self.holds(&a, &b)),
            (Scalar::F64(a), Scalar::F64(b)) => Some(self.holds(&a, &b)),
            (Scalar::I32(a), Scalar::I32(b)) => Some(self.holds(&a, &b)),
            (Scalar::I64(a), Scalar::I64(b)) => Some(self.holds(&a, &b)),
            _ => None,
        }
    }
}

impl Function {
    /// Returns true if the function requires a floating-point type.
    pub fn is_float(self) -> bool {
        !matches!(self, Function::Identity | Function::Relu | Function::Neg | Function::Abs)
    }

    /// Returns the scalar operation of the same name, which the function is.
    pub fn primitive(self) -> Option<UnaryOp> {
        UnaryOp::parse(self.word())
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
