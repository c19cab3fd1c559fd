//! Operations that name every dimension they work on, as StableHLO's do.

use super::{Builder, Built, misfit};
use crate::error::Problem;
use crate::graph::{Elem, Id};
use ember_model::Extent;
use ember_values::scalar::DType;

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

    /// A product over one dimension of each factor; the batch dimensions come first.
    pub(crate) fn dot(
        &mut self,
        a: Id,
        b: Id,
        batch: (&[i64], &[i64]),
        over: (&[i64], &[i64]),
    ) -> Built {
        let ([k], [l]) = over else {
            return Err(misfit("a product over several dimensions"));
        };
        let (m, m_rest) = self.factor(a, batch.0, *k, false)?;
        let (n, n_rest) = self.factor(b, batch.1, *l, true)?;
        let product = self.product(m, n)?;
        let own = self.shape(product);
        let outer = own[..batch.0.len()].to_vec();
        self.reshape(product, outer.into_iter().chain(m_rest).chain(n_rest).collect())
    }

    /// Brings a factor into the order batch, rows, columns, with its free dimensions as one; returns those.
    fn factor(
        &mut self,
        x: Id,
        batch: &[i64],
        over: i64,
        over_first: bool,
    ) -> Result<(Id, Vec<Extent>), Problem> {
        let own = self.shape(x);
        let over = self.axis(over, own.len())?;
        let batch: Result<Vec<usize>, Problem> =
            batch.iter().map(|axis| self.axis(*axis, own.len())).collect();
        let batch = batch?;
        let free: Vec<usize> =
            (0..own.len()).filter(|axis| *axis != over && !batch.contains(axis)).collect();
        let middle = |of: Vec<usize>| batch.iter().copied().chain(of).collect::<Vec<_>>();
        let order = match over_first {
            true => middle(std::iter::once(over).chain(free.iter().copied()).collect()),
            false => middle(free.iter().copied().chain([over]).collect()),
        };
        let x = self.permute(x, order)?;
        let rest: Vec<Extent> = free.iter().map(|axis| own[*axis].clone()).collect();
        let width = self.flat(&rest)?;
        let mut shape: Vec<Extent> = batch.iter().map(|axis| own[*axis].clone()).collect();
        match over_first {
            true => shape.extend([own[over].clone(), width]),
            false => shape.extend([width, own[over].clone()]),
        }
        Ok((self.reshape(x, shape)?, rest))
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

    /// Elements of some dimensions at positions, whole in all others, which come last.
    pub(crate) fn lookup(
        &mut self,
        x: Id,
        index: Id,
        [offsets, collapsed, mapped]: [&[i64]; 3],
        vector: i64,
    ) -> Built {
        let positions = self.each_position(index, mapped.len(), vector)?;
        let rank = self.shape(x).len();
        let given = self.shape(positions[0]).len();
        let last = (given..given + rank - collapsed.len().min(rank)).map(|axis| axis as i64);
        if collapsed != mapped || !last.eq(offsets.iter().copied()) || mapped.is_empty() {
            return Err(misfit("parts of dimensions are looked up, or they do not come last"));
        }
        let mut indices = vec![None; rank];
        for (dim, position) in mapped.iter().zip(positions) {
            indices[self.axis(*dim, rank)?] = Some(position);
        }
        let front = mapped.iter().copied().eq(0..mapped.len() as i64);
        let found = self.index(x, &indices)?;
        match front {
            true => Ok(found),
            // The looked-up dimensions stand where they were; they come first.
            false => {
                let first = usize::try_from(mapped[0]).unwrap_or(0);
                let all = self.shape(found).len();
                let looked_up = first..first + given;
                let rest = (0..all).filter(|axis| !looked_up.contains(axis));
                self.permute(found, looked_up.clone().chain(rest).collect())
            }
        }
    }

    /// A table with rows combined into the rows at positions of its first dimension; `put` takes the place of rows.
    pub(crate) fn combine(
        &mut self,
        word: &str,
        [table, index, rows]: [Id; 3],
        [window, inserted, mapped]: [&[i64]; 3],
        vector: i64,
    ) -> Built {
        let positions = self.each_position(index, mapped.len(), vector)?;
        let (given, rank) = (self.shape(positions[0]).len() as i64, self.shape(table).len() as i64);
        if inserted != [0] || mapped != [0] || !window.iter().copied().eq(given..given + rank - 1) {
            return Err(misfit(
                "parts of rows are combined, or in another dimension than the first",
            ));
        }
        let n = self.flat(&self.shape(positions[0]))?;
        let index = self.reshape(positions[0], vec![n.clone()])?;
        let own = self.shape(table);
        let shape = std::iter::once(n).chain(own.into_iter().skip(1)).collect();
        let rows = self.reshape(rows, shape)?;
        match word {
            "put" => self.scatter_max_alone(table, 0, index, rows),
            _ => self.scatter(word, table, 0, index, rows),
        }
    }
}
