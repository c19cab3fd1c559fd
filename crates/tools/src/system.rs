//! Applies any rules to any terms: several roots in one e-graph, a schedule, goals, and the cheapest term of each root.
//! The module knows nothing of machines and models.

use crate::cases::as_term;
use crate::cost_table::Costs;
use crate::tables::EGraphReport;
use egg::Id;
use ember_analysis::facts::{EGraph, Facts};
use ember_engine::drive::{AppliedAgain, Driver, Observer};
use ember_engine::saturate::{Limits, Progress, RuleReport, Saturation, StopReason};
use ember_language::diagnostic::{Checked, Diagnostic, Sources, Span};
use ember_language::load::load;
use ember_language::print_term::print_term;
use ember_language::rules::{RuleBook, ScheduleStep, Signature, Sketch, Sort};
use ember_language::sexp::{self, Sexp};
use ember_language::suggest;
use ember_language::term::Term;
use ember_language::text::{Names, Words, written, written_out};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, Instant};

/// A term to be rewritten, with the goals of its class.
#[derive(Clone, Debug)]
pub struct Root {
    /// The term.
    pub term: Term,
    /// The terms that are equal to it from the start.
    pub same: Vec<Term>,
    /// The goals, checked at the end.
    pub goals: Vec<Goal>,
}

/// A goal of a class: it must have a term that fits a sketch, or must not.
#[derive(Clone, Debug)]
pub struct Goal {
    /// The sketch.
    pub sketch: Sketch,
    /// The sketch as it was written, on one line.
    pub text: String,
    /// True if the class must have a term that fits; false if it must not.
    pub wanted: bool,
}

const KEYS: [&str; 3] = [":same", ":goal", ":never"];

/// Reads a file of terms, in which loops may name their variables. A term may be followed by `:same TERM`, `:goal
/// SKETCH` and `:never SKETCH`, each any number of times. Reports all errors at once.
pub fn read(sources: &mut Sources, path: &Path, signature: &Signature) -> Checked<Vec<Root>> {
    let file = load(sources, path)?;
    let items = sexp::read(sources, file)?;
    let mut errors = Vec::new();
    let mut roots: Vec<Root> = Vec::new();
    // The sort of the last term; `None` if the term could not be read.
    let mut sort = None;
    let mut rest = items.iter();
    while let Some(item) = rest.next() {
        let Some(key) = item.atom().filter(|word| word.starts_with(':')) else {
            sort = take(term(item, signature), &mut errors).map(|(term, sort)| {
                roots.push(Root { term, same: Vec::new(), goals: Vec::new() });
                sort
            });
            continue;
        };
        if !KEYS.contains(&key) {
            errors.push(suggest::unknown("keyword", key, item.span, KEYS));
        }
        let Some(value) = rest.next() else {
            errors.push(Diagnostic::error("expected a term", item.span, "nothing behind this"));
            continue;
        };
        let read = if key == ":same" {
            take(term(value, signature), &mut errors).map(|(term, found)| (Some(found), Err(term)))
        } else {
            Sketch::read(signature, value, &mut errors).map(|sketch| {
                let (text, wanted) = (on_one_line(&print_term(&as_term(value))), key == ":goal");
                (sketch.sort(signature), Ok(Goal { sketch, text, wanted }))
            })
        };
        let (Some((found, what)), Some(sort)) = (read, sort) else { continue };
        if let Some(error) = differs(sort, found, value) {
            errors.push(error);
        }
        if let Some(root) = roots.last_mut() {
            match what {
                Ok(goal) => root.goals.push(goal),
                Err(term) => root.same.push(term),
            }
        }
    }
    if roots.is_empty() && errors.is_empty() {
        let what = format!("{}: no term in it", path.display());
        errors.push(Diagnostic::global(what).with_help("write the terms one after the other"));
    }
    if errors.is_empty() { Ok(roots) } else { Err(errors) }
}

/// A term, whose loops may name their variables.
fn term(text: &Sexp, signature: &Signature) -> Checked<(Term, Sort)> {
    signature.read_term(&written_out(text, &Words::new(signature), &[])?)
}

fn take<T>(read: Checked<T>, errors: &mut Vec<Diagnostic>) -> Option<T> {
    read.map_err(|found| errors.extend(found)).ok()
}

fn differs(sort: Sort, found: Option<Sort>, value: &Sexp) -> Option<Diagnostic> {
    let found = found.filter(|found| *found != sort)?;
    Some(Diagnostic::error(
        format!("expected {sort}, found {found}"),
        value.span,
        "it is compared with the term before",
    ))
}

/// The report of a run.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Saturate")]
pub struct Report {
    /// The e-graph at the end.
    pub egraph: EGraphReport,
    /// The reports of the rules, in the order in which the rules were read.
    pub rules: Vec<RuleReport>,
    /// The terms, in order.
    pub terms: Vec<TermReport>,
    /// The time of each stage.
    pub time_ms: Times,
    /// The reason why the run must not be trusted, if two constants met in one class.
    #[serde(skip)]
    pub contradiction: Option<StopReason>,
}

/// The result for one term.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct TermReport {
    /// The term as it was given.
    pub term: String,
    /// The cheapest equal term and the costs, if there is a cost table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cheapest: Option<Cheapest>,
    /// The results of its goals.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<GoalReport>,
}

/// The cheapest term of a class.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Cheapest {
    /// The cost of the term as it was given.
    pub cost_before: f64,
    /// The cost of the cheapest term.
    pub cost: f64,
    /// The cheapest term.
    pub term: String,
}

