//! One term from those of the groups.

use super::rename::thawed;
use crate::cost::Goal;
use crate::decouple::ModelContext;
use egg::{Id, Language, RecExpr, Symbol};
use ember_language::term::{Node, Term};
use ember_targets::dlc::{Program, TensorId};
use ember_targets::verify::Footprint;
use std::collections::BTreeSet;

/// The terms of all groups one after the other. Between two groups of a decoupled program stands a
/// barrier where the access unit, which runs ahead, would touch what the execute unit writes, or
/// the other way round. What was written since the last barrier is not frozen yet: who reads it there
/// is the unit that wrote it. `parts` are the groups' own terms and programs.
pub fn compose(goal: Goal, context: &ModelContext, parts: &[(&Term, &Program)]) -> Term {
    let seq = match goal {
        Goal::Coupled => "scf.seq",
        Goal::Decoupled => "slc.seq",
    };
    let mut term = RecExpr::default();
    let mut roots: Vec<Id> = Vec::new();
    let mut epoch = Footprint::default();
    for (part, program) in parts {
        let own = Footprint::of(program).renumbered(|id| {
            let name = &program.tensors[id.index()].name;
            let at = context.tensors.iter().position(|t| t.name == *name)?;
            Some(TensorId(at as u32))
        });
        // One unit alone runs in order, and never needs one.
        let beside = epoch.beside(&own);
        if beside.is_none() {
            roots.push(term.add(Node::op("slc.barrier", &[])));
            epoch = Footprint::default();
        }
        let name = |id: TensorId| format!("%{}", context.tensors[id.index()].name);
        let fresh: BTreeSet<Symbol> = epoch.written().map(|id| Symbol::from(name(id))).collect();
        let part = thawed(part, &fresh);
        epoch = beside.unwrap_or(own);
        let mut ids: Vec<Id> = Vec::with_capacity(part.as_ref().len());
        for node in part.as_ref() {
            ids.push(term.add(node.clone().map_children(|c| ids[usize::from(c)])));
        }
        roots.extend(ids.last().copied());
    }
    if let Some(mut rest) = roots.pop() {
        while let Some(part) = roots.pop() {
            rest = term.add(Node::op(seq, &[part, rest]));
        }
    }
    term
}
