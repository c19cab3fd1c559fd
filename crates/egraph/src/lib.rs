//! An e-graph: classes of equal terms, closed under congruence.
//!
//! The e-graph uses egg's nodes, ids and cost functions and gives egg's guarantees: only [`EGraph::rebuild`] restores
//! congruence, and the same calls produce the same e-graph with its classes in the same order. The storage differs. Ids
//! are dense, so a class is found by index and not by hash. The table of known nodes holds ids, not copies of nodes,
//! and can be prefetched. On a million nodes almost every access misses the cache, and these accesses take most of the
//! time. The crate knows neither the meaning of nodes nor rules.
//!
//! ```
//! use egg::SymbolLang;
//! use ember_egraph::EGraph;
//!
//! let mut egraph = EGraph::<SymbolLang, ()>::new(());
//! let [a, b] = ["a", "b"].map(|name| egraph.add(SymbolLang::leaf(name)));
//! let [fa, fb] = [a, b].map(|of| egraph.add(SymbolLang::new("f", vec![of])));
//! egraph.union(a, b);
//! egraph.rebuild();
//! assert_eq!(egraph.find(fa), egraph.find(fb));
//! ```

mod class;
mod extractor;
mod memo;
mod rebuild;

pub use class::EClass;
pub use extractor::Extractor;

use egg::{DidMerge, Id, Language, RecExpr};
use memo::Memo;
use rebuild::Queue;
use rustc_hash::FxHashMap;
use std::fmt;
use std::ops::{Index, IndexMut};

/// An e-class analysis: data computed from nodes and merged when classes are united.
pub trait Analysis<L: Language>: Sized {
    /// The data of one class.
    type Data;

    /// Computes the data that a node contributes to its class, from the data of its children. `id` is the id of the
    /// node, which may not be in the e-graph yet, so an implementation must not add or unite anything.
    fn make(egraph: &mut EGraph<L, Self>, node: &L, id: Id) -> Self::Data;

    /// Merges the data `b` of one part of a class into the data `a` of the other, and reports which of the two differs
    /// from the result.
    fn merge(&mut self, a: &mut Self::Data, b: Self::Data) -> DidMerge;

    /// Called when the data of a class changes; may add nodes and unite classes.
    fn modify(_egraph: &mut EGraph<L, Self>, _id: Id) {}

    /// Returns true if `modify` does nothing for a class with one node and this data.
    fn is_quiet(_data: &Self::Data) -> bool {
        false
    }
}

impl<L: Language> Analysis<L> for () {
    type Data = ();

    fn make(_egraph: &mut EGraph<L, ()>, _node: &L, _id: Id) {}

    fn merge(&mut self, (): &mut (), (): ()) -> DidMerge {
        DidMerge(false, false)
    }

    fn is_quiet((): &()) -> bool {
        true
    }
}

/// An e-graph with an e-class analysis.
#[derive(Clone)]
pub struct EGraph<L: Language, N: Analysis<L>> {
    /// The global state of the analysis; the data of classes is stored in the classes.
    pub analysis: N,
    /// True if nothing was added or united since congruence was last restored.
    pub clean: bool,
    /// The union-find: for each id, another id of its class, or itself.
    parents: Vec<Id>,
    /// For each id, its node as it was added.
    nodes: Vec<L>,
    /// For each id, its node with the children that were canonical when it was last visited.
    canonical: Vec<L>,
    memo: Memo,
    /// The classes, without gaps; the last class fills the place of a removed one.
    classes: Vec<EClass<L, N::Data>>,
    /// For each canonical id, the index of its class in `classes`.
    places: Vec<u32>,
    by_operator: FxHashMap<L::Discriminant, Vec<Id>>,
    /// Nodes to be visited again because a child class changed.
    pending: Vec<Id>,
    /// Nodes whose children's data changed.
    informed: Queue,
}

impl<L: Language, N: Analysis<L> + Default> Default for EGraph<L, N> {
    fn default() -> Self {
        EGraph::new(N::default())
    }
}

impl<L: Language, N: Analysis<L>> EGraph<L, N> {
    /// Creates an empty e-graph.
    pub fn new(analysis: N) -> Self {
        EGraph {
            analysis,
            clean: false,
            parents: Vec::new(),
            nodes: Vec::new(),
            canonical: Vec::new(),
            memo: Memo::default(),
            classes: Vec::new(),
            places: Vec::new(),
            by_operator: FxHashMap::default(),
            pending: Vec::new(),
            informed: Queue::default(),
        }
    }

    /// Returns the classes, always in the same order.
    pub fn classes(&self) -> impl ExactSizeIterator<Item = &EClass<L, N::Data>> {
        self.classes.iter()
    }

    /// Returns the classes that contain an operator, in the order of [`EGraph::classes`]; `None` if the operator never
    /// occurred. Valid only while the e-graph is clean.
    pub fn classes_for_op(&self, operator: &L::Discriminant) -> Option<&[Id]> {
        self.by_operator.get(operator).map(Vec::as_slice)
    }

