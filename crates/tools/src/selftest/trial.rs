//! Tests equivalence checking on pairs of programs of known relation: half of them are equal because rules derive one
//! from the other; half of them are a program and a mutant with other results.

use super::data::{Data, Relation, Run, interpret, unlike};
use super::mutate::mutants;
use super::vary::{Level, vary};
use ember_certify::Rules;
use ember_compile::machines;
use ember_engine::CompiledRule;
use ember_engine::saturate::Limits;
use ember_language::diagnostic::{Checked, Sources};
use ember_language::rules::Signature;
use ember_language::rules::{self, RuleBook, Sort};
use ember_language::term::Term;
use ember_language::text::program;
use ember_prove::equiv::{self, Counterexample, Sides, Verdict, What};
use ember_prove::random::Made;
use ember_targets::machine::Machine;
use fastrand::Rng;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The rules and the machine of a trial.
pub struct Tools {
    /// The rules, including those of equivalence.
    pub book: RuleBook,
    /// The rules compiled for the e-graph.
    pub compiled: Vec<CompiledRule>,
    /// The rules in the form of the checker of certificates.
    pub rules: Rules,
    /// The machine.
    pub machine: Machine,
}

impl Tools {
    /// Reads the rules of folders, with the rules in a folder `equiv` of each, and a machine.
    pub fn read(sources: &mut Sources, given: &[PathBuf], machine: &str) -> Checked<Tools> {
        let paths = equiv::rule_paths(sources.files().as_ref(), given);
        let (book, _) = rules::load(sources, &paths)?;
        let rules = Rules::read(sources, &paths)?;
        let machine = machines::load(sources, machine)?;
        Ok(Tools { compiled: ember_engine::compile(&book), book, rules, machine })
    }
}

/// The options of a trial.
#[derive(Clone, Debug)]
pub struct Options {
    /// The numbers of the pairs.
    pub pairs: Vec<usize>,
    /// The seed of all random choices.
    pub seed: u64,
    /// The limits of the search for each proof.
    pub limits: Limits,
}

/// The limits of the search for a proof if a mutant seems to be equal; the outcome is not counted.
const ALIKE: Limits = Limits { iterations: 6, nodes: 1500 };

/// The correctness of a pair's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Wrong {
    /// The answer is right.
    No,
    /// There is no answer.
    Unknown,
    /// The answer is wrong.
    Answer,
    /// The rules that made the pair equal are wrong.
    Rules,
}

/// The outcome of one pair.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Finding {
    /// The number of the pair.
    pub pair: usize,
    /// The kind of the pair: the way in which it was made equal, or the kind of mutation.
    pub kind: &'static str,
    /// The known relation; `None` for a mutant without a known difference.
    pub equal: Option<bool>,
    /// The correctness of the answer.
    pub wrong: Wrong,
    /// The reason.
    pub reason: String,
    /// The pair in the form that `equiv` reads, unless the answer is right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Milliseconds until the answer.
    pub time_ms: f64,
}

/// Counts of answers by their correctness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Tally {
    /// Pairs.
    pub pairs: usize,
    /// Pairs without an answer.
    pub unknown: usize,
    /// Pairs with a wrong answer.
    pub wrong: usize,
}

impl Tally {
    /// Returns the share of pairs without an answer.
    pub fn share(&self) -> f64 {
        self.unknown as f64 / self.pairs.max(1) as f64
    }
}

/// The outcome of all pairs.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Summary {
    /// Pairs that are equal by construction.
    pub equal: Tally,
    /// Mutants with other results.
    pub mutants: Tally,
    /// Mutants without a known difference, answered or not.
    pub alike: Tally,
    /// The counts by the kind of a pair.
    pub kinds: BTreeMap<&'static str, Tally>,
    /// The number of missing answers by reason.
    pub reasons: BTreeMap<String, usize>,
    /// The pairs whose answers are missing or wrong.
    pub findings: Vec<Finding>,
    /// The median and the largest time of an answer.
    pub time_ms: (f64, f64),
}

impl Summary {
    /// Returns the share of pairs of known relation that have no answer.
    pub fn unknown(&self) -> f64 {
        let pairs = self.equal.pairs + self.mutants.pairs;
        (self.equal.unknown + self.mutants.unknown) as f64 / pairs.max(1) as f64
    }

    /// Returns the number of wrong answers.
    pub fn wrong(&self) -> usize {
        self.equal.wrong + self.mutants.wrong + self.alike.wrong
    }
}

