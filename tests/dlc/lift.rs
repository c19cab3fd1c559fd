//! Tests that DLC programs are read as statements of one processor: each statement computes the same as its simulated
//! program, also after a change of one token of the program; and a changed program with another result is never proved
//! equal to the original.

use crate::samples::samples;
use ember_compile::cost::Goal;
use ember_compile::dlc_text::DlcText;
use ember_compile::machines;
use ember_compile::pipeline::{self, Options as Compiling};
use ember_engine::CompiledRule;
use ember_engine::saturate;
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::print_term;
use ember_language::rules::{self, RuleBook, Signature, Sort};
use ember_prove::equiv::{self, Declarations, NoStatement, Options, Search, Sides, What};
use ember_targets::machine::Machine;
use ember_targets::print::print;
use ember_targets::verify::{Limits, Verified};
use fastrand::Rng;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// The least number of mutants of each program, and the number of tries to find one that the verifier accepts.
const MUTANTS: usize = 1;
const TRIES: usize = 400;

/// The least number of data sets for each compiled program.
const DATA: usize = 7;

/// The limits of a proof; the sides may differ, so a long search is pointless.
const PROOF: saturate::Limits = saturate::Limits { iterations: 8, nodes: 3000 };

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn machine() -> Machine {
    Machine::plus().expect("the machine")
}

fn texts(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).expect("the folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == extension));
    files.sort();
    files
}

fn verified(text: &str, machine: &Machine) -> Option<Verified> {
    let mut sources = Sources::new(Disk);
    let file = sources.add("<program>", text);
    DlcText::read(&sources, file).ok()?.verify(&Limits::of(machine)).ok()
}

/// Compares a program with the statement that it is read as, and returns the number of data sets. Returns an error if
/// it is read as none.
fn reads_right(
    text: &str,
    machine: &Machine,
    signature: &Signature,
    tries: usize,
) -> Result<usize, NoStatement> {
    let operators = signature.table();
    let program = verified(text, machine).unwrap_or_else(|| panic!("does not verify:\n{text}"));
    let statement = equiv::lifted(&program, operators)?;
    let declarations = Declarations::of_program(&program);
    let term = What::Term { term: statement.clone(), sort: Sort::named("Stmt") };
    let sides = Sides::of(signature, declarations, [What::dlc(program, operators), term]);
    let options = Options { tries, ..Options::default() };
    let (found, compared) = equiv::apart(&sides, machine, &options);
    if let Some(found) = found {
        let read = print_term::print_term(&statement);
        panic!("{:?}\non {:?}\n{text}\nis read as\n{read}", found.difference, found.given);
    }
    Ok(compared)
}

#[test]
fn hand_written_programs_are_read_as_what_they_do() {
    let (machine, signature) = (machine(), Prover::new().book.signature);
    let mut others = Vec::new();
    for path in texts("programs", "dlc") {
        let text = std::fs::read_to_string(&path).expect("a text");
        match reads_right(&text, &machine, &signature, 60) {
            Ok(compared) => {
                assert!(compared >= 100, "{}: compared on {compared} data", path.display());
            }
            Err(why) => others.push((name(&path), why)),
        }
    }
    // These programs rely on the zeros in the lanes past the end of a row.
    let (folds, stores) = (NoStatement::InactiveFold, NoStatement::UnloadedLanes);
    let expected = [
        ("kg_transe_paper", &folds),
        ("mp_sigmoid_expert_32", &stores),
        ("mp_sigmoid_expert_64", &stores),
        ("mp_sigmoid_paper", &folds),
        ("mp_sigmoid_prefetch_64", &stores),
        ("mp_sigmoid_registers_32", &stores),
        ("mp_sigmoid_registers_64", &stores),
        ("spmm_expert_128", &stores),
        ("spmm_registers_128", &stores),
    ];
    let others: Vec<(&str, &NoStatement)> = others.iter().map(|(n, why)| (&n[..], why)).collect();
    assert_eq!(others, expected);
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the programs that schedules produce for the small models, each with the names of model and schedule.
fn compiled(schedules: &[&str]) -> Vec<(String, String)> {
    let made = texts("tests/models", "sexp").into_par_iter().flat_map_iter(|model| {
        schedules.iter().map(move |schedule| {
            let options = Compiling {
                rules: vec![root().join("rules")],
                schedule: (*schedule).to_owned(),
                rank: false,
                ..Compiling::default()
            };
            let mut sources = Sources::new(Disk);
            let inputs = pipeline::read(&mut sources, &model, &options).expect("a model");
            let chosen = pipeline::compile(&inputs, &options, Goal::Decoupled).expect("a program");
            let name = format!("{} by {schedule}", name(&model));
            (name, print(chosen.program.program()))
        })
    });
    made.collect()
}

#[test]
fn compiled_programs_are_read_as_what_they_do() {
    let (machine, signature) = (machine(), Prover::new().book.signature);
    let programs = compiled(&["emb-opt0", "emb-opt2", "emb-opt3"]);
    let read = |(name, text): (String, String)| {
        Some((name, reads_right(&text, &machine, &signature, samples(DATA)).err()?))
    };
    let others: Vec<(String, NoStatement)> = programs.into_par_iter().filter_map(read).collect();
    assert!(others.is_empty(), "{others:?}");
}

/// Returns the text with one word replaced by another of its words, or a number changed by one.
fn mutant(text: &str, rng: &mut Rng) -> Option<String> {
    let mut words: Vec<(usize, &str)> = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices() {
        let inside = !c.is_whitespace() && c != '(' && c != ')';
        match (start, inside) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                words.push((from, &text[from..at]));
                start = None;
            }
            _ => {}
        }
    }
    let (at, word) = words[rng.usize(..words.len())];
    let new = match word.parse::<i64>() {
        Ok(n) => (n + [-1, 1][rng.usize(..2)]).to_string(),
        Err(_) => words[rng.usize(..words.len())].1.to_owned(),
    };
    (new != word).then(|| format!("{}{new}{}", &text[..at], &text[at + word.len()..]))
}

