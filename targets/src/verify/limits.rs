//! Limits of the target: layers, units, storage, operands, vector registers, cases.

use super::structure::{Tree, events};
use super::{Errors, Kind, Limits, Part, Place};
use crate::dlc::{Action, Addr, Expr, Program, RegisterId, Stmt, Type, UnitId};
use std::collections::BTreeMap;

/// Checks the needs of the program against the limits of the target.
pub fn check(program: &Program, tree: &Tree, limits: &Limits, errors: &mut Errors) {
    let whole = Place::new(Part::Program, &program.name);
    let mut at_most = |needs: u64, has: u64, what: &str, place: &Place| {
        if needs > has {
            let message = format!("needs {needs} {what}, and the target has {has}");
            errors.push(Kind::Limit, place, message);
        }
    };
    let layers = tree.depth.iter().copied().max().unwrap_or(0) as u64;
    at_most(layers, limits.layers.into(), "layers of traversal units", &whole);
    at_most(program.cases.len() as u64, limits.cases.into(), "kinds of callback", &whole);
    for action in program.units.iter().flat_map(events).flatten().chain(&program.access) {
        if let Action::Operand(id) = action {
            let stream = &program.streams[id.index()];
            let place = Place::new(Part::Stream, &stream.name);
            at_most(stream.ty.bytes(), limits.operand_bytes, "bytes in one operand", &place);
        }
    }
    // Traversals at the root use the access unit in turn.
    let mut units: BTreeMap<UnitId, u64> = BTreeMap::new();
    for at in 0..program.units.len() {
        *units.entry(tree.root_of(UnitId(at as u32))).or_default() += 1;
    }
    for (unit, needs) in units {
        let place = Place::new(Part::Unit, &program.units[unit.index()].name);
        at_most(needs, limits.units.into(), "traversal units", &place);
    }
    let mut storage: BTreeMap<UnitId, u64> = BTreeMap::new();
    let dropped = program.only_prefetched();
    for ((stream, unit), dropped) in program.streams.iter().zip(&tree.innermost).zip(dropped) {
        if let Some(unit) = unit
            && !dropped
        {
            let needs = storage.entry(tree.root_of(*unit)).or_default();
            *needs = needs.saturating_add(stream.ty.bytes());
        }
    }
    for (unit, needs) in storage {
        let place = Place::new(Part::Unit, &program.units[unit.index()].name);
        at_most(needs, limits.storage_bytes, "bytes of stream storage", &place);
    }
    let bodies = program.cases.iter().map(|c| (Place::new(Part::Case, &c.name), &c.body));
    for (place, body) in bodies.chain([(Place::new(Part::Main, ""), &program.main)]) {
        let needs = Liveness::of(program, body).most(|ty| registers(ty, limits));
        at_most(needs, limits.vector_registers.into(), "vector registers at once", &place);
    }
}

/// Returns the number of vector registers that a value occupies; a scalar occupies none.
fn registers(ty: Type, limits: &Limits) -> u64 {
    if ty.lanes == 1 { 0 } else { ty.bytes().div_ceil(limits.vector_bytes.max(1)) }
}

/// The live range of each register in a body. A value that is live across a loop is live in all of it. A value that is
/// live from one case to the next counts only from its first to its last mention.
struct Liveness<'a> {
    program: &'a Program,
    now: usize,
    uses: BTreeMap<RegisterId, (usize, usize)>,
    /// Every use so far, in order.
    log: Vec<RegisterId>,
}

impl<'a> Liveness<'a> {
    fn of(program: &'a Program, body: &[Stmt]) -> Liveness<'a> {
        let mut liveness = Liveness { program, now: 0, uses: BTreeMap::new(), log: Vec::new() };
        liveness.body(body);
        liveness
    }

    /// Returns the largest total weight that is live at one point.
    fn most(&self, weight: impl Fn(Type) -> u64) -> u64 {
        let mut changes: Vec<(usize, bool, u64)> = Vec::new();
        for (register, (from, to)) in &self.uses {
            let weight = weight(self.program.registers[register.index()].ty);
            changes.push((*from, true, weight));
            changes.push((*to, false, weight));
        }
        // A range that starts at a point overlaps one that ends there.
        changes.sort_by_key(|(at, starts, _)| (*at, !starts));
        let (mut now, mut most) = (0, 0);
        for (_, starts, weight) in changes {
            now = if starts { now + weight } else { now - weight };
            most = most.max(now);
        }
        most
    }

    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.now += 1;
            match stmt {
                Stmt::Set(register, value) => {
                    self.expr(value);
                    self.mention(*register);
                }
                Stmt::Pop(register) => self.mention(*register),
                Stmt::Store(addr, value) | Stmt::Accumulate(_, addr, value) => {
                    self.addr(addr);
                    self.expr(value);
                }
                Stmt::Prefetch(addr, _) => self.addr(addr),
                Stmt::Matmul { out, a, b, .. } => {
                    [out, a, b].into_iter().for_each(|addr| self.addr(addr));
                }
                Stmt::For(counted) | Stmt::Walk(_, counted) => {
                    self.expr(&counted.lo);
                    self.expr(&counted.hi);
                    let (start, used) = (self.now, self.log.len());
                    self.body(&counted.body);
                    self.now += 1;
                    for register in &self.log[used..] {
                        if let Some((from, to)) = self.uses.get_mut(register)
                            && *from <= start
                        {
                            *to = self.now;
                        }
                    }
                }
            }
        }
    }

    fn mention(&mut self, register: RegisterId) {
        let now = self.now;
        self.log.push(register);
        self.uses.entry(register).and_modify(|(_, to)| *to = now).or_insert((now, now));
    }

    fn addr(&mut self, addr: &Addr<Expr>) {
        addr.expressions().for_each(|i| self.expr(i));
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Register(register) => self.mention(*register),
            Expr::Const(_) | Expr::Size(_) => {}
            Expr::Load(addr) => self.addr(addr),
            Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|x| self.expr(x)),
            Expr::Select(c, a, b) => [c, a, b].into_iter().for_each(|x| self.expr(x)),
            Expr::Unary(_, x)
            | Expr::Fold(_, x)
            | Expr::Cast(_, x)
            | Expr::Broadcast(_, x)
            | Expr::Iota(_, x) => self.expr(x),
        }
    }
}
