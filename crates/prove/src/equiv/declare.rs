//! The declarations that both sides share: tensors with their types and shapes, and the sizes that shapes mention.
//!
//! A program text declares tensors before the program, in the words of a model file: `(input NAME DTYPE (EXTENT …))`,
//! `(output …)`, and `(scratch …)` for memory that is not read afterwards. An input that holds offsets has `(rises-to
//! EXTENT)` after its shape. Models and DLC programs contain their own declarations.

use super::assume::Assumption;
use super::equation::Equation;
use super::forms::{atom, form, list};
use super::layout::Layout;
use super::lift::of_strips;
use egg::Symbol;
use ember_compile::decouple::ModelContext;
use ember_language::diagnostic::{Checked, Diagnostic, Span};
use ember_language::rules::Signature;
use ember_language::sexp::Sexp;
use ember_language::suggest;
use ember_language::term::{Head, parse_head};
use ember_language::text::{Named, Words};
use ember_model::{Extent, Kind, Model};
use ember_targets::dlc::{Dim, Program, SizeId, TensorDecl};
use ember_values::scalar::DType;
use std::collections::{BTreeMap, BTreeSet};

pub use ember_targets::dlc::Purpose;

/// The heads of declarations.
pub(super) const FORMS: [&str; 4] = ["input", "output", "scratch", SIZE];

/// The head of the declaration of a size that is the extent of no tensor.
const SIZE: &str = "size";

/// The largest number that a text may give as an extent, or add to a size.
const MAX_EXTENT: u64 = 1 << 40;

/// A tensor that both sides share.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its extents.
    pub shape: Vec<Extent>,
    /// Its role in the comparison.
    pub purpose: Purpose,
    /// For offsets: their last value. They start at 0 and never decrease.
    pub rises_to: Option<Extent>,
}

/// The tensors of both sides in the order of their declaration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declarations {
    /// The tensors.
    pub tensors: Vec<Declared>,
    /// The sizes that are declared by themselves.
    pub own_sizes: Vec<String>,
    /// The names of tensors and sizes in the order of a function's arguments; none if the program is no function.
    pub arguments: Vec<String>,
    /// The conditions that sizes and inputs satisfy.
    pub assumptions: Vec<Assumption>,
    /// The layouts of inputs that are computed from other inputs. Each may depend on the layouts before it.
    pub layouts: Vec<Layout>,
}

impl Declarations {
    /// Returns the declarations of a model.
    pub fn of_model(model: &Model) -> Declarations {
        let inputs = model.inputs.iter().map(|input| (&input.tensor, Purpose::Input));
        let computed = model.computed.iter().map(|computed| {
            let output = computed.kind == Kind::Output;
            (&computed.tensor, if output { Purpose::Output } else { Purpose::Scratch })
        });
        let tensors = inputs.chain(computed).map(|(tensor, purpose)| Declared {
            name: tensor.name.clone(),
            dtype: tensor.dtype,
            shape: tensor.shape.clone(),
            purpose,
            rises_to: None,
        });
        let mut declarations =
            Declarations { tensors: tensors.collect(), ..Declarations::default() };
        // Data whose offsets do not rise to this extent is rejected when it is loaded.
        for used in model.offsets_uses() {
            let (offsets, indices) = (model.tensor(used.offsets), model.tensor(used.indices));
            let own = declarations.tensors.iter_mut().find(|own| own.name == offsets.name);
            if let (Some(own), Some(end)) = (own, indices.shape.first()) {
                own.rises_to.get_or_insert_with(|| end.clone());
            }
        }
        declarations
    }

    /// Returns the declarations of a DLC program; every tensor that it writes is an output, but for its scratch memory, and
    /// for the whole tensors of which it has strips.
    pub fn of_program(program: &Program) -> Declarations {
        let extent = |dim: &Dim| match dim {
            Dim::Const(n) => Extent::Const(*n),
            Dim::Size(id) => sized(&program.sizes[id.index()]),
        };
        let whole = of_strips(program);
        let tensors = program.tensors.iter().chain(&whole).map(|tensor| Declared {
            name: tensor.name.clone(),
            dtype: tensor.dtype,
            shape: tensor.shape.iter().map(extent).collect(),
            purpose: tensor.purpose,
            rises_to: None,
        });
        Declarations { tensors: tensors.collect(), ..Declarations::default() }
    }

