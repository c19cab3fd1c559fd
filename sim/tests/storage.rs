//! Tests of storage types: either unit reads and writes them at their own width, packed and unaligned, and conversions
//! turn them into other types.

mod common;

use common::{I64, int, machine, reg};
use ember_sim::{Bindings, Options, Outcome, run};
use ember_targets::dlc::*;
use ember_targets::tensor::{Data, Hashed, Tensor};
use ember_values::scalar::{DType, Scalar};

const STORAGE: [DType; 5] = [DType::F16, DType::BF16, DType::U8, DType::U4, DType::I8];

fn table(dtype: DType, rows: u64, dim: u64, held: bool) -> Tensor {
    let hashed = Hashed { seed: 7, lo: 0.0, hi: 16.0 };
    let tensor = Tensor { dtype, shape: vec![rows, dim], data: Data::Hashed(hashed) };
    if !held {
        return tensor;
    }
    let data = Data::held(dtype, (0..tensor.len()).filter_map(|i| tensor.get(i)));
    Tensor { data, ..tensor }
}

/// Builds a program over `table`, read-only, and `out`, both of the given extents.
fn program(table: DType, out: DType, rows: u64, dim: u64) -> Program {
    let decl = |name: &str, dtype, writable| TensorDecl {
        name: name.into(),
        dtype,
        shape: vec![Dim::Const(rows), Dim::Const(dim)],
        purpose: Purpose::of(writable),
    };
    Program {
        name: "copy".into(),
        tensors: vec![decl("table", table, false), decl("out", out, true)],
        ..Program::default()
    }
}

fn constant(program: &mut Program, n: i64) -> StreamId {
    let kind = StreamKind::Const(Scalar::I64(n));
    program.streams.push(Stream { name: format!("s{}", program.streams.len()), ty: I64, kind });
    StreamId(program.streams.len() as u32 - 1)
}

fn row<I>(tensor: u32, row: I, first: I, count: u32, limit: I) -> Addr<I> {
    Addr {
        tensor: TensorId(tensor),
        index: vec![row, first],
        lanes: Some(Lanes { count, limit }),
        rows: None,
    }
}

fn register(program: &mut Program, ty: Type) -> RegisterId {
    program.registers.push(Register { name: format!("r{}", program.registers.len()), ty });
    RegisterId(program.registers.len() as u32 - 1)
}

/// Builds a program that converts every row, `lanes` at a time, on the execute unit alone.
fn coupled(from: DType, to: DType, rows: u64, dim: u64, lanes: u32) -> Program {
    let mut p = program(from, to, rows, dim);
    let (r, e) = (register(&mut p, I64), register(&mut p, I64));
    let at = |tensor| row(tensor, reg(r), reg(e), lanes, int(dim as i64));
    let value = Expr::Cast(to, Box::new(Expr::Load(Box::new(at(0)))));
    let inner = vec![Stmt::Store(at(1), value)];
    let step = i64::from(lanes);
    let inner = Stmt::For(Loop { var: e, lo: int(0), hi: int(dim as i64), step, body: inner });
    let outer = Loop { var: r, lo: int(0), hi: int(rows as i64), step: 1, body: vec![inner] };
    p.main = vec![Stmt::For(outer)];
    p
}

/// Builds a program that streams every row as one operand, which the execute unit converts and stores; or, if it needs
/// no conversion, lets the access unit store it.
fn decoupled(from: DType, to: DType, rows: u64, dim: u64) -> Program {
    let mut p = program(from, to, rows, dim);
    let lanes = dim as u32;
    let (zero, n, width) =
        (constant(&mut p, 0), constant(&mut p, rows as i64), constant(&mut p, dim as i64));
    let unit = UnitId(0);
    p.streams.push(Stream { name: "i".into(), ty: I64, kind: StreamKind::IndVar(unit) });
    let i = StreamId(3);
    let addr = row(0, i, zero, lanes, width);
    let ty = Type { dtype: from, lanes };
    let kind = StreamKind::Mem { addr, hint: Hint::NonTemporal };
    p.streams.push(Stream { name: "row".into(), ty, kind });
    let value = StreamId(4);
    let store = Action::Store { addr: row(1, i, zero, lanes, width), value };
    let ite = vec![if from == to { store } else { Action::Operand(value) }];
    let (lo, hi, step) = (zero, n, 1);
    p.units.push(TraversalUnit { name: "u".into(), lo, hi, step, beg: vec![], ite, end: vec![] });
    p.access = vec![Action::Traverse(unit)];
    if from != to {
        let (r, popped) = (register(&mut p, I64), register(&mut p, ty));
        let converted = Expr::Cast(to, Box::new(reg(popped)));
        let out = row(1, reg(r), int(0), lanes, int(dim as i64));
        let body = vec![Stmt::Pop(popped), Stmt::Store(out, converted)];
        let walk = Loop { var: r, lo: int(0), hi: int(rows as i64), step: 1, body };
        p.cases.push(Case { name: "all".into(), body: vec![Stmt::Walk(unit, walk)] });
        p.access.insert(0, Action::Callback(CaseId(0)));
    }
    p
}

