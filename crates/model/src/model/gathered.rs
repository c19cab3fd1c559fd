//! Products of gathered blocks. What a gather fills and one product alone reads becomes scratch memory of that product, so
//! that rules decide whether blocks are put together there or read where they are.

use super::share::store;
use super::{Applied, Argument, Expr, Kind, Model, Op, Part, Statement, TensorId};
use ember_language::diagnostic::Span;
use ember_values::operation::{self, Kernel};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Returns the model with the gathers of blocks that one product alone reads in the statements of these products. The tables
/// are stored: rows that several lookups read are computed once. Parts that the file names have their names by their spans.
pub(super) fn into_products(mut model: Model, named: &BTreeMap<Span, String>) -> Model {
    for at in 0..model.statements.len() {
        let Some((product, gather)) = product_of_gather(&model, at) else { continue };
        let scratch = model.statements[gather].target;
        let mut blocks = model.statements[gather].value.clone();
        store_table(&mut model, &mut blocks, named);
        let memory = Expr { op: Op::Tensor(scratch), ..blocks.clone() };
        model.computed[scratch.0 - model.inputs.len()].kind = Kind::Scratch;
        if let Op::Apply(own) = &mut model.statements[at].value.op {
            own.operation = Cow::Borrowed(product);
            own.arguments.truncate(1);
            own.arguments.extend([blocks, memory].map(Argument::Tensor));
        }
    }
    let scratch = |statement: &Statement| {
        model.computed.get(statement.target.0 - model.inputs.len()).map(|own| own.kind)
            == Some(Kind::Scratch)
    };
    let kept: Vec<Statement> =
        model.statements.iter().filter(|statement| !scratch(statement)).cloned().collect();
    model.statements = kept;
    model
}

/// Returns the operation that a statement's product becomes, and the statement of the gather that its second factor is;
/// `None` if there is none.
fn product_of_gather(model: &Model, at: usize) -> Option<(&'static operation::Operation, usize)> {
    let product = model.statements[at].value.applied()?;
    let Kernel::Product { .. } = product.kernel() else { return None };
    let (first, second) = (product.value("a")?, product.stored("b")?);
    let is_temporary = second.0.checked_sub(model.inputs.len()).map(|own| model.computed[own].kind)
        == Some(Kind::Temporary);
    let gather = sole_statement(model, second)?;
    let blocks = model.statements[gather].value.applied()?;
    let in_rows = blocks.kernel() == Kernel::Blocks && blocks.value("indices")?.shape.len() == 2;
    let alone = is_temporary && readings(model, second) == 1;
    (in_rows && alone && first.shape.len() == 3).then_some(())?;
    let is_own = |own: &&operation::Operation| {
        own.kernel == product.kernel() && own.place("scratch").is_some()
    };
    Some((operation::OPERATIONS.iter().find(is_own)?, gather))
}

/// Returns the only statement that writes a tensor, if it writes all of it.
fn sole_statement(model: &Model, tensor: TensorId) -> Option<usize> {
    let mut own = model.statements.iter().enumerate().filter(|(_, own)| own.target == tensor);
    let (at, statement) = own.next()?;
    (own.next().is_none() && statement.part == Part::Whole).then_some(at)
}

/// Returns how often a tensor occurs in the values of statements.
fn readings(model: &Model, tensor: TensorId) -> usize {
    let values = model.statements.iter().flat_map(|statement| statement.value.walk());
    values.flat_map(Expr::tensors).filter(|read| *read == tensor).count()
}

/// Stores the table of a gather in a temporary, unless it is a tensor already.
fn store_table(model: &mut Model, gather: &mut Expr, named: &BTreeMap<Span, String>) {
    let Op::Apply(Applied { operation, arguments }) = &mut gather.op else { return };
    let Some(at) = operation.place("table") else { return };
    if let Argument::Tensor(table) = &mut arguments[at]
        && table.stored().is_none()
    {
        let stored = store(model, table.clone(), named);
        table.op = Op::Tensor(stored);
    }
}
