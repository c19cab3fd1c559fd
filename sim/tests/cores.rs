//! Tests of several cores that divide the rows of a program.

mod common;

use common::*;
use ember_sim::{
    Bindings, Division, Options, Passed, Phase, SimError, Stats, Together, Visit, Workers,
    bound_on, run, run_divided, run_passing, run_phases,
};
use ember_targets::dlc::{Addr, Dim, Program, Purpose, SizeId, Stmt, TensorDecl, TensorId};
use ember_targets::machine::Machine;
use ember_targets::tensor::{Data, Hashed, Tensor};
use ember_values::scalar::{DType, Scalar};
use quickcheck::QuickCheck;
use std::ops::Range;

/// Returns the division of bags into parts, each of which one core has.
fn division(own: Vec<Vec<Range<u64>>>, shared: Vec<Range<u64>>) -> Division {
    let mut parts = Vec::new();
    let mut number = |rows: Range<u64>| {
        parts.push(rows);
        parts.len() - 1
    };
    let own = own.into_iter().map(|rows| rows.into_iter().map(&mut number).collect()).collect();
    let shared = shared.into_iter().map(&mut number).collect();
    let (sizes, looked_up, copied) = (vec![(BAGS, 0), (SizeId(4), 1)], vec![], vec![]);
    Division { sizes, looked_up, copied, parts, own, shared, ..Division::undivided(0) }
}

/// Divides bags evenly, in order.
fn evenly(bags: u64, cores: u64) -> Division {
    let at = |core: u64| bags * core / cores;
    let part = |core: u64| Range { start: at(core), end: at(core + 1) };
    division((0..cores).map(|core| vec![part(core)]).collect(), vec![])
}

fn go_on(machine: &Machine, program: &Program, data: &Bag, division: &Division) -> Together {
    run_divided(program, machine, data.bindings(), Options::default(), division.clone()).unwrap()
}

fn go(program: &Program, data: &Bag, division: &Division) -> Together {
    go_on(&machine(), program, data, division)
}

fn programs() -> [Program; 4] {
    let bag = |level| bag("bag", level, 16);
    [bag(Level::PerElement), bag(Level::Counted), walked(64), coupled(16)]
}

#[test]
fn one_core_that_has_all_rows_is_one_core() {
    let data = Bag::random(4_000, 64, 60, 20, true, 3);
    for program in programs() {
        let alone = run(&program, &machine(), data.bindings(), Options::default()).unwrap();
        let Together { outcome, cores, parts } = go(&program, &data, &evenly(60, 1));
        assert_eq!(outcome.stats, alone.stats);
        assert_eq!(parts, [cores[0].end]);
        assert!(outcome.tensors[3].same_bits(&alone.tensors[3]));
        assert_eq!(cores.len(), 1);
    }
}

#[test]
fn any_division_computes_the_same_bits_with_the_same_work() {
    fn holds(cuts: Vec<u8>, shared: bool, seed: u64) -> bool {
        let data = Bag::random(500, 64, 40, 8, true, seed);
        let mut cuts: Vec<u64> = cuts.into_iter().map(|cut| u64::from(cut) % 41).collect();
        cuts.extend([0, 40]);
        cuts.sort_unstable();
        let parts = cuts.windows(2).map(|ends| ends[0]..ends[1]);
        let divided = if shared {
            division(vec![vec![]; 3], parts.rev().collect())
        } else {
            division(parts.map(|part| vec![part]).collect(), vec![])
        };
        programs().iter().all(|program| {
            let alone = run(program, &machine(), data.bindings(), Options::default()).unwrap();
            let many = go(program, &data, &divided);
            let again = go(program, &data, &divided);
            // Each part has its own loop over bags, and one token more if that has one.
            let more = divided.parts.len() as u64 - 1;
            let tokens = |stats: &Stats| stats.tokens;
            let tokens_fit = (tokens(&alone.stats)..=tokens(&alone.stats) + more)
                .contains(&tokens(&many.outcome.stats));
            let last = many.cores.iter().map(|core| core.end).max();
            again.outcome.stats == many.outcome.stats
                && again.cores == many.cores
                && many.outcome.stats.operands == alone.stats.operands
                && tokens_fit
                && last <= Some(many.outcome.stats.cycles)
                && many.cores.iter().map(|core| core.parts).sum::<usize>() == divided.parts.len()
                && many.outcome.tensors[3].same_bits(&alone.tensors[3])
        })
    }
    QuickCheck::new().tests(12).quickcheck(holds as fn(Vec<u8>, bool, u64) -> bool);
}

