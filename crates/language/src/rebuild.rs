//! Terms and patterns made from others, node by node: the one walk over those who map, copy, look up or
//! instantiate them.

use egg::{Id, Language};
use rustc_hash::FxHashMap;

/// Makes something of a term or pattern from its leaves up. `each` is given a node's place and the node over
/// what was made of its operands. Gives what was made of the root.
pub fn rebuild<L: Language>(nodes: &[L], mut each: impl FnMut(usize, L) -> Id) -> Id {
    rebuild_all(nodes, &mut each).last().copied().unwrap_or_default()
}

/// Does the same where nothing may come of a node; then nothing comes of the whole.
pub fn try_rebuild<L: Language>(
    nodes: &[L],
    mut each: impl FnMut(usize, L) -> Option<Id>,
) -> Option<Id> {
    let mut made: Vec<Id> = Vec::with_capacity(nodes.len());
    for (at, node) in nodes.iter().enumerate() {
        made.push(each(at, over(node, &made))?);
    }
    made.last().copied()
}

/// Rebuilds every node, and returns the new ids by the positions of the nodes.
pub fn rebuild_all<L: Language>(nodes: &[L], mut each: impl FnMut(usize, L) -> Id) -> Vec<Id> {
    let mut made: Vec<Id> = Vec::with_capacity(nodes.len());
    for (at, node) in nodes.iter().enumerate() {
        made.push(each(at, over(node, &made)));
    }
    made
}

/// Makes something of the part below a node, operands in their order. `made` holds what was made of other
/// nodes before, which stands for them, and takes what is made of these.
pub fn rebuild_part<L: Language>(
    nodes: &[L],
    root: Id,
    made: &mut FxHashMap<Id, Id>,
    mut each: impl FnMut(L) -> Id,
) -> Id {
    let mut open = vec![root];
    while let Some(&at) = open.last() {
        if made.contains_key(&at) {
            open.pop();
            continue;
        }
        let (node, waiting) = (&nodes[usize::from(at)], open.len());
        open.extend(node.children().iter().rev().filter(|child| !made.contains_key(child)));
        if open.len() == waiting {
            let new = each(node.clone().map_children(|child| made[&child]));
            made.insert(at, new);
        }
    }
    made[&root]
}

fn over<L: Language>(node: &L, made: &[Id]) -> L {
    node.clone().map_children(|child| made[usize::from(child)])
}
