//! Pairs of programs: those that are proved have certificates that hold, and that hold no more with any
//! byte changed.

use ember_certify::{Rules, check};
use ember_compile::cost::Goal;
use ember_compile::machines;
use ember_compile::pipeline;
use ember_engine::CompiledRule;
use ember_language::diagnostic::Sources;
use ember_language::print_term::print_term;
use ember_language::rules::{self, RuleBook};
use ember_language::sexp::{self, Kind, Sexp};
use ember_prove::equiv::{self, Answer, Options, Sides, Verdict};
use ember_targets::machine::Machine;
use ember_targets::print::print;
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
        let mut sources = Sources::default();
        let paths = equiv::rule_paths(&[root().join("rules")]);
        let (book, _) = rules::load(&mut sources, &paths).expect("the rules are well-formed");
        let compiled = ember_engine::compile(&book);
        let rules = Rules::read(&mut sources, &paths).expect("the checker reads them, too");
        let machine = machines::load(&mut sources, "tmu-cpu").expect("it comes with the program");
        Bench { book, compiled, rules, machine }
    }

    fn sides(&self, files: &[PathBuf], model: Option<&Path>) -> Sides {
        let mut sources = Sources::default();
        equiv::read(&mut sources, &self.book, &self.machine, files, model).expect("two programs")
    }

    fn compare(&self, sides: &Sides, options: &Options) -> Answer {
        let Bench { book, compiled, rules, machine } = self;
        equiv::compare(sides, book, compiled, rules, machine, options).expect("an answer")
    }
}

/// The pairs, with the options that stand in their first lines.
fn pairs() -> Vec<(Vec<PathBuf>, Options, Option<PathBuf>)> {
    let folder = root().join("tests/cases/equiv");
    let entries = std::fs::read_dir(folder).expect("the folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "pair"));
    files.sort();
    let options = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a text");
        let first = text.lines().next().and_then(|line| line.strip_prefix("; equiv")).unwrap_or("");
        let words: Vec<&str> = first.split_whitespace().collect();
        let after = |flag| words.iter().skip_while(|w| **w != flag).nth(1).copied();
        let mut options = Options::default();
        if after("--exact") == Some("reassoc") {
            options.exact = rules::Exactness::Reassoc;
        }
        let model = after("--model").map(|model| root().join(model));
        // A program that stands alone is compared with what the line begins with.
        let other =
            words.first().filter(|word| !word.starts_with("--")).map(|word| root().join(word));
        (std::iter::once(path).chain(other).collect(), options, model)
    };
    files.into_iter().map(options).collect()
}

fn certificate(text: &str) -> Option<Sexp> {
    let mut sources = Sources::default();
    let file = sources.add("<certificate>", text);
    match sexp::read(&sources, file).ok()?.as_slice() {
        [form] => Some(form.clone()),
        _ => None,
    }
}

/// The declarations and the two programs of a certificate.
fn forms(certificate: &Sexp) -> &[Sexp] {
    match certificate.items("certificate") {
        Some([_, forms @ .., _]) => forms,
        _ => &[],
    }
}

/// Whether two texts are the same but for where they stand, and for how numbers are spelled.
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
fn every_proof_has_a_certificate_that_holds() {
    let bench = Bench::new();
    let mut proved = 0;
    for (files, options, model) in pairs() {
        let sides = bench.sides(&files, model.as_deref());
        let path = &files[0];
        if let Verdict::Equal(certified) = bench.compare(&sides, &options).verdict {
            let text = certified.unwrap_or_else(|why| panic!("{}: {why}", path.display())).text();
            let form = certificate(&text).expect("it is balanced");
            if let Err(why) = check(&bench.rules, &form) {
                panic!("{}: {why}\n{text}", path.display());
            }
            proved += 1;
        }
    }
    assert!(proved >= 30, "{proved} pairs are proved");
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
        let original = certificate(&certified.text()).expect("it is balanced");
        check(&bench.rules, &original).expect("it holds");
        let mut bytes = certified.text().into_bytes();
        for at in 0..bytes.len() {
            let before = bytes[at];
            for flip in [1, 2, 16] {
                bytes[at] = before ^ flip;
                let Ok(text) = std::str::from_utf8(&bytes) else { continue };
                let Some(changed) = certificate(text) else { continue };
                if check(&bench.rules, &changed).is_err() {
                    continue;
                }
                // It says the same, or it proves something else.
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

/// Whether two certificates differ in the number that names a loop of the programs only.
fn harmless(a: &Sexp, b: &Sexp) -> bool {
    let variable = |form: &Sexp| form.form().is_some_and(|(head, _)| head == "variable");
    match (a.list(), b.list()) {
        (Some(a), Some(b)) if a.len() == b.len() => {
            a.iter().zip(b).all(|(a, b)| alike(a, b) || (variable(a) && variable(b)))
        }
        _ => false,
    }
}

/// The programs that a schedule makes of an example, as SLC and as DLC text, in files.
fn programs(example: &str, schedule: &str) -> (PathBuf, [PathBuf; 2]) {
    let model = root().join(format!("examples/{example}.sexp"));
    let options = pipeline::Options {
        rules: vec![root().join("rules")],
        schedule: schedule.to_owned(),
        ..pipeline::Options::default()
    };
    let inputs = pipeline::read(&mut Sources::default(), &model, &options).expect("a model");
    let chosen = pipeline::compile(&inputs, &options, Goal::Decoupled).expect("a program");
    let texts = [("slc", print_term(&chosen.term)), ("dlc", print(chosen.program.program()))];
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
    for (example, schedule) in representatives {
        let (model, files) = programs(example, schedule);
        for file in files {
            let sides = bench.sides(&[model.clone(), file.clone()], None);
            let answer = bench.compare(&sides, &Options::default());
            let Verdict::Equal(Ok(_)) = answer.verdict else {
                panic!("{}: {:?}", file.display(), answer.verdict)
            };
        }
    }
}
