//! Finds the files that rules are read from, and their forms in order: folders, files, and included files. The meaning
//! of forms is not known here.

use super::syntax::{self, Form};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, FileId, Sources, Span};
use crate::load::load;
use crate::sexp::{self, Sexp};
use ember_host::{FileError, Files, normal};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A form and the index of its file, in the order in which files were begun.
pub(super) struct InFile {
    pub file: usize,
    pub form: Form,
}

/// Returns the files of paths; a folder stands for every `*.rules` file directly in it.
pub(super) fn find(
    sources: &mut Sources,
    paths: &[PathBuf],
    errors: &mut Vec<Diagnostic>,
) -> Vec<FileId> {
    let mut ids = Vec::new();
    for path in paths {
        match rule_files(sources.files().as_ref(), path) {
            Ok(found) => {
                for path in found {
                    match load(sources, &path) {
                        Ok(id) => ids.push(id),
                        Err(found) => errors.extend(found),
                    }
                }
            }
            Err(error) => errors.push(error),
        }
    }
    ids
}

/// Returns the rule files of a path.
fn rule_files(files: &dyn Files, path: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    let unreadable = |e: FileError| {
        Diagnostic::global(format!("cannot read `{}`: {e}", path.display()))
            .with_help("give a rule file or a folder of *.rules files")
    };
    let Some(found) = files.folder(path) else { return Ok(vec![path.to_owned()]) };
    let mut files = found.map_err(unreadable)?;
    files.retain(|file| file.extension().is_some_and(|e| e == "rules"));
    if files.is_empty() {
        return Err(Diagnostic::global(format!("no rule files in `{}`", path.display()))
            .with_help("rule files are called NAME.rules"));
    }
    Ok(files)
}

/// A file being read.
struct Open {
    id: FileId,
    file: usize,
    /// The key that distinguishes it from other files.
    key: PathBuf,
    /// The remaining forms, the next one last.
    rest: Vec<Sexp>,
    /// The place of the `include`, if it was included.
    from: Option<Span>,
}

/// Returns the forms of files, with the forms of an included file in the place of its `include`. Each file is read
/// once. Also returns the files.
pub(super) fn forms(
    sources: &mut Sources,
    files: &[FileId],
    errors: &mut Vec<Diagnostic>,
) -> (Vec<InFile>, Vec<FileId>) {
    let (mut forms, mut order) = (Vec::new(), Vec::new());
    let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
    for &id in files {
        let mut open: Vec<Open> = Vec::new();
        open.extend(begin(sources, id, None, &mut seen, &mut order, errors));
        while let Some(top) = open.last_mut() {
            let Some(next) = top.rest.pop() else {
                open.pop();
                continue;
            };
            let (at, file) = (top.id, top.file);
            match syntax::form(&next, errors) {
                Some(Form::Include(path)) => {
                    let target = normal(&folder(&sources.get(at).path).join(&path.text));
                    let key = sources.files().key(&target);
                    if let Some(outer) = open.iter().position(|file| file.key == key) {
                        errors.push(cycle(&open[outer..], path.span));
                        continue;
                    }
                    match load(sources, &target) {
                        Ok(id) => {
                            let from = Some(path.span);
                            open.extend(begin(sources, id, from, &mut seen, &mut order, errors));
                        }
                        Err(found) => errors.extend(found.into_iter().map(|error| {
                            let message = format!("cannot include `{}`", path.text);
                            let error = Diagnostic::error(message, path.span, error.message)
                                .with_code(Code::NotIncluded);
                            error
                                .with_help("a path starts from the folder of the file it stands in")
                        })),
                    }
                }
                Some(form) => forms.push(InFile { file, form }),
                None => {}
            }
        }
    }
    (forms, order)
}

/// Opens a file that was not read yet.
fn begin(
    sources: &Sources,
    id: FileId,
    from: Option<Span>,
    seen: &mut BTreeSet<PathBuf>,
    order: &mut Vec<FileId>,
    errors: &mut Vec<Diagnostic>,
) -> Option<Open> {
    let path = &sources.get(id).path;
    let key = sources.files().key(path);
    if !seen.insert(key.clone()) {
        return None;
    }
    let file = order.len();
    order.push(id);
    let mut rest = match sexp::read(sources, id) {
        Ok(forms) => forms,
        Err(found) => {
            errors.extend(found);
            return None;
        }
    };
    if rest.is_empty() {
        let message = format!("`{}` has no forms in it", path.display());
        let start = Span::new(id, 0..0);
        errors.push(Diagnostic::error(message, start, "").with_code(Code::EmptyFile).warning());
    }
    rest.reverse();
    Some(Open { id, file, key, rest, from })
}

/// Returns the error for a file that includes itself, directly or through others.
fn cycle(open: &[Open], span: Span) -> Diagnostic {
    let error =
        Diagnostic::error("files include each other", span, "this file is being read already")
            .with_code(Code::IncludeCycle);
    let error = open[1..]
        .iter()
        .filter_map(|file| file.from)
        .fold(error, |error, from| error.with_related(from, "included here"));
    error.with_help("put what both need into a third file that includes neither")
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}
