//! Schedules: which rules run in which order, as data.

use super::book::{Phase, RuleBook};
use super::sketch::Sketch;
use super::syntax::ScheduleForm;
use crate::diagnostic::{Diagnostic, Span};
use crate::sexp::Sexp;
use crate::suggest::unknown;
use egg::Symbol;
use std::collections::BTreeSet;

/// The deepest nesting of steps; whoever runs a schedule may recurse over it.
const MAX_DEPTH: usize = 32;

/// The most steps that a schedule takes, each counted as often as it is repeated.
pub const MOST_STEPS: usize = 10_000;

/// A checked schedule.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Its name.
    pub name: Symbol,
    /// What it is for.
    pub doc: String,
    /// Its steps, in order.
    pub steps: Vec<ScheduleStep>,
    /// Where its name stands.
    pub span: Span,
}

/// A step of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleStep {
    /// Applies rules until nothing changes: indices into [`RuleBook::rules`], ascending.
    Saturate(Vec<usize>),
    /// Extracts this many different terms and starts again from them.
    Keep(usize),
    /// Runs steps this many times, or until they change nothing.
    Repeat(usize, Vec<ScheduleStep>),
    /// Runs steps in order.
    Seq(Vec<ScheduleStep>),
    /// Runs steps again and again, until a sketch is found or nothing changes.
    Until(Sketch, Vec<ScheduleStep>),
}

impl Schedule {
    /// Whether it chooses between programs somewhere, which takes a machine and a model.
    pub fn keeps(&self) -> bool {
        simple(&self.steps).any(|step| matches!(step, ScheduleStep::Keep(_)))
    }

    /// The same schedule of some of its rules.
    pub fn only(&self, keep: impl Fn(usize) -> bool) -> Schedule {
        let steps = self.steps.iter().map(|step| step.only(&keep)).collect();
        Schedule { steps, ..self.clone() }
    }

    /// The rules that it runs, as indices into [`RuleBook::rules`].
    pub fn rules(&self) -> BTreeSet<usize> {
        let rules = |step: &ScheduleStep| match step {
            ScheduleStep::Saturate(rules) => rules.clone(),
            _ => Vec::new(),
        };
        simple(&self.steps).flat_map(rules).collect()
    }
}

impl ScheduleStep {
    /// The same step with some of its rules.
    fn only(&self, keep: &impl Fn(usize) -> bool) -> ScheduleStep {
        let of = |steps: &[ScheduleStep]| steps.iter().map(|step| step.only(keep)).collect();
        match self {
            ScheduleStep::Saturate(rules) => {
                ScheduleStep::Saturate(rules.iter().copied().filter(|rule| keep(*rule)).collect())
            }
            ScheduleStep::Keep(terms) => ScheduleStep::Keep(*terms),
            ScheduleStep::Repeat(times, steps) => ScheduleStep::Repeat(*times, of(steps)),
            ScheduleStep::Seq(steps) => ScheduleStep::Seq(of(steps)),
            ScheduleStep::Until(sketch, steps) => ScheduleStep::Until(sketch.clone(), of(steps)),
        }
    }

    /// The steps that this one is made of.
    fn parts(&self) -> &[ScheduleStep] {
        match self {
            ScheduleStep::Saturate(_) | ScheduleStep::Keep(_) => &[],
            ScheduleStep::Repeat(_, steps)
            | ScheduleStep::Seq(steps)
            | ScheduleStep::Until(_, steps) => steps,
        }
    }

    /// How many steps it takes if nothing ends it early and what it looks for is found at once.
    fn length(&self) -> usize {
        let times = match self {
            ScheduleStep::Repeat(times, _) => *times,
            _ => 1,
        };
        times.saturating_mul(length(self.parts()).max(1))
    }
}

/// The steps that are made of no others, in the order in which they stand.
fn simple(steps: &[ScheduleStep]) -> impl Iterator<Item = &ScheduleStep> {
    let mut open: Vec<&ScheduleStep> = steps.iter().rev().collect();
    std::iter::from_fn(move || {
        loop {
            let step = open.pop()?;
            if step.parts().is_empty() {
                return Some(step);
            }
            open.extend(step.parts().iter().rev());
        }
    })
}

fn length(steps: &[ScheduleStep]) -> usize {
    steps.iter().map(ScheduleStep::length).fold(0, usize::saturating_add)
}

pub(super) const STEPS: [&str; 5] = ["saturate", "keep", "repeat", "seq", "until"];

/// Checks schedules against the sets and rules of a book, and adds them to it.
pub(super) fn check(book: &mut RuleBook, forms: &[&ScheduleForm], errors: &mut Vec<Diagnostic>) {
    for form in forms {
        if let Some(first) = book.schedule(&form.name.text) {
            errors.push(
                Diagnostic::error(
                    format!("schedule `{}` is defined twice", form.name.text),
                    form.name.span,
                    "again here",
                )
                .with_related(first.span, "first defined here"),
            );
        }
        let steps = steps(book, &form.steps, form.name.span, 0, errors);
        if length(&steps) > MOST_STEPS {
            let what = format!("schedule `{}`", form.name.text);
            errors.push(too_many(&what, form.name.span));
        }
        book.schedules.push(Schedule {
            name: Symbol::from(&form.name.text),
            doc: form.doc.clone(),
            steps,
            span: form.name.span,
        });
    }
}

