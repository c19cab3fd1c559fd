//! Tests of scratch memory, and of the hand-written programs for whole models, most of which use it.

use crate::samples::samples;
use ember_compile::dlc_text::DlcText;
use ember_compile::pipeline::{Case, simulate};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::load::load;
use ember_language::rules::Exactness;
use ember_model::Model;
use ember_sim::CoreKind;
use ember_targets::contract::contracted;
use ember_targets::dlc::Purpose;
use ember_targets::machine::Machine;
use ember_targets::print::print;
use ember_targets::verify::{Limits, Verified};
use std::path::Path;

/// The programs of `programs/hand/`, with the files of their models.
const PROGRAMS: [(&str, &str); 9] = [
    ("bigbird", "examples/bigbird"),
    ("bigbird_blocks", "examples/bigbird"),
    ("dlrm_rm3", "examples/dlrm_rm3"),
    ("fusedmm", "examples/fusedmm"),
    ("gcn", "examples/gcn"),
    ("graphsage", "examples/graphsage"),
    ("graphsage_blocks", "examples/graphsage"),
    ("MP_com-Youtube", "workloads/MP/MP_com-Youtube"),
    ("MP_web-Google", "workloads/MP/MP_web-Google"),
];

fn machine() -> Machine {
    Machine::plus().expect("the machine")
}

/// Reads and verifies a program.
fn program(sources: &mut Sources, path: &str) -> Verified {
    let file = load(sources, &Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("loads");
    let text = DlcText::read(sources, file).unwrap_or_else(|e| panic!("{path}: {e:#?}"));
    let program = text.verify(&Limits::of(&machine())).unwrap_or_else(|e| panic!("{path}: {e:#?}"));
    let again = sources.add("<printed>", print(&program));
    assert_eq!(&DlcText::read(sources, again).expect("reads back").program, program.program());
    program
}

#[test]
fn programs_for_whole_models_compute_them() {
    let mut scratch = 0;
    for (name, file) in PROGRAMS {
        let mut sources = Sources::new(Disk);
        let program = program(&mut sources, &format!("programs/hand/{name}.dlc"));
        scratch += program.tensors.iter().filter(|t| t.purpose == Purpose::Scratch).count();
        let path = format!("{}/{file}.sexp", env!("CARGO_MANIFEST_DIR"));
        let model = load(&mut sources, Path::new(&path)).expect("loads");
        let model = Model::parse(&sources, model).expect("a model");
        assert_eq!(program.name, model.name);
        for seed in 1..=samples(1) {
            let case = Case::new(&model, Some(seed as u64), Exactness::Reassoc).expect("data");
            let outcome = simulate(&program, &machine(), &case, CoreKind::OutOfOrder, false)
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            let compared = case.compare(&program, &outcome.tensors, Exactness::Reassoc);
            compared.unwrap_or_else(|e| panic!("{name}, seed {seed}: {e}"));
        }
    }
    assert!(scratch > 20, "{scratch} tensors of scratch memory");
}

#[test]
fn every_program_for_a_whole_model_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/hand");
    let files = std::fs::read_dir(folder).expect("the folder").count();
    assert_eq!(files, PROGRAMS.len());
}

