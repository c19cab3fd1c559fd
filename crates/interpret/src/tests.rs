//! Tests of the interpreter.

use super::*;
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules;
use ember_targets::tensor::Data;
use ember_values::scalar::Scalar;
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// The operators of the project's dialects.
static OPERATORS: LazyLock<Arc<Operators>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules");
    let (book, _) = rules::load(&mut Sources::new(Disk), &[folder]).expect("well-formed rules");
    book.signature.table().clone()
});

fn floats(shape: &[u64], data: &[f32]) -> Tensor {
    let dtype = ember_values::scalar::DType::F32;
    Tensor { dtype, shape: shape.to_vec(), data: Data::F32(Arc::new(data.to_vec())) }
}

fn integers(data: &[i64]) -> Tensor {
    let dtype = ember_values::scalar::DType::I64;
    Tensor { dtype, shape: vec![data.len() as u64], data: Data::I64(Arc::new(data.to_vec())) }
}

/// Returns the data of a table of three rows of three, and four bags: two rows, none, none, one row.
fn bag_store() -> Store {
    let table = (0..9).map(|i| i as f32 + 0.5).collect::<Vec<_>>();
    Store {
        tensors: [
            ("indices", integers(&[2, 0, 1])),
            ("offsets", integers(&[0, 2, 2, 2, 3])),
            ("out", floats(&[4, 3], &[7.0; 12])),
            ("table", floats(&[3, 3], &table)),
        ]
        .map(|(name, tensor)| (name.to_string(), tensor))
        .into(),
        sizes: BTreeMap::from([("batch".to_string(), 4)]),
    }
}

fn run(text: &str, store: Store) -> Result<Store, Error> {
    let mut interpreter = Interpreter::new(&text.parse().unwrap(), &OPERATORS, store);
    let root = interpreter.root();
    interpreter.run(root)?;
    Ok(interpreter.into_store())
}

fn eval(text: &str) -> Result<Value, Error> {
    let mut interpreter = Interpreter::new(&text.parse().unwrap(), &OPERATORS, bag_store());
    let root = interpreter.root();
    interpreter.eval(root)
}

fn scalar(x: f32) -> Value {
    Value::Scalar(Scalar::F32(x))
}

const B: &str = "(var (depth 0) 0 (size %batch) 1)";
const E: &str = "(var (depth 1) 0 3 1)";

/// Replaces the abbreviations for `B`, `E`, `V` (blocks of 2 of `E`) and `L` (the lookups of a bag) in a term.
fn expand(text: &str) -> String {
    let l = "(var (depth 2) LO HI 1)";
    let v = format!("(var (outer {E} 2) 0 3 2)");
    text.replace("$L", l)
        .replace("LO", "(scf.load (at (in %offsets) (iv $B)))")
        .replace("HI", "(scf.load (at (in %offsets) (scf.add (iv $B) 1)))")
        .replace("$B", B)
        .replace("$E", E)
        .replace("$V", &v)
}

const LOOKUP: &str =
    "(scf.load (at (at (in %table) (scf.load (at (in %indices) (iv $L)))) (iv $E)))";
const BAG: [f32; 12] = [7.0, 9.0, 11.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.5, 4.5, 5.5];

fn check_bag(text: &str) {
    let text = expand(&text.replace("LOOKUP", LOOKUP));
    let store = run(&text, bag_store()).unwrap();
    let Data::F32(out) = &store.tensors["out"].data else { panic!("the type changed") };
    assert_eq!(out.as_slice(), BAG);
}

#[test]
fn every_level_of_a_bag_means_the_same() {
    check_bag(
        "(emb.output (out %out) (emb.bag mode.sum (emb.tensor (in %table)) (in %indices) (in %offsets)))",
    );
    check_bag(
        "(scf.for $B 0 (size %batch) 1 (scf.for $E 0 3 1
           (scf.store (at (at (out %out) (iv $B)) (iv $E))
             (scf.reduce add $L LO HI 1 (const f32 0.0) LOOKUP))))",
    );
    // A block loop, with its block evaluated lane by lane, and with the vectorisation pushed down.
    check_bag(
        "(scf.for $B 0 (dim (out %out) 0) 1 (scf.for $V 0 3 2 (vec $V $E 2 3
           (scf.store (at (at (out %out) (iv $B)) (iv $E))
             (scf.reduce add $L LO HI 1 (const f32 0.0) LOOKUP)))))",
    );
    check_bag(
        "(scf.for $B 0 4 1 (scf.for $V 0 3 2
           (scf.store (at (at (out %out) (iv $B)) (scf.lanes 2 3 (iv $V)))
             (scf.reduce add $L LO HI 1 (scf.broadcast 2 (const f32 0.0))
               (scf.load (vec $V $E 2 3
                 (at (at (in %table) (scf.load (at (in %indices) (iv $L)))) (iv $E))))))))",
    );
    // The bag in memory, with half of it split between the units.
    check_bag(
        "(slc.for $B (slc.const 0) (slc.const 4) 1 (slc.seq
           (slc.callback (exe.for $E (exe.const 0) (exe.const 3) 1
             (exe.store (exe.at (exe.at (exe.out %out) (exe.counter $B)) (exe.counter $E))
               (exe.const (const f32 0.0)))))
           (slc.for $L (str LO) (str HI) 1
             (slc.callback (exe.walk $E (str 0) (str 3) (val 0) (val 3) 1
               (exe.accumulate add
                 (exe.at (exe.at (exe.out %out) (slc.from_stream (slc.iv $B))) (exe.counter $E))
                 (slc.from_stream (slc.mem_stream temporal (slc.at (slc.at (slc.in %table)
                   (slc.mem_stream temporal (slc.at (slc.in %indices) (slc.iv $L))))
                   (slc.iv $E))))))))))",
    );
}

