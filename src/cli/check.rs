//! The `check` command: reports all errors and warnings of rule files without running them.

use super::output::write_result;
use super::rule_paths::Subject;
use clap::Args;
use ember_language::diagnostic::{Checked, Diagnostic, Severity, Sources};
use ember_language::rules::{self, Check};
use ember_tools::render;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `check`.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    rules: Subject,
    /// A warning is as bad as an error.
    #[arg(long)]
    deny_warnings: bool,
    /// Print one JSON object: for each file, by its URI, a list of diagnostics of the language server
    /// protocol.
    #[arg(long)]
    json: bool,
    /// Write what is printed to a file.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl CheckArgs {
    pub(super) fn run(&self, sources: &mut Sources) -> Checked<ExitCode> {
        let is_own = self.rules.is_own(sources);
        let Check { book, mut diagnostics, mut files, .. } =
            rules::check(sources, &self.rules.all());
        files.retain(|file| is_own(sources, *file));
        diagnostics.retain(|found| {
            let at = found.at.as_ref().map(|(span, _)| span.file);
            found.severity == Severity::Error || at.is_none_or(|file| is_own(sources, file))
        });
        // A diagnostic without a position concerns a path that cannot be read.
        let (unread, diagnostics): (Vec<_>, Vec<_>) =
            diagnostics.into_iter().partition(|d| d.at.is_none());
        if !unread.is_empty() {
            return Err(unread.into_iter().chain(diagnostics).collect());
        }
        let count =
            |severity| diagnostics.iter().filter(|d: &&Diagnostic| d.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        if self.json {
            let json = render::to_lsp(sources, &files, &diagnostics);
            write_result(self.output.as_deref(), &format!("{json:#}\n"))?;
        } else {
            render::emit(sources, &diagnostics);
            let rules = book.map_or(String::new(), |book| {
                format!(
                    "{}, {}, {}, ",
                    number(book.rules.len(), "rule"),
                    number(book.signature.operators().len(), "operator"),
                    number(book.schedules.len(), "schedule")
                )
            });
            let text = format!(
                "{}: {rules}{}, {}\n",
                number(files.len(), "file"),
                number(errors, "error"),
                number(warnings, "warning")
            );
            write_result(self.output.as_deref(), &text)?;
        }
        let wrong = errors > 0 || (self.deny_warnings && warnings > 0);
        Ok(if wrong { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }
}

/// Formats a count with its noun in the singular or plural.
fn number(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
