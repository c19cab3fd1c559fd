//! Types and shapes of operations that move elements to other places: triangles, transposition, slices, and dimensions
//! split and merged.

use super::operand::AT_MOST_THREE;
use super::operator::{Form, Result, Value, Written};
use super::read::Reader;
use super::{Argument, Expr, Extent};
use ember_language::sexp::Sexp;
use ember_values::operation::{self, Kernel, Reads};
use ember_values::scalar::Scalar;
use itertools::Itertools;
use std::borrow::Cow;

/// Checks the part below the diagonals.
pub(super) fn triangle(reader: &mut Reader, form: &Form) -> Result {
    let (x, item) = form.tensor("x")?;
    reader.same_extent(item.span, ("columns", &x.shape[2]), ("rows", &x.shape[1]))?;
    let n = reader.constant(item.span, "the rows of a matrix", &x.shape[1])?;
    let Some(pairs) = n.checked_mul(n.saturating_sub(1)).map(|twice| twice / 2) else {
        reader.error(item.span, "more elements than can be counted", format!("{n} rows"));
        return None;
    };
    Some((x.dtype, vec![x.shape[0].clone(), Extent::Const(pairs)]))
}

/// Returns the dimension that an operand names, behind which the tensor has so many others.
fn axis(reader: &mut Reader, form: &Form, rank: usize, behind: usize) -> Option<usize> {
    let (axis, item) = form.count("axis")?;
    let axis = usize::try_from(axis).unwrap_or(usize::MAX);
    if axis.saturating_add(behind) < rank {
        return Some(axis);
    }
    let label = format!("the tensor has {rank}");
    let help = format!("dimensions are counted from 0; write at most {}", rank - 1 - behind);
    reader.error_with_help(item.span, "no such dimension", label, help);
    None
}

/// Exchanges a dimension and the next one.
pub(super) fn swap(reader: &mut Reader, form: &Form) -> Result {
    let (mut x, _) = form.tensor("x")?;
    let axis = axis(reader, form, x.shape.len(), 1)?;
    x.shape.swap(axis, axis + 1);
    Some((x.dtype, x.shape))
}

/// Checks that a slice lies within its dimension for all data.
pub(super) fn slice(reader: &mut Reader, form: &Form) -> Result {
    let (mut x, item) = form.tensor("x")?;
    let axis = axis(reader, form, x.shape.len(), 0)?;
    let ((first, _), (count, end)) = (form.count("first")?, form.count("count")?);
    let to = first.saturating_add(count);
    let within = match &x.shape[axis] {
        // A size may be 0, so that only what is added to it is there for all data.
        Extent::Size { plus, .. } if to <= *plus => *plus,
        extent => reader.constant(item.span, "an extent that is sliced", extent)?,
    };
    if to > within {
        let label = format!("{count} elements from {first} on, of {within}");
        reader.error(end.span, "the slice ends behind the tensor", label);
        return None;
    }
    x.shape[axis] = Extent::Const(count);
    Some((x.dtype, x.shape))
}

/// Checks that an extent is a multiple of the columns.
pub(super) fn split(reader: &mut Reader, form: &Form) -> Result {
    let ((mut x, item), (columns, at)) = (form.tensor("x")?, form.count("columns")?);
    let axis = axis(reader, form, x.shape.len(), 0)?;
    if columns == 1 {
        x.shape.insert(axis + 1, Extent::Const(1));
        return Some((x.dtype, x.shape));
    }
    let extent = reader.constant(item.span, "an extent that is split", &x.shape[axis])?;
    let Some(rows) = extent.checked_div(columns).filter(|rows| rows * columns == extent) else {
        let message = format!("{extent} elements cannot be split into rows of {columns}");
        reader.error(at.span, message, "no divisor");
        return None;
    };
    x.shape[axis] = Extent::Const(rows);
    x.shape.insert(axis + 1, Extent::Const(columns));
    Some((x.dtype, x.shape))
}

/// Multiplies an extent and the next one.
pub(super) fn merge(reader: &mut Reader, form: &Form) -> Result {
    let (mut x, item) = form.tensor("x")?;
    let axis = axis(reader, form, x.shape.len(), 1)?;
    let what = "an extent that is merged";
    if x.shape[axis + 1] == Extent::Const(1) {
        x.shape.remove(axis + 1);
        return Some((x.dtype, x.shape));
    }
    let rows = reader.constant(item.span, what, &x.shape[axis])?;
    let columns = reader.constant(item.span, what, &x.shape.remove(axis + 1))?;
    let Some(elements) = rows.checked_mul(columns) else {
        let label = format!("{rows} rows of {columns}");
        reader.error(item.span, "more elements than can be counted", label);
        return None;
    };
    x.shape[axis] = Extent::Const(elements);
    Some((x.dtype, x.shape))
}

