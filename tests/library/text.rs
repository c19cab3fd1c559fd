//! Tests of program text: it reads back to the same term up to the names of variables, and is printed the same again.

use ember_compile::cost::Goal;
use ember_compile::pipeline::{self, Inputs, Options};
use ember_host::Disk;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::rules::{self, Phase, RuleBook};
use ember_language::sexp;
use ember_language::term::{Node, Term};
use ember_language::text::{self, Named, Words};
use ember_prove::equiv::normalise;
use ember_tools::emit::{self, Level};
use ember_tools::selftest::Made;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn book() -> RuleBook {
    let (book, _) = rules::load(&mut Sources::new(Disk), &[root().join("rules")]).expect("rules");
    book
}

/// Reads a program.
fn read(text: &str, book: &RuleBook, words: &Words) -> Checked<Term> {
    let mut sources = Sources::new(Disk);
    let file = sources.add("program", text);
    let forms = sexp::read(&sources, file)?;
    text::read(&forms[0], book, words).map(|(term, _)| term)
}

/// Returns true if an error has a message with these words.
fn says(errors: &[Diagnostic], words: &str) -> bool {
    errors.iter().any(|error| error.message.contains(words))
}

/// Checks that a term's text reads back to that term and to no other.
fn check(term: &Term, book: &RuleBook, words: &Words, what: &str) -> String {
    let text = text::program(term, words);
    let back = read(&text, book, words).unwrap_or_else(|why| panic!("{what}: {why:#?}\n{text}"));
    let binders = book.signature.table();
    assert_eq!(
        normalise(&back, binders).to_string(),
        normalise(term, binders).to_string(),
        "{what}: {text}"
    );
    assert_eq!(text::program(&back, words), text, "{what}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{what}: {text}");
    text
}

#[test]
fn random_programs_read_back() {
    let book = book();
    for seed in 0..300 {
        let made = Made::random(&book, seed, 1 + (seed % 4) as u32);
        let words = made.declarations.words(&book.signature);
        let text = check(&made.term, &book, &words, &format!("program {seed}"));
        assert!(!text.contains('%') && !text.contains("(var "), "{text}");
    }
}

/// Returns the models of `examples/`.
fn examples() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("examples")).expect("the folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "sexp"));
    paths.sort();
    paths
}

fn inputs(model: &Path) -> (Inputs, Options) {
    let options = Options { rules: vec![root().join("rules")], rank: false, ..Options::default() };
    let inputs = pipeline::read(&mut Sources::new(Disk), model, &options).expect("a model");
    (inputs, options)
}

#[test]
fn programs_of_examples_read_back() {
    for model in examples() {
        let (inputs, options) = inputs(&model);
        for goal in [Goal::Coupled, Goal::Decoupled] {
            let what = format!("{}, {goal:?}", model.display());
            let chosen = pipeline::compile(&inputs, &options, goal).expect("a program");
            let text = check(&chosen.term, &inputs.book, &inputs.words(), &what);
            assert!(!text.contains('%') && !text.contains("(fresh "), "{what}: {text}");
        }
    }
}

#[test]
fn scalar_code_has_no_lanes_and_a_bag_is_short() {
    let (inputs, options) = inputs(&root().join("examples/embedding_bag.sexp"));
    let level = |level| emit::program(&inputs, &options, level).expect("a program");
    let [scf, slc, slcv] = [Level::Scf, Level::Slc, Level::Slcv].map(level);
    assert!(scf.lines().count() <= 15 && scf.starts_with("(scf.for b 0 bags 1\n"), "{scf}");
    assert!(!slc.contains("lanes") && slcv.contains("lanes"), "{slc}\n{slcv}");
    let around = emit::around(&inputs, &options, Phase::Lower).expect("two programs");
    assert!(around.starts_with("; before lower\n(emb.output out"), "{around}");
    let after = emit::around(&inputs, &options, Phase::Refine).expect("two programs");
    assert!(after.contains("\n; after refine\n(slc."), "{after}");
    assert!(after.ends_with(&slcv), "{after}");
}