fn go(program: &Program, table: &Tensor, out: DType) -> Outcome {
    let tensors = vec![table.clone(), Tensor::zeros(out, table.shape.clone())];
    let data = Bindings { tensors, sizes: vec![] };
    run(program, &machine(), data, Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn check(program: &Program, table: &Tensor, out: DType) -> Outcome {
    let outcome = go(program, table, out);
    for i in 0..table.len() {
        let expected = table.get(i).map(|x| x.cast(out));
        let found = outcome.tensors[1].get(i);
        assert_eq!(found, expected, "{} to {out}, {:?}: {i}", table.dtype, table.shape);
    }
    outcome
}

#[test]
fn rows_of_every_width_are_read_converted_and_stored() {
    for dtype in STORAGE {
        for dim in [1, 2, 3, 7, 31, 64, 127, 129, 200] {
            for held in [false, true] {
                let table = table(dtype, 9, dim, held);
                for out in [DType::F32, DType::F64, DType::I64, DType::F16, DType::U8, DType::I8] {
                    for lanes in [1, 5, 16, 64] {
                        check(&coupled(dtype, out, 9, dim, lanes), &table, out);
                    }
                    if out != dtype {
                        check(&decoupled(dtype, out, 9, dim), &table, out);
                    }
                }
                check(&decoupled(dtype, dtype, 9, dim), &table, dtype);
            }
        }
    }
}

#[test]
fn floats_are_rounded_into_storage_types() {
    for to in STORAGE {
        let table = table(DType::F32, 5, 37, false);
        check(&coupled(DType::F32, to, 5, 37, 16), &table, to);
        check(&decoupled(DType::F32, to, 5, 37), &table, to);
    }
}

#[test]
fn traffic_is_that_of_the_bits() {
    let (rows, dim) = (4096, 64);
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::U8, DType::U4, DType::I8] {
        let out = DType::F64;
        let stats =
            go(&decoupled(dtype, out, rows, dim), &table(dtype, rows, dim, false), out).stats;
        let bytes = rows * dim * dtype.bits() / 8;
        assert_eq!(stats.queue_bytes, bytes, "{dtype}");
        assert_eq!(stats.requests, bytes.div_ceil(64), "{dtype}");
        // The output's lines are written whole, so only the table is read, and a line of the page table.
        assert_eq!(stats.dram_bytes.read, bytes + 64, "{dtype}");
    }
}

#[test]
fn narrow_rows_share_lines_and_odd_ones_cross_them() {
    // Rows of 127 half-bytes may begin inside a byte, and every other line spans two rows.
    let (rows, dim) = (512, 127);
    let stats = check(
        &decoupled(DType::U4, DType::U4, rows, dim),
        &table(DType::U4, rows, dim, true),
        DType::U4,
    )
    .stats;
    let lines = (rows * dim).div_ceil(128);
    assert_eq!(stats.requests, lines);
    assert!(stats.llc_misses >= lines, "{stats:?}");
}

#[test]
fn converting_a_row_takes_operations_for_each_register_of_the_wider_type() {
    let (rows, dim) = (1000, 64);
    let uops = |from| {
        let table = table(from, rows, dim, false);
        go(&decoupled(from, DType::F32, rows, dim), &table, DType::F32).stats.vector_uops / rows
    };
    // A row of f32 is four registers: each is converted, and unpacked before that.
    assert_eq!((uops(DType::I32), uops(DType::U8)), (4, 8));
    assert_eq!((uops(DType::F16), uops(DType::BF16), uops(DType::U4)), (8, 8, 12));
}

#[test]
fn arithmetic_on_them_is_refused() {
    let mut p = coupled(DType::U8, DType::U8, 2, 4, 4);
    let Stmt::For(rows) = &mut p.main[0] else { panic!() };
    let Stmt::For(row) = &mut rows.body[0] else { panic!() };
    let Stmt::Store(addr, value) = row.body[0].clone() else { panic!() };
    let add = ember_values::scalar::BinaryOp::Add;
    row.body = vec![Stmt::Accumulate(add, addr, value)];
    let tensors = vec![table(DType::U8, 2, 4, false), Tensor::zeros(DType::U8, vec![2, 4])];
    let data = Bindings { tensors, sizes: vec![] };
    let error = run(&p, &machine(), data, Options::default()).unwrap_err().to_string();
    assert!(error.contains("computes with a type that is only stored"), "{error}");
}
