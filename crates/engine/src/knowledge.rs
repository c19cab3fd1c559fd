//! The interface that the engine requires of an e-graph's analysis; the engine knows nothing else of it.

use crate::journal::Journal;
use egg::Id;
use ember_egraph::Analysis;
use ember_language::term::Node;
use ember_values::scalar::Scalar;

/// An e-graph of terms with an analysis.
pub type EGraph<A> = ember_egraph::EGraph<Node, A>;

/// An analysis that supports rules: it evaluates their conditions, and may fold terms while a rule's nodes are added.
pub trait Knowledge: Analysis<Node, Data: Sync> + Sync {
    /// The most nodes that folding adds for one node.
    const FOLDED_NODES: usize;

    /// Evaluates a predicate, given by its index in [`ember_language::conditions::PREDICATES`].
    fn holds(egraph: &EGraph<Self>, predicate: usize, classes: &[Id]) -> bool;

    /// Returns the constants of a generator, given by its index in [`ember_language::conditions::GENERATORS`], in
    /// ascending order.
    fn values(egraph: &EGraph<Self>, generator: usize, classes: &[Id]) -> Vec<i64>;

    /// Returns the integer that a class is known to equal.
    fn integer(data: &Self::Data) -> Option<i64>;

    /// Returns true for a literal number of any type.
    fn is_literal(&self, node: &Node) -> bool;

    /// Returns the two different constants that met in one class, if that has happened.
    fn contradiction(&self) -> Option<(Scalar, Scalar)>;

    /// Stops folding once `ceiling` nodes have been made in all; `None` removes the ceiling.
    fn set_node_ceiling(&mut self, ceiling: Option<usize>);

    /// Keeps this many nodes below the ceiling free for nodes that are about to be made.
    fn reserve_nodes(&mut self, nodes: usize);

    /// Returns true if a fold was skipped because of the ceiling.
    fn ceiling_reached(&self) -> bool;

    /// Returns the journal in which applications of rules are recorded.
    fn journal(&mut self) -> &mut Journal;
}
