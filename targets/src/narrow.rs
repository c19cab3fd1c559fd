//! Programs for a machine whose streams are no wider than a vector register: every value of several registers is written
//! as that many values of one, so that a row is marshalled as several operands.
//!
//! All values of one number of lanes are cut at the same lanes, since they meet lane by lane. Lanes are folded half onto
//! half, so the parts are combined in the same way before the last one is folded, and results keep their bits.

use crate::dlc::{
    Action, Addr, Case, Expr, Lanes, Loop, Program, Register, RegisterId, Stmt, Stream, StreamId,
    StreamKind, TraversalUnit, Type,
};
use ember_values::scalar::{BinaryOp, DType, Scalar};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the program with no value of lanes wider than a register of `simd_bytes`; `None` if it folds lanes that cannot
/// be halved into registers. Streams that are only prefetched stay whole, since the access unit keeps none of them.
pub fn narrow(program: &Program, simd_bytes: u64) -> Option<Program> {
    let widths = Widths::of(program, simd_bytes);
    let narrow =
        Narrow { widths, out: Program::default(), streams: Vec::new(), registers: Vec::new() };
    narrow.program(program)
}

/// The lanes of a part, by the lanes of the values that are cut.
struct Widths(BTreeMap<u32, u32>);

impl Widths {
    /// Finds them: of the values of one number of lanes, the widest decides.
    fn of(program: &Program, simd_bytes: u64) -> Widths {
        let mut widest: BTreeMap<u32, u64> = BTreeMap::new();
        let mut see = |ty: Type| {
            let element = ty.bytes().div_ceil(u64::from(ty.lanes.max(1)));
            let known = widest.entry(ty.lanes).or_default();
            *known = element.max(*known);
        };
        program.streams.iter().for_each(|stream| see(stream.ty));
        program.registers.iter().for_each(|register| see(register.ty));
        for body in program.cases.iter().map(|case| &case.body).chain([&program.main]) {
            expressions(body, &mut |expr| see(program.type_of(expr)));
        }
        let part = |(lanes, element): (u32, u64)| {
            let fit = u32::try_from(simd_bytes / element.max(1)).unwrap_or(u32::MAX).max(1);
            (lanes > fit).then_some((lanes, fit))
        };
        Widths(widest.into_iter().filter_map(part).collect())
    }

    /// Returns the parts of a number of lanes, each with its first lane and its lanes; one if they are not cut.
    fn parts(&self, lanes: u32) -> Vec<(u32, u32)> {
        let Some(part) = self.0.get(&lanes) else { return vec![(0, lanes)] };
        (0..lanes).step_by(*part as usize).map(|at| (at, (*part).min(lanes - at))).collect()
    }
}

/// Calls `visit` with every expression of a body, and with what is in it.
fn expressions(body: &[Stmt], visit: &mut impl FnMut(&Expr)) {
    let address = |addr: &Addr<Expr>, visit: &mut dyn FnMut(&Expr)| {
        addr.expressions().for_each(|index| index.walk(&mut |x| visit(x)));
    };
    for stmt in body {
        match stmt {
            Stmt::Set(_, value) => value.walk(visit),
            Stmt::Store(addr, value) | Stmt::Accumulate(_, addr, value) => {
                address(addr, visit);
                value.walk(visit);
            }
            Stmt::Prefetch(addr, _) => address(addr, visit),
            Stmt::Matmul { out, a, b, .. } => {
                [out, a, b].into_iter().for_each(|addr| address(addr, visit));
            }
            Stmt::Pop(_) => {}
            Stmt::For(own) | Stmt::Walk(_, own) => {
                own.lo.walk(visit);
                own.hi.walk(visit);
                expressions(&own.body, visit);
            }
        }
    }
}

struct Narrow {
    widths: Widths,
    /// The program so far.
    out: Program,
    /// The streams that a stream of the given program has become, in the order of lanes.
    streams: Vec<Vec<StreamId>>,
    /// The registers that a register has become.
    registers: Vec<Vec<RegisterId>>,
}

