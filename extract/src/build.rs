//! The builder of graphs: checks what it is given, and leaves out what no extraction needs.

use crate::fault::Fault;
use crate::graph::{Class, Graph, Node, distinct, users};
use crate::lists::Lists;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// A node as it is given to a [`Builder`].
#[derive(Clone, Debug)]
pub struct NewNode<'a> {
    /// The name, which no other node has.
    pub name: Cow<'a, str>,
    /// The name of the class.
    pub class: Cow<'a, str>,
    /// The operator.
    pub operator: Cow<'a, str>,
    /// The names of the children: any nodes of their classes.
    pub children: Vec<Cow<'a, str>>,
    /// The cost of the node alone.
    pub cost: f64,
    /// True if the node must not be chosen, and is here only so that others can name it as a child.
    pub subsumed: bool,
}

/// Nodes and roots that are to become a [`Graph`].
///
/// ```
/// use ember_extract::{Builder, NewNode};
/// let node = |name: &'static str, children: &[&'static str]| NewNode {
///     name: name.into(),
///     class: name.to_uppercase().into(),
///     operator: name.into(),
///     children: children.iter().map(|child| (*child).into()).collect(),
///     cost: 1.0,
///     subsumed: false,
/// };
/// let mut builder = Builder::default();
/// builder.node(node("x", &[]));
/// builder.node(node("f", &["x", "x"]));
/// builder.root("F");
/// let graph = builder.build().expect("a graph");
/// assert_eq!(graph.classes().len(), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder<'a> {
    nodes: Vec<NewNode<'a>>,
    roots: Vec<Cow<'a, str>>,
}

impl<'a> Builder<'a> {
    /// Adds a node.
    pub fn node(&mut self, node: NewNode<'a>) {
        self.nodes.push(node);
    }

    /// Adds a root: the name of a class.
    pub fn root(&mut self, class: impl Into<Cow<'a, str>>) {
        self.roots.push(class.into());
    }

    /// Returns the graph.
    ///
    /// # Errors
    ///
    /// Returns every fault that is found.
    pub fn build(self) -> Result<Graph, Vec<Fault>> {
        let whole = Whole::of(&self.nodes, &self.roots)?;
        let finite = whole.finite();
        let cyclic = whole.roots.iter().filter(|root| !finite.classes[root.index()]);
        let faults: Vec<Fault> = cyclic.map(|root| whole.cycle(&finite, *root)).collect();
        if faults.is_empty() { Ok(whole.needed(&finite)) } else { Err(faults) }
    }
}

/// A graph of all that was given.
struct Whole<'a> {
    nodes: &'a [NewNode<'a>],
    names: Vec<&'a str>,
    classes: Vec<Class>,
    children: Lists<Class>,
    members: Lists<Node>,
    roots: Vec<Class>,
}

/// The nodes and classes that have a finite term.
struct Finite {
    nodes: Vec<bool>,
    classes: Vec<bool>,
}

