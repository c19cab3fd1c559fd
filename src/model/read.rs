//! The forms of a model file: `model`, `input`, `output` and `data`, and the names they introduce.

use super::{DataSpec, Extent, HandWritten, Input, Model, Role, operation, source};
use crate::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};
use crate::sexp::{self, Sexp};
use crate::suggest;
use crate::term::{Head, parse_head};
use ember_targets::scalar::DType;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The highest rank of a tensor; operations have their own, lower ones.
const MAX_RANK: usize = 8;

/// The largest extent that is written as a number: indices are 64-bit integers.
const MAX_EXTENT: u64 = i64::MAX as u64;

/// The most inputs of a model.
const MAX_INPUTS: usize = 256;

/// After so many errors, the rest of the file is not read.
const MAX_ERRORS: usize = 100;

/// Words that would be mistaken for another form where data is given to an input of that name.
const RESERVED: [&str; 2] = ["seed", "size"];

/// What has been read so far.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) errors: Vec<Diagnostic>,
    /// Inputs; the role is settled when the output is read.
    pub(super) inputs: Vec<(Input, Option<Role>)>,
    /// Inputs that were named but not understood: using one is no further error.
    pub(super) broken: BTreeSet<String>,
    /// Every size and where it is first mentioned.
    pub(super) sizes: BTreeMap<String, Span>,
    /// Every tensor and where it is declared.
    tensors: BTreeMap<String, Span>,
    programs: Vec<HandWritten>,
}

/// Reads the one model of a text.
pub(super) fn read(sources: &Sources, file: FileId) -> Checked<Model> {
    let items = sexp::read(sources, file)?;
    let mut reader = Reader::default();
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
    let model = reader.model(form, rest, directory).filter(|_| reader.errors.is_empty());
    // Data is read after all inputs, but what is wrong is told in the order of the text.
    reader.errors.sort_by_key(|error| error.at.as_ref().map(|(span, _)| *span));
    model.ok_or(reader.errors)
}

/// Where a list's opening parenthesis and first word stand; the whole of anything else.
pub(super) fn head_span(item: &Sexp) -> Span {
    match item.list().and_then(|items| items.first()) {
        Some(head) => Span { end: head.span.end, ..item.span },
        None => item.span,
    }
}

impl Reader {
    /// Whether there are so many errors that no more are looked for.
    pub(super) fn full(&self) -> bool {
        self.errors.len() >= MAX_ERRORS
    }

    /// Adds an error and returns it for more to be said.
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

    /// The error for something that is none of the forms that may stand in its place.
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

