//! Tests that times are physical: nothing beats the bound, resources saturate, and the optimisation levels rank as
//! expected without constants fitted to that.

mod common;

use common::*;
use ember_sim::{CoreKind, Demand, Options, Stats, bound, run};
use ember_targets::dlc::*;
use ember_targets::machine::Machine;

fn stats(program: &Program, machine: &Machine, data: &Bag) -> Stats {
    let outcome = run(program, machine, data.bindings(), Options::default());
    outcome.unwrap_or_else(|e| panic!("{}: {e}", program.name)).stats
}

fn hierarchy(dim: u64) -> [Program; 5] {
    [
        bag("opt0", Level::PerElement, 1),
        bag("opt1", Level::PerElement, 16),
        bag("opt2", Level::PerRow, 16),
        bag("opt3", Level::Counted, 16),
        walked(dim as u32),
    ]
}

#[test]
fn no_program_beats_the_bound() {
    let machine = machine();
    for dim in [16, 32, 64, 128] {
        for (rows, zipf) in [(1_000_000, true), (1_000_000, false), (500, false)] {
            let data = Bag::random(rows, dim, 24, 40, zipf, dim + rows);
            let least = bound(&decoupled(&data), &machine);
            for program in hierarchy(dim) {
                let cycles = stats(&program, &machine, &data).cycles;
                assert!(cycles >= least.cycles, "{} {dim}: {cycles} {least:?}", program.name);
            }
            let least = bound(&demand(&data), &machine);
            for lanes in [1, 16] {
                let cycles = stats(&coupled(lanes), &machine, &data).cycles;
                assert!(cycles >= least.cycles, "coupled {dim}: {cycles} {least:?}");
            }
        }
    }
}

#[test]
fn each_optimisation_is_worth_three_percent_unless_memory_is_saturated() {
    let machine = machine();
    for (dim, zipf) in [(32, true), (64, true), (128, true), (64, false)] {
        let data = Bag::random(1_000_000, dim, 64, 80, zipf, 42);
        let least = bound(&decoupled(&data), &machine).cycles;
        let runs = hierarchy(dim).map(|p| (p.name.clone(), stats(&p, &machine, &data).cycles));
        for pair in runs.windows(2) {
            let ((a, slow), (b, fast)) = (&pair[0], &pair[1]);
            let saturated = 100 * least >= 95 * slow.max(fast);
            let better = 100 * fast <= 97 * slow;
            assert!(better || saturated, "{dim}: {a} {slow}, {b} {fast}, bound {least}");
        }
        assert!(100 * least >= 75 * runs[4].1, "{dim}: {runs:?}, bound {least}");
    }
}

#[test]
fn popped_indices_cost_queue_bytes_when_the_table_is_in_the_cache() {
    let machine = machine();
    // Every row is used many times, so that nearly all loads hit the last-level cache.
    let data = Bag::random(1_000, 64, 200, 80, false, 5);
    let opt2 = stats(&bag("opt2", Level::PerRow, 16), &machine, &data);
    let opt3 = stats(&bag("opt3", Level::Counted, 16), &machine, &data);
    assert!(opt2.queue_bytes > 19 * opt3.queue_bytes / 10);
    assert!(100 * opt3.cycles < 97 * opt2.cycles, "{} {}", opt2.cycles, opt3.cycles);
}

#[test]
fn streaming_fills_the_share_of_the_bandwidth() {
    let machine = machine();
    let mut data = Bag::of(20_000, 64, &[20_000]);
    data.indices = (0..20_000).collect();
    let s = stats(&walked(64), &machine, &data);
    let used = s.dram_bytes.read as f64 / s.cycles as f64 / machine.share_bytes_per_cycle();
    assert!((0.97..=1.0).contains(&used), "{used}");
    let least = bound(&Demand { lines: data.lines(), ..Demand::default() }, &machine);
    assert!(least.bound_by == ember_sim::Resource::DramBandwidth);
}

