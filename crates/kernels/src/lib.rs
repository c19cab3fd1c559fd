//! The reference of operations on whole tensors: one kernel each, in the one order of operations that defines it.
//! Knows nothing of terms, rules or models: whoever evaluates an operation says how its operands are read, and reading
//! may fail.
//!
//! A kernel computes a run of elements along the last dimension of its result, so that an operand which is computed
//! itself, or is larger than memory, is never held as a whole. The numbers are those of the result's type, or carry a
//! bound of their rounding error ([`Bounded`]).
//!
//! Each line below is one element of a kernel's result; `Σ` adds in the order that is given, from +0.0, `max` is
//! IEEE 754-2019 maximum, products are rounded before they are added, integers wrap, and nothing is contracted or
//! reassociated. The functions are `libm`'s.
//!
//! | kernel | element |
//! |---|---|
//! | rows of bags, over the bag's lookups `l` in order, `x(l) = table[indices[l]][e]`, or `weights[l] * x(l)` | sum: `Σ x(l)`; mean: the sum divided by `max(count, 1)` in the table's type; max: the maximum folded from its identity, 0 if there are no lookups |
//! | rows | `table[indices[j]][e]`, copied |
//! | edges, for edge `l` of row `r` | `Σ left[r][k] * right[indices[l]][k]` over `k` |
//! | edges with a function, `p(l)` that sum | `Σ f(p(l)) * right[indices[l]][e]` over the edges of the row |
//! | triples, transe | `0 - Σ max(x, 0 - x)`, `x = (h + r) - t` |
//! | triples, distmult | `Σ (h * r) * t` |
//! | triples, complex, `a + bi` of the head, `c + di` of the relation, `x + yi` of the tail | `Σ (a * c - b * d) * x + (a * d + b * c) * y` |
//! | triples, rotate, `u = (a * c - b * d) - x`, `v = (a * d + b * c) - y` | `0 - Σ sqrt(u * u + v * v)` |
//! | blocks | `table[indices[j]][r][e]`, copied |
//! | codes | `codes[r][e] * scales[r][0] + scales[r][1]` |
//! | relu, sigmoid | `max(x, 0)`, `1 / (1 + exp(0 - x))` |
//! | folds | the last dimension folded: the maximum from its identity, `Σ` |
//! | products | `Σ a[i][k] * b[k][j]` over `k` |
//! | triangles | `x[b][i][j]` for `i > j`, at `i (i - 1) / 2 + j` |
//!
//! ```
//! use ember_kernels::{Operands, Number, run};
//! use ember_values::operation::Kernel;
//! use ember_values::scalar::{BinaryOp, DType, Scalar};
//!
//! /// The vectors 1 2 3 and 10 20 30.
//! struct Vectors;
//!
//! impl Operands for Vectors {
//!     type Error = ();
//!     type Operand = f64;
//!     fn operand(&self, name: &str) -> Option<f64> {
//!         [("a", 1.0), ("b", 10.0)].into_iter().find(|(own, _)| *own == name).map(|(_, x)| x)
//!     }
//!     fn word(&self, _: &str) -> Option<usize> { None }
//!     fn missing(&self) {}
//!     fn number(&mut self, _: f64) -> Result<Scalar, ()> { Err(()) }
//!     fn extents(&mut self, _: f64) -> Result<Vec<i64>, ()> { Ok(vec![3]) }
//!     fn position(&mut self, _: f64, _: &[i64]) -> Result<i64, ()> { Err(()) }
//!     fn read<T: Number>(
//!         &mut self, of: f64, _: &[i64], first: i64, dtype: DType, out: &mut [T],
//!     ) -> Result<(), ()> {
//!         for (k, x) in out.iter_mut().enumerate() {
//!             *x = T::convert(Scalar::F64(of * (first as f64 + k as f64 + 1.0)), 0.0, dtype);
//!         }
//!         Ok(())
//!     }
//! }
//!
//! let mut sums = [0.0f32; 2];
//! run(Kernel::Zip(Some(BinaryOp::Add)), DType::F32, &mut Vectors, &[], 1, &mut sums).expect("two vectors");
//! assert_eq!(sums, [22.0, 33.0]);
//! ```

mod bounded;
mod dense;
mod element;
mod lookups;
mod places;
mod segments;

pub use bounded::Bounded;
pub use element::{Kept, Number};

use ember_values::operation::{Function, Kernel};
use ember_values::scalar::{DType, Scalar};

/// The operands of an operation, by the names of its row.
pub trait Operands {
    /// Why an operand cannot be read.
    type Error;
    /// An operand.
    type Operand: Copy;

    /// An operand by its name; `None` if the operation is written without it.
    fn operand(&self, name: &str) -> Option<Self::Operand>;

    /// The word that an operand is, by its place among the words of the row.
    fn word(&self, name: &str) -> Option<usize>;

    /// The error for an operand that is missing, or of another rank than the kernel takes.
    fn missing(&self) -> Self::Error;

    /// The number that an operand is.
    fn number(&mut self, of: Self::Operand) -> Result<Scalar, Self::Error>;

    /// The natural number that an operand is.
    fn natural(&mut self, of: Self::Operand) -> Result<Option<i64>, Self::Error> {
        Ok(self.number(of)?.as_i64())
    }

    /// The extents of an operand.
    fn extents(&mut self, of: Self::Operand) -> Result<Vec<i64>, Self::Error>;

    /// The places at which an operand of rank 1 holds a position, in order.
    fn holders(&mut self, of: Self::Operand, position: i64) -> Result<Vec<i64>, Self::Error> {
        let count = self.extents(of)?.first().copied().unwrap_or(0);
        let mut holders = Vec::new();
        for at in 0..count {
            if self.position(of, &[at])? == position {
                holders.push(at);
            }
        }
        Ok(holders)
    }

