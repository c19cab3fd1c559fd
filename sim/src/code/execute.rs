//! Compiles the execute half to three-address instructions over registers.

use super::{Address, Context, address, check_index, check_lanes};
use crate::core::Port;
use crate::data::raw;
use crate::error::SimError;
use ember_targets::dlc::{Addr, Expr, Lanes, Loop, Program, RegisterId, Stmt, Type};
use ember_targets::machine::Core;
use ember_targets::scalar::{BinaryOp, DType, Scalar};
use std::collections::BTreeSet;

/// The execute half.
#[derive(Debug)]
pub(crate) struct ExecuteCode {
    pub(crate) insts: Vec<Inst>,
    /// The program's registers, then constants and intermediate values.
    pub(crate) regs: Vec<Reg>,
    /// The lanes of all registers at the start.
    pub(crate) init: Vec<u64>,
    /// Parts of registers with a time of their own.
    pub(crate) pieces: usize,
    /// Where each case starts; [`Program::main`] starts at 0.
    pub(crate) cases: Vec<usize>,
    pub(crate) case_names: Vec<String>,
    /// Loops, each with a branch to predict.
    pub(crate) loops: usize,
}

/// A value: where its lanes are, and the vector registers it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reg {
    pub(crate) ty: Type,
    pub(crate) slot: usize,
    pub(crate) piece: usize,
    pub(crate) pieces: usize,
}

/// An instruction; registers and addresses are by number.
#[derive(Debug)]
pub(crate) enum Inst {
    Binary {
        op: BinaryOp,
        dst: u32,
        a: u32,
        b: u32,
        port: Port,
        latency: u64,
    },
    Select {
        dst: u32,
        c: u32,
        a: u32,
        b: u32,
        port: Port,
    },
    Cast {
        dst: u32,
        src: u32,
        port: Port,
    },
    Broadcast {
        dst: u32,
        src: u32,
    },
    Iota {
        dst: u32,
        src: u32,
    },
    /// Copies; where `free`, by naming alone.
    Copy {
        dst: u32,
        src: u32,
        free: bool,
    },
    Load {
        dst: u32,
        addr: Address,
    },
    Store {
        src: u32,
        addr: Address,
    },
    /// `old` receives what was there.
    Accumulate {
        op: BinaryOp,
        src: u32,
        old: u32,
        addr: Address,
        port: Port,
        latency: u64,
    },
    Pop {
        dst: u32,
    },
    /// Begins a loop, or goes to `exit`.
    Begin {
        var: u32,
        lo: u32,
        hi: u32,
        exit: usize,
        id: usize,
    },
    /// Advances a loop, and goes to `body` if it goes on.
    Next {
        var: u32,
        hi: u32,
        step: i64,
        body: usize,
        id: usize,
    },
    /// The end of `main` or of a case.
    Done,
}

/// How deep expressions and loops may nest: compiling them recurs.
const MAX_DEPTH: usize = 500;

/// Compiles and checks `main` and the cases for one kind of core.
pub(crate) fn compile_execute(
    program: &Program,
    sizes: &[i64],
    core: &Core,
) -> Result<ExecuteCode, SimError> {
    let mut c = Compiler {
        context: Context { program, sizes },
        core,
        code: ExecuteCode {
            insts: Vec::new(),
            regs: Vec::new(),
            init: Vec::new(),
            pieces: 0,
            cases: Vec::new(),
            case_names: program.cases.iter().map(|c| c.name.clone()).collect(),
            loops: 0,
        },
        varying: None,
        place: String::new(),
        depth: 0,
    };
    for register in &program.registers {
        check_lanes(register.ty.lanes, &format!("register `{}`", register.name))?;
        c.reg(register.ty);
    }
    c.body(&program.main, "main")?;
    for case in &program.cases {
        let start = c.code.insts.len();
        c.code.cases.push(start);
        c.body(&case.body, &format!("case `{}`", case.name))?;
    }
    Ok(c.code)
}

struct Compiler<'a> {
    context: Context<'a>,
    core: &'a Core,
    code: ExecuteCode,
    /// Registers that the innermost loop assigns; `None` outside loops, where everything is new.
    varying: Option<BTreeSet<RegisterId>>,
    place: String,
    depth: usize,
}

