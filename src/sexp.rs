//! The reader: text to S-expressions with spans. Iterative, so that no nesting overflows the stack.
//!
//! Every text format of the project (models, rules, SCF, SLC and DLC programs) is read here first.
//! A comment runs from `;` to the end of the line.

use crate::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};

/// The deepest nesting that is read. Later stages may recurse over what the reader returns.
pub const MAX_DEPTH: usize = 10_000;

/// An S-expression and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Sexp {
    /// Its text.
    pub span: Span,
    /// What it is.
    pub kind: Kind,
}

/// What an S-expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A bare word: a name, a number, a keyword such as `:when`, a pattern variable such as `?x`.
    Atom(String),
    /// Text in double quotes, with `\"`, `\\` and `\n` resolved.
    Text(String),
    /// A parenthesised list.
    List(Vec<Sexp>),
}

impl Sexp {
    /// The word, if it is one.
    pub fn atom(&self) -> Option<&str> {
        match &self.kind {
            Kind::Atom(word) => Some(word),
            _ => None,
        }
    }

    /// The quoted text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub fn list(&self) -> Option<&[Sexp]> {
        match &self.kind {
            Kind::List(items) => Some(items),
            _ => None,
        }
    }

    /// For a list that starts with a word: that word and the other items.
    pub fn form(&self) -> Option<(&str, &[Sexp])> {
        let (head, rest) = self.list()?.split_first()?;
        Some((head.atom()?, rest))
    }
}

/// Reads every expression of a text. Reports all unbalanced parentheses and bad texts at once.
pub fn read(sources: &Sources, file: FileId) -> Checked<Vec<Sexp>> {
    let text = sources.get(file).text.as_str();
    let bytes = text.as_bytes();
    let mut errors = Vec::new();
    // The lists still open, outermost first: where each starts and what it holds so far. The last
    // entry of `top` is what is being read into.
    let mut open: Vec<(usize, Vec<Sexp>)> = Vec::new();
    let mut top: Vec<Sexp> = Vec::new();
    let mut too_deep = false;
    let mut i = 0;
    while i < bytes.len() {
        let start = i;
        let kind = match bytes[i] {
            b';' => {
                while i < bytes.len() && bytes[i] != b'\n' {
                    i += 1;
                }
                continue;
            }
            b'(' => {
                i += 1;
                if open.len() >= MAX_DEPTH && !too_deep {
                    too_deep = true;
                    errors.push(
                        Diagnostic::error(
                            format!("parentheses nest deeper than {MAX_DEPTH}"),
                            Span::new(file, start..i),
                            "this one is too deep",
                        )
                        .with_help("split the expression into smaller ones"),
                    );
                }
                if too_deep {
                    // Nothing below would be used, and the expression could not be dropped safely.
                    break;
                }
                open.push((start, std::mem::take(&mut top)));
                continue;
            }
            b')' => {
                i += 1;
                match open.pop() {
                    Some((from, outer)) => {
                        let items = std::mem::replace(&mut top, outer);
                        top.push(Sexp { span: Span::new(file, from..i), kind: Kind::List(items) });
                    }
                    None => errors.push(
                        Diagnostic::error(
                            "`)` without its `(`",
                            Span::new(file, start..i),
                            "nothing is open here",
                        )
                        .with_help("remove it, or add the `(` that it should close"),
                    ),
                }
                continue;
            }
            b'"' => match quoted(text, start) {
                Ok((content, end)) => {
                    i = end;
                    Kind::Text(content)
                }
                Err(end) => {
                    errors.push(
                        Diagnostic::error(
                            "text without its closing `\"`",
                            Span::new(file, start..start + 1),
                            "the text starts here",
                        )
                        .with_help("add a `\"` where the text ends"),
                    );
                    i = end;
                    continue;
                }
            },
            b if b.is_ascii_whitespace() => {
                i += 1;
                continue;
            }
            _ => {
                while i < bytes.len() && !is_delimiter(bytes[i]) {
                    i += 1;
                }
                Kind::Atom(text[start..i].to_owned())
            }
        };
        top.push(Sexp { span: Span::new(file, start..i), kind });
    }
    if !too_deep {
        errors.extend(open.iter().map(|(start, _)| {
            Diagnostic::error(
                "`(` without its `)`",
                Span::new(file, *start..*start + 1),
                "this list is never closed",
            )
            .with_help("add the `)` that closes it")
        }));
    }
    if errors.is_empty() { Ok(top) } else { Err(errors) }
}

/// Whether a byte ends a word.
fn is_delimiter(b: u8) -> bool {
    b.is_ascii_whitespace() || matches!(b, b'(' | b')' | b'"' | b';')
}

/// The content of the quoted text that starts at `start`, and where it ends; without a closing
/// quote, the end of its line.
fn quoted(text: &str, start: usize) -> Result<(String, usize), usize> {
    let mut content = String::new();
    let mut chars = text[start + 1..].char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((content, start + 1 + at + 1)),
            '\\' => match chars.next() {
                Some((_, 'n')) => content.push('\n'),
                Some((_, other)) => content.push(other),
                None => break,
            },
            other => content.push(other),
        }
    }
    Err(text[start..].find('\n').map_or(text.len(), |n| start + n))
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
    fn deep_nesting_is_an_error_and_not_an_overflow() {
        let errors = read_text(&"(".repeat(100_000)).expect_err("too deep");
        assert_eq!(errors.len(), 1);
        let deep = format!("{}{}", "(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH));
        assert_eq!(read_text(&deep).expect("deep enough").len(), 1);
    }
}
