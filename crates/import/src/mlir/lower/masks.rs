//! Lanes of which some are inactive. An inactive lane of a program has no value, so a value that is loaded under a mask may
//! only be stored under the same mask.

use super::{Helped, Lowering, Meaning, Refused};
use crate::mlir::source::{Operation, Use};
use crate::mlir::types::{Elem, Type};
use egg::{Id, Language};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

/// A mask of lanes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mask {
    /// So many lanes from the first one are active.
    Count(Id),
    /// The lanes of a run that starts at a place are active before an end.
    Before {
        /// The place of the first lane.
        place: Id,
        /// The end.
        end: Id,
    },
}

/// The number of active lanes, as a sum of terms with factors and a number. It wraps, as the terms do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Active {
    parts: Rc<[(Id, i64)]>,
    number: i64,
}

/// The most terms of a sum that are open at a time.
const LARGEST: usize = 64;

impl<'a> Lowering<'_, 'a> {
    /// Gives the operands of the current operation lanes, which must be those that they have.
    pub(super) fn has_lanes(
        &mut self,
        lanes: Option<Active>,
        at: &Range<usize>,
    ) -> Result<(), Refused> {
        let Some(lanes) = lanes else { return Ok(()) };
        match self.active.get_or_insert_with(|| lanes.clone()) {
            own if *own == lanes => Ok(()),
            _ => Err(self.refused("values with the lanes of two masks", at)),
        }
    }

    /// Returns the number of lanes of a run that are active; `None` for all of them.
    fn active(&self, end: Id, place: Id, count: u64) -> Option<Active> {
        let (mut number, mut parts) = (0_i64, BTreeMap::<Id, i64>::new());
        let mut open = vec![(end, 1_i64), (place, -1)];
        while let Some((term, times)) = open.pop() {
            let node = &self.terms[term];
            let form = node.name().and_then(|name| self.rows.form_of(name));
            match (self.whole(term), form, node.children()) {
                (Some(n), ..) => number = number.wrapping_add(n.wrapping_mul(times)),
                (_, Some("sum"), &[a, b]) if open.len() < LARGEST => {
                    open.extend([(a, times), (b, times)])
                }
                (_, Some("difference"), &[a, b]) if open.len() < LARGEST => {
                    open.extend([(a, times), (b, times.wrapping_neg())]);
                }
                _ => {
                    let own = parts.entry(term).or_default();
                    *own = own.wrapping_add(times);
                }
            }
        }
        parts.retain(|_, times| *times != 0);
        let all = parts.is_empty() && u64::try_from(number).is_ok_and(|n| n >= count);
        (!all).then(|| Active { parts: parts.into_iter().collect(), number })
    }

    /// Checks that the operands of the current operation have all lanes.
    pub(super) fn all_lanes(&mut self, at: &Range<usize>) -> Result<(), Refused> {
        match self.active.take() {
            None => Ok(()),
            Some(_) => Err(self
                .refused("a value without all lanes", at)
                .with_help_boxed("what is loaded under a mask is stored under the same mask")),
        }
    }

    /// Lowers a mask: so many lanes, or those of a run before an end.
    pub(super) fn mask(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let mut operands = Vec::new();
        for operand in &operation.operands {
            operands.push(self.index(operand)?);
        }
        let mask = match operands[..] {
            [count] => Mask::Count(count),
            [place, lo, end, step] if self.whole(lo) == Some(0) && self.whole(step) == Some(1) => {
                Mask::Before { place, end }
            }
            _ => {
                let message = "a mask is a number of lanes, or those of a run from 0 by 1";
                return Err(self.refused(message, &operation.at));
            }
        };
        let (Some(of @ Type::Vector(_, Elem::Bit)), [result]) =
            (operation.types.last(), &operation.results[..])
        else {
            return Err(self.refused("a mask is a vector of i1", &operation.at));
        };
        self.types[*result] = Some(of.clone());
        self.meanings[*result] = Some(Meaning::Mask(mask));
        Ok(())
    }

    /// Returns the end of the active lanes of a run.
    fn end(&mut self, mask: Mask, place: Id, at: &Range<usize>) -> Result<Id, Refused> {
        match mask {
            Mask::Before { place: own, end } if own == place => Ok(end),
            Mask::Before { .. } => Err(self.refused("the mask is that of another run", at)),
            Mask::Count(count) => {
                let node = &self.terms[count];
                let difference = node.name().and_then(|name| self.rows.form_of(name));
                match (difference, node.children()) {
                    (Some("difference"), &[end, own]) if own == place => Ok(end),
                    _ => self.form("sum", &[("first", place), ("second", count)]),
                }
            }
        }
    }

    /// Returns the address of a run under a mask; its lanes are those of the current operation.
    fn masked(
        &mut self,
        (memory, at): &Use,
        places: &[Use],
        (mask, masked): &Use,
        of: &Type,
    ) -> Result<(usize, Id), Refused> {
        let memory = self.memory(&(*memory, at.clone()))?;
        let (Some(Meaning::Mask(mask)), Some(bits)) = (&self.meanings[*mask], &self.types[*mask])
        else {
            return Err(self.refused("a mask that `create_mask` makes is read", masked));
        };
        let (mask, Type::Vector(count, _)) = (*mask, of) else {
            return Err(self.refused("lanes are masked", masked));
        };
        if *bits != of.of(Elem::Bit) {
            return Err(self.refused(format!("a mask of {bits} for lanes of {of}"), masked));
        }
        let mut indices = Vec::new();
        for place in places {
            indices.push(self.index(place)?);
        }
        let rank = self.memories[memory].tensor.shape.len();
        let Some((place, before)) = indices.split_last().filter(|_| indices.len() == rank) else {
            let message = format!("memory of {rank} dimensions has {rank} indices");
            return Err(self.refused(message, at));
        };
        let end = self.end(mask, *place, masked)?;
        let lanes = self.lanes(i64::try_from(*count).unwrap_or(i64::MAX), end, *place)?;
        self.has_lanes(self.active(end, *place, *count), masked)?;
        Ok((memory, self.placed(memory, &[before, &[lanes]].concat())?))
    }

    /// Lowers a load under a mask. What inactive lanes are given instead does not matter, since nothing reads it.
    pub(super) fn masked_load(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let [memory, places @ .., mask, _] = &operation.operands[..] else {
            return Err(self.refused("a load under a mask has a mask", &operation.at));
        };
        let said = operation.ins.as_ref().map_or(operation.types.first(), |ins| ins.first());
        let elem = self.memory_type(memory, said)?;
        let of = match operation.types.last() {
            Some(of @ Type::Vector(_, own)) if *own == elem => of.clone(),
            _ => return Err(self.refused("lanes of the memory's type are loaded", &operation.at)),
        };
        let (memory, address) = self.masked(memory, places, mask, &of)?;
        self.loaded_from(operation, memory, address, of)
    }

    /// Lowers a store under a mask.
    pub(super) fn masked_store(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let [memory, places @ .., mask, stored] = &operation.operands[..] else {
            return Err(self.refused("a store under a mask has a mask", &operation.at));
        };
        let said = operation.ins.as_ref().map_or(operation.types.first(), |ins| ins.first());
        let elem = self.memory_type(memory, said)?;
        let (value, of) = self.number(stored)?;
        self.same(stored, &of, &of.of(elem))?;
        let (memory, address) = self.masked(memory, places, mask, &of)?;
        self.put(memory, address, value)
    }

    /// Lowers a stream of lanes.
    pub(super) fn stream_load(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let [memory, places @ ..] = &operation.operands[..] else {
            return Err(self.refused("a stream of a memory", &operation.at));
        };
        let said = operation.ins.as_ref().map_or(operation.types.first(), |ins| ins.first());
        let elem = self.memory_type(memory, said)?;
        let Some(of @ Type::Vector(count, _)) =
            operation.types.last().filter(|of| of.elem() == Some(elem))
        else {
            return Err(self.refused("lanes of the memory's type are loaded", &operation.at));
        };
        let (memory, address) = self.lanes_of(operation, (memory, places), *count)?;
        self.loaded_from(operation, memory, address, of.clone())
    }

    /// Lowers a store of the access unit.
    pub(super) fn unit_store(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let [stored, memory, places @ ..] = &operation.operands[..] else {
            return Err(self.refused("a store has a value and a memory", &operation.at));
        };
        let said = operation.ins.as_ref().and_then(|ins| ins.get(1));
        let elem = self.memory_type(memory, said)?;
        let (value, of) = self.number(stored)?;
        self.same(stored, &of, &of.of(elem))?;
        let (memory, address) = match of {
            Type::Vector(count, _) => self.lanes_of(operation, (memory, places), count)?,
            _ => {
                let indices: Vec<Id> =
                    places.iter().map(|place| self.index(place)).collect::<Result<_, _>>()?;
                let memory = self.memory(memory)?;
                (memory, self.placed(memory, &indices)?)
            }
        };
        self.put(memory, address, value)
    }

    /// Returns the memory and address of lanes, which end below the last operand if the operation says so, else with the
    /// loop that the last index counts.
    fn lanes_of(
        &mut self,
        operation: &Operation<'a>,
        (memory, places): (&Use, &[Use]),
        count: u64,
    ) -> Result<(usize, Id), Refused> {
        let at = &operation.at;
        let mut indices: Vec<Id> =
            places.iter().map(|place| self.index(place)).collect::<Result<_, _>>()?;
        let memory = self.memory(memory)?;
        let end = match operation.attribute("limited") {
            Some("true") => indices.pop(),
            _ => indices.last().and_then(|place| self.loop_end(*place)),
        };
        let (Some(end), Some((place, before))) = (end, indices.split_last()) else {
            let message = "the last index of lanes is the variable of a loop, which masks them";
            return Err(self.refused(message, at));
        };
        let lanes = self.lanes(i64::try_from(count).unwrap_or(i64::MAX), end, *place)?;
        self.has_lanes(self.active(end, *place, count), at)?;
        Ok((memory, self.placed(memory, &[before, &[lanes]].concat())?))
    }

    /// Returns the end of the loop whose variable a term is.
    fn loop_end(&self, place: Id) -> Option<Id> {
        let &[variable] = self.terms[place].children() else { return None };
        match self.terms[variable].children() {
            &[_, _, hi, _] => Some(hi),
            _ => None,
        }
    }

    /// Gives the result of a load its meaning.
    fn loaded_from(
        &mut self,
        operation: &Operation<'a>,
        memory: usize,
        address: Id,
        of: Type,
    ) -> Result<(), Refused> {
        let loaded = self.loaded(memory);
        self.loads.extend_from_slice(&loaded);
        let term = self.form("load", &[("address", address)])?;
        self.result(operation, of, term)
    }
}
