//! The traps of decoupling in an e-graph, each with a test that fails if its law is dropped.
//!
//! `tests/soundness.rs` refutes rules that fall into a trap, and `tests/dlc/laws.rs` refuses programs that do; the
//! tests here check the e-graph, its facts and the extracted terms.

use egg::Language;
use ember_analysis::facts::{EGraph, Facts, VectorUnit};
use ember_compile::cost::{Fetches, Goal, Model as CostModel, Rates, Workload};
use ember_compile::decouple::{ModelContext, decouple};
use ember_compile::pipeline::{Case, Inputs, Options, goal, lower, search, simulate};
use ember_engine::CompiledRule;
use ember_engine::saturate::{Limits, StopReason, saturate};
use ember_extract::extract;
use ember_host::Disk;
use ember_interpret::{Interpreter, Store};
use ember_language::diagnostic::Sources;
use ember_language::rules::{self, Exactness, Operator, RuleBook, Signature, Sort, SortTerm};
use ember_language::term::Term;
use ember_model::Model;
use ember_sim::{Bindings, CoreKind};
use ember_targets::dlc::{Dim, Purpose, TensorDecl};
use ember_targets::machine::Machine;
use ember_targets::tensor::Tensor;
use ember_values::scalar::{DType, Scalar};
use std::collections::BTreeMap;
use std::path::Path;

fn book() -> RuleBook {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let (book, _) = rules::load(&mut Sources::new(Disk), &[folder])
        .unwrap_or_else(|errors| panic!("{errors:#?}"));
    book
}

fn machine() -> Machine {
    Machine::plus().expect("the machine")
}

/// Returns the declarations of one rank-1 input and one output per type, called in_f32, out_f32 and so on, of 40
/// elements.
fn tensors() -> Vec<TensorDecl> {
    let tensor = |writable: bool, dtype: DType| TensorDecl {
        name: format!("{}_{dtype}", if writable { "out" } else { "in" }),
        dtype,
        shape: vec![Dim::Const(40)],
        purpose: Purpose::of(writable),
    };
    [false, true].into_iter().flat_map(|w| DType::ALL.map(|d| tensor(w, d))).collect()
}

fn term(text: &str) -> Term {
    text.parse().unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// Returns an e-graph of terms, saturated with every exact rule.
fn saturated(book: &RuleBook, terms: &[&str]) -> EGraph {
    let facts = Facts::new(&tensors(), &[], book.signature.table().clone(), VectorUnit::default());
    let mut egraph = EGraph::new(facts);
    for text in terms {
        egraph.add_expr(&term(text));
    }
    let exact = book.rules.iter().filter(|rule| rule.exact == Exactness::Bitwise);
    let rules: Vec<CompiledRule> = exact.map(CompiledRule::new).collect();
    let rules: Vec<&CompiledRule> = rules.iter().collect();
    let limits = Limits { iterations: 30, nodes: 20_000 };
    let _ = saturate(&mut egraph, &rules, &limits);
    egraph
}

fn equal(egraph: &EGraph, a: &str, b: &str) -> bool {
    let class = |text| egraph.lookup_expr(&term(text)).map(|id| egraph.find(id));
    let (a, b) = (class(a), class(b));
    assert!(a.is_some() && b.is_some(), "both terms are in the e-graph");
    a == b
}

/// Checks every program that every schedule finds for a bag of `columns` over bags with these offsets, each interpreted
/// as a term and run as a program; all must agree with the reference.
fn all_schedules_agree(operation: &str, columns: usize, offsets: &str, indices: &str) {
    let text = format!(
        "(model bag
           (input table f32 (rows {columns})) (input indices i64 (lookups))
           (input offsets i64 ((+ bags 1)))
           (output out (emb.bag {operation} table indices offsets))
           (data (seed 7) (size rows 10) (table (uniform -1.0 1.0))
             (offsets (values {offsets})) (indices (values {indices}))))"
    );
    let mut sources = Sources::new(Disk);
    let file = sources.add("<model>", text);
    let model = Model::parse(&sources, file).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let book = book();
    let compiled = ember_engine::compile(&book);
    let inputs = Inputs { book, compiled, model, machine: machine(), warnings: Vec::new() };
    let options = Options { candidates: Some(4), ..Options::default() };
    let case = Case::new(&inputs.model, None, Exactness::Bitwise).expect("data");
    let operators = inputs.book.signature.table();
    for schedule in &inputs.book.schedules {
        let goal = goal(&inputs.book, schedule);
        let statistics = case.statistics(&inputs);
        let found = search(&inputs, &statistics, &options, schedule, goal, &|_| ());
        assert!(found.candidates() > 0, "{} finds no program", schedule.name);
        for candidate in found.found.values().flat_map(|found| &found.candidates) {
            let shown = || format!("{}\n{}", schedule.name, candidate.term);
            let mut interpreter = Interpreter::new(
                &candidate.term,
                inputs.book.signature.table(),
                case.store.clone(),
            );
            let root = interpreter.root();
            interpreter.run(root).unwrap_or_else(|e| panic!("{e}\n{}", shown()));
            let mut expected = interpreter.store();
            expected.tensors.extend(case.expected.clone());
            assert_eq!(interpreter.store().difference(&expected), None, "{}", shown());

            let program =
                lower(operators, &inputs.machine, &candidate.term, &inputs.context(), goal)
                    .unwrap_or_else(|e| panic!("{e}\n{}", shown()));
            let outcome =
                simulate(program.program(), &inputs.machine, &case, CoreKind::OutOfOrder, false)
                    .unwrap_or_else(|e| panic!("{e}\n{}", shown()));
            let compared = case.compare(program.program(), &outcome.tensors, Exactness::Bitwise);
            assert!(compared.is_ok(), "{}", shown());
        }
    }
}

