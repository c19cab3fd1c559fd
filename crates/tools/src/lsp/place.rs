//! Converts places: bytes of a text and positions of the protocol (lines, and characters in units of UTF-16); paths and
//! their URIs.

use lsp_types::{Position, Range};
use std::ops;
use std::path::PathBuf;

/// The starts of the lines of a text.
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub fn new(text: &'t str) -> Lines<'t> {
        let behind = text.match_indices('\n').map(|(at, _)| at + 1);
        Lines { text, starts: std::iter::once(0).chain(behind).collect() }
    }

    /// Returns the position of a byte.
    pub fn position(&self, at: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= at) - 1;
        let before = self.text.get(self.starts[line]..at).unwrap_or_default();
        Position::new(line as u32, before.encode_utf16().count() as u32)
    }

    pub fn range(&self, range: ops::Range<usize>) -> Range {
        Range::new(self.position(range.start), self.position(range.end))
    }

    /// Returns the byte at a position. A position beyond its line gives the end of the line, and a position beyond the
    /// text gives the end of the text.
    pub fn byte(&self, position: Position) -> usize {
        let Some(&start) = self.starts.get(position.line as usize) else { return self.text.len() };
        let end = self.starts.get(position.line as usize + 1).map_or(self.text.len(), |n| n - 1);
        let mut left = position.character as usize;
        for (at, c) in self.text[start..end].char_indices() {
            if left < c.len_utf16() {
                return start + at;
            }
            left -= c.len_utf16();
        }
        end
    }

    /// Returns the range of the whole text.
    pub fn whole(&self) -> Range {
        self.range(0..self.text.len())
    }
}

/// Returns the path of a `file` URI.
pub(super) fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let mut bytes = Vec::with_capacity(rest.len());
    let mut left = rest.as_bytes();
    while let [first, others @ ..] = left {
        left = others;
        let escaped = || std::str::from_utf8(others.get(..2)?).ok();
        match (first, escaped().and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                left = &others[2..];
            }
            (b'?' | b'#', _) => break,
            (byte, _) => bytes.push(*byte),
        }
    }
    let path = PathBuf::from(String::from_utf8(bytes).ok()?);
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_units_of_utf_16() {
        let text = "a𝄞b\né\n";
        let lines = Lines::new(text);
        for (at, line, character) in
            [(0, 0, 0), (1, 0, 1), (5, 0, 3), (7, 1, 0), (9, 1, 1), (10, 2, 0)]
        {
            assert_eq!(lines.position(at), Position::new(line, character), "{at}");
            assert_eq!(lines.byte(Position::new(line, character)), at);
        }
        // The positions are within a character, after a line and after the text.
        assert_eq!(lines.byte(Position::new(0, 2)), 1);
        assert_eq!(lines.byte(Position::new(0, 99)), 6);
        assert_eq!(lines.byte(Position::new(9, 9)), text.len());
    }

    #[test]
    fn paths_come_from_uris() {
        assert_eq!(path("file:///a%20b/%C3%A9.rules"), Some("/a b/é.rules".into()));
        assert_eq!(path("file://localhost/a"), Some("/a".into()));
        assert_eq!(path("file:///a%2"), Some("/a%2".into()));
        assert_eq!(path("untitled:Untitled-1"), None);
        assert_eq!(path("file:///%FF"), None);
    }
}
