//! Files of results that grow by one line of JSON each: the first line says what they are results of. A line that an
//! interruption cut off does not count.

use ember_language::diagnostic::{Checked, Diagnostic};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The largest file that is read, in bytes.
const LARGEST: u64 = 256 << 20;

/// A file of results that no other process writes meanwhile.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
}

/// The first line of a journal.
pub(crate) trait Identity: DeserializeOwned + Serialize {
    /// The results that such a file holds, with their article or owner.
    const WHAT: &'static str;

    /// Returns the part in which two differ.
    fn other(&self, other: &Self) -> Option<&'static str>;
}

impl Journal {
    /// Opens a file, and returns the lines of results that it holds. It may be new, or hold results of the same identity;
    /// others do not count if it is restarted.
    ///
    /// # Errors
    ///
    /// Fails if the file holds something else, or cannot be written.
    pub fn open<I: Identity>(
        path: &Path,
        identity: &I,
        restart: bool,
    ) -> Checked<(Journal, Vec<String>)> {
        let failed = |error: std::io::Error| vec![error_of(path, error)];
        let options =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = options.map_err(failed)?;
        alone(&file).map_err(failed)?;
        let mut text = String::new();
        let read = Read::by_ref(&mut file).take(LARGEST).read_to_string(&mut text);
        if read.is_err_and(|error| error.kind() != ErrorKind::InvalidData) {
            return Err(vec![error_of(path, "cannot be read")]);
        }
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[..whole].lines();
        let foreign = || vec![error_of(path, format!("is no file of {} results", I::WHAT))];
        let first: Option<I> = match lines.next() {
            Some(line) => Some(serde_json::from_str(line).map_err(|_| foreign())?),
            None if !text.is_empty() && !is_start(&text, identity) => return Err(foreign()),
            None if file.metadata().map_err(failed)?.len() > text.len() as u64 => {
                return Err(foreign());
            }
            None => None,
        };
        let other = first.as_ref().and_then(|first| identity.other(first));
        if let Some(what) = other.filter(|_| !restart) {
            let error = error_of(path, format!("holds results of {what}"));
            return Err(vec![
                error.with_help("`--restart` begins anew, or `-o` names another file"),
            ]);
        }
        let mut journal = Journal { path: path.to_owned(), file };
        if first.is_none() || restart {
            journal.cut(0).map_err(failed)?;
            journal.append(identity)?;
            return Ok((journal, Vec::new()));
        }
        journal.cut(whole as u64).map_err(failed)?;
        Ok((journal, lines.map(str::to_owned).collect()))
    }

    /// Appends a line, which is on the disk when this returns.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn append(&mut self, line: &impl Serialize) -> Checked<()> {
        // The line is plain data with string keys, so serialising it cannot fail.
        let line = serde_json::to_string(line).unwrap_or_default() + "\n";
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|error| vec![error_of(&self.path, format!("cannot write: {error}"))])
    }

    /// Ends the file at a place, and continues there.
    fn cut(&mut self, length: u64) -> std::io::Result<()> {
        self.file.set_len(length)?;
        self.file.seek(SeekFrom::Start(length)).map(|_| ())
    }
}

/// Returns true if a text is the start of a first line, which an interruption cut off.
fn is_start(text: &str, identity: &impl Serialize) -> bool {
    serde_json::to_string(identity).is_ok_and(|line| line.starts_with(text))
}

/// Returns an error of a file.
pub(crate) fn error_of(path: &Path, message: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::global(format!("{}: {message}", path.display()))
}

/// Fails if another process writes the file.
#[cfg(unix)]
fn alone(file: &File) -> std::io::Result<()> {
    use rustix::fs::{FlockOperation, flock};
    flock(file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| std::io::Error::other("another process writes it"))
}

#[cfg(not(unix))]
fn alone(_: &File) -> std::io::Result<()> {
    Ok(())
}
