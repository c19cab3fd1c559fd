//! The table of operators: how each is written, and what reads it.

use super::read::{Reader, head_span};
use super::{Expr, Extent, Part, composite, defined, dense, sparse};
use ember_language::diagnostic::Span;
use ember_language::sexp::Sexp;
use ember_language::suggest;
use ember_values::scalar::DType;

/// The deepest nesting of operators. What is nested deeper can be named with `let`.
const MAX_DEPTH: usize = 32;

/// What an operator gives.
pub(super) enum Value {
    /// An expression.
    Whole(Expr),
    /// A tensor written part by part.
    Parts {
        /// Each part and what is written to it.
        parts: Vec<(Part, Expr)>,
        /// The tensor's element type.
        dtype: DType,
        /// Its extents.
        shape: Vec<Extent>,
    },
}

/// An operator as it is written: its name, its operands, and all of it.
#[derive(Clone, Copy)]
pub(super) struct Form<'a> {
    pub(super) name: &'static str,
    pub(super) args: &'a [Sexp],
    pub(super) span: Span,
}

struct Operator {
    name: &'static str,
    /// What follows the name. Where it ends in `…`, the last may be repeated; in brackets, left out.
    usage: &'static str,
    read: fn(&mut Reader, Form) -> Option<Value>,
}

const fn row(
    name: &'static str,
    usage: &'static str,
    read: fn(&mut Reader, Form) -> Option<Value>,
) -> Operator {
    Operator { name, usage, read }
}

const OPERATORS: [Operator; 29] = [
    row("emb.bag", "sum|mean|max TABLE INDICES OFFSETS [WEIGHTS]", sparse::bag),
    row("emb.gather", "TABLE INDICES", sparse::gather),
    row("emb.spmm", "TABLE INDICES OFFSETS VALUES", sparse::spmm),
    row("emb.sddmm", "LEFT RIGHT INDICES OFFSETS", sparse::sddmm),
    row("emb.mp", "identity|relu|sigmoid|exp LEFT RIGHT INDICES OFFSETS", sparse::mp),
    row("emb.kg", "transe|distmult|complex|rotate ENTITIES RELATIONS HEADS RELS TAILS", sparse::kg),
    row("emb.block_gather", "TABLE INDICES", sparse::block_gather),
    row("emb.dequantise", "CODES SCALES", sparse::dequantise),
    row("nn.cast", "DTYPE TENSOR", dense::cast),
    row("nn.relu", "TENSOR", dense::unary),
    row("nn.sigmoid", "TENSOR", dense::unary),
    row("nn.exp", "TENSOR", dense::unary),
    row("nn.add", "TENSOR TENSOR", dense::binary),
    row("nn.sub", "TENSOR TENSOR", dense::binary),
    row("nn.mul", "TENSOR TENSOR", dense::binary),
    row("nn.scale", "NUMBER TENSOR", dense::scale),
    row("nn.bias", "TENSOR VECTOR", dense::bias),
    row("nn.row_max", "TENSOR", dense::row),
    row("nn.row_sum", "TENSOR", dense::row),
    row("nn.sub_rows", "TENSOR NUMBERS", dense::rows),
    row("nn.div_rows", "TENSOR NUMBERS", dense::rows),
    row("nn.matmul", "TENSOR TENSOR", dense::matmul),
    row("nn.matmul_t", "TENSOR TENSOR", dense::matmul),
    row("nn.triangle", "TENSOR", dense::triangle),
    row("nn.softmax", "TENSOR", composite::softmax),
    row("nn.linear", "TENSOR WEIGHTS BIAS", composite::linear),
    row("nn.interact", "TENSOR", composite::interact),
    row("nn.stack", "TENSOR TENSOR …", composite::stack),
    row("nn.concat", "TENSOR TENSOR …", composite::concat),
];

impl Operator {
    /// Whether so many operands fit the usage.
    fn takes(&self, operands: usize) -> bool {
        let words = self.usage.split(' ').filter(|word| *word != "…").count();
        let optional = self.usage.ends_with(']');
        operands == words
            || (optional && operands + 1 == words)
            || (self.usage.ends_with('…') && operands > words)
    }
}

/// Reads an operator and its operands; what is wrong is reported.
pub(super) fn read(reader: &mut Reader, item: &Sexp) -> Option<Value> {
    let Some((head, args)) = item.form() else {
        let (bag, usage) = (OPERATORS[0].name, OPERATORS[0].usage);
        let help = format!("write an operator with its operands, such as `({bag} {usage})`");
        reader.error_with_help(item.span, "an operation was expected", "not an operation", help);
        return None;
    };
    let Some(operator) = OPERATORS.iter().find(|operator| operator.name == head) else {
        if reader.depth < MAX_DEPTH {
            reader.depth += 1;
            let defined = defined::read(reader, item);
            reader.depth -= 1;
            if let Some(value) = defined {
                return value;
            }
        }
        let names = OPERATORS.iter().map(|operator| operator.name);
        let error = suggest::unknown("operation", head, head_span(item), names);
        reader.errors.push(error);
        return None;
    };
    let name = operator.name;
    if !operator.takes(args.len()) {
        let message = format!("`{name}` has the wrong number of operands");
        let help = format!("write `({name} {})`", operator.usage);
        reader.error_with_help(item.span, message, format!("{} operands", args.len()), help);
        return None;
    }
    if reader.depth == MAX_DEPTH {
        let message = format!("operators are nested more than {MAX_DEPTH} deep");
        let help = "name a part of it with `(let NAME …)`";
        reader.error_with_help(head_span(item), message, "too deep", help);
        return None;
    }
    reader.depth += 1;
    let value = (operator.read)(reader, Form { name, args, span: item.span });
    reader.depth -= 1;
    value
}
