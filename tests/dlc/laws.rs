//! Tests the verifier's laws: each is broken by one change to a program that obeys them all.

use crate::bag::check;
use ember_targets::verify::{Kind, Limits, verify};

/// Bags of rows, walked by one callback; the bag's index is counted, its bounds are popped.
const WALKED: &str = "
(dlc walked
  (sizes rows bags lookups bags+1)
  (tensor table f32 (rows 16))
  (tensor indices i64 (lookups))
  (tensor offsets i64 (bags+1))
  (tensor_out out f32 (bags 16))
  (configure_access_engine
    (const_stream zero i64 0)
    (const_stream one i64 1)
    (const_stream width i64 16)
    (size_stream bags bags)
    (new_tu b zero bags 1)
    (get_ind_var b b)
    (alu_stream next i64 add b one)
    (mem_stream from i64 (at offsets b) temporal)
    (mem_stream to i64 (at offsets next) temporal)
    (new_tu l from to 1)
    (get_ind_var l l)
    (mem_stream row i64 (at indices l) temporal)
    (mem_stream val f32x16 (at table row (lanes 16 width zero)) temporal)
    (on b ite (register_callback bag) (register_operand from) (register_operand to) (traverse l))
    (on l ite (register_operand val))
    (start (traverse b)))
  (compute_loop
    (register count i64)
    (register l i64)
    (register from i64)
    (register to i64)
    (register sum f32x16)
    (register val f32x16)
    (register i i64)
    (main (set count 0))
    (case bag
      (pop_operand from)
      (pop_operand to)
      (set sum (broadcast 16 (const f32 0.0)))
      (walk l l from to 1
        (pop_operand val)
        (set sum (add sum val)))
      (store (at out count (lanes 16 16 0)) sum)
      (set count (add count 1)))))";

/// Replaces `from` by `to` in the program and expects an error that contains `message`.
fn breaks(from: &str, to: &str, message: &str) {
    assert!(WALKED.contains(from), "{from}");
    match check(&WALKED.replacen(from, to, 1)) {
        Ok(_) => panic!("accepted: {to}"),
        Err(errors) => {
            assert!(errors.iter().any(|e| e.contains(message)), "{message}\n{errors:#?}");
        }
    }
}

/// Replaces `from` by `to` in the program and expects no error.
fn keeps(from: &str, to: &str) {
    assert!(WALKED.contains(from), "{from}");
    if let Err(errors) = check(&WALKED.replacen(from, to, 1)) {
        panic!("{errors:#?}");
    }
}

#[test]
fn the_program_keeps_every_law() {
    keeps("zero", "zero");
    // The execute unit may also load or compute a bound itself: the value is the same.
    keeps("(walk l l from to 1", "(walk l l from (load (at offsets (add count 1))) 1");
    keeps("(walk l l from to 1", "(walk l l (load (at offsets count)) to 1");
}

#[test]
fn every_pop_has_its_push() {
    breaks(" (register_operand to)", "", "pops `to`, and unit `l` is traversed by");
    breaks("(register_operand val)", "", "pops `val`, and nothing more is marshalled");
    breaks("(pop_operand to)", "(pop_operand to) (pop_operand i)", "pops `i`");
    breaks("(on l ite (register_operand val))", "", "pops `val`, and nothing more");
}

#[test]
fn every_push_has_its_pop() {
    breaks(
        "(register_operand to)",
        "(register_operand to) (register_operand b)",
        "and `b` is marshalled by",
    );
    breaks(
        "(traverse l))",
        "(traverse l) (register_operand b))",
        "operand `b` is never popped by case `bag`",
    );
    breaks(
        "(register_operand val))",
        "(register_operand val) (register_operand l))",
        "operand `l` is never popped by the walk",
    );
    breaks(
        "(register_callback bag) (register_operand from)",
        "(register_operand from) (register_callback bag)",
        "marshals `from` without a callback before it",
    );
    breaks("(start ", "(start (register_operand bags) ", "marshals `bags` without a callback");
}

#[test]
fn operands_have_the_type_of_their_pop() {
    breaks(
        "(pop_operand to)",
        "(pop_operand sum)",
        "pops `sum` of f32x16, and `to` of i64 is marshalled",
    );
    breaks(
        "(pop_operand val)",
        "(pop_operand i)",
        "pops `i` of i64, and `val` of f32x16 is marshalled",
    );
}

