//! Finds what rules with `:subsume` removed from the search.

use egg::{Id, Symbol};
use ember_analysis::facts::EGraph;
use ember_engine::CompiledRule;
use ember_engine::journal::Entry;
use ember_language::term::Node;

/// A node that is no longer matched.
#[derive(Clone, Debug)]
pub(super) struct Removed {
    /// The rule that removed it.
    pub by: Symbol,
    /// Its class.
    pub class: Id,
    /// The node.
    pub node: Node,
}

impl Removed {
    /// Returns the nodes that are missing in the classes of an e-graph, in the order in which they were removed.
    pub fn all(compiled: &[CompiledRule], egraph: &EGraph) -> Vec<Removed> {
        let subsuming: Vec<&CompiledRule> = compiled.iter().filter(|rule| rule.subsume).collect();
        let mut all: Vec<Removed> = Vec::new();
        for entry in egraph.analysis.journal().entries() {
            let Entry::Rule { rule, slots, .. } = entry else { continue };
            let Some(own) = subsuming.iter().find(|own| own.name == *rule) else { continue };
            let slots: Vec<Id> = slots.iter().map(|id| egraph.find(*id)).collect();
            let Some(mut node) = own.root(egraph, &slots) else { continue };
            let Some(class) = egraph.lookup(&mut node) else { continue };
            let known = egraph[class].nodes.contains(&node);
            if !known && all.iter().all(|other| other.node != node) {
                all.push(Removed { by: *rule, class, node });
            }
        }
        all
    }

    /// Returns the e-graph with removed nodes back in their classes.
    pub fn restored(removed: &[&Removed], egraph: &EGraph) -> EGraph {
        let mut egraph = egraph.clone();
        for Removed { class, node, .. } in removed {
            egraph[*class].nodes.push(node.clone());
        }
        egraph.rebuild();
        egraph
    }
}
