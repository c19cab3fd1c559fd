//! Affine maps and sets over values.

use super::{Lowering, Refused};
use crate::mlir::affine::{Affine, Map, Sign};
use crate::mlir::rows::Kind;
use crate::mlir::source::{Operation, Use};
use crate::mlir::types::{Elem, Type};
use egg::Id;
use std::ops::Range;

impl<'a> Lowering<'_, 'a> {
    /// Returns the results of a map.
    pub(super) fn mapped(
        &mut self,
        map: &Map,
        operands: &[Use],
        at: &Range<usize>,
    ) -> Result<Vec<Id>, Refused> {
        if operands.len() != map.operands {
            let message =
                format!("the map takes {} operands, not {}", map.operands, operands.len());
            return Err(self.refused(message, at));
        }
        let operands = operands.iter().map(|operand| self.index(operand));
        let operands: Vec<Id> = operands.collect::<Result<_, _>>()?;
        map.results.iter().map(|result| self.evaluated(result, &operands)).collect()
    }

    /// Returns an affine expression over terms.
    fn evaluated(&mut self, affine: &Affine, operands: &[Id]) -> Result<Id, Refused> {
        match affine {
            Affine::Operand(at) => Ok(operands[*at]),
            Affine::Number(n) => Ok(self.terms.int(*n)),
            Affine::Of(sign, parts) => {
                let first = self.evaluated(&parts[0], operands)?;
                if let (Sign::Sum, Affine::Number(n)) = (sign, &parts[1]) {
                    return self.plus(first, *n);
                }
                // What is subtracted is written as a product with -1.
                if let (Sign::Sum, Affine::Of(Sign::Product, factors)) = (sign, &parts[1])
                    && factors[1] == Affine::Number(-1)
                {
                    let second = self.evaluated(&factors[0], operands)?;
                    return self.form("difference", &[("first", first), ("second", second)]);
                }
                let second = self.evaluated(&parts[1], operands)?;
                self.computed(*sign, first, second)
            }
        }
    }

    /// Returns a sum, product or quotient; of numbers, the number.
    fn computed(&mut self, sign: Sign, first: Id, second: Id) -> Result<Id, Refused> {
        if let (Some(a), Some(b)) = (self.whole(first), self.whole(second)) {
            let known = match sign {
                Sign::Sum => a.checked_add(b),
                Sign::Difference => a.checked_sub(b),
                Sign::Product => a.checked_mul(b),
                Sign::Floor => (b > 0).then(|| a.div_euclid(b)),
                Sign::Ceiling => (b > 0).then(|| a.div_euclid(b) + i64::from(a.rem_euclid(b) > 0)),
                Sign::Modulo => (b > 0).then(|| a.rem_euclid(b)),
            };
            if let Some(known) = known {
                return Ok(self.terms.int(known));
            }
        }
        let form = match sign {
            Sign::Sum => "sum",
            Sign::Difference => "difference",
            Sign::Product => "product",
            Sign::Floor => "floor",
            Sign::Ceiling => "ceiling",
            Sign::Modulo => "modulo",
        };
        self.form(form, &[("first", first), ("second", second)])
    }

    /// Returns the least or greatest of some terms.
    pub(super) fn extreme(
        &mut self,
        form: &str,
        terms: &[Id],
        at: &Range<usize>,
    ) -> Result<Id, Refused> {
        let [first, rest @ ..] = terms else {
            return Err(self.refused("a map without results", at));
        };
        rest.iter()
            .try_fold(*first, |known, next| self.form(form, &[("first", known), ("second", *next)]))
    }

    /// Lowers the result of a map, or the least or greatest of its results.
    pub(super) fn applied(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let Some(map) = operation.maps.first().cloned() else {
            return Err(self.refused("a map was expected", &operation.at));
        };
        let results = self.mapped(&map, &operation.operands, &operation.at)?;
        let term = match operation.kind {
            Kind::Least => self.extreme("least", &results, &operation.at)?,
            Kind::Greatest => self.extreme("greatest", &results, &operation.at)?,
            _ => match results[..] {
                [one] => one,
                _ => return Err(self.refused("a map with one result is applied", &operation.at)),
            },
        };
        self.result(operation, Type::Scalar(Elem::Index), term)
    }

    /// Returns the truth value of a set: 1 if all constraints hold.
    pub(super) fn holds(&mut self, set: &Map, operation: &Operation<'a>) -> Result<Id, Refused> {
        let results = self.mapped(set, &operation.operands, &operation.at)?;
        let zero = self.terms.int(0);
        let mut all: Option<Id> = None;
        for (result, equal) in results.into_iter().zip(&set.equal) {
            // x - n >= 0 is n <= x, written as n - 1 < x.
            let (value, least) = self.shifted(result);
            let below = match least.checked_sub(1) {
                Some(n) => self.terms.int(n),
                None => zero,
            };
            let mut holds = match equal {
                false => self.form("below", &[("first", below), ("second", value)])?,
                true => self.form("not-above", &[("first", zero), ("second", result)])?,
            };
            if *equal {
                let other = self.form("not-above", &[("first", result), ("second", zero)])?;
                holds = self.form("product", &[("first", holds), ("second", other)])?;
            }
            all = Some(match all {
                Some(known) => self.form("product", &[("first", known), ("second", holds)])?,
                None => holds,
            });
        }
        all.map_or_else(|| Ok(self.terms.int(1)), Ok)
    }

    /// Splits x - n into x and n; n is small, so that nothing overflows.
    fn shifted(&mut self, term: Id) -> (Id, i64) {
        let known = |form: &str, lowering: &Self| {
            let head = lowering.rows.form(form).and_then(|form| form.form()).map(|(head, _)| head);
            lowering.terms[term].name() == head
        };
        let children: Vec<Id> = egg::Language::children(&self.terms[term]).to_vec();
        match children[..] {
            [x, n] if known("difference", self) => match self.whole(n) {
                Some(n) if n.unsigned_abs() <= crate::mlir::LARGEST => (x, n),
                _ => (term, 0),
            },
            _ => (term, 0),
        }
    }
}