fn steps(
    book: &RuleBook,
    items: &[Sexp],
    parent: Span,
    depth: usize,
    errors: &mut Vec<Diagnostic>,
) -> Vec<ScheduleStep> {
    if items.is_empty() {
        errors.push(
            Diagnostic::error("no steps", parent, "this does nothing")
                .with_help(format!("a step is one of: ({} …)", STEPS.join(" …), ("))),
        );
    }
    items.iter().filter_map(|item| step(book, item, depth, errors)).collect()
}

fn step(
    book: &RuleBook,
    item: &Sexp,
    depth: usize,
    errors: &mut Vec<Diagnostic>,
) -> Option<ScheduleStep> {
    let Some((head, rest)) = item.form() else {
        errors.push(
            Diagnostic::error("expected a step", item.span, "this is not a step")
                .with_help(format!("a step is one of: ({} …)", STEPS.join(" …), ("))),
        );
        return None;
    };
    if depth >= MAX_DEPTH {
        errors.push(Diagnostic::error(
            format!("steps nest deeper than {MAX_DEPTH}"),
            item.span,
            "this one is too deep",
        ));
        return None;
    }
    match (head, rest) {
        ("saturate", selectors) => {
            Some(ScheduleStep::Saturate(select(book, item, selectors, errors)))
        }
        ("keep", [n]) => Some(ScheduleStep::Keep(count(n, errors)?)),
        ("repeat", [n, body @ ..]) => {
            let times = count(n, errors)?;
            let body = steps(book, body, item.span, depth + 1, errors);
            let step = ScheduleStep::Repeat(times, body);
            if step.length() > MOST_STEPS {
                errors.push(too_many("`repeat`", n.span));
                return None;
            }
            Some(step)
        }
        ("seq", body) => Some(ScheduleStep::Seq(steps(book, body, item.span, depth + 1, errors))),
        ("until", [sketch, body @ ..]) => {
            let sketch = Sketch::read(&book.signature, sketch, errors);
            let body = steps(book, body, item.span, depth + 1, errors);
            Some(ScheduleStep::Until(sketch?, body))
        }
        ("keep" | "repeat" | "until", _) => {
            let shape = match head {
                "keep" => "(keep K)",
                "repeat" => "(repeat N STEP …)",
                _ => "(until SKETCH STEP …)",
            };
            errors.push(Diagnostic::error(
                format!("`{head}` has the wrong shape"),
                item.span,
                format!("expected {shape}"),
            ));
            None
        }
        _ => {
            let span = item.list().map_or(item.span, |l| l[0].span);
            errors.push(unknown("step", head, span, STEPS));
            None
        }
    }
}

fn too_many(what: &str, span: Span) -> Diagnostic {
    Diagnostic::error(
        format!("{what} takes more than {MOST_STEPS} steps"),
        span,
        "each step counts as often as it is repeated",
    )
    .with_help("repeating ends where nothing changes: a small number is enough")
}

/// The rules that a `(saturate …)` names: sets, `(phase P)`, or `*` for all.
fn select(
    book: &RuleBook,
    step: &Sexp,
    selectors: &[Sexp],
    errors: &mut Vec<Diagnostic>,
) -> Vec<usize> {
    let mut chosen = vec![false; book.rules.len()];
    if selectors.is_empty() {
        errors.push(
            Diagnostic::error("no rules are chosen", step.span, "this saturates nothing")
                .with_help("write (saturate SET …), (saturate (phase P)) or (saturate *)"),
        );
    }
    for selector in selectors {
        match (selector.atom(), selector.form()) {
            (Some("*"), _) => chosen.fill(true),
            (Some(name), _) => match book.set(name) {
                Some(set) => set.rules.iter().for_each(|&rule| chosen[rule] = true),
                None => {
                    let known: Vec<&str> = book.sets.iter().map(|s| s.name.as_str()).collect();
                    errors.push(unknown("rule set", name, selector.span, known));
                }
            },
            (None, Some(("phase", [name]))) if name.atom().is_some() => {
                let word = name.atom().unwrap_or_default();
                match Phase::parse(word) {
                    Some(phase) => {
                        for (rule, chosen) in book.rules.iter().zip(&mut chosen) {
                            *chosen |= rule.phase == phase;
                        }
                    }
                    None => {
                        errors.push(unknown("phase", word, name.span, Phase::NAMES.iter().copied()))
                    }
                }
            }
            _ => errors.push(
                Diagnostic::error(
                    "expected rules to apply",
                    selector.span,
                    "this chooses no rules",
                )
                .with_help("write the name of a set, (phase P) or *"),
            ),
        }
    }
    // What an operator stands for is known everywhere.
    let known = |rule: usize| book.is_definition(&book.rules[rule]);
    (0..chosen.len()).filter(|&rule| chosen[rule] || known(rule)).collect()
}

/// A number of at least 1.
fn count(item: &Sexp, errors: &mut Vec<Diagnostic>) -> Option<usize> {
    let n = item.atom().and_then(|t| t.parse::<usize>().ok()).filter(|&n| n > 0);
    if n.is_none() {
        errors.push(Diagnostic::error(
            "expected a number",
            item.span,
            "not a number of at least 1",
        ));
    }
    n
}
