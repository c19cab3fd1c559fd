//! The lines of a tensor that a model touches, and the rows of memory banks that hold them.

use ember_sim::Layout;
use std::ops::Range;

/// Lines of a tensor, counted from its beginning: disjoint ranges in order.
pub(super) struct Lines(Vec<Range<u64>>);

impl Lines {
    /// Returns the lines of a whole tensor of so many bytes.
    pub(super) fn whole(bytes: u64, line_bytes: u64) -> Lines {
        Lines(std::iter::once(0..bytes.div_ceil(line_bytes)).collect())
    }

    /// Returns the lines of rows of so many bits, in any order and with repetitions. The first row starts at the
    /// beginning of a line, and rows need not fill lines.
    pub(super) fn of_rows(mut rows: Vec<u64>, bits: u64, line_bytes: u64) -> Lines {
        let line_bits = 8 * line_bytes;
        rows.sort_unstable();
        rows.dedup();
        // Lines before `counted` have already been counted.
        let mut counted = 0;
        let ranges = rows.into_iter().map(|row| {
            let from = (row.saturating_mul(bits) / line_bits).max(counted);
            let to = (row + 1).saturating_mul(bits).div_ceil(line_bits);
            counted = counted.max(to);
            from..to
        });
        Lines(ranges.filter(|range| bits > 0 && !range.is_empty()).collect())
    }

    /// Returns the number of lines.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).fold(0, u64::saturating_add)
    }

    /// Returns the number of rows of banks that hold the lines; 0 if the layout does not say.
    pub(super) fn bank_rows(&self, layout: &Layout) -> u64 {
        let rows = self.0.iter().cloned().flatten().map_while(|line| layout.bank_row(line));
        let mut rows: Vec<u64> = rows.collect();
        rows.sort_unstable();
        rows.dedup();
        rows.len() as u64
    }
}