/// A program that adds up a row by way of memory of its own, whose declaration is given.
fn through(scratch: &str) -> Result<(), String> {
    let mut sources = Sources::new(Disk);
    let model = "(model twice (input x f32 (rows 16)) (output out (nn.add x x))
        (data (seed 3) (size rows 5) (x (uniform -1.0 1.0))))";
    let model = sources.add("<model>", model.to_owned());
    let model = Model::parse(&sources, model).expect("a model");
    let text = format!(
        "(dlc twice (sizes rows) (tensor x f32 (rows 16)) {scratch} (tensor_out out f32 (rows 16))
           (compute_loop (register i i64) (register r f32x16)
             (main
               (for i 0 (size rows) 1
                 (set r (load (at x i (lanes 16 16 0))))
                 (store (at kept i (lanes 16 16 0)) (add r r)))
               (for i 0 (size rows) 1
                 (set r (load (at kept i (lanes 16 16 0))))
                 (store (at out i (lanes 16 16 0)) r)))))"
    );
    let file = sources.add("<program>", text);
    let messages = |errors: Vec<ember_language::diagnostic::Diagnostic>| {
        errors.into_iter().map(|e| e.message).collect::<Vec<_>>().join("; ")
    };
    let program = DlcText::read(&sources, file).map_err(messages)?;
    let program = program.verify(&Limits::of(&machine())).map_err(messages)?;
    let case = Case::new(&model, None, Exactness::Bitwise).expect("data");
    let (tensors, _) = case.instance.bind(&program).map_err(messages)?;
    assert!(tensors[1].dtype == tensors[0].dtype && tensors[1].shape[1] == 16);
    let outcome = simulate(&program, &machine(), &case, CoreKind::OutOfOrder, false)
        .map_err(|e| e.to_string())?;
    case.compare(&program, &outcome.tensors, Exactness::Bitwise).map_err(|e| e.to_string())
}

#[test]
fn scratch_memory_has_the_extents_of_its_declaration() {
    assert_eq!(through("(tensor_scratch kept f32 (rows 16))"), Ok(()));
    assert_eq!(through("(tensor_scratch kept f32 (64 16))"), Ok(()));
}

#[test]
fn misused_scratch_memory_has_a_message() {
    let refused = |scratch: &str, expected: &str| {
        let error = through(scratch).expect_err(expected);
        assert!(error.contains(expected), "{expected}: {error}");
    };
    refused("(tensor kept f32 (rows 16))", "writes tensor `kept`, which is read-only");
    refused("(tensor_out kept f32 (rows 16))", "the model has no tensor `kept`");
    refused("(tensor_scratch kept f32 (rows 4294967296))", "scratch memory `kept` is too large");
    refused(
        "(tensor_scratch kept f32 (9223372036854775807 9223372036854775807))",
        "scratch memory `kept` is too large",
    );
    refused("(tensor_scratch kept f32 (many 16))", "unknown size `many`");
    refused("(tensor_scratch kept f32)", "`tensor_scratch` takes 3 items");
    refused(
        "(tensor_scratch kept f32 (rows 16)) (tensor_scratch x f32 (rows 16))",
        "tensor `x` is defined twice",
    );
    // Too short for the rows, so that the program writes outside it.
    refused("(tensor_scratch kept f32 (2 16))", "kept");
}

#[test]
fn an_output_is_no_scratch_memory() {
    let mut sources = Sources::new(Disk);
    let model = "(model m (input x f32 (4)) (output out (nn.relu x)) (data (seed 1) (x (uniform 0.0 1.0))))";
    let model = sources.add("<model>", model.to_owned());
    let model = Model::parse(&sources, model).expect("a model");
    let text = "(dlc m (tensor_scratch out f32 (4)) (compute_loop (main (store (at out 0) (const f32 0.0)))))";
    let file = sources.add("<program>", text.to_owned());
    let program = DlcText::read(&sources, file).expect("reads").program;
    let case = Case::new(&model, None, Exactness::Bitwise).expect("data");
    let error = case.instance.bind(&program).expect_err("an output").remove(0);
    assert_eq!(error.message, "the program's scratch memory `out` is a tensor of the model");
    assert_eq!(error.help.as_deref(), Some("give it another name"));
}

