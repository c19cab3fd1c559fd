//! Tests whole models of several statements: they are valid under every schedule, composed with exactly the barriers
//! that they need, and statements that are equal up to names are searched once.

use crate::common::{OPT, best, case, inputs, judged, model, options, root};
use ember_compile::cost::Goal;
use ember_compile::groups::{Chosen, Group, Plan};
use ember_compile::pipeline::{self, Case, Inputs, Options, store};
use ember_compile::workload::Statistics;
use ember_interpret::Interpreter;
use ember_rewrite::job::physical_bound;
use ember_sim::CoreKind;
use ember_targets::dlc::{Action, Program, StreamKind};
use ember_targets::verify::{Kind, Limits, verify};

/// The examples, each with the replacements that make its data small.
const EXAMPLES: [(&str, &[(&str, &str)]); 8] = [
    ("dlrm_rm1", &[("batch 32 batch)", "batch 3 batch)"), ("fixed 80", "fixed 4")]),
    ("dlrm_rm2", &[("batch 16 batch)", "batch 2 batch)"), ("fixed 120", "fixed 3")]),
    (
        "dlrm_rm3",
        &[
            ("batch 32 batch)", "batch 2 batch)"),
            ("fixed 20", "fixed 3"),
            ("2560", "64"),
            ("1024", "96"),
        ],
    ),
    ("gcn", &[("nodes 4000", "nodes 40"), ("edges 12000", "edges 70")]),
    ("graphsage", &[("nodes 1000", "nodes 20"), ("edges 10000", "edges 60")]),
    ("fusedmm", &[("nodes 1000", "nodes 30"), ("edges 10000", "edges 90")]),
    ("kg_scorer", &[("triples 2048", "triples 20"), ("count 100000", "count 50")]),
    ("bigbird", &[("size blocks 32", "size blocks 10")]),
];

/// Reads an example with little data.
fn small(name: &str) -> Inputs {
    let changes = EXAMPLES.iter().find(|(known, _)| *known == name).expect("a listed example").1;
    smaller(name, changes)
}

/// Reads an example with replacements in its text.
fn smaller(name: &str, changes: &[(&str, &str)]) -> Inputs {
    let path = format!("examples/{name}.sexp");
    let mut text = std::fs::read_to_string(root().join(&path)).expect("the example");
    for (from, to) in changes {
        assert!(text.contains(from), "{name}: {from}");
        text = text.replace(from, to);
    }
    let mut inputs = inputs("tests/models/bag.sexp");
    inputs.model = model(&path, &text);
    inputs
}

/// Runs the composed term in order with the interpreter of terms and checks its outputs.
fn agrees_as_a_term(inputs: &Inputs, case: &Case, chosen: &Chosen) {
    let mut interpreter =
        Interpreter::new(&chosen.term, inputs.book.signature.table(), store(&case.instance));
    let term = interpreter.root();
    interpreter.run(term).unwrap_or_else(|e| panic!("{}: {e}", inputs.model.name));
    let found = interpreter.store();
    for output in inputs.model.outputs() {
        let (found, expected) = (&found.tensors[&output.name], &case.expected[&output.name]);
        for at in 0..expected.len() {
            let (x, y) = (found.get(at), expected.get(at));
            let nan = x.zip(y).is_some_and(|(x, y)| x.as_f64().is_nan() && y.as_f64().is_nan());
            assert!(x == y || nan, "{} `{}` {at}: {x:?} {y:?}", inputs.model.name, output.name);
        }
    }
}

