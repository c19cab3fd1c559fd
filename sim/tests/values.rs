//! Tests that every program computes the same values as plain loops, bit by bit, on every shape of data.

mod common;

use common::*;
use ember_sim::{CoreKind, Options, Stats, Values, run};
use ember_targets::dlc::{Expr, Loop, Program, Stmt};
use ember_targets::tensor::Data;
use ember_values::scalar::{BinaryOp, DType, Scalar};

fn check(program: &Program, bag: &Bag) -> Stats {
    let outcome = run(program, &machine(), bag.bindings(), Options::default())
        .unwrap_or_else(|e| panic!("{} on {bag:?}: {e}", program.name));
    let Data::F32(found) = &outcome.tensors[OUT.index()].data else { panic!("out is f32") };
    let expected = bag.expected();
    for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(a.to_bits(), b.to_bits(), "{}: element {i}: {a} is not {b}", program.name);
    }
    assert_eq!(timed(program, bag), outcome.stats, "{}: time without values", program.name);
    outcome.stats
}

/// Runs a program that computes integers alone.
fn timed(program: &Program, bag: &Bag) -> Stats {
    let options = Options { values: Values::Integers, ..Options::default() };
    let outcome = run(program, &machine(), bag.bindings(), options).unwrap();
    assert!(outcome.tensors.is_empty(), "{}: no results", program.name);
    outcome.stats
}

fn programs(dim: u64) -> Vec<Program> {
    let lanes = (dim as u32).next_power_of_two().max(2);
    vec![
        bag("opt0", Level::PerElement, 1),
        bag("opt1", Level::PerElement, 16),
        bag("opt2", Level::PerRow, 16),
        bag("opt2-scalar", Level::PerRow, 1),
        bag("opt3", Level::Counted, 16),
        bag("opt3-wide", Level::Counted, 64),
        walked(lanes),
        coupled(1),
        coupled(16),
    ]
}

#[test]
fn every_program_sums_bags_of_every_shape() {
    let shapes: [&[i64]; 7] =
        [&[], &[0], &[0, 0, 3, 0], &[5, 0, 0, 0, 1], &[1], &[40, 2, 0], &[700, 0, 300]];
    for dim in [1, 3, 16, 31, 64] {
        for sizes in shapes {
            let data = Bag::of(50, dim, sizes);
            for program in programs(dim) {
                check(&program, &data);
            }
        }
    }
}

#[test]
fn random_bags_agree_and_units_account_for_every_cycle() {
    for (dim, zipf) in [(20, true), (64, false), (128, true)] {
        let data = Bag::random(10_000, dim, 40, 20, zipf, dim);
        for program in programs(dim) {
            let stats = check(&program, &data);
            for unit in &stats.units {
                let sum =
                    unit.busy + unit.memory + unit.full + unit.empty + unit.dispatch + unit.idle;
                assert_eq!(sum, stats.cycles, "{}: {unit:?}", program.name);
            }
        }
    }
}

/// A loop whose bound is a sum of floating-point numbers takes as long as if all values were computed.
#[test]
fn what_makes_an_integer_of_a_float_computes_floats() {
    let data = Bag::of(4, 8, &[2]);
    let mut bounded = Builder::new("bounded");
    let (var, bound) = (bounded.register("i", I64), bounded.register("n", I64));
    let half = Expr::Const(Scalar::F32(20.5));
    let sum = Expr::Binary(BinaryOp::Add, Box::new(half.clone()), Box::new(half));
    let zero = Expr::Const(Scalar::F32(0.0));
    let body = vec![Stmt::Store(out(int(0), int(3), 1), zero)];
    bounded.0.main = vec![
        Stmt::Set(bound, Expr::Cast(DType::I64, Box::new(sum))),
        Stmt::For(Loop { var, lo: int(0), hi: reg(bound), step: 1, body }),
    ];
    let all = run(&bounded.0, &machine(), data.bindings(), Options::default()).unwrap();
    assert_eq!(timed(&bounded.0, &data), all.stats);
    assert!(all.stats.cycles > 41, "{} cycles", all.stats.cycles);
}

#[test]
fn runs_are_deterministic_and_the_timeline_changes_nothing() {
    let data = Bag::random(10_000, 32, 20, 20, true, 3);
    for program in programs(32) {
        for core in [CoreKind::InOrder, CoreKind::OutOfOrder] {
            let options = Options { core, ..Options::default() };
            let go = |recorded| {
                run(&program, &machine(), data.bindings(), Options { recorded, ..options }).unwrap()
            };
            let (a, b) = (go(false), go(true));
            assert_eq!(a.stats, b.stats);
            let (recording, again) = (b.recording.unwrap(), go(true).recording.unwrap());
            assert_eq!(recording.timeline, again.timeline);
            // The statements delay the end of the run by all cycles up to the last result.
            let delays: u64 = recording.statements.iter().sum();
            assert!(delays > 0 && delays <= a.stats.cycles, "{delays} of {}", a.stats.cycles);
        }
    }
}
