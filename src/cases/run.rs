//! What becomes of a case, and expectations written anew.

use super::as_term;
use super::read::Case;
use crate::diagnostic::Span;
use crate::facts::{EGraph, Facts, VectorUnit};
use crate::print_term::print_term;
use crate::rules::{CompiledRule, RuleBook, ScheduleStep};
use crate::saturate::{Limits, StopReason, saturate};
use crate::term::Term;
use egg::{AstSize, Id};
use ember_egraph::Extractor;
use similar::TextDiff;
use std::collections::BTreeMap;

/// What one case may cost.
const LIMITS: Limits = Limits { iterations: 50, nodes: 20_000 };

/// Why a case fails.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What is wrong.
    pub reason: String,
    /// From what was expected to the smallest form that was found, line by line; empty where nothing was
    /// expected that is missing.
    pub diff: String,
    /// The smallest form that was found.
    pub found: Term,
    /// Whether writing the expectation anew would make it right.
    pub blessable: bool,
}

impl Case {
    /// Runs the case with the rules of a book, compiled in its order; `None` where all is right.
    pub fn run(&self, book: &RuleBook, compiled: &[CompiledRule]) -> Option<Failure> {
        let mut run = Run { compiled, egraph: EGraph::new(self.facts(book)), root: Id::from(0) };
        run.root = run.egraph.add_expr(&self.input);
        run.egraph.rebuild();
        let stop = run.steps(&self.steps);
        let root = run.egraph.find(run.root);
        // The input is a finite term of the root, so there is always one.
        let smallest = Extractor::new(&run.egraph, AstSize).find_best(root);
        let found = smallest.map_or_else(|| self.input.clone(), |(_, term)| term);
        let fail = |reason: String, diff: String, blessable: bool| {
            Some(Failure { reason, diff, found: found.clone(), blessable })
        };
        if let Some(StopReason::Contradiction { .. }) = stop {
            return fail("the rules make two numbers equal".to_owned(), String::new(), false);
        }
        if let Some((_, text)) = self.refuse.iter().find(|(s, _)| s.holds(&run.egraph, root)) {
            let reason = format!("it becomes {}", print_term(&as_term(text)).trim_end());
            return fail(reason, String::new(), false);
        }
        let missing = self.expect.iter().find(|(sketch, _)| !sketch.holds(&run.egraph, root));
        if let Some((_, text)) = missing {
            let expected = print_term(&as_term(text));
            let stopped = stop.filter(|stop| *stop != StopReason::Saturated);
            let why =
                stopped.map_or(String::new(), |stop| format!(", and the rules stopped: {stop}"));
            return fail(
                format!("it does not become what is expected{why}"),
                diff(&expected, &found),
                true,
            );
        }
        if self.expect.is_empty() && self.refuse.is_empty() {
            return fail("nothing is expected of it".to_owned(), String::new(), true);
        }
        None
    }

    fn facts(&self, book: &RuleBook) -> Facts {
        let binders = book.signature.binders();
        let (tensors, sizes) = self.model.as_ref().map_or_else(Default::default, |model| {
            let declared = model.declarations(&BTreeMap::new());
            (declared.tensors, declared.sizes)
        });
        Facts::new(&tensors, &sizes, binders, VectorUnit::default())
    }
}

fn diff(expected: &str, found: &Term) -> String {
    let found = format!("{}\n", print_term(found).trim_end());
    let expected = format!("{}\n", expected.trim_end());
    let diff = TextDiff::from_lines(&expected, &found);
    diff.unified_diff().context_radius(3).header("expected", "found").to_string()
}

struct Run<'a> {
    compiled: &'a [CompiledRule],
    egraph: EGraph,
    root: Id,
}

impl Run<'_> {
    /// Runs steps; why the first saturation stopped that did not run to its end, or the last.
    fn steps(&mut self, steps: &[ScheduleStep]) -> Option<StopReason> {
        let mut stop = None;
        for step in steps {
            let reason = match step {
                ScheduleStep::Saturate(rules) => {
                    let rules: Vec<&CompiledRule> =
                        rules.iter().map(|rule| &self.compiled[*rule]).collect();
                    Some(saturate(&mut self.egraph, &rules, &LIMITS, &mut |_| ()).stop)
                }
                ScheduleStep::Seq(steps) => self.steps(steps),
                ScheduleStep::Repeat(times, steps) => self.again(*times, steps, |_| false),
                ScheduleStep::Until(sketch, steps) => {
                    self.again(LIMITS.iterations, steps, |run| sketch.holds(&run.egraph, run.root))
                }
                // No case has one.
                ScheduleStep::Keep(_) => None,
            };
            match reason {
                Some(StopReason::Saturated) | None => stop = stop.or(reason),
                Some(_) => return reason,
            }
        }
        stop
    }

    /// Runs steps so often, or until they change nothing or it is done.
    fn again(
        &mut self,
        times: usize,
        steps: &[ScheduleStep],
        done: impl Fn(&Self) -> bool,
    ) -> Option<StopReason> {
        let mut stop = None;
        for _ in 0..times {
            let size =
                |run: &Self| (run.egraph.total_number_of_nodes(), run.egraph.number_of_classes());
            let before = size(self);
            if done(self) {
                break;
            }
            stop = self.steps(steps);
            if size(self) == before {
                break;
            }
        }
        stop
    }
}

/// The text of a case file with expectations written anew, each in its place.
pub fn bless(text: &str, found: &[(Span, Term)]) -> String {
    let mut places: Vec<&(Span, Term)> = found.iter().collect();
    places.sort_by_key(|(span, _)| span.start);
    let mut written = text.to_owned();
    // From the last, so that the places before it stay where they are.
    for (span, term) in places.into_iter().rev() {
        let printed = print_term(term);
        let lines = printed.trim_end().lines().map(|line| format!("\n    {line}"));
        let mut new = format!("(expect{})", lines.collect::<String>());
        if span.range().is_empty() {
            new = format!("\n  {new}");
        }
        written.replace_range(span.range(), &new);
    }
    written
}
