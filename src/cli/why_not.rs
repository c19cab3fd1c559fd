//! The `why-not` command's options, and the output of its answer.

use super::ask::{Asked, term};
use super::output::{to_json, write_result};
use clap::Args;
use ember_compile::pipeline;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_tools::progress::Line;
use ember_tools::why_not;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `why-not`.
#[derive(Debug, Args)]
pub(super) struct WhyNotArgs {
    /// The rule; the backward direction of a `<=>` rule is called NAME-rev.
    rule: String,
    /// The model.
    #[arg(required_unless_present = "term", conflicts_with = "term")]
    model: Option<PathBuf>,
    /// Asks of a term instead, a file or a text in parentheses; may be given again.
    #[arg(long, value_name = "TERM")]
    term: Vec<String>,
    #[command(flatten)]
    asked: Asked,
}

impl WhyNotArgs {
    pub(super) fn run(&self, sources: &mut Sources, line: &Line) -> Checked<ExitCode> {
        let answer = match &self.model {
            Some(model) => {
                let options = self.asked.options();
                let inputs = pipeline::read(sources, model, &options)?;
                let statement = self.asked.statement;
                let answer = why_not::why_not(&inputs, &options, &self.rule, statement, line)?;
                line.done();
                answer
            }
            None if self.term.is_empty() => {
                return Err(vec![Diagnostic::global("no model is given")]);
            }
            None => {
                let (book, compiled) = self.asked.book(sources)?;
                let terms = self.term.iter().map(|word| term(sources, &book, word));
                let terms = terms.collect::<Checked<Vec<_>>>()?;
                let plain = self.asked.plain(&book, &compiled)?;
                why_not::why_not_terms(&plain, &self.rule, &terms)?
            }
        };
        let text = match self.asked.json {
            true => to_json(&why_not::to_json(&answer)),
            false => why_not::print(&answer),
        };
        write_result(self.asked.output.as_deref(), &text)?;
        Ok(if answer.cause.is_none() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}