impl Narrow {
    fn program(mut self, program: &Program) -> Option<Program> {
        let whole = program.only_prefetched();
        let Program { name, sizes, tensors, streams, units, access, registers, main, cases } =
            program.clone();
        self.out = Program { name, sizes, tensors, ..Program::default() };
        for (stream, whole) in streams.iter().zip(whole) {
            let parts = self.stream(stream, whole);
            self.streams.push(parts);
        }
        for register in registers {
            let parts = self.widths.parts(register.ty.lanes);
            let made = parts.iter().map(|(at, lanes)| {
                let name = if parts.len() == 1 {
                    register.name.clone()
                } else {
                    format!("{}_{at}", register.name)
                };
                self.out
                    .registers
                    .push(Register { name, ty: Type { lanes: *lanes, ..register.ty } });
                RegisterId(self.out.registers.len() as u32 - 1)
            });
            let made = made.collect();
            self.registers.push(made);
        }
        self.out.access = self.actions(&access);
        self.out.units = units;
        for at in 0..self.out.units.len() {
            let unit = self.out.units[at].clone();
            let (beg, ite, end) =
                (self.actions(&unit.beg), self.actions(&unit.ite), self.actions(&unit.end));
            let (lo, hi) = (self.one(unit.lo), self.one(unit.hi));
            self.out.units[at] = TraversalUnit { lo, hi, beg, ite, end, ..unit };
        }
        self.out.main = self.body(&main)?;
        for case in cases {
            let body = self.body(&case.body)?;
            self.out.cases.push(Case { name: case.name, body });
        }
        self.name_apart();
        Some(self.out)
    }

    /// Returns what a scalar stream has become.
    fn one(&self, stream: StreamId) -> StreamId {
        self.streams[stream.index()][0]
    }

    fn add(&mut self, name: String, ty: Type, kind: StreamKind) -> StreamId {
        self.out.streams.push(Stream { name, ty, kind });
        StreamId(self.out.streams.len() as u32 - 1)
    }

    /// Adds the parts of a stream.
    fn stream(&mut self, stream: &Stream, whole: bool) -> Vec<StreamId> {
        let lanes = stream.ty.lanes;
        let parts = if whole { vec![(0, lanes)] } else { self.widths.parts(lanes) };
        let mut made = Vec::new();
        for (at, count) in &parts {
            let kind = match &stream.kind {
                StreamKind::Mem { addr, hint } => {
                    StreamKind::Mem { addr: self.stream_address(addr, *at, *count), hint: *hint }
                }
                StreamKind::Broadcast(x) => StreamKind::Broadcast(self.one(*x)),
                StreamKind::IndexCast(x) => StreamKind::IndexCast(self.one(*x)),
                StreamKind::Alu { op, a, b } => {
                    StreamKind::Alu { op: *op, a: self.one(*a), b: self.one(*b) }
                }
                StreamKind::Const(_) | StreamKind::Size(_) | StreamKind::IndVar(_) => {
                    stream.kind.clone()
                }
            };
            let name = if parts.len() == 1 {
                stream.name.clone()
            } else {
                format!("{}_{at}", stream.name)
            };
            made.push(self.add(name, Type { lanes: *count, ..stream.ty }, kind));
        }
        made
    }

    /// Returns the part of an address that begins at a lane.
    fn stream_address(&mut self, addr: &Addr<StreamId>, at: u32, count: u32) -> Addr<StreamId> {
        let mut index: Vec<StreamId> = addr.index.iter().map(|i| self.one(*i)).collect();
        if let Some(last) = index.last_mut().filter(|_| at > 0) {
            *last = self.moved(*last, at);
        }
        let lanes = addr.lanes.as_ref().map(|lanes| Lanes { count, limit: self.one(lanes.limit) });
        Addr { tensor: addr.tensor, index, lanes, rows: None }
    }

    /// Returns a stream of integers that is ahead of another by a number of lanes.
    fn moved(&mut self, stream: StreamId, by: u32) -> StreamId {
        let own = &self.out.streams[stream.index()];
        if let StreamKind::Const(Scalar::I64(c)) = own.kind {
            return self.number(c.wrapping_add(by.into()));
        }
        let name = format!("{}_{by}", own.name);
        let by = self.number(by.into());
        self.index(name, StreamKind::Alu { op: BinaryOp::Add, a: stream, b: by })
    }

    /// Returns the stream of a number.
    fn number(&mut self, n: i64) -> StreamId {
        self.index(format!("c{n}"), StreamKind::Const(Scalar::I64(n)))
    }

    /// Returns the stream of integers of this kind, which is added if there is none.
    fn index(&mut self, name: String, kind: StreamKind) -> StreamId {
        match self.out.streams.iter().position(|stream| stream.kind == kind) {
            Some(at) => StreamId(at as u32),
            None => self.add(name, Type::scalar(DType::I64), kind),
        }
    }

