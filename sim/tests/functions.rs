//! Tests of functions and folds of lanes: their values equal those of the scalar operations, and their time is the sum
//! of the operations they consist of.

mod common;

use common::with_fast_memory;
use ember_sim::{Bindings, CoreKind, Options, Outcome, run};
use ember_targets::dlc::*;
use ember_targets::tensor::{Data, Hashed, Tensor};
use ember_values::scalar::{BinaryOp, DType, Scalar, UnaryOp};

const X: Expr = Expr::Register(RegisterId(0));

/// Builds a program that loads all lanes of `x` and stores the result `made` to `out`, `times` times.
fn program(dtype: DType, lanes: u32, times: usize, made: Expr) -> Program {
    let result = if matches!(made, Expr::Fold(..)) { 1 } else { lanes };
    let decl = |name: &str, n: u32, writable| TensorDecl {
        name: name.into(),
        dtype,
        shape: vec![Dim::Const(n.into())],
        purpose: Purpose::of(writable),
    };
    let zero = || Expr::Const(Scalar::I64(0));
    let run = |tensor, count| {
        let limit = Expr::Const(Scalar::I64(i64::from(count)));
        let lanes = (count > 1).then_some(Lanes { count, limit });
        Addr { tensor: TensorId(tensor), index: vec![zero()], lanes, rows: None }
    };
    let mut main = vec![Stmt::Set(RegisterId(0), Expr::Load(Box::new(run(0, lanes))))];
    main.extend((0..times).map(|_| Stmt::Store(run(1, result), made.clone())));
    Program {
        name: "functions".into(),
        tensors: vec![decl("x", lanes, false), decl("out", result, true)],
        registers: vec![Register { name: "x".into(), ty: Type { dtype, lanes } }],
        main,
        ..Program::default()
    }
}

fn go(program: &Program, core: CoreKind) -> (Vec<Scalar>, Outcome) {
    let dtype = program.tensors[0].dtype;
    let shape = |at: usize| match program.tensors[at].shape[..] {
        [Dim::Const(n)] => vec![n],
        _ => panic!("one constant extent"),
    };
    let data = Data::Hashed(Hashed { seed: 3, lo: -3.0, hi: 9.0 });
    let x = Tensor { dtype, shape: shape(0), data };
    let lanes = (0..x.len()).filter_map(|i| x.get(i)).collect();
    let data = Bindings { tensors: vec![x, Tensor::zeros(dtype, shape(1))], sizes: vec![] };
    let options = Options { core, ..Options::default() };
    (lanes, run(program, &with_fast_memory(), data, options).unwrap_or_else(|e| panic!("{e}")))
}

/// Returns the number of operations on the vector ports for one result.
fn uops(dtype: DType, lanes: u32, made: &Expr) -> u64 {
    let of = |n| go(&program(dtype, lanes, n, made.clone()), CoreKind::OutOfOrder).1.stats;
    of(2).vector_uops - of(1).vector_uops
}

fn unary(op: UnaryOp) -> Expr {
    Expr::Unary(op, Box::new(X))
}

fn fold(op: BinaryOp) -> Expr {
    Expr::Fold(op, Box::new(X))
}

#[test]
fn values_are_those_of_the_scalars_on_both_cores() {
    for core in [CoreKind::InOrder, CoreKind::OutOfOrder] {
        for lanes in [1, 2, 5, 16, 24, 64] {
            for dtype in [DType::F32, DType::F64] {
                for &op in UnaryOp::ALL {
                    let (x, outcome) = go(&program(dtype, lanes, 1, unary(op)), core);
                    for (i, x) in x.into_iter().enumerate() {
                        assert_eq!(outcome.tensors[1].get(i as u64), op.apply(x), "{op:?}");
                    }
                }
            }
            for dtype in DType::ARITHMETIC {
                for op in BinaryOp::ALL.into_iter().filter(|op| op.folds()) {
                    let (x, outcome) = go(&program(dtype, lanes, 1, fold(op)), core);
                    assert_eq!(outcome.tensors[1].get(0), op.fold(&x), "{op:?} of {lanes} {dtype}");
                }
            }
        }
    }
}

#[test]
fn operations_follow_the_registers_and_the_halvings() {
    let core = with_fast_memory().core;
    for (lanes, registers) in [(1, 1), (16, 1), (17, 2), (64, 4)] {
        assert_eq!(uops(DType::F32, lanes, &unary(UnaryOp::Exp)), registers * core.exp_uops);
        assert_eq!(uops(DType::F32, lanes, &unary(UnaryOp::Sqrt)), registers);
    }
    // Registers are added first, then each halving of one takes a permutation and an addition.
    for (lanes, expected) in [(1, 0), (2, 2), (5, 6), (16, 8), (32, 9), (64, 11)] {
        assert_eq!(uops(DType::F32, lanes, &fold(BinaryOp::Add)), expected, "{lanes}");
    }
    assert_eq!(uops(DType::F64, 16, &fold(BinaryOp::Max)), 1 + 6);
}

#[test]
fn a_chain_of_functions_takes_their_latencies() {
    let machine = with_fast_memory();
    for (core, figures) in
        [(CoreKind::OutOfOrder, &machine.core), (CoreKind::InOrder, &machine.in_order)]
    {
        let chain = |n: u64| {
            let made = (0..n).fold(X, |x, _| Expr::Unary(UnaryOp::Sqrt, Box::new(x)));
            go(&program(DType::F32, 16, 1, made), core).1.stats.cycles
        };
        assert_eq!(chain(30) - chain(10), 20 * figures.sqrt_latency);
        let steps = 4 * (figures.permute_latency + figures.float_add_latency);
        let folded = |expr: Expr| go(&program(DType::F32, 16, 1, expr), core).1.stats.cycles;
        let spread = Expr::Broadcast(16, Box::new(fold(BinaryOp::Add)));
        let twice = Expr::Fold(BinaryOp::Add, Box::new(spread));
        let more = folded(twice) - folded(fold(BinaryOp::Add));
        assert_eq!(more, steps + figures.permute_latency);
    }
}
