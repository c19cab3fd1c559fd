//! Random terms of a given type over the loop variables in scope.

use super::bank::Bank;
use super::world::{COLUMNS, ENTRIES, OFFSETS, ROWS, SCRATCH, World, edge, tensor_name};
use egg::Id;
use ember_language::term::{Head, Node};
use ember_values::scalar::DType;
use fastrand::Rng;

/// What a value or address is to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Type {
    pub dtype: DType,
    /// 1 for a scalar.
    pub lanes: usize,
}

impl Type {
    const INDEX: Type = Type { dtype: DType::I64, lanes: 1 };

    fn scalar(self) -> Type {
        Type { lanes: 1, ..self }
    }
}

/// Where a term stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Loop variables, innermost last.
    pub vars: Vec<Id>,
    /// Whether only memory that is never written may be read.
    pub read_only: bool,
}

/// Makes terms.
pub(super) struct Grow<'a> {
    pub bank: &'a mut Bank,
    pub world: &'a World,
    pub rng: &'a mut Rng,
    /// Plain finite numbers only.
    pub tame: bool,
    /// Whether most terms read and write the same few integer outputs.
    pub alias: bool,
    /// The next number that tells a loop variable from all others.
    pub next_variable: i64,
}

/// A loop variable and its bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub var: Id,
    pub lo: Id,
    pub hi: Id,
    pub step: Id,
}

const BINARY: [&str; 6] = ["add", "sub", "mul", "div", "max", "min"];
const FOLDS: [&str; 4] = ["add", "mul", "max", "min"];