/// Runs a program for a product of batches of matrices, of which the statements are given.
fn products(statements: &str) -> Result<(), String> {
    let mut sources = Sources::new(Disk);
    let model = "(model m (input a f32 (n 5 7)) (input b f32 (n 7 20)) (output out (nn.matmul a b))
        (data (seed 3) (size n 4) (a (uniform -1.0 1.0)) (b (uniform -1.0 1.0))))";
    let model = sources.add("<model>", model.to_owned());
    let model = Model::parse(&sources, model).expect("a model");
    let text = format!(
        "(dlc m (sizes n) (tensor a f32 (n 5 7)) (tensor b f32 (n 7 20)) (tensor_out out f32 (n 5 20))
           (tensor_scratch one f32 (5 20))
           (compute_loop (register i i64) (register j i64) (register x f32) (main {statements})))"
    );
    let file = sources.add("<program>", text);
    let messages = |errors: Vec<ember_language::diagnostic::Diagnostic>| {
        errors.into_iter().map(|e| e.message).collect::<Vec<_>>().join("; ")
    };
    let program = DlcText::read(&sources, file).map_err(messages)?;
    let program = program.verify(&Limits::of(&machine())).map_err(messages)?;
    let again = sources.add("<printed>", print(&program));
    assert_eq!(&DlcText::read(&sources, again).expect("reads back").program, program.program());
    let case = Case::new(&model, None, Exactness::Bitwise).expect("data");
    let outcome = simulate(&program, &machine(), &case, CoreKind::OutOfOrder, false)
        .map_err(|e| e.to_string())?;
    case.compare(&program, &outcome.tensors, Exactness::Bitwise).map_err(|e| e.to_string())
}

#[test]
fn a_product_may_be_of_one_matrix_of_a_batch() {
    assert_eq!(products("(matmul out a b)"), Ok(()));
    assert_eq!(products("(for i 0 (size n) 1 (matmul (at out i) (at a i) (at b i)))"), Ok(()));
    let by_way_of_scratch = "(for i 0 (size n) 1 (matmul one (at a i) (at b i))
        (for j 0 5 1 (store (at out i j (lanes 20 20 0)) (load (at one j (lanes 20 20 0))))))";
    assert_eq!(products(by_way_of_scratch), Ok(()));
    let wrong = products("(for i 0 (size n) 1 (matmul (at out i) (at a i) (at b 0)))");
    assert!(wrong.is_err_and(|e| e.contains("out")));
}

#[test]
fn a_product_of_what_is_no_matrix_of_a_batch_has_a_message() {
    let refused = |statements: &str, expected: &str| {
        let error = products(statements).expect_err(expected);
        assert!(error.contains(expected), "{expected}: {error}");
    };
    let part = "multiplies a part that is neither a matrix of a batch nor a block of one";
    refused("(matmul (at out 0 0) a b)", part);
    refused("(matmul (at one (lanes 5 5 0)) (at a 0) (at b 0))", part);
    refused("(matmul (at out (lanes 2 4 0) 0 (lanes 20 20 0)) (at a 0) (at b 0))", "`lanes`");
    refused("(matmul (at one 0) (at a 0) (at b 0))", "one matrix of what is no batch of matrices");
    refused("(matmul (at out 0) a (at b 0))", "`out` is (5 20), the product (n 5 20)");
    refused("(matmul (at out 0) (at a x) (at b 0))", "an index is f32, and i64 is needed");
    refused("(matmul (at out i) (at a 0) (at b 0))", "`i`");
    refused("(matmul (at out 0) (at a 9) (at b 0))", "a");
    refused("(matmul (at none 0) a b)", "unknown tensor `none`");
}

