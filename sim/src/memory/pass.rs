//! Accesses in no time: caches and translations change as by a load or a store, and nothing is counted or waits. Lines that
//! are replaced are gone, for they were written back in the time that passed.

use super::shared::Shared;
use super::tlb::Tlb;
use super::{Memory, cache::Cache};
use ember_targets::dlc::Hint;

/// A way to access a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// The access unit loads or prefetches.
    Load(Hint),
    /// The access unit stores.
    Store,
    /// The core reads.
    Read,
    /// The core writes.
    Write,
}

impl Memory {
    /// Accesses a line in no time.
    pub(crate) fn pass(&mut self, line: u64, way: Way, at: u64) {
        match way {
            Way::Read | Way::Write => match self.l1.find(line) {
                Some(entry) if way == Way::Write => self.l1.soil(entry),
                Some(_) => {}
                None => {
                    self.tlb.pass(line, at);
                    // A line that is written as a whole is not read.
                    let missed = way == Way::Read && self.pass_to_l2(line, at);
                    if let Some(victim) = self.l1.insert(line, at, way == Way::Write) {
                        self.pass_back_to_l2(victim, at);
                    }
                    if let Some(prefetcher) = self.prefetcher.as_mut().filter(|_| way == Way::Read)
                    {
                        for ahead in prefetcher.observe(line, missed) {
                            self.pass_to_l2(ahead, at);
                        }
                    }
                }
            },
            Way::Load(hint) => {
                self.tlb.pass(line, at);
                match hint {
                    Hint::TemporalL2 => {
                        self.pass_to_l2(line, at);
                    }
                    Hint::Temporal | Hint::NonTemporal => {
                        self.shared.borrow_mut().read_passing(line, at, hint == Hint::Temporal);
                    }
                }
            }
            Way::Store => {
                self.tlb.pass(line, at);
                self.l1.drop_line(line);
                self.l2.drop_line(line);
                self.shared.borrow_mut().write_passing(line, at);
            }
        }
    }

    /// Reads a line into the L2; returns true if it was not there.
    fn pass_to_l2(&mut self, line: u64, at: u64) -> bool {
        let missed = self.l2.find(line).is_none();
        if missed {
            self.shared.borrow_mut().read_passing(line, at, true);
            if let Some(victim) = self.l2.insert(line, at, false) {
                self.shared.borrow_mut().write_passing(victim, at);
            }
        }
        missed
    }

    fn pass_back_to_l2(&mut self, line: u64, at: u64) {
        if let Some(victim) = pass_back(&mut self.l2, line, at) {
            self.shared.borrow_mut().write_passing(victim, at);
        }
    }
}

impl Shared {
    /// Reads a line in no time.
    fn read_passing(&mut self, line: u64, at: u64, allocate: bool) {
        if self.llc.find(line).is_none() && allocate {
            self.llc.insert(line, at, false);
        }
    }

    /// Writes a line in no time.
    fn write_passing(&mut self, line: u64, at: u64) {
        pass_back(&mut self.llc, line, at);
    }
}

impl Tlb {
    /// Translates the address of a line in no time.
    fn pass(&mut self, line: u64, at: u64) {
        let page = self.page(line);
        if self.pages.find(page).is_none() {
            self.pages.insert(page, at, false);
        }
    }
}

/// Writes a line to a cache in no time; returns the line that is written back for it.
fn pass_back(cache: &mut Cache, line: u64, at: u64) -> Option<u64> {
    match cache.find(line) {
        Some(entry) => {
            cache.soil(entry);
            None
        }
        None => cache.insert(line, at, true),
    }
}
