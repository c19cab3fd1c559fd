//! Loops of an access unit or an execute unit: each has the bounds of its variable, as far as one processor computes
//! them. Otherwise facts about the variable would speak of another loop.

use super::Checker;
use super::terms::T;
use ember_language::rules::OpInfo;
use ember_language::sexp::deeper;
use ember_values::primitive::Typing;
use ember_values::primitive::form::{Form, Operation, Sequence};
use ember_values::scalar::{BinaryOp, DType};
use std::collections::BTreeSet;

impl Checker<'_> {
    /// Returns the variable of a unit's loop in a program whose bounds are not seen to be those of the variable.
    pub(super) fn other_bounds(&mut self, program: T) -> Option<String> {
        let (mut open, mut seen) = (vec![program], BTreeSet::new());
        while let Some(at) = open.pop() {
            if !seen.insert(at) {
                continue;
            }
            let (name, operands) = self.node(at);
            let (name, operands) = (name.to_owned(), operands.to_vec());
            let info = self.rules.table().get(name.as_str().into(), operands.len());
            let own = info.filter(|info| info.unit.is_some()).and_then(OpInfo::looped);
            if let Some(own) = own {
                let (lo, hi) = own.access.unwrap_or((own.lo, own.hi));
                for (lo, hi) in [(own.lo, own.hi), (lo, hi)] {
                    let bounds = [lo, hi, own.step].map(|at| self.erased(operands[at]));
                    let fit = matches!(bounds, [Some(lo), Some(hi), Some(step)]
                        if self.has_bounds(operands[own.variable], [lo, hi, step]));
                    if !fit {
                        return Some(self.node(operands[own.variable]).0.to_owned());
                    }
                }
            }
            open.extend(operands);
        }
        None
    }

    /// The term on one processor that a term of a unit stands for; `None` if it is not known.
    fn erased(&mut self, term: T) -> Option<T> {
        let (name, operands) = self.node(term);
        let (name, operands) = (name.to_owned(), operands.to_vec());
        let table = self.rules.table();
        let Some(info) = table.get(name.as_str().into(), operands.len()) else { return Some(term) };
        let at = |name: &str| operands.get(info.position(name)?).copied();
        let (head, parts): (_, Vec<T>) = match info.form(&operands) {
            Some(Form::Carried { x, to: None }) => return deeper(|| self.erased(x)),
            Some(Form::Loaded { address, early: Some(_) }) => {
                table.written(Form::Loaded { address, early: None }, None)?
            }
            Some(Form::Sequence(Sequence::Ahead(_))) => {
                table.written(Form::Sequence(Sequence::Empty), None)?
            }
            Some(Form::Binary(Operation::Named(op), operands)) => {
                let op = Operation::Is(BinaryOp::parse(self.node(op).0)?);
                table.written(Form::Binary(op, operands), None)?
            }
            Some(Form::Carried { x, to: Some(Typing::I64) }) => {
                let index = self.add((DType::I64.name().to_owned(), Vec::new()));
                table.written(Form::Carried { x, to: Some(Typing::Named(index)) }, None)?
            }
            _ if info.unit.is_none() => (name.as_str().into(), operands.clone()),
            _ => {
                let of = |own: &OpInfo| own.unit.is_none();
                let direct =
                    info.erased.filter(|to| table.get(*to, info.erasure.len()).is_some_and(of));
                match direct {
                    Some(to) => (to, info.erasure.iter().map(|at| operands[*at]).collect()),
                    None => {
                        let to = table.named(info.shape?, None)?;
                        let same = table.iter().filter(|other| other.name == to);
                        let other = same.min_by_key(|other| other.operands.len())?;
                        let parts = other.operands.iter().map(|part| at(part.as_ref()?.as_str()));
                        (to, parts.collect::<Option<_>>()?)
                    }
                }
            }
        };
        let parts = parts.into_iter().map(|part| deeper(|| self.erased(part)));
        let parts = parts.collect::<Option<Vec<T>>>()?;
        let unit = self.rules.table().get(head, parts.len()).and_then(|info| info.unit);
        unit.is_none().then(|| self.add((head.to_string(), parts)))
    }
}
