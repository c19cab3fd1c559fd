//! The steps of a program at its root: the places where it can be cut into programs that follow each other.

use crate::dlc::{Action, Expr, Program, RegisterId, Stmt, UnitId};
use crate::verify::written_by;
use std::collections::BTreeSet;
use std::ops::Range;

/// A part of what a program does at its root. Parts that follow each other make the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The actions of the access unit.
    pub access: Range<usize>,
    /// The statements of [`Program::main`].
    pub main: Range<usize>,
}

impl Step {
    /// Returns this step and the following ones, up to another.
    pub fn to(&self, last: &Step) -> Step {
        Step { access: self.access.start..last.access.end, main: self.main.start..last.main.end }
    }
}

impl Program {
    /// Returns the smallest steps of the program: the statements of a coupled one; else its callbacks at the root, each with
    /// what its case pops, and its traversals that push callbacks.
    pub fn steps(&self) -> Vec<Step> {
        if self.is_coupled() {
            return (0..self.main.len()).map(|n| Step { access: 0..0, main: n..n + 1 }).collect();
        }
        let begins = |n: usize| match &self.access[n] {
            Action::Callback(_) => true,
            Action::Traverse(unit) => self.calls_back(*unit),
            _ => matches!(self.access[n - 1], Action::Barrier),
        };
        let mut cuts: Vec<usize> = (1..self.access.len()).filter(|n| begins(*n)).collect();
        cuts.push(self.access.len());
        let mut from = 0;
        let step = |to: usize| {
            let access = std::mem::replace(&mut from, to)..to;
            let main = if access.start == 0 { 0 } else { self.main.len() }..self.main.len();
            Step { access, main }
        };
        cuts.into_iter().map(step).collect()
    }

    /// Returns the program of one step. Constants that main gives registers, and that no earlier step changes, are set again.
    pub fn only(&self, step: &Step) -> Program {
        let of = |access: Range<usize>, main: Range<usize>| Program {
            access: self.access[access].to_vec(),
            main: self.main[main].to_vec(),
            ..self.clone()
        };
        let mut changed = BTreeSet::new();
        let before = of(0..step.access.start, 0..0);
        before.bodies().into_iter().for_each(|body| written_by(body, &mut changed));
        let mut program = of(step.access.clone(), step.main.clone());
        while let Some(register) = program.unset() {
            let sets =
                |stmt: &&Stmt| matches!(stmt, Stmt::Set(r, Expr::Const(_)) if *r == register);
            match self.main[..step.main.start].iter().find(sets) {
                Some(set) if !changed.contains(&register) => program.main.push(set.clone()),
                _ => break,
            }
        }
        program
    }

    /// Returns a register that the program reads before it sets it, as one step of a program may that an earlier step sets.
    pub fn unset(&self) -> Option<RegisterId> {
        let mut set = BTreeSet::new();
        self.bodies().into_iter().find_map(|body| unset(body, &mut set))
    }

    /// Returns main and the bodies of the cases that are called, in order.
    pub fn bodies(&self) -> Vec<&[Stmt]> {
        let mut cases = Vec::new();
        self.access.iter().for_each(|action| self.cases_of(action, &mut cases));
        let cases = cases.into_iter().map(|n: usize| &self.cases[n].body[..]);
        std::iter::once(&self.main[..]).chain(cases).collect()
    }

    /// Returns true if a traversal pushes a callback.
    fn calls_back(&self, unit: UnitId) -> bool {
        let mut cases = Vec::new();
        self.cases_of(&Action::Traverse(unit), &mut cases);
        !cases.is_empty()
    }

    /// Adds the cases that an action calls, in order.
    fn cases_of(&self, action: &Action, cases: &mut Vec<usize>) {
        match action {
            Action::Callback(case) => cases.push(case.index()),
            Action::Traverse(unit) => {
                let unit = &self.units[unit.index()];
                let events = [&unit.beg, &unit.ite, &unit.end];
                events.into_iter().flatten().for_each(|action| self.cases_of(action, cases));
            }
            _ => {}
        }
    }
}