/// Tests pairs, several at a time; calls `done` after each.
pub fn trial(tools: &Tools, options: &Options, done: impl Fn() + Sync) -> Summary {
    let one = |&pair: &usize| {
        let found = Pair::new(tools, options.seed, pair).answered(options.limits);
        done();
        found
    };
    let findings: Vec<Vec<Finding>> = options.pairs.par_iter().map(one).collect();
    let findings: Vec<Finding> = findings.into_iter().flatten().collect();
    let mut times: Vec<f64> = findings.iter().map(|finding| finding.time_ms).collect();
    times.sort_by(f64::total_cmp);
    let time = |at: usize| times.get(at).copied().unwrap_or(0.0);
    let mut summary = Summary {
        equal: Tally::default(),
        mutants: Tally::default(),
        alike: Tally::default(),
        kinds: BTreeMap::new(),
        reasons: BTreeMap::new(),
        findings: Vec::new(),
        time_ms: (time(times.len() / 2), time(times.len().saturating_sub(1))),
    };
    for finding in findings {
        let own = match finding.equal {
            Some(true) => &mut summary.equal,
            Some(false) => &mut summary.mutants,
            None => &mut summary.alike,
        };
        let mut tallies = vec![own];
        if finding.equal.is_some() {
            tallies.push(summary.kinds.entry(finding.kind).or_default());
        }
        for tally in tallies {
            tally.pairs += 1;
            tally.unknown += usize::from(finding.wrong == Wrong::Unknown);
            tally.wrong += usize::from(finding.wrong > Wrong::Unknown);
        }
        if finding.wrong == Wrong::Unknown && finding.equal.is_some() {
            *summary.reasons.entry(finding.reason.clone()).or_default() += 1;
        }
        if finding.wrong != Wrong::No {
            summary.findings.push(finding);
        }
    }
    summary
}

/// The number of programs drawn for one pair before it is given up.
const DRAWS: usize = 60;

/// The number of rounds of rules, each applied to the result of the last.
const ROUNDS: usize = 2;

/// A pair under construction.
struct Pair<'a> {
    tools: &'a Tools,
    number: usize,
    rng: Rng,
}

/// A finished pair.
struct Drawn {
    kind: &'static str,
    equal: Option<bool>,
    /// True if they differ because one of them faults.
    faults: bool,
    made: Made,
    right: (Term, Level),
}

