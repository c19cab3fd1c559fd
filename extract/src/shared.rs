//! Sets of classes with the sum of their costs. Sets that are made of each other share their parts, so that a set of a
//! hundred thousand classes and one class more takes little more room than one set.
//!
//! A set is a Patricia trie on the numbers of the classes (Okasaki and Gill, *Fast mergeable integer maps*, 1998): its
//! form depends on the members alone, and parts that two sets share are united without a look at what is in them.

use crate::graph::Class;
use std::rc::Rc;

/// A set of at least one class.
#[derive(Clone, Debug)]
pub(crate) enum Set {
    One(Class, f64),
    Two(Rc<Pair>),
}

/// Two sets whose members differ in a bit.
#[derive(Debug)]
pub(crate) struct Pair {
    /// The bits above `bit`, which all members have in common.
    prefix: u32,
    bit: u32,
    cost: f64,
    count: u32,
    /// The members without the bit.
    low: Set,
    /// The members with it.
    high: Set,
}

impl Set {
    /// Returns the sum of the members' costs. It is no less for a larger set, even rounded.
    pub fn cost(&self) -> f64 {
        match self {
            Set::One(_, cost) => *cost,
            Set::Two(pair) => pair.cost,
        }
    }

    /// Returns the number of members.
    pub fn count(&self) -> u32 {
        match self {
            Set::One(..) => 1,
            Set::Two(pair) => pair.count,
        }
    }

    fn is(&self, other: &Set) -> bool {
        match (self, other) {
            (Set::One(a, _), Set::One(b, _)) => a == b,
            (Set::Two(a), Set::Two(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Returns some member, and the bits in which the members differ.
    fn range(&self) -> (u32, u32) {
        match self {
            Set::One(class, _) => (class.0, 0),
            // The bit and all below it.
            Set::Two(pair) => (pair.prefix, pair.bit | (pair.bit - 1)),
        }
    }

    fn pair(prefix: u32, bit: u32, low: Set, high: Set) -> Set {
        let (cost, count) = (low.cost() + high.cost(), low.count() + high.count());
        Set::Two(Rc::new(Pair { prefix, bit, cost, count, low, high }))
    }

    /// Returns the union of two sets without a common member.
    fn apart(&self, other: &Set, differ: u32) -> Set {
        let bit = 1 << differ.ilog2();
        let (low, high) = if self.range().0 & bit == 0 { (self, other) } else { (other, self) };
        let prefix = low.range().0 & !(bit | (bit - 1));
        Set::pair(prefix, bit, low.clone(), high.clone())
    }

    /// Returns the union of two sets. A class has the same cost in both. The number of steps is added to `steps`.
    pub fn union(&self, other: &Set, steps: &mut u64) -> Set {
        *steps += 1;
        if self.is(other) {
            return self.clone();
        }
        let ((a, below_a), (b, below_b)) = (self.range(), other.range());
        let differ = (a ^ b) & !(below_a | below_b);
        if differ != 0 {
            return self.apart(other, differ);
        }
        match (self, other) {
            (Set::Two(p), Set::Two(q)) if p.bit == q.bit => {
                let low = p.low.union(&q.low, steps);
                let high = p.high.union(&q.high, steps);
                self.with(p, low, high)
            }
            (Set::Two(p), _) if below_b < p.bit => self.insert(p, b, other, steps),
            (_, Set::Two(q)) => other.insert(q, a, self, steps),
            // Two classes that do not differ are the same.
            _ => self.clone(),
        }
    }

    /// Returns the union of a pair and a set on one side of it.
    fn insert(&self, pair: &Rc<Pair>, member: u32, other: &Set, steps: &mut u64) -> Set {
        if member & pair.bit == 0 {
            self.with(pair, pair.low.union(other, steps), pair.high.clone())
        } else {
            self.with(pair, pair.low.clone(), pair.high.union(other, steps))
        }
    }

    /// Returns a pair with other halves; itself if they are its own.
    fn with(&self, pair: &Rc<Pair>, low: Set, high: Set) -> Set {
        if pair.low.is(&low) && pair.high.is(&high) {
            return self.clone();
        }
        Set::pair(pair.prefix, pair.bit, low, high)
    }
}
