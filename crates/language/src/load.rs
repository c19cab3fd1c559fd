//! Reading files: a text into the sources, bytes for data, and what to say when that fails.

use crate::diagnostic::{Checked, Diagnostic, FileId, Sources};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use thiserror::Error;

/// The largest text that is read, in bytes.
pub const TEXT_LIMIT: u64 = 64 << 20;

/// Reads a text and adds it to the sources, unless they hold the text of that path already: what an
/// editor holds unsaved comes before what is on disk. A missing or unreadable file, one that is no regular
/// file, one above [`TEXT_LIMIT`] and one that is not UTF-8 are errors.
pub fn load(sources: &mut Sources, path: &Path) -> Checked<FileId> {
    if let Some(held) = sources.find(path) {
        return Ok(held);
    }
    let fail =
        |reason: &dyn Display| vec![Diagnostic::global(format!("{}: {reason}", path.display()))];
    let bytes = read_bytes(path, TEXT_LIMIT).map_err(|e| fail(&e))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(sources.add(path, text)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let line = 1 + error.as_bytes()[..at].iter().filter(|b| **b == b'\n').count();
            let mut errors = fail(&format_args!("not UTF-8 text, at byte {at} (line {line})"));
            errors.iter_mut().for_each(|e| e.help = Some("save the file as UTF-8".to_owned()));
            Err(errors)
        }
    }
}

/// The bytes of a regular file of at most `limit` bytes; otherwise why there are none.
pub fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>, LoadError> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    let length = file.metadata().map_err(LoadError::of)?.len();
    if length <= limit {
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(LoadError::of)?;
    }
    if length > limit || bytes.len() as u64 > limit {
        return Err(LoadError::TooLarge(limit));
    }
    Ok(bytes)
}

/// Opens a regular file; otherwise why not.
pub fn open(path: &Path) -> Result<File, LoadError> {
    let meta = std::fs::metadata(path).map_err(LoadError::of)?;
    if meta.is_dir() {
        return Err(LoadError::Directory);
    }
    // A pipe or device may never end, so only regular files are opened.
    if !meta.is_file() {
        return Err(LoadError::NotRegular);
    }
    File::open(path).map_err(LoadError::of)
}

/// Why a file could not be read, in the same words on every system where the reason is common.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum LoadError {
    #[error("no such file")]
    NotFound,
    #[error("no permission to read it")]
    NoPermission,
    #[error("is a directory, not a file")]
    Directory,
    #[error("is not a regular file")]
    NotRegular,
    #[error("is larger than {0} bytes")]
    TooLarge(u64),
    #[error(transparent)]
    Other(io::Error),
}

impl LoadError {
    fn of(error: io::Error) -> LoadError {
        match error.kind() {
            ErrorKind::NotFound => LoadError::NotFound,
            ErrorKind::PermissionDenied => LoadError::NoPermission,
            _ => LoadError::Other(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn message(path: &Path) -> String {
        load(&mut Sources::default(), path).expect_err("no text")[0].message.clone()
    }

    #[test]
    fn says_why_a_file_is_not_read() {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        assert!(message(&root.join("no-such.sexp")).ends_with("no such file"));
        assert!(message(&root.join("src")).ends_with("is a directory, not a file"));
        let limited = read_bytes(&root.join("Cargo.toml"), 3);
        assert!(matches!(limited, Err(LoadError::TooLarge(3))));
    }
}
