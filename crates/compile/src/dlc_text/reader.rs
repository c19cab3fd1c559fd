//! The state of the reader and the parts that every form needs: names, arities, numbers, types, addresses.

use super::SECTIONS;
use super::access::{ACCESS, ACTIONS};
use super::compute::{COMPUTE, STATEMENTS, VALUES};
use ember_language::diagnostic::{Diagnostic, Span};
use ember_language::sexp::Sexp;
use ember_language::suggest::{help, unknown};
use ember_targets::dlc::{Addr, Dim, Lanes, Program, Purpose, SizeId, TensorDecl, TensorId, Type};
use ember_targets::verify::{Part, Place};
use ember_values::scalar::{BinaryOp, DType, Scalar, UnaryOp};
use std::collections::BTreeMap;

/// The maximum nesting depth of forms.
const MAX_DEPTH: usize = 256;

/// The maximum number of errors that come with a suggestion.
const MAX_SUGGESTIONS: usize = 100;

/// The forms that are allowed in one place.
pub struct Forms {
    /// The noun for the forms in messages.
    pub what: &'static str,
    /// The syntax of each form; the first word is its name.
    pub shapes: &'static [&'static str],
    /// True if there is also one form for each operation on scalars.
    pub scalars: bool,
}

/// The forms of every place.
const PLACES: [&Forms; 8] =
    [&SECTIONS, &ACCESS, &ACTIONS, &COMPUTE, &STATEMENTS, &VALUES, &ADDRESS, &RUN];

/// The form of an address.
const ADDRESS: Forms = Forms { what: "address", shapes: &["(at TENSOR INDEX…)"], scalars: false };

/// The form of a run of elements, in place of the last index of an address.
const RUN: Forms = Forms { what: "run", shapes: &["(lanes COUNT LIMIT INDEX)"], scalars: false };

impl Forms {
    /// Iterates over the names of the forms.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let scalars = self.scalars;
        let unary = UnaryOp::ALL.iter().map(|op| op.name()).filter(move |_| scalars);
        let binary = BinaryOp::ALL.into_iter().map(BinaryOp::name).filter(move |_| scalars);
        self.shapes.iter().map(|shape| head(shape)).chain(unary).chain(binary)
    }
}

