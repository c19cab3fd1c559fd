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

    /// Returns the cycle in which a line's column can be read or written. Consecutive lines map to consecutive
    /// channels, and consecutive rows of a channel to banks in an order that spreads strided accesses too.
    fn column(&mut self, line: u64, at: u64) -> u64 {
        let channel = line % self.channels;
        let row = line / self.channels / self.lines_per_row;
        let banks = self.banks.len() as u64 / self.channels;
        let mixed = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let bank = &mut self.banks[(channel * banks + mixed % banks) as usize];
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

    #[test]
    fn an_open_row_answers_sooner() {
        let machine = Machine::parse(TMU_CPU).unwrap();
        let mut dram = Dram::new(&machine);
        let first = dram.read(0, 0);
        let open = dram.read(4, 10_000) - 10_000;
        let other = dram.read(4 << 20, 20_000) - 20_000;
        // Slots of the share vary the times by less than ten cycles.
        assert!(open + 10 < first && first < other + 10, "{open} {first} {other}");
        assert!(open >= unloaded_latency(&machine));
    }
}
