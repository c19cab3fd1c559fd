//! Nodes removed from the search because their class has a better one.

use crate::knowledge::{EGraph, Knowledge};
use egg::Id;
use ember_language::term::Node;
use std::collections::BTreeSet;

/// Nodes that are no longer matched. They stay known, so that congruence and look-ups find their classes, but are
/// removed from the classes' lists of nodes.
#[derive(Debug, Default)]
pub(super) struct Subsumed {
    nodes: Vec<Node>,
}

impl Subsumed {
    /// Removes a node from the search, if there is one.
    pub fn add(&mut self, node: Option<Node>) {
        self.nodes.extend(node);
    }

    /// Removes the nodes from their classes, including those that restoring congruence has put back. The last node of a
    /// class stays. The e-graph must be clean.
    pub fn remove<A: Knowledge>(&mut self, egraph: &mut EGraph<A>) {
        if self.nodes.is_empty() {
            return;
        }
        let mut classes: BTreeSet<Id> = BTreeSet::new();
        for node in &mut self.nodes {
            // Looking a node up makes its children canonical.
            classes.extend(egraph.lookup(node));
        }
        self.nodes.sort_unstable();
        self.nodes.dedup();
        for class in classes {
            let nodes = &mut egraph[class].nodes;
            let stays = |node: &Node| self.nodes.binary_search(node).is_err();
            if nodes.iter().any(stays) {
                nodes.retain(|node| stays(node));
            }
        }
    }
}