#[test]
fn halves_of_two_variants_do_not_fit() {
    // The access half of a program with a token per lookup, with the compute half of one that walks.
    breaks(
        "(on l ite (register_operand val))",
        "(on l ite (register_callback bag) (register_operand val))",
        "walks `l`",
    );
    // The compute half of a program that does not walk.
    breaks(
        "(walk l l from to 1\n        (pop_operand val)\n        (set sum (add sum val)))",
        "(pop_operand val)",
        "pops `val`, and unit `l` is traversed",
    );
    breaks(
        "(walk l l from to 1\n        (pop_operand val)\n        (set sum (add sum val)))",
        "",
        "what unit `l` marshals is never popped by case `bag`",
    );
}

#[test]
fn a_walk_is_fed() {
    breaks("(traverse l))\n", ")\n    (on b end)\n", "is traversed in 0 places");
    breaks("(walk l l from to 1", "(walk b l from to 1", "walks `b`, and `l` is traversed");
    breaks(
        "(main (set count 0))",
        "(main (set count 0) (walk l l 0 1 1))",
        "walks `l`, and nothing is traversed",
    );
}

#[test]
fn nothing_is_popped_in_a_loop_of_the_execute_unit() {
    breaks(
        "(pop_operand to)",
        "(for i 0 1 1 (pop_operand to))",
        "pops `to` inside a loop of the execute unit",
    );
    breaks("(walk l l from to 1", "(for i 0 1 1 (walk l l from to 1", "`(` without its `)`");
    breaks(
        "(walk l l from to 1\n        (pop_operand val)\n        (set sum (add sum val)))",
        "(for i 0 1 1 (walk l l from to 1 (pop_operand val)))",
        "walks `l` inside a loop of the execute unit",
    );
}

#[test]
fn the_bounds_of_a_walk_are_its_units() {
    let not = "is not provably";
    breaks("(walk l l from to 1", "(walk l l from from 1", not);
    breaks("(walk l l from to 1", "(walk l l 0 to 1", not);
    breaks("(walk l l from to 1", "(walk l l from (add to 0) 1", not);
    breaks("(walk l l from to 1", "(walk l l from to 2", "the walk steps by 2");
    // The register no longer holds the popped value.
    breaks("(set sum (broadcast", "(set to from) (set sum (broadcast", not);
    // A counter that starts or steps otherwise does not count the bags.
    let load = "(walk l l from (load (at offsets (add count 1))) 1";
    let program = WALKED.replacen("(walk l l from to 1", load, 1);
    for (from, to) in [
        ("(main (set count 0))", "(main (set count 1))"),
        ("(set count (add count 1))", "(set count (add count 2))"),
        ("(set count (add count 1))", "(set count (add count 1)) (set count (add count 1))"),
        ("(register_callback bag)", "(register_callback more) (register_callback bag)"),
    ] {
        let text = program.replacen(from, to, 1).replacen(
            "(case bag",
            if to.contains("more") {
                "(case more (set count (add count 1))) (case bag"
            } else {
                "(case bag"
            },
            1,
        );
        let errors = check(&text).expect_err(to);
        assert!(errors.iter().any(|e| e.contains(not)), "{errors:#?}");
    }
}

#[test]
fn values_popped_in_another_iteration_do_not_count() {
    // The bounds of the previous bag: popped after the walk instead of before it.
    let text = WALKED
        .replacen(
            "(register_operand from) (register_operand to) (traverse l))",
            "(traverse l) (register_operand from) (register_operand to))",
            1,
        )
        .replacen("(pop_operand from)\n      (pop_operand to)", "", 1)
        .replacen("(store (at out", "(pop_operand from) (pop_operand to) (store (at out", 1)
        .replacen("(main (set count 0))", "(main (set count 0) (set from 0) (set to 0))", 1);
    let errors = check(&text).expect_err("stale bounds");
    assert!(errors.iter().all(|e| e.contains("is not provably")), "{errors:#?}");
}

