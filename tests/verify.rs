//! Tests that the claims of rules about integers are proved if they are true and refuted if they are not; without a
//! solver nothing is reported as proved.
//!
//! If no solver is installed, the trials that need one count as ignored in the summary, and a line above the list names
//! the missing solver.

use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules::{self, Rule, RuleBook};
use ember_prove::soundness::Options;
use ember_prove::verify::{
    Chosen, Integers, Judged, Kind, Solver, Tried, Verified, mutants, verify,
};
use ember_tools::solver::Installed;
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};

/// No work for the first two tiers, which have their own test.
const QUICK: Options =
    Options { seed: 1, least: 0, instances: 0, most: 0, exhaustive: 0, programs: 0 };

/// Files of `tests/unsound/` whose rule is wrong for some integers.
const WRONG: [&str; 13] = [
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
];

/// The number of mutants that are tried, and of instances of each until enough violate the condition that it lacks.
const MUTANTS: usize = 150;
const MUTANT_CASES: usize = 3000;

/// The least percentage of mutated conditions and of mutated right sides that are refuted or proved harmless.
const LEAST_GUARDS: usize = 80;
const LEAST_SIDES: usize = 97;

const NO_SOLVER: &str =
    "no solver is installed (z3 or cvc5): claims about integers are not checked";

/// A check that uses a solver.
type Check = Box<dyn FnOnce(&Installed) -> Result<(), Failed> + Send>;

