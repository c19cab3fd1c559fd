//! The table of primitives. A primitive is one thing that an operator can do to values or memory.
//!
//! Dialects declare which primitive an operator means (`:means`), or which operator it erases to. Every stage looks up
//! the primitive or a property in its row; no stage looks up an operator by name. [`crate::scalar`] defines what
//! primitives compute on scalars, and the interpreter defines what they do to memory.

use crate::scalar::{BinaryOp, UnaryOp, UnaryPrice};

/// A primitive meaning of operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// The meaning of its operand, unchanged. Boundaries, callbacks and stored values use it.
    Same,
    /// A name that only the operator around it reads.
    Label,
    /// A literal scalar of a type.
    Constant,
    /// A symbolic size of the model.
    Size,
    /// The value of a loop variable.
    Iv,
    /// A loop variable.
    Variable,
    /// An extent of the tensor of an address.
    Dim,
    /// A tensor; `true` if the program writes it.
    Root(bool),
    /// A tensor that is read-only after a barrier.
    Freeze,
    /// An address with one more index.
    Index,
    /// The value at an address.
    Load,
    /// The value at an address that the access unit reads ahead.
    Fetched,
    /// A unary operation on a scalar, lane by lane.
    Unary(UnaryOp),
    /// A binary operation on scalars, lane by lane.
    Binary(BinaryOp),
    /// A binary operation that an operand names.
    Apply,
    /// A function of one scalar that an operand names.
    Map,
    /// The second or the third operand, depending on the first.
    Select,
    /// A conversion to a type that an operand names.
    Cast,
    /// A conversion to i64.
    IndexCast,
    /// A conversion to the element type of an operand.
    Convert,
    /// The start value of a reduction.
    Identity,
    /// The number 1.
    One,
    /// A scalar in every lane.
    Broadcast,
    /// Lanes that count up from a number.
    Lanes,
    /// Lanes folded into a scalar.
    Fold,
    /// A loop that folds values into a start value.
    Reduce,
    /// An empty statement.
    Skip,
    /// A barrier between writing a tensor and reading it frozen.
    Barrier,
    /// One statement after another.
    Seq,
    /// A loop.
    For,
    /// A write of a value to memory.
    Store,
    /// A fold of a value into memory.
    Accumulate,
    /// A matrix product; `true` if the second matrix is transposed.
    Matmul(bool),
    /// A value computed lane by lane.
    Vec,
    /// A term with one loop variable replaced by another.
    Rename,
    /// A term with a loop variable replaced by a value.
    Fix,
    /// A term evaluated in the store that a statement leaves.
    After,
    /// A statement after which a tensor holds zeros.
    Forget,
    /// A write of a whole tensor.
    Output,
    /// A write of one slot of every block of a tensor.
    OutputSlot,
    /// A write of some columns of a tensor.
    OutputColumns,
    /// An element of a computed tensor.
    Element,
    /// An extent of a computed tensor.
    Extent,
    /// A stored tensor.
    Stored,
}

impl Primitive {
    /// Returns the operation of a unary operation on scalars.
    pub const fn unary(self) -> Option<UnaryOp> {
        match self {
            Primitive::Unary(op) => Some(op),
            _ => None,
        }
    }

    /// Returns the operation of a binary operation on scalars.
    pub const fn binary(self) -> Option<BinaryOp> {
        match self {
            Primitive::Binary(op) => Some(op),
            _ => None,
        }
    }

    /// Returns true if the primitive evaluates a term in another environment or store. Rules reason with these
    /// primitives, but no program contains them.
    pub const fn is_elsewhere(self) -> bool {
        matches!(self, Primitive::Vec | Primitive::Rename | Primitive::Fix | Primitive::After)
    }
}

/// The element type of a term, derived from its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typing<Operand> {
    /// 64-bit integers.
    I64,
    /// The element type of an operand: a value, an address or a tensor.
    Of(Operand),
    /// The element type that an operand names.
    Named(Operand),
}

/// The vector width of a term, derived from its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width<Operand> {
    /// One: a scalar.
    One,
    /// The lanes of an operand; for an address, one lane per element that it refers to.
    Of(Operand),
    /// The literal number in an operand.
    Count(Operand),
}

