//! Tests of kernels in MLIR text: what is written reads back as the same program, and large or deep texts are read or
//! refused in bounded time.

use ember_certify::Rules;
use ember_compile::{machines, pipeline};
use ember_engine::CompiledRule;
use ember_host::Disk;
use ember_language::diagnostic::{Diagnostic, Sources};
use ember_language::rules::{self, RuleBook};
use ember_prove::equiv::{self, Options, Side, Sides, Verdict, What};
use ember_targets::machine::Machine;
use ember_targets::verify::Limits;
use ember_tools::emit::{self, Level};
use itertools::Itertools;
use rayon::prelude::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the program of a kernel in SCF text with its declarations, as both sides of a comparison.
fn twice(text: &str) -> String {
    let declaration =
        |line: &&str| ["(input", "(output", "(size", ";"].iter().any(|word| line.starts_with(word));
    let (declarations, program): (Vec<&str>, Vec<&str>) = text.lines().partition(declaration);
    // The statements of a kernel follow one another.
    let program = format!("(scf.seq {} (scf.skip))", program.join("\n"));
    format!("{}\n{program}\n{program}\n", declarations.join("\n"))
}

#[test]
fn what_is_written_reads_back_as_the_same_program() {
    let (bench, mut sources) = (Bench::new(), Sources::new(Disk));
    let machine = machines::load(&mut sources, "tmu-cpu-plus").expect("it comes with the program");
    let mut kernels: Vec<PathBuf> = std::fs::read_dir(root().join("tests/kernels"))
        .expect("the folder of kernels")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "kernel"))
        .collect();
    kernels.sort();
    assert!(kernels.len() >= 20);
    for path in kernels {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let pair = PathBuf::from(format!("{name}.pair"));
        let text = std::fs::read_to_string(&path).expect("a text");
        sources.add(&pair, twice(&text));
        let sides = equiv::read(&mut sources, &bench.book, &machine, &[pair], None);
        let sides = sides.unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
        let term = sides.left.term().expect("a program of one processor").clone();
        let written = equiv::mlir_text(&name, &sides.declarations, &term).expect("has a text");
        let file = PathBuf::from(format!("{name}.mlir"));
        sources.add(&file, written.as_str());
        let known = std::iter::once(&sides.declarations);
        let read =
            equiv::read_kernel(&mut sources, &bench.book, &Limits::of(&machine), &file, known);
        let (declarations, Side { what, .. }) =
            read.unwrap_or_else(|errors| panic!("{name}: {errors:?}\n{written}"));
        assert_eq!(declarations.tensors, sides.declarations.tensors, "{name}");
        let first = What::Term { term, sort: sort(&what) };
        let both = Sides::of(&bench.book.signature, declarations, [first, what]);
        let verdict = bench.compare(&both, &machine);
        assert!(matches!(verdict, Verdict::Equal(Ok(_))), "{name}: {verdict:?}\n{written}");
    }
}

/// Returns the sort of a program.
fn sort(what: &What) -> rules::Sort {
    match what {
        What::Term { sort, .. } => *sort,
        What::Dlc { .. } => panic!("a program of one processor"),
    }
}

/// Reads a text as a kernel, and returns its errors and the time.
fn read(text: String) -> (Vec<Diagnostic>, Duration) {
    let mut sources = Sources::default();
    let file = sources.add("it.mlir", text);
    let start = Instant::now();
    let read =
        ember_import::mlir::kernel(&sources, file, &ember_import::mlir::Interface::default());
    (read.err().unwrap_or_default(), start.elapsed())
}

/// Returns a function around some lines.
fn function(lines: &str) -> String {
    format!(
        "func.func @k(%a: memref<?xf32>, %o: memref<?xf32>) {{\n%c0 = arith.constant 0 : index\n%c1 = \
         arith.constant 1 : index\n%n = memref.dim %a, %c0 : memref<?xf32>\n{lines}return\n}}\n"
    )
}

#[test]
fn a_hundred_thousand_lines_are_read_in_time_proportional_to_them() {
    let [few, many] = [5_000, 20_000].map(seconds_to_read);
    println!("25,000 lines: {few} s, 100,000 lines: {many} s");
    // Four times as many lines; with their square it would be sixteen times.
    assert!(many < 9.0 * few, "{few} s, {many} s");
}

