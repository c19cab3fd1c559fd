//! The table of primitives. A primitive is one thing that an operator can do to values or memory.
//!
//! Dialects declare which primitive an operator means (`:means`), or which operator it erases to. Every stage looks up
//! the primitive or a property in its row; no stage looks up an operator by name. [`crate::scalar`] defines what
//! primitives compute on scalars, and the interpreter defines what they do to memory.

mod ask;
pub mod form;
mod made;
mod over;
mod table;

pub use ask::{Ask, OfRank, OfType, OfWidth, Part};

use crate::scalar::{BinaryOp, ScalarPrice, UnaryOp};
use form::{Form, Operation, Shape};
use table::STRUCTURE;

/// The element type of a term, derived from its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Typing<Operand> {
    /// 64-bit integers.
    I64,
    /// The element type of an operand: a value, an address or a tensor.
    Of(Operand),
    /// Returns the element type that an operand names.
    Named(Operand),
}

impl<T> Typing<T> {
    /// Returns the typing over other operands; `None` if the operand has no counterpart.
    pub fn over<U>(self, of: impl FnOnce(T) -> Option<U>) -> Option<Typing<U>> {
        Some(match self {
            Typing::I64 => Typing::I64,
            Typing::Of(operand) => Typing::Of(of(operand)?),
            Typing::Named(operand) => Typing::Named(of(operand)?),
        })
    }
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

impl<T> Width<T> {
    /// Returns the width over other operands; `None` if the operand has no counterpart.
    pub fn over<U>(self, of: impl FnOnce(T) -> Option<U>) -> Option<Width<U>> {
        Some(match self {
            Width::One => Width::One,
            Width::Of(operand) => Width::Of(of(operand)?),
            Width::Count(operand) => Width::Count(of(operand)?),
        })
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
    /// The form, over the names of the operands. No other row has its shape, so that the form is the primitive.
    pub form: Form<&'static str>,
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
    form: Form::Label,
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

const fn price(of: ScalarPrice) -> Price {
    match of {
        ScalarPrice::Operation => Price::Operation,
        ScalarPrice::Exponential => Price::Exponential,
    }
}

const fn unary(op: UnaryOp) -> Row {
    Row {
        name: op.name(),
        form: Form::Unary(Operation::Is(op), "x"),
        operands: &["x"],
        typing: Some(Typing::Of("x")),
        width: Some(Width::Of("x")),
        lanewise: true,
        price: price(op.price()),
        doc: op.doc(),
        ..PLAIN
    }
}

const fn binary(op: BinaryOp) -> Row {
    Row {
        name: op.name(),
        form: Form::Binary(Operation::Is(op), ["a", "b"]),
        operands: &["a", "b"],
        typing: Some(if op.compares() { Typing::I64 } else { Typing::Of("a") }),
        width: Some(Width::Of("a")),
        lanewise: true,
        price: price(op.price()),
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

/// Iterates over all rows, scalar operations first.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    SCALARS.iter().chain(STRUCTURE)
}

impl Row {
    /// Finds the row with this name.
    pub fn named(name: &str) -> Option<&'static Row> {
        rows().find(|row| row.name == name)
    }

    /// Finds the row of a shape.
    pub fn of(shape: Shape) -> Option<&'static Row> {
        rows().find(|row| row.form.shape() == shape)
    }

    /// Returns the names of the operands in the order of [`Form::operands`], with the optional ones or without.
    pub fn names(&self, optional: bool) -> Vec<&'static str> {
        let known = |name| optional || self.parts().any(|part| part == (name, true));
        let form = self.form.over(|name| known(name).then_some(name));
        form.map(Form::operands).unwrap_or_default()
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
    fn every_row_names_operands_that_it_has_and_a_form_of_its_own() {
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
            let alike = |other: &&Row| other.form.shape() == row.form.shape();
            assert_eq!(rows().filter(alike).count(), 1, "another row looks like `{}`", row.name);
            let (mut own, mut named) = (row.names(true), row.parts().collect::<Vec<_>>());
            own.sort_unstable();
            named.sort_unstable();
            let named: Vec<&str> = named.into_iter().map(|(name, _)| name).collect();
            assert_eq!(own, named, "the form of `{}` has all of its operands", row.name);
        }
    }
}
