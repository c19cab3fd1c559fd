//! Rule files to a rule book: the forms of all files, and the order of the checks.

use super::book::{Exactness, Phase, RuleBook, RuleSet};
use super::check::Checker;
use super::files::{self, InFile};
use super::rule_form::RuleForm;
use super::signature::Signature;
use super::syntax::{Form, RulesetForm, ScheduleForm, Word};
use super::{commutes, define, derive, dialect, lints, schedule};
use crate::codes::Code;
use crate::diagnostic::{Checked, Diagnostic, FileId, Severity, Sources};
use crate::suggest::unknown;
use egg::Symbol;
use rustc_hash::FxHashSet;
use std::path::PathBuf;

/// What checking rule files found.
#[derive(Debug)]
pub struct Check {
    /// The rules, unless something is wrong.
    pub book: Option<RuleBook>,
    /// Where something is wrong: the rules that nothing is wrong with.
    pub partial: Option<RuleBook>,
    /// What the dialects declare, whether or not something is wrong.
    pub signature: Signature,
    /// Errors and warnings, those that only this check looks for among them, in the order of the texts.
    pub diagnostics: Vec<Diagnostic>,
    /// The files that were read, included ones among them, in order.
    pub files: Vec<FileId>,
}

/// Reads and checks rule files. A folder stands for every `*.rules` file directly in it, in the
/// order of their names. Returns the rules and the warnings about them, or all errors at once. A text
/// that the sources hold already under the same path is taken in place of the file's.
pub fn load(sources: &mut Sources, paths: &[PathBuf]) -> Checked<(RuleBook, Vec<Diagnostic>)> {
    let mut errors = Vec::new();
    let forms = forms(sources, paths, &mut errors);
    finish(assemble(forms, &mut errors), errors)
}

/// The forms of rule files and folders of them.
pub(super) fn forms(
    sources: &mut Sources,
    paths: &[PathBuf],
    errors: &mut Vec<Diagnostic>,
) -> Vec<InFile> {
    let ids = files::find(sources, paths, errors);
    files::forms(sources, &ids, errors).0
}

/// Reads and checks the rules in texts that were read before. Files that they include are read.
pub fn load_text(sources: &mut Sources, files: &[FileId]) -> Checked<(RuleBook, Vec<Diagnostic>)> {
    let mut errors = Vec::new();
    let (forms, _) = files::forms(sources, files, &mut errors);
    finish(assemble(forms, &mut errors), errors)
}

/// Everything that can be said of rule files before any rule runs: what [`load`] reports, and the
/// warnings that are too dear or too fussy for every run.
pub fn check(sources: &mut Sources, paths: &[PathBuf]) -> Check {
    let mut errors = Vec::new();
    let ids = files::find(sources, paths, &mut errors);
    let (forms, files) = files::forms(sources, &ids, &mut errors);
    let book = assemble(forms, &mut errors);
    let signature = book.signature.clone();
    if errors.iter().all(|d| d.severity != Severity::Error) {
        errors.extend(lints::lints(&book));
    }
    let diagnostics = in_order(errors);
    let wrong = diagnostics.iter().any(|d| d.severity == Severity::Error);
    let (book, partial) = if wrong { (None, Some(book)) } else { (Some(book), None) };
    Check { book, partial, signature, diagnostics, files }
}

/// What was read, and the warnings, where no error was found.
pub(super) fn finish<R>(read: R, errors: Vec<Diagnostic>) -> Checked<(R, Vec<Diagnostic>)> {
    let errors = in_order(errors);
    if errors.iter().any(|d| d.severity == Severity::Error) {
        Err(errors)
    } else {
        Ok((read, errors))
    }
}

/// Diagnostics in the order of the text; a word that stands for several places is reported once.
fn in_order(mut errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    errors.sort_by_key(|d| d.at.as_ref().map(|(span, _)| (span.file, span.start)));
    errors.dedup();
    errors
}

/// Checks every form and puts it into a book. Where there are errors, it is a part of the book.
fn assemble(forms: Vec<InFile>, errors: &mut Vec<Diagnostic>) -> RuleBook {
    let mut book = RuleBook::default();
    let (rules, schedules) = stated(&mut book, forms, errors);
    let mut checker = Checker::new(&mut book, errors);
    for (set, form) in &rules {
        checker.rule(*set, form);
    }
    checker.finish();
    define::finish(&mut book, errors);
    schedule::check(&mut book, (&schedules.named, &schedules.schedules), errors);
    book
}

/// Schedules and named steps, as they are written.
#[derive(Default)]
pub(super) struct ScheduleForms {
    named: Vec<ScheduleForm>,
    schedules: Vec<ScheduleForm>,
}

