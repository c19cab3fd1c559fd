//! Embedding bags for tests and benchmarks: data, and hand-written programs of each optimisation level.
#![allow(dead_code, reason = "every test file and benchmark uses a part of it")]

use ember_sim::Bindings;
use ember_targets::dlc::*;
use ember_targets::machine::Machine;
use ember_targets::tensor::{Data, Hashed, Tensor};
use ember_values::scalar::{BinaryOp, DType, Scalar};
use std::sync::Arc;

/// Returns the default machine.
pub fn machine() -> Machine {
    Machine::plus().expect("the default description reads")
}

/// Returns a machine whose memory moves lines in no time, so that the end of a run is exact.
pub fn with_fast_memory() -> Machine {
    let mut machine = machine();
    let dram = &mut machine.dram;
    (dram.t_turn_ns, dram.t_rcd_ns, dram.t_ras_ns, dram.t_rp_ns) = (0.0, 0.0, 0.0, 0.0);
    dram.channel_gb_per_s = 1e6;
    let wide = 128 * dram.line_bytes;
    (machine.l2.bytes_per_cycle, machine.llc.bytes_per_cycle) = (wide, wide);
    machine
}

/// A ragged batch of lookups into one table.
#[derive(Clone, Debug)]
pub struct Bag {
    pub rows: u64,
    pub dim: u64,
    pub offsets: Vec<i64>,
    pub indices: Vec<i64>,
}

/// SplitMix64, which is good enough for test data.
pub struct Random(pub u64);

