//! The reader: text to S-expressions with spans. It is iterative, so that no nesting overflows the stack.
//!
//! Every text format of the project (models, rules, SCF, SLC and DLC programs) is read here first. A comment runs from
//! `;` to the end of the line.

use crate::codes::Code;
use crate::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};
use crate::lex::{Token, TokenKind, tokens};
use std::fmt;
use std::ops::Range;

/// The deepest nesting accepted. Later stages may recurse over the reader's result.
pub const MAX_DEPTH: usize = 10_000;

/// The stack that one level of recursion may need, and the size by which the stack grows if less is left.
const RED_ZONE: usize = 64 << 10;
const SEGMENT: usize = 1 << 20;

/// An S-expression and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Sexp {
    /// The place of its text.
    pub span: Span,
    /// Its kind and content.
    pub kind: Kind,
}

/// The kind of an S-expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A bare word: a name, a number, a keyword (`:when`) or a pattern variable (`?x`).
    Atom(String),
    /// Text in double quotes, with `\"`, `\\` and `\n` resolved.
    Text(String),
    /// A parenthesised list.
    List(Vec<Sexp>),
}

impl Sexp {
    /// Returns the word, if it is one.
    pub fn atom(&self) -> Option<&str> {
        match &self.kind {
            Kind::Atom(word) => Some(word),
            _ => None,
        }
    }

    /// Returns the quoted text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the items, if it is a list.
    pub fn list(&self) -> Option<&[Sexp]> {
        match &self.kind {
            Kind::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns all words in it, in no particular order.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        let mut open = vec![self];
        std::iter::from_fn(move || {
            let next = open.pop()?;
            open.extend(next.list().unwrap_or_default());
            Some(next.atom())
        })
        .flatten()
    }

    /// Returns the first word and the other items of a list that starts with a word.
    pub fn form(&self) -> Option<(&str, &[Sexp])> {
        let (head, rest) = self.list()?.split_first()?;
        Some((head.atom()?, rest))
    }

    /// Returns the other items of a list that starts with the word `head`.
    pub fn items(&self, head: &str) -> Option<&[Sexp]> {
        self.form().filter(|(word, _)| *word == head).map(|(_, items)| items)
    }
}

impl fmt::Display for Sexp {
    /// Prints the text on one line, which reads back to the same expression.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        deeper(|| match &self.kind {
            Kind::Atom(word) => f.write_str(word),
            Kind::Text(text) => {
                let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                write!(f, "\"{escaped}\"")
            }
            Kind::List(items) => {
                let between = |at: usize| if at == 0 { "" } else { " " };
                f.write_str("(")?;
                items.iter().enumerate().try_for_each(|(at, x)| write!(f, "{}{x}", between(at)))?;
                f.write_str(")")
            }
        })
    }
}

/// Splits a form's items at keywords, for example `:when`: returns each keyword with the items that follow it.
pub fn clauses(items: &[Sexp]) -> impl Iterator<Item = (&str, &[Sexp])> {
    let keyword = |item: &Sexp| item.atom().is_some_and(|word| word.starts_with(':'));
    let clauses = items.chunk_by(move |_, next| !keyword(next));
    clauses.filter_map(|clause| Some((clause[0].atom()?, &clause[1..])))
}

/// Runs one level of a recursion whose depth may be the nesting of a text.
pub fn deeper<R>(run: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(RED_ZONE, SEGMENT, run)
}

/// Reads every expression of a text. Reports all unbalanced parentheses and bad texts at once.
pub fn read(sources: &Sources, file: FileId) -> Checked<Vec<Sexp>> {
    let text = sources.get(file).text.as_str();
    let mut errors = Vec::new();
    // The lists still open, outermost first, each with its start and the items of the list around it. `top` is the list
    // being read.
    let mut open: Vec<(Span, Vec<Sexp>)> = Vec::new();
    let mut top: Vec<Sexp> = Vec::new();
    for Token { kind, range } in tokens(text) {
        let span = Span::new(file, range.clone());
        let kind = match kind {
            TokenKind::Comment => continue,
            TokenKind::Open => {
                if open.len() >= MAX_DEPTH {
                    errors.push(
                        Diagnostic::error(
                            format!("parentheses nest deeper than {MAX_DEPTH}"),
                            span,
                            "this one is too deep",
                        )
                        .with_code(Code::TooDeep)
                        .with_help("split the expression into smaller ones"),
                    );
                    // The rest would not be used, and an expression of this depth could not be dropped safely.
                    return Err(errors);
                }
                open.push((span, std::mem::take(&mut top)));
                continue;
            }
            TokenKind::Close => {
                match open.pop() {
                    Some((from, outer)) => {
                        let items = std::mem::replace(&mut top, outer);
                        let span = Span { start: from.start, ..span };
                        top.push(Sexp { span, kind: Kind::List(items) });
                    }
                    None => errors.push(
                        Diagnostic::error("`)` without its `(`", span, "nothing is open here")
                            .with_code(Code::Unbalanced)
                            .with_help("remove it, or add the `(` that it should close"),
                    ),
                }
                continue;
            }
            TokenKind::Text { closed: true } => {
                Kind::Text(unescaped(&text[range.start + 1..range.end - 1]))
            }
            TokenKind::Text { closed: false } => {
                let quote = Span::new(file, range.start..range.start + 1);
                errors.push(
                    Diagnostic::error(
                        "text without its closing `\"`",
                        quote,
                        "the text starts here",
                    )
                    .with_code(Code::OpenText)
                    .with_help("add a `\"` where the text ends"),
                );
                continue;
            }
            TokenKind::Word => Kind::Atom(text[range].to_owned()),
        };
        top.push(Sexp { span, kind });
    }
    let open: Vec<Span> = open.into_iter().map(|(span, _)| span).collect();
    errors.extend(unclosed(text, file, &open));
    if errors.is_empty() { Ok(top) } else { Err(errors) }
}

