//! A bound that takes one look at a graph.

use crate::graph::{Class, Graph};

/// Returns a DAG cost that no selection is below: the classes that every selection needs, each at its cheapest node.
pub fn forced(graph: &Graph) -> f64 {
    let cheapest = |class: &Class| {
        let costs = graph.nodes_of(*class).iter().map(|node| graph.cost(*node));
        costs.fold(f64::INFINITY, f64::min)
    };
    needed(graph).iter().map(cheapest).sum()
}

/// Returns the classes that every selection needs: the roots, and each class that all nodes of such a class use.
pub(crate) fn needed(graph: &Graph) -> Vec<Class> {
    let mut found = vec![false; graph.classes().len()];
    let mut classes = graph.roots().to_vec();
    classes.iter().for_each(|root| found[root.index()] = true);
    let mut next = 0;
    while let Some(class) = classes.get(next).copied() {
        next += 1;
        let [first, rest @ ..] = graph.nodes_of(class) else { continue };
        for child in graph.uses(*first) {
            let in_all = || rest.iter().all(|node| graph.uses(*node).binary_search(child).is_ok());
            if !found[child.index()] && in_all() {
                found[child.index()] = true;
                classes.push(*child);
            }
        }
    }
    classes
}

/// Returns a bound rounded up to a whole number if all costs are whole; a part of a millionth may be an error of rounding.
pub(crate) fn whole(graph: &Graph, bound: f64) -> f64 {
    let whole = |cost: &f64| cost.fract() == 0.0 && *cost < 1e9;
    if bound < 1e9 && graph.costs.iter().all(whole) { (bound - 1e-6).ceil() } else { bound }
}
