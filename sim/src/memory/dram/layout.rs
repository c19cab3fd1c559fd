//! The place of lines in the channels, banks and rows of main memory.

use crate::calendar::Divisor;
use crate::data::PAGE;
use ember_targets::machine::Machine;

/// The place of lines in banks. Consecutive blocks of lines map to consecutive channels, from a channel and in a bank that
/// depend on the row, so that strided accesses are spread too.
#[derive(Clone, Debug)]
pub struct Layout {
    channels: Divisor,
    banks: Divisor,
    lines_per_row: Divisor,
    /// The consecutive lines of one channel.
    interleave: Divisor,
    line_bytes: u64,
}

impl Layout {
    /// Returns the layout of a machine's main memory.
    pub fn new(machine: &Machine) -> Layout {
        let dram = &machine.dram;
        Layout {
            channels: Divisor::new(dram.channels),
            banks: Divisor::new(dram.banks),
            lines_per_row: Divisor::new(dram.row_bytes / dram.line_bytes),
            interleave: Divisor::new(dram.interleave_bytes / dram.line_bytes),
            line_bytes: dram.line_bytes,
        }
    }

    /// Returns the position of a line's block among those of all channels, and its row in each of their banks.
    #[inline]
    fn block(&self, line: u64) -> (u64, u64) {
        let (block, within) = self.interleave.split(line);
        let (round, position) = self.channels.split(block);
        (position, self.lines_per_row.of(round * self.interleave.value + within))
    }

    /// Returns the channel of a line, its bank among all banks, and its row there.
    #[inline]
    pub(super) fn place(&self, line: u64) -> (usize, usize, u64) {
        let (position, row) = self.block(line);
        let mixed = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let (above, bank) = self.banks.split(mixed);
        let (_, channel) = self.channels.split(position + above);
        (channel as usize, (channel * self.banks.value + bank) as usize, row)
    }

    /// Returns a number for the row of a bank that holds a line of a tensor: lines have equal numbers if and only if one
    /// activation serves them. Lines are counted from the beginning of the tensor. `None` if the tensor may begin within
    /// the rows of the banks.
    pub fn bank_row(&self, line: u64) -> Option<u64> {
        let (position, row) = self.block(line);
        PAGE.is_multiple_of(self.stripe() * self.line_bytes)
            .then(|| row * self.channels.value + position)
    }

    /// Returns the lines of a stripe: whole rows of one bank of each channel.
    pub fn stripe(&self) -> u64 {
        self.channels.value * self.lines_per_row.value.max(self.interleave.value)
    }
}
