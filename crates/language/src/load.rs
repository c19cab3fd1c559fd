//! Reading files: a text into the sources, bytes for data, and what to say when that fails.

use crate::diagnostic::{Checked, Diagnostic, FileId, Sources};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// The largest text that is read, in bytes.
pub const TEXT_LIMIT: u64 = 64 << 20;

/// Reads a text and adds it to the sources, unless they hold the text of that path already: what an
/// editor holds unsaved comes before what is on disk. A missing or unreadable file, one that is no regular
/// file, one above [`TEXT_LIMIT`] and one that is not UTF-8 are errors.
pub fn load(sources: &mut Sources, path: &Path) -> Checked<FileId> {
    if let Some(held) = sources.find(path) {
        return Ok(held);
    }
    let fail = |reason: String| vec![Diagnostic::global(format!("{}: {reason}", path.display()))];
    let bytes = read_bytes(path, TEXT_LIMIT).map_err(fail)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(sources.add(path, text)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let line = 1 + error.as_bytes()[..at].iter().filter(|b| **b == b'\n').count();
            let mut errors = fail(format!("not UTF-8 text, at byte {at} (line {line})"));
            errors.iter_mut().for_each(|e| e.help = Some("save the file as UTF-8".to_owned()));
            Err(errors)
        }
    }
}

/// The bytes of a regular file of at most `limit` bytes; otherwise why there are none.
pub fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    let length = file.metadata().map_err(|e| reason(&e))?.len();
    if length <= limit {
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| reason(&e))?;
    }
    if length > limit || bytes.len() as u64 > limit {
        return Err(format!("is larger than {limit} bytes"));
    }
    Ok(bytes)
}

/// Opens a regular file; otherwise why not.
pub fn open(path: &Path) -> Result<File, String> {
    let meta = std::fs::metadata(path).map_err(|e| reason(&e))?;
    if meta.is_dir() {
        return Err("is a directory, not a file".to_owned());
    }
    // A pipe or device may never end, so only regular files are opened.
    if !meta.is_file() {
        return Err("is not a regular file".to_owned());
    }
    File::open(path).map_err(|e| reason(&e))
}

/// Why a file could not be read, in the same words on every system where the reason is common.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file".to_owned(),
        ErrorKind::PermissionDenied => "no permission to read it".to_owned(),
        _ => error.to_string(),
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
        assert_eq!(limited, Err("is larger than 3 bytes".to_owned()));
    }
}
