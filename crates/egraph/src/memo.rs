//! The table of known nodes: from the hash of a node to the id of an equal one.
//!
//! Nodes stand elsewhere; the table holds half of a hash, which tells most other nodes apart and is
//! what it needs to grow. In a large e-graph every look-up waits for memory, so that an entry is one
//! word among its neighbours (linear probing, at most half full): one wait a look-up and one for the
//! node. An entry whose node has changed since stays behind and is never found: its children are no
//! classes any more.

use egg::Id;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

#[derive(Clone, Debug)]
pub(crate) struct Memo {
    /// A power of two of them.
    slots: Vec<Slot>,
    taken: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    /// [`FREE`], or that of a node.
    id: u32,
}

const FREE: u32 = u32::MAX;

impl Default for Memo {
    fn default() -> Memo {
        let slots = vec![Slot { hash: 0, id: FREE }; 16];
        Memo { slots, taken: 0 }
    }
}

/// The part of a node's hash that the table keeps.
#[inline(always)]
pub(crate) fn hash(node: &impl Hash) -> u32 {
    let mut hasher = FxHasher::default();
    node.hash(&mut hasher);
    let hash = hasher.finish();
    (hash ^ (hash >> 32)) as u32
}

impl Memo {
    /// The slot of the node with this hash that is the one asked for, or the free one for it.
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

    /// The first slot to look at. Every bit of the hash has a part in it.
    #[inline(always)]
    fn first(&self, hash: u32) -> usize {
        let spread = u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (spread >> 32) as usize & (self.slots.len() - 1)
    }

    /// Reads the first slot that a look-up reads.
    #[inline(always)]
    pub fn touch(&self, hash: u32) {
        std::hint::black_box(self.slots[self.first(hash)].hash);
    }

    /// The id of a node with this hash that is the one asked for.
    #[inline(always)]
    pub fn get(&self, hash: u32, is_it: impl Fn(Id) -> bool) -> Option<Id> {
        let id = self.slots[self.slot(hash, is_it)].id;
        (id != FREE).then(|| Id::from(id as usize))
    }

    /// Puts an id in for a node that is not known.
    #[inline(always)]
    pub fn insert(&mut self, hash: u32, id: Id) {
        let at = self.slot(hash, |_| false);
        self.take(at, hash, usize::from(id) as u32);
    }

    /// Puts an id in for a node, and gives the one that was there for it.
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

    /// Nodes are numbers; many share a hash, and the table grows several times.
    #[test]
    fn finds_the_node_asked_for_among_those_of_its_hash() {
        let hash = |n: usize| (n as u32 % 97).wrapping_mul(0x0101_0101);
        let is = |n: usize| move |id: Id| usize::from(id) == n;
        let mut memo = Memo::default();
        (0..1000).step_by(2).for_each(|n| memo.insert(hash(n), Id::from(n)));
        for n in 0..1000 {
            let known = (n % 2 == 0).then(|| Id::from(n));
            assert_eq!(memo.get(hash(n), is(n)), known);
            // The entry of an even number then stands for the odd one after it.
            assert_eq!(memo.replace(hash(n), Id::from(n | 1), is(n)), known);
            assert_eq!(memo.get(hash(n), is(n)), (n % 2 == 1).then(|| Id::from(n)));
        }
    }
}
