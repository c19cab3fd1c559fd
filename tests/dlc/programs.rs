//! Tests of the hand-written programs: they read, verify, print text that reads back, and compute the correct results,
//! also if rows have no edges, are looked up twice and come first or last.

use ember_compile::dlc_text::DlcText;
use ember_compile::pipeline::{Case, simulate};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::load::load;
use ember_language::rules::Exactness;
use ember_model::Model;
use ember_sim::CoreKind;
use ember_targets::dlc::Program;
use ember_targets::machine::{Machine, TMU_CPU};
use ember_targets::narrow::narrow;
use ember_targets::print::print;
use ember_targets::verify::{Limits, needs, verify};
use ember_tools::render;
use ember_values::capability::Capability;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Empty rows first, last and in a row; then only empty rows; then a single row.
const EDGES: [&str; 3] = [
    "(offsets (values 0 0 3 3 3 4 11 12 12)) (indices (values 5 0 7 7 1 2 3 4 5 6 0 9))",
    "(offsets (values 0 0 0)) (indices (values))",
    "(offsets (values 0 17)) (indices (values 9 9 9 9 0 0 1 2 3 4 5 6 7 8 9 0 1))",
];

/// Bags with rows of DIM columns.
const BAG: &str = "(input table f32 (nodes DIM)) (input indices i64 (edges))
    (input offsets i64 ((+ bags 1))) (output out (emb.bag MODE table indices offsets))
    (data (seed 7) (size nodes 10) (table (uniform -1.0 1.0)) EDGES)";

const SPMM: &str = "(input features f32 (nodes DIM)) (input neighbours i64 (edges))
    (input offsets i64 ((+ rows 1))) (input weights f32 (edges))
    (output out (emb.spmm features neighbours offsets weights))
    (data (seed 7) (size nodes 10) (features (uniform -1.0 1.0)) (weights (uniform -1.0 1.0)) EDGES)";

const MP: &str = "(input features f32 (nodes DIM)) (input states f32 (rows DIM))
    (input neighbours i64 (edges)) (input offsets i64 ((+ rows 1)))
    (output out (emb.mp sigmoid states features neighbours offsets))
    (data (seed 7) (size nodes 10) (features (uniform -0.5 0.5)) (states (uniform -0.5 0.5)) EDGES)";

const KG: &str = "(input entities f32 (nodes DIM)) (input relations f32 (kinds DIM))
    (input heads i64 (triples)) (input rels i64 (triples)) (input tails i64 (triples))
    (output scores (emb.kg transe entities relations heads rels tails))
    (data (seed 7) (size nodes 9) (size kinds 3) (entities (uniform -1.0 1.0))
      (relations (uniform -1.0 1.0)) TRIPLES)";

const TRIPLES: [&str; 2] = [
    "(heads (values 0 8 8 3 3 1 0)) (rels (values 2 0 1 1 1 2 0)) (tails (values 8 0 8 4 5 1 0))",
    "(heads (values)) (rels (values)) (tails (values))",
];

const BLOCKS: &str = "(input keys f32 (blocks SIZE DIM)) (input pattern i32 (queries 3))
    (output out (emb.block_gather keys pattern))
    (data (seed 7) (size blocks 6) (keys (uniform -1.0 1.0))
      (pattern (values (0 1 5) (1 1 0) (5 5 5) (4 0 2))))";

/// Returns the models, as text, that a program is run on. A program for rows of any length is run on a length that is a
/// multiple of the register width and one that is not.
fn models(program: &str) -> Vec<String> {
    let (kind, last) = program.rsplit_once('_').expect("a name");
    let dims = match last.parse::<u64>() {
        Ok(dim) => vec![dim],
        Err(_) => vec![32, 40],
    };
    let kind = ["_expert", "_paper", "_copy", "_prefetch", "_registers", "_llc", "_l2", "_hints"]
        .iter()
        .fold(kind, |k, s| k.trim_end_matches(s));
    let (form, mark, data): (String, &str, &[&str]) = match kind {
        "bag_sum" | "bag_mean" | "bag_max" => (BAG.replace("MODE", &kind[4..]), "EDGES", &EDGES),
        "spmm" => (SPMM.into(), "EDGES", &EDGES),
        "mp_sigmoid" => (MP.into(), "EDGES", &EDGES),
        "kg_transe" => (KG.into(), "TRIPLES", &TRIPLES),
        "block_gather" => (BLOCKS.into(), "SIZE", &["1", "3"]),
        _ => panic!("no model to run `{program}` on"),
    };
    let table = if kind.starts_with("bag") { "indices" } else { "neighbours" };
    let fill = |(dim, data): (&u64, &&str)| {
        let data = data.replace("indices", table);
        format!("(model m {})", form.replace(mark, &data).replace("DIM", &dim.to_string()))
    };
    dims.iter().flat_map(|dim| data.iter().map(move |data| (dim, data))).map(fill).collect()
}