    fn model(&mut self, form: &Sexp, rest: &[Sexp], directory: PathBuf) -> Option<Model> {
        let Some((name, items)) = rest.split_first() else {
            self.error(form.span, "a model needs a name", "no name follows `model`");
            return None;
        };
        let name = self.name("model", name);
        let (mut outputs, mut data) = (Vec::new(), Vec::new());
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
                Some(("input", rest)) => self.input(item, rest),
                Some(("output", rest)) => outputs.push((item, rest)),
                Some(("data", rest)) => data.push((item, rest)),
                Some(("programs", rest)) => self.programs(rest, &directory),
                _ => self.unknown_form(item, &["input", "output", "data", "programs"]),
            }
        }
        let output = outputs.first().and_then(|(item, rest)| self.output(item, rest));
        if outputs.is_empty() {
            self.error_with_help(
                head_span(form),
                "a model needs an output",
                "this model has none",
                "add `(output NAME (emb.bag sum TABLE INDICES OFFSETS))`",
            );
        }
        for pair in outputs.windows(2) {
            self.second("a model has one output", pair[1].0, pair[0].0);
        }
        let spec = source::read(self, data.first().map(|(_, rest)| *rest), directory);
        for pair in data.windows(2) {
            self.second("a model has one data form", pair[1].0, pair[0].0);
        }
        // Without a readable output nobody knows what is used.
        if output.is_some() {
            for (input, _) in self.inputs.iter().filter(|(_, role)| role.is_none()) {
                let message = format!("input `{}` is not used", input.name);
                let error = Diagnostic::error(message, input.span, "no operation takes it");
                self.errors
                    .push(error.with_help("remove it, or pass it to the output's operation"));
            }
        }
        let inputs = std::mem::take(&mut self.inputs);
        let settle = |(input, role): (Input, Option<Role>)| Some(Input { role: role?, ..input });
        let inputs = inputs.into_iter().map(settle).collect::<Option<_>>()?;
        let programs = std::mem::take(&mut self.programs);
        Some(Model { name: name?, inputs, output: output?, data: spec, programs })
    }

    /// Hand-written programs to compare with: `(NAME "FILE")` each.
    fn programs(&mut self, items: &[Sexp], directory: &Path) {
        for item in items {
            let Some((name, path)) = (match item.list() {
                Some([name, path]) => name.atom().zip(path.text()),
                _ => None,
            }) else {
                self.error_with_help(
                    item.span,
                    "a program was expected",
                    "not a name and a file",
                    "write `(NAME \"FILE.dlc\")`, the file relative to the model",
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
                    path: directory.join(path),
                    span: item.span,
                }),
            }
        }
    }

    fn second(&mut self, message: &str, item: &Sexp, before: &Sexp) {
        let error = Diagnostic::error(message, head_span(item), "another");
        self.errors.push(error.with_related(head_span(before), "one before it"));
    }

    /// A single word.
    pub(super) fn word<'a>(&mut self, what: &str, item: &'a Sexp) -> Option<&'a str> {
        if item.atom().is_none() {
            self.error(item.span, format!("{what} was expected"), "not a word");
        }
        item.atom()
    }

    /// A name that the model introduces or mentions.
    pub(super) fn name(&mut self, what: &str, item: &Sexp) -> Option<String> {
        let fit = |word: &&str| {
            let mut chars = word.chars();
            chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                && chars.all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
                && matches!(parse_head(word), Head::Op(_))
        };
        let name = item.atom().filter(fit);
        if name.is_none() {
            self.error_with_help(
                item.span,
                format!("not a name for a {what}"),
                "not a name",
                "a name starts with a letter or `_` and goes on with letters, digits, `_`, `-`, `.`",
            );
        }
        name.map(str::to_owned)
    }

    /// Declares a tensor; whether its name was free.
    fn declare(&mut self, name: &str, span: Span) -> bool {
        if RESERVED.contains(&name) {
            let message = format!("`{name}` cannot name a tensor");
            self.error(span, message, "a word of the data form");
        } else if let Some(before) = self.tensors.get(name) {
            let error = Diagnostic::error(format!("`{name}` is declared twice"), span, "again");
            self.errors.push(error.with_related(*before, "first declared here"));
        } else if let Some(before) = self.sizes.get(name) {
            let message = format!("`{name}` names both a tensor and a size");
            let error = Diagnostic::error(message, span, "a tensor");
            self.errors.push(error.with_related(*before, "a size"));
        } else {
            self.tensors.insert(name.to_owned(), span);
            return true;
        }
        false
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
        let (role, span) = (Role::Table, name_item.span);
        self.inputs.push((Input { name, dtype, shape, role, span, extent_spans }, None));
    }

    fn dtype(&mut self, item: &Sexp) -> Option<DType> {
        let word = self.word("an element type", item)?;
        let dtype = DType::parse(word);
        if dtype.is_none() {
            let names = DType::ALL.iter().map(|d| d.name());
            self.errors.push(suggest::unknown("element type", word, item.span, names));
        }
        dtype
    }

    fn shape(&mut self, item: &Sexp) -> Option<Vec<(Extent, Span)>> {
        let Some(items) = item.list() else {
            self.error_with_help(
                item.span,
                "a shape is a list of extents",
                "not a list",
                "write it in parentheses, such as `(rows 64)`",
            );
            return None;
        };
        if items.first().and_then(Sexp::atom) == Some("+") {
            self.error_with_help(
                item.span,
                "a shape is a list of extents",
                "this is a single extent",
                "put another pair of parentheses around it",
            );
            return None;
        }
        if items.len() > MAX_RANK {
            let label = format!("{} extents", items.len());
            self.error(item.span, format!("a tensor has at most {MAX_RANK} dimensions"), label);
            return None;
        }
        let extents: Vec<_> = items.iter().map(|e| Some((self.extent(e)?, e.span))).collect();
        extents.into_iter().collect()
    }

    /// `64`, `rows`, `bags+1` or `(+ bags 1)`.
    fn extent(&mut self, item: &Sexp) -> Option<Extent> {
        let parts = match (item.atom(), item.form()) {
            (Some(word), _) => match word.split_once('+') {
                Some((name, plus)) if !name.is_empty() => Some((name, Some(plus))),
                _ => Some((word, None)),
            },
            (_, Some(("+", [name, plus]))) => name.atom().zip(Some(plus.atom())),
            _ => None,
        };
        let Some((word, plus)) = parts else {
            self.not_an_extent(item);
            return None;
        };
        let number = |word: &str| word.parse::<u64>().ok().filter(|n| *n <= MAX_EXTENT);
        let plus = match plus.map(number) {
            None => 0,
            Some(Some(n)) => n,
            Some(None) => {
                self.not_an_extent(item);
                return None;
            }
        };
        if word.starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c)) {
            let extent =
                number(word).and_then(|n| n.checked_add(plus)).filter(|n| *n <= MAX_EXTENT);
            if extent.is_none() {
                self.not_an_extent(item);
            }
            return extent.map(Extent::Const);
        }
        let atom = Sexp { span: item.span, kind: sexp::Kind::Atom(word.to_owned()) };
        let name = self.name("size", &atom)?;
        if let Some(before) = self.tensors.get(&name) {
            let message = format!("`{name}` names both a tensor and a size");
            let error = Diagnostic::error(message, item.span, "a size");
            self.errors.push(error.with_related(*before, "a tensor"));
            return None;
        }
        self.sizes.entry(name.clone()).or_insert(item.span);
        Some(Extent::Size { name, plus })
    }

    fn not_an_extent(&mut self, item: &Sexp) {
        self.error_with_help(
            item.span,
            "not an extent",
            "not an extent",
            format!("an extent is a number from 0 to {MAX_EXTENT}, a name, or `(+ NAME NUMBER)`"),
        );
    }

    fn output(&mut self, form: &Sexp, rest: &[Sexp]) -> Option<super::Output> {
        let [name_item, expression] = rest else {
            self.error_with_help(
                form.span,
                "an output has a name and an operation",
                "not these two",
                "write `(output NAME (emb.bag sum TABLE INDICES OFFSETS))`",
            );
            return None;
        };
        let name = self.name("tensor", name_item);
        if let Some(name) = &name {
            self.declare(name, name_item.span);
        }
        let (operation, dtype, shape) = operation::read(self, expression)?;
        Some(super::Output { name: name?, dtype, shape, operation, span: name_item.span })
    }
}

impl DataSpec {
    /// No data at all.
    pub(super) fn empty(directory: PathBuf) -> DataSpec {
        DataSpec { seed: 0, sizes: BTreeMap::new(), sources: BTreeMap::new(), directory }
    }
}
