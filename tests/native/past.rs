//! Tensors that are written past the caches: those that nothing reads, by whole lines. Programs that are written here are for
//! a core without a last-level cache, so that no tensor is too small.

use super::compiled::{Compiled, smaller};
use super::whole::checked;

/// Returns true if a program of these statements, which works on rows of so many floats, writes `out` past the caches.
fn past(width: u32, out: u32, statements: &str) -> bool {
    let text = checked(&format!(
        "(dlc past (sizes)
           (tensor x f32 (6 {width})) (tensor_out y f32 (6 {width})) (tensor_out out f32 (6 {out}))
           (configure_access_engine (start))
           (compute_loop (register t i64) (register e i64) (main {statements})))"
    ));
    text.contains("store_past_f32x16(out")
}

#[test]
fn whole_lines_that_nothing_reads_are() {
    let copied = |width: u32, out: u32| {
        let run = |limit: u32| format!("(lanes {width} {limit} 0)");
        past(
            width,
            out,
            &format!(
                "(for t 0 6 1 (store (at out t {}) (load (at x t {}))))",
                run(out),
                run(width)
            ),
        )
    };
    assert!(copied(16, 16));
    assert!(copied(64, 64));
    assert!(copied(16, 32));
    // Half a line, a line and a half, and rows that begin amid one.
    assert!(!copied(8, 8));
    assert!(!copied(24, 24));
    assert!(!copied(16, 24));
}

#[test]
fn what_is_read_is_not() {
    let store = "(for t 0 6 1 (store (at out t (lanes 16 16 0)) (load (at x t (lanes 16 16 0)))))";
    assert!(past(16, 16, store));
    let read = "(for t 0 6 1 (store (at y t (lanes 16 16 0)) (load (at out t (lanes 16 16 0)))))";
    assert!(!past(16, 16, &format!("{store} {read}")));
    let added =
        "(for t 0 6 1 (accumulate add (at out t (lanes 16 16 0)) (load (at x t (lanes 16 16 0)))))";
    assert!(!past(16, 16, added));
    // An element at a time.
    assert!(!past(16, 16, "(for t 0 6 1 (for e 0 16 1 (store (at out t e) (load (at x t e)))))"));
}

#[test]
fn only_what_the_last_level_cache_does_not_hold_is() {
    // The target `cpu` has 32 MiB of it, 8,388,608 floats. How many bags there are, the function knows when it is called.
    let compiled = Compiled::of("embedding_bag.sexp", 1, |text| smaller(&text, 1000));
    let text = &compiled.source.text;
    assert!(text.contains("const int out_past = bags * 64 > 8388608;"), "{text}");
    assert!(text.contains("if (out_past) past_written();"), "{text}");
}
