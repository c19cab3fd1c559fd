//! The statistics of a program's data before it runs: the trip counts of loops, and the share of loads that return to a
//! line.

mod scattered;

use crate::cost::{Lengths, Workload};
use egg::Symbol;
use ember_analysis::effects::variable_key;
use ember_analysis::facts::EGraph;
use ember_interpret::{Store, average_trip_count};
use ember_model::data::{Instance, sorted};
use ember_model::{IndexUse, Model, TensorId};
use ember_targets::dlc::{Dim, Purpose};
use ember_targets::machine::Machine;
use ember_targets::tensor::Tensor;
use ember_values::capability::Capability;
use itertools::Itertools;
use lru::LruCache;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

/// The statistics of one instance of a model. Trip counts are computed on first use.
pub struct Statistics<'a> {
    store: Cow<'a, Store>,
    first_touch: FxHashMap<Symbol, f64>,
    past_l1: FxHashMap<Symbol, f64>,
    past_l2: FxHashMap<Symbol, f64>,
    scattered: FxHashMap<Symbol, f64>,
    lengths: FxHashMap<Symbol, Lengths>,
    uneven: FxHashMap<Symbol, f64>,
    trips: Mutex<FxHashMap<String, f64>>,
}

impl<'a> Statistics<'a> {
    /// Collects the statistics of an instance, whose tensors and sizes are also given as a store, for a machine.
    pub fn new(
        model: &Model,
        instance: &Instance,
        store: &'a Store,
        machine: &Machine,
    ) -> Statistics<'a> {
        let in_terms = |tensor| in_terms(model, tensor);
        let past = |bytes| past_cache(model, instance, machine, bytes);
        let mut first_touch = past(machine.llc_share());
        let past_l2 = match machine.capabilities().has(Capability::Hints) {
            true => past(machine.l2.bytes / machine.l2.sharers),
            false => FxHashMap::default(),
        };
        // An offset is read as the end of one bag and as the start of the next.
        let mut lengths = FxHashMap::default();
        let mut store = Cow::Borrowed(store);
        let sorts = model.sort_uses();
        for (scratch, tensor) in
            sorts.iter().filter_map(|own| sorted(model, instance, own)).flatten()
        {
            store.to_mut().tensors.insert(model.tensor(scratch).name.clone(), tensor);
        }
        let starts = sorts.iter().map(|own| own.starts);
        let offsets = model.offsets_uses().into_iter().map(|own| own.offsets);
        for offsets in offsets.chain(starts).unique() {
            raise(&mut first_touch, in_terms(offsets), 0.5);
            if let Some(bounds) = store.tensors.get(&model.tensor(offsets).name) {
                let bounds = (0..bounds.len()).filter_map(|l| bounds.get(l)?.as_i64());
                let own = bounds.tuple_windows().map(|(lo, hi)| hi.saturating_sub(lo));
                lengths.insert(in_terms(offsets), Lengths::of(&own.collect::<Vec<i64>>()));
            }
        }
        let (uneven, trips) = Default::default();
        let past_l1 = past(machine.l1.bytes);
        let scattered = scattered::scattered(model, instance, machine);
        Statistics { store, first_touch, past_l1, past_l2, scattered, lengths, uneven, trips }
    }

    /// Adds the statistics by which no choice is made, those of estimates of finished programs: of the stretches in which
    /// lookups miss.
    pub fn of_finished(self, model: &Model, instance: &Instance, machine: &Machine) -> Self {
        Statistics { uneven: uneven(model, instance, machine), ..self }
    }

    /// Returns the statistics of a store without further knowledge: every load is the first to touch its line.
    pub fn of_store(store: &'a Store) -> Statistics<'a> {
        Statistics {
            store: Cow::Borrowed(store),
            first_touch: FxHashMap::default(),
            past_l1: FxHashMap::default(),
            past_l2: FxHashMap::default(),
            scattered: FxHashMap::default(),
            lengths: FxHashMap::default(),
            uneven: FxHashMap::default(),
            trips: Mutex::default(),
        }
    }

    /// Returns the symbolic sizes of the instance.
    pub fn sizes(&self) -> &BTreeMap<String, i64> {
        &self.store.sizes
    }

    /// Returns the workload of the loops in an e-graph.
    pub fn workload(&self, egraph: &EGraph) -> Workload {
        let bytes = |tensor: &Tensor| tensor.dtype.bytes_of(tensor.len()) as f64;
        let mut workload = Workload {
            bytes: self.store.tensors.values().map(bytes).sum(),
            first_touch: self.first_touch.clone(),
            past_l1: self.past_l1.clone(),
            past_l2: self.past_l2.clone(),
            scattered: self.scattered.clone(),
            lengths: self.lengths.clone(),
            uneven: self.uneven.clone(),
            ..Workload::default()
        };
        for (name, declared) in egraph.analysis.tensors() {
            let extent = |dim: &Dim| match *dim {
                Dim::Const(n) => Some(n as f64),
                Dim::Size(_) => {
                    let size = egraph.analysis.size_name(*dim)?;
                    let size = self.store.sizes.get(size.as_str().trim_start_matches('%'))?;
                    Some(*size as f64)
                }
            };
            let extents = declared.shape.iter().map(extent);
            workload.extents.extend(extents.collect::<Option<Vec<f64>>>().map(|all| (name, all)));
            if declared.purpose == Purpose::Scratch {
                workload.intermediate.insert(name);
            }
        }
        for class in egraph.classes().filter(|class| class.data.variable.is_some()) {
            let Some(key) = variable_key(egraph, class.id) else { continue };
            let term = egraph.id_to_expr(class.id);
            // A loop that cannot be evaluated on this data is assumed to have one iteration.
            let text = term.to_string();
            let known = || self.trips.lock().unwrap_or_else(PoisonError::into_inner);
            let before = known().get(&text).copied();
            // The count runs without the lock, because other threads need not wait and would get the same count.
            let trips = before.unwrap_or_else(|| {
                let operators = egraph.analysis.operators();
                let counted = average_trip_count(&term, operators, &self.store).unwrap_or(1.0);
                known().insert(text, counted);
                counted
            });
            workload.trips.insert(key, trips);
        }
        workload
    }
}