#[test]
fn in_order_is_slower_and_wider_is_faster() {
    let machine = machine();
    let data = Bag::random(100_000, 64, 20, 40, true, 9);
    let go = |core| {
        let options = Options { core, ..Options::default() };
        run(&coupled(1), &machine, data.bindings(), options).unwrap().stats.cycles
    };
    let (in_order, out_of_order) = (go(CoreKind::InOrder), go(CoreKind::OutOfOrder));
    assert!(in_order > 2 * out_of_order, "{in_order} {out_of_order}");
    let mut narrow = machine.clone();
    narrow.core.rob = 8;
    let limited = stats(&coupled(1), &narrow, &data).cycles;
    assert!(limited > out_of_order, "a small reorder buffer hides less");
}

#[test]
fn a_small_queue_pushes_back_and_changes_no_result() {
    let data = Bag::random(1_000, 64, 30, 30, false, 2);
    let program = bag("opt1", Level::PerElement, 16);
    let mut small = machine();
    small.queue.chunk_bytes = 128;
    small.queue.control_entries = 2;
    let wide = stats(&program, &machine(), &data);
    let outcome = run(&program, &small, data.bindings(), Options::default()).unwrap();
    let marshaller = outcome.stats.units.iter().find(|u| u.name == "marshaller").unwrap();
    assert!(marshaller.full > outcome.stats.cycles / 4, "{marshaller:?}");
    assert!(outcome.stats.cycles > wide.cycles);
    let ember_targets::tensor::Data::F32(found) = &outcome.tensors[3].data else { panic!() };
    assert_eq!(**found, data.expected());
}

#[test]
fn energy_is_the_sum_of_its_parts_and_grows_with_work() {
    let machine = machine();
    let one = Bag::random(10_000, 64, 20, 40, true, 1);
    let two = Bag::random(10_000, 64, 40, 40, true, 1);
    for program in hierarchy(64) {
        let (a, b) = (stats(&program, &machine, &one), stats(&program, &machine, &two));
        assert!(a.energy_j > 0.0 && a.energy_j == a.energy.total());
        assert!(b.energy_j > 1.5 * a.energy_j, "{}", program.name);
        let mut costly = machine.clone();
        costly.energy.dram_byte_pj *= 2.0;
        let more = stats(&program, &costly, &one);
        let difference = more.energy_j - a.energy_j;
        assert!((difference - a.energy.dram).abs() < 1e-9 * a.energy_j);
    }
}

/// The work of the access unit for rows that the core loads itself.
#[derive(Clone, Copy, PartialEq)]
enum Ahead {
    Nothing,
    /// It prefetches them into the core's L2.
    Prefetched,
    /// It loads and marshals the first element of each, through the core's L2.
    Loaded,
}

