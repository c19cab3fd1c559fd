//! Reads the forms of a rule file from S-expressions. Only their shape is checked; names are not resolved, and terms
//! remain S-expressions.

use super::rule_form::{RuleForm, commutes, rule};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Span};
use crate::sexp::Sexp;
use crate::suggest::unknown;

/// A word and its place.
#[derive(Clone, Debug)]
pub struct Word {
    /// The word.
    pub text: String,
    /// Its place.
    pub span: Span,
}

/// A top-level form, unchecked.
#[derive(Debug)]
pub(super) enum Form {
    Dialect(DialectForm),
    Ruleset(RulesetForm),
    Rule(Box<RuleForm>),
    Schedule(ScheduleForm),
    /// Named steps, written like a schedule.
    Steps(ScheduleForm),
    Define(DefineForm),
    /// The path of a file, as it is written.
    Include(Word),
    /// The operator whose push-down rules are derived from the properties of operators.
    Derive(Word),
    /// A parameter that rules leave open.
    Tune(TuneForm),
}

/// The form `(tune NAME "doc" VALUES [:default VALUE] [:when (RELATION A B)…])`.
#[derive(Debug)]
pub(super) struct TuneForm {
    pub name: Word,
    pub doc: String,
    pub values: Sexp,
    pub default: Option<Sexp>,
    pub conditions: Vec<Sexp>,
}

/// The form `(define (NAME ?a …) "doc" TERM)`.
#[derive(Debug)]
pub(super) struct DefineForm {
    pub name: Word,
    pub left: Sexp,
    pub parameters: Vec<Word>,
    pub doc: String,
    pub body: Sexp,
}

/// The form `(dialect NAME "doc" [:input] (sort …)… (op …)…)`.
#[derive(Debug)]
pub(super) struct DialectForm {
    pub name: Word,
    pub doc: String,
    pub input: bool,
    pub items: Vec<Sexp>,
}

/// The form `(ruleset NAME "doc" [:phase P] [:exact E])`.
#[derive(Debug)]
pub(super) struct RulesetForm {
    pub name: Word,
    pub doc: String,
    pub phase: Option<Word>,
    pub exact: Option<Word>,
}

/// The form `(schedule NAME "doc" STEP…)` or `(steps NAME "doc" STEP…)`.
#[derive(Debug)]
pub(super) struct ScheduleForm {
    pub name: Word,
    pub doc: String,
    pub steps: Vec<Sexp>,
}

pub(super) const FORMS: [&str; 10] = [
    "include", "dialect", "define", "ruleset", "rule", "commutes", "derive", "schedule", "steps",
    "tune",
];
/// The keyword of a dialect in which the terms are written that rules start from.
pub(super) const INPUT: &str = ":input";
pub(super) const RULESET_KEYS: [&str; 2] = [":phase", ":exact"];
pub(super) const TUNE_KEYS: [&str; 2] = [":default", ":when"];

/// Reads one top-level form. Its errors are added to `errors`.
pub(super) fn form(sexp: &Sexp, errors: &mut Vec<Diagnostic>) -> Option<Form> {
    let Some((head, items)) = sexp.form() else {
        errors.push(
            Diagnostic::error("expected a form", sexp.span, "this is not a form")
                .with_code(Code::NotAForm)
                .with_help(format!("a rule file consists of ({} …)", FORMS.join(" …), ("))),
        );
        return None;
    };
    let result = match head {
        "dialect" => dialect(sexp.span, items).map(Form::Dialect),
        "ruleset" => ruleset(sexp.span, items, errors).map(Form::Ruleset),
        "rule" => rule(sexp.span, items, errors).map(|r| Form::Rule(Box::new(r))),
        "commutes" => commutes(sexp.span, items).map(|r| Form::Rule(Box::new(r))),
        "schedule" => schedule(sexp.span, items, "schedule").map(Form::Schedule),
        "steps" => schedule(sexp.span, items, "steps").map(Form::Steps),
        "define" => define(sexp.span, items).map(Form::Define),
        "include" => include(sexp.span, items).map(Form::Include),
        "derive" => derive(sexp.span, items).map(Form::Derive),
        "tune" => tune(sexp.span, items, errors).map(Form::Tune),
        _ => {
            let span = sexp.list().map_or(sexp.span, |l| l[0].span);
            Err(unknown("form", head, span, FORMS).with_code(Code::UnknownForm))
        }
    };
    result.map_err(|e| errors.push(e)).ok()
}

