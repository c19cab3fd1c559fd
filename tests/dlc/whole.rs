//! Tests that scratch memory for one iteration is read as a whole tensor, if every iteration writes all of it first.

use ember_certify::Rules;
use ember_compile::machines;
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::print_term;
use ember_language::rules::{self, Sort};
use ember_prove::equiv::{self, Options, Sides, Verdict, What};
use std::path::{Path, PathBuf};

const MODEL: &str = "
(model m
  (input a f32 (n 4 4))
  (input b f32 (n 4 4))
  (let t (nn.scale 2.0 a))
  (output out (nn.matmul t b))
  (data (seed 1) (size n 3 batch) (a (uniform -1.0 1.0)) (b (uniform -1.0 1.0))))";

const TWICE: &str = "(mul (broadcast 4 (const f32 2.0)) (load (at a i j (lanes 4 4 0))))";
const PRODUCT: &str = "(matmul (at out i) t.part (at b i))";

/// Returns a program whose iterations have a matrix of scratch memory.
fn program(iteration: &str) -> String {
    format!(
        "(dlc m (sizes n) (tensor a f32 (n 4 4)) (tensor b f32 (n 4 4))
           (tensor_scratch t.part f32 (4 4)) (tensor_out out f32 (n 4 4))
           (compute_loop (register i i64) (register j i64) (register k i64)
             (main (for i 0 (size n) 1 {iteration}))))"
    )
}

/// Compares a program with the model. Returns the verdict and the statement that the program is read as.
fn compared(iteration: &str) -> (Verdict, String) {
    let mut sources = Sources::new(Disk);
    let paths = equiv::rule_paths(&Disk, &[Path::new(env!("CARGO_MANIFEST_DIR")).join("rules")]);
    let (book, _) = rules::load(&mut sources, &paths).expect("the rules are well-formed");
    let compiled = ember_engine::compile(&book);
    let checked = Rules::read(&mut sources, &paths).expect("the checker reads them, too");
    let machine = machines::load(&mut sources, "tmu-cpu-plus").expect("it comes with the program");
    let files = [PathBuf::from("m.dlc"), PathBuf::from("m.sexp")];
    sources.add(&files[0], program(iteration));
    sources.add(&files[1], MODEL);
    let sides = equiv::read(&mut sources, &book, &machine, &files, None).expect("two programs");
    let statement = sides.left.term().expect("a statement").clone();
    let text = print_term::print_term(&statement);
    // The statement does what the program does on the simulator.
    let read = What::Term { term: statement, sort: Sort::named("Stmt") };
    let both = [sides.left.what.clone(), read];
    let both = Sides::of(&book.signature, sides.declarations.clone(), both);
    let options = Options { tries: 60, ..Options::default() };
    let (found, tried) = equiv::apart(&both, &machine, &options);
    assert!(found.is_none() && tried >= 50, "{tried} data: {found:?}\n{text}");
    let answer = equiv::compare(&sides, &book, &compiled, &checked, &machine, &options);
    (answer.expect("an answer").verdict, text)
}

#[test]
fn memory_that_an_iteration_writes_before_it_reads_it_is_part_of_a_whole_tensor() {
    for written in [
        format!("(for j 0 4 1 (store (at t.part j (lanes 4 4 0)) {TWICE}))"),
        // Twice two columns, and element by element in another order.
        "(for k 0 4 2 (for j 0 4 1 (store (at t.part j (lanes 2 4 k))
           (mul (broadcast 2 (const f32 2.0)) (load (at a i j (lanes 2 4 k)))))))"
            .to_owned(),
        "(for k 0 4 1 (for j 0 4 1 (store (at t.part j k)
           (mul (const f32 2.0) (load (at a i j k))))))"
            .to_owned(),
    ] {
        let (verdict, text) = compared(&format!("{written} {PRODUCT}"));
        assert!(!text.contains("t.part") && text.contains("(at (out %t)"), "{text}");
        assert!(matches!(verdict, Verdict::Equal(Ok(_))), "{verdict:?}\n{text}");
    }
}

#[test]
fn memory_that_an_iteration_may_read_from_another_stays_as_it_is() {
    let all = format!("(for j 0 4 1 (store (at t.part j (lanes 4 4 0)) {TWICE}))");
    for iteration in [
        // It is read first, a row or a column of it stays as it was, each row is read before the last is written, or a loop
        // that need not run writes it.
        format!("{PRODUCT} {all}"),
        format!("(for j 0 3 1 (store (at t.part j (lanes 4 4 0)) {TWICE})) {PRODUCT}"),
        format!("(for j 0 4 1 (store (at t.part j (lanes 4 3 0)) {TWICE})) {PRODUCT}"),
        format!("(for j 0 4 2 (store (at t.part j (lanes 4 4 0)) {TWICE})) {PRODUCT}"),
        format!("(for j 0 4 1 (store (at t.part j (lanes 4 4 0)) {TWICE}) {PRODUCT})"),
        format!("(for k 1 (size n) 1 {all}) {PRODUCT}"),
        format!("(for j 0 4 1 (accumulate add (at t.part j (lanes 4 4 0)) {TWICE})) {PRODUCT}"),
    ] {
        let (verdict, text) = compared(&iteration);
        assert!(text.contains("t.part"), "{text}");
        assert!(!matches!(verdict, Verdict::Equal(_)), "{verdict:?}\n{text}");
    }
}
