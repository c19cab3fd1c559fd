//! What a run of a model touches, whatever program runs it: trip counts for the cost model, and
//! compulsory traffic for the physical bound.

use super::{Problem, position};
use crate::data::Instance;
use crate::model::Model;
use ember_targets::tensor::Tensor;
use serde::Serialize;

/// Bytes of a cache line.
pub const LINE: u64 = 64;

/// Counts of one instance of a model. Lines are [`LINE`] bytes, and every tensor starts at one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Statistics {
    /// Rows of the output.
    pub bags: u64,
    /// Bags without lookups.
    pub empty_bags: u64,
    /// Lookups, over all bags.
    pub lookups: u64,
    /// Lookups of the longest bag.
    pub longest_bag: u64,
    /// Lookups of a bag on average, empty ones included; 0 without bags.
    pub mean_bag: f64,
    /// Columns of the table.
    pub width: u64,
    /// Elements of the table that are read, each time counted.
    pub elements: u64,
    /// Rows of the table that are looked up.
    pub distinct_rows: u64,
    /// Lines of the table that are looked up.
    pub table_lines: u64,
    /// Lines of all inputs that are read: the table's, and all of indices, offsets and weights.
    pub input_lines: u64,
    /// Lines of the output.
    pub output_lines: u64,
}

/// Counts what a run touches. An instance of another model gives `None`.
pub fn statistics(model: &Model, instance: &Instance) -> Option<Statistics> {
    let problem = Problem::new(model, instance)?;
    let lines = |tensor: &Tensor| tensor.bytes().div_ceil(LINE);
    let mut s = Statistics { width: problem.width as u64, ..Statistics::default() };
    for (from, to) in problem.bags() {
        let length = to.saturating_sub(from);
        s.bags += 1;
        s.empty_bags += u64::from(length == 0);
        s.lookups += length;
        s.longest_bag = s.longest_bag.max(length);
    }
    s.mean_bag = s.lookups as f64 / s.bags.max(1) as f64;
    s.elements = s.lookups.saturating_mul(s.width);
    let mut rows: Vec<u64> =
        (0..problem.indices.len()).map(|l| position(problem.indices, l)).collect();
    rows.sort_unstable();
    rows.dedup();
    s.distinct_rows = rows.len() as u64;
    // Rows need not fill whole lines: those before `counted` are counted.
    let bits = s.width.saturating_mul(problem.table.dtype.bits());
    let mut counted = 0;
    for row in rows.into_iter().filter(|_| bits > 0) {
        let from = (row.saturating_mul(bits) / (8 * LINE)).max(counted);
        let to = (row + 1).saturating_mul(bits).div_ceil(8 * LINE);
        s.table_lines += to.saturating_sub(from);
        counted = to;
    }
    let streamed = [Some(problem.indices), problem.offsets, problem.weights];
    s.input_lines = s.table_lines + streamed.into_iter().flatten().map(lines).sum::<u64>();
    s.output_lines = lines(instance.tensors.get(&model.outputs().next()?.name)?);
    Some(s)
}
