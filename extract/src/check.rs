//! Selections, the results of extraction, and the validator that recomputes what they cost.

use crate::graph::{Class, Graph, Node};
use thiserror::Error;

/// A node for each class that the roots need; other classes may have one, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    chosen: Vec<Option<Node>>,
}

impl Selection {
    /// Creates a selection without nodes.
    pub fn new(graph: &Graph) -> Selection {
        Selection { chosen: vec![None; graph.classes().len()] }
    }

    /// Chooses a node for a class, in place of an earlier one.
    pub fn choose(&mut self, class: Class, node: Node) {
        self.chosen[class.index()] = Some(node);
    }

    /// Returns the chosen node of a class.
    pub fn of(&self, class: Class) -> Option<Node> {
        self.chosen.get(class.index()).copied().flatten()
    }

    /// Returns the chosen nodes of the classes that the roots need, the roots' first.
    pub fn nodes(&self, graph: &Graph) -> Vec<Node> {
        let mut reached = vec![false; graph.classes().len()];
        let mut nodes: Vec<Node> = Vec::new();
        let mut reach = |class: &Class, nodes: &mut Vec<Node>| {
            if !std::mem::replace(&mut reached[class.index()], true) {
                nodes.extend(self.of(*class));
            }
        };
        graph.roots().iter().for_each(|root| reach(root, &mut nodes));
        let mut next = 0;
        while let Some(node) = nodes.get(next).copied() {
            graph.uses(node).iter().for_each(|class| reach(class, &mut nodes));
            next += 1;
        }
        nodes
    }
}

/// The costs of a selection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// The sum over the terms of all roots, with a subterm as often as it occurs. It may be infinite.
    pub tree: f64,
    /// The sum over the chosen nodes, each once.
    pub dag: f64,
}

/// The reason why a selection is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Broken {
    /// A class that is needed and has no node.
    #[error("class `{class}` is needed, and no node is chosen for it")]
    Missing {
        /// The class.
        class: String,
    },
    /// A class whose node belongs to another class.
    #[error("the node `{node}` is chosen for class `{class}`, and does not belong to it")]
    Foreign {
        /// The class.
        class: String,
        /// The node.
        node: String,
    },
    /// A class whose term contains itself.
    #[error("class `{class}` leads back to itself")]
    Cyclic {
        /// The class.
        class: String,
    },
}

/// The state of a class in [`check`].
#[derive(Clone, Copy, PartialEq)]
enum Visit {
    New,
    Open,
    /// The class has been left; its term has this tree cost.
    Done(f64),
}

/// Checks that a selection has a node for each class that is needed, of that class, and no cycle, and returns its costs.
///
/// # Errors
///
/// Returns the first reason why it is no extraction.
pub fn check(graph: &Graph, selection: &Selection) -> Result<Costs, Broken> {
    let name = |class: Class| graph.class_name(class).to_owned();
    let mut visits = vec![Visit::New; graph.classes().len()];
    let mut dag = 0.0;
    for root in graph.roots() {
        let mut stack = vec![*root];
        while let Some(class) = stack.last().copied() {
            let Some(node) = selection.of(class) else {
                return Err(Broken::Missing { class: name(class) });
            };
            if graph.classes.get(node.index()) != Some(&class) {
                let node = graph.node_names.get(node.index()).map_or("?", |name| name).to_owned();
                return Err(Broken::Foreign { class: name(class), node });
            }
            let children = graph.children(node);
            match visits[class.index()] {
                Visit::New => {
                    visits[class.index()] = Visit::Open;
                    stack.extend(
                        children.iter().filter(|child| visits[child.index()] == Visit::New),
                    );
                    if let Some(open) =
                        children.iter().find(|child| visits[child.index()] == Visit::Open)
                    {
                        return Err(Broken::Cyclic { class: name(*open) });
                    }
                }
                Visit::Open => {
                    let cost = |child: &Class| match visits[child.index()] {
                        Visit::Done(cost) => Some(cost),
                        _ => None,
                    };
                    let Some(sum) = children.iter().map(cost).sum::<Option<f64>>() else {
                        return Err(Broken::Cyclic { class: name(class) });
                    };
                    visits[class.index()] = Visit::Done(graph.cost(node) + sum);
                    dag += graph.cost(node);
                    stack.pop();
                }
                Visit::Done(_) => {
                    stack.pop();
                }
            }
        }
    }
    let tree = graph.roots().iter().filter_map(|root| match visits[root.index()] {
        Visit::Done(cost) => Some(cost),
        _ => None,
    });
    Ok(Costs { tree: tree.sum(), dag })
}

/// Returns the selection of the least DAG cost, the first of equal ones. Broken ones are not returned unless all are.
pub(crate) fn cheapest<const N: usize>(graph: &Graph, selections: [Selection; N]) -> Selection {
    let cost = |selection: &Selection| check(graph, selection).map_or(f64::INFINITY, |c| c.dag);
    let costed = selections.into_iter().map(|selection| (cost(&selection), selection));
    costed.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, selection)| selection).unwrap_or_default()
}
