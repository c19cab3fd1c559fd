//! The output of all commands: text and JSON, to standard output or to a file.

use crate::shipped;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_tools::render;
use serde::Serialize;
use serde_json::json;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// The version of the form of all JSON output. It grows by one when a member is removed or renamed, or changes its
/// meaning; a new member leaves it as it is.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// A result with the version of its form.
#[derive(Serialize)]
struct Versioned<'a, T> {
    schema_version: u32,
    #[serde(flatten)]
    result: &'a T,
}

/// Returns a result, which must be an object, as JSON.
pub(super) fn to_json(result: &impl Serialize) -> String {
    let result = Versioned { schema_version: SCHEMA_VERSION, result };
    // The value is plain data with string keys, so serialising it cannot fail.
    serde_json::to_string_pretty(&result).map(|text| text + "\n").unwrap_or_default()
}

/// Reports the errors that ended a command: on standard output if it was to be JSON, else on standard error.
pub(super) fn report(sources: &Sources, errors: &[Diagnostic], json: bool) {
    let written = match json {
        true => {
            let errors = json!({ "errors": render::to_json(sources, errors) });
            write_result(None, &to_json(&errors))
        }
        false => Err(errors.to_vec()),
    };
    if let Err(errors) = written {
        render::emit(sources, &errors);
    }
}

/// Writes the result of a command to a file, or else to standard output.
pub(super) fn write_result(output: Option<&Path>, text: &str) -> Checked<()> {
    match output {
        Some(path) => write_output(path, text),
        None => {
            let mut out = std::io::stdout().lock();
            match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
                // A reader that has seen enough closes the pipe, which is not an error.
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    Err(vec![Diagnostic::global(format!(
                        "cannot write to standard output: {error}"
                    ))])
                }
                _ => Ok(()),
            }
        }
    }
}

/// Writes what a command made to a file, which must be none of those that the command has read.
pub(super) fn write_output(path: &Path, content: impl AsRef<[u8]>) -> Checked<()> {
    if shipped::was_read(path) {
        let error = Diagnostic::global(format!("`{}` is an input of this command", path.display()));
        return Err(vec![error.with_help("name another file: an input is not written over")]);
    }
    write_file(path, content)
}

/// Writes a file.
pub(super) fn write_file(path: &Path, content: impl AsRef<[u8]>) -> Checked<()> {
    std::fs::write(path, content)
        .map_err(|e| vec![Diagnostic::global(format!("{}: cannot write: {e}", path.display()))])
}
