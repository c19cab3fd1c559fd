//! Lookups: bags, sparse products, triples and blocks, on whole tensors.

use super::element::Number;
use super::evaluate::{Evaluator, Mode, Source};
use crate::model::{Applied, TensorId};
use ember_values::operation::{Function, Mode as Combine, Score};
use ember_values::scalar::{BinaryOp, DType, Scalar, UnaryOp};

impl<M: Mode> Evaluator<'_, M> {
    /// Reads a row of a table.
    fn table_row<T: Number>(&self, table: &Source, row: usize, out: &mut [T]) -> Option<()> {
        self.read(table, row.checked_mul(out.len())?, out)
    }

    /// Returns the lookups of each bag, as first and end.
    fn bags(&self, offsets: TensorId) -> Option<Vec<(usize, usize)>> {
        let offsets = self.positions(offsets)?;
        Some(offsets.windows(2).map(|ends| (ends[0], ends[1])).collect())
    }

    /// Evaluates bags, sparse products and gathers: each row of the result combines rows of a table.
    pub(super) fn bag<T: Number>(&mut self, call: &Applied, dtype: DType) -> Option<Vec<T>> {
        let mode = call.mode();
        let table = self.source(call.value("table")?)?;
        let indices = self.positions(call.stored("indices")?)?;
        let bags = match call.stored("offsets") {
            Some(offsets) => self.bags(offsets)?,
            None => (0..indices.len()).map(|l| (l, l + 1)).collect(),
        };
        let weights = match call.stored("weights") {
            Some(id) => Some(self.run_of::<T>(&self.stored(id)?, 0, indices.len())?),
            None => None,
        };
        let width = table.columns();
        let mut row = vec![T::ZERO; width];
        let mut out = vec![T::ZERO; bags.len() * width];
        let mut sums = vec![T::EMPTY; width];
        // A result without columns has no chunks, and nothing to compute.
        for (result, (from, to)) in out.chunks_exact_mut(width.max(1)).zip(bags) {
            if mode == Some(Combine::Max) && from < to {
                result.fill(T::LEAST);
            }
            sums.fill(T::EMPTY);
            for l in from..to {
                self.table_row(&table, *indices.get(l)?, &mut row)?;
                if let Some(weight) = weights.as_ref().and_then(|weights| weights.get(l)) {
                    row.iter_mut().for_each(|x| *x = weight.mul(*x));
                }
                match mode {
                    // A gathered row is copied because adding it to +0.0 would lose a -0.0.
                    None => result.copy_from_slice(&row),
                    Some(Combine::Max) => {
                        let most = |a, x| T::apply(BinaryOp::Max, a, x);
                        result.iter_mut().zip(&row).for_each(|(a, x)| *a = most(*a, *x));
                    }
                    _ => add_row(&mut sums, &row),
                }
            }
            if matches!(mode, Some(Combine::Sum | Combine::Mean)) {
                result.iter_mut().zip(&sums).for_each(|(x, sum)| *x = T::total(*sum));
            }
            if mode == Some(Combine::Mean) {
                let count = Scalar::I64(to.saturating_sub(from).max(1) as i64);
                let count = T::convert(count, 0.0, dtype);
                result.iter_mut().for_each(|x| *x = T::apply(BinaryOp::Div, *x, count));
            }
        }
        Some(out)
    }

    /// Evaluates products sampled at edges, and messages passed along edges.
    pub(super) fn edges<T: Number>(&mut self, call: &Applied, dtype: DType) -> Option<Vec<T>> {
        let edge = call.word("edge", Function::ALL);
        let (left, right) = (self.source(call.value("left")?)?, self.source(call.value("right")?)?);
        let indices = self.positions(call.stored("indices")?)?;
        let bags = self.bags(call.stored("offsets")?)?;
        let width = left.columns();
        let [mut own, mut other] = [vec![T::ZERO; width], vec![T::ZERO; width]];
        let mut edges = Vec::with_capacity(indices.len());
        let mut out = Vec::new();
        for (r, (from, to)) in bags.into_iter().enumerate() {
            self.table_row(&left, r, &mut own)?;
            let mut sums = vec![T::EMPTY; width];
            for l in from..to {
                self.table_row(&right, *indices.get(l)?, &mut other)?;
                let mut sum = T::EMPTY;
                for (x, y) in own.iter().zip(&other) {
                    T::accumulate(&mut sum, x.mul(*y));
                }
                let product = T::total(sum);
                match edge {
                    None => edges.push(product),
                    Some(edge) => {
                        let weight = T::map(edge, product, dtype);
                        other.iter_mut().for_each(|y| *y = weight.mul(*y));
                        add_row(&mut sums, &other);
                    }
                }
            }
            if edge.is_some() {
                out.extend(sums.into_iter().map(T::total));
            }
        }
        Some(if edge.is_some() { out } else { edges })
    }

    /// Evaluates the scores of triples.
    pub(super) fn triples<T: Number>(&mut self, call: &Applied) -> Option<Vec<T>> {
        let score = call.word("score", Score::ALL)?;
        let entities = self.source(call.value("entities")?)?;
        let relations = self.source(call.value("relations")?)?;
        let [heads, rels, tails] = ["heads", "rels", "tails"].map(|name| call.stored(name));
        let heads = self.positions(heads?)?;
        let (rels, tails) = (self.positions(rels?)?, self.positions(tails?)?);
        let width = entities.columns();
        let [mut h, mut r, mut t] = [(); 3].map(|()| vec![T::ZERO; width]);
        let mut scores = Vec::with_capacity(heads.len());
        for ((head, rel), tail) in heads.into_iter().zip(rels).zip(tails) {
            self.table_row(&entities, head, &mut h)?;
            self.table_row(&relations, rel, &mut r)?;
            self.table_row(&entities, tail, &mut t)?;
            scores.push(triple(score, &h, &r, &t));
        }
        Some(scores)
    }

    /// Copies blocks one after another.
    pub(super) fn blocks<T: Number>(&mut self, call: &Applied) -> Option<Vec<T>> {
        let table = self.source(call.value("table")?)?;
        let indices = self.positions(call.stored("indices")?)?;
        let (rows, width) = (*table.shape.get(1)? as usize, table.columns());
        let mut out = vec![T::ZERO; indices.len() * rows * width];
        for (result, block) in out.chunks_exact_mut((rows * width).max(1)).zip(indices) {
            for (r, row) in result.chunks_exact_mut(width.max(1)).enumerate() {
                self.table_row(&table, block.checked_mul(rows)?.checked_add(r)?, row)?;
            }
        }
        Some(out)
    }
}

