//! Compiles the execute half to three-address instructions over registers.

use super::matrix::{Chosen, Side};
use super::{Address, Context, Product, check_index, check_lanes};
use crate::core::Port;
use crate::data::raw;
use crate::error::SimError;
use ember_targets::dlc::{Addr, Expr, Lanes, Loop, RegisterId, SizeId, Stmt, Type};
use ember_targets::loops::steppers;
use ember_targets::machine::Core;
use ember_values::scalar::{BinaryOp, Scalar, UnaryOp};
use std::collections::BTreeSet;

/// The execute half.
#[derive(Debug)]
pub(crate) struct ExecuteCode {
    pub(crate) insts: Vec<Inst>,
    /// For each instruction, the number of its statement; the ends of cases have none.
    pub(crate) owners: Vec<usize>,
    /// The number of statements.
    pub(crate) statements: usize,
    /// The initial lanes of all values: the program's registers, constants and intermediate values.
    pub(crate) init: Vec<u64>,
    /// The number of pieces of registers; each piece has its own ready time.
    pub(crate) pieces: usize,
    /// The first instruction of each case; [`Program::main`] starts at 0.
    pub(crate) cases: Vec<usize>,
    pub(crate) case_names: Vec<String>,
    /// The number of loops; each has a branch to predict.
    pub(crate) loops: usize,
    /// True if an integer follows from a floating-point value.
    pub(crate) mixes: bool,
}

/// A value: the position of its lanes, and the vector registers it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reg {
    pub(crate) ty: Type,
    /// The number of lanes that are computed.
    pub(crate) lanes: usize,
    pub(crate) slot: usize,
    pub(crate) piece: usize,
    pub(crate) pieces: usize,
}

/// A scalar register that an address reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) slot: usize,
    pub(crate) piece: usize,
}

/// An instruction.
#[derive(Debug)]
pub(crate) enum Inst {
    /// Asks for the lines of an address, for no register.
    Touch {
        addr: Address<Place>,
    },
    Binary {
        op: BinaryOp,
        dst: Reg,
        a: Reg,
        b: Reg,
        port: Port,
        latency: u64,
    },
    Select {
        dst: Reg,
        c: Reg,
        a: Reg,
        b: Reg,
        port: Port,
    },
    Cast {
        dst: Reg,
        src: Reg,
        port: Port,
    },
    Unary {
        op: UnaryOp,
        dst: Reg,
        src: Reg,
    },
    /// Folds all lanes to one.
    Fold {
        op: BinaryOp,
        dst: Reg,
        src: Reg,
        port: Port,
        latency: u64,
    },
    Broadcast {
        dst: Reg,
        src: Reg,
    },
    Iota {
        dst: Reg,
        src: Reg,
    },
    /// Copies a register; if `free`, by renaming alone.
    Copy {
        dst: Reg,
        src: Reg,
        free: bool,
    },
    Load {
        dst: Reg,
        addr: Address<Place>,
    },
    Store {
        src: Reg,
        addr: Address<Place>,
    },
    /// Accumulates into memory; `old` receives the previous value.
    Accumulate {
        op: BinaryOp,
        src: Reg,
        old: Reg,
        addr: Address<Place>,
        port: Port,
        latency: u64,
    },
    Pop {
        dst: Reg,
    },
    /// A product of whole matrices.
    Multiply(Box<Product>),
    /// Begins a loop, or jumps to `exit`.
    Begin {
        var: Reg,
        lo: Reg,
        hi: Reg,
        exit: usize,
        id: usize,
    },
    /// Advances a loop, and jumps to `body` if it continues.
    Next {
        var: Reg,
        hi: Reg,
        step: i64,
        body: usize,
        id: usize,
    },
    /// The end of `main` or of a case.
    Done,
}

/// The maximum number of lanes of all values of a program together: a bound on the host's memory.
const MAX_TOTAL_LANES: usize = 1 << 24;

/// The maximum nesting depth of expressions and loops, since compiling them recurs.
const MAX_DEPTH: usize = 500;

