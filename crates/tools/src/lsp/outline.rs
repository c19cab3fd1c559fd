//! The answers about a file as a whole: its forms, and the sorts of its rules' variables.

use super::answer::form_name;
use super::place::Lines;
use super::world::World;
use ember_language::lex::{Token, TokenKind, tokens};
use lsp_types::{
    DocumentSymbol, InlayHint, InlayHintKind, InlayHintLabel, InlayHintTooltip, SymbolKind,
};
use std::collections::BTreeSet;
use std::ops::Range;

/// The limit on the hints of an answer.
const MAX_HINTS: usize = 10_000;

/// A list of the outermost two levels: its range in bytes, and its tokens.
struct Form {
    range: Range<usize>,
    tokens: Vec<Token>,
}

/// Returns the lists of a text that are inside `depth` others.
fn forms(text: &str, depth: usize) -> Vec<Form> {
    let mut forms: Vec<Form> = Vec::new();
    let mut open = 0usize;
    let mut current: Option<Form> = None;
    for token in tokens(text) {
        if token.kind == TokenKind::Open {
            open += 1;
            if open == depth + 1 {
                current = Some(Form { range: token.range.clone(), tokens: Vec::new() });
            }
        }
        if let Some(form) = &mut current {
            form.range.end = token.range.end;
            form.tokens.push(token.clone());
        }
        if token.kind == TokenKind::Close {
            if open == depth + 1 {
                forms.extend(current.take());
            }
            open = open.saturating_sub(1);
        }
    }
    // A form that is being written has no end yet.
    forms.extend(current);
    forms
}

/// Returns the forms of a text, with the declarations of dialects.
pub(super) fn symbols(text: &str, lines: &Lines) -> Vec<DocumentSymbol> {
    let mut declared = forms(text, 1).into_iter().peekable();
    let mut symbols = Vec::new();
    for form in forms(text, 0) {
        let mut children = Vec::new();
        let Some(mut symbol) = symbol(text, lines, &form) else { continue };
        let dialect = symbol.detail.as_deref() == Some("dialect");
        while let Some(inner) = declared.next_if(|inner| inner.range.start < form.range.end) {
            if dialect {
                children.extend(self::symbol(text, lines, &inner));
            }
        }
        symbol.children = (!children.is_empty()).then_some(children);
        symbols.push(symbol);
    }
    symbols
}

fn symbol(text: &str, lines: &Lines, form: &Form) -> Option<DocumentSymbol> {
    let mut words = form.tokens.iter().filter(|token| token.kind == TokenKind::Word);
    let head = &text[words.next()?.range.clone()];
    let kind = match head {
        "dialect" => SymbolKind::NAMESPACE,
        "sort" => SymbolKind::CLASS,
        "op" | "define" => SymbolKind::FUNCTION,
        "ruleset" => SymbolKind::MODULE,
        "rule" | "commutes" => SymbolKind::METHOD,
        "schedule" | "steps" => SymbolKind::EVENT,
        "model" | "case" => SymbolKind::OBJECT,
        _ => return None,
    };
    let name = words.next()?.range.clone();
    // The field of the type is deprecated but mandatory.
    #[allow(deprecated)]
    Some(DocumentSymbol {
        name: text[name.clone()].to_owned(),
        detail: Some(head.to_owned()),
        kind,
        tags: None,
        deprecated: None,
        range: lines.range(form.range.clone()),
        selection_range: lines.range(name),
        children: None,
    })
}

/// Returns the sort of each variable of a rule at its first occurrence, in a range of the text.
pub(super) fn hints(
    world: &World,
    text: &str,
    lines: &Lines,
    within: Range<usize>,
) -> Vec<InlayHint> {
    let mut hints = Vec::new();
    let Some(book) = world.book() else { return hints };
    let touches = |form: &Form| form.range.start < within.end && within.start < form.range.end;
    for form in forms(text, 0).iter().filter(|form| touches(form)) {
        let name = form_name(text, form.range.start);
        let Some(rule) = name.and_then(|name| book.rule(name)) else { continue };
        let mut seen = BTreeSet::new();
        for token in form.tokens.iter().filter(|token| token.kind == TokenKind::Word) {
            let word = &text[token.range.clone()];
            if !word.starts_with('?') || !seen.insert(word) || !within.contains(&token.range.start)
            {
                continue;
            }
            let known = rule.variables.iter().find(|(variable, _)| variable.to_string() == word);
            let Some(sort) = known.and_then(|(_, sort)| *sort) else { continue };
            let doc = world.signature().sort(sort.name()).map(|sort| sort.doc.clone());
            hints.push(InlayHint {
                position: lines.position(token.range.end),
                label: InlayHintLabel::String(format!(": {sort}")),
                kind: Some(InlayHintKind::TYPE),
                text_edits: None,
                tooltip: doc.map(InlayHintTooltip::String),
                padding_left: None,
                padding_right: None,
                data: None,
            });
            if hints.len() == MAX_HINTS {
                return hints;
            }
        }
    }
    hints
}
