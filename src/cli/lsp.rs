//! The `lsp` command: the language server on standard input and output.

use clap::Args;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_tools::lsp;
use std::io::{BufReader, stdin, stdout};
use std::process::ExitCode;

/// Options of `lsp`.
#[derive(Debug, Args)]
pub(super) struct LspArgs {
    /// Accepted because editors pass it; the server uses no other streams.
    #[arg(long, hide = true)]
    stdio: bool,
}

impl LspArgs {
    pub(super) fn run(&self) -> Checked<ExitCode> {
        let served = lsp::serve(&mut BufReader::new(stdin().lock()), &mut stdout().lock());
        match served {
            Ok(true) => Ok(ExitCode::SUCCESS),
            Ok(false) => Ok(ExitCode::from(1)),
            Err(error) => Err(vec![Diagnostic::global(format!("language server: {error}"))]),
        }
    }
}
