//! Tests of decoupled, coupled and hand-written programs on the simulator: the result equals the reference's bit for
//! bit, with empty bags first, last and in a row, and row lengths that are no multiple of the lanes.

use crate::bag::{self, bag_context, check, operators, term, verified};
use ember_compile::coupled::coupled;
use ember_compile::decouple::{ModelContext, decouple};
use ember_compile::dlc_text::DlcText;
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::load::load;
use ember_model::Model;
use ember_model::reference;
use ember_sim::{Bindings, Options, SimError, run};
use ember_targets::dlc::Program;
use ember_targets::machine::Machine;
use ember_targets::print::print;
use ember_targets::verify::{Limits, verify};
use std::path::Path;

/// Empty bags first, last and in a row.
const OFFSETS: &str = "0 0 3 3 3 4 11 12 12";
const INDICES: &str = "5 0 7 7 1 2 3 4 5 6 0 9";

fn model(dim: usize, bag: &str, index: &str) -> Model {
    let text = format!(
        "(model bag
           (input table f32 (rows {dim})) (input indices {index} (lookups))
           (input offsets {index} ((+ bags 1)))
           (output out (emb.bag {bag} table indices offsets))
           (data (seed 7) (size rows 10) (table (uniform -1.0 1.0))
             (offsets (values {OFFSETS})) (indices (values {INDICES}))))"
    );
    let mut sources = Sources::new(Disk);
    let file = sources.add("<model>", text);
    Model::parse(&sources, file).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

/// Runs a program on a model's data and compares its output with the reference.
fn agrees(program: &Program, model: &Model) {
    let machine = Machine::plus().expect("the machine");
    let verified = verify(program.clone(), &Limits::of(&machine))
        .unwrap_or_else(|errors| panic!("{errors:#?}\n{}", print(program)));
    let instance = model.instantiate(None).expect("data");
    let (tensors, sizes) = instance.bind(&verified).unwrap_or_else(|e| panic!("{e:#?}"));
    let outcome = run(&verified, &machine, Bindings { tensors, sizes }, Options::default())
        .unwrap_or_else(|e| panic!("{e:?}\n{}", print(program)));
    let at = verified.tensors.iter().position(|t| t.name == "out").expect("an output");
    let (got, expected) = (&outcome.tensors[at], reference::evaluate(model, &instance));
    let expected = &expected.expect("a reference")["out"];
    for position in 0..expected.len() {
        assert_eq!(got.get(position), expected.get(position), "{position}\n{}", print(program));
    }
}

/// Runs a verified program on rows of 64. The run may end in any way except a deadlock or an error about the program
/// itself.
pub fn ends(program: &Program) {
    let machine = Machine::plus().expect("the machine");
    let instance = model(64, "sum", "i64").instantiate(None).expect("data");
    let Ok((tensors, sizes)) = instance.bind(program) else { return };
    let options = Options { max_cycles: 1_000_000, ..Options::default() };
    if let Err(
        error
        @ (SimError::Deadlock { .. } | SimError::Invalid { .. } | SimError::Unbalanced { .. }),
    ) = run(program, &machine, Bindings { tensors, sizes }, options)
    {
        panic!("{error}\n{}", print(program));
    }
}

#[test]
fn decoupled_bags_agree_with_the_reference() {
    for dim in [1, 16, 21, 40] {
        let model = model(dim, "sum", "i64");
        for text in [bag::OPT0, bag::OPT2, bag::OPT3, bag::SEARCH] {
            agrees(&verified(text), &model);
        }
        agrees(&coupled(operators(), &term(bag::SCF), &bag_context()).expect("lowers"), &model);
    }
}

#[test]
fn thirty_two_bit_indices_are_converted_where_they_index() {
    let mut context: ModelContext = bag_context();
    for tensor in &mut context.tensors[1..3] {
        tensor.dtype = ember_values::scalar::DType::I32;
    }
    let model = model(21, "sum", "i32");
    for text in [bag::OPT0, bag::OPT2, bag::OPT3, bag::SEARCH] {
        let program = decouple(operators(), &term(text), &context).expect("decouples");
        assert_eq!(check(&print(&program)).expect("verifies"), program);
        assert!(print(&program).contains("(index_cast index_2 offsets_2)"));
    }
    agrees(&coupled(operators(), &term(bag::SCF), &context).expect("lowers"), &model);
}

#[test]
fn hand_written_bags_agree_bit_for_bit() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    for path in files {
        let mut sources = Sources::new(Disk);
        let file = load(&mut sources, &path).expect("loads");
        let program = DlcText::read(&sources, file).expect("reads").program;
        // A bag's name is `bag_MODE_KIND`, followed by its dimension if the bag is for one.
        let parts: Vec<&str> = program.name.split('_').collect();
        if parts[0] != "bag" {
            continue;
        }
        let dims = match parts.get(3).and_then(|dim| dim.parse().ok()) {
            Some(dim) => vec![dim],
            None => vec![32, 40, 64, 128],
        };
        for dim in dims {
            agrees(&program, &model(dim, parts[1], "i64"));
        }
    }
}

#[test]
fn counters_of_data_start_again_in_every_bag() {
    // Every lookup stores 1 at a row of the output, indexed by the counter of lookups.
    let program = verified(
        "(slc.for $B (slc.const 0) $M 1
           (slc.for $L $From $To 1
             (slc.callback (exe.store
               (exe.at (exe.at (exe.out %out) (exe.sub (exe.counter $L) (slc.from_stream $From)))
                 (exe.const 0))
               (exe.cast f32 (exe.counter $L))))))",
    );
    let machine = Machine::plus().expect("the machine");
    let instance = model(1, "sum", "i64").instantiate(None).expect("data");
    let (tensors, sizes) = instance.bind(&program).expect("binds");
    let outcome = run(&program, &machine, Bindings { tensors, sizes }, Options::default());
    let out = outcome.expect("runs").tensors.pop().expect("an output");
    let rows: Vec<f64> = (0..8).filter_map(|k| out.get(k)).map(|x| x.as_f64()).collect();
    // The last bag to write a row wins: bags of 3, 1, 7 and 1 lookups, from 0, 3, 4 and 11.
    assert_eq!(rows, [11.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 0.0]);
}