/// A requirement on an operand beyond its sort. A part without a requirement follows the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// The required element type.
    pub typing: OfType,
    /// The required lanes.
    pub width: OfWidth,
    /// The required rank: the number of indices that an address lacks or a tensor has.
    pub rank: OfRank,
    /// The special role in an operation on whole tensors, if any.
    pub part: Option<Part>,
}

/// The required element type of an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OfType {
    /// The element type that determines the type of the result, or else a type that the operands share.
    #[default]
    Follows,
    /// 64-bit integers.
    I64,
    /// Any type, independent of the other operands.
    Any,
}

/// The required lanes of an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OfWidth {
    /// The lanes of the result, or one lane if an operand gives the number of lanes.
    #[default]
    Follows,
    /// One lane.
    One,
    /// Several lanes, independent of the result.
    Several,
}

/// The required rank of an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OfRank {
    /// The rank of the result.
    #[default]
    Follows,
    /// The rank of the result plus this number.
    More(i8),
    /// Exactly this rank.
    Is(u8),
}

/// A special role of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Numbers that rise from 0 and divide the elements of another operand.
    Offsets,
    /// Memory that nothing else reads.
    Scratch,
    /// An operation whose result has the type of its operands.
    Closed,
}

impl Ask {
    /// Every word of a requirement with its meaning.
    pub const WORDS: [(&'static str, &'static str); 13] = [
        ("i64", "an i64"),
        ("any", "of a type of its own"),
        ("scalar", "of one lane"),
        ("lanes", "of several lanes"),
        ("0", "of rank 0: an element"),
        ("1", "of rank 1"),
        ("2", "of rank 2"),
        ("3", "of rank 3"),
        ("+1", "of one rank more than the result"),
        ("-1", "of one rank less than the result"),
        ("offsets", "numbers that rise from 0"),
        ("scratch", "memory that nothing else looks at"),
        ("closed", "an operation whose result is of the type of its operands"),
    ];

    /// Returns the requirement with one more word added; `None` if the word is unknown.
    pub fn and(self, word: &str) -> Option<Ask> {
        Some(match word {
            "i64" => Ask { typing: OfType::I64, ..self },
            "any" => Ask { typing: OfType::Any, ..self },
            "scalar" => Ask { width: OfWidth::One, ..self },
            "lanes" => Ask { width: OfWidth::Several, ..self },
            "+1" => Ask { rank: OfRank::More(1), ..self },
            "-1" => Ask { rank: OfRank::More(-1), ..self },
            "0" | "1" | "2" | "3" => Ask { rank: OfRank::Is(word.parse().ok()?), ..self },
            "offsets" => Ask { part: Some(Part::Offsets), typing: OfType::I64, ..self },
            "scratch" => Ask { part: Some(Part::Scratch), ..self },
            "closed" => Ask { part: Some(Part::Closed), ..self },
            _ => return None,
        })
    }

    /// Returns the words of the demand.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        Ask::WORDS
            .into_iter()
            .map(|(word, _)| word)
            .filter(move |word| self.and(word) == Some(self))
    }

    /// Parses a requirement of several words, separated by single spaces.
    pub fn parse(words: &str) -> Option<Ask> {
        words.split(' ').try_fold(Ask::default(), Ask::and)
    }
}

/// The price class of a primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Price {
    /// No cost of its own.
    Nothing,
    /// One operation per register.
    Operation,
    /// The cost of the exponential function per register.
    Exponential,
    /// None, because the primitive is folded or lowered to something else and no program contains it.
    Folded,
}

