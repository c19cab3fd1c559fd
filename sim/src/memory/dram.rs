//! Main memory: channels, banks with one open row each, and the core's share of the bandwidth.

use crate::calendar::Pipe;
use ember_targets::machine::Machine;

/// The row of a bank at the start: no row is open.
const CLOSED: u64 = u64::MAX;

/// Main memory as seen by one of several cores with equal shares.
///
/// The share is a rate limit before all channels: the other cores use the rest of the buses, and their effect on the
/// banks is not simulated.
#[derive(Debug)]
pub(super) struct Dram {
    share: Pipe,
    banks: Vec<Bank>,
    channels: u64,
    lines_per_row: u64,
    t_rcd: u64,
    t_rp: u64,
    t_cas: u64,
    controller: u64,
    pub(super) reads: u64,
    pub(super) writes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Bank {
    row: u64,
    free: u64,
}

impl Dram {
    pub(super) fn new(machine: &Machine) -> Dram {
        let dram = &machine.dram;
        Dram {
            share: Pipe::new(dram.line_bytes, machine.share_bytes_per_cycle()),
            banks: vec![Bank { row: CLOSED, free: 0 }; (dram.channels * dram.banks) as usize],
            channels: dram.channels,
            lines_per_row: (dram.row_bytes / dram.line_bytes).max(1),
            t_rcd: machine.cycles(dram.t_rcd_ns),
            t_rp: machine.cycles(dram.t_rp_ns),
            t_cas: machine.cycles(dram.t_cas_ns),
            controller: machine.cycles(dram.controller_ns),
            reads: 0,
            writes: 0,
        }
    }

    /// Returns the bank of a line, and its row there. Consecutive lines map to consecutive channels, and consecutive
    /// rows of a channel to banks in an order that spreads strided accesses too.
    fn place(&self, line: u64) -> (usize, u64) {
        let channel = line % self.channels;
        let row = line / self.channels / self.lines_per_row;
        let banks = self.banks.len() as u64 / self.channels;
        let mixed = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((channel * banks + mixed % banks) as usize, row)
    }

    /// Returns the cycle in which a line's column can be read or written.
    fn column(&mut self, line: u64, at: u64) -> u64 {
        let (bank, row) = self.place(line);
        let bank = &mut self.banks[bank];
        let start = at.max(bank.free);
        let column = if bank.row == row {
            start
        } else if bank.row == CLOSED {
            start + self.t_rcd
        } else {
            start + self.t_rp + self.t_rcd
        };
        // Reads of an open row follow each other at bus speed, which the share already limits.
        *bank = Bank { row, free: column };
        column
    }

    /// Reads a line; returns the cycle in which it has reached the last-level cache.
    pub(super) fn read(&mut self, line: u64, at: u64) -> u64 {
        self.reads += 1;
        let data = self.column(line, at) + self.t_cas;
        self.share.transfer(data).1 + self.controller
    }

    /// Accepts a line to write; nothing waits for it.
    pub(super) fn write(&mut self, line: u64, at: u64) {
        self.writes += 1;
        let data = self.column(line, at);
        self.share.transfer(data);
    }
}

/// Returns the minimum time of a read: with an open row and an idle bus.
pub(super) fn unloaded_latency(machine: &Machine) -> u64 {
    machine.cycles(machine.dram.t_cas_ns) + machine.cycles(machine.dram.controller_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ember_targets::machine::TMU_CPU;
    use quickcheck::{Gen, QuickCheck};
    use std::collections::BTreeMap;

    #[test]
    fn streaming_and_random_rows_both_fill_the_share() {
        let machine = Machine::parse(TMU_CPU).unwrap();
        for stride in [1, 4096 + 16] {
            let mut dram = Dram::new(&machine);
            let last = (0..10_000).map(|i| dram.read(i * stride, i * 8)).max().unwrap();
            let bytes = 10_000.0 * 64.0;
            let used = bytes / last as f64 / machine.share_bytes_per_cycle();
            assert!((0.97..=1.0).contains(&used), "{used}");
        }
    }

    /// Compares reads one after the other with the rules of JESD79-4 and JESD235 for a bank: a read of the open row
    /// takes tCL, of a closed bank tRCD before that, of another row tRP before both.
    #[test]
    fn reads_take_what_the_state_of_their_bank_demands() {
        fn holds(lines: Vec<u16>) -> bool {
            let machine = Machine::parse(TMU_CPU).unwrap();
            let ns = |nanoseconds: f64| nanoseconds * machine.core.clock_ghz;
            let figures = &machine.dram;
            let transfer = figures.line_bytes as f64 / machine.share_bytes_per_cycle();
            let mut dram = Dram::new(&machine);
            let mut open = BTreeMap::new();
            lines.into_iter().zip(1..).all(|(line, n)| {
                // Neighbours often share a row, others are far apart.
                let (line, at) = (u64::from(line % 64) << (line / 64 % 16), n * 10_000);
                let (bank, row) = dram.place(line);
                let before = match open.insert(bank, row) {
                    Some(same) if same == row => 0.0,
                    Some(_) => figures.t_rp_ns + figures.t_rcd_ns,
                    None => figures.t_rcd_ns,
                };
                let bank = ns(before + figures.t_cas_ns + figures.controller_ns);
                let late = (dram.read(line, at) - at) as f64 - bank - transfer;
                // Times are rounded up, and a transfer waits for the next slot of the share.
                (0.0..transfer + 6.0).contains(&late)
            })
        }
        let seeded = Gen::from_size_and_seed(300, 1);
        QuickCheck::new().rng(seeded).tests(200).quickcheck(holds as fn(Vec<u16>) -> bool);
    }
}
