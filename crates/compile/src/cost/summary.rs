//! The summary of a candidate that extraction keeps: cost, scope, shared streams and effects.

use super::awaited::Awaited;
use super::few::Few;
use super::finished::{Finished, Run};
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
    /// The loop variables that it depends on.
    pub scope: Few<Id>,
    /// The bytes of one element.
    pub element: f64,
    /// The number of lanes.
    pub lanes: f64,
    /// The arithmetic that a traversal unit does for it, in steps.
    pub steps: f64,
    /// The cost of computing it, for a held value.
    pub computed: Cost,
    /// True if it is a load.
    pub loads: bool,
    /// The class of its address, for a load.
    pub place: Option<Id>,
    /// True if what it loads stays in a cache.
    pub stays: bool,
    /// The variable along which consecutive elements are neighbours in memory, for a load.
    pub stride: Option<Id>,
    /// The share of its lines that come from DRAM, for a load.
    pub misses: f64,
    /// The activations of DRAM's rows for each of these lines, for a load of a finished program.
    pub activations: f64,
    /// The share of these lines by which the half of the run with more of them has more than the other half, for a load of a
    /// finished program.
    pub uneven: f64,
    /// The share of its lines that the core's L2 does not hold, for a load through it of which that is known.
    pub through_l2: Option<f64>,
    /// The tensor, for a load that bypasses the core's L2.
    pub past_l2: Option<Symbol>,
    /// True if it is pushed to the execute unit.
    pub marshalled: bool,
    /// True if the access unit prefetches it and the execute unit loads it.
    pub fetched: bool,
    /// The share of its lines that the core's first cache does not hold when the execute unit loads them, for a prefetch.
    pub past_l1: f64,
}

/// Streams by the structural keys of their terms, in the order of the keys. Candidates share the streams.
#[derive(Clone, Debug, Default)]
pub struct Streams(SmallVec<[(u64, Rc<StreamUse>); 4]>);

impl Streams {
    /// Finds the stream of a term by its key.
    pub fn get(&self, key: u64) -> Option<&StreamUse> {
        let at = self.0.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        Some(&self.0[at].1)
    }

    /// Iterates over all streams.
    pub fn values(&self) -> impl Iterator<Item = &StreamUse> {
        self.0.iter().map(|(_, stream)| stream.as_ref())
    }

    /// Adds a stream, or replaces the stream of the same key.
    pub fn insert(&mut self, key: u64, stream: StreamUse) {
        match self.0.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(at) => self.0[at].1 = Rc::new(stream),
            Err(at) => self.0.insert(at, (key, Rc::new(stream))),
        }
    }

    /// Adds all streams of another set. A stream is marshalled if it is in either set.
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

    /// Removes and returns the streams that satisfy a condition.
    pub fn take(&mut self, of: impl Fn(&StreamUse) -> bool) -> Vec<(u64, Rc<StreamUse>)> {
        let mut taken = Vec::new();
        self.0.retain(|(key, stream)| {
            let takes = of(stream);
            if takes {
                taken.push((*key, stream.clone()));
            }
            !takes
        });
        taken
    }

    /// Returns true if the other set contains all of these streams, and marshals the ones that this set marshals.
    fn is_part(&self, other: &Streams) -> bool {
        self.0.len() <= other.0.len()
            && self.0.iter().all(|(key, stream)| {
                other.get(*key).is_some_and(|s| stream.marshalled <= s.marshalled)
            })
    }
}

impl Streams {
    /// Returns true if the other set contains all of these streams at the same cost, and marshals those that this set
    /// marshals.
    pub(super) fn is_included(&self, other: &Streams) -> bool {
        self.is_part(other)
            && self.0.iter().all(|(key, stream)| other.get(*key).is_some_and(|s| stream.is_like(s)))
    }

    /// Returns the streams that both sets contain at the same cost. Both must marshal what is marshalled.
    pub(super) fn common(&self, other: &Streams) -> Streams {
        let both = self.0.iter().filter_map(|(key, stream)| {
            let same = other.get(*key).filter(|same| stream.is_like(same))?;
            let least = if same.marshalled { stream.clone() } else { Rc::new(same.clone()) };
            Some((*key, least))
        });
        Streams(both.collect())
    }
}

