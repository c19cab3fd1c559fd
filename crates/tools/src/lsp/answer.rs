//! Answers requests about one place: the meaning of the word there, its declaration, and possible completions.

use super::describe;
use super::spot::{Role, Spot};
use super::world::World;
use egg::Symbol;
use ember_language::conditions::{GENERATORS, PREDICATES};
use ember_language::lex::{TokenKind, tokens};
use ember_language::rules::{Operator, Schedule, words};
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionTextEdit, Documentation, MarkupContent,
    MarkupKind, Range, TextEdit,
};
use std::collections::BTreeSet;
use std::ops;
use std::path::PathBuf;

/// The place of a declaration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub path: PathBuf,
    /// The text that the range refers to; empty for a file as a whole.
    pub text: String,
    pub range: ops::Range<usize>,
}

/// Returns the meaning of the word at a place, as Markdown.
pub(super) fn hover(world: &World, text: &str, spot: &Spot) -> Option<String> {
    let book = world.book();
    match spot.role() {
        Role::Word(kind) => describe::word(kind, spot.word),
        Role::Variable => {
            let sort = variable_sort(world, text, spot)?;
            Some(describe::code(&format!("{} : {sort}", spot.word)))
        }
        Role::Operator(arity) => {
            let found = operators(world, spot.word, arity);
            let described: Vec<String> = found.into_iter().map(describe::operator).collect();
            (!described.is_empty()).then(|| described.join("\n\n---\n\n"))
        }
        Role::Predicate => describe::predicate(spot.word),
        Role::Generator => describe::generator(spot.word),
        Role::Sort => world.signature().sort(spot.word).map(describe::sort),
        Role::Set => book?.set(spot.word).map(describe::set),
        Role::Schedule => book?.schedule(spot.word).map(describe::schedule),
        Role::Steps => book?.steps(spot.word).map(describe::steps),
        Role::Rule => {
            let book = book?;
            book.rule(spot.word).map(|rule| describe::rule(rule, &book.sets[rule.set]))
        }
        Role::Path | Role::Nothing => None,
    }
}

/// Returns the place at which the word at a place is declared.
pub(super) fn definition(world: &World, text: &str, spot: &Spot, path: PathBuf) -> Option<Target> {
    let span = match spot.role() {
        Role::Operator(arity) => operators(world, spot.word, arity).first()?.span,
        Role::Sort => world.signature().sort(spot.word)?.span,
        Role::Set => world.book()?.set(spot.word)?.span,
        Role::Schedule => world.book()?.schedule(spot.word)?.span,
        Role::Steps => world.book()?.steps(spot.word)?.span,
        Role::Rule => world.book()?.rule(spot.word)?.span,
        Role::Variable => {
            let range = first_in_form(text, spot)?;
            return Some(Target { path, text: text.to_owned(), range });
        }
        Role::Path => {
            let target = path.parent()?.join(spot.word.trim_matches('"'));
            let path = target.is_file().then_some(target)?;
            return Some(Target { path, text: String::new(), range: 0..0 });
        }
        Role::Word(_) | Role::Predicate | Role::Generator | Role::Nothing => return None,
    };
    let text = world.text(span).to_owned();
    Some(Target { path: world.path(span.file).to_owned(), text, range: span.range() })
}

/// Returns the operators that a word may mean: the operator with this number of arguments, else all of its name.
fn operators<'w>(world: &'w World, name: &str, arity: usize) -> Vec<&'w Operator> {
    let symbol = Symbol::from(name);
    match world.signature().operator(symbol, arity) {
        Some(op) => vec![op],
        None => world.signature().operators().iter().filter(|op| op.name == symbol).collect(),
    }
}

/// Returns the sort of a variable of the rule around a place.
fn variable_sort(world: &World, text: &str, spot: &Spot) -> Option<&'static str> {
    let start = spot.frames.first()?.start;
    let name = form_name(text, start)?;
    let rule = world.book()?.rule(name)?;
    let found = rule.variables.iter().find(|(variable, _)| variable.to_string() == spot.word)?;
    found.1.map(|sort| sort.name())
}

/// Returns the second item of a form, if it is a word.
pub(super) fn form_name(text: &str, start: usize) -> Option<&str> {
    let second = tokens(&text[start..]).nth(2)?;
    (second.kind == TokenKind::Word).then(|| &text[start..][second.range])
}

/// Returns the first occurrence of the word at a place in the form around it.
fn first_in_form(text: &str, spot: &Spot) -> Option<ops::Range<usize>> {
    let start = spot.frames.first()?.start;
    let mut words = tokens(&text[start..]).filter(|token| token.kind == TokenKind::Word);
    let first = words.find(|token| text[start..].get(token.range.clone()) == Some(spot.word))?;
    Some(start + first.range.start..start + first.range.end)
}

