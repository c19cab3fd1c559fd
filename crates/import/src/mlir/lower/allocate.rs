//! Memory of the kernel's own, extents, views and copies.

use super::{Helped, Lowering, Meaning, Refused};
use crate::mlir::source::Operation;
use crate::mlir::types::{Elem, Type};
use egg::Id;
use ember_model::Extent;
use ember_values::scalar::DType;

impl<'a> Lowering<'_, 'a> {
    /// Lowers the declaration of memory.
    pub(super) fn allocate(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let (Some(of @ Type::Memory(extents, elem)), [value]) =
            (operation.types.last(), &operation.results[..])
        else {
            return Err(self.refused("memory has a type and a name", &operation.at));
        };
        let mut given = operation.operands.iter();
        let mut shape = Vec::new();
        for extent in extents.iter() {
            shape.push(match extent {
                Some(n) => Extent::Const(*n),
                None => {
                    let Some(operand) = given.next() else {
                        return Err(self.refused("an extent is not given", &operation.at));
                    };
                    let term = self.index(operand)?;
                    self.extent_of(term).ok_or_else(|| {
                        let message = "the extent of memory depends on data";
                        self.refused(message, &operand.1)
                            .with_help_boxed("it is a number, a size, or a size plus a number")
                    })?
                }
            });
        }
        let result = self.returned.iter().position(|returned| returned == value);
        let name = self.values[*value].name.trim_start_matches('%');
        let known = self
            .names
            .interface
            .own
            .iter()
            .find(|own| own.name == name && own.dtype == elem.dtype() && own.shape == shape);
        let memory = match known {
            Some(own) if result.is_none() && self.names.take(&own.name) => {
                self.declared(own.clone(), true);
                self.memories.len() - 1
            }
            _ => self.scratch(*elem, shape, result),
        };
        self.types[*value] = Some(of.clone());
        self.meanings[*value] = Some(Meaning::Memory(memory));
        Ok(())
    }

    /// Returns the extent that a term is: a number, a size, or a size plus a number.
    fn extent_of(&self, term: Id) -> Option<Extent> {
        if let Some(n) = self.whole(term) {
            return u64::try_from(n).ok().filter(|n| *n <= crate::mlir::LARGEST).map(Extent::Const);
        }
        let node = &self.terms[term];
        match *egg::Language::children(node) {
            [name] => {
                let name = self.terms[name].name()?.strip_prefix('%')?.to_owned();
                let (name, plus) = match name.rsplit_once('+') {
                    Some((name, plus)) => (name.to_owned(), plus.parse().ok()?),
                    None => (name, 0),
                };
                Some(Extent::Size { name, plus })
            }
            [a, b] if self.fold_of(term) == self.rows.fold("arith.addi") => {
                let (of, n) = match (self.whole(a), self.whole(b)) {
                    (_, Some(n)) => (a, n),
                    (Some(n), None) => (b, n),
                    (None, None) => return None,
                };
                self.extent_of(of)?.plus(n)
            }
            _ => None,
        }
    }

    /// Lowers the extent of memory.
    pub(super) fn extent(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let memory = self.memory(self.operand(operation, 0)?)?;
        let dimension = self.operand(operation, 1)?;
        let (at, _) = self.number(dimension)?;
        let shape = &self.memories[memory].tensor.shape;
        let at = self.whole(at).and_then(|at| usize::try_from(at).ok());
        let Some(extent) = at.and_then(|at| shape.get(at)).cloned() else {
            let message = format!("the dimension is a number below {}", shape.len());
            return Err(self.refused(message, &dimension.1));
        };
        let term = match extent {
            Extent::Const(n) => self.terms.int(i64::try_from(n).unwrap_or(i64::MAX)),
            Extent::Size { name, plus } => {
                let name = self.size_term(&name)?;
                self.plus(name, i64::try_from(plus).unwrap_or(i64::MAX))?
            }
        };
        self.result(operation, Type::Scalar(Elem::Index), term)
    }

    /// Lowers a view of memory with other knowledge of its extents.
    pub(super) fn view(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let memory = self.memory(self.operand(operation, 0)?)?;
        let [.., of] = &operation.types[..] else {
            return Err(self.refused("a cast has two types", &operation.at));
        };
        let own = self.types[operation.operands[0].0].as_ref();
        let (Type::Memory(extents, elem), Some(Type::Memory(others, other))) = (of, own) else {
            return Err(self.refused("a cast is of memory", &operation.at));
        };
        let fits = |(a, b): (&Option<u64>, &Option<u64>)| a.is_none() || b.is_none() || a == b;
        if elem != other
            || extents.len() != others.len()
            || !extents.iter().zip(others.iter()).all(fits)
        {
            return Err(self.refused(format!("this memory is no {of}"), &operation.at));
        }
        if let [value] = operation.results[..] {
            self.types[value] = Some(of.clone());
            self.meanings[value] = Some(Meaning::Memory(memory));
        }
        Ok(())
    }

    /// Lowers a copy of memory: loops over all elements.
    pub(super) fn copy(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let from = self.memory(self.operand(operation, 0)?)?;
        let to = self.memory(self.operand(operation, 1)?)?;
        let shape = self.memories[to].tensor.shape.clone();
        let [a, b] = [from, to]
            .map(|at| (self.memories[at].tensor.dtype, self.memories[at].tensor.shape.len()));
        if a != b || from == to {
            return Err(self.refused("a copy is between two memories of one type", &operation.at));
        }
        let (mut places, mut around) = (Vec::new(), Vec::new());
        for extent in &shape {
            let end = match extent {
                Extent::Const(n) => self.terms.int(i64::try_from(*n).unwrap_or(i64::MAX)),
                Extent::Size { name, plus } => {
                    let size = self.size_term(name)?;
                    self.plus(size, i64::try_from(*plus).unwrap_or(i64::MAX))?
                }
            };
            let (start, step) = (self.terms.int(0), self.terms.int(1));
            let variable = self.variable([start, end, step])?;
            places.push(self.form("index", &[("variable", variable)])?);
            around.push((variable, [start, end, step]));
            self.level += 1;
        }
        let of = Type::Scalar(Elem::Of(DType::I64));
        let source = self.element(from, &places, &of)?;
        let value = self.form("load", &[("address", source)])?;
        let target = self.element(to, &places, &of)?;
        self.put(to, target, value)?;
        for (variable, bounds) in around.into_iter().rev() {
            self.level -= 1;
            let body = self.statements.pop();
            let body = body.map_or_else(|| self.form("nothing", &[]), Ok)?;
            let statement = self.looped(variable, bounds, body)?;
            self.statements.push(statement);
        }
        Ok(())
    }
}
