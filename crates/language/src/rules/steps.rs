//! Reads schedules and named steps: the names of sets, rules and steps are resolved, and nesting and length are bounded.

use super::book::{Phase, RuleBook};
use super::parameters::{Value, Values};
use super::schedule::{Attempt, MOST_STEPS, Schedule, ScheduleStep, height, length, simple};
use super::sketch::Sketch;
use super::syntax::ScheduleForm;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Span};
use crate::sexp::Sexp;
use crate::suggest::unknown;
use egg::Symbol;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The limit on the nesting of steps; a runner may recurse over them.
const MAX_DEPTH: usize = 32;

/// The heads of steps.
pub(super) const STEPS: [&str; 12] = [
    "saturate",
    "keep",
    "rank",
    "repeat",
    "seq",
    "until",
    "otherwise",
    "besides",
    "steps",
    "attempt",
    "choose",
    "permute",
];

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
            ("keep", [n]) => self.counted(n, ScheduleStep::Keep),
            ("rank", [n]) => self.counted(n, ScheduleStep::Rank),
            ("choose", [name, cases @ ..]) => self.choose(item, name, cases, depth),
            ("permute", [name, body @ ..]) => self.permute(item, name, body, depth),
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
            (
                "keep" | "rank" | "repeat" | "until" | "besides" | "steps" | "attempt" | "choose"
                | "permute",
                _,
            ) => {
                let shape = match head {
                    "keep" => "(keep K)",
                    "rank" => "(rank K)",
                    "choose" => "(choose NAME (WORD STEP …) …)",
                    "permute" => "(permute NAME STEP …)",
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

    /// Reads a step with a number, or with a parameter that is one.
    fn counted(&mut self, item: &Sexp, step: fn(usize) -> ScheduleStep) -> Option<ScheduleStep> {
        if item.atom().is_none_or(|word| self.book.parameters.named(word).is_none()) {
            return Some(step(count(item, self.errors)?));
        }
        let parameters = &self.book.parameters;
        let own = self.result(parameters.require(item))?;
        let least = own.values.numbers().first().copied();
        let Some(1..) = least else {
            let message = format!("`{}` has values that are no number of at least 1", own.name);
            let error = Diagnostic::error(message, item.span, "a number should stand here");
            self.errors.push(error.with_code(Code::WrongParameter));
            return None;
        };
        let Some(Value::Number(number)) = parameters.value(own) else {
            let message = format!("`{}` has no default", own.name);
            let error = Diagnostic::error(message, item.span, "a number should stand here");
            self.errors.push(
                error
                    .with_code(Code::WrongParameter)
                    .with_related(own.span, "add `:default VALUE` to it"),
            );
            return None;
        };
        let step = step(usize::try_from(*number).unwrap_or(usize::MAX));
        Some(ScheduleStep::Chosen(own.name, vec![step]))
    }

    /// Reads the steps for each word of a parameter, and returns those of the word that it is set to.
    fn choose(
        &mut self,
        item: &Sexp,
        name: &Sexp,
        cases: &[Sexp],
        depth: usize,
    ) -> Option<ScheduleStep> {
        let parameters = &self.book.parameters;
        let own = self.result(parameters.require(name))?;
        let Values::Categorical(words) = &own.values else {
            let message = format!("the values of `{}` are no words", own.name);
            let error = Diagnostic::error(message, name.span, "words should choose the steps");
            self.errors.push(error.with_code(Code::WrongParameter));
            return None;
        };
        let mut known: BTreeMap<&str, Vec<ScheduleStep>> = BTreeMap::new();
        for case in cases {
            let (word, body) = case.form().unwrap_or_default();
            let steps: Vec<_> = body.iter().filter_map(|item| self.step(item, depth + 1)).collect();
            let is_word = words.iter().any(|known| known == word);
            if !is_word || known.insert(word, steps).is_some() {
                let message = format!("`{word}` is no other value of `{}`", own.name);
                let error = Diagnostic::error(message, case.span, "these steps");
                let help = format!("each of these has its steps once: {}", own.values);
                self.errors.push(error.with_code(Code::WrongShape).with_help(help));
            }
        }
        if let Some(lacking) = words.iter().find(|word| !known.contains_key(word.as_str())) {
            let message = format!("there are no steps for `{lacking}`");
            let error = Diagnostic::error(message, item.span, "in this choice");
            let help = format!("write ({lacking} STEP …), without steps for nothing");
            self.errors.push(error.with_code(Code::WrongShape).with_help(help));
        }
        let Some(Value::Word(word)) = parameters.value(own) else { return None };
        Some(ScheduleStep::Chosen(own.name, known.remove(word.as_str())?))
    }

    /// Reads steps, and returns them in the order that a parameter is set to.
    fn permute(
        &mut self,
        item: &Sexp,
        name: &Sexp,
        body: &[Sexp],
        depth: usize,
    ) -> Option<ScheduleStep> {
        let parameters = &self.book.parameters;
        let own = self.result(parameters.require(name))?;
        let steps = self.steps(body, item.span, depth + 1);
        let Values::Permutation(n) = own.values else {
            let message = format!("the values of `{}` are no orders", own.name);
            let error = Diagnostic::error(message, name.span, "an order should stand here");
            self.errors.push(error.with_code(Code::WrongParameter));
            return None;
        };
        if body.len() != n {
            let message = format!("`{}` orders {n} steps", own.name);
            let error = Diagnostic::error(message, item.span, format!("{} stand here", body.len()));
            self.errors.push(error.with_code(Code::WrongShape));
            return None;
        }
        let Some(Value::Order(order)) = parameters.value(own) else { return None };
        let ordered = order.iter().map(|at| steps.get(*at).cloned()).collect::<Option<_>>()?;
        Some(ScheduleStep::Chosen(own.name, ordered))
    }

    fn result<T>(&mut self, read: Result<T, Diagnostic>) -> Option<T> {
        read.map_err(|error| self.errors.push(error)).ok()
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
