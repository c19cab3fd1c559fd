//! The demand of a model on a machine, for any program that computes it: the input of the physical bound.
//!
//! The counts are lower bounds for every program that computes each operator of the model as it is written:
//!
//! - **Lines.** Caches are cold, so each needed line of an input comes from memory once: the looked-up rows of tables,
//!   and all of the indices, offsets, weights and dense operands. Each row of a memory bank that holds such a line is
//!   activated at least once. The lines of outputs go to memory once. Temporaries count nothing, because they may stay
//!   in caches.
//! - **Lanes and rows.** Only the data determines which row a lookup needs, so a program cannot keep rows for later
//!   lookups. Each lookup brings its row either through the lanes of the access unit and its write port (into the data
//!   queue if the row is computed with, into memory if it is copied), or through the core's L2, from which the core
//!   loads it. The rates of the two ways add up. A copy does not need the execute unit. If the touched lines of a
//!   tensor fit the core's L2, neither way is counted.
//! - **Vector operations.** Each operation of the formula counts once for every register of its result; adding `n` rows
//!   takes `n - 1` additions. Values that fit in registers count no loads or stores.
//! - **Loads and stores.** Each looked-up row and each dense operand is loaded or popped by registers. Outputs are
//!   stored by registers, except for the rows of empty bags, which are already zero. Temporaries need not be stored.
//! - **Once.** What the rules that lower a model prove unnecessary counts nothing ([`Spared`]). Equal expressions of a
//!   statement count once, and so do equal streams of rows in the whole model. A function of a table's rows counts for
//!   each lookup or for each row of the table, whichever are fewer.
//! - **Multiply-adds** of matrices, without the share that the vector ports could do in parallel with the matrix unit.

mod lines;
mod operations;
mod spared;
mod sparse;

use ember_model::data::Instance;
use ember_model::{Applied, Expr, Kind, Model, Op, Statement, TensorId};
use ember_sim::{Demand, Layout};
use ember_targets::machine::Machine;
use ember_targets::tensor::Tensor;
use ember_values::operation::{Function, Kernel, Mode, Operand, Reads, Role, Score};
use ember_values::scalar::DType;
use lines::Lines;
use operations::{function, operations};
pub use spared::Spared;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the demand of every program for a model on an instance, and the number of table elements that it looks up.
/// If nothing is looked up, the second number is the elements of its inputs.
pub fn demand(
    model: &Model,
    instance: &Instance,
    machine: &Machine,
    spared: &Spared,
) -> (Demand, u64) {
    let mut counter = Counter {
        model,
        instance,
        machine,
        demand: Demand::default(),
        spared,
        statement: 0,
        counted: BTreeMap::new(),
        streams: BTreeSet::new(),
        rows: BTreeMap::new(),
        touched: BTreeMap::new(),
        elements: 0,
    };
    for (at, statement) in model.statements.iter().enumerate() {
        (counter.statement, counter.counted) = (at, BTreeMap::new());
        // An instance of another model has no demand.
        let _ = counter.statement(statement);
    }
    counter.finish()
}

/// The accesses to a tensor.
#[derive(Default)]
struct Touched {
    /// True if the whole tensor is read.
    whole: bool,
    /// The looked-up rows, with repetitions.
    rows: Vec<u64>,
    /// The bits of a row.
    row_bits: u64,
    /// The bits that pass the lanes, and the bits that are handed on, unless the core keeps the rows.
    lanes: u64,
    rows_bits: u64,
}

/// The use of looked-up rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// The rows are read once each, in order, so the core may load them itself.
    InOrder,
    /// The rows are stored again unchanged.
    Copied,
    /// The rows are operands of computation.
    Computed,
}

