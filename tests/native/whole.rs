//! Loops that become one loop, and products of matrices of all shapes, give the bits of the simulator.

use ember_compile::dlc_text::DlcText;
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules::Exactness;
use ember_model::reference::compare;
use ember_native::{Buffers, Compiler, Contraction, Library};
use ember_sim::{Bindings, Options, run};
use ember_targets::c::{self, Core};
use ember_targets::dlc::Dim;
use ember_targets::machine::Machine;
use ember_targets::tensor::{Data, Tensor};
use ember_targets::verify::Limits;
use ember_values::scalar::{DType, Scalar};

/// Runs a program in the simulator and as C for vectors of 16 and 64 bytes, and returns the C.
pub fn checked(text: &str) -> String {
    checked_on(text, 1)
}

/// Runs a program in the simulator and as C for this number of threads.
fn checked_on(text: &str, threads: u32) -> String {
    let mut sources = Sources::new(Disk);
    let file = sources.add("<test>", text);
    let read = DlcText::read(&sources, file).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let program = read.verify(&Limits::NONE).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let number = |dtype: DType, k: u64| match dtype {
        DType::I64 => Scalar::I64((k * 3 % 5) as i64),
        _ => Scalar::from_f64(dtype, (k * 7919 % 1000) as f64 / 300.0 - 1.5),
    };
    let tensors: Vec<Tensor> = program
        .tensors
        .iter()
        .map(|own| {
            let extent = |dim: &Dim| match dim {
                Dim::Const(n) => *n,
                Dim::Size(_) => panic!("a size"),
            };
            let shape: Vec<u64> = own.shape.iter().map(extent).collect();
            let elements = shape.iter().product();
            let data = Data::held(own.dtype, (0..elements).map(|k| number(own.dtype, k)));
            Tensor { dtype: own.dtype, shape, data }
        })
        .collect();
    let bindings = Bindings { tensors: tensors.clone(), sizes: Vec::new() };
    let machine = Machine::plus().expect("a machine");
    let simulated = run(&program, &machine, bindings, Options::default()).expect("runs");
    let compiler = Compiler::find().expect("a C compiler");
    let mut text = String::new();
    for vector_bytes in [16, 64] {
        let core = Core { vector_bytes, threads, approximate: false, row_swap: 2, llc_bytes: 0 };
        let source = c::print(&program, &[], &[], core).expect("C");
        let path = compiler.compile(&source, Contraction::Off).expect("compiles");
        let library = Library::load(&path, &source).expect("loads");
        let mut buffers = Buffers::new(&program, &tensors, &[]).expect("is small");
        library.call(&mut buffers).expect("nothing is required");
        for ((own, left), right) in
            program.tensors.iter().zip(&simulated.tensors).zip(&buffers.tensors())
        {
            compare(&own.name, left, right, Exactness::Bitwise, &[])
                .unwrap_or_else(|e| panic!("{e}\n{}", source.text));
        }
        text = source.text;
    }
    text
}

/// Returns the program with some statements, between loops over rows of a table.
fn loops(statements: &str) -> String {
    format!(
        "(dlc loops (sizes)
           (tensor x f32 (6 8)) (tensor from i64 (7))
           (tensor_out a f32 (6 8)) (tensor_out b f32 (6 8)) (tensor_out s f32 (8))
           (configure_access_engine (start))
           (compute_loop
             (register i i64) (register j i64) (register k i64) (register l i64)
             (register r f32) (register q f32)
             (main {statements})))"
    )
}

/// Returns the number of loops over rows in a program.
fn rows(text: &str) -> usize {
    text.split("_unchecked(").nth(1).map_or(0, |body| body.matches("for (int64_t").count())
}

#[test]
fn loops_over_the_same_rows() {
    let double =
        "(for i 0 6 1 (for k 0 8 1 (store (at a i k) (add (load (at x i k)) (load (at x i k))))))";
    for (second, expected) in [
        // Elements of the same row.
        (
            "(for j 0 6 1 (for l 0 8 1 (store (at b j l) (mul (load (at a j l)) (const f32 0.5)))))",
            2,
        ),
        // Loops in another order, which are exchanged.
        ("(for k 0 8 1 (for j 0 6 1 (for l 0 8 1 (store (at b j l) (load (at a j k))))))", 3),
        // The same rows, but not the same elements: the inner loops stay apart.
        ("(for j 0 6 1 (for l 0 8 1 (store (at b j l) (load (at a j 7)))))", 3),
        // Another row.
        ("(for j 0 6 1 (for l 0 8 1 (store (at b j l) (load (at a 5 l)))))", 4),
        // Writes what another iteration of the first reads.
        ("(for j 0 6 1 (for l 0 8 1 (store (at a 0 l) (load (at x j l)))))", 4),
        // Other bounds, and another step.
        ("(for j 0 5 1 (for l 0 8 1 (store (at b j l) (load (at a j l)))))", 4),
        ("(for j 0 6 2 (for l 0 8 1 (store (at b j l) (load (at a j l)))))", 4),
        // Nothing in common.
        ("(for j 0 6 1 (for l 0 8 1 (store (at b j l) (const f32 1.0))))", 4),
        // Bounds that the first writes.
        (
            "(for j 0 (add 6 (cast i64 (mul (load (at a 0 0)) (const f32 0.0)))) 1 (store (at b j 0) (load (at a j 0))))",
            3,
        ),
    ] {
        let text = checked(&loops(&format!("{double} {second}")));
        assert_eq!(rows(&text), expected, "{second}\n{text}");
    }
}

