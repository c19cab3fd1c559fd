//! Formatting: rule files, models, cases, terms and programs, any S-expressions, laid out in one way.
//!
//! An author says what belongs on one line by writing it there; indentation, spaces, blank lines and what
//! does not fit are decided here. Comments, texts and words stay as they are, in their order. What is
//! formatted once does not change again.

mod columns;
mod layout;
#[cfg(test)]
mod tests;
mod tree;

use crate::diagnostic::{Checked, FileId, Sources};
use crate::sexp;
use columns::Page;
use layout::Layout;
use pretty::Arena;

/// The width that lines are broken at.
pub const WIDTH: usize = 100;

/// The width of a row of a table: of a form among others of its kind, each on a line.
pub const TABLE_WIDTH: usize = 132;

/// A text, formatted. One that cannot be read is an error.
pub fn format(sources: &Sources, file: FileId) -> Checked<String> {
    sexp::read(sources, file)?;
    let (tokens, list) = tree::read(&sources.get(file).text);
    let arena = Arena::new();
    let layout = Layout { arena: &arena, tokens: &tokens };
    let mut page = Page::new(&tokens);
    // What is written to is memory, so that nothing can fail.
    let _ = layout.file(&list).render_raw(WIDTH, &mut page);
    Ok(page.finish())
}
