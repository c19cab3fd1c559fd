//! Tests of counters: where they start and step, and that no unnecessary token is pushed.

use crate::bag::verified;
use ember_targets::print::print;

/// A loop from 3 in steps of 4 that stores its counter.
const FROM_THREE: &str = "
(slc.for (var (depth 0) 3 (size %bags) 4) (slc.const 3) $M 4
  (slc.callback (exe.store
    (exe.at (exe.at (exe.out %out) (exe.counter (var (depth 0) 3 (size %bags) 4))) (exe.const 0))
    (exe.const (const f32 1.0)))))";

#[test]
fn starts_at_lo_and_steps_in_the_same_callback() {
    let text = print(&verified(FROM_THREE));
    assert!(text.contains("(main (set count_i0 3))"), "{text}");
    assert!(text.contains("(on i0 ite (register_callback on_i0))"), "{text}");
    assert!(text.contains("(set count_i0 (add count_i0 4))"), "{text}");
    assert_eq!(text.matches("register_callback").count(), 1, "{text}");
}

/// A counter of an inner loop whose bounds are data.
const OF_DATA: &str = "
(slc.for $B (slc.const 0) $M 1
  (slc.for $L $From $To 1
    (slc.callback (exe.store
      (exe.at (exe.at (exe.out %out) (exe.counter $L)) (exe.const 0))
      (exe.const (const f32 1.0))))))";

#[test]
fn data_is_popped_at_beg_which_runs_for_an_empty_loop_too() {
    let text = print(&verified(OF_DATA));
    assert!(
        text.contains("(on i1 beg (register_callback beg_i1) (register_operand offsets))"),
        "{text}"
    );
    assert!(text.contains("(case beg_i1 (pop_operand offsets) (set count_i1 offsets))"), "{text}");
    assert!(!text.contains("(on i0 ite (register_callback"), "{text}");
}

#[test]
fn a_constant_start_inside_another_loop_is_set_at_beg() {
    let text = print(&verified(
        "(slc.for $B (slc.const 0) $M 1
           (slc.for $E (slc.const 0) $D 1
             (slc.callback (exe.store
               (exe.at (exe.at (exe.out %out) (exe.counter $B)) (exe.counter $E))
               (exe.const (const f32 1.0))))))",
    ));
    assert!(text.contains("(case beg_i2 (set count_i2 0))"), "{text}");
    assert!(text.contains("(main (set count_i0 0))"), "{text}");
    // The outer counter steps after the inner loop, in a callback of its own.
    assert!(text.contains("(on i0 ite (traverse i2) (register_callback on_i0))"), "{text}");
}

#[test]
fn joins_the_callback_in_front_of_the_loop() {
    // The callback before the inner loop sets the inner counter; the one after it steps the outer one.
    let store = "(exe.store (exe.at (exe.at (exe.out %out) (exe.counter $B)) (exe.const 0))
                   (exe.const (const f32 1.0)))";
    let text = print(&verified(&format!(
        "(slc.for $B (slc.const 0) $M 1
           (slc.seq (slc.callback {store})
           (slc.seq
             (slc.for $E (slc.const 0) $D 1
               (slc.callback (exe.store
                 (exe.at (exe.at (exe.out %out) (exe.counter $B)) (exe.counter $E))
                 (exe.const (const f32 1.0)))))
             (slc.callback {store}))))"
    )));
    assert_eq!(text.matches("register_callback").count(), 3, "{text}");
    assert!(!text.contains(" beg "), "{text}");
    assert!(
        text.contains("(store (at out count_i0 0) (const f32 1.0)) (set count_i2 0)"),
        "{text}"
    );
    assert!(
        text.contains(
            "(store (at out count_i0 0) (const f32 1.0)) (set count_i0 (add count_i0 1))"
        ),
        "{text}"
    );
}

#[test]
fn a_counter_bounds_a_walk() {
    // A walk over a block of an outer loop that only the access unit runs: the counter proves its bounds.
    let block = "(var (outer $E 64) 0 (size %dim) 64)";
    let inner = format!(
        "(var (inner $E 64) (iv {block}) (scf.min (scf.add (iv {block}) 64) (size %dim)) 1)"
    );
    let hi =
        format!("(slc.alu_stream min (slc.alu_stream add (slc.iv {block}) (slc.const 64)) $D)");
    let hi_value =
        format!("(exe.min (exe.add (exe.counter {block}) (exe.const 64)) (exe.const (size %dim)))");
    let text = print(&verified(&format!(
        "(slc.for {block} (slc.const 0) $D 64
           (slc.callback
             (exe.walk {inner} (slc.iv {block}) {hi} (exe.counter {block}) {hi_value} 1
               (exe.store (exe.at (exe.at (exe.out %out) (exe.const 0)) (exe.counter {inner}))
                 (slc.from_stream (slc.mem_stream temporal
                   (slc.at (slc.at (slc.in %table) (slc.const 5)) (slc.iv {inner}))))))))"
    )));
    assert!(text.contains("(walk i2i i2i count_i2o"), "{text}");
}

#[test]
fn steps_behind_the_loop_that_uses_it_also_where_a_callback_precedes() {
    // The outer index is popped before the inner loop and counted inside it: the count must not step in the callback
    // that pops.
    let text = print(&verified(
        "(slc.for $B (slc.const 0) $M 1
           (slc.for $E (slc.const 0) $D 1
             (slc.callback (exe.store
               (exe.at (exe.at (exe.out %out) (exe.counter $B)) (slc.from_stream (slc.iv $B)))
               (exe.const (const f32 1.0))))))",
    ));
    assert!(text.contains("(case on_i0 (pop_operand i0))"), "{text}");
    assert!(text.contains("(case on_i0_2 (set count_i0 (add count_i0 1)))"), "{text}");
}
