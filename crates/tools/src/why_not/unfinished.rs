//! Finds where a rule's results get stuck on the way to a finished program.

use super::forced::Reach;
use crate::show::Show;
use egg::{Id, Language};
use ember_analysis::facts::EGraph;
use ember_language::rules::Signature;
use ember_language::term::{Node, Term};
use itertools::Itertools;
use std::collections::BTreeSet;

/// The place at which they get stuck.
pub(super) enum Stuck {
    /// Parts of programs contain a result up to a class (here with one of its forms); no node above accepts it.
    Above { class: Id, form: Term, refused_by: Vec<Node> },
    /// A node, and its part that has no form that a program can contain.
    Below { node: Node, part: Id },
}

/// Finds the place; `None` if no node was made.
pub(super) fn stuck(
    show: &Show<'_>,
    signature: &Signature,
    reach: &Reach,
    made: &BTreeSet<Node>,
) -> Option<Stuck> {
    let egraph = show.egraph;
    let nearest = |class: &Id| Some((show.depth(*class)?, *class));
    let marked = egraph.classes().map(|class| class.id).filter(|id| reach.marked(*id).is_some());
    if let Some((_, class)) = marked.filter_map(|id| nearest(&id)).min() {
        let form = reach.marked(class)?;
        let refuses = |id: Id, node: &Node| {
            let has = node.children().iter().any(|child| egraph.find(*child) == class);
            has && !is_boundary(signature, node) && reach.marked(id).is_none()
        };
        let above = egraph.classes().filter(|above| show.depth(above.id).is_some());
        let nodes = above.flat_map(|above| above.nodes.iter().map(|node| (above.id, node)));
        let nodes = nodes.filter(|(id, node)| refuses(*id, node)).map(|(_, node)| node.clone());
        return Some(Stuck::Above { class, form, refused_by: nodes.collect() });
    }
    let lowest = |node: &&Node| {
        let class = egraph.lookup((*node).clone());
        class.map_or((true, None), |class| (show.depth(class).is_none(), show.depth(class)))
    };
    let units = made.iter().filter(|node| !is_boundary(signature, node));
    units.sorted_by_key(lowest).find_map(|node| {
        first(egraph, signature, reach, node).map(|part| Stuck::Below { node: node.clone(), part })
    })
}

fn is_boundary(signature: &Signature, node: &Node) -> bool {
    signature.operator_of(node).is_some_and(|operator| operator.boundary)
}

/// Returns the part of a node that keeps it from being finished: the deepest on the way down.
fn first(egraph: &EGraph, signature: &Signature, reach: &Reach, node: &Node) -> Option<Id> {
    let open = |node: &Node| {
        let mut classes = node.children().iter().map(|c| egraph.find(*c));
        classes.find(|class| !reach.is_possible(*class))
    };
    let mut seen = BTreeSet::new();
    let mut at = open(node)?;
    while seen.insert(at) {
        // Rules are missing at a boundary; below other operators the search continues.
        let mut below = egraph[at].nodes.iter().filter(|node| !is_boundary(signature, node));
        match below.find_map(open) {
            Some(next) => at = next,
            None => break,
        }
    }
    Some(at)
}

/// Returns the operators in a class that rules would have to lower, in words.
pub(super) fn to_lower(show: &Show<'_>, signature: &Signature, part: Id) -> String {
    let nodes = show.egraph[part].nodes.iter();
    let words = nodes.map(|node| match node.children() {
        [below] if is_boundary(signature, node) => {
            format!("`{node}` of {}", show.operators(show.egraph.find(*below)))
        }
        _ => format!("`{node}`"),
    });
    words.unique().join(", ")
}
