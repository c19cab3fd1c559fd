//! The `rules` command: prints derived rules, which no file contains, as text.

use super::output::write_result;
use super::rule_paths::RulePaths;
use crate::shipped;
use clap::{Args, Subcommand};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::rules;
use ember_prove::equiv;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The rules to print.
#[derive(Debug, Subcommand)]
pub(super) enum Which {
    /// The push-down rules that follow from what operators are: those that each `(derive …)` stands for.
    #[command(
        after_help = "Example:\n  ember-rewrite rules derived --rules rules/ > derived.rules\n\n\
                            Exit codes: 0 written, 2 bad input."
    )]
    Derived(DerivedArgs),
    /// The rules, machines and hand-written programs that come with the program, as files in a folder.
    #[command(after_help = "Example:\n  ember-rewrite rules export mine\n  \
                      ember-rewrite --rules mine/rules model.sexp\n\n\
                      Exit codes: 0 written, 2 the folder cannot be written or is not empty.")]
    Export(ExportArgs),
}

/// Options of `rules derived`.
#[derive(Debug, Args)]
pub(super) struct DerivedArgs {
    #[command(flatten)]
    rules: RulePaths,
}

/// Options of `rules export`.
#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// The folder, which is made; it must be empty if it is there.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Which {
    pub(super) fn run(&self, sources: &mut Sources) -> Checked<ExitCode> {
        let text = match self {
            Which::Derived(args) => {
                let paths = equiv::rule_paths(sources.files().as_ref(), &args.rules.rules);
                rules::derived(sources, &paths)?
            }
            Which::Export(args) => export(&args.folder)?,
        };
        write_result(None, &text).map(|()| ExitCode::SUCCESS)
    }
}

/// Writes every shipped file into a folder, and says what was written.
fn export(folder: &Path) -> Checked<String> {
    let failed = |path: &Path, error: std::io::Error| {
        vec![Diagnostic::global(format!("cannot write `{}`: {error}", path.display()))]
    };
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let mut entries = fs::read_dir(folder).map_err(|error| failed(folder, error))?;
    if entries.next().is_some() {
        let error = Diagnostic::global(format!("the folder `{}` is not empty", folder.display()));
        return Err(vec![error.with_help("name a new folder: no file is written over")]);
    }
    let count = shipped::write_to(folder).map_err(|(path, error)| failed(&path, error))?;
    let rules = folder.join("rules");
    Ok(format!("wrote {count} files; `--rules {}` takes the rules from there\n", rules.display()))
}
