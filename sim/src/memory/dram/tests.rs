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
