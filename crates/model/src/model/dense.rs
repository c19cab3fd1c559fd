//! Types and shapes of dense operations: elementwise, row by row, and matrix products.

use super::operand::shown;
use super::operator::{Form, Result};
use super::read::Reader;
use super::{Expr, Extent};
use ember_language::diagnostic::Diagnostic;
use ember_language::sexp::Sexp;
use ember_values::operation::{self, Function, Kernel};
use ember_values::scalar::DType;

/// Formats the operations of kernels as advice in a message.
fn advice(kernels: &[Kernel]) -> String {
    let written = |kernel: &Kernel| {
        let name = operation::computed_by(*kernel).map_or("", |operation| operation.name);
        match kernel {
            Kernel::Convert => format!("`({name} {} …)`", DType::F32),
            _ => format!("`({name} …)`"),
        }
    };
    let written: Vec<String> = kernels.iter().map(written).collect();
    format!("convert it with {}", written.join(" or "))
}

impl Reader {
    /// Checks that the type of an operand supports arithmetic.
    pub(super) fn computable(&mut self, item: &Sexp, operator: &str, expr: &Expr) -> Option<()> {
        if !expr.dtype.is_storage() {
            return Some(());
        }
        let message = format!("`{operator}` cannot compute with {}", expr.dtype);
        let help = match expr.dtype {
            DType::U8 | DType::U4 | DType::I8 => advice(&[Kernel::Dequantise, Kernel::Convert]),
            _ => advice(&[Kernel::Convert]),
        };
        let label = format!("{} is {}, which is only stored", shown(item), expr.dtype);
        self.about(expr, Diagnostic::error(message, item.span, label).with_help(help));
        None
    }

    /// Checks that an operand has a floating-point type with arithmetic.
    pub(super) fn floating(&mut self, item: &Sexp, operator: &str, expr: &Expr) -> Option<()> {
        if matches!(expr.dtype, DType::F32 | DType::F64) {
            return Some(());
        }
        let message = format!("`{operator}` needs f32 or f64");
        let label = format!("{} is {}", shown(item), expr.dtype);
        let error = Diagnostic::error(message, item.span, label);
        self.about(expr, error.with_help(advice(&[Kernel::Convert])));
        None
    }
}

/// Returns the type and shape of an operand as the result.
fn alike(x: Expr) -> Result {
    Some((x.dtype, x.shape))
}

/// Checks a conversion: the shape of the operand, and the given type.
pub(super) fn convert(form: &Form) -> Result {
    let (x, _) = form.tensor("x")?;
    Some((form.dtype("dtype")?, x.shape))
}

pub(super) fn map(reader: &mut Reader, form: &Form, function: Option<Function>) -> Result {
    let function = function.or_else(|| form.word("function", Function::ALL))?;
    let (x, item) = form.tensor("x")?;
    if function.is_float() {
        reader.floating(item, form.name, &x)?;
    } else {
        reader.computable(item, form.name, &x)?;
    }
    alike(x)
}

pub(super) fn zip(reader: &mut Reader, form: &Form) -> Result {
    let ((a, first), (b, second)) = (form.tensor("a")?, form.tensor("b")?);
    reader.computable(first, form.name, &a)?;
    reader.same_type(second, ("the second", &b), ("the first", a.dtype))?;
    same_shape(reader, second, &b, &a)?;
    alike(a)
}

/// Checks that an operand has the same shape as another.
pub(super) fn same_shape(reader: &mut Reader, item: &Sexp, x: &Expr, other: &Expr) -> Option<()> {
    if x.shape == other.shape {
        return Some(());
    }
    let text = |expr: &Expr| {
        let extents: Vec<String> = expr.shape.iter().map(Extent::to_string).collect();
        format!("({})", extents.join(" "))
    };
    let label = format!("{} here, {} before", text(x), text(other));
    reader.about(x, Diagnostic::error("the shapes differ", item.span, label));
    None
}

