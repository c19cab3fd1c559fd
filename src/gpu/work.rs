//! The kernels that a GPU runs for a model, with the bytes that each of them moves and the multiply-adds that it does.
//!
//! The counts follow from the statements and the data alone:
//!
//! - A statement is one kernel. Statements that write parts of one tensor are one kernel together, and so are
//!   neighbouring statements that neither look up rows nor multiply matrices. What a kernel writes and only itself
//!   reads stays in registers. What a product reads from scratch memory of its own, another kernel writes there before.
//! - A tensor that is read or written as a whole moves once for each kernel. A temporary and an input that was read
//!   before are in the last-level cache if they fit; everything else comes from memory.
//! - Rows are looked up in sectors. The rows that are read most often, as many as fit the last-level cache, come from
//!   memory once; all others at every lookup.

use ember_model::data::Instance;
use ember_model::{Applied, Expr, Kind, Model, Op, Statement, TensorId};
use ember_targets::machine::gpu::Gpu;
use ember_values::operation::{Kernel, Operand, Reads, Role};
use itertools::Itertools;
use std::collections::{BTreeMap, BTreeSet};

/// The bytes that a warp loads at a time: four for each of its threads.
const WARP_BYTES: u64 = 128;

/// One kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Launch {
    /// Bytes read from and written to memory.
    pub memory: f64,
    /// Bytes that the last-level cache serves.
    pub cached: f64,
    /// Loads of a row of a bag, or of a part of the row, by a warp.
    pub loads: f64,
    /// The rows of the longest bag.
    pub longest: f64,
    /// Multiply-adds of products of matrices.
    pub products: f64,
}

/// Returns the kernels of a model on its data, in order.
pub(super) fn launches(model: &Model, instance: &Instance, gpu: &Gpu) -> Vec<Launch> {
    let groups = groups(model);
    let mut read_by: BTreeMap<TensorId, BTreeSet<usize>> = BTreeMap::new();
    for (at, group) in groups.iter().enumerate() {
        for id in group.iter().flat_map(|statement| statement.value.walk()).flat_map(Expr::tensors)
        {
            read_by.entry(id).or_default().insert(at);
        }
    }
    let mut seen = BTreeSet::new();
    let mut launches = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let mut read = |of: &[&Expr]| {
            let mut counter = Counter {
                model,
                instance,
                gpu,
                launch: Launch::default(),
                whole: BTreeSet::new(),
                counts: Vec::new(),
            };
            of.iter().for_each(|expr| counter.expression(expr));
            let written: BTreeSet<TensorId> = group.iter().map(|s| s.target).collect();
            for id in std::mem::take(&mut counter.whole) {
                if !written.contains(&id) {
                    let again = !model.is_input(id) || !seen.insert(id);
                    counter.moved(counter.bytes(id), again);
                }
            }
            counter
        };
        let values: Vec<&Expr> = group.iter().map(|statement| &statement.value).collect();
        for before in values.iter().filter_map(|value| value.applied()).flat_map(in_scratch) {
            let mut counter = read(&[before]);
            counter.moved(before.dtype.bytes_of(counter.len(before)) as f64, true);
            launches.push(counter.finish());
        }
        let mut counter = read(&values);
        for statement in group {
            let id = statement.target;
            let readers = read_by.get(&id);
            let is_output = model.computed[id.0 - model.inputs.len()].kind == Kind::Output;
            if is_output || readers.is_some_and(|readers| readers.iter().any(|r| *r != at)) {
                let value = &statement.value;
                counter.moved(value.dtype.bytes_of(counter.len(value)) as f64, !is_output);
            }
        }
        launches.push(counter.finish());
    }
    launches
}

/// Returns the operands that an operation computes in scratch memory.
fn in_scratch(call: &Applied) -> impl Iterator<Item = &Expr> {
    let computed = call.tensors().filter(|(operand, _)| is_in_scratch(operand));
    computed.map(|(_, value)| value).filter(|value| value.stored().is_none())
}

fn is_in_scratch(operand: &Operand) -> bool {
    matches!(operand.role, Role::Tensor(_, Reads::Scratch))
}

