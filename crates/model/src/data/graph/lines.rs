//! A reader of the lines of a large text: one at a time, numbered, and of bounded length.

use super::Problem;
use ember_host::Files;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// The maximum length of a line in bytes; none of the formats needs a tenth of it.
const LONGEST: u64 = 4096;

/// A stream of lines.
pub(super) struct Lines<R> {
    reader: R,
    line: String,
    number: u64,
}

impl Lines<BufReader<Box<dyn Read>>> {
    /// Opens a regular file.
    pub(super) fn open(files: &dyn Files, path: &Path) -> Result<Self, Problem> {
        let file = files.open(path).map_err(|error| Problem::new(error.to_string()))?;
        Ok(Lines::new(BufReader::with_capacity(1 << 16, file.bytes)))
    }
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Lines<R> {
        Lines { reader, line: String::new(), number: 0 }
    }

    /// Reads the next line, without surrounding white space; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<&str>, Problem> {
        self.line.clear();
        self.number += 1;
        let read = self.reader.by_ref().take(LONGEST).read_line(&mut self.line);
        match read {
            Ok(0) => Ok(None),
            Ok(n) if n as u64 == LONGEST && !self.line.ends_with('\n') => {
                Err(self.problem(format!("longer than {LONGEST} bytes")))
            }
            Ok(_) => Ok(Some(self.line.trim())),
            Err(e) if e.kind() == std::io::ErrorKind::InvalidData => {
                Err(self.problem("not text".to_owned()))
            }
            Err(e) => Err(Problem::new(e.to_string())),
        }
    }

    /// Returns an error about the line that was read last.
    pub(super) fn problem(&self, what: String) -> Problem {
        Problem::new(format!("line {}: {what}", self.number))
    }

    /// Formats a word of the line for a message: shortened, and without characters that do not print.
    pub(super) fn show(word: &str) -> String {
        let short: String = word.chars().take(20).collect();
        format!("`{}`", short.escape_debug())
    }
}
