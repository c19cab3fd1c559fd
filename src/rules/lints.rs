//! Warnings that only `check` looks for.

use super::book::RuleBook;
use crate::diagnostic::Diagnostic;

/// What is odd about the rules of a book.
pub(super) fn lints(_book: &RuleBook) -> Vec<Diagnostic> {
    Vec::new()
}
