//! The `help` command: the options of a command, or the explanation of the report.

use super::output::write_result;
use super::schema;
use crate::report;
use clap::{Args, Command};
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::suggest;
use std::process::ExitCode;

/// The topic that is no command: the columns and units of the report.
const REPORT: &str = "report";

/// The topic that is no command: the JSON Schema of what `--json` prints.
const SCHEMA: &str = "schema";

/// Options of `help`.
#[derive(Debug, Args)]
pub(super) struct HelpArgs {
    /// A command, such as `run` or `gen bags`, `report` for the columns and units of the report, or `schema`
    /// for the JSON Schema of what `--json` prints.
    #[arg(value_name = "TOPIC")]
    topic: Vec<String>,
}

impl HelpArgs {
    /// Prints the help of a command below `command`, or of the report.
    pub(super) fn run(&self, mut command: Command) -> Checked<ExitCode> {
        command.build();
        let text = match self.topic.as_slice() {
            [topic] if topic == REPORT => report::HELP.to_owned(),
            [topic] if topic == SCHEMA => schema::text(),
            topic => named(&mut command, topic)?.render_long_help().to_string(),
        };
        write_result(None, &text).map(|()| ExitCode::SUCCESS)
    }
}

/// Returns the command of a name, word by word.
fn named<'a>(command: &'a mut Command, words: &[String]) -> Checked<&'a mut Command> {
    let mut at = command;
    for word in words {
        if at.find_subcommand(word).is_none() {
            let known = at.get_subcommands().map(Command::get_name).chain([REPORT, SCHEMA]);
            let error = Diagnostic::global(format!("there is no help on `{word}`"));
            return Err(vec![match suggest::help(word, known) {
                Some(help) => error.with_help(help),
                None => error.with_help("`ember-rewrite help` lists the commands"),
            }]);
        }
        // The command was found just before.
        at = at.find_subcommand_mut(word).ok_or_else(Vec::new)?;
    }
    Ok(at)
}
