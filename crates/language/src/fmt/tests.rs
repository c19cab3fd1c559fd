//! Tests the formatter's guarantees on generated texts and on every file of the project.

use super::format;
use crate::diagnostic::Sources;
use crate::lex::{TokenKind, tokens};
use crate::load::load;
use crate::sexp::{self, Kind, Sexp};
use quickcheck::{Arbitrary, Gen, QuickCheck};
use std::path::{Path, PathBuf};

/// Formats a text; `None` if it cannot be read.
fn formatted(text: &str) -> Option<String> {
    let mut sources = Sources::default();
    let file = sources.add("<test>", text);
    format(&sources, file).ok()
}

/// Returns the expressions of a text without their places.
fn shape(text: &str) -> Vec<String> {
    fn write(sexp: &Sexp, out: &mut Vec<String>) {
        match &sexp.kind {
            Kind::Atom(word) => out.push(format!("word {word}")),
            Kind::Text(text) => out.push(format!("text {text}")),
            Kind::List(items) => {
                out.push("(".to_owned());
                items.iter().for_each(|item| write(item, out));
                out.push(")".to_owned());
            }
        }
    }
    let mut sources = Sources::default();
    let file = sources.add("<test>", text);
    let mut out = Vec::new();
    sexp::read(&sources, file).expect("reads").iter().for_each(|sexp| write(sexp, &mut out));
    out
}

/// Returns the comments of a text, each with the number of other tokens before it.
fn comments(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut before = 0;
    for token in tokens(text) {
        match token.kind {
            TokenKind::Comment => found.push((before, text[token.range].trim_end().to_owned())),
            _ => before += 1,
        }
    }
    found
}

/// Returns the guarantee that formatting a text violates, if any.
fn broken_promise(text: &str) -> Option<String> {
    let once = formatted(text)?;
    let twice = formatted(&once).unwrap_or_default();
    if once != twice {
        return Some(format!("not idempotent:\n{text}\nonce:\n{once}\ntwice:\n{twice}"));
    }
    if shape(text) != shape(&once) {
        return Some(format!("says something else:\n{text}\nformatted:\n{once}"));
    }
    if comments(text) != comments(&once) {
        return Some(format!("comments moved:\n{text}\nformatted:\n{once}"));
    }
    None
}

/// A random text of pieces that the formatter treats in different ways.
#[derive(Clone, Debug)]
struct Text(String);

/// The pieces of the texts, without spaces.
const PIECES: [&str; 34] = [
    "a",
    "?x",
    ":when",
    ":let",
    "=>",
    "<=>",
    "rule",
    "dialect",
    "model",
    "op",
    "ruleset",
    "(",
    "(",
    "(",
    "(rule r \"d\" (f ?x",
    "(op f (V",
    ")",
    ")",
    ")",
    ") => (",
    "; comment",
    ";; é 漢",
    "\"text\"",
    "\"two\n   lines\"",
    "\"q\\\"\\\\\"",
    "a-rather-long-word-that-fills-lines",
    "1.5",
    "(seq (f a b) (g",
    "(saturate a b c d e f",
    ":when (a ?x) (b ?y)",
    "(define (d ?a)",
    ":test",
    ":exact",
    "漢字",
];

/// The spaces between pieces.
const SPACES: [&str; 12] =
    [" ", " ", " ", " ", "  ", "    ", "\n", "\n  ", "\n    ", "\n\n\n", "\t", "\r\n"];

impl Arbitrary for Text {
    fn arbitrary(g: &mut Gen) -> Text {
        let mut text = String::new();
        for _ in 0..usize::arbitrary(g) % 100 {
            let piece = g.choose(&PIECES).copied().unwrap_or_default();
            text += piece;
            text += if piece.starts_with(';') { "\n" } else { "" };
            text += g.choose(&SPACES).copied().unwrap_or_default();
        }
        Text(balanced(&text))
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Text>> {
        let text = self.0.clone();
        let ranges: Vec<_> = tokens(&text).map(|token| token.range).collect();
        let count = ranges.len();
        let without = ranges
            .into_iter()
            .map(move |range| balanced(&format!("{}{}", &text[..range.start], &text[range.end..])));
        // Balancing may have added a parenthesis again.
        Box::new(without.filter(move |text| tokens(text).count() < count).map(Text))
    }
}

/// Balances the parentheses of a text.
fn balanced(text: &str) -> String {
    let (mut out, mut depth, mut at) = (String::new(), 0usize, 0);
    for token in tokens(text) {
        out += &text[at..token.range.start];
        at = token.range.end;
        match token.kind {
            TokenKind::Open => depth += 1,
            TokenKind::Close if depth == 0 => continue,
            TokenKind::Close => depth -= 1,
            TokenKind::Text { closed: false } => continue,
            _ => {}
        }
        out += &text[token.range];
    }
    out + "\n" + &")".repeat(depth)
}

#[test]
fn formatting_keeps_its_promises_on_generated_texts() {
    fn holds(text: Text) -> Result<bool, String> {
        match broken_promise(&text.0) {
            Some(why) => Err(why),
            None => Ok(true),
        }
    }
    QuickCheck::new()
        .rng(Gen::from_size_and_seed(200, 7))
        .tests(3_000)
        .quickcheck(holds as fn(Text) -> Result<bool, String>);
}

/// Returns the path of every S-expression file of the project.
fn project_files() -> Vec<PathBuf> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut folders: Vec<PathBuf> =
        ["rules", "examples", "workloads", "programs", "tests"].map(|name| root.join(name)).into();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
            if path.is_dir() {
                folders.push(path);
            } else if ["rules", "sexp", "case", "terms", "dlc", "slc", "scf"].contains(&extension) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn formatting_keeps_its_promises_on_every_file_of_the_project() {
    let files = project_files();
    assert!(files.len() > 200, "{}", files.len());
    for path in files {
        let mut sources = Sources::default();
        let Ok(file) = load(&mut sources, &path) else { continue };
        if let Some(why) = broken_promise(&sources.get(file).text) {
            panic!("{}: {why}", path.display());
        }
    }
}

#[test]
fn deep_and_wide_texts_are_formatted() {
    let deep = format!("{}{}", "(a\n".repeat(10_000), ")".repeat(10_000));
    assert_eq!(formatted(&deep).map(|text| text.lines().count()), Some(10_000));
    let deep = format!("{}{}", "(a ".repeat(10_000), ")".repeat(10_000));
    assert!(formatted(&deep).is_some_and(|text| text.len() < 4_000_000));
    let wide = format!("({})", "word ".repeat(100_000));
    let wide = formatted(&wide).expect("reads");
    assert!(wide.lines().all(|line| line.len() <= 100));
    assert!(formatted("(").is_none());
    assert_eq!(formatted(""), Some(String::new()));
    assert_eq!(formatted(" ; c \n\n"), Some("; c\n".to_owned()));
}