#[test]
fn examples_are_valid_under_every_schedule() {
    for (name, _) in EXAMPLES {
        let inputs = small(name);
        let case = case(&inputs, 3);
        let (bound, _) = physical_bound(&inputs, &case);
        let decoupled = OPT.into_iter().chain(["search"]).map(|s| (s, Goal::Decoupled));
        for (schedule, goal) in decoupled.chain([("coupled", Goal::Coupled)]) {
            let chosen = best(&inputs, &case, schedule, goal);
            let ran = judged(&inputs, &chosen.program, &case, CoreKind::OutOfOrder);
            let cycles = ran.unwrap_or_else(|e| panic!("{name}, {schedule}: {e}"));
            assert!(cycles >= bound.cycles, "{name}, {schedule}: {cycles} of {bound:?}");
            if matches!(schedule, "search" | "coupled") {
                agrees_as_a_term(&inputs, &case, &chosen);
            }
        }
    }
}

/// Returns true if a stream of the access unit loads a tensor.
fn streams(program: &Program, tensor: &str) -> bool {
    program.streams.iter().any(|stream| match &stream.kind {
        StreamKind::Mem { addr, .. } => program.tensors[addr.tensor.index()].name == tensor,
        _ => false,
    })
}

#[test]
fn a_layer_that_gathers_the_one_before_stays_decoupled_behind_a_barrier() {
    let inputs = smaller("gcn", &[("nodes 4000", "nodes 400"), ("edges 12000", "edges 1200")]);
    let options = Options { rank: false, ..options() };
    let chosen =
        pipeline::compile(&inputs, &options, Goal::Decoupled).unwrap_or_else(|e| panic!("{e:#?}"));
    let program = chosen.program.program();
    // Both layers gather rows of a product that the execute unit has just computed.
    for computed in ["p1", "p2"] {
        assert!(streams(program, computed), "the access unit gathers `{computed}`");
    }
    let is_barrier = |action: &&Action| matches!(action, Action::Barrier);
    assert_eq!(program.access.iter().filter(is_barrier).count(), 2, "one before each gather");
    let mut torn = program.clone();
    torn.access.retain(|action| !is_barrier(&action));
    let errors = verify(torn, &Limits::NONE).expect_err("streams would run ahead of the products");
    assert!(errors.iter().all(|e| e.kind == Kind::Overlap), "{errors:#?}");
}

#[test]
fn tables_that_differ_in_name_alone_are_searched_once() {
    let inputs = inputs("examples/dlrm_rm2.sexp");
    let instance = inputs.model.instantiate(None).expect("data");
    let store = store(&instance);
    let plan = Plan::new(
        inputs.book.signature.table(),
        &inputs.model,
        &Statistics::new(&inputs.model, &instance, &store, &inputs.machine),
    );
    let slot = |at: &usize| inputs.model.statement_name(plan.groups[*at].statements[0]);
    let is_table = |at: &usize| slot(at).starts_with("features[") && slot(at) != "features[0]";
    let tables: Vec<usize> = (0..plan.groups.len()).filter(is_table).collect();
    assert_eq!(tables.len(), 32);
    let searched = plan.searched().filter(is_table).count();
    assert_eq!(searched, 1, "all have one shape and as many lookups");
}

#[test]
fn statements_that_feed_each_other_are_searched_together() {
    let inputs = small("bigbird");
    let case = case(&inputs, 1);
    let plan = Plan::new(inputs.book.signature.table(), &inputs.model, &case.statistics(&inputs));
    let names = |group: &Group| -> Vec<String> {
        group.statements.iter().map(|at| inputs.model.statement_name(*at)).collect()
    };
    let searched: Vec<Vec<String>> = plan.groups.iter().map(names).collect();
    let projections = [["q.1", "q"], ["k.1", "k"], ["v.1", "v"]];
    assert_eq!(searched[..3], projections, "each with its bias");
    // What a block of queries sees is computed block by block.
    let fed = ["weights.2", "weights.3", "weights.4", "weights.5", "weights", "out"];
    assert_eq!(searched[3..], [fed]);
}

#[test]
fn statements_that_share_an_index_stream_are_searched_together() {
    let inputs = inputs("tests/models/gather_two.sexp");
    let case = case(&inputs, 1);
    let plan = Plan::new(inputs.book.signature.table(), &inputs.model, &case.statistics(&inputs));
    assert_eq!(plan.groups.len(), 1);
}
