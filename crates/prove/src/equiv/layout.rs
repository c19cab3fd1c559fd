//! Data layouts: inputs that are computed from other inputs, so that programs over different layouts can be compared.
//!
//! `(layout NAME (INDEX …) VALUE)` defines the contents of an input: the element at these indices is a value over other
//! inputs, in the words of programs. An index is a name, which ranges over the whole dimension, or `(NAME LO HI)`,
//! which restricts the definition to the indices from LO up to, but excluding, HI. Elements outside the range may be
//! anything; indices within it must exist.
//!
//! Data for trials is laid out by running the loops that fill the tensor. The equations for proofs are in
//! [`super::equation`].

use super::data::{Before, Given};
use super::declare::{Declarations, Purpose};
use super::equation::{Equation, equations};
use super::forms::printed;
use super::primitives::{name as called, written};
use super::sides::{What, program};
use ember_analysis::facts::{EGraph, Facts, VectorUnit};
use ember_interpret::Interpreter;
use ember_language::diagnostic::{Checked, Diagnostic, Span};
use ember_language::rebuild::rebuild;
use ember_language::rules::{Operators, RuleBook};
use ember_language::sexp::Sexp;
use ember_language::term::Term;
use ember_language::text::{list, word, written_out};
use ember_values::primitive::Typing;
use ember_values::primitive::form::{Form, Holder, Loop, View};
use ember_values::scalar::DType;
use std::borrow::Cow;

/// The number of evaluated nodes after which filling a tensor is given up.
pub(super) const STEPS: u64 = 400_000;

/// The definition of an input's contents.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The name of the input.
    pub name: String,
    /// The form as it was read.
    text: Sexp,
    /// The loops that fill the input.
    fill: Term,
    /// The equations that follow from the definition.
    pub(super) equations: Vec<Equation>,
}

/// An index of a layout.
pub(super) struct Index {
    pub name: String,
    /// The bounds of the index; `None` for the whole dimension.
    pub range: Option<[Sexp; 2]>,
    pub span: Span,
}

impl Layout {
    /// Reads the layouts of both sides. Each may refer to inputs laid out before it.
    pub(super) fn read_all(
        forms: &[Sexp],
        book: &RuleBook,
        declarations: &Declarations,
    ) -> Checked<Vec<Layout>> {
        let name = |form: &Sexp| form.list()?.get(1)?.atom().map(str::to_owned);
        let names: Vec<Option<String>> = forms.iter().map(name).collect();
        let (mut layouts, mut errors) = (Vec::new(), Vec::new());
        for (at, form) in forms.iter().enumerate() {
            match read(form, book, declarations, &names[at..]) {
                Ok(layout) => layouts.push(layout),
                Err(found) => errors.extend(found),
            }
        }
        if errors.is_empty() { Ok(layouts) } else { Err(errors) }
    }
}

impl Layout {
    /// Returns the text of the form.
    pub fn form(&self) -> String {
        printed(&self.text)
    }
}

/// Returns the data with every tensor that has a layout filled accordingly; `None` if that is not possible.
pub(super) fn laid_out<'g>(
    declarations: &Declarations,
    operators: &Operators,
    given: &'g Given,
) -> Option<Cow<'g, Given>> {
    let mut given = Cow::Borrowed(given);
    for layout in &declarations.layouts {
        let store = given.store(declarations, Before::Zeros);
        let mut run = Interpreter::new(&layout.fill, operators, store).with_step_limit(STEPS);
        run.run(run.root()).ok()?;
        let filled = run.into_store().tensors.remove(&layout.name)?;
        given.to_mut().inputs.insert(layout.name.clone(), filled);
    }
    Some(given)
}