/// Returns an error for each list that is never closed. The reader takes the outermost lists as open, but a `)` is
/// missing where a list is open although a later line begins at its column or before it. If the lines say nothing, the
/// errors are about the lists that the reader takes as open.
fn unclosed(text: &str, file: FileId, open: &[Span]) -> Vec<Diagnostic> {
    let mut outdented = outdented(text);
    outdented.truncate(open.len());
    let error = |span: Span, label: &str| {
        Diagnostic::error("`(` without its `)`", span, label)
            .with_code(Code::Unbalanced)
            .with_help("add the `)` that closes it")
    };
    if outdented.is_empty() {
        return open.iter().map(|span| error(*span, "this list is never closed")).collect();
    }
    let shown = |(list, next): (Range<usize>, Range<usize>)| {
        let label = "this list is not closed before the next one of its column or before it";
        error(Span::new(file, list), label).with_related(Span::new(file, next), "which begins here")
    };
    outdented.into_iter().map(shown).collect()
}

/// Returns the lists that are open where a later line begins with a list at their column or before it, each with that
/// list, in the order of these lines, the innermost list first.
fn outdented(text: &str) -> Vec<(Range<usize>, Range<usize>)> {
    let mut found = Vec::new();
    // The lists still open, outermost first, each with its column.
    let mut open: Vec<(usize, Range<usize>)> = Vec::new();
    let (mut line, mut scanned) = (0, 0);
    for Token { kind, range } in tokens(text) {
        let begins = text.get(scanned..range.start).and_then(|between| between.rfind('\n'));
        if let Some(at) = begins {
            line = scanned + at + 1;
        }
        scanned = range.start;
        match kind {
            TokenKind::Open => {
                let column = range.start - line;
                let first = text.get(line..range.start).is_some_and(|s| s.trim().is_empty());
                while first
                    && open.last().is_some_and(|(c, from)| *c >= column && from.start < line)
                {
                    found.extend(open.pop().map(|(_, from)| (from, range.clone())));
                }
                open.push((column, range));
            }
            TokenKind::Close => drop(open.pop()),
            _ => {}
        }
    }
    found
}

/// Returns a text in double quotes, which the reader reads back to the same text.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '"' | '\\' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns the content of a quoted text.
fn unescaped(raw: &str) -> String {
    let mut content = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => content.extend(chars.next().map(|c| if c == 'n' { '\n' } else { c })),
            c => content.push(c),
        }
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Checked<Vec<Sexp>> {
        let mut sources = Sources::default();
        let file = sources.add("<test>", text);
        read(&sources, file)
    }

    #[test]
    fn reads_words_texts_lists_and_comments() {
        let items = read_text("(a ; comment )\n \"b\\\"c\" (d)) 7").expect("reads");
        assert_eq!(items.len(), 2);
        let list = items[0].list().expect("a list");
        assert_eq!(list[0].atom(), Some("a"));
        assert_eq!(list[1].text(), Some("b\"c"));
        assert_eq!(list[2].form().map(|(head, rest)| (head, rest.len())), Some(("d", 0)));
        assert_eq!(items[1].span.range(), 28..29);
    }

    #[test]
    fn reports_every_unbalanced_parenthesis() {
        assert_eq!(read_text(") (a (b \"c").expect_err("unbalanced").len(), 4);
    }

    #[test]
    fn a_missing_parenthesis_is_reported_by_indentation() {
        let starts = |text: &str| -> Vec<usize> {
            let errors = read_text(text).expect_err("unbalanced");
            errors.iter().filter_map(|e| Some(e.at.as_ref()?.0.range().start)).collect()
        };
        assert_eq!(starts("(model m\n  (input a (n)\n  (output b a))\n"), [11]);
        assert_eq!(starts("(a\n(b)\n(c)\n"), [0]);
        assert_eq!(starts("(a (b\n   c)\n"), [0]);
        assert_eq!(starts("(a \"x\ny\" (b)\n(c)"), [0]);
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_an_overflow() {
        let errors = read_text(&"(".repeat(100_000)).expect_err("too deep");
        assert_eq!(errors.len(), 1);
        let deep = format!("{}{}", "(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH));
        assert_eq!(read_text(&deep).expect("deep enough").len(), 1);
    }
}
