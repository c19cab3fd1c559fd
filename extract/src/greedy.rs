//! Greedy extraction by DAG cost: a class costs what its term costs with every shared subterm counted once.
//!
//! The idea is that of `greedy-dag` and `faster-greedy-dag` in the collection extraction-gym: each class keeps the set of
//! classes that its term is made of. There, classes are visited again whenever a child improves. Here they settle in the
//! order of cost, each once, and sets share their parts.

use crate::check::{Selection, cheapest};
use crate::graph::{Graph, Node};
use crate::settle::{Values, settle};
use crate::shared::Set;
use crate::{Extractor, Found, Tree};

/// The greedy extractor by DAG cost. A class takes the node whose term is cheapest by itself, so sharing within a term
/// is seen, and sharing between the terms of siblings is seen where they meet, when both have been chosen. Then it is done
/// again, with the cost of each class that was chosen divided by the number of its users, as they share it. The better
/// of both is the result, or that of [`Tree`] where this has a lower DAG cost.
#[derive(Clone, Copy, Debug)]
pub struct GreedyDag {
    /// The steps of unions of sets after which sets are kept small, so that a large graph takes bounded time.
    pub steps: u64,
}

impl Default for GreedyDag {
    fn default() -> Self {
        GreedyDag { steps: 200_000_000 }
    }
}

/// The members of a set that is kept small. A larger one is replaced by its class alone, with the cost of all: from
/// there on, what is shared inside of it counts twice.
const SMALL: u32 = 64;

impl Extractor for GreedyDag {
    fn name(&self) -> &'static str {
        "greedy-dag"
    }

    fn extract(&self, graph: &Graph) -> Found {
        let alone = self.settled(graph, |node| graph.cost(node));
        let mut users = vec![0_u32; graph.classes().len()];
        for class in alone.nodes(graph).iter().flat_map(|node| graph.uses(*node)) {
            users[class.index()] += 1;
        }
        let shared = self.settled(graph, |node| {
            graph.cost(node) / f64::from(users[graph.class_of(node).index()].max(1))
        });
        Found::heuristic(cheapest(graph, [alone, shared, Tree.extract(graph).selection]))
    }
}

impl GreedyDag {
    /// Settles classes by the sums of their sets, at the given costs of nodes.
    fn settled(&self, graph: &Graph, cost: impl Fn(Node) -> f64) -> Selection {
        let mut steps = 0;
        let value = |node, sets: &Values<Set>, bound: Option<f64>| {
            let class = graph.class_of(node);
            let children = || graph.uses(node).iter().filter_map(|c| sets[c.index()].as_ref());
            let most = children().map(Set::cost).fold(0.0, f64::max);
            if bound.is_some_and(|bound| most + cost(node) >= bound) {
                return None;
            }
            let own = Set::One(class, cost(node));
            let set = children().fold(own, |all, set| set.union(&all, &mut steps));
            let large = steps > self.steps && set.count() > SMALL;
            Some(if large { Set::One(class, set.cost()) } else { set })
        };
        settle(graph, value, Set::cost).selection
    }
}
