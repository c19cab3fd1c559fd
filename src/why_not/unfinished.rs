//! Which classes have a form without boundary operators, which no finished program contains.

use crate::facts::EGraph;
use crate::rules::Signature;
use crate::term::Node;
use egg::{Id, Language};
use std::collections::BTreeSet;

/// The classes without such a form.
pub(super) struct Unfinished<'a> {
    egraph: &'a EGraph,
    signature: &'a Signature,
    finished: BTreeSet<Id>,
}

impl<'a> Unfinished<'a> {
    /// Finds them.
    pub fn new(egraph: &'a EGraph, signature: &'a Signature) -> Unfinished<'a> {
        let mut all = Unfinished { egraph, signature, finished: BTreeSet::new() };
        loop {
            let before = all.finished.len();
            for class in egraph.classes() {
                if class.nodes.iter().any(|node| all.is_finished(node)) {
                    all.finished.insert(class.id);
                }
            }
            if all.finished.len() == before {
                return all;
            }
        }
    }

    /// Whether a node can stand in a finished program, all of its operands finished.
    pub fn is_finished(&self, node: &Node) -> bool {
        let boundary = self.signature.operator_of(node).is_some_and(|op| op.boundary);
        !boundary && node.children().iter().all(|c| self.finished.contains(&self.egraph.find(*c)))
    }

    /// The part of a node that keeps it from being finished: the deepest on the way down.
    pub fn first(&self, node: &Node) -> Option<Id> {
        let open = |node: &Node| {
            let mut classes = node.children().iter().map(|c| self.egraph.find(*c));
            classes.find(|class| !self.finished.contains(class))
        };
        let mut seen = BTreeSet::new();
        let mut at = open(node)?;
        while seen.insert(at) {
            // A boundary is where rules are missing; below other operators it goes on.
            let below = self.egraph[at]
                .nodes
                .iter()
                .filter(|node| self.signature.operator_of(node).is_none_or(|op| !op.boundary));
            match below.into_iter().find_map(open) {
                Some(next) => at = next,
                None => break,
            }
        }
        Some(at)
    }
}