    /// Returns the tensor with this name.
    pub fn tensor(&self, name: &str) -> Option<&Declared> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }

    /// Returns the extents of scratch memory of this name as those of a program; `None` if there is none of the element
    /// type of a part of it.
    pub(super) fn whole(
        &self,
        name: &str,
        part: &TensorDecl,
        program: &Program,
    ) -> Option<Vec<Dim>> {
        let fits = |own: &&Declared| own.purpose == Purpose::Scratch && own.dtype == part.dtype;
        let extent = |extent: &Extent| match extent {
            Extent::Const(n) => Some(Dim::Const(*n)),
            Extent::Size { .. } => {
                let name = extent.to_string();
                let at = program.sizes.iter().position(|size| *size == name)?;
                Some(Dim::Size(SizeId(at as u32)))
            }
        };
        self.tensor(name).filter(fits)?.shape.iter().map(extent).collect()
    }

    /// Merges the declarations of the other side. The types and shapes of shared tensors must agree. A tensor that only
    /// one side compares becomes scratch memory, as do a model's intermediate tensors.
    pub fn join(&mut self, other: Declarations) -> Checked<()> {
        let mut errors = Vec::new();
        let new = other.own_sizes.into_iter().filter(|name| !self.own_sizes.contains(name));
        self.own_sizes.extend(new.collect::<Vec<_>>());
        for theirs in other.tensors {
            let Some(ours) = self.tensors.iter_mut().find(|ours| ours.name == theirs.name) else {
                self.tensors.push(theirs);
                continue;
            };
            if (ours.dtype, &ours.shape) != (theirs.dtype, &theirs.shape) {
                let message = format!(
                    "the sides disagree about `{}`: {} and {}",
                    ours.name,
                    ours.text(),
                    theirs.text()
                );
                errors.push(Diagnostic::global(message));
                continue;
            }
            match (&ours.rises_to, &theirs.rises_to) {
                (Some(own), Some(other)) if own != other => {
                    let message = format!(
                        "the sides disagree about `{}`: it rises to {own} and {other}",
                        ours.name
                    );
                    errors.push(Diagnostic::global(message));
                }
                (None, Some(other)) => ours.rises_to = Some(other.clone()),
                _ => {}
            }
            if ours.purpose != theirs.purpose {
                let input = |p: Purpose| p == Purpose::Input;
                if input(ours.purpose) || input(theirs.purpose) {
                    let message = format!("only one side writes `{}`", ours.name);
                    errors.push(Diagnostic::global(message));
                }
                ours.purpose = Purpose::Scratch;
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Returns the declarations of tensors and equations in a certificate, with or without offsets that never decrease.
    pub(super) fn certified(&self, rises: bool) -> Vec<Sexp> {
        let tensors = self.tensors.iter().map(|declared| {
            let shape = declared.shape.iter().map(|e: &Extent| atom(e.to_string())).collect();
            let [head, name, dtype] = declared.words().map(atom);
            let end = declared.rises_to.as_ref().filter(|_| rises);
            let end = end.map(|end| form("rises-to", [atom(end.to_string())]));
            list([head, name, dtype, list(shape)].into_iter().chain(end).collect())
        });
        tensors.chain(self.equations().map(Equation::declaration)).collect()
    }

    /// Returns the declarations of the tensors with these names in terms; all declarations if data is restricted.
    pub(super) fn of(&self, names: &BTreeSet<Symbol>) -> Declarations {
        let mut own = self.clone();
        if !self.restricts() {
            let named =
                |tensor: &Declared| names.contains(&Symbol::from(format!("%{}", tensor.name)));
            own.tensors.retain(named);
        }
        own
    }

    /// Iterates over the equations of all layouts and assumptions.
    pub(super) fn equations(&self) -> impl Iterator<Item = &Equation> {
        let assumed = self.assumptions.iter().flat_map(|assumption| &assumption.equations);
        self.layouts.iter().flat_map(|layout| &layout.equations).chain(assumed)
    }

    /// Returns true if data of the declared shapes need not fit the comparison.
    pub(super) fn restricts(&self) -> bool {
        !(self.layouts.is_empty() && self.assumptions.is_empty())
    }

    /// Returns the names of the tensors that are compared.
    pub fn outputs(&self) -> Vec<String> {
        let written = self.tensors.iter().filter(|tensor| tensor.purpose == Purpose::Output);
        written.map(|tensor| tensor.name.clone()).collect()
    }

    /// Returns the names of the tensors whose final contents are ignored.
    pub fn scratch(&self) -> impl Iterator<Item = &str> {
        let scratch = self.tensors.iter().filter(|tensor| tensor.purpose == Purpose::Scratch);
        scratch.map(|tensor| tensor.name.as_str())
    }

    /// Returns the names of inputs whose elements never decrease.
    pub fn rising(&self) -> impl Iterator<Item = &str> {
        let rising = self.tensors.iter().filter(|tensor| tensor.rises_to.is_some());
        rising.map(|tensor| tensor.name.as_str())
    }

    /// Returns the names of all sizes: those that shapes mention, without added numbers, and those declared by themselves.
    pub fn sizes(&self) -> Vec<String> {
        let mut names: Vec<String> = self.own_sizes.clone();
        for extent in self.tensors.iter().flat_map(|own| own.shape.iter().chain(&own.rises_to)) {
            if let Extent::Size { name, .. } = extent
                && !names.contains(name)
            {
                names.push(name.clone());
            }
        }
        names
    }

    /// Returns the words that program text over these tensors and sizes may use.
    pub fn words<'a>(&self, signature: &'a Signature) -> Words<'a> {
        let mut words = Words::new(signature);
        let extents = self.tensors.iter().flat_map(|own| own.shape.iter().chain(&own.rises_to));
        let own = self.own_sizes.iter().cloned();
        own.chain(extents.flat_map(Extent::names)).for_each(|name| words.add(&name, Named::Size));
        for tensor in &self.tensors {
            let input = tensor.purpose == Purpose::Input;
            words.add(&tensor.name, if input { Named::Input } else { Named::Output });
        }
        words
    }

    /// Returns the declarations in the form of a program's context, with extents such as `bags+1` as separate sizes.
    pub fn context(&self) -> ModelContext {
        let mut sizes: Vec<String> = self.sizes();
        let mut tensors = Vec::new();
        for tensor in &self.tensors {
            let dim = |extent: &Extent| match extent {
                Extent::Const(n) => Dim::Const(*n),
                Extent::Size { .. } => {
                    let name = extent.to_string();
                    let at = sizes.iter().position(|size| *size == name).unwrap_or_else(|| {
                        sizes.push(name);
                        sizes.len() - 1
                    });
                    Dim::Size(SizeId(at as u32))
                }
            };
            let shape = tensor.shape.iter().map(dim).collect();
            let (name, dtype) = (tensor.name.clone(), tensor.dtype);
            tensors.push(TensorDecl { name, dtype, shape, purpose: tensor.purpose });
        }
        ModelContext { name: "equiv".to_owned(), sizes, tensors }
    }

    /// Returns the values of all sizes, including sizes with an added number, from the values of the names.
    pub fn all_sizes(&self, sizes: &BTreeMap<String, u64>) -> BTreeMap<String, i64> {
        let known = self.tensors.iter().flat_map(|tensor| &tensor.shape).filter_map(|extent| {
            Some((extent.to_string(), i64::try_from(extent.value(sizes)?).ok()?))
        });
        let own =
            sizes.iter().filter_map(|(name, n)| Some((name.clone(), i64::try_from(*n).ok()?)));
        own.chain(known.filter(|(name, _)| parse_name(name))).collect()
    }

    /// Reads one declaration.
    pub(super) fn read(&mut self, form: &Sexp, reserved: impl Fn(&str) -> bool) -> Checked<()> {
        let size = form.items(SIZE).map(|items| read_size(form, items)).transpose()?;
        let tensor = if size.is_none() { Some(read(form)?) } else { None };
        let Some((name, span)) =
            form.list().and_then(|items| Some((items[1].atom()?, items[1].span)))
        else {
            return Ok(());
        };
        let what = if size.is_some() { "size" } else { "tensor" };
        if reserved(name) {
            let message = format!("`{name}` cannot name a {what}");
            return Err(vec![Diagnostic::error(message, span, "an operator is called so")]);
        }
        let clash = match size {
            Some(_) => self.sizes().iter().any(|known| known == name),
            None => self.own_sizes.iter().any(|known| known == name),
        };
        if clash || self.tensor(name).is_some() {
            let message = format!("`{name}` is declared twice");
            return Err(vec![Diagnostic::error(message, span, "a second time here")]);
        }
        self.own_sizes.extend(size);
        self.tensors.extend(tensor);
        Ok(())
    }
}

