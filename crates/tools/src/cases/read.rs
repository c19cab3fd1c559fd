//! Reads case files.

use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};
use ember_language::load::load;
use ember_language::rules::{RuleBook, Schedule, ScheduleStep, Sketch};
use ember_language::sexp::{self, Sexp};
use ember_language::suggest::unknown;
use ember_language::term::Term;
use ember_language::text::{Words, written_out};
use ember_model::Model;
use std::path::Path;

/// A case, ready to be run.
#[derive(Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// The place of its name.
    pub span: Span,
    /// The rules that are applied.
    pub steps: Steps,
    /// The model whose tensors occur in the term.
    pub model: Option<Model>,
    /// The limit on its e-nodes.
    pub nodes: usize,
    /// The term.
    pub input: Term,
    /// The sketches that the result must fit, each with its text.
    pub expect: Vec<(Sketch, Sexp)>,
    /// The sketches that the result must not fit, each with its text.
    pub refuse: Vec<(Sketch, Sexp)>,
    /// The place of the `(expect …)`, or the empty place at which one would be inserted.
    pub expectation: Span,
}

/// The rules that are applied in a case, as the steps of a schedule.
pub type Steps = Vec<ScheduleStep>;

const PARTS: [&str; 7] = ["rules", "schedule", "model", "nodes", "input", "expect", "refuse"];

/// The default limit on the e-nodes of a case, and the greatest limit that it may declare.
const NODES: (usize, usize) = (20_000, 1_000_000);

const SHAPE: &str = "write (case NAME (rules SET …) (input TERM) (expect SKETCH …))";

/// Reads the cases of a file; reports all errors.
pub fn read(sources: &mut Sources, file: FileId, book: &RuleBook) -> Checked<Vec<Case>> {
    let mut errors = Vec::new();
    let mut cases: Vec<Case> = Vec::new();
    for item in sexp::read(sources, file)? {
        match case(sources, &item, book, &mut errors) {
            Ok(case) => {
                if let Some(first) = cases.iter().find(|known| known.name == case.name) {
                    let message = format!("case `{}` stands twice", case.name);
                    let error = Diagnostic::error(message, case.span, "again here");
                    errors.push(error.with_related(first.span, "first here"));
                }
                cases.push(case);
            }
            Err(error) => errors.extend(error),
        }
    }
    if errors.is_empty() { Ok(cases) } else { Err(errors) }
}

fn wrong(message: &str, span: Span, label: &str) -> Diagnostic {
    Diagnostic::error(message, span, label).with_help(SHAPE)
}

/// Reads one case. Errors of its parts are added to `errors`; an error that makes it no case at all is returned.
fn case(
    sources: &mut Sources,
    item: &Sexp,
    book: &RuleBook,
    errors: &mut Vec<Diagnostic>,
) -> Result<Case, Option<Diagnostic>> {
    let Some(("case", [name, parts @ ..])) = item.form() else {
        return Err(Some(wrong("expected a case", item.span, "not a case")));
    };
    let Some(text) = name.atom() else {
        return Err(Some(wrong("expected the name of the case", name.span, "not a word")));
    };
    let before = errors.len();
    let mut found: [Option<&Sexp>; PARTS.len()] = [None; PARTS.len()];
    for part in parts {
        let Some((head, rest)) = part.form() else {
            errors.push(wrong("expected a part of a case", part.span, "not a list"));
            continue;
        };
        match PARTS.iter().position(|known| *known == head) {
            Some(at) if found[at].is_some() => {
                errors.push(wrong(&format!("`{head}` stands twice"), part.span, "again here"));
            }
            // An empty expectation is a placeholder to be filled in.
            Some(_) if rest.is_empty() && head != "expect" => {
                errors.push(wrong(
                    &format!("`{head}` has the wrong shape"),
                    part.span,
                    "nothing in it",
                ));
            }
            Some(at) => found[at] = Some(part),
            None => errors.push(unknown("part of a case", head, part.span, PARTS)),
        }
    }
    let [rules, schedule, model, nodes, input, expect, refuse] =
        found.map(|part| part.map(|part| (part.span, part.form().map_or(&[][..], |form| form.1))));
    let steps = match (rules, schedule) {
        (Some((_, sets)), None) => Some(chosen(book, sets, errors)),
        (None, Some((span, [name]))) => steps_of(book, name, span, errors),
        _ => {
            let error = wrong("which rules run is not clear", name.span, "in this case");
            errors.push(error.with_help("write either (rules SET …) or (schedule NAME)"));
            None
        }
    };
    let model = model.and_then(|(span, path)| read_model(sources, span, path, book, errors));
    let nodes = nodes.map_or(NODES.0, |(span, items)| {
        let number = |item: &Sexp| item.atom()?.parse().ok().filter(|n| (1..=NODES.1).contains(n));
        let number = if let [item] = items { number(item) } else { None };
        if number.is_none() {
            let help = format!("expected (nodes N), at most {}", NODES.1);
            errors.push(wrong("`nodes` has the wrong shape", span, &help));
        }
        number.unwrap_or(NODES.0)
    });
    let input = match input {
        Some((_, [term])) => {
            let words = match &model {
                Some(model) => model.words(&book.signature),
                None => Words::new(&book.signature),
            };
            let read = written_out(term, &words, &[]);
            match read.and_then(|term| book.signature.read_term(&term)) {
                Ok((term, _)) => Some(term),
                Err(found) => {
                    errors.extend(found);
                    None
                }
            }
        }
        _ => {
            errors.push(wrong("the input is missing", name.span, "in this case"));
            None
        }
    };
    let mut sketches = |part: Option<(Span, &[Sexp])>| -> Vec<(Sketch, Sexp)> {
        let items = part.map_or(&[][..], |(_, items)| items);
        let read = |item: &Sexp| Some((Sketch::read(&book.signature, item, errors)?, item.clone()));
        items.iter().filter_map(read).collect()
    };
    let end = Span { start: item.span.end - 1, end: item.span.end - 1, ..item.span };
    let expectation = expect.map_or(end, |(span, _)| span);
    let (expect, refuse) = (sketches(expect), sketches(refuse));
    match (steps, input) {
        (Some(steps), Some(input)) if errors.len() == before => Ok(Case {
            name: text.to_owned(),
            span: name.span,
            steps,
            model,
            nodes,
            input,
            expect,
            refuse,
            expectation,
        }),
        _ => Err(None),
    }
}