/// Compiles and checks `main` and the cases for one kind of core.
pub(crate) fn compile_execute(context: Context<'_>, core: &Core) -> Result<ExecuteCode, SimError> {
    let program = context.program;
    let mut c = Compiler {
        context,
        core,
        code: ExecuteCode {
            insts: Vec::new(),
            owners: Vec::new(),
            statements: 0,
            init: Vec::new(),
            pieces: 0,
            cases: Vec::new(),
            case_names: program.cases.iter().map(|c| c.name.clone()).collect(),
            loops: 0,
            mixes: false,
        },
        registers: Vec::new(),
        // No row that is found in data is counted.
        rows: steppers(program).into_iter().collect(),
        varying: None,
        place: "the registers".to_string(),
        depth: 0,
    };
    for register in &program.registers {
        check_lanes(register.ty.lanes, &format!("register `{}`", register.name))?;
        let reg = c.reg(register.ty)?;
        c.registers.push(reg);
    }
    c.body(&program.main, "main")?;
    for case in &program.cases {
        let start = c.code.insts.len();
        c.code.cases.push(start);
        c.body(&case.body, &format!("case `{}`", case.name))?;
    }
    Ok(c.code)
}

pub(super) struct Compiler<'a> {
    pub(super) context: Context<'a>,
    pub(super) core: &'a Core,
    pub(super) code: ExecuteCode,
    /// The program's registers.
    registers: Vec<Reg>,
    /// The variables of the loops over the program's own rows that are open, and the program's own counters.
    pub(super) rows: Vec<RegisterId>,
    /// The registers that the innermost loop assigns; `None` outside loops, where every value counts as varying.
    pub(super) varying: Option<BTreeSet<RegisterId>>,
    pub(super) place: String,
    pub(super) depth: usize,
}

