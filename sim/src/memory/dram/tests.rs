use super::*;
use quickcheck::{Gen, QuickCheck};
use std::collections::BTreeMap;

/// Main memory of one core alone: its share is all of it.
fn alone() -> Machine {
    let mut machine = Machine::plus().unwrap();
    machine.dram.sharers = 1;
    machine
}

#[test]
fn streaming_fills_the_share() {
    let machine = Machine::plus().unwrap();
    let mut dram = Dram::new(&machine, 1);
    let last = (0..10_000).map(|i| dram.read(i, i * 8)).max().unwrap();
    let used = 10_000.0 * 64.0 / last as f64 / machine.share_bytes_per_cycle();
    assert!((0.97..=1.0).contains(&used), "{used}");
}

#[test]
fn rows_of_one_line_are_limited_by_activations() {
    let machine = Machine::plus().unwrap();
    let mut dram = Dram::new(&machine, 1);
    let scattered = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let last = (0..10_000).map(|i| dram.read(scattered(i), i)).max().unwrap();
    // Refreshes leave less.
    let used = 10_000.0 / machine.activations_per_cycle() / last as f64;
    assert!((0.9..=1.0).contains(&used), "{used}");
}

#[test]
fn all_cores_together_fill_the_buses_and_their_rows_wait_for_no_other_bank() {
    let machine = Machine::plus().unwrap();
    let all = machine.dram.sharers;
    let scattered = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let time = |cores: u64, line: fn(u64, u64) -> u64| {
        let mut dram = Dram::new(&machine, cores);
        (0..20_000).map(|i| dram.read(line(i, scattered(i)), i)).max().unwrap() as f64
    };
    let bytes = 20_000.0 * 64.0;
    let streaming = bytes / time(all, |i, _| i) / (machine.share_bytes_per_cycle() * all as f64);
    assert!((0.97..=1.0).contains(&streaming), "{streaming}");
    let opened = 20_000.0 / (machine.activations_per_cycle() * all as f64);
    let rows = opened / time(all, |_, scattered| scattered);
    // Refreshes leave 93 %.
    assert!((0.87..=0.94).contains(&rows), "{rows}");
    // More cores have no more of it.
    assert_eq!(time(all, |i, _| i), time(4 * all, |i, _| i));
    assert!(time(2, |i, _| i) > 3.9 * time(all, |i, _| i));
}

#[test]
fn a_batch_of_writes_turns_the_bus() {
    let machine = Machine::plus().unwrap();
    let time = |writes: bool| {
        let mut dram = Dram::new(&machine, 1);
        let go = |i| if writes { dram.write(i, i * 8) } else { dram.read(i, i * 8) };
        (0..10_000).map(go).max().unwrap() as f64
    };
    let more = time(true) / time(false);
    assert!((more / (1.0 + machine.turning_lines()) - 1.0).abs() < 0.01, "{more}");
}

/// One bank as the rules of JESD79-4 and JESD235 describe it: what its next column waits for.
#[derive(Default)]
struct Rules {
    open: BTreeMap<usize, (u64, f64)>,
    activations: BTreeMap<usize, Vec<f64>>,
}

impl Rules {
    /// Returns the nanosecond in which a column of a row may be read.
    fn column(&mut self, machine: &Machine, place: (usize, usize, u64), at: f64) -> f64 {
        let (channel, bank, row) = place;
        let figures = &machine.dram;
        let activate = match self.open.get(&bank) {
            Some((same, _)) if *same == row => return at,
            Some((_, activated)) => at.max(activated + figures.t_ras_ns) + figures.t_rp_ns,
            None => at,
        };
        let before = self.activations.entry(channel).or_default();
        let window = before.iter().rev().nth(figures.activations as usize - 1);
        let activate = window.map_or(activate, |since| activate.max(since + figures.t_faw_ns));
        before.push(activate);
        self.open.insert(bank, (row, activate));
        activate + figures.t_rcd_ns
    }
}

