//! One term from those of the groups.

use super::rename::thawed;
use crate::cost::Goal;
use crate::decouple::ModelContext;
use egg::{Id, RecExpr, Symbol};
use ember_language::rebuild::rebuild;
use ember_language::rules::{Operators, Unit};
use ember_language::term::{Head, Node, Term};
use ember_targets::dlc::{Program, TensorId};
use ember_targets::verify::Footprint;
use ember_values::primitive::Primitive;
use std::collections::BTreeSet;

/// The terms of all groups one after the other. Between two groups of a decoupled program stands a
/// barrier where the access unit, which runs ahead, would touch what the execute unit writes, or
/// the other way round. What was written since the last barrier is not frozen yet: who reads it there
/// is the unit that wrote it. `parts` are the groups' own terms and programs. `None` if the dialects have no
/// statement that this takes.
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
    let statement = |primitive: Primitive, children: &[Id]| {
        Some(Node::new(Head::Op(operators.named(primitive, unit)?), children))
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
            roots.push(term.add(statement(Primitive::Barrier, &[])?));
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
            rest = term.add(statement(Primitive::Seq, &[part, rest])?);
        }
    }
    Some(term)
}