impl Grow<'_> {
    /// True once in `n` times.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(0..n) == 0
    }

    fn pick<T: Copy>(&mut self, choices: &[T], default: T) -> T {
        self.rng.choice(choices).copied().unwrap_or(default)
    }

    /// A variable in scope, most often the innermost.
    pub fn variable(&mut self, scope: &Scope) -> Option<Id> {
        let last = scope.vars.len().checked_sub(1)?;
        let at = if self.rng.u8(0..3) > 0 { last } else { self.rng.usize(0..=last) };
        Some(scope.vars[at])
    }

    /// One of the extents as a term.
    pub fn extent(&mut self, k: usize) -> Id {
        match self.world.extents[k] {
            Some(n) => self.bank.int(n as i64),
            None => {
                let name = format!("%{}", self.world.sizes[k]);
                let name = self.bank.op(&name, &[]);
                self.bank.op("size", &[name])
            }
        }
    }

    /// An i64 that often is an index of some tensor.
    pub fn index(&mut self, scope: &Scope, depth: u32) -> Id {
        match self.rng.u8(0..10) {
            0..=5 => match self.variable(scope) {
                Some(var) => self.bank.op("iv", &[var]),
                None => self.bank.int(0),
            },
            6 => {
                let n = self.rng.i64(0..3);
                self.bank.int(n)
            }
            7 => {
                let (a, n) = (self.index(scope, 0), self.rng.i64(0..2));
                let b = self.bank.int(n);
                self.bank.op("scf.add", &[a, b])
            }
            _ if depth == 0 => self.bank.int(0),
            8 => {
                let address = self.address(Type::INDEX, 0, false, scope, depth - 1);
                self.bank.op("scf.load", &[address])
            }
            _ => self.value(Type::INDEX, scope, depth - 1),
        }
    }

    /// A tensor as an address without indices.
    pub fn tensor(&mut self, dtype: DType, rank: usize, written: bool, scope: &Scope) -> Id {
        let often = if self.alias { self.rng.u8(0..4) > 0 } else { self.one_in(3) };
        let writable = written || (!scope.read_only && often);
        let name = format!("%{}", tensor_name(writable, dtype, rank));
        let name = self.bank.op(&name, &[]);
        let tensor = self.bank.op(if writable { "out" } else { "in" }, &[name]);
        if writable && !written && self.one_in(6) {
            return self.bank.op("freeze", &[tensor]);
        }
        tensor
    }

    /// The tensor of a type with a part of its own.
    pub fn own_tensor(&mut self, role: &str, dtype: DType) -> Id {
        let name = self.bank.op(&format!("%{role}_{dtype}"), &[]);
        self.bank.op(if role == SCRATCH { "out" } else { "in" }, &[name])
    }

    /// An address with `missing` indices to be fixed yet.
    pub fn address(
        &mut self,
        ty: Type,
        missing: usize,
        written: bool,
        scope: &Scope,
        depth: u32,
    ) -> Id {
        let least = missing.max(usize::from(ty.lanes > 1) + missing).max(1);
        let rank = match least {
            3.. => 3,
            _ if self.alias || self.one_in(3) => least,
            _ => 2 + usize::from(self.one_in(6)),
        };
        let mut address = self.tensor(ty.dtype, rank, written, scope);
        let fixed = rank.saturating_sub(missing);
        // Most loops walk along rows: the last index is the innermost variable, and no other is.
        let innermost = scope.vars.last().copied().filter(|_| self.rng.bool());
        let mut outer = scope.clone();
        if innermost.is_some() {
            outer.vars.pop();
        }
        for k in 0..fixed {
            let last = k + 1 == fixed;
            let index = match innermost {
                _ if last && ty.lanes > 1 => self.run(ty.lanes, scope, depth),
                Some(var) if last => self.bank.op("iv", &[var]),
                _ => self.index(&outer, depth),
            };
            address = self.bank.op("at", &[address, index]);
        }
        address
    }

    /// Lanes of indices.
    fn run(&mut self, lanes: usize, scope: &Scope, depth: u32) -> Id {
        let extent = self.pick(&[ROWS, COLUMNS, COLUMNS, ENTRIES], COLUMNS);
        let (n, hi) = (self.bank.int(lanes as i64), self.extent(extent));
        let x = self.index(scope, depth);
        self.bank.op("scf.lanes", &[n, hi, x])
    }

    /// A constant.
    pub fn constant(&mut self, dtype: DType) -> Id {
        if dtype == DType::I64 {
            let n = self.pick(&[0, 0, 1, 1, 2, 3, 4, 7, -1], 0);
            return self.bank.int(n);
        }
        let x = if dtype == DType::I32 || self.tame {
            f64::from(self.rng.u8(1..8))
        } else {
            edge(self.rng.usize(0..18))
        };
        let dtype = self.bank.op(dtype.name(), &[]);
        let x = self.bank.add(Node::new(Head::real(x), &[]));
        self.bank.op("const", &[dtype, x])
    }

    /// A value.
    pub fn value(&mut self, ty: Type, scope: &Scope, depth: u32) -> Id {
        let choice = self.rng.u8(0..16);
        if ty.lanes > 1 && (choice < 4 || depth == 0) {
            let n = self.bank.int(ty.lanes as i64);
            if ty.dtype == DType::I64 && self.rng.bool() {
                return self.run(ty.lanes, scope, depth);
            }
            let x = self.value(ty.scalar(), scope, depth);
            return self.bank.op("scf.broadcast", &[n, x]);
        }
        if depth == 0 {
            return match (ty.dtype, choice) {
                (DType::I64, 0..=6) => self.index(scope, 0),
                (DType::I64, 7) => {
                    let k = self.rng.usize(0..3);
                    self.extent(k)
                }
                (_, 0..=7) => self.load(ty, scope, 0),
                _ => self.constant(ty.dtype),
            };
        }
        let depth = depth - 1;
        match choice {
            0..=2 => self.value(ty, scope, 0),
            3..=6 => self.load(ty, scope, depth),
            7..=9 => {
                let op = format!("scf.{}", self.pick(&BINARY, "add"));
                let (a, b) = (self.value(ty, scope, depth), self.value(ty, scope, depth));
                self.bank.op(&op, &[a, b])
            }
            10 if ty.dtype == DType::I64 => {
                let dtype = self.pick(&DType::ARITHMETIC, DType::F32);
                let of = Type { dtype, ..ty };
                let (a, b) = (self.value(of, scope, depth), self.value(of, scope, depth));
                self.bank.op("scf.lt", &[a, b])
            }
            10 => {
                let c = self.value(Type { dtype: DType::I64, ..ty }, scope, depth);
                let (a, b) = (self.value(ty, scope, depth), self.value(ty, scope, depth));
                self.bank.op("scf.select", &[c, a, b])
            }
            11 => {
                let from = if ty.dtype == DType::I64 { DType::I32 } else { DType::I64 };
                let x = self.value(Type { dtype: from, ..ty }, scope, depth);
                let dtype = self.bank.op(ty.dtype.name(), &[]);
                self.bank.op("scf.cast", &[dtype, x])
            }
            14 if ty.dtype.is_float() => {
                let op = self.pick(&["scf.exp", "scf.sqrt"], "scf.exp");
                let x = self.value(ty, scope, depth);
                self.bank.op(op, &[x])
            }
            15 if ty.lanes == 1 => {
                let op = self.pick(&FOLDS, "add");
                let lanes = self.rng.usize(2..=4);
                let (op, x) =
                    (self.bank.op(op, &[]), self.value(Type { lanes, ..ty }, scope, depth));
                self.bank.op("scf.fold", &[op, x])
            }
            12 => {
                let range = self.range(scope, depth);
                let op = self.pick(&FOLDS, "add");
                let op = self.bank.op(op, &[]);
                let start = self.value(ty, scope, 0);
                let mut inner = scope.clone();
                inner.vars.push(range.var);
                let body = self.value(ty, &inner, depth);
                let Range { var, lo, hi, step } = range;
                self.bank.op("scf.reduce", &[op, var, lo, hi, step, start, body])
            }
            _ => self.constant_of(ty),
        }
    }

    fn constant_of(&mut self, ty: Type) -> Id {
        let x = self.constant(ty.dtype);
        if ty.lanes == 1 {
            return x;
        }
        let n = self.bank.int(ty.lanes as i64);
        self.bank.op("scf.broadcast", &[n, x])
    }

    fn load(&mut self, ty: Type, scope: &Scope, depth: u32) -> Id {
        let address = self.address(ty, 0, false, scope, depth);
        self.bank.op("scf.load", &[address])
    }

    /// A new loop variable, mostly over the whole of some extent.
    pub fn range(&mut self, scope: &Scope, depth: u32) -> Range {
        let lo = match self.rng.u8(0..8) {
            0..=4 => self.bank.int(0),
            5 => self.bank.int(1),
            6 => self.bank.int(3),
            _ => self.index(scope, depth),
        };
        let hi = self.bound(scope, depth);
        let step = self.step();
        let var = self.var(lo, hi, step);
        Range { var, lo, hi, step }
    }

    /// The end of a loop.
    pub fn bound(&mut self, scope: &Scope, depth: u32) -> Id {
        match self.rng.u8(0..8) {
            0..=3 if self.alias => {
                let tensor = self.tensor(DType::I64, 1, false, scope);
                let at = self.constant(DType::I64);
                let address = self.bank.op("at", &[tensor, at]);
                self.bank.op("scf.load", &[address])
            }
            0..=4 => {
                let k = self.pick(&[ROWS, COLUMNS, COLUMNS, ENTRIES], COLUMNS);
                self.extent(k)
            }
            5 => {
                let n = self.rng.i64(0..5);
                self.bank.int(n)
            }
            _ => self.index(scope, depth.max(1)),
        }
    }

    /// A step.
    pub fn step(&mut self) -> Id {
        let n = self.pick(&[1, 1, 1, 1, 2, 3], 1);
        self.bank.int(n)
    }

    /// A variable that no other loop has.
    pub fn var(&mut self, lo: Id, hi: Id, step: Id) -> Id {
        self.next_variable += 1;
        let depth = self.bank.int(self.next_variable);
        let name = self.bank.op("depth", &[depth]);
        self.bank.op("var", &[name, lo, hi, step])
    }

    /// A statement.
    pub fn statement(&mut self, scope: &Scope, depth: u32) -> Id {
        let dtypes = [DType::F32, DType::F32, DType::I64, DType::I32];
        let dtype = if self.alias { DType::I64 } else { self.pick(&dtypes, DType::F32) };
        let lanes = if self.one_in(8) { 2 } else { 1 };
        let ty = Type { dtype, lanes };
        match self.rng.u8(0..12) {
            0..=4 => {
                let address = self.address(ty, 0, true, scope, 1);
                let value = self.value(ty, scope, depth);
                self.bank.op("scf.store", &[address, value])
            }
            5..=7 => {
                let op = self.pick(&FOLDS, "add");
                let op = self.bank.op(op, &[]);
                let address = self.address(ty, 0, true, scope, 1);
                let value = self.value(ty, scope, depth);
                self.bank.op("scf.accumulate", &[op, address, value])
            }
            8 if depth == 0 => {
                let op = self.pick(&["scf.skip", "scf.barrier"], "scf.skip");
                self.bank.op(op, &[])
            }
            _ if depth == 0 => self.statement(scope, 1),
            8 | 9 => {
                let a = self.statement(scope, depth - 1);
                let b = self.statement(scope, depth - 1);
                self.bank.op("scf.seq", &[a, b])
            }
            _ => {
                let Range { var, lo, hi, step } = self.range(scope, 0);
                let mut inner = scope.clone();
                inner.vars.push(var);
                let body = self.statement(&inner, depth - 1);
                self.bank.op("scf.for", &[var, lo, hi, step, body])
            }
        }
    }

    /// A tensor of a rank as a function of its indices.
    pub fn whole_tensor(&mut self, dtype: DType, rank: usize, scope: &Scope, depth: u32) -> Id {
        let choice = self.rng.u8(0..8);
        if depth == 0 || choice < 3 {
            let stored = self.tensor(dtype, rank, false, scope);
            return self.bank.op("emb.tensor", &[stored]);
        }
        let depth = depth - 1;
        match (choice, rank) {
            (3, _) => {
                let op = self.pick(&["nn.relu", "nn.sigmoid", "nn.exp"], "nn.relu");
                let x = self.whole_tensor(dtype, rank, scope, depth);
                self.bank.op(op, &[x])
            }
            (4, _) => {
                let op = self.pick(&["nn.add", "nn.sub", "nn.mul"], "nn.add");
                let a = self.whole_tensor(dtype, rank, scope, depth);
                let b = self.whole_tensor(dtype, rank, scope, depth);
                self.bank.op(op, &[a, b])
            }
            (_, 1) => {
                let op = self.pick(&["nn.row_max", "nn.row_sum"], "nn.row_sum");
                let x = self.whole_tensor(dtype, 2, scope, depth);
                self.bank.op(op, &[x])
            }
            (5.., 2) => {
                let table = self.whole_tensor(dtype, 2, scope, depth);
                let indices = self.tensor(DType::I64, 1, false, scope);
                if self.one_in(3) {
                    return self.bank.op("emb.gather", &[table, indices]);
                }
                let mode = self.pick(&["mode.sum", "mode.mean", "mode.max"], "mode.sum");
                let mode = self.bank.op(mode, &[]);
                let offsets = match self.rng.bool() {
                    true => self.own_tensor(OFFSETS, DType::I64),
                    false => self.tensor(DType::I64, 1, false, scope),
                };
                self.bank.op("emb.bag", &[mode, table, indices, offsets])
            }
            (_, 3) => {
                let table = self.whole_tensor(dtype, 3, scope, depth);
                let indices = self.tensor(DType::I64, 1, false, scope);
                self.bank.op("emb.block_gather", &[table, indices])
            }
            _ => {
                let x = self.whole_tensor(dtype, rank, scope, depth);
                let s = self.value(Type { dtype, lanes: 1 }, scope, 0);
                self.bank.op("nn.scale", &[s, x])
            }
        }
    }
}
