//! S-expressions of the crate `symbolic_expressions`, which Rust programs give to this one and get from it.
//!
//! That crate has no spans and no bound on depth, so its values never go into a stage by themselves: they
//! are written as a text that [`sexp::read`](crate::sexp::read) reads, and diagnostics point into it.
//!
//! A word is a `String` as it stands. A quoted text is a `String` with its quotes and escapes, since `file`
//! and `"file"` differ here; a `String` without quotes that is no word stands for a text as well.

use crate::diagnostic::{Checked, Diagnostic, FileId, Sources};
use crate::lex::{TokenKind, tokens};
use crate::sexp::{self, Kind, MAX_DEPTH, Sexp, deeper, quoted};
use symbolic_expressions::Sexp as Value;

/// The expressions of a text, as values. Reports what [`sexp::read`] does.
pub fn values(sources: &Sources, file: FileId) -> Checked<Vec<Value>> {
    Ok(sexp::read(sources, file)?.iter().map(value).collect())
}

/// An expression as a value, without its spans.
pub fn value(of: &Sexp) -> Value {
    deeper(|| match &of.kind {
        Kind::Atom(word) => Value::String(word.clone()),
        Kind::Text(text) => Value::String(quoted(text)),
        Kind::List(items) => Value::List(items.iter().map(value).collect()),
    })
}

/// Adds values to the sources as a text, one a line, to be read from there. `name` stands for a path in
/// messages. Values that nest deeper than a text may are an error.
pub fn add(sources: &mut Sources, name: &str, values: &[Value]) -> Checked<FileId> {
    let mut text = String::new();
    for value in values {
        write(value, &mut text).map_err(|TooDeep| {
            vec![Diagnostic::global(format!("{name}: parentheses nest deeper than {MAX_DEPTH}"))]
        })?;
        text.push('\n');
    }
    Ok(sources.add(name, text))
}

/// A value that nests deeper than a text may.
struct TooDeep;

/// Appends the text of a value. Iterative, since nothing bounds how deep a value nests.
fn write(value: &Value, out: &mut String) -> Result<(), TooDeep> {
    // What is still to be written in each list around, the innermost last.
    let mut open = vec![std::slice::from_ref(value).iter()];
    while let Some(list) = open.last_mut() {
        match list.next() {
            None => {
                open.pop();
                if !open.is_empty() {
                    out.push(')');
                }
            }
            // It is nothing, not an empty list.
            Some(Value::Empty) => {}
            Some(Value::String(text)) => {
                separate(out);
                match is_one_token(text) {
                    true => out.push_str(text),
                    false => out.push_str(&quoted(text)),
                }
            }
            Some(Value::List(items)) => {
                if open.len() > MAX_DEPTH {
                    return Err(TooDeep);
                }
                separate(out);
                out.push('(');
                open.push(items.iter());
            }
        }
    }
    Ok(())
}

/// A space after whatever is not the start of a list or line.
fn separate(out: &mut String) {
    if !out.is_empty() && !out.ends_with(['(', '\n']) {
        out.push(' ');
    }
}

/// Whether a text is a word, or a quoted text, and nothing beside.
fn is_one_token(text: &str) -> bool {
    let mut tokens = tokens(text);
    let first = tokens.next();
    let whole = first.as_ref().is_some_and(|token| token.range == (0..text.len()));
    let kind = first.map(|token| token.kind);
    whole && matches!(kind, Some(TokenKind::Word | TokenKind::Text { closed: true }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use symbolic_expressions::parser::parse_str;

    fn word(text: &str) -> Value {
        Value::String(text.to_owned())
    }

    fn read(text: &str) -> Vec<Value> {
        let mut sources = Sources::default();
        let file = sources.add("<text>", text);
        values(&sources, file).expect("balanced")
    }

    fn written(values: &[Value]) -> String {
        let mut sources = Sources::default();
        let file = add(&mut sources, "<values>", values).expect("not too deep");
        sources.get(file).text.clone()
    }

    #[test]
    fn words_texts_and_lists_come_back() {
        let text =
            "(data (seed 1) (table (file \"a b.npy\" \"word\")) () \"q\\\"\\\\\\n\") ?x :when\n";
        let values = read(text);
        assert_eq!(values.len(), 3);
        let again = written(&values);
        assert_eq!(read(&again), values);
        assert_eq!(again.replace('\n', " ").trim(), text.trim());
    }

    #[test]
    fn comments_and_white_space_are_left_out() {
        assert_eq!(written(&read("(a ; b\n   (c))")), "(a (c))\n");
    }

    #[test]
    fn values_of_the_crate_are_read() {
        let value = parse_str("(scf.add (size %n) \"of two words\")").expect("the crate reads it");
        assert_eq!(written(&[value]), "(scf.add (size %n) \"of two words\")\n");
        let made = Value::List(vec![word("a"), Value::Empty, word("(b"), word("")]);
        assert_eq!(written(&[made, Value::Empty]), "(a \"(b\" \"\")\n\n");
    }

    #[test]
    fn diagnostics_point_into_the_text_of_values() {
        let mut sources = Sources::default();
        let value = Value::List(vec![word("a"), word("\"open")]);
        let file = add(&mut sources, "<values>", &[value]).expect("not too deep");
        assert_eq!(sources.get(file).text, "(a \"\\\"open\")\n");
        let forms = sexp::read(&sources, file).expect("balanced");
        assert_eq!(forms[0].list().map(|items| items[1].span.range()), Some(3..11));
    }

    #[test]
    fn deep_values_are_an_error() {
        let deep =
            |n: usize| (1..n).fold(Value::List(Vec::new()), |value, _| Value::List(vec![value]));
        let mut sources = Sources::default();
        let file = add(&mut sources, "<deep>", &[deep(MAX_DEPTH)]).expect("deep enough");
        assert_eq!(sexp::read(&sources, file).expect("balanced").len(), 1);
        let errors = add(&mut sources, "<deep>", &[deep(MAX_DEPTH + 1)]).expect_err("too deep");
        assert!(errors[0].message.contains("nest deeper"), "{errors:?}");
    }
}
