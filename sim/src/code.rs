//! The flat form of a program that the units run; every name, type and scope is checked once, on compilation.
//!
//! The submodules contain the compilers. A program that passes them cannot index outside a list when run.

mod access;
mod execute;
mod expression;
mod layout;
mod matrix;

pub(crate) use access::{
    AccessCode, FetcherCode, Kind, Step, StreamCode, UnitCode, compile_access,
};
pub(crate) use execute::{ExecuteCode, Inst, Place, Reg, compile_execute};
pub(crate) use matrix::{Chosen, Product, Size};

use crate::Values;
use crate::cores::Division;
use crate::data::Held;
use crate::error::SimError;
use ember_targets::dlc::{Addr, Dim, Lanes, Program, SizeId, TensorId, Type};
use std::ops::Range;

/// The maximum number of lanes of one value: more than any machine's registers or storage hold.
const MAX_LANES: u32 = 1 << 16;

/// An address: scalar indices, and the lanes of a run. `I` is a stream or a register.
#[derive(Clone, Debug)]
pub(crate) struct Address<I> {
    pub(crate) tensor: usize,
    /// The row that the first index counts from: the first of the part that the program runs on, or 0.
    pub(crate) from: u64,
    /// The column that the last index counts from: the first of the part, or 0.
    pub(crate) column: u64,
    /// The indices; for a run, followed by the bound of its active lanes.
    pub(crate) index: Vec<I>,
    /// True for a run.
    pub(crate) run: bool,
    /// The number of lanes of a run, 1 for an element.
    pub(crate) count: u32,
    /// The number of operations that compute it, including a mask.
    pub(crate) uops: u32,
    /// The stream or statement that contains it, for messages.
    pub(crate) place: String,
}

/// An address after its indices are known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located {
    /// Row-major position of lane 0.
    pub(crate) position: u64,
    /// The number of active lanes; they come first.
    pub(crate) active: usize,
    /// The byte address of lane 0.
    pub(crate) address: u64,
    /// The byte address after the last active lane.
    pub(crate) end: u64,
}

impl Located {
    /// Returns an address of which nothing is accessed.
    pub(crate) fn nowhere(tensor: &Held) -> Located {
        Located { position: 0, active: 0, address: tensor.base, end: tensor.base }
    }
}

impl<I: Copy> Address<I> {
    /// Evaluates the address. `value` returns the value of an index, given its position and itself.
    #[inline(always)]
    pub(crate) fn locate(
        &self,
        tensors: &[Held],
        value: impl Fn(usize, I) -> i64,
    ) -> Result<Located, SimError> {
        let tensor = &tensors[self.tensor];
        let mut active = 1;
        if self.run {
            active = self.active(&value);
            if active == 0 {
                // Inactive lanes do not fault, so the other indices are not checked.
                return Ok(Located::nowhere(tensor));
            }
        }
        let (mut position, mut room, mut from) = (0u64, 1, self.from);
        for (n, (&i, &extent)) in self.index.iter().zip(&tensor.shape).enumerate() {
            // As an unsigned number, a negative index is above every extent.
            let i = (value(n, i) as u64).wrapping_add(from);
            from = 0;
            if i >= extent {
                return Err(self.outside(tensor, value));
            }
            position = position * extent + i;
            room = extent - i;
        }
        if active as u64 + self.column > room {
            return Err(self.outside(tensor, value));
        }
        position += self.column;
        let (address, end) = tensor.bytes(position, active as u64);
        Ok(Located { position, active: active as usize, address, end })
    }

    /// Returns the number of active lanes: those below the bound.
    #[inline(always)]
    fn active(&self, value: &impl Fn(usize, I) -> i64) -> i64 {
        match self.index[..] {
            [.., base, limit] if self.run => {
                let last = self.index.len() - 1;
                let lanes = value(last, limit).saturating_sub(value(last - 1, base));
                lanes.clamp(0, i64::from(self.count))
            }
            _ => 1,
        }
    }

    #[cold]
    fn outside(&self, tensor: &Held, value: impl Fn(usize, I) -> i64) -> SimError {
        let active = self.active(&value);
        let mut found = (0, 0, 0);
        for (dimension, (&i, &extent)) in self.index.iter().zip(&tensor.shape).enumerate() {
            let mut index = value(dimension, i);
            if dimension + 1 == tensor.shape.len() && index >= 0 {
                index = index.saturating_add(active - 1);
            }
            if index as u64 >= extent {
                found = (dimension, index, extent);
                break;
            }
        }
        SimError::OutOfBounds {
            tensor: tensor.name.clone(),
            place: self.place.clone(),
            index: found.1,
            dimension: found.0,
            extent: found.2,
        }
    }
}

