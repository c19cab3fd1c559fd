//! The form `arguments`: which arguments of the program that a model was imported from its inputs hold.
//!
//! ```text
//! (arguments
//!   (features (x))                                       ; the first argument is the input `x`
//!   (edges (src (part 0 0 1)) (dst (part 0 1 1)))        ; rows of one argument are two inputs
//!   (starts (offsets (closed lookups)))                  ; offsets without the end of the last bag
//!   (owners (segments (counts rows))))                   ; the size `rows` is one more than the greatest element
//! ```
//!
//! The word `unordered` before all arguments says that the program does not record their order. The form `results` has
//! the extents of outputs in the program, where the model has others:
//!
//! ```text
//! (results (attention 2 3 6 8) (loss))                   ; four dimensions; a number without dimensions
//! ```

use super::read::Reader;
use super::source::number;
use super::{Extent, Kind, Model};
use ember_language::diagnostic::Span;
use ember_language::sexp::Sexp;
use ember_language::suggest;
use ember_targets::tensor::Tensor;
use std::collections::BTreeMap;

/// The arguments of a program.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    /// The arguments.
    pub(crate) parameters: Vec<Parameter>,
    /// True if that is the order in which the program takes them.
    pub(crate) ordered: bool,
}

/// An argument, and the inputs that hold parts of it.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name.
    pub name: String,
    /// The inputs. If there are none, the model does not read the argument.
    pub held: Vec<Held>,
}

/// An input that holds elements of an argument.
#[derive(Clone, Debug)]
pub struct Held {
    /// The input's name.
    pub input: String,
    /// The way from the argument to the input, in order.
    pub steps: Vec<Step>,
    /// The span of the form.
    pub span: Span,
}

/// A step from an argument to the elements of an input.
#[derive(Clone, Debug)]
pub enum Step {
    /// So many elements of a dimension, from one on.
    Part {
        /// The dimension.
        axis: usize,
        /// The first element.
        first: u64,
        /// The number of elements.
        count: u64,
    },
    /// A last element after all others: the end of the last bag.
    Closed(Extent),
    /// All elements, of which the greatest one says a size: one more.
    Counts(String),
}

impl Reader {
    /// Reads the extents of results.
    pub(super) fn results(&mut self, items: &[Sexp]) -> BTreeMap<String, Vec<Extent>> {
        items.iter().filter_map(|item| self.program_result(item)).collect()
    }

    fn program_result(&mut self, item: &Sexp) -> Option<(String, Vec<Extent>)> {
        let Some((name, extents)) = item.form() else {
            let help = "write `(OUTPUT EXTENT …)`";
            self.error_with_help(item.span, "a result has a name", "has none", help);
            return None;
        };
        let outputs = self.computed.iter().filter(|own| own.kind == Kind::Output);
        let names: Vec<String> = outputs.map(|own| own.tensor.name.clone()).collect();
        if !names.iter().any(|own| own == name) {
            let names = names.iter().map(String::as_str);
            let error = suggest::unknown("output", name, item.span, names);
            self.errors.push(error);
            return None;
        }
        let extents = extents.iter().map(|extent| self.extent(extent)).collect::<Option<_>>()?;
        Some((name.to_owned(), extents))
    }

    /// Reads the arguments.
    pub(super) fn arguments(&mut self, items: &[Sexp]) -> Arguments {
        let (ordered, items) = match items {
            [first, rest @ ..] if first.atom() == Some("unordered") => (false, rest),
            items => (true, items),
        };
        let parameters = items.iter().filter_map(|item| self.program_argument(item)).collect();
        Arguments { parameters, ordered }
    }

    fn program_argument(&mut self, item: &Sexp) -> Option<Parameter> {
        let Some((name, held)) = item.form() else {
            let help = "write `(NAME (INPUT) …)`";
            self.error_with_help(item.span, "an argument has a name", "has none", help);
            return None;
        };
        let held = held.iter().map(|item| self.held(item)).collect::<Option<_>>()?;
        Some(Parameter { name: name.to_owned(), held })
    }

    fn held(&mut self, item: &Sexp) -> Option<Held> {
        let Some((input, steps)) = item.form() else {
            let help = "write `(INPUT)`, `(INPUT (part AXIS FIRST COUNT))`, `(INPUT (closed EXTENT))` or `(INPUT (counts SIZE))`";
            self.error_with_help(item.span, "an input was expected", "not an input", help);
            return None;
        };
        if !self.inputs.iter().any(|(own, _)| own.tensor.name == input) {
            let names = self.inputs.iter().map(|(own, _)| own.tensor.name.as_str());
            let error = suggest::unknown("input", input, item.span, names);
            self.errors.push(error);
            return None;
        }
        let steps = steps.iter().map(|step| self.argument_step(step)).collect::<Option<_>>()?;
        Some(Held { input: input.to_owned(), steps, span: item.span })
    }

    fn argument_step(&mut self, item: &Sexp) -> Option<Step> {
        let step = match item.form() {
            Some(("part", [axis, first, count])) => number(axis)
                .zip(number(first))
                .zip(number(count))
                .map(|((axis, first), count)| Step::Part { axis, first, count }),
            Some(("closed", [extent])) => self.extent(extent).map(Step::Closed),
            Some(("counts", [size])) => self.name("a size", size).map(Step::Counts),
            _ => None,
        };
        if step.is_none() {
            let help = "write `(part AXIS FIRST COUNT)`, `(closed EXTENT)` or `(counts SIZE)`";
            self.error_with_help(item.span, "a part of an argument was expected", "not one", help);
        }
        step
    }
}

impl Model {
    /// Returns an output with the extents that it has in the program that the model was imported from.
    pub fn as_result(&self, name: &str, output: &Tensor) -> Tensor {
        let same = || output.clone();
        let Some(extents) = self.results.get(name) else { return same() };
        let known = extents.iter().filter_map(Extent::constant);
        let Some(known) = known.into_iter().try_fold(1u64, |n, extent| n.checked_mul(extent))
        else {
            return same();
        };
        // One extent may be a size: it follows from the number of elements.
        let rest = output.len().checked_div(known).unwrap_or(0);
        let shape: Vec<u64> =
            extents.iter().map(|extent| extent.constant().unwrap_or(rest)).collect();
        match shape.iter().try_fold(1u64, |n, extent| n.checked_mul(*extent)) {
            Some(n) if n == output.len() => Tensor { shape, ..output.clone() },
            _ => same(),
        }
    }

    /// Returns the arguments: those of the program that the model was imported from, else the inputs in order.
    pub fn arguments(&self) -> Vec<Parameter> {
        if let Some(arguments) = &self.imported {
            return arguments.parameters.clone();
        }
        let prepared = self.prepared();
        let inputs = self.inputs.iter().enumerate();
        let given = inputs.filter(|(at, _)| prepared.iter().all(|own| own.input.0 != *at));
        let inputs = given.map(|(_, input)| &input.tensor);
        let held = |tensor: &super::Declared| Parameter {
            name: tensor.name.clone(),
            held: vec![Held { input: tensor.name.clone(), steps: Vec::new(), span: tensor.span }],
        };
        inputs.map(held).collect()
    }
}
