//! Schedules as data: the order in which rules run.

use super::book::{Phase, RuleBook};
use super::sketch::Sketch;
use super::syntax::ScheduleForm;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Span};
use crate::sexp::Sexp;
use crate::suggest::unknown;
use egg::Symbol;
use itertools::Itertools;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The limit on the nesting of steps; a runner may recurse over them.
const MAX_DEPTH: usize = 32;

/// The limit on the steps of a schedule, with repeated steps counted repeatedly.
pub const MOST_STEPS: usize = 10_000;

/// A checked schedule, or named steps.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Its name.
    pub name: Symbol,
    /// Its purpose.
    pub doc: String,
    /// Its steps, in order.
    pub steps: Vec<ScheduleStep>,
    /// The place of its name.
    pub span: Span,
}

/// A step of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleStep {
    /// Applies rules until nothing changes; the rules are indices into [`RuleBook::rules`], ascending.
    Saturate(Vec<usize>),
    /// Extracts this many different terms and starts again from them.
    Keep(usize),
    /// Runs steps this many times, or until they change nothing.
    Repeat(usize, Vec<ScheduleStep>),
    /// Runs steps in order; named steps are shared by all steps that include them.
    Seq(Arc<Vec<ScheduleStep>>),
    /// Runs steps repeatedly until a sketch is found or nothing changes.
    Until(Sketch, Vec<ScheduleStep>),
    /// Runs steps if there is no finished program yet.
    Otherwise(Vec<ScheduleStep>),
    /// Adds the best programs of other schedules, by name, to the candidates.
    Besides(Vec<Symbol>),
    /// Runs named steps as one attempt at an answer; a search for one starts each attempt from its question alone.
    Attempt(Attempt),
}

/// Steps that are one attempt at an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The name of the steps.
    pub name: Symbol,
    /// Their purpose.
    pub doc: String,
    /// The largest number of e-nodes, if it is less than a search allows.
    pub nodes: Option<usize>,
    /// The steps.
    pub steps: Arc<Vec<ScheduleStep>>,
}

impl Schedule {
    fn new(form: &ScheduleForm, steps: Vec<ScheduleStep>) -> Schedule {
        let (name, doc) = (Symbol::from(&form.name.text), form.doc.clone());
        Schedule { name, doc, steps, span: form.name.span }
    }

    /// Returns true if some step chooses between programs, which requires a machine and a model.
    pub fn keeps(&self) -> bool {
        simple(&self.steps).any(|step| matches!(step, ScheduleStep::Keep(_)))
    }

    /// Returns the names of the schedules whose best programs are candidates, too.
    pub fn rivals(&self) -> Vec<Symbol> {
        let rivals = |step: &ScheduleStep| match step {
            ScheduleStep::Besides(names) => names.clone(),
            _ => Vec::new(),
        };
        simple(&self.steps).flat_map(rivals).collect()
    }

    /// Returns the schedule restricted to the rules that `keep` accepts.
    pub fn only(&self, keep: impl Fn(usize) -> bool) -> Schedule {
        self.running(&|rules| rules.iter().copied().filter(|rule| keep(*rule)).collect())
    }

    /// Returns the schedule with further rules, from later in the book, in every step that runs rules.
    pub fn extended(&self, further: &[usize]) -> Schedule {
        self.running(&|rules| rules.iter().chain(further).copied().unique().collect())
    }

    /// Returns the schedule with other rules in each step that runs rules.
    fn running(&self, rules: &impl Fn(&[usize]) -> Vec<usize>) -> Schedule {
        let steps = self.steps.iter().map(|step| step.running(rules)).collect();
        Schedule { steps, ..self.clone() }
    }

    /// Returns its attempts, in order. Steps outside of any attempt precede the steps of the next one; without an
    /// attempt, the whole schedule is one.
    pub fn attempts(&self) -> Vec<Attempt> {
        let (mut before, mut attempts) = (Vec::new(), Vec::new());
        for step in &self.steps {
            match step {
                ScheduleStep::Attempt(attempt) if before.is_empty() => {
                    attempts.push(attempt.clone())
                }
                ScheduleStep::Attempt(attempt) => {
                    let steps = before.iter().chain(attempt.steps.iter()).cloned().collect();
                    attempts.push(Attempt { steps: Arc::new(steps), ..attempt.clone() });
                }
                step => before.push(step.clone()),
            }
        }
        if attempts.is_empty() {
            let (name, doc, steps) = (self.name, self.doc.clone(), Arc::new(self.steps.clone()));
            attempts.push(Attempt { name, doc, nodes: None, steps });
        }
        attempts
    }

