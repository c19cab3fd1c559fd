//! Describes the meaning of names as Markdown.

use ember_language::conditions::{GENERATORS, PREDICATES};
use ember_language::rules::{Operator, Rule, RuleSet, Schedule, SortDecl, SortTerm, Word, words};

/// Returns a sort as it is written in a declaration.
pub(super) fn sort_name(sort: &SortTerm) -> &'static str {
    match sort {
        SortTerm::Is(sort) => sort.name(),
        SortTerm::Any(name) => name.as_str(),
    }
}

/// Returns an operator with the sorts of its arguments and its result.
pub(super) fn shape(op: &Operator) -> String {
    let args: String = op.args.iter().map(|sort| format!(" {}", sort_name(sort))).collect();
    let left =
        if op.args.is_empty() { op.name.to_string() } else { format!("({}{args})", op.name) };
    format!("{left} : {}", sort_name(&op.result))
}

pub(super) fn operator(op: &Operator) -> String {
    let mut notes = vec![format!("dialect `{}`", op.dialect)];
    if let Some((variable, body)) = op.binds {
        notes.push(format!("binds argument {variable} in argument {body}, counted from 0"));
    }
    notes.extend(op.boundary.then(|| "a boundary: no finished program contains it".to_owned()));
    notes.extend(op.input.then(|| "terms that rules start from may have it".to_owned()));
    format!("{}\n{}\n\n{}", code(&shape(op)), op.doc, notes.join("; "))
}

pub(super) fn sort(sort: &SortDecl) -> String {
    format!("{}\n{}\n\ndialect `{}`", code(&format!("sort {}", sort.sort)), sort.doc, sort.dialect)
}

pub(super) fn predicate(name: &str) -> Option<String> {
    let predicate = PREDICATES.iter().find(|predicate| predicate.name == name)?;
    Some(asked(name, predicate.sorts, "A condition", predicate.doc))
}

pub(super) fn generator(name: &str) -> Option<String> {
    let generator = GENERATORS.iter().find(|generator| generator.name == name)?;
    Some(asked(name, generator.sorts, "A source of integers", generator.doc))
}

fn asked(name: &str, sorts: &[&str], what: &str, doc: &str) -> String {
    format!("{}\n{what}: {doc}.", code(&format!("({name} {})", sorts.join(" "))))
}

pub(super) fn rule(rule: &Rule, set: &RuleSet) -> String {
    let phase = format!("{:?}", rule.phase).to_lowercase();
    let exact = format!("{:?}", rule.exact).to_lowercase();
    let sort = rule.sort.map_or(String::new(), |sort| format!(", of terms of {sort}"));
    let head = code(&format!("rule {}", rule.name));
    format!("{head}\n{}\n\nset `{}`; {phase}, {exact}{sort}", rule.doc, set.name)
}

pub(super) fn set(set: &RuleSet) -> String {
    let rules = set.rules.len();
    let plural = if rules == 1 { "" } else { "s" };
    format!("{}\n{}\n\n{rules} rule{plural}", code(&format!("ruleset {}", set.name)), set.doc)
}

pub(super) fn schedule(schedule: &Schedule) -> String {
    format!("{}\n{}", code(&format!("schedule {}", schedule.name)), schedule.doc)
}

pub(super) fn steps(steps: &Schedule) -> String {
    format!("{}\n{}", code(&format!("steps {}", steps.name)), steps.doc)
}

pub(super) fn word(kind: &str, name: &str) -> Option<String> {
    words(kind).find(|word| word.name == name).map(of_word)
}

pub(super) fn of_word(word: &Word) -> String {
    format!("{}\n{}", code(word.usage), word.doc)
}

pub(super) fn code(text: &str) -> String {
    format!("```ember\n{text}\n```")
}
