//! An e-graph: classes of equal terms, closed under congruence.
//!
//! It speaks egg's language (nodes, ids and cost functions are egg's) and keeps egg's promises:
//! congruence is restored by [`EGraph::rebuild`] and not before, and the same calls give the same
//! e-graph with its classes in the same order. What differs is how it is stored. Ids are dense, so
//! classes are found by index instead of by hash, and the table of known nodes holds ids instead of
//! copies of the nodes and can be read ahead; on a million nodes, where almost every access misses
//! the cache, that is most of the time. It knows nothing of what nodes mean and nothing of rules.
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

/// What is known of the classes of an e-graph, computed from nodes and combined when classes are
/// united.
pub trait Analysis<L: Language>: Sized {
    /// What is known of a class.
    type Data;

    /// What a node says of its class, from what is known of its children. `id` is that of the node,
    /// which may not be in the e-graph yet: nothing is added or united here.
    fn make(egraph: &mut EGraph<L, Self>, node: &L, id: Id) -> Self::Data;

    /// Takes what is known of one part of a class into what is known of the other, and says which of
    /// the two was not all there is to know.
    fn merge(&mut self, a: &mut Self::Data, b: Self::Data) -> DidMerge;

    /// Called when more is known of a class; may add nodes and unite classes.
    fn modify(_egraph: &mut EGraph<L, Self>, _id: Id) {}

    /// Whether `modify` does nothing for a class with one node of which no more than this is known.
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

/// An e-graph.
#[derive(Clone)]
pub struct EGraph<L: Language, N: Analysis<L>> {
    /// What the analysis keeps besides what it knows of classes.
    pub analysis: N,
    /// Whether nothing was added or united since congruence was last restored.
    pub clean: bool,
    /// For each id, another one of its class, or itself.
    parents: Vec<Id>,
    /// For each id, its node as it was added.
    nodes: Vec<L>,
    /// For each id, its node over the classes of the time when it was last looked at.
    canonical: Vec<L>,
    memo: Memo,
    /// The classes, one after the other; a class that goes leaves its place to the last.
    classes: Vec<EClass<L, N::Data>>,
    /// For each id that stands for its class, where that is.
    places: Vec<u32>,
    by_operator: FxHashMap<L::Discriminant, Vec<Id>>,
    /// Nodes to be looked at again because a class below them changed.
    pending: Vec<Id>,
    /// Nodes below which more is known.
    informed: Queue,
}

impl<L: Language, N: Analysis<L> + Default> Default for EGraph<L, N> {
    fn default() -> Self {
        EGraph::new(N::default())
    }
}

impl<L: Language, N: Analysis<L>> EGraph<L, N> {
    /// An empty e-graph.
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

    /// The classes, always in the same order.
    pub fn classes(&self) -> impl ExactSizeIterator<Item = &EClass<L, N::Data>> {
        self.classes.iter()
    }

    /// The classes that contain an operator, in the order of [`EGraph::classes`]; `None` where there
    /// never was one. Right only while the e-graph is clean.
    pub fn classes_for_op(&self, operator: &L::Discriminant) -> Option<&[Id]> {
        self.by_operator.get(operator).map(Vec::as_slice)
    }

    /// Every node that was ever added, by id, as it was added.
    pub fn nodes(&self) -> &[L] {
        &self.nodes
    }

    /// Whether nothing was ever added.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The nodes of all classes together.
    pub fn total_number_of_nodes(&self) -> usize {
        self.classes.iter().map(|class| class.nodes.len()).sum()
    }

    /// The number of classes.
    pub fn number_of_classes(&self) -> usize {
        self.classes.len()
    }

    /// The id that stands for a class.
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

    /// The same; shortens the way for the next time.
    fn find_mut(&mut self, id: Id) -> Id {
        find_mut(&mut self.parents, id)
    }

