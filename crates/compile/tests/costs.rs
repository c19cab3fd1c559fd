//! Compares each term of the cost model with the simulator, by programs of `costs/` and its folders whose time that term
//! decides.
//!
//! A folder has a model, whose tensors and sizes its programs use, and programs of the two units as text. The first line
//! of a program says what decides its time. Programs need not compute the outputs of the model.

use ember_analysis::facts::{EGraph, Facts, VectorUnit};
use ember_compile::cost::{Fetches, Goal, Model, Pricing, Rates};
use ember_compile::pipeline::{self, Case, Inputs, Options, lower};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::{sexp, text};
use std::fmt;
use std::path::{Path, PathBuf};

/// The largest relative error of an estimate.
const WITHIN: f64 = 0.10;

/// A program's cycles by the cost model and by the simulator.
struct Compared {
    name: String,
    estimate: f64,
    cycles: u64,
    /// The resource that the cost model finds to be the slowest.
    slowest: &'static str,
}

impl Compared {
    fn error(&self) -> f64 {
        self.estimate / self.cycles as f64 - 1.0
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Compared { name, estimate, cycles, slowest } = self;
        let error = self.error() * 100.0;
        write!(f, "{name:<32} {slowest:>10} {estimate:>10.0} {cycles:>10} {error:>+7.1} %")
    }
}

#[test]
fn each_term_predicts_the_programs_whose_time_it_decides() {
    let folders = sorted(&folder()).into_iter().filter(|path| path.is_dir());
    let all: Vec<Compared> = folders.chain([folder()]).flat_map(|folder| all(&folder)).collect();
    let text: String = all.iter().map(|own| format!("{own}\n")).collect();
    println!("{text}");
    assert!(!all.is_empty(), "no program");
    let wrong: Vec<String> =
        all.iter().filter(|own| own.error().abs() > WITHIN).map(|own| own.to_string()).collect();
    assert!(wrong.is_empty(), "estimates beyond {} %:\n{}", WITHIN * 100.0, wrong.join("\n"));
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/costs")
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn all(folder: &Path) -> Vec<Compared> {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules");
    let options = Options { rules: vec![rules], ..Options::default() };
    let model = folder.join("model.sexp");
    let inputs = pipeline::read(&mut Sources::new(Disk), &model, &options).expect("inputs");
    let case = Case::new(&inputs.model, options.seed, options.exact).expect("data");
    let paths = sorted(folder);
    let programs = paths.iter().filter(|path| path.extension().is_some_and(|own| own == "slc"));
    programs.map(|path| compared(&inputs, &case, path)).collect()
}

fn compared(inputs: &Inputs, case: &Case, path: &Path) -> Compared {
    let mut sources = Sources::new(Disk);
    let written = std::fs::read_to_string(path).expect("a program");
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let file = sources.add(&name, &written);
    let forms = sexp::read(&sources, file).expect("an expression");
    let read = text::read(&forms[0], &inputs.book, &inputs.words());
    let (term, _) = read.unwrap_or_else(|errors| panic!("{name}: {errors:?}"));

    let statistics = case.statistics_of_finished(inputs);
    let context = inputs.context();
    let operators = inputs.book.signature.table();
    let core = &inputs.machine.core;
    let unit = VectorUnit { simd_bytes: core.simd_bytes, registers: core.vector_registers };
    let facts = Facts::new(&context.tensors, &context.sizes, operators.clone(), unit);
    let mut egraph = EGraph::new(facts);
    egraph.add_expr(&term);
    egraph.rebuild();
    let workload = statistics.workload(&egraph);
    let rates = Rates::of(&inputs.machine);
    let choice = Model::for_choice(Goal::Decoupled, &rates, &workload, Fetches::Each);
    let model = Model { pricing: Pricing::Program, ..choice };
    let summary = model.of_term(&egraph, &term).unwrap_or_else(|| panic!("{name} has no price"));
    let cost = summary.alone;
    let resources = rates.resources(&cost);
    let slowest = resources.iter().max_by(|(_, a), (_, b)| a.total_cmp(b)).expect("resources").0;

    let program = lower(operators, &inputs.machine, &term, &context, Goal::Decoupled);
    let program = program.unwrap_or_else(|why| panic!("{name}: {why}"));
    let measure = case.rank(program.program(), &inputs.machine);
    let measure = measure.unwrap_or_else(|why| panic!("{name}: {why}"));
    Compared { name, estimate: rates.expected(&cost), cycles: measure.cycles, slowest }
}
