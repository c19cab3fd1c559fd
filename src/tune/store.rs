//! The file of a tuning's results: a line of JSON that says what is tuned, and one for each evaluation, written when it
//! is done. A line that an interruption cut off does not count.

use ember_language::diagnostic::{Checked, Diagnostic};
use ember_tune::{Evaluation, Method, Point, Space};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The version of the lines. It grows by one when a member is removed or renamed, or changes its meaning.
const VERSION: u32 = 1;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 256 << 20;

/// What is tuned, and how: results of another tuning are not continued.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The version of the lines.
    #[serde(rename = "tuning")]
    version: u32,
    /// A digest of the space.
    space: String,
    /// What evaluates a point.
    command: String,
    /// The method by its name.
    method: String,
    seed: u64,
}

impl Identity {
    /// Creates the identity of a tuning.
    pub fn new(space: &str, command: &str, method: Method, seed: u64) -> Identity {
        let digest = siphasher::sip128::SipHasher13::new().hash(space.as_bytes());
        let space = format!("{:016x}{:016x}", digest.h1, digest.h2);
        let method = format!("{method:?}").to_lowercase();
        Identity { version: VERSION, space, command: command.to_owned(), method, seed }
    }

    /// Returns the part in which two differ.
    fn other(&self, other: &Identity) -> Option<&'static str> {
        let parts = [
            (self.version == other.version, "another version"),
            (self.space == other.space, "another space"),
            (self.command == other.command, "another command"),
            (self.method == other.method, "another method"),
            (self.seed == other.seed, "another seed"),
        ];
        parts.into_iter().find(|(same, _)| !same).map(|(_, what)| what)
    }
}

/// A line of an evaluation.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Line {
    point: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// The evaluations that are stored so far, and the file that holds them.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: File,
    /// The points with their results.
    pub history: Vec<Evaluation>,
    /// The reasons of points without a result, by evaluation.
    pub reasons: Vec<Option<String>>,
}

impl Store {
    /// Opens a file, which may hold evaluations of the same tuning; others do not count if it is restarted.
    ///
    /// # Errors
    ///
    /// Fails if the file holds something else, or cannot be written.
    pub fn open(path: &Path, identity: &Identity, space: &Space, restart: bool) -> Checked<Store> {
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
        let foreign = "is no file of a tuning's results";
        let first = match lines.next() {
            Some(line) => {
                Some(serde_json::from_str(line).map_err(|_| vec![error_of(path, foreign)])?)
            }
            None if !text.is_empty() && !is_start(&text, identity) => {
                return Err(vec![error_of(path, foreign)]);
            }
            None if file.metadata().map_err(failed)?.len() > text.len() as u64 => {
                return Err(vec![error_of(path, foreign)]);
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
        let mut store = Store { path: path.to_owned(), file, history: vec![], reasons: vec![] };
        if first.is_none() || restart {
            store.cut(0).map_err(failed)?;
            store.append(identity)?;
            return Ok(store);
        }
        for (number, line) in lines.enumerate() {
            let read = serde_json::from_str::<Line>(line).ok();
            let known =
                read.and_then(|line| Some((space.point(&line.point)?, line.value, line.reason)));
            let Some((point, value, reason)) = known else {
                let message = format!("line {} is no evaluation of this space", number + 2);
                return Err(vec![error_of(path, message)]);
            };
            store.history.push(Evaluation { point, value });
            store.reasons.push(reason);
        }
        store.cut(whole as u64).map_err(failed)?;
        Ok(store)
    }

    /// Stores the outcome of an evaluation.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn put(
        &mut self,
        space: &Space,
        point: Point,
        outcome: Result<f64, String>,
    ) -> Checked<()> {
        let (value, reason) = match outcome {
            Ok(value) => (Some(value), None),
            Err(reason) => (None, Some(reason)),
        };
        self.append(&Line { point: space.write(&point), value, reason: reason.clone() })?;
        self.history.push(Evaluation { point, value });
        self.reasons.push(reason);
        Ok(())
    }

    /// Ends the file at a place, and continues there.
    fn cut(&mut self, length: u64) -> std::io::Result<()> {
        self.file.set_len(length)?;
        self.file.seek(SeekFrom::Start(length)).map(|_| ())
    }

    fn append(&mut self, line: &impl Serialize) -> Checked<()> {
        // The line is plain data with string keys, so serialising it cannot fail.
        let line = serde_json::to_string(line).unwrap_or_default() + "\n";
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|error| vec![error_of(&self.path, format!("cannot write: {error}"))])
    }
}

/// Returns true if a text is the start of a first line, which an interruption cut off.
fn is_start(text: &str, identity: &Identity) -> bool {
    serde_json::to_string(identity).is_ok_and(|line| line.starts_with(text))
}

fn error_of(path: &Path, message: impl std::fmt::Display) -> Diagnostic {
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
