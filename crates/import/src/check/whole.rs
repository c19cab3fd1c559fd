//! Whole tensors, and what operators do with their elements and rows.

use ember_values::scalar::{BinaryOp, DType, Scalar};

/// A tensor: its extents and its elements, the last dimension first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Whole {
    pub(super) shape: Vec<u64>,
    pub(super) cells: Vec<Scalar>,
}

/// Returns how many elements a shape has.
pub(super) fn elements(shape: &[u64]) -> usize {
    shape.iter().product::<u64>() as usize
}

impl Whole {
    pub(super) fn full(shape: Vec<u64>, x: Scalar) -> Whole {
        let cells = vec![x; elements(&shape)];
        Whole { shape, cells }
    }

    pub(super) fn vector(cells: Vec<Scalar>) -> Whole {
        Whole { shape: vec![cells.len() as u64], cells }
    }

    pub(super) fn integers(numbers: impl IntoIterator<Item = i64>) -> Whole {
        Whole::vector(numbers.into_iter().map(Scalar::I64).collect())
    }

    /// The whole numbers of a tensor.
    pub(super) fn numbers(&self) -> Option<Vec<i64>> {
        self.cells.iter().map(|x| x.as_i64()).collect()
    }

    /// The positions of a vector, each below a number.
    pub(super) fn positions(&self, below: u64) -> Option<Vec<usize>> {
        let within = |n: i64| u64::try_from(n).ok().filter(|n| *n < below);
        self.numbers()?.into_iter().map(|n| within(n).map(|n| n as usize)).collect()
    }

    /// The elements of one row, which is what the first dimension counts.
    pub(super) fn row(&self, at: usize) -> &[Scalar] {
        let width = elements(&self.shape[1..]);
        &self.cells[at * width..(at + 1) * width]
    }

    pub(super) fn row_mut(&mut self, at: usize) -> &mut [Scalar] {
        let width = elements(&self.shape[1..]);
        &mut self.cells[at * width..(at + 1) * width]
    }

    pub(super) fn dtype(&self) -> DType {
        self.cells.first().map_or(DType::F32, |x| x.dtype())
    }
}

/// The result of an operation on two numbers, by its word.
pub(super) fn of_two(word: &str, a: Scalar, b: Scalar) -> Option<Scalar> {
    BinaryOp::parse(word)?.apply(a, b)
}

pub(super) fn zero() -> Scalar {
    Scalar::F32(0.0)
}

/// Combines two numbers; a number that a program writes has the type of the other.
pub(super) fn combined(op: BinaryOp, a: Scalar, b: Scalar) -> Option<Scalar> {
    match (a.dtype(), b.dtype()) {
        (DType::I64, DType::F32) => op.apply(a, b.cast(DType::I64)),
        (DType::F32, DType::I64) => op.apply(a.cast(DType::I64), b),
        _ => op.apply(a, b),
    }
}

/// Combines tensors element by element; a number stands for every element.
pub(super) fn zipped(
    a: &Whole,
    b: &Whole,
    f: impl Fn(Scalar, Scalar) -> Option<Scalar>,
) -> Option<Whole> {
    if a.shape != b.shape && !a.shape.is_empty() && !b.shape.is_empty() {
        return None;
    }
    let shape = if a.shape.is_empty() { b.shape.clone() } else { a.shape.clone() };
    let at = |x: &Whole, i: usize| if x.shape.is_empty() { x.cells[0] } else { x.cells[i] };
    let cells = (0..elements(&shape)).map(|i| f(at(a, i), at(b, i)));
    Some(Whole { cells: cells.collect::<Option<_>>()?, shape })
}

/// The distances of neighbours in each dimension.
pub(super) fn strides(shape: &[u64]) -> Vec<usize> {
    (0..shape.len()).map(|axis| elements(&shape[axis + 1..])).collect()
}