#[test]
fn bags_of_nothing_are_zero() {
    for (mode, full) in [("mode.sum", 9.0), ("mode.mean", 4.5), ("mode.max", 7.5)] {
        let element = |row| {
            eval(&format!(
                "(emb.element (emb.bag {mode} (emb.tensor (in %table)) (in %indices) (in %offsets)) {row} 1)"
            ))
        };
        assert_eq!(element(0), Ok(scalar(full)), "{mode}");
        assert_eq!(element(2), Ok(scalar(0.0)), "{mode}");
    }
}

#[test]
fn loops_start_at_their_lo_and_step() {
    let v = "(var (depth 0) 3 12 4)";
    let sum = eval(&format!("(scf.reduce add {v} 3 12 4 0 (iv {v}))"));
    assert_eq!(sum, Ok(Value::Scalar(Scalar::I64(3 + 7 + 11))));
}

#[test]
fn inactive_lanes_do_not_fault() {
    let text = expand(
        "(scf.for $V 0 3 2 (vec $V $E 2 3 (scf.store (at (at (out %out) 0) (iv $E)) (const f32 1.0))))",
    );
    assert!(run(&text, bag_store()).is_ok());
    let text = expand(
        "(scf.for $V 0 3 2 (scf.store (at (at (out %out) 0) (scf.lanes 2 4 (iv $V))) (scf.broadcast 2 (const f32 1.0))))",
    );
    assert!(matches!(run(&text, bag_store()), Err(Error::OutOfBounds { index: 3, extent: 3, .. })));
}

#[test]
fn errors_are_values() {
    let error = |text: &str| eval(&expand(text)).unwrap_err();
    assert!(matches!(
        error("(scf.load (at (in %indices) 3))"),
        Error::OutOfBounds { index: 3, .. }
    ));
    assert!(matches!(error("(scf.load (at (in %indices) -1))"), Error::OutOfBounds { .. }));
    assert!(matches!(error("(scf.load (in %indices))"), Error::Rank { indices: 0, .. }));
    assert!(matches!(error("(scf.load (at (at (in %indices) 0) 0))"), Error::Rank { .. }));
    assert!(matches!(error("(scf.add 1 (const f32 1.0))"), Error::Type { .. }));
    assert!(matches!(error("(iv $E)"), Error::Unbound(_)));
    assert!(matches!(error("(size %rows)"), Error::UnknownName { kind: "size", .. }));
    assert!(matches!(error("(scf.load (in %nothing))"), Error::UnknownName { kind: "tensor", .. }));
    assert!(matches!(error("(scf.frobnicate 1)"), Error::UnknownOperator { arity: 1, .. }));
    assert!(matches!(error("(scf.broadcast 1 2)"), Error::LaneCount(1)));
    assert!(matches!(error("(scf.reduce add $E 0 3 0 0 1)"), Error::Step(0)));
    assert!(matches!(error("(scf.reduce add $E 0 4 1 0 1)"), Error::OutsideRange { value: 3, .. }));
    assert!(matches!(error("(scf.reduce add $E -1 3 1 0 1)"), Error::OutsideRange { .. }));
    assert!(matches!(
        error("(scf.mul (scf.lanes 2 9 0) (scf.lanes 3 9 0))"),
        Error::Lanes { found: (2, 3), .. }
    ));
    assert!(matches!(error("(slc.alu_stream add (slc.lanes 2 9 0) 1)"), Error::Lanes { .. }));
    assert!(matches!(
        error("(slc.mem_stream temporal (slc.at (slc.at (slc.out %out) 0) 0))"),
        Error::MutableLoad(_)
    ));
    assert_eq!(error("scf.skip"), Error::Sort { expected: "a value", found: "scf.skip".into() });
    let store = "(scf.store (at (in %indices) 0) 1)";
    assert!(matches!(run(store, bag_store()), Err(Error::ReadOnly(_))));
}

