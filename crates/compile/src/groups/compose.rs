//! The composition of the groups' terms to one term.

use super::rename::thawed;
use crate::cost::Goal;
use crate::decouple::ModelContext;
use egg::{Id, RecExpr, Symbol};
use ember_language::rebuild::rebuild;
use ember_language::rules::{Operators, Unit};
use ember_language::term::{Head, Node, Term};
use ember_targets::dlc::{Program, TensorId};
use ember_targets::verify::Footprint;
use ember_values::primitive::form::{Form, Sequence};
use std::collections::BTreeSet;

/// Composes the terms of all groups in sequence. `parts` are the terms and programs of the groups. In a decoupled
/// program, a barrier separates two groups if the access unit, which runs ahead, would access data that the execute
/// unit writes, or the other way round. Tensors written since the last barrier are not frozen yet; only the unit that
/// wrote them reads them there. Returns `None` if the dialects lack a statement that the composition needs.
pub fn compose(
    operators: &Operators,
    goal: Goal,
    context: &ModelContext,
    parts: &[(&Term, &Program)],
) -> Option<Term> {
    let unit = match goal {
        Goal::Coupled => None,
        Goal::Decoupled => Some(Unit::Both),
    };
    let sequence = |sequence| {
        let (name, children) = operators.written(Form::Sequence(sequence), unit)?;
        Some(Node::new(Head::Op(name), &children))
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
        // A single unit runs in order, so a coupled program never needs a barrier.
        let beside = epoch.beside(&own);
        if beside.is_none() {
            roots.push(term.add(sequence(Sequence::Barrier)?));
            epoch = Footprint::default();
        }
        let name = |id: TensorId| format!("%{}", context.tensors[id.index()].name);
        let fresh: BTreeSet<Symbol> = epoch.written().map(|id| Symbol::from(name(id))).collect();
        let part = thawed(operators, part, &fresh);
        epoch = beside.unwrap_or(own);
        roots.push(rebuild(part.as_ref(), |_, node| term.add(node)));
    }
    if let Some(mut rest) = roots.pop() {
        while let Some(part) = roots.pop() {
            rest = term.add(sequence(Sequence::Two([part, rest]))?);
        }
    }
    Some(term)
}
