//! Times of the extractors on the same graphs, beside their costs: `cargo bench -p ember-extract`.

use ember_extract::{Builder, Extractor, Graph, GreedyDag, NewNode, Prices, Tree, check};
use fastrand::Rng;
use std::time::Instant;

/// The number of timed runs; the median counts.
const RUNS: usize = 5;

fn main() {
    // `cargo test --benches` builds and starts benches too, but needs no measurements.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let physics = Graph::from_json(include_str!("../tests/gym/physics.json")).expect("a graph");
    for (name, graph) in [
        ("physics".to_owned(), physics),
        ("generated, 10,000 nodes".to_owned(), generated(10_000)),
        ("generated, 100,000 nodes".to_owned(), generated(100_000)),
        ("generated, 1,000,000 nodes".to_owned(), generated(1_000_000)),
    ] {
        println!("{name}");
        for extractor in [&Tree as &dyn Extractor, &GreedyDag::default(), &Prices::default()] {
            measure(&graph, extractor);
        }
    }
}

fn measure(graph: &Graph, extractor: &dyn Extractor) {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(extractor.extract(graph));
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let found = extractor.extract(graph);
    let costs = check(graph, &found.selection).expect("an extraction");
    let (name, time) = (extractor.name(), times[RUNS / 2] * 1e3);
    println!("  {name:10} DAG cost {:9}, at least {:9.1}, {time:9.3} ms", costs.dag, found.bound);
}

/// Returns a graph like those of saturated terms: four nodes in a class, whose two children are mostly among the twenty
/// classes after their own, a leaf in every fifth class, and some cycles.
fn generated(nodes: usize) -> Graph {
    let mut rng = Rng::with_seed(11);
    let classes = nodes / 4;
    let mut builder = Builder::default();
    for class in 0..classes {
        for at in 0..4 {
            let mut child = || match rng.u8(..) {
                0..8 => class.saturating_sub(rng.usize(1..=20)),
                _ => (class + rng.usize(1..=20)).min(classes - 1),
            };
            let children = match at {
                0 if class % 5 == 4 || class + 1 == classes => Vec::new(),
                _ => vec![child(), child()],
            };
            builder.node(NewNode {
                name: format!("{class}.{at}").into(),
                class: class.to_string().into(),
                operator: "f".into(),
                children: children.iter().map(|child| format!("{child}.0").into()).collect(),
                cost: f64::from(rng.u8(1..=9)) + if at == 0 { 40.0 } else { 0.0 },
                subsumed: false,
            });
        }
    }
    // A chain of roots keeps all of the graph in use.
    (0..classes).step_by(50).for_each(|class| builder.root(class.to_string()));
    builder.build().expect("a graph")
}