fn main() {
    let solver = Installed::find();
    if solver.is_none() {
        println!("SKIPPED: {NO_SOLVER}");
    }
    let asking = |name: String, check: Check| {
        let solver = solver.clone();
        let missing = solver.is_none();
        let run = move || check(&solver.ok_or(NO_SOLVER)?);
        Trial::test(name, run).with_ignored_flag(missing)
    };
    let mut trials = vec![
        asking("proved/every-claim-of-the-rules".to_owned(), Box::new(every_claim_is_proved)),
        asking("unknown/never-together".to_owned(), Box::new(contradictions_prove_nothing)),
        Trial::test("skipped/without-a-solver", without_a_solver_a_claim_is_skipped),
        asking("mutants/most-are-refuted".to_owned(), Box::new(most_mutants_are_refuted)),
    ];
    trials.extend(WRONG.map(|name| {
        asking(format!("refuted/{name}"), Box::new(move |solver| refuted(name, solver)))
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn every_claim_is_proved(solver: &Installed) -> Result<(), Failed> {
    let book = load(&[root().join("rules"), root().join("rules/equiv")]);
    for row in check(&book, Some(solver)) {
        let rule = book.rule(row.rule).ok_or("a rule of another book")?;
        let claims = is_about_integers(rule);
        let fine = match &row.integers {
            Integers::Proved { claims, .. } => *claims > 0,
            Integers::None | Integers::Inexpressible { .. } => !claims,
            _ => false,
        };
        if !fine {
            return Err(format!("{}: {:?}", row.rule, row.integers).into());
        }
    }
    Ok(())
}

/// Conditions that never hold together prove nothing.
fn contradictions_prove_nothing(solver: &Installed) -> Result<(), Failed> {
    let text = "(ruleset never \"of no loop\" :phase optimise :exact bitwise)
        (rule ends-early \"A loop of one trip that is one of two.\"
          (scf.for ?i ?lo ?hi 1 ?s) => (scf.for ?i ?lo (scf.sub ?hi 1) 1 ?s)
          :for ?k (one-trip ?lo ?hi 1) :when (at-most 2 ?k))";
    let mut sources = Sources::new(Disk);
    sources.add("never.rules", text);
    let rows = check(&load_with(&mut sources, "never.rules".into()), Some(solver));
    match &rows[..] {
        [row] if matches!(row.integers, Integers::Unknown { .. }) => Ok(()),
        _ => Err(of_integers(&rows).into()),
    }
}

fn without_a_solver_a_claim_is_skipped() -> Result<(), Failed> {
    let rows = check(&load(&[root().join("rules"), root().join("rules/equiv")]), None);
    let block = rows.iter().find(|row| row.rule == "block-loop").ok_or("no rule `block-loop`")?;
    if !matches!(block.integers, Integers::NoSolver { claims } if claims > 0) {
        return Err(format!("{:?}", block.integers).into());
    }
    match rows.iter().find(|row| matches!(row.integers, Integers::Proved { .. })) {
        Some(row) => Err(format!("{} is called proved", row.rule).into()),
        None => Ok(()),
    }
}

/// Wrong variants of rules are refuted or proved harmless, and none that is proved harmless is refuted.
fn most_mutants_are_refuted(solver: &Installed) -> Result<(), Failed> {
    let book = load(&[root().join("rules"), root().join("rules/equiv")]);
    let options = Options { seed: 5, most: MUTANT_CASES, ..Options::default() };
    let chosen = Chosen { sample: Some(MUTANTS), ..Chosen::default() };
    let tried = mutants(&book, |_| true, &options, chosen, Some(solver), &[], |_| {});
    if let Some(wrong) = tried.iter().find(|one| one.wrong.is_some()) {
        return Err(format!("proved harmless, and wrong: {wrong:?}").into());
    }
    let settled =
        |one: &&Tried| matches!(one.judged, Judged::Refuted | Judged::Disproved | Judged::Proved);
    let share = |of: fn(Kind) -> bool| {
        let all = tried.iter().filter(|one| of(one.kind)).count();
        let settled = tried.iter().filter(|one| of(one.kind)).filter(settled).count();
        (settled, all)
    };
    let (guards, all_guards) = share(Kind::is_guard);
    let (sides, all_sides) = share(|kind| !kind.is_guard());
    if guards * 100 >= all_guards * LEAST_GUARDS && sides * 100 >= all_sides * LEAST_SIDES {
        return Ok(());
    }
    Err(format!("conditions {guards} of {all_guards}, right sides {sides} of {all_sides}").into())
}

/// Checks that a wrong claim is refuted with values.
fn refuted(name: &str, solver: &Installed) -> Result<(), Failed> {
    let file = root().join(format!("tests/unsound/{name}.rules"));
    let rows = check(&load_with(&mut Sources::new(Disk), file), Some(solver));
    match &rows[..] {
        [row] if matches!(row.integers, Integers::Refuted { .. }) => Ok(()),
        _ => Err(of_integers(&rows).into()),
    }
}

fn of_integers(rows: &[Verified]) -> String {
    format!("{:?}", rows.iter().map(|row| &row.integers).collect::<Vec<_>>())
}

fn check(book: &RuleBook, solver: Option<&dyn Solver>) -> Vec<Verified> {
    verify(book, |_| true, &QUICK, solver, |_| {})
}

fn load(paths: &[PathBuf]) -> RuleBook {
    rules::load(&mut Sources::new(Disk), paths).expect("the rules are well-formed").0
}

/// Reads a file's rules with the project's dialects.
fn load_with(sources: &mut Sources, file: PathBuf) -> RuleBook {
    let entries = std::fs::read_dir(root().join("rules")).expect("the folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("dialect-"))
    });
    files.sort();
    files.push(file);
    rules::load(sources, &files).expect("the rules are well-formed").0
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns true if a rule is right only because its conditions or generators hold of integers.
fn is_about_integers(rule: &Rule) -> bool {
    const ASKED: [&str; 5] = ["at-most", "below", "divides", "index", "runs-once"];
    /// Rules whose conditions no formula has, each with the reason.
    const OTHERS: [(&str, &str); 4] = [
        (
            "branch-renamed",
            "another name is right for any bounds; the conditions say where it is of use",
        ),
        ("after-filled", "which element is loaded behind a loop is about memory"),
        ("never", "what never runs has no counterpart on the right side"),
        ("never-reduced", "what never runs has no counterpart on the right side"),
    ];
    let asks = rule.guards.iter().any(|guard| ASKED.contains(&guard.what.name));
    let other = OTHERS.iter().any(|(name, _)| rule.name.as_str() == *name);
    // A parameter that is left open has a value that the rule holds for, whichever it is.
    let draws = rule.fors.iter().any(|(_, call)| call.what.name != "setting");
    !other && (draws || asks)
}
