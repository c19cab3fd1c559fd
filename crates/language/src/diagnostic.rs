//! Diagnostics: errors as values with spans, collected by every stage and rendered in one place.

use crate::codes::Code;
use ember_host::{Files, Memory};
use serde::Serialize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The texts that spans refer to, in the order of reading, and the files from which more texts are read. By default
/// there are no files, and every text is added by hand.
#[derive(Clone, Debug)]
pub struct Sources {
    texts: Vec<Source>,
    files: Arc<dyn Files>,
}

/// A text and its path.
#[derive(Clone, Debug)]
pub struct Source {
    /// The path as the user gave it, or a name in angle brackets for text of other origin.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// The id of a text in a [`Sources`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(u32);

impl Default for Sources {
    fn default() -> Sources {
        Sources::new(Memory::default())
    }
}

impl Sources {
    /// Creates an empty list of texts, to be read from these files.
    pub fn new(files: impl Files + 'static) -> Sources {
        Sources { texts: Vec::new(), files: Arc::new(files) }
    }

    /// Returns the files that texts are read from.
    pub fn files(&self) -> &Arc<dyn Files> {
        &self.files
    }

    /// Adds a text.
    pub fn add(&mut self, path: impl Into<PathBuf>, text: impl Into<String>) -> FileId {
        self.texts.push(Source { path: path.into(), text: text.into() });
        FileId(self.texts.len() as u32 - 1)
    }

    /// Returns the text with this path; the last one if there are several.
    pub fn find(&self, path: &Path) -> Option<FileId> {
        let at = self.texts.iter().rposition(|text| text.path == path)?;
        Some(FileId(at as u32))
    }

    /// Returns all texts, in the order in which they were added.
    pub fn texts(&self) -> &[Source] {
        &self.texts
    }

    /// Returns the text with this id.
    pub fn get(&self, id: FileId) -> &Source {
        &self.texts[id.0 as usize]
    }
}

/// A range of bytes in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The text.
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// Creates the span of a range of bytes.
    pub fn new(file: FileId, range: Range<usize>) -> Span {
        Span { file, start: range.start as u32, end: range.end as u32 }
    }

    /// Returns the range of bytes.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The input cannot be used.
    Error,
    /// The input can be used, but its meaning probably differs from its author's intention.
    Warning,
}

/// A problem in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its severity.
    pub severity: Severity,
    /// Its kind; only diagnostics of the rule language have one.
    pub code: Option<Code>,
    /// The problem, in one line without a full stop.
    pub message: String,
    /// The place, and a label printed beside the underlined text. `None` only for a text that could not be read at all.
    pub at: Option<(Span, String)>,
    /// Other relevant places, for example the first declaration of a name.
    pub related: Vec<(Span, String)>,
    /// A suggested correction.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Creates an error at a place. The label describes the text there or the reason why it is wrong.
    pub fn error(message: impl Into<String>, span: Span, label: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code: None,
            message: message.into(),
            at: Some((span, label.into())),
            related: Vec::new(),
            help: None,
        }
    }

    /// Creates an error of a whole file (unreadable, not UTF-8) or of the command line.
    pub fn global(message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code: None,
            message: message.into(),
            at: None,
            related: Vec::new(),
            help: None,
        }
    }

    /// Turns the diagnostic into a warning.
    pub fn warning(mut self) -> Diagnostic {
        self.severity = Severity::Warning;
        self
    }

    /// Sets the kind.
    pub fn with_code(mut self, code: Code) -> Diagnostic {
        self.code = Some(code);
        self
    }

    /// Adds another relevant place.
    pub fn with_related(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.related.push((span, label.into()));
        self
    }

    /// Sets the suggested correction.
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }
}

/// The result of a stage that reports all its errors at once.
pub type Checked<T> = Result<T, Vec<Diagnostic>>;