/// The sorts of terms by the unit that runs them.
const ACCESS: [&str; 2] = ["Stream", "SAddress"];
const EXECUTE: [&str; 3] = ["Exec", "EValue", "EAddress"];
const BOTH: &str = "Slc";

/// Returns the operators that allow the halves of a program to be separate terms, so that an extraction could join half
/// of one program with half of another: a value that does not contain the operation that marshals it, or a statement of
/// one unit next to a statement of the other.
fn torn(signature: &Signature) -> Vec<String> {
    let of = |sort: SortTerm, names: &[&str]| {
        names.iter().any(|name| sort == SortTerm::Is(Sort::named(name)))
    };
    let tears = |op: &&Operator| {
        let takes = |names: &[&str]| op.args.iter().any(|arg| of(*arg, names));
        let statement = of(op.result, &[BOTH]);
        let access = of(op.result, &ACCESS);
        let execute = of(op.result, &EXECUTE);
        let value = of(op.result, &["Stream", "EValue", "Exec"]) || statement;
        (access && (takes(&EXECUTE) || takes(&[BOTH])))
            || (execute && takes(&[BOTH]))
            || (statement && takes(&EXECUTE) && op.args.len() > 1)
            // The operator takes a queue's name instead of the stream that feeds the queue.
            || (value && takes(&["Name"]))
    };
    signature.operators().iter().filter(tears).map(|op| op.name.to_string()).collect()
}

#[test]
fn torn_pairs_cannot_be_said() {
    // Both halves of a program stay in one term until one program has been chosen.
    let signature = book().signature;
    for sort in ACCESS.iter().chain(&EXECUTE).chain([&BOTH]) {
        assert!(signature.sort(sort).is_some(), "{sort} is a sort");
    }
    assert_eq!(torn(&signature), [""; 0]);
}

