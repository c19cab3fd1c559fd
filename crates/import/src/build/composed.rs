//! Operations that consist of several others.

use super::{Builder, Built, misfit};
use crate::graph::{Elem, Id, Op, is_one};
use crate::words::{ADD, MAX, MUL, POW, SUB};
use ember_model::Extent;
use ember_values::scalar::DType;

impl Builder {
    /// A power; that of small whole exponents is a product.
    pub(crate) fn power(&mut self, x: Id, y: Id) -> Built {
        match self.number_of(y) {
            Some(1.0) => Ok(x),
            Some(2.0) => self.zip(MUL, x, x),
            Some(3.0) => {
                let square = self.zip(MUL, x, x)?;
                self.zip(MUL, square, x)
            }
            Some(0.5) => self.map("sqrt", x),
            _ => self.zip(POW, x, y),
        }
    }

    /// One number for each element of the second dimension, as wide as the others.
    pub(crate) fn channels(&mut self, x: Id, of: Id) -> Built {
        let shape = self.shape(x);
        let rank = self.shape(of).len();
        let behind = rank.saturating_sub(2);
        if shape.len() != 1 || shape.iter().all(is_one) {
            return Ok(x);
        }
        let shape = shape.into_iter().chain(std::iter::repeat_n(Extent::Const(1), behind));
        self.reshape(x, shape.collect())
    }

    /// The sum of squares around the mean, over the number of elements less the correction.
    pub(crate) fn variance(&mut self, x: Id, axes: &[i64], correction: f64, keep: bool) -> Built {
        let mean = self.fold("mean", x, axes, true)?;
        let apart = self.zip(SUB, x, mean)?;
        let squares = self.zip(MUL, apart, apart)?;
        let mean = self.fold("mean", squares, axes, keep)?;
        if correction == 0.0 {
            return Ok(mean);
        }
        let rank = self.shape(x).len();
        let mut n = 1.0;
        for axis in if axes.is_empty() { (0..rank as i64).collect() } else { axes.to_vec() } {
            let axis = self.axis(axis, rank)?;
            let extent = self.shape(x)[axis].constant();
            n *=
                extent.ok_or_else(|| misfit("the variance over a size that the data says"))? as f64;
        }
        let factor = self.number(n / (n - correction).max(0.0), Elem::Of(DType::F32))?;
        self.zip(MUL, mean, factor)
    }

    pub(crate) fn log_sum_exp(&mut self, x: Id, axes: &[i64], keep: bool) -> Built {
        let most = self.fold(MAX, x, axes, true)?;
        let shifted = self.zip(SUB, x, most)?;
        let raised = self.map("exp", shifted)?;
        let sum = self.fold("sum", raised, axes, keep)?;
        let log = self.map("log", sum)?;
        let most = if keep { most } else { self.fold(MAX, x, axes, false)? };
        self.zip(ADD, log, most)
    }

    /// Attention: the softmax of scaled products with the keys that a mask leaves, times the values.
    pub(crate) fn attention(
        &mut self,
        [q, k, v]: [Id; 3],
        mask: Option<Id>,
        causal: bool,
        scale: Option<f64>,
    ) -> Built {
        let width = self.shape(q).last().and_then(Extent::constant);
        let scale = scale.or_else(|| width.map(|n| 1.0 / (n as f64).sqrt()));
        let scale = scale.ok_or_else(|| misfit("attention over rows of unknown width"))?;
        let keys = self.transpose(k, -2, -1)?;
        let scores = self.product(q, keys)?;
        let scaled = self.scaled(scores, scale)?;
        let scores = self.masked(scaled, mask, causal)?;
        let shares = self.softmax(scores, -1)?;
        let values = self.product(shares, v)?;
        match mask {
            Some(mask) => self.seen_only(values, mask),
            None => Ok(values),
        }
    }

    /// Rows of attention, which are 0 where a mask leaves no key.
    fn seen_only(&mut self, values: Id, mask: Id) -> Built {
        if self.leaves_some(mask) {
            return Ok(values);
        }
        let hidden = if self.elem(mask) == Elem::Bool { 0.0 } else { f64::NEG_INFINITY };
        let most = self.fold(MAX, mask, &[-1], true)?;
        let hidden = self.number(hidden, self.elem(most))?;
        let none = self.compare("eq", most, hidden)?;
        let zero = self.number(0.0, self.elem(values))?;
        self.choose(none, zero, values)
    }

