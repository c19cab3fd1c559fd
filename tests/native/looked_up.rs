//! Rows that are looked up: how often they are asked for ahead, and the order in which their lines are read.

use super::compiled::{Compiled, smaller};
use super::whole::checked;

/// Returns how often the C of an example for a core that drops requests asks for rows of a table. Tables have at most so
/// many rows.
fn requests(example: &str, table: &str, rows: u64) -> usize {
    requests_on("cpu-zen", example, table, rows)
}

/// Returns how often the C of an example for a target asks for rows of a table.
fn requests_on(target: &str, example: &str, table: &str, rows: u64) -> usize {
    let compiled = Compiled::on(target, example, 1, |text| smaller(&text, rows));
    compiled.source.text.matches(&format!("  fetch({table}, ")).count()
}

#[test]
fn rows_from_memory_are_asked_for_twice() {
    // A table of 256 MB, and one that a last-level cache of 32 MiB holds.
    assert_eq!(requests("embedding_bag.sexp", "table", 1_000_000), 2);
    assert_eq!(requests("embedding_bag.sexp", "table", 50_000), 1);
    // Tables that it holds one by one, but not together.
    assert_eq!(requests("dlrm_rm1.sexp", "table0", 200_000), 2);
    assert_eq!(requests("dlrm_rm1.sexp", "table0", 2_000), 1);
    // A core that drops no requests.
    assert_eq!(requests_on("cpu", "embedding_bag.sexp", "table", 1_000_000), 1);
}

#[test]
fn rows_are_read_in_any_order() {
    // The width, and if four or more lines of 64 bytes let the first ones change places, where vectors have 64 bytes.
    for (width, swapped) in
        [(16, false), (48, false), (56, false), (64, true), (80, true), (112, true), (200, true)]
    {
        let run = format!("(lanes {width} {width} 0)");
        let text = checked(&format!(
            "(dlc looked_up (sizes)
               (tensor x f32 (8 {width})) (tensor at_row i64 (12)) (tensor_out out f32 ({width}))
               (configure_access_engine (start))
               (compute_loop
                 (register l i64) (register sum f32x{width})
                 (main
                   (set sum (broadcast {width} (const f32 0.0)))
                   (for l 0 12 1
                     (prefetch (at x (load (at at_row (min (add l 2) 11))) {run}) l2)
                     (set sum (add sum (load (at x (load (at at_row l)) {run})))))
                   (store (at out {run}) sum))))"
        ));
        assert_eq!(text.contains("swapped("), swapped, "{text}");
        // Nobody asks for these rows ahead, so that they are read as they lie.
        let plain = checked(&format!(
            "(dlc read (sizes)
               (tensor x f32 (8 {width})) (tensor_out out f32 ({width}))
               (configure_access_engine (start))
               (compute_loop
                 (register l i64) (register sum f32x{width})
                 (main
                   (set sum (broadcast {width} (const f32 0.0)))
                   (for l 0 8 1 (set sum (add sum (load (at x l {run})))))
                   (store (at out {run}) sum))))"
        ));
        assert!(!plain.contains("swapped("), "{plain}");
    }
}

#[test]
fn tensors_may_have_the_names_of_functions() {
    let text = checked(
        "(dlc looked_up (sizes)
           (tensor fetch f32 (8 64)) (tensor swapped i64 (12)) (tensor_out past_written f32 (64))
           (configure_access_engine (start))
           (compute_loop
             (register fetch_line i64) (register sum f32x64)
             (main
               (set sum (broadcast 64 (const f32 0.0)))
               (for fetch_line 0 12 1
                 (prefetch (at fetch (load (at swapped (min (add fetch_line 2) 11))) (lanes 64 64 0)) l2)
                 (set sum (add sum (load (at fetch (load (at swapped fetch_line)) (lanes 64 64 0))))))
               (store (at past_written (lanes 64 64 0)) sum))))",
    );
    for function in ["fetch(fetch_2, ", "swapped(k, ", "past_written();"] {
        assert!(text.contains(function), "{function}: {text}");
    }
}