impl StreamUse {
    /// Returns true if two streams differ at most in that one is marshalled.
    fn is_like(&self, other: &StreamUse) -> bool {
        // Candidates share most streams.
        std::ptr::eq(self, other)
            || StreamUse { marshalled: other.marshalled, ..self.clone() } == *other
    }
}

/// A load in a sequential program whose innermost loop is not known yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The loop variables that the address depends on.
    pub scope: Few<Id>,
    /// The variable along which consecutive elements are neighbours in memory.
    pub stride: Option<Id>,
    /// The size of one element as a share of a line.
    pub part: f64,
}

/// The traffic of an intermediate tensor, or of any tensor of a finished program, between the caches and memory that no
/// loop encloses yet. A loop that both writes and reads the tensor has none: what an iteration reads is still in the caches.
#[derive(Clone, Debug, PartialEq)]
pub struct Passed {
    /// The tensor.
    pub tensor: Symbol,
    /// True if it is written.
    pub written: bool,
    /// True if it is read.
    pub read: bool,
    /// The cost of the traffic.
    pub cost: Cost,
    /// The cost of writing it back, which remains if a loop both writes and reads the tensor; for finished programs.
    pub kept: Cost,
    /// The variables that its place depends on; for finished programs.
    pub scope: Few<Id>,
    /// True if it is that of all iterations of a loop that its place depends on; for finished programs.
    pub looped: bool,
    /// The run of neighbouring lines that the core reads itself; for finished programs.
    pub run: Run,
}

impl Passed {
    /// Returns the traffic of a tensor that is written, read or both, without a cost.
    pub fn new(tensor: Symbol, written: bool, read: bool) -> Passed {
        let (cost, kept, scope) = (Cost::default(), Cost::default(), Few::new());
        Passed { tensor, written, read, cost, kept, scope, looped: false, run: Run::default() }
    }

    /// Returns true if something is added to elements of the tensor that another statement has written first.
    fn adds(&self) -> bool {
        !self.written && self.kept.dram_bytes > 0.0
    }

    /// Adds traffic of the same tensor. Elements that an iteration writes and then adds to are written back once.
    fn unite(&mut self, other: &Passed) {
        let once = (self.adds() || other.adds()) && !(self.looped || other.looped);
        let larger = if self.kept.dram_bytes < other.kept.dram_bytes { other } else { &*self };
        self.kept = if once { larger.kept } else { self.kept + other.kept };
        self.cost = self.cost + other.cost;
        self.written |= other.written;
        self.read |= other.read;
        self.looped |= other.looped;
        self.run.unite(&other.run);
        self.scope.unite(&other.scope);
    }

    /// Returns true if both are of one tensor, which they read and write alike.
    pub(super) fn is_like(&self, other: &Passed) -> bool {
        let used = |own: &Passed| (own.tensor, own.written, own.read);
        used(self) == used(other)
    }
}

/// The properties of a candidate that matter to extraction. The meaning of the later fields depends on the sort. Fields
/// that do not apply keep their defaults, so that they never distinguish two candidates.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The structural identity of the term: equal terms have equal keys.
    pub key: u64,
    /// The number of nodes as a tree, which breaks ties in favour of the shorter term.
    pub size: f64,
    /// The identity of the inner loops in their order, and of the tensors that are prefetched if that makes a difference of
    /// kind. Terms with the same loops access memory in the same order.
    pub loops: u64,
    /// The cost of one evaluation, without the streams below.
    pub cost: Cost,
    /// The cost of one evaluation if nothing around the term shares its streams.
    pub alone: Cost,
    /// The streams and held values that are used and not yet paid for.
    pub streams: Streams,
    /// The loads whose innermost loop is not known yet; only sequential programs have any.
    pub loads: Vec<Load>,
    /// The variables in the address of each accumulation whose innermost loop is not known yet, and the bytes there.
    pub chains: Vec<(Few<Id>, f64)>,
    /// The traffic of intermediate tensors, each once.
    pub passed: Vec<Passed>,
    /// The free variables of streams, which access loops must bind.
    pub stream_scope: Few<Id>,
    /// The free variables of execute values, which any loop may bind.
    pub execute_scope: Few<Id>,
    /// True if there is a walk inside, which only access loops may enclose.
    pub walks: bool,
    /// True if a callback runs at the top level of this statement.
    pub callback_here: bool,
    /// The tensors that the access unit writes.
    pub stored: Few<Symbol>,
    /// The tensors that the execute unit reads or writes.
    pub touched: Few<Symbol>,
    /// The tensor of an address.
    pub tensor: Option<Symbol>,
    /// The number of indices of an address.
    pub indices: usize,
    /// The bytes of one element of a value, stream or addressed tensor.
    pub element: f64,
    /// The number of lanes of a value, stream or address.
    pub lanes: f64,
    /// The variable along which an index or address moves by one element.
    pub stride: Option<Id>,
    /// True if an index is a run of lanes that begins at a number and reaches the end of its dimension.
    pub whole: bool,
    /// The variable along which an address moves by one row, if its lanes reach the end of the row.
    pub row: Option<Id>,
    /// The share of evaluations, and of lanes, in which an index or address has its own value; otherwise it equals a
    /// place that is used anyway, or none.
    pub share: f64,
    /// True if the term is a number or a symbolic size.
    pub literal: bool,
    /// The lines of matrices that its products wait for, and those that the access unit reads ahead.
    pub awaited: Option<Box<Awaited>>,
    /// Properties that matter to the price of a finished program alone.
    pub finished: Option<Box<Finished>>,
}

