//! Arguments and results of the function: tensors and sizes by name.

use super::{Lowering, Meaning, Memory, Refused};
use crate::mlir::source::{Operation, Region};
use crate::mlir::types::{Elem, Type};
use crate::mlir::{KernelTensor, Purpose};
use std::rc::Rc;

impl<'a> Lowering<'_, 'a> {
    /// Declares the arguments of the function, and returns their names in order.
    pub(super) fn arguments(&mut self, region: &Region<'a>) -> Result<Vec<String>, Refused> {
        let mut names = Vec::new();
        let known = self.names.known(region, self.values);
        for (at, (value, of)) in region.arguments.iter().enumerate() {
            let defined = &self.values[*value];
            let Some(of) = of.clone() else {
                return Err(self.refused(format!("`{}` has no type", defined.name), &defined.at));
            };
            self.types[*value] = Some(of.clone());
            match &of {
                Type::Memory(extents, elem) => {
                    let known = known.get(at).cloned().flatten();
                    let written = region.written.contains(value);
                    let purpose = if written { Purpose::Output } else { Purpose::Input };
                    let tensor = self.names.tensor(defined.name, extents, *elem, purpose, known);
                    names.push(tensor.name.clone());
                    self.meanings[*value] = Some(self.declared(tensor, written));
                }
                Type::Scalar(Elem::Index) => {
                    let name = self.names.size(defined.name);
                    let term = self.size(&name)?;
                    self.give(*value, of, term)?;
                    names.push(name);
                }
                Type::Scalar(elem) if *elem != Elem::Bit => {
                    let known = known.get(at).cloned().flatten();
                    let tensor = self.names.tensor(defined.name, &[], *elem, Purpose::Input, known);
                    names.push(tensor.name.clone());
                    let meaning = self.declared(tensor, false);
                    let Meaning::Memory(memory) = meaning else { continue };
                    let term = self.kept(memory, &of)?;
                    self.give(*value, of, term)?;
                }
                Type::Struct => {
                    let name = self.names.named(defined.name);
                    self.meanings[*value] = Some(Meaning::Fields(name));
                }
                Type::Scalar(_) | Type::Vector(..) | Type::Cell(..) | Type::Unit => {
                    let message = format!("an argument of type {of} has no counterpart");
                    return Err(self.refused(message, &defined.at));
                }
            }
        }
        Ok(names)
    }

    /// Adds a memory.
    pub(super) fn declared(&mut self, tensor: KernelTensor, changes: bool) -> Meaning {
        self.memories.push(Memory { tensor, written: 0, changes });
        Meaning::Memory(self.memories.len() - 1)
    }

    /// Declares a size, and returns its term.
    pub(super) fn size(&mut self, name: &str) -> Result<egg::Id, Refused> {
        self.names.take(name);
        if !self.sizes.iter().any(|known| known == name) {
            self.sizes.push(name.to_owned());
        }
        self.size_term(name)
    }

    /// Returns the term of a size.
    pub(super) fn size_term(&mut self, name: &str) -> Result<egg::Id, Refused> {
        let name = self.word(&format!("%{name}"));
        self.form("symbolic", &[("name", name)])
    }

    /// Makes the returned values results: memory of the function's own, or numbers.
    pub(super) fn results(&mut self, returned: &Operation<'a>) -> Result<(), Refused> {
        for (at, operand) in returned.operands.iter().enumerate() {
            self.afresh();
            match self.meanings[operand.0] {
                Some(Meaning::Memory(_)) => {}
                _ => {
                    let name = self.names.named(&format!("result{at}"));
                    let (term, of) = self.number(operand)?;
                    let Type::Scalar(elem) = of else {
                        return Err(self.refused("a vector cannot be returned", &operand.1));
                    };
                    let tensor = KernelTensor {
                        name,
                        dtype: elem.dtype(),
                        shape: Vec::new(),
                        purpose: Purpose::Output,
                    };
                    let Meaning::Memory(memory) = self.declared(tensor, true) else { continue };
                    self.keep(memory, &of, term)?;
                }
            }
        }
        Ok(())
    }

    /// Reads a field of a structure: a size.
    pub(super) fn field(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let (value, at) = self.operand(operation, 0)?;
        let Some(Meaning::Fields(name)) = &self.meanings[*value] else {
            let message = format!("`{}` is no structure", self.values[*value].name);
            return Err(self.refused(message, at));
        };
        let path: Vec<String> = operation.numbers.iter().map(i64::to_string).collect();
        let name = format!("{name}.{}", path.join("."));
        let of = Type::Scalar(Elem::Of(ember_values::scalar::DType::I64));
        let term = self.size(&name)?;
        self.afresh();
        let result = operation.results.first().copied();
        result.map_or(Ok(()), |value| self.give(value, of, term))
    }

    /// Returns the memories that a value is loaded from.
    pub(super) fn loaded(&self, memory: usize) -> Rc<[usize]> {
        match self.memories[memory].changes {
            true => Rc::new([memory]),
            false => Rc::new([]),
        }
    }
}
