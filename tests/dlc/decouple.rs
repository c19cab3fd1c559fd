//! Tests the decoupling of embedding bags of four shapes: the result verifies, and its essential text is pinned.

use crate::bag::{self, bag_context, check, operators, term, verified};
use ember_compile::coupled::coupled;
use ember_compile::decouple::decouple;
use ember_targets::dlc::Program;
use ember_targets::print::print;

/// Returns the text from the first `(on …)` to the end, without registers and with uniform white space.
fn essence(program: &Program) -> String {
    let text = print(program);
    let from = text.find("(on ").unwrap_or(text.find("(start").expect("a start"));
    let lines = text[from..].lines().filter(|l| !l.trim_start().starts_with("(register "));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

fn expect(program: &Program, expected: &str) {
    let expected = expected.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(essence(program), expected, "\n{}", print(program));
}

#[test]
fn a_token_for_every_element() {
    expect(
        &verified(bag::OPT0),
        "(on i0 ite (register_callback on_i0) (register_operand i0) (traverse i2) (traverse i1))
         (on i2 ite (register_callback on_i2) (register_operand i2))
         (on i1 ite (traverse i2_2))
         (on i2_2 ite (register_callback on_i2_2) (register_operand table) (register_operand i2_2))
         (start (traverse i0)))
         (compute_loop
         (main)
         (case on_i2 (pop_operand i2) (store (at out i0 i2) (const f32 0.0)))
         (case on_i2_2 (pop_operand table) (pop_operand i2_2) (accumulate add (at out i0 i2_2) table))
         (case on_i0 (pop_operand i0))))",
    );
}

#[test]
fn a_token_for_every_row() {
    expect(
        &verified(bag::OPT2),
        "(on i0 ite (register_callback on_i0) (register_operand i0) (traverse i1))
         (on i1 ite (register_callback on_i1) (traverse i2o))
         (on i2o ite (register_operand table) (register_operand i2o))
         (start (traverse i0)))
         (compute_loop
         (main)
         (case on_i1
           (walk i2o i2o_2 0 (size dim) 16
             (pop_operand table)
             (pop_operand i2o_3)
             (accumulate add (at out i0 (lanes 16 (size dim) i2o_3)) table)))
         (case on_i0
           (pop_operand i0)
           (for i2o 0 (size dim) 16
             (store (at out i0 (lanes 16 (size dim) i2o)) (broadcast 16 (const f32 0.0)))))))",
    );
}

#[test]
fn counters_in_place_of_indices() {
    expect(
        &verified(bag::OPT3),
        "(on i0 ite (register_callback on_i0) (traverse i1) (register_callback on_i0_2))
         (on i1 ite (register_callback on_i1) (traverse i2o))
         (on i2o ite (register_operand table))
         (start (traverse i0)))
         (compute_loop
         (main (set count_i0 0))
         (case on_i1
           (walk i2o i2o_2 0 (size dim) 16
             (pop_operand table)
             (accumulate add (at out count_i0 (lanes 16 (size dim) i2o_2)) table)))
         (case on_i0
           (for i2o 0 (size dim) 16
             (store (at out count_i0 (lanes 16 (size dim) i2o)) (broadcast 16 (const f32 0.0)))))
         (case on_i0_2 (set count_i0 (add count_i0 1)))))",
    );
}

#[test]
fn one_callback_for_everything() {
    expect(
        &verified(bag::SEARCH),
        "(on i0 ite (register_operand offsets) (register_operand offsets_2) (traverse i2o))
         (on i2o ite (traverse i1))
         (on i1 ite (register_operand table))
         (start (register_callback on_start) (traverse i0)))
         (compute_loop
         (main)
         (case on_start
           (walk i0 i0 0 (size bags) 1
             (pop_operand offsets)
             (pop_operand offsets_2)
             (walk i2o i2o 0 (size dim) 16
               (set acc (broadcast 16 (const f32 0.0)))
               (walk i1 i1 offsets offsets_2 1 (pop_operand table) (set acc (add acc table)))
               (store (at out i0 (lanes 16 (size dim) i2o)) acc))))))",
    );
}

#[test]
fn a_coupled_loop_nest() {
    let program = coupled(operators(), &term(bag::SCF), &bag_context()).expect("lowers");
    assert!(program.is_coupled());
    assert_eq!(check(&print(&program)).expect("verifies"), program);
    expect(
        &program,
        "(start))
         (compute_loop
         (main
           (for i0 0 (size bags) 1
             (for i2 0 (size dim) 1
               (set acc (const f32 0.0))
               (for i1 (load (at offsets i0)) (load (at offsets (add i0 1))) 1
                 (set acc (add acc (load (at table (load (at indices i1)) i2)))))
               (store (at out i0 i2) acc))))))",
    );
}

