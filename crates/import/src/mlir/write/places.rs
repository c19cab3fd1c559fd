//! Places in memory: elements, and runs of elements in the lanes of vectors; products of whole matrices.

use super::values::of_all;
use super::{Unwritten, Value, Writer, elem, memory, value};
use crate::mlir::KernelTensor;
use crate::mlir::lines::{
    ADDS, COLUMNS, Operands, TRANSPOSED, half_fold, holds, product_of_matrices, sides,
};
use crate::mlir::product::operation;
use crate::mlir::types::{Elem, Type};
use egg::{Id, Language};
use ember_language::term::Head;

/// An element of a memory, or a run of its elements.
pub(super) struct Place {
    /// The memory with its indices.
    text: String,
    /// The type of the memory.
    memory: String,
    /// The type of what is there.
    of: Type,
    /// The mask of the lanes, unless all are active.
    mask: Option<String>,
}

impl<'a> Writer<'a> {
    /// Returns the tensor of an address, and its indices.
    fn address(&self, id: Id) -> Result<(&'a KernelTensor, Vec<Id>), Unwritten> {
        let (mut places, mut at) = (Vec::new(), id);
        let name = loop {
            let node = &self.term[at];
            match (self.form(node), node.children()) {
                (Some("element"), &[address, place]) => {
                    places.push(place);
                    at = address;
                }
                (Some("frozen"), &[address]) => at = address,
                (Some("input" | "output"), &[name]) => break self.name_of(name),
                _ => return Err(Unwritten::Operator(node.to_string())),
            }
        };
        places.reverse();
        let tensor = self.kernel.tensors.iter().find(|tensor| tensor.name == name);
        Ok((tensor.ok_or_else(|| Unwritten::Operator(name.to_owned()))?, places))
    }

    /// Returns the place of an address, whose last index may be that of lanes.
    pub(super) fn place(&mut self, id: Id) -> Result<Place, Unwritten> {
        let (tensor, places) = self.address(id)?;
        let name = value(&tensor.name);
        let memory = memory(&tensor.shape, tensor.dtype)?;
        let elem = elem(tensor.dtype)?;
        let (mut of, mut mask, mut indices) = (Type::Scalar(elem), None, Vec::new());
        for (at, place) in places.iter().enumerate() {
            let node = &self.term[*place];
            let (base, lanes) = match (self.form(node), node.children()) {
                (Some("lanes"), &[count, end, base]) if at + 1 == places.len() => {
                    (base, Some((count, end)))
                }
                (Some("lanes"), _) => {
                    let message = "a run of elements along another dimension than the last";
                    return Err(Unwritten::Operator(message.to_owned()));
                }
                _ => (*place, None),
            };
            let index = self.value(base)?;
            let index = self.as_elem(index, Elem::Index)?;
            if let Some((count, end)) = lanes {
                of = self.lanes(count, elem)?;
                if !self.all_active(count, end, base) {
                    mask = Some(self.mask(&index, end, &of)?);
                }
            }
            indices.push(index.name);
        }
        Ok(Place { text: format!("{name}[{}]", indices.join(", ")), memory, of, mask })
    }

    /// Writes that the cache line where an address begins is asked for, into the cache of a level.
    pub(super) fn prefetch(&mut self, address: Id, level: Id) -> Result<(), Unwritten> {
        let (tensor, places) = self.address(address)?;
        let mut indices = Vec::new();
        for place in places {
            let node = &self.term[place];
            let first = match (self.form(node), node.children()) {
                (Some("lanes"), &[_, _, first]) => first,
                _ => place,
            };
            indices.push(self.index(first)?.0);
        }
        let (name, indices) = (value(&tensor.name), indices.join(", "));
        let memory = memory(&tensor.shape, tensor.dtype)?;
        // The locality is 3 for the first cache.
        let locality = self.whole(level).map_or(1, |level| (4 - level).clamp(1, 3));
        self.text.line(&format!(
            "memref.prefetch {name}[{indices}], read, locality<{locality}>, data : {memory}"
        ))
    }

