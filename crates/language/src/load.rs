//! Loads a text into the sources, or reports why it cannot be read.

use crate::diagnostic::{Checked, Diagnostic, FileId, Sources};
use std::path::Path;

/// The largest text that is read, in bytes.
pub const TEXT_LIMIT: u64 = 64 << 20;

/// Reads a text and adds it to the sources, unless they already contain the text of that path: an editor's unsaved text
/// takes precedence over the disk. The following are errors: a missing or unreadable file, a file that is not regular,
/// a file above [`TEXT_LIMIT`] and a file that is not UTF-8.
pub fn load(sources: &mut Sources, path: &Path) -> Checked<FileId> {
    if let Some(held) = sources.find(path) {
        return Ok(held);
    }
    let fail = |reason: String| vec![Diagnostic::global(format!("{}: {reason}", path.display()))];
    let bytes = sources.files().read(path, TEXT_LIMIT).map_err(|e| fail(e.to_string()))?;
    match String::from_utf8(bytes) {
        // Some editors mark text as UTF-8 by a byte-order mark, which says nothing else.
        Ok(text) => Ok(sources.add(path, text.trim_start_matches('\u{feff}').to_owned())),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let line = 1 + error.as_bytes()[..at].iter().filter(|b| **b == b'\n').count();
            let mut errors = fail(format!("not UTF-8 text, at byte {at} (line {line})"));
            errors.iter_mut().for_each(|e| e.help = Some("save the file as UTF-8".to_owned()));
            Err(errors)
        }
    }
}
