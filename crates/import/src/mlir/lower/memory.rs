//! Memory: arguments, memory of the kernel's own, loads and stores.

use super::{Lowering, Meaning, Refused, scratch};
use crate::mlir::Purpose;
use crate::mlir::source::{Operation, Use};
use crate::mlir::types::{Elem, Type};
use egg::Id;
use ember_language::term::{Head, Node};
use ember_model::Extent;

/// The most parts of a term that are looked at.
const LOOKED_AT: usize = 1 << 10;

impl<'a> Lowering<'_, 'a> {
    /// Returns the memory that an operand is.
    pub(super) fn memory(&self, (value, at): &Use) -> Result<usize, Refused> {
        match self.meanings[*value] {
            Some(Meaning::Memory(memory)) => Ok(memory),
            _ => Err(self.refused(format!("`{}` is no memory", self.values[*value].name), at)),
        }
    }

    /// Returns the type of a memory, which a text may state.
    pub(super) fn memory_type(&self, operand: &Use, said: Option<&Type>) -> Result<Elem, Refused> {
        let own = self.types[operand.0].clone();
        let Some(of @ Type::Memory(_, elem)) = own else {
            let message = format!("`{}` is no memory", self.values[operand.0].name);
            return Err(self.refused(message, &operand.1));
        };
        if let Some(said) = said {
            self.same(operand, &of, said)?;
        }
        Ok(elem)
    }

    /// Returns the root of a memory's addresses.
    pub(super) fn address_of(&mut self, memory: usize) -> Result<Id, Refused> {
        let name = self.word(&format!("%{}", self.memories[memory].tensor.name));
        let form = match self.memories[memory].tensor.purpose {
            Purpose::Input => "input",
            Purpose::Output | Purpose::Scratch => "output",
        };
        self.form(form, &[("name", name)])
    }

    /// Returns an element of a memory, or a run of its elements in the lanes of a vector.
    pub(super) fn element(
        &mut self,
        memory: usize,
        places: &[Id],
        of: &Type,
    ) -> Result<Id, Refused> {
        let (Type::Vector(lanes, _), Some((place, before))) = (of, places.split_last()) else {
            return self.placed(memory, places);
        };
        let count = i64::try_from(*lanes).unwrap_or(i64::MAX);
        let end = match self.strip_end(*place, count) {
            Some(end) => end,
            None => self.plus(*place, count)?,
        };
        let lanes = self.lanes(count, end, *place)?;
        self.placed(memory, &[before, &[lanes]].concat())
    }

    /// Returns so many lanes, those before an end.
    pub(super) fn lanes(&mut self, count: i64, end: Id, place: Id) -> Result<Id, Refused> {
        let count = self.terms.int(count);
        self.form("lanes", &[("count", count), ("end", end), ("place", place)])
    }

    /// Returns an address in a memory.
    pub(super) fn placed(&mut self, memory: usize, places: &[Id]) -> Result<Id, Refused> {
        let root = self.address_of(memory)?;
        places.iter().try_fold(root, |address, place| {
            self.form("element", &[("address", address), ("place", *place)])
        })
    }

    /// Returns the end of a loop whose variable is the place, if its strips of so many lanes are all whole: the form in
    /// which programs write lanes that are all active.
    fn strip_end(&self, place: Id, lanes: i64) -> Option<Id> {
        let &[variable] = egg::Language::children(&self.terms[place]) else { return None };
        let &[_, lo, hi, step] = egg::Language::children(&self.terms[variable]) else {
            return None;
        };
        let length = self.whole(hi)?.checked_sub(self.whole(lo)?)?;
        (self.whole(step)? == lanes && length % lanes == 0).then_some(hi)
    }

    /// Returns the address that an operation names: operands behind the memory, through a map if there is one.
    fn address(
        &mut self,
        operation: &Operation<'a>,
        at: usize,
        of: &Type,
    ) -> Result<(usize, Id), Refused> {
        let memory = self.memory(self.operand(operation, at)?)?;
        let operands = &operation.operands[at + 1..];
        let places = match operation.maps.first() {
            Some(map) => self.mapped(map, operands, &operation.at)?,
            None => operands.iter().map(|place| self.index(place)).collect::<Result<_, _>>()?,
        };
        let rank = self.memories[memory].tensor.shape.len();
        if places.len() != rank {
            let message =
                format!("memory of {rank} dimensions has {rank} indices, not {}", places.len());
            return Err(self.refused(message, &operation.operands[at].1));
        }
        if rank == 0 && matches!(of, Type::Vector(..)) {
            return Err(self.refused("a run of elements needs a dimension", &operation.at));
        }
        Ok((memory, self.element(memory, &places, of)?))
    }

    /// Lowers a load.
    pub(super) fn load(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let said = match &operation.ins {
            Some(ins) => ins.first(),
            None => operation.types.first(),
        };
        let elem = self.memory_type(self.operand(operation, 0)?, said)?;
        let of = match operation.types.last() {
            Some(of @ Type::Vector(_, own)) if *own == elem => of.clone(),
            Some(Type::Vector(..)) => {
                return Err(self.refused("the vector's elements differ", &operation.at));
            }
            _ => Type::Scalar(elem),
        };
        let (memory, address) = self.address(operation, 0, &of)?;
        let loaded = self.loaded(memory);
        self.loads.extend_from_slice(&loaded);
        let term = self.form("load", &[("address", address)])?;
        self.result(operation, of, term)
    }

    /// Lowers a store.
    pub(super) fn store(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let operand = self.operand(operation, 0)?;
        let (value, of) = self.number(operand)?;
        self.stored(operation, operand, (value, of))
    }

    /// Lowers a store of a value.
    pub(super) fn stored(
        &mut self,
        operation: &Operation<'a>,
        operand: &Use,
        (value, of): (Id, Type),
    ) -> Result<(), Refused> {
        let said = match &operation.ins {
            Some(ins) => ins.get(1),
            None => operation.types.first(),
        };
        let elem = self.memory_type(self.operand(operation, 1)?, said)?;
        self.same(operand, &of, &of.of(elem))?;
        self.all_lanes(&operand.1)?;
        let (memory, address) = self.address(operation, 1, &of)?;
        self.put(memory, address, value)
    }

    /// Stores a value. What an operation adds to the element is accumulated, term by term where the terms read nothing of
    /// this memory.
    pub(super) fn put(&mut self, memory: usize, address: Id, value: Id) -> Result<(), Refused> {
        self.clock += 1;
        self.memories[memory].written = self.clock;
        let own = self.form("load", &[("address", address)])?;
        let (mut rest, mut parts) = (value, Vec::new());
        let fold = self.fold_of(value);
        while rest != own {
            let next = self.terms.get(rest).and_then(|node| match egg::Language::children(node) {
                &[a, b] if fold.is_some() && self.fold_of(rest) == fold => Some((a, b)),
                _ => None,
            });
            let Some((a, b)) = next else { break };
            let (inner, part) = if b == own { (b, a) } else { (a, b) };
            rest = inner;
            parts.push(part);
        }
        let root = self.address_of(memory)?;
        let apart = parts.len() == 1 || parts.iter().all(|part| !self.mentions(*part, root));
        match fold {
            Some(fold) if rest == own && apart => {
                let fold = self.word(fold);
                for part in parts.into_iter().rev() {
                    let parts = [("fold", fold), ("address", address), ("value", part)];
                    self.state("accumulate", &parts)?;
                }
                Ok(())
            }
            _ => self.state("store", &[("address", address), ("value", value)]),
        }
    }

    /// Returns the reduction that folds with the operation of a term.
    pub(super) fn fold_of(&self, term: Id) -> Option<&'static str> {
        match self.terms[term].head() {
            Head::Op(name) => self.rows.fold_of(name.as_str()),
            Head::Int(_) | Head::Real(_) => None,
        }
    }

    /// True if a term mentions another, or is too large to tell.
    fn mentions(&self, term: Id, other: Id) -> bool {
        let (mut open, mut seen) = (vec![term], 0);
        while let Some(next) = open.pop() {
            seen += 1;
            if next == other || seen > LOOKED_AT {
                return true;
            }
            let node: &Node = &self.terms[next];
            open.extend(egg::Language::children(node));
        }
        false
    }

    /// Declares memory of the kernel's own for a value. Its name says its type, so that two kernels give it one type.
    pub(super) fn own_memory(&mut self, of: &Type) -> Result<usize, Refused> {
        let elem = of.elem().unwrap_or(Elem::Index);
        let shape = match of {
            Type::Vector(lanes, _) => vec![Extent::Const(*lanes)],
            _ => Vec::new(),
        };
        Ok(self.scratch(elem, shape, None))
    }

    /// Declares memory of the kernel's own.
    pub(super) fn scratch(
        &mut self,
        elem: Elem,
        shape: Vec<Extent>,
        result: Option<usize>,
    ) -> usize {
        let extents: Vec<String> = shape.iter().map(Extent::to_string).collect();
        let kind = match extents.as_slice() {
            [] => elem.dtype().to_string(),
            extents => format!("{}.{}", elem.dtype(), extents.join("x").replace('+', "_")),
        };
        let name = match result {
            Some(at) => self.names.named(&format!("result{at}")),
            None => {
                let count = (1..).find(|n| !self.names.has(&format!("{kind}.{n}")));
                format!("{kind}.{}", count.unwrap_or(0))
            }
        };
        self.names.take(&name);
        let mut tensor = scratch(name, elem, shape);
        if result.is_some() {
            tensor.purpose = Purpose::Output;
        }
        self.declared(tensor, true);
        self.memories.len() - 1
    }

    /// Stores a value in memory of its own.
    pub(super) fn keep(&mut self, memory: usize, of: &Type, value: Id) -> Result<(), Refused> {
        let address = self.whole_of(memory, of)?;
        self.put(memory, address, value)
    }

    /// Returns the value in memory of its own.
    pub(super) fn kept(&mut self, memory: usize, of: &Type) -> Result<Id, Refused> {
        let address = self.whole_of(memory, of)?;
        self.form("load", &[("address", address)])
    }

    /// Returns the address of a value in memory of its own.
    fn whole_of(&mut self, memory: usize, of: &Type) -> Result<Id, Refused> {
        let places = match of {
            Type::Vector(..) => vec![self.terms.int(0)],
            _ => Vec::new(),
        };
        self.element(memory, &places, of)
    }
}
