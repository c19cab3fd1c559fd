//! A class of equal nodes.

use egg::Id;
use smallvec::{Array, SmallVec};

/// A class. Most have one node and few parents, so that one node and four parents stand in place.
#[derive(Clone, Debug)]
pub struct EClass<L, D> {
    /// The id that stands for it.
    pub id: Id,
    /// Its nodes; sorted, different, and over ids that stand for classes while the e-graph is clean.
    pub nodes: SmallVec<[L; 1]>,
    /// What is known of it.
    pub data: D,
    /// The ids of nodes that have it as a child.
    pub(crate) parents: SmallVec<[Id; 4]>,
    /// Whether its nodes may be out of order, or over ids that no longer stand for classes.
    pub(crate) changed: bool,
}

impl<L, D> EClass<L, D> {
    pub(crate) fn new(id: Id, node: L, data: D) -> EClass<L, D> {
        let nodes = SmallVec::from_buf([node]);
        EClass { id, nodes, data, parents: SmallVec::new(), changed: true }
    }

    /// The ids of the nodes above it, which need not stand for their classes.
    pub fn parents(&self) -> impl ExactSizeIterator<Item = Id> + '_ {
        self.parents.iter().copied()
    }
}

/// Appends the shorter list to the longer.
pub(crate) fn append<A: Array>(to: &mut SmallVec<A>, mut from: SmallVec<A>) {
    if to.len() < from.len() {
        std::mem::swap(to, &mut from);
    }
    to.extend(from);
}
