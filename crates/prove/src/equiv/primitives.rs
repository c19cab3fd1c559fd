//! Writes and reads primitives in text, under the names that the dialects give them.

use egg::{Id, Language};
use ember_language::diagnostic::Span;
use ember_language::rules::Operators;
use ember_language::sexp::Sexp;
use ember_language::term::Node;
use ember_language::text::{list, word};
use ember_values::primitive::{Primitive, Row};

/// Returns the name of a primitive that belongs to no unit.
pub(super) fn name(operators: &Operators, primitive: Primitive) -> &'static str {
    let declared = operators.named(primitive, None).map(|name| name.as_str());
    declared.or_else(|| Row::of(primitive).map(|row| row.name)).unwrap_or_default()
}

/// Writes a primitive from operands in the order of its row.
pub(super) fn written(
    operators: &Operators,
    span: Span,
    primitive: Primitive,
    parts: Vec<Sexp>,
) -> Sexp {
    let places: Vec<Id> = (0..parts.len()).map(Id::from).collect();
    let node: Node = operators.node(primitive, None, &places);
    let head = word(span, node.name().unwrap_or_default());
    match node.children() {
        [] => head,
        children => {
            let parts = children.iter().map(|at| parts[usize::from(*at)].clone());
            list(span, std::iter::once(head).chain(parts).collect())
        }
    }
}

/// Returns the operands of a primitive in a text, in the order of its row.
pub(super) fn parts<'t, const N: usize>(
    operators: &Operators,
    text: &'t Sexp,
    primitive: Primitive,
) -> Option<[&'t Sexp; N]> {
    let (name, items) = text.form()?;
    let info = operators.get(name.into(), items.len()).filter(|info| info.is(primitive))?;
    let places: Vec<Id> = (0..items.len()).map(Id::from).collect();
    let found: [Id; N] = info.parts(&places)?;
    Some(found.map(|at| &items[usize::from(at)]))
}