/// Builds sums of rows that the core loads itself, by indices that the access unit marshals.
fn loaded(lanes: u32, ahead: Ahead) -> Program {
    let mut p = Builder::new("loaded");
    let k = p.lookups();
    let limit = Some(Lanes { count: lanes, limit: p.size(DIM) });
    let (rb, rl, number) = (p.register("b", I64), p.register("l", I64), p.register("row", I64));
    let (lo, hi, sum) =
        (p.register("lo", I64), p.register("hi", I64), p.register("sum", f32s(lanes)));
    let zero =
        Expr::Broadcast(lanes, Box::new(Expr::Const(ember_values::scalar::Scalar::F32(0.0))));
    let width = Some(Lanes { count: lanes, limit: Expr::Size(DIM) });
    let row = Addr { tensor: TABLE, index: vec![reg(number), int(0)], lanes: width, rows: None };
    let next = Expr::Binary(
        ember_values::scalar::BinaryOp::Add,
        Box::new(reg(sum)),
        Box::new(Expr::Load(Box::new(row))),
    );
    let mut body = vec![Stmt::Pop(number), Stmt::Set(sum, next)];
    if ahead == Ahead::Loaded {
        body.insert(0, Stmt::Pop(p.register("first", f32s(1))));
    }
    let rows = Loop { var: rl, lo: reg(lo), hi: reg(hi), step: 1, body };
    let store = Stmt::Store(out(reg(rb), int(0), lanes), reg(sum));
    let body =
        vec![Stmt::Pop(lo), Stmt::Pop(hi), Stmt::Set(sum, zero), Stmt::Walk(k.l, rows), store];
    let bags = Loop { var: rb, lo: int(0), hi: Expr::Size(BAGS), step: 1, body };
    let all = p.case("all", vec![Stmt::Walk(k.b, bags)]);
    p.ite(k.b, vec![Action::Operand(k.lo), Action::Operand(k.hi), Action::Traverse(k.l)]);
    let mut actions = vec![Action::Operand(k.row)];
    if ahead != Ahead::Nothing {
        let (lanes, limit) = if ahead == Ahead::Prefetched { (lanes, limit) } else { (1, None) };
        let addr = Addr { tensor: TABLE, index: vec![k.row, k.zero], lanes: limit, rows: None };
        let row = p.stream(f32s(lanes), StreamKind::Mem { addr, hint: Hint::TemporalL2 });
        let action = if lanes == 1 { Action::Operand(row) } else { Action::Prefetch(row) };
        actions.insert(0, action);
    }
    p.ite(k.l, actions);
    p.0.access = vec![Action::Callback(all), Action::Traverse(k.b)];
    p.0
}

#[test]
fn rows_that_are_read_ahead_neither_stall_the_core_nor_pass_the_queue() {
    let machine = machine();
    let data = Bag::random(1_000_000, 64, 100, 40, false, 7);
    let popped = stats(&walked(64), &machine, &data);
    let cold = stats(&loaded(64, Ahead::Nothing), &machine, &data);
    let ahead = stats(&loaded(64, Ahead::Prefetched), &machine, &data);
    assert!(5 * ahead.cycles < 4 * cold.cycles, "{} {}", ahead.cycles, cold.cycles);
    assert_eq!(ahead.queue_bytes, cold.queue_bytes);
    assert!(10 * ahead.queue_bytes < popped.queue_bytes);
    assert_eq!(ahead.dram_bytes.read, popped.dram_bytes.read);
    for ahead in [Ahead::Nothing, Ahead::Prefetched, Ahead::Loaded] {
        let outcome = run(&loaded(64, ahead), &machine, data.bindings(), Options::default());
        let outcome = outcome.expect("it runs");
        let ember_targets::tensor::Data::F32(found) = &outcome.tensors[OUT.index()].data else {
            panic!("out is f32")
        };
        assert_eq!(**found, data.expected());
    }
}

#[test]
fn a_slow_core_is_not_overrun_by_what_is_read_into_its_l2() {
    let data = Bag::random(100_000, 16, 20, 400, false, 7);
    let accesses = |ahead, prefetch_bytes| {
        let mut machine = with_fast_memory();
        machine.core.float_add_latency = 40;
        machine.l2.bytes = 1 << 16;
        machine.access.prefetch_bytes = prefetch_bytes;
        stats(&loaded(16, ahead), &machine, &data).llc_accesses
    };
    // Nearly every row is read from the last-level cache once, and is still in the L2 when the core loads it.
    let once = accesses(Ahead::Nothing, 1 << 14);
    for ahead in [Ahead::Prefetched, Ahead::Loaded] {
        let (throttled, overrun) = (accesses(ahead, 1 << 14), accesses(ahead, 1 << 20));
        assert!(100 * throttled <= 105 * once, "{throttled} of {once}");
        assert!(100 * overrun >= 120 * once, "{overrun} of {once}");
    }
}