/// Reads a layout. It must not refer to its own tensor or to tensors laid out later, whose names are `names`.
fn read(
    form: &Sexp,
    book: &RuleBook,
    declarations: &Declarations,
    names: &[Option<String>],
) -> Checked<Layout> {
    let usage = |span: Span| {
        let error = Diagnostic::error("not a layout", span, "not understood");
        let help = "write `(layout NAME (INDEX …) VALUE)`; an index is a name or `(NAME LO HI)`";
        vec![error.with_help(help)]
    };
    let Some(("layout", [tensor, indices, value])) = form.form() else {
        return Err(usage(form.span));
    };
    let name = tensor.atom().ok_or_else(|| usage(tensor.span))?;
    let declared = declarations.tensor(name).filter(|t| t.purpose == Purpose::Input);
    let Some(declared) = declared else {
        let error = Diagnostic::error("a layout of what is no input", tensor.span, "not declared");
        return Err(vec![error.with_help("write `(input NAME DTYPE (EXTENT …))` in front of it")]);
    };
    if names[1..].iter().any(|later| later.as_deref() == Some(name)) {
        let error =
            Diagnostic::error(format!("`{name}` has two layouts"), tensor.span, "the first");
        return Err(vec![error]);
    }
    let read: Option<Vec<Index>> = indices.list().and_then(|all| all.iter().map(index).collect());
    let indices = read.ok_or_else(|| usage(indices.span))?;
    if indices.len() != declared.shape.len() {
        let message = format!("`{name}` has another number of indices");
        let label = format!("its rank is {}", declared.shape.len());
        return Err(vec![Diagnostic::error(message, form.span, label)]);
    }
    let operators = book.signature.table();
    let own: Vec<(String, Sexp)> =
        indices.iter().map(|i| (i.name.clone(), i.pattern(operators))).collect();
    let plain: Vec<(String, Sexp)> = indices
        .iter()
        .filter(|index| index.range.is_none())
        .map(|index| (index.name.clone(), index.pattern(operators)))
        .collect();
    let words = declarations.words(&book.signature);
    let full = written_out(value, &words, &own)?;
    let mut parts = vec![full.clone()];
    let mut ranges = Vec::new();
    for index in &indices {
        let Some([lo, hi]) = &index.range else {
            ranges.push(None);
            continue;
        };
        let ends = [written_out(lo, &words, &plain)?, written_out(hi, &words, &plain)?];
        parts.extend(ends.iter().cloned());
        ranges.push(Some(ends));
    }
    for part in &parts {
        only_inputs(part, ("a layout", declarations), names)?;
    }
    let fill = fill(form.span, (name, &indices), value, (book, declarations))?;
    let mut known = fill.as_ref().iter().filter_map(|node| operators.of(node));
    if known.any(|info| info.binds.is_some() && info.looped().is_none_or(|own| own.folds.is_some()))
    {
        let error = Diagnostic::error("a loop in a layout", value.span, "not a single value");
        return Err(vec![error.with_help("an element is arithmetic on elements of other inputs")]);
    }
    let dtype = stored(&fill, book, declarations);
    if dtype != Some(declared.dtype) {
        let own = dtype.map_or("of no known type", DType::name);
        let message = format!("`{name}` is {}, and its layout {own}", declared.dtype);
        let error = Diagnostic::error(message, value.span, "the value of an element");
        let cast = called(operators, Form::Carried { x: (), to: Some(Typing::Named(())) });
        return Err(vec![error.with_help(format!("`({cast} DTYPE VALUE)` converts"))]);
    }
    let equations = equations(operators, declared, &indices, &full, &ranges)
        .map_err(|why| vec![Diagnostic::error("not a layout", form.span, why.to_string())])?;
    Ok(Layout { name: name.to_owned(), text: form.clone(), fill, equations })
}

