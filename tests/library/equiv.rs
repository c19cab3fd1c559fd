//! Tests of proofs: what is compiled is proved to be the model, at every level and with rules of users; and certificates
//! no longer hold after a change of any byte. That the certificates of pairs hold is tested with the cases of `equiv`.

use crate::samples::samples;
use ember_certify::{Rules, check};
use ember_compile::cost::Goal;
use ember_compile::machines;
use ember_compile::pipeline;
use ember_engine::CompiledRule;
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules::{self, RuleBook};
use ember_language::sexp::{self, Kind, Sexp};
use ember_language::text;
use ember_prove::equiv::{self, Answer, Found, Options, Search, Sides, Verdict};
use ember_targets::machine::Machine;
use ember_targets::print::print;
use ember_tools::emit::{self, Level};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

struct Bench {
    book: RuleBook,
    compiled: Vec<CompiledRule>,
    rules: Rules,
    machine: Machine,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Bench {
    fn new() -> Bench {
        Bench::with(&[root().join("rules")])
    }

    fn with(paths: &[PathBuf]) -> Bench {
        let mut sources = Sources::new(Disk);
        let paths = equiv::rule_paths(&Disk, paths);
        let (book, _) = rules::load(&mut sources, &paths).expect("the rules are well-formed");
        let compiled = ember_engine::compile(&book);
        let rules = Rules::read(&mut sources, &paths).expect("the checker reads them, too");
        let machine =
            machines::load(&mut sources, "tmu-cpu-plus").expect("it comes with the program");
        Bench { book, compiled, rules, machine }
    }

    fn sides(&self, files: &[PathBuf], model: Option<&Path>) -> Sides {
        let mut sources = Sources::new(Disk);
        equiv::read(&mut sources, &self.book, &self.machine, files, model).expect("two programs")
    }

    fn compare(&self, sides: &Sides, options: &Options) -> Answer {
        let Bench { book, compiled, rules, machine } = self;
        equiv::compare(sides, book, compiled, rules, machine, options).expect("an answer")
    }
}

fn certificate_of(text: &str) -> Option<Sexp> {
    let mut sources = Sources::new(Disk);
    let file = sources.add("<certificate>", text);
    match sexp::read(&sources, file).ok()?.as_slice() {
        [form] => Some(form.clone()),
        _ => None,
    }
}

/// Returns the declarations and the two programs of a certificate.
fn forms(certificate: &Sexp) -> &[Sexp] {
    match certificate.items("certificate") {
        Some([_, forms @ .., _]) => forms,
        _ => &[],
    }
}

/// Returns true if two texts are equal except for positions and the spelling of numbers.
fn alike(a: &Sexp, b: &Sexp) -> bool {
    match (&a.kind, &b.kind) {
        (Kind::List(a), Kind::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        (Kind::Atom(a), Kind::Atom(b)) => {
            let whole = |word: &str| word.parse::<i64>().ok();
            let real = |word: &str| word.parse::<f64>().ok().map(f64::to_bits);
            let same = match (whole(a), whole(b)) {
                (None, None) => real(a).is_some() && real(a) == real(b),
                (a, b) => a == b,
            };
            a == b || same
        }
        (a, b) => a == b,
    }
}

#[test]
fn a_certificate_with_a_byte_changed_does_not_hold() {
    let bench = Bench::new();
    for name in ["interchange", "strip_mine", "privatise"] {
        let path = root().join(format!("tests/cases/equiv/{name}.pair"));
        let sides = bench.sides(&[path], None);
        let Verdict::Equal(Ok(certified)) = bench.compare(&sides, &Options::default()).verdict
        else {
            panic!("{name} is not proved");
        };
        let original = certificate_of(&certified.text()).expect("it is balanced");
        check(&bench.rules, &original).expect("it holds");
        let mut bytes = certified.text().into_bytes();
        for at in 0..bytes.len() {
            let before = bytes[at];
            for flip in [1, 2, 16].into_iter().cycle().skip(at % 3).take(samples(1).min(3)) {
                bytes[at] = before ^ flip;
                let Ok(text) = std::str::from_utf8(&bytes) else { continue };
                let Some(changed) = certificate_of(text) else { continue };
                if check(&bench.rules, &changed).is_err() {
                    continue;
                }
                // The changed certificate is equivalent to the original, or it proves something else.
                let same = forms(&changed).len() == forms(&original).len()
                    && forms(&changed).iter().zip(forms(&original)).all(|(a, b)| alike(a, b));
                assert!(
                    !same || alike(&changed, &original) || harmless(&original, &changed),
                    "{name}: byte {at} ({:?}) became {:?}\n{text}",
                    before as char,
                    bytes[at] as char
                );
            }
            bytes[at] = before;
        }
    }
}

/// Returns true if two certificates differ only in the number of a loop variable of the programs.
fn harmless(a: &Sexp, b: &Sexp) -> bool {
    let variable = |form: &Sexp| form.form().is_some_and(|(head, _)| head == "variable");
    match (a.list(), b.list()) {
        (Some(a), Some(b)) if a.len() == b.len() => {
            a.iter().zip(b).all(|(a, b)| alike(a, b) || (variable(a) && variable(b)))
        }
        _ => false,
    }
}

/// Writes the programs that a schedule produces for an example to files, as SLC and as DLC text.
fn programs(example: &str, schedule: &str) -> (PathBuf, [PathBuf; 2]) {
    let model = root().join(format!("examples/{example}.sexp"));
    let options = pipeline::Options {
        rules: vec![root().join("rules")],
        schedule: schedule.to_owned(),
        rank: false,
        ..pipeline::Options::default()
    };
    let inputs = pipeline::read(&mut Sources::new(Disk), &model, &options).expect("a model");
    let chosen = pipeline::compile(&inputs, &options, Goal::Decoupled).expect("a program");
    let slcv = text::program(&chosen.term, &inputs.words());
    let texts = [("slcv", slcv), ("dlc", print(chosen.program.program()))];
    let files = texts.map(|(level, text)| {
        let name = format!("{example}_{schedule}.{level}");
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&file, text).expect("a file");
        file
    });
    (model, files)
}

#[test]
fn what_is_compiled_is_proved_to_be_the_model() {
    let bench = Bench::new();
    let representatives = [
        ("gather", "emb-opt0"),
        ("gather", "search"),
        ("embedding_bag", "emb-opt1"),
        ("embedding_bag", "search"),
        ("bag_mean", "emb-opt2"),
        ("bag_max", "emb-opt3"),
        ("bag_weighted", "search"),
        ("kg_scorer", "search"),
        ("fusedmm", "emb-opt2"),
        ("gcn", "emb-opt1"),
        ("bigbird", "search"),
        ("dlrm_rm1", "search"),
    ];
    representatives.into_par_iter().for_each(|(example, schedule)| {
        let (model, files) = programs(example, schedule);
        for file in files {
            let sides = bench.sides(&[model.clone(), file.clone()], None);
            let answer = bench.compare(&sides, &Options::default());
            let Verdict::Equal(Ok(_)) = answer.verdict else {
                panic!("{}: {:?}", file.display(), answer.verdict)
            };
        }
    });
}

/// A user-defined level with a loop, a store with its operands swapped, and a sequence.
const LEVEL: &str = r#"
(dialect mid "a level between"
  (sort Mid "a statement of the level between" :kind statement)
  (op mid (Stmt) Mid "a statement, at the level between" :boundary :means same)
  (op mid.loop ((step Value) (variable Var) (lo Value) (hi Value) (body Mid)) Mid "a loop"
    :binds (1 4) :erases scf.for)
  (op mid.put ((value Value) (address Address)) Mid "a store" :erases scf.store)
  (op mid.then (Mid Mid) Mid "one after the other" :erases scf.seq))

(ruleset mid "statements at the level between" :phase decouple :exact bitwise)
(rule mid-loop "A loop." (mid (scf.for ?v ?lo ?hi ?st ?s)) => (mid.loop ?st ?v ?lo ?hi (mid ?s)))
(rule mid-put "A store." (mid (scf.store ?a ?x)) => (mid.put ?x ?a))
(rule mid-then "A sequence." (mid (scf.seq ?a ?b)) => (mid.then (mid ?a) (mid ?b)))
"#;

/// Two programs: one for one processor, and one in the user-defined level with its loops interchanged.
const PROGRAMS: &str = "(input a f32 (n m)) (output x f32 (n m)) (output y f32 (n))
(scf.seq
  (scf.for i 0 n 1 (scf.for j 0 m 1 (scf.store (at x i j) (scf.load (at a i j)))))
  (scf.for i 0 n 1 (scf.store (at y i) (const f32 2.0))))
(mid.then
  (mid.loop 1 j 0 m (mid.loop 1 i 0 n (mid.put (scf.load (at a i j)) (at x i j))))
  (mid.loop 1 i 0 n (mid.put (const f32 2.0) (at y i))))";

#[test]
fn a_level_of_the_users_is_proved_like_the_built_in_ones() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (level, pair) = (folder.join("level.rules"), folder.join("level.pair"));
    std::fs::write(&level, LEVEL).expect("a file");
    std::fs::write(&pair, PROGRAMS).expect("a file");
    let bench = Bench::with(&[root().join("rules"), level]);
    let sides = bench.sides(&[pair], None);
    let terms = equiv::terms(&sides, &bench.book).expect("both are terms");
    let options = Options::default();
    let search = Search {
        book: &bench.book,
        compiled: &bench.compiled,
        schedule: bench.book.require_schedule("equiv-units").expect("it is there"),
        machine: &bench.machine,
        exact: options.exact,
        limits: options.limits,
        certify: Some(&bench.rules),
    };
    match search.run(&sides, &terms) {
        Found::Equal(Ok(certificate)) => {
            let form = certificate_of(&certificate.text()).expect("it is balanced");
            check(&bench.rules, &form).expect("it holds");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_certificate_is_refused_with_other_rules() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let more = folder.join("more.rules");
    let rule =
        r#"(rule more "A sum with itself." (scf.add ?a ?a) => (scf.mul 2 ?a) :when (index ?a))"#;
    std::fs::write(&more, format!("(ruleset more \"one more\")\n{rule}")).expect("a file");
    let (bench, other) = (Bench::new(), Bench::with(&[root().join("rules"), more]));
    let sides = bench.sides(&[root().join("tests/cases/equiv/interchange.pair")], None);
    let Verdict::Equal(Ok(certified)) = bench.compare(&sides, &Options::default()).verdict else {
        panic!("it is not proved");
    };
    let text = certified.text();
    let holds = |text: &str, rules: &Rules| {
        check(rules, &certificate_of(text).expect("it is balanced")).map(drop)
    };
    holds(&text, &bench.rules).expect("it holds");
    let why = holds(&text, &other.rules).expect_err("it was made with other rules").to_string();
    assert!(why.contains("other rules") && why.contains("(rules any)"), "{why}");
    let any = text.replace(bench.rules.digest(), "any");
    holds(&any, &other.rules).expect("one more rule changes nothing in it");
}

#[test]
fn every_example_is_proved_at_every_level() {
    let bench = Bench::new();
    let entries = std::fs::read_dir(root().join("examples")).expect("the folder");
    let mut models: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    models.retain(|path| path.extension().is_some_and(|e| e == "sexp"));
    models.par_iter().for_each(|model| {
        let options = pipeline::Options {
            rules: vec![root().join("rules")],
            rank: false,
            ..pipeline::Options::default()
        };
        let inputs = pipeline::read(&mut Sources::new(Disk), model, &options).expect("a model");
        for (level, name) in [(Level::Scf, "scf"), (Level::Slc, "slc"), (Level::Slcv, "slcv")] {
            let text = emit::program(&inputs, &options, level).expect("a program");
            let name = format!("{}_level.{name}", inputs.model.name);
            let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
            std::fs::write(&file, text).expect("a file");
            let sides = bench.sides(&[model.clone(), file.clone()], None);
            let answer = bench.compare(&sides, &Options::default());
            assert!(
                matches!(answer.verdict, Verdict::Equal(Ok(_))),
                "{}: {:?}",
                file.display(),
                answer.verdict
            );
        }
    });
}
