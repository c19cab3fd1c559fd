//! The reader of a model file and its forms: `model`, `input`, `let`, `output`, `programs` and `data`.

use super::operand::Target;
use super::operator::Value;
use super::recompute::Recomputed;
use super::{
    Computed, DataSpec, Declared, HandWritten, Input, Kind, Model, Origin, Role, Statement,
    TensorId, gathered, operator, order, recompute, share, source,
};
use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};
use ember_language::rules::Definitions;
use ember_language::sexp::{self, Sexp};
use ember_language::suggest;
use ember_values::operation::OPERATIONS;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The maximum number of inputs of a model.
const MAX_INPUTS: usize = 1024;

/// The maximum number of named tensors that a model file computes.
const MAX_STEPS: usize = 1024;

/// The number of errors after which the rest of the file is not read.
const MAX_ERRORS: usize = 100;

/// The state of reading a model.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) errors: Vec<Diagnostic>,
    /// The inputs; the role of an input is known once the expressions that use it are read.
    pub(super) inputs: Vec<(Input, Option<Role>)>,
    /// The tensors that the statements read so far compute.
    pub(super) computed: Vec<Computed>,
    pub(super) statements: Vec<Statement>,
    /// The named tensors that the file computes, in order.
    pub(super) plans: Vec<Plan>,
    /// The plan that is being read, the number of names generated for it, and the nesting depth of the reader in its
    /// operators.
    pub(super) current: usize,
    pub(super) generated: usize,
    pub(super) depth: usize,
    /// The temporaries that were read. A use computes them in place or stores them.
    pub(super) temporaries: BTreeMap<String, Temporary>,
    /// The names of temporaries that were computed in place, by the spans of their expressions.
    pub(super) named: BTreeMap<Span, String>,
    /// The spans of the functions of tables that are computed in advance for all rows.
    pub(super) in_advance: BTreeSet<Span>,
    /// The operands that are computed row by row, and true if there are such that are stored.
    pub(super) recomputed: Recomputed,
    pub(super) keeps: bool,
    /// The tensors that were named but not understood. Using one of them is not another error.
    pub(super) broken: BTreeSet<String>,
    /// The graphs and triples that inputs take their data from, with their spans.
    pub(super) origins: BTreeMap<String, (Origin, Span)>,
    /// Every size with the span of its first mention.
    pub(super) sizes: BTreeMap<String, Span>,
    /// Every tensor with the span of its declaration.
    pub(super) tensors: BTreeMap<String, Span>,
    programs: Vec<HandWritten>,
    /// The operators that rule files define, and the number of words they have added to the model.
    pub(super) definitions: Definitions,
    pub(super) written: usize,
}

/// A temporary that has been read.
pub(super) struct Temporary {
    pub(super) value: Value,
    pub(super) target: Target,
    /// The tensor that it is stored in, if a use needs it stored.
    pub(super) stored: Option<TensorId>,
    /// True if it has been computed in place.
    pub(super) is_used: bool,
}

/// A named tensor that the file computes.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) span: Span,
    /// The words in its expression, including the names of other tensors.
    pub(super) uses: BTreeSet<String>,
}

/// Reads the single model of a text, which may use operators with a definition. `in_advance` holds the functions of tables
/// that are computed in advance.
pub(super) fn read(
    sources: &Sources,
    file: FileId,
    definitions: &Definitions,
    in_advance: BTreeSet<Span>,
) -> Checked<Model> {
    let form = |recomputed| {
        let reader = Reader { definitions: definitions.clone(), recomputed, ..Reader::default() };
        form(sources, file, Reader { in_advance: in_advance.clone(), ..reader })
    };
    let (model, keeps) = form(Recomputed::default())?;
    if keeps {
        recompute::with_forms(model, |recomputed| Ok(form(recomputed)?.0))
    } else {
        Ok(model)
    }
}