impl Compiler<'_> {
    fn body(&mut self, body: &[Stmt], place: &str) -> Result<(), SimError> {
        self.place = place.to_string();
        self.varying = None;
        self.stmts(body)?;
        self.code.insts.push(Inst::Done);
        self.owned_by(usize::MAX);
        Ok(())
    }

    /// Notes that the instructions since the last note belong to a statement.
    fn owned_by(&mut self, statement: usize) {
        self.code.owners.resize(self.code.insts.len(), statement);
    }

    fn stmts(&mut self, body: &[Stmt]) -> Result<(), SimError> {
        body.iter().try_for_each(|s| self.stmt(s))
    }

    pub(super) fn invalid(&self, what: &str) -> SimError {
        SimError::invalid(format!("{} {what}", self.place))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), SimError> {
        let statement = self.code.statements;
        self.code.statements += 1;
        match stmt {
            Stmt::Set(register, value) => {
                let dst = self.register(*register)?;
                let src = self.expr(value, Some(dst))?;
                self.same(src.ty, dst.ty, "sets a register to another type")?;
            }
            Stmt::Pop(register) => {
                let dst = self.register(*register)?;
                self.code.insts.push(Inst::Pop { dst });
            }
            Stmt::Store(addr, value) => {
                let src = self.expr(value, None)?;
                let (addr, ty) = self.addr(addr, true)?;
                self.same(src.ty, ty, "stores a value of another type")?;
                self.code.insts.push(Inst::Store { src, addr });
            }
            Stmt::Accumulate(op, addr, value) => {
                let src = self.expr(value, None)?;
                let (addr, ty) = self.addr(addr, true)?;
                self.same(src.ty, ty, "accumulates a value of another type")?;
                self.same(op.result(ty.dtype), ty.dtype, "accumulates by a comparison")?;
                self.computes(ty)?;
                let old = self.reg(ty)?;
                let (port, latency) = self.binary(*op, ty);
                let op = *op;
                self.code.insts.push(Inst::Accumulate { op, src, old, addr, port, latency });
            }
            Stmt::Prefetch(addr, _) => {
                let (addr, _) = self.addr(addr, false)?;
                self.code.insts.push(Inst::Touch { addr });
            }
            Stmt::Matmul { out, a, b, transposed, adds } => {
                let operands = [out, a, b];
                let mut chosen = [const { None }; 3];
                for (chosen, addr) in chosen.iter_mut().zip(operands) {
                    *chosen = self.chosen(addr)?;
                }
                let simd = self.core.simd_bytes;
                let mut product = self.context.product(operands, *transposed, simd, &self.place)?;
                product.chosen = chosen;
                product.adds = *adds;
                self.code.insts.push(Inst::Multiply(Box::new(product)));
            }
            Stmt::For(l) | Stmt::Walk(_, l) => self.repeat(l, statement)?,
        }
        self.owned_by(statement);
        Ok(())
    }

    /// Computes the part of a tensor that an operand of a product is; `None` for a whole tensor.
    fn chosen(&mut self, addr: &Addr<Expr>) -> Result<Option<Chosen>, SimError> {
        let Some(first) = addr.index.first() else { return Ok(None) };
        let mut slots = Vec::new();
        for expr in addr.expressions() {
            let reg = self.expr(expr, None)?;
            check_index(reg.ty, &self.place)?;
            slots.push(reg.slot);
        }
        let limits = slots.split_off(addr.index.len());
        let sides = match (&addr.rows, &addr.lanes, &limits[..]) {
            (Some(rows), Some(columns), &[last_column, last_row]) => {
                let side = |range: &Lanes<Expr>, limit| Side { count: range.count.into(), limit };
                Some([side(rows, last_row), side(columns, last_column)])
            }
            _ => None,
        };
        let from = self.context.from(addr.tensor, || self.own(first));
        Ok(Some(Chosen { index: slots, sides, from }))
    }

    fn repeat(&mut self, l: &Loop, statement: usize) -> Result<(), SimError> {
        let var = self.register(l.var)?;
        if l.step < 1 {
            return Err(self.invalid("has a loop that does not advance"));
        }
        let lo = self.expr(&l.lo, None)?;
        let bound = self.expr(&l.hi, None)?;
        for r in [var, lo, bound] {
            check_index(r.ty, &self.place)?;
        }
        // The bound keeps its value even if the body assigns the register that it was copied from.
        let hi = self.reg(bound.ty)?;
        self.code.insts.push(Inst::Copy { dst: hi, src: bound, free: true });
        let id = self.code.loops;
        self.code.loops += 1;
        let begin = self.code.insts.len();
        self.code.insts.push(Inst::Begin { var, lo, hi, exit: 0, id });
        self.owned_by(statement);
        let mut assigned = BTreeSet::from([l.var]);
        assigns(&l.body, &mut assigned);
        let outer = self.varying.replace(assigned);
        self.deeper()?;
        let open = self.rows.len();
        let begins = matches!(l.lo, Expr::Const(Scalar::I64(0)));
        let own = |size: &SizeId| begins && self.context.division.counts(*size) == Some(0);
        // A loop within a strip of rows begins at the first of them.
        if matches!(&l.hi, Expr::Size(size) if own(size)) || self.own(&l.lo) {
            self.rows.push(l.var);
        }
        self.stmts(&l.body)?;
        self.rows.truncate(open);
        self.depth -= 1;
        self.varying = outer;
        self.code.insts.push(Inst::Next { var, hi, step: l.step, body: begin + 1, id });
        let exit = self.code.insts.len();
        self.code.insts[begin] = Inst::Begin { var, lo, hi, exit, id };
        Ok(())
    }

    pub(super) fn deeper(&mut self) -> Result<(), SimError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(SimError::limit(format!("{} nests deeper than {MAX_DEPTH}", self.place)));
        }
        Ok(())
    }

    pub(super) fn same<T: PartialEq>(&self, a: T, b: T, what: &str) -> Result<(), SimError> {
        if a == b { Ok(()) } else { Err(self.invalid(what)) }
    }

    pub(super) fn register(&self, id: RegisterId) -> Result<Reg, SimError> {
        let register = self.registers.get(id.index()).copied();
        register.ok_or_else(|| self.invalid("uses a register that is not declared"))
    }

    /// Allocates a register of zeros.
    pub(super) fn reg(&mut self, ty: Type) -> Result<Reg, SimError> {
        let pieces = ty.bytes().div_ceil(self.core.simd_bytes) as usize;
        let slot = self.code.init.len();
        if slot + ty.lanes as usize > MAX_TOTAL_LANES {
            return Err(SimError::limit(format!(
                "{} and what comes before it hold more than {MAX_TOTAL_LANES} lanes",
                self.place
            )));
        }
        let piece = self.code.pieces;
        self.code.init.resize(slot + ty.lanes as usize, 0);
        self.code.pieces += pieces;
        Ok(Reg { ty, lanes: self.context.computed(ty), slot, piece, pieces })
    }

    /// Allocates a register that holds a constant from the start.
    pub(super) fn constant(&mut self, value: Scalar, lanes: u32) -> Result<Reg, SimError> {
        let reg = self.reg(Type { dtype: value.dtype(), lanes })?;
        self.code.init[reg.slot..].fill(raw(value));
        Ok(reg)
    }
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
            Stmt::Store(..) | Stmt::Accumulate(..) | Stmt::Prefetch(..) | Stmt::Matmul { .. } => {}
        }
    }
}
