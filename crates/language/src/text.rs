//! Program text for people: SCF, SLC and SLCV programs in which loops name their variables.
//!
//! A *word* stands for what its place needs, by the sorts that the dialects declare:
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
//! `words` says what a word stands for, once for both directions; `read` writes text out in full, with the
//! spans of the text, and `write` is its inverse. What is written out in full already is left as it is.
//! Nothing here knows an operator: the dialects say what each is.

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

/// A program on lines of at most 100 columns, where single words allow it. A term whose shared parts would
/// make millions of words gives a comment that says so.
pub fn program(term: &Term, words: &Words) -> String {
    written(term, words, &mut Names::default()).lines()
}

/// A term on one line of so many characters at most: parts that lie too deep are `…`.
pub fn line(term: &Term, words: &Words, most: usize) -> String {
    written(term, words, &mut Names::default()).line(most)
}