#[test]
fn torn_pairs_are_seen_where_they_can_be_said() {
    let dialect = "(dialect torn \"halves of programs\"
        (op torn.pair (Slc Exec) Slc \"one unit's program beside the other's\")
        (op torn.pop (Name) EValue \"pops whatever a queue holds\")
        (op torn.push (EValue) Stream \"a value that the execute unit computes\")
        (op torn.wait (Slc) Exec \"the execute unit runs the access unit\")
        (op torn.call (Exec) Slc \"as a callback\"))";
    let mut sources = Sources::new(Disk);
    sources.add("torn.rules", dialect);
    let paths = [Path::new(env!("CARGO_MANIFEST_DIR")).join("rules"), "torn.rules".into()];
    let (book, _) = rules::load(&mut sources, &paths).expect("the rules are well-formed");
    assert_eq!(torn(&book.signature), ["torn.pair", "torn.pop", "torn.push", "torn.wait"]);
}

/// Returns the number of programs that an extraction finds in a single term.
fn finished(text: &str) -> usize {
    let book = book();
    let facts = Facts::new(&tensors(), &[], book.signature.table().clone(), VectorUnit::default());
    let mut egraph = EGraph::new(facts);
    let root = egraph.add_expr(&term(text));
    egraph.rebuild();
    let rates = Rates::of(&machine());
    let workload = Workload::default();
    let model = CostModel::for_choice(Goal::Decoupled, &rates, &workload, Fetches::Each);
    extract(&egraph, root, &model, &ember_extract::Limits::default()).ranked().len()
}

#[test]
fn unfed_walks_are_not_extracted() {
    const I: &str = "(var (depth 0) 0 40 1)";
    const J: &str = "(var (depth 1) 0 4 1)";
    let copy = |v: &str| {
        format!(
            "(exe.store (exe.at (exe.out %out_f32) (exe.counter {v}))
               (slc.from_stream (slc.mem_stream temporal (slc.at (slc.in %in_f32) (slc.iv {v})))))"
        )
    };
    let alone = |v: &str, hi: u32, body: &str| {
        format!("(exe.for {v} (exe.const 0) (exe.const {hi}) 1 {body})")
    };
    let both = |v: &str, hi: u32, body: &str| {
        format!(
            "(exe.walk {v} (slc.const 0) (slc.const {hi}) (exe.const 0) (exe.const {hi}) 1 {body})"
        )
    };
    let callback = |body: &str| finished(&format!("(slc.callback {body})"));
    assert_eq!(callback(&both(I, 40, &copy(I))), 1);
    assert_eq!(callback(&alone(I, 40, &copy(I))), 0, "a stream of a loop that nobody walks");
    assert_eq!(callback(&both(J, 4, &both(I, 40, &copy(I)))), 1);
    assert_eq!(callback(&alone(J, 4, &both(I, 40, &copy(I)))), 0, "a walk that is begun unasked");
}

#[test]
fn lanes_out_of_bounds_touch_nothing() {
    // No tensor has an element past its rows, so every lane past the end faults.
    for columns in [1, 5, 17, 31] {
        all_schedules_agree("sum", columns, "0 2 3", "9 0 9");
    }
}

#[test]
fn empty_bags_first_last_and_in_a_row() {
    for operation in ["sum", "mean", "max"] {
        all_schedules_agree(operation, 20, "0 0 3 3 3 4 4 4", "1 9 1 0");
    }
    all_schedules_agree("sum", 16, "0 0 0", "");
}

#[test]
fn loads_of_memory_that_changes_are_not_broadcast() {
    let book = book();
    const E: &str = "(var (depth 0) 0 40 1)";
    let block = |load: &str| {
        let text = format!(
            "(scf.for {E} 0 40 1 (scf.store (at (out %out_f32) (iv {E})) (scf.load (at {load} 3))))"
        );
        let egraph = saturated(&book, &[&text]);
        let broadcasts = |class: &ember_egraph::EClass<_, _>| {
            class.nodes.iter().any(|n: &ember_language::term::Node| {
                n.name() == Some("scf.broadcast")
                    && egraph[n.children()[1]].nodes.iter().any(|x| x.name() == Some("scf.load"))
            })
        };
        egraph.classes().any(broadcasts)
    };
    // Lane 3 changes the value that the later lanes load.
    assert!(!block("(out %out_f32)"));
    assert!(block("(in %in_f32)"), "memory that never changes is loaded once for all lanes");
}

#[test]
fn sibling_loops_have_ranges_of_their_own() {
    let book = book();
    let variable = |hi: u32| format!("(var (depth 0) 0 {hi} 1)");
    let least = |hi: u32| format!("(scf.min (iv {}) 7)", variable(hi));
    let looped = |hi: u32| {
        let (v, least) = (variable(hi), least(hi));
        format!("(scf.for {v} 0 {hi} 1 (scf.store (at (out %out_i64) (iv {v})) {least}))")
    };
    let text = format!("(scf.seq {} {})", looped(8), looped(40));
    let egraph = saturated(&book, &[&text]);
    assert!(equal(&egraph, &least(8), &format!("(iv {})", variable(8))));
    assert!(!equal(&egraph, &least(40), &format!("(iv {})", variable(40))));
    // What a loop gives its variable if it runs is known; a loop that never runs gives nothing.
    let from_8_to = |hi: u32| format!("(var (depth 0) 8 (iv (var (depth 1) 0 {hi} 1)) 1)");
    let is_7 = |variable: &str| {
        let least = format!("(scf.min (iv {variable}) 7)");
        equal(&saturated(&book, &[&least]), &least, "7")
    };
    assert!(is_7(&from_8_to(40)));
    assert!(!is_7(&from_8_to(9)));
}

#[test]
fn a_variable_depends_on_those_that_its_bounds_mention() {
    // In the loop over k the two variables are equal. With a number in the place of i, they are not: k has the values
    // that the other i gave it.
    const I: &str = "(iv (var (depth 0) 0 9 1))";
    let k = format!("(iv (var (depth 1) {I} (scf.add {I} 1) 1))");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let folders = [folder.clone(), folder.join("equiv")];
    let (book, _) = rules::load(&mut Sources::new(Disk), &folders).expect("the rules");
    let facts = Facts::new(&tensors(), &[], book.signature.table().clone(), VectorUnit::default());
    let mut egraph = EGraph::new(facts);
    let [i, k] = [I, &k].map(|text| egraph.add_expr(&term(text)));
    let fixed = |n: u32| term(&format!("(fix (var (depth 0) 0 9 1) {n} {I})"));
    let numbers =
        [3, 5].map(|n| (egraph.add_expr(&fixed(n)), egraph.add_expr(&term(&n.to_string()))));
    egraph.union(i, k);
    egraph.rebuild();
    let rules: Vec<CompiledRule> = book.rules.iter().map(CompiledRule::new).collect();
    let rules: Vec<&CompiledRule> = rules.iter().collect();
    let run = saturate(&mut egraph, &rules, &Limits { iterations: 4, nodes: 5_000 });
    assert!(!matches!(run.stop, StopReason::Contradiction { .. }), "{:?}", run.stop);
    for (fixed, number) in numbers {
        assert_eq!(egraph.find(fixed), egraph.find(number));
        assert_ne!(egraph.find(fixed), egraph.find(i));
    }
}

/// Runs a decoupled term by interpretation and on the simulator; checks that both leave the same output, and returns
/// it.
fn both_runs(text: &str) -> Tensor {
    let store = Store {
        tensors: tensors()
            .into_iter()
            .map(|t| {
                let mut tensor = Tensor::zeros(t.dtype, vec![40]);
                for i in 0..40 {
                    let x = if t.writable() { -1.0 } else { i as f64 };
                    tensor.set(i, Scalar::from_f64(t.dtype, x));
                }
                (t.name, tensor)
            })
            .collect::<BTreeMap<_, _>>(),
        sizes: BTreeMap::new(),
    };
    let term = term(text);
    let mut interpreter = Interpreter::new(&term, book().signature.table(), store.clone());
    let root = interpreter.root();
    interpreter.run(root).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let interpreted = interpreter.into_store();

    let context = ModelContext { name: "trap".to_owned(), sizes: Vec::new(), tensors: tensors() };
    let program = decouple(book().signature.table(), &term, &context)
        .unwrap_or_else(|e| panic!("{e}\n{text}"));
    let limits = ember_targets::verify::Limits::of(&machine());
    let program = ember_targets::verify::verify(program, &limits)
        .unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
    let tensors: Vec<Tensor> =
        program.program().tensors.iter().map(|t| store.tensors[&t.name].clone()).collect();
    let bindings = Bindings { tensors, sizes: Vec::new() };
    let options = ember_sim::Options::default();
    let outcome = ember_sim::run(program.program(), &machine(), bindings, options)
        .unwrap_or_else(|e| panic!("{e}\n{text}"));
    for (declared, tensor) in program.program().tensors.iter().zip(&outcome.tensors) {
        let expected = &interpreted.tensors[&declared.name];
        for i in 0..expected.len() {
            assert_eq!(tensor.get(i), expected.get(i), "{}[{i}]\n{text}", declared.name);
        }
    }
    interpreted.tensors["out_i64"].clone()
}

#[test]
fn counters_start_at_lo_and_step() {
    let elements = |tensor: &Tensor| -> Vec<i64> {
        let written = (0..40).filter_map(|i| tensor.get(i)?.as_i64().map(|x| (i as i64, x)));
        written.filter(|(_, x)| *x >= 0).map(|(i, x)| if i == x { i } else { -i }).collect()
    };
    let count = |v: &str| {
        format!("(exe.store (exe.at (exe.out %out_i64) (exe.counter {v})) (exe.counter {v}))")
    };
    // lo = 3 and a step that does not divide the range.
    const V: &str = "(var (depth 0) 3 20 8)";
    let out = both_runs(&format!(
        "(slc.for {V} (slc.const 3) (slc.const 20) 8 (slc.callback {}))",
        count(V)
    ));
    assert_eq!(elements(&out), [3, 11, 19]);
    // An inner loop with bounds from data: in_i64[i] = i, so its range is i .. 4, empty from 4 on.
    const I: &str = "(var (depth 0) 2 7 1)";
    let lo = "(slc.mem_stream temporal (slc.at (slc.in %in_i64) (slc.iv (var (depth 0) 2 7 1))))";
    let from = format!("(scf.load (at (in %in_i64) (iv {I})))");
    let j = format!("(var (depth 1) {from} 4 1)");
    for inner in [
        format!("(slc.for {j} {lo} (slc.const 4) 1 (slc.callback {}))", count(&j)),
        format!(
            "(slc.callback (exe.walk {j} {lo} (slc.const 4) (slc.from_stream {lo}) (exe.const 4) 1 {}))",
            count(&j)
        ),
        format!(
            "(slc.callback (exe.for {j} (slc.from_stream {lo}) (exe.const 4) 1 {}))",
            count(&j)
        ),
    ] {
        let out = both_runs(&format!("(slc.for {I} (slc.const 2) (slc.const 7) 1 {inner})"));
        assert_eq!(elements(&out), [2, 3], "{inner}");
    }
}