#[test]
fn threads_share_loops_whose_iterations_write_different_rows() {
    let program = |statements: &str| {
        format!(
            "(dlc shared (sizes)
               (tensor x f32 (64 16)) (tensor_out a f32 (64 16))
               (configure_access_engine (start))
               (compute_loop
                 (register i i64) (register j i64) (register l i64)
                 (main {statements})))"
        )
    };
    for (statements, shared) in [
        // Four rows for each iteration, and their order does not count.
        (
            "(for i 0 16 1 (for j 0 4 1 (for l 0 16 1
               (store (at a (add (mul i 4) j) l) (load (at x (add j (mul 4 i)) l))))))",
            true,
        ),
        // Of the outer loop, the rows that are sixteen apart are between those of the next iteration.
        (
            "(for j 0 4 1 (for i 0 16 1 (for l 0 16 1
               (store (at a (add (mul j 16) i) l) (load (at x i l))))))",
            true,
        ),
        // The fifth row is the next iteration's first.
        (
            "(for i 0 15 1 (for j 0 5 1 (for l 0 16 1
               (store (at a (add (mul i 4) j) l) (load (at x i l))))))",
            false,
        ),
        // A row that another iteration writes is read.
        (
            "(for i 0 15 1 (for j 0 4 1 (for l 0 16 1
               (store (at a (add (mul i 4) j) l) (load (at a (add (mul i 4) 4) l))))))",
            false,
        ),
        // Other multiples, which meet.
        (
            "(for i 0 16 1 (for j 0 2 1 (for l 0 16 1
               (store (at a (add (mul i 4) j) l) (load (at a (add (mul i 2) j) l))))))",
            false,
        ),
        // Four rows for each iteration, from the last to the first; and one below them.
        (
            "(for i 0 16 1 (for j 0 4 1 (for l 0 16 1
               (store (at a (sub (add (mul i 4) 3) j) l) (load (at x i l))))))",
            true,
        ),
        (
            "(for i 0 16 1 (for j 0 4 1 (for l 0 16 1
               (store (at a (sub (add (mul i 3) 3) j) l) (load (at x i l))))))",
            false,
        ),
    ] {
        let text = checked_on(&program(statements), 2);
        assert_eq!(text.contains("#pragma omp"), shared, "{statements}\n{text}");
    }
}

#[test]
fn sums_over_the_same_rows() {
    let first = "(set r (const f32 0.0)) (for i 0 6 1 (set r (add r (load (at x i 0)))))";
    let second = |start: &str, term: &str| {
        format!(
            "{first} (set q {start}) (for j 0 6 1 (set q (add q {term}))) (store (at s 0) r) (store (at s 1) q)"
        )
    };
    for (statements, expected) in [
        (second("(const f32 0.0)", "(load (at x j 1))"), 1),
        // A start that is the first sum, and terms that mention it.
        (second("r", "(load (at x j 1))"), 2),
        (second("(const f32 0.0)", "(add r (load (at x j 1)))"), 2),
    ] {
        let text = checked(&loops(&statements));
        assert_eq!(rows(&text), expected, "{statements}\n{text}");
    }
    // Ragged rows: both inner loops have the same bounds.
    let ragged = "(for i 0 6 1
        (set r (const f32 0.0))
        (for j (load (at from i)) (load (at from (add i 1))) 1 (set r (add r (load (at x j 0)))))
        (set q (const f32 1.0))
        (for k (load (at from i)) (load (at from (add i 1))) 1 (set q (mul q (load (at x k 1)))))
        (store (at a i 0) (add r q)))";
    assert_eq!(rows(&checked(&loops(ragged))), 2);
}

#[test]
fn products_of_all_shapes() {
    for (m, k, n) in
        [(1, 1, 1), (3, 5, 7), (8, 16, 32), (13, 33, 17), (9, 300, 40), (32, 64, 70), (2, 0, 3)]
    {
        for (name, b) in [("matmul", format!("({k} {n})")), ("matmul_t", format!("({n} {k})"))] {
            for dtype in ["f32", "f64"] {
                checked(&format!(
                    "(dlc product (sizes) (tensor a {dtype} ({m} {k})) (tensor b {dtype} {b})
                       (tensor_out c {dtype} ({m} {n}))
                       (configure_access_engine (start)) (compute_loop (main ({name} c a b))))"
                ));
            }
        }
    }
}
