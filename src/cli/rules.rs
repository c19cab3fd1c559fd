//! The `rules` command: prints derived rules, which no file contains, as text.

use super::write_result;
use clap::{Args, Subcommand};
use ember_host::Disk;
use ember_language::diagnostic::{Checked, Sources};
use ember_language::rules;
use ember_prove::equiv;
use std::path::PathBuf;
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
}

/// Options of `rules derived`.
#[derive(Debug, Args)]
pub(super) struct DerivedArgs {
    /// A folder of rule files with those of its folder `equiv`, or one rule file; may be given again.
    #[arg(long, value_name = "PATH", default_value = "rules")]
    rules: Vec<PathBuf>,
}

impl Which {
    pub(super) fn run(&self, sources: &mut Sources) -> Checked<ExitCode> {
        let Which::Derived(DerivedArgs { rules: paths }) = self;
        let text = rules::derived(sources, &equiv::rule_paths(&Disk, paths))?;
        write_result(None, &text).map(|()| ExitCode::SUCCESS)
    }
}