impl Declared {
    fn text(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(Extent::to_string).collect();
        format!("{} ({})", self.dtype, shape.join(" "))
    }

    /// Returns the first words of the declaration in a program text: its head, name and element type.
    pub(super) fn words(&self) -> [String; 3] {
        let head = match self.purpose {
            Purpose::Input => FORMS[0],
            Purpose::Output => FORMS[1],
            Purpose::Scratch => FORMS[2],
        };
        [head.to_owned(), self.name.clone(), self.dtype.to_string()]
    }

    /// Returns the declaration as it is written in a program text.
    pub fn form(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(Extent::to_string).collect();
        let rises = self.rises_to.as_ref().map(|end| format!(" (rises-to {end})"));
        let (words, rises) = (self.words().join(" "), rises.unwrap_or_default());
        format!("({words} ({}){rises})", shape.join(" "))
    }
}

/// Parses a size with an optional added number, as programs spell it.
fn sized(text: &str) -> Extent {
    let split = text.rsplit_once('+').and_then(|(name, k)| Some((name, k.parse().ok()?)));
    let (name, plus) = split.unwrap_or((text, 0));
    Extent::Size { name: name.to_owned(), plus }
}

/// Returns true if a text is the name of an extent, not a number.
fn parse_name(text: &str) -> bool {
    matches!(parse_head(text), Head::Op(_))
}

