//! A bank of main memory in time: the rows that it has open.

use super::Times;

/// One bank. The requests of one core come nearly in the order of time; those of several do not, as each may go ahead of the
/// others and ask for what it needs much later. So a bank knows the row that is open last in time, and one that was open before
/// it: a request that comes before the last row is opened need not wait until that is closed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bank {
    last: Row,
    before: Row,
    /// The cycle from which on the next column may be used, for one core.
    free: u64,
    /// The refreshes before its last use.
    refreshes: u64,
}

/// A row that is open from a cycle on.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// `None` if no row is open.
    number: Option<u64>,
    /// The cycle in which it was activated.
    activated: u64,
}

impl Row {
    const NONE: Row = Row { number: None, activated: 0 };

    /// Returns the first cycle from one on in which another row may be activated.
    fn closed(&self, at: u64, times: &Times) -> u64 {
        match self.number {
            None => at,
            Some(_) => at.max(self.activated + times.ras) + times.rp,
        }
    }
}

impl Bank {
    /// A bank without an open row.
    pub(super) const CLOSED: Bank =
        Bank { last: Row::NONE, before: Row::NONE, free: 0, refreshes: 0 };

    /// Returns the cycle from which on a request of one core at a cycle is served.
    pub(super) fn waits(&self, at: u64) -> u64 {
        at.max(self.free)
    }

    /// Closes the open row if a refresh lies between its last use and a request, before which there were so many.
    pub(super) fn refresh(&mut self, refreshes: u64) {
        if self.refreshes < refreshes {
            (self.last.number, self.before.number) = (None, None);
            self.refreshes = refreshes;
        }
    }

    /// Returns the cycle in which a column of a row can be used for a request of one core. `activate` returns the first cycle
    /// from one on in which the channel may open a row.
    pub(super) fn column(
        &mut self,
        row: u64,
        at: u64,
        times: &Times,
        activate: impl FnOnce(u64) -> u64,
    ) -> u64 {
        // Columns of an open row follow each other at bus speed, which the share already limits.
        self.free = match self.last.number == Some(row) {
            true => at,
            false => self.open(row, self.last.closed(at, times), activate) + times.rcd,
        };
        self.free
    }

    /// [`Bank::column`] for a request of one of several cores, in any order of time.
    pub(super) fn column_of_several(
        &mut self,
        row: u64,
        at: u64,
        times: &Times,
        activate: impl FnOnce(u64) -> u64,
    ) -> u64 {
        let Bank { last, before, .. } = self;
        if last.number == Some(row) && at >= last.activated {
            return at.max(last.activated + times.rcd);
        }
        // What comes after the last row is opened closes it.
        if at >= last.activated {
            return self.open(row, self.last.closed(at, times), activate) + times.rcd;
        }
        if before.number == Some(row) && at + times.rp <= last.activated {
            return at.max(before.activated + times.rcd);
        }
        // Otherwise the bank opens the row earlier, if it is free then.
        let early = before.closed(at, times);
        if last.number == Some(row) {
            last.activated = last.activated.min(early);
            return last.activated + times.rcd;
        }
        if early + times.ras + times.rp <= last.activated {
            let activated = activate(early);
            *before = Row { number: Some(row), activated };
            return activated + times.rcd;
        }
        self.open(row, self.last.closed(at, times), activate) + times.rcd
    }

    /// Opens a row from a cycle on; returns the cycle of its activation.
    fn open(&mut self, row: u64, at: u64, activate: impl FnOnce(u64) -> u64) -> u64 {
        let activated = activate(at);
        self.before = self.last;
        self.last = Row { number: Some(row), activated };
        activated
    }
}
