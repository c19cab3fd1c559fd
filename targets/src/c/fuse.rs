//! Loops one after another with the same bounds as one loop, so that what an iteration of the first has read or written
//! is still in the cache, or in a register, when the second needs it.

use super::declare::registers;
use super::shared::Seen;
use crate::dlc::{Addr, Dim, Expr, Loop, Program, Register, RegisterId, Stmt, TensorId, Type};
use ember_values::scalar::{DType, Scalar};
use std::collections::{BTreeMap, BTreeSet};

/// A program in which neighbouring loops over the same data are one loop, as far as the result is the same to the bit:
/// what one iteration writes, no other one accesses.
#[derive(Debug)]
pub(super) struct Fused {
    /// The program. A product of matrices in a loop is that of one batch.
    pub program: Program,
    /// The loop variables that number the batches of products, by the tensor that is written.
    pub batches: BTreeMap<TensorId, RegisterId>,
    /// The tensors of which each thread uses only one row at a time, so that all of its rows may be in one place.
    pub folded: BTreeSet<TensorId>,
}

/// Fuses the loops of a program. `scratch` are the tensors that nothing reads after the program.
pub(super) fn fused(program: &Program, scratch: &[TensorId]) -> Fused {
    let mut program = program.clone();
    let mut fuser = Fuser::default();
    fuser.batched(&mut program);
    program.main = fuser.body(std::mem::take(&mut program.main));
    let mut fused = Fused { program, batches: BTreeMap::new(), folded: BTreeSet::new() };
    for stmt in &fused.program.main {
        let Stmt::For(counted) = stmt else { continue };
        for inner in &counted.body {
            if let Some(out) = fuser.product(inner) {
                fused.batches.insert(out, counted.var);
            }
        }
    }
    fused.folded = fuser.folded(&fused.program, scratch);
    fused
}

#[derive(Debug, Default)]
struct Fuser {
    /// The tensors that are written by products with a loop over batches.
    products: BTreeSet<TensorId>,
}

impl Fuser {
    /// Gives each product of batches of matrices a loop over its batches.
    fn batched(&mut self, program: &mut Program) {
        let mut outs: Vec<TensorId> = Vec::new();
        for stmt in &program.main {
            outs.extend(match stmt {
                Stmt::Matmul { out, .. } => Some(out.tensor),
                _ => None,
            });
        }
        for stmt in &mut program.main {
            let Stmt::Matmul { out, a, b, .. } = stmt else { continue };
            // One matrix of a batch is no batch.
            if [&*out, &*a, &*b].iter().any(|addr| !addr.index.is_empty()) {
                continue;
            }
            let (out, a, b) = (out.tensor, a.tensor, b.tensor);
            let [left, right] = [a, b].map(|id| program.tensors[id.index()].shape.as_slice());
            let ([batches, _, _], [_, _, _]) = (left, right) else { continue };
            if outs.iter().filter(|own| **own == out).count() != 1 {
                continue;
            }
            self.products.insert(out);
            let hi = match *batches {
                Dim::Const(n) => Expr::Const(Scalar::I64(n.cast_signed())),
                Dim::Size(size) => Expr::Size(size),
            };
            let var = RegisterId(u32::try_from(program.registers.len()).unwrap_or(u32::MAX));
            program
                .registers
                .push(Register { name: "batch".to_owned(), ty: Type::scalar(DType::I64) });
            let body = vec![stmt.clone()];
            let lo = Expr::Const(Scalar::I64(0));
            *stmt = Stmt::For(Loop { var, lo, hi, step: 1, body });
        }
    }

    /// Returns the tensor that a product of one batch writes.
    fn product(&self, stmt: &Stmt) -> Option<TensorId> {
        match stmt {
            Stmt::Matmul { out, .. } if self.products.contains(&out.tensor) => Some(out.tensor),
            _ => None,
        }
    }

    fn body(&self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        let mut done: Vec<Stmt> = Vec::new();
        for stmt in stmts {
            match stmt {
                Stmt::For(own) => {
                    let own = Loop { body: self.body(own.body), ..own };
                    self.add(&mut done, own);
                }
                _ => done.push(stmt),
            }
        }
        done
    }

    /// Adds a loop to statements, as a part of the loops before it where that is possible.
    fn add(&self, done: &mut Vec<Stmt>, mut own: Loop) {
        loop {
            let sets = done.iter().rev().take_while(|stmt| matches!(stmt, Stmt::Set(..))).count();
            let between = done.split_off(done.len() - sets);
            let Some(Stmt::For(first)) = done.last() else {
                done.extend(between);
                break;
            };
            match self.pair(first, &own, &between) {
                Some((first, second)) => {
                    done.pop();
                    done.extend(between);
                    own = self.joined(first, second);
                }
                None => {
                    done.extend(between);
                    break;
                }
            }
        }
        done.push(Stmt::For(own));
    }