/// Elements of a tensor under another shape, by what becomes of an index.
pub(super) fn moved(
    x: &Whole,
    shape: &[u64],
    from: impl Fn(&[usize]) -> Vec<usize>,
) -> Option<Whole> {
    let (own, wanted) = (strides(&x.shape), strides(shape));
    let cells = (0..elements(shape)).map(|at| {
        let index: Vec<usize> =
            wanted.iter().zip(shape).map(|(step, n)| at / step % *n as usize).collect();
        let place: usize = from(&index).iter().zip(&own).map(|(i, step)| i * step).sum();
        x.cells.get(place).copied()
    });
    Some(Whole { cells: cells.collect::<Option<_>>()?, shape: shape.to_vec() })
}

pub(super) fn repeated(x: &Whole, shape: &[u64]) -> Option<Whole> {
    let skipped = shape.len().checked_sub(x.shape.len())?;
    let fits = |(own, wanted): (&u64, &u64)| own == wanted || *own == 1;
    if !x.shape.iter().zip(&shape[skipped..]).all(fits) {
        return None;
    }
    let held = x.shape.clone();
    moved(x, shape, |index| {
        let places = index[skipped..].iter().zip(&held);
        places.map(|(i, n)| if *n == 1 { 0 } else { *i }).collect()
    })
}

pub(super) fn turned(x: &Whole) -> Option<Whole> {
    let rank = x.shape.len();
    let mut shape = x.shape.clone();
    shape.swap(rank.checked_sub(2)?, rank - 1);
    moved(x, &shape, |index| {
        let mut index = index.to_vec();
        index.swap(rank - 2, rank - 1);
        index
    })
}

pub(super) fn concat(axis: usize, part: &[u64], parts: &[Whole]) -> Option<Whole> {
    if parts.is_empty() || parts.iter().any(|x| x.shape != part) || axis >= part.len() {
        return None;
    }
    let (outer, inner) = (elements(&part[..axis]), elements(&part[axis..]));
    let rows = (0..outer).flat_map(|row| parts.iter().map(move |x| (row, x)));
    let cells = rows.flat_map(|(row, x)| x.cells[row * inner..(row + 1) * inner].to_vec());
    let mut shape = part.to_vec();
    shape[axis] *= parts.len() as u64;
    Some(Whole { cells: cells.collect(), shape })
}

/// Rows of a tensor at positions.
pub(super) fn rows(x: &Whole, at: &Whole) -> Option<Whole> {
    let places = at.positions(*x.shape.first()?)?;
    let mut shape = x.shape.clone();
    shape[0] = places.len() as u64;
    let cells = places.iter().flat_map(|at| x.row(*at).to_vec()).collect();
    Some(Whole { shape, cells })
}

/// A tensor with rows combined into those that positions name, in order.
pub(super) fn scattered(word: &str, x: &Whole, at: &Whole, rows: &Whole) -> Option<Whole> {
    let op = BinaryOp::parse(word)?;
    let places = at.positions(*x.shape.first()?)?;
    if rows.shape.first() != Some(&(places.len() as u64)) || rows.shape[1..] != x.shape[1..] {
        return None;
    }
    let mut all = x.clone();
    for (edge, row) in places.into_iter().enumerate() {
        for (own, y) in all.row_mut(row).iter_mut().zip(rows.row(edge)) {
            *own = combined(op, *own, *y)?;
        }
    }
    Some(all)
}

pub(super) fn folded(word: &str, x: &Whole) -> Option<Whole> {
    let op = BinaryOp::parse(word)?;
    let (last, outer) = x.shape.split_last()?;
    let start = op.identity(x.dtype())?;
    let row = |row: &[Scalar]| row.iter().try_fold(start, |a, b| op.apply(a, *b));
    let cells = match *last {
        0 => vec![start; elements(outer)],
        n => x.cells.chunks(n as usize).map(row).collect::<Option<_>>()?,
    };
    Some(Whole { shape: outer.to_vec(), cells })
}