    /// Returns every node that was ever added, by id, as it was added.
    pub fn nodes(&self) -> &[L] {
        &self.nodes
    }

    /// Returns true if nothing was ever added.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the number of nodes in all classes together.
    pub fn total_number_of_nodes(&self) -> usize {
        self.classes.iter().map(|class| class.nodes.len()).sum()
    }

    /// Returns the number of classes.
    pub fn number_of_classes(&self) -> usize {
        self.classes.len()
    }

    /// Returns the canonical id of a class.
    pub fn find(&self, id: Id) -> Id {
        let mut id = id;
        loop {
            let parent = self.parents[usize::from(id)];
            if parent == id {
                return id;
            }
            id = parent;
        }
    }

    /// [`EGraph::find`] with path compression.
    fn find_mut(&mut self, id: Id) -> Id {
        find_mut(&mut self.parents, id)
    }

    /// Returns the class of a node, if the node is known. The children of a node given by reference are made canonical.
    pub fn lookup<B: std::borrow::BorrowMut<L>>(&self, mut node: B) -> Option<Id> {
        let node = node.borrow_mut();
        node.update_children(|id| self.find(id));
        self.known(node, memo::hash(node)).map(|id| self.find(id))
    }

    /// Prefetches the memory that a look-up of a node reads first. Nothing depends on the value read, so several
    /// prefetches overlap.
    #[inline]
    pub fn touch(&self, node: L) {
        let node = node.map_children(|id| self.find(id));
        self.memo.touch(memo::hash(&node));
    }

    /// Prefetches a class.
    #[inline]
    pub fn touch_class(&self, id: Id) {
        std::hint::black_box(self[id].changed);
    }

    /// Returns the id of a node with canonical children, if the node is known.
    #[inline(always)]
    fn known(&self, node: &L, hash: u32) -> Option<Id> {
        self.memo.get(hash, |id| self.canonical[usize::from(id)] == *node)
    }

    /// Returns the class of a term, if the term is known.
    pub fn lookup_expr(&self, term: &RecExpr<L>) -> Option<Id> {
        let mut ids: Vec<Id> = Vec::with_capacity(term.len());
        for node in term {
            ids.push(self.lookup(node.clone().map_children(|child| ids[usize::from(child)]))?);
        }
        ids.last().copied()
    }

    /// Adds a term and returns its class.
    pub fn add_expr(&mut self, term: &RecExpr<L>) -> Id {
        let id = self.add_expr_uncanonical(term);
        self.find(id)
    }

    /// Adds a term and returns its id, which need not be canonical.
    pub fn add_expr_uncanonical(&mut self, term: &RecExpr<L>) -> Id {
        let mut ids: Vec<Id> = Vec::with_capacity(term.len());
        for node in term {
            let node = node.clone().map_children(|child| ids[usize::from(child)]);
            ids.push(self.add_uncanonical(node));
        }
        ids.last().copied().unwrap_or_default()
    }

    /// Returns the term from which an id was made.
    pub fn id_to_expr(&self, id: Id) -> RecExpr<L> {
        let mut term = RecExpr::default();
        let mut placed: FxHashMap<Id, Id> = FxHashMap::default();
        // A node was added after its children, so ids ascend from children to parents.
        let mut needed = vec![id];
        let mut all = std::collections::BTreeSet::new();
        while let Some(id) = needed.pop() {
            if all.insert(id) {
                needed.extend(self.nodes[usize::from(id)].children());
            }
        }
        for id in all {
            let node = self.nodes[usize::from(id)].clone().map_children(|child| placed[&child]);
            placed.insert(id, term.add(node));
        }
        term
    }

    /// Adds a node and returns its class.
    #[inline]
    pub fn add(&mut self, node: L) -> Id {
        let id = self.add_uncanonical(node);
        self.find(id)
    }

    /// Adds a node and returns its id, which need not be canonical.
    #[inline]
    pub fn add_uncanonical(&mut self, node: L) -> Id {
        let (canonical, hash, known) = self.prepare(&node);
        if let Some(id) = known {
            return id;
        }
        let id = self.next_id();
        let data = N::make(self, &node, id);
        self.add_class(id, node, canonical, hash, data);
        id
    }

