//! Operators that change a tensor in place. A value of the common graph never changes, so nothing may use the tensor
//! again under a name that it had before.

use super::schema::{Arg, Graph, Node};
use crate::error::Problem;
use std::collections::BTreeMap;

/// Which values share their elements, and where each value is used last.
pub(super) struct Aliases<'a> {
    /// For each value that is a view the value that has the elements.
    holder: BTreeMap<&'a str, &'a str>,
    /// The operator that uses a value last, by its place; the result comes behind all.
    last: BTreeMap<&'a str, usize>,
}

impl<'a> Aliases<'a> {
    pub(super) fn new(graph: &'a Graph) -> Aliases<'a> {
        let mut last = BTreeMap::new();
        for (at, node) in graph.nodes.iter().enumerate() {
            last.extend(
                node.inputs.iter().flat_map(|input| input.arg.names()).map(|own| (own, at)),
            );
        }
        let results = graph.outputs.iter().flat_map(Arg::names);
        last.extend(results.map(|own| (own, graph.nodes.len())));
        Aliases { holder: BTreeMap::new(), last }
    }

    fn held_by(&self, name: &'a str) -> &'a str {
        self.holder.get(name).copied().unwrap_or(name)
    }

    /// Notes an operator at a place. Fails if it changes what is used later under another name.
    pub(super) fn note(
        &mut self,
        at: usize,
        node: &'a Node,
        is_view: bool,
        changes: bool,
    ) -> Result<(), Problem> {
        let Some(operand) = node.inputs.first().and_then(|input| input.arg.names().next()) else {
            return Ok(());
        };
        let holder = self.held_by(operand);
        if changes {
            let shares = |name: &&str| self.held_by(name) == holder;
            let mut later = self.last.iter().filter(|(_, last)| **last > at).map(|(name, _)| *name);
            let results: Vec<&str> = node.outputs.iter().flat_map(Arg::names).collect();
            if let Some(other) = later.find(|name| shares(name) && !results.contains(name)) {
                return Err(Problem::Overwritten(other.to_owned()));
            }
        } else if is_view {
            let views = node.outputs.iter().flat_map(Arg::names);
            self.holder.extend(views.map(|view| (view, holder)));
        }
        Ok(())
    }
}
