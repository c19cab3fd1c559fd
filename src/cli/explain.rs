//! The `explain` command's options, and the output of its result.

use super::ask::{Asked, term};
use super::output::{to_json, write_output, write_result};
use crate::html::{self, Page};
use clap::Args;
use ember_compile::pipeline;
use ember_engine::saturate::StopReason;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::text::Words;
use ember_tools::explain;
use ember_tools::explain::View;
use ember_tools::progress::Line;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `explain`.
#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// The model.
    #[arg(required_unless_present = "terms", conflicts_with = "terms")]
    model: Option<PathBuf>,
    /// Explains why two terms are equal instead: files, or texts in parentheses.
    #[arg(long, num_args = 2, value_names = ["TERM", "TERM"])]
    terms: Option<Vec<String>>,
    /// Give each step a line of its own, also push-downs of one kind and arithmetic.
    #[arg(long)]
    full: bool,
    /// Write the steps as a page for a browser, one file without references to others.
    #[arg(long, value_name = "FILE", conflicts_with = "terms")]
    html: Option<PathBuf>,
    #[command(flatten)]
    asked: Asked,
}

impl ExplainArgs {
    pub(super) fn run(&self, sources: &mut Sources, line: &Line) -> Checked<ExitCode> {
        match (&self.model, self.terms.as_deref()) {
            (_, Some([from, to])) => self.terms(sources, from, to),
            (Some(model), _) => self.model(sources, model, line),
            (None, _) => Err(vec![Diagnostic::global("no model is given")]),
        }
    }

    fn model(&self, sources: &mut Sources, model: &Path, line: &Line) -> Checked<ExitCode> {
        let options = self.asked.options();
        let inputs = pipeline::read(sources, model, &options)?;
        let explained = explain::explain(&inputs, &options, self.asked.statement, line)?;
        line.done();
        if let Some(path) = &self.html {
            let groups = explain::to_json(&inputs.book, &explained)["groups"].take();
            let model = model.display().to_string();
            write_output(path, html::page(&Page::Explain { model, groups }))?;
        }
        let text = match self.asked.json {
            true => to_json(&explain::to_json(&inputs.book, &explained)),
            false => {
                let view = View { book: &inputs.book, words: &inputs.words(), full: self.full };
                explain::print(&view, &explained)
            }
        };
        write_result(self.asked.output.as_deref(), &text)?;
        let told = explained.groups.iter().all(|group| group.chain.is_ok());
        Ok(if told { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }

    fn terms(&self, sources: &mut Sources, from: &str, to: &str) -> Checked<ExitCode> {
        let (book, compiled) = self.asked.book(sources)?;
        let (from, to) = (term(sources, &book, from)?, term(sources, &book, to)?);
        let plain = self.asked.plain(&book, &compiled)?;
        let (chain, stop) = explain::explain_terms(&plain, &from, &to);
        let text = match (&chain, self.asked.json) {
            (chain, true) => to_json(&json!({
                "equal": chain.is_ok(),
                "chain": chain.as_ref().ok().map(|chain| explain::chain_json(&book, chain, &[])),
                "stop_reason": stop.to_string(),
            })),
            (Ok(chain), false) => {
                let words = Words::new(&book.signature);
                let view = View { book: &book, words: &words, full: self.full };
                explain::print_terms(&view, chain)
            }
            (Err(ember_prove::chains::Gap::TooLong), false) => {
                "equal, by a chain too long to be written out\n".to_owned()
            }
            (Err(ember_prove::chains::Gap::NotEqual), false) => match stop {
                StopReason::Saturated => {
                    "not equal by these rules: they were applied until nothing changed\n".to_owned()
                }
                stop => format!("not found to be equal; the search was stopped: {stop}\n"),
            },
        };
        write_result(self.asked.output.as_deref(), &text)?;
        Ok(if chain.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}
