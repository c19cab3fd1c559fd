//! Reading the operators of the dialect `nn`: element by element, row by row, and products.

use super::operand::{Keep, shown};
use super::operator::{Form, Value};
use super::read::Reader;
use super::{Expr, Extent, Op, Unary};
use ember_language::diagnostic::Diagnostic;
use ember_language::sexp::Sexp;
use ember_values::scalar::{BinaryOp, DType, Scalar};

/// The ranks that operators on elements take.
pub(super) const ANY: [usize; 3] = [1, 2, 3];

/// The same type and shape as an operand's.
fn alike(x: Expr, form: Form, op: impl FnOnce(Box<Expr>) -> Op) -> Option<Value> {
    let (dtype, shape) = (x.dtype, x.shape.clone());
    Some(Value::Whole(Expr { op: op(Box::new(x)), dtype, shape, span: form.span }))
}

impl Reader {
    /// Checks that an operand's type is one that there is arithmetic on.
    pub(super) fn computable(&mut self, item: &Sexp, operator: &str, expr: &Expr) -> Option<()> {
        if !expr.dtype.is_storage() {
            return Some(());
        }
        let message = format!("`{operator}` cannot compute with {}", expr.dtype);
        let help = match expr.dtype {
            DType::U8 | DType::U4 => "convert it with `(emb.dequantise …)` or `(nn.cast f32 …)`",
            _ => "convert it with `(nn.cast f32 …)`",
        };
        let label = format!("{} is {}, which is only stored", shown(item), expr.dtype);
        self.about(expr, Diagnostic::error(message, item.span, label).with_help(help));
        None
    }

    /// Checks that an operand is of a floating-point type with arithmetic.
    pub(super) fn floating(&mut self, item: &Sexp, operator: &str, expr: &Expr) -> Option<()> {
        if matches!(expr.dtype, DType::F32 | DType::F64) {
            return Some(());
        }
        let message = format!("`{operator}` needs f32 or f64");
        let label = format!("{} is {}", shown(item), expr.dtype);
        let error = Diagnostic::error(message, item.span, label);
        self.about(expr, error.with_help("convert it with `(nn.cast f32 …)`"));
        None
    }
}

pub(super) fn cast(reader: &mut Reader, form: Form) -> Option<Value> {
    let [dtype, item] = form.args else { return None };
    let dtype = reader.dtype(dtype);
    let x = reader.ranked(item, "a tensor", &ANY, Keep::Once);
    let (dtype, x) = (dtype?, x?);
    let shape = x.shape.clone();
    Some(Value::Whole(Expr { op: Op::Cast(Box::new(x)), dtype, shape, span: form.span }))
}

pub(super) fn unary(reader: &mut Reader, form: Form) -> Option<Value> {
    let [item] = form.args else { return None };
    let f = Unary::ALL.into_iter().find(|f| form.name.strip_prefix("nn.") == Some(f.name()))?;
    let x = reader.ranked(item, "a tensor", &ANY, Keep::Once)?;
    match f {
        Unary::Relu => reader.computable(item, form.name, &x)?,
        _ => reader.floating(item, form.name, &x)?,
    }
    alike(x, form, |x| Op::Unary(f, x))
}

pub(super) fn binary(reader: &mut Reader, form: Form) -> Option<Value> {
    let [first, second] = form.args else { return None };
    let a = reader.ranked(first, "a tensor", &ANY, Keep::Once);
    let b = reader.ranked(second, "a tensor", &ANY, Keep::Once);
    let (a, b) = (a?, b?);
    let op = BinaryOp::parse(form.name.strip_prefix("nn.")?)?;
    reader.computable(first, form.name, &a)?;
    reader.same_type(second, ("the second", &b), ("the first", a.dtype))?;
    same_shape(reader, second, &b, &a)?;
    alike(a, form, |a| Op::Binary(op, a, Box::new(b)))
}

/// Checks that an operand has the shape of another.
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

pub(super) fn scale(reader: &mut Reader, form: Form) -> Option<Value> {
    let [number, item] = form.args else { return None };
    let x = reader.ranked(item, "a tensor", &ANY, Keep::Once)?;
    reader.floating(item, form.name, &x)?;
    let Some(by) = number.atom().and_then(|word| word.parse::<f64>().ok()) else {
        reader.error(number.span, "a number was expected", "not a number");
        return None;
    };
    alike(x, form, |x| Op::Scale(Scalar::from_f64(x.dtype, by), x))
}

