//! Shared resources over time: calendars record their use, for requests that may arrive out of time order; slots are held
//! for as long as a request is in flight.

use std::ops::Range;

/// The binary logarithm of the number of slots that a calendar remembers. A request further in the past finds its slot
/// taken and gets a later one, so that a resource never exceeds its capacity.
const WINDOW: u32 = 10;

/// The number of low bits of an entry that count its uses.
const USES: u32 = 8;

/// Slots of equal length; each admits `capacity` uses.
#[derive(Debug)]
pub(crate) struct Calendar {
    /// For each slot modulo the window, the uses of the latest slot there in the low bits, and above them the low bits of
    /// its number divided by the window. They go around: half of them count as later than a slot's, so that a place that
    /// was used 2^33 slots ago is full. Entries are small so that all calendars together fit the host's first-level cache.
    slots: Box<[u32; 1 << WINDOW]>,
    capacity: u32,
    /// A range of slots known to be full, so that a backlog is skipped at once.
    full: Range<u64>,
}

impl Calendar {
    /// Builds a calendar of empty slots; `capacity` is at least 1, and at most the greatest count of uses.
    pub(crate) fn new(capacity: u64) -> Calendar {
        let capacity = capacity.clamp(1, (1 << USES) - 1) as u32;
        Calendar { slots: Box::new([0; 1 << WINDOW]), capacity, full: 0..0 }
    }

    /// Takes one use of the first slot at or after `at` that has room, and returns the slot.
    #[inline]
    pub(crate) fn take(&mut self, at: u64) -> u64 {
        let mut slot = at;
        loop {
            if self.full.contains(&slot) {
                slot = self.full.end;
            }
            let entry = &mut self.slots[slot as usize % (1 << WINDOW)];
            let unused = ((slot >> WINDOW) as u32) << USES;
            // Entries of earlier slots are below, those of later ones so far above that they count as full.
            let uses = entry.wrapping_sub(unused).cast_signed().max(0).cast_unsigned();
            if uses < self.capacity {
                *entry = unused.wrapping_add(uses + 1);
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

/// A number to divide by. The host shifts faster than it divides, and most divisors are powers of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    pub(crate) value: u64,
    /// The binary logarithm of a power of two.
    shift: Option<u32>,
}

impl Divisor {
    /// Builds a divisor of a number, at least 1.
    pub(crate) fn new(value: u64) -> Divisor {
        let value = value.max(1);
        Divisor { value, shift: value.is_power_of_two().then(|| value.trailing_zeros()) }
    }

    /// Returns the quotient of a number.
    #[inline(always)]
    pub(crate) fn of(self, number: u64) -> u64 {
        match self.shift {
            Some(shift) => number >> shift,
            None => number / self.value,
        }
    }

    /// Returns the quotient and the remainder of a number.
    #[inline(always)]
    pub(crate) fn split(self, number: u64) -> (u64, u64) {
        let quotient = self.of(number);
        (quotient, number - quotient * self.value)
    }
}

/// A transfer path that moves one line in a time that may be a fraction of a cycle.
#[derive(Debug)]
pub(crate) struct Pipe {
    calendar: Calendar,
    /// The length of a slot in 1/1024 cycle.
    ticks: Divisor,
}

impl Pipe {
    /// Builds a path of the given bandwidth, in bytes per cycle. The slot length is rounded up, never down.
    pub(crate) fn new(line_bytes: u64, bytes_per_cycle: f64) -> Pipe {
        let ticks = (line_bytes as f64 * 1024.0 / bytes_per_cycle).ceil() as u64;
        Pipe { calendar: Calendar::new(1), ticks: Divisor::new(ticks) }
    }

    /// Returns the number of lines that it moves by a cycle if it never rests.
    pub(crate) fn most(&self, by: u64) -> u64 {
        self.ticks.of(by << 10)
    }

    /// Moves a line at or after `at`; returns the cycles of its start and its arrival.
    #[inline]
    pub(crate) fn transfer(&mut self, at: u64) -> (u64, u64) {
        let slot = self.calendar.take(self.ticks.of((at << 10) + self.ticks.value - 1));
        let start = slot * self.ticks.value;
        (start >> 10, (start + self.ticks.value).div_ceil(1024))
    }
}

/// The slots for requests in flight.
#[derive(Debug)]
pub(crate) struct Slots {
    /// The cycles in which the slots are free, a ring in ascending order.
    free: Box<[u64]>,
    /// The position of the slot that is free first.
    first: usize,
}

impl Slots {
    /// Builds slots that are free from the start.
    pub(crate) fn new(slots: u64) -> Slots {
        Slots { free: vec![0; slots as usize].into_boxed_slice(), first: 0 }
    }

    /// Returns the cycle in which a slot is free.
    #[inline]
    pub(crate) fn free(&self) -> u64 {
        self.free.get(self.first).copied().unwrap_or(0)
    }

    /// Holds the slot that is free first until a cycle.
    #[inline]
    pub(crate) fn hold(&mut self, until: u64) {
        let Some(last) = self.free.len().checked_sub(1) else { return };
        // Most requests end after those before them, so their place is found from the end of the ring.
        let mut place = self.first;
        self.first = if place == last { 0 } else { place + 1 };
        while place != self.first {
            let before = if place == 0 { last } else { place - 1 };
            if self.free[before] <= until {
                break;
            }
            self.free[place] = self.free[before];
            place = before;
        }
        self.free[place] = until;
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
        assert_eq!(c.take(10 + (1 << WINDOW)), 10 + (1 << WINDOW));
        assert_eq!(c.take(10), 11);
    }

    #[test]
    fn the_slot_that_is_free_first_is_held_next() {
        let mut slots = Slots::new(3);
        let free = [5, 9, 7, 3, 12, 4, 6, 8].map(|until| {
            slots.hold(until);
            slots.free()
        });
        assert_eq!(free, [0, 0, 5, 3, 7, 4, 6, 8]);
        let mut none = Slots::new(0);
        none.hold(1);
        assert_eq!(none.free(), 0);
    }

    #[test]
    fn numbers_of_slots_go_around() {
        let mut c = Calendar::new(2);
        let mut slot = 7;
        for _ in 0..40 {
            assert_eq!([c.take(slot), c.take(slot), c.take(slot)], [slot, slot, slot + 1]);
            slot += 1 << 30;
        }
    }

    #[test]
    fn quotients_of_all_divisors_are_those_of_numbers() {
        for by in 1..70 {
            for number in [0, 1, by - 1, by, 7 * by + by / 2, u64::MAX / 4] {
                let divisor = Divisor::new(by);
                assert_eq!(divisor.split(number), (number / by, number % by));
            }
        }
    }

    #[test]
    fn a_pipe_sustains_its_bandwidth_and_no_more() {
        let mut pipe = Pipe::new(64, 7.8125);
        let last = (0..1000).map(|_| pipe.transfer(0).1).max().unwrap();
        assert!((8192..8194).contains(&last), "{last}");
    }
}
