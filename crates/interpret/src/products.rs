//! Statements that are products of matrices, or of blocks of them.

use super::error::Fault;
use super::op::{At, Op};
use super::value::Place;
use super::{Error, Interpreter};
use ember_values::operation::{self, Kernel};
use ember_values::primitive::form::Block;
use ember_values::scalar::{Linear, Scalar};
use std::ops::Range;

impl Interpreter {
    /// Computes a block of a product of the matrices `a` and `b`, the second of which may be given transposed.
    pub(super) fn product(
        &mut self,
        at: At,
        [out, a, b]: [At; 3],
        block: Block<At>,
        transposed: bool,
    ) -> Result<(), Fault> {
        match block {
            Block::Whole => self.matmul(at, [out, a, b], transposed, None),
            Block::Rows(rows) => {
                let rows = self.side(rows)?;
                self.matmul(at, [out, a, b], transposed, Some(rows))
            }
            Block::Columns(first) => {
                let first = self.index(first)?;
                self.columns(at, [out, a, b], first)
            }
            Block::Added(first) => {
                let first = self.index(first)?;
                let ([rows, _], [depth, _]) = (self.matrix(out)?, self.matrix(b)?);
                let [_, columns] = self.matrix(b)?;
                self.added(at, [out, a, b], [0..rows, 0..columns], (first, 0..depth))
            }
            Block::Part { rows, depth, columns } => {
                let (rows, depth) = (self.side(rows)?, self.side(depth)?);
                let ([_, left], [right, all]) = (self.matrix(a)?, self.matrix(b)?);
                let columns = columns.map_or(Ok(0..all), |columns| self.side(columns))?;
                self.agree([left], [right])?;
                self.reaches(out, [&rows, &columns])?;
                self.added(at, [out, a, b], [rows, columns], (0, depth))
            }
        }
    }

    /// Returns the product of matrices as an operation.
    fn product_of(&self, at: At, factors: [At; 2], transposed: bool) -> Result<Op, Fault> {
        let product = operation::computed_by(Kernel::Product { transposed });
        let product = product.ok_or_else(|| self.wrong(at, "a product"))?;
        Ok(Op::whole(product, &factors))
    }

    /// Computes `out[..][first + c] := a · bᵀ` for the columns `c` of the product.
    fn columns(&mut self, at: At, [out, a, b]: [At; 3], first: i64) -> Result<(), Fault> {
        let (to, out) = (self.place(out)?, self.matrix(out)?);
        let [[rows, depth], [count, inner]] = [self.matrix(a)?, self.matrix(b)?];
        self.agree([out[0], depth], [rows, inner])?;
        let product = self.product_of(at, [a, b], true)?;
        let mut products: Vec<(Place, Scalar)> = Vec::new();
        self.each_index(&[rows], |this, row| {
            let to = this.within(to, Scalar::I64(row[0]))?;
            this.row_of_products(at, product, row, (to, first), count, &mut products)
        })?;
        products.into_iter().try_for_each(|(place, value)| self.set(place, value))
    }

    /// Computes one row of a product for as many columns of a row of the output, from one of them on.
    fn row_of_products(
        &mut self,
        at: At,
        product: Op,
        row: &[i64],
        (to, first): (Place, i64),
        columns: i64,
        products: &mut Vec<(Place, Scalar)>,
    ) -> Result<(), Fault> {
        if columns <= 0 {
            return Ok(());
        }
        let places: Vec<Place> = (0..columns)
            .map(|column| self.within(to, Scalar::I64(first.wrapping_add(column))))
            .collect::<Result<_, _>>()?;
        let mut places = places.into_iter();
        self.computed(at, product, (row, 0, places.len()), |x| {
            products.extend(places.next().map(|place| (place, x)));
        })
    }

    /// Adds to some rows and columns of `out` the products of `a` and the rows `depth` of `b`, in their order; the columns of
    /// `a` are `first` further.
    fn added(
        &mut self,
        at: At,
        [out, a, b]: [At; 3],
        [rows, columns]: [Range<i64>; 2],
        (first, depth): (i64, Range<i64>),
    ) -> Result<(), Fault> {
        let (to, left, right) = (self.place(out)?, self.place(a)?, self.place(b)?);
        let [extents, [height, _], [_, width]] =
            [self.matrix(out)?, self.matrix(a)?, self.matrix(b)?];
        self.agree(extents, [height, width])?;
        let element = |this: &mut Self, place, index: [i64; 2]| {
            let row = this.within(place, Scalar::I64(index[0]))?;
            this.within(row, Scalar::I64(index[1]))
        };
        let mut sums: Vec<(Place, Scalar)> = Vec::new();
        self.each_index(&extents, |this, index| {
            if !(rows.contains(&index[0]) && columns.contains(&index[1])) {
                return Ok(());
            }
            let place = element(this, to, [index[0], index[1]])?;
            let mut sum = this.get(place)?;
            for k in depth.clone() {
                this.step()?;
                let x = element(this, left, [index[0], first.wrapping_add(k)])?;
                let y = element(this, right, [k, index[1]])?;
                let (x, y) = (this.get(x)?, this.get(y)?);
                let term = this.apply(at, const { Linear::Product.operation() }, x, y)?;
                sum = this.apply(at, const { Linear::Sum.operation() }, sum, term)?;
            }
            sums.push((place, sum));
            Ok(())
        })?;
        sums.into_iter().try_for_each(|(place, value)| self.set(place, value))
    }