    /// The class of a node over classes, if it is known. A node given by reference gets the ids that
    /// stand for its children's classes.
    pub fn lookup<B: std::borrow::BorrowMut<L>>(&self, mut node: B) -> Option<Id> {
        let node = node.borrow_mut();
        node.update_children(|id| self.find(id));
        self.known(node, memo::hash(node)).map(|id| self.find(id))
    }

    /// Reads what looking a node over classes up waits for first. Nothing depends on what was read, so
    /// that several such reads wait together.
    #[inline]
    pub fn touch(&self, node: L) {
        let node = node.map_children(|id| self.find(id));
        self.memo.touch(memo::hash(&node));
    }

    /// The same for a class.
    #[inline]
    pub fn touch_class(&self, id: Id) {
        std::hint::black_box(self[id].changed);
    }

    /// The id of a node over ids that stand for classes, if it is known.
    #[inline(always)]
    fn known(&self, node: &L, hash: u32) -> Option<Id> {
        self.memo.get(hash, |id| self.canonical[usize::from(id)] == *node)
    }

    /// The class of a term, if it is known.
    pub fn lookup_expr(&self, term: &RecExpr<L>) -> Option<Id> {
        let mut ids: Vec<Id> = Vec::with_capacity(term.len());
        for node in term {
            ids.push(self.lookup(node.clone().map_children(|child| ids[usize::from(child)]))?);
        }
        ids.last().copied()
    }

    /// Adds a term and gives its class.
    pub fn add_expr(&mut self, term: &RecExpr<L>) -> Id {
        let id = self.add_expr_uncanonical(term);
        self.find(id)
    }

    /// Adds a term and gives its id, which may not be the one that stands for the class.
    pub fn add_expr_uncanonical(&mut self, term: &RecExpr<L>) -> Id {
        let mut ids: Vec<Id> = Vec::with_capacity(term.len());
        for node in term {
            let node = node.clone().map_children(|child| ids[usize::from(child)]);
            ids.push(self.add_uncanonical(node));
        }
        ids.last().copied().unwrap_or_default()
    }

    /// The term that an id was made from.
    pub fn id_to_expr(&self, id: Id) -> RecExpr<L> {
        let mut term = RecExpr::default();
        let mut placed: FxHashMap<Id, Id> = FxHashMap::default();
        // A node was added after its children, so ids ascend on every way up.
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

    /// Adds a node over classes, and gives its class.
    #[inline]
    pub fn add(&mut self, node: L) -> Id {
        let id = self.add_uncanonical(node);
        self.find(id)
    }

    /// Adds a node over classes, and gives its id, which may not be the one that stands for the class.
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

    /// Adds a node over classes to a class: the same as adding it and uniting the two, and faster where
    /// it is new. Gives its id, which may not be the one that stands for the class, and whether the
    /// node was not in the class.
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

    /// A node over the ids that stand for its children, its hash, and the id of an equal node.
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

    /// Makes a class of a new node.
    fn add_class(&mut self, id: Id, node: L, canonical: L, hash: u32, data: N::Data) {
        self.places.push(self.classes.len() as u32);
        self.classes.push(EClass::new(id, canonical.clone(), data));
        self.record(id, node, canonical, hash);
        N::modify(self, id);
    }

    /// Notes a new node wherever it is looked for, but in its class.
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

    /// Makes one class of two. Answers whether they were different.
    pub fn union(&mut self, a: Id, b: Id) -> bool {
        self.clean = false;
        let (mut a, mut b) = (self.find_mut(a), self.find_mut(b));
        if a == b {
            return false;
        }
        // The class with fewer parents goes.
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

    /// Takes a class out; the last takes its place.
    fn remove(&mut self, id: Id) -> EClass<L, N::Data> {
        let place = self.places[usize::from(id)];
        let class = self.classes.swap_remove(place as usize);
        if let Some(moved) = self.classes.get(place as usize) {
            self.places[usize::from(moved.id)] = place;
        }
        class
    }

    /// The classes as text: one line each, by id, their nodes in order.
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