    fn actions(&mut self, actions: &[Action]) -> Vec<Action> {
        let mut made = Vec::new();
        for action in actions {
            match action {
                Action::Operand(stream) => {
                    made.extend(self.streams[stream.index()].iter().copied().map(Action::Operand));
                }
                Action::Prefetch(stream) => made.push(Action::Prefetch(self.one(*stream))),
                Action::Store { addr, value } => {
                    let values = self.streams[value.index()].clone();
                    let lanes = addr.lanes.as_ref().map_or(1, |lanes| lanes.count);
                    for ((at, count), value) in self.widths.parts(lanes).into_iter().zip(values) {
                        let addr = self.stream_address(addr, at, count);
                        made.push(Action::Store { addr, value });
                    }
                }
                Action::Callback(_) | Action::Traverse(_) | Action::Barrier => {
                    made.push(action.clone())
                }
            }
        }
        made
    }

    fn body(&mut self, body: &[Stmt]) -> Option<Vec<Stmt>> {
        let mut made = Vec::new();
        for stmt in body {
            self.stmt(stmt, &mut made)?;
        }
        Some(made)
    }

    fn stmt(&mut self, stmt: &Stmt, made: &mut Vec<Stmt>) -> Option<()> {
        match stmt {
            Stmt::Set(register, value) => {
                let values = self.values(value, made)?;
                let parts = self.registers[register.index()].clone();
                made.extend(parts.into_iter().zip(values).map(|(part, x)| Stmt::Set(part, x)));
            }
            Stmt::Pop(register) => {
                made.extend(self.registers[register.index()].iter().copied().map(Stmt::Pop));
            }
            Stmt::Store(addr, value) => {
                let addrs = self.addresses(addr, made)?;
                let values = self.values(value, made)?;
                made.extend(addrs.into_iter().zip(values).map(|(addr, x)| Stmt::Store(addr, x)));
            }
            Stmt::Accumulate(op, addr, value) => {
                let addrs = self.addresses(addr, made)?;
                let values = self.values(value, made)?;
                let all = addrs.into_iter().zip(values);
                made.extend(all.map(|(addr, x)| Stmt::Accumulate(*op, addr, x)));
            }
            Stmt::Prefetch(addr, level) => {
                let addrs = self.addresses(addr, made)?;
                made.extend(addrs.into_iter().map(|addr| Stmt::Prefetch(addr, *level)));
            }
            Stmt::Matmul { out, a, b, transposed, adds } => {
                let [out, a, b] = [out, a, b].map(|addr| {
                    let mut addr = addr.clone();
                    for index in addr.expressions_mut() {
                        *index = self.scalar(index, made)?;
                    }
                    Some(addr)
                });
                let (transposed, adds) = (*transposed, *adds);
                made.push(Stmt::Matmul { out: out?, a: a?, b: b?, transposed, adds });
            }
            Stmt::For(own) => {
                let own = self.counted(own, made)?;
                made.push(Stmt::For(own));
            }
            Stmt::Walk(unit, own) => {
                let own = self.counted(own, made)?;
                made.push(Stmt::Walk(*unit, own));
            }
        }
        Some(())
    }

    fn counted(&mut self, own: &Loop, made: &mut Vec<Stmt>) -> Option<Loop> {
        Some(Loop {
            var: *self.registers[own.var.index()].first()?,
            lo: self.scalar(&own.lo, made)?,
            hi: self.scalar(&own.hi, made)?,
            step: own.step,
            body: self.body(&own.body)?,
        })
    }

    fn scalar(&mut self, expr: &Expr, made: &mut Vec<Stmt>) -> Option<Expr> {
        self.values(expr, made)?.into_iter().next()
    }

    /// Returns the parts of an address; indices and limits are scalars.
    fn addresses(&mut self, addr: &Addr<Expr>, made: &mut Vec<Stmt>) -> Option<Vec<Addr<Expr>>> {
        let index = addr.index.iter().map(|i| self.scalar(i, made));
        let index = index.collect::<Option<Vec<Expr>>>()?;
        let Some(lanes) = &addr.lanes else {
            return Some(vec![Addr { tensor: addr.tensor, index, lanes: None, rows: None }]);
        };
        let limit = self.scalar(&lanes.limit, made)?;
        let part = |(at, count): (u32, u32)| {
            let mut index = index.clone();
            if let Some(last) = index.last_mut() {
                *last = ahead(last.clone(), at);
            }
            let lanes = Some(Lanes { count, limit: limit.clone() });
            Addr { tensor: addr.tensor, index, lanes, rows: None }
        };
        Some(self.widths.parts(lanes.count).into_iter().map(part).collect())
    }

