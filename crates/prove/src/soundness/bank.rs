//! Storage for terms under construction: every distinct node is stored once, so that terms share their parts.

use egg::{Id, Language};
use ember_language::term::{Node, Term};
use rustc_hash::FxHashMap;

/// Terms that share their nodes; an [`Id`] is a term.
#[derive(Clone, Debug, Default)]
pub(super) struct Bank {
    term: Term,
    known: FxHashMap<Node, Id>,
}

impl Bank {
    /// Adds a node over terms of this bank.
    pub fn add(&mut self, node: Node) -> Id {
        let term = &mut self.term;
        *self.known.entry(node.clone()).or_insert_with(|| term.add(node))
    }

    /// Adds an operator applied to terms of this bank.
    pub fn op(&mut self, name: &str, children: &[Id]) -> Id {
        self.add(Node::op(name, children))
    }

    /// Adds an integer.
    pub fn int(&mut self, n: i64) -> Id {
        self.add(Node::int(n))
    }

    /// Returns the node of a term.
    pub fn node(&self, id: Id) -> &Node {
        &self.term[id]
    }

    /// Returns all nodes of the bank as one term.
    pub fn all(&self) -> &Term {
        &self.term
    }

    /// Returns one term alone.
    pub fn extract(&self, id: Id) -> Term {
        self.term[id].build_recexpr(|child| self.term[child].clone())
    }
}
