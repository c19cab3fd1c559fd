//! Shared resources over time: calendars record their use, for requests that may arrive out of time order; slots are held
//! for as long as a request is in flight.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// The number of slots that a calendar remembers. A request further in the past finds its slot taken and gets a later
/// one, so that a resource never exceeds its capacity.
const WINDOW: usize = 1024;

/// The number of low bits of an entry that count its uses.
const USES: u32 = 16;

/// Slots of equal length; each admits `capacity` uses.
#[derive(Debug)]
pub(crate) struct Calendar {
    /// For each slot modulo the window, the number of the latest slot there, and in the low bits its uses.
    slots: Box<[u64; WINDOW]>,
    capacity: u64,
    /// A range of slots known to be full, so that a backlog is skipped at once.
    full: Range<u64>,
}

impl Calendar {
    /// Builds a calendar of empty slots; `capacity` is at least 1, and at most the greatest count of uses.
    pub(crate) fn new(capacity: u64) -> Calendar {
        let capacity = capacity.clamp(1, (1 << USES) - 1);
        Calendar { slots: Box::new([0; WINDOW]), capacity, full: 0..0 }
    }

    /// Takes one use of the first slot at or after `at` that has room, and returns the slot.
    #[inline]
    pub(crate) fn take(&mut self, at: u64) -> u64 {
        let mut slot = at;
        loop {
            if self.full.contains(&slot) {
                slot = self.full.end;
            }
            let entry = &mut self.slots[slot as usize % WINDOW];
            let unused = slot << USES;
            // A later slot in this place has so many uses that it counts as full.
            let uses = (*entry).max(unused) - unused;
            if uses < self.capacity {
                *entry = unused + uses + 1;
                if uses + 1 == self.capacity {
                    self.fill(slot);
                }
                return slot;
            }
            slot += 1;
        }
    }

    /// Notes that a slot is full.
    #[inline]
    fn fill(&mut self, slot: u64) {
        if slot == self.full.end {
            self.full.end += 1;
        } else if slot > self.full.end {
            self.full = slot..slot + 1;
        }
    }
}

/// A transfer path that moves one line in a time that may be a fraction of a cycle.
#[derive(Debug)]
pub(crate) struct Pipe {
    calendar: Calendar,
    /// The length of a slot in 1/1024 cycle.
    ticks: u64,
}

impl Pipe {
    /// Builds a path of the given bandwidth, in bytes per cycle. The slot length is rounded up, never down.
    pub(crate) fn new(line_bytes: u64, bytes_per_cycle: f64) -> Pipe {
        let ticks = (line_bytes as f64 * 1024.0 / bytes_per_cycle).ceil() as u64;
        Pipe { calendar: Calendar::new(1), ticks: ticks.max(1) }
    }

    /// Moves a line at or after `at`; returns the cycles of its start and its arrival.
    #[inline]
    pub(crate) fn transfer(&mut self, at: u64) -> (u64, u64) {
        let slot = self.calendar.take((at << 10).div_ceil(self.ticks));
        let start = slot * self.ticks;
        (start >> 10, (start + self.ticks).div_ceil(1024))
    }
}

/// The slots for requests in flight.
#[derive(Debug)]
pub(crate) struct Slots {
    /// The cycle in which each slot is free.
    free: BinaryHeap<Reverse<u64>>,
}

impl Slots {
    /// Builds slots that are free from the start.
    pub(crate) fn new(slots: u64) -> Slots {
        Slots { free: (0..slots).map(|_| Reverse(0)).collect() }
    }

    /// Returns the cycle in which a slot is free.
    #[inline]
    pub(crate) fn free(&self) -> u64 {
        self.free.peek().map_or(0, |first| first.0)
    }

    /// Holds the slot that is free first until a cycle.
    #[inline]
    pub(crate) fn hold(&mut self, until: u64) {
        if let Some(mut first) = self.free.peek_mut() {
            first.0 = until;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_admits_its_capacity_and_gaps_are_used() {
        let mut c = Calendar::new(2);
        assert_eq!([c.take(5), c.take(5), c.take(5), c.take(5), c.take(5)], [5, 5, 6, 6, 7]);
        assert_eq!([c.take(3), c.take(3), c.take(3), c.take(3), c.take(3)], [3, 3, 4, 4, 7]);
    }

    #[test]
    fn a_forgotten_past_is_taken_not_given_twice() {
        let mut c = Calendar::new(1);
        assert_eq!(c.take(10), 10);
        assert_eq!(c.take(10 + WINDOW as u64), 10 + WINDOW as u64);
        assert_eq!(c.take(10), 11);
    }

    #[test]
    fn a_pipe_sustains_its_bandwidth_and_no_more() {
        let mut pipe = Pipe::new(64, 7.8125);
        let last = (0..1000).map(|_| pipe.transfer(0).1).max().unwrap();
        assert!((8192..8194).contains(&last), "{last}");
    }
}
