//! Finds the tensors that parts of a DLC program write, on either unit.

use ember_targets::dlc::{Action, Program, Stmt, TensorId};
use std::collections::BTreeSet;

/// Collects the tensors that statements write.
pub(super) fn written(program: &Program, body: &[Stmt], found: &mut BTreeSet<TensorId>) {
    let mut open: Vec<&Stmt> = body.iter().collect();
    while let Some(statement) = open.pop() {
        match statement {
            Stmt::Store(addr, _) | Stmt::Accumulate(_, addr, _) => {
                found.insert(addr.tensor);
            }
            Stmt::Matmul { out, .. } => {
                found.insert(out.tensor);
            }
            Stmt::For(l) => open.extend(&l.body),
            Stmt::Walk(unit, l) => {
                open.extend(&l.body);
                written_by(program, &program.units[unit.index()].ite, found);
            }
            Stmt::Set(..) | Stmt::Pop(_) | Stmt::Prefetch(..) => {}
        }
    }
}

/// Collects the tensors that actions write, including the callbacks that they call.
pub(super) fn written_by(program: &Program, actions: &[Action], found: &mut BTreeSet<TensorId>) {
    let mut open: Vec<&Action> = actions.iter().collect();
    while let Some(action) = open.pop() {
        match action {
            Action::Store { addr, .. } => {
                found.insert(addr.tensor);
            }
            Action::Callback(case) => {
                // A walk's unit is traversed by these actions, which already cover its writes.
                let mut bodies: Vec<&[Stmt]> = vec![&program.cases[case.index()].body];
                while let Some(body) = bodies.pop() {
                    for statement in body {
                        match statement {
                            Stmt::Walk(_, l) | Stmt::For(l) => bodies.push(&l.body),
                            other => written(program, std::slice::from_ref(other), found),
                        }
                    }
                }
            }
            Action::Traverse(unit) => {
                let unit = &program.units[unit.index()];
                open.extend(unit.beg.iter().chain(&unit.ite).chain(&unit.end));
            }
            Action::Operand(_) | Action::Prefetch(_) | Action::Barrier => {}
        }
    }
}
