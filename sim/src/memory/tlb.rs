//! The translation cache, and the walks of the page table.

use super::cache::Cache;
use crate::calendar::Slots;
use ember_targets::machine::Machine;

/// The bytes of an entry of the page table (Armv8-A, x86-64).
const ENTRY_BYTES: u64 = 8;

/// The first line of the page table, behind all tensors.
const PAGE_TABLE: u64 = 1 << 50;

/// Translations as entries of a cache, whose lines are pages.
#[derive(Debug)]
pub(super) struct Tlb {
    pub(super) pages: Cache,
    walks: Slots,
    /// The binary logarithm of the lines in a page.
    shift: u32,
    entries_per_line: u64,
}

/// A walk to make.
pub(super) struct Walk {
    page: u64,
    /// The line of the page table that it reads.
    pub(super) line: u64,
    /// The cycle in which a walker is free for it.
    pub(super) start: u64,
}

impl Tlb {
    pub(super) fn new(machine: &Machine) -> Tlb {
        let (tlb, line) = (&machine.tlb, machine.dram.line_bytes);
        Tlb {
            pages: Cache::new(tlb.entries, tlb.ways),
            walks: Slots::new(tlb.walks),
            shift: (tlb.page_bytes / line).trailing_zeros(),
            entries_per_line: (line / ENTRY_BYTES).max(1),
        }
    }

    /// Returns the page of a line.
    pub(super) fn page(&self, line: u64) -> u64 {
        line >> self.shift
    }

    /// Returns the cycle in which the translation of a line is known, or the walk that must find it.
    #[inline]
    pub(super) fn translate(&mut self, line: u64, at: u64) -> Result<u64, Walk> {
        let page = self.page(line);
        match self.pages.find(page) {
            Some(entry) => Ok(self.pages.ready(entry).max(at)),
            None => Err(Walk {
                page,
                line: PAGE_TABLE + page / self.entries_per_line,
                start: at.max(self.walks.free()),
            }),
        }
    }

    /// Ends a walk at a cycle.
    pub(super) fn walked(&mut self, walk: &Walk, done: u64) {
        self.walks.hold(done);
        self.pages.insert(walk.page, done, false);
    }
}
