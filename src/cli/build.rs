//! The `build` command: a model as a shared library for this machine.

use super::common::{Exact, MOST_THREADS, NATIVE};
use super::output::write_output;
use super::rule_paths::RulePaths;
use super::settings::Set;
use crate::native;
use clap::Args;
use ember_compile::pipeline::{self, Options};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_targets::machine::HERE;
use ember_tools::render;
use std::path::PathBuf;
use std::process::ExitCode;

/// The options of the command.
#[derive(Debug, Args)]
pub(super) struct BuildArgs {
    #[command(flatten)]
    rules: RulePaths,
    /// The schedule of the program.
    #[arg(long, value_name = "NAME", default_value = NATIVE)]
    schedule: String,
    /// The least exact rules that may run.
    #[arg(long, value_enum, default_value_t = Exact::Bitwise)]
    exact: Exact,
    /// The threads that share the rows of loops.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MOST_THREADS))]
    threads: u32,
    #[command(flatten)]
    set: Set,
    /// The library. The header gets the same name with the ending `.h`.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The model.
    model: PathBuf,
}

impl BuildArgs {
    /// Runs the command.
    pub fn run(&self, sources: &mut Sources) -> Checked<ExitCode> {
        let options = Options {
            rules: self.rules.rules.clone(),
            target: HERE.to_owned(),
            schedule: self.schedule.clone(),
            exact: self.exact.into(),
            threads: self.threads,
            settings: self.set.settings(),
            ..Options::default()
        };
        let header = self.output.with_extension("h");
        if header == self.output {
            let error = Diagnostic::global("the library has the name of its header");
            return Err(vec![error.with_help("let its name end in `.so`")]);
        }
        let mut inputs = pipeline::read(sources, &self.model, &options)?;
        render::emit(sources, &inputs.warnings);
        native::complete(&mut inputs.machine)?;
        let source = native::build(&inputs, &options, &self.output)?;
        write_output(&header, source.header)?;
        Ok(ExitCode::SUCCESS)
    }
}