    /// Returns the parts of a value. A scalar that all lanes share is computed once, by a statement before.
    fn values(&mut self, expr: &Expr, made: &mut Vec<Stmt>) -> Option<Vec<Expr>> {
        Some(match expr {
            Expr::Const(_) | Expr::Size(_) => vec![expr.clone()],
            Expr::Register(register) => {
                self.registers[register.index()].iter().copied().map(Expr::Register).collect()
            }
            Expr::Load(addr) => {
                self.addresses(addr, made)?.into_iter().map(|a| Expr::Load(Box::new(a))).collect()
            }
            Expr::Unary(op, x) => {
                self.values(x, made)?.into_iter().map(|x| Expr::Unary(*op, Box::new(x))).collect()
            }
            Expr::Cast(dtype, x) => {
                self.values(x, made)?.into_iter().map(|x| Expr::Cast(*dtype, Box::new(x))).collect()
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.values(a, made)?, self.values(b, made)?);
                a.into_iter().zip(b).map(|(a, b)| binary(*op, a, b)).collect()
            }
            Expr::Select(c, a, b) => {
                let (c, a, b) =
                    (self.values(c, made)?, self.values(a, made)?, self.values(b, made)?);
                let all = c.into_iter().zip(a).zip(b);
                all.map(|((c, a), b)| Expr::Select(Box::new(c), Box::new(a), Box::new(b))).collect()
            }
            Expr::Broadcast(lanes, x) => {
                let x = self.scalar(x, made)?;
                let parts = self.widths.parts(*lanes);
                // The last part may be narrower than the others.
                let counts: BTreeSet<u32> = parts.iter().map(|(_, count)| *count).collect();
                let x = if counts.len() > 1 { self.kept(x, made) } else { x };
                let part = |count| {
                    let vector = Expr::Broadcast(count, Box::new(x.clone()));
                    (count, if parts.len() > 1 { self.kept(vector, made) } else { vector })
                };
                let vectors: BTreeMap<u32, Expr> = counts.into_iter().map(part).collect();
                parts.iter().map(|(_, count)| vectors[count].clone()).collect()
            }
            Expr::Iota(lanes, x) => {
                let x = self.scalar(x, made)?;
                let part = |(at, count)| Expr::Iota(count, Box::new(ahead(x.clone(), at)));
                self.widths.parts(*lanes).into_iter().map(part).collect()
            }
            Expr::Fold(op, x) => {
                let mut parts = self.values(x, made)?;
                let alike = |part: &Expr| self.out.type_of(part) == self.out.type_of(&parts[0]);
                if !parts.len().is_power_of_two() || !parts.iter().all(alike) {
                    return None;
                }
                while parts.len() > 1 {
                    let upper = parts.split_off(parts.len() / 2);
                    let halves = parts.into_iter().zip(upper);
                    parts = halves.map(|(low, high)| binary(*op, low, high)).collect();
                }
                vec![Expr::Fold(*op, Box::new(parts.pop()?))]
            }
        })
    }

    /// Returns a value that is cheap to repeat: itself, or the register that a new statement sets to it.
    fn kept(&mut self, x: Expr, made: &mut Vec<Stmt>) -> Expr {
        let is_fixed = |x: &Expr| matches!(x, Expr::Const(_) | Expr::Size(_));
        let is_cheap = match &x {
            Expr::Broadcast(_, x) => is_fixed(x),
            Expr::Register(_) => true,
            x => is_fixed(x),
        };
        if is_cheap {
            return x;
        }
        let register = RegisterId(self.out.registers.len() as u32);
        let ty = self.out.type_of(&x);
        self.out.registers.push(Register { name: "each".to_owned(), ty });
        made.push(Stmt::Set(register, x));
        Expr::Register(register)
    }

    /// Gives streams and registers that are named alike names of their own.
    fn name_apart(&mut self) {
        apart(self.out.streams.iter_mut().map(|stream| &mut stream.name));
        apart(self.out.registers.iter_mut().map(|register| &mut register.name));
    }
}

fn apart<'a>(names: impl Iterator<Item = &'a mut String>) {
    let mut used: BTreeSet<String> = BTreeSet::new();
    for name in names {
        let free = |name: &String| !used.contains(name);
        let mut next = (2..).map(|n| format!("{name}_{n}"));
        if !free(name)
            && let Some(other) = next.find(free)
        {
            *name = other;
        }
        used.insert(name.clone());
    }
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

/// Returns an index that is ahead of another by a number of lanes.
fn ahead(x: Expr, by: u32) -> Expr {
    match x {
        _ if by == 0 => x,
        Expr::Const(Scalar::I64(c)) => Expr::Const(Scalar::I64(c.wrapping_add(by.into()))),
        x => Expr::sum(x, Expr::Const(Scalar::I64(by.into()))),
    }
}
