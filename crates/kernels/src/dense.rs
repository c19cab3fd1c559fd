//! Dense kernels: element by element, by rows, folds of rows, and products.

use super::element::Number;
use super::{Operands, Run};
use ember_values::operation::{BINARY_OPERATIONS, Combined, Comparison, Function};
use ember_values::scalar::{BinaryOp, Scalar};

impl<T: Number, O: Operands> Run<'_, T, O> {
    /// Codes of a row, times its scale, plus its bias.
    pub(super) fn dequantise(&mut self) -> Result<(), O::Error> {
        let [row] = self.indices()?;
        self.same("codes")?;
        let scales = self.operands.needed("scales")?;
        let mut by = [T::ZERO; 2];
        self.row(scales, row, &mut by)?;
        self.out.iter_mut().for_each(|x| *x = x.mul(by[0]).add(by[1]));
        Ok(())
    }

    /// A function of each element.
    pub(super) fn map(&mut self, function: Option<Function>) -> Result<(), O::Error> {
        let function = self.chosen(function, "function", Function::ALL)?;
        self.same("x")?;
        self.out.iter_mut().for_each(|x| *x = T::map(function, *x, self.dtype));
        Ok(())
    }

    /// An operation on the elements of two tensors.
    pub(super) fn zip(&mut self, op: Option<BinaryOp>) -> Result<(), O::Error> {
        let op = self.chosen(op, "op", &BINARY_OPERATIONS)?;
        self.same("a")?;
        let b = self.operands.needed("b")?;
        let mut other = vec![T::ZERO; self.out.len()];
        self.read(b, self.index, self.first, &mut other)?;
        self.out.iter_mut().zip(other).for_each(|(a, b)| *a = T::apply(op, *a, b));
        Ok(())
    }

    /// An operation on each element and a number.
    pub(super) fn by_number(&mut self) -> Result<(), O::Error> {
        let op = self.chosen(None, "op", &BINARY_OPERATIONS)?;
        let by = self.operands.needed("by")?;
        let by = T::convert(self.operands.number(by)?, 0.0, self.dtype);
        self.same("x")?;
        self.out.iter_mut().for_each(|x| *x = T::apply(op, *x, by));
        Ok(())
    }

    /// An operation on each element and the number of its column.
    pub(super) fn by_column(&mut self) -> Result<(), O::Error> {
        let op = self.chosen(None, "op", &BINARY_OPERATIONS)?;
        self.same("x")?;
        let numbers = self.operands.needed("numbers")?;
        let mut other = vec![T::ZERO; self.out.len()];
        self.read(numbers, &[], self.first, &mut other)?;
        self.out.iter_mut().zip(other).for_each(|(x, by)| *x = T::apply(op, *x, by));
        Ok(())
    }

    /// A number times each element.
    pub(super) fn scale(&mut self) -> Result<(), O::Error> {
        let by = self.operands.needed("by")?;
        let by = T::convert(self.operands.number(by)?, 0.0, self.dtype);
        self.same("x")?;
        self.out.iter_mut().for_each(|x| *x = by.mul(*x));
        Ok(())
    }

    /// Each element, times the slope if it is below 0.
    pub(super) fn leaky(&mut self) -> Result<(), O::Error> {
        let slope = self.operands.needed("slope")?;
        let slope = T::convert(self.operands.number(slope)?, 0.0, self.dtype);
        self.same("x")?;
        for x in self.out.iter_mut() {
            *x = T::choose(Comparison::Less, [*x, T::ZERO], slope.mul(*x), *x);
        }
        Ok(())
    }

    /// One of two elements, by a comparison of two others, or of one with a number.
    pub(super) fn choose(&mut self) -> Result<(), O::Error> {
        let how = self.chosen(None, "comparison", Comparison::ALL)?;
        let mut read = |name: &str| {
            let of = self.operands.needed(name)?;
            let mut elements = vec![T::ZERO; self.out.len()];
            self.operands.read(of, self.index, self.first, self.dtype, &mut elements)?;
            Ok(elements)
        };
        let (a, x, y) = (read("a")?, read("x")?, read("y")?);
        let b = match self.operands.operand("by") {
            None => {
                self.same("b")?;
                self.out.to_vec()
            }
            Some(by) => {
                vec![T::convert(self.operands.number(by)?, 0.0, self.dtype); self.out.len()]
            }
        };
        for (k, out) in self.out.iter_mut().enumerate() {
            *out = T::choose(how, [a[k], b[k]], x[k], y[k]);
        }
        Ok(())
    }

    /// A vector added to each row.
    pub(super) fn bias(&mut self) -> Result<(), O::Error> {
        self.same("x")?;
        let bias = self.operands.needed("bias")?;
        let mut other = vec![T::ZERO; self.out.len()];
        self.read(bias, &[], self.first, &mut other)?;
        self.out.iter_mut().zip(other).for_each(|(x, b)| *x = x.add(b));
        Ok(())
    }

    /// An operation on each element of a row and the row's number.
    pub(super) fn by_row(&mut self, op: Option<BinaryOp>) -> Result<(), O::Error> {
        let op = self.chosen(op, "op", &BINARY_OPERATIONS)?;
        self.same("x")?;
        let numbers = self.operands.needed("numbers")?;
        let Some((row, above)) = self.index.split_last() else {
            return Err(self.operands.missing());
        };
        let by = self.one(numbers, above, *row)?;
        self.out.iter_mut().for_each(|x| *x = T::apply(op, *x, by));
        Ok(())
    }

    /// Folds the last dimension: a sum in order from +0.0, or a maximum.
    pub(super) fn fold(&mut self, how: Combined) -> Result<(), O::Error> {
        let x = self.operands.needed("x")?;
        let mut row = vec![T::ZERO; self.columns(x)?];
        let mut at = [self.index, &[0]].concat();
        for (k, place) in self.places() {
            if let Some(last) = at.last_mut() {
                *last = place;
            }
            self.read(x, &at, 0, &mut row)?;
            self.out[k] = combined(how, &row);
        }
        Ok(())
    }

    /// The sum of the last dimension over its extent, which counts as 1 if it is 0.
    pub(super) fn mean(&mut self) -> Result<(), O::Error> {
        self.fold(Combined::Sum)?;
        let x = self.operands.needed("x")?;
        let count = Scalar::I64(self.columns(x)?.max(1) as i64);
        let count = T::convert(count, 0.0, self.dtype);
        self.out.iter_mut().for_each(|sum| *sum = sum.over(count));
        Ok(())
    }

    /// Multiplies matrices: `Σ a[i][k] b[k][j]` in the order of `k`, from +0.0.
    pub(super) fn product(&mut self, transposed: bool) -> Result<(), O::Error> {
        let [a, b] = [self.operands.needed("a")?, self.operands.needed("b")?];
        let mut row = vec![T::ZERO; self.columns(a)?];
        self.read(a, self.index, 0, &mut row)?;
        // Without its own batch, the second matrix applies to all rows of the first.
        let batch = match self.operands.extents(b)?.len() {
            2 => &[][..],
            _ => self.index.split_last().map_or(&[][..], |(_, batch)| batch),
        };
        let mut at = [batch, &[0]].concat();
        let mut second = vec![T::ZERO; if transposed { row.len() } else { self.out.len() }];
        let mut move_to = |place: i64| {
            if let Some(last) = at.last_mut() {
                *last = place;
            }
            at.clone()
        };
        if transposed {
            for (k, place) in self.places() {
                self.read(b, &move_to(place), 0, &mut second)?;
                let products: Vec<T> = row.iter().zip(&second).map(|(x, y)| x.mul(*y)).collect();
                self.out[k] = sum(&products);
            }
            return Ok(());
        }
        let mut sums = vec![T::EMPTY; self.out.len()];
        for (k, x) in row.iter().enumerate() {
            self.read(b, &move_to(k as i64), self.first, &mut second)?;
            sums.iter_mut().zip(&second).for_each(|(sum, y)| T::accumulate(sum, x.mul(*y)));
        }
        self.out.iter_mut().zip(sums).for_each(|(x, sum)| *x = T::total(sum));
        Ok(())
    }
}

/// Combines elements in order.
pub(super) fn combined<T: Number>(how: Combined, terms: &[T]) -> T {
    match how {
        Combined::Sum => sum(terms),
        Combined::Maximum => terms.iter().fold(T::LEAST, |a, x| a.maximum(*x)),
    }
}

/// Returns a sum in order, from +0.0.
pub(super) fn sum<T: Number>(terms: &[T]) -> T {
    let mut sum = T::EMPTY;
    terms.iter().for_each(|x| T::accumulate(&mut sum, *x));
    T::total(sum)
}