#[inline(always)]
fn add_row<T: Number>(sums: &mut [T::Sum], row: &[T]) {
    for (sum, x) in sums.iter_mut().zip(row) {
        T::accumulate(sum, *x);
    }
}

/// Computes the score of a triple of rows.
fn triple<T: Number>(score: Score, h: &[T], r: &[T], t: &[T]) -> T {
    let mut sum = T::EMPTY;
    let half = h.len() / 2;
    // The product of head and relation as complex numbers.
    let turned = |e: usize| {
        let (a, b, c, d) = (h[e], h[half + e], r[e], r[half + e]);
        (a.mul(c).sub(b.mul(d)), a.mul(d).add(b.mul(c)))
    };
    match score {
        Score::TransE => {
            for ((h, r), t) in h.iter().zip(r).zip(t) {
                let x = h.add(*r).sub(*t);
                T::accumulate(&mut sum, T::apply(BinaryOp::Max, x, x.negated()));
            }
            T::total(sum).negated()
        }
        Score::DistMult => {
            for ((h, r), t) in h.iter().zip(r).zip(t) {
                T::accumulate(&mut sum, h.mul(*r).mul(*t));
            }
            T::total(sum)
        }
        Score::ComplEx => {
            for e in 0..half {
                let (re, im) = turned(e);
                T::accumulate(&mut sum, re.mul(t[e]).add(im.mul(t[half + e])));
            }
            T::total(sum)
        }
        Score::RotatE => {
            for e in 0..half {
                let (re, im) = turned(e);
                let (x, y) = (re.sub(t[e]), im.sub(t[half + e]));
                let square = x.mul(x).add(y.mul(y));
                T::accumulate(&mut sum, T::function(UnaryOp::Sqrt, square));
            }
            T::total(sum).negated()
        }
    }
}
