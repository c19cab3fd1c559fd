//! Operations that name every dimension they work on, as StableHLO's do.

use super::{Builder, Built, misfit};
use crate::error::Problem;
use crate::graph::{Elem, Id};
use crate::words::MUL;
use ember_model::Extent;
use ember_values::scalar::DType;
use itertools::Itertools;

/// Which dimensions a lookup is of.
pub(crate) struct Lookup {
    /// The dimensions of the result that are whole ones.
    pub(crate) offsets: Vec<i64>,
    /// The dimensions that are left out.
    pub(crate) collapsed: Vec<i64>,
    /// The dimensions of the operand and of the positions that are one.
    pub(crate) batch: (Vec<i64>, Vec<i64>),
    /// The dimensions in which the elements of a position are.
    pub(crate) mapped: Vec<i64>,
    /// The dimension of the positions that holds one for each dimension.
    pub(crate) vector: i64,
    /// The extents of what is looked up at each position.
    pub(crate) sizes: Vec<i64>,
}

impl Builder {
    /// Dimensions of a value put at places of a shape, and repeated along all others.
    pub(crate) fn broadcast_in(&mut self, x: Id, dims: &[i64], shape: Vec<Extent>) -> Built {
        let own = self.shape(x);
        if own.len() != dims.len() {
            return Err(misfit("as many dimensions as the operand has are placed"));
        }
        let mut places = Vec::new();
        for dim in dims {
            places.push(self.axis(*dim, shape.len())?);
        }
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|at| places[*at]);
        let x = self.permute(x, order)?;
        let mut spread = vec![Extent::Const(1); shape.len()];
        for (place, extent) in places.iter().zip(&own) {
            spread[*place] = extent.clone();
        }
        let x = self.reshape(x, spread)?;
        self.expand(x, shape)
    }

    /// Parts of every dimension.
    pub(crate) fn slices(&mut self, x: Id, first: &[i64], end: &[i64], step: &[i64]) -> Built {
        let mut x = x;
        for (axis, ((first, end), step)) in first.iter().zip(end).zip(step).enumerate() {
            x = self.slice(x, axis as i64, *first, *end, *step)?;
        }
        Ok(x)
    }

    /// The place in one dimension, everywhere.
    pub(crate) fn iota_along(&mut self, axis: i64, shape: Vec<Extent>, elem: Elem) -> Built {
        let axis = self.axis(axis, shape.len())?;
        let n = shape[axis].constant().ok_or_else(|| misfit("a dimension of unknown extent"))?;
        let places = self.iota(0, 1, n, Elem::Of(DType::I64))?;
        let places = self.cast(places, elem)?;
        self.broadcast_in(places, &[axis as i64], shape)
    }

    /// A product over some dimensions of each factor, or of none; the batch dimensions come first.
    pub(crate) fn dot(
        &mut self,
        a: Id,
        b: Id,
        batch: (&[i64], &[i64]),
        over: (&[i64], &[i64]),
    ) -> Built {
        let sum = !over.0.is_empty();
        let (m, m_rest) = self.factor(a, batch.0, over.0, sum)?;
        let (n, n_rest) = self.factor(b, batch.1, over.1, sum)?;
        let outer = self.shape(a);
        let outer: Result<Vec<Extent>, Problem> = (batch.0.iter())
            .map(|axis| self.axis(*axis, outer.len()).map(|at| outer[at].clone()))
            .collect();
        let shape = outer?.into_iter().chain(m_rest).chain(n_rest).collect();
        let product = match sum {
            true => {
                let n = self.transpose(n, -2, -1)?;
                self.product(m, n)?
            }
            // Nothing is summed up: every element of one factor times every one of the other.
            false => {
                let rank = self.shape(n).len();
                let (m, n) = (self.unsqueeze(m, rank)?, self.unsqueeze(n, rank - 1)?);
                self.zip(MUL, m, n)?
            }
        };
        self.reshape(product, shape)
    }

    /// Brings a factor into the order batch, free dimensions as one, and summed ones as one if there are any; returns the
    /// free ones.
    fn factor(
        &mut self,
        x: Id,
        batch: &[i64],
        over: &[i64],
        sum: bool,
    ) -> Result<(Id, Vec<Extent>), Problem> {
        let own = self.shape(x);
        let places = |axes: &[i64]| -> Result<Vec<usize>, Problem> {
            axes.iter().map(|axis| self.axis(*axis, own.len())).collect()
        };
        let (batch, over) = (places(batch)?, places(over)?);
        let free: Vec<usize> =
            (0..own.len()).filter(|axis| !over.contains(axis) && !batch.contains(axis)).collect();
        let extents = |axes: &[usize]| axes.iter().map(|axis| own[*axis].clone()).collect_vec();
        let order = [&batch[..], &free, &over].concat();
        let mut shape = extents(&batch);
        shape.push(self.flat(&extents(&free))?);
        if sum {
            shape.push(self.flat(&extents(&over))?);
        }
        let x = self.permute(x, order)?;
        Ok((self.reshape(x, shape)?, extents(&free)))
    }

    /// Positions as one value for each dimension that they are in.
    fn each_position(&mut self, index: Id, dims: usize, vector: i64) -> Result<Vec<Id>, Problem> {
        let rank = self.shape(index).len();
        if dims == 0 {
            return Err(misfit("positions in no dimension"));
        }
        if usize::try_from(vector) == Ok(rank) {
            return Ok(vec![index]);
        }
        let axis = self.axis(vector, rank)?;
        if self.shape(index)[axis] != Extent::Const(dims as u64) {
            return Err(misfit("as many positions as dimensions are needed"));
        }
        (0..dims as i64).map(|at| self.select(index, axis as i64, at)).collect()
    }

    /// Elements of some dimensions at positions, whole in all others, which stand in the result where `offsets` says. A
    /// batch dimension of both is looked up at its own place.
    pub(crate) fn lookup(&mut self, x: Id, index: Id, dims: &Lookup) -> Built {
        let own = self.shape(x);
        let mut indices = vec![None; own.len()];
        let each = self.each_position(index, dims.mapped.len(), dims.vector)?;
        let given = self.shape(each[0]);
        for (dim, position) in dims.mapped.iter().zip(each) {
            indices[self.axis(*dim, own.len())?] = Some(position);
        }
        for (dim, of) in dims.batch.0.iter().zip(&dims.batch.1) {
            let of = if *of > dims.vector { of - 1 } else { *of };
            let elem = self.elem(index);
            indices[self.axis(*dim, own.len())?] =
                Some(self.iota_along(of, given.clone(), elem)?);
        }
        let gone = [&dims.collapsed[..], &dims.batch.0].concat();
        let missing = |(axis, index): (usize, &Option<Id>)| {
            index.is_some() != gone.contains(&(axis as i64))
                || (index.is_none()
                    && dims.sizes.get(axis).copied() != own[axis].constant().map(|n| n as i64))
        };
        if indices.iter().enumerate().any(missing) {
            return Err(misfit("parts of dimensions are looked up"));
        }
        // Positions are in neighbouring dimensions, so that those come first that are looked up.
        let (looked_up, whole): (Vec<usize>, Vec<usize>) =
            (0..own.len()).partition(|axis| indices[*axis].is_some());
        let first = looked_up.first().copied().unwrap_or(0);
        let together = looked_up.iter().copied().eq(first..first + looked_up.len());
        let found = match together {
            true => self.index(x, &indices, false)?,
            false => {
                let order = [&looked_up[..], &whole].concat();
                let front = self.permute(x, order.clone())?;
                let positions = order.iter().map(|axis| indices[*axis]).collect_vec();
                self.index(front, &positions, false)?
            }
        };
        let first = if together { first } else { 0 };
        let mut windows =
            (0..first).chain(first + given.len()..own.len() - looked_up.len() + given.len());
        let mut positions = first..first + given.len();
        let rank = self.shape(found).len();
        let order = (0..rank as i64).map(|axis| match dims.offsets.contains(&axis) {
            true => windows.next(),
            false => positions.next(),
        });
        let order: Option<Vec<usize>> = order.collect();
        self.permute(found, order.ok_or_else(|| misfit("as many dimensions stand in the result"))?)
    }

    /// A table with rows combined into those at positions of some dimensions; `put` takes the place of rows. The whole
    /// dimensions of the rows are `window`.
    pub(crate) fn combine(
        &mut self,
        word: &str,
        [table, index, rows]: [Id; 3],
        [window, inserted, mapped]: [&[i64]; 3],
        vector: i64,
    ) -> Built {
        let positions = self.each_position(index, mapped.len(), vector)?;
        let (own, given) = (self.shape(table), self.shape(rows));
        let at: Result<Vec<usize>, Problem> =
            mapped.iter().map(|axis| self.axis(*axis, own.len())).collect();
        let at = at?;
        let (last, first): (Vec<usize>, Vec<usize>) =
            (0..given.len()).partition(|axis| window.contains(&(*axis as i64)));
        let whole = (0..own.len()).filter(|axis| !at.contains(axis)).collect_vec();
        let fits = mapped.iter().sorted().eq(inserted.iter().sorted())
            && whole.iter().map(|axis| &own[*axis]).eq(last.iter().map(|axis| &given[*axis]));
        if !fits {
            return Err(misfit("parts of rows are combined"));
        }
        let rows = self.permute(rows, [first, last].concat())?;
        let order = [at, whole].concat();
        let table = self.permute(table, order.clone())?;
        let done = self.scatter_at(word, table, &positions, rows)?;
        let back = (0..own.len()).sorted_by_key(|axis| order[*axis]).collect();
        self.permute(done, back)
    }
}