/// Reads `(size NAME)`.
fn read_size(form: &Sexp, items: &[Sexp]) -> Checked<String> {
    match items {
        [name] if name.atom().is_some_and(is_plain) => {
            Ok(name.atom().unwrap_or_default().to_owned())
        }
        _ => {
            let error = Diagnostic::error("not a size", form.span, "not understood");
            Err(vec![error.with_help("write `(size NAME)`")])
        }
    }
}

/// Returns true if a word may name a tensor or a size.
fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c)) && parse_name(word)
}

fn read(form: &Sexp) -> Checked<Declared> {
    let usage = |span: Span| {
        let error = Diagnostic::error("not a declaration", span, "not understood");
        vec![error.with_help("write `(input NAME DTYPE (EXTENT …))`, or `output`, or `scratch`")]
    };
    let Some((head, [name, dtype, shape, rises @ ..])) = form.form() else {
        return Err(usage(form.span));
    };
    let purpose = match head {
        "input" => Purpose::Input,
        "output" => Purpose::Output,
        _ => Purpose::Scratch,
    };
    let Some(tensor) = name.atom().filter(|word| is_plain(word)) else {
        return Err(vec![Diagnostic::error("not a name for a tensor", name.span, "not a name")]);
    };
    let word = dtype.atom().unwrap_or("");
    let Some(parsed) = DType::parse(word) else {
        let names = DType::ALL.iter().map(|d| d.name());
        return Err(vec![suggest::unknown("element type", word, dtype.span, names)]);
    };
    let Some(extents) = shape.list() else { return Err(usage(shape.span)) };
    let extents: Option<Vec<Extent>> = extents.iter().map(extent).collect();
    let Some(shape) = extents else {
        let error = Diagnostic::error("not a shape", shape.span, "not understood");
        let help = "an extent is a number, a size's name, or `(+ NAME NUMBER)`";
        return Err(vec![error.with_help(help)]);
    };
    let offsets = purpose == Purpose::Input && parsed == DType::I64 && shape.len() == 1;
    let rises_to = match rises {
        [] => None,
        [rises] => Some(end(rises).filter(|_| offsets).ok_or_else(|| {
            let error =
                Diagnostic::error("not a declaration of offsets", rises.span, "not understood");
            vec![error.with_help("write `(input NAME i64 (EXTENT) (rises-to EXTENT))`")]
        })?),
        [_, more, ..] => return Err(usage(more.span)),
    };
    Ok(Declared { name: tensor.to_owned(), dtype: parsed, shape, purpose, rises_to })
}

/// Parses the end of non-decreasing offsets.
fn end(rises: &Sexp) -> Option<Extent> {
    let [end] = rises.items("rises-to")? else { return None };
    extent(end)
}

fn extent(item: &Sexp) -> Option<Extent> {
    let number = |word: &str| word.parse::<u64>().ok().filter(|n| *n <= MAX_EXTENT);
    let named = |name: &str, plus: u64| {
        let fits = parse_name(name) && !name.starts_with(['%', '?', ':']);
        fits.then(|| Extent::Size { name: name.to_owned(), plus })
    };
    match (item.atom(), item.form()) {
        (Some(word), _) => match (number(word), word.rsplit_once('+')) {
            (Some(n), _) => Some(Extent::Const(n)),
            (None, Some((name, plus))) => named(name, number(plus)?),
            (None, None) => named(word, 0),
        },
        (None, Some(("+", [name, plus]))) => named(name.atom()?, number(plus.atom()?)?),
        _ => None,
    }
}