#[test]
fn the_access_unit_knows_no_loop_of_the_execute_unit_alone() {
    let sum = |body: &str| {
        eval(&expand(&format!("(exe.reduce add $E (val 0) (val 3) 1 (val 0) {body})")))
    };
    assert!(sum("(exe.counter $E)").is_ok());
    assert!(matches!(sum("(slc.from_stream (slc.iv $E))"), Err(Error::Unfed(_))));
    let walk = "(exe.walk_reduce add $B (str 0) (str 2) (val 0) (val 2) 1 (val 0) (val 1))";
    assert!(matches!(sum(walk), Err(Error::Unfed(_))));
    assert!(eval(&expand(walk)).is_ok());
    let torn = expand("(exe.walk_reduce add $B (str 0) (str 2) (val 0) (val 1) 1 (val 0) (val 1))");
    assert!(matches!(eval(&torn), Err(Error::Bounds { access: (0, 2), execute: (0, 1) })));
}

#[test]
fn a_run_that_takes_too_long_is_given_up() {
    let run = |iterations: i64| {
        let over = format!("(var (depth 0) 0 {iterations} 1)");
        let text = format!("(scf.for {over} 0 {iterations} 1 scf.skip)");
        let term = text.parse().unwrap();
        let mut interpreter =
            Interpreter::new(&term, &OPERATORS, Store::default()).with_step_limit(1000);
        let root = interpreter.root();
        interpreter.run(root)
    };
    assert_eq!(run(1_000_000), Err(Error::StepLimit(1000)));
    // Of a long loop, the first iteration that changes nothing is the last that runs.
    assert_eq!(run(i64::MAX), Ok(()));
}

#[test]
fn deep_terms_do_not_overflow_the_stack() {
    let mut term = Term::default();
    let mut last = term.add(ember_language::term::Node::int(1));
    for _ in 0..200_000 {
        let one = term.add(ember_language::term::Node::int(1));
        last = term.add(ember_language::term::Node::op("scf.add", &[last, one]));
    }
    let mut interpreter = Interpreter::new(&term, &OPERATORS, Store::default());
    assert_eq!(interpreter.eval(last), Ok(Value::Scalar(Scalar::I64(200_001))));
}

#[test]
fn trips_are_averaged_over_the_loops_around() {
    let average = |text: &str| {
        average_trip_count(&expand(text).parse().unwrap(), &OPERATORS, &bag_store()).unwrap()
    };
    assert_eq!(average("(var (depth 0) 3 12 4)"), 3.0);
    assert_eq!(average("(var (depth 0) 12 3 4)"), 0.0);
    assert_eq!(average("$L"), 0.75);
    // The triangle has the average of 0..=9 trips. If every enclosing loop is empty, the average is 0.
    assert_eq!(average("(var (depth 1) 0 (iv (var (depth 0) 0 10 1)) 1)"), 4.5);
    assert_eq!(average("(var (depth 1) 0 (iv (var (depth 0) 10 0 1)) 1)"), 0.0);
}

#[test]
fn trips_of_many_iterations_are_sampled() {
    let average = |n: i64| {
        let a = format!("(var (depth 0) 0 {n} 1)");
        let b = format!("(var (depth 1) 0 (iv {a}) 1)");
        let c = format!("(var (depth 2) 0 (iv {b}) 1)");
        average_trip_count(&c.parse().unwrap(), &OPERATORS, &Store::default()).unwrap()
    };
    // The average is Σ b over b < a < n, divided by the number of these pairs: (n - 2) / 3.
    assert!((average(100) - 98.0 / 3.0).abs() < 1e-9);
    assert!((average(1_000_000) / 333_332.7 - 1.0).abs() < 0.03);
    assert_eq!(average(1_000_000), average(1_000_000));
}

#[test]
fn renaming_reads_another_variable() {
    let x = "(var (depth 0) 0 9 1)";
    let y = "(var (depth 1) 0 4 1)";
    let sum = eval(&format!("(scf.reduce add {y} 0 4 1 0 (rename {x} {y} (iv {x})))"));
    assert_eq!(sum, Ok(Value::Scalar(Scalar::I64(6))));
    let outside = eval(&format!("(scf.reduce add {x} 0 9 1 0 (rename {y} {x} (iv {y})))"));
    assert!(matches!(outside, Err(Error::OutsideRange { value: 4, .. })));
}

#[test]
fn a_start_that_is_the_same_term_as_the_body_is_outside_of_the_loop() {
    let x = "(var (depth 0) 0 3 1)";
    let started = |end: i64| {
        let y = format!("(var (depth 1) 0 {end} 1)");
        let sum = format!("(scf.reduce add {x} 0 3 1 (iv {x}) (iv {x}))");
        eval(&format!("(scf.reduce add {y} 0 {end} 1 0 (rename {x} {y} {sum}))"))
    };
    // The starts 0 and 1, and twice 0 + 1 + 2.
    assert_eq!(started(2), Ok(Value::Scalar(Scalar::I64(7))));
    assert!(matches!(started(5), Err(Error::OutsideRange { value: 3, .. })));
}
