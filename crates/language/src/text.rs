//! Program text for people: SCF, SLC and SLCV programs in which loops name their variables.
//!
//! A *word* is short for the term that its place needs, by the sorts that the dialects declare:
//!
//! ```text
//! (scf.for b 0 bags 1 S T)  a loop; `b` is its variable, and its body is S and then T
//! b                         in the loop, the variable itself, or the operator over it: (iv …), (slc.iv …)
//! bags, 7                   a size or number, or the operator that makes a stream or such of it
//! table                     the tensor: (in %table), (slc.in %table), …
//! (at table b e)            (at (at table b) e)
//! (scf.seq S T U)           (scf.seq S (scf.seq T U))
//! (vec v (var e 0 64 1) …)  a variable whose range is not that of its operator's bounds
//! ```
//!
//! `words` defines the meaning of words for both directions. `read` writes a text out in full, keeping the spans of the
//! original, and `write` is its inverse. Parts that are already written out in full remain unchanged. No operator is
//! known here: the dialects define each of them.

mod bounds;
mod names;
mod pieces;
mod read;
mod words;
mod write;

pub use names::Names;
pub use pieces::Text;
pub use read::{list, read, word, written_out};
pub use words::{Named, Words};
pub use write::{name, written};

use crate::term::Term;

/// Prints a program on lines of at most 100 columns, as far as single words allow. If a term's shared parts would make
/// millions of words, prints a comment with this reason.
pub fn program(term: &Term, words: &Words) -> String {
    written(term, words, &mut Names::default()).lines()
}

/// Prints a term on one line of at most `most` characters; parts that are too deep are shown as `…`.
pub fn line(term: &Term, words: &Words, most: usize) -> String {
    written(term, words, &mut Names::default()).line(most)
}