struct Counter<'a> {
    model: &'a Model,
    instance: &'a Instance,
    machine: &'a Machine,
    demand: Demand,
    spared: &'a Spared,
    /// The position of the statement that is counted.
    statement: usize,
    /// The expressions of the statement that have been counted, by their keys, with the elements outside empty bags.
    counted: BTreeMap<(String, bool), Option<u64>>,
    /// The streams of rows and of what is made of them that have been counted: one program may use each several times,
    /// in one statement or in several.
    streams: BTreeSet<String>,
    /// The operations on the looked-up rows of computed tables, by the keys of the tables.
    rows: BTreeMap<String, Computed>,
    touched: BTreeMap<TensorId, Touched>,
    elements: u64,
}

/// The rows of a table that is computed from others. A program computes them for each lookup, or all of them once.
#[derive(Default)]
struct Computed {
    /// The lookups.
    lookups: u64,
    /// The rows of the whole table.
    rows: u64,
    /// The vector operations for one row.
    operations: u64,
}

impl Counter<'_> {
    fn tensor(&self, id: TensorId) -> Option<&Tensor> {
        self.instance.tensors.get(&self.model.tensor(id).name)
    }

    fn positions(&self, id: TensorId) -> Option<Vec<u64>> {
        let tensor = self.tensor(id)?;
        let position = |i| tensor.get(i)?.as_i64().and_then(|x| u64::try_from(x).ok());
        (0..tensor.len()).map(position).collect()
    }

    /// Returns the number of elements of an expression.
    fn len(&self, expr: &Expr) -> u64 {
        let extents = expr.shape.iter().map(|e| e.value(&self.instance.sizes).unwrap_or(0));
        extents.fold(1, u64::saturating_mul)
    }

    /// Returns the number of elements in one row of a table.
    fn width(&self, table: &Expr) -> u64 {
        let extents = table.shape[1..].iter().map(|e| e.value(&self.instance.sizes).unwrap_or(0));
        extents.fold(1, u64::saturating_mul)
    }

    /// Returns the number of vector registers for some elements.
    fn registers(&self, dtype: DType, elements: u64) -> u64 {
        dtype.bytes_of(elements).div_ceil(self.machine.core.simd_bytes)
    }

    fn operate(&mut self, operations: u64) {
        self.demand.vector_ops = self.demand.vector_ops.saturating_add(operations);
    }

    fn load(&mut self, registers: u64) {
        self.demand.loads = self.demand.loads.saturating_add(registers);
    }

    /// Records that a whole tensor is read.
    fn whole(&mut self, id: TensorId) {
        self.touched.entry(id).or_default().whole = true;
    }

    fn statement(&mut self, statement: &Statement) -> Option<()> {
        let value = &statement.value;
        if self.len(value) == 0 {
            return Some(());
        }
        let copies = value.walk().all(copies);
        let filled = self.expression(value, !copies)?;
        let kind = self.model.computed[statement.target.0 - self.model.inputs.len()].kind;
        if kind == Kind::Output {
            let demand = &mut self.demand;
            let lines =
                filled.saturating_mul(value.dtype.bits()) / (8 * self.machine.dram.line_bytes);
            demand.written_lines = demand.written_lines.saturating_add(lines);
            if !copies {
                let stores = self.registers(value.dtype, filled);
                self.demand.stores = self.demand.stores.saturating_add(stores);
            }
        }
        Some(())
    }

    /// Counts an expression whose elements are all needed once, and returns the number of elements outside empty bags.
    /// A statement computes equal expressions once.
    fn expression(&mut self, expr: &Expr, computed: bool) -> Option<u64> {
        let key = (expr.key(), computed);
        if let Some(filled) = self.counted.get(&key) {
            return *filled;
        }
        let filled = if self.spared.contains(self.statement, &key.0) {
            self.operands(expr, computed, self.len(expr))
        } else {
            self.computed(expr, computed)
        };
        self.counted.insert(key, filled);
        filled
    }

    /// Counts the operands of an expression of which all elements are read, and returns the number of elements outside
    /// empty bags, at most `filled`. Rules alone say which elements an operation of a rule file reads.
    fn operands(&mut self, expr: &Expr, computed: bool, mut filled: u64) -> Option<u64> {
        let len = self.len(expr);
        let tensors = expr.applied().into_iter().flat_map(Applied::tensors);
        let is_read = |operand: &Operand| match operand.role {
            Role::Tensor(_, reads) => !matches!(reads, Reads::Often | Reads::Rows),
            _ => false,
        };
        // A slice reads a part of its operand, which is not counted.
        let is_known = !matches!(expr.kernel(), Some(Kernel::Lowered | Kernel::Slice));
        for (_, operand) in tensors.filter(|(operand, _)| is_known && is_read(operand)) {
            let operand_filled = self.expression(operand, computed)?;
            if self.len(operand) == len {
                filled = filled.min(operand_filled);
            }
        }
        Some(filled)
    }

    /// Counts an expression that has to be computed or loaded, and its operands.
    fn computed(&mut self, expr: &Expr, computed: bool) -> Option<u64> {
        let len = self.len(expr);
        let Op::Apply(call) = &expr.op else {
            self.whole(expr.stored()?);
            if computed {
                self.load(self.registers(expr.dtype, len));
            }
            return Some(len);
        };
        match call.kernel() {
            Kernel::Lowered => return Some(len),
            Kernel::Rows if call.mode().is_some() => return self.bags(call),
            Kernel::Rows | Kernel::Blocks => {
                let usage = if computed { Use::Computed } else { Use::Copied };
                self.looked_up(call, "table", "indices", usage)?;
                return Some(len);
            }
            Kernel::Edges => {
                let Some(edge) = call.word("edge", Function::ALL) else {
                    // Each element takes a product and a sum, except that the first sum of an edge is free.
                    self.edges(call, 2)?;
                    return Some(len);
                };
                let edges = self.tensor(call.stored("indices")?)?.len();
                let each = self.registers(expr.dtype, edges);
                self.operate(each.saturating_mul(function(edge, self.machine)));
                let rows = self.edges(call, 4)?;
                return Some(rows.saturating_mul(self.width(call.value("right")?)));
            }
            Kernel::Columns => self.columns(call)?,
            Kernel::Triples => {
                for (table, indices) in
                    [("entities", "heads"), ("relations", "rels"), ("entities", "tails")]
                {
                    self.looked_up(call, table, indices, Use::Computed)?;
                }
                let (parts, operations) = match call.word("score", Score::ALL)? {
                    Score::TransE => (1, 5),
                    Score::DistMult => (1, 3),
                    Score::ComplEx => (2, 10),
                    Score::RotatE => (2, 13),
                };
                let elements = len.saturating_mul(self.width(call.value("entities")?)) / parts;
                let each = self.registers(expr.dtype, elements);
                self.operate(each.saturating_mul(operations).saturating_sub(len));
                return Some(len);
            }
            Kernel::Dequantise => {
                self.loaded(call.stored("codes")?)?;
                self.loaded(call.stored("scales")?)?;
            }
            Kernel::Bias => self.whole(call.stored("bias")?),
            Kernel::ByColumn => self.whole(call.stored("numbers")?),
            Kernel::Segments(_) => {
                self.whole(call.stored("offsets")?);
                self.loaded(call.stored("values")?)?;
            }
            Kernel::Spread => {
                self.whole(call.stored("offsets")?);
                self.whole(call.stored("numbers")?);
                self.loaded(call.stored("values")?)?;
            }
            Kernel::Scatter(_) => self.whole(call.stored("indices")?),
            Kernel::Product { .. } => {
                self.loaded(call.stored("a")?)?;
                match call.stored("b") {
                    Some(b) => self.loaded(b)?,
                    None => self.expression(call.value("b")?, true).map(|_| ())?,
                }
                self.multiply(expr.dtype, self.model.work(expr, &self.instance.sizes));
            }
            _ => {}
        }
        let each = operations(expr, self.machine);
        self.operate(each.saturating_mul(self.registers(expr.dtype, len)));
        if let Kernel::Fold(_) | Kernel::Mean = call.kernel() {
            let x = call.value("x")?;
            let folded = self.registers(x.dtype, self.len(x));
            self.operate(folded.saturating_sub(len));
        }
        self.operands(expr, computed, len)
    }

    /// Counts lookups into a table by a tensor of positions.
    fn lookups(&mut self, table: &Expr, by: TensorId, rows: &[u64], usage: Use) -> Option<()> {
        let n = rows.len() as u64;
        if usage != Use::InOrder {
            self.elements = self.elements.saturating_add(n.saturating_mul(self.width(table)));
        }
        for part in table.walk() {
            let key = part.key();
            if self.spared.contains(self.statement, &key) {
                continue;
            }
            let operations = operations(part, self.machine)
                .saturating_mul(self.registers(part.dtype, self.width(part)));
            if self.is_new(format!("{key} at {by:?}")) {
                let extent = part.shape.first().and_then(|n| n.value(&self.instance.sizes));
                let computed = self.rows.entry(key).or_default();
                computed.lookups = computed.lookups.saturating_add(n);
                (computed.rows, computed.operations) = (extent.unwrap_or(0), operations);
            }
            let Op::Apply(call) = &part.op else {
                self.rows(part.stored()?, by, rows, usage)?;
                continue;
            };
            match call.kernel() {
                Kernel::Dequantise => {
                    self.rows(call.stored("codes")?, by, rows, usage)?;
                    self.rows(call.stored("scales")?, by, rows, usage)?;
                }
                Kernel::Bias => self.whole(call.stored("bias")?),
                Kernel::ByColumn => self.whole(call.stored("numbers")?),
                _ => {}
            }
        }
        Some(())
    }

    /// Returns true for a stream that has not been counted, and counts it.
    fn is_new(&mut self, stream: String) -> bool {
        self.streams.insert(stream)
    }

    /// Counts lookups into a table at indices, and the reads of all the indices.
    fn looked_up(&mut self, call: &Applied, table: &str, indices: &str, usage: Use) -> Option<()> {
        let indices = call.stored(indices)?;
        self.whole(indices);
        let rows = self.positions(indices)?;
        self.lookups(call.value(table)?, indices, &rows, usage)
    }

    /// Counts a stored operand that is loaded completely.
    fn loaded(&mut self, id: TensorId) -> Option<()> {
        self.whole(id);
        let tensor = self.tensor(id)?;
        let registers = self.registers(tensor.dtype, tensor.len());
        self.load(registers);
        Some(())
    }

    /// Counts lookups of rows of one tensor by a tensor of positions.
    fn rows(&mut self, id: TensorId, by: TensorId, rows: &[u64], usage: Use) -> Option<()> {
        let tensor = self.tensor(id)?;
        let width = tensor.shape[1..].iter().fold(1u64, |n, extent| n.saturating_mul(*extent));
        let (bits, registers) =
            (width.saturating_mul(tensor.dtype.bits()), self.registers(tensor.dtype, width));
        let n = rows.len() as u64;
        if usage != Use::Copied && self.is_new(format!("{id:?} loaded by {by:?}")) {
            self.load(n.saturating_mul(registers));
        }
        let is_moved = usage != Use::InOrder && self.is_new(format!("{id:?} moved by {by:?}"));
        let touched = self.touched.entry(id).or_default();
        touched.row_bits = bits;
        touched.rows.extend(rows);
        if is_moved {
            let moved = n.saturating_mul(bits);
            touched.lanes = touched.lanes.saturating_add(moved);
            touched.rows_bits = touched.rows_bits.saturating_add(moved);
        }
        Some(())
    }

    /// Counts bags, and returns the number of elements of non-empty bags. The mean takes one more operation per bag.
    fn bags(&mut self, call: &Applied) -> Option<u64> {
        let (indices, offsets) = (call.stored("indices")?, call.stored("offsets")?);
        let (table, weights) = (call.value("table")?, call.stored("weights"));
        self.whole(indices);
        self.whole(offsets);
        let (rows, ends) = (self.positions(indices)?, self.positions(offsets)?);
        let filled = ends.windows(2).filter(|ends| ends[0] < ends[1]).count() as u64;
        let row = self.registers(table.dtype, self.width(table));
        // A mean is made of the sum of the same bag.
        let (folded, divisions) = match call.mode() {
            Some(Mode::Mean) => (Some(Mode::Sum), filled),
            mode => (mode, 0),
        };
        let stream = format!("{} at {indices:?} by {weights:?}", table.key());
        let mut operations = divisions;
        if self.is_new(format!("{folded:?} of {stream} in {offsets:?}")) {
            operations += (rows.len() as u64).saturating_sub(filled);
        }
        if let Some(weights) = weights {
            self.whole(weights);
            if self.is_new(stream) {
                operations += rows.len() as u64;
            }
        }
        self.operate(operations.saturating_mul(row));
        self.lookups(table, indices, &rows, Use::Computed)?;
        Some(filled.saturating_mul(self.width(table)))
    }

    /// Counts multiply-adds; one of binary64 counts as four of binary32.
    fn multiply(&mut self, dtype: DType, macs: u64) {
        let lanes = (self.machine.core.simd_bytes / 4) as f64;
        let products = self.machine.matrix.products_per_cycle as f64 * lanes * lanes;
        // The vector ports take two operations per multiply-add, and have half the lanes for binary64.
        let beside = self.machine.core.vector_ports as f64 * lanes / 2.0;
        let weight = if dtype == DType::F64 { 4.0 } else { 1.0 };
        let beside = if dtype == DType::F64 { 2.0 * beside } else { beside };
        let macs = macs as f64 * weight * products / (products + beside);
        self.demand.macs = self.demand.macs.saturating_add(macs as u64);
    }

    fn finish(mut self) -> (Demand, u64) {
        let (line_bytes, layout) = (self.machine.dram.line_bytes, Layout::new(self.machine));
        for Computed { lookups, rows, operations } in std::mem::take(&mut self.rows).into_values() {
            self.operate(operations.saturating_mul(lookups.min(rows)));
        }
        for (id, touched) in std::mem::take(&mut self.touched) {
            let Some(tensor) = self.tensor(id) else { continue };
            let lines = match touched.whole {
                true => Lines::whole(tensor.bytes(), line_bytes),
                false => Lines::of_rows(touched.rows, touched.row_bits, line_bytes),
            };
            if self.model.is_input(id) {
                let demand = &mut self.demand;
                demand.lines = demand.lines.saturating_add(lines.count());
                demand.bank_rows = demand.bank_rows.saturating_add(lines.bank_rows(&layout));
            }
            if lines.count().saturating_mul(line_bytes) > self.machine.l2.bytes {
                let demand = &mut self.demand;
                demand.lane_bytes = demand.lane_bytes.saturating_add(touched.lanes / 8);
                demand.row_bytes = demand.row_bytes.saturating_add(touched.rows_bits / 8);
            }
        }
        if self.elements == 0 {
            let inputs = (0..self.model.inputs.len()).filter_map(|i| self.tensor(TensorId(i)));
            self.elements = inputs.map(Tensor::len).fold(0, u64::saturating_add);
        }
        (self.demand, self.elements)
    }
}

/// Returns true if an expression only copies elements.
fn copies(expr: &Expr) -> bool {
    match expr.applied() {
        None => true,
        Some(call) => match call.kernel() {
            Kernel::Rows => call.mode().is_none(),
            kernel => kernel.moves(),
        },
    }
}

#[cfg(test)]
mod tests;
