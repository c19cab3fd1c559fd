//! The forms of the graph networks of `examples/fusion` on the smallest graph: their order, and their floating-point
//! operations, which follow from the degrees of the nodes.

use crate::common::{ember, folder, inputs, word};
use serde_json::Value;

/// The columns of every matrix of the models.
const WIDTH: u64 = 16;

/// The size of a graph.
struct Graph {
    nodes: u64,
    /// The entries of its adjacency matrix: both directions of each edge.
    edges: u64,
    /// The walks of two steps: what the neighbours of all nodes look up.
    walks: u64,
}

/// Returns the size of the graph that a model draws.
fn graph(model: &str) -> Graph {
    let model = inputs(&format!("examples/fusion/{model}.sexp")).model;
    let instance = model.instantiate(None).expect("data");
    let positions = |name: &str| -> Vec<usize> {
        let tensor = &instance.tensors[name];
        let positions = (0..tensor.len()).filter_map(|i| tensor.get(i)?.as_i64());
        positions.map(|position| usize::try_from(position).expect("not negative")).collect()
    };
    let (offsets, indices) = (positions("offsets"), positions("indices"));
    let degrees: Vec<u64> = offsets.windows(2).map(|ends| (ends[1] - ends[0]) as u64).collect();
    let walks = indices.iter().map(|neighbour| degrees[*neighbour]).sum();
    Graph { nodes: degrees.len() as u64, edges: indices.len() as u64, walks }
}

/// Returns the run of the program of a schedule on a model's data. `chosen` has further words of the choice.
fn run(model: &str, schedule: &str, chosen: &[&str]) -> Value {
    let program = word(&folder(&format!("fusion-{model}-{schedule}")).join("program.dlc"));
    let model = format!("examples/fusion/{model}.sexp");
    let rules = ["--rules", "rules", "--rules", "examples/fusion/fusion.rules"];
    let exact = ["--exact", "reassoc"];
    let emitted = ["--schedule", schedule, "--emit", "dlc", "-o", &program, &model];
    let made = ember(&[&rules[..], &exact, &emitted, chosen].concat());
    assert_eq!(made.code, Some(0), "{}", made.err);
    let ran = ember(&[&["run", "--json", &program, &model][..], &exact].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json = ran.json();
    assert_eq!(json["valid"], true, "{json}");
    json
}

fn number(run: &Value, key: &str) -> u64 {
    run[key].as_u64().unwrap_or_else(|| panic!("no number {key} in {run}"))
}

/// Checks the order of the forms of a model and their operations: of the stored forms, and of the recomputed one.
fn check(model: &str, stored: u64, recomputed: u64) {
    let [search, partial, unfused] =
        ["search", "partial", "unfused"].map(|schedule| run(model, schedule, &[]));
    // It is slow enough to be told from the others by the choice of the cost model, which takes no runs.
    let full = run(model, "full", &["--no-rank"]);
    for form in [&search, &partial, &unfused] {
        assert_eq!(number(form, "flops"), stored, "{model}");
    }
    assert_eq!(number(&full, "flops"), recomputed, "{model}");
    let cycles = [search, partial, unfused, full].map(|form| number(&form, "cycles"));
    println!("{model}: {cycles:?} cycles, {stored} and {recomputed} operations");
    let [search, partial, unfused, full] = cycles;
    assert!(search <= partial + partial / 50, "{model}: {cycles:?}");
    assert!(partial < unfused && 10 * unfused < full, "{model}: {cycles:?}");
}

#[test]
fn a_fused_convolution_computes_a_row_for_every_walk() {
    let Graph { nodes, edges, walks } = graph("gcn_cora");
    // A product and a sum for every element of a matrix and of a looked-up row, and one operation for a bias or a
    // positive part.
    let (product, row) = (2 * WIDTH * WIDTH, 2 * WIDTH);
    let stored = nodes * (2 * product + 3 * WIDTH) + edges * 2 * row;
    let recomputed = walks * (product + row) + edges * (2 * WIDTH + product + row) + nodes * WIDTH;
    assert!(recomputed > 50 * stored);
    check("gcn_cora", stored, recomputed);
}

#[test]
fn a_fused_sage_computes_a_row_for_every_edge() {
    let Graph { nodes, edges, walks } = graph("sage_cora");
    // A row of a layer has a quotient, two products, their sum and a bias; that of the first also a positive part.
    let row = WIDTH + 2 * 2 * WIDTH * WIDTH + 2 * WIDTH;
    let first = row + WIDTH;
    let stored = nodes * (first + row) + edges * 2 * WIDTH;
    let recomputed =
        (nodes + edges) * first + (edges + walks) * WIDTH + edges * WIDTH + nodes * row;
    assert!(recomputed > 3 * stored);
    check("sage_cora", stored, recomputed);
}
