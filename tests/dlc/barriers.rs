//! Tests of barriers and of the traversals between them: traversals follow each other without a gap, a gather of
//! written data waits for the write, and an SLC term's barrier becomes the access unit's.

use crate::bag::{check, operators};
use ember_compile::decouple::{ModelContext, decouple};
use ember_language::term::Term;
use ember_sim::{Bindings, Options, Outcome, run};
use ember_targets::dlc::{Action, Dim, Program, Purpose, StreamKind, TensorDecl};
use ember_targets::machine::Machine;
use ember_targets::print::print;
use ember_targets::tensor::{Data, Tensor};
use ember_targets::verify::{Limits, verify};
use ember_values::scalar::DType;
use std::sync::Arc;

const ROWS: u64 = 4096;
const LOOKUPS: u64 = 6;

/// Builds one gather of a few rows for each letter, each in its own traversal.
fn gathers(names: &str, between: &str) -> Program {
    let name = |form: &dyn Fn(char) -> String| names.chars().map(form).collect::<String>();
    let text = format!(
        "(dlc gathers (tensor x f32 ({ROWS} 16)) (tensor idx i64 ({LOOKUPS})) {}
           (configure_access_engine
             (const_stream zero i64 0) (const_stream w i64 16) (const_stream n i64 {LOOKUPS}) {}
             (start {}))
           (compute_loop (main)))",
        name(&|c| format!("(tensor_out {c} f32 ({LOOKUPS} 16))")),
        name(&|c| format!(
            "(new_tu u{c} zero n 1) (get_ind_var i{c} u{c})
             (mem_stream k{c} i64 (at idx i{c}) temporal)
             (mem_stream v{c} f32x16 (at x k{c} (lanes 16 w zero)) temporal)
             (on u{c} ite (store_stream (at {c} i{c} (lanes 16 w zero)) v{c}))"
        )),
        name(&|c| format!("(traverse u{c}) {between}")),
    );
    check(&text).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

fn table() -> Tensor {
    let data = (0..ROWS * 16).map(|at| at as f32).collect();
    Tensor { dtype: DType::F32, shape: vec![ROWS, 16], data: Data::F32(Arc::new(data)) }
}

fn indices(values: &[i64]) -> Tensor {
    let data = Data::I64(Arc::new(values.to_vec()));
    Tensor { dtype: DType::I64, shape: vec![values.len() as u64], data }
}

fn runs(program: &Program, inputs: Vec<Tensor>) -> Outcome {
    let machine = Machine::plus().expect("the machine");
    verify(program.clone(), &Limits::of(&machine))
        .unwrap_or_else(|errors| panic!("{errors:#?}\n{}", print(program)));
    let outputs = program.tensors[inputs.len()..].iter().map(|t| {
        let extent = |d: &Dim| match d {
            Dim::Const(n) => *n,
            Dim::Size(_) => panic!("these programs have no sizes"),
        };
        Tensor::zeros(t.dtype, t.shape.iter().map(extent).collect())
    });
    let tensors = inputs.iter().cloned().chain(outputs).collect();
    run(program, &machine, Bindings { tensors, sizes: Vec::new() }, Options::default())
        .unwrap_or_else(|e| panic!("{e}\n{}", print(program)))
}

#[test]
fn the_next_traversal_is_fetched_while_the_last_is_marshalled() {
    let rows = [9, 4000, 77, 77, 2048, 1];
    let took = |names: &str, between: &str| {
        let outcome = runs(&gathers(names, between), vec![table(), indices(&rows)]);
        for out in &outcome.tensors[2..] {
            for (at, row) in rows.iter().enumerate() {
                let first = out.get(at as u64 * 16).map(|x| x.as_f64());
                assert_eq!(first, Some((row * 16) as f64));
            }
        }
        outcome.stats.cycles
    };
    // The chain of loads of a traversal, index and row, takes two memory latencies; with barriers between them every
    // traversal pays for it (from the cache, except for the first).
    let one = took("a", "");
    let (beside, apart) = (took("abcdefgh", ""), took("abcdefgh", "(barrier)"));
    assert!(beside < apart, "{beside} {apart}");
    assert!(apart < 8 * one, "{apart} {one}");
    let machine = Machine::plus().expect("the machine");
    let gap = (apart - beside) / 7;
    assert!(gap > machine.llc.latency, "{gap} of {}", machine.llc.latency);
}

/// The program has many more units than the access unit holds at once, and more storage.
#[test]
fn traversals_have_the_access_unit_in_turn() {
    let names: String = ('a'..='t').chain('A'..='T').collect();
    let machine = Machine::plus().expect("the machine");
    let limits = Limits::of(&machine);
    let program = gathers(&names, "");
    assert!(program.units.len() > limits.units as usize);
    assert!(verify(program.clone(), &limits).is_ok());
    runs(&program, vec![table(), indices(&[0, 1, 2, 3, 4, 5])]);
}

/// A loop of no iterations does not wait for the bounds of its inner loop, which are still in flight when the next
/// traversal's operands are needed.
#[test]
fn a_bound_that_nobody_waited_for_holds_nobody_up() {
    let text = "(dlc late (tensor idx i64 (6)) (tensor_out out i64 (1))
       (configure_access_engine
         (const_stream zero i64 0) (const_stream one i64 1) (const_stream two i64 2)
         (mem_stream from i64 (at idx one) temporal)
         (mem_stream to i64 (at idx from) temporal)
         (new_tu outer zero zero 1)
         (new_tu inner zero to 1)
         (get_ind_var i inner)
         (mem_stream second i64 (at idx two) temporal)
         (mem_stream value i64 (at idx second) temporal)
         (on outer ite (traverse inner))
         (on inner ite (register_callback never) (register_operand i))
         (start (traverse outer) (register_callback done) (register_operand value)))
       (compute_loop (register i i64) (register value i64) (main)
         (case never (pop_operand i))
         (case done (pop_operand value) (store (at out 0) value))))";
    let program = check(text).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let outcome = runs(&program, vec![indices(&[0, 5, 3, 42, 0, 2])]);
    assert_eq!(outcome.tensors[1].get(0).map(|x| x.as_f64()), Some(42.0));
}