    /// Returns the type of some lanes.
    pub(super) fn lanes(&self, count: Id, elem: Elem) -> Result<Type, Unwritten> {
        match self.term[count].head() {
            Head::Int(n) => Ok(Type::Vector(u64::try_from(n).unwrap_or(1), elem)),
            _ => Err(Unwritten::Operator(self.term[count].to_string())),
        }
    }

    /// Returns the number that a term is.
    fn whole(&self, id: Id) -> Option<i64> {
        match self.term[id].head() {
            Head::Int(n) => Some(n),
            _ => None,
        }
    }

    /// True if all lanes are known to be active: they end so many behind the first, or the loop around has whole strips.
    fn all_active(&self, count: Id, end: Id, base: Id) -> bool {
        let node = &self.term[end];
        if let (Some("sum"), &[first, more]) = (self.form(node), node.children())
            && first == base
        {
            return self.whole(more) == self.whole(count);
        }
        let node = &self.term[base];
        let (Some("index"), &[variable]) = (self.form(node), node.children()) else {
            return self
                .whole(end)
                .zip(self.whole(base))
                .is_some_and(|(end, base)| end.checked_sub(base) == self.whole(count));
        };
        let &[_, lo, hi, step] = self.term[variable].children() else { return false };
        let length = || self.whole(hi)?.checked_sub(self.whole(lo)?);
        let whole = || Some(length()? % self.whole(count).filter(|n| *n > 0)? == 0);
        hi == end && self.whole(step) == self.whole(count) && whole() == Some(true)
    }

    /// Returns the mask of the lanes before an end.
    fn mask(&mut self, index: &Value, end: Id, of: &Type) -> Result<String, Unwritten> {
        let end = self.value(end)?;
        let end = self.as_elem(end, Elem::Index)?;
        let rest = self.text.define(&format!("arith.subi {}, {} : index", end.name, index.name))?;
        self.text.define(&format!("vector.create_mask {rest} : {}", of.of(Elem::Bit)))
    }

    /// Writes a load. What inactive lanes hold does not matter, because nothing reads it.
    pub(super) fn load(&mut self, place: &Place) -> Result<Value, Unwritten> {
        let Place { text, memory, of, mask } = place;
        let name = match (mask, of) {
            (Some(mask), _) => {
                let zero =
                    if of.elem().is_some_and(|own| own.dtype().is_float()) { "0.0" } else { "0" };
                let none = self.text.constant(&of_all(zero, of));
                let bits = of.of(Elem::Bit);
                self.text.define(&format!(
                    "vector.maskedload {text}, {mask}, {none} : {memory}, {bits}, {of} into {of}"
                ))?
            }
            (None, Type::Vector(..)) => {
                self.text.define(&format!("vector.load {text} : {memory}, {of}"))?
            }
            _ => self.text.define(&format!("memref.load {text} : {memory}"))?,
        };
        Ok(Value { name, of: of.clone() })
    }

    /// Writes a store.
    pub(super) fn store(&mut self, place: &Place, stored: Value) -> Result<(), Unwritten> {
        let Place { text, memory, of, mask } = place;
        let Value { name, .. } = self.as_elem(stored, of.elem().unwrap_or(Elem::Index))?;
        let bits = of.of(Elem::Bit);
        self.text.line(&match (mask, of) {
            (Some(mask), _) => {
                format!("vector.maskedstore {text}, {mask}, {name} : {memory}, {bits}, {of}")
            }
            (None, Type::Vector(..)) => format!("vector.store {name}, {text} : {memory}, {of}"),
            _ => format!("memref.store {name}, {text} : {memory}"),
        })
    }