impl Price {
    /// Every price with its word after `:cost`.
    pub const WORDS: [(&'static str, Price); 4] = [
        ("nothing", Price::Nothing),
        ("operation", Price::Operation),
        ("exponential", Price::Exponential),
        ("folded", Price::Folded),
    ];

    /// Returns the word of the price.
    pub fn word(self) -> &'static str {
        Price::WORDS.into_iter().find(|(_, price)| *price == self).map_or("", |(word, _)| word)
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The word after `:means`.
    pub name: &'static str,
    /// The primitive.
    pub primitive: Primitive,
    /// The names of its operands. An operand whose name ends in `?` is optional.
    pub operands: &'static [&'static str],
    /// The operands that are literal numbers in every program.
    pub literals: &'static [&'static str],
    /// The element type of the result; `None` if the primitive has none.
    pub typing: Option<Typing<&'static str>>,
    /// The lanes of the result; `None` if the primitive has none.
    pub width: Option<Width<&'static str>>,
    /// The requirements on operands, in the words of [`Ask::WORDS`].
    pub asks: &'static [(&'static str, &'static str)],
    /// The operands whose elements are read.
    pub reads: &'static [&'static str],
    /// The operands whose elements are written.
    pub writes: &'static [&'static str],
    /// True if each lane depends only on the same lane of the operands.
    pub lanewise: bool,
    /// The cost of the primitive itself.
    pub price: Price,
    /// A short description of its meaning.
    pub doc: &'static str,
}

const PLAIN: Row = Row {
    name: "",
    primitive: Primitive::Same,
    operands: &[],
    literals: &[],
    typing: None,
    width: None,
    asks: &[],
    reads: &[],
    writes: &[],
    lanewise: false,
    price: Price::Nothing,
    doc: "",
};

const fn unary(op: UnaryOp) -> Row {
    Row {
        name: op.name(),
        primitive: Primitive::Unary(op),
        operands: &["x"],
        typing: Some(Typing::Of("x")),
        width: Some(Width::Of("x")),
        lanewise: true,
        price: match op.price() {
            UnaryPrice::Operation => Price::Operation,
            UnaryPrice::Exponential => Price::Exponential,
        },
        doc: op.doc(),
        ..PLAIN
    }
}

const fn binary(op: BinaryOp) -> Row {
    Row {
        name: op.name(),
        primitive: Primitive::Binary(op),
        operands: &["a", "b"],
        typing: Some(if op.compares() { Typing::I64 } else { Typing::Of("a") }),
        width: Some(Width::Of("a")),
        lanewise: true,
        price: Price::Operation,
        doc: op.doc(),
        ..PLAIN
    }
}

/// The rows of the scalar operations, one for each row of the tables in [`crate::scalar`].
const SCALARS: [Row; UnaryOp::ALL.len() + BinaryOp::ALL.len()] = {
    let mut rows = [PLAIN; UnaryOp::ALL.len() + BinaryOp::ALL.len()];
    let mut at = 0;
    while at < BinaryOp::ALL.len() {
        rows[at] = binary(BinaryOp::ALL[at]);
        at += 1;
    }
    while at < rows.len() {
        rows[at] = unary(UnaryOp::ALL[at - BinaryOp::ALL.len()]);
        at += 1;
    }
    rows
};

