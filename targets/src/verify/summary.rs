//! Summaries: what each unit pushes, and which registers its callbacks write.

use super::structure::events;
use crate::dlc::{Action, Program, RegisterId, Stmt};
use std::collections::BTreeSet;

/// What a unit pushes, its children included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Neither tokens nor operands: the execute unit takes no part.
    Silent,
    /// Operands only: a walk follows it.
    Operands,
    /// Tokens.
    Tokens,
}

/// The class of every unit.
pub fn classes(program: &Program) -> Vec<Class> {
    let mut classes = vec![Class::Silent; program.units.len()];
    // A child has a higher id than its parent.
    for (at, unit) in program.units.iter().enumerate().rev() {
        let class = events(unit).into_iter().flatten().map(|action| match action {
            Action::Operand(_) => Class::Operands,
            Action::Callback(_) => Class::Tokens,
            Action::Traverse(child) => classes[child.index()],
            Action::Store { .. } | Action::Barrier => Class::Silent,
        });
        classes[at] = class.max().unwrap_or(Class::Silent);
    }
    classes
}

/// The registers that the callbacks of each unit write, its children's included.
pub fn written_by_units(program: &Program) -> Vec<BTreeSet<RegisterId>> {
    let mut written: Vec<BTreeSet<RegisterId>> = vec![BTreeSet::new(); program.units.len()];
    for (at, unit) in program.units.iter().enumerate().rev() {
        let mut here = BTreeSet::new();
        for action in events(unit).into_iter().flatten() {
            match action {
                Action::Callback(case) => {
                    written_by(&program.cases[case.index()].body, &mut here);
                }
                Action::Traverse(child) => here.extend(written[child.index()].iter().copied()),
                Action::Operand(_) | Action::Store { .. } | Action::Barrier => {}
            }
        }
        written[at] = here;
    }
    written
}

/// Adds the registers that statements write.
pub fn written_by(body: &[Stmt], written: &mut BTreeSet<RegisterId>) {
    for stmt in body {
        match stmt {
            Stmt::Set(register, _) | Stmt::Pop(register) => {
                written.insert(*register);
            }
            Stmt::Store(..) | Stmt::Accumulate(..) => {}
            Stmt::For(counted) | Stmt::Walk(_, counted) => {
                written.insert(counted.var);
                written_by(&counted.body, written);
            }
        }
    }
}
