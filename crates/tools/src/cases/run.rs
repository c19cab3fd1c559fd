//! Runs cases, and rewrites their expectations.

use super::as_term;
use super::read::Case;
use egg::{AstSize, Id};
use ember_analysis::facts::{EGraph, Facts, VectorUnit};
use ember_egraph::Extractor;
use ember_engine::CompiledRule;
use ember_engine::drive::{Driver, Observer};
use ember_engine::saturate::{Limits, StopReason};
use ember_language::diagnostic::Span;
use ember_language::print_term::print_term;
use ember_language::rules::{RuleBook, Sketch};
use ember_language::sexp::Sexp;
use ember_language::term::Term;
use ember_language::text::{Words, program, written_out};
use similar::TextDiff;
use std::collections::BTreeMap;

/// The limit on the iterations of a saturation of a case.
const ITERATIONS: usize = 50;

/// The reason why a case fails.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The reason in words.
    pub reason: String,
    /// The difference between the expectation and the smallest form that was found, line by line; empty if no expected
    /// form is missing.
    pub diff: String,
    /// The smallest form that was found.
    pub found: Term,
    /// True if rewriting the expectation would make the case pass.
    pub blessable: bool,
}

impl Case {
    /// Runs the case with the rules of a book, compiled in its order; `None` if the case passes.
    pub fn run(&self, book: &RuleBook, compiled: &[CompiledRule]) -> Option<Failure> {
        let mut egraph = EGraph::new(self.facts(book));
        let root = egraph.add_expr(&self.input);
        egraph.rebuild();
        let limits = Limits { iterations: ITERATIONS, nodes: self.nodes };
        let mut driver = Driver::new(egraph, compiled, limits);
        driver.run(&self.steps, &mut Run { root });
        let (egraph, stop) = (&driver.egraph, &driver.stop);
        let root = egraph.find(root);
        // The input is a finite term of the root, so there is always one.
        let smallest = Extractor::new(egraph, AstSize).find_best(root);
        let found = smallest.map_or_else(|| self.input.clone(), |(_, term)| term);
        let words = self.words(book);
        let fail = |reason: String, diff: String, blessable: bool| {
            Some(Failure { reason, diff, found: found.clone(), blessable })
        };
        if let StopReason::Contradiction { .. } = stop {
            return fail("the rules make two numbers equal".to_owned(), String::new(), false);
        }
        if let Some((_, text)) =
            self.refuse.iter().find(|(s, _)| ember_engine::holds(s, egraph, root))
        {
            let reason = format!("it becomes {}", sketched(text, &words).trim_end());
            return fail(reason, String::new(), false);
        }
        let missing =
            self.expect.iter().find(|(sketch, _)| !ember_engine::holds(sketch, egraph, root));
        if let Some((_, text)) = missing {
            let expected = sketched(text, &words);
            let why = match stop {
                StopReason::Saturated => String::new(),
                stop => format!(", and the rules stopped: {stop}"),
            };
            return fail(
                format!("it does not become what is expected{why}"),
                diff(&expected, &program(&found, &words)),
                true,
            );
        }
        if self.expect.is_empty() && self.refuse.is_empty() {
            return fail("nothing is expected of it".to_owned(), String::new(), true);
        }
        None
    }

    fn words<'b>(&self, book: &'b RuleBook) -> Words<'b> {
        let without = || Words::new(&book.signature);
        self.model.as_ref().map_or_else(without, |model| model.words(&book.signature))
    }

    fn facts(&self, book: &RuleBook) -> Facts {
        let operators = book.signature.table().clone();
        let (tensors, sizes) = self.model.as_ref().map_or_else(Default::default, |model| {
            let declared = model.declarations(&BTreeMap::new());
            (declared.tensors, declared.sizes)
        });
        Facts::new(&tensors, &sizes, operators, VectorUnit::default())
    }
}

/// A sketch as text. One that is a term by itself names its loops as what is found does.
fn sketched(sketch: &Sexp, words: &Words) -> String {
    let term = written_out(sketch, words, &[]).and_then(|text| words.signature().read_term(&text));
    term.map_or_else(|_| print_term(&as_term(sketch)), |(term, _)| program(&term, words))
}

fn diff(expected: &str, found: &str) -> String {
    let found = format!("{}\n", found.trim_end());
    let expected = format!("{}\n", expected.trim_end());
    let diff = TextDiff::from_lines(&expected, &found);
    diff.unified_diff().context_radius(3).header("expected", "found").to_string()
}

/// A case's run, which the first saturation that does not run to its end ends.
struct Run {
    root: Id,
}

impl Observer<Facts> for Run {
    fn found(&self, egraph: &EGraph, sketch: &Sketch) -> bool {
        ember_engine::holds(sketch, egraph, self.root)
    }

    fn ended(&self, driver: &Driver<'_, Facts>) -> bool {
        driver.stop != StopReason::Saturated
    }
}

/// Returns the text of a case file with rewritten expectations, each in its place.
pub fn bless(text: &str, found: &[(Span, Term)]) -> String {
    let mut places: Vec<&(Span, Term)> = found.iter().collect();
    places.sort_by_key(|(span, _)| span.start);
    let mut written = text.to_owned();
    // The replacement starts at the end, so that the earlier places stay valid.
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
