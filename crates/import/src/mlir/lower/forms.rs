//! The forms of the table as terms.

use super::{Lowering, Refused};
use crate::mlir::types::{Elem, Type};
use egg::Id;
use ember_language::sexp::Sexp;
use ember_language::term::{Node, parse_head};
use ember_values::scalar::{DType, Scalar};

/// The number of statements from which a sequence is a balanced tree, so that its depth stays small.
const LONG: usize = 256;

impl Lowering<'_, '_> {
    /// Returns a form with terms in the places of its words.
    pub(super) fn form(&mut self, name: &str, parts: &[(&str, Id)]) -> Result<Id, Refused> {
        match self.rows.form(name) {
            Some(form) => self.filled(form, parts, None),
            None => Err(self.refused(format!("the table has no form `{name}`"), &(0..0))),
        }
    }

    /// Returns a template with terms in the places of its words. `of` is the type of operands for `(literal X)`.
    pub(super) fn filled(
        &mut self,
        template: &Sexp,
        parts: &[(&str, Id)],
        of: Option<&Type>,
    ) -> Result<Id, Refused> {
        if let Some(word) = template.atom() {
            let part = parts.iter().find(|(name, _)| *name == word);
            return Ok(match part {
                Some((_, id)) => *id,
                None => self.terms.add(Node::new(parse_head(word), &[])),
            });
        }
        let Some((head, items)) = template.form() else {
            return Err(self.refused("the table has a form without a head", &(0..0)));
        };
        if let ("literal", [number], Some(of)) = (head, items, of) {
            let number = number.atom().and_then(|n| n.parse().ok()).unwrap_or_default();
            return self.constant_of(of, number);
        }
        let items = items.iter().map(|item| self.filled(item, parts, of));
        let items = items.collect::<Result<Vec<Id>, Refused>>()?;
        Ok(self.terms.op(head, &items))
    }

    /// Returns a word as a term.
    pub(super) fn word(&mut self, word: &str) -> Id {
        self.terms.op(word, &[])
    }

    /// Returns a number of a type, in all lanes of a vector.
    fn constant_of(&mut self, of: &Type, number: f64) -> Result<Id, Refused> {
        let elem = of.elem().unwrap_or(Elem::Index);
        let scalar = self.scalar(Scalar::from_f64(elem.dtype(), number))?;
        self.in_lanes(of, scalar)
    }

    /// Returns a scalar as a term.
    pub(super) fn scalar(&mut self, scalar: Scalar) -> Result<Id, Refused> {
        if let Scalar::I64(n) = scalar {
            return Ok(self.terms.int(n));
        }
        let dtype = self.word(scalar.dtype().name());
        let number = match scalar.dtype() {
            DType::I32 => self.terms.int(scalar.as_i64().unwrap_or_default()),
            _ => self.terms.add(Node::new(ember_language::term::Head::real(scalar.as_f64()), &[])),
        };
        self.form("constant", &[("type", dtype), ("number", number)])
    }

    /// Returns a number in all lanes of a vector, or itself for a scalar type.
    pub(super) fn in_lanes(&mut self, of: &Type, value: Id) -> Result<Id, Refused> {
        match of {
            Type::Vector(lanes, _) => {
                let count = self.terms.int(i64::try_from(*lanes).unwrap_or(i64::MAX));
                self.form("broadcast", &[("count", count), ("value", value)])
            }
            _ => Ok(value),
        }
    }

    /// Returns a sum with a number, which is left out if it is 0.
    pub(super) fn plus(&mut self, value: Id, n: i64) -> Result<Id, Refused> {
        if let Some(own) = self.whole(value).and_then(|own| own.checked_add(n)) {
            return Ok(self.terms.int(own));
        }
        if n == 0 {
            return Ok(value);
        }
        let (form, n) = match n.checked_neg().filter(|positive| *positive > 0) {
            Some(positive) => ("difference", positive),
            None => ("sum", n),
        };
        let second = self.terms.int(n);
        self.form(form, &[("first", value), ("second", second)])
    }

    /// Returns the number that a term is.
    pub(super) fn whole(&self, term: Id) -> Option<i64> {
        match self.terms[term].head() {
            ember_language::term::Head::Int(n) => Some(n),
            _ => None,
        }
    }

    /// Returns statements, one after the other.
    pub(super) fn sequence(&mut self, statements: &[Id]) -> Result<Id, Refused> {
        match statements {
            [] => self.form("nothing", &[]),
            [one] => Ok(*one),
            [first, rest @ ..] => {
                let middle = statements.len() / 2;
                let (first, second) = match statements.len() > LONG {
                    true => (
                        self.sequence(&statements[..middle])?,
                        self.sequence(&statements[middle..])?,
                    ),
                    false => (*first, self.sequence(rest)?),
                };
                self.form("sequence", &[("first", first), ("second", second)])
            }
        }
    }

    /// Adds a statement.
    pub(super) fn state(&mut self, form: &str, parts: &[(&str, Id)]) -> Result<(), Refused> {
        let statement = self.form(form, parts)?;
        self.statements.push(statement);
        Ok(())
    }
}