impl<'a> Pair<'a> {
    fn new(tools: &'a Tools, seed: u64, number: usize) -> Pair<'a> {
        // Neighbouring seeds give neighbouring states, so the generator is seeded again from its first number.
        let mut rng = Rng::with_seed(seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let own = rng.u64(..);
        Pair { tools, number, rng: Rng::with_seed(own) }
    }

    /// Returns the pair's answer, and the answers of mutants on the way that have no known difference.
    fn answered(mut self, limits: Limits) -> Vec<Finding> {
        let mut found = Vec::new();
        for _ in 0..DRAWS {
            let drawn = match self.number % 2 {
                0 => self.equal(),
                _ => self.mutant(),
            };
            match drawn {
                Ok(None) => {}
                Err(finding) => {
                    found.push(*finding);
                    return found;
                }
                Ok(Some(drawn)) => {
                    // At most one mutant without a known difference is examined for each pair.
                    let alike = drawn.equal.is_none();
                    if !alike || found.is_empty() {
                        let limits = if alike { ALIKE } else { limits };
                        found.push(answer(self.tools, self.number, &drawn, limits));
                    }
                    if !alike {
                        return found;
                    }
                }
            }
        }
        found
    }

    /// Makes a program that ends without a fault on most of its data.
    fn program(&mut self) -> Option<(Made, Data, Vec<Run>)> {
        let made = Made::random(&self.tools.book, self.rng.u64(..), self.rng.u32(0..3));
        let data = Data::new(&made, self.tools.book.signature.table(), self.rng.u64(..));
        let expected = data.of_term(&made.term);
        let ended = expected.iter().filter(|run| matches!(run, Run::Ended(_))).count();
        (2 * ended > expected.len()).then_some((made, data, expected))
    }

    fn varied(
        &mut self,
        made: &Made,
        level: Level,
        known: (&Data, &[Run]),
    ) -> Result<Option<Term>, Box<Finding>> {
        let Tools { book, compiled, machine, .. } = self.tools;
        vary(made, level, (book, compiled, machine), known, &mut self.rng).map_err(|(term, why)| {
            Box::new(Finding {
                pair: self.number,
                kind: "rules",
                equal: Some(true),
                wrong: Wrong::Rules,
                reason: why,
                text: Some(text(made, &term, &book.signature)),
                time_ms: 0.0,
            })
        })
    }

    fn equal(&mut self) -> Result<Option<Drawn>, Box<Finding>> {
        let Some((made, data, expected)) = self.program() else { return Ok(None) };
        let slc = self.rng.u8(0..4) == 0;
        let rounds = self.rng.usize(1..=ROUNDS);
        let mut right = made.clone();
        for _ in 0..rounds {
            if let Some(term) = self.varied(&right, Level::Scf, (&data, &expected))? {
                right.term = term;
            }
        }
        let (kind, term, level) = match slc {
            false if right.term == made.term => return Ok(None),
            false => ("equal: loops", right.term, Level::Scf),
            true => match self.varied(&right, Level::Slc, (&data, &expected))? {
                Some(term) => ("equal: two units", term, Level::Slc),
                None => return Ok(None),
            },
        };
        Ok(Some(Drawn { kind, equal: Some(true), faults: false, made, right: (term, level) }))
    }

    fn mutant(&mut self) -> Result<Option<Drawn>, Box<Finding>> {
        let Some((made, data, expected)) = self.program() else { return Ok(None) };
        // Most mutants are mutants of the program itself, some of an equal program.
        let level = match self.rng.u8(0..8) {
            0 => Level::Slc,
            _ => Level::Scf,
        };
        let base = match self.rng.u8(0..4) {
            _ if level == Level::Slc => self.varied(&made, level, (&data, &expected))?,
            0 => self.varied(&made, level, (&data, &expected))?,
            _ => Some(made.term.clone()),
        };
        let Some(base) = base else { return Ok(None) };
        let mut all = mutants(&base, self.tools.book.signature.table(), &made.declarations);
        if all.is_empty() {
            return Ok(None);
        }
        let mutant = all.swap_remove(self.rng.usize(0..all.len()));
        let (equal, faults) = match data.relation(&expected, &data.of_term(&mutant.term)) {
            Relation::Same(_) => (None, false),
            Relation::Different(_) => (Some(false), false),
            Relation::Fault(_) => (Some(false), true),
        };
        Ok(Some(Drawn { kind: mutant.kind, equal, faults, made, right: (mutant.term, level) }))
    }
}

/// Gives a pair to equivalence checking, and compares the answer with the known relation.
fn answer(tools: &Tools, pair: usize, drawn: &Drawn, limits: Limits) -> Finding {
    let Drawn { kind, equal, faults, made, right: (term, level) } = drawn;
    let sort = Sort::named(match level {
        Level::Scf => "Stmt",
        Level::Slc => "Slc",
    });
    let program = |term: &Term, sort| What::Term { term: term.clone(), sort };
    let programs = [program(&made.term, Sort::named("Stmt")), program(term, sort)];
    let Tools { book, compiled, rules, machine } = tools;
    let sides = Sides::of(&book.signature, made.declarations.clone(), programs);
    let options = equiv::Options { limits, ..equiv::Options::default() };
    let start = std::time::Instant::now();
    let answer = equiv::compare(&sides, book, compiled, rules, machine, &options);
    let time_ms = start.elapsed().as_secs_f64() * 1e3;
    let (wrong, equal, reason) = match answer.map(|answer| answer.verdict) {
        Err(errors) => (Wrong::Answer, *equal, format!("no answer: {errors:?}")),
        Ok(Verdict::Unknown(unknown)) => (Wrong::Unknown, *equal, unknown.reason()),
        Ok(Verdict::Equal(certificate)) => match (equal, certificate) {
            // A proof says nothing of data on which only one of the programs faults.
            (Some(false), Ok(_)) if *faults => (Wrong::No, None, String::new()),
            (Some(false), _) => (Wrong::Answer, *equal, "answered `equal`".to_owned()),
            (_, Err(why)) => {
                (Wrong::Unknown, *equal, format!("equal without a certificate: {why}"))
            }
            (_, Ok(_)) => (Wrong::No, *equal, String::new()),
        },
        Ok(Verdict::Different(found)) => match (equal, shown(&sides, made, term, &found)) {
            (_, None) => (Wrong::Answer, *equal, "the counterexample shows nothing".to_owned()),
            // Rules hold on open memory, where no index faults; a difference of faults does not refute them.
            (Some(true), Some(Shown::Fault)) => (Wrong::No, None, String::new()),
            (Some(true), Some(Shown::Results)) => {
                (Wrong::Answer, *equal, "answered `different`".to_owned())
            }
            // The counterexample shows a difference that the data here did not.
            (_, Some(_)) => (Wrong::No, Some(false), String::new()),
        },
    };
    let text = (wrong != Wrong::No).then(|| text(made, term, &book.signature));
    Finding { pair, kind, equal, wrong, reason, text, time_ms }
}

/// A difference that a counterexample shows.
enum Shown {
    /// The results differ.
    Results,
    /// One of the programs faults.
    Fault,
}

/// Returns the difference that running both programs here shows on the data of a counterexample.
fn shown(sides: &Sides, made: &Made, term: &Term, found: &Counterexample) -> Option<Shown> {
    let store = found.given.store(&sides.declarations, found.before);
    let outputs: Vec<String> = made.declarations.outputs();
    match (
        interpret(&made.term, &sides.operators, &store),
        interpret(term, &sides.operators, &store),
    ) {
        (Run::Ended(left), Run::Ended(right)) => {
            unlike(&outputs, &left, &right).map(|_| Shown::Results)
        }
        (Run::Ended(_), Run::Fault(_)) | (Run::Fault(_), Run::Ended(_)) => Some(Shown::Fault),
        _ => None,
    }
}

/// Returns a pair in the form that `equiv` reads.
fn text(made: &Made, right: &Term, signature: &Signature) -> String {
    let words = made.declarations.words(signature);
    made.text(signature) + "\n" + &program(right, &words)
}
