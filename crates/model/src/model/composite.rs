//! Operators that are made of several: they become expressions of the others, some of them stored.

use super::dense::{biased, folded, product, same_shape, under_diagonal};
use super::operand::{Keep, is_cheap};
use super::operator::{Form, Value};
use super::read::Reader;
use super::{Expr, Extent, Op, Part, Unary};
use ember_language::sexp::Sexp;
use ember_values::scalar::BinaryOp;

/// `e = exp(x - max x)`, `e / sum e`, row by row.
pub(super) fn softmax(reader: &mut Reader, form: Form) -> Option<Value> {
    let [item] = form.args else { return None };
    let x = reader.ranked(item, "a tensor", &[2, 3], Keep::Often)?;
    reader.floating(item, form.name, &x)?;
    let like = |op: Op| Expr { op, dtype: x.dtype, shape: x.shape.clone(), span: form.span };
    debug_assert!(is_cheap(&x));
    let most = reader.stored(Value::Whole(folded(BinaryOp::Max, x.clone(), form)), form.span);
    let shifted = like(Op::Rows(BinaryOp::Sub, Box::new(x.clone()), Box::new(most)));
    let raised = like(Op::Unary(Unary::Exp, Box::new(shifted)));
    let raised = reader.stored(Value::Whole(raised), form.span);
    let total = folded(BinaryOp::Add, raised.clone(), form);
    let total = reader.stored(Value::Whole(total), form.span);
    Some(Value::Whole(like(Op::Rows(BinaryOp::Div, Box::new(raised), Box::new(total)))))
}

/// `x W + b`.
pub(super) fn linear(reader: &mut Reader, form: Form) -> Option<Value> {
    let [item, weights, bias] = form.args else { return None };
    let x = reader.address(item, "a tensor", &[2, 3]);
    let w = reader.address(weights, "weights", &[2]);
    let b = reader.address(bias, "a bias", &[1]);
    let ((_, x), (_, w), (_, b)) = (x?, w?, b?);
    let product = product(reader, form, x, (weights, w), false)?;
    let product = reader.stored(Value::Whole(product), form.span);
    biased(reader, form, product, (bias, b))
}

/// The inner products of all pairs of rows, for each of a batch.
pub(super) fn interact(reader: &mut Reader, form: Form) -> Option<Value> {
    let [item] = form.args else { return None };
    let (_, x) = reader.address(item, "a batch of matrices", &[3])?;
    let products = product(reader, form, x.clone(), (item, x), true)?;
    let products = reader.stored(Value::Whole(products), form.span);
    under_diagonal(reader, form, item, products)
}

/// The parts of a stack or concatenation: matrices of one type.
fn matrices(reader: &mut Reader, items: &[Sexp]) -> Option<Vec<Expr>> {
    let read = |item| reader.ranked(item, "a part", &[2], Keep::Once);
    let read: Vec<_> = items.iter().map(read).collect();
    let parts: Vec<Expr> = read.into_iter().collect::<Option<_>>()?;
    for (item, part) in items.iter().zip(&parts).skip(1) {
        reader.same_type(item, ("a part", part), ("the first", parts[0].dtype))?;
    }
    Some(parts)
}

/// `[b, d]` each, to `[b, parts, d]`.
pub(super) fn stack(reader: &mut Reader, form: Form) -> Option<Value> {
    let parts = matrices(reader, form.args)?;
    for (item, part) in form.args.iter().zip(&parts) {
        same_shape(reader, item, part, &parts[0])?;
    }
    let (dtype, [rows, columns]) = (parts[0].dtype, parts[0].shape.clone().try_into().ok()?);
    let shape = vec![rows, Extent::Const(parts.len() as u64), columns];
    let parts = parts.into_iter().enumerate();
    let parts = parts.map(|(k, part)| (Part::Slot(k as u64), part)).collect();
    Some(Value::Parts { parts, dtype, shape })
}

/// `[b, d1]`, `[b, d2]`, … to `[b, d1 + d2 + …]`.
pub(super) fn concat(reader: &mut Reader, form: Form) -> Option<Value> {
    let parts = matrices(reader, form.args)?;
    let (dtype, rows) = (parts[0].dtype, parts[0].shape[0].clone());
    let (mut columns, mut placed) = (0u64, Vec::new());
    for (item, part) in form.args.iter().zip(parts) {
        reader.same_extent(
            item.span,
            ("rows of a part", &part.shape[0]),
            ("those of the first", &rows),
        )?;
        let width = reader.constant(item.span, "the columns of a part", &part.shape[1])?;
        placed.push((Part::Columns(columns), part));
        columns = columns.saturating_add(width);
    }
    Some(Value::Parts { parts: placed, dtype, shape: vec![rows, Extent::Const(columns)] })
}