/// Reads one form of the model, and returns true if it stores operands that another form computes row by row.
fn form(sources: &Sources, file: FileId, mut reader: Reader) -> Checked<(Model, bool)> {
    let items = sexp::read(sources, file)?;
    let mut found: Option<(&Sexp, &[Sexp])> = None;
    for item in &items {
        if reader.full() {
            break;
        }
        match (item.form(), found) {
            (Some(("model", rest)), None) => found = Some((item, rest)),
            (Some(("model", _)), Some((first, _))) => reader.errors.push(
                Diagnostic::error("a second model in one file", head_span(item), "another starts")
                    .with_related(head_span(first), "the first is here")
                    .with_help("put each model into a file of its own"),
            ),
            _ => reader.unknown_form(item, &["model"]),
        }
    }
    let Some((form, rest)) = found else {
        if reader.errors.is_empty() {
            let end = sources.get(file).text.len();
            reader
                .error(Span::new(file, end..end), "no model in this file", "nothing is here")
                .help = Some("write `(model NAME (input …) … (output …) (data …))`".to_owned());
        }
        return Err(reader.errors);
    };
    let mut directory = sources.get(file).path.clone();
    directory.pop();
    let data = DataSpec::empty(directory, sources.files().clone());
    let model = reader.model(form, rest, data).filter(|_| reader.errors.is_empty());
    // Equal tensors are one only once the model is in order, and new temporaries have to be put in order.
    let model = model.map(order::by_dataflow);
    let model = model.map(|model| share::across_loops(model, &reader.named));
    let model = model.map(|model| gathered::into_products(model, &reader.named));
    let model = model.map(order::by_dataflow);
    // Data is read after all inputs, but errors are reported in the order of the text, and once each: a definition may
    // use an operand several times.
    reader.errors.sort_by_key(|error| error.at.as_ref().map(|(span, _)| *span));
    reader.errors.dedup();
    model.map(|model| (model, reader.keeps)).ok_or(reader.errors)
}

/// Returns the span of a list's opening parenthesis and first word, or the whole span of anything else.
pub(super) fn head_span(item: &Sexp) -> Span {
    match item.list().and_then(|items| items.first()) {
        Some(head) => Span { end: head.span.end, ..item.span },
        None => item.span,
    }
}

impl Reader {
    /// Returns true if there are too many errors to look for more.
    pub(super) fn full(&self) -> bool {
        self.errors.len() >= MAX_ERRORS
    }