impl Random {
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl Bag {
    /// Builds bags of `average` lookups (from none to twice as many) over rows drawn from a Zipf-like distribution
    /// (rank = rows^u, the continuous law with exponent 1) or uniformly.
    pub fn random(rows: u64, dim: u64, bags: u64, average: u64, zipf: bool, seed: u64) -> Bag {
        let mut random = Random(seed);
        let mut offsets = vec![0];
        let mut indices = Vec::new();
        for bag in 0..bags {
            let n = if bag % 29 == 7 { 0 } else { (random.unit() * 2.0 * average as f64) as u64 };
            for _ in 0..n {
                let u = random.unit();
                let rank = if zipf { (rows as f64).powf(u) - 1.0 } else { u * rows as f64 };
                // Ranks are scattered over the table, so that hot rows are not neighbours.
                let row = (rank as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % rows;
                indices.push(row as i64);
            }
            offsets.push(indices.len() as i64);
        }
        Bag { rows, dim, offsets, indices }
    }

    /// Builds bags of the given sizes over rows in order.
    pub fn of(rows: u64, dim: u64, sizes: &[i64]) -> Bag {
        let mut offsets = vec![0];
        for n in sizes {
            offsets.push(offsets[offsets.len() - 1] + n);
        }
        let n = offsets[offsets.len() - 1];
        Bag { rows, dim, offsets, indices: (0..n).map(|i| (i * 7 + 3) % rows as i64).collect() }
    }

    pub fn bags(&self) -> u64 {
        self.offsets.len() as u64 - 1
    }

    pub fn elements(&self) -> u64 {
        self.indices.len() as u64 * self.dim
    }

    pub fn table(&self) -> Hashed {
        Hashed { seed: 1, lo: -1.0, hi: 1.0 }
    }

    pub fn bindings(&self) -> Bindings {
        let table = Tensor {
            dtype: DType::F32,
            shape: vec![self.rows, self.dim],
            data: Data::Hashed(self.table()),
        };
        let ints = |v: &Vec<i64>| Tensor {
            dtype: DType::I64,
            shape: vec![v.len() as u64],
            data: Data::I64(Arc::new(v.clone())),
        };
        let out = Tensor::zeros(DType::F32, vec![self.bags(), self.dim]);
        Bindings {
            tensors: vec![table, ints(&self.indices), ints(&self.offsets), out],
            sizes: vec![
                self.rows as i64,
                self.dim as i64,
                self.bags() as i64,
                self.indices.len() as i64,
                self.bags() as i64 + 1,
            ],
        }
    }

    /// Returns the sums, in the order of the lookups.
    pub fn expected(&self) -> Vec<f32> {
        let table = self.table();
        let mut out = vec![0.0f32; (self.bags() * self.dim) as usize];
        for b in 0..self.bags() as usize {
            for l in self.offsets[b]..self.offsets[b + 1] {
                for e in 0..self.dim {
                    let row = self.indices[l as usize] as u64;
                    out[(b as u64 * self.dim + e) as usize] += table.f32(row * self.dim + e);
                }
            }
        }
        out
    }

    /// Returns the distinct lines of the table.
    fn table_lines(&self) -> Vec<u64> {
        let mut rows: Vec<i64> = self.indices.clone();
        rows.sort_unstable();
        rows.dedup();
        let mut lines: Vec<u64> = rows
            .iter()
            .flat_map(|&r| {
                let first = r as u64 * self.dim * 4;
                first / 64..(first + self.dim * 4).div_ceil(64)
            })
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// Returns the number of rows of memory banks that hold the table's lines.
    fn bank_rows(&self) -> u64 {
        let layout = ember_sim::Layout::new(&machine());
        let lines = self.table_lines();
        let rows: std::collections::BTreeSet<_> =
            lines.into_iter().map(|line| layout.bank_row(line)).collect();
        rows.len() as u64
    }

    /// Returns the number of distinct lines of table, indices and offsets.
    pub fn lines(&self) -> u64 {
        let ints = |n: usize| (n as u64 * 8).div_ceil(64);
        self.table_lines().len() as u64 + ints(self.indices.len()) + ints(self.offsets.len())
    }
}

pub const TABLE: TensorId = TensorId(0);
pub const INDICES: TensorId = TensorId(1);
pub const OFFSETS: TensorId = TensorId(2);
pub const OUT: TensorId = TensorId(3);
pub const DIM: SizeId = SizeId(1);
pub const BAGS: SizeId = SizeId(2);
pub const I64: Type = Type { dtype: DType::I64, lanes: 1 };

pub fn f32s(lanes: u32) -> Type {
    Type { dtype: DType::F32, lanes }
}

/// Builds programs over the four tensors of a bag.
pub struct Builder(pub Program);

impl Builder {
    pub fn new(name: &str) -> Builder {
        let decl = |name: &str, dtype, shape: &[u32], writable| TensorDecl {
            name: name.into(),
            dtype,
            shape: shape.iter().map(|&s| Dim::Size(SizeId(s))).collect(),
            purpose: Purpose::of(writable),
        };
        Builder(Program {
            name: name.into(),
            sizes: ["rows", "dim", "bags", "lookups", "ends"].map(String::from).to_vec(),
            tensors: vec![
                decl("table", DType::F32, &[0, 1], false),
                decl("indices", DType::I64, &[3], false),
                decl("offsets", DType::I64, &[4], false),
                decl("out", DType::F32, &[2, 1], true),
            ],
            ..Program::default()
        })
    }

    pub fn stream(&mut self, ty: Type, kind: StreamKind) -> StreamId {
        let name = format!("s{}", self.0.streams.len());
        self.0.streams.push(Stream { name, ty, kind });
        StreamId(self.0.streams.len() as u32 - 1)
    }

    pub fn int(&mut self, n: i64) -> StreamId {
        self.stream(I64, StreamKind::Const(Scalar::I64(n)))
    }

    pub fn size(&mut self, size: SizeId) -> StreamId {
        self.stream(I64, StreamKind::Size(size))
    }

    pub fn add(&mut self, a: StreamId, b: StreamId) -> StreamId {
        self.stream(I64, StreamKind::Alu { op: BinaryOp::Add, a, b })
    }

    pub fn load(&mut self, tensor: TensorId, index: Vec<StreamId>, hint: Hint) -> StreamId {
        let dtype = self.0.tensors[tensor.index()].dtype;
        let addr = Addr { tensor, index, lanes: None, rows: None };
        self.stream(Type::scalar(dtype), StreamKind::Mem { addr, hint })
    }

    /// Adds a stream that loads a run of a row of the table.
    pub fn row(&mut self, row: StreamId, e: StreamId, count: u32, limit: StreamId) -> StreamId {
        let lanes = Some(Lanes { count, limit });
        let addr = Addr { tensor: TABLE, index: vec![row, e], lanes, rows: None };
        self.stream(f32s(count), StreamKind::Mem { addr, hint: Hint::Temporal })
    }

    /// Adds a unit without actions, and its induction variable.
    pub fn unit(
        &mut self,
        name: &str,
        lo: StreamId,
        hi: StreamId,
        step: i64,
    ) -> (UnitId, StreamId) {
        self.0.units.push(TraversalUnit {
            name: name.into(),
            lo,
            hi,
            step,
            beg: vec![],
            ite: vec![],
            end: vec![],
        });
        let unit = UnitId(self.0.units.len() as u32 - 1);
        let var = self.stream(I64, StreamKind::IndVar(unit));
        (unit, var)
    }

    pub fn ite(&mut self, unit: UnitId, actions: Vec<Action>) {
        self.0.units[unit.index()].ite = actions;
    }

    pub fn register(&mut self, name: &str, ty: Type) -> RegisterId {
        self.0.registers.push(Register { name: name.into(), ty });
        RegisterId(self.0.registers.len() as u32 - 1)
    }

    pub fn case(&mut self, name: &str, body: Vec<Stmt>) -> CaseId {
        self.0.cases.push(Case { name: name.into(), body });
        CaseId(self.0.cases.len() as u32 - 1)
    }

    /// Adds the loops over bags and lookups: units and variables of both, the bounds of the second, and the row that is
    /// looked up.
    pub fn lookups(&mut self) -> Lookups {
        let zero = self.int(0);
        let one = self.int(1);
        let bags = self.size(BAGS);
        let (b, bag) = self.unit("b", zero, bags, 1);
        let lo = self.load(OFFSETS, vec![bag], Hint::Temporal);
        let next = self.add(bag, one);
        let hi = self.load(OFFSETS, vec![next], Hint::Temporal);
        let (l, lookup) = self.unit("l", lo, hi, 1);
        let row = self.load(INDICES, vec![lookup], Hint::NonTemporal);
        Lookups { b, bag, lo, hi, l, row, zero }
    }
}

pub struct Lookups {
    pub b: UnitId,
    pub bag: StreamId,
    pub lo: StreamId,
    pub hi: StreamId,
    pub l: UnitId,
    pub row: StreamId,
    pub zero: StreamId,
}

pub fn reg(r: RegisterId) -> Expr {
    Expr::Register(r)
}

pub fn int(n: i64) -> Expr {
    Expr::Const(Scalar::I64(n))
}

pub fn out(b: Expr, e: Expr, lanes: u32) -> Addr<Expr> {
    let lanes = (lanes > 1).then_some(Lanes { count: lanes, limit: Expr::Size(DIM) });
    Addr { tensor: OUT, index: vec![b, e], lanes, rows: None }
}

pub fn add_to(b: RegisterId, e: RegisterId, lanes: u32, value: RegisterId) -> Stmt {
    Stmt::Accumulate(BinaryOp::Add, out(reg(b), reg(e), lanes), reg(value))
}

/// The level of decoupling of a bag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// A token for every element or vector; its index and value are popped.
    PerElement,
    /// A token for every row; the index and value of every element or vector are popped.
    PerRow,
    /// A token for every row; the execute unit counts.
    Counted,
}

/// Builds a bag that accumulates in memory, with elements or runs of `lanes`.
pub fn bag(name: &str, level: Level, lanes: u32) -> Program {
    let mut p = Builder::new(name);
    let k = p.lookups();
    let dim = p.size(DIM);
    let (e, var) = p.unit("e", k.zero, dim, i64::from(lanes));
    let value = match lanes {
        1 => p.load(TABLE, vec![k.row, var], Hint::Temporal),
        n => p.row(k.row, var, n, dim),
    };
    let (rb, re) = (p.register("b", I64), p.register("e", I64));
    let rv = p.register("v", f32s(lanes));
    let accumulate = add_to(rb, re, lanes, rv);
    let walk = |body: Vec<Stmt>, var| {
        let (lo, hi) = (int(0), Expr::Size(DIM));
        Stmt::Walk(e, Loop { var, lo, hi, step: i64::from(lanes), body })
    };
    let (bag, value_case) = match level {
        Level::PerElement => (
            p.case("bag", vec![Stmt::Pop(rb)]),
            p.case("value", vec![Stmt::Pop(re), Stmt::Pop(rv), accumulate]),
        ),
        Level::PerRow => {
            let var = p.register("i", I64);
            let body = vec![Stmt::Pop(re), Stmt::Pop(rv), accumulate];
            (p.case("bag", vec![Stmt::Pop(rb)]), p.case("row", vec![walk(body, var)]))
        }
        Level::Counted => {
            let next = Expr::Binary(BinaryOp::Add, Box::new(reg(rb)), Box::new(int(1)));
            p.0.main = vec![Stmt::Set(rb, int(-1))];
            let body = vec![Stmt::Pop(rv), accumulate];
            (p.case("bag", vec![Stmt::Set(rb, next)]), p.case("row", vec![walk(body, re)]))
        }
    };
    let (token, operand) = (Action::Callback, Action::Operand);
    let mut per_bag = vec![token(bag)];
    if level != Level::Counted {
        per_bag.push(operand(k.bag));
    }
    per_bag.push(Action::Traverse(k.l));
    p.ite(k.b, per_bag);
    let (mut per_row, mut per_value) = (vec![], vec![]);
    match level {
        Level::PerElement => per_value.extend([token(value_case), operand(var)]),
        Level::PerRow => {
            per_row.push(token(value_case));
            per_value.push(operand(var));
        }
        Level::Counted => per_row.push(token(value_case)),
    }
    per_value.push(operand(value));
    per_row.push(Action::Traverse(e));
    p.ite(k.l, per_row);
    p.ite(e, per_value);
    p.0.access = vec![Action::Traverse(k.b)];
    p.0
}

/// Builds a bag with one callback: it walks whole rows of `lanes` into a register, with one store per bag.
pub fn walked(lanes: u32) -> Program {
    let mut p = Builder::new("walked");
    let k = p.lookups();
    let dim = p.size(DIM);
    let row = p.row(k.row, k.zero, lanes, dim);
    let (rb, rl) = (p.register("b", I64), p.register("l", I64));
    let (lo, hi) = (p.register("lo", I64), p.register("hi", I64));
    let (sum, value) = (p.register("sum", f32s(lanes)), p.register("row", f32s(lanes)));
    let zero = Expr::Broadcast(lanes, Box::new(Expr::Const(Scalar::F32(0.0))));
    let next = Expr::Binary(BinaryOp::Add, Box::new(reg(sum)), Box::new(reg(value)));
    let rows = Loop {
        var: rl,
        lo: reg(lo),
        hi: reg(hi),
        step: 1,
        body: vec![Stmt::Pop(value), Stmt::Set(sum, next)],
    };
    let bags = Loop {
        var: rb,
        lo: int(0),
        hi: Expr::Size(BAGS),
        step: 1,
        body: vec![
            Stmt::Pop(lo),
            Stmt::Pop(hi),
            Stmt::Set(sum, zero),
            Stmt::Walk(k.l, rows),
            Stmt::Store(out(reg(rb), int(0), lanes.max(2)), reg(sum)),
        ],
    };
    let all = p.case("all", vec![Stmt::Walk(k.b, bags)]);
    p.ite(k.b, vec![Action::Operand(k.lo), Action::Operand(k.hi), Action::Traverse(k.l)]);
    p.ite(k.l, vec![Action::Operand(row)]);
    p.0.access = vec![Action::Callback(all), Action::Traverse(k.b)];
    p.0
}

/// Builds the coupled loop nest, with elements or runs of `lanes`.
pub fn coupled(lanes: u32) -> Program {
    let mut p = Builder::new("coupled");
    let (rb, rl, re) = (p.register("b", I64), p.register("l", I64), p.register("e", I64));
    let row = p.register("row", I64);
    let load =
        |tensor, index| Expr::Load(Box::new(Addr { tensor, index, lanes: None, rows: None }));
    let limit = (lanes > 1).then_some(Lanes { count: lanes, limit: Expr::Size(DIM) });
    let value = Expr::Load(Box::new(Addr {
        tensor: TABLE,
        index: vec![reg(row), reg(re)],
        lanes: limit,
        rows: None,
    }));
    let elements = Loop {
        var: re,
        lo: int(0),
        hi: Expr::Size(DIM),
        step: i64::from(lanes),
        body: vec![Stmt::Accumulate(BinaryOp::Add, out(reg(rb), reg(re), lanes), value)],
    };
    let next = Expr::Binary(BinaryOp::Add, Box::new(reg(rb)), Box::new(int(1)));
    let lookups = Loop {
        var: rl,
        lo: load(OFFSETS, vec![reg(rb)]),
        hi: load(OFFSETS, vec![next]),
        step: 1,
        body: vec![Stmt::Set(row, load(INDICES, vec![reg(rl)])), Stmt::For(elements)],
    };
    p.0.main = vec![Stmt::For(Loop {
        var: rb,
        lo: int(0),
        hi: Expr::Size(BAGS),
        step: 1,
        body: vec![Stmt::For(lookups)],
    })];
    p.0
}

/// Returns the demand of a sum of bags on any program: reading its data once, adding every row.
pub fn demand(bag: &Bag) -> ember_sim::Demand {
    let row_ops = (bag.dim * 4).div_ceil(64);
    ember_sim::Demand {
        lines: bag.lines(),
        bank_rows: bag.bank_rows(),
        vector_ops: bag.indices.len() as u64 * row_ops,
        loads: bag.indices.len() as u64 * row_ops,
        stores: bag.bags() * row_ops,
        ..Default::default()
    }
}

/// Returns the demand of a decoupled program: every row passes through the lanes and the queue.
pub fn decoupled(bag: &Bag) -> ember_sim::Demand {
    let bytes = bag.elements() * 4;
    ember_sim::Demand { lane_bytes: bytes, row_bytes: bytes, ..demand(bag) }
}
