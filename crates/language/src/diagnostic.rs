//! Diagnostics: errors as values with spans, collected by every stage and rendered in one place.

use crate::codes::Code;
use ember_host::{Files, Memory};
use serde::Serialize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The texts that spans point into, in the order in which they were read, and where more are read from: by
/// default there are no files, and every text is added by hand.
#[derive(Clone, Debug)]
pub struct Sources {
    texts: Vec<Source>,
    files: Arc<dyn Files>,
}

/// One text and the path it came from.
#[derive(Clone, Debug)]
pub struct Source {
    /// The path as the user gave it, or a name in angle brackets for text of other origin.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// A text in a [`Sources`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(u32);

impl Default for Sources {
    fn default() -> Sources {
        Sources::new(Memory::default())
    }
}

impl Sources {
    /// No texts yet, to be read from these files.
    pub fn new(files: impl Files + 'static) -> Sources {
        Sources { texts: Vec::new(), files: Arc::new(files) }
    }

    /// The files that texts are read from.
    pub fn files(&self) -> &Arc<dyn Files> {
        &self.files
    }

    /// Adds a text.
    pub fn add(&mut self, path: impl Into<PathBuf>, text: impl Into<String>) -> FileId {
        self.texts.push(Source { path: path.into(), text: text.into() });
        FileId(self.texts.len() as u32 - 1)
    }

    /// The text of a path that was added before, the last one if there are several.
    pub fn find(&self, path: &Path) -> Option<FileId> {
        let at = self.texts.iter().rposition(|text| text.path == path)?;
        Some(FileId(at as u32))
    }

    /// The text with this id.
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
    /// The span of a range of bytes.
    pub fn new(file: FileId, range: Range<usize>) -> Span {
        Span { file, start: range.start as u32, end: range.end as u32 }
    }

    /// The range of bytes.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// How bad a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The input cannot be used.
    Error,
    /// The input can be used, and probably says something else than was meant.
    Warning,
}

/// Something wrong with an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Its kind, which diagnostics of the rule language have.
    pub code: Option<Code>,
    /// What is wrong, in one line without a full stop.
    pub message: String,
    /// Where, and what stands there; the text is underlined and the label written beside it.
    /// `None` only for a text that could not be read at all.
    pub at: Option<(Span, String)>,
    /// Other places that matter (where a name was first declared, say).
    pub related: Vec<(Span, String)>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place. The label says what stands there or why it is wrong.
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

    /// An error of a file as a whole (unreadable, not UTF-8) or of the command line.
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

    /// The same as a warning.
    pub fn warning(mut self) -> Diagnostic {
        self.severity = Severity::Warning;
        self
    }

    /// With its kind.
    pub fn with_code(mut self, code: Code) -> Diagnostic {
        self.code = Some(code);
        self
    }

    /// With another place that matters.
    pub fn with_related(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.related.push((span, label.into()));
        self
    }

    /// With what to do about it.
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }
}

/// The result of a stage that reports all its errors at once.
pub type Checked<T> = Result<T, Vec<Diagnostic>>;
