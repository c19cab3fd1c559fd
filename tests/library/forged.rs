//! Mutated certificates: the certificates of the cases in `tests/cases/equiv/` are changed at random in terms, numbers,
//! names, steps and declarations. Of each changed certificate that the checker accepts, both programs are run on random
//! data, on which they must do the same.

use crate::samples::samples;
use ember_certify::{Refusal, Rules, check};
use ember_compile::machines;
use ember_engine::CompiledRule;
use ember_host::Disk;
use ember_language::diagnostic::{FileId, Sources, Span};
use ember_language::rules::{self, Exactness, RuleBook};
use ember_language::sexp::{self, Kind, Sexp};
use ember_prove::equiv::{self, Options, Verdict};
use ember_targets::machine::Machine;
use fastrand::Rng;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The least number of changed certificates of each case.
const MUTANTS: usize = 40;

/// The number of times that the reasons in a changed certificate are put right, as a forger would.
const REPAIRS: usize = 12;

/// The number of random trials for the claim of an accepted certificate.
const TRIES: usize = 30;

struct Bench {
    book: RuleBook,
    compiled: Vec<CompiledRule>,
    rules: Rules,
    machine: Machine,
}

fn bench() -> Bench {
    let mut sources = Sources::new(Disk);
    let paths = equiv::rule_paths(&Disk, &[root().join("rules")]);
    let (book, _) = rules::load(&mut sources, &paths).expect("the rules are well-formed");
    let compiled = ember_engine::compile(&book);
    let rules = Rules::read(&mut sources, &paths).expect("the checker reads them, too");
    let machine = machines::load(&mut sources, "tmu-cpu-plus").expect("it comes with the program");
    Bench { book, compiled, rules, machine }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn mutated_certificates_that_hold_claim_something_true() {
    let bench = bench();
    let entries = std::fs::read_dir(root().join("tests/cases/equiv")).expect("the folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "pair") && is_proved(path));
    files.sort();
    let counts: Vec<(usize, usize)> = files
        .par_iter()
        .enumerate()
        .filter_map(|(seed, path)| {
            let certificate = certificate(&bench, path)?;
            Some(mutate(&bench, path, &certificate, seed as u64))
        })
        .collect();
    let accepted: usize = counts.iter().map(|(accepted, _)| accepted).sum();
    let compared: usize = counts.iter().map(|(_, compared)| compared).sum();
    println!(
        "{} certificates: {accepted} changed ones hold, {compared} with another claim",
        counts.len()
    );
    assert!(counts.len() >= 30 && compared >= 15, "{counts:?}");
}

/// Returns true if a pair is one that is proved without any options.
fn is_proved(path: &Path) -> bool {
    let text = |path: &Path| std::fs::read_to_string(path).expect("a text");
    text(&path.with_extension("expected")).starts_with("equal")
        && !text(path).starts_with("; equiv --")
}

/// Returns the certificate of a pair of programs that is proved by the pair alone.
fn certificate(bench: &Bench, path: &Path) -> Option<Sexp> {
    let mut sources = Sources::new(Disk);
    let Bench { book, compiled, rules, machine } = bench;
    let sides = equiv::read(&mut sources, book, machine, &[path.to_owned()], None).ok()?;
    // Data in a layout, or with a condition, is not drawn at random, and nothing else is claimed of it.
    if !(sides.declarations.layouts.is_empty() && sides.declarations.assumptions.is_empty()) {
        return None;
    }
    let answer = equiv::compare(&sides, book, compiled, rules, machine, &Options::default());
    match answer.ok()?.verdict {
        Verdict::Equal(Ok(certificate)) => Some(read(&certificate.text())),
        _ => None,
    }
}

fn read(text: &str) -> Sexp {
    let mut sources = Sources::new(Disk);
    let file = sources.add("<certificate>", text);
    match sexp::read(&sources, file).expect("it is balanced").as_slice() {
        [form] => placeless(form),
        forms => panic!("{} forms", forms.len()),
    }
}

/// Returns a form without the places of its text, so that equal parts are equal.
fn placeless(form: &Sexp) -> Sexp {
    new(match &form.kind {
        Kind::List(items) => Kind::List(items.iter().map(placeless).collect()),
        other => other.clone(),
    })
}

/// Changes a certificate again and again. Returns the number of changed ones that hold, and the number of those that
/// claim something else than the original.
fn mutate(bench: &Bench, path: &Path, original: &Sexp, seed: u64) -> (usize, usize) {
    let mut rng = Rng::with_seed(seed);
    let (mut accepted, mut compared) = (0, 0);
    for _ in 0..samples(MUTANTS) {
        let mut changed = original.clone();
        for _ in 0..rng.usize(1..=2) {
            change(&mut changed, &mut rng);
        }
        if changed == *original || !holds(&bench.rules, &mut changed) {
            continue;
        }
        accepted += 1;
        if claim(&changed) == claim(original) {
            continue;
        }
        compared += 1;
        if let Some(found) = refuted(bench, &changed) {
            panic!("{}: {found}\n{changed}", path.display());
        }
    }
    (accepted, compared)
}

/// Each file of `tests/forged/` is a certificate of a false claim; its first line is the reason why it is refused.
#[test]
fn forged_certificates_do_not_hold() {
    let rules = bench().rules;
    let entries = std::fs::read_dir(root().join("tests/forged")).expect("the folder");
    for entry in entries {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        let refused = refusal(&rules, &mut read(&text)).map(|why| why.to_string());
        let reason = text.lines().next().and_then(|line| line.strip_prefix("; "));
        assert_eq!(refused.as_deref(), reason, "{}", path.display());
    }
}

/// Returns true if the checker accepts a certificate, once the reasons and the exactness that it states are put right.
fn holds(rules: &Rules, certificate: &mut Sexp) -> bool {
    refusal(rules, certificate).is_none()
}

/// Returns the reason why the checker refuses a certificate whose reasons and exactness are put right.
fn refusal(rules: &Rules, certificate: &mut Sexp) -> Option<Refusal> {
    let mut last = None;
    for _ in 0..REPAIRS {
        let refusal = check(rules, certificate).err()?;
        let repaired = match &refusal {
            Refusal::Step { number, why, .. } => match &**why {
                Refusal::OtherReasons(reasons) => because(certificate, *number).map(|because| {
                    let reasons = reasons.iter().cloned().map(Kind::Text).map(new);
                    let all = std::iter::once(word("because")).chain(reasons).collect();
                    *because = new(Kind::List(all));
                }),
                _ => None,
            },
            Refusal::OtherExactness(least) => {
                items(certificate).and_then(|items| items.get_mut(1)).map(|exact| {
                    *exact = new(Kind::List(vec![word("exact"), word(least.name())]));
                })
            }
            _ => None,
        };
        if repaired.is_none() {
            return Some(refusal);
        }
        last = Some(refusal);
    }
    last
}

/// Returns the reasons of a step, counted from 1.
fn because(certificate: &mut Sexp, number: usize) -> Option<&mut Sexp> {
    let steps = items(certificate)?.last_mut()?;
    items(items(steps)?.get_mut(number)?)?.get_mut(3)
}

fn items(form: &mut Sexp) -> Option<&mut Vec<Sexp>> {
    match &mut form.kind {
        Kind::List(items) => Some(items),
        _ => None,
    }
}

fn new(kind: Kind) -> Sexp {
    Sexp { span: Span::new(FileId::default(), 0..0), kind }
}

fn word(text: &str) -> Sexp {
    new(Kind::Atom(text.to_owned()))
}

/// Makes one change: of one place, or of every place where the same term stands.
fn change(whole: &mut Sexp, rng: &mut Rng) {
    let mut all = Vec::new();
    parts(whole, &mut all);
    let old = all[rng.usize(1..all.len())];
    let other = all[rng.usize(1..all.len())];
    let new = match (old.atom(), rng.u8(0..8)) {
        (Some("forward"), _) => word("backward"),
        (Some("backward"), _) => word("forward"),
        (Some(text), 0..=3) => match text.parse::<i64>() {
            Ok(n) => word(&number(n, rng).to_string()),
            Err(_) => alike(&all, text, rng),
        },
        (Some(_), _) | (None, 0..=1) => other.clone(),
        (None, kind) => {
            let mut list = old.clone();
            rearrange(&mut list, kind, rng);
            list
        }
    };
    let place = rng.bool().then(|| rng.usize(0..all.iter().filter(|part| **part == old).count()));
    let old = old.clone();
    replace(whole, &old, &new, &mut 0, place);
}

fn parts<'a>(form: &'a Sexp, all: &mut Vec<&'a Sexp>) {
    all.push(form);
    form.list().unwrap_or_default().iter().for_each(|part| parts(part, all));
}

fn number(n: i64, rng: &mut Rng) -> i64 {
    match rng.u8(0..8) {
        0 => 0,
        1 => i64::MAX,
        2 => i64::MIN,
        3 => n.wrapping_neg(),
        4 => n.wrapping_add(2),
        5 => n.wrapping_mul(2),
        6 => n.wrapping_add(1),
        _ => n.wrapping_sub(1),
    }
}

/// Returns another word of the same kind: a loop variable, a name of a tensor or size, or any other word.
fn alike(all: &[&Sexp], text: &str, rng: &mut Rng) -> Sexp {
    let kind = |word: &str| word.chars().next().filter(|first| "@%?".contains(*first));
    let words = all.iter().filter_map(|part| part.atom()).filter(|word| kind(word) == kind(text));
    let words: Vec<&str> = words.filter(|word| word.parse::<i64>().is_err()).collect();
    word(words[rng.usize(0..words.len())])
}

/// Drops, doubles or exchanges items of a list.
fn rearrange(list: &mut Sexp, kind: u8, rng: &mut Rng) {
    let Some(items) = items(list).filter(|items| items.len() > 1) else { return };
    let (at, other) = (rng.usize(0..items.len()), rng.usize(0..items.len()));
    match kind {
        2..=3 => {
            items.remove(at);
        }
        4 => items.insert(at, items[other].clone()),
        _ => items.swap(at, other),
    }
}

/// Replaces a term where it stands for the `place`-th time, or everywhere.
fn replace(form: &mut Sexp, old: &Sexp, by: &Sexp, seen: &mut usize, place: Option<usize>) {
    if form == old {
        *seen += 1;
        if place.is_none_or(|place| place + 1 == *seen) {
            *form = by.clone();
            return;
        }
    }
    if let Some(items) = items(form) {
        items.iter_mut().for_each(|item| replace(item, old, by, seen, place));
    }
}

/// Returns what a certificate claims, as text: declarations and programs.
fn claim(certificate: &Sexp) -> String {
    let forms = certificate.items("certificate").unwrap_or_default();
    forms.iter().skip(2).take(forms.len().saturating_sub(3)).map(|form| form.to_string()).collect()
}

/// Returns data on which both programs of a certificate run, with different results.
fn refuted(bench: &Bench, certificate: &Sexp) -> Option<String> {
    let forms = certificate.items("certificate")?;
    let [exact, _, declarations @ .., left, right, _] = forms else { return None };
    // A term is equal to itself, and need not be a program that runs.
    if left.items("left") == right.items("right") {
        return None;
    }
    let mut variables = BTreeMap::new();
    let mut text = String::new();
    for form in declarations {
        match form.form() {
            Some(("variable", [word, bounds, ..])) => {
                if let (Some(word), Some(bounds)) = (word.atom(), bounds.items("bounds")) {
                    variables.entry(word.to_owned()).or_insert_with(|| bounds.to_vec());
                }
            }
            _ => text += &format!("{form}\n"),
        }
    }
    for program in [left.items("left")?, right.items("right")?] {
        text += &format!("{}\n", written(&program[0], &variables));
    }
    let mut sources = Sources::new(Disk);
    sources.add("forged.pair", text);
    let Bench { book, machine, .. } = bench;
    let sides = equiv::read(&mut sources, book, machine, &["forged.pair".into()], None);
    let sides = sides.unwrap_or_else(|why| panic!("{why:#?}\n{certificate}"));
    let exact = exact.items("exact")?.first()?.atom().and_then(Exactness::parse)?;
    let options = Options { exact, tries: TRIES, ..Options::default() };
    let (found, _) = equiv::apart(&sides, machine, &options);
    found.map(|found| format!("{:?}", found.difference))
}

/// Writes the loop variables of a term with their bounds.
fn written(term: &Sexp, variables: &BTreeMap<String, Vec<Sexp>>) -> Sexp {
    match &term.kind {
        Kind::Atom(text) => match variables.get(text) {
            Some(bounds) => {
                let bounds = bounds.iter().map(|bound| written(bound, variables));
                new(Kind::List(std::iter::once(word("var")).chain(bounds).collect()))
            }
            None => term.clone(),
        },
        Kind::List(items) => {
            new(Kind::List(items.iter().map(|item| written(item, variables)).collect()))
        }
        Kind::Text(_) => term.clone(),
    }
}