/// A goal of a class and its result.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct GoalReport {
    /// The sketch.
    pub pattern: String,
    /// True if the class was required to have a term that fits.
    pub wanted: bool,
    /// True if it has one.
    pub found: bool,
}

/// Milliseconds by stage.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "SaturateTimes")]
pub struct Times {
    /// Saturation.
    pub saturate: f64,
    /// Extraction of the cheapest terms.
    pub extract: f64,
}

impl Report {
    /// Returns true if every goal is as wanted and no two constants met.
    pub fn passed(&self) -> bool {
        let goals = self.terms.iter().flat_map(|term| &term.goals);
        self.contradiction.is_none() && goals.into_iter().all(|goal| goal.found == goal.wanted)
    }
}

/// Returns the steps of a schedule; without a schedule, all rules at once. A schedule that keeps programs is an error,
/// because only a machine can rank programs.
pub fn steps(book: &RuleBook, schedule: Option<&str>) -> Checked<Vec<ScheduleStep>> {
    let Some(name) = schedule else {
        return Ok(vec![ScheduleStep::all(book)]);
    };
    let schedule = book.require_schedule(name)?;
    if schedule.keeps() {
        return Err(vec![keep_error(name, schedule.span)]);
    }
    Ok(schedule.steps.clone())
}

fn keep_error(name: &str, span: Span) -> Diagnostic {
    Diagnostic::error(
        format!("schedule `{name}` keeps the best programs"),
        span,
        "which are the best depends on a machine and a model",
    )
    .with_help("choose one without `(keep …)`")
}

/// Rewrites terms with the rules of a book.
pub fn run(
    book: &RuleBook,
    roots: &[Root],
    steps: &[ScheduleStep],
    limits: Limits,
    costs: Option<&Costs>,
    progress: &mut dyn FnMut(Progress),
) -> Report {
    let start = Instant::now();
    let compiled = ember_engine::compile(book);
    let facts = Facts::new(&[], &[], book.signature.table().clone(), Default::default());
    let mut egraph = EGraph::new(facts);
    let classes: Vec<Id> = roots.iter().map(|root| add(&mut egraph, root)).collect();
    egraph.rebuild();
    let reports = compiled.iter().map(|rule| RuleReport::new(rule.name.as_str())).collect();
    let mut state = State { classes: &classes, progress, reports };
    let mut driver = Driver::new(egraph, &compiled, limits);
    driver.run(steps, &mut state);
    let Driver { egraph, iterations, stop, .. } = driver;
    let saturate = start.elapsed();
    let start = Instant::now();
    let cheapest = costs.map(|costs| costs.cheapest(&egraph, &classes));
    let extract = start.elapsed();
    // A term and the cheapest one that equals it name their variables alike.
    let (words, mut names) = (Words::new(&book.signature), Names::default());
    let mut shown = |term: &Term| on_one_line(&written(term, &words, &mut names).lines());
    let terms = roots.iter().zip(&classes).enumerate().map(|(i, (root, class))| TermReport {
        term: shown(&root.term),
        cheapest: costs.zip(cheapest.as_ref()).map(|(costs, cheapest)| {
            let cost_before = costs.of_term(&root.term);
            // If no finite term is left in the search, the given term is still equal.
            let given = || (cost_before, root.term.clone());
            let (cost, term) = cheapest[i].clone().unwrap_or_else(given);
            Cheapest { cost_before, cost, term: shown(&term) }
        }),
        goals: root.goals.iter().map(|goal| asked(&egraph, *class, goal)).collect(),
    });
    Report {
        terms: terms.collect(),
        egraph: EGraphReport {
            nodes: egraph.total_number_of_nodes(),
            classes: egraph.number_of_classes(),
            iterations,
            stop_reason: stop.to_string(),
        },
        rules: state.reports,
        time_ms: Times { saturate: ms(saturate), extract: ms(extract) },
        contradiction: matches!(stop, StopReason::Contradiction { .. }).then_some(stop),
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Adds a root with the terms that are equal from the start; returns its class.
fn add(egraph: &mut EGraph, root: &Root) -> Id {
    let class = egraph.add_expr(&root.term);
    for other in &root.same {
        let other = egraph.add_expr(other);
        egraph.union(class, other);
    }
    class
}

fn asked(egraph: &EGraph, class: Id, goal: &Goal) -> GoalReport {
    let found = ember_engine::holds(&goal.sketch, egraph, class);
    GoalReport { pattern: goal.text.clone(), wanted: goal.wanted, found }
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The state of a schedule's run.
struct State<'a> {
    /// The classes of the terms.
    classes: &'a [Id],
    progress: &'a mut dyn FnMut(Progress),
    reports: Vec<RuleReport>,
}

impl Observer<Facts> for State<'_> {
    fn progress(&mut self, progress: Progress) {
        (self.progress)(progress);
    }

    fn saturated(
        &mut self,
        _: &mut Driver<'_, Facts>,
        rules: &[usize],
        done: Saturation,
    ) -> AppliedAgain {
        for (rule, report) in rules.iter().zip(&done.rules) {
            self.reports[*rule].add(report);
        }
        AppliedAgain::No
    }

    fn found(&self, egraph: &EGraph, sketch: &Sketch) -> bool {
        self.classes.iter().all(|class| ember_engine::holds(sketch, egraph, *class))
    }
}
