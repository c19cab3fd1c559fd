//! The operations of a text, with the values that they define and use.

use super::affine::Map;
use super::read::{Refused, refused};
use super::rows::Kind;
use super::types::Type;
pub(super) use crate::lex::Token::{self, Mark, Text, Word};
use ember_language::diagnostic::FileId;
use std::ops::Range;
use std::rc::Rc;

/// The position of a value in the list of all values.
pub(super) type Value = usize;

/// The use of a value, and its place.
pub(super) type Use = (Value, Range<usize>);

/// A value.
#[derive(Debug)]
pub(super) struct Defined<'a> {
    /// Its name, with the sigil.
    pub(super) name: &'a str,
    /// The place of its definition.
    pub(super) at: Range<usize>,
    /// The memory that it is a view of.
    pub(super) of: Option<Value>,
    /// How often it is used.
    pub(super) uses: usize,
}

/// An operation.
#[derive(Debug)]
pub(super) struct Operation<'a> {
    pub(super) kind: Kind,
    /// Its name.
    pub(super) name: &'a str,
    /// The place of its name.
    pub(super) at: Range<usize>,
    pub(super) results: Vec<Value>,
    /// All operands, in the order of the generic form.
    pub(super) operands: Vec<Use>,
    /// The lengths of groups of operands, where an operation has several: bounds of loops, dimensions and symbols.
    pub(super) groups: Vec<usize>,
    /// A predicate or the kind of a reduction.
    pub(super) word: Option<&'a str>,
    /// The name of a function.
    pub(super) symbol: Option<&'a str>,
    /// A constant, or the step of a loop.
    pub(super) literal: Option<Literal<'a>>,
    /// The position of a field.
    pub(super) numbers: Vec<i64>,
    pub(super) maps: Vec<Rc<Map>>,
    /// The attributes that no other field holds.
    pub(super) attributes: Vec<(&'a str, &'a str)>,
    /// The types that the text gives to operands, if it does.
    pub(super) ins: Option<Vec<Type>>,
    /// The types that the text gives to results, or to anything in the pretty form.
    pub(super) types: Vec<Type>,
    pub(super) regions: Vec<Region<'a>>,
}

/// A number of the text.
#[derive(Clone, Debug)]
pub(super) struct Literal<'a> {
    pub(super) text: &'a str,
    pub(super) at: Range<usize>,
}

/// A region of one block.
#[derive(Debug, Default)]
pub(super) struct Region<'a> {
    /// The arguments, with their types as far as the text gives them.
    pub(super) arguments: Vec<(Value, Option<Type>)>,
    pub(super) operations: Vec<Operation<'a>>,
    /// The memories that operations in it write, in ascending order.
    pub(super) written: Vec<Value>,
}

impl<'a> Operation<'a> {
    pub(super) fn new(kind: Kind, name: &'a str, at: Range<usize>) -> Operation<'a> {
        Operation {
            kind,
            name,
            at,
            results: Vec::new(),
            operands: Vec::new(),
            groups: Vec::new(),
            word: None,
            symbol: None,
            literal: None,
            numbers: Vec::new(),
            maps: Vec::new(),
            attributes: Vec::new(),
            ins: None,
            types: Vec::new(),
            regions: Vec::new(),
        }
    }

    /// Returns the place among the operands of the memory that the operation writes, if it writes one.
    pub(super) fn writes(&self) -> Option<usize> {
        match self.kind {
            Kind::MaskedStore | Kind::Matrix => Some(0),
            Kind::Store | Kind::UnitStore | Kind::Copy | Kind::Fill => Some(1),
            Kind::Product | Kind::ProductTransposed => Some(2),
            _ => None,
        }
    }

    /// Returns a region of the operation.
    pub(super) fn region(&self, at: usize, file: FileId) -> Result<&Region<'a>, Refused> {
        self.regions.get(at).ok_or_else(|| {
            refused(file, format!("`{}` lacks a region", self.name), self.at.clone(), "here")
        })
    }

    /// Returns an operand of the operation.
    pub(super) fn operand(&self, at: usize, file: FileId) -> Result<&Use, Refused> {
        self.operands.get(at).ok_or_else(|| {
            let count = self.operands.len();
            let message = format!("`{}` lacks operands: it has {count}", self.name);
            refused(file, message, self.at.clone(), "here")
        })
    }

    /// Returns the text of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(own, _)| *own == name).map(|(_, text)| *text)
    }

    /// Returns the operands of a group.
    pub(super) fn group(&self, at: usize) -> &[Use] {
        let start: usize = self.groups.iter().take(at).sum();
        let length = self.groups.get(at).copied().unwrap_or(0);
        self.operands.get(start..start + length).unwrap_or_default()
    }
}
