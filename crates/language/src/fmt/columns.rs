//! What was laid out becomes text: columns that the author aligned over several lines stay aligned. Where
//! lines break was decided before.

use super::TABLE_WIDTH;
use super::tree::Token;
use crate::lex::TokenKind;
use pretty::{Render, RenderAnnotated};
use std::fmt;
use unicode_width::UnicodeWidthStr;

/// The last column that tables are looked for in. It bounds what looking costs.
const LAST_COLUMN: usize = 2 * TABLE_WIDTH;

/// How many rows without a token in a column may stand between rows that have one.
const NEAR: usize = 2;

/// A token in a line.
struct Placed {
    token: usize,
    /// Where it starts, in bytes of the line.
    at: usize,
    /// How many spaces are put before it.
    pad: usize,
}

/// A line of the result.
#[derive(Default)]
struct Line {
    text: String,
    tokens: Vec<Placed>,
    /// How many of its lists are still open at its end, and whether a text goes on behind it.
    open: usize,
    within_text: bool,
}

/// A token that is aligned: its line and its place there, and its column and the line's width so far.
struct Place {
    row: usize,
    at: usize,
    column: usize,
    width: usize,
}

/// Collects what is rendered. A token is written for its mark; what the layout wrote in its place, to say how
/// wide it is, is not.
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

    /// The text, with its columns aligned.
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

    /// Pads tokens that started in one column of adjacent lines, one of them behind a gap.
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

    /// The line of the author's that all of a line is from, if there is one.
    fn row(&self, at: usize) -> Option<usize> {
        let line = &self.lines[at];
        let source = self.tokens[line.tokens.first()?.token].line;
        let from = |placed: &Placed| self.tokens[placed.token].line == source;
        (line.tokens.iter().all(from) && !line.within_text).then_some(source)
    }

    /// Whether a line is a row right behind the row before it, as it was in the author's text.
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
            // Comments are aligned with comments.
            let (comments, rest): (Vec<usize>, Vec<usize>) =
                rows.iter().partition(|row| self.is_comment(**row, column));
            for rows in [comments, rest] {
                for near in rows.chunk_by(|a, b| b - a <= NEAR + 1) {
                    self.align_column(near, column);
                }
            }
        }
    }

    /// The token of a line that started in a column of the author's, if there is space before it.
    fn at_column(&self, row: usize, column: usize) -> Option<usize> {
        let tokens = &self.lines[row].tokens;
        let at = tokens.partition_point(|placed| self.tokens[placed.token].column < column);
        let placed = tokens.get(at).filter(|_| at > 0)?;
        let found = &self.tokens[placed.token];
        // What the next line is indented by must not depend on what is moved here.
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
