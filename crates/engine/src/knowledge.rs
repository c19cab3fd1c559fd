//! What the engine asks of the analysis that an e-graph carries; it knows nothing else of it.

use crate::journal::Journal;
use egg::Id;
use ember_egraph::Analysis;
use ember_language::term::Node;
use ember_values::scalar::Scalar;

/// An e-graph of terms with an analysis.
pub type EGraph<A> = ember_egraph::EGraph<Node, A>;

/// An analysis that rules can be applied with: it answers their conditions, and may fold terms while a
/// rule's are added.
pub trait Knowledge: Analysis<Node, Data: Sync> + Sync {
    /// The most nodes that folding adds for one node.
    const FOLDED_NODES: usize;

    /// The answer of a predicate, by its place in [`ember_language::conditions::PREDICATES`].
    fn holds(egraph: &EGraph<Self>, predicate: usize, classes: &[Id]) -> bool;

    /// The constants of a generator, by its place in [`ember_language::conditions::GENERATORS`], in
    /// ascending order.
    fn values(egraph: &EGraph<Self>, generator: usize, classes: &[Id]) -> Vec<i64>;

    /// The integer that a class is known to be.
    fn integer(data: &Self::Data) -> Option<i64>;

    /// True of a literal number of some type.
    fn is_literal(&self, node: &Node) -> bool;

    /// The two different constants that met in one class, if that has happened.
    fn contradiction(&self) -> Option<(Scalar, Scalar)>;

    /// Ends folding after so many nodes have been made in all; `None` for no ceiling.
    fn set_node_ceiling(&mut self, ceiling: Option<usize>);

    /// Leaves room below the ceiling for nodes that are about to be made.
    fn reserve_nodes(&mut self, nodes: usize);

    /// Whether something was not folded because of the ceiling.
    fn ceiling_reached(&self) -> bool;

    /// Where applications of rules are recorded.
    fn journal(&mut self) -> &mut Journal;
}
