//! The formatter: one layout for rule files, models, cases, terms, programs and all other S-expressions.
//!
//! The author keeps items on one line by writing them there. The formatter decides indentation, spaces, blank lines and
//! the breaking of long lines. Comments, texts and words remain unchanged, in their order. Formatting is idempotent.

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

/// The width at which lines are broken.
pub const WIDTH: usize = 100;

/// The width of a table row: a form among others of its kind, each on one line.
pub const TABLE_WIDTH: usize = 132;

/// Formats a text. A text that cannot be read is an error.
pub fn format(sources: &Sources, file: FileId) -> Checked<String> {
    sexp::read(sources, file)?;
    let (tokens, list) = tree::read(&sources.get(file).text);
    let arena = Arena::new();
    let layout = Layout { arena: &arena, tokens: &tokens };
    let mut page = Page::new(&tokens);
    // The output is memory, so rendering cannot fail.
    let _ = layout.file(&list).render_raw(WIDTH, &mut page);
    Ok(page.finish())
}
