//! Random members of classes: each node has a pseudo-random price, so that any member of a class may be the cheapest.

use egg::{CostFunction, Id, Language};
use ember_language::term::Node;
use std::hash::{Hash, Hasher};

/// The price of an avoided operator: its node is chosen only if the class contains nothing else.
pub const DEAR: u64 = 1 << 40;

/// A cost function with pseudo-random prices. A number is free: steps and numbers of lanes must be chosen as literals.
pub struct Lottery<F: Fn(&Node) -> bool> {
    /// The seed of the prices.
    pub salt: u64,
    /// Returns true for operators to be avoided.
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