/// The rows of all primitives that are not scalar operations.
#[rustfmt::skip]
const STRUCTURE: &[Row] = &[
    Row { name: "same", primitive: Primitive::Same, operands: &["x"],
          typing: Some(Typing::Of("x")), width: Some(Width::Of("x")),
          doc: "what its operand means", ..PLAIN },
    Row { name: "label", primitive: Primitive::Label,
          doc: "a name that only the operator around it reads", ..PLAIN },

    // Numbers and loop variables.
    Row { name: "constant", primitive: Primitive::Constant, operands: &["dtype", "number"],
          typing: Some(Typing::Named("dtype")), width: Some(Width::One),
          doc: "a literal scalar of a type", ..PLAIN },
    Row { name: "size", primitive: Primitive::Size, operands: &["name"],
          typing: Some(Typing::I64), width: Some(Width::One),
          asks: &[("name", "0")],
          doc: "a symbolic size of the model", ..PLAIN },
    Row { name: "iv", primitive: Primitive::Iv, operands: &["variable"],
          typing: Some(Typing::I64), width: Some(Width::One),
          doc: "the value of a loop variable", ..PLAIN },
    Row { name: "variable", primitive: Primitive::Variable, operands: &["name", "lo", "hi", "step"],
          literals: &["step"], asks: &[("lo", "i64 scalar"), ("hi", "i64 scalar")],
          doc: "a loop variable with its range", ..PLAIN },
    Row { name: "dim", primitive: Primitive::Dim, operands: &["address", "k"], literals: &["k"],
          typing: Some(Typing::I64), width: Some(Width::One),
          asks: &[("address", "any 2")],
          doc: "an extent of the tensor of an address", ..PLAIN },
    Row { name: "identity", primitive: Primitive::Identity, operands: &["op", "like"],
          typing: Some(Typing::Of("like")), width: Some(Width::One), price: Price::Folded,
          doc: "what a reduction starts from, in the type of an operand", ..PLAIN },
    Row { name: "one", primitive: Primitive::One, operands: &["like"],
          typing: Some(Typing::Of("like")), width: Some(Width::One), price: Price::Folded,
          doc: "the number 1 in the type of an operand", ..PLAIN },

    // Addresses.
    Row { name: "input", primitive: Primitive::Root(false), operands: &["name"],
          doc: "a tensor that the program never writes", ..PLAIN },
    Row { name: "output", primitive: Primitive::Root(true), operands: &["name"],
          doc: "a tensor that the program writes", ..PLAIN },
    Row { name: "freeze", primitive: Primitive::Freeze, operands: &["address"],
          doc: "a tensor that is read-only after a barrier", ..PLAIN },
    Row { name: "index", primitive: Primitive::Index, operands: &["address", "index"],
          asks: &[("address", "scalar +1"), ("index", "i64")],
          doc: "an address with one more index", ..PLAIN },

    // Values.
    Row { name: "load", primitive: Primitive::Load, operands: &["address"],
          typing: Some(Typing::Of("address")), width: Some(Width::Of("address")),
          reads: &["address"], price: Price::Operation,
          asks: &[("address", "0")],
          doc: "the value at an address", ..PLAIN },
    Row { name: "fetched", primitive: Primitive::Fetched, operands: &["ahead", "address"],
          typing: Some(Typing::Of("address")), width: Some(Width::Of("address")),
          reads: &["ahead", "address"], price: Price::Operation,
          asks: &[("ahead", "0"), ("address", "0")],
          doc: "the value at an address that the access unit reads ahead", ..PLAIN },
    Row { name: "apply", primitive: Primitive::Apply, operands: &["op", "a", "b"],
          width: Some(Width::Of("a")), price: Price::Operation,
          doc: "a binary operation that an operand names", ..PLAIN },
    Row { name: "map", primitive: Primitive::Map, operands: &["function", "x"],
          typing: Some(Typing::Of("x")), width: Some(Width::One), price: Price::Folded,
          doc: "a function of one scalar that an operand names", ..PLAIN },
    Row { name: "select", primitive: Primitive::Select, operands: &["condition", "a", "b"],
          typing: Some(Typing::Of("a")), width: Some(Width::Of("a")), lanewise: true,
          price: Price::Operation,
          asks: &[("condition", "i64")],
          doc: "the second if the first is not 0, else the third", ..PLAIN },
    Row { name: "cast", primitive: Primitive::Cast, operands: &["dtype", "x"],
          typing: Some(Typing::Named("dtype")), width: Some(Width::Of("x")), lanewise: true,
          price: Price::Operation, doc: "conversion to a type", ..PLAIN },
    Row { name: "index-cast", primitive: Primitive::IndexCast, operands: &["x"],
          typing: Some(Typing::I64), width: Some(Width::Of("x")), price: Price::Operation,
          doc: "conversion to i64", ..PLAIN },
    Row { name: "convert", primitive: Primitive::Convert, operands: &["like", "x"],
          typing: Some(Typing::Of("like")), width: Some(Width::Of("x")), price: Price::Folded,
          asks: &[("x", "any")],
          doc: "conversion to the element type of an operand", ..PLAIN },
    Row { name: "broadcast", primitive: Primitive::Broadcast, operands: &["lanes", "x"],
          literals: &["lanes"], typing: Some(Typing::Of("x")),
          width: Some(Width::Count("lanes")), price: Price::Operation,
          doc: "a scalar in every lane", ..PLAIN },
    Row { name: "lanes", primitive: Primitive::Lanes, operands: &["lanes", "hi", "x"],
          literals: &["lanes"], typing: Some(Typing::I64), width: Some(Width::Count("lanes")),
          asks: &[("hi", "i64"), ("x", "i64")],
          doc: "lanes that count up from a number, active below another", ..PLAIN },
    Row { name: "fold", primitive: Primitive::Fold, operands: &["op", "x"],
          typing: Some(Typing::Of("x")), width: Some(Width::One), price: Price::Operation,
          asks: &[("op", "closed"), ("x", "lanes")],
          doc: "lanes folded into a scalar, half onto half", ..PLAIN },
    Row { name: "reduce", primitive: Primitive::Reduce,
          operands: &["op", "variable", "lo", "hi", "step", "start", "body", "access-lo?", "access-hi?"],
          literals: &["step"], typing: Some(Typing::Of("start")), width: Some(Width::Of("start")),
          asks: &[("op", "closed"), ("lo", "i64 scalar"), ("hi", "i64 scalar"), ("access-lo", "i64 scalar"), ("access-hi", "i64 scalar")],
          doc: "a loop that folds its body's values into a start, in order", ..PLAIN },

    // Statements.
    Row { name: "skip", primitive: Primitive::Skip, doc: "does nothing", ..PLAIN },
    Row { name: "barrier", primitive: Primitive::Barrier,
          doc: "separates what is written from what is read as frozen", ..PLAIN },
    Row { name: "seq", primitive: Primitive::Seq, operands: &["first", "second"],
          doc: "one statement after another", ..PLAIN },
    Row { name: "for", primitive: Primitive::For,
          operands: &["variable", "lo", "hi", "step", "body", "access-lo?", "access-hi?"],
          literals: &["step"], asks: &[("lo", "i64 scalar"), ("hi", "i64 scalar"), ("access-lo", "i64 scalar"), ("access-hi", "i64 scalar")],
          doc: "a loop: its body for lo, lo + step, … below hi", ..PLAIN },
    Row { name: "store", primitive: Primitive::Store, operands: &["address", "value"],
          writes: &["address"], price: Price::Operation, asks: &[("address", "0")],
          doc: "writes a value", ..PLAIN },
    Row { name: "accumulate", primitive: Primitive::Accumulate, operands: &["op", "address", "value"],
          reads: &["address"], writes: &["address"], price: Price::Operation,
          asks: &[("op", "closed"), ("address", "0")],
          doc: "folds a value into memory", ..PLAIN },
    Row { name: "matmul", primitive: Primitive::Matmul(false), operands: &["out", "a", "b"],
          reads: &["a", "b"], writes: &["out"], price: Price::Operation,
          asks: &[("out", "scalar 2"), ("a", "scalar 2"), ("b", "scalar 2")],
          doc: "a product of matrices", ..PLAIN },
    Row { name: "matmul-transposed", primitive: Primitive::Matmul(true), operands: &["out", "a", "b"],
          reads: &["a", "b"], writes: &["out"], price: Price::Operation,
          asks: &[("out", "scalar 2"), ("a", "scalar 2"), ("b", "scalar 2")],
          doc: "a product of a matrix and a transposed one", ..PLAIN },

    // Terms in another environment or store.
    Row { name: "vec", primitive: Primitive::Vec, operands: &["variable", "lane", "lanes", "hi", "x"],
          literals: &["lanes"], typing: Some(Typing::Of("x")), width: Some(Width::Count("lanes")),
          price: Price::Folded, asks: &[("hi", "i64")],
          doc: "lane by lane, in order", ..PLAIN },
    Row { name: "rename", primitive: Primitive::Rename, operands: &["from", "to", "x"],
          typing: Some(Typing::Of("x")), width: Some(Width::Of("x")), price: Price::Folded,
          doc: "another loop variable in the place of one", ..PLAIN },
    Row { name: "fix", primitive: Primitive::Fix, operands: &["variable", "value", "x"],
          typing: Some(Typing::Of("x")), width: Some(Width::Of("x")),
          asks: &[("value", "i64 scalar")],
          price: Price::Folded, doc: "a value in the place of a loop variable", ..PLAIN },
    Row { name: "after", primitive: Primitive::After, operands: &["first", "x"],
          typing: Some(Typing::Of("x")), width: Some(Width::Of("x")),
          price: Price::Folded, doc: "in the store that a statement leaves, which is undone afterwards", ..PLAIN },
    Row { name: "forget", primitive: Primitive::Forget, operands: &["address", "statement"],
          asks: &[("address", "2")], writes: &["address"], price: Price::Folded, doc: "a statement after which a tensor holds zeros", ..PLAIN },

    // Whole tensors.
    Row { name: "stored", primitive: Primitive::Stored, operands: &["address"],
          typing: Some(Typing::Of("address")), reads: &["address"],
          doc: "a stored tensor", ..PLAIN },
    Row { name: "write-tensor", primitive: Primitive::Output, operands: &["to", "from"],
          writes: &["to"], price: Price::Folded, doc: "writes every element of a tensor", ..PLAIN },
    Row { name: "write-slot", primitive: Primitive::OutputSlot, operands: &["to", "slot", "from"],
          writes: &["to"], price: Price::Folded, asks: &[("to", "3"), ("slot", "i64 scalar"), ("from", "2")],
          doc: "writes one slot of every block", ..PLAIN },
    Row { name: "write-columns", primitive: Primitive::OutputColumns, operands: &["to", "column", "from"],
          writes: &["to"], price: Price::Folded, asks: &[("to", "2"), ("column", "i64 scalar"), ("from", "2")],
          doc: "writes some columns", ..PLAIN },
    Row { name: "element", primitive: Primitive::Element, operands: &["tensor", "i", "j?", "k?"],
          typing: Some(Typing::Of("tensor")), width: Some(Width::One), price: Price::Folded,
          asks: &[("i", "i64"), ("j", "i64"), ("k", "i64")],
          doc: "an element of a tensor", ..PLAIN },
    Row { name: "extent", primitive: Primitive::Extent, operands: &["tensor", "k"], literals: &["k"],
          typing: Some(Typing::I64), width: Some(Width::One), price: Price::Folded,
          asks: &[("tensor", "any")],
          doc: "an extent of a tensor", ..PLAIN },
];