/// Returns the statements of each kernel.
fn groups(model: &Model) -> Vec<Vec<&Statement>> {
    let targets = model.statements.iter().chunk_by(|statement| statement.target);
    let targets = targets.into_iter().map(|(_, statements)| statements.collect_vec());
    let is_light = |statements: &[&Statement]| {
        let mut parts = statements.iter().flat_map(|s| s.value.walk()).filter_map(Expr::applied);
        parts.all(|call| {
            !matches!(call.kernel(), Kernel::Product { .. }) && looked_up(call).next().is_none()
        })
    };
    targets
        .coalesce(|mut first, second| {
            if is_light(&first) && is_light(&second) {
                first.extend(second);
                Ok(first)
            } else {
                Err((first, second))
            }
        })
        .collect()
}

/// Returns the operands whose rows an operation looks up, each with its positions.
fn looked_up(call: &Applied) -> impl Iterator<Item = (&'static str, TensorId)> + '_ {
    call.tensors().filter_map(|(operand, positions)| match operand.role {
        Role::Indices(_, table) => Some((table, positions.stored()?)),
        _ => None,
    })
}

struct Counter<'a> {
    model: &'a Model,
    instance: &'a Instance,
    gpu: &'a Gpu,
    launch: Launch,
    /// The tensors that are read as a whole.
    whole: BTreeSet<TensorId>,
    /// For each row that is looked up: how often, and the bytes of its sectors.
    counts: Vec<(u64, u64)>,
}

