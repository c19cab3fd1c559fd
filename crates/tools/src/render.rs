//! Renders diagnostics as text for people and as JSON for tools; no other module prints diagnostics.

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use ember_language::diagnostic::{Diagnostic, FileId, Severity, Source, Sources, Span};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// The limit on the diagnostics rendered as text; the rest are counted. JSON contains all.
pub const SHOWN: usize = 100;

/// The limit on the bytes of text that the renderer walks, after which the remaining diagnostics are only counted. A
/// text of a single line is walked for each of them.
const WALKED: usize = 16 << 20;

/// Renders diagnostics as text: for each its message, file, line and column, the underlined text with the label beside
/// it, and the help. `color` adds ANSI styles.
pub fn render(sources: &Sources, diagnostics: &[Diagnostic], color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    let (mut shown, mut walked) = (0, 0);
    for diagnostic in diagnostics.iter().take(SHOWN) {
        if walked > WALKED {
            break;
        }
        shown += 1;
        let snippets = snippets(sources, diagnostic);
        walked += snippets.iter().map(|(_, bytes)| bytes).sum::<usize>();
        let mut group = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        }
        .primary_title(diagnostic.message.as_str())
        .elements(snippets.into_iter().map(|(snippet, _)| snippet));
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        out.push_str(&renderer.render(&[group]));
        out.push_str("\n\n");
    }
    if let Some(more) = diagnostics.len().checked_sub(shown).filter(|n| *n > 0) {
        let title = Level::NOTE.primary_title(format!("{more} more not shown"));
        out.push_str(&renderer.render(&[Group::with_title(title)]));
        out.push_str("\n\n");
    }
    out
}

/// Writes diagnostics to standard error, with colour if it is a terminal that supports it.
pub fn emit(sources: &Sources, diagnostics: &[Diagnostic]) {
    anstream::eprint!("{}", render(sources, diagnostics, true));
}

/// A place of a diagnostic and its label.
type Place<'a> = (AnnotationKind, Span, &'a str);

/// Returns the texts of a diagnostic's places with their lengths in bytes: one snippet for each file, the file of the
/// main place first.
fn snippets<'a>(
    sources: &Sources,
    diagnostic: &'a Diagnostic,
) -> Vec<(Snippet<'a, Annotation<'a>>, usize)> {
    let Some((main, label)) = &diagnostic.at else { return Vec::new() };
    let mut files: BTreeMap<(bool, FileId), Vec<Place>> = BTreeMap::new();
    files.entry((false, main.file)).or_default().push((AnnotationKind::Primary, *main, label));
    for (span, label) in &diagnostic.related {
        let key = (span.file != main.file, span.file);
        files.entry(key).or_default().push((AnnotationKind::Context, *span, label));
    }
    files.into_iter().map(|((_, file), places)| snippet(sources.get(file), &places)).collect()
}

/// Returns the lines of a text that contain the places, and their length. The renderer walks all the text that it
/// receives, and a long text may have many errors, so it receives only these lines.
fn snippet<'a>(source: &Source, places: &[Place<'a>]) -> (Snippet<'a, Annotation<'a>>, usize) {
    let text = source.text.as_str();
    let ranges: Vec<_> = places.iter().map(|(_, span, _)| clamp(text, span.range())).collect();
    let first = ranges.iter().map(|r| r.start).min().unwrap_or(0);
    let last = ranges.iter().map(|r| r.end).max().unwrap_or(0);
    let from = text[..first].rfind('\n').map_or(0, |n| n + 1);
    let to = text[last..].find('\n').map_or(text.len(), |n| last + n + 1);
    let annotations = places.iter().zip(ranges).map(|((kind, _, label), range)| {
        let label = (!label.is_empty()).then_some(*label);
        kind.span(range.start - from..range.end - from).label(label)
    });
    let snippet = Snippet::source(text[from..to].to_owned())
        .path(source.path.to_string_lossy().into_owned())
        .line_start(1 + text[..from].matches('\n').count())
        .annotations(annotations);
    (snippet, to - from)
}

