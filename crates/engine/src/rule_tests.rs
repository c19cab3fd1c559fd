//! Runs the tests inside rules: each rule alone, on each of its own examples.

use crate::compile::CompiledRule;
use crate::knowledge::{EGraph, Knowledge};
use crate::saturate::{Limits, saturate};
use ember_language::diagnostic::Diagnostic;
use ember_language::rules::{Rule, RuleBook, Test};

/// The limits of one test; a rule that needs more does not suit as an example.
const LIMITS: Limits = Limits { iterations: 4, nodes: 10_000 };

/// Runs every test of a book's rules. A test that fails comes with an error located at the test. `facts` holds the
/// declarations that the terms of the tests may mention.
pub fn run_tests<'a, A: Knowledge + Clone>(
    book: &'a RuleBook,
    facts: &A,
) -> Vec<(&'a Rule, &'a Test, Option<Diagnostic>)> {
    let mut tests = Vec::new();
    for rule in book.rules.iter().filter(|rule| !rule.tests.is_empty()) {
        let compiled = CompiledRule::new(rule);
        let run = |test| (rule, test, failure(rule, &compiled, test, facts));
        tests.extend(rule.tests.iter().map(run));
    }
    tests
}

/// Returns an error for each test of a book's rules that fails.
pub fn failing_tests<A: Knowledge + Clone>(book: &RuleBook, facts: &A) -> Vec<Diagnostic> {
    run_tests(book, facts).into_iter().filter_map(|(_, _, failure)| failure).collect()
}

fn failure<A: Knowledge + Clone>(
    rule: &Rule,
    compiled: &CompiledRule,
    test: &Test,
    facts: &A,
) -> Option<Diagnostic> {
    let mut egraph = EGraph::new(facts.clone());
    let input = egraph.add_expr(&test.input);
    let expected = test.expected.as_ref().map(|term| egraph.add_expr(term));
    let result = saturate(&mut egraph, &[compiled], &LIMITS);
    let report = &result.rules[0];
    let why = match expected {
        Some(expected) if egraph.find(expected) == egraph.find(input) => return None,
        Some(_) if report.applications > 0 => "the rule makes another term of this",
        Some(_) if report.refused > 0 => "the rule matches, but its conditions refuse",
        Some(_) => "the rule does not match this",
        None if report.applications == 0 => return None,
        None => "the rule must not apply to this, and does",
    };
    Some(
        Diagnostic::error(format!("a test of `{}` fails", rule.name), test.span, why)
            .with_related(rule.span, "the rule"),
    )
}