#[test]
fn a_product_may_be_of_blocks() {
    let rows = "(for i 0 (size n) 1 (for j 0 5 2
        (matmul (at out i (lanes 2 5 j) (lanes 20 20 0)) (at a i (lanes 2 5 j) (lanes 7 7 0)) (at b i))))";
    assert_eq!(products(rows), Ok(()));
    let columns = "(for i 0 (size n) 1 (for j 0 20 8
        (matmul (at out i (lanes 5 5 0) (lanes 8 20 j)) (at a i) (at b i (lanes 7 9 0) (lanes 8 20 j)))))";
    assert_eq!(products(columns), Ok(()));
    // A sum of no products is 0.
    let zero = "(matmul (at out i) (at a i (lanes 5 5 0) (lanes 7 0 0)) (at b i (lanes 7 0 0) (lanes 20 20 0)))";
    let added = "(matmul_add (at out i) (at a i (lanes 5 5 0) (lanes 3 7 j)) (at b i (lanes 3 7 j) (lanes 20 20 0)))";
    let depths = format!("(for i 0 (size n) 1 {zero} (for j 0 7 3 {added}))");
    assert_eq!(products(&depths), Ok(()));
    let by_way_of_scratch = "(for i 0 (size n) 1 (for j 0 5 2
        (matmul (at one (lanes 2 (sub 5 j) 0) (lanes 20 20 0)) (at a i (lanes 2 5 j) (lanes 7 7 0)) (at b i))
        (matmul (at out i (lanes 2 5 j) (lanes 20 20 0)) (at a i (lanes 2 5 j) (lanes 7 7 0)) (at b i))))";
    assert_eq!(products(by_way_of_scratch), Ok(()));
    let wrong = products(&depths.replace("matmul_add", "matmul"));
    assert!(wrong.is_err_and(|e| e.contains("out")));
}

#[test]
fn a_product_of_blocks_that_do_not_fit_has_a_message() {
    let refused = |statements: &str, expected: &str| {
        let error = products(statements).expect_err(expected);
        assert!(error.contains(expected), "{expected}: {error}");
    };
    let of = |out: &str, a: &str| {
        format!("(matmul (at out 0 {out} (lanes 20 20 0)) (at a 0 {a} (lanes 7 7 0)) (at b 0))")
    };
    refused(&of("(lanes 2 5 0)", "(lanes 3 5 0)"), "`out` is (2 20), the product (3 20)");
    let differ = "multiplies blocks that do not match: (2 7) by (7 20) into (1 20)";
    refused(&of("(lanes 2 1 0)", "(lanes 2 5 0)"), differ);
    refused(&of("(lanes 2 9 4)", "(lanes 2 5 0)"), "reaches index 5 in dimension 1 of `out`");
    refused(&of("(lanes 2 5 0)", "(lanes 2 0 -1)"), "reaches index -1 in dimension 1 of `a`");
    refused(&of("(lanes 0 5 0)", "(lanes 0 5 0)"), "no lanes");
    refused(&of("(lanes 2 5 x)", "(lanes 2 5 0)"), "an index is f32, and i64 is needed");
    refused("(store (at out 0 (lanes 5 5 0) (lanes 20 20 0)) 1.0)", "`lanes`");
}

/// Contracts the tensor `t` of a program, whose tensors but for a matrix `w` have these extents.
fn contracted_of(shape: &str, statements: &str) -> String {
    let mut sources = Sources::new(Disk);
    let text = format!(
        "(dlc m (sizes n) (tensor a f32 {shape}) (tensor w f32 (4 4)) (tensor_out t f32 {shape})
           (tensor_out out f32 {shape})
           (compute_loop (register i i64) (register j i64) (register r f32x4) (main {statements})))"
    );
    let file = sources.add("<program>", text);
    let program = DlcText::read(&sources, file).expect("reads").program;
    print(&contracted(program, |name| name == "t"))
}

fn contracted_text(statements: &str) -> String {
    contracted_of("(n 4 4)", statements)
}