#[test]
fn store_streams_take_no_execute_work() {
    let program = verified(
        "(slc.for $B (slc.const 0) $M 1
           (slc.for $V (slc.const 0) $D 16
             (slc.store_stream
               (slc.at (slc.at (slc.out %out) (slc.iv $B)) $Run)
               (slc.mem_stream temporal (slc.at (slc.at (slc.in %table)
                 (slc.mem_stream temporal (slc.at (slc.in %indices) (slc.iv $B)))) $Run)))))",
    );
    assert!(program.cases.is_empty() && program.main.is_empty());
}

#[test]
fn values_without_a_loop_are_popped_once_at_the_start() {
    let program = verified(
        "(slc.for $B (slc.const 0) $M 1
           (slc.callback (exe.store
             (exe.at (exe.at (exe.out %out) (slc.from_stream (slc.iv $B))) (exe.const 0))
             (slc.from_stream (slc.mem_stream temporal
               (slc.at (slc.at (slc.in %table) (slc.const 7)) (slc.const 0)))))))",
    );
    expect(
        &program,
        "(on i0 ite (register_callback on_i0) (register_operand i0))
         (start (register_callback on_start) (register_operand table) (traverse i0)))
         (compute_loop
         (main)
         (case on_i0 (pop_operand i0) (store (at out i0 0) table))
         (case on_start (pop_operand table))))",
    );
}

#[test]
fn shared_streams_are_made_and_popped_once() {
    // The row is used twice, in two callbacks and in a sum of itself.
    let program = verified(
        "(slc.for $B (slc.const 0) $M 1
           (slc.for $L $From $To 1
             (slc.for $E (slc.const 0) $D 1
               (slc.seq
                 (slc.callback (exe.accumulate add
                   (exe.at (exe.at (exe.out %out) (slc.from_stream (slc.iv $B)))
                     (slc.from_stream (slc.iv $E)))
                   (exe.add (slc.from_stream $X) (slc.from_stream $X))))
                 (slc.callback (exe.accumulate max
                   (exe.at (exe.at (exe.out %out) (slc.from_stream (slc.iv $B)))
                     (slc.from_stream (slc.iv $E)))
                   (slc.from_stream $X)))))))",
    );
    let loads = program.streams.iter().filter(|s| s.name.starts_with("table")).count();
    assert_eq!(loads, 1);
    let text = essence(&program);
    assert_eq!(text.matches("(register_operand table)").count(), 1, "{text}");
    assert_eq!(text.matches("(register_operand i2)").count(), 1, "{text}");
}

#[test]
fn held_values_are_computed_where_their_streams_loop_is_entered() {
    // The first element of a bag's row minus a half, times each element of the bag.
    let first =
        "(slc.mem_stream temporal (slc.at (slc.at (slc.in %table) (slc.iv $B)) (slc.const 0)))";
    let text = format!(
        "(slc.callback (exe.walk $B (slc.const 0) $M (exe.const 0) (exe.const (size %bags)) 1
           (exe.walk $E (slc.const 0) $D (exe.const 0) (exe.const (size %dim)) 1
             (exe.store (exe.at (exe.at (exe.out %out) (exe.counter $B)) (exe.counter $E))
               (exe.held (exe.sub (slc.from_stream {first}) (exe.const (const f32 0.5))))))))"
    );
    expect(
        &verified(&text),
        "(on i0 ite (register_operand table) (traverse i2))
         (start (register_callback on_start) (traverse i0)))
         (compute_loop
         (main)
         (case on_start
           (walk i0 i0 0 (size bags) 1
             (pop_operand table)
             (set held (sub table (const f32 0.5)))
             (walk i2 i2 0 (size dim) 1 (store (at out i0 i2) held))))))",
    );
}

fn error(text: &str) -> String {
    decouple(operators(), &term(text), &bag_context()).expect_err("is wrong").to_string()
}

