//! The table of known nodes: from the hash of a node to the id of an equal one.
//!
//! Nodes stand elsewhere; the table holds the half of the hash that it needs to grow. An entry whose
//! node has changed since stays behind and is never found: its children are no classes any more.

use egg::Id;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

#[derive(Clone, Debug, Default)]
pub(crate) struct Memo {
    table: HashTable<(u32, Id)>,
}

/// The part of a node's hash that the table keeps.
pub(crate) fn hash(node: &impl Hash) -> u32 {
    let mut hasher = FxHasher::default();
    node.hash(&mut hasher);
    let hash = hasher.finish();
    (hash ^ (hash >> 32)) as u32
}

/// Spreads the kept part over all the bits that the table looks at.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Memo {
    /// The id of a node with this hash that is the one asked for.
    pub fn get(&self, hash: u32, is_it: impl Fn(Id) -> bool) -> Option<Id> {
        let found = self.table.find(spread(hash), |&(kept, id)| kept == hash && is_it(id));
        found.map(|(_, id)| *id)
    }

    /// Puts an id in for a node that is not known.
    pub fn insert(&mut self, hash: u32, id: Id) {
        self.table.insert_unique(spread(hash), (hash, id), |&(kept, _)| spread(kept));
    }

    /// Puts an id in for a node, and gives the one that was there for it.
    pub fn replace(&mut self, hash: u32, id: Id, is_it: impl Fn(Id) -> bool) -> Option<Id> {
        let found = self.table.find_mut(spread(hash), |&(kept, id)| kept == hash && is_it(id));
        match found {
            Some((_, known)) => Some(std::mem::replace(known, id)),
            None => {
                self.insert(hash, id);
                None
            }
        }
    }
}
