//! The lexer: text to tokens with their places, comments included. It knows nothing of the syntax above tokens.
//!
//! Both readers use it: `sexp` drops the comments, `fmt` keeps them.

use std::ops::Range;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// `(`
    Open,
    /// `)`
    Close,
    /// A text in double quotes.
    Text {
        /// True if it ends with a quote; otherwise it is taken to end with its line.
        closed: bool,
    },
    /// A word: everything else up to white space, a parenthesis, a quote or a comment.
    Word,
    /// From `;` to the end of the line.
    Comment,
}

/// A token and its place, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// Its place.
    pub range: Range<usize>,
}

/// Returns the tokens of a text, in order. Only white space separates them.
pub fn tokens(text: &str) -> impl Iterator<Item = Token> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        let start = at;
        let kind = match bytes.get(at)? {
            b'(' => TokenKind::Open,
            b')' => TokenKind::Close,
            b'"' => {
                let (end, closed) = text_end(bytes, start);
                at = end;
                return Some(Token { kind: TokenKind::Text { closed }, range: start..end });
            }
            b';' => {
                at = line_end(bytes, start);
                return Some(Token { kind: TokenKind::Comment, range: start..at });
            }
            _ => {
                let length = bytes[at..].iter().position(|b| is_delimiter(*b));
                at = length.map_or(bytes.len(), |n| start + n);
                return Some(Token { kind: TokenKind::Word, range: start..at });
            }
        };
        at += 1;
        Some(Token { kind, range: start..at })
    })
}

/// Returns true if a byte ends a word.
fn is_delimiter(b: u8) -> bool {
    b.is_ascii_whitespace() || matches!(b, b'(' | b')' | b'"' | b';')
}

/// Returns the end of the line that contains a byte.
fn line_end(bytes: &[u8], start: usize) -> usize {
    bytes[start..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| start + n)
}

/// Returns the end of the text that starts at a quote, and true if a quote ends it.
fn text_end(bytes: &[u8], start: usize) -> (usize, bool) {
    let mut at = start + 1;
    while let Some(b) = bytes.get(at) {
        match b {
            b'"' => return (at + 1, true),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    (line_end(bytes, start), false)
}
