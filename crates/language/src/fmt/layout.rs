//! Decides line breaks and indentation: converts S-expressions to documents of the crate `pretty`.
//!
//! The author's breaks stay, unless a form has a layout of its own. Breaks are added to lines that are too long. Every
//! criterion must give the same answer on the result, so that formatting is idempotent.

use super::tree::{Item, List, Token};
use super::{TABLE_WIDTH, WIDTH};
use crate::lex::TokenKind;
use crate::sexp::deeper;
use pretty::{Arena, DocAllocator, DocBuilder};
use std::ops::Range;

/// The depth from which on nesting adds no indentation; it bounds the length of the result.
const MAX_INDENT: usize = 40;

/// Forms whose lists, and whose first keyword, each get a line of their own unless everything fits on one line.
const BODIES: [&str; 12] = [
    "dialect",
    "ruleset",
    "model",
    "data",
    "programs",
    "case",
    "schedule",
    "steps",
    "repeat",
    "seq",
    "until",
    "otherwise",
];

/// Forms that contain terms; the terms are laid out one by one, not as table rows.
const OF_TERMS: [&str; 2] = ["rule", "define"];

/// The keyword whose conditions flow like words.
const WHEN: &str = ":when";

type Doc<'a> = DocBuilder<'a, Arena<'a, usize>, usize>;

/// The separator between an item and the one before it.
#[derive(Clone, Copy, PartialEq)]
enum Gap {
    /// A space.
    Space,
    /// A line break if the author had one, or if the item does not fit on the line.
    Fill,
    /// A line break if the item does not fit on the line, as between words of a paragraph.
    Flow,
    /// A line break if the list around it is broken.
    Line,
    /// A line break.
    Hard,
}

/// The indentation of a list whose head is a word.
enum Shape {
    /// By two columns.
    Nested,
    /// The operands are below the first one, as the author wrote them.
    Aligned,
    /// None: the last item continues on further lines as if it were alone.
    Hugging,
}

/// Lays out the items of a text.
pub(super) struct Layout<'a, 't> {
    pub arena: &'a Arena<'a, usize>,
    pub tokens: &'t [Token<'t>],
}

