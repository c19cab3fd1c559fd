//! Reads the two sides: models, and programs as SCF, SLC or DLC text, with their declarations.

use super::assume::{ASSUME, Assumption};
use super::data::Given;
use super::declare::{Declarations, FORMS};
use super::kernel;
use super::layout::{Layout, laid_out};
use super::level::{Level, is_program, statements};
use super::lift::{NoStatement, lifted, widened};
use super::roles::Roles;
use ember_compile::dlc_text::DlcText;
use ember_compile::models;
use ember_language::codes::Code;
use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources};
use ember_language::load::load;
use ember_language::rules::{Operators, RuleBook, Signature, Sort};
use ember_language::sexp::{self, Sexp};
use ember_language::term::Term;
use ember_language::text;
use ember_model::Model;
use ember_targets::dlc::Program;
use ember_targets::machine::Machine;
use ember_targets::verify::{Limits, Verified};
use itertools::Itertools;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// One of the two sides of a comparison.
#[derive(Clone, Debug)]
pub struct Side {
    /// The name in messages: the file, and the number of the program in it.
    pub name: String,
    /// The program or model itself.
    pub what: What,
}

/// The reason why a side has no term at the level of the comparison.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unread {
    /// A DLC program cannot be read as a statement.
    #[error("`{name}`: {why}")]
    Dlc {
        /// The name of the program.
        name: String,
        /// The reason.
        why: NoStatement,
    },
    /// The dialects declare no boundaries that lead to the level.
    #[error("no boundaries lead from {from} to {to}")]
    Level {
        /// The sort of the side.
        from: Sort,
        /// The sort of the level.
        to: Sort,
    },
}

/// The content of a side.
#[derive(Clone, Debug)]
pub enum What {
    /// A model or a program of a level, as a statement term.
    Term {
        /// The term, as it was written.
        term: Term,
        /// Its sort.
        sort: Sort,
    },
    /// A DLC program.
    Dlc {
        /// The program.
        program: Box<Program>,
        /// The statement that its two halves form together, or the reason why they form none.
        term: Result<Term, NoStatement>,
    },
}

impl What {
    /// Builds a side from a verified DLC program.
    pub fn dlc(program: Verified, operators: &Operators) -> What {
        let program = program.into_program();
        let term = lifted(&program, operators);
        What::Dlc { program: Box::new(program), term }
    }

    /// Reads the parts of scratch memory that a DLC program has for one iteration at a time as those of whole tensors, if
    /// these are scratch memory of the comparison that the program does not have.
    fn widen(&mut self, declarations: &Declarations, operators: &Operators) {
        if let What::Dlc { program, term } = self {
            let whole = widened(program, |name, part| declarations.whole(name, part, program));
            *term = lifted(&whole, operators);
        }
    }
}

impl Side {
    /// Returns the term that proofs are about, or the reason why there is none.
    pub fn term(&self) -> Result<&Term, Unread> {
        match &self.what {
            What::Term { term, .. } | What::Dlc { term: Ok(term), .. } => Ok(term),
            What::Dlc { term: Err(why), .. } => {
                Err(Unread::Dlc { name: self.name.clone(), why: why.clone() })
            }
        }
    }

    /// Returns the assumption that a proof makes about this side: that a DLC program does the same as the statement it
    /// is read as.
    pub fn reading(&self) -> Option<String> {
        let name = &self.name;
        match self.what {
            What::Term { .. } => None,
            What::Dlc { .. } => {
                Some(format!("trusted: {name:?} does what the statement does that it is read as"))
            }
        }
    }
}

/// The file of a side that is a model.
#[derive(Clone, Debug)]
pub struct ModelFile {
    /// The model.
    pub model: Model,
    /// The text of the model.
    pub file: FileId,
}

/// Both sides and their common declarations.
#[derive(Clone, Debug)]
pub struct Sides {
    /// The tensors.
    pub declarations: Declarations,
    /// The known roles of inputs.
    pub roles: Roles,
    /// The roles that each side alone gives to inputs.
    pub(super) alone: [Roles; 2],
    /// The first side.
    pub left: Side,
    /// The second side.
    pub right: Side,
    /// The data given in a text, to be tried first.
    pub given: Option<Given>,
    /// The first side that is a model, or the model that contains the declarations of the programs.
    pub model: Option<ModelFile>,
    /// The term of a model that is not a side. If both programs are equal to it, they are equal.
    pub between: Option<Term>,
    /// The level of the comparison.
    pub level: Level,
    /// The level of statements of one processor.
    pub base: Level,
    /// The table of operators.
    pub operators: Arc<Operators>,
}

impl Sides {
    /// Builds the sides from two programs over the same tensors.
    pub fn of(signature: &Signature, declarations: Declarations, programs: [What; 2]) -> Sides {
        let [left, right] = programs;
        let side = |name: &str, what| Side { name: name.to_owned(), what };
        let (left, right) = (side("the first", left), side("the second", right));
        let roles = |sides| Roles::new(&declarations, &[], sides, signature.table());
        let alone = [roles([&left, &left]), roles([&right, &right])];
        let roles = roles([&left, &right]);
        let [level, base] = Level::of(signature, [&left, &right]);
        let (given, model, between) = (None, None, None);
        let operators = signature.table().clone();
        Sides {
            declarations,
            roles,
            alone,
            left,
            right,
            given,
            model,
            between,
            level,
            base,
            operators,
        }
    }
}

