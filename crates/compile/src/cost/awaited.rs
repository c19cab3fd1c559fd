//! The lines from memory for which a product of matrices waits. The matrix unit reads the second matrix by columns of
//! vectors, which lie a row apart. The prefetcher of the core does not follow long rows: the work of the unit and the time of
//! memory add up, unless the access unit has read the lines ahead.

use super::{Few, Model, Pricing, Summary};
use egg::Symbol;
use ember_sim::NEAR_LINES;

/// The share of the time of memory that adds to the work. Fitted to `product-waits` of the tests.
const ADDED: f64 = 0.85;

/// The lines that the products of a part of a program wait for, and the tensors that are read ahead there.
#[derive(Clone, Debug, Default)]
pub struct Awaited {
    /// The cycles of memory for the lines of a tensor that products read.
    cycles: Vec<(Symbol, f64)>,
    /// The tensors of which the access unit reads lines ahead.
    ahead: Few<Symbol>,
}

impl Awaited {
    /// Adds those of another part.
    pub(super) fn absorb(&mut self, other: &Awaited) {
        for (tensor, cycles) in &other.cycles {
            self.wait(*tensor, *cycles);
        }
        self.ahead.unite(&other.ahead);
    }

    fn wait(&mut self, tensor: Symbol, cycles: f64) {
        match self.cycles.iter_mut().find(|(own, _)| *own == tensor) {
            Some((_, known)) => *known += cycles,
            None => self.cycles.push((tensor, cycles)),
        }
    }
}

impl Model<'_> {
    /// Notes that a product reads so many bytes of its second matrix, whose rows have `row` bytes, from memory. Tensors that
    /// the program writes itself are likely in a cache.
    pub(super) fn await_lines(
        &self,
        product: &mut Summary,
        (bytes, of): (f64, &Summary),
        row: f64,
    ) {
        let given = of.tensor.filter(|own| !self.workload.intermediate.contains(own));
        let far = row > NEAR_LINES as f64 * self.rates.line_bytes && self.pricing != Pricing::Bound;
        if let Some(tensor) = given.filter(|_| far && bytes > 0.0) {
            let awaited = product.awaited.get_or_insert_default();
            awaited.wait(tensor, ADDED * bytes / self.rates.dram_rate);
        }
    }
}

impl Summary {
    /// Notes that the access unit reads lines of a tensor ahead.
    pub(super) fn reads_ahead(&mut self, tensor: Option<Symbol>) {
        if let Some(tensor) = tensor {
            self.awaited.get_or_insert_default().ahead.insert(tensor);
        }
    }

    /// Spares the products of a sequence the lines that it reads ahead.
    pub(super) fn spare(&mut self) {
        if let Some(Awaited { cycles, ahead }) = self.awaited.as_deref_mut() {
            cycles.retain(|(tensor, _)| !ahead.contains(tensor));
        }
    }

    /// Returns the cycles for which the execute unit waits.
    pub(super) fn awaited(&self) -> f64 {
        let cycles = self.awaited.iter().flat_map(|own| &own.cycles);
        cycles.map(|(_, cycles)| cycles).sum()
    }

    /// Repeats the products in a loop.
    pub(super) fn repeat_awaited(&mut self, trips: f64) {
        let cycles = self.awaited.iter_mut().flat_map(|own| &mut own.cycles);
        cycles.for_each(|(_, cycles)| *cycles *= trips);
    }

    /// Returns true if no more lines are awaited than by another part, and the same tensors are read ahead.
    pub(super) fn awaits_no_more(&self, other: &Summary) -> bool {
        if self.awaited.is_none() && other.awaited.is_none() {
            return true;
        }
        let none = Few::new();
        let [own, others] =
            [self, other].map(|of| of.awaited.as_deref().map_or(&none, |own| &own.ahead));
        self.awaited() <= other.awaited() && own == others
    }
}
