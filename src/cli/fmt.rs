//! The `fmt` command: finds the files, formats them and reports the changes.

use super::output::{write_file, write_result};
use clap::Args;
use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources};
use ember_language::fmt::format;
use ember_language::load::{TEXT_LIMIT, load};
use similar::TextDiff;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The extensions of the files of a folder that are formatted.
const EXTENSIONS: [&str; 4] = ["rules", "case", "sexp", "terms"];

/// Options of `fmt`.
#[derive(Debug, Args)]
pub(super) struct FmtArgs {
    /// Files, or folders: of those, every `*.rules`, `*.case`, `*.sexp` and `*.terms`, however deep.
    #[arg(required_unless_present = "stdin", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write nothing, and print what would change.
    #[arg(long)]
    check: bool,
    /// Format standard input to standard output.
    #[arg(long, conflicts_with = "paths")]
    stdin: bool,
}

impl FmtArgs {
    pub(super) fn run(&self, sources: &mut Sources) -> Checked<ExitCode> {
        if self.stdin {
            let file = standard_input(sources)?;
            let text = format(sources, file)?;
            if !self.check {
                return write_result(None, &text).map(|()| ExitCode::SUCCESS);
            }
            let diff = diff(sources, file, &text);
            write_result(None, &diff)?;
            return Ok(ExitCode::from(u8::from(!diff.is_empty())));
        }
        let (mut errors, mut changed) = (Vec::new(), Vec::new());
        let mut files = Vec::new();
        for path in &self.paths {
            match find(path) {
                Ok(found) => files.extend(found),
                Err(error) => errors.push(error),
            }
        }
        for path in &files {
            match load(sources, path).and_then(|file| Ok((file, format(sources, file)?))) {
                Ok((file, text)) if text != sources.get(file).text => changed.push((file, text)),
                Ok(_) => {}
                Err(found) => errors.extend(found),
            }
        }
        // Every readable file is formatted, even if others have errors.
        let mut said = String::new();
        for (file, text) in &changed {
            if self.check {
                said += &diff(sources, *file, text);
            } else {
                write_file(&sources.get(*file).path, text)?;
                said += &format!("{}\n", sources.get(*file).path.display());
            }
        }
        write_result(None, &said)?;
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(ExitCode::from(u8::from(self.check && !changed.is_empty())))
    }
}

/// Returns the diff of formatting a text; empty if it is formatted already.
fn diff(sources: &Sources, file: FileId, text: &str) -> String {
    let source = sources.get(file);
    let path = source.path.display().to_string();
    let diff = TextDiff::from_lines(source.text.as_str(), text);
    diff.unified_diff().header(&path, &format!("{path}, formatted")).to_string()
}

fn standard_input(sources: &mut Sources) -> Checked<FileId> {
    let fail = |reason: String| vec![Diagnostic::global(format!("standard input: {reason}"))];
    let mut text = String::new();
    let limited = std::io::stdin().lock().take(TEXT_LIMIT + 1).read_to_string(&mut text);
    limited.map_err(|e| fail(e.to_string()))?;
    if text.len() as u64 > TEXT_LIMIT {
        return Err(fail(format!("is larger than {TEXT_LIMIT} bytes")));
    }
    Ok(sources.add("<stdin>", text))
}

/// Returns the files that a path covers, in the order of their paths.
fn find(path: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let (mut files, mut folders) = (Vec::new(), vec![path.to_owned()]);
    while let Some(folder) = folders.pop() {
        let fail = |e: std::io::Error| {
            Diagnostic::global(format!("cannot read `{}`: {e}", folder.display()))
        };
        for entry in std::fs::read_dir(&folder).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let path = entry.path();
            // A link to a folder is not followed, since it may form a cycle.
            let kind = entry.file_type().map_err(fail)?;
            let known = |path: &Path| {
                path.extension().is_some_and(|e| EXTENSIONS.iter().any(|known| e == *known))
            };
            if kind.is_dir() {
                folders.push(path);
            } else if known(&path) && path.is_file() {
                files.push(path);
            }
        }
    }
    if files.is_empty() {
        let kinds = EXTENSIONS.map(|e| format!("*.{e}")).join(", ");
        return Err(Diagnostic::global(format!("nothing to format in `{}`", path.display()))
            .with_help(format!("in a folder, {kinds} are formatted")));
    }
    files.sort();
    Ok(files)
}