/// Calls `visit` with what a bag accesses.
fn accesses(data: &Bag, bag: u64, visit: &mut Visit<'_>) {
    let [start, end] = [bag, bag + 1].map(|at| data.offsets[at as usize] as u64);
    visit(OFFSETS, bag..bag + 2);
    visit(INDICES, start..end);
    for row in &data.indices[start as usize..end as usize] {
        visit(TABLE, *row as u64 * data.dim..(*row as u64 + 1) * data.dim);
    }
    visit(OUT, bag * data.dim..(bag + 1) * data.dim);
}

#[test]
fn rows_that_are_passed_over_leave_in_the_caches_what_they_would_have() {
    let data = Bag::random(4_000, 64, 400, 20, true, 11);
    let last = |program: &Program, passed: Range<u64>| {
        let accessed = |part: usize, visit: &mut Visit<'_>| {
            let rows = passed.clone().filter(|_| part == 0);
            rows.for_each(|bag| accesses(&data, bag, visit));
        };
        let passed = Passed { accesses: &accessed, part: 0.25 };
        let divided = (division(vec![vec![Range { start: 300, end: 400 }]], vec![]), passed);
        run_passing(program, &machine(), data.bindings(), Options::default(), divided).unwrap()
    };
    for program in programs() {
        let after = go(&program, &data, &division(vec![vec![0..300, 300..400]], vec![])).parts[1];
        let cold = last(&program, 0..0).parts[0];
        let passed = last(&program, 0..300);
        let off = passed.parts[0] as f64 / after as f64 - 1.0;
        assert!(off.abs() < 0.02, "{}: {after}, {:?}, cold {cold}", program.name, passed.parts);
        // The slower the program, the less it waits for memory.
        let slower = cold as f64 / after as f64;
        assert!(slower > if after < 100_000 { 1.05 } else { 1.0 }, "{after} {cold}");
        // What is passed over is not counted.
        let whole = run(&program, &machine(), data.bindings(), Options::default()).unwrap().stats;
        assert!(passed.outcome.stats.dram_bytes.read < whole.dram_bytes.read / 2);
    }
}

#[test]
fn cores_share_memory_and_what_is_in_the_last_level_cache() {
    let data = Bag::random(60_000, 64, 256, 40, false, 5);
    let program = walked(64);
    let alone = run(&program, &machine(), data.bindings(), Options::default()).unwrap().stats;
    let one = alone.cycles as f64;
    let mut before = alone.cycles;
    for cores in [2, 4, 8] {
        let stats = go(&program, &data, &evenly(256, cores)).outcome.stats;
        let workers = Workers { working: cores, cores };
        let bound = bound_on(&decoupled(&data), &machine(), workers).cycles;
        assert!(stats.cycles >= bound, "{} {bound}", stats.cycles);
        let efficiency = one / cores as f64 / stats.cycles as f64;
        assert!(efficiency > 0.9, "{cores}: {efficiency}");
        assert!(stats.cycles < before);
        before = stats.cycles;
        // What one core has read is there for the others, in a cache that is larger for more of them.
        let fewest = data.lines() * 64;
        assert!((fewest..=alone.dram_bytes.read).contains(&stats.dram_bytes.read));
        let energy = stats.energy;
        assert_eq!(stats.energy_j, energy.total());
        assert!((energy.dram / alone.energy.dram - 1.0).abs() < 0.2);
        for unit in &stats.units {
            let all = unit.busy + unit.memory + unit.full + unit.empty + unit.dispatch + unit.idle;
            assert_eq!(all, cores * stats.cycles, "{unit:?}");
        }
    }
    // All eight have main memory's bandwidth; more have no more.
    let many = go(&program, &data, &evenly(256, 32)).outcome.stats;
    assert!(many.cycles as f64 > 0.8 * before as f64, "{} {before}", many.cycles);
}