#[test]
fn what_cannot_be_lowered_is_named() {
    let store = |value: &str| {
        format!(
            "(slc.callback (exe.store (exe.at (exe.at (exe.out %out) (exe.const 0)) (exe.const 0)) {value}))"
        )
    };
    let cases = [
        (
            "(slc (scf.skip))".to_owned(),
            "`slc`: is a boundary operator that no rule has pushed down",
        ),
        (store("(val (const f32 1.0))"), "`val`: is a boundary operator"),
        (store("(exe.const 1)"), "`exe.store`: writes i64 where f32 stands"),
        (
            store("(exe.add (exe.const (const f32 1.0)) (exe.const 1))"),
            "`exe.add`: combines f32 with i64",
        ),
        (
            store("(exe.load (exe.at (exe.in %tabel) (exe.const 0)))"),
            "`%tabel`: the model has no such tensor",
        ),
        (
            store("(exe.load (exe.at (exe.in %table) (exe.const 0)))"),
            "`table` has 2 dimensions, and 1 indices are given",
        ),
        (store("(exe.const (size %dimension))"), "`%dimension`: the model has no such size"),
        (store("(exe.counter $B)"), "`exe.counter`: no loop around here binds this variable"),
        (
            store(
                "(exe.held (exe.load (exe.at (exe.at (exe.in %table) (exe.const 0)) (exe.const 0))))",
            ),
            "`exe.load`: cannot be held in a register",
        ),
        (store("(exe.held (exe.counter $B))"), "`exe.counter`: cannot be held in a register"),
        (store("(exe.frobnicate 1)"), "`exe.frobnicate`: is not a value of the execute unit"),
        (store("(exe.add (exe.const 1))"), "`exe.add`: takes 2 operands here, and has 1"),
        (
            "(slc.for $B (slc.const 0) $M 0 slc.skip)".to_owned(),
            "`0`: a loop's step is a literal of at least 1",
        ),
        (
            "(slc.for $B (slc.const (const f32 0.0)) $M 1 slc.skip)".to_owned(),
            "an index is a scalar integer, not f32",
        ),
        ("(exe.skip)".to_owned(), "`exe.skip`: is not a statement of the access unit"),
        ("7".to_owned(), "`7`: is not a statement of the access unit"),
    ];
    for (text, expected) in cases {
        let message = error(&text);
        assert!(message.contains(expected), "{text}\n  {message}");
    }
}

#[test]
fn a_stream_cannot_follow_a_loop_of_the_execute_unit() {
    let message = error(
        "(slc.callback (exe.for $E (exe.const 0) (exe.const (size %dim)) 1
           (exe.store (exe.at (exe.at (exe.out %out) (exe.const 0)) (exe.counter $E))
             (slc.from_stream (slc.mem_stream temporal
               (slc.at (slc.at (slc.in %table) (slc.const 0)) (slc.iv $E)))))))",
    );
    assert!(message.contains("cannot follow a loop of the execute unit alone"), "{message}");
}

#[test]
fn a_walk_cannot_stand_under_a_loop_of_the_execute_unit() {
    let message = error(
        "(slc.callback (exe.for $B (exe.const 0) (exe.const (size %bags)) 1
           (exe.walk $E (slc.const 0) $D (exe.const 0) (exe.const (size %dim)) 1
             (exe.store (exe.at (exe.at (exe.out %out) (exe.counter $B)) (exe.counter $E))
               (slc.from_stream (slc.mem_stream temporal
                 (slc.at (slc.at (slc.in %table) (slc.const 0)) (slc.iv $E))))))))",
    );
    assert!(message.contains("a walk stands inside a loop of the execute unit alone"), "{message}");
}

#[test]
fn lanes_that_are_not_contiguous_are_refused() {
    let message = error(
        "(slc.callback (exe.store (exe.at (exe.at (exe.out %out)
           (exe.lanes 16 (exe.const (size %bags)) (exe.const 0))) (exe.const 0))
           (exe.broadcast 16 (exe.const (const f32 0.0)))))",
    );
    assert!(message.contains("gives each lane another row"), "{message}");
}

#[test]
fn deep_terms_neither_overflow_nor_hang() {
    use ember_language::term::{Node, Term};
    // A chain of 10,000 statements that sums 10,000 terms.
    let mut t: Term = "(exe.const (const f32 1.0))".parse().expect("a term");
    let one = egg::Id::from(t.as_ref().len() - 1);
    let mut sum = one;
    for _ in 0..10_000 {
        sum = t.add(Node::op("exe.add", &[sum, one]));
    }
    let zero = t.add(Node::int(0));
    let zero = t.add(Node::op("exe.const", &[zero]));
    let name = t.add(Node::op("%out", &[]));
    let out = t.add(Node::op("exe.out", &[name]));
    let row = t.add(Node::op("exe.at", &[out, zero]));
    let place = t.add(Node::op("exe.at", &[row, zero]));
    let store = t.add(Node::op("exe.store", &[place, sum]));
    let cheap = t.add(Node::op("exe.store", &[place, one]));
    let mut body = store;
    for _ in 0..10_000 {
        body = t.add(Node::op("exe.seq", &[body, cheap]));
    }
    t.add(Node::op("slc.callback", &[body]));
    let program = decouple(operators(), &t, &bag_context()).expect("decouples");
    assert_eq!(check(&print(&program)).expect("verifies"), program);
    // Shared parts are written out at each use, up to a limit.
    let mut t: Term = "(exe.const 1)".parse().expect("a term");
    let mut at = egg::Id::from(t.as_ref().len() - 1);
    for _ in 0..64 {
        at = t.add(Node::op("exe.add", &[at, at]));
    }
    let name = t.add(Node::op("%out", &[]));
    let out = t.add(Node::op("exe.out", &[name]));
    let store = t.add(Node::op("exe.store", &[out, at]));
    t.add(Node::op("slc.callback", &[store]));
    let message = decouple(operators(), &t, &bag_context()).expect_err("too large").to_string();
    assert!(message.contains("more than"), "{message}");
}
