//! The `lsp` command: the language server on standard input and output.

use crate::shipped;
use clap::Args;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_tools::lsp;
use std::io::{BufReader, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `lsp`.
#[derive(Debug, Args)]
pub(super) struct LspArgs {
    /// A folder of rule files, one rule file, or `default` for the rules that come with the program, that every
    /// file is checked with [default: the folder that the file is in]; may be given again.
    #[arg(long, value_name = "PATH")]
    rules: Vec<PathBuf>,
    /// Accepted because editors pass it; the server uses no other streams.
    #[arg(long, hide = true)]
    stdio: bool,
}

impl LspArgs {
    pub(super) fn run(&self) -> Checked<ExitCode> {
        let default = shipped::on_disk();
        let resolved = |path: &PathBuf| match &default {
            Some(default) if path == Path::new(shipped::DEFAULT) => default.clone(),
            _ => path.clone(),
        };
        let rules = self.rules.iter().map(resolved).collect();
        let (input, output) = (BufReader::new(stdin()), &mut stdout().lock());
        let served = lsp::serve(input, output, rules, default.clone());
        match served {
            Ok(true) => Ok(ExitCode::SUCCESS),
            Ok(false) => Ok(ExitCode::from(1)),
            Err(error) => Err(vec![Diagnostic::global(format!("language server: {error}"))]),
        }
    }
}