/// Iterates over all rows, scalar operations first.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    SCALARS.iter().chain(STRUCTURE)
}

impl Row {
    /// Finds the row with this name.
    pub fn named(name: &str) -> Option<&'static Row> {
        rows().find(|row| row.name == name)
    }

    /// Finds the row of a primitive.
    pub fn of(primitive: Primitive) -> Option<&'static Row> {
        rows().find(|row| row.primitive == primitive)
    }

    /// Iterates over the names of the operands, the optional ones last. The flag is true if the operand is required.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, bool)> + Clone + use<> {
        self.operands.iter().map(|name| match name.strip_suffix('?') {
            Some(name) => (name, false),
            None => (*name, true),
        })
    }

    /// Returns the number of required operands.
    pub fn required(&self) -> usize {
        self.parts().filter(|(_, required)| *required).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_operands_that_it_has_and_a_primitive_of_its_own() {
        for row in rows() {
            let has = |name: &str| row.parts().any(|(part, _)| part == name);
            let of_type = match row.typing {
                Some(Typing::Of(name) | Typing::Named(name)) => Some(name),
                _ => None,
            };
            let of_width = match row.width {
                Some(Width::Of(name) | Width::Count(name)) => Some(name),
                _ => None,
            };
            let asked = row.asks.iter().map(|(name, words)| {
                assert!(Ask::parse(words).is_some(), "`{}` asks for `{words}`", row.name);
                *name
            });
            let asked = asked.collect::<Vec<_>>();
            let lists = [row.literals, row.reads, row.writes, asked.as_slice()].concat();
            for name in lists.into_iter().chain(of_type).chain(of_width) {
                assert!(has(name), "`{}` has no operand `{name}`", row.name);
            }
            assert!(!row.doc.is_empty(), "`{}` is not documented", row.name);
            assert_eq!(rows().filter(|other| other.name == row.name).count(), 1);
            assert_eq!(rows().filter(|other| other.primitive == row.primitive).count(), 1);
        }
    }
}