/// Returns a step that applies the rules of sets until nothing changes.
fn chosen(book: &RuleBook, sets: &[Sexp], errors: &mut Vec<Diagnostic>) -> Steps {
    let mut rules: Vec<usize> = Vec::new();
    for name in sets {
        match name.atom().and_then(|text| book.set(text)) {
            Some(set) => rules.extend(&set.rules),
            None => {
                let known = book.sets.iter().map(|set| set.name.as_str());
                errors.push(unknown("rule set", name.atom().unwrap_or(""), name.span, known));
            }
        }
    }
    rules.extend((0..book.rules.len()).filter(|rule| book.is_known(*rule)));
    rules.sort_unstable();
    rules.dedup();
    vec![ScheduleStep::Saturate(rules)]
}

fn steps_of(
    book: &RuleBook,
    name: &Sexp,
    span: Span,
    errors: &mut Vec<Diagnostic>,
) -> Option<Steps> {
    let schedule: Option<&Schedule> = name.atom().and_then(|text| book.schedule(text));
    let Some(schedule) = schedule else {
        let known = book.schedules.iter().map(|schedule| schedule.name.as_str());
        errors.push(unknown("schedule", name.atom().unwrap_or(""), name.span, known));
        return None;
    };
    if schedule.keeps() {
        let message = format!("a case cannot run `{}`", schedule.name);
        let error = Diagnostic::error(message, span, "what it keeps depends on a machine and data");
        let error = error.with_related(schedule.span, "the schedule");
        errors.push(error.with_help("write a schedule without `keep`"));
        return None;
    }
    Some(schedule.steps.clone())
}

/// Reads the model at a path relative to the folder of the case's file.
fn read_model(
    sources: &mut Sources,
    span: Span,
    path: &[Sexp],
    book: &RuleBook,
    errors: &mut Vec<Diagnostic>,
) -> Option<Model> {
    let [path] = path else {
        errors.push(wrong("`model` has the wrong shape", span, "expected (model \"PATH\")"));
        return None;
    };
    let Some(text) = path.text() else {
        errors.push(wrong("expected the path of a model", path.span, "not a text"));
        return None;
    };
    let folder = sources.get(span.file).path.parent().unwrap_or(Path::new("")).to_owned();
    let file = match load(sources, &folder.join(text)) {
        Ok(file) => file,
        Err(found) => {
            let message = format!("cannot read the model `{text}`");
            let reasons = found.into_iter().map(|error| error.message);
            errors.extend(reasons.map(|why| Diagnostic::error(&message, path.span, why)));
            return None;
        }
    };
    match Model::parse_with(sources, file, &book.definitions) {
        Ok(model) => Some(model),
        Err(found) => {
            errors.extend(found);
            None
        }
    }
}