fn index(item: &Sexp) -> Option<Index> {
    let (name, range) = match (item.atom(), item.form()) {
        (Some(name), _) => (name, None),
        (None, Some((name, [lo, hi]))) => (name, Some([lo.clone(), hi.clone()])),
        _ => return None,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(plain) {
        return None;
    }
    Some(Index { name: name.to_owned(), range, span: item.span })
}

impl Index {
    /// Returns the pattern for the index in equations: any value, or the value of a loop variable.
    fn pattern(&self, operators: &Operators) -> Sexp {
        let own = word(self.span, &format!("?{}", self.name));
        match self.range {
            None => own,
            Some(_) => written(operators, self.span, Form::iv(&own)),
        }
    }
}

/// Checks that a part of a layout or an assumption refers to inputs only, and to none that is laid out by it or after it.
pub(super) fn only_inputs(
    part: &Sexp,
    (what, declarations): (&str, &Declarations),
    names: &[Option<String>],
) -> Checked<()> {
    let mut open = vec![part];
    while let Some(next) = open.pop() {
        open.extend(next.list().unwrap_or_default());
        let Some(tensor) = next.atom().and_then(|word| word.strip_prefix('%')) else { continue };
        let written =
            declarations.tensor(tensor).is_some_and(|known| known.purpose != Purpose::Input);
        let why = match names.iter().any(|name| name.as_deref() == Some(tensor)) {
            true => "which is not laid out before",
            false if written => "which is written",
            false => continue,
        };
        let message = format!("{what} uses `{tensor}`, {why}");
        return Err(vec![Diagnostic::error(message, next.span, "it must be made of other inputs")]);
    }
    Ok(())
}

/// Returns the element type of the value that a program stores.
pub(super) fn stored(fill: &Term, book: &RuleBook, declarations: &Declarations) -> Option<DType> {
    let context = declarations.context();
    let operators = book.signature.table().clone();
    let facts =
        Facts::new(&context.tensors, &context.sizes, operators.clone(), VectorUnit::default());
    let mut egraph = EGraph::new(facts);
    let mut found = None;
    rebuild(fill.as_ref(), |_, node| {
        if let Some(Form::Write { op: None, value, .. }) = operators.form(&node) {
            found = egraph[value].data.dtype;
        }
        egraph.add(node)
    });
    found
}

/// Builds the statement that stores a value in an element of a tensor.
pub(super) fn store(
    operators: &Operators,
    span: Span,
    (name, indices): (&str, impl Iterator<Item = Sexp>),
    value: &Sexp,
) -> Sexp {
    let at = called(operators, Form::View { address: (), view: View::At(()) });
    let tensor = [at, name].map(|part| word(span, part));
    let address = list(span, tensor.into_iter().chain(indices).collect());
    written(operators, span, Form::Write { op: None, address: &address, value })
}

/// Builds the loops that fill a tensor. Loops over restricted indices are innermost, because their bounds may depend on
/// the other indices.
fn fill(
    span: Span,
    (name, indices): (&str, &[Index]),
    value: &Sexp,
    (book, declarations): (&RuleBook, &Declarations),
) -> Checked<Term> {
    let mut writing = declarations.clone();
    let own = writing.tensors.iter_mut().find(|tensor| tensor.name == name);
    own.into_iter().for_each(|tensor| tensor.purpose = Purpose::Scratch);
    let at = |index: &Index| word(index.span, &index.name);
    let operators = book.signature.table();
    let mut body = store(operators, span, (name, indices.iter().map(at)), value);
    let (told, all): (Vec<_>, Vec<_>) =
        indices.iter().enumerate().partition(|(_, index)| index.range.is_some());
    for (k, index) in told.into_iter().chain(all) {
        let [lo, hi] = index.range.clone().unwrap_or_else(|| {
            let (tensor, k) = (word(span, name), word(span, &k.to_string()));
            let extent = Form::Extent { of: Holder::Address(&tensor), k: &k };
            [word(span, "0"), written(operators, span, extent)]
        });
        let (variable, step) = (&at(index), &word(span, "1"));
        let (folds, access) = (None, None);
        let own = Loop { variable, lo: &lo, hi: &hi, step, body: &body, folds, access };
        body = written(operators, span, Form::Loop(own));
    }
    match program(book, &body, &writing)? {
        What::Term { term, .. } => Ok(term),
        What::Dlc { .. } => Err(vec![Diagnostic::error("not a layout", span, "a DLC program")]),
    }
}