#[test]
fn registers_are_set_before_they_are_read() {
    breaks("(main (set count 0))", "(main)", "reads `count`, which may not have been set");
    breaks(
        "(set sum (broadcast 16 (const f32 0.0)))",
        "",
        "reads `sum`, which may not have been set",
    );
    // A loop may run no iteration.
    breaks(
        "(main (set count 0))",
        "(main (for i 0 (size bags) 1 (set count 0)))",
        "reads `count`, which may not have been set",
    );
    breaks("(store (at out count ", "(store (at out l ", "reads `l`, which may not have been set");
    breaks(
        "(set sum (add sum val))",
        "(set l 0)",
        "changes `l`, the variable of a loop around here",
    );
}

#[test]
fn streams_are_used_where_their_units_run() {
    breaks(
        "(start (traverse b))",
        "(start (traverse b) (register_callback bag) (register_operand from))",
        "uses `from`, which advances with unit `b`",
    );
    breaks(
        "(new_tu b zero bags 1)",
        "(new_tu b zero b 1)",
        "is bounded by `b`, which advances with unit `b`",
    );
    breaks(
        "(on l ite",
        "(on l beg (register_callback bag) (register_operand row)) (on l ite",
        "uses `row`",
    );
    breaks(
        "(start (traverse b))",
        "(new_tu m zero bags 1) (get_ind_var m m) (alu_stream bm i64 add b m) (start (traverse b) (traverse m))",
        "depends on units `b` and `m`, which never run together",
    );
}

#[test]
fn units_form_a_tree() {
    breaks("(start (traverse b))", "(start (traverse b) (traverse b))", "is traversed in 2 places");
    breaks("(start (traverse b))", "(start)", "is traversed in 0 places");
    breaks("(on l ite", "(on l beg (traverse b)) (on l ite", "traverses at `beg`");
    let reversed = WALKED.replacen("(start (traverse b))", "(start (traverse l))", 1)
        .replacen("(on b ite (register_callback bag) (register_operand from) (register_operand to) (traverse l))", "", 1)
        .replacen("(on l ite (register_operand val))", "(on l ite (traverse b))", 1);
    let errors = check(&reversed).expect_err("a child before its parent");
    assert!(
        errors.iter().any(|e| e.contains("is defined before the unit that traverses it")),
        "{errors:#?}"
    );
}

/// Returns a program in which callbacks write one tensor and a stream loads another; `$A` and `$B` select them.
fn overlapping(loads: &str, between: &str) -> String {
    format!(
        "(dlc overlap (sizes n) (tensor_out a f32 (n)) (tensor_out b f32 (n))
           (configure_access_engine
             (const_stream zero i64 0) (size_stream n n)
             (new_tu u zero n 1) (get_ind_var i u)
             (new_tu v zero n 1) (get_ind_var j v)
             (mem_stream x f32 (at {loads} j) temporal)
             (on u ite (register_callback write) (register_operand i))
             (on v ite (store_stream (at b j) x))
             (start (traverse u) {between} (traverse v)))
           (compute_loop
             (register i i64)
             (main)
             (case write (pop_operand i) (store (at a i) (const f32 1.0)))))"
    )
}

#[test]
fn the_access_unit_runs_ahead_only_over_what_commutes() {
    let says = |text: &str, message: &str| {
        let errors = check(text).expect_err(message);
        assert!(errors.iter().any(|e| e.contains(message)), "{message}\n{errors:#?}");
    };
    check(&overlapping("a", "(barrier)")).expect("a barrier separates");
    says(&overlapping("a", ""), "streams load it while the execute unit writes it");
    says(&overlapping("b", "(barrier)"), "streams load it while the access unit stores to it");
    let both = overlapping("a", "(barrier)").replace("(store (at a i)", "(store (at b i)");
    check(&both).expect("both units may write one tensor, a barrier between");
    says(&both.replace("(barrier)", ""), "both units write it");
    // The access unit's stores overlap with the execute unit's reads.
    let reads = overlapping("a", "(barrier)").replace("(const f32 1.0)", "(load (at b i))");
    check(&reads).expect("a barrier separates");
    says(&reads.replace("(barrier)", ""), "while the execute unit reads it");
    // A load that depends on no unit may come before everything else.
    let early = overlapping("a", "(barrier)").replace("(at a j)", "(at a zero)");
    says(&early, "loads `a`, which is written, outside every unit");
    // The writes of `main` come before the first callback, or concurrently with the access unit's effects.
    let main = overlapping("a", "(barrier)")
        .replace("(main)", "(main (store (at a 0) (const f32 0.0)))")
        .replace("(store (at a i)", "(store (at b i)");
    check(&main).expect("a callback and a barrier after it separate");
    let silent = main
        .replace("(on u ite (register_callback write) (register_operand i))", "")
        .replace("(case write (pop_operand i) (store (at b i) (const f32 1.0)))", "");
    says(&silent, "streams load it while the execute unit writes it");
}