impl Compiler<'_> {
    fn body(&mut self, body: &[Stmt], place: &str) -> Result<(), SimError> {
        self.place = place.to_string();
        self.varying = None;
        self.stmts(body)?;
        self.code.insts.push(Inst::Done);
        Ok(())
    }

    fn stmts(&mut self, body: &[Stmt]) -> Result<(), SimError> {
        body.iter().try_for_each(|s| self.stmt(s))
    }

    fn invalid(&self, what: &str) -> SimError {
        SimError::invalid(format!("{} {what}", self.place))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), SimError> {
        match stmt {
            Stmt::Set(register, value) => {
                let dst = self.register(*register)?;
                let src = self.expr(value, Some(dst))?;
                self.same(self.ty(src), self.ty(dst), "sets a register to another type")?;
            }
            Stmt::Pop(register) => {
                let dst = self.register(*register)?;
                self.code.insts.push(Inst::Pop { dst });
            }
            Stmt::Store(addr, value) => {
                let src = self.expr(value, None)?;
                let (addr, ty) = self.addr(addr, true)?;
                self.same(self.ty(src), ty, "stores a value of another type")?;
                self.code.insts.push(Inst::Store { src, addr });
            }
            Stmt::Accumulate(op, addr, value) => {
                let src = self.expr(value, None)?;
                let (addr, ty) = self.addr(addr, true)?;
                self.same(self.ty(src), ty, "accumulates a value of another type")?;
                self.same(op.result(ty.dtype), ty.dtype, "accumulates by a comparison")?;
                let old = self.reg(ty);
                let (port, latency) = self.binary(*op, ty);
                let op = *op;
                self.code.insts.push(Inst::Accumulate { op, src, old, addr, port, latency });
            }
            Stmt::For(l) | Stmt::Walk(_, l) => self.repeat(l)?,
        }
        Ok(())
    }

    fn repeat(&mut self, l: &Loop) -> Result<(), SimError> {
        let var = self.register(l.var)?;
        if l.step < 1 {
            return Err(self.invalid("has a loop that does not advance"));
        }
        let lo = self.expr(&l.lo, None)?;
        let bound = self.expr(&l.hi, None)?;
        for r in [var, lo, bound] {
            check_index(self.ty(r), &self.place)?;
        }
        // The bound keeps its value even if the body assigns the register it came from.
        let hi = self.reg(self.ty(bound));
        self.code.insts.push(Inst::Copy { dst: hi, src: bound, free: true });
        let id = self.code.loops;
        self.code.loops += 1;
        let begin = self.code.insts.len();
        self.code.insts.push(Inst::Begin { var, lo, hi, exit: 0, id });
        let mut assigned = BTreeSet::from([l.var]);
        assigns(&l.body, &mut assigned);
        let outer = self.varying.replace(assigned);
        self.deeper()?;
        self.stmts(&l.body)?;
        self.depth -= 1;
        self.varying = outer;
        self.code.insts.push(Inst::Next { var, hi, step: l.step, body: begin + 1, id });
        let exit = self.code.insts.len();
        self.code.insts[begin] = Inst::Begin { var, lo, hi, exit, id };
        Ok(())
    }

    fn deeper(&mut self) -> Result<(), SimError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(SimError::limit(format!("{} nests deeper than {MAX_DEPTH}", self.place)));
        }
        Ok(())
    }

    fn same<T: PartialEq>(&self, a: T, b: T, what: &str) -> Result<(), SimError> {
        if a == b { Ok(()) } else { Err(self.invalid(what)) }
    }

    fn ty(&self, reg: u32) -> Type {
        self.code.regs[reg as usize].ty
    }

    fn register(&self, id: RegisterId) -> Result<u32, SimError> {
        if id.index() < self.context.program.registers.len() {
            return Ok(id.0);
        }
        Err(self.invalid("uses a register that is not declared"))
    }

    /// A new register of zeros.
    fn reg(&mut self, ty: Type) -> u32 {
        let pieces = ty.bytes().div_ceil(self.core.simd_bytes) as usize;
        let slot = self.code.init.len();
        let piece = self.code.pieces;
        self.code.regs.push(Reg { ty, slot, piece, pieces });
        self.code.init.resize(slot + ty.lanes as usize, 0);
        self.code.pieces += pieces;
        self.code.regs.len() as u32 - 1
    }

    /// A register that holds a constant from the start.
    fn constant(&mut self, value: Scalar, lanes: u32) -> u32 {
        let reg = self.reg(Type { dtype: value.dtype(), lanes });
        let slot = self.code.regs[reg as usize].slot;
        self.code.init[slot..].fill(raw(value));
        reg
    }

    /// Evaluates an expression into `into`, or wherever it is.
    fn expr(&mut self, expr: &Expr, into: Option<u32>) -> Result<u32, SimError> {
        self.deeper()?;
        let reg = self.expr_inner(expr, into)?;
        self.depth -= 1;
        Ok(reg)
    }

    fn expr_inner(&mut self, expr: &Expr, into: Option<u32>) -> Result<u32, SimError> {
        let src = match expr {
            Expr::Register(r) => self.register(*r)?,
            Expr::Const(value) => self.constant(*value, 1),
            Expr::Size(size) => {
                let size = self.context.size(*size)?;
                self.constant(Scalar::I64(size), 1)
            }
            Expr::Broadcast(n, x) if fixed(x) => {
                check_lanes(*n, &self.place)?;
                let value = match **x {
                    Expr::Size(size) => Scalar::I64(self.context.size(size)?),
                    Expr::Const(value) => value,
                    _ => return Err(self.invalid("broadcasts something unknown")),
                };
                self.constant(value, *n)
            }
            Expr::Load(addr) => {
                let (addr, ty) = self.addr(addr, false)?;
                return self.emit(into, ty, |dst| Inst::Load { dst, addr });
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.expr(a, None)?, self.expr(b, None)?);
                let ty = self.ty(a);
                self.same(ty, self.ty(b), "operates on two types")?;
                let (port, latency) = self.binary(*op, ty);
                let result = Type { dtype: op.result(ty.dtype), lanes: ty.lanes };
                let op = *op;
                return self.emit(into, result, |dst| Inst::Binary {
                    op,
                    dst,
                    a,
                    b,
                    port,
                    latency,
                });
            }
            Expr::Select(c, a, b) => {
                let c = self.expr(c, None)?;
                let (a, b) = (self.expr(a, None)?, self.expr(b, None)?);
                let ty = self.ty(a);
                self.same(ty, self.ty(b), "selects between two types")?;
                let mask = Type { dtype: DType::I64, lanes: ty.lanes };
                self.same(self.ty(c), mask, "selects by something that is no mask")?;
                let port = port(ty);
                return self.emit(into, ty, |dst| Inst::Select { dst, c, a, b, port });
            }
            Expr::Cast(dtype, x) => {
                let src = self.expr(x, None)?;
                let ty = Type { dtype: *dtype, lanes: self.ty(src).lanes };
                let scalar_int =
                    ty.lanes == 1 && !dtype.is_float() && !self.ty(src).dtype.is_float();
                let port = if scalar_int { Port::Int } else { Port::Vector };
                return self.emit(into, ty, |dst| Inst::Cast { dst, src, port });
            }
            Expr::Broadcast(n, x) => {
                check_lanes(*n, &self.place)?;
                let src = self.expr(x, None)?;
                let ty = Type { dtype: self.ty(src).dtype, lanes: *n };
                self.same(self.ty(src).lanes, 1, "broadcasts lanes")?;
                return self.emit(into, ty, |dst| Inst::Broadcast { dst, src });
            }
            Expr::Iota(n, x) => {
                check_lanes(*n, &self.place)?;
                let src = self.expr(x, None)?;
                self.same(self.ty(src), Type::scalar(DType::I64), "counts lanes from no i64")?;
                let ty = Type { dtype: DType::I64, lanes: *n };
                return self.emit(into, ty, |dst| Inst::Iota { dst, src });
            }
        };
        // A value that is somewhere already.
        match into {
            None => Ok(src),
            Some(dst) => {
                self.same(self.ty(src), self.ty(dst), "sets a register to another type")?;
                self.code.insts.push(Inst::Copy { dst, src, free: false });
                Ok(dst)
            }
        }
    }

    fn emit(
        &mut self,
        into: Option<u32>,
        ty: Type,
        inst: impl FnOnce(u32) -> Inst,
    ) -> Result<u32, SimError> {
        let dst = match into {
            Some(dst) => {
                self.same(ty, self.ty(dst), "sets a register to another type")?;
                dst
            }
            None => self.reg(ty),
        };
        self.code.insts.push(inst(dst));
        Ok(dst)
    }

    fn addr(&mut self, addr: &Addr<Expr>, written: bool) -> Result<(Address, Type), SimError> {
        let place = self.place.clone();
        let ty = self.context.addressed(addr, &place)?;
        if written {
            self.context.writable(addr.tensor, &place)?;
        }
        let mut index = Vec::new();
        let limit = addr.lanes.as_ref().map(|l| &l.limit);
        for e in addr.index.iter().chain(limit) {
            let r = self.expr(e, None)?;
            check_index(self.ty(r), &place)?;
            index.push(r);
        }
        let limit = limit.and_then(|_| index.pop());
        Ok((address(addr, &place, self.address_uops(addr), index, limit), ty))
    }

    /// What computing an address costs each time: one multiply-add for every leading index if any
    /// of them changes in the innermost loop (the last is an addressing mode), and one for the mask
    /// of a run if that changes.
    fn address_uops(&self, addr: &Addr<Expr>) -> u32 {
        let (leading, last) = match addr.index.split_last() {
            Some((last, leading)) => (leading, Some(last)),
            None => (&[][..], None),
        };
        let rows = if leading.iter().any(|e| self.varies(e)) { leading.len() as u32 } else { 0 };
        let masked =
            |l: &Lanes<Expr>| self.varies(&l.limit) || last.is_some_and(|e| self.varies(e));
        rows + u32::from(addr.lanes.as_ref().is_some_and(masked))
    }

    fn varies(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Register(r) => self.varying.as_ref().is_none_or(|v| v.contains(r)),
            Expr::Const(_) | Expr::Size(_) => false,
            Expr::Load(_) => true,
            Expr::Binary(_, a, b) => self.varies(a) || self.varies(b),
            Expr::Select(c, a, b) => self.varies(c) || self.varies(a) || self.varies(b),
            Expr::Cast(_, x) | Expr::Broadcast(_, x) | Expr::Iota(_, x) => self.varies(x),
        }
    }

    fn binary(&self, op: BinaryOp, ty: Type) -> (Port, u64) {
        let core = self.core;
        let port = port(ty);
        let vector = port == Port::Vector;
        let latency = match op {
            BinaryOp::Mul if vector => core.float_mul_latency,
            BinaryOp::Mul => core.int_mul_latency,
            BinaryOp::Div if vector => core.float_div_latency,
            BinaryOp::Div => core.int_div_latency,
            _ if vector => core.float_add_latency,
            _ => core.int_latency,
        };
        (port, latency)
    }
}

/// Where an operation on a type runs: floating-point scalars share the vector pipes.
fn port(ty: Type) -> Port {
    if ty.dtype.is_float() || ty.lanes > 1 { Port::Vector } else { Port::Int }
}

/// Whether an expression is known before the program runs.
fn fixed(expr: &Expr) -> bool {
    matches!(expr, Expr::Const(_) | Expr::Size(_))
}

/// Collects the registers that statements assign.
fn assigns(body: &[Stmt], into: &mut BTreeSet<RegisterId>) {
    let mut open: Vec<&Stmt> = body.iter().collect();
    while let Some(stmt) = open.pop() {
        match stmt {
            Stmt::Set(r, _) | Stmt::Pop(r) => {
                into.insert(*r);
            }
            Stmt::For(l) | Stmt::Walk(_, l) => {
                into.insert(l.var);
                open.extend(&l.body);
            }
            Stmt::Store(..) | Stmt::Accumulate(..) => {}
        }
    }
}
