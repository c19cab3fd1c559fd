//! The table of known nodes: from the hash of a node to the id of an equal one.
//!
//! Nodes are stored elsewhere. The table keeps half of each hash, which distinguishes most nodes and suffices to grow
//! the table. In a large e-graph every look-up waits for memory, so an entry is one word and probing is linear (at most
//! half of the slots are full): a look-up waits once for the table and once for the node. An entry whose node has
//! changed remains but is never found, because the children in its node are no longer canonical.

use egg::Id;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

#[derive(Clone, Debug)]
pub(crate) struct Memo {
    /// The slots; their number is a power of two.
    slots: Vec<Slot>,
    taken: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    /// The id of a node, or [`FREE`].
    id: u32,
}

const FREE: u32 = u32::MAX;

impl Default for Memo {
    fn default() -> Memo {
        let slots = vec![Slot { hash: 0, id: FREE }; 16];
        Memo { slots, taken: 0 }
    }
}

/// Returns the half of a node's hash that the table keeps.
#[inline(always)]
pub(crate) fn hash(node: &impl Hash) -> u32 {
    let mut hasher = FxHasher::default();
    node.hash(&mut hasher);
    let hash = hasher.finish();
    (hash ^ (hash >> 32)) as u32
}

impl Memo {
    /// Returns the slot of the node that has this hash and satisfies `is_it`, or the free slot for it.
    #[inline(always)]
    fn slot(&self, hash: u32, is_it: impl Fn(Id) -> bool) -> usize {
        let last = self.slots.len() - 1;
        let mut at = self.first(hash);
        loop {
            let slot = self.slots[at];
            if slot.id == FREE || (slot.hash == hash && is_it(Id::from(slot.id as usize))) {
                return at;
            }
            at = (at + 1) & last;
        }
    }

    /// Returns the first slot to probe. Every bit of the hash influences it.
    #[inline(always)]
    fn first(&self, hash: u32) -> usize {
        let spread = u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (spread >> 32) as usize & (self.slots.len() - 1)
    }

    /// Prefetches the first slot that a look-up reads.
    #[inline(always)]
    pub fn touch(&self, hash: u32) {
        std::hint::black_box(self.slots[self.first(hash)].hash);
    }

    /// Returns the id of the node that has this hash and satisfies `is_it`.
    #[inline(always)]
    pub fn get(&self, hash: u32, is_it: impl Fn(Id) -> bool) -> Option<Id> {
        let id = self.slots[self.slot(hash, is_it)].id;
        (id != FREE).then(|| Id::from(id as usize))
    }

    /// Inserts the id of a node that is not in the table.
    #[inline(always)]
    pub fn insert(&mut self, hash: u32, id: Id) {
        let at = self.slot(hash, |_| false);
        self.take(at, hash, usize::from(id) as u32);
    }

    /// Inserts the id of a node and returns the id that it replaces, if there was one.
    #[inline]
    pub fn replace(&mut self, hash: u32, id: Id, is_it: impl Fn(Id) -> bool) -> Option<Id> {
        let at = self.slot(hash, is_it);
        let known = self.slots[at].id;
        if known == FREE {
            self.take(at, hash, usize::from(id) as u32);
            return None;
        }
        self.slots[at].id = usize::from(id) as u32;
        Some(Id::from(known as usize))
    }

    #[inline(always)]
    fn take(&mut self, at: usize, hash: u32, id: u32) {
        self.slots[at] = Slot { hash, id };
        self.taken += 1;
        if self.taken * 2 > self.slots.len() {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![Slot { hash: 0, id: FREE }; self.slots.len() * 2];
        let known = std::mem::replace(&mut self.slots, larger);
        for slot in known.into_iter().filter(|slot| slot.id != FREE) {
            let at = self.slot(slot.hash, |_| false);
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes are numbers here. Many of them share a hash, and the table grows several times.
    #[test]
    fn finds_the_node_asked_for_among_those_of_its_hash() {
        let hash = |n: usize| (n as u32 % 97).wrapping_mul(0x0101_0101);
        let is = |n: usize| move |id: Id| usize::from(id) == n;
        let mut memo = Memo::default();
        (0..1000).step_by(2).for_each(|n| memo.insert(hash(n), Id::from(n)));
        for n in 0..1000 {
            let known = (n % 2 == 0).then(|| Id::from(n));
            assert_eq!(memo.get(hash(n), is(n)), known);
            // From here on, the entry of an even number holds the odd number after it.
            assert_eq!(memo.replace(hash(n), Id::from(n | 1), is(n)), known);
            assert_eq!(memo.get(hash(n), is(n)), (n % 2 == 1).then(|| Id::from(n)));
        }
    }
}
