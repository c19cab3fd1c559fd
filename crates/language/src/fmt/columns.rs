//! Converts the laid-out document to text. Columns that the author aligned over several lines stay aligned. Line breaks
//! were decided earlier.

use super::TABLE_WIDTH;
use super::tree::Token;
use crate::lex::TokenKind;
use pretty::{Render, RenderAnnotated};
use std::fmt;
use unicode_width::UnicodeWidthStr;

/// The last column considered for alignment; it bounds the cost of the search.
const LAST_COLUMN: usize = 2 * TABLE_WIDTH;

/// The greatest number of rows without a token in a column between two rows that have one.
const NEAR: usize = 2;

/// A token in a line.
struct Placed {
    token: usize,
    /// Its start, in bytes of the line.
    at: usize,
    /// The number of spaces inserted before it.
    pad: usize,
}

/// A line of the result.
#[derive(Default)]
struct Line {
    text: String,
    tokens: Vec<Placed>,
    /// The number of its lists that are still open at its end, and true if a text continues on the next line.
    open: usize,
    within_text: bool,
}

/// A token to be aligned: its line, its index in the line, its column, and the line's width so far.
struct Place {
    row: usize,
    at: usize,
    column: usize,
    width: usize,
}

/// Collects the rendered output. A token's annotation causes its text to be written; the text that the layout wrote in
/// its place serves only to declare its width and is dropped.
pub(super) struct Page<'t> {
    tokens: &'t [Token<'t>],
    lines: Vec<Line>,
    in_token: bool,
}