    /// Returns two loops that may be one, one of them exchanged with the loop in it if that helps.
    fn pair(&self, first: &Loop, second: &Loop, between: &[Stmt]) -> Option<(Loop, Loop)> {
        let fits = |a: &Loop, b: &Loop| self.fit(a, b) && self.movable(between, a);
        if fits(first, second) {
            return Some((first.clone(), second.clone()));
        }
        let other = self.exchanged(first).filter(|own| fits(own, second));
        let other = other.map(|own| (own, second.clone()));
        other.or_else(|| {
            let own = self.exchanged(second).filter(|own| fits(first, own))?;
            Some((first.clone(), own))
        })
    }

    /// Returns the loop whose iterations are those of both.
    fn joined(&self, first: Loop, mut second: Loop) -> Loop {
        let mut all = first.body;
        rename(&mut second.body, second.var, first.var);
        all.extend(second.body);
        Loop { body: self.body(all), ..first }
    }

    /// Exchanges a loop with the only statement in it, a loop whose iterations touch different elements, unless it runs
    /// along rows.
    fn exchanged(&self, outer: &Loop) -> Option<Loop> {
        let [Stmt::For(inner)] = outer.body.as_slice() else { return None };
        let own = self.accesses(inner, inner.var);
        let bounds = [&outer.lo, &outer.hi, &inner.lo, &inner.hi];
        let fixed = |bound: &&Expr| matches!(bound, Expr::Const(_) | Expr::Size(_));
        let mut variables = BTreeSet::new();
        loops(&inner.body, &mut variables);
        let apart = own.seen.written.iter().all(|tensor| own.seen.apart(*tensor, inner));
        let free = bounds.iter().all(fixed) && own.seen.set.is_subset(&variables);
        let along = |addr: &Addr<Expr>| addr.index.last() == Some(&Expr::Register(inner.var));
        let along = own.seen.accesses.values().flatten().any(along);
        (apart && free && !along && !own.seen.matmul).then(|| Loop {
            body: vec![Stmt::For(Loop { body: inner.body.clone(), ..outer.clone() })],
            ..inner.clone()
        })
    }

    /// Returns true if assignments that follow a loop may come before it.
    fn movable(&self, assignments: &[Stmt], before: &Loop) -> bool {
        let own = self.accesses(before, before.var);
        assignments.iter().all(|stmt| {
            let Stmt::Set(set, value) = stmt else { return false };
            !own.registers.contains(set) && own.leaves(value)
        })
    }

    /// Returns true if two loops have the same bounds, one of them reads what the other one accesses, and no iteration of
    /// one accesses what another iteration of the other one writes.
    fn fit(&self, first: &Loop, second: &Loop) -> bool {
        let bounds = |own: &Loop| (own.step, own.lo.clone(), own.hi.clone());
        if bounds(first) != bounds(second) || [first, second].iter().any(|own| ragged(&own.body)) {
            return false;
        }
        let (a, b) = (self.accesses(first, first.var), self.accesses(second, first.var));
        if a.seen.matmul || b.seen.matmul || !a.leaves(&first.lo) || !a.leaves(&first.hi) {
            return false;
        }
        let common = a.seen.accesses.keys().filter(|tensor| b.seen.accesses.contains_key(tensor));
        let common: Vec<TensorId> = common.copied().collect();
        let mut both = a.seen.clone();
        for (tensor, own) in &b.seen.accesses {
            both.accesses.entry(*tensor).or_default().extend(own.iter().cloned());
        }
        let written =
            |tensor: &&TensorId| [&a, &b].iter().any(|own| own.seen.written.contains(tensor));
        let used = |tensor: &TensorId| [&a, &b].iter().any(|own| own.seen.read.contains(tensor));
        common.iter().any(used)
            && a.seen.set.is_disjoint(&b.registers)
            && b.seen.set.is_disjoint(&a.registers)
            && common.iter().filter(written).all(|tensor| both.apart(*tensor, first))
    }

    /// Returns the accesses of a loop whose variable has another name.
    fn accesses(&self, counted: &Loop, var: RegisterId) -> Accesses {
        let mut stmts = counted.body.clone();
        rename(&mut stmts, counted.var, var);
        let seen = Seen::of(&stmts, var, |stmt| self.product(stmt).is_some());
        let mut all = BTreeSet::new();
        stmts.iter().for_each(|stmt| registers(stmt, &mut all));
        all.remove(&var);
        Accesses { seen, registers: all }
    }

    /// Returns the tensors of which a loop uses one row in each iteration, and nothing else anything.
    fn folded(&self, program: &Program, scratch: &[TensorId]) -> BTreeSet<TensorId> {
        let mut uses: BTreeMap<TensorId, usize> = BTreeMap::new();
        for stmt in &program.main {
            let mut own = BTreeSet::new();
            touched(stmt, &mut own);
            own.into_iter().for_each(|tensor| *uses.entry(tensor).or_default() += 1);
        }
        let mut found = BTreeSet::new();
        for stmt in &program.main {
            let Stmt::For(counted) = stmt else { continue };
            let own = self.accesses(counted, counted.var);
            let row = |addr: &Addr<Expr>| addr.index.first() == Some(&Expr::Register(counted.var));
            let alone = |tensor: &&TensorId| {
                let shape = &program.tensors[tensor.index()].shape;
                uses.get(tensor) == Some(&1) && shape.len() > 1 && own.seen.written.contains(tensor)
            };
            let mut rows = own.seen.accesses.iter().filter(|(_, all)| all.iter().all(row));
            found.extend(
                rows.by_ref().map(|(tensor, _)| *tensor).filter(|tensor| {
                    !own.seen.matmul && scratch.contains(tensor) && alone(&tensor)
                }),
            );
        }
        found
    }
}

