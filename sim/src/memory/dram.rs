//! Main memory in time: channels, banks with one open row each, and the cores' shares of what they can do.

mod bank;
mod layout;

pub use layout::Layout;

use crate::calendar::{Pipe, Slots};
use bank::Bank;
use ember_targets::machine::Machine;
use std::collections::BTreeMap;

/// Main memory as seen by some of several cores with equal shares.
///
/// The shares of the buses and of the activations are limits of their rates: the cores that are not simulated use the
/// rest. Their effect on the rows that are open is not simulated. One core's share of all buses is one path; several
/// cores meet on the bus of each channel.
#[derive(Debug)]
pub(super) struct Dram {
    share: Pipe,
    /// True if the cores have all of main memory, so that the buses are their only limit.
    whole: bool,
    banks: Vec<Bank>,
    channels: Vec<Channel>,
    layout: Layout,
    times: Times,
    /// The time of the bus that a written line takes because the bus turns, in lines; and what has been paid of it.
    turning: f64,
    turned: f64,
    pub(super) reads: u64,
    pub(super) writes: u64,
}

/// Times in cycles.
#[derive(Debug)]
struct Times {
    rcd: u64,
    rp: u64,
    cas: u64,
    ras: u64,
    /// The window of the cores' share of activations.
    faw: u64,
    refi: u64,
    rfc: u64,
    controller: u64,
}

impl Times {
    fn new(machine: &Machine, cores: u64) -> Times {
        let dram = &machine.dram;
        let part = cores.min(dram.sharers) as f64;
        Times {
            rcd: machine.cycles(dram.t_rcd_ns),
            rp: machine.cycles(dram.t_rp_ns),
            cas: machine.cycles(dram.t_cas_ns),
            ras: machine.cycles(dram.t_ras_ns),
            faw: machine.cycles(dram.t_faw_ns * dram.sharers as f64 / part),
            refi: machine.cycles(dram.t_refi_ns).max(1),
            rfc: machine.cycles(dram.t_rfc_ns),
            controller: machine.cycles(dram.controller_ns),
        }
    }
}

#[derive(Debug)]
struct Channel {
    activations: Activations,
    /// The cycle of the first refresh: the channels are refreshed in turn.
    first_refresh: u64,
    /// Its bus, if several cores meet there.
    bus: Option<Pipe>,
}

/// The rows that a channel may open.
#[derive(Debug)]
enum Activations {
    /// So many in a window, each held for its length.
    Window(Slots),
    /// The same number, one after the other, as tRRD demands. The requests of several cores wait for different banks, so that
    /// those which need not wait pass the others: a calendar has gaps for them.
    Spread(Pipe),
}

impl Channel {
    /// Returns the number of refreshes that have begun by a cycle, and the first cycle from it on in which none runs.
    fn refreshed(&self, at: u64, times: &Times) -> (u64, u64) {
        match at.checked_sub(self.first_refresh) {
            None => (0, at),
            Some(since) => {
                let end = at - since % times.refi + times.rfc;
                (1 + since / times.refi, at.max(end))
            }
        }
    }

    /// Activates a row at or after a cycle; returns the cycle.
    fn activate(&mut self, at: u64, times: &Times) -> u64 {
        match &mut self.activations {
            Activations::Window(rows) => {
                let at = at.max(rows.free());
                rows.hold(at + times.faw);
                at
            }
            Activations::Spread(rows) => rows.transfer(at).0.max(at),
        }
    }
}

impl Dram {
    pub(super) fn new(machine: &Machine, cores: u64) -> Dram {
        let dram = &machine.dram;
        let times = Times::new(machine, cores);
        let part = cores.min(dram.sharers) as f64;
        let all = machine.share_bytes_per_cycle() * dram.sharers as f64;
        let bus = || Pipe::new(dram.line_bytes, all / dram.channels as f64);
        let activations = || match cores {
            1 => Activations::Window(Slots::new(dram.activations)),
            _ => Activations::Spread(Pipe::new(times.faw, dram.activations as f64)),
        };
        let channel = |c| Channel {
            activations: activations(),
            first_refresh: times.refi * (c + 1) / dram.channels,
            bus: (cores > 1).then(bus),
        };
        Dram {
            share: Pipe::new(dram.line_bytes, machine.share_bytes_per_cycle() * part),
            whole: cores > 1 && cores >= dram.sharers,
            banks: vec![Bank::CLOSED; (dram.channels * dram.banks) as usize],
            channels: (0..dram.channels).map(channel).collect(),
            layout: Layout::new(machine),
            turning: machine.turning_lines(),
            turned: 0.0,
            times,
            reads: 0,
            writes: 0,
        }
    }

    /// Returns the cycle in which a line's column can be read or written.
    fn column(&mut self, line: u64, at: u64) -> u64 {
        let (channel, bank, row) = self.layout.place(line);
        let (channel, bank) = (&mut self.channels[channel], &mut self.banks[bank]);
        let (times, several) = (&self.times, channel.bus.is_some());
        let at = if several { at } else { bank.waits(at) };
        let (refreshes, at) = channel.refreshed(at, times);
        bank.refresh(refreshes);
        match several {
            false => bank.column(row, at, times, |at| channel.activate(at, times)),
            true => bank.column_of_several(row, at, times, |at| {
                let (_, at) = channel.refreshed(at, times);
                channel.activate(at, times)
            }),
        }
    }

    /// Reads a line; returns the cycle in which it has reached the last-level cache.
    pub(super) fn read(&mut self, line: u64, at: u64) -> u64 {
        self.reads += 1;
        let data = self.column(line, at) + self.times.cas;
        self.transfer(line, data) + self.times.controller
    }

    /// Moves a line's data at or after a cycle; returns the cycle of its arrival.
    fn transfer(&mut self, line: u64, at: u64) -> u64 {
        let Some(bus) = &mut self.channels[self.layout.place(line).0].bus else {
            return self.share.transfer(at).1;
        };
        let (start, end) = bus.transfer(at);
        if self.whole { end } else { self.share.transfer(start).1.max(end) }
    }

    /// Accepts a line to write; returns the cycle in which it has been written.
    pub(super) fn write(&mut self, line: u64, at: u64) -> u64 {
        self.writes += 1;
        let data = self.column(line, at);
        self.turned += self.turning;
        while self.turned >= 1.0 {
            self.turned -= 1.0;
            self.transfer(line, data);
        }
        self.transfer(line, data)
    }
}

impl Dram {
    /// Accepts all lines that are dirty at the end of a run, with the arrival of their data; the bus moves as many as it can in
    /// the time in which it was idle, in this run or in one of which it was a part. Returns the cycle in which the others have
    /// been written.
    pub(super) fn write_back(&mut self, dirty: &BTreeMap<u64, u64>, end: u64, part: f64) -> u64 {
        let each = 1.0 + self.turning;
        let used = self.reads as f64 + self.writes as f64 * each;
        let idle = (self.share.most(end) as f64 - used).max(0.0) / part;
        let early = ((idle / each) as usize).min(dirty.len());
        self.writes += early as u64;
        let late = dirty.iter().skip(early);
        late.map(|(&line, &ready)| self.write(line, ready.max(end))).fold(end, u64::max)
    }
}

/// Returns the minimum time of a read: with an open row and an idle bus.
pub(super) fn unloaded_latency(machine: &Machine) -> u64 {
    machine.cycles(machine.dram.t_cas_ns) + machine.cycles(machine.dram.controller_ns)
}

#[cfg(test)]
mod tests;