impl Counter<'_> {
    fn len(&self, expr: &Expr) -> u64 {
        let extents = expr.shape.iter().map(|e| e.value(&self.instance.sizes).unwrap_or(0));
        extents.fold(1, u64::saturating_mul)
    }

    fn bytes(&self, id: TensorId) -> f64 {
        let tensor = self.model.tensor(id);
        let held = self.instance.tensors.get(&tensor.name);
        held.map_or(0.0, |held| tensor.dtype.bytes_of(held.len()) as f64)
    }

    /// Counts bytes that move: through the cache if they fit and are `near`, else between processors and memory.
    fn moved(&mut self, bytes: f64, near: bool) {
        if near && bytes <= self.gpu.memory.l2_bytes as f64 {
            self.launch.cached += bytes;
        } else {
            self.launch.memory += bytes;
        }
    }

    fn expression(&mut self, expr: &Expr) {
        let Op::Apply(call) = &expr.op else {
            self.whole.extend(expr.stored());
            return;
        };
        if let Kernel::Product { .. } = call.kernel() {
            self.launch.products += self.model.work(expr, &self.instance.sizes) as f64;
        }
        let tables: BTreeMap<&str, Vec<TensorId>> =
            looked_up(call).into_group_map().into_iter().collect();
        let mut loads = 0.0;
        for (operand, value) in call.tensors() {
            match (&operand.role, tables.get(operand.name)) {
                (Role::Scratch(_), _) => {}
                _ if is_in_scratch(operand) && value.stored().is_none() => {
                    self.moved(value.dtype.bytes_of(self.len(value)) as f64, true);
                }
                (_, Some(positions)) => {
                    for by in positions {
                        loads += self.rows(value, *by);
                    }
                }
                (_, None) => self.expression(value),
            }
        }
        // Rows that are not summed do not wait for one another.
        if let Some(offsets) = call.stored("offsets") {
            self.launch.loads += loads;
            self.launch.longest = self.launch.longest.max(self.longest(offsets));
        }
    }

    fn positions(&self, id: TensorId) -> Vec<u64> {
        let Some(tensor) = self.instance.tensors.get(&self.model.tensor(id).name) else {
            return Vec::new();
        };
        let position = |i| tensor.get(i)?.as_i64().and_then(|x| u64::try_from(x).ok());
        (0..tensor.len()).filter_map(position).collect()
    }

    fn longest(&self, offsets: TensorId) -> f64 {
        let offsets = self.positions(offsets);
        let lengths = offsets.windows(2).map(|ends| ends[1].saturating_sub(ends[0]));
        lengths.max().unwrap_or(0) as f64
    }

    /// Counts lookups of the rows of a table, and returns the loads by warps.
    fn rows(&mut self, table: &Expr, by: TensorId) -> f64 {
        let mut loads = 0.0;
        let by_row: BTreeSet<TensorId> = table.by_row().into_iter().collect();
        let others = table.walk().flat_map(Expr::tensors).filter(|id| !by_row.contains(id));
        self.whole.extend(others);
        let mut positions = self.positions(by);
        for id in by_row {
            let tensor = self.model.tensor(id);
            let width =
                tensor.shape[1..].iter().map(|e| e.value(&self.instance.sizes).unwrap_or(0));
            let bytes = tensor.dtype.bytes_of(width.fold(1, u64::saturating_mul));
            let bytes = bytes.next_multiple_of(self.gpu.memory.sector_bytes);
            let lookups = positions.len() as f64;
            loads += lookups * bytes.div_ceil(WARP_BYTES) as f64;
            if !self.model.is_input(id) && self.bytes(id) <= self.gpu.memory.l2_bytes as f64 {
                self.launch.cached += lookups * bytes as f64;
                continue;
            }
            positions.sort_unstable();
            let runs = positions.iter().dedup_with_count();
            self.counts.extend(runs.map(|(count, _)| (count as u64, bytes)));
        }
        loads
    }

    /// Divides the lookups between cache and memory.
    fn finish(mut self) -> Launch {
        self.counts.sort_unstable_by(|a, b| b.cmp(a));
        let mut room = self.gpu.memory.l2_bytes;
        for (count, bytes) in self.counts {
            let from_memory = if bytes <= room { 1 } else { count };
            room = room.saturating_sub(bytes);
            self.launch.memory += (from_memory * bytes) as f64;
            self.launch.cached += ((count - from_memory) * bytes) as f64;
        }
        self.launch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ember_host::Disk;
    use ember_language::diagnostic::Sources;

    fn of(text: &str) -> Vec<Launch> {
        let mut sources = Sources::new(Disk);
        let file = sources.add("<test>", format!("(model m {text})"));
        let model = Model::parse(&sources, file).unwrap_or_else(|e| panic!("{e:#?}"));
        let instance = model.instantiate(None).unwrap_or_else(|e| panic!("{e:#?}"));
        launches(
            &model,
            &instance,
            &Gpu::parse(include_str!("../../targets/gpu/t4.toml")).expect("a description"),
        )
    }

    #[test]
    fn a_lookup_and_a_product_by_hand() {
        let launches = of("(input t f32 (rows 8)) (input w f32 (8 4))
            (input i i64 (n)) (input o i64 (b+1))
            (let bags (emb.bag sum t i o)) (output out (nn.matmul bags w))
            (data (size rows 5) (t (constant 1)) (w (constant 1))
              (i (values 0 0 3)) (o (values 0 2 3)))");
        // Rows are a sector of 32 bytes. Row 0 comes from memory once; two bags of 32 bytes stay in the cache.
        let lookup = Launch {
            memory: 3.0 * 8.0 + 3.0 * 8.0 + 2.0 * 32.0,
            cached: 32.0 + 64.0,
            loads: 3.0,
            longest: 2.0,
            products: 0.0,
        };
        let product = Launch {
            memory: 8.0 * 4.0 * 4.0 + 2.0 * 4.0 * 4.0,
            cached: 64.0,
            products: 2.0 * 8.0 * 4.0,
            ..Launch::default()
        };
        assert_eq!(launches, [lookup, product]);
    }

    #[test]
    fn parts_of_a_tensor_and_functions_in_a_row_are_one_kernel() {
        let bags = "(emb.bag sum t i o) (emb.bag sum u i o)";
        let inputs = "(input t f32 (rows 8)) (input u f32 (rows 8))
            (input i i64 (n)) (input o i64 (b+1))";
        let data = "(data (size rows 5) (t (constant 1)) (u (constant 1))
            (i (values 0 0 3)) (o (values 0 2 3)))";
        assert_eq!(of(&format!("{inputs} (output out (nn.stack {bags})) {data}")).len(), 1);
        let softmax = "(let both (nn.concat (emb.bag sum t i o) (emb.bag sum u i o)))
            (output out (nn.softmax both))";
        assert_eq!(of(&format!("{inputs} {softmax} {data}")).len(), 2);
    }
}
