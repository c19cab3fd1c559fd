//! Determines the role of the word at a place of a text, from the lists around it and its index in them. It works on
//! tokens, so that an unbalanced text that is being written has places too.

use ember_language::lex::{TokenKind, tokens};
use std::ops::Range;

/// A list around a place.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame<'t> {
    /// Its first word; empty if it does not start with a word.
    pub head: &'t str,
    /// The last keyword in it before the place; empty if there is none.
    pub key: &'t str,
    /// The number of its items before the place.
    pub items: usize,
    /// The byte of its opening parenthesis.
    pub start: usize,
}

/// A place of a text.
#[derive(Clone, Debug)]
pub(super) struct Spot<'t> {
    /// The word at the place, up to its end; empty if there is none.
    pub word: &'t str,
    /// The range of the word.
    pub range: Range<usize>,
    /// The kind of the token at the place, if there is one.
    pub kind: Option<TokenKind>,
    /// The lists around it, the outermost first.
    pub frames: Vec<Frame<'t>>,
    /// The number of items after it in its list.
    pub behind: usize,
}

/// The role of a word at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The name of a form, declaration, step, key, phase or exactness.
    Word(&'static str),
    /// A variable of a pattern.
    Variable,
    /// An operator with this number of arguments.
    Operator(usize),
    Predicate,
    Generator,
    Sort,
    Set,
    Schedule,
    /// The name of included steps.
    Steps,
    /// The path of a file.
    Path,
    /// The name of a rule, at its definition.
    Rule,
    /// A name that is defined here, a number, or any other word without a meaning.
    Nothing,
}

/// Returns the place of a byte of a text. A byte right after a word counts as part of the word.
pub(super) fn spot(text: &str, at: usize) -> Spot<'_> {
    let mut frames: Vec<Frame> = Vec::new();
    let mut all = tokens(text);
    for token in all.by_ref() {
        let Range { start, end } = token.range;
        let inside = match token.kind {
            TokenKind::Word => start <= at && at <= end,
            TokenKind::Text { .. } => start < at && at < end,
            TokenKind::Comment => start < at && at <= end,
            TokenKind::Open | TokenKind::Close => false,
        };
        if inside {
            let found = Some((token.kind, token.range));
            return of(text, at, found, frames, items_behind(all, 0));
        }
        if start >= at {
            let behind = match token.kind {
                TokenKind::Close => 0,
                TokenKind::Comment => items_behind(all, 0),
                TokenKind::Open => 1 + items_behind(all, 1),
                TokenKind::Word | TokenKind::Text { .. } => 1 + items_behind(all, 0),
            };
            return of(text, at, None, frames, behind);
        }
        match token.kind {
            TokenKind::Open => {
                if let Some(frame) = frames.last_mut() {
                    frame.items += 1;
                }
                frames.push(Frame { start, ..Frame::default() });
            }
            TokenKind::Close => {
                frames.pop();
            }
            TokenKind::Word | TokenKind::Text { .. } => {
                let word = &text[start..end];
                if let Some(frame) = frames.last_mut() {
                    if token.kind == TokenKind::Word && frame.items == 0 {
                        frame.head = word;
                    } else if word.starts_with(':') {
                        frame.key = word;
                    }
                    frame.items += 1;
                }
            }
            TokenKind::Comment => {}
        }
    }
    of(text, at, None, frames, 0)
}

fn of<'t>(
    text: &'t str,
    at: usize,
    found: Option<(TokenKind, Range<usize>)>,
    frames: Vec<Frame<'t>>,
    behind: usize,
) -> Spot<'t> {
    let (kind, range) = found.map_or((None, at..at), |(kind, range)| (Some(kind), range));
    Spot { word: &text[range.clone()], range, kind, frames, behind }
}

/// Returns the number of items that follow in the open list; the tokens start `depth` lists deeper.
fn items_behind(rest: impl Iterator<Item = ember_language::lex::Token>, mut depth: usize) -> usize {
    let mut items = 0;
    for token in rest {
        match token.kind {
            TokenKind::Comment => {}
            TokenKind::Close if depth == 0 => break,
            TokenKind::Close => depth -= 1,
            TokenKind::Open => {
                items += usize::from(depth == 0);
                depth += 1;
            }
            TokenKind::Word | TokenKind::Text { .. } => items += usize::from(depth == 0),
        }
    }
    items
}

