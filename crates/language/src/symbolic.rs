//! Converts between S-expressions and values of the crate `symbolic_expressions`, which other programs use. A value
//! becomes text for the reader, so that the reader's limits and spans apply to it; the reader's result becomes a value.
//!
//! A quoted text keeps its quotes in a value, which distinguishes it from a word: `"a b"` is a string of five
//! characters.

use crate::diagnostic::Diagnostic;
use crate::lex::{TokenKind, tokens};
use crate::sexp::{Kind, MAX_DEPTH, Sexp, deeper};
use symbolic_expressions::Sexp as Symbolic;

/// Returns the text of a value. A string that is neither a word nor a quoted text is an error, and so is nesting deeper
/// than the reader accepts.
pub fn text(value: &Symbolic) -> Result<String, Diagnostic> {
    enum Step<'a> {
        Enter(&'a Symbolic),
        Close,
    }
    let (mut text, mut depth) = (String::new(), 0);
    let mut todo = vec![Step::Enter(value)];
    while let Some(step) = todo.pop() {
        let items = match step {
            Step::Close => {
                text.push(')');
                depth -= 1;
                continue;
            }
            Step::Enter(Symbolic::String(word)) => {
                if !is_word(word) {
                    let message = format!("neither a word nor a quoted text: {word:?}");
                    return Err(Diagnostic::global(message));
                }
                separate(&mut text);
                text.push_str(word);
                continue;
            }
            Step::Enter(Symbolic::List(items)) => items.as_slice(),
            Step::Enter(Symbolic::Empty) => &[],
        };
        depth += 1;
        if depth > MAX_DEPTH {
            return Err(Diagnostic::global(format!("lists nest deeper than {MAX_DEPTH}")));
        }
        separate(&mut text);
        text.push('(');
        todo.push(Step::Close);
        todo.extend(items.iter().rev().map(Step::Enter));
    }
    Ok(text)
}

/// Appends a space, unless the text is empty or a list has just begun.
fn separate(text: &mut String) {
    if !text.is_empty() && !text.ends_with('(') {
        text.push(' ');
    }
}

/// Returns true if the reader reads exactly one word or quoted text.
fn is_word(word: &str) -> bool {
    let mut read = tokens(word);
    let one = read.next().is_some_and(|token| {
        let kind = matches!(token.kind, TokenKind::Word | TokenKind::Text { closed: true });
        kind && token.range == (0..word.len())
    });
    one && read.next().is_none()
}

/// Converts an expression to a value.
pub fn value(read: &Sexp) -> Symbolic {
    match &read.kind {
        Kind::Atom(word) => Symbolic::String(word.clone()),
        Kind::Text(text) => Symbolic::String(quoted(text)),
        Kind::List(items) => deeper(|| Symbolic::List(items.iter().map(value).collect())),
    }
}

/// Returns the text in quotes, escaped as the reader expects.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::sexp;

    #[test]
    fn what_is_read_is_written_and_read_again() {
        let mut sources = Sources::default();
        let file = sources.add("it", "(a \"b \\\" (c\\\\\\n\" () (1.5 ?x :when))");
        let read = value(&sexp::read(&sources, file).expect("balanced")[0]);
        let written = text(&read).expect("words");
        assert_eq!(written, "(a \"b \\\" (c\\\\\\n\" () (1.5 ?x :when))");
        let file = sources.add("again", written);
        assert_eq!(value(&sexp::read(&sources, file).expect("balanced")[0]), read);
    }

    #[test]
    fn no_string_is_more_than_a_word() {
        for word in ["", "a b", "a)", "\"open", "\"a\" b", "; a"] {
            assert!(text(&Symbolic::String(word.to_owned())).is_err(), "{word}");
        }
    }
}