    /// Returns the rules that it runs, as indices into [`RuleBook::rules`].
    pub fn rules(&self) -> BTreeSet<usize> {
        let rules = |step: &ScheduleStep| match step {
            ScheduleStep::Saturate(rules) => rules.clone(),
            _ => Vec::new(),
        };
        simple(&self.steps).flat_map(rules).collect()
    }
}

impl ScheduleStep {
    /// Applies every rule of a book at once.
    pub fn all(book: &RuleBook) -> ScheduleStep {
        ScheduleStep::Saturate((0..book.rules.len()).collect())
    }

    /// Returns the step with other rules.
    fn running(&self, rules: &impl Fn(&[usize]) -> Vec<usize>) -> ScheduleStep {
        let of = |steps: &[ScheduleStep]| steps.iter().map(|step| step.running(rules)).collect();
        match self {
            ScheduleStep::Saturate(own) => ScheduleStep::Saturate(rules(own)),
            ScheduleStep::Keep(terms) => ScheduleStep::Keep(*terms),
            ScheduleStep::Repeat(times, steps) => ScheduleStep::Repeat(*times, of(steps)),
            ScheduleStep::Seq(steps) => ScheduleStep::Seq(Arc::new(of(steps))),
            ScheduleStep::Until(sketch, steps) => ScheduleStep::Until(sketch.clone(), of(steps)),
            ScheduleStep::Otherwise(steps) => ScheduleStep::Otherwise(of(steps)),
            ScheduleStep::Besides(names) => ScheduleStep::Besides(names.clone()),
            ScheduleStep::Attempt(attempt) => {
                let steps = Arc::new(of(&attempt.steps));
                ScheduleStep::Attempt(Attempt { steps, ..attempt.clone() })
            }
        }
    }

    /// Returns the steps inside this one.
    fn parts(&self) -> &[ScheduleStep] {
        match self {
            ScheduleStep::Saturate(_) | ScheduleStep::Keep(_) | ScheduleStep::Besides(_) => &[],
            ScheduleStep::Repeat(_, steps)
            | ScheduleStep::Until(_, steps)
            | ScheduleStep::Otherwise(steps) => steps,
            ScheduleStep::Seq(steps) | ScheduleStep::Attempt(Attempt { steps, .. }) => steps,
        }
    }

    /// Returns the number of steps that it takes if nothing ends it early and every `until` finds its sketch at once.
    fn length(&self) -> usize {
        let times = match self {
            ScheduleStep::Repeat(times, _) => *times,
            _ => 1,
        };
        times.saturating_mul(length(self.parts()).max(1))
    }
}

/// Returns the steps that contain no others, in order.
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

/// Returns the depth of the nesting of steps.
fn height(steps: &[ScheduleStep]) -> usize {
    steps.iter().map(|step| 1 + height(step.parts())).max().unwrap_or(0)
}

pub(super) const STEPS: [&str; 9] =
    ["saturate", "keep", "repeat", "seq", "until", "otherwise", "besides", "steps", "attempt"];

/// Checks named steps and schedules against the sets and rules of a book, and adds them to it.
pub(super) fn check(
    book: &mut RuleBook,
    (named, schedules): (&[ScheduleForm], &[ScheduleForm]),
    errors: &mut Vec<Diagnostic>,
) {
    let mut reader = Reader {
        book,
        schedules: Vec::new(),
        forms: BTreeMap::new(),
        known: BTreeMap::new(),
        open: Vec::new(),
        errors,
    };
    for form in named {
        if let Some(first) = reader.forms.get(form.name.text.as_str()) {
            let error = Diagnostic::error(
                format!("steps `{}` are defined twice", form.name.text),
                form.name.span,
                "again here",
            );
            let first = first.name.span;
            reader
                .errors
                .push(error.with_code(Code::StepsTwice).with_related(first, "first defined here"));
        } else {
            reader.forms.insert(&form.name.text, form);
        }
    }
    reader.schedules = schedules.iter().map(|form| form.name.text.as_str()).collect();
    let named: Vec<Schedule> = named.iter().map(|form| reader.named(form)).collect();
    let mut read: Vec<Schedule> = Vec::with_capacity(schedules.len());
    for form in schedules {
        let name = &form.name;
        if let Some(first) = read.iter().find(|known| known.name.as_str() == name.text) {
            let message = format!("schedule `{}` is defined twice", name.text);
            let error = Diagnostic::error(message, name.span, "again here");
            reader.errors.push(
                error.with_code(Code::ScheduleTwice).with_related(first.span, "first defined here"),
            );
        }
        let steps = reader.steps(&form.steps, name.span, 0);
        if length(&steps) > MOST_STEPS {
            reader.errors.push(too_many(&format!("schedule `{}`", name.text), name.span));
        }
        read.push(Schedule::new(form, steps));
    }
    book.named_steps.extend(named);
    book.schedules.extend(read);
}