pub(super) fn scale(reader: &mut Reader, form: &Form) -> Result {
    let (x, item) = form.tensor("x")?;
    reader.floating(item, form.name, &x)?;
    alike(x)
}

/// Checks a choice between elements: two tensors that are compared, or one that is compared with a number, and two that
/// are chosen from, all of one type and shape.
pub(super) fn choose(reader: &mut Reader, form: &Form) -> Result {
    let (a, item) = form.tensor("a")?;
    reader.computable(item, form.name, &a)?;
    for name in ["b", "x", "y"] {
        if let Some((other, item)) = form.tensor(name) {
            reader.same_type(item, ("every operand", &other), ("the first", a.dtype))?;
            same_shape(reader, item, &other, &a)?;
        }
    }
    alike(a)
}

/// Checks an operation on a tensor and a number.
pub(super) fn by_number(reader: &mut Reader, form: &Form) -> Result {
    let (x, item) = form.tensor("x")?;
    reader.computable(item, form.name, &x)?;
    alike(x)
}

/// Checks an operation on a tensor and a vector of one number for each column.
pub(super) fn columns(reader: &mut Reader, form: &Form, vector: &str) -> Result {
    let ((x, of), (numbers, item)) = (form.tensor("x")?, form.tensor(vector)?);
    let phrase = form.phrase(vector)?;
    reader.computable(of, form.name, &x)?;
    reader.same_type(item, (phrase, &numbers), ("the tensor", x.dtype))?;
    let columns = ("columns", x.shape.last()?);
    reader.same_extent(item.span, ("elements of the vector", &numbers.shape[0]), columns)?;
    alike(x)
}

/// Checks a fold of the last dimension.
pub(super) fn fold(reader: &mut Reader, form: &Form) -> Result {
    let (mut x, item) = form.tensor("x")?;
    reader.computable(item, form.name, &x)?;
    x.shape.pop();
    alike(x)
}

pub(super) fn by_row(reader: &mut Reader, form: &Form) -> Result {
    let ((x, of), (numbers, item)) = (form.tensor("x")?, form.tensor("numbers")?);
    let rank = x.shape.len() - 1;
    if !reader.rank(item, "numbers of rows", rank..=rank, &numbers) {
        return None;
    }
    reader.computable(of, form.name, &x)?;
    reader.same_type(item, ("numbers", &numbers), ("the tensor", x.dtype))?;
    for (n, rows) in numbers.shape.iter().zip(&x.shape) {
        reader.same_extent(item.span, ("numbers", n), ("rows", rows))?;
    }
    alike(x)
}

/// Checks a product of stored tensors.
pub(super) fn product(reader: &mut Reader, form: &Form, transposed: bool) -> Result {
    let ((a, first), (b, item)) = (form.tensor("a")?, form.tensor("b")?);
    reader.floating(first, form.name, &a)?;
    reader.same_type(item, ("the second matrix", &b), ("the first", a.dtype))?;
    if b.shape.len() > a.shape.len() {
        let message = "the second matrix has a batch, the first has none";
        reader.about(&b, Diagnostic::error(message, item.span, "has rank 3"));
        return None;
    }
    let (ranks, second) = (a.shape.len(), b.shape.len());
    if second == 3 {
        let batch = ("matrices of the second batch", &b.shape[0]);
        reader.same_extent(item.span, batch, ("those of the first", &a.shape[0]))?;
    }
    let (inner, outer) =
        if transposed { (second - 1, second - 2) } else { (second - 2, second - 1) };
    let what =
        if transposed { "columns of the second matrix" } else { "rows of the second matrix" };
    let columns = ("columns of the first", &a.shape[ranks - 1]);
    reader.same_extent(item.span, (what, &b.shape[inner]), columns)?;
    let mut shape = a.shape;
    shape[ranks - 1] = b.shape[outer].clone();
    Some((a.dtype, shape))
}