/// Reads the next item as a word.
pub(super) fn word(item: Option<&Sexp>, what: &str, form: Span) -> Result<Word, Diagnostic> {
    match item {
        Some(sexp) => match sexp.atom() {
            Some(text) => Ok(Word { text: text.to_owned(), span: sexp.span }),
            None => Err(Diagnostic::error(
                format!("expected {what}"),
                sexp.span,
                "expected a word here",
            )
            .with_code(Code::NoWord)),
        },
        None => Err(Diagnostic::error(format!("{what} is missing"), form, "in this form")
            .with_code(Code::Missing)),
    }
}

/// Reads the next item as a documentation text.
pub(super) fn doc(item: Option<&Sexp>, form: Span) -> Result<String, Diagnostic> {
    let help = "say in one sentence, in double quotes, what it is for";
    match item {
        Some(sexp) => match sexp.text() {
            // A text may span lines in the file; it is shown on one line.
            Some(text) => Ok(text.split_whitespace().collect::<Vec<_>>().join(" ")),
            None => {
                Err(Diagnostic::error("expected a documentation text", sexp.span, "not a text")
                    .with_code(Code::NoDoc)
                    .with_help(help))
            }
        },
        None => Err(Diagnostic::error("the documentation text is missing", form, "in this form")
            .with_code(Code::NoDoc)
            .with_help(help)),
    }
}

/// A keyword and the items up to the next one.
pub(super) struct Section<'a> {
    pub key: Word,
    pub items: &'a [Sexp],
}

/// Splits items into those before the first keyword and the sections after it. Unknown keywords are reported and left
/// out.
pub(super) fn sections<'a>(
    items: &'a [Sexp],
    known: &[&str],
    errors: &mut Vec<Diagnostic>,
) -> (&'a [Sexp], Vec<Section<'a>>) {
    let is_key = |s: &Sexp| s.atom().is_some_and(|w| w.starts_with(':'));
    let first = items.iter().position(is_key).unwrap_or(items.len());
    let (fixed, mut rest) = items.split_at(first);
    let mut found = Vec::new();
    while let Some((head, tail)) = rest.split_first() {
        let (values, next) = tail.split_at(tail.iter().position(is_key).unwrap_or(tail.len()));
        rest = next;
        let key = Word { text: head.atom().unwrap_or_default().to_owned(), span: head.span };
        if known.contains(&key.text.as_str()) {
            found.push(Section { key, items: values });
        } else {
            errors.push(
                unknown("keyword", &key.text, key.span, known.iter().copied())
                    .with_code(Code::UnknownKeyword),
            );
        }
    }
    (fixed, found)
}

fn dialect(span: Span, items: &[Sexp]) -> Result<DialectForm, Diagnostic> {
    let name = word(items.first(), "the name of the dialect", span)?;
    let doc = doc(items.get(1), span)?;
    let items = &items[2..];
    let input = items.first().and_then(Sexp::atom) == Some(INPUT);
    let items = items[usize::from(input)..].to_vec();
    Ok(DialectForm { name, doc, input, items })
}

fn derive(span: Span, items: &[Sexp]) -> Result<Word, Diagnostic> {
    no_more(items, 1)?;
    word(items.first(), "the operator whose rules are derived", span)
}

fn tune(span: Span, items: &[Sexp], errors: &mut Vec<Diagnostic>) -> Result<TuneForm, Diagnostic> {
    let (fixed, rest) = sections(items, &TUNE_KEYS, errors);
    let name = word(fixed.first(), "the name of the parameter", span)?;
    let doc = doc(fixed.get(1), span)?;
    let values = fixed.get(2).cloned().ok_or_else(|| {
        Diagnostic::error("the values of the parameter are missing", span, "in this form")
            .with_code(Code::Missing)
    })?;
    no_more(fixed, 3)?;
    let (mut default, mut conditions) = (None, Vec::new());
    for section in &rest {
        match (section.key.text.as_str(), section.items) {
            (":default", [item]) if default.is_none() => default = Some(item.clone()),
            (":default", [_]) => errors.push(twice(section)),
            (":when", items @ [_, ..]) => conditions.extend_from_slice(items),
            (":default", _) => errors.push(needs(section, "VALUE")),
            _ => errors.push(needs(section, "(RELATION A B) …")),
        }
    }
    Ok(TuneForm { name, doc, values, default, conditions })
}

