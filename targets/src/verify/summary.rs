//! Summaries of units: the class of their pushes, and the registers that their iterations write.

use super::structure::events;
use crate::dlc::{Action, Program, RegisterId, Stmt};
use std::collections::BTreeSet;

/// The pushes of a unit, its children included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Neither tokens nor operands: the execute unit takes no part.
    Silent,
    /// Operands only: a walk follows the unit.
    Operands,
    /// Tokens.
    Tokens,
}

/// Returns the class of every unit.
pub fn classes(program: &Program) -> Vec<Class> {
    let mut classes = vec![Class::Silent; program.units.len()];
    // A child has a higher id than its parent.
    for (at, unit) in program.units.iter().enumerate().rev() {
        let class = events(unit).into_iter().flatten().map(|action| match action {
            Action::Operand(_) => Class::Operands,
            Action::Callback(_) => Class::Tokens,
            Action::Traverse(child) => classes[child.index()],
            Action::Prefetch(_) | Action::Store { .. } | Action::Barrier => Class::Silent,
        });
        classes[at] = class.max().unwrap_or(Class::Silent);
    }
    classes
}

/// Returns the registers written in the iterations of each unit, its children included.
pub fn written_by_units(program: &Program) -> Vec<BTreeSet<RegisterId>> {
    // The registers of a whole traversal, and those of its iterations alone.
    let mut traversal: Vec<BTreeSet<RegisterId>> = vec![BTreeSet::new(); program.units.len()];
    let mut iterations = traversal.clone();
    for (at, unit) in program.units.iter().enumerate().rev() {
        for (event, actions) in events(unit).into_iter().enumerate() {
            let mut written = BTreeSet::new();
            for action in actions {
                match action {
                    Action::Callback(case) => {
                        written_by(&program.cases[case.index()].body, &mut written);
                    }
                    Action::Traverse(child) => written.extend(&traversal[child.index()]),
                    Action::Operand(_)
                    | Action::Prefetch(_)
                    | Action::Store { .. }
                    | Action::Barrier => {}
                }
            }
            traversal[at].extend(&written);
            if event == 1 {
                iterations[at] = written;
            }
        }
    }
    iterations
}

/// Adds the registers that statements write.
pub fn written_by(body: &[Stmt], written: &mut BTreeSet<RegisterId>) {
    for stmt in body {
        match stmt {
            Stmt::Set(register, _) | Stmt::Pop(register) => {
                written.insert(*register);
            }
            Stmt::Store(..) | Stmt::Accumulate(..) | Stmt::Prefetch(..) | Stmt::Matmul { .. } => {}
            Stmt::For(counted) | Stmt::Walk(_, counted) => {
                written.insert(counted.var);
                written_by(&counted.body, written);
            }
        }
    }
}