/// The facts about a program that both compilers need.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) program: &'a Program,
    /// The values of sizes; of those that count rows, the rows that the program runs on.
    pub(crate) sizes: &'a [i64],
    /// The division, which says what counts rows, and the first row that the program runs on.
    pub(crate) division: &'a Division,
    pub(crate) first: u64,
    /// The columns that the program runs on, if these are not all.
    pub(crate) columns: Option<&'a Range<u64>>,
    /// The values that the run computes.
    pub(crate) values: Values,
}

impl Context<'_> {
    /// Returns the number of lanes of a value that the run computes.
    fn computed(&self, ty: Type) -> usize {
        if self.values.has(ty.dtype) { ty.lanes as usize } else { 0 }
    }

    fn size(&self, id: SizeId) -> Result<i64, SimError> {
        let size = self.sizes.get(id.index()).copied();
        size.ok_or_else(|| SimError::invalid("a size is not declared"))
    }

    /// Returns the row of a tensor that an index of its first extent counts from. Where rows are looked up as well, only the
    /// variable of a loop over the program's own rows counts from the first of these.
    fn from(&self, tensor: TensorId, own: impl FnOnce() -> bool) -> u64 {
        let decl = self.program.tensors.get(tensor.index());
        let size = match decl.and_then(|decl| decl.shape.first()) {
            Some(Dim::Size(size)) => *size,
            _ => return 0,
        };
        let is_own = || !self.division.looked_up.contains(&tensor) || own();
        if self.division.counts(size).is_some() && is_own() { self.first } else { 0 }
    }

    /// Returns the column of a tensor that an index of its last extent counts from.
    fn column(&self, tensor: TensorId) -> u64 {
        let sliced = self.columns.filter(|_| self.division.sliced.contains(&tensor));
        sliced.map_or(0, |columns| columns.start)
    }

    /// Returns the type of the data at an address; checks the tensor and the rank.
    fn addressed<I>(&self, addr: &Addr<I>, place: &str) -> Result<Type, SimError> {
        let decl = self.program.tensors.get(addr.tensor.index());
        let decl = decl.ok_or_else(|| {
            SimError::invalid(format!("{place} names a tensor that is not declared"))
        })?;
        if addr.index.len() != decl.shape.len() {
            let (n, m) = (decl.shape.len(), addr.index.len());
            let name = &decl.name;
            return Err(SimError::invalid(format!("{place} indexes `{name}` of rank {n} by {m}")));
        }
        let lanes = addr.lanes.as_ref().map_or(1, |l| l.count);
        if addr.lanes.is_some() && addr.index.is_empty() {
            return Err(SimError::invalid(format!("{place} takes a run of a tensor of rank 0")));
        }
        check_lanes(lanes, place)?;
        Ok(Type { dtype: decl.dtype, lanes })
    }

    fn writable(&self, tensor: TensorId, place: &str) -> Result<(), SimError> {
        match self.program.tensors.get(tensor.index()) {
            Some(decl) if !decl.writable() => {
                let name = &decl.name;
                Err(SimError::invalid(format!("{place} writes `{name}`, which is read-only")))
            }
            _ => Ok(()),
        }
    }
}

fn check_lanes(lanes: u32, place: &str) -> Result<(), SimError> {
    match lanes {
        1..=MAX_LANES => Ok(()),
        0 => Err(SimError::invalid(format!("{place} has no lanes"))),
        n => {
            Err(SimError::limit(format!("{place} has {n} lanes, at most {MAX_LANES} are possible")))
        }
    }
}

/// Checks an index or a bound: it must be a scalar integer.
fn check_index(ty: Type, place: &str) -> Result<(), SimError> {
    if ty.lanes == 1 && !ty.dtype.is_float() {
        return Ok(());
    }
    Err(SimError::invalid(format!("{place} is indexed or bounded by something not an integer")))
}

/// Builds an address from its translated indices, including the bound of a run.
fn address<I, J>(
    addr: &Addr<I>,
    place: &str,
    (from, column): (u64, u64),
    uops: u32,
    index: Vec<J>,
) -> Address<J> {
    let count = addr.lanes.as_ref().map_or(1, |l: &Lanes<I>| l.count);
    let (tensor, run) = (addr.tensor.index(), addr.lanes.is_some());
    Address { tensor, from, column, index, run, count, uops, place: place.to_string() }
}
