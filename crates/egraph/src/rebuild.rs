//! Restores congruence: nodes that have become equal are united until none are left.

use crate::{Analysis, EGraph, find_mut, memo};
use egg::{Id, Language};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// A first-in, first-out queue of ids, in which each id waits at most once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    waiting: FxHashSet<Id>,
    order: VecDeque<Id>,
}

impl Queue {
    pub fn extend(&mut self, ids: &[Id]) {
        for &id in ids {
            if self.waiting.insert(id) {
                self.order.push_back(id);
            }
        }
    }

    fn pop(&mut self) -> Option<Id> {
        let id = self.order.pop_front()?;
        self.waiting.remove(&id);
        Some(id)
    }
}

impl<L: Language, N: Analysis<L>> EGraph<L, N> {
    /// Restores congruence and the order of the nodes in their classes.
    pub fn rebuild(&mut self) {
        loop {
            while let Some(id) = self.pending.pop() {
                self.restore(id);
            }
            let Some(id) = self.informed.pop() else { break };
            self.inform(id);
            // All data is propagated upwards before congruence is restored again.
            while let Some(id) = self.informed.pop() {
                self.inform(id);
            }
        }
        self.sort();
        self.clean = true;
    }

    /// Makes the children of a node canonical, and unites it with the node that it has become equal to.
    fn restore(&mut self, id: Id) {
        let known = &self.canonical[usize::from(id)];
        // An equal node was already united with this one when it was found.
        if known.children().iter().all(|child| self.parents[usize::from(*child)] == *child) {
            return;
        }
        let mut node = known.clone();
        node.update_children(|child| find_mut(&mut self.parents, child));
        let hash = memo::hash(&node);
        let class = self.find_mut(id);
        let place = self.places[usize::from(class)] as usize;
        self.classes[place].changed = true;
        let canonical = &self.canonical;
        let known = self.memo.replace(hash, id, |id| canonical[usize::from(id)] == node);
        self.canonical[usize::from(id)] = node;
        if let Some(known) = known {
            self.union(known, id);
        }
    }

    /// Recomputes the data that a node contributes to its class.
    fn inform(&mut self, id: Id) {
        let node = self.canonical[usize::from(id)].clone();
        let class = self.find_mut(id);
        let data = N::make(self, &node, class);
        let place = self.places[usize::from(class)] as usize;
        let known = &mut self.classes[place];
        if self.analysis.merge(&mut known.data, data).0 {
            self.informed.extend(&known.parents);
            N::modify(self, class);
        }
    }

    /// Sorts the nodes of the changed classes, and indexes the classes by their operators.
    fn sort(&mut self) {
        self.by_operator.values_mut().for_each(Vec::clear);
        for class in &mut self.classes {
            if class.changed {
                for node in &mut class.nodes {
                    node.update_children(|id| find_mut(&mut self.parents, id));
                }
                class.nodes.sort_unstable();
                class.nodes.dedup();
                class.changed = false;
            }
            let mut last: Option<&L> = None;
            for node in &class.nodes {
                if last.is_none_or(|last| !last.matches(node)) {
                    let ids = self.by_operator.entry(node.discriminant()).or_default();
                    // Nodes with one operator need not be adjacent.
                    if ids.last() != Some(&class.id) {
                        ids.push(class.id);
                    }
                    last = Some(node);
                }
            }
        }
    }
}
