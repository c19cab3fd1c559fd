//! Lookups: bags, sparse products, triples and blocks.

use super::element::Number;
use super::{Operands, Run};
use ember_values::operation::{Function, Mode, Score};
use ember_values::scalar::{DType, Scalar};

impl<T: Number, O: Operands> Run<'_, T, O> {
    /// Returns the fixed word of a kernel, or else the word of an operand.
    pub(super) fn chosen<W: Copy>(
        &self,
        fixed: Option<W>,
        name: &str,
        words: &[W],
    ) -> Result<W, O::Error> {
        fixed.or_else(|| self.word(name, words)).ok_or_else(|| self.operands.missing())
    }

    /// Returns the word of an operand.
    fn word<W: Copy>(&self, name: &str, words: &[W]) -> Option<W> {
        words.get(self.operands.word(name)?).copied()
    }

    /// The lookups of a bag.
    pub(super) fn bag(&mut self, offsets: O::Operand, row: i64) -> Result<(i64, i64), O::Error> {
        let from = self.operands.position(offsets, &[row])?;
        Ok((from, self.operands.position(offsets, &[row.saturating_add(1)])?))
    }

    /// Evaluates bags, sparse products and gathers: each row of the result combines rows of a table.
    pub(super) fn rows(&mut self) -> Result<(), O::Error> {
        let [row] = self.indices()?;
        let [table, indices] = [self.operands.needed("table")?, self.operands.needed("indices")?];
        let Some(offsets) = self.operands.operand("offsets") else {
            // A gathered row is copied because adding it to +0.0 would lose a -0.0.
            let row = self.operands.position(indices, &[row])?;
            return self.operands.read(table, &[row], self.first, self.dtype, self.out);
        };
        let mode = self.word("mode", Mode::ALL).unwrap_or(Mode::Sum);
        let weights = self.operands.operand("weights");
        let (from, to) = self.bag(offsets, row)?;
        let mut x = vec![T::ZERO; self.out.len()];
        let mut sums = vec![T::EMPTY; self.out.len()];
        self.out.fill(if mode == Mode::Max && from < to { T::LEAST } else { T::ZERO });
        for l in from..to {
            let row = self.operands.position(indices, &[l])?;
            self.operands.read(table, &[row], self.first, self.dtype, &mut x)?;
            if let Some(weights) = weights {
                let weight = self.one(weights, &[], l)?;
                x.iter_mut().for_each(|x| *x = weight.mul(*x));
            }
            match mode {
                Mode::Max => self.out.iter_mut().zip(&x).for_each(|(a, x)| *a = a.maximum(*x)),
                Mode::Sum | Mode::Mean => add_row(&mut sums, &x),
            }
        }
        if mode != Mode::Max {
            self.out.iter_mut().zip(&sums).for_each(|(x, sum)| *x = T::total(*sum));
        }
        if mode == Mode::Mean {
            let count = Scalar::I64(to.saturating_sub(from).max(1));
            let count = T::convert(count, 0.0, self.dtype);
            self.out.iter_mut().for_each(|x| *x = x.over(count));
        }
        Ok(())
    }

    /// Evaluates products sampled at edges, and messages passed along edges.
    pub(super) fn edges(&mut self) -> Result<(), O::Error> {
        let [offsets, indices] =
            [self.operands.needed("offsets")?, self.operands.needed("indices")?];
        let [left, right] = [self.operands.needed("left")?, self.operands.needed("right")?];
        let width = self.columns(left)?;
        let [mut own, mut other] = [(); 2].map(|()| vec![T::ZERO; width]);
        let Some(edge) = self.word("edge", Function::ALL) else {
            let [] = self.indices()?;
            let end = self.first.saturating_add(self.out.len() as i64);
            let rows = self.operands.extents(offsets)?.first().map_or(0, |n| n.saturating_sub(1));
            for row in 0..rows {
                let (from, to) = self.bag(offsets, row)?;
                for l in from.max(self.first)..to.min(end) {
                    self.row(left, row, &mut own)?;
                    let at = self.operands.position(indices, &[l])?;
                    self.row(right, at, &mut other)?;
                    self.out[(l - self.first) as usize] = dot(&own, &other);
                }
            }
            return Ok(());
        };
        let [row] = self.indices()?;
        let (from, to) = self.bag(offsets, row)?;
        let mut message = vec![T::ZERO; self.out.len()];
        let mut sums = vec![T::EMPTY; self.out.len()];
        for l in from..to {
            self.row(left, row, &mut own)?;
            let at = self.operands.position(indices, &[l])?;
            self.row(right, at, &mut other)?;
            let weight = T::map(edge, dot(&own, &other), self.dtype);
            self.operands.read(right, &[at], self.first, self.dtype, &mut message)?;
            message.iter_mut().for_each(|y| *y = weight.mul(*y));
            add_row(&mut sums, &message);
        }
        self.out.iter_mut().zip(sums).for_each(|(x, sum)| *x = T::total(sum));
        Ok(())
    }

    /// Evaluates the scores of triples.
    pub(super) fn triples(&mut self) -> Result<(), O::Error> {
        let [] = self.indices()?;
        let score = self.word("score", Score::ALL).ok_or_else(|| self.operands.missing())?;
        let entities = self.operands.needed("entities")?;
        let relations = self.operands.needed("relations")?;
        let width = self.columns(entities)?;
        let mut rows = [(); 3].map(|()| vec![T::ZERO; width]);
        let tables = [("heads", entities), ("rels", relations), ("tails", entities)];
        for (k, at) in self.places() {
            for ((indices, table), row) in tables.iter().zip(&mut rows) {
                let indices = self.operands.needed(indices)?;
                let from = self.operands.position(indices, &[at])?;
                self.row(*table, from, row)?;
            }
            let [h, r, t] = &rows;
            self.out[k] = triple(score, h, r, t, self.dtype);
        }
        Ok(())
    }

    /// Copies blocks one after another.
    pub(super) fn blocks(&mut self) -> Result<(), O::Error> {
        let [at, row] = self.indices()?;
        let [table, indices] = [self.operands.needed("table")?, self.operands.needed("indices")?];
        let (block, row) = if self.operands.extents(indices)?.len() == 1 {
            (self.operands.position(indices, &[at])?, row)
        } else {
            let rows = self.operands.extents(table)?.get(1).copied().unwrap_or(0).max(1);
            (self.operands.position(indices, &[at, row.div_euclid(rows)])?, row.rem_euclid(rows))
        };
        self.operands.read(table, &[block, row], self.first, self.dtype, self.out)
    }
}

#[inline(always)]
fn add_row<T: Number>(sums: &mut [T::Sum], row: &[T]) {
    for (sum, x) in sums.iter_mut().zip(row) {
        T::accumulate(sum, *x);
    }
}

/// The sum of the products of two rows.
fn dot<T: Number>(a: &[T], b: &[T]) -> T {
    let mut sum = T::EMPTY;
    a.iter().zip(b).for_each(|(x, y)| T::accumulate(&mut sum, x.mul(*y)));
    T::total(sum)
}

/// Computes the score of a triple of rows.
fn triple<T: Number>(score: Score, h: &[T], r: &[T], t: &[T], dtype: DType) -> T {
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
                T::accumulate(&mut sum, x.maximum(x.negated()));
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
                T::accumulate(&mut sum, T::map(Function::Sqrt, square, dtype));
            }
            T::total(sum).negated()
        }
    }
}
