//! Tests random programs: the search's program computes the same, and equivalence checking answers correctly about
//! pairs of them. `ember-rewrite self-test --pairs 10000 --programs 1000` runs more of the same.

use ember_engine::saturate::Limits;
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules;
use ember_language::term::Term;
use ember_prove::equiv::Declarations;
use ember_tools::selftest::{Made, Options, Tools, all_lowered, mutants, trial};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The number of pairs and programs; the seed reproduces a failure.
const SEED: u64 = 1;
const PAIRS: usize = 200;
const PROGRAMS: usize = 24;

/// The limits of a proof.
const LIMITS: Limits = Limits { iterations: 20, nodes: 4000 };

fn folder() -> Vec<PathBuf> {
    vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("rules")]
}

fn tools() -> Tools {
    Tools::read(&mut Sources::new(Disk), &folder(), "tmu-cpu-plus")
        .expect("the rules are well-formed")
}

#[test]
fn answers_about_random_pairs_are_right() {
    let options = Options { pairs: (0..PAIRS).collect(), seed: SEED, limits: LIMITS };
    let summary = trial(&tools(), &options, || ());
    assert_eq!(summary.wrong(), 0, "seed {SEED}: {:#?}", summary.findings);
    let known = summary.equal.pairs + summary.mutants.pairs;
    assert!(known >= PAIRS * 9 / 10, "{known} pairs were made");
    assert!(summary.unknown() <= 0.1, "{:#?}", summary.findings);
    assert!(summary.mutants.share() <= 0.02, "{:#?}", summary.findings);
}

#[test]
fn every_extraction_does_what_the_program_does() {
    let tools = tools();
    let (book, _) = rules::load(&mut Sources::new(Disk), &folder()).expect("they are well-formed");
    let compiled = ember_engine::compile(&book);
    let done = all_lowered(
        (&book, &compiled, &tools.machine),
        SEED,
        &(0..PROGRAMS).collect::<Vec<_>>(),
        || (),
    );
    let done = done.unwrap_or_else(|why| panic!("seed {SEED}: {why}"));
    assert!(done.made == PROGRAMS && done.programs > PROGRAMS && done.runs > 100, "{done:?}");
    assert!(done.read >= done.programs * 9 / 10, "few are read as statements: {done:?}");
}

#[test]
fn a_seed_makes_one_program() {
    let tools = tools();
    let text = |seed| Made::random(&tools.book, seed, 2).text(&tools.book.signature);
    let texts: BTreeSet<String> = (0..100).map(text).collect();
    assert!(texts.len() > 95, "{} of 100 differ", texts.len());
    assert_eq!(text(7), text(7));
}

#[test]
fn a_mutant_has_a_bound_changed_wherever_it_is_mentioned() {
    let texts = [
        (
            "(scf.for (var (depth 0) 0 4 1) 0 4 1
              (scf.store (at (out %o) (iv (var (depth 0) 0 4 1))) (iv (var (depth 0) 0 4 1))))",
            "0 4 1",
        ),
        (
            "(slc.callback (exe.for (var (depth 0) 0 4 1) (exe.const 0) (exe.const 4) 1
              (exe.store (exe.at (exe.out %o) (exe.counter (var (depth 0) 0 4 1))) (exe.const 7))))",
            "4",
        ),
    ];
    for (text, bounds) in texts {
        let term: Term = text.parse().expect("a term");
        let made: Vec<String> =
            mutants(&term, tools().book.signature.table(), &Declarations::default())
                .iter()
                .map(|m| m.term.to_string())
                .collect();
        let longer: Term = text.replace(bounds, &bounds.replace('4', "5")).parse().expect("a term");
        let longer = longer.to_string();
        assert!(made.contains(&longer), "{made:#?}");
        assert!(made.iter().all(|other| *other != term.to_string()));
    }
}
