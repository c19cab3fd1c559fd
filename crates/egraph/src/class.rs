//! The e-class: its e-nodes, its analysis data and its parents.

use egg::Id;
use smallvec::{Array, SmallVec};

/// An e-class. Most classes have one e-node and few parents, so one e-node and four parents are stored inline.
#[derive(Clone, Debug)]
pub struct EClass<L, D> {
    /// The canonical id of the class.
    pub id: Id,
    /// The e-nodes. While the e-graph is clean they are sorted, distinct and have canonical children.
    pub nodes: SmallVec<[L; 1]>,
    /// The analysis data.
    pub data: D,
    /// The ids of the e-nodes that have this class as a child.
    pub(crate) parents: SmallVec<[Id; 4]>,
    /// True if the e-nodes may be out of order or have children that are no longer canonical.
    pub(crate) changed: bool,
}

impl<L, D> EClass<L, D> {
    pub(crate) fn new(id: Id, node: L, data: D) -> EClass<L, D> {
        let nodes = SmallVec::from_buf([node]);
        EClass { id, nodes, data, parents: SmallVec::new(), changed: true }
    }

    /// Returns the ids of the parent e-nodes, which need not be canonical.
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