#[test]
fn what_each_iteration_has_for_itself_takes_the_room_of_one() {
    let row = "(load (at a i j (lanes 4 4 0)))";
    let both = contracted_text(&format!(
        "(for i 0 (size n) 1 (for j 0 4 1 (store (at t i j (lanes 4 4 0)) {row})
           (store (at out i j (lanes 4 4 0)) (load (at t i j (lanes 4 4 0))))))"
    ));
    assert!(both.contains("(tensor_scratch t.part f32 (4))"), "{both}");
    assert!(both.contains("(store (at t.part (lanes 4 4 0))"), "{both}");
    let outer = contracted_text(&format!(
        "(for i 0 (size n) 1 (for j 0 4 1 (store (at t i j (lanes 4 4 0)) {row}))
           (matmul (at out i) (at t i) (at a i)))"
    ));
    assert!(outer.contains("(tensor_scratch t.part f32 (4 4))"), "{outer}");
    assert!(outer.contains("(matmul (at out i) t.part (at a i))"), "{outer}");
}

#[test]
fn what_is_used_elsewhere_keeps_its_extents() {
    let stored = "(store (at t i j (lanes 4 4 0)) (load (at a i j (lanes 4 4 0))))";
    let loop_after = "(for i 0 (size n) 1 (for j 0 4 1 (store (at out i j (lanes 4 4 0)) (load (at t i j (lanes 4 4 0))))))";
    for kept in [
        // Another loop reads it, a whole product does, another iteration does, and the number of the iteration changes.
        format!("(for i 0 (size n) 1 (for j 0 4 1 {stored})) {loop_after}"),
        format!("(for i 0 (size n) 1 (for j 0 4 1 {stored})) (matmul out t a)"),
        // The tensor's first index is none of its own in each iteration, for a block has as many rows as there are.
        format!(
            "(for i 0 (size n) 1 (for j 0 4 1 {stored})
               (matmul (at out i) (at t 0 (lanes 4 4 0) (lanes 4 4 0)) (at a i)))"
        ),
        format!(
            "(for i 0 (size n) 1 (for j 0 4 1 {stored} (set r (load (at t 0 j (lanes 4 4 0))))))"
        ),
        format!("(for i 0 (size n) 1 (for j 0 4 1 {stored} (set i 0)))"),
        // The loop runs again, and may read what it wrote before.
        format!(
            "(for j 0 4 1 (for i 0 (size n) 1 (set r (load (at t i j (lanes 4 4 0)))) {stored}))"
        ),
    ] {
        let text = contracted_text(&kept);
        assert!(text.contains("(tensor_out t f32 (n 4 4))"), "{text}");
    }
}

#[test]
fn what_each_strip_has_for_itself_takes_the_room_of_one() {
    let strip = |end: &str, rows: &str, more: &str| {
        let statements = format!(
            "(for i 0 (size n) 8
               (for j i {end} 1 (store (at t j (lanes 4 4 0)) (load (at a j (lanes 4 4 0)))))
               (matmul (at out {rows} (lanes 4 4 0)) (at t {rows} (lanes 4 4 0)) w) {more})"
        );
        contracted_of("(n 4)", &statements)
    };
    let (end, rows) = ("(min (add i 8) (size n))", "(lanes 8 (size n) i)");
    let own = strip(end, rows, "");
    assert!(own.contains("(tensor_scratch t.part f32 (8 4))"), "{own}");
    assert!(own.contains("(store (at t.part (sub j i) (lanes 4 4 0))"), "{own}");
    assert!(own.contains("(at t.part (lanes 8 (sub (size n) i) 0) (lanes 4 4 0))"), "{own}");
    let kept = [
        // The loop is longer than the strip, the block is, it is of other rows, or ends elsewhere.
        strip("(min (add i 9) (size n))", rows, ""),
        strip(end, "(lanes 9 (size n) i)", ""),
        strip(end, "(lanes 8 (size n) (add i 8))", ""),
        strip(end, "(lanes 8 (add i 4) i)", ""),
        // A row of another strip is read, and the number of the first row changes.
        strip(end, rows, "(set r (load (at t 0 (lanes 4 4 0))))"),
        strip(end, rows, "(set i 0)"),
    ];
    for text in kept {
        assert!(text.contains("(tensor_out t f32 (n 4))"), "{text}");
    }
}