#[test]
fn words_stand_for_what_their_place_needs() {
    let book = book();
    let mut words = Words::new(&book.signature);
    // Names are taken as operators only in positions where operators may occur.
    for name in ["b", "max", "table"] {
        words.add(name, Named::Input);
    }
    words.add("out", Named::Output);
    words.add("n", Named::Size);
    words.add("b", Named::Size);
    let full = "(slc.for (var (depth 0) 0 (size %b) 1) (slc.const 0) (slc.const (size %b)) 1
        (slc.callback (exe.store (exe.at (exe.out %out) (exe.counter (var (depth 0) 0 (size %b) 1)))
          (exe.max (slc.from_stream (slc.mem_stream temporal (slc.at (slc.at (slc.in %max)
              (slc.iv (var (depth 0) 0 (size %b) 1))) (slc.const 7))))
            (exe.load (exe.at (exe.in %b) (exe.const (size %n))))))))";
    let term: Term = full.parse().expect("a term");
    let text = check(&term, &book, &words, "words");
    let short = "(slc.for b2 0 b 1 (slc.callback (exe.store (exe.at out b2) (exe.max \
                 (slc.from_stream (slc.mem_stream temporal (slc.at max b2 7))) \
                 (exe.load (exe.at b n))))))";
    assert_eq!(text.split_whitespace().collect::<Vec<_>>().join(" "), short);
}

#[test]
fn variables_that_range_over_something_else_say_so() {
    let book = book();
    let mut words = Words::new(&book.signature);
    words.add("a", Named::Input);
    words.add("o", Named::Output);
    words.add("n", Named::Size);
    let text = "(scf.for v 0 n 16
      (vec v (var e 0 n 1) 16 n
        (scf.store (at o e) (scf.load (at a e))) (scf.store (at o e) (scf.load (at a e)))))";
    let term = read(text, &book, &words).expect("a program");
    assert!(check(&term, &book, &words, "lanes").contains("(vec v (var n2 0 n 1) 16 n"));
    let without = text.replace("(var e 0 n 1)", "e");
    let error = read(&without, &book, &words).expect_err("no range");
    assert!(says(&error, "it is not clear what the variable ranges over"), "{error:#?}");
    // A part of a program has names for its free variables.
    let part: Term = "(scf.load (at (in %a) (scf.add (iv (var (depth 3) 0 (size %n) 1)) 1)))"
        .parse()
        .expect("a term");
    assert_eq!(text::line(&part, &words, 80), "(scf.load (at a (scf.add n2 1)))");
    assert_eq!(text::line(&part, &words, 20), "(scf.load (at …))");
}

#[test]
fn names_that_mean_something_else_are_refused() {
    let book = book();
    let mut words = Words::new(&book.signature);
    words.add("a", Named::Output);
    for name in ["a", "i", "7", "%x"] {
        let text = format!(
            "(scf.for i 0 4 1 (scf.for {name} 0 4 1 (scf.store (at a i) (const f32 1.0))))"
        );
        let error = read(&text, &book, &words).expect_err("a name that is taken");
        assert!(says(&error, "cannot name this loop's variable"), "{error:#?}");
    }
}

#[test]
fn deep_terms_are_written() {
    let book = book();
    let words = Words::new(&book.signature);
    let mut deep = String::from("1");
    for _ in 0..5_000 {
        deep = format!("(scf.add {deep} 1)");
    }
    let term = read(&deep, &book, &words).expect("a value");
    assert!(text::program(&term, &words).len() > 50_000);
    // Equal parts are shared in a term but not in its text.
    let mut wide = Term::default();
    let mut at = wide.add(Node::int(1));
    for _ in 0..100 {
        at = wide.add(Node::op("scf.add", &[at, at]));
    }
    assert!(text::program(&wide, &words).starts_with("; more than"));
}