/// Returns the name of a tensor in terms.
fn in_terms(model: &Model, tensor: TensorId) -> Symbol {
    Symbol::from(format!("%{}", model.tensor(tensor).name))
}

/// Raises a tensor's share of misses. If it is looked up several times, the use with the greatest share counts.
fn raise(shares: &mut FxHashMap<Symbol, f64>, tensor: Symbol, share: f64) {
    let before = shares.entry(tensor).or_insert(share);
    *before = before.max(share);
}

/// Returns the share of lookups in each table that miss a cache of so many bytes.
fn past_cache(
    model: &Model,
    instance: &Instance,
    machine: &Machine,
    bytes: u64,
) -> FxHashMap<Symbol, f64> {
    let mut shares = FxHashMap::default();
    each_lookup(model, instance, machine, bytes, |table, missing, all| {
        raise(&mut shares, table, missing.count() as f64 / (all as f64).max(1.0));
    });
    shares
}

/// Returns the share of each table's misses of the last-level cache by which the half of the run that has more of them has
/// more than the other half: 1 if all lookups of some stretches miss and none of as many others. The units cannot even out
/// longer stretches than those of which the access unit's storage and the queue hold the rows.
fn uneven(model: &Model, instance: &Instance, machine: &Machine) -> FxHashMap<Symbol, f64> {
    let mut shares = FxHashMap::default();
    let held = machine.access.lanes * machine.access.storage_bytes
        + machine.queue.chunks * machine.queue.chunk_bytes;
    each_lookup(model, instance, machine, machine.llc_share(), |table, missing, all| {
        let name = table.as_str().trim_start_matches('%');
        let stretch = rows_in_cache(instance, name, machine, held).max(1);
        let mut stretches = vec![0.0; all.div_ceil(stretch) as usize];
        for at in missing {
            stretches[(at / stretch) as usize] += 1.0;
        }
        stretches.sort_by(f64::total_cmp);
        let (few, many) = stretches.split_at(stretches.len() / 2);
        let middle = many.len() - few.len();
        let [few, many]: [f64; 2] = [few, &many[middle..]].map(|half| half.iter().sum());
        raise(&mut shares, table, (many - few) / stretches.iter().sum::<f64>().max(1.0));
    });
    shares
}

/// Calls `visit` for each use of a table with the lookups that miss a cache of so many bytes, and the number of all.
fn each_lookup(
    model: &Model,
    instance: &Instance,
    machine: &Machine,
    bytes: u64,
    mut visit: impl FnMut(Symbol, &mut dyn Iterator<Item = u64>, u64),
) {
    for IndexUse { indices, read, .. } in model.index_uses() {
        let Some(indices) = instance.tensors.get(&model.tensor(indices).name) else { continue };
        for table in read {
            let rows = (0..indices.len()).filter_map(|l| indices.get(l)?.as_i64());
            let name = &model.tensor(table).name;
            // A cache with room for every lookup replaces nothing.
            let room = rows_in_cache(instance, name, machine, bytes).min(indices.len());
            visit(in_terms(model, table), &mut missing(rows, room), indices.len());
        }
    }
}

/// Returns the number of rows of a table that a cache of so many bytes holds.
fn rows_in_cache(instance: &Instance, table: &str, machine: &Machine, cache: u64) -> u64 {
    let bits = instance.tensors.get(table).map_or(0, |tensor| {
        let extents = tensor.shape.iter().skip(1).copied();
        extents.fold(tensor.dtype.bits(), u64::saturating_mul)
    });
    let bytes = bits.div_ceil(8).next_multiple_of(machine.dram.line_bytes);
    cache / bytes.max(1)
}

/// Returns the lookups that miss a cache of so many rows, of which it replaces the least recently used one.
fn missing(rows: impl Iterator<Item = i64>, room: u64) -> impl Iterator<Item = u64> {
    let room = NonZeroUsize::new(room as usize).unwrap_or(NonZeroUsize::MIN);
    let mut cache = LruCache::with_hasher(room, FxBuildHasher);
    (0..).zip(rows).filter(move |(_, row)| cache.put(*row, ()).is_none()).map(|(at, _)| at)
}