/// Compares reads, each of which begins when the one before has its column, with the rules: a read of the open row
/// takes tCL, of a closed bank tRCD before that, of another row tRP before both, but not before tRAS; one activation
/// more of a channel than a window has takes at least tFAW.
#[test]
fn reads_take_what_the_state_of_their_bank_demands() {
    fn holds(lines: Vec<u16>) -> bool {
        // A cycle is a nanosecond, so that nothing is rounded; no refresh lies within the trace.
        let mut machine = alone();
        machine.core.clock_ghz = 1.0;
        machine.dram.t_refi_ns = 1e6;
        let (mut dram, mut rules) = (Dram::new(&machine, 1), Rules::default());
        let mut at = 1000;
        lines.into_iter().all(|line| {
            // Neighbours often share a row, others are far apart.
            let line = u64::from(line % 64) << (line / 64 % 16);
            let expected = rules.column(&machine, dram.layout.place(line), at as f64);
            at = dram.column(line, at);
            at as f64 == expected
        })
    }
    let seeded = Gen::from_size_and_seed(300, 1);
    QuickCheck::new().rng(seeded).tests(200).quickcheck(holds as fn(Vec<u16>) -> bool);
}

/// Requests of several cores need not come in the order of time.
#[test]
fn requests_of_several_cores_wait_for_no_later_ones() {
    let mut machine = alone();
    machine.dram.t_refi_ns = 1e9;
    machine.dram.t_faw_ns = 0.01;
    let (mut dram, times) = (Dram::new(&machine, 2), Times::new(&machine, 2));
    // Lines that begin a row each, of one bank.
    let (_, bank, _) = dram.layout.place(0);
    let rows = (0..1 << 20).step_by(64).filter(|line| dram.layout.place(*line).1 == bank);
    let &[one, other, third] = &rows.take(3).collect::<Vec<_>>()[..] else { panic!("few rows") };
    let later = 100_000;
    assert_eq!(dram.column(one, later), later + times.rcd);
    // Another row is open before, for as many reads as there are.
    assert_eq!(dram.column(other, 1_000), 1_000 + times.rcd);
    assert_eq!(dram.column(other + 1, 1_010), 1_000 + times.rcd);
    assert_eq!(dram.column(other + 2, 2_000), 2_000);
    // It is closed again when the first one is opened, which may be sooner than it was.
    assert_eq!(dram.column(one + 1, later + 500), later + 500);
    assert_eq!(dram.column(one + 2, 5_000), 5_000 + times.rp + times.rcd);
    assert_eq!(dram.column(one + 3, 6_000), 6_000);
    // After that, the other row is opened in its place, and not before it may be closed.
    let opened = 5_000 + times.rp;
    assert_eq!(dram.column(other, 5_010), opened + times.ras + times.rp + times.rcd);
    // No room is left between the two rows.
    let last = opened + times.ras + times.rp;
    assert_eq!(dram.column(third, opened + 1), last + times.ras + times.rp + times.rcd);
}

#[test]
fn requests_of_several_cores_in_order_take_what_those_of_one_take() {
    let mut machine = alone();
    machine.dram.t_refi_ns = 1e6;
    // No request waits for another bank.
    machine.dram.t_faw_ns = 0.01;
    let (mut one, mut several) = (Dram::new(&machine, 1), Dram::new(&machine, 2));
    let mut at = 1_000;
    for n in 0..5_000u64 {
        let random = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let line = (random % 64) << (random / 64 % 16);
        let expected = one.column(line, at);
        assert_eq!(several.column(line, at), expected, "{n}");
        at = expected;
    }
}

#[test]
fn a_refresh_closes_the_rows_of_a_channel_and_delays_its_reads() {
    let machine = alone();
    let mut dram = Dram::new(&machine, 1);
    let (times, first) = (Times::new(&machine, 1), dram.channels[0].first_refresh);
    assert_eq!(dram.column(0, first - 10), first - 10 + times.rcd);
    assert_eq!(dram.column(1, first + 5), first + times.rfc + times.rcd);
    assert_eq!(dram.column(2, first + times.rfc + 100), first + times.rfc + 100);
    assert_eq!(
        dram.column(3, first + times.refi),
        first + times.refi + times.rfc + times.rcd,
        "the next refresh"
    );
}