/// Rows are copied, then gathered from the copy: the second traversal's streams load data that the first wrote,
/// whichever unit wrote it.
#[test]
fn a_gather_of_what_was_written_waits_behind_its_barrier() {
    let context = ModelContext {
        name: "layers".into(),
        sizes: Vec::new(),
        tensors: [("x", vec![8, 16]), ("idx", vec![4]), ("t", vec![8, 16]), ("out", vec![4, 16])]
            .into_iter()
            .map(|(name, shape)| TensorDecl {
                name: name.into(),
                dtype: if name == "idx" { DType::I64 } else { DType::F32 },
                shape: shape.into_iter().map(Dim::Const).collect(),
                purpose: Purpose::of(matches!(name, "t" | "out")),
            })
            .collect(),
    };
    let run = "(slc.lanes 16 (slc.const 16) (slc.const 0))";
    let row = "(exe.lanes 16 (exe.const 16) (exe.const 0))";
    let (i, j) = ("(var (depth 0) 0 8 1)", "(var (depth 0) 0 4 1)");
    let copied =
        format!("(slc.mem_stream temporal (slc.at (slc.at (slc.in %x) (slc.iv {i})) {run}))");
    let by_access =
        format!("(slc.store_stream (slc.at (slc.at (slc.out %t) (slc.iv {i})) {run}) {copied})");
    let by_execute = format!(
        "(slc.callback (exe.store
           (exe.at (exe.at (exe.out %t) (slc.from_stream (slc.iv {i}))) {row})
           (slc.from_stream {copied})))"
    );
    let gather = format!(
        "(slc.for {j} (slc.const 0) (slc.const 4) 1
           (slc.store_stream (slc.at (slc.at (slc.out %out) (slc.iv {j})) {run})
             (slc.mem_stream temporal
               (slc.at (slc.at (slc.freeze (slc.out %t))
                 (slc.mem_stream temporal (slc.at (slc.in %idx) (slc.iv {j})))) {run}))))"
    );
    for write in [by_access, by_execute] {
        let layer = format!("(slc.for {i} (slc.const 0) (slc.const 8) 1 {write})");
        let both = |between: &str| -> Term {
            let text = format!("(slc.seq {layer} {between})").replace("GATHER", &gather);
            text.parse().unwrap_or_else(|e| panic!("{e}: {text}"))
        };
        let program = decouple(operators(), &both("(slc.seq slc.barrier GATHER)"), &context)
            .expect("decouples");
        assert_eq!(check(&print(&program)).expect("verifies"), program, "reads back");
        assert!(matches!(
            program.access[..],
            [Action::Traverse(_), Action::Barrier, Action::Traverse(_)]
        ));
        let frozen = program.tensors.iter().position(|t| t.name == "t");
        let loads = |kind: &StreamKind| match kind {
            StreamKind::Mem { addr, .. } => Some(addr.tensor.index()) == frozen,
            _ => false,
        };
        assert!(program.streams.iter().any(|s| loads(&s.kind)), "the access unit gathers");
        let rows = [7, 0, 7, 3];
        let x = Tensor {
            dtype: DType::F32,
            shape: vec![8, 16],
            data: Data::F32(Arc::new((0..128).map(|at| at as f32).collect())),
        };
        let outcome = runs(&program, vec![x, indices(&rows)]);
        for (at, row) in rows.iter().enumerate() {
            let last = outcome.tensors[3].get(at as u64 * 16 + 15).map(|x| x.as_f64());
            assert_eq!(last, Some((row * 16 + 15) as f64));
        }
        let torn = decouple(operators(), &both("GATHER"), &context).expect("decouples");
        let errors = check(&print(&torn)).expect_err("without a barrier");
        assert!(errors[0].contains("streams load it while"), "{errors:#?}");
    }
}

/// The access unit's coherent reads fetch data that the core has written from its private caches.
#[test]
fn what_the_core_wrote_costs_a_snoop_and_no_main_memory() {
    let program = check(&format!(
        "(dlc snoop (tensor_out t f32 ({ROWS} 16)) (tensor_out out f32 ({ROWS} 16))
           (configure_access_engine
             (const_stream zero i64 0) (const_stream w i64 16) (const_stream n i64 8)
             (new_tu c zero n 1) (get_ind_var c c)
             (new_tu u zero n 1) (get_ind_var i u)
             (mem_stream v f32x16 (at t i (lanes 16 w zero)) temporal)
             (on c ite (register_callback write) (register_operand c))
             (on u ite (store_stream (at out i (lanes 16 w zero)) v))
             (start (traverse c) (barrier) (traverse u)))
           (compute_loop
             (register c i64)
             (main)
             (case write (pop_operand c)
               (store (at t c (lanes 16 16 0)) (broadcast 16 (cast f32 c))))))",
    ))
    .unwrap_or_else(|errors| panic!("{errors:#?}"));
    let outcome = runs(&program, Vec::new());
    assert_eq!(outcome.tensors[1].get(7 * 16).map(|x| x.as_f64()), Some(7.0));
    // One line of the page table, and none of the data.
    assert_eq!(outcome.stats.dram_bytes.read, 64);
}