#[test]
fn the_targets_limits_hold() {
    let program = check(WALKED).expect("verifies");
    let limits = |change: fn(&mut Limits)| {
        let mut limits = Limits::NONE;
        change(&mut limits);
        match verify(program.clone(), &limits) {
            Ok(_) => Vec::new(),
            Err(errors) => {
                assert!(errors.iter().all(|e| e.kind == Kind::Limit));
                errors.into_iter().map(|e| e.to_string()).collect::<Vec<_>>()
            }
        }
    };
    let says = |errors: Vec<String>, message: &str| {
        assert!(errors.iter().any(|e| e.contains(message)), "{message}\n{errors:#?}");
    };
    assert!(limits(|l| l.layers = 2).is_empty());
    says(limits(|l| l.layers = 1), "needs 2 layers of traversal units, and the target has 1");
    assert!(limits(|l| l.units = 2).is_empty());
    says(limits(|l| l.units = 1), "unit `b`: needs 2 traversal units");
    assert!(limits(|l| l.cases = 1).is_empty());
    says(limits(|l| l.cases = 0), "needs 1 kinds of callback");
    assert!(limits(|l| l.operand_bytes = 64).is_empty());
    says(limits(|l| l.operand_bytes = 63), "needs 64 bytes in one operand");
    // Two indices, an index plus one, two bounds, a row number, and a row.
    assert!(limits(|l| l.storage_bytes = 112).is_empty());
    says(limits(|l| l.storage_bytes = 111), "needs 112 bytes of stream storage");
    let vectors = |registers, bytes| {
        let limits = Limits { vector_registers: registers, vector_bytes: bytes, ..Limits::NONE };
        verify(program.clone(), &limits).is_ok()
    };
    // A sum and a row are live together.
    assert!(vectors(2, 64) && !vectors(1, 64));
    assert!(vectors(4, 32) && !vectors(3, 32));
}

/// Returns a program of two traversals with `between` between them: in the first the execute unit multiplies, in the
/// second the access unit loads `loads`.
fn multiplied(loads: &str, between: &str) -> String {
    format!(
        "(dlc product (sizes n)
          (tensor_out c f32 (n n)) (tensor_out a f32 (n n)) (tensor b f32 (n n))
          (tensor_out d f32 (n n))
          (configure_access_engine
            (const_stream zero i64 0) (const_stream one i64 1) (size_stream n n)
            (new_tu u zero one 1) (get_ind_var i u)
            (new_tu v zero n 1) (get_ind_var j v)
            (mem_stream x f32 (at {loads} j zero) temporal)
            (on u ite (register_callback product))
            (on v ite (register_callback use) (register_operand x))
            (start (traverse u) {between} (traverse v)))
          (compute_loop (register x f32)
            (main)
            (case product (matmul c a b))
            (case use (pop_operand x) (store (at d 0 0) x))))"
    )
}

#[test]
fn a_product_reads_and_writes_whole_tensors() {
    let says = |text: &str, message: &str| match check(text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(errors) => assert!(errors.iter().any(|e| e.contains(message)), "{errors:#?}"),
    };
    check(&multiplied("c", "(barrier)")).expect("a barrier separates");
    says(&multiplied("c", ""), "streams load it while the execute unit writes it");
    check(&multiplied("a", "")).expect("both units read");
    let stores = multiplied("b", "").replace(
        "(register_operand x))",
        "(register_operand x) \
        (store_stream (at a j zero) x))",
    );
    says(&stores, "the access unit stores to it while the execute unit reads it");
    check(&stores.replace("(traverse u)  ", "(traverse u) (barrier) "))
        .expect("a barrier separates");
}
