//! A program made flat: what the units run, with every name, type and scope checked once.
//!
//! The compilers are in the submodules; whatever passes them cannot index outside a list when run.

mod access;
mod execute;
mod layout;

pub(crate) use access::{AccessCode, Kind, Step, StreamCode, UnitCode, compile_access};
pub(crate) use execute::{ExecuteCode, Inst, Reg, compile_execute};

use crate::data::Held;
use crate::error::SimError;
use ember_targets::dlc::{Addr, Lanes, Program, SizeId, TensorId, Type};
use ember_targets::scalar::DType;

/// Lanes that one value may have: more than any machine's registers or storage hold.
const MAX_LANES: u32 = 1 << 16;

/// An address: scalar indices, and for a run its lanes. Indices are streams or registers.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub(crate) tensor: usize,
    pub(crate) index: Vec<u32>,
    /// Lanes of a run, 1 for an element.
    pub(crate) count: u32,
    /// The bound of a run's active lanes.
    pub(crate) limit: Option<u32>,
    /// Operations that compute it, a mask included.
    pub(crate) uops: u32,
    /// Which stream or statement it belongs to, for messages.
    pub(crate) place: String,
}

/// Where an address points once its indices are known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located {
    /// Row-major position of lane 0.
    pub(crate) position: u64,
    /// Active lanes; they come first.
    pub(crate) active: usize,
    /// Address of lane 0.
    pub(crate) address: u64,
}

impl Address {
    /// Evaluates the address. `value` gives the value of an index.
    #[inline(always)]
    pub(crate) fn locate(
        &self,
        tensors: &[Held],
        value: impl Fn(u32) -> i64,
    ) -> Result<Located, SimError> {
        let tensor = &tensors[self.tensor];
        let base = self.index.last().map_or(0, |&i| value(i));
        let mut active = i64::from(self.count);
        if let Some(limit) = self.limit {
            active = value(limit).saturating_sub(base).clamp(0, active);
        }
        if active == 0 {
            // Inactive lanes do not fault, so the other indices are not looked at.
            return Ok(Located { position: 0, active: 0, address: tensor.base });
        }
        let mut position = 0u64;
        for (&i, &extent) in self.index.iter().zip(&tensor.shape) {
            // A negative index is above every extent as an unsigned number.
            let i = value(i) as u64;
            if i >= extent {
                return Err(self.outside(tensor, &value, active));
            }
            position = position * extent + i;
        }
        if active > 1 && base as u64 + active as u64 > tensor.shape[self.index.len() - 1] {
            return Err(self.outside(tensor, &value, active));
        }
        let address = tensor.base + position * tensor.element_bytes;
        Ok(Located { position, active: active as usize, address })
    }

    #[cold]
    fn outside(&self, tensor: &Held, value: &impl Fn(u32) -> i64, active: i64) -> SimError {
        let last = self.index.len() - 1;
        let mut found = (0, 0, 0);
        for (dimension, (&i, &extent)) in self.index.iter().zip(&tensor.shape).enumerate() {
            let mut index = value(i);
            if dimension == last && index >= 0 {
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

/// What both compilers ask about the program.
#[derive(Clone, Copy)]
struct Context<'a> {
    program: &'a Program,
    sizes: &'a [i64],
}

impl Context<'_> {
    fn size(&self, id: SizeId) -> Result<i64, SimError> {
        let size = self.sizes.get(id.index()).copied();
        size.ok_or_else(|| SimError::invalid("a size is not declared"))
    }

    /// The type of what an address reads or writes; checks the tensor and the rank.
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
            Some(decl) if !decl.writable => {
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

/// An index or a bound: a scalar integer.
fn check_index(ty: Type, place: &str) -> Result<(), SimError> {
    if ty.lanes == 1 && matches!(ty.dtype, DType::I32 | DType::I64) {
        return Ok(());
    }
    Err(SimError::invalid(format!("{place} is indexed or bounded by something not an integer")))
}

/// An address whose indices have been translated.
fn address<I>(
    addr: &Addr<I>,
    place: &str,
    uops: u32,
    index: Vec<u32>,
    limit: Option<u32>,
) -> Address {
    let count = addr.lanes.as_ref().map_or(1, |l: &Lanes<I>| l.count);
    Address { tensor: addr.tensor.index(), index, count, limit, uops, place: place.to_string() }
}
