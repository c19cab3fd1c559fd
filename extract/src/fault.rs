//! Faults of e-graphs: the reasons why nothing can be extracted from one.

use thiserror::Error;

/// A fault of an e-graph. It names the class, or the node if it has no class.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// A text that is not of the format.
    #[error("not an e-graph in JSON: {0}")]
    Syntax(String),
    /// An e-graph without nodes.
    #[error("the e-graph has no classes")]
    Empty,
    /// An e-graph without roots.
    #[error("the e-graph has no roots")]
    NoRoots,
    /// A root that has no nodes.
    #[error("the root class `{class}` has no nodes")]
    NoSuchRoot {
        /// The class.
        class: String,
    },
    /// A node without a class.
    #[error("the node `{node}` has no class")]
    NoClass {
        /// The node.
        node: String,
    },
    /// Two nodes of one name.
    #[error("two nodes are called `{node}`, in class `{class}` and in class `{first}`")]
    DuplicateNode {
        /// The name.
        node: String,
        /// The class of the second one.
        class: String,
        /// The class of the first one.
        first: String,
    },
    /// A class that is described twice.
    #[error("class `{class}` is described twice")]
    DuplicateClass {
        /// The class.
        class: String,
    },
    /// A child that does not exist.
    #[error("class `{class}`: the node `{node}` has the child `{child}`, which is no node")]
    NoSuchChild {
        /// The class.
        class: String,
        /// The node.
        node: String,
        /// The name of the child.
        child: String,
    },
    /// A cost that is no number, infinite or negative.
    #[error("class `{class}`: the node `{node}` costs {cost}")]
    Cost {
        /// The class.
        class: String,
        /// The node.
        node: String,
        /// The cost as it was written.
        cost: String,
    },
    /// Costs whose sum is infinite.
    #[error(
        "class `{class}`: the node `{node}` costs {cost:e}, and all costs together are infinite"
    )]
    Sum {
        /// The class of the most expensive node.
        class: String,
        /// The node.
        node: String,
        /// Its cost.
        cost: f64,
    },
    /// A root that needs a class without a node that may be chosen.
    #[error("class `{class}` has only subsumed nodes{}", needed(root, class))]
    Subsumed {
        /// The class.
        class: String,
        /// The root that cannot do without the class.
        root: String,
    },
    /// A root of which every term is infinite.
    #[error(
        "class `{class}` has only cyclic nodes: {}{}",
        cycle.iter().map(|class| format!("`{class}`")).collect::<Vec<_>>().join(" -> "),
        needed(root, class)
    )]
    Cyclic {
        /// A class that leads back to itself.
        class: String,
        /// The way, from the class to itself; the middle of a long one is left out.
        cycle: Vec<String>,
        /// The root that cannot do without the class.
        root: String,
    },
}

fn needed(root: &str, class: &str) -> String {
    if root == class { String::new() } else { format!("; the root class `{root}` needs it") }
}

impl Fault {
    /// Returns a way out.
    pub fn help(&self) -> &'static str {
        match self {
            Fault::Syntax(_) => {
                "the format is that of the crate egraph-serialize: {\"nodes\": {NAME: {\"op\": …, \"children\": [NAME, \
                 …], \"eclass\": CLASS, \"cost\": …}, …}, \"root_eclasses\": [CLASS, …]}"
            }
            Fault::Empty => "`nodes` must have at least one member",
            Fault::NoRoots => "list the classes to extract under `root_eclasses`",
            Fault::NoSuchRoot { .. } => "give the class a node, or take it out of `root_eclasses`",
            Fault::NoClass { .. } => "name its class as `eclass`",
            Fault::DuplicateNode { .. } => "give one of them another name",
            Fault::DuplicateClass { .. } => "keep one of its members of `class_data`",
            Fault::NoSuchChild { .. } => {
                "a child is the name of a node, and stands for the node's class"
            }
            Fault::Cost { .. } => "a cost is a finite number, 0 or more",
            Fault::Sum { .. } => "divide all costs by the same number",
            Fault::Subsumed { .. } => {
                "every class that is needed must have a node that is not subsumed"
            }
            Fault::Cyclic { .. } => {
                "every class that is needed must have a finite term: add a leaf"
            }
        }
    }
}
