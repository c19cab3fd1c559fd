//! What a model asks of a machine whichever program computes it: the input of the physical bound.

use crate::data::Instance;
use crate::model::{Model, Op};
use crate::reference;
use ember_sim::Demand;
use ember_targets::machine::Machine;

/// What every program for a model must do on an instance, and the table elements that it reads.
pub fn demand(model: &Model, instance: &Instance, machine: &Machine) -> (Demand, u64) {
    let counted = reference::statistics(model, instance).unwrap_or_default();
    let element = model.outputs().next().map_or(0, |out| out.dtype.bytes_of(1));
    let registers = |elements: u64| (elements * element).div_ceil(machine.core.simd_bytes);
    let row = registers(counted.width);
    let rows = counted.lookups.saturating_mul(row);
    // A gather copies and may be stored by the access unit; a bag adds each row but the first, and
    // every row reaches the execute unit through the queue.
    let adds = model.expressions().any(|expr| matches!(expr.op, Op::Bag { .. }));
    let share = |n: u64| if adds { n } else { 0 };
    let demand = Demand {
        // Without rows nothing is read, not even the offset that says so.
        lines: if counted.bags == 0 { 0 } else { counted.input_lines },
        lane_bytes: counted.elements.saturating_mul(element),
        queue_bytes: share(counted.elements.saturating_mul(element)),
        vector_ops: share(rows.saturating_sub(counted.bags.saturating_mul(row))),
        loads: share(rows),
        stores: share(counted.bags.saturating_sub(counted.empty_bags).saturating_mul(row)),
        // Leaving products of matrices out lowers the bound, which still holds.
        macs: 0,
    };
    (demand, counted.elements)
}
