//! The memory that an address is read from or written to: the share of its lines that no cache holds, and what they cost.

use super::summary::Passed;
use super::{Cost, Fetches, Model, Pricing, Summary};
use egg::Symbol;

impl Model<'_> {
    /// Returns the share of an address's lines that come from DRAM; every line for a tensor without statistics.
    pub(crate) fn misses(&self, address: &Summary) -> f64 {
        let known = address.tensor.and_then(|t| self.workload.first_touch.get(&t).copied());
        known.unwrap_or(1.0) * address.share
    }

    /// Adds the cost of memory that an address is read from or written to. That of an intermediate tensor is paid for outside
    /// of the loops that both write and read it, and so is that of any tensor of a finished program.
    pub(super) fn access_memory(
        &self,
        summary: &mut Summary,
        address: &Summary,
        written: bool,
        cost: Cost,
    ) {
        let program = self.pricing == Pricing::Program;
        let passes = |tensor: &Symbol| program || self.workload.intermediate.contains(tensor);
        let Some(tensor) = address.tensor.filter(passes) else {
            summary.cost = summary.cost + cost;
            return;
        };
        let passed = Passed::new(tensor, written, !written);
        summary.pass(&match (program, written) {
            (true, true) => Passed { kept: cost, scope: address.variables(), ..passed },
            (true, false) => {
                Passed { cost, scope: address.variables(), run: self.run(address), ..passed }
            }
            (false, _) => Passed { cost, ..passed },
        });
    }

    /// Adds the cost of memory of adding to elements, each of which is read once and written back once, unless indices say
    /// which are added to.
    pub(super) fn add_in_memory(&self, summary: &mut Summary, address: &Summary) {
        let scattered = || self.workload.scattered.get(&address.tensor?).copied();
        if let Some(share) = scattered() {
            let bytes = address.written() * share;
            let read = Cost {
                execute: bytes / self.rates.line_bytes * self.rates.exposed_latency,
                dram_bytes: bytes,
                ..Cost::default()
            };
            summary.cost = summary.cost + read + self.rates.write_back(bytes);
            return;
        }
        let written = self.rates.write_back(address.written());
        if let (Pricing::Program, Some(tensor)) = (self.pricing, address.tensor) {
            let cost = Cost {
                execute: self.rates.exposed_latency,
                dram_bytes: address.written(),
                ..Cost::default()
            };
            let (kept, scope) = (written, address.variables());
            summary.pass(&Passed { cost, kept, scope, ..Passed::new(tensor, false, true) });
        }
    }

    /// Returns the share of an address' lines that the core's first cache does not hold; all of them if that is not known.
    /// Choices know it by one price of prefetches alone: what else passes that cache is known of finished programs only, so
    /// that programs by both estimates are candidates.
    pub(super) fn past_l1(&self, address: &Summary) -> f64 {
        let ignored = self.pricing == Pricing::Choice && self.fetches != Fetches::Vectors;
        let known = || self.workload.past_l1.get(&address.tensor?).copied();
        if ignored { 1.0 } else { known().unwrap_or(1.0) }
    }
}