impl<'t> Page<'t> {
    pub fn new(tokens: &'t [Token<'t>]) -> Page<'t> {
        Page { tokens, lines: vec![Line::default()], in_token: false }
    }

    fn line(&mut self) -> &mut Line {
        if self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        let last = self.lines.len() - 1;
        &mut self.lines[last]
    }

    /// Aligns the columns and returns the text.
    pub fn finish(mut self) -> String {
        self.align();
        let mut text = String::new();
        for line in &self.lines {
            let mut from = 0;
            for placed in line.tokens.iter().filter(|placed| placed.pad > 0) {
                text.push_str(&line.text[from..placed.at]);
                text.extend(std::iter::repeat_n(' ', placed.pad));
                from = placed.at;
            }
            text.push_str(&line.text[from..]);
            if !line.within_text {
                text.truncate(text.trim_end_matches(' ').len());
            }
            text.push('\n');
        }
        text.truncate(text.trim_end_matches('\n').len());
        text.push_str(if text.is_empty() { "" } else { "\n" });
        text
    }

    /// Pads tokens that started in one column of adjacent lines, if one of them follows a gap.
    fn align(&mut self) {
        let mut first = 0;
        while first < self.lines.len() {
            let mut end = first + 1;
            while end < self.lines.len() && self.follows(end) {
                end += 1;
            }
            self.align_rows(first, end);
            first = end;
        }
    }

    /// Returns the author's line from which all tokens of a line come, if there is a single one.
    fn row(&self, at: usize) -> Option<usize> {
        let line = &self.lines[at];
        let source = self.tokens[line.tokens.first()?.token].line;
        let from = |placed: &Placed| self.tokens[placed.token].line == source;
        (line.tokens.iter().all(from) && !line.within_text).then_some(source)
    }

    /// Returns true if a line and the line before it were adjacent in the author's text.
    fn follows(&self, at: usize) -> bool {
        self.row(at - 1).zip(self.row(at)).is_some_and(|(a, b)| a + 1 == b)
    }

    fn align_rows(&mut self, first: usize, end: usize) {
        let columns = |line: &Line| {
            let of = |placed: &Placed| self.tokens[placed.token].column;
            line.tokens.iter().skip(1).map(of).collect::<Vec<_>>()
        };
        let mut known: Vec<usize> = self.lines[first..end].iter().flat_map(columns).collect();
        known.retain(|column| *column <= LAST_COLUMN);
        known.sort_unstable();
        known.dedup();
        for column in known {
            let rows: Vec<usize> =
                (first..end).filter(|row| self.at_column(*row, column).is_some()).collect();
            // Comments are aligned only with comments.
            let (comments, rest): (Vec<usize>, Vec<usize>) =
                rows.iter().partition(|row| self.is_comment(**row, column));
            for rows in [comments, rest] {
                for near in rows.chunk_by(|a, b| b - a <= NEAR + 1) {
                    self.align_column(near, column);
                }
            }
        }
    }

    /// Returns the token of a line that started in the author's column, if there is space before it.
    fn at_column(&self, row: usize, column: usize) -> Option<usize> {
        let tokens = &self.lines[row].tokens;
        let at = tokens.partition_point(|placed| self.tokens[placed.token].column < column);
        let placed = tokens.get(at).filter(|_| at > 0)?;
        let found = &self.tokens[placed.token];
        // Alignment must not change the column from which the next line's indentation follows.
        let line = &self.lines[row];
        let next = self.lines.get(row + 1).filter(|_| line.open > 0).map_or("", |next| &next.text);
        let indent = next.len() - next.trim_start_matches(' ').len();
        let free = line.open == 0 || indent < line.text[..placed.at].width();
        (found.column == column && !found.first && free).then_some(at)
    }

    fn is_comment(&self, row: usize, column: usize) -> bool {
        let token = self.at_column(row, column).map(|at| self.lines[row].tokens[at].token);
        token.is_some_and(|token| self.tokens[token].kind == TokenKind::Comment)
    }

    fn align_column(&mut self, rows: &[usize], column: usize) {
        let mut places = Vec::with_capacity(rows.len());
        for &row in rows {
            let Some(at) = self.at_column(row, column) else { return };
            let line = &self.lines[row];
            let pads = line.tokens[..at].iter().map(|placed| placed.pad).sum::<usize>();
            places.push(Place {
                row,
                at,
                column: line.text[..line.tokens[at].at].width() + pads,
                width: line.text.width() + pads,
            });
        }
        let target = places.iter().map(|place| place.column).max().unwrap_or(0);
        let fits = |place: &Place| {
            target == place.column || place.width + target - place.column <= TABLE_WIDTH
        };
        let gap = |place: &Place| self.tokens[self.lines[place.row].tokens[place.at].token].gap;
        if places.iter().any(gap) && places.iter().all(fits) {
            for place in places {
                self.lines[place.row].tokens[place.at].pad = target - place.column;
            }
        }
    }
}

impl Render for Page<'_> {
    type Error = fmt::Error;

    fn write_str(&mut self, s: &str) -> Result<usize, fmt::Error> {
        if self.in_token {
            return Ok(s.len());
        }
        if s == "\n" {
            self.lines.push(Line::default());
            return Ok(s.len());
        }
        let line = self.line();
        line.open = line.open.saturating_sub(s.matches(')').count());
        line.text.push_str(s);
        Ok(s.len())
    }

    fn fail_doc(&self) -> fmt::Error {
        fmt::Error
    }
}

impl RenderAnnotated<'_, usize> for Page<'_> {
    fn push_annotation(&mut self, token: &usize) -> Result<(), fmt::Error> {
        self.in_token = true;
        let Token { raw, kind, .. } = self.tokens[*token];
        let line = self.line();
        line.tokens.push(Placed { token: *token, at: line.text.len(), pad: 0 });
        line.open += usize::from(kind == TokenKind::Open);
        let mut pieces = raw.split('\n');
        line.text.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            self.line().within_text = true;
            self.lines.push(Line { text: piece.to_owned(), ..Line::default() });
        }
        Ok(())
    }

    fn pop_annotation(&mut self) -> Result<(), fmt::Error> {
        self.in_token = false;
        Ok(())
    }
}
