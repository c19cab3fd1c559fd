//! Nodes taken out of the search because something better is known to stand for them.

use crate::knowledge::{EGraph, Knowledge};
use egg::Id;
use ember_language::term::Node;
use std::collections::BTreeSet;

/// Nodes that are matched no more. They stay known, so that congruence and look-ups find their
/// classes; they only no longer stand in them.
#[derive(Debug, Default)]
pub(super) struct Subsumed {
    nodes: Vec<Node>,
}

impl Subsumed {
    /// Takes a node out of the search, if there is one.
    pub fn add(&mut self, node: Option<Node>) {
        self.nodes.extend(node);
    }

    /// Removes the nodes from their classes, as far as restoring congruence has put them back. The
    /// last node of a class stays. The e-graph must be clean.
    pub fn remove<A: Knowledge>(&mut self, egraph: &mut EGraph<A>) {
        if self.nodes.is_empty() {
            return;
        }
        let mut classes: BTreeSet<Id> = BTreeSet::new();
        for node in &mut self.nodes {
            // Looking a node up puts the classes of today in place of its children.
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
