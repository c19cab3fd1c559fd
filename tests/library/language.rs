//! Tests the features of rule files: includes, definitions, commuting operators, patterns anywhere in the e-graph, and
//! sketches.

use egg::Id;
use ember_analysis::facts::{EGraph, Facts};
use ember_engine::CompiledRule;
use ember_engine::saturate::{Limits, saturate};
use ember_host::Disk;
use ember_language::diagnostic::{Diagnostic, Sources};
use ember_language::rules::{self, RuleBook, Sketch};
use ember_language::sexp::{self, Sexp};
use ember_language::term::Term;
use ember_model::Model;
use std::path::PathBuf;

const DIALECT: &str = "(dialect d \"a small dialect\" (sort Value \"a value\")
    (op f (Value Value) Value \"f\" :commutes) (op g (Value) Value \"g\")
    (op a () Value \"a\") (op b () Value \"b\") (op c () Value \"c\"))
    (ruleset s \"a small set\")";

fn book(rules: &str) -> RuleBook {
    let mut sources = Sources::new(Disk);
    let file = sources.add("<rules>", format!("{DIALECT} {rules}"));
    rules::load_text(&mut sources, &[file]).expect("the rules are well-formed").0
}

fn read(text: &str) -> Sexp {
    let mut sources = Sources::new(Disk);
    let file = sources.add("<term>", text);
    sexp::read(&sources, file).expect("balanced").remove(0)
}

fn term(book: &RuleBook, text: &str) -> Term {
    book.signature.read_term(&read(text)).expect("well-sorted").0
}

/// Returns an e-graph of terms, saturated with every rule, and the classes of the terms.
fn saturated(book: &RuleBook, terms: &[&str]) -> (EGraph, Vec<Id>) {
    let mut egraph = EGraph::new(Facts::default());
    let ids: Vec<Id> = terms.iter().map(|text| egraph.add_expr(&term(book, text))).collect();
    let compiled = ember_engine::compile(book);
    let all: Vec<&CompiledRule> = compiled.iter().collect();
    saturate(&mut egraph, &all, &Limits { iterations: 20, nodes: 1_000 });
    let ids = ids.into_iter().map(|id| egraph.find(id)).collect();
    (egraph, ids)
}

#[test]
fn operators_that_commute_do_so_in_every_saturation() {
    let book = book("");
    let (_, ids) = saturated(&book, &["(f a (g b))", "(f (g b) a)"]);
    assert_eq!(ids[0], ids[1]);
    assert_eq!(book.rules[0].name.as_str(), "f-commutes");
}

#[test]
fn what_is_defined_equals_its_definition() {
    let book = book(
        "(define (twice ?x) \"two of it\" (f ?x ?x))
         (define (four ?x) \"four of it\" (twice (twice ?x)))
         (schedule all \"the set alone\" (saturate s))",
    );
    let (_, ids) = saturated(&book, &["(four a)", "(f (f a a) (f a a))", "(twice b)"]);
    assert_eq!(ids[0], ids[1]);
    assert_ne!(ids[0], ids[2]);
    let written = book.definitions.expand(&term(&book, "(g (four a))"));
    assert_eq!(written.to_string(), "(g (f (f a a) (f a a)))");
    // Claims about the meaning of terms concern their expansion, whichever schedule runs.
    assert_eq!(book.claims().count(), 1, "only that f commutes");
}

#[test]
fn a_pattern_may_stand_anywhere_in_the_e_graph() {
    let rules = "(rule r \"g of what f has of it\" (g ?x) => ?y :with ?z (f ?x ?y))";
    let book = book(rules);
    // `f` commutes, so its operands may be in any order.
    let (_, ids) = saturated(&book, &["(g a)", "(f c a)", "c", "(g b)", "b"]);
    assert_eq!(ids[0], ids[2]);
    assert_ne!(ids[3], ids[4], "there is no f of b");
}

#[test]
fn a_pattern_is_found_that_comes_later_and_far_away() {
    let rules =
        "(rule r \"g of what f has of it\" (g ?x) => ?y :with ?z (f ?x ?y) :where ?z (g ?u))
         (rule s \"a chain\" (g (g b)) => (f a c))";
    let book = book(rules);
    // The f of a appears late, in a rewrite that changes nothing near (g a).
    let (_, ids) = saturated(&book, &["(g a)", "c", "(g (g b))"]);
    assert_eq!(ids[0], ids[1]);
}

#[test]
fn sketches_are_found_in_classes() {
    let book = book("(rule r \"b for a\" a => b)");
    let (egraph, ids) = saturated(&book, &["(g (g a))"]);
    for (text, expected) in [
        ("?", true),
        ("(g ?)", true),
        ("(g (g b))", true),
        ("(g b)", false),
        ("(?contains b)", true),
        ("(?contains c)", false),
        ("(?or c (g ?))", true),
        ("(?or c b)", false),
        ("(g (?contains (?or c a)))", true),
        ("(?contains (g (g (g ?))))", false),
    ] {
        let mut errors = Vec::new();
        let sketch = Sketch::read(&book.signature, &read(text), &mut errors);
        let sketch = sketch.unwrap_or_else(|| panic!("{text}: {errors:?}"));
        assert_eq!(ember_engine::holds(&sketch, &egraph, ids[0]), expected, "{text}");
    }
}

/// Checks texts, given by path.
fn check(texts: &[(&str, &str)]) -> (rules::Check, Vec<String>) {
    let mut sources = Sources::new(Disk);
    for (path, text) in texts {
        sources.add(*path, *text);
    }
    let check = rules::check(&mut sources, &[PathBuf::from(texts[0].0)]);
    let message = |d: &Diagnostic| d.message.clone();
    let messages = check.diagnostics.iter().map(message).collect();
    (check, messages)
}

#[test]
fn a_file_that_is_included_twice_is_read_once() {
    let (checked, messages) = check(&[
        ("no-folder/main.rules", "(include \"x/one.rules\") (include \"x/../x/two.rules\")"),
        ("no-folder/x/one.rules", DIALECT),
        (
            "no-folder/x/two.rules",
            "(include \"./one.rules\") (ruleset t \"t\") (rule r \"r\" a => b)",
        ),
    ]);
    assert_eq!(messages, [""; 0]);
    assert_eq!(checked.files.len(), 3);
    assert_eq!(checked.book.expect("rules").rules.len(), 2);
}

#[test]
fn a_set_ends_with_its_file() {
    let rule = "(rule r \"r\" a => b)";
    let (_, messages) = check(&[
        ("main.rules", &format!("{DIALECT} (include \"other.rules\") {rule}")),
        ("other.rules", "(rule s \"s\" b => c)"),
    ]);
    assert_eq!(messages, ["rule `s` belongs to no set"]);
}

#[test]
fn a_text_that_is_held_comes_before_the_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/simplify.rules");
    let (_, messages) = check(&[(path, "(ruleset held \"held\")")]);
    assert_eq!(messages, [""; 0]);
}

/// Checks a model that uses an operator which a rule file defines.
#[test]
fn models_use_operators_that_rule_files_define() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Sources::new(Disk);
    let text = "(define (my.bag ?t ?i ?o) \"a sum that is never negative\"
                  (nn.relu (emb.bag mode.sum ?t ?i ?o)))
                (define (my.both ?t ?i ?o) \"a bag over itself\" (nn.add (my.bag ?t ?i ?o) (my.bag ?t ?i ?o)))";
    sources.add("defined.rules", text);
    let paths = [root.join("rules"), "defined.rules".into()];
    let (book, _) = rules::load(&mut sources, &paths).expect("well-formed");
    let model = |operation: &str| {
        let text = format!(
            "(model m (input t f32 (rows 8)) (input i i64 (lookups)) (input o i64 (bags+1))
               (output out {operation}) (data (seed 1)))"
        );
        let mut sources = Sources::new(Disk);
        let file = sources.add("<model>", text);
        let model = Model::parse_with(&sources, file, &book.definitions).expect("a model");
        let terms = (0..model.statements.len())
            .map(|i| model.statement_term(i, book.signature.table()).to_string());
        terms.collect::<Vec<_>>()
    };
    assert_eq!(model("(my.bag t i o)"), model("(nn.relu (emb.bag sum t i o))"));
    assert_eq!(
        model("(nn.exp (my.both t i o))"),
        model("(nn.exp (nn.add (nn.relu (emb.bag sum t i o)) (nn.relu (emb.bag sum t i o))))")
    );
}
