//! What extraction remembers of a candidate: cost, scope, shared streams and effects.

use super::vector::Cost;
use super::{Scope, Streams};
use crate::term::Node;
use egg::{Id, Symbol};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A stream of the access unit that no loop has paid for yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamUse {
    /// The loop variables it depends on.
    pub scope: Scope,
    /// Bytes of one element.
    pub element: f64,
    /// Lanes.
    pub lanes: f64,
    /// Arithmetic a traversal unit does for it.
    pub steps: f64,
    /// Whether it loads.
    pub loads: bool,
    /// For a load: the variable along which consecutive elements are neighbours in memory.
    pub stride: Option<Id>,
    /// For a load: the share of its lines that come from DRAM.
    pub misses: f64,
    /// Whether it is pushed to the execute unit.
    pub marshalled: bool,
    /// Whether the execute unit loads what it has read ahead.
    pub fetched: bool,
}

/// A load of a sequential program that no loop encloses yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The loop variables that its address depends on.
    pub scope: Scope,
    /// The variable along which consecutive elements are neighbours in memory.
    pub stride: Option<Id>,
    /// The part of a line that one element is.
    pub part: f64,
}

/// All that matters about a candidate. The meaning of the later fields depends on the sort; those
/// that do not apply keep their defaults, so that they never tell two candidates apart.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Structural identity of the term: equal terms, equal keys.
    pub key: u64,
    /// Number of nodes as a tree: breaks ties in favour of the shorter term.
    pub size: f64,
    /// Identity of the loops inside, in their order: terms of one are alike in which places of memory
    /// follow which.
    pub loops: u64,
    /// Cost of one evaluation, without the streams below.
    pub cost: Cost,
    /// Streams used and not paid for.
    pub streams: Streams,
    /// Loads whose innermost loop is not known yet; only sequential programs have any.
    pub loads: Vec<Load>,
    /// Free variables of streams: an access loop must bind them.
    pub stream_scope: Scope,
    /// Free variables of execute values: any loop may bind them.
    pub execute_scope: Scope,
    /// Whether there is a walk inside, which only access loops may enclose.
    pub walks: bool,
    /// Whether a callback runs at the top level of this statement.
    pub callback_here: bool,
    /// Tensors that the access unit writes.
    pub stored: BTreeSet<Symbol>,
    /// Tensors that the execute unit reads or writes.
    pub touched: BTreeSet<Symbol>,
    /// Of an address: its tensor.
    pub tensor: Option<Symbol>,
    /// Bytes of one element of a value, stream or addressed tensor.
    pub element: f64,
    /// Lanes of a value, stream or address.
    pub lanes: f64,
    /// Of an index or address: the variable along which it moves by one element.
    pub stride: Option<Id>,
    /// Of an index or address: the share of evaluations in which it is its own; in the others it is
    /// that of a place which is used anyway.
    pub share: f64,
    /// Whether the term is a number or a symbolic size.
    pub literal: bool,
}

impl Summary {
    /// A term without cost, of children without cost.
    pub fn passive(children: &[&Summary]) -> Summary {
        Summary {
            key: 0,
            size: 1.0 + children.iter().map(|c| c.size).sum::<f64>(),
            loops: 0,
            cost: Cost::default(),
            streams: Streams::new(),
            loads: Vec::new(),
            stream_scope: Scope::new(),
            execute_scope: Scope::new(),
            walks: false,
            callback_here: false,
            stored: BTreeSet::new(),
            touched: BTreeSet::new(),
            tensor: None,
            element: 8.0,
            lanes: 1.0,
            stride: None,
            share: 1.0,
            literal: false,
        }
    }

    /// A number or name.
    pub fn leaf(node: &Node, literal: bool) -> Summary {
        let mut summary = Summary { literal, ..Summary::passive(&[]) };
        summary.identify(node, &[]);
        summary
    }

    /// Everything the children cost and need, together.
    pub fn merge(children: &[&Summary]) -> Option<Summary> {
        children.iter().try_fold(Summary::passive(&[]), |all, child| all.and(child))
    }

    /// What two parts cost and need together; `None` where the units would disturb each other.
    pub fn and(&self, other: &Summary) -> Option<Summary> {
        let mut both = self.clone();
        both.size += other.size;
        if other.loops != 0 {
            both.loops = identity(&(both.loops, other.loops));
        }
        both.cost = both.cost + other.cost;
        for (key, stream) in &other.streams {
            both.streams
                .entry(*key)
                .and_modify(|s| s.marshalled |= stream.marshalled)
                .or_insert_with(|| stream.clone());
        }
        both.loads.extend_from_slice(&other.loads);
        both.stream_scope.extend(&other.stream_scope);
        both.execute_scope.extend(&other.execute_scope);
        both.share *= other.share;
        both.walks |= other.walks;
        both.callback_here |= other.callback_here;
        both.stored.extend(&other.stored);
        both.touched.extend(&other.touched);
        both.admissible().then_some(both)
    }

    /// Whether the access unit, which runs ahead, writes nothing that the execute unit touches.
    pub fn admissible(&self) -> bool {
        self.stored.is_disjoint(&self.touched)
    }

    /// Bytes of a value of this type.
    pub fn bytes(&self) -> f64 {
        self.element * self.lanes
    }

    /// Gives the summary its structural key.
    pub fn identify(&mut self, node: &Node, children: &[&Summary]) {
        let keys: Vec<u64> = children.iter().map(|child| child.key).collect();
        self.key = identity(&(node.head().to_string(), keys));
    }

    /// Puts a loop over a variable around what is inside.
    pub fn enclose(&mut self, variable: Id) {
        self.loops = identity(&(variable, self.loops));
    }

    /// Whether this may stand wherever `other` does and is never worse there.
    pub fn dominates(&self, other: &Summary) -> bool {
        let cheaper =
            self.cost.at_most(&other.cost) && (self.cost != other.cost || self.size <= other.size);
        self.fits(other)
            && self.share <= other.share
            && self.literal >= other.literal
            && cheaper
            && self.streams.iter().all(|(key, stream)| {
                other.streams.get(key).is_some_and(|s| stream.marshalled <= s.marshalled)
            })
    }

    /// Whether this may stand wherever `other` does.
    pub fn fits(&self, other: &Summary) -> bool {
        self.stream_scope.is_subset(&other.stream_scope)
            && self.execute_scope.is_subset(&other.execute_scope)
            && self.walks <= other.walks
            && self.stored.is_subset(&other.stored)
            && self.touched.is_subset(&other.touched)
            && self.element == other.element
            && self.lanes == other.lanes
            && self.stride == other.stride
            && self.loads == other.loads
    }
}

/// A hash that is the same in every run: the default hasher is keyed with zeros.
fn identity(parts: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}
