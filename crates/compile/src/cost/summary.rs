//! What extraction remembers of a candidate: cost, scope, shared streams and effects.

use super::few::Few;
use super::vector::Cost;
use egg::{Id, Symbol};
use ember_language::term::Node;
use siphasher::sip::SipHasher13;
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// A stream of the access unit, or a value that the execute unit holds, that no loop has paid for yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamUse {
    /// The loop variables it depends on.
    pub scope: Few<Id>,
    /// Bytes of one element.
    pub element: f64,
    /// Lanes.
    pub lanes: f64,
    /// Arithmetic a traversal unit does for it.
    pub steps: f64,
    /// For a held value: what computing it costs.
    pub computed: Cost,
    /// Whether it loads.
    pub loads: bool,
    /// For a load: the variable along which consecutive elements are neighbours in memory.
    pub stride: Option<Id>,
    /// For a load: the share of its lines that come from DRAM.
    pub misses: f64,
    /// For a load past the core's L2: the tensor.
    pub past_l2: Option<Symbol>,
    /// Whether it is pushed to the execute unit.
    pub marshalled: bool,
    /// Whether the execute unit loads what it has read ahead.
    pub fetched: bool,
}

/// Streams by the structural keys of their terms, in the keys' order. Candidates share them.
#[derive(Clone, Debug, Default)]
pub struct Streams(SmallVec<[(u64, Rc<StreamUse>); 4]>);

impl Streams {
    /// The stream of a term.
    pub fn get(&self, key: u64) -> Option<&StreamUse> {
        let at = self.0.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        Some(&self.0[at].1)
    }

    /// All streams.
    pub fn values(&self) -> impl Iterator<Item = &StreamUse> {
        self.0.iter().map(|(_, stream)| stream.as_ref())
    }

    /// Adds a stream, in place of one of the same key.
    pub fn insert(&mut self, key: u64, stream: StreamUse) {
        match self.0.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(at) => self.0[at].1 = Rc::new(stream),
            Err(at) => self.0.insert(at, (key, Rc::new(stream))),
        }
    }

    /// Adds all streams of another; what one of the two hands over is handed over.
    fn unite(&mut self, other: &Streams) {
        for (key, stream) in &other.0 {
            match self.0.binary_search_by_key(key, |(key, _)| *key) {
                Ok(at) if stream.marshalled && !self.0[at].1.marshalled => {
                    Rc::make_mut(&mut self.0[at].1).marshalled = true;
                }
                Ok(_) => {}
                Err(at) => self.0.insert(at, (*key, stream.clone())),
            }
        }
    }

    /// Takes out the streams of which something holds.
    pub fn take(&mut self, of: impl Fn(&StreamUse) -> bool) -> Vec<Rc<StreamUse>> {
        let mut taken = Vec::new();
        self.0.retain(|(_, stream)| {
            let takes = of(stream);
            if takes {
                taken.push(stream.clone());
            }
            !takes
        });
        taken
    }

    /// Whether the other has all of these too, handed over where these are.
    fn is_part(&self, other: &Streams) -> bool {
        self.0.len() <= other.0.len()
            && self.0.iter().all(|(key, stream)| {
                other.get(*key).is_some_and(|s| stream.marshalled <= s.marshalled)
            })
    }
}

/// A load of a sequential program that no loop encloses yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The loop variables that its address depends on.
    pub scope: Few<Id>,
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
    /// The same if nothing around it uses its streams too.
    pub alone: Cost,
    /// Streams and held values that are used and not paid for.
    pub streams: Streams,
    /// Loads whose innermost loop is not known yet; only sequential programs have any.
    pub loads: Vec<Load>,
    /// Free variables of streams: an access loop must bind them.
    pub stream_scope: Few<Id>,
    /// Free variables of execute values: any loop may bind them.
    pub execute_scope: Few<Id>,
    /// Whether there is a walk inside, which only access loops may enclose.
    pub walks: bool,
    /// Whether a callback runs at the top level of this statement.
    pub callback_here: bool,
    /// Tensors that the access unit writes.
    pub stored: Few<Symbol>,
    /// Tensors that the execute unit reads or writes.
    pub touched: Few<Symbol>,
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
            alone: Cost::default(),
            streams: Streams::default(),
            loads: Vec::new(),
            stream_scope: Few::new(),
            execute_scope: Few::new(),
            walks: false,
            callback_here: false,
            stored: Few::new(),
            touched: Few::new(),
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
        match node.name() {
            Some(name) => summary.identify(name, &[]),
            None => summary.identify(&node.to_string(), &[]),
        }
        summary
    }

    /// Everything the children cost and need, together; `None` where the units would disturb each
    /// other.
    pub fn merge(children: &[&Summary]) -> Option<Summary> {
        let mut all = Summary::passive(&[]);
        children.iter().for_each(|child| all.absorb(child));
        all.admissible().then_some(all)
    }

    /// What two parts cost and need together; `None` where the units would disturb each other.
    pub fn and(mut self, other: &Summary) -> Option<Summary> {
        self.absorb(other);
        self.admissible().then_some(self)
    }

    /// Adds what another part costs and needs.
    fn absorb(&mut self, other: &Summary) {
        self.size += other.size;
        if other.loops != 0 {
            self.loops = identity(&(self.loops, other.loops));
        }
        self.cost = self.cost + other.cost;
        self.streams.unite(&other.streams);
        self.loads.extend_from_slice(&other.loads);
        self.stream_scope.unite(&other.stream_scope);
        self.execute_scope.unite(&other.execute_scope);
        self.share *= other.share;
        self.walks |= other.walks;
        self.callback_here |= other.callback_here;
        self.stored.unite(&other.stored);
        self.touched.unite(&other.touched);
    }

    /// Whether the access unit, which runs ahead, writes nothing that the execute unit touches.
    pub fn admissible(&self) -> bool {
        self.stored.is_disjoint(&self.touched)
    }

    /// Bytes of a value of this type.
    pub fn bytes(&self) -> f64 {
        self.element * self.lanes
    }

    /// Gives the summary its structural key: that of a head over children.
    pub fn identify(&mut self, head: &str, children: &[&Summary]) {
        let keys: SmallVec<[u64; 10]> = children.iter().map(|child| child.key).collect();
        self.key = identity(&(head, keys.as_slice()));
    }

    /// Puts a loop over a variable around what is inside.
    pub fn enclose(&mut self, variable: Id) {
        self.loops = identity(&(variable, self.loops));
    }

    /// Whether this may stand wherever `other` does and is never worse there.
    pub fn dominates(&self, other: &Summary) -> bool {
        self.cost.at_most(&other.cost)
            && (self.cost != other.cost || self.size <= other.size)
            && self.share <= other.share
            && self.literal >= other.literal
            && self.fits(other)
            && self.streams.is_part(&other.streams)
    }

    /// Whether this may stand wherever `other` does.
    pub fn fits(&self, other: &Summary) -> bool {
        self.walks <= other.walks
            && self.element == other.element
            && self.lanes == other.lanes
            && self.stride == other.stride
            && self.stream_scope.is_subset(&other.stream_scope)
            && self.execute_scope.is_subset(&other.execute_scope)
            && self.stored.is_subset(&other.stored)
            && self.touched.is_subset(&other.touched)
            && self.loads == other.loads
    }
}

/// A hash that is the same in every run and with every compiler.
fn identity(parts: &impl Hash) -> u64 {
    let mut hasher = SipHasher13::new();
    parts.hash(&mut hasher);
    hasher.finish()
}
