//! The rules that a file is checked with, and the results: a folder as a whole, with the texts of open editors in the
//! place of those on disk.

use crate::cases;
use ember_host::Disk;
use ember_language::codes::Code;
use ember_language::diagnostic::{Diagnostic, FileId, Sources, Span};
use ember_language::rules::{self, Check, RuleBook, Signature};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Rules that were checked together.
pub(super) struct World {
    pub sources: Sources,
    pub check: Check,
}

impl World {
    /// Checks the files of paths.
    pub fn new(paths: &[PathBuf], buffers: &BTreeMap<PathBuf, String>) -> World {
        let mut sources = Sources::new(Disk);
        for (path, text) in buffers {
            sources.add(path, text.as_str());
        }
        let check = rules::check(&mut sources, paths);
        World { sources, check }
    }

    /// Returns true if a file cannot be read, so that its declarations are missing everywhere.
    pub fn torn(&self) -> bool {
        let of_reading = [Code::Unbalanced, Code::OpenText, Code::TooDeep];
        self.check.diagnostics.iter().any(|d| d.code.is_some_and(|code| of_reading.contains(&code)))
    }

    /// Returns the errors of an open case file that is checked with these rules.
    pub fn cases(&mut self, path: &Path) -> Vec<Diagnostic> {
        let (Some(file), Some(book)) = (self.sources.find(path), &self.check.book) else {
            return Vec::new();
        };
        cases::read(&mut self.sources, file, book).err().unwrap_or_default()
    }

    pub fn signature(&self) -> &Signature {
        &self.check.signature
    }

    /// Returns the rules that have no errors.
    pub fn book(&self) -> Option<&RuleBook> {
        self.check.book.as_ref().or(self.check.partial.as_ref())
    }

    pub fn path(&self, file: FileId) -> &Path {
        &self.sources.get(file).path
    }

    pub fn text(&self, span: Span) -> &str {
        &self.sources.get(span.file).text
    }
}

/// Returns the paths that a file is checked with: the rules of the workspace if they are given, else its folder, and
/// the file itself. If these have errors together but the file has none by itself, it is checked alone, because some
/// folders contain several systems of rules.
pub(super) fn paths(
    file: &Path,
    workspace: &[PathBuf],
    buffers: &BTreeMap<PathBuf, String>,
) -> Vec<PathBuf> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut paths = workspace.to_vec();
    // A folder without rule files on disk would only cause an error.
    if workspace.is_empty() && has_rules(folder) {
        paths.push(folder.to_owned());
    }
    let among = paths.iter().any(|path| path == folder || path == file);
    // A new file is not on disk yet.
    if is_rules(file) && !(among && file.is_file()) {
        paths.push(file.to_owned());
    }
    // A case file may have rules of its own, in a rule file of the same name.
    let alone = vec![file.with_extension("rules")];
    let right = |paths: &[PathBuf]| World::new(paths, buffers).check.book.is_some();
    let known = buffers.contains_key(&alone[0]) || alone[0].is_file();
    if known && paths != alone && !right(&paths) && right(&alone) { alone } else { paths }
}

fn has_rules(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| is_rules(&path) && path.is_file())
}

/// Returns true if the path is a rule file.
pub(super) fn is_rules(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rules")
}

/// Returns true if the path is a case file.
pub(super) fn is_case(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "case")
}