#[test]
fn a_narrow_network_is_the_limit() {
    let data = Bag::random(2_000, 64, 256, 40, true, 7);
    let time = |bytes: u64| {
        let mut machine = machine();
        machine.network.bytes_per_cycle = bytes;
        go_on(&machine, &walked(64), &data, &evenly(256, 8)).outcome.stats
    };
    let (wide, narrow) = (time(256), time(64));
    assert!(narrow.cycles > wide.cycles);
    assert!(narrow.cycles >= narrow.llc_accesses, "a line a cycle");
}

#[test]
fn cores_take_parts_when_they_are_free() {
    // The first bag is longer than all others together. The table is in the caches: from memory, one core could read nearly
    // as fast as two.
    let mut sizes = vec![6_000];
    sizes.resize(61, 50);
    let data = Bag::of(500, 64, &sizes);
    let each = || (0..61).map(|bag| bag..bag + 1);
    let shared = go(&walked(64), &data, &division(vec![vec![]; 2], each().collect()));
    assert_eq!(shared.cores.iter().map(|core| core.parts).min(), Some(1));
    let halves = go(&walked(64), &data, &evenly(61, 2));
    let (shared, halves) = (shared.outcome.stats.cycles, halves.outcome.stats.cycles);
    assert!(shared as f64 * 1.2 < halves as f64, "{shared} {halves}");
}

#[test]
fn scratch_is_each_cores_own() {
    // A row of scratch that every bag uses would be the others', too.
    let mut program = walked(64);
    program.tensors[3].shape = vec![program.tensors[3].shape[1]];
    let data = Bag::random(500, 64, 16, 8, true, 1);
    let mut bindings = data.bindings();
    bindings.tensors[3] = Tensor::zeros(DType::F32, vec![64]);
    let Stmt::Walk(_, bags) = &mut program.cases[0].body[0] else { panic!() };
    let Some(Stmt::Store(at, _)) = bags.body.last_mut() else { panic!() };
    at.index.remove(0);
    let options = Options::default();
    let stats = |cores| {
        let division = Division { copied: vec![TensorId(3)], ..evenly(16, cores) };
        run_divided(&program, &machine(), bindings.clone(), options, division).unwrap()
    };
    let (one, four) = (stats(1).outcome, stats(4).outcome);
    // Four copies of the row go to memory.
    assert_eq!(four.stats.dram_bytes.written, 4 * one.stats.dram_bytes.written);
}