impl Summary {
    /// Returns the summary of a term without cost, from children without cost.
    pub fn passive(children: &[&Summary]) -> Summary {
        Summary {
            key: 0,
            size: 1.0 + children.iter().map(|c| c.size).sum::<f64>(),
            loops: 0,
            cost: Cost::default(),
            alone: Cost::default(),
            streams: Streams::default(),
            loads: Vec::new(),
            chains: Vec::new(),
            passed: Vec::new(),
            stream_scope: Few::new(),
            execute_scope: Few::new(),
            walks: false,
            callback_here: false,
            stored: Few::new(),
            touched: Few::new(),
            tensor: None,
            indices: 0,
            element: 8.0,
            lanes: 1.0,
            stride: None,
            whole: false,
            row: None,
            share: 1.0,
            literal: false,
            awaited: None,
            finished: None,
        }
    }

    /// Returns the summary of a number or name.
    pub fn leaf(node: &Node, literal: bool) -> Summary {
        let mut summary = Summary { literal, ..Summary::passive(&[]) };
        match node.name() {
            Some(name) => summary.identify(name, &[]),
            None => summary.identify(&node.to_string(), &[]),
        }
        summary
    }

    /// Returns a part of which all that it writes is in a cache for the next part.
    pub(super) fn at_once(&self) -> Summary {
        let passed = self.passed.iter().map(|own| Passed { looped: false, ..own.clone() });
        Summary { passed: passed.collect(), ..self.clone() }
    }

    /// Combines the costs and needs of the children; `None` if the units would interfere with each other.
    pub fn merge(children: &[&Summary]) -> Option<Summary> {
        let mut all = Summary::passive(&[]);
        children.iter().for_each(|child| all.absorb(child));
        all.admissible().then_some(all)
    }

    /// Combines the costs and needs of two parts; `None` if the units would interfere with each other.
    pub fn and(mut self, other: &Summary) -> Option<Summary> {
        self.absorb(other);
        self.admissible().then_some(self)
    }

    /// Adds the cost and needs of another part.
    fn absorb(&mut self, other: &Summary) {
        self.size += other.size;
        if other.loops != 0 {
            self.loops = identity(&(self.loops, other.loops));
        }
        self.cost = self.cost + other.cost;
        self.streams.unite(&other.streams);
        self.loads.extend_from_slice(&other.loads);
        for (variables, bytes) in &other.chains {
            self.chain(variables, *bytes);
        }
        other.passed.iter().for_each(|passed| self.pass(passed));
        self.stream_scope.unite(&other.stream_scope);
        self.execute_scope.unite(&other.execute_scope);
        self.share *= other.share;
        self.walks |= other.walks;
        self.callback_here |= other.callback_here;
        self.stored.unite(&other.stored);
        self.touched.unite(&other.touched);
        if let Some(other) = &other.awaited {
            self.awaited.get_or_insert_default().absorb(other);
        }
        if let Some(other) = &other.finished {
            self.finished.get_or_insert_default().absorb(other);
        }
    }