/// Returns the least of the times that several readings of a product of two vectors take, in five lines for an element.
fn seconds_to_read(elements: usize) -> f64 {
    let mut lines = String::new();
    for at in 0..elements {
        let _ = writeln!(
            lines,
            "%k{at} = arith.constant {at} : index\n%x{at} = memref.load %a[%k{at}] : memref<?xf32>\n%y{at} = \
             memref.load %o[%k{at}] : memref<?xf32>\n%z{at} = arith.mulf %x{at}, %y{at} : f32\nmemref.store \
             %z{at}, %o[%k{at}] : memref<?xf32>"
        );
    }
    let text = function(&lines);
    let times = (0..3).map(|_| {
        let (errors, time) = read(text.clone());
        assert_eq!(errors, []);
        time.as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

/// The rules by which kernels are read and compared, and proofs of that checked.
struct Bench {
    book: RuleBook,
    compiled: Vec<CompiledRule>,
    checked: Rules,
}

impl Bench {
    fn new() -> Bench {
        let mut sources = Sources::new(Disk);
        let paths = equiv::rule_paths(&Disk, &[root().join("rules")]);
        let (book, _) = rules::load(&mut sources, &paths).expect("the rules are well-formed");
        let checked = Rules::read(&mut sources, &paths).expect("the checker reads them, too");
        Bench { compiled: ember_engine::compile(&book), book, checked }
    }

    fn compare(&self, sides: &Sides, machine: &Machine) -> Verdict {
        let Bench { book, compiled, checked } = self;
        let options = Options::default();
        let answer = equiv::compare(sides, book, compiled, checked, machine, &options);
        answer.expect("an answer").verdict
    }

    /// Compares the texts of an example's program at some levels with those in the dialects of MLIR.
    fn reads_back(&self, name: &str, schedule: &str, levels: &[[Level; 2]]) {
        let model = root().join(format!("examples/{name}.sexp"));
        let options = pipeline::Options {
            rank: false,
            rules: vec![root().join("rules")],
            schedule: schedule.to_owned(),
            ..pipeline::Options::default()
        };
        let mut sources = Sources::new(Disk);
        let inputs = pipeline::read(&mut sources, &model, &options).expect("a model");
        let chosen = emit::chosen(&inputs, &options, levels[0][0]).expect("a program");
        for levels in levels {
            let [own, dialect] = levels.map(|level| {
                let text = emit::written(&inputs, &options, level, &chosen);
                text.unwrap_or_else(|errors| panic!("{name}, {schedule}, {level:?}: {errors:?}"))
            });
            let what = format!("{name}, {schedule}\n{dialect}");
            let files = ["own", "mlir"].map(|end| PathBuf::from(format!("{:?}.{end}", levels[0])));
            sources.add(&files[0], own);
            sources.add(&files[1], dialect);
            let sides =
                equiv::read(&mut sources, &self.book, &inputs.machine, &files, Some(&model));
            let sides = sides.unwrap_or_else(|errors| panic!("{errors:?}: {what}"));
            let verdict = self.compare(&sides, &inputs.machine);
            assert!(matches!(verdict, Verdict::Equal(Ok(_))), "{verdict:?}: {what}");
        }
    }
}

/// The examples; those of one kind are represented by the smallest.
const EXAMPLES: [&str; 11] = [
    "bag_max",
    "bag_mean",
    "bag_weighted",
    "bigbird",
    "dlrm_rm1",
    "embedding_bag",
    "fusedmm",
    "gather",
    "gcn",
    "graphsage",
    "kg_scorer",
];

/// The schedules that divide a program between the units.
const SCHEDULES: [&str; 5] = ["emb-opt0", "emb-opt1", "emb-opt2", "emb-opt3", "search"];

#[test]
fn examples_are_written_as_the_loops_and_lanes_that_they_are() {
    let bench = Bench::new();
    EXAMPLES.par_iter().for_each(|name| {
        bench.reads_back(name, "search", &[[Level::Scf, Level::Mlir]]);
    });
}

#[test]
fn examples_in_the_dialects_of_units_and_halves_read_back() {
    let bench = Bench::new();
    let scalar = [[Level::Slc, Level::MlirSlc]];
    let whole = [[Level::Slcv, Level::MlirSlcv], [Level::Dlc, Level::MlirDlc]];
    let all: Vec<_> = EXAMPLES.into_iter().cartesian_product(SCHEDULES).collect();
    all.par_iter().for_each(|(name, schedule)| {
        bench.reads_back(name, schedule, &scalar);
        bench.reads_back(name, schedule, &whole);
    });
}

#[test]
fn what_is_too_large_or_too_deep_is_one_error() {
    let many = "%v = arith.constant 0 : index\n".repeat(1_000_000);
    let many: String = many
        .lines()
        .enumerate()
        .map(|(at, line)| line.replace("%v", &format!("%v{at}")) + "\n")
        .collect();
    let loops = |close: &str| {
        let open: String =
            (0..100_000).map(|at| format!("scf.for %i{at} = %c0 to %n step %c1 {{\n")).collect();
        open + &close.repeat(100_000)
    };
    let brackets = format!("affine.store %v, %o[{}] : memref<?xf32>\n", "(".repeat(100_000));
    let sum: String = (0..200_000)
        .map(|at| format!("%s{} = arith.addi %s{at}, %s{at} : index\n", at + 1))
        .collect();
    let sum = format!("%s0 = arith.addi %c0, %c1 : index\n{sum}");
    let cases = [
        (many, "more than 262144 operations"),
        (loops("}\n"), "regions nest deeper than 128"),
        (loops(""), "regions nest deeper than 128"),
        (
            format!("%v = memref.load %a[%c0] : memref<?xf32>\n{brackets}"),
            "expressions nest deeper than 64",
        ),
        (
            "%v = arith.constant 99999999999999999999 : index\n".to_owned(),
            "is no number of type index",
        ),
        ("%v = memref.alloc() : memref<99999999999999999999xf32>\n".to_owned(), "larger than 2^40"),
    ];
    for (lines, expected) in cases {
        let (errors, time) = read(function(&lines));
        assert!(
            matches!(&errors[..], [error] if error.message.contains(expected)),
            "{expected}: {errors:?}"
        );
        assert!(time < Duration::from_secs(10), "{expected}: {time:?}");
    }
    // A chain of sums has as many forms as lines, however large it would be written out.
    assert_eq!(read(function(&sum)).0, []);
}