/// Puts into a book all but rules and schedules, and gives those as they are written: each rule with its set,
/// those among them that operators have because of how they are defined and declared.
pub(super) fn stated(
    book: &mut RuleBook,
    forms: Vec<InFile>,
    errors: &mut Vec<Diagnostic>,
) -> (Vec<(usize, RuleForm)>, ScheduleForms) {
    let (mut dialects, mut definitions) = (Vec::new(), Vec::new());
    let (mut rules, mut schedules) = (Vec::new(), ScheduleForms::default());
    // The set that the rules of a file belong to, so far.
    let mut current = Vec::new();
    for InFile { file, form } in forms {
        if current.len() <= file {
            current.resize(file + 1, None);
        }
        match form {
            Form::Dialect(form) => dialects.push(form),
            Form::Define(form) => definitions.push(form),
            Form::Schedule(form) => schedules.schedules.push(form),
            Form::Steps(form) => schedules.named.push(form),
            Form::Include(_) => {}
            Form::Derive(word) => match current[file] {
                Some(set) => rules.push((set, Stated::Derived(word))),
                None => errors.push(homeless("derivation", &word)),
            },
            Form::Ruleset(form) => {
                current[file] = Some(book.sets.len());
                let set = rule_set(book, &form, errors);
                book.sets.push(set);
            }
            Form::Rule(form) => match current[file] {
                Some(set) => rules.push((set, Stated::Written(form))),
                None => errors.push(homeless("rule", &form.name)),
            },
        }
    }
    let (signature, commuting) = dialect::declare(&dialects.iter().collect::<Vec<_>>(), errors);
    book.signature = signature;
    let defined = define::declare(book, &definitions.iter().collect::<Vec<_>>(), errors);
    book.signature.resolve(errors);
    let mut rules = written_out(&book.signature, rules, errors);
    rules.extend(defined);
    rules.extend(commutes::rules(book, &commuting));
    (rules, schedules)
}

/// A rule of a file, or a derivation that stands for some.
enum Stated {
    Written(Box<RuleForm>),
    Derived(Word),
}

/// Every rule in its place. One that is written takes the place of a derived one of its name.
fn written_out(
    signature: &Signature,
    stated: Vec<(usize, Stated)>,
    errors: &mut Vec<Diagnostic>,
) -> Vec<(usize, RuleForm)> {
    let written: FxHashSet<String> = stated
        .iter()
        .filter_map(|(_, stated)| match stated {
            Stated::Written(form) => Some(form.name.text.clone()),
            Stated::Derived(_) => None,
        })
        .collect();
    let mut rules = Vec::with_capacity(stated.len());
    for (set, stated) in stated {
        match stated {
            Stated::Written(form) => rules.push((set, *form)),
            Stated::Derived(word) => {
                let derived = derive::rules(signature, &word, errors).into_iter();
                let derived = derived.filter(|form| !written.contains(&form.name.text));
                rules.extend(derived.map(|form| (set, form)));
            }
        }
    }
    rules
}

/// The error for what stands before every rule set of its file.
fn homeless(what: &str, name: &Word) -> Diagnostic {
    Diagnostic::error(
        format!("{what} `{}` belongs to no set", name.text),
        name.span,
        "no (ruleset …) before it in this file",
    )
    .with_code(Code::NoSet)
    .with_help("start the file with (ruleset NAME \"…\")")
}

fn rule_set(book: &RuleBook, form: &RulesetForm, errors: &mut Vec<Diagnostic>) -> RuleSet {
    if let Some(first) = book.set(&form.name.text) {
        errors.push(
            Diagnostic::error(
                format!("rule set `{}` is defined twice", form.name.text),
                form.name.span,
                "again here",
            )
            .with_code(Code::SetTwice)
            .with_related(first.span, "first defined here"),
        );
    }
    let phase = form.phase.as_ref().and_then(|word| {
        let phase = Phase::parse(&word.text);
        if phase.is_none() {
            errors.push(
                unknown("phase", &word.text, word.span, Phase::NAMES.iter().copied())
                    .with_code(Code::UnknownPhase),
            );
        }
        phase
    });
    let exact = form.exact.as_ref().and_then(|word| exactness(word, errors));
    RuleSet {
        name: Symbol::from(&form.name.text),
        doc: form.doc.clone(),
        phase: phase.unwrap_or(Phase::Optimise),
        exact: exact.unwrap_or(Exactness::Bitwise),
        rules: Vec::new(),
        span: form.name.span,
    }
}

/// How exact a word says that something is.
pub(super) fn exactness(word: &Word, errors: &mut Vec<Diagnostic>) -> Option<Exactness> {
    let exact = Exactness::parse(&word.text);
    if exact.is_none() {
        errors.push(
            unknown("exactness", &word.text, word.span, Exactness::NAMES.iter().copied())
                .with_code(Code::UnknownExactness),
        );
    }
    exact
}