impl<'a> Whole<'a> {
    fn of(nodes: &'a [NewNode<'a>], roots: &'a [Cow<'a, str>]) -> Result<Whole<'a>, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut numbers: FxHashMap<&str, Class> = FxHashMap::default();
        let mut names = Vec::new();
        let mut classes = Vec::with_capacity(nodes.len());
        let mut places: FxHashMap<&str, usize> = FxHashMap::default();
        places.reserve(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            classes.push(*numbers.entry(&node.class).or_insert_with(|| {
                names.push(&*node.class);
                Class(names.len() as u32 - 1)
            }));
            let text = || (node.name.to_string(), node.class.to_string());
            if let Some(first) = places.insert(&node.name, at) {
                let (name, class) = text();
                let first = nodes[first].class.to_string();
                faults.push(Fault::DuplicateNode { node: name, class, first });
            } else if !(node.cost.is_finite() && node.cost >= 0.0) {
                let (node, class, cost) = (text().0, text().1, node.cost.to_string());
                faults.push(Fault::Cost { class, node, cost });
            }
        }
        let mut children = Lists::default();
        for node in nodes {
            let class = |child: &Cow<str>| {
                let found = places.get(&**child).map(|at| classes[*at]);
                if found.is_none() {
                    let [class, node, child] =
                        [&node.class, &node.name, child].map(|text| text.to_string());
                    faults.push(Fault::NoSuchChild { class, node, child });
                }
                found
            };
            children.push(node.children.iter().filter_map(class));
        }
        let mut known = Vec::new();
        let mut seen = vec![false; names.len()];
        for root in roots {
            match numbers.get(&**root) {
                Some(class) if std::mem::replace(&mut seen[class.index()], true) => {}
                Some(class) => known.push(*class),
                None => faults.push(Fault::NoSuchRoot { class: root.to_string() }),
            }
        }
        if nodes.is_empty() {
            faults.push(Fault::Empty);
        } else if roots.is_empty() {
            faults.push(Fault::NoRoots);
        }
        if faults.is_empty() && nodes.iter().map(|node| node.cost).sum::<f64>().is_infinite() {
            let most = nodes.iter().max_by(|a, b| a.cost.total_cmp(&b.cost));
            faults.extend(most.map(|node| Fault::Sum {
                class: node.class.to_string(),
                node: node.name.to_string(),
                cost: node.cost,
            }));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let members = Lists::grouped(names.len(), || {
            classes.iter().enumerate().map(|(node, class)| (class.0, Node(node as u32)))
        });
        Ok(Whole { nodes, names, classes, children, members, roots: known })
    }

    /// Finds what has a finite term: nodes all of whose children have one, from the leaves up.
    fn finite(&self) -> Finite {
        let uses = distinct(&self.children);
        let users = users(self.names.len(), &uses);
        let mut waiting: Vec<usize> = uses.lists().map(<[Class]>::len).collect();
        let mut finite =
            Finite { nodes: vec![false; self.nodes.len()], classes: vec![false; self.names.len()] };
        // A subsumed node waits for ever.
        let given = waiting.iter_mut().zip(self.nodes);
        given.for_each(|(waiting, node)| *waiting += usize::from(node.subsumed));
        let mut ready: Vec<usize> = (0..waiting.len()).filter(|node| waiting[*node] == 0).collect();
        while let Some(node) = ready.pop() {
            finite.nodes[node] = true;
            let class = self.classes[node];
            if !std::mem::replace(&mut finite.classes[class.index()], true) {
                for user in users.of(class.0) {
                    waiting[user.index()] -= 1;
                    if waiting[user.index()] == 0 {
                        ready.push(user.index());
                    }
                }
            }
        }
        finite
    }

    /// Returns the reason why a root has no finite term.
    fn cycle(&self, finite: &Finite, root: Class) -> Fault {
        let infinite = |class: &&Class| !finite.classes[class.index()];
        // A node of an infinite class that may be chosen has an infinite child, so a walk among them ends where it has
        // been, or where there is no such node.
        let next = |class: Class| {
            let members = self.members.of(class.0).iter();
            let chosen = members.filter(|node| !self.nodes[node.index()].subsumed);
            chosen.flat_map(|node| self.children.of(node.0)).find(infinite).copied()
        };
        let mut places = FxHashMap::default();
        let mut way = vec![root];
        while let Some(class) = next(way[way.len() - 1]) {
            places.insert(way[way.len() - 1], way.len() - 1);
            way.push(class);
            if places.contains_key(&class) {
                break;
            }
        }
        let name = |class: &Class| self.names[class.index()].to_owned();
        let last = way[way.len() - 1];
        let Some(start) = places.get(&last).copied() else {
            return Fault::Subsumed { class: name(&last), root: name(&root) };
        };
        let mut cycle: Vec<String> = way[start..].iter().map(name).collect();
        if cycle.len() > 8 {
            cycle.splice(4..cycle.len() - 3, ["…".to_owned()]);
        }
        Fault::Cyclic { class: name(&way[start]), cycle, root: name(&root) }
    }

    /// Returns the graph of the classes that can be reached from the roots by finite nodes.
    fn needed(&self, finite: &Finite) -> Graph {
        let useful = |node: &&Node| {
            finite.nodes[node.index()]
                && !self.children.of(node.0).contains(&self.classes[node.index()])
        };
        let members = |class: Class| self.members.of(class.0).iter().filter(useful);
        let mut reached = vec![false; self.names.len()];
        self.roots.iter().for_each(|root| reached[root.index()] = true);
        let mut waiting = self.roots.clone();
        while let Some(class) = waiting.pop() {
            for child in members(class).flat_map(|node| self.children.of(node.0)) {
                if !std::mem::replace(&mut reached[child.index()], true) {
                    waiting.push(*child);
                }
            }
        }
        let mut graph = Graph::default();
        let mut numbers = vec![Class::default(); self.names.len()];
        for (class, name) in self.names.iter().enumerate().filter(|(class, _)| reached[*class]) {
            numbers[class] = Class(graph.class_names.len() as u32);
            graph.class_names.push((*name).into());
        }
        for (at, given) in self.nodes.iter().enumerate() {
            let (node, class) = (Node(at as u32), self.classes[at]);
            if reached[class.index()] && useful(&&node) {
                graph.node_names.push((&*given.name).into());
                graph.operators.push((&*given.operator).into());
                graph.classes.push(numbers[class.index()]);
                graph.costs.push(given.cost);
                graph.children.push(self.children.of(node.0).iter().map(|c| numbers[c.index()]));
            }
        }
        graph.roots = self.roots.iter().map(|root| numbers[root.index()]).collect();
        let count = graph.class_names.len();
        graph.nodes = Lists::grouped(count, || {
            graph.classes.iter().enumerate().map(|(node, class)| (class.0, Node(node as u32)))
        });
        graph.uses = distinct(&graph.children);
        graph.users = users(count, &graph.uses);
        graph
    }
}
