//! The lines of a tensor that a model touches, and the rows of memory banks that hold them.

use ember_sim::Layout;
use std::collections::BTreeSet;
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
        let stripe = layout.stripe();
        let in_stripe: BTreeSet<u64> =
            (0..stripe).map_while(|line| layout.bank_row(line)).collect();
        let (mut whole, mut rest) = (0, Vec::new());
        for range in &self.0 {
            // Only the ends of a range share rows with other ranges.
            let from = range.start.next_multiple_of(stripe).min(range.end);
            let to = (range.end - range.end % stripe).max(from);
            whole += (to - from) / stripe * in_stripe.len() as u64;
            rest.extend((range.start..from).chain(to..range.end).map_while(|l| layout.bank_row(l)));
        }
        rest.sort_unstable();
        rest.dedup();
        whole + rest.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ember_targets::machine::Machine;

    #[test]
    fn rows_of_banks_are_counted_once_in_stripes_and_at_their_ends() {
        let layout = Layout::new(&Machine::plus().unwrap());
        let lines = [&[(0, 1000)][..], &[(3, 5), (5, 70), (100, 101), (130, 400)], &[(64, 128)]];
        for ends in lines {
            let ranges: Vec<_> = ends.iter().map(|&(from, to)| from..to).collect();
            let each: BTreeSet<_> =
                ranges.iter().cloned().flatten().map(|line| layout.bank_row(line)).collect();
            assert_eq!(Lines(ranges).bank_rows(&layout), each.len() as u64);
        }
    }
}