    /// Writes a fold of lanes whose result does not depend on their order.
    pub(super) fn folded_lanes(&mut self, fold: Id, lanes: Id) -> Result<Value, Unwritten> {
        let Value { name, of } = self.value(lanes)?;
        let elem = of.elem().unwrap_or(Elem::Index);
        let (rows, float) = (self.rows, elem.dtype().is_float());
        // The words for floating-point numbers end so; sums and products of these depend on the order.
        let fold = self.name_of(fold);
        let word = rows.lanes_of(fold).find(|word| word.ends_with('f') == float);
        let own = Type::Scalar(elem);
        let operation = match word {
            Some(word) => format!("vector.reduction <{word}>, {name} : {of} into {own}"),
            None => half_fold(fold, (&name, &of), &own),
        };
        Ok(Value { name: self.text.define(&operation)?, of: own })
    }

    /// Returns an operand of a product: its tensor, and its memory and indices with their types as text.
    fn matrix(&mut self, id: Id) -> Result<(&'a KernelTensor, Operands), Unwritten> {
        let (tensor, places) = self.address(id)?;
        let mut operands = vec![(value(&tensor.name), memory(&tensor.shape, tensor.dtype)?)];
        for place in places {
            operands.push(self.index(place)?);
        }
        Ok((tensor, operands))
    }

    /// Returns a value as an index, with its type as text.
    fn index(&mut self, id: Id) -> Result<(String, String), Unwritten> {
        let index = self.value(id)?;
        let index = self.as_elem(index, Elem::Index)?;
        Ok((index.name, index.of.to_string()))
    }

    /// Writes some rows of a product of matrices: their number, the bound that they stay below, and the first.
    pub(super) fn rows_of_product(
        &mut self,
        matrices: [Id; 3],
        rows: [Id; 3],
        depth: Option<[Id; 3]>,
    ) -> Result<(), Unwritten> {
        let mut operands = Vec::new();
        for id in matrices {
            operands.extend(self.matrix(id)?.1);
        }
        let mut attributes: Vec<String> = holds(ADDS, depth.is_some()).into_iter().collect();
        for (name, [count, end, first]) in sides(rows, depth) {
            operands.extend([self.index(end)?, self.index(first)?]);
            attributes.push(format!("{name} = {}", self.term[count]));
        }
        self.text.line(&product_of_matrices(&operands, &attributes))
    }

    /// Writes a product of some columns, from the first on.
    pub(super) fn columns_of_product(
        &mut self,
        matrices: [Id; 3],
        first: Id,
        how: &str,
    ) -> Result<(), Unwritten> {
        let mut operands = Vec::new();
        for id in matrices {
            operands.extend(self.matrix(id)?.1);
        }
        operands.push(self.index(first)?);
        let attributes: Vec<String> =
            [how, COLUMNS].iter().filter_map(|name| holds(name, true)).collect();
        self.text.line(&product_of_matrices(&operands, &attributes))
    }

    /// Writes a product of whole tensors, which starts from zeros, or of matrices of which some are each one of a batch.
    pub(super) fn product(&mut self, transposed: bool, whole: [Id; 3]) -> Result<(), Unwritten> {
        let (mut tensors, mut operands) = (Vec::new(), Vec::new());
        for id in whole {
            let (tensor, own) = self.matrix(id)?;
            let (name, memory) = own[0].clone();
            operands.extend(own);
            tensors.push((name, memory, tensor));
        }
        if operands.len() > whole.len() {
            let transposed = holds(TRANSPOSED, transposed);
            return self.text.line(&product_of_matrices(&operands, transposed.as_slice()));
        }
        let [(out, of, tensor), (a, of_a, first), (b, of_b, second)] = &tensors[..] else {
            return Ok(());
        };
        let ranks = (first.shape.len(), second.shape.len());
        let operation = operation(ranks, transposed).ok_or_else(|| {
            Unwritten::Operator(format!(
                "a product of tensors of {} and {} dimensions",
                ranks.0, ranks.1
            ))
        })?;
        let elem = elem(tensor.dtype)?;
        let zero = if tensor.dtype.is_float() { "0.0" } else { "0" };
        let zero = self.text.constant(&format!("{zero} : {elem}"));
        self.text.line(&format!("linalg.fill ins({zero} : {elem}) outs({out} : {of})"))?;
        self.text.line(&format!("{operation} ins({a}, {b} : {of_a}, {of_b}) outs({out} : {of})"))
    }
}