/// Reads steps and resolves their names.
struct Reader<'a> {
    book: &'a RuleBook,
    /// The names of all schedules.
    schedules: Vec<&'a str>,
    /// The forms of named steps.
    forms: BTreeMap<&'a str, &'a ScheduleForm>,
    /// The named steps that have been read.
    known: BTreeMap<&'a str, Arc<Vec<ScheduleStep>>>,
    /// The named steps that are being read, outermost first.
    open: Vec<&'a ScheduleForm>,
    errors: &'a mut Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    /// Reads named steps, including the steps that they include.
    fn named(&mut self, form: &'a ScheduleForm) -> Schedule {
        let steps = self.included(form, 0);
        Schedule::new(form, steps.to_vec())
    }

    /// Returns the steps of a form; the form is read once.
    fn included(&mut self, form: &'a ScheduleForm, depth: usize) -> Arc<Vec<ScheduleStep>> {
        if let Some(known) = self.known.get(form.name.text.as_str()) {
            return Arc::clone(known);
        }
        self.open.push(form);
        let mut steps = self.steps(&form.steps, form.name.span, depth);
        self.open.pop();
        if length(&steps) > MOST_STEPS {
            self.errors.push(too_many(&format!("`{}`", form.name.text), form.name.span));
            steps.clear();
        }
        let steps = Arc::new(steps);
        self.known.insert(&form.name.text, Arc::clone(&steps));
        steps
    }

    /// Returns the steps that `(steps NAME)` or `(attempt NAME …)` includes, and their form.
    fn include(
        &mut self,
        item: &Sexp,
        depth: usize,
    ) -> Option<(&'a ScheduleForm, Arc<Vec<ScheduleStep>>)> {
        let (_, [name, ..]) = item.form()? else { return None };
        let word = name.atom().unwrap_or_default();
        let Some(form) = self.forms.get(word).copied() else {
            let known: Vec<&str> = self.forms.keys().copied().collect();
            self.errors
                .push(unknown("steps", word, name.span, known).with_code(Code::UnknownSteps));
            return None;
        };
        if let Some(at) = self.open.iter().position(|open| open.name.text == word) {
            let error = Diagnostic::error(
                format!("steps `{word}` include themselves"),
                name.span,
                "they are being read already",
            );
            let way = self.open[at + 1..]
                .iter()
                .fold(error, |error, open| error.with_related(open.name.span, "by way of these"));
            self.errors.push(way.with_code(Code::StepsCycle));
            return None;
        }
        let steps = self.included(form, depth + 1);
        if depth + 1 + height(&steps) > MAX_DEPTH {
            self.errors.push(too_deep(item.span));
            return None;
        }
        Some((form, steps))
    }

    fn steps(&mut self, items: &[Sexp], parent: Span, depth: usize) -> Vec<ScheduleStep> {
        if items.is_empty() {
            self.errors.push(
                Diagnostic::error("no steps", parent, "this does nothing")
                    .with_code(Code::NoSteps)
                    .with_help(format!("a step is one of: ({} …)", STEPS.join(" …), ("))),
            );
        }
        items.iter().filter_map(|item| self.step(item, depth)).collect()
    }

    fn step(&mut self, item: &Sexp, depth: usize) -> Option<ScheduleStep> {
        let Some((head, rest)) = item.form() else {
            self.errors.push(
                Diagnostic::error("expected a step", item.span, "this is not a step")
                    .with_code(Code::NotAStep)
                    .with_help(format!("a step is one of: ({} …)", STEPS.join(" …), ("))),
            );
            return None;
        };
        if depth >= MAX_DEPTH {
            self.errors.push(too_deep(item.span));
            return None;
        }
        match (head, rest) {
            ("saturate", selectors) => {
                Some(ScheduleStep::Saturate(self.select(item, selectors, depth)))
            }
            ("keep", [n]) => Some(ScheduleStep::Keep(count(n, self.errors)?)),
            ("repeat", [n, body @ ..]) => {
                let times = count(n, self.errors)?;
                let body = self.steps(body, item.span, depth + 1);
                let step = ScheduleStep::Repeat(times, body);
                if step.length() > MOST_STEPS {
                    self.errors.push(too_many("`repeat`", n.span));
                    return None;
                }
                Some(step)
            }
            ("seq", body) => {
                Some(ScheduleStep::Seq(Arc::new(self.steps(body, item.span, depth + 1))))
            }
            ("until", [sketch, body @ ..]) => {
                let sketch = Sketch::read(&self.book.signature, sketch, self.errors);
                let body = self.steps(body, item.span, depth + 1);
                Some(ScheduleStep::Until(sketch?, body))
            }
            ("otherwise", body) => {
                Some(ScheduleStep::Otherwise(self.steps(body, item.span, depth + 1)))
            }
            ("besides", names @ [_, ..]) => {
                let names = names.iter().filter_map(|name| self.rival(name));
                Some(ScheduleStep::Besides(names.collect()))
            }
            ("steps", [_]) => self.include(item, depth).map(|(_, steps)| ScheduleStep::Seq(steps)),
            ("attempt", [_, limit @ ..]) if limit.len() <= 1 => {
                let nodes = match limit {
                    [nodes] => Some(count(nodes, self.errors)?),
                    _ => None,
                };
                let (form, steps) = self.include(item, depth)?;
                let (name, doc) = (Symbol::from(&form.name.text), form.doc.clone());
                Some(ScheduleStep::Attempt(Attempt { name, doc, nodes, steps }))
            }
            ("keep" | "repeat" | "until" | "besides" | "steps" | "attempt", _) => {
                let shape = match head {
                    "keep" => "(keep K)",
                    "repeat" => "(repeat N STEP …)",
                    "until" => "(until SKETCH STEP …)",
                    "besides" => "(besides SCHEDULE …)",
                    "attempt" => "(attempt NAME [NODES])",
                    _ => "(steps NAME)",
                };
                self.errors.push(
                    Diagnostic::error(
                        format!("`{head}` has the wrong shape"),
                        item.span,
                        format!("expected {shape}"),
                    )
                    .with_code(Code::WrongShape),
                );
                None
            }
            _ => {
                let span = item.list().map_or(item.span, |l| l[0].span);
                self.errors.push(unknown("step", head, span, STEPS).with_code(Code::UnknownStep));
                None
            }
        }
    }

    /// Returns the name of a schedule whose programs are candidates, too.
    fn rival(&mut self, item: &Sexp) -> Option<Symbol> {
        let word = item.atom().unwrap_or_default();
        if self.schedules.contains(&word) {
            return Some(Symbol::from(word));
        }
        let known = self.schedules.iter().copied();
        let error = unknown("schedule", word, item.span, known);
        self.errors.push(error.with_code(Code::UnknownSchedule));
        None
    }

    /// Returns the rules that `(saturate …)` selects: sets, `(phase P)`, the rules of named steps, or `*` for all.
    fn select(&mut self, step: &Sexp, selectors: &[Sexp], depth: usize) -> Vec<usize> {
        let book = self.book;
        let mut chosen = vec![false; book.rules.len()];
        if selectors.is_empty() {
            self.errors.push(
                Diagnostic::error("no rules are chosen", step.span, "this saturates nothing")
                    .with_code(Code::NothingChosen)
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
                        let error = unknown("rule set", name, selector.span, known);
                        self.errors.push(error.with_code(Code::UnknownSet));
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
                            let known = Phase::NAMES.iter().copied();
                            let error = unknown("phase", word, name.span, known);
                            self.errors.push(error.with_code(Code::UnknownPhase));
                        }
                    }
                }
                (None, Some(("steps", [_]))) => {
                    let included = self.include(selector, depth);
                    for step in included.iter().flat_map(|(_, steps)| simple(steps)) {
                        if let ScheduleStep::Saturate(rules) = step {
                            rules.iter().for_each(|&rule| chosen[rule] = true);
                        }
                    }
                }
                _ => self.errors.push(
                    Diagnostic::error(
                        "expected rules to apply",
                        selector.span,
                        "this chooses no rules",
                    )
                    .with_code(Code::NotRules)
                    .with_help("write the name of a set, (phase P), (steps NAME) or *"),
                ),
            }
        }
        // Definitions are applied everywhere.
        (0..chosen.len()).filter(|&rule| chosen[rule] || book.is_known(rule)).collect()
    }
}

fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::error(format!("steps nest deeper than {MAX_DEPTH}"), span, "this one is too deep")
        .with_code(Code::StepsTooDeep)
}

fn too_many(what: &str, span: Span) -> Diagnostic {
    Diagnostic::error(
        format!("{what} takes more than {MOST_STEPS} steps"),
        span,
        "each step counts as often as it is repeated",
    )
    .with_code(Code::TooManySteps)
    .with_help("repeating ends where nothing changes: a small number is enough")
}

/// Reads a number of at least 1.
fn count(item: &Sexp, errors: &mut Vec<Diagnostic>) -> Option<usize> {
    let n = item.atom().and_then(|t| t.parse::<usize>().ok()).filter(|&n| n > 0);
    if n.is_none() {
        errors.push(
            Diagnostic::error("expected a number", item.span, "not a number of at least 1")
                .with_code(Code::NotANumber),
        );
    }
    n
}