impl Spot<'_> {
    /// Returns true if it is the first item of its list.
    pub fn is_head(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.items == 0)
    }

    /// Returns the role of the word, or of a word that would be written here.
    pub fn role(&self) -> Role {
        let [top, inner @ ..] = &self.frames[..] else { return Role::Nothing };
        match self.kind {
            Some(TokenKind::Comment) => return Role::Nothing,
            Some(TokenKind::Text { .. }) => {
                let path = inner.is_empty() && top.head == "include";
                return if path { Role::Path } else { Role::Nothing };
            }
            _ => {}
        }
        if inner.is_empty() && self.is_head() {
            return Role::Word("form");
        }
        if self.word.starts_with(':') {
            return Role::Word("key");
        }
        let last = inner.last().unwrap_or(top);
        match top.head {
            "schedule" | "steps" | "case" => self.of_schedule(top, inner, last),
            _ if self.word.starts_with('?') => Role::Variable,
            "dialect" => match inner {
                [_] if self.is_head() => Role::Word("declaration"),
                [declared] if declared.head == "op" && declared.items == 3 => Role::Sort,
                [declared, _] if declared.head == "op" && declared.items == 3 => Role::Sort,
                _ => Role::Nothing,
            },
            "ruleset" => match top.key {
                ":phase" => Role::Word("phase"),
                ":exact" => Role::Word("exactness"),
                _ => Role::Nothing,
            },
            "rule" => self.of_rule(top, inner, last),
            "define" if top.items > 2 || (top.items == 2 && self.is_head()) => self.operator(),
            "commutes" if top.items == 2 => Role::Operator(2),
            "commutes" if top.items == 1 => Role::Rule,
            _ => Role::Nothing,
        }
    }

    fn of_rule(&self, top: &Frame, inner: &[Frame], last: &Frame) -> Role {
        match (top.key, inner) {
            ("", []) if top.items == 1 => Role::Rule,
            ("", []) if top.items == 4 => Role::Nothing,
            (":phase", []) => Role::Word("phase"),
            (":exact", []) => Role::Word("exactness"),
            (":when", [_]) if self.is_head() => Role::Predicate,
            (":for", [_]) if self.is_head() => Role::Generator,
            (":test", [_]) if self.is_head() => Role::Operator(0),
            (_, [.., _]) if last.head == "!" && last.items == 1 => Role::Word("operation"),
            _ => self.operator(),
        }
    }

    fn of_schedule(&self, top: &Frame, inner: &[Frame], last: &Frame) -> Role {
        let parts = ["input", "expect", "refuse"];
        let in_term = match inner {
            [part, ..] if top.head == "case" => parts.contains(&part.head) && part.items > 0,
            _ => {
                inner.iter().any(|frame| frame.head == "until" && frame.items == 1)
                    || inner.windows(2).any(|pair| pair[0].head == "until" && pair[0].items == 2)
            }
        };
        if in_term {
            let sketch = self.word.starts_with('?');
            return if sketch { Role::Word("sketch") } else { self.operator() };
        }
        match last.head {
            "phase" if last.items == 1 => Role::Word("phase"),
            "steps" if !inner.is_empty() && last.items > 0 => Role::Steps,
            "saturate" | "rules" if last.items > 0 => Role::Set,
            "schedule" if !inner.is_empty() && last.items > 0 => Role::Schedule,
            _ if self.is_head() && top.head != "case" => Role::Word("step"),
            _ => Role::Nothing,
        }
    }

    /// Returns the role of an operator: with the arguments after it if it is the first of its list, else without
    /// arguments.
    fn operator(&self) -> Role {
        let number = self.word.starts_with(|c: char| c.is_ascii_digit());
        match self.is_head() {
            _ if number || self.word.starts_with('%') => Role::Nothing,
            true => Role::Operator(self.behind),
            false => Role::Operator(0),
        }
    }
}