    /// Returns the extents of an operand that is a matrix.
    fn matrix(&self, of: At) -> Result<[i64; 2], Fault> {
        let extents = self.extents(of)?;
        <[i64; 2]>::try_from(extents).map_err(|_| self.wrong(of, "a matrix"))
    }

    /// Checks that extents are those that a product has.
    fn agree<const N: usize>(&self, expected: [i64; N], found: [i64; N]) -> Result<(), Fault> {
        if expected == found {
            return Ok(());
        }
        Err(Error::Shape { expected: expected.to_vec(), found: found.to_vec() }.into())
    }

    /// Evaluates the number of rows or columns, their bound and the first to their range.
    fn side(&mut self, [count, hi, first]: [At; 3]) -> Result<Range<i64>, Fault> {
        let [count, hi, first] = [self.scalar(count)?, self.scalar(hi)?, self.scalar(first)?];
        let [count, hi, first] = [self.integer(count)?, self.integer(hi)?, self.integer(first)?];
        Ok(first..first.saturating_add(count).min(hi))
    }

    /// Checks that rows are those of an output, and so its columns if they are given: what is outside faults, or is open
    /// memory, as any index is.
    fn reaches<const N: usize>(&mut self, out: At, block: [&Range<i64>; N]) -> Result<(), Fault> {
        let (mut to, extents) = (self.place(out)?, self.extents(out)?);
        if block.iter().any(|side| side.is_empty()) {
            return Ok(());
        }
        for (side, extent) in block.into_iter().zip(extents) {
            let inside = 0 <= side.start && side.end <= extent;
            let farthest = if inside || side.start < 0 { side.start } else { side.end - 1 };
            to = self.within(to, Scalar::I64(farthest))?;
        }
        Ok(())
    }

    /// Computes `out := a · b`, element by element, or some of its rows.
    fn matmul(
        &mut self,
        at: At,
        [out, a, b]: [At; 3],
        transposed: bool,
        rows: Option<Range<i64>>,
    ) -> Result<(), Fault> {
        let to = self.place(out)?;
        let extents = self.extents(out)?;
        self.fits(&extents, a, b, transposed)?;
        let product = self.product_of(at, [a, b], transposed)?;
        let mut products: Vec<(Place, Scalar)> = Vec::new();
        if let Some(rows) = &rows {
            self.reaches(out, [rows])?;
        }
        let Some((columns, above)) = extents.split_last() else { return Ok(()) };
        self.each_index(above, |this, row| {
            let own = rows.as_ref().zip(row.first());
            if own.is_some_and(|(rows, row)| !rows.contains(row)) {
                return Ok(());
            }
            let to = row.iter().try_fold(to, |place, i| this.within(place, Scalar::I64(*i)))?;
            this.row_of_products(at, product, row, (to, 0), *columns, &mut products)
        })?;
        // All products are computed before any is stored, because an operand may be the output itself.
        products.into_iter().try_for_each(|(place, value)| self.set(place, value))
    }

    /// Checks that a product of two matrices has these extents.
    pub(super) fn fits(
        &mut self,
        out: &[i64],
        a: At,
        b: At,
        transposed: bool,
    ) -> Result<(), Fault> {
        let (a, b) = (self.extents_of(a)?, self.extents_of(b)?);
        let inner = |k, n, x, y| if transposed { [n, k] == [x, y] } else { [k, n] == [x, y] };
        let fits = match (out, a.as_slice(), b.as_slice()) {
            (&[m, n], &[am, k], &[x, y]) => m == am && inner(k, n, x, y),
            (&[q, m, n], &[aq, am, k], &[ref bq @ .., x, y]) => {
                let batch = aq == q && bq.len() < 2 && bq.iter().all(|n| *n == q);
                batch && m == am && inner(k, n, x, y)
            }
            _ => false,
        };
        if fits { Ok(()) } else { Err(Error::Shape { expected: out.to_vec(), found: a }.into()) }
    }
}
