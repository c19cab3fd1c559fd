//! What rules claim of integers is proved where it is true and refuted where it is not; without a
//! solver nothing is called proved.

use ember_language::diagnostic::Sources;
use ember_language::rules::{self, Rule, RuleBook};
use ember_prove::soundness::Options;
use ember_prove::verify::{Integers, Solver, Verified, verify};
use std::path::{Path, PathBuf};

/// The first two tiers have a test of their own.
const QUICK: Options =
    Options { seed: 1, least: 0, instances: 0, most: 0, exhaustive: 0, programs: 0 };

fn load(paths: &[PathBuf]) -> RuleBook {
    rules::load(&mut Sources::default(), paths).expect("the rules are well-formed").0
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn check(book: &RuleBook, solver: Option<&Solver>) -> Vec<Verified> {
    verify(book, |_| true, &QUICK, solver, |_| {})
}

/// The rule files that declare operators.
fn dialects() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("rules")).expect("the folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("dialect-"))
    });
    files.sort();
    files
}

/// Whether a rule is about integers by what it asks or generates.
fn is_about_integers(rule: &Rule) -> bool {
    const ASKED: [&str; 5] = ["at-most", "below", "divides", "index", "runs-once"];
    !rule.fors.is_empty() || rule.guards.iter().any(|guard| ASKED.contains(&guard.what.name))
}

#[test]
fn every_claim_of_the_projects_rules_is_proved() {
    let book = load(&[root().join("rules"), root().join("rules/equiv")]);
    let Some(solver) = Solver::find() else {
        let skipped = |row: &Verified| !matches!(row.integers, Integers::Proved { .. });
        assert!(check(&book, None).iter().all(skipped));
        return;
    };
    for row in check(&book, Some(&solver)) {
        let rule = book.rule(row.rule).expect("it is one of them");
        let claims = is_about_integers(rule);
        let fine = match &row.integers {
            Integers::Proved { claims } => *claims > 0,
            Integers::None | Integers::Inexpressible { .. } => !claims,
            _ => false,
        };
        assert!(fine, "{}: {:?}", row.rule, row.integers);
    }
}

#[test]
fn conditions_that_never_hold_together_prove_nothing() {
    let Some(solver) = Solver::find() else { return };
    let text = "(ruleset never \"of no loop\" :phase optimise :exact bitwise)
        (rule ends-early \"A loop of one trip that is one of two.\"
          (scf.for ?i ?lo ?hi 1 ?s) => (scf.for ?i ?lo (scf.sub ?hi 1) 1 ?s)
          :for ?k (one-trip ?lo ?hi 1) :when (at-most 2 ?k))";
    let file = std::env::temp_dir().join(format!("never-{}.rules", std::process::id()));
    std::fs::write(&file, text).expect("a file of one's own");
    let mut files = dialects();
    files.push(file.clone());
    let rows = check(&load(&files), Some(&solver));
    std::fs::remove_file(&file).expect("it is there");
    let unknown = matches!(&rows[..], [row] if matches!(row.integers, Integers::Unknown { .. }));
    assert!(unknown, "{:?}", rows.iter().map(|row| &row.integers).collect::<Vec<_>>());
}

#[test]
fn without_a_solver_a_claim_is_skipped() {
    let book = load(&[root().join("rules")]);
    let rows = check(&book, None);
    let block = rows.iter().find(|row| row.rule == "block-loop").expect("the rule is there");
    assert!(matches!(block.integers, Integers::NoSolver { claims } if claims > 0));
}

#[test]
fn wrong_claims_are_refuted_with_values() {
    let Some(solver) = Solver::find() else { return };
    for name in [
        "block-without-mask",
        "distribute-dependent",
        "fold-inactive",
        "fuse-dependent",
        "interchange-dependent",
        "loop-ends-early",
        "min-of-the-wrong-side",
        "reduce-invariant",
        "run-from-an-offset",
        "run-of-columns",
        "run-without-mask",
        "seq-commutes",
        "vec-seq-dependent",
    ] {
        let mut files = dialects();
        files.push(root().join(format!("tests/unsound/{name}.rules")));
        let rows = check(&load(&files), Some(&solver));
        let refuted =
            matches!(&rows[..], [row] if matches!(row.integers, Integers::Refuted { .. }));
        assert!(refuted, "{name}: {:?}", rows.iter().map(|row| &row.integers).collect::<Vec<_>>());
    }
}