/// Returns a range clipped to the text and to whole characters.
fn clamp(text: &str, range: Range<usize>) -> Range<usize> {
    let floor = |at: usize| {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = floor(range.start);
    start..floor(range.end).max(start)
}

/// Converts diagnostics to a JSON array of objects with `severity`, `message`, `label`, `help`, a place (`file`, and
/// `line`, `column`, `end_line`, `end_column`, all from 1, columns in characters) and `related` places; an absent field
/// is `null`.
pub fn to_json(sources: &Sources, diagnostics: &[Diagnostic]) -> Value {
    let place = |span: &Span, label: &str| {
        let source = sources.get(span.file);
        let range = clamp(&source.text, span.range());
        let (line, column) = position(&source.text, range.start);
        let (end_line, end_column) = position(&source.text, range.end);
        json!({
            "file": source.path.to_string_lossy(), "label": label,
            "line": line, "column": column, "end_line": end_line, "end_column": end_column,
        })
    };
    let one = |d: &Diagnostic| {
        json!({
            "severity": d.severity,
            "message": d.message,
            "at": d.at.as_ref().map(|(span, label)| place(span, label)),
            "related": d.related.iter().map(|(span, label)| place(span, label)).collect::<Vec<_>>(),
            "help": d.help,
        })
    };
    diagnostics.iter().map(one).collect()
}

/// Converts diagnostics to the form of the language server protocol: an object with a list for each file, by its URI.
/// Lines and characters count from 0, characters in units of UTF-16.
pub fn to_lsp(sources: &Sources, files: &[FileId], diagnostics: &[Diagnostic]) -> Value {
    let mut by_file: BTreeMap<FileId, Vec<Value>> =
        files.iter().map(|file| (*file, Vec::new())).collect();
    for diagnostic in diagnostics {
        if let Some((span, _)) = &diagnostic.at {
            by_file.entry(span.file).or_default().push(lsp_diagnostic(sources, diagnostic));
        }
    }
    let lists = by_file.into_iter().map(|(file, list)| (uri(&sources.get(file).path), list.into()));
    Value::Object(lists.collect())
}

/// Converts one diagnostic to the form of the language server protocol. A diagnostic without a place is put at the
/// start.
pub fn lsp_diagnostic(sources: &Sources, diagnostic: &Diagnostic) -> Value {
    let (span, label) = match &diagnostic.at {
        Some((span, label)) => (Some(span), label.as_str()),
        None => (None, ""),
    };
    let zero = json!({"line": 0, "character": 0});
    let range = span.map_or_else(
        || json!({"start": zero, "end": zero}),
        |span| lsp_range(&sources.get(span.file).text, *span),
    );
    let related = diagnostic.related.iter().map(|(span, label)| {
        let source = sources.get(span.file);
        let range = lsp_range(&source.text, *span);
        json!({"location": {"uri": uri(&source.path), "range": range}, "message": label})
    });
    let mut message = diagnostic.message.clone();
    if !label.is_empty() {
        message = format!("{message}: {label}");
    }
    if let Some(help) = &diagnostic.help {
        message = format!("{message}\nhelp: {help}");
    }
    let mut object = json!({
        "range": range,
        "severity": match diagnostic.severity { Severity::Error => 1, Severity::Warning => 2 },
        "source": "ember-rewrite",
        "message": message,
        "relatedInformation": related.collect::<Vec<_>>(),
    });
    if let Some(code) = diagnostic.code {
        object["code"] = json!(code.name());
    }
    object
}

/// Converts a span to a range of the language server protocol.
pub fn lsp_range(text: &str, span: Span) -> Value {
    let range = clamp(text, span.range());
    let position = |byte: usize| {
        let before = &text[..byte];
        let line = before.matches('\n').count();
        let character = before.rsplit('\n').next().unwrap_or("").encode_utf16().count();
        json!({"line": line, "character": character})
    };
    json!({"start": position(range.start), "end": position(range.end)})
}

/// Returns the `file` URI of a path.
pub fn uri(path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~".contains(&b);
    let text = whole.to_string_lossy();
    let escaped = text
        .bytes()
        .map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") });
    format!("file://{}", escaped.collect::<String>())
}

/// Returns the line and column of a byte of a text, both from 1; columns count characters.
fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = &text[..byte];
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.rsplit('\n').next().unwrap_or("").chars().count();
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renders an error at the part of a text between two `|` marks, which are removed.
    fn show(marked: &str) -> String {
        let start = marked.find('|').expect("a first mark");
        let end = marked.rfind('|').expect("a second mark") - 1;
        let mut sources = Sources::default();
        let file = sources.add("m.sexp", marked.replace('|', ""));
        let span = Span::new(file, start..end.max(start));
        let error = Diagnostic::error("no good", span, "this").with_help("try again");
        let json = to_json(&sources, std::slice::from_ref(&error));
        let at = &json[0]["at"];
        let text = render(&sources, &[error], false);
        let place = format!("m.sexp:{}:{}", at["line"], at["column"]);
        assert!(text.contains(&place), "{place} expected in:\n{text}");
        text
    }

    #[test]
    fn underlines_the_text() {
        let expected = "\
error: no good
 --> m.sexp:2:4
  |
2 | (b |cc| d)
  |    ^^ this
  |
  = help: try again

";
        assert_eq!(show("(a)\n(b |cc| d)\n"), expected.replace("|cc|", "cc"));
    }

    #[test]
    fn columns_count_characters_and_underlines_follow_their_width() {
        let text = show("(é 漢 |ü|)");
        assert!(text.contains("m.sexp:1:6"), "{text}");
        assert!(text.contains("\n1 | (é 漢 ü)\n  |       ^ this\n"), "{text}");
    }

    #[test]
    fn tabs_carriage_returns_and_empty_spans() {
        let text = show("a\r\n\tb |c|\r\nd\r\n");
        assert!(text.contains("2 |     b c\n  |       ^ this"), "{text}");
        assert!(show("a ||b").contains("  |   ^ this"));
        assert!(show("||").contains("m.sexp:1:1"));
        assert!(show("a\n||").contains("m.sexp:2:1"));
    }

    #[test]
    fn spans_of_several_lines_are_drawn_from_first_to_last() {
        let text = show("x\n(a\n |b\nc\nd|)\n");
        assert!(text.contains("3 | /  b\n4 | | c\n5 | | d)\n  | |_^ this"), "{text}");
    }

    #[test]
    fn broken_spans_are_cut_to_the_text() {
        let mut sources = Sources::default();
        let file = sources.add("m", "é");
        let error = Diagnostic::error("x", Span::new(file, 1..99), "y");
        assert!(render(&sources, &[error], false).contains("m:1:1"));
    }

    #[test]
    fn many_diagnostics_are_counted() {
        let errors = vec![Diagnostic::global("x"); SHOWN + 2];
        assert!(render(&Sources::default(), &errors, false).contains("note: 2 more not shown"));
    }

    #[test]
    fn a_long_line_is_not_walked_for_every_diagnostic() {
        let mut sources = Sources::default();
        let file = sources.add("m", "x".repeat(WALKED + 1));
        let errors = vec![Diagnostic::error("x", Span::new(file, 5..6), "y"); SHOWN];
        assert!(render(&sources, &errors, false).contains("note: 99 more not shown"));
    }

    #[test]
    fn colour_only_on_request() {
        let errors = [Diagnostic::global("x").with_help("y")];
        assert_eq!(render(&Sources::default(), &errors, false), "error: x\n |\n = help: y\n\n");
        assert!(render(&Sources::default(), &errors, true).contains('\u{1b}'));
    }
}
