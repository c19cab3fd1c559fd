//! What the rules have found: the idioms and simpler forms of values.

use super::IDIOM;
use crate::graph::{Id, Op};
use crate::order::SORTED;
use egg::{Id as Class, Language};
use ember_analysis::facts::EGraph;
use ember_language::term::Head;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The classes after the rules have run.
pub(super) struct Found<'a> {
    pub(super) egraph: &'a EGraph,
    /// The first value of each class.
    pub(super) values: BTreeMap<Class, Id>,
}

impl Found<'_> {
    pub(super) fn new<'a>(egraph: &'a EGraph, classes: &[Class]) -> Found<'a> {
        let mut values = BTreeMap::new();
        for (at, class) in classes.iter().enumerate() {
            values.entry(egraph.find(*class)).or_insert(Id(at));
        }
        Found { egraph, values }
    }

    /// Returns the operation of an idiom in a class, and its operands. The one with the most operands
    /// covers the most; of equal ones, it is that whose operands the program has first.
    pub(super) fn idiom(&self, class: Class) -> Option<(Op, Vec<Id>)> {
        let nodes = &self.egraph[self.egraph.find(class)].nodes;
        let idioms = nodes.iter().filter_map(|node| {
            let word = node.name()?.strip_prefix(IDIOM)?;
            let mut operands = Vec::new();
            // The extents of an idiom are those of what it stands for.
            let nodes = |class: &Class| &self.egraph[self.egraph.find(*class)].nodes;
            let is_shape = |class: &&Class| nodes(class).iter().any(|n| n.name() == Some("shape"));
            for child in node.children().iter().filter(|child| !is_shape(child)) {
                match self.values.get(&self.egraph.find(*child)) {
                    Some(id) => operands.push(*id),
                    None => operands.extend(self.list(*child)?),
                }
            }
            Some((Op::Idiom(word.to_owned()), operands))
        });
        let edges =
            |op: &Op| matches!(op, Op::Idiom(word) if SORTED.iter().any(|(own, _)| own == word));
        // Bags are edges whose order is known already.
        idioms.max_by_key(|(op, operands): &(Op, Vec<Id>)| {
            (!edges(op), operands.len(), Reverse(operands.clone()))
        })
    }

    /// Returns a lookup or a scatter with the positions that the program has first, among those that are equal.
    pub(super) fn simpler(&self, class: Class, op: &Op) -> Option<(Op, Vec<Id>)> {
        let (name, skipped) = match op {
            Op::Gather => ("rows".to_owned(), 1),
            Op::Scatter(word) => (format!("scatter.{word}"), 0),
            _ => return None,
        };
        let nodes = self.egraph[self.egraph.find(class)].nodes.iter();
        let operands = nodes.filter(|node| node.name() == Some(name.as_str())).filter_map(|node| {
            let children = node.children().iter().skip(skipped);
            let value = |child: &Class| self.values.get(&self.egraph.find(*child)).copied();
            children.map(value).collect::<Option<Vec<Id>>>()
        });
        Some((op.clone(), operands.min_by_key(|operands| operands.get(1).copied())?))
    }

    /// Returns the tensors of a list.
    fn list(&self, class: Class) -> Option<Vec<Id>> {
        let (mut list, mut at) = (Vec::new(), class);
        loop {
            let nodes = &self.egraph[self.egraph.find(at)].nodes;
            let (head, children) = nodes.iter().find_map(|node| match node.head() {
                Head::Op(name) => Some((name, node.children())),
                _ => None,
            })?;
            match (head.as_str(), children) {
                ("then", [tensor, rest]) => {
                    list.push(*self.values.get(&self.egraph.find(*tensor))?);
                    at = *rest;
                }
                _ => return Some(list),
            }
        }
    }
}
