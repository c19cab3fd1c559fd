//! Arguments and results of the function: tensors and sizes by name.

use super::{Lowering, Meaning, Memory, Refused};
use crate::mlir::source::{Operation, Region};
use crate::mlir::types::{Elem, Type};
use crate::mlir::{KernelTensor, Purpose};
use ember_model::Extent;
use std::rc::Rc;

impl<'a> Lowering<'_, 'a> {
    /// Declares the arguments of the function.
    pub(super) fn arguments(&mut self, region: &Region<'a>) -> Result<(), Refused> {
        let known = self.known_tensors(region);
        let mut sizes = 0;
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
                    let tensor = self.argument(defined.name, extents, *elem, purpose, known);
                    self.meanings[*value] = Some(self.declared(tensor, written));
                }
                Type::Scalar(Elem::Index) => {
                    let known = self.interface.sizes.get(sizes).cloned();
                    sizes += 1;
                    let own = self.plain_name(defined.name);
                    let own = if self.interface.sizes.contains(&own) { Some(own) } else { known };
                    let name = own.unwrap_or_else(|| self.named(defined.name));
                    let term = self.size(&name)?;
                    self.give(*value, of, term)?;
                }
                Type::Scalar(elem) if *elem != Elem::Bit => {
                    let known = known.get(at).cloned().flatten();
                    let tensor = self.argument(defined.name, &[], *elem, Purpose::Input, known);
                    let meaning = self.declared(tensor, false);
                    let Meaning::Memory(memory) = meaning else { continue };
                    let term = self.kept(memory, &of)?;
                    self.give(*value, of, term)?;
                }
                Type::Struct => {
                    let name = self.named(defined.name);
                    self.meanings[*value] = Some(Meaning::Fields(name));
                }
                Type::Scalar(_) | Type::Vector(..) => {
                    let message = format!("an argument of type {of} has no counterpart");
                    return Err(self.refused(message, &defined.at));
                }
            }
        }
        Ok(())
    }

    /// Returns the known tensors that the arguments are, by name if all names are known, else in order; none for an
    /// argument that is no tensor or has no counterpart.
    fn known_tensors(&self, region: &Region<'a>) -> Vec<Option<KernelTensor>> {
        let tensors = &self.interface.tensors;
        let is_tensor = |of: &Option<Type>| match of {
            Some(Type::Memory(..)) => true,
            Some(Type::Scalar(elem)) => !matches!(elem, Elem::Index | Elem::Bit),
            _ => false,
        };
        let name = |at: usize| self.plain_name(self.values[region.arguments[at].0].name);
        let own: Vec<usize> =
            (0..region.arguments.len()).filter(|at| is_tensor(&region.arguments[*at].1)).collect();
        let by_name = |at: &usize| tensors.iter().find(|tensor| tensor.name == name(*at));
        let all_known = own.iter().all(|at| by_name(at).is_some());
        let mut found = vec![None; region.arguments.len()];
        for (place, at) in own.iter().enumerate() {
            found[*at] = if all_known { by_name(at) } else { tensors.get(place) }.cloned();
        }
        found
    }

    /// Returns the declaration of an argument.
    fn argument(
        &mut self,
        name: &str,
        extents: &[Option<u64>],
        elem: Elem,
        purpose: Purpose,
        known: Option<KernelTensor>,
    ) -> KernelTensor {
        let fits = |known: &KernelTensor| {
            let agree = |(own, other): (&Option<u64>, &Extent)| {
                own.is_none() || own.is_none_or(|n| *other == Extent::Const(n))
            };
            known.shape.len() == extents.len() && extents.iter().zip(&known.shape).all(agree)
        };
        let dtype = elem.dtype();
        if let Some(known) = known.filter(|known| known.dtype == dtype && fits(known)) {
            self.names.insert(known.name.clone());
            return KernelTensor { purpose, ..known };
        }
        let name = self.named(name);
        let extent = |(at, n): (usize, &Option<u64>)| match n {
            Some(n) => Extent::Const(*n),
            None => Extent::Size { name: format!("{name}.{at}"), plus: 0 },
        };
        let shape = extents.iter().enumerate().map(extent).collect();
        KernelTensor { name, dtype, shape, purpose }
    }

    /// Adds a memory.
    pub(super) fn declared(&mut self, tensor: KernelTensor, changes: bool) -> Meaning {
        self.memories.push(Memory { tensor, written: 0, changes });
        Meaning::Memory(self.memories.len() - 1)
    }

    /// Declares a size, and returns its term.
    pub(super) fn size(&mut self, name: &str) -> Result<egg::Id, Refused> {
        self.names.insert(name.to_owned());
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

    /// Returns the name of a value in programs.
    fn plain_name(&self, name: &str) -> String {
        let kept = |c: char| if c.is_ascii_alphanumeric() || "_.".contains(c) { c } else { '_' };
        let plain: String = name.trim_start_matches('%').chars().map(kept).collect();
        // A name starts with a letter, and is no number and no word of programs.
        let plain = match plain.starts_with(|c: char| c.is_ascii_alphabetic()) {
            true => plain,
            false => format!("v{plain}"),
        };
        let reserved = self.interface.reserved.contains(&plain)
            || matches!(plain.as_str(), "inf" | "nan" | "let");
        if reserved { format!("{plain}_") } else { plain }
    }

    /// Returns a new name for a value.
    pub(super) fn named(&mut self, name: &str) -> String {
        let mut name = self.plain_name(name);
        while self.names.contains(&name) {
            name.push('_');
        }
        self.names.insert(name.clone());
        name
    }

    /// Makes the returned values results: memory of the function's own, or numbers.
    pub(super) fn results(&mut self, returned: &Operation<'a>) -> Result<(), Refused> {
        for (at, operand) in returned.operands.iter().enumerate() {
            self.afresh();
            match self.meanings[operand.0] {
                Some(Meaning::Memory(_)) => {}
                _ => {
                    let name = self.named(&format!("result{at}"));
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
