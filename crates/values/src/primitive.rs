//! The table of primitives: what an operator can do to values and memory, each once.
//!
//! Dialects say of an operator which primitive it is (`:means`), or which operator it erases to. Every stage
//! asks for the primitive, or for a property in its row; no stage asks for an operator's name. What a primitive
//! computes on scalars stands in [`crate::scalar`], what it does to memory in the interpreter.

mod ask;
mod table;

pub use ask::{Ask, OfRank, OfType, OfWidth, Part};
pub use table::Primitive;

use crate::scalar::{BinaryOp, UnaryOp, UnaryPrice};
use table::STRUCTURE;

impl Primitive {
    /// Whether it is a term in another environment or in another store, with which rules reason and which no
    /// program contains.
    pub const fn is_elsewhere(self) -> bool {
        matches!(self, Primitive::Vec | Primitive::Rename | Primitive::Fix | Primitive::After)
    }
}

/// The element type of a term, from its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typing<Operand> {
    /// 64-bit integers.
    I64,
    /// The element type of an operand: a value, an address or a tensor.
    Of(Operand),
    /// The type that an operand names.
    Named(Operand),
}

/// The number of lanes of a term, from its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width<Operand> {
    /// One: a scalar.
    One,
    /// As many as an operand has; of an address, as many elements as it is.
    Of(Operand),
    /// The number that an operand is.
    Count(Operand),
}

/// How a primitive is priced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Price {
    /// Nothing by itself.
    Nothing,
    /// One operation a register.
    Operation,
    /// The cost of the exponential function a register.
    Exponential,
    /// Stands for something else, to which it is folded or lowered: no program contains it.
    Folded,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The word after `:means`.
    pub name: &'static str,
    /// The primitive.
    pub primitive: Primitive,
    /// What its operands are called. One that ends in `?` may be missing.
    pub operands: &'static [&'static str],
    /// Operands that are literal numbers in every program.
    pub literals: &'static [&'static str],
    /// The element type of the result, of primitives that have one.
    pub typing: Option<Typing<&'static str>>,
    /// The lanes of the result, of primitives that have some.
    pub width: Option<Width<&'static str>>,
    /// Demands on operands, in the words of [`Ask::WORDS`].
    pub asks: &'static [(&'static str, &'static str)],
    /// Addresses whose elements are read.
    pub reads: &'static [&'static str],
    /// Addresses whose elements are written.
    pub writes: &'static [&'static str],
    /// Whether it computes each lane from the same lane of its operands alone.
    pub lanewise: bool,
    /// What it costs by itself.
    pub price: Price,
    /// What it does.
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

/// The scalar operations' rows, one for each row of their own tables.
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

/// Every row, scalar operations first.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    SCALARS.iter().chain(STRUCTURE)
}

impl Row {
    /// The row with a name.
    pub fn named(name: &str) -> Option<&'static Row> {
        rows().find(|row| row.name == name)
    }

    /// The row of a primitive.
    pub fn of(primitive: Primitive) -> Option<&'static Row> {
        rows().find(|row| row.primitive == primitive)
    }

    /// The names of its operands, those that may be missing last, each with whether it must be there.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, bool)> + Clone + use<> {
        self.operands.iter().map(|name| match name.strip_suffix('?') {
            Some(name) => (name, false),
            None => (*name, true),
        })
    }

    /// How many operands it must have.
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
