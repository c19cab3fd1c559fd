//! Rule files to a rule book: finding files, reading forms, and the order of the checks.

use super::book::{Exactness, Phase, RuleBook, RuleSet};
use super::check::Checker;
use super::syntax::{self, Form, RulesetForm};
use super::{dialect, schedule};
use crate::diagnostic::{Checked, Diagnostic, FileId, Severity, Sources};
use crate::load::load as file;
use crate::sexp;
use crate::suggest::unknown;
use egg::Symbol;
use std::fs;
use std::path::{Path, PathBuf};

/// Reads and checks rule files. A folder stands for every `*.rules` file directly in it, in the
/// order of their names. Returns the rules and the warnings about them, or all errors at once.
pub fn load(sources: &mut Sources, paths: &[PathBuf]) -> Checked<(RuleBook, Vec<Diagnostic>)> {
    let mut errors = Vec::new();
    let mut files = Vec::new();
    for path in paths {
        match rule_files(path) {
            Ok(found) => files.extend(found),
            Err(error) => errors.push(error),
        }
    }
    let mut ids = Vec::new();
    for path in files {
        match file(sources, &path) {
            Ok(id) => ids.push(id),
            Err(found) => errors.extend(found),
        }
    }
    load_files(sources, &ids, errors)
}

/// Reads and checks the rules in texts that were read before.
pub fn load_text(sources: &Sources, files: &[FileId]) -> Checked<(RuleBook, Vec<Diagnostic>)> {
    load_files(sources, files, Vec::new())
}

/// The rule files that a path stands for.
fn rule_files(path: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    let unreadable = |e: std::io::Error| {
        Diagnostic::global(format!("cannot read `{}`: {e}", path.display()))
            .with_help("give a rule file or a folder of *.rules files")
    };
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if file.extension().is_some_and(|e| e == "rules") && file.is_file() {
            files.push(file);
        }
    }
    if files.is_empty() {
        return Err(Diagnostic::global(format!("no rule files in `{}`", path.display()))
            .with_help("rule files are called NAME.rules"));
    }
    files.sort();
    Ok(files)
}

fn load_files(
    sources: &Sources,
    files: &[FileId],
    mut errors: Vec<Diagnostic>,
) -> Checked<(RuleBook, Vec<Diagnostic>)> {
    let mut book = RuleBook::default();
    let mut dialects = Vec::new();
    let mut rules = Vec::new();
    let mut schedules = Vec::new();
    for &file in files {
        let forms = match sexp::read(sources, file) {
            Ok(forms) => forms,
            Err(found) => {
                errors.extend(found);
                continue;
            }
        };
        if forms.is_empty() {
            let path = sources.get(file).path.display();
            errors.push(Diagnostic::global(format!("`{path}` has no forms in it")).warning());
        }
        // The set that the rules of this file belong to, so far.
        let mut current = None;
        for form in &forms {
            let Some(form) = syntax::form(form, &mut errors) else { continue };
            match form {
                Form::Dialect(form) => dialects.push(form),
                Form::Schedule(form) => schedules.push(form),
                Form::Ruleset(form) => {
                    current = Some(book.sets.len());
                    let set = rule_set(&book, &form, &mut errors);
                    book.sets.push(set);
                }
                Form::Rule(form) => match current {
                    Some(set) => rules.push((set, *form)),
                    None => errors.push(
                        Diagnostic::error(
                            format!("rule `{}` belongs to no set", form.name.text),
                            form.name.span,
                            "no (ruleset …) before it in this file",
                        )
                        .with_help("start the file with (ruleset NAME \"…\")"),
                    ),
                },
            }
        }
    }
    book.signature = dialect::declare(&dialects, &mut errors);
    let mut checker = Checker::new(&mut book, &mut errors);
    for (set, form) in &rules {
        checker.rule(*set, form);
    }
    schedule::check(&mut book, &schedules, &mut errors);

    // In the order of the text; a word that stands for several places is reported once.
    errors.sort_by_key(|d| d.at.as_ref().map(|(span, _)| (span.file, span.start)));
    errors.dedup();
    if errors.iter().any(|d| d.severity == Severity::Error) {
        Err(errors)
    } else {
        Ok((book, errors))
    }
}

fn rule_set(book: &RuleBook, form: &RulesetForm, errors: &mut Vec<Diagnostic>) -> RuleSet {
    if let Some(first) = book.set(&form.name.text) {
        errors.push(
            Diagnostic::error(
                format!("rule set `{}` is defined twice", form.name.text),
                form.name.span,
                "again here",
            )
            .with_related(first.span, "first defined here"),
        );
    }
    let phase = form.phase.as_ref().and_then(|word| {
        let phase = Phase::parse(&word.text);
        if phase.is_none() {
            errors.push(unknown("phase", &word.text, word.span, Phase::NAMES.iter().copied()));
        }
        phase
    });
    let exact = form.exact.as_ref().and_then(|word| {
        let exact = Exactness::parse(&word.text);
        if exact.is_none() {
            errors.push(unknown(
                "exactness",
                &word.text,
                word.span,
                Exactness::NAMES.iter().copied(),
            ));
        }
        exact
    });
    RuleSet {
        name: Symbol::from(&form.name.text),
        doc: form.doc.clone(),
        phase: phase.unwrap_or(Phase::Optimise),
        exact: exact.unwrap_or(Exactness::Bitwise),
        rules: Vec::new(),
        span: form.name.span,
    }
}
