//! Where what a rule made gets stuck on the way to a finished program.

use super::forced::Reach;
use crate::facts::EGraph;
use crate::rules::Signature;
use crate::show::Show;
use crate::term::Node;
use egg::{Id, Language};
use itertools::Itertools;
use std::collections::BTreeSet;

/// Where it gets stuck.
pub(super) enum Stuck {
    /// Parts of programs contain it up to this class, and no node above the class accepts them.
    Above(Id, Vec<(Id, Node)>),
    /// A node, and the part of it that has no form which a program can contain.
    Below(Node, Id),
}

/// Finds where; `None` where no node was made.
pub(super) fn stuck(
    show: &Show<'_>,
    signature: &Signature,
    reach: &Reach,
    made: &BTreeSet<Node>,
) -> Option<Stuck> {
    let egraph = show.egraph;
    let depth = |class: &Id| (show.depth(*class), *class);
    let reached = reach.marked.iter().filter(|class| show.depth(**class).is_some());
    if let Some(class) = reached.copied().min_by_key(depth) {
        let nodes = egraph.classes().flat_map(|of| of.nodes.iter().map(move |node| (of.id, node)));
        let above = nodes.filter(|(_, node)| {
            !is_boundary(signature, node)
                && node.children().iter().any(|c| egraph.find(*c) == class)
        });
        return Some(Stuck::Above(class, above.map(|(id, node)| (id, node.clone())).collect()));
    }
    let lowest = |node: &&Node| {
        let class = egraph.lookup((*node).clone());
        class.map_or((true, None), |class| (show.depth(class).is_none(), show.depth(class)))
    };
    let units = made.iter().filter(|node| !is_boundary(signature, node));
    units.sorted_by_key(lowest).find_map(|node| {
        first(egraph, signature, reach, node).map(|part| Stuck::Below(node.clone(), part))
    })
}

fn is_boundary(signature: &Signature, node: &Node) -> bool {
    signature.operator_of(node).is_some_and(|operator| operator.boundary)
}

/// The part of a node that keeps it from being finished: the deepest on the way down.
fn first(egraph: &EGraph, signature: &Signature, reach: &Reach, node: &Node) -> Option<Id> {
    let open = |node: &Node| {
        let mut classes = node.children().iter().map(|c| egraph.find(*c));
        classes.find(|class| !reach.possible.contains(class))
    };
    let mut seen = BTreeSet::new();
    let mut at = open(node)?;
    while seen.insert(at) {
        // A boundary is where rules are missing; below other operators it goes on.
        let mut below = egraph[at].nodes.iter().filter(|node| !is_boundary(signature, node));
        match below.find_map(open) {
            Some(next) => at = next,
            None => break,
        }
    }
    Some(at)
}
