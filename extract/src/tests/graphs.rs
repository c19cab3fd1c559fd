//! Graphs for tests: random ones, chains, and other shapes.

use crate::{Builder, Costs, Graph, NewNode, Node, Selection, check};
use fastrand::Rng;

/// Returns a node of a graph whose classes are numbers; a child is the first node of its class.
pub fn node(class: usize, at: usize, children: &[usize], cost: f64) -> NewNode<'static> {
    NewNode {
        name: format!("{class}.{at}").into(),
        class: class.to_string().into(),
        operator: format!("f{at}").into(),
        children: children.iter().map(|child| format!("{child}.0").into()).collect(),
        cost,
        subsumed: false,
    }
}

/// Returns a graph from its classes, each a list of nodes with their children and costs. Class 0 is the root.
pub fn graph(classes: &[&[(&[usize], f64)]]) -> Graph {
    let mut builder = Builder::default();
    for (class, nodes) in classes.iter().enumerate() {
        for (at, (children, cost)) in nodes.iter().enumerate() {
            builder.node(node(class, at, children, *cost));
        }
    }
    builder.root("0");
    builder.build().expect("a graph")
}

/// Returns a random graph of at most seven classes with cycles, costs of 0, shared children and up to two roots; `None`
/// if a root has no finite term.
pub fn random(seed: u64) -> Option<Graph> {
    let mut rng = Rng::with_seed(seed);
    let classes = rng.usize(1..=7);
    let mut builder = Builder::default();
    for class in 0..classes {
        for at in 0..rng.usize(1..=3) {
            let arity = rng.usize(0..=3);
            let children: Vec<usize> = (0..arity).map(|_| rng.usize(0..classes)).collect();
            builder.node(node(class, at, &children, f64::from(rng.u8(0..=6))));
        }
    }
    for _ in 0..rng.usize(1..=2) {
        builder.root(rng.usize(0..classes).to_string());
    }
    builder.build().ok()
}

/// Returns the least tree cost and the least DAG cost of all selections.
pub fn best(graph: &Graph) -> Costs {
    let choices: Vec<&[Node]> = graph.classes().map(|class| graph.nodes_of(class)).collect();
    let mut at = vec![0; choices.len()];
    let mut best = Costs { tree: f64::INFINITY, dag: f64::INFINITY };
    loop {
        let mut selection = Selection::new(graph);
        for class in graph.classes() {
            selection.choose(class, choices[class.index()][at[class.index()]]);
        }
        if let Ok(costs) = check(graph, &selection) {
            best = Costs { tree: best.tree.min(costs.tree), dag: best.dag.min(costs.dag) };
        }
        let Some(next) = (0..at.len()).find(|i| at[*i] + 1 < choices[*i].len()) else { break };
        at[..next].fill(0);
        at[next] += 1;
    }
    best
}

/// Returns a chain of classes, each with a node of cost 1 on the next; every other node uses the next class twice, so that
/// the tree cost is astronomically large.
pub fn chain(length: usize) -> Graph {
    let mut builder = Builder::default();
    for class in 0..length {
        let next = class + 1;
        let children: &[usize] = match class % 2 {
            _ if next == length => &[],
            0 => &[next],
            _ => &[next, next],
        };
        builder.node(node(class, 0, children, 1.0));
    }
    builder.root("0");
    builder.build().expect("a graph")
}

/// Returns a graph of so many nodes, four in a class, with two children each among the hundred classes after their own or,
/// rarely, any class at all.
pub fn large(nodes: usize) -> Graph {
    let mut rng = Rng::with_seed(7);
    let classes = nodes / 4;
    let mut builder = Builder::default();
    for class in 0..classes {
        for at in 0..4 {
            let child = |rng: &mut Rng| match rng.u8(..) {
                0 => rng.usize(0..classes),
                _ => (class + rng.usize(1..=100)).min(classes - 1),
            };
            let pair = [child(&mut rng), child(&mut rng)];
            let children: &[usize] =
                if at == 3 && class % 50 == 49 || class + 1 == classes { &[] } else { &pair };
            builder.node(node(class, at, children, f64::from(rng.u8(1..=9))));
        }
    }
    builder.root("0");
    builder.build().expect("a graph")
}
