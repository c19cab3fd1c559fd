//! Composite operations, which are replaced by expressions of other operations, some of them stored.

use super::dense::same_shape;
use super::operand::is_cheap;
use super::operator::{Composite, Form, Value, Written};
use super::read::Reader;
use super::{Argument, Expr, Extent, Part, places};
use ember_language::sexp::Sexp;
use ember_values::operation::{self, Combined, Function, Kernel, Reads};
use ember_values::scalar::Linear;
use std::borrow::Cow;

/// All composite operations.
pub(super) const COMPOSITES: [Composite; 7] = [
    Composite { name: "nn.softmax", usage: "TENSOR", read: softmax },
    Composite { name: "nn.linear", usage: "TENSOR WEIGHTS BIAS", read: linear },
    Composite { name: "nn.interact", usage: "TENSOR", read: interact },
    Composite { name: "nn.transpose", usage: "TENSOR", read: places::transpose },
    Composite { name: "nn.reshape", usage: "SHAPE TENSOR", read: places::reshape },
    Composite { name: "nn.stack", usage: "TENSOR TENSOR …", read: stack },
    Composite { name: "nn.concat", usage: "TENSOR TENSOR …", read: concat },
];

/// Iterates over the composite operations, each with its name and the syntax of its operands, which are tensors.
pub fn composites() -> impl Iterator<Item = (&'static str, &'static str)> {
    COMPOSITES.iter().map(|composite| (composite.name, composite.usage))
}

impl Reader {
    /// Builds the operation with a kernel, as a part of a composite, from tensors that have been read.
    fn part(
        &mut self,
        written: &Written,
        kernel: Kernel,
        operands: Vec<(Expr, &Sexp)>,
    ) -> Option<Expr> {
        let tensor = |(expr, item)| Some((Argument::Tensor(expr), item));
        self.apply(Form {
            name: written.name,
            operation: Cow::Borrowed(operation::computed_by(kernel)?),
            span: written.span,
            arguments: operands.into_iter().map(tensor).collect(),
        })
    }

    /// [`Reader::part`] with its result stored.
    fn stored_part(
        &mut self,
        written: &Written,
        kernel: Kernel,
        operands: Vec<(Expr, &Sexp)>,
    ) -> Option<Expr> {
        let part = self.part(written, kernel, operands)?;
        Some(self.stored(Value::Whole(part), written.span))
    }
}

/// Reads `nn.softmax`: `e = exp(x - max x)`, `e / sum e`, row by row.
fn softmax(reader: &mut Reader, written: &Written) -> Option<Value> {
    let [item] = written.args else { return None };
    let x = reader.ranked(item, "a tensor", 2..=3, Reads::Often)?;
    reader.floating(item, written.name, &x)?;
    debug_assert!(is_cheap(&x));
    let most =
        reader.stored_part(written, Kernel::Fold(Combined::Maximum), vec![(x.clone(), item)])?;
    let shifted = reader.part(
        written,
        Kernel::ByRow(Some(const { Linear::Difference.operation() })),
        vec![(x, item), (most, item)],
    )?;
    let raised =
        reader.stored_part(written, Kernel::Map(Some(Function::Exp)), vec![(shifted, item)])?;
    let total =
        reader.stored_part(written, Kernel::Fold(Combined::Sum), vec![(raised.clone(), item)])?;
    let shares = vec![(raised, item), (total, item)];
    reader
        .part(written, Kernel::ByRow(Some(const { Linear::Product.inverse() })), shares)
        .map(Value::Whole)
}

/// Reads `nn.linear`: `x W + b`.
fn linear(reader: &mut Reader, written: &Written) -> Option<Value> {
    let [item, weights, bias] = written.args else { return None };
    let x = reader.address(item, "a tensor", 2..=3);
    let w = reader.address(weights, "weights", 2..=2);
    let b = reader.address(bias, "a bias", 1..=1);
    let (x, w, b) = (x?, w?, b?);
    let product = Kernel::Product { transposed: false };
    let product = reader.stored_part(written, product, vec![(x, item), (w, weights)])?;
    reader.part(written, Kernel::Bias, vec![(product, item), (b, bias)]).map(Value::Whole)
}

/// Reads `nn.interact`: the inner products of all pairs of rows, for each matrix of a batch.
fn interact(reader: &mut Reader, written: &Written) -> Option<Value> {
    let [item] = written.args else { return None };
    let x = reader.address(item, "a batch of matrices", 3..=3)?;
    let product = Kernel::Product { transposed: true };
    let products = reader.stored_part(written, product, vec![(x.clone(), item), (x, item)])?;
    reader.part(written, Kernel::Triangle, vec![(products, item)]).map(Value::Whole)
}

/// Reads the parts of a stack or concatenation, which are matrices of one type.
fn matrices(reader: &mut Reader, items: &[Sexp]) -> Option<Vec<Expr>> {
    let read = |item| reader.ranked(item, "a part", 2..=2, Reads::Once);
    let read: Vec<_> = items.iter().map(read).collect();
    let parts: Vec<Expr> = read.into_iter().collect::<Option<_>>()?;
    for (item, part) in items.iter().zip(&parts).skip(1) {
        reader.same_type(item, ("a part", part), ("the first", parts[0].dtype))?;
    }
    Some(parts)
}

/// Reads `nn.stack`, from `[b, d]` each to `[b, parts, d]`.
fn stack(reader: &mut Reader, written: &Written) -> Option<Value> {
    let parts = matrices(reader, written.args)?;
    for (item, part) in written.args.iter().zip(&parts) {
        same_shape(reader, item, part, &parts[0])?;
    }
    let (dtype, [rows, columns]) = (parts[0].dtype, parts[0].shape.clone().try_into().ok()?);
    let shape = vec![rows, Extent::Const(parts.len() as u64), columns];
    let parts = parts.into_iter().enumerate();
    let parts = parts.map(|(k, part)| (Part::Slot(k as u64), part)).collect();
    Some(Value::Parts { parts, dtype, shape })
}

/// Reads `nn.concat`, from `[b, d1]`, `[b, d2]`, … to `[b, d1 + d2 + …]`.
fn concat(reader: &mut Reader, written: &Written) -> Option<Value> {
    let parts = matrices(reader, written.args)?;
    let (dtype, rows) = (parts[0].dtype, parts[0].shape[0].clone());
    let (mut columns, mut placed) = (0u64, Vec::new());
    for (item, part) in written.args.iter().zip(parts) {
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