/// Returns true if statements contain loops whose bounds are data. Over all iterations these run through a list of
/// indices, whose rows are asked for ahead; other work between them brings the rows too early.
fn ragged(stmts: &[Stmt]) -> bool {
    let fixed = |bound: &Expr| matches!(bound, Expr::Const(_) | Expr::Size(_) | Expr::Register(_));
    stmts.iter().any(|stmt| match stmt {
        Stmt::For(own) | Stmt::Walk(_, own) => {
            !fixed(&own.lo) || !fixed(&own.hi) || ragged(&own.body)
        }
        _ => false,
    })
}

/// Collects the variables of loops.
fn loops(stmts: &[Stmt], found: &mut BTreeSet<RegisterId>) {
    for stmt in stmts {
        if let Stmt::For(counted) | Stmt::Walk(_, counted) = stmt {
            found.insert(counted.var);
            loops(&counted.body, found);
        }
    }
}

/// Collects the tensors that a statement reads or writes.
pub(super) fn touched(stmt: &Stmt, found: &mut BTreeSet<TensorId>) {
    match stmt {
        Stmt::Matmul { out, a, b, .. } => {
            found.extend([out, a, b].map(|addr| addr.tensor));
        }
        Stmt::For(counted) | Stmt::Walk(_, counted) => {
            let bounds =
                [&counted.lo, &counted.hi].map(|bound| Stmt::Set(counted.var, bound.clone()));
            bounds.iter().chain(&counted.body).for_each(|inner| touched(inner, found));
        }
        _ => {
            let mut seen = Seen::default();
            seen.body(std::slice::from_ref(stmt));
            found.extend(seen.accesses.into_keys());
        }
    }
}

/// The registers of a loop's body, without the loop's variable, and its accesses.
struct Accesses {
    seen: Seen,
    registers: BTreeSet<RegisterId>,
}

impl Accesses {
    /// Returns true if the loop changes nothing that an expression reads.
    fn leaves(&self, expr: &Expr) -> bool {
        let mut changed = false;
        expr.walk(&mut |part| match part {
            Expr::Register(register) => changed |= self.seen.set.contains(register),
            Expr::Load(addr) => changed |= self.seen.written.contains(&addr.tensor),
            _ => {}
        });
        !changed
    }
}

/// Gives a register another name.
fn rename(stmts: &mut [Stmt], from: RegisterId, to: RegisterId) {
    if from != to {
        stmts.iter_mut().for_each(|stmt| rename_in(stmt, from, to));
    }
}

fn rename_in(stmt: &mut Stmt, from: RegisterId, to: RegisterId) {
    let own = |register: &mut RegisterId| {
        if *register == from {
            *register = to;
        }
    };
    match stmt {
        Stmt::Set(register, value) => {
            own(register);
            in_expr(value, from, to);
        }
        Stmt::Pop(register) => own(register),
        Stmt::Store(addr, value) | Stmt::Accumulate(_, addr, value) => {
            in_addr(addr, from, to);
            in_expr(value, from, to);
        }
        Stmt::Prefetch(addr, _) => in_addr(addr, from, to),
        Stmt::Matmul { out, a, b, .. } => {
            [out, a, b].into_iter().for_each(|addr| in_addr(addr, from, to));
        }
        Stmt::For(counted) | Stmt::Walk(_, counted) => {
            own(&mut counted.var);
            in_expr(&mut counted.lo, from, to);
            in_expr(&mut counted.hi, from, to);
            rename(&mut counted.body, from, to);
        }
    }
}

fn in_addr(addr: &mut Addr<Expr>, from: RegisterId, to: RegisterId) {
    addr.expressions_mut().for_each(|index| in_expr(index, from, to));
}

fn in_expr(expr: &mut Expr, from: RegisterId, to: RegisterId) {
    match expr {
        Expr::Register(register) if *register == from => *register = to,
        Expr::Register(_) | Expr::Const(_) | Expr::Size(_) => {}
        Expr::Load(addr) => in_addr(addr, from, to),
        Expr::Unary(_, x)
        | Expr::Fold(_, x)
        | Expr::Cast(_, x)
        | Expr::Broadcast(_, x)
        | Expr::Iota(_, x) => in_expr(x, from, to),
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|x| in_expr(x, from, to)),
        Expr::Select(c, a, b) => [c, a, b].into_iter().for_each(|x| in_expr(x, from, to)),
    }
}