struct Prover {
    book: RuleBook,
    compiled: Vec<CompiledRule>,
    machine: Machine,
}

impl Prover {
    fn new() -> Prover {
        let mut sources = Sources::new(Disk);
        let paths = equiv::rule_paths(&Disk, &[root().join("rules")]);
        let (book, _) = rules::load(&mut sources, &paths).expect("the rules are well-formed");
        let machine =
            machines::load(&mut sources, "tmu-cpu-plus").expect("it comes with the program");
        Prover { compiled: ember_engine::compile(&book), book, machine }
    }

    /// Returns true if a proof shows both sides equal; compares no data.
    fn equal(&self, sides: &Sides) -> bool {
        let options = Options::default();
        let search = Search {
            book: &self.book,
            compiled: &self.compiled,
            schedule: self.book.require_schedule("equiv").expect("it is there"),
            machine: &self.machine,
            exact: options.exact,
            limits: PROOF,
            certify: None,
        };
        equiv::terms(sides, &self.book).is_ok_and(|terms| search.equal(sides, &terms, false))
    }
}

/// Checks some mutants of a program: returns how many are read as statements, how many are proved equal to it, and how
/// many differ from it on data.
fn mutants(prover: &Prover, text: &str, seed: usize) -> [usize; 3] {
    let signature = &prover.book.signature;
    let mut rng = Rng::with_seed(seed as u64);
    let original = verified(text, &prover.machine).expect("it verifies");
    let tries = (0..TRIES).filter_map(|_| {
        let changed = mutant(text, &mut rng)?;
        let mutant = verified(&changed, &prover.machine)?;
        let alike = mutant.tensors == original.tensors && mutant.sizes == original.sizes;
        alike.then_some((changed, mutant))
    });
    let (mut read, mut proved, mut different) = (0, 0, 0);
    for (changed, mutant) in tries.take(samples(MUTANTS)) {
        read += usize::from(reads_right(&changed, &prover.machine, signature, 4).is_ok());
        let declarations = Declarations::of_program(&original);
        let programs = [&original, &mutant].map(|p| What::dlc(p.clone(), signature.table()));
        let sides = Sides::of(signature, declarations, programs);
        let options = Options { tries: 20, ..Options::default() };
        let equal = prover.equal(&sides);
        let (found, _) = equiv::apart(&sides, &prover.machine, &options);
        assert!(!equal || found.is_none(), "{found:?}\n{text}\nand\n{changed}");
        proved += usize::from(equal);
        different += usize::from(found.is_some());
    }
    [read, proved, different]
}

#[test]
fn a_program_with_a_token_changed_is_read_as_what_it_does_and_not_proved_to_do_what_it_did() {
    let prover = Prover::new();
    let files = texts("programs", "dlc").into_iter();
    let mut programs: Vec<String> =
        files.map(|path| std::fs::read_to_string(path).expect("a text")).collect();
    programs.extend(compiled(&["emb-opt3"]).into_iter().map(|(_, text)| text));
    let each = programs.par_iter().enumerate().map(|(seed, text)| mutants(&prover, text, seed));
    let [read, proved, different] =
        each.reduce(|| [0; 3], |a, b| std::array::from_fn(|at| a[at] + b[at]));
    println!(
        "{read} changed programs are read, {different} do something else, {proved} are proved"
    );
    assert!(4 * read >= samples(MUTANTS) * programs.len(), "{read} changed programs were read");
    let something = 4 * different >= samples(MUTANTS) * programs.len();
    assert!(something, "{different} changed programs do something else");
}
/// A program whose loop writes 16 lanes of a value that was popped before the loop, and of which 15 lanes were loaded.
const POPPED_BEFORE: &str = "
(dlc popped
  (sizes rows)
  (tensor x f32 (rows 15))
  (tensor_out out f32 (rows 16))
  (configure_access_engine
    (const_stream c0 i64 0)
    (size_stream rows rows)
    (new_tu t c0 rows 1)
    (get_ind_var t t)
    (const_stream c15 i64 15)
    (mem_stream x f32x16 (at x t (lanes 16 c15 c0)) temporal)
    (on t ite (register_callback on_t) (register_operand t) (register_operand x))
    (start (traverse t)))
  (compute_loop
    (register t i64)
    (register e i64)
    (register x f32x16)
    (main)
    (case on_t
      (pop_operand t)
      (pop_operand x)
      (for e 0 16 16 (store (at out t (lanes 16 16 0)) (exp x))))))";

#[test]
fn lanes_of_a_value_from_before_a_loop_are_checked_in_the_loop() {
    let program = verified(POPPED_BEFORE, &machine()).expect("it verifies");
    let read = equiv::lifted(&program, Prover::new().book.signature.table());
    assert_eq!(read.err(), Some(NoStatement::UnloadedLanes));
}
