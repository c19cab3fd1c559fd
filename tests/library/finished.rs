//! Estimates of finished programs, which know what the choice of their parts cannot count on.

use ember_analysis::facts::{EGraph, Facts, VectorUnit};
use ember_compile::cost::{Cost, Fetches, Goal, Model, Pricing, Rates, Workload};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules;
use ember_language::term::Term;
use ember_targets::dlc::{Dim, Purpose, TensorDecl};
use ember_targets::machine::Machine;
use ember_values::scalar::DType;
use std::path::Path;

/// The number of elements of each tensor, and their size in bytes.
const SIZE: [u64; 2] = [40, 4];

/// The variable of the loop over all elements.
const I: &str = "(var (depth 0) 0 40 1)";

/// Iterations that move more than the last-level cache holds.
const MANY: f64 = 1e6;

/// Returns the cost of a program over an input `in` and an output `out`, whose loops run once for each element.
fn cost(text: &str, pricing: Pricing) -> Cost {
    cost_of(text, pricing, SIZE[0] as f64)
}

/// Returns the cost of a program whose loops run so many times.
fn cost_of(text: &str, pricing: Pricing, trips: f64) -> Cost {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let (book, _) = rules::load(&mut Sources::new(Disk), &[folder]).expect("the rules");
    let tensor = |name: &str, written: bool| TensorDecl {
        name: name.to_owned(),
        dtype: DType::F32,
        shape: vec![Dim::Const(SIZE[0])],
        purpose: Purpose::of(written),
    };
    let tensors = [tensor("in", false), tensor("out", true)];
    let operators = book.signature.table().clone();
    let mut egraph = EGraph::new(Facts::new(&tensors, &[], operators, VectorUnit::default()));
    let term: Term = text.parse().expect("a term");
    egraph.add_expr(&term);
    egraph.rebuild();
    let rates = Rates::of(&Machine::plus().expect("the machine"));
    let variable: Term = I.parse().expect("a variable");
    let variable = egraph.lookup_expr(&variable).expect("it is there");
    let trips = [(variable, trips)].into_iter().collect();
    let workload = Workload { trips, ..Workload::default() };
    let (goal, fetches) = (Goal::Decoupled, Fetches::Each);
    let model = Model { goal, rates: &rates, workload: &workload, fetches, pricing };
    model.of_term(&egraph, &term).expect("a price").alone
}

fn looped(body: &str) -> String {
    format!("(slc.for {I} (slc.const 0) (slc.const 40) 1 {body})")
}

/// Returns an element of a tensor for the execute unit.
fn element(root: &str) -> String {
    format!("(exe.at {root} (slc.from_stream (slc.iv {I})))")
}

fn loaded(hint: &str) -> String {
    format!("(slc.from_stream (slc.mem_stream {hint} (slc.at (slc.in %in) (slc.iv {I}))))")
}

fn stored(value: &str) -> String {
    format!("(slc.callback (exe.store {} {value}))", element("(exe.out %out)"))
}

#[test]
fn a_place_that_two_loads_ask_for_comes_from_memory_once_if_the_first_keeps_it() {
    let sum = |hints: [&str; 2]| {
        let [a, b] = hints.map(loaded);
        looped(&stored(&format!("(exe.add {a} {b})")))
    };
    let bytes = |hints, pricing| cost(&sum(hints), pricing).dram_bytes;
    let same = ["temporal", "temporal"];
    assert_eq!(bytes(same, Pricing::Choice), bytes(same, Pricing::Program));
    for hints in [["temporal", "temporal-l2"], ["temporal", "non-temporal"]] {
        assert!(bytes(hints, Pricing::Choice) > bytes(same, Pricing::Choice), "{hints:?}");
        let apart = bytes(hints, Pricing::Program) - bytes(same, Pricing::Program);
        assert!(apart.abs() < 1.0, "{hints:?}: {apart} bytes");
    }
    // The second asks before the first has left it in a cache, which it never does.
    let apart = ["non-temporal", "temporal"];
    assert_eq!(bytes(apart, Pricing::Choice), bytes(apart, Pricing::Program));
}

#[test]
fn elements_that_another_loop_has_written_are_read_again() {
    let zero = stored("(exe.const (const f32 0.0))");
    let added = format!(
        "(slc.callback (exe.accumulate add {} {}))",
        element("(exe.out %out)"),
        loaded("temporal")
    );
    let cost = |text: &str| cost_of(text, Pricing::Program, MANY);
    let together = cost(&looped(&format!("(slc.seq {zero} {added})")));
    let apart = cost(&format!("(slc.seq {} {})", looped(&zero), looped(&added)));
    let once = cost(&looped(&stored(&loaded("temporal"))));
    assert_eq!(together.dram_bytes, once.dram_bytes, "an iteration finds what it has written");
    let again = apart.dram_bytes - together.dram_bytes;
    assert!(again >= 2.0 * MANY * SIZE[1] as f64, "{again} bytes are read and written again");
    assert!(apart.execute > together.execute);
}