/// The contents of one file.
#[derive(Default)]
struct Text {
    declarations: Option<Declarations>,
    model: Option<ModelFile>,
    sides: Vec<Side>,
    given: Option<Given>,
    /// Layouts and assumptions, not read yet.
    layouts: Vec<Sexp>,
    assumptions: Vec<Sexp>,
    /// Programs that cannot be read before all declarations are known.
    open: Vec<Sexp>,
}

/// Reads both sides from two files, or from one file with two programs. `model` declares the tensors of programs
/// without declarations.
pub fn read(
    sources: &mut Sources,
    book: &RuleBook,
    machine: &Machine,
    paths: &[PathBuf],
    model: Option<&Path>,
) -> Checked<Sides> {
    let mut errors = Vec::new();
    let all: Vec<&Path> = paths.iter().map(PathBuf::as_path).chain(model).collect();
    let mut texts: Vec<Text> = all.iter().map(|_| Text::default()).collect();
    // The errors of a file that is given twice are reported once.
    let mut fail = |at: usize, found: Vec<Diagnostic>| {
        if errors.is_empty() || !all[..at].contains(&all[at]) {
            errors.extend(found);
        }
    };
    // The arguments of kernels take the names that other texts declare, so kernels are read after these.
    let is_kernel = |at: &usize| models::is_kernel(sources, all[*at]);
    let (kernels, others): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(is_kernel);
    for at in others {
        match file(sources, book, machine, all[at]) {
            Ok(text) => texts[at] = text,
            Err(found) => fail(at, found),
        }
    }
    for at in kernels {
        let known = texts.iter().filter_map(|text| text.declarations.as_ref());
        match kernel::read(sources, book, &Limits::of(machine), all[at], known) {
            Ok((declarations, side)) => {
                texts[at].declarations = Some(declarations);
                texts[at].sides.push(side);
            }
            Err(found) => fail(at, found),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let declaring = if model.is_some() { texts.pop() } else { None };
    let mut declarations: Option<Declarations> = None;
    for own in texts.iter().chain(&declaring).filter_map(|text| text.declarations.as_ref()) {
        match &mut declarations {
            Some(known) => known.join(own.clone())?,
            None => declarations = Some(own.clone()),
        }
    }
    if let Some(declarations) = &mut declarations {
        let forms: Vec<Sexp> = texts.iter().flat_map(|text| text.layouts.clone()).collect();
        declarations.layouts = Layout::read_all(&forms, book, declarations)?;
        let forms: Vec<Sexp> = texts.iter().flat_map(|text| text.assumptions.clone()).collect();
        declarations.assumptions = Assumption::read_all(&forms, book, declarations)?;
    }
    let mut sides: Vec<Side> = Vec::new();
    let mut models: Vec<ModelFile> = Vec::new();
    let mut given = None;
    for (text, path) in texts.into_iter().zip(paths) {
        let many = text.open.len() > 1;
        for (at, form) in text.open.iter().enumerate() {
            let Some(declarations) = &declarations else {
                let message = format!("nothing declares the tensors of `{}`", path.display());
                let error = Diagnostic::error(message, form.span, "a program");
                let help = "give a model with `--model`, or write `(input NAME DTYPE (EXTENT …))` and \
                            `(output …)` in front of the program";
                return Err(vec![error.with_help(help)]);
            };
            let name = match (many, at) {
                (false, _) => path.display().to_string(),
                (true, at) => format!("{}, program {}", path.display(), at + 1),
            };
            match program(book, form, declarations) {
                Ok(what) => sides.push(Side { name, what }),
                Err(found) => errors.extend(found),
            }
        }
        sides.extend(text.sides);
        models.extend(text.model);
        given = given.or(text.given);
    }
    let mut between = None;
    if let Some(text) = declaring {
        between = text.sides.first().and_then(|side| side.term().ok().cloned());
        models.extend(text.model);
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let found = sides.len();
    let Ok([mut left, mut right]) = <[Side; 2]>::try_from(sides) else {
        let error = Diagnostic::global(format!("programs that are given: {found}; needed are two"));
        let help = "give two files, or one with two programs behind their declarations";
        return Err(vec![error.with_help(help)]);
    };
    let declarations = declarations.unwrap_or_default();
    let operators = book.signature.table().clone();
    for side in [&mut left, &mut right] {
        side.what.widen(&declarations, &operators);
    }
    if let Some(given) = &given
        && laid_out(&declarations, &operators, given)
            .is_none_or(|own| own.forms(&declarations) != given.forms(&declarations))
    {
        return Err(vec![Diagnostic::global(
            "the data that is given is not laid out as it should be",
        )]);
    }
    if let Some(given) = &given
        && let Some(not) =
            declarations.assumptions.iter().find(|a| !a.holds(&declarations, &operators, given))
    {
        let message = format!("the data that is given does not satisfy `{}`", not.text());
        return Err(vec![Diagnostic::global(message)]);
    }
    let roles = |sides| Roles::new(&declarations, &models, sides, book.signature.table());
    let alone = [roles([&left, &left]), roles([&right, &right])];
    let roles = roles([&left, &right]);
    let [level, base] = Level::of(&book.signature, [&left, &right]);
    let model = models.into_iter().next();
    Ok(Sides {
        declarations,
        roles,
        alone,
        left,
        right,
        given,
        model,
        between,
        level,
        base,
        operators,
    })
}

impl Text {
    /// Takes a model as a side.
    fn of_model(&mut self, book: &RuleBook, name: String, model: Model, file: FileId) {
        let term = book.definitions.expand(&model.root_term(book.signature.table()));
        self.declarations = Some(Declarations::of_model(&model));
        let what = What::Term { term, sort: statements(&book.signature) };
        self.sides.push(Side { name, what });
        self.model = Some(ModelFile { model, file });
    }
}

fn file(sources: &mut Sources, book: &RuleBook, machine: &Machine, path: &Path) -> Checked<Text> {
    let mut text = Text::default();
    let name = path.display().to_string();
    if ember_import::is_import(path) {
        let (model, file) = models::read(sources, path, &book.definitions)?;
        text.of_model(book, name, model, file);
        return Ok(text);
    }
    let file = load(sources, path)?;
    let forms = sexp::read(sources, file)?;
    match forms.first().and_then(Sexp::form) {
        Some(("model", _)) => {
            let model = Model::parse_with(sources, file, &book.definitions)?;
            text.of_model(book, name.clone(), model, file);
        }
        Some(("dlc", _)) => {
            let program = DlcText::read(sources, file)?.verify(&Limits::of(machine))?;
            text.declarations = Some(Declarations::of_program(&program));
            text.sides.push(Side {
                name: name.clone(),
                what: What::dlc(program, book.signature.table()),
            });
        }
        _ => programs(book, &forms, &mut text)?,
    }
    if text.sides.is_empty() && text.open.is_empty() && text.layouts.is_empty() {
        return Err(vec![Diagnostic::global(format!("{name}: no program in it"))]);
    }
    Ok(text)
}

/// Reads declarations, data and programs.
fn programs(book: &RuleBook, forms: &[Sexp], text: &mut Text) -> Checked<()> {
    let mut errors = Vec::new();
    let mut declarations = Declarations::default();
    let mut data = None;
    let operators = book.signature.operators();
    let reserved =
        |name: &str| operators.iter().any(|op| op.args.is_empty() && op.name.as_str() == name);
    for form in forms {
        match form.form() {
            Some((head, _)) if FORMS.contains(&head) => {
                errors.extend(declarations.read(form, reserved).err().into_iter().flatten());
            }
            Some(("data", items)) => data = Some(items),
            Some(("layout", _)) => text.layouts.push(form.clone()),
            Some((ASSUME, _)) => text.assumptions.push(form.clone()),
            _ => text.open.push(form.clone()),
        }
    }
    if let Some(items) = data {
        match Given::read(items, &declarations) {
            Ok(given) => text.given = Some(given),
            Err(found) => errors.extend(found),
        }
    }
    if !declarations.tensors.is_empty() {
        text.declarations = Some(declarations);
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Returns errors of a program with one for each unknown word, which may be a size.
fn unknown_once(errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let (unknown, mut others): (Vec<_>, Vec<_>) =
        errors.into_iter().partition(|error| error.code == Some(Code::UnknownOperator));
    for mut error in unknown.into_iter().unique_by(|error| error.message.clone()) {
        if error.help.as_deref().is_none_or(|help| help.starts_with("declare")) {
            error.help = Some(
                "a size that is the extent of no tensor is declared by `(size NAME)`".to_owned(),
            );
        }
        others.push(error);
    }
    others.sort_by_key(|error| error.at.as_ref().map(|(span, _)| *span));
    others
}

/// Reads a program as a term.
pub(super) fn program(book: &RuleBook, form: &Sexp, declarations: &Declarations) -> Checked<What> {
    let read = text::read(form, book, &declarations.words(&book.signature));
    let (term, sort) = read.map_err(unknown_once)?;
    if is_program(&book.signature, sort) {
        return Ok(What::Term { term, sort });
    }
    let label = format!("this has the sort {sort}");
    let error = Diagnostic::error("not a program", form.span, label);
    let sorts = book.signature.sorts().iter().map(|declared| declared.sort);
    let programs = sorts.filter(|sort| is_program(&book.signature, *sort));
    let known: Vec<String> = programs.map(|sort| sort.to_string()).collect();
    let help =
        format!("a program is `(dlc …)`, or a term of a sort of statements: {}", known.join(", "));
    Err(vec![error.with_help(help)])
}