/// Returns the possible completions at a place; they replace the range.
pub(super) fn complete(
    world: &World,
    text: &str,
    spot: &Spot,
    range: Range,
) -> Vec<CompletionItem> {
    let item = |name: &str, kind, detail: String, doc: String| CompletionItem {
        label: name.to_owned(),
        kind: Some(kind),
        detail: Some(detail),
        documentation: Some(Documentation::MarkupContent(MarkupContent {
            kind: MarkupKind::Markdown,
            value: doc,
        })),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit::new(range, name.to_owned()))),
        ..CompletionItem::default()
    };
    let of_words = |kind: &'static str, as_kind| {
        let items = words(kind).map(move |word| {
            item(word.name, as_kind, word.usage.to_owned(), describe::of_word(word))
        });
        items.collect::<Vec<_>>()
    };
    let of_steps = |steps: &Schedule, doc| {
        item(steps.name.as_str(), CompletionItemKind::MODULE, steps.doc.clone(), doc)
    };
    let book = world.book();
    match spot.role() {
        Role::Word("key") => keys(spot).map_or_else(Vec::new, |known| {
            let mut items = of_words("key", CompletionItemKind::PROPERTY);
            items.retain(|item| known.contains(&item.label.as_str()));
            items
        }),
        Role::Word(kind @ ("phase" | "exactness" | "operation")) => {
            of_words(kind, CompletionItemKind::ENUM_MEMBER)
        }
        Role::Word(kind) => of_words(kind, CompletionItemKind::KEYWORD),
        Role::Variable => {
            let mut known = BTreeSet::new();
            let start = spot.frames.first().map_or(0, |frame| frame.start);
            for token in tokens(&text[start..spot.range.start]) {
                let word = &text[start..][token.range];
                known.extend(
                    (token.kind == TokenKind::Word && word.starts_with('?')).then_some(word),
                );
            }
            let variable =
                |name| item(name, CompletionItemKind::VARIABLE, String::new(), String::new());
            known.into_iter().map(variable).collect()
        }
        Role::Operator(_) => {
            let fits = |op: &&Operator| spot.is_head() || op.args.is_empty();
            let operators = world.signature().operators().iter().filter(fits).map(|op| {
                let doc = describe::operator(op);
                item(op.name.as_str(), CompletionItemKind::FUNCTION, describe::shape(op), doc)
            });
            operators.collect()
        }
        Role::Predicate => {
            let all = PREDICATES.iter().filter_map(|p| Some((p, describe::predicate(p.name)?)));
            let predicate = |(p, doc): (&ember_language::conditions::Condition, String)| {
                item(p.name, CompletionItemKind::METHOD, p.sorts.join(" "), doc)
            };
            all.map(predicate).collect()
        }
        Role::Generator => {
            let all = GENERATORS.iter().filter_map(|g| Some((g, describe::generator(g.name)?)));
            let generator = |(g, doc): (&ember_language::conditions::Condition, String)| {
                item(g.name, CompletionItemKind::METHOD, g.sorts.join(" "), doc)
            };
            all.map(generator).collect()
        }
        Role::Sort => {
            let sort = |s: &ember_language::rules::SortDecl| {
                item(s.sort.name(), CompletionItemKind::CLASS, s.doc.clone(), describe::sort(s))
            };
            world.signature().sorts().iter().map(sort).collect()
        }
        Role::Set => book.map_or_else(Vec::new, |book| {
            let sets = book.sets.iter().map(|set| {
                let doc = describe::set(set);
                item(set.name.as_str(), CompletionItemKind::MODULE, set.doc.clone(), doc)
            });
            sets.collect()
        }),
        Role::Schedule => {
            let schedules = book.into_iter().flat_map(|book| &book.schedules);
            schedules.map(|schedule| of_steps(schedule, describe::schedule(schedule))).collect()
        }
        Role::Steps => {
            let named = book.into_iter().flat_map(|book| &book.named_steps);
            named.map(|steps| of_steps(steps, describe::steps(steps))).collect()
        }
        Role::Rule | Role::Path | Role::Nothing => Vec::new(),
    }
}

/// Returns the keywords of the form around a place.
fn keys(spot: &Spot) -> Option<&'static [&'static str]> {
    let [top, inner @ ..] = &spot.frames[..] else { return None };
    match (top.head, inner) {
        ("rule", []) => Some(ember_language::rules::RULE_KEYS),
        ("ruleset", []) => Some(ember_language::rules::RULESET_KEYS),
        ("dialect", [declared]) if declared.head == "op" => Some(ember_language::rules::OP_KEYS),
        ("dialect", []) => Some(&[":input"]),
        _ => None,
    }
}