/// Returns the name of a form from its syntax.
fn head(shape: &'static str) -> &'static str {
    let word = shape.trim_start_matches('(');
    word.split([' ', ')']).next().unwrap_or(word)
}

/// Returns the syntax of the form with this name, of those allowed in one place if it is among them.
fn shape(name: &str, here: Option<&'static Forms>) -> Option<String> {
    let mut shapes = here.iter().chain(&PLACES).flat_map(|place| place.shapes);
    let operands = || match (UnaryOp::parse(name), BinaryOp::parse(name)) {
        (Some(_), _) => Some("VALUE"),
        (None, Some(_)) => Some("VALUE VALUE"),
        (None, None) => None,
    };
    match shapes.find(|shape| head(shape) == name) {
        Some(shape) => Some((*shape).to_owned()),
        None => operands().map(|operands| format!("({name} {operands})")),
    }
}

/// The state of reading a text.
#[derive(Default)]
pub struct Reader {
    pub errors: Vec<Diagnostic>,
    pub program: Program,
    pub places: BTreeMap<Place, Span>,
    names: BTreeMap<Part, BTreeMap<String, u32>>,
    depth: usize,
    /// The forms among which the last one was.
    here: Option<&'static Forms>,
}

impl Reader {
    pub fn error(&mut self, message: impl Into<String>, span: Span, label: impl Into<String>) {
        self.errors.push(Diagnostic::error(message, span, label));
    }

    /// Reads a name: a word or quoted text.
    pub fn name(&mut self, sexp: &Sexp) -> Option<String> {
        let name = sexp.atom().or(sexp.text());
        if name.is_none() {
            self.error("expected a name", sexp.span, "this is a list");
        }
        name.map(str::to_owned)
    }

    /// Records the span of a place.
    pub fn stands(&mut self, place: &Place, span: Span) {
        self.places.entry(place.clone()).or_insert(span);
    }

    /// Defines a name; its number is the count of earlier names of its kind.
    pub fn define(&mut self, part: Part, sexp: &Sexp, span: Span) {
        let Some(name) = self.name(sexp) else { return };
        let place = Place { part, name: name.clone(), path: Vec::new() };
        if let Some(first) = self.places.get(&place) {
            let message = format!("{place} is defined twice");
            let error = Diagnostic::error(message, sexp.span, "a second time here");
            self.errors.push(error.with_related(*first, "first here"));
        }
        self.stands(&place, span);
        let names = self.names.entry(part).or_default();
        let number = names.len() as u32;
        names.entry(name).or_insert(number);
    }

    /// Returns the number of a defined name.
    pub fn resolve(&mut self, part: Part, sexp: &Sexp) -> Option<u32> {
        let name = self.name(sexp)?;
        let names = self.names.entry(part).or_default();
        let found = names.get(&name).copied();
        if found.is_none() {
            let what = Place { part, name: String::new(), path: Vec::new() }.to_string();
            // A suggestion compares all names, so only the first errors get one.
            let names = (self.errors.len() < MAX_SUGGESTIONS).then_some(names);
            let names = names.into_iter().flat_map(|names| names.keys()).map(String::as_str);
            let error = unknown(&what, &name, sexp.span, names);
            self.errors.push(error);
        }
        found
    }

    /// Returns the head and the items of a form, which must be allowed here.
    pub fn form<'s>(
        &mut self,
        sexp: &'s Sexp,
        here: &'static Forms,
    ) -> Option<(&'s str, &'s [Sexp])> {
        let what = here.what;
        self.here = Some(here);
        let Some((head, items)) = sexp.form() else {
            let error = Diagnostic::error(format!("expected a {what}"), sexp.span, "not a form");
            self.errors.push(match help("", here.names()) {
                Some(help) => error.with_help(help),
                None => error,
            });
            return None;
        };
        if !here.names().any(|name| name == head) {
            let span = sexp.list().and_then(|l| l.first()).map_or(sexp.span, |h| h.span);
            self.errors.push(unknown(what, head, span, here.names()));
            return None;
        }
        Some((head, items))
    }

    /// Returns exactly `N` items of a form.
    pub fn items<'s, const N: usize>(
        &mut self,
        form: &Sexp,
        items: &'s [Sexp],
    ) -> Option<&'s [Sexp; N]> {
        let exact = items.try_into().ok();
        if exact.is_none() {
            self.arity(form, N.to_string(), items.len());
        }
        exact
    }

    /// Returns the first `N` items of a form, and the remaining ones.
    pub fn leading<'s, const N: usize>(
        &mut self,
        form: &Sexp,
        items: &'s [Sexp],
    ) -> Option<(&'s [Sexp; N], &'s [Sexp])> {
        let split = items.split_first_chunk();
        if split.is_none() {
            self.arity(form, format!("at least {N}"), items.len());
        }
        split
    }

    fn arity(&mut self, form: &Sexp, wanted: String, found: usize) {
        let head = form.form().map_or("", |(head, _)| head);
        let message = format!("`{head}` takes {wanted} items");
        let error = Diagnostic::error(message, form.span, format!("{found} are given"));
        self.errors.push(match shape(head, self.here) {
            Some(shape) => error.with_help(format!("write `{shape}`")),
            None => error,
        });
    }

    /// Runs `read` one level deeper, unless the text is nested too deep.
    pub fn deeper<T>(
        &mut self,
        sexp: &Sexp,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            let message = format!("nests deeper than {MAX_DEPTH}");
            let error = Diagnostic::error(message, sexp.span, "this is too deep");
            self.errors.push(error.with_help("hold a part of it in a register"));
            return None;
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads a whole number that fits the type.
    pub fn number<T: std::str::FromStr>(&mut self, sexp: &Sexp, what: &str) -> Option<T> {
        let number = sexp.atom().and_then(|a| a.parse().ok());
        if number.is_none() {
            self.error(format!("expected {what}"), sexp.span, "this is none");
        }
        number
    }

    /// Reads a loop's step.
    pub fn step(&mut self, sexp: &Sexp) -> Option<i64> {
        let step = self.number(sexp, "a step, which is a whole number")?;
        if step < 1 {
            self.error("a step of less than 1", sexp.span, "the loop would never end");
            return None;
        }
        Some(step)
    }

    /// Reads a number of lanes.
    pub fn lanes(&mut self, sexp: &Sexp) -> Option<u32> {
        let lanes = self.number(sexp, "a number of lanes, which is a whole number")?;
        if lanes == 0 {
            self.error("no lanes", sexp.span, "at least 1 is needed");
            return None;
        }
        Some(lanes)
    }

    /// Reads an element type.
    pub fn dtype(&mut self, sexp: &Sexp) -> Option<DType> {
        let word = sexp.atom().unwrap_or_default();
        let dtype = DType::parse(word);
        if dtype.is_none() {
            let names = DType::ALL.map(DType::name);
            self.errors.push(unknown("element type", word, sexp.span, names));
        }
        dtype
    }

    /// Reads an element type, followed by the number of lanes if there are several.
    pub fn ty(&mut self, sexp: &Sexp) -> Option<Type> {
        let lanes = sexp.atom().and_then(|word| word.split_once('x'));
        let Some((dtype, lanes)) = lanes else { return self.dtype(sexp).map(Type::scalar) };
        match (DType::parse(dtype), lanes.parse()) {
            (Some(dtype), Ok(lanes)) if lanes > 0 => Some(Type { dtype, lanes }),
            _ => {
                let error = Diagnostic::error("expected a type", sexp.span, "this is none");
                self.errors.push(error.with_help("write `f32`, or `f32x16` for 16 lanes"));
                None
            }
        }
    }

    /// Reads a number of an element type.
    pub fn scalar(&mut self, dtype: DType, sexp: &Sexp) -> Option<Scalar> {
        let number = sexp.atom().and_then(|word| dtype.number(word));
        if number.is_none() {
            self.error(format!("expected a number of type {dtype}"), sexp.span, "this is none");
        }
        number
    }

    /// Reads a binary operation.
    pub fn op(&mut self, sexp: &Sexp) -> Option<BinaryOp> {
        let word = sexp.atom().unwrap_or_default();
        let op = BinaryOp::parse(word);
        if op.is_none() {
            let names = BinaryOp::ALL.map(BinaryOp::name);
            self.errors.push(unknown("operation", word, sexp.span, names));
        }
        op
    }

    /// Reads `(at TENSOR INDEX…)`; the last index may be `(lanes COUNT LIMIT INDEX)`.
    pub fn addr<I>(
        &mut self,
        sexp: &Sexp,
        index: impl Fn(&mut Self, &Sexp) -> Option<I>,
    ) -> Option<Addr<I>> {
        self.part(sexp, 1, index)
    }

    /// Reads the same, where as many of the last indices may be `(lanes COUNT LIMIT INDEX)`: one, or two of a block of a matrix.
    pub fn part<I>(
        &mut self,
        sexp: &Sexp,
        ranges: usize,
        index: impl Fn(&mut Self, &Sexp) -> Option<I>,
    ) -> Option<Addr<I>> {
        let (_, items) = self.form(sexp, &ADDRESS)?;
        let ([tensor], indices) = self.leading(sexp, items)?;
        let tensor = self.resolve(Part::Tensor, tensor).map(TensorId);
        let mut addr = Addr { tensor: tensor?, index: Vec::new(), lanes: None, rows: None };
        for (at, i) in indices.iter().enumerate() {
            match i.form() {
                Some(("lanes", items)) if indices.len() - at <= ranges => {
                    let [count, limit, base] = self.items(i, items)?;
                    let count = self.lanes(count);
                    let limit = index(self, limit);
                    let base = index(self, base);
                    let range = Some(Lanes { count: count?, limit: limit? });
                    if at + 1 == indices.len() {
                        addr.lanes = range;
                    } else {
                        addr.rows = range;
                    }
                    addr.index.push(base?);
                }
                _ => addr.index.push(index(self, i)?),
            }
        }
        Some(addr)
    }

    /// Reads `(sizes NAME…)`.
    pub fn sizes(&mut self, items: &[Sexp]) {
        for size in items {
            self.define(Part::Size, size, size.span);
            if let Some(name) = self.name(size) {
                self.program.sizes.push(name);
            }
        }
    }

    /// Reads `(tensor NAME DTYPE (EXTENT…))`, `tensor_out` or `tensor_scratch`.
    pub fn tensor(&mut self, form: &Sexp, items: &[Sexp], purpose: Purpose) {
        let Some([name, dtype, shape]) = self.items(form, items) else {
            // The name is still defined, so that its uses are not reported too.
            if let Some(name) = items.first() {
                self.define(Part::Tensor, name, form.span);
            }
            return;
        };
        self.define(Part::Tensor, name, form.span);
        let dtype = self.dtype(dtype);
        let Some(extents) = shape.list() else {
            self.error("expected a shape", shape.span, "a list of extents, as `(rows 64)`");
            return;
        };
        let shape = extents.iter().filter_map(|extent| self.extent(extent)).collect();
        if let (Some(name), Some(dtype)) = (self.name(name), dtype) {
            self.program.tensors.push(TensorDecl { name, dtype, shape, purpose });
        }
    }

    fn extent(&mut self, sexp: &Sexp) -> Option<Dim> {
        match sexp.atom().map(str::parse) {
            Some(Ok(extent)) => Some(Dim::Const(extent)),
            _ => self.resolve(Part::Size, sexp).map(|id| Dim::Size(SizeId(id))),
        }
    }
}
