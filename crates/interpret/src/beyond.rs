//! Memory beyond the extents of tensors.
//!
//! A run on open memory never faults because of an index: each tensor has an element for every tuple of integers. Those
//! beyond its extents hold arbitrary numbers, which depend on nothing but the tensor, the tuple and a seed. Where a
//! program runs without a fault, it does the same on open memory. Steps that are right there compose, whatever the
//! programs between them do beyond the extents.

use super::value::Place;
use ember_values::scalar::{DType, Scalar};
use std::collections::BTreeMap;

/// An element beyond the extents, by its tensor's number and the hash of its indices.
pub(super) type Key = (u32, u64);

/// The elements beyond the extents.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Beyond {
    seed: u64,
    /// The elements that a run has written.
    written: BTreeMap<Key, Scalar>,
    /// The tensors whose other elements all hold zeros.
    cleared: Vec<u32>,
}

impl Beyond {
    pub fn new(seed: u64) -> Beyond {
        Beyond { seed, written: BTreeMap::new(), cleared: Vec::new() }
    }

    /// Returns what a tensor holds beyond its extents.
    pub fn get(&self, (tensor, position): Key, dtype: DType) -> Scalar {
        let held = self.written.get(&(tensor, position)).copied();
        held.unwrap_or_else(|| self.before((tensor, position), dtype))
    }

    /// Returns what a tensor held beyond its extents before anything was written: small numbers, so that many of them
    /// are positions.
    fn before(&self, (tensor, position): Key, dtype: DType) -> Scalar {
        if self.cleared.contains(&tensor) {
            return Scalar::zero(dtype);
        }
        let hash = mixed(mixed(self.seed, u64::from(tensor)), position);
        let x = (hash >> 32) % 5;
        Scalar::from_f64(dtype, if dtype.is_float() { x as f64 / 4.0 } else { x as f64 })
    }

    /// Writes an element. An element that holds what it held before is as if it was never written.
    pub fn set(&mut self, key: Key, value: Scalar) {
        if self.before(key, value.dtype()) == value {
            self.written.remove(&key);
        } else {
            self.written.insert(key, value);
        }
    }

    /// Fills a tensor with zeros.
    pub fn clear(&mut self, tensor: u32) {
        self.written.retain(|(own, _), _| *own != tensor);
        if !self.cleared.contains(&tensor) {
            self.cleared.push(tensor);
        }
    }

    /// Undoes the changes between two earlier states.
    pub fn undo(&mut self, before: &Beyond, after: &Beyond) {
        for key in before.written.keys().chain(after.written.keys()) {
            let old = before.written.get(key);
            if old == after.written.get(key) {
                continue;
            }
            match old {
                Some(old) => self.written.insert(*key, *old),
                None => self.written.remove(key),
            };
        }
        self.cleared.clone_from(&before.cleared);
    }

    /// Returns the elements that hold something else than before.
    pub fn written(self) -> BTreeMap<Key, Scalar> {
        self.written
    }
}

impl Place {
    /// Returns the part of a place at an index beyond the extents, or at any index of a part that lies there.
    pub fn beyond(self, index: i64) -> Place {
        let inside =
            if self.beyond { self.position } else { mixed(u64::from(self.depth), self.position) };
        Place { depth: self.depth + 1, position: mixed(inside, index as u64), beyond: true, ..self }
    }
}

/// Mixes a number into a hash (the finalizer of SplitMix64).
fn mixed(hash: u64, n: u64) -> u64 {
    let mut z = hash.rotate_left(25) ^ n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