/// Returns a register that statements read before they set it; adds those that they set.
fn unset(body: &[Stmt], set: &mut BTreeSet<RegisterId>) -> Option<RegisterId> {
    for stmt in body {
        let mut missing = None;
        for expr in expressions(stmt) {
            expr.walk(&mut |part| match part {
                Expr::Register(register) if !set.contains(register) => missing = Some(*register),
                _ => {}
            });
        }
        match stmt {
            _ if missing.is_some() => return missing,
            Stmt::Set(register, _) | Stmt::Pop(register) => {
                set.insert(*register);
            }
            Stmt::For(counted) | Stmt::Walk(_, counted) => {
                set.insert(counted.var);
                if let Some(missing) = unset(&counted.body, set) {
                    return Some(missing);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the expressions of a statement, without those of a loop's body.
fn expressions(stmt: &Stmt) -> Vec<&Expr> {
    match stmt {
        Stmt::Set(_, value) => vec![value],
        Stmt::Pop(_) => Vec::new(),
        Stmt::Store(addr, value) | Stmt::Accumulate(_, addr, value) => {
            std::iter::once(value).chain(addr.expressions()).collect()
        }
        Stmt::Prefetch(addr, _) => addr.expressions().collect(),
        Stmt::Matmul { out, a, b, .. } => {
            [out, a, b].into_iter().flat_map(|addr| addr.expressions()).collect()
        }
        Stmt::For(counted) | Stmt::Walk(_, counted) => vec![&counted.lo, &counted.hi],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dlc::{Addr, Case, CaseId, Register, TensorId, Type};
    use ember_values::scalar::{DType, Scalar};

    /// Two callbacks with a barrier between them; the second reads a register.
    fn program(read: u32) -> Program {
        let ty = Type::scalar(DType::I64);
        let case = |body| Case { name: String::new(), body };
        let [own, other] = [0, 1].map(RegisterId);
        let set = Stmt::Set(own, Expr::Const(Scalar::I64(1)));
        let store = Stmt::Store(Addr::whole(TensorId(0)), Expr::Register(RegisterId(read)));
        Program {
            access: vec![Action::Callback(CaseId(0)), Action::Barrier, Action::Callback(CaseId(1))],
            registers: vec![Register { name: "r".into(), ty }, Register { name: "s".into(), ty }],
            main: vec![Stmt::Set(other, Expr::Const(Scalar::I64(0)))],
            cases: vec![case(vec![set.clone()]), case(vec![set, store])],
            ..Program::default()
        }
    }

    #[test]
    fn a_program_is_cut_at_barriers_and_callbacks() {
        let program = program(0);
        let steps = program.steps();
        let access: Vec<_> = steps.iter().map(|step| step.access.clone()).collect();
        assert_eq!(access, [0..2, 2..3]);
        assert_eq!(program.only(&steps[0].to(&steps[1])), program);
        let last = program.only(&steps[1]);
        assert_eq!((last.main.len(), last.access.len()), (0, 1));
        let coupled = Program { access: vec![], ..program };
        assert_eq!(coupled.steps(), [Step { access: 0..0, main: 0..1 }]);
    }

    #[test]
    fn a_step_may_read_what_another_has_set() {
        let unset = |read| {
            let program = program(read);
            let steps = program.steps();
            (program.unset(), program.only(&steps[1]).unset())
        };
        assert_eq!(unset(0), (None, None));
        assert_eq!(unset(1), (None, None), "main sets it to a constant, so that may be done again");
        let mut changed = program(1);
        changed.cases[0].body = changed.main.clone();
        let last = changed.only(&changed.steps()[1]);
        assert_eq!(last.unset(), Some(RegisterId(1)));
    }
}
