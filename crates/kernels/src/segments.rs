//! Kernels over segments of a vector, which offsets divide it into, and rows that are added where indices say.

use super::dense::combined;
use super::element::Number;
use super::{Operands, Run};
use ember_values::operation::{BINARY_OPERATIONS, Combined, Function};

impl<T: Number, O: Operands> Run<'_, T, O> {
    /// Folds each segment: a sum in order from +0.0, or a maximum.
    pub(super) fn segments(&mut self, how: Combined) -> Result<(), O::Error> {
        let [] = self.indices()?;
        let [values, offsets] = [self.operands.needed("values")?, self.operands.needed("offsets")?];
        for (k, segment) in self.places() {
            let (from, to) = self.bag(offsets, segment)?;
            let mut segment = Vec::new();
            for l in from..to {
                segment.push(self.one(values, &[], l)?);
            }
            self.out[k] = combined(how, &segment);
        }
        Ok(())
    }

    /// A function of an operation on each value and the number of its segment.
    pub(super) fn spread(&mut self) -> Result<(), O::Error> {
        let [] = self.indices()?;
        let function = self.chosen(None, "function", Function::ALL)?;
        let op = self.chosen(None, "op", &BINARY_OPERATIONS)?;
        let [numbers, offsets] =
            [self.operands.needed("numbers")?, self.operands.needed("offsets")?];
        self.same("values")?;
        let end = self.first.saturating_add(self.out.len() as i64);
        let segments = self.operands.extents(offsets)?.first().map_or(0, |n| n.saturating_sub(1));
        for segment in 0..segments {
            let (from, to) = self.bag(offsets, segment)?;
            let within = from.max(self.first)..to.min(end);
            if within.is_empty() {
                continue;
            }
            let number = self.one(numbers, &[], segment)?;
            for l in within {
                let x = &mut self.out[(l - self.first) as usize];
                *x = T::map(function, T::apply(op, *x, number), self.dtype);
            }
        }
        Ok(())
    }

    /// Combines rows with a row of a table, in the order in which indices name it: a sum or a maximum.
    pub(super) fn scatter(&mut self, how: Combined) -> Result<(), O::Error> {
        let [row] = self.indices()?;
        let [indices, rows] = [self.operands.needed("indices")?, self.operands.needed("rows")?];
        self.same("table")?;
        if how == Combined::Maximum {
            let mut row_of = vec![T::ZERO; self.out.len()];
            for l in self.operands.holders(indices, row)? {
                self.read(rows, &[l], self.first, &mut row_of)?;
                self.out.iter_mut().zip(&row_of).for_each(|(x, other)| *x = x.maximum(*other));
            }
            return Ok(());
        }
        let mut sums: Vec<T::Sum> = self.out.iter().map(|x| T::start(*x)).collect();
        let mut added = vec![T::ZERO; self.out.len()];
        for l in self.operands.holders(indices, row)? {
            self.read(rows, &[l], self.first, &mut added)?;
            sums.iter_mut().zip(&added).for_each(|(sum, x)| T::accumulate(sum, *x));
        }
        self.out.iter_mut().zip(sums).for_each(|(x, sum)| *x = T::total(sum));
        Ok(())
    }

    /// Adds the products of a sparse matrix's columns with rows of the right side to a row of a table, entry by entry.
    pub(super) fn column_by_column(&mut self) -> Result<(), O::Error> {
        let [row] = self.indices()?;
        let [offsets, indices] =
            [self.operands.needed("offsets")?, self.operands.needed("indices")?];
        let [weights, right] = [self.operands.needed("weights")?, self.operands.needed("right")?];
        self.same("table")?;
        let mut sums: Vec<T::Sum> = self.out.iter().map(|x| T::start(*x)).collect();
        let mut product = vec![T::ZERO; self.out.len()];
        for l in self.operands.holders(indices, row)? {
            let column = self.segment_of(offsets, l)?;
            self.read(right, &[column], self.first, &mut product)?;
            let weight = self.one(weights, &[], l)?;
            product.iter_mut().for_each(|x| *x = weight.mul(*x));
            sums.iter_mut().zip(&product).for_each(|(sum, x)| T::accumulate(sum, *x));
        }
        self.out.iter_mut().zip(sums).for_each(|(x, sum)| *x = T::total(sum));
        Ok(())
    }

    /// The segment of an element, by bisection: the last one that starts at or before it.
    fn segment_of(&mut self, offsets: O::Operand, element: i64) -> Result<i64, O::Error> {
        let ends = self.operands.extents(offsets)?.first().copied().unwrap_or(0);
        let (mut low, mut high) = (0, ends.saturating_sub(1));
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match self.operands.position(offsets, &[middle])? <= element {
                true => low = middle,
                false => high = middle,
            }
        }
        Ok(low)
    }
}
