//! Loads rule files into a rule book: reads the forms of all files and defines the order of the checks.

use super::book::{Exactness, Phase, RuleBook, RuleSet};
use super::check::Checker;
use super::files::{self, InFile};
use super::parameters::{Parameters, Settings};
use super::rule_form::RuleForm;
use super::signature::Signature;
use super::syntax::{Form, RulesetForm, ScheduleForm, Word};
use super::{commutes, define, derive, dialect, lints, steps};
use crate::codes::Code;
use crate::diagnostic::{Checked, Diagnostic, FileId, Severity, Sources};
use crate::suggest::unknown;
use egg::Symbol;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The result of checking rule files.
#[derive(Debug)]
pub struct Check {
    /// The rules, if there are no errors.
    pub book: Option<RuleBook>,
    /// The correct rules, if there are errors.
    pub partial: Option<RuleBook>,
    /// The declarations of the dialects, with or without errors.
    pub signature: Signature,
    /// Errors and warnings, including those that only this check reports, in the order of the texts.
    pub diagnostics: Vec<Diagnostic>,
    /// The files that were read, included files among them, in order.
    pub files: Vec<FileId>,
}

/// Reads and checks rule files. A folder stands for every `*.rules` file directly in it, in the order of their names.
/// Returns the rules and the warnings about them, or all errors at once. A text that the sources already contain under
/// the same path takes precedence over the file. No parameter is set: conditions allow every value.
pub fn load(sources: &mut Sources, paths: &[PathBuf]) -> Checked<(RuleBook, Vec<Diagnostic>)> {
    let mut errors = Vec::new();
    let forms = forms(sources, paths, &mut errors);
    finish(assemble(forms, None, &mut errors), errors)
}

/// [`load`] with what users set parameters to; others have their defaults.
pub fn load_set(
    sources: &mut Sources,
    paths: &[PathBuf],
    settings: &Settings,
) -> Checked<(RuleBook, Vec<Diagnostic>)> {
    let mut errors = Vec::new();
    let forms = forms(sources, paths, &mut errors);
    finish(assemble(forms, Some(settings), &mut errors), errors)
}

/// Returns the files that paths consist of, included files among them, as far as they can be read.
pub fn files(sources: &mut Sources, paths: &[PathBuf]) -> BTreeSet<FileId> {
    // Whoever loads the rules reports what is wrong with them.
    let mut errors = Vec::new();
    let ids = files::find(sources, paths, &mut errors);
    files::forms(sources, &ids, &mut errors).1.into_iter().collect()
}

/// Returns the forms of rule files and folders.
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
    finish(assemble(forms, None, &mut errors), errors)
}

/// Runs all checks that need no run of a rule: the checks of [`load`], and the warnings that are too expensive or too
/// pedantic for every run.
pub fn check(sources: &mut Sources, paths: &[PathBuf]) -> Check {
    let mut errors = Vec::new();
    let ids = files::find(sources, paths, &mut errors);
    let (forms, files) = files::forms(sources, &ids, &mut errors);
    let book = assemble(forms, None, &mut errors);
    let signature = book.signature.clone();
    if errors.iter().all(|d| d.severity != Severity::Error) {
        errors.extend(lints::lints(&book));
    }
    let diagnostics = in_order(errors);
    let wrong = diagnostics.iter().any(|d| d.severity == Severity::Error);
    let (book, partial) = if wrong { (None, Some(book)) } else { (Some(book), None) };
    Check { book, partial, signature, diagnostics, files }
}

/// Returns the result and the warnings if there is no error.
pub(super) fn finish<R>(read: R, errors: Vec<Diagnostic>) -> Checked<(R, Vec<Diagnostic>)> {
    let errors = in_order(errors);
    if errors.iter().any(|d| d.severity == Severity::Error) {
        Err(errors)
    } else {
        Ok((read, errors))
    }
}

/// Sorts diagnostics in the order of the text and removes duplicates, which arise from a word used in several roles.
fn in_order(mut errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    errors.sort_by_key(|d| d.at.as_ref().map(|(span, _)| (span.file, span.start)));
    errors.dedup();
    errors
}

/// Checks every form and puts it into a book. If there are errors, the book is incomplete.
fn assemble(
    forms: Vec<InFile>,
    settings: Option<&Settings>,
    errors: &mut Vec<Diagnostic>,
) -> RuleBook {
    let mut book = RuleBook::default();
    let (rules, schedules) = stated(&mut book, forms, errors);
    if let Some(settings) = settings {
        errors.extend(book.parameters.set(settings).err().into_iter().flatten());
    }
    let mut checker = Checker::new(&mut book, errors);
    for (set, form) in &rules {
        checker.rule(*set, form);
    }
    checker.finish();
    define::finish(&mut book, errors);
    steps::check(&mut book, (&schedules.named, &schedules.schedules), errors);
    book
}

/// Schedules and named steps, unresolved.
#[derive(Default)]
pub(super) struct ScheduleForms {
    named: Vec<ScheduleForm>,
    schedules: Vec<ScheduleForm>,
}

/// Puts all declarations except rules and schedules into a book, and returns the rules and schedules as forms. Each
/// rule comes with its set; the rules of definitions and of commuting operators are included.
pub(super) fn stated(
    book: &mut RuleBook,
    forms: Vec<InFile>,
    errors: &mut Vec<Diagnostic>,
) -> (Vec<(usize, RuleForm)>, ScheduleForms) {
    let (mut dialects, mut definitions, mut parameters) = (Vec::new(), Vec::new(), Vec::new());
    let (mut rules, mut schedules) = (Vec::new(), ScheduleForms::default());
    // The current set of each file.
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
            Form::Tune(form) => parameters.push(form),
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
    book.parameters = Parameters::read(&parameters, errors);
    let (signature, commuting) = dialect::declare(&dialects.iter().collect::<Vec<_>>(), errors);
    book.signature = signature;
    let defined = define::declare(book, &definitions.iter().collect::<Vec<_>>(), errors);
    book.signature.resolve(errors);
    let mut rules = written_out(&book.signature, rules, errors);
    rules.extend(defined);
    rules.extend(commutes::rules(book, &commuting));
    (rules, schedules)
}

/// A rule of a file, or a derivation of rules.
enum Stated {
    Written(Box<RuleForm>),
    Derived(Word),
}

/// Returns all rules in order. A written rule replaces the derived rule of the same name.
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

/// Returns the error for a rule or derivation before every rule set of its file.
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

/// Parses an exactness.
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