#[test]
fn products_of_matrices_are_divided_by_rows_and_by_columns() {
    let rows = SizeId(0);
    let tensor = |name: &str, shape: Vec<Dim>, writable| TensorDecl {
        name: name.into(),
        dtype: DType::F32,
        shape,
        purpose: Purpose::of(writable),
    };
    let [own, k, n] = [Dim::Size(rows), Dim::Const(40), Dim::Const(24)];
    let batched = [
        [vec![own, n], vec![own, k], vec![k, n]],
        [vec![own, k, n], vec![own, k, k], vec![own, k, n]],
    ];
    for [out, a, b] in batched {
        let tensors = vec![tensor("out", out, true), tensor("a", a, false), tensor("b", b, false)];
        let [out, a, b] = [0, 1, 2].map(TensorId);
        let [out, a, b] = [out, a, b].map(Addr::whole);
        let main = vec![Stmt::Matmul { out, a, b, transposed: false, adds: false }];
        let program = Program { tensors, main, sizes: vec!["rows".into()], ..Program::default() };
        let data = |declared: &TensorDecl| {
            let extent = |dim: &Dim| if let Dim::Const(n) = dim { *n } else { 37 };
            let shape: Vec<u64> = declared.shape.iter().map(extent).collect();
            match declared.writable() {
                true => Tensor::zeros(DType::F32, shape),
                false => {
                    let data = Data::Hashed(Hashed { seed: 3, lo: -1.0, hi: 1.0 });
                    Tensor { dtype: DType::F32, shape, data }
                }
            }
        };
        let tensors: Vec<Tensor> = program.tensors.iter().map(data).collect();
        let bindings = Bindings { tensors, sizes: vec![37] };
        let options = Options::default();
        let alone = run(&program, &machine(), bindings.clone(), options).unwrap();
        let division = Division { sizes: vec![(rows, 0)], ..evenly(37, 3) };
        let three = run_divided(&program, &machine(), bindings.clone(), options, division).unwrap();
        assert!(three.outcome.tensors[0].same_bits(&alone.tensors[0]));
        assert_eq!(three.outcome.stats.macs, alone.stats.macs);
        assert!(three.outcome.stats.cycles < alone.stats.cycles);
        let division = Division {
            parts: vec![0..0; 2],
            columns: vec![0..16, 16..24],
            own: vec![vec![0], vec![1]],
            ..Division::undivided(2)
        };
        let two = run_divided(&program, &machine(), bindings, options, division).unwrap();
        assert!(two.outcome.tensors[0].same_bits(&alone.tensors[0]));
        assert_eq!(two.outcome.stats.macs, alone.stats.macs);
    }
}

#[test]
fn parts_may_have_some_columns_of_wider_tensors() {
    // A program for 16 of 64 columns.
    let data = Bag::random(500, 64, 40, 8, true, 5);
    let mut program = coupled(16);
    let mut bindings = data.bindings();
    for tensor in [0, 3] {
        program.tensors[tensor].shape[1] = Dim::Const(64);
    }
    let alone = run(&coupled(16), &machine(), data.bindings(), Options::default()).unwrap();
    bindings.sizes[DIM.index()] = 16;
    let slice = |n: u64| 16 * n..16 * (n + 1);
    let division = Division {
        parts: (0..4).map(|_| 0..40).collect(),
        columns: (0..4).map(slice).collect(),
        sliced: vec![TABLE, OUT],
        own: (0..4).map(|core| vec![core]).collect(),
        ..evenly(40, 4)
    };
    let run = |division| {
        run_divided(&program, &machine(), bindings.clone(), Options::default(), division)
    };
    let four = run(division.clone()).unwrap();
    assert!(four.outcome.tensors[3].same_bits(&alone.tensors[3]));
    let beyond = Division { columns: vec![48..64, 60..76, 0..16, 0..16], ..division };
    assert!(matches!(run(beyond), Err(SimError::OutOfBounds { .. })));
}

/// Runs two layers, the second of which looks up what the first computes, and returns the second's output as well.
fn layers(program: &Program, machine: &Machine, cores: u64) -> Together {
    let first = Bag::random(2_000, 64, 64, 30, true, 3);
    let second = Bag::random(64, 64, 64, 6, false, 4);
    let (mut own, mut next) = (program.clone(), program.clone());
    for (tensor, name) in next.tensors.iter_mut().zip(["out", "indices2", "offsets2", "last"]) {
        tensor.name = name.into();
    }
    own.tensors.push(next.tensors[3].clone());
    let mut data = first.bindings();
    data.tensors.push(second.bindings().tensors.remove(3));
    let Bindings { mut tensors, sizes } = second.bindings();
    let tensors = tensors.drain(1..3).collect();
    let split = || evenly(64, cores);
    let next = Phase { program: &next, steps: &[], sizes, tensors, division: split() };
    let phases = vec![Phase::only(&own, data, split()), next];
    run_phases(phases, machine, Options::default()).unwrap()
}