/// Reads `nn.transpose`: the last two dimensions exchanged.
pub(super) fn transpose(reader: &mut Reader, written: &Written) -> Option<Value> {
    let [item] = written.args else { return None };
    let x = reader.ranked(item, "a tensor", 2..=3, Reads::Once)?;
    let axis = x.shape.len() as u64 - 2;
    moved(reader, written, Kernel::Swap, &[axis], (x, item)).map(Value::Whole)
}

/// Reads `nn.reshape`: the same elements in row-major order under other extents. The dimensions that differ are merged
/// into one, which is then split.
pub(super) fn reshape(reader: &mut Reader, written: &Written) -> Option<Value> {
    let [shape, item] = written.args else { return None };
    let wanted: Vec<Extent> = reader.shape(shape)?.into_iter().map(|(extent, _)| extent).collect();
    if !(1..=3).contains(&wanted.len()) {
        let label = format!("{} extents", wanted.len());
        let message = "a computed tensor has 1 to 3 dimensions";
        reader.error_with_help(shape.span, message, label, AT_MOST_THREE);
        return None;
    }
    let mut x = reader.ranked(item, "a tensor", 1..=3, Reads::Once)?;
    let alike = x.shape.iter().zip(&wanted).take_while(|(a, b)| a == b).count();
    // One dimension remains that the others are merged into or split from.
    let first = alike.min(x.shape.len() - 1).min(wanted.len() - 1);
    let ends = x.shape[first..].iter().rev().zip(wanted[first..].iter().rev());
    let last = ends.take_while(|(a, b)| a == b).count();
    let last = last.min(x.shape.len() - first - 1).min(wanted.len() - first - 1);
    let count = |reader: &mut Reader, item: &Sexp, extents: &[Extent]| {
        let what = "an extent that changes";
        let extents = extents.iter().map(|extent| reader.constant(item.span, what, extent));
        extents.collect::<Option<Vec<u64>>>()
    };
    let ends = (x.shape.len() - last, wanted.len() - last);
    if x.shape[first..ends.0] == wanted[first..ends.1] {
        return Some(Value::Whole(x));
    }
    // Extents of 1 behind a size, or none of them, are as many elements for all data.
    let size = |extents: &[Extent]| match extents {
        [size, ones @ ..] if ones.iter().all(|extent| *extent == Extent::Const(1)) => {
            Some(size.clone())
        }
        _ => None,
    };
    let (before, after) = (&x.shape[first..ends.0], &wanted[first..ends.1]);
    let (own, split) = match (size(before), size(after)) {
        (Some(a), Some(b)) if a == b => (vec![1; before.len()], vec![1; after.len()]),
        _ => (count(reader, item, before)?, count(reader, shape, after)?),
    };
    let product = |extents: &[u64]| extents.iter().try_fold(1, |n: u64, e| n.checked_mul(*e));
    if product(&own) != product(&split) {
        let elements = |extents: &[u64]| extents.iter().join(" · ");
        let label = format!("{} elements, of {}", elements(&split), elements(&own));
        reader.error(shape.span, "a reshaped tensor keeps the number of its elements", label);
        return None;
    }
    let axis = first as u64;
    for _ in 1..own.len() {
        x = moved(reader, written, Kernel::Merge, &[axis], (x, item))?;
        x = reader.stored(Value::Whole(x), written.span);
    }
    for (at, _) in split.iter().enumerate().skip(1) {
        let columns = product(&split[at..])?;
        let axis = axis + at as u64 - 1;
        x = moved(reader, written, Kernel::Split, &[axis, columns], (x, item))?;
    }
    Some(Value::Whole(x))
}

/// Applies the operation of a kernel to numbers and a tensor.
fn moved(
    reader: &mut Reader,
    written: &Written,
    kernel: Kernel,
    numbers: &[u64],
    (x, item): (Expr, &Sexp),
) -> Option<Expr> {
    let number = |n: &u64| Some((Argument::Number(Scalar::I64(i64::try_from(*n).ok()?)), item));
    let arguments = numbers.iter().map(number).chain([Some((Argument::Tensor(x), item))]);
    reader.apply(Form {
        name: written.name,
        operation: Cow::Borrowed(operation::computed_by(kernel)?),
        span: written.span,
        arguments: arguments.collect(),
    })
}