    /// The position that an operand holds at an index.
    fn position(&mut self, of: Self::Operand, at: &[i64]) -> Result<i64, Self::Error>;

    /// Fills a buffer with numbers of a type from a run of elements: at an index of all dimensions but the last, and
    /// from `first` on in the last.
    fn read<T: Number>(
        &mut self,
        of: Self::Operand,
        at: &[i64],
        first: i64,
        dtype: DType,
        out: &mut [T],
    ) -> Result<(), Self::Error>;

    /// An operand that the operation cannot be without.
    fn needed(&self, name: &str) -> Result<Self::Operand, Self::Error> {
        self.operand(name).ok_or_else(|| self.missing())
    }
}

/// A run of elements of a kernel's result, which is of a type: at an index of all dimensions but the last, and from
/// `first` on in the last.
pub fn run<T: Number, O: Operands>(
    kernel: Kernel,
    dtype: DType,
    operands: &mut O,
    index: &[i64],
    first: i64,
    out: &mut [T],
) -> Result<(), O::Error> {
    let mut run = Run { operands, dtype, index, first, out };
    match kernel {
        Kernel::Rows => run.rows(),
        Kernel::Edges => run.edges(),
        Kernel::Triples => run.triples(),
        Kernel::Blocks => run.blocks(),
        Kernel::Dequantise => run.dequantise(),
        Kernel::Convert => run.same("x"),
        Kernel::Map(function) => run.map(function),
        Kernel::Zip(op) => run.zip(op),
        Kernel::Scale => run.scale(),
        Kernel::Leaky => run.leaky(),
        Kernel::Where => run.choose(),
        Kernel::Bias => run.bias(),
        Kernel::ByNumber => run.by_number(),
        Kernel::ByColumn => run.by_column(),
        Kernel::Fold(op) => run.fold(op),
        Kernel::Mean => run.mean(),
        Kernel::ByRow(op) => run.by_row(op),
        Kernel::Product { transposed } => run.product(transposed),
        Kernel::Triangle => run.triangle(),
        Kernel::Swap => run.swap(),
        Kernel::Slice => run.slice(),
        Kernel::Split => run.split(),
        Kernel::Merge => run.merge(),
        Kernel::Segments(op) => run.segments(op),
        Kernel::Spread => run.spread(),
        Kernel::Scatter(op) => run.scatter(op),
        Kernel::Columns => run.column_by_column(),
        Kernel::Lowered => Err(run.operands.missing()),
    }
}

/// A function of one number; `None` for a type that it does not take.
pub fn map(function: Function, x: Scalar) -> Option<Scalar> {
    let is_whole = !function.is_float();
    match x {
        Scalar::F32(x) => Some(Scalar::F32(f32::map(function, x, DType::F32))),
        Scalar::F64(x) => Some(Scalar::F64(f64::map(function, x, DType::F64))),
        Scalar::I32(x) if is_whole => Some(Scalar::I32(i32::map(function, x, DType::I32))),
        Scalar::I64(x) if is_whole => Some(Scalar::I64(i64::map(function, x, DType::I64))),
        _ => (function == Function::Identity).then_some(x),
    }
}

/// The run of elements that a kernel is to compute.
struct Run<'a, T, O> {
    operands: &'a mut O,
    dtype: DType,
    index: &'a [i64],
    first: i64,
    out: &'a mut [T],
}

impl<T: Number, O: Operands> Run<'_, T, O> {
    /// Some elements of an operand.
    fn read(
        &mut self,
        of: O::Operand,
        at: &[i64],
        first: i64,
        out: &mut [T],
    ) -> Result<(), O::Error> {
        self.operands.read(of, at, first, self.dtype, out)
    }

    /// One element of an operand, of which the last index is given apart.
    fn one(&mut self, of: O::Operand, at: &[i64], last: i64) -> Result<T, O::Error> {
        let mut one = [T::ZERO];
        self.read(of, at, last, &mut one)?;
        Ok(one[0])
    }

    /// A row of an operand as wide as a buffer.
    fn row(&mut self, of: O::Operand, at: i64, out: &mut [T]) -> Result<(), O::Error> {
        self.read(of, &[at], 0, out)
    }

    /// The elements of an operand at the result's own index.
    fn same(&mut self, name: &str) -> Result<(), O::Error> {
        let of = self.operands.needed(name)?;
        self.operands.read(of, self.index, self.first, self.dtype, self.out)
    }

    /// The extent of the last dimension of an operand.
    fn columns(&mut self, of: O::Operand) -> Result<usize, O::Error> {
        let columns = self.operands.extents(of)?.last().copied();
        columns.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| self.operands.missing())
    }

    /// The natural number that an operand is.
    fn count(&mut self, name: &str) -> Result<i64, O::Error> {
        let number = self.operands.needed(name)?;
        let number = self.operands.natural(number)?;
        number.filter(|n| *n >= 0).ok_or_else(|| self.operands.missing())
    }

    /// The indices of the result but the last, of which the kernel takes so many.
    fn indices<const N: usize>(&self) -> Result<[i64; N], O::Error> {
        self.index.try_into().map_err(|_| self.operands.missing())
    }

    /// The places in the last dimension, from the first on.
    fn places(&self) -> impl Iterator<Item = (usize, i64)> + use<T, O> {
        let first = self.first;
        (0..self.out.len()).map(move |k| (k, first.saturating_add(k as i64)))
    }
}