/// Returns the programs' files.
fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let entries = std::fs::read_dir(folder).expect("the folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

#[test]
fn hand_written_programs_verify() {
    let mut families = BTreeSet::new();
    for path in files() {
        let mut sources = Sources::new(Disk);
        let show = |sources: &Sources, errors: Vec<_>| render::render(sources, &errors, false);
        let file = load(&mut sources, &path).expect("loads");
        let text = DlcText::read(&sources, file)
            .unwrap_or_else(|errors| panic!("{}", show(&sources, errors)));
        let program = text
            .verify(&Limits::NONE)
            .unwrap_or_else(|errors| panic!("{}", show(&sources, errors)));
        let again = sources.add("<printed>", print(&program));
        let again = DlcText::read(&sources, again)
            .unwrap_or_else(|errors| panic!("{}", show(&sources, errors)));
        assert_eq!(&again.program, program.program());
        assert!(path.file_stem().is_some_and(|name| name.to_str() == Some(&program.name)));
        families.extend(program.name.split('_').next().map(str::to_owned));
    }
    assert!(["bag", "block", "kg", "mp", "spmm"].iter().all(|f| families.contains(*f)));
}

#[test]
fn hand_written_programs_compute_what_they_say() {
    let machine = Machine::plus().expect("the machine");
    for path in files() {
        let mut sources = Sources::new(Disk);
        let file = load(&mut sources, &path).expect("loads");
        let program = DlcText::read(&sources, file).expect("reads");
        let program = program.verify(&Limits::of(&machine)).expect("verifies");
        for text in models(&program.name) {
            let mut sources = Sources::new(Disk);
            let file = sources.add("<model>", text.clone());
            let model = Model::parse(&sources, file)
                .unwrap_or_else(|errors| panic!("{}", render::render(&sources, &errors, false)));
            let case = Case::new(&model, None, Exactness::Reassoc)
                .unwrap_or_else(|errors| panic!("{}", render::render(&sources, &errors, false)));
            let outcome = simulate(&program, &machine, &case, CoreKind::OutOfOrder, false)
                .unwrap_or_else(|e| panic!("`{}`: {e}\n{text}", program.name));
            let compared = case.compare(&program, &outcome.tensors, Exactness::Reassoc);
            compared.unwrap_or_else(|e| panic!("`{}`: {e}\n{text}", program.name));
        }
    }
}

/// Programs of wide rows, written in registers, need no wide rows and give the same bits.
#[test]
fn wide_rows_are_written_in_registers() {
    let (plus, published) = (Machine::plus().expect("it"), Machine::parse(TMU_CPU).expect("it"));
    let mut narrowed = 0;
    for path in files() {
        let mut sources = Sources::new(Disk);
        let file = load(&mut sources, &path).expect("loads");
        let wide = DlcText::read(&sources, file).expect("reads");
        let wide = wide.verify(&Limits::of(&plus)).expect("verifies");
        if !needs(&wide, &published).has(Capability::WideRows) {
            continue;
        }
        let program = narrow(&wide, published.core.simd_bytes).expect("registers hold its rows");
        let program = verify(program, &Limits::of(&plus))
            .unwrap_or_else(|errors| panic!("{}: {errors:?}", wide.name));
        assert!(!needs(&program, &published).has(Capability::WideRows), "{}", wide.name);
        for text in models(&wide.name) {
            let mut sources = Sources::new(Disk);
            let file = sources.add("<model>", text.clone());
            let model = Model::parse(&sources, file).expect("a model");
            let case = Case::new(&model, None, Exactness::Reassoc).expect("data");
            let run = |program: &Program| {
                let outcome = simulate(program, &plus, &case, CoreKind::OutOfOrder, false);
                outcome.unwrap_or_else(|e| panic!("`{}`: {e}\n{text}", wide.name)).tensors
            };
            let alike = run(&program).iter().zip(run(&wide)).all(|(a, b)| a.same_bits(&b));
            assert!(alike, "{}: other results on\n{text}", wide.name);
        }
        narrowed += 1;
    }
    assert!(narrowed >= 12, "{narrowed} programs have wide rows");
}
