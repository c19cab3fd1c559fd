//! S-expressions as their author wrote them, with comments, blank lines, line breaks and columns. The tree is
//! independent of the layout.

use crate::lex::{self, TokenKind};
use unicode_width::UnicodeWidthStr;

/// A token of the text and its place.
#[derive(Debug)]
pub(super) struct Token<'t> {
    /// Its exact text; a comment without trailing white space.
    pub raw: &'t str,
    pub kind: TokenKind,
    /// The line on which it starts, from 0.
    pub line: usize,
    /// Its first column, from 0.
    pub column: usize,
    /// True if it is the first token of a list.
    pub first: bool,
    /// True if more than one space precedes it on its line.
    pub gap: bool,
}

/// A comment on a line of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comment {
    pub token: usize,
    /// True if a blank line precedes it.
    pub blank: bool,
}

/// An item of a list with its comments and its place.
#[derive(Debug)]
pub(super) struct Item {
    /// The word or text, or the list's opening parenthesis.
    pub token: usize,
    /// The content of a list; `None` for a word or text.
    pub list: Option<List>,
    /// The comments before it.
    pub comments: Vec<Comment>,
    /// The comment after it on its last line.
    pub trailing: Option<usize>,
    /// True if a blank line separates its comments from it.
    pub blank: bool,
    /// True if it starts a line.
    pub starts_line: bool,
    /// True if it starts and ends on different lines.
    pub broken: bool,
    /// True if it can only be written on several lines, or unchanged.
    pub forced: bool,
    /// Its width on a single line.
    pub width: usize,
}

/// The content of a list or of a file.
#[derive(Debug, Default)]
pub(super) struct List {
    pub items: Vec<Item>,
    /// The comments after the last item.
    pub rest: Vec<Comment>,
    /// True if its items flow like words; the author's line breaks are then meaningless.
    pub flows: bool,
}

impl List {
    /// Returns true if something in it needs a line of its own.
    pub fn forced(&self) -> bool {
        let breaks = |(k, item): (usize, &Item)| {
            item.forced
                || (k > 0 && item.starts_line && (item.blank || !self.flows))
                || !item.comments.is_empty()
                || item.trailing.is_some()
        };
        !self.rest.is_empty() || self.items.iter().enumerate().any(breaks)
    }
}

/// The form whose items flow: it lists rule sets, often many.
const FLOWING: &str = "saturate";

/// A list being read.
struct Open {
    token: usize,
    comments: Vec<Comment>,
    blank: bool,
    starts_line: bool,
    /// The items of the enclosing list read so far.
    outer: List,
}

/// Reads a text whose parentheses and quotes are balanced.
pub(super) fn read(text: &str) -> (Vec<Token<'_>>, List) {
    let mut tokens: Vec<Token> = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut list = List::default();
    let mut comments: Vec<Comment> = Vec::new();
    // The end of the last token, with its line and column.
    let (mut end, mut line, mut column) = (0, 0, 0);
    for lex::Token { kind, range } in lex::tokens(text) {
        let between = &text[end..range.start];
        let breaks = between.matches('\n').count();
        column = column_behind(column, between);
        let (first, blank, starts_line) = (tokens.is_empty(), breaks > 1, breaks > 0);
        let raw = &text[range.clone()];
        line += breaks;
        tokens.push(Token {
            raw: if kind == TokenKind::Comment { raw.trim_end() } else { raw },
            kind,
            line,
            column,
            first: tokens.last().is_some_and(|token| token.kind == TokenKind::Open),
            gap: !starts_line && between.len() > 1,
        });
        let token = tokens.len() - 1;
        let within = raw.matches('\n').count();
        line += within;
        column = column_behind(column, raw);
        end = range.end;
        match kind {
            TokenKind::Comment => match list.items.last_mut().filter(|_| comments.is_empty()) {
                Some(item) if !starts_line => item.trailing = Some(token),
                _ => comments.push(Comment { token, blank: blank && !first }),
            },
            TokenKind::Open => open.push(Open {
                token,
                comments: std::mem::take(&mut comments),
                blank: blank && !first,
                starts_line,
                outer: std::mem::take(&mut list),
            }),
            TokenKind::Close => {
                let Some(parent) = open.pop() else { continue };
                let mut inner = std::mem::replace(&mut list, parent.outer);
                inner.rest = std::mem::take(&mut comments);
                let head = inner.items.first().map(|head| tokens[head.token].raw);
                inner.flows = head == Some(FLOWING);
                let gaps = inner.items.len().saturating_sub(1);
                list.items.push(Item {
                    token: parent.token,
                    comments: parent.comments,
                    trailing: None,
                    blank: parent.blank,
                    starts_line: parent.starts_line,
                    broken: tokens[parent.token].line != line,
                    forced: inner.forced(),
                    width: 2 + gaps + inner.items.iter().map(|item| item.width).sum::<usize>(),
                    list: Some(inner),
                });
            }
            TokenKind::Text { .. } | TokenKind::Word => list.items.push(Item {
                token,
                list: None,
                comments: std::mem::take(&mut comments),
                trailing: None,
                blank: blank && !first,
                starts_line,
                broken: within > 0,
                forced: within > 0,
                width: raw.width(),
            }),
        }
    }
    list.rest = comments;
    (tokens, list)
}

/// Returns the column after a text that starts in a column.
fn column_behind(column: usize, text: &str) -> usize {
    match text.rsplit_once('\n') {
        Some((_, last)) => last.width(),
        None => column + text.width(),
    }
}