    /// Returns true if a mask is known to leave a key in every row.
    fn leaves_some(&self, mask: Id) -> bool {
        let mut node = self.graph.node(mask);
        let keys = node.shape.last().cloned();
        while let (Op::Reshape | Op::Expand, Some(of)) = (&node.op, node.operands.first()) {
            node = self.graph.node(*of);
        }
        let (Op::Weight(at), true) = (&node.op, node.shape.last() == keys.as_ref()) else {
            return false;
        };
        let tensor = &self.graph.weights[*at].tensor;
        let hidden = if node.elem == Elem::Bool { 0.0 } else { f64::NEG_INFINITY };
        let Some(width) = tensor.shape.last().copied().filter(|n| *n > 0) else { return false };
        let seen = |at: u64| tensor.get(at).is_some_and(|x| x.as_f64() != hidden);
        (0..tensor.len() / width).all(|row| (row * width..(row + 1) * width).any(seen))
    }

    /// A sparse matrix, given by its entries, times a dense one.
    pub(crate) fn sparse_product(
        &mut self,
        indices: Id,
        values: Id,
        shape: &[Extent],
        dense: Id,
    ) -> Built {
        let columns = self.shape(dense);
        let ([rows, _], [_, width]) = (shape, &columns[..]) else {
            return Err(misfit("a sparse product has two matrices"));
        };
        let (to, from) = (self.select(indices, 0, 0)?, self.select(indices, 0, 1)?);
        let gathered = self.gather(dense, 0, from)?;
        let values = self.unsqueeze(values, 1)?;
        let weighted = self.zip(MUL, gathered, values)?;
        let zeros = self.full(0.0, vec![rows.clone(), width.clone()], self.elem(dense))?;
        self.scatter(ADD, zeros, 0, to, weighted)
    }

    /// Elements at positions in one dimension. Where all other dimensions of the positions are repeated, these are whole
    /// rows.
    pub(crate) fn pick(&mut self, x: Id, axis: i64, index: Id) -> Built {
        let (own, wanted) = (self.shape(x), self.shape(index));
        let axis = self.axis(axis, own.len())?;
        if own.len() != wanted.len() {
            return Err(misfit("positions have as many dimensions as what they are in"));
        }
        let mut base = index;
        while let crate::graph::Op::Expand = self.graph.node(base).op {
            base = self.graph.node(base).operands[0];
        }
        let given = self.shape(base);
        let skipped = wanted.len() - given.len();
        let live = |(i, e): (usize, &Extent)| (i + skipped != axis) && !is_one(e);
        let others = given.iter().enumerate().any(|(i, e)| live((i, e)));
        let whole = (0..own.len()).all(|i| i == axis || own[i] == wanted[i]);
        if others || !whole {
            // The dimensions behind the last one in which positions differ are looked up whole.
            let differ = |at: usize| at == axis || (at >= skipped && !is_one(&given[at - skipped]));
            let last = (0..own.len()).rev().find(|at| differ(*at) || own[*at] != wanted[*at]);
            return match (last, self.precedes(index)?) {
                (Some(last), true) => self.pick_at(x, axis, index, last),
                _ => self.pick_each(x, axis, index),
            };
        }
        let n = wanted[axis].clone();
        let positions = self.reshape(base, vec![n])?;
        self.gather(x, axis as i64, positions)
    }

    /// Rows combined between neighbouring offsets.
    pub(crate) fn segments(&mut self, word: &str, data: Id, offsets: Id) -> Built {
        let shape = self.shape(data);
        let Some(n) = shape.first().and_then(Extent::constant) else {
            return Err(misfit("segments of rows of which only the data says how many there are"));
        };
        let vector = shape.len() == 1;
        let table = if vector { self.unsqueeze(data, 1)? } else { data };
        let places = self.iota(0, 1, n, Elem::Of(DType::I64))?;
        let bags = self.bag(word, table, places, Some(offsets), None, true)?;
        if vector { self.squeeze(bags, 1) } else { Ok(bags) }
    }
}