#[test]
fn parts_may_run_a_step_of_the_program() {
    let data = Bag::random(500, 64, 40, 8, true, 6);
    let program = coupled(64);
    let nothing = Program { main: Vec::new(), ..program.clone() };
    let run_steps = |steps: &[Program], own| {
        let division = Division { steps: own, ..evenly(40, 2) };
        let phase = Phase { steps, ..Phase::only(&program, data.bindings(), division) };
        run_phases(vec![phase], &machine(), Options::default())
    };
    let alone = run(&program, &machine(), data.bindings(), Options::default()).unwrap();
    let both = run_steps(&[nothing.clone(), program.clone()], vec![1, 1]).unwrap();
    assert!(both.outcome.tensors[3].same_bits(&alone.tensors[3]));
    let half = run_steps(&[nothing.clone(), program.clone()], vec![1, 0]).unwrap();
    let value = |tensor: &Tensor, row: u64| tensor.get(row * 64);
    for row in 0..40 {
        let expected =
            if row < 20 { value(&alone.tensors[3], row) } else { Some(Scalar::F32(0.0)) };
        assert_eq!(value(&half.outcome.tensors[3], row), expected, "row {row}");
    }
    for own in [vec![2, 0], vec![0]] {
        let error = run_steps(std::slice::from_ref(&nothing), own).unwrap_err();
        assert!(matches!(&error, SimError::Binding { message } if message.contains("a step")));
    }
}

#[test]
fn cores_meet_where_one_reads_what_another_wrote() {
    let layers = |cores| layers(&walked(64), &machine(), cores);
    let one = layers(1);
    let mut before = one.outcome.stats.cycles;
    for cores in [2, 4, 8] {
        let many = layers(cores);
        for output in [3, 4] {
            assert!(many.outcome.tensors[output].same_bits(&one.outcome.tensors[output]));
        }
        assert!(many.outcome.stats.cycles < before, "{cores}");
        before = many.outcome.stats.cycles;
        // Each arrives, and sees that all have; the last waits for nothing else.
        let access = machine().llc.latency;
        let waits = || many.cores.iter().map(|core| core.waited);
        assert!(waits().min() >= Some(2 * access), "{:?}", many.cores);
        assert!(waits().min() < waits().max(), "{:?}", many.cores);
    }
    assert_eq!(one.outcome.stats, layers(1).outcome.stats);
}

#[test]
fn a_barrier_costs_what_is_written_back_and_read_again() {
    // With one core, the second layer finds what the first wrote in its own caches; with two, half is the other's.
    let layers = |machine: &Machine, cores| layers(&coupled(16), machine, cores);
    let (one, two) = (layers(&machine(), 1), layers(&machine(), 2));
    let llc = |run: &Together| run.outcome.stats.llc_accesses;
    let written = 64 * 64 * 4 / 64;
    assert!(llc(&two) > llc(&one) + written / 2, "{} {}", llc(&two), llc(&one));
    // Farther away, barriers take longer.
    let mut far = machine();
    far.llc.latency += 100;
    let least = |run: Together| run.cores.iter().map(|core| core.waited).min();
    assert!(least(layers(&far, 2)) >= least(two).map(|waited| waited + 200));
}

#[test]
fn what_is_no_division_is_refused() {
    let data = Bag::random(500, 64, 40, 8, true, 1);
    let error = |division: &Division| {
        let (options, division) = (Options::default(), division.clone());
        run_divided(&walked(64), &machine(), data.bindings(), options, division)
            .map(|_| ())
            .unwrap_err()
    };
    let beyond = error(&division(vec![vec![0..41]], vec![]));
    assert!(matches!(&beyond, SimError::Binding { message } if message.contains("rows that")));
    let mut missing = evenly(40, 2);
    missing.own[1] = vec![2];
    assert!(matches!(error(&missing), SimError::Binding { .. }));
    let none = Division { own: vec![], ..evenly(40, 2) };
    assert!(matches!(error(&none), SimError::Limit { .. }));
    let columns = Division { sizes: vec![(DIM, 0)], ..evenly(40, 2) };
    let message = error(&columns).to_string();
    assert!(message.ends_with("`table` has rows in another extent than its first"), "{message}");
}
