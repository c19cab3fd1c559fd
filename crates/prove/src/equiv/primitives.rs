//! Writes and reads forms in text, under the names that the dialects give them.

use ember_language::diagnostic::Span;
use ember_language::rules::Operators;
use ember_language::sexp::Sexp;
use ember_language::text::{list, word};
use ember_values::primitive::form::{Form, Shape};

/// Returns the name of the operator that has a shape and belongs to no unit.
pub(super) fn name(operators: &Operators, shape: Shape) -> &'static str {
    operators.spelled(shape, None).0.as_str()
}

/// Writes a form that belongs to no unit.
pub(super) fn written(operators: &Operators, span: Span, form: Form<&Sexp>) -> Sexp {
    let (name, operands) = operators.spelled(form, None);
    let head = word(span, name.as_str());
    match operands.is_empty() {
        true => head,
        false => list(span, std::iter::once(head).chain(operands.into_iter().cloned()).collect()),
    }
}

/// Returns the form of a text.
pub(super) fn form<'t>(operators: &Operators, text: &'t Sexp) -> Option<Form<&'t Sexp>> {
    let (name, items) = text.form()?;
    let operands: Vec<&Sexp> = items.iter().collect();
    operators.get(name.into(), items.len())?.form(&operands)
}
