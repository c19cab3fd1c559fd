//! The list of mutants that are as right as their rules: `(harmless RULE "CHANGE" "reason")`.

use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources};
use ember_language::load::load;
use ember_language::rules::RuleBook;
use ember_language::sexp::{self, Sexp};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A mutant that is right.
#[derive(Clone, Debug)]
pub struct Harmless {
    /// The rule.
    pub rule: String,
    /// The change, as reports print it.
    pub change: String,
    /// The reason why the changed rule is right.
    pub reason: String,
}

/// The name of the list in a folder of rules.
const FILE: &str = "harmless.mutants";

/// Reads the lists in the folders of a book's rules.
///
/// # Errors
/// A file cannot be read, or a form is not `(harmless RULE "CHANGE" "reason")`.
pub fn harmless(sources: &mut Sources, book: &RuleBook) -> Checked<Vec<Harmless>> {
    let files: BTreeSet<FileId> = book.rules.iter().map(|rule| rule.span.file).collect();
    let folders = files.iter().filter_map(|file| sources.get(*file).path.parent());
    let folders: BTreeSet<PathBuf> = folders.map(Path::to_owned).collect();
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for folder in folders {
        let list = folder.join(FILE);
        let Some(Ok(held)) = sources.files().folder(&folder) else { continue };
        if !held.contains(&list) {
            continue;
        }
        let file = load(sources, &list)?;
        for form in sexp::read(sources, file)? {
            match entry(&form) {
                Some(entry) => found.push(entry),
                None => errors.push(
                    Diagnostic::error("not a harmless mutant", form.span, "not understood")
                        .with_help("write `(harmless RULE \"CHANGE\" \"reason\")`"),
                ),
            }
        }
    }
    if errors.is_empty() { Ok(found) } else { Err(errors) }
}

fn entry(form: &Sexp) -> Option<Harmless> {
    match form.form()? {
        ("harmless", [rule, change, reason]) => Some(Harmless {
            rule: rule.atom()?.to_owned(),
            change: change.text()?.to_owned(),
            reason: reason.text()?.to_owned(),
        }),
        _ => None,
    }
}
