//! The `import` command: a program of a framework as a model with its weights.

use super::output::write_output;
use crate::shipped;
use clap::Args;
use ember_compile::models;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::rules::{self, Definitions};
use ember_language::suggest;
use ember_model::Model;
use ember_model::data::TensorFile;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `import`.
#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// The program: a .pt2 file, a frozen graph (.pb), or StableHLO text (.mlir).
    file: PathBuf,
    /// The folder that NAME.sexp and NAME.safetensors are written into; it is made if there is none.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

impl ImportArgs {
    pub(super) fn run(&self, sources: &mut Sources) -> Checked<ExitCode> {
        let fail = |message: String| vec![Diagnostic::global(message)];
        if !ember_import::is_import(&self.file) {
            let endings = ember_import::ENDINGS.iter().map(|ending| format!(".{ending}"));
            let endings: Vec<String> = endings.collect();
            let known = suggest::list(endings.iter().map(String::as_str));
            let error = Diagnostic::global(format!("{}: not a program", self.file.display()));
            return Err(vec![error.with_help(format!("a program ends in {known}"))]);
        }
        let imported = models::imported(sources, &self.file)?;
        // What is written must read back.
        let definitions = rules::load(sources, &[shipped::rules()])
            .map_or_else(|_| Definitions::default(), |(book, _)| book.definitions.clone());
        let text = sources.add(&self.file, imported.text.clone());
        Model::parse_with(sources, text, &definitions)?;
        std::fs::create_dir_all(&self.output)
            .map_err(|e| fail(format!("{}: cannot be made: {e}", self.output.display())))?;
        let name = &imported.name;
        write_output(&self.output.join(format!("{name}.sexp")), &imported.text)?;
        if !imported.weights.is_empty() {
            let path = self.output.join(format!("{name}.safetensors"));
            let file: TensorFile = path
                .display()
                .to_string()
                .parse()
                .map_err(|e| fail(format!("{}: {e}", path.display())))?;
            let content = file.content(&imported.weights);
            let content = content.map_err(|e| fail(format!("{}: {e}", path.display())))?;
            write_output(&path, content)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