    /// Adds a node to a class: equivalent to adding the node and uniting the two classes, but faster if the node is
    /// new. Returns the node's id, which need not be canonical, and true if the node was not in the class before.
    #[inline]
    pub fn add_to(&mut self, class: Id, node: L) -> (Id, bool) {
        let (canonical, hash, known) = self.prepare(&node);
        if let Some(id) = known {
            return (id, self.union(class, id));
        }
        let id = self.next_id();
        let data = N::make(self, &node, id);
        if !N::is_quiet(&data) {
            self.add_class(id, node, canonical, hash, data);
            return (id, self.union(class, id));
        }
        let class = self.find_mut(class);
        self.parents[usize::from(id)] = class;
        self.places.push(u32::MAX);
        self.record(id, node, canonical.clone(), hash);
        let place = self.places[usize::from(class)] as usize;
        let stays = &mut self.classes[place];
        if self.analysis.merge(&mut stays.data, data).0 {
            self.informed.extend(&stays.parents);
        }
        stays.nodes.push(canonical);
        stays.changed = true;
        N::modify(self, class);
        (id, true)
    }

    /// Returns a node with canonical children, its hash, and the id of an equal node if one is known.
    #[inline(always)]
    fn prepare(&mut self, node: &L) -> (L, u32, Option<Id>) {
        let canonical = node.clone().map_children(|id| find_mut(&mut self.parents, id));
        let hash = memo::hash(&canonical);
        let known = self.known(&canonical, hash);
        (canonical, hash, known)
    }

    fn next_id(&mut self) -> Id {
        let id = Id::from(self.nodes.len());
        self.parents.push(id);
        id
    }

    /// Creates a class for a new node.
    fn add_class(&mut self, id: Id, node: L, canonical: L, hash: u32, data: N::Data) {
        self.places.push(self.classes.len() as u32);
        self.classes.push(EClass::new(id, canonical.clone(), data));
        self.record(id, node, canonical, hash);
        N::modify(self, id);
    }

    /// Records a new node in every index except its class.
    fn record(&mut self, id: Id, node: L, canonical: L, hash: u32) {
        for &child in canonical.children() {
            let place = self.places[usize::from(child)] as usize;
            self.classes[place].parents.push(id);
        }
        self.memo.insert(hash, id);
        self.nodes.push(node);
        self.canonical.push(canonical);
        self.clean = false;
    }

    /// Unites two classes. Returns true if they were different.
    pub fn union(&mut self, a: Id, b: Id) -> bool {
        self.clean = false;
        let (mut a, mut b) = (self.find_mut(a), self.find_mut(b));
        if a == b {
            return false;
        }
        // The class with fewer parents is removed.
        if self[a].parents.len() < self[b].parents.len() {
            std::mem::swap(&mut a, &mut b);
        }
        self.parents[usize::from(b)] = a;
        let gone = self.remove(b);
        let place = self.places[usize::from(a)] as usize;
        let stays = &mut self.classes[place];
        self.pending.extend_from_slice(&gone.parents);
        let did_merge = self.analysis.merge(&mut stays.data, gone.data);
        if did_merge.0 {
            self.informed.extend(&stays.parents);
        }
        if did_merge.1 {
            self.informed.extend(&gone.parents);
        }
        class::append(&mut stays.nodes, gone.nodes);
        class::append(&mut stays.parents, gone.parents);
        stays.changed = true;
        N::modify(self, a);
        true
    }

    /// Removes a class; the last class takes its place.
    fn remove(&mut self, id: Id) -> EClass<L, N::Data> {
        let place = self.places[usize::from(id)];
        let class = self.classes.swap_remove(place as usize);
        if let Some(moved) = self.classes.get(place as usize) {
            self.places[usize::from(moved.id)] = place;
        }
        class
    }

    /// Formats the classes as text: one line per class, by id, with its nodes in order.
    pub fn dump(&self) -> impl fmt::Debug + '_
    where
        N::Data: fmt::Debug,
    {
        Dump(self)
    }
}

fn find_mut(parents: &mut [Id], id: Id) -> Id {
    let mut id = id;
    loop {
        let parent = parents[usize::from(id)];
        if parent == id {
            return id;
        }
        let above = parents[usize::from(parent)];
        parents[usize::from(id)] = above;
        id = above;
    }
}

impl<L: Language, N: Analysis<L>> Index<Id> for EGraph<L, N> {
    type Output = EClass<L, N::Data>;

    fn index(&self, id: Id) -> &Self::Output {
        &self.classes[self.places[usize::from(self.find(id))] as usize]
    }
}

impl<L: Language, N: Analysis<L>> IndexMut<Id> for EGraph<L, N> {
    fn index_mut(&mut self, id: Id) -> &mut Self::Output {
        let id = self.find_mut(id);
        &mut self.classes[self.places[usize::from(id)] as usize]
    }
}

struct Dump<'a, L: Language, N: Analysis<L>>(&'a EGraph<L, N>);

impl<L: Language, N: Analysis<L>> fmt::Debug for Dump<'_, L, N>
where
    N::Data: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut classes: Vec<&EClass<L, N::Data>> = self.0.classes().collect();
        classes.sort_by_key(|class| class.id);
        for class in classes {
            let mut nodes: Vec<&L> = class.nodes.iter().collect();
            nodes.sort();
            writeln!(f, "{} ({:?}): {:?}", class.id, class.data, nodes)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
