//! Bottom-up extraction: classes settle one by one, the cheapest first.
//!
//! This is Knuth's generalisation of Dijkstra's algorithm. A node is looked at once, when the last of its children has
//! settled. A node never costs less than a child, so what settles later cannot improve what has settled, and no class is
//! looked at twice. A chosen node has only children that settled before its class: no selection has a cycle.

use crate::check::Selection;
use crate::graph::{Class, Graph, Node};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The value of a settled class, for as long as a node waits for it.
pub(crate) type Values<V> = [Option<V>];

/// A class that may settle next: by cost, then by number.
#[derive(PartialEq)]
struct Next {
    cost: f64,
    class: Class,
}

impl Eq for Next {}

impl Ord for Next {
    fn cmp(&self, other: &Next) -> Ordering {
        self.cost.total_cmp(&other.cost).then(self.class.cmp(&other.class))
    }
}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Next) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The result of [`settle`].
pub(crate) struct Settled {
    pub selection: Selection,
    /// The place of each class in the order of settling; the largest number if the roots were settled before it.
    pub places: Vec<u32>,
}

/// Selects a node for every class until the roots are settled. `value` returns the value of a node from its children's,
/// or `None` if it costs no less than the given bound, where there is one; `cost` is the cost that a value stands for.
pub(crate) fn settle<V>(
    graph: &Graph,
    mut value: impl FnMut(Node, &Values<V>, Option<f64>) -> Option<V>,
    cost: impl Fn(&V) -> f64,
) -> Settled {
    let mut waiting: Vec<usize> = graph.nodes().map(|node| graph.uses(node).len()).collect();
    let mut left: Vec<usize> = graph.classes().map(|class| graph.users(class).len()).collect();
    let mut values: Vec<Option<V>> = graph.classes().map(|_| None).collect();
    let mut places = vec![u32::MAX; graph.classes().len()];
    let mut settled = 0;
    let mut selection = Selection::new(graph);
    let mut heap = BinaryHeap::new();
    let mut roots: Vec<Class> = graph.roots().to_vec();
    let mut ready: Vec<Node> = graph.nodes().filter(|node| graph.uses(*node).is_empty()).collect();
    loop {
        for node in ready.drain(..) {
            let class = graph.class_of(node);
            if places[class.index()] == u32::MAX {
                let bound = values[class.index()].as_ref().map(&cost);
                let better = value(node, &values, bound)
                    .filter(|better| bound.is_none_or(|bound| cost(better) < bound));
                if let Some(better) = better {
                    heap.push(Reverse(Next { cost: cost(&better), class }));
                    values[class.index()] = Some(better);
                    selection.choose(class, node);
                }
            }
            for child in graph.uses(node) {
                left[child.index()] -= 1;
                if left[child.index()] == 0 {
                    values[child.index()] = None;
                }
            }
        }
        roots.retain(|root| places[root.index()] == u32::MAX);
        let Some(Reverse(Next { class, .. })) = heap.pop() else { break };
        if roots.is_empty() {
            break;
        }
        if places[class.index()] != u32::MAX {
            continue;
        }
        places[class.index()] = settled;
        settled += 1;
        if left[class.index()] == 0 {
            values[class.index()] = None;
        }
        for user in graph.users(class) {
            waiting[user.index()] -= 1;
            if waiting[user.index()] == 0 {
                ready.push(*user);
            }
        }
    }
    Settled { selection, places }
}