#[test]
fn more_requests_and_larger_caches_slow_nothing_down() {
    let start = machine();
    let read = |dim| Bag::random(1_000_000, dim, 64, 80, false, 42);
    let written = |dim| Bag::random(1_000_000, dim, 8_000, 1, false, 42);
    for data in [read(32), read(128), written(64)] {
        for program in hierarchy(data.dim) {
            let before = stats(&program, &start, &data).cycles;
            for change in [
                |m: &mut Machine| m.access.outstanding *= 2,
                |m: &mut Machine| m.l2.bytes *= 2,
                |m: &mut Machine| m.llc.bytes *= 2,
            ] {
                let mut better = start.clone();
                change(&mut better);
                let after = stats(&program, &better, &data).cycles;
                assert!(100 * after <= 101 * before, "{}: {before}, {after}", program.name);
            }
        }
    }
}

/// Builds two traversals of the same rows, one after the other, with a hint.
fn twice(hint: Hint) -> Program {
    let mut p = Builder::new("twice");
    let (zero, dim, rows) = (p.int(0), p.size(DIM), p.size(SizeId(0)));
    let value = p.register("v", f32s(16));
    let mut units = Vec::new();
    let mut bodies = Vec::new();
    for name in ["first", "second"] {
        let (unit, row) = p.unit(name, zero, rows, 1);
        let lanes = Some(Lanes { count: 16, limit: dim });
        let addr = Addr { tensor: TABLE, index: vec![row, zero], lanes, rows: None };
        let stream = p.stream(f32s(16), StreamKind::Mem { addr, hint });
        p.ite(unit, vec![Action::Operand(stream)]);
        let var = p.register(name, I64);
        let l = Loop {
            var,
            lo: int(0),
            hi: Expr::Size(SizeId(0)),
            step: 1,
            body: vec![Stmt::Pop(value)],
        };
        bodies.push(Stmt::Walk(unit, l));
        units.push(Action::Traverse(unit));
    }
    let case = p.case("all", bodies);
    p.0.access = [vec![Action::Callback(case)], units].concat();
    p.0
}

#[test]
fn only_temporal_loads_stay_in_the_last_level_cache() {
    let machine = machine();
    let data = Bag::of(300, 16, &[]);
    for (hint, misses) in [(Hint::Temporal, 300), (Hint::TemporalL2, 300), (Hint::NonTemporal, 600)]
    {
        let s = stats(&twice(hint), &machine, &data);
        assert_eq!(s.llc_misses, misses + 1, "{hint:?}");
        // One line of the page table covers all pages of the table and of the output.
        assert_eq!(s.dram_bytes.read, (misses + 1) * 64, "{hint:?}");
        let loads = [s.llc_loads.temporal, s.llc_loads.temporal_l2, s.llc_loads.non_temporal];
        let expected = match hint {
            Hint::Temporal => [600, 0, 0],
            // The L2 serves the second traversal.
            Hint::TemporalL2 => [0, 300, 0],
            Hint::NonTemporal => [0, 0, 600],
        };
        assert_eq!(loads, expected, "{hint:?}");
    }
}

#[test]
fn a_traversal_a_token_and_a_pop_cost_what_the_machine_says() {
    let data = Bag::of(300, 16, &[]);
    let cycles = |change: &dyn Fn(&mut Machine)| {
        let mut machine = with_fast_memory();
        change(&mut machine);
        stats(&twice(Hint::Temporal), &machine, &data).cycles
    };
    let start = cycles(&|_| {});
    // Only one of the two traversals costs time: rows are fetched while the first starts. The same holds while the one
    // token is pushed.
    let slow = cycles(&|m| m.access.traversal_cycles += 1000) - start;
    assert!((1000..=2000).contains(&slow), "{slow}");
    let slow = cycles(&|m| m.access.token_cycles += 10_000) - start;
    assert!((1000..=10_000).contains(&slow), "{slow}");
    // A walk's pops overlap, as many as the reorder buffer holds.
    let slow = cycles(&|m| m.queue.read_latency += 1000) - start;
    assert!((1000..=30_000).contains(&slow), "{slow}");
}