impl<'a> Layout<'a, '_> {
    /// Lays out a whole text.
    pub fn file(&self, list: &List) -> Doc<'a> {
        let rows = self.rows(&list.items, 0);
        let items = (0..list.items.len()).map(|k| self.spaced(list, k, Gap::Fill, rows[k], 0));
        self.arena.concat(items).append(self.rest(list))
    }

    /// Lays out an item and its trailing comment.
    fn item(&self, item: &Item, depth: usize) -> Doc<'a> {
        let doc = match &item.list {
            None => self.leaf(item.token),
            // A list may be nested as deep as the reader allows.
            Some(list) => deeper(|| {
                let open = self.arena.text("(").annotate(item.token);
                open.append(self.list(list, depth + 1)).append(")")
            }),
        };
        self.trailed(doc, item)
    }

    /// Lays out an item on a single line.
    fn flat(&self, item: &Item) -> Doc<'a> {
        let doc = match &item.list {
            None => self.leaf(item.token),
            Some(list) => deeper(|| {
                let open = self.arena.text("(").annotate(item.token);
                let items = list.items.iter().map(|item| self.flat(item));
                open.append(self.arena.intersperse(items, " ")).append(")")
            }),
        };
        self.trailed(doc, item)
    }

    /// Lays out a word or text. The continuation lines of a text keep their columns, whatever the indentation.
    fn leaf(&self, token: usize) -> Doc<'a> {
        let arena = self.arena;
        let mut lines = self.tokens[token].raw.split('\n').map(str::to_owned);
        let first = arena.text(lines.next().unwrap_or_default());
        let whole = lines.fold(first, |doc, line| {
            doc.append(arena.nesting(move |indent| {
                let line = arena.hardline().append(line.clone());
                line.nest(-(indent as isize)).into_doc()
            }))
        });
        whole.annotate(token)
    }

    /// Lays out a comment. Its width counts as zero, because the author chose its place.
    fn comment(&self, token: usize) -> Doc<'a> {
        self.arena.nil().annotate(token)
    }

    fn trailed(&self, doc: Doc<'a>, item: &Item) -> Doc<'a> {
        match item.trailing {
            Some(comment) => doc.append(" ").append(self.comment(comment)),
            None => doc,
        }
    }

    /// Returns a line break, followed by a blank line if `blank`.
    fn hard(&self, blank: bool) -> Doc<'a> {
        let line = self.arena.hardline();
        if blank { line.append(self.arena.hardline()) } else { line }
    }

    /// Lays out an item of a list, preceded by its gap and its comments.
    fn spaced(&self, list: &List, k: usize, gap: Gap, row: bool, depth: usize) -> Doc<'a> {
        let item = &list.items[k];
        if row {
            let gap = if k > 0 && !item.starts_line { Gap::Space } else { gap };
            return self.behind(list, k, gap, self.flat(item), false);
        }
        self.behind(list, k, gap, self.item(item, depth), item.forced)
    }

    /// Prepends the gap and the comments before an item to a document. `forced`: the document has line breaks in any
    /// case.
    fn behind(&self, list: &List, k: usize, gap: Gap, doc: Doc<'a>, forced: bool) -> Doc<'a> {
        let item = &list.items[k];
        let kept = gap == Gap::Fill || (gap == Gap::Flow && (item.forced || item.blank));
        let breaks = gap == Gap::Hard || (kept && item.starts_line);
        let ended = k > 0 && list.items[k - 1].trailing.is_some();
        let mut before = self.arena.nil();
        for (n, comment) in item.comments.iter().enumerate() {
            let hard = if k + n == 0 { self.arena.nil() } else { self.hard(comment.blank) };
            before = before.append(hard).append(self.comment(comment.token));
        }
        if !item.comments.is_empty() || (k > 0 && (breaks || ended)) {
            return before.append(self.hard(item.blank)).append(doc);
        }
        match gap {
            _ if k == 0 => doc,
            Gap::Fill | Gap::Flow if !forced => self.arena.line().append(doc).group(),
            Gap::Fill | Gap::Flow => self.arena.line().group().append(doc),
            Gap::Line => self.arena.line().append(doc),
            Gap::Space | Gap::Hard => self.arena.space().append(doc),
        }
    }

    /// Lays out the comments after the last item.
    fn rest(&self, list: &List) -> Doc<'a> {
        let mut doc = self.arena.nil();
        for (k, comment) in list.rest.iter().enumerate() {
            let first = k == 0 && list.items.is_empty();
            let hard = if first { self.arena.nil() } else { self.hard(comment.blank) };
            doc = doc.append(hard).append(self.comment(comment.token));
        }
        doc
    }

    /// Lays out the content of a list.
    fn list(&self, list: &List, depth: usize) -> Doc<'a> {
        let items = &list.items;
        let (doc, by) = match items.first() {
            Some(_) if depth == 1 && self.is_rule(list) => (self.rule(list), 2),
            Some(head) if !self.word(list, 0).is_empty() && head.comments.is_empty() => {
                match self.shape(list, depth) {
                    Shape::Hugging => return self.hugging(list, depth),
                    Shape::Aligned => (self.aligned(list, depth), 2),
                    Shape::Nested => (self.nested(list, depth), 2),
                }
            }
            _ => (self.nested(list, depth), 1),
        };
        let doc = doc.append(self.rest(list));
        let doc = if depth > MAX_INDENT { doc } else { doc.nest(by) };
        let ends = items.last().is_some_and(|last| last.trailing.is_some());
        if ends || !list.rest.is_empty() { doc.append(self.arena.hardline()) } else { doc }
    }

    fn shape(&self, list: &List, depth: usize) -> Shape {
        let items = &list.items;
        let column = |item: &Item| self.tokens[item.token].column;
        let plain = |item: &Item| item.comments.is_empty() && item.trailing.is_none();
        let plain = list.rest.is_empty() && items.iter().all(plain);
        // In a list whose breaks are meaningless, the shape must not depend on them.
        let plain = plain && !list.flows;
        let ([before @ .., last], Some(second), true) = (&items[..], items.get(1), plain) else {
            return Shape::Nested;
        };
        match items.iter().skip(1).find(|item| item.starts_line) {
            Some(first) if !second.starts_line && column(first) == column(second) => Shape::Aligned,
            Some(_) => Shape::Nested,
            None => {
                let width: usize = before.iter().map(|item| 1 + item.width).sum();
                let short = 2 * depth + width <= WIDTH * 4 / 5;
                let key = before.len().checked_sub(1).is_some_and(|k| self.is_key(list, k));
                let alone = last.list.is_some() && !key && before.iter().all(|item| !item.forced);
                if last.forced && alone && short { Shape::Hugging } else { Shape::Nested }
            }
        }
    }

    /// Lays out the items in order; an item that does not fit starts a new line.
    fn nested(&self, list: &List, depth: usize) -> Doc<'a> {
        let items = &list.items;
        let head = self.word(list, 0);
        let own = BODIES.contains(&head) && !list.forced();
        let rows = self.rows(if OF_TERMS.contains(&head) { &[] } else { items }, depth);
        let first_key = (0..items.len()).find(|k| self.is_key(list, *k));
        let mut doc = self.arena.nil();
        for (k, item) in items.iter().enumerate() {
            let gap = match k.checked_sub(1).map(|before| self.is_key(list, before)) {
                _ if own && (item.list.is_some() || first_key == Some(k)) => Gap::Line,
                Some(true) if !item.starts_line && !self.is_key(list, k) => Gap::Space,
                _ if list.flows => Gap::Flow,
                _ => Gap::Fill,
            };
            let row = rows.get(k).is_some_and(|row| *row);
            doc = doc.append(self.spaced(list, k, gap, row, depth));
        }
        if own { doc.group() } else { doc }
    }

    fn aligned(&self, list: &List, depth: usize) -> Doc<'a> {
        let mut doc = self.arena.nil();
        for k in 1..list.items.len() {
            doc = match k {
                1 => self.item(&list.items[k], depth),
                _ => doc.append(self.spaced(list, k, Gap::Fill, false, depth)),
            };
        }
        let doc = if depth > MAX_INDENT { doc } else { doc.align() };
        self.item(&list.items[0], depth).append(" ").append(doc)
    }

    fn hugging(&self, list: &List, depth: usize) -> Doc<'a> {
        let item = |item: &Item| {
            if item.forced { self.item(item, depth) } else { self.flat(item) }
        };
        self.arena.intersperse(list.items.iter().map(item), " ")
    }

    /// Returns true if a list is `(rule NAME DOC LEFT => RIGHT …)`, followed only by keywords.
    fn is_rule(&self, list: &List) -> bool {
        self.word(list, 0) == "rule"
            && matches!(self.word(list, 4), "=>" | "<=>")
            && list.items.len() > 5
            && (list.items.len() == 6 || self.is_key(list, 6))
    }

    /// Lays out a rule: its sides and its keywords each get a line of their own, unless the whole rule fits on one
    /// line. The author of a multi-line rule may put keywords together.
    fn rule(&self, list: &List) -> Doc<'a> {
        let items = &list.items;
        let forced = list.forced();
        let line = if forced { Gap::Hard } else { Gap::Line };
        let mut doc = self.spaced(list, 0, Gap::Space, false, 1);
        doc = doc.append(self.spaced(list, 1, Gap::Space, false, 1));
        doc = doc.append(self.spaced(list, 2, Gap::Fill, false, 1));
        doc = doc.append(self.spaced(list, 3, line, false, 1));
        let right = self.section(list, 4, 6);
        let gap = if items[5].forced { Gap::Hard } else { Gap::Fill };
        doc = doc.append(self.behind(list, 4, gap, right, items[5].forced));
        let mut start = 6;
        while start < items.len() {
            let next = (start + 1..items.len()).find(|k| self.is_key(list, *k));
            let end = next.unwrap_or(items.len());
            let gap = if forced { Gap::Fill } else { Gap::Line };
            let flows = self.word(list, start) == WHEN;
            let broken = |(k, item): (usize, &Item)| {
                let starts = k > 1 && item.starts_line && (item.blank || !flows);
                item.forced || starts || !item.comments.is_empty() || item.trailing.is_some()
            };
            let broken = items[start..end].iter().enumerate().any(broken);
            doc = doc.append(self.behind(list, start, gap, self.section(list, start, end), broken));
            start = end;
        }
        doc.group()
    }

    /// Lays out a keyword or arrow with its items below each other.
    fn section(&self, list: &List, start: usize, end: usize) -> Doc<'a> {
        let items = &list.items;
        let key = self.item(&items[start], 1);
        let Some(first) = items[..end].get(start + 1) else { return key };
        let pair = end - start == 3 && first.list.is_none();
        let rest = (start + 2..end).map(|k| {
            let gap = match self.word(list, start) {
                WHEN => Gap::Flow,
                _ if pair && !items[k].starts_line => Gap::Space,
                _ => Gap::Fill,
            };
            self.spaced(list, k, gap, false, 1)
        });
        let rest = self.arena.concat(rest);
        if items[start].trailing.is_some() || !first.comments.is_empty() {
            let first = self.spaced(list, start + 1, Gap::Space, false, 1);
            return key.append(first.append(rest).nest(2));
        }
        key.append(" ").append(self.item(first, 1).append(rest).align())
    }

    /// Returns the word at an index of a list; empty if there is none.
    fn word(&self, list: &List, k: usize) -> &str {
        let token = list.items.get(k).map(|item| &self.tokens[item.token]);
        token.filter(|token| token.kind == TokenKind::Word).map_or("", |token| token.raw)
    }

    fn is_key(&self, list: &List, k: usize) -> bool {
        self.word(list, k).starts_with(':')
    }

    /// Marks the items in table rows: adjacent lines that start with the same word and whose items are all unbroken.
    /// Rows may be wider than other lines.
    fn rows(&self, items: &[Item], depth: usize) -> Vec<bool> {
        let mut rows = vec![false; items.len()];
        let mut before: Option<(Range<usize>, usize, &str)> = None;
        let mut start = 0;
        while start < items.len() {
            let next = (start + 1..items.len()).find(|k| items[*k].starts_line);
            let end = next.unwrap_or(items.len());
            let line = &items[start..end];
            let width: usize = line.iter().map(|item| 1 + item.width).sum();
            let whole = line.iter().all(|item| !item.forced && !item.broken);
            let head = line[0].list.as_ref().map_or("", |list| self.word(list, 0));
            let at = self.tokens[line[0].token].line;
            if !whole || head.is_empty() || 2 * depth + width > TABLE_WIDTH {
                before = None;
            } else {
                if let Some((above, line, word)) = &before
                    && line + 1 == at
                    && *word == head
                {
                    rows[above.clone()].fill(true);
                    rows[start..end].fill(true);
                }
                before = Some((start..end, at, head));
            }
            start = end;
        }
        rows
    }
}