    /// Adds an error and returns it, so that the caller can extend it.
    pub(super) fn error(
        &mut self,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> &mut Diagnostic {
        self.errors.push(Diagnostic::error(message, span, label));
        let last = self.errors.len() - 1;
        &mut self.errors[last]
    }

    /// Adds an error with help.
    pub(super) fn error_with_help(
        &mut self,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.error(span, message, label).help = Some(help.into());
    }

    /// Reports an item that is none of the forms allowed in its place.
    pub(super) fn unknown_form(&mut self, item: &Sexp, known: &[&str]) {
        let span = head_span(item);
        match item.form() {
            Some((head, _)) => {
                let names = known.iter().copied();
                self.errors.push(suggest::unknown("form", head, span, names));
            }
            None => {
                let names = suggest::list(known.iter().copied());
                self.error_with_help(
                    span,
                    "a form was expected",
                    "this is none",
                    format!("a list starting with one of: {names}"),
                );
            }
        }
    }

    fn model(&mut self, form: &Sexp, rest: &[Sexp], empty: DataSpec) -> Option<Model> {
        let Some((name, items)) = rest.split_first() else {
            self.error(form.span, "a model needs a name", "no name follows `model`");
            return None;
        };
        let name = self.name("model", name);
        let (mut steps, mut data) = (Vec::new(), Vec::new());
        let (mut arguments, mut results): (Option<&[Sexp]>, Option<&[Sexp]>) = (None, None);
        for item in items {
            if self.full() {
                break;
            }
            match item.form() {
                Some(("input", _)) if self.inputs.len() == MAX_INPUTS => {
                    let message = format!("a model has at most {MAX_INPUTS} inputs");
                    self.error(head_span(item), message, "one too many");
                    return None;
                }
                Some(("let" | "output", _)) if steps.len() == MAX_STEPS => {
                    let message = format!("a model computes at most {MAX_STEPS} tensors");
                    self.error(head_span(item), message, "one too many");
                    return None;
                }
                Some(("input", rest)) => self.input(item, rest),
                Some(("let", rest)) => steps.push((item, rest, Kind::Temporary)),
                Some(("output", rest)) => steps.push((item, rest, Kind::Output)),
                Some(("data", rest)) => data.push((item, rest)),
                Some(("programs", rest)) => self.programs(rest, &empty.directory),
                Some(("arguments", rest)) => arguments = Some(rest),
                Some(("results", rest)) => results = Some(rest),
                _ => {
                    let known =
                        ["input", "let", "output", "data", "arguments", "results", "programs"];
                    self.unknown_form(item, &known);
                }
            }
        }
        let imported = arguments.map(|items| self.arguments(items));
        let all_read = self.steps(form, &steps);
        let results = results.map(|items| self.results(items)).unwrap_or_default();
        let spec = source::read(self, data.first().map(|(_, rest)| *rest), empty);
        for pair in data.windows(2) {
            self.second("a model has one data form", pair[1].0, pair[0].0);
        }
        // Uses are known only if all expressions were read.
        if all_read {
            self.unused();
        }
        let inputs = std::mem::take(&mut self.inputs);
        let settle = |(input, role): (Input, Option<Role>)| Some(Input { role: role?, ..input });
        let inputs = inputs.into_iter().map(settle).collect::<Option<_>>()?;
        Some(Model {
            name: name?,
            inputs,
            computed: std::mem::take(&mut self.computed),
            statements: std::mem::take(&mut self.statements),
            data: spec,
            programs: std::mem::take(&mut self.programs),
            forms: Vec::new(),
            imported,
            results,
            operators: self.definitions.operators().clone(),
        })
    }

    /// Reads the computed tensors in order, and returns true if all of them could be read.
    fn steps(&mut self, form: &Sexp, steps: &[(&Sexp, &[Sexp], Kind)]) -> bool {
        if !steps.iter().any(|(_, _, kind)| *kind == Kind::Output) {
            self.error_with_help(
                head_span(form),
                "a model needs an output",
                "this model has none",
                format!("add `(output NAME {})`", OPERATIONS[0].example()),
            );
        }
        let mut expressions = Vec::new();
        for (item, rest, kind) in steps {
            let [name, expression] = rest else {
                let (what, word) = match kind {
                    Kind::Output => ("an output", "output"),
                    _ => ("a temporary", "let"),
                };
                self.error_with_help(
                    item.span,
                    format!("{what} has a name and an operation"),
                    "not these two",
                    format!("write `({word} NAME {})`", OPERATIONS[0].example()),
                );
                if let Some(name) = rest.first().and_then(Sexp::atom) {
                    self.broken.insert(name.to_owned());
                }
                continue;
            };
            // A tensor without a valid name is read too, so that all errors are reported.
            let word = self.name("tensor", name).unwrap_or_default();
            if !word.is_empty() {
                self.declare(&word, name.span);
            }
            self.plans.push(Plan {
                name: word,
                span: name.span,
                uses: words(expression).into_iter().map(str::to_owned).collect(),
            });
            expressions.push((expression, *kind));
        }
        let mut all_read = expressions.len() == steps.len();
        for (i, (expression, kind)) in expressions.into_iter().enumerate() {
            (self.current, self.generated) = (i, 0);
            let Plan { name, span, .. } = self.plans[i].clone();
            match operator::read(self, expression) {
                Some(value) => {
                    let target = Target { name: name.clone(), kind, span };
                    match kind {
                        Kind::Temporary => self.name_temporary(value, target),
                        _ => drop(self.compute(value, target)),
                    }
                }
                None => {
                    self.broken.insert(name);
                    all_read = false;
                }
            }
        }
        // An unused temporary is left if its name is used as another word only.
        for Temporary { value, target, stored, is_used } in
            std::mem::take(&mut self.temporaries).into_values()
        {
            if stored.is_none() && !is_used {
                self.compute(value, target);
            }
        }
        all_read
    }

    /// Reports inputs and temporaries that nothing uses.
    fn unused(&mut self) {
        for (input, _) in self.inputs.iter().filter(|(_, role)| role.is_none()) {
            let message = format!("input `{}` is not used", input.tensor.name);
            let error = Diagnostic::error(message, input.tensor.span, "no operation takes it");
            self.errors.push(error.with_help("remove it, or pass it to an operation"));
        }
        let read: BTreeSet<TensorId> =
            self.statements.iter().flat_map(|statement| statement.reads()).collect();
        for (i, computed) in self.computed.iter().enumerate() {
            if computed.kind == Kind::Temporary && !read.contains(&TensorId(self.inputs.len() + i))
            {
                let Declared { name, span, .. } = &computed.tensor;
                let message = format!("`{name}` is computed and not used");
                let error = Diagnostic::error(message, *span, "no operation takes it");
                let help = "remove it, or write `output` in the place of `let`";
                self.errors.push(error.with_help(help));
            }
        }
    }

    /// Reads hand-written programs for comparison, each as `(NAME "FILE" …)`.
    fn programs(&mut self, items: &[Sexp], directory: &Path) {
        for item in items {
            let Some((name, paths)) = (match item.list() {
                Some([name, files @ ..]) if !files.is_empty() => {
                    let paths = files.iter().map(|file| Some(directory.join(file.text()?)));
                    name.atom().zip(paths.collect::<Option<Vec<PathBuf>>>())
                }
                _ => None,
            }) else {
                self.error_with_help(
                    item.span,
                    "a program was expected",
                    "not a name and a file",
                    "write `(NAME \"FILE.dlc\")`, the file relative to the model; further files are for machines \
                     that lack what the one before needs",
                );
                continue;
            };
            match self.programs.iter().find(|p| p.name == name).map(|p| p.span) {
                Some(before) => {
                    let message = format!("a second program named `{name}`");
                    let error = Diagnostic::error(message, item.span, "another");
                    self.errors.push(error.with_related(before, "one before it"));
                }
                None => self.programs.push(HandWritten {
                    name: name.to_owned(),
                    paths,
                    span: item.span,
                }),
            }
        }
    }

    fn second(&mut self, message: &str, item: &Sexp, before: &Sexp) {
        let error = Diagnostic::error(message, head_span(item), "another");
        self.errors.push(error.with_related(head_span(before), "one before it"));
    }

    fn input(&mut self, form: &Sexp, rest: &[Sexp]) {
        let [name_item, dtype, shape] = rest else {
            self.error_with_help(
                form.span,
                "an input has a name, an element type and a shape",
                "not these three",
                "write `(input NAME f32 (rows 64))`",
            );
            if let Some(name) = rest.first().and_then(Sexp::atom) {
                self.broken.insert(name.to_owned());
            }
            return;
        };
        let Some(name) = self.name("tensor", name_item) else { return };
        let free = self.declare(&name, name_item.span);
        let (dtype, shape) = (self.dtype(dtype), self.shape(shape));
        let (Some(dtype), Some(shape)) = (dtype, shape) else {
            self.broken.insert(name);
            return;
        };
        if !free {
            self.broken.insert(name);
            return;
        }
        let (shape, extent_spans) = shape.into_iter().unzip();
        let tensor = Declared { name, dtype, shape, span: name_item.span };
        self.inputs.push((Input { tensor, role: Role::Values, extent_spans }, None));
    }
}

/// Returns every word of an expression, as often as it occurs.
fn words(expression: &Sexp) -> Vec<&str> {
    let mut words = Vec::new();
    let mut open = vec![expression];
    while let Some(item) = open.pop() {
        words.extend(item.atom());
        open.extend(item.list().into_iter().flatten());
    }
    words
}