pub(super) fn bias(reader: &mut Reader, form: Form) -> Option<Value> {
    let [item, vector] = form.args else { return None };
    let x = reader.ranked(item, "a tensor", &[2, 3], Keep::Once);
    let bias = reader.address(vector, "a bias", &[1]);
    let (x, bias) = (x?, bias?);
    biased(reader, form, x, (vector, bias.1))
}

/// A bias added to a tensor, once both are known.
pub(super) fn biased(
    reader: &mut Reader,
    form: Form,
    x: Expr,
    (item, bias): (&Sexp, Expr),
) -> Option<Value> {
    reader.computable(&form.args[0], form.name, &x)?;
    reader.same_type(item, ("a bias", &bias), ("the tensor", x.dtype))?;
    let columns = ("columns", x.shape.last()?);
    reader.same_extent(item.span, ("elements of the bias", &bias.shape[0]), columns)?;
    let Op::Tensor(id) = bias.op else { return None };
    alike(x, form, |x| Op::Bias(x, id))
}

pub(super) fn row(reader: &mut Reader, form: Form) -> Option<Value> {
    let [item] = form.args else { return None };
    let op = if form.name == "nn.row_max" { BinaryOp::Max } else { BinaryOp::Add };
    let x = reader.ranked(item, "a tensor", &[2, 3], Keep::Once)?;
    reader.computable(item, form.name, &x)?;
    Some(Value::Whole(folded(op, x, form)))
}

/// The last dimension folded.
pub(super) fn folded(op: BinaryOp, x: Expr, form: Form) -> Expr {
    let (dtype, shape) = (x.dtype, x.shape[..x.shape.len() - 1].to_vec());
    Expr { op: Op::Row(op, Box::new(x)), dtype, shape, span: form.span }
}

pub(super) fn rows(reader: &mut Reader, form: Form) -> Option<Value> {
    let [item, numbers] = form.args else { return None };
    let op = if form.name == "nn.sub_rows" { BinaryOp::Sub } else { BinaryOp::Div };
    let x = reader.ranked(item, "a tensor", &[2, 3], Keep::Once)?;
    let by = reader.ranked(numbers, "numbers of rows", &[x.shape.len() - 1], Keep::Stored)?;
    reader.computable(item, form.name, &x)?;
    reader.same_type(numbers, ("numbers", &by), ("the tensor", x.dtype))?;
    for (n, rows) in by.shape.iter().zip(&x.shape) {
        reader.same_extent(numbers.span, ("numbers", n), ("rows", rows))?;
    }
    alike(x, form, |x| Op::Rows(op, x, Box::new(by)))
}

pub(super) fn matmul(reader: &mut Reader, form: Form) -> Option<Value> {
    let [first, second] = form.args else { return None };
    let a = reader.address(first, "the first matrix", &[2, 3]);
    let b = reader.address(second, "the second matrix", &[2, 3]);
    let ((_, a), (_, b)) = (a?, b?);
    let product = product(reader, form, a, (second, b), form.name == "nn.matmul_t")?;
    Some(Value::Whole(product))
}

/// A product of stored tensors.
pub(super) fn product(
    reader: &mut Reader,
    form: Form,
    a: Expr,
    (item, b): (&Sexp, Expr),
    transposed: bool,
) -> Option<Expr> {
    reader.floating(&form.args[0], form.name, &a)?;
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
    let mut shape = a.shape.clone();
    shape[ranks - 1] = b.shape[outer].clone();
    let (Op::Tensor(x), Op::Tensor(y)) = (a.op, b.op) else { return None };
    let op = Op::Matmul { a: x, b: y, transposed };
    Some(Expr { op, dtype: a.dtype, shape, span: form.span })
}

pub(super) fn triangle(reader: &mut Reader, form: Form) -> Option<Value> {
    let [item] = form.args else { return None };
    let x = reader.ranked(item, "a batch of matrices", &[3], Keep::Once)?;
    under_diagonal(reader, form, item, x)
}

/// What stands under the diagonals, once the matrices are known.
pub(super) fn under_diagonal(
    reader: &mut Reader,
    form: Form,
    item: &Sexp,
    x: Expr,
) -> Option<Value> {
    reader.same_extent(item.span, ("columns", &x.shape[2]), ("rows", &x.shape[1]))?;
    let n = reader.constant(item.span, "the rows of a matrix", &x.shape[1])?;
    let Some(pairs) = n.checked_mul(n.saturating_sub(1)).map(|twice| twice / 2) else {
        reader.error(item.span, "more elements than can be counted", format!("{n} rows"));
        return None;
    };
    let (dtype, shape) = (x.dtype, vec![x.shape[0].clone(), Extent::Const(pairs)]);
    Some(Value::Whole(Expr { op: Op::Triangle(Box::new(x)), dtype, shape, span: form.span }))
}