    /// Adds an accumulation by the variables in its address; accumulations at the same elements are one.
    pub fn chain(&mut self, variables: &Few<Id>, bytes: f64) {
        if !self.chains.iter().any(|(known, _)| known == variables) {
            let at = self.chains.partition_point(|(known, _)| known < variables);
            self.chains.insert(at, (variables.clone(), bytes));
        }
    }

    /// Adds traffic of an intermediate tensor.
    pub fn pass(&mut self, passed: &Passed) {
        match self.passed.iter_mut().find(|known| known.tensor == passed.tensor) {
            Some(known) => known.unite(passed),
            None => self.passed.push(passed.clone()),
        }
    }

    /// Returns true if the access unit, which runs ahead, writes nothing that the execute unit accesses.
    pub fn admissible(&self) -> bool {
        self.stored.is_disjoint(&self.touched)
    }

    /// Returns the bytes of a value of this type.
    pub fn bytes(&self) -> f64 {
        self.element * self.lanes
    }

    /// Returns the variables that the term depends on, on either unit.
    pub fn variables(&self) -> Few<Id> {
        let mut variables = self.execute_scope.clone();
        variables.unite(&self.stream_scope);
        variables
    }

    /// Returns the bytes that a write to this address changes.
    pub fn written(&self) -> f64 {
        self.bytes() * self.share
    }

    /// Sets the structural key from a head and children.
    pub fn identify(&mut self, head: &str, children: &[&Summary]) {
        let keys: SmallVec<[u64; 10]> = children.iter().map(|child| child.key).collect();
        self.key = identity(&(head, keys.as_slice()));
    }

    /// Sets the key to that of all terms of a class.
    pub fn identify_class(&mut self, class: Id) {
        self.key = identity(&(CLASSES, class));
    }

    /// Sets the structural key of a name from its class.
    pub fn identify_name(&mut self, class: Id) {
        self.key = identity(&(NAMES, class));
    }

    /// Encloses the term in a loop over a variable.
    pub fn enclose(&mut self, variable: Id) {
        self.loops = identity(&(variable, self.loops));
    }

    /// Returns true if this candidate can replace `other` anywhere and is never worse.
    pub fn dominates(&self, other: &Summary) -> bool {
        self.cost.at_most(&other.cost)
            && (self.cost != other.cost || self.size <= other.size)
            && self.share <= other.share
            && self.literal >= other.literal
            && self.fits(other)
            && self.streams.is_part(&other.streams)
    }

    /// Returns true if this candidate can replace `other` anywhere.
    pub fn fits(&self, other: &Summary) -> bool {
        self.walks <= other.walks
            && self.element == other.element
            && self.lanes == other.lanes
            && self.stride == other.stride
            && self.row == other.row
            && self.whole == other.whole
            && self.stream_scope.is_subset(&other.stream_scope)
            && self.execute_scope.is_subset(&other.execute_scope)
            && self.stored.is_subset(&other.stored)
            && self.touched.is_subset(&other.touched)
            && self.loads == other.loads
            && self.chains == other.chains
            && self.awaits_no_more(other)
            && self.passes_no_more(other)
    }

    /// Returns true if the traffic of intermediate tensors is that of the other candidate, or less.
    fn passes_no_more(&self, other: &Summary) -> bool {
        self.passes_like(other)
            && self.passed.iter().all(|a| {
                let b = other.passed.iter().find(|b| a.is_like(b));
                b.is_some_and(|b| a.cost.at_most(&b.cost))
            })
    }

    /// Returns true if both candidates read and write the same intermediate tensors.
    pub(super) fn passes_like(&self, other: &Summary) -> bool {
        self.passed.len() == other.passed.len()
            && self.passed.iter().all(|a| other.passed.iter().any(|b| a.is_like(b)))
    }
}

/// Keeps the keys of names apart from those of operators. Any number would do, and decides between programs of equal
/// estimates; this one leaves the choices for the workloads as they were.
const NAMES: u64 = 3;

/// Keeps the keys of classes apart from all others.
const CLASSES: u64 = 4;

/// Hashes parts to a value that is the same in every run and with every compiler.
pub(crate) fn identity(parts: &impl Hash) -> u64 {
    let mut hasher = SipHasher13::new();
    parts.hash(&mut hasher);
    hasher.finish()
}
