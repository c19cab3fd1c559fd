//! One term from those of the groups.

use crate::cost::Goal;
use crate::decouple::ModelContext;
use crate::term::{Node, Term};
use egg::{Id, Language, RecExpr};
use ember_targets::dlc::{Program, TensorId};
use ember_targets::verify::Footprint;

/// The terms of all groups one after the other. Between two groups of a decoupled program stands a
/// barrier where the access unit, which runs ahead, would touch what the execute unit writes, or
/// the other way round; `parts` are the groups' own terms and programs.
pub fn compose(goal: Goal, context: &ModelContext, parts: &[(&Term, &Program)]) -> Term {
    let (seq, barrier) = match goal {
        Goal::Coupled => ("scf.seq", None),
        Goal::Decoupled => ("slc.seq", Some("slc.barrier")),
    };
    let mut term = RecExpr::default();
    let mut roots: Vec<Id> = Vec::new();
    let mut epoch = Footprint::default();
    for (part, program) in parts {
        if let Some(barrier) = barrier {
            let own = Footprint::of(program).renumbered(|id| {
                let name = &program.tensors[id.index()].name;
                let at = context.tensors.iter().position(|t| t.name == *name)?;
                Some(TensorId(at as u32))
            });
            match epoch.beside(&own) {
                Some(both) => epoch = both,
                None => {
                    roots.push(term.add(Node::op(barrier, &[])));
                    epoch = own;
                }
            }
        }
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
