//! The elements of tensors that a program accesses in each row.

use super::Rows;
use ember_model::data::Instance;
use ember_sim::Visit;
use ember_targets::dlc::{Dim, Program, TensorId};
use ember_targets::tensor::Tensor;
use ember_values::scalar::Scalar;
use std::ops::Range;

/// The elements that a program accesses in each row: its own of tensors with rows or lookups, and the rows that it looks up.
pub struct Accesses<'a> {
    own: Vec<(TensorId, Each<'a>)>,
    looked_up: Vec<LookedUp<'a>>,
}

/// The tensors in which rows are looked up by some indices.
struct LookedUp<'a> {
    indices: &'a Tensor,
    each: Each<'a>,
    /// The tensors with the elements of one of their rows.
    read: Vec<(TensorId, u64)>,
}

/// The elements of a tensor that a row has.
#[derive(Clone, Copy)]
struct Each<'a> {
    /// The elements of each row, or of each lookup.
    width: u64,
    /// The offsets that say which lookups are a row's, if elements are those of lookups.
    offsets: Option<&'a Tensor>,
}

impl Each<'_> {
    fn of(self, row: u64) -> Range<u64> {
        let end = |offsets: &Tensor, at: u64| {
            offsets.get(at).and_then(Scalar::as_i64).and_then(|end| u64::try_from(end).ok())
        };
        let Range { start, end } = match self.offsets {
            None => row..row + 1,
            Some(offsets) => {
                let start = end(offsets, row).unwrap_or(0);
                start..end(offsets, row + 1).unwrap_or(start)
            }
        };
        start * self.width..end * self.width
    }
}

impl<'a> Accesses<'a> {
    /// Finds those of a program on some data.
    pub fn of(rows: &Rows, program: &Program, instance: &'a Instance) -> Accesses<'a> {
        let width = |tensor: &Tensor| tensor.shape.iter().skip(1).product::<u64>();
        let named = |name: &String| {
            let id = program.ids().find(|id| program.tensors[id.index()].name == *name)?;
            Some((id, width(instance.tensors.get(name)?)))
        };
        let counts_rows = rows.sizes_of(program);
        let each = |id: TensorId| {
            let decl = &program.tensors[id.index()];
            let Some(Dim::Size(first)) = decl.shape.first() else { return None };
            let width = width(instance.tensors.get(&decl.name)?);
            if counts_rows.iter().any(|(size, _)| size == first) {
                return Some(Each { width, offsets: None });
            }
            let offsets = rows.lookups.get(program.sizes.get(first.index())?)?;
            Some(Each { width, offsets: Some(instance.tensors.get(offsets)?) })
        };
        let own = program.ids().filter(|id| {
            let name = &program.tensors[id.index()].name;
            !rows.looked_up.contains(name)
        });
        let looked_up = rows.uses.iter().filter_map(|(indices, read)| {
            let each = each(named(indices)?.0)?;
            let read = read.iter().filter_map(named).collect();
            Some(LookedUp { indices: instance.tensors.get(indices)?, each, read })
        });
        Accesses {
            own: own.filter_map(|id| Some((id, each(id)?))).collect(),
            looked_up: looked_up.collect(),
        }
    }

    /// Calls `visit` with the elements of some rows, in the order of the rows.
    pub fn each(&self, rows: Range<u64>, visit: &mut Visit<'_>) {
        for row in rows {
            for (tensor, each) in &self.own {
                visit(*tensor, each.of(row));
            }
            for LookedUp { indices, each, read } in &self.looked_up {
                for at in each.of(row) {
                    let index = indices.get(at).and_then(Scalar::as_i64);
                    let Some(index) = index.and_then(|index| u64::try_from(index).ok()) else {
                        continue;
                    };
                    for (tensor, width) in read {
                        visit(*tensor, index * width..(index + 1) * width);
                    }
                }
            }
        }
    }
}