fn include(span: Span, items: &[Sexp]) -> Result<Word, Diagnostic> {
    no_more(items, 1)?;
    match items.first().map(|item| (item.span, item.text())) {
        Some((span, Some(text))) => Ok(Word { text: text.to_owned(), span }),
        other => Err(Diagnostic::error(
            "expected the path of a file",
            other.map_or(span, |(span, _)| span),
            "not a text",
        )
        .with_code(Code::NoPath)
        .with_help("write (include \"PATH\"), from the folder of this file")),
    }
}

fn define(span: Span, items: &[Sexp]) -> Result<DefineForm, Diagnostic> {
    let shape = "write (define (NAME ?a …) \"doc\" TERM)";
    let Some((left, (head, rest))) =
        items.first().and_then(|left| Some((left, left.list()?.split_first()?)))
    else {
        let span = items.first().map_or(span, |item| item.span);
        return Err(Diagnostic::error("what is defined is missing", span, "not (NAME ?a …)")
            .with_code(Code::NothingDefined)
            .with_help(shape));
    };
    let name = word(Some(head), "the name of the operator", left.span)?;
    let mut parameters: Vec<Word> = Vec::new();
    for item in rest {
        let text = item.atom().filter(|text| text.starts_with('?') && text.len() > 1);
        let Some(text) = text else {
            return Err(Diagnostic::error("expected a variable", item.span, "not a parameter")
                .with_code(Code::NotAParameter)
                .with_help(shape));
        };
        if let Some(first) = parameters.iter().find(|known| known.text == text) {
            return Err(Diagnostic::error(
                format!("parameter `{text}` stands twice"),
                item.span,
                "again here",
            )
            .with_code(Code::ParameterTwice)
            .with_related(first.span, "first here"));
        }
        parameters.push(Word { text: text.to_owned(), span: item.span });
    }
    let doc = doc(items.get(1), span)?;
    let Some(body) = items.get(2) else {
        return Err(Diagnostic::error("the definition is missing", span, "in this form")
            .with_code(Code::NoDefinition)
            .with_help(shape));
    };
    no_more(items, 3)?;
    Ok(DefineForm { name, left: left.clone(), parameters, doc, body: body.clone() })
}

fn schedule(span: Span, items: &[Sexp], head: &str) -> Result<ScheduleForm, Diagnostic> {
    let name = word(items.first(), &format!("the name of the {head}"), span)?;
    let doc = doc(items.get(1), span)?;
    Ok(ScheduleForm { name, doc, steps: items[2..].to_vec() })
}

fn ruleset(
    span: Span,
    items: &[Sexp],
    errors: &mut Vec<Diagnostic>,
) -> Result<RulesetForm, Diagnostic> {
    let (fixed, rest) = sections(items, &RULESET_KEYS, errors);
    let name = word(fixed.first(), "the name of the rule set", span)?;
    let doc = doc(fixed.get(1), span)?;
    no_more(fixed, 2)?;
    let (mut phase, mut exact) = (None, None);
    for section in &rest {
        let slot = if section.key.text == ":phase" { &mut phase } else { &mut exact };
        once(slot, section, errors);
    }
    Ok(RulesetForm { name, doc, phase, exact })
}

/// Stores a keyword's single word; a second one is an error.
pub(super) fn once(slot: &mut Option<Word>, section: &Section, errors: &mut Vec<Diagnostic>) {
    match section.items {
        [item] if item.atom().is_some() => {
            let text = item.atom().unwrap_or_default().to_owned();
            if slot.is_some() {
                errors.push(twice(section));
            }
            *slot = Some(Word { text, span: item.span });
        }
        _ => errors.push(needs(section, "WORD")),
    }
}

fn twice(section: &Section) -> Diagnostic {
    let message = format!("`{}` is given twice", section.key.text);
    Diagnostic::error(message, section.key.span, "the second one").with_code(Code::KeywordTwice)
}

pub(super) fn needs(section: &Section, what: &str) -> Diagnostic {
    let key = &section.key.text;
    Diagnostic::error(
        format!("`{key}` has the wrong shape"),
        section.key.span,
        format!("expected {key} {what}"),
    )
    .with_code(Code::WrongShape)
}

/// Checks that a form has only `n` items before its keywords.
pub(super) fn no_more(items: &[Sexp], n: usize) -> Result<(), Diagnostic> {
    match items.get(n) {
        Some(extra) => Err(Diagnostic::error(
            "unexpected item",
            extra.span,
            "the form is complete before this",
        )
        .with_code(Code::TooMuch)),
        None => Ok(()),
    }
}
