//! The plain graph that extractors work on: classes, their nodes, the nodes' children and costs, and roots.

use crate::lists::Lists;

/// A class of a [`Graph`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Class(pub(crate) u32);

/// A node of a [`Graph`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(pub(crate) u32);

impl Class {
    /// Returns the number of the class; classes count from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Node {
    /// Returns the number of the node; nodes count from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An e-graph as extraction sees it. A [`Builder`](crate::Builder) makes it, and leaves out what no extraction needs, so
/// that every class can be reached from a root, every node is the top of a finite term, and no node has its own class
/// among its children. Costs are finite and not negative, and their sum is finite.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub(crate) class_names: Vec<Box<str>>,
    pub(crate) node_names: Vec<Box<str>>,
    pub(crate) operators: Vec<Box<str>>,
    pub(crate) classes: Vec<Class>,
    pub(crate) costs: Vec<f64>,
    pub(crate) children: Lists<Class>,
    pub(crate) uses: Lists<Class>,
    pub(crate) nodes: Lists<Node>,
    pub(crate) users: Lists<Node>,
    pub(crate) roots: Vec<Class>,
}

impl Graph {
    /// Returns every class.
    pub fn classes(&self) -> impl DoubleEndedIterator<Item = Class> + ExactSizeIterator + use<> {
        (0..self.class_names.len() as u32).map(Class)
    }

    /// Returns every node.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = Node> + ExactSizeIterator + use<> {
        (0..self.costs.len() as u32).map(Node)
    }

    /// Returns the roots, each once.
    pub fn roots(&self) -> &[Class] {
        &self.roots
    }

    /// Returns the nodes of a class; there is at least one.
    pub fn nodes_of(&self, class: Class) -> &[Node] {
        self.nodes.of(class.0)
    }

    /// Returns the class of a node.
    pub fn class_of(&self, node: Node) -> Class {
        self.classes[node.index()]
    }

    /// Returns the classes of a node's children, in order; a class occurs as often as it is a child.
    pub fn children(&self, node: Node) -> &[Class] {
        self.children.of(node.0)
    }

    /// Returns the classes of a node's children, each once, in the order of their numbers.
    pub fn uses(&self, node: Node) -> &[Class] {
        self.uses.of(node.0)
    }

    /// Returns the nodes with a child of a class, each once.
    pub fn users(&self, class: Class) -> &[Node] {
        self.users.of(class.0)
    }

    /// Returns the cost of a node, without that of its children.
    pub fn cost(&self, node: Node) -> f64 {
        self.costs[node.index()]
    }

    /// Returns the name of a class.
    pub fn class_name(&self, class: Class) -> &str {
        &self.class_names[class.index()]
    }

    /// Returns the name of a node.
    pub fn node_name(&self, node: Node) -> &str {
        &self.node_names[node.index()]
    }

    /// Returns the operator of a node.
    pub fn operator(&self, node: Node) -> &str {
        &self.operators[node.index()]
    }
}

/// Returns the classes among the children of every node, each once, in the order of their numbers.
pub(crate) fn distinct(children: &Lists<Class>) -> Lists<Class> {
    let mut uses = Lists::default();
    let mut sorted = Vec::new();
    for list in children.lists() {
        sorted.clear();
        sorted.extend_from_slice(list);
        sorted.sort_unstable();
        sorted.dedup();
        uses.push(sorted.iter().copied());
    }
    uses
}

/// Returns the nodes that use every class, from the classes that every node uses.
pub(crate) fn users(classes: usize, uses: &Lists<Class>) -> Lists<Node> {
    Lists::grouped(classes, || {
        let nodes = uses.lists().enumerate();
        nodes.flat_map(|(node, list)| list.iter().map(move |class| (class.0, Node(node as u32))))
    })
}
