//! Tests that every program computes the same values as plain loops, bit by bit, on every shape of data.

mod common;

use common::*;
use ember_sim::{CoreKind, Options, Stats, run};
use ember_targets::dlc::Program;
use ember_targets::tensor::Data;

fn check(program: &Program, bag: &Bag) -> Stats {
    let outcome = run(program, &machine(), bag.bindings(), Options::default())
        .unwrap_or_else(|e| panic!("{} on {bag:?}: {e}", program.name));
    let Data::F32(found) = &outcome.tensors[OUT.index()].data else { panic!("out is f32") };
    let expected = bag.expected();
    for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(a.to_bits(), b.to_bits(), "{}: element {i}: {a} is not {b}", program.name);
    }
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
