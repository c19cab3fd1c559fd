//! Members of classes by chance: each node has a price that a number decides, so that any member of a class
//! may be the cheapest.

use egg::{CostFunction, Id, Language};
use ember_language::term::Node;
use std::hash::{Hash, Hasher};

/// What is avoided costs so much, and is left where nothing else is there.
pub const DEAR: u64 = 1 << 40;

/// Gives every node a price by chance. A number costs nothing: steps and numbers of lanes must be chosen as
/// what they are.
pub struct Lottery<F: Fn(&Node) -> bool> {
    /// Decides the prices.
    pub salt: u64,
    /// Operators that are to be avoided.
    pub avoid: F,
}

impl<F: Fn(&Node) -> bool> CostFunction<Node> for Lottery<F> {
    type Cost = u64;

    fn cost<C: FnMut(Id) -> u64>(&mut self, node: &Node, mut costs: C) -> u64 {
        if node.name().is_none() {
            return 0;
        }
        let mut hasher = rustc_hash::FxHasher::default();
        (self.salt, node).hash(&mut hasher);
        let price = match (self.avoid)(node) {
            true => DEAR,
            false => 1 + (hasher.finish() >> 32) % 64,
        };
        node.fold(price, |sum, child| sum.saturating_add(costs(child)))
    }
}
