//! Rows that are added to where indices say: the share of them that comes from memory, and is written back.

use super::in_terms;
use egg::Symbol;
use ember_model::data::Instance;
use ember_model::{Expr, Model, Statement, TensorId};
use ember_targets::machine::Machine;
use ember_values::operation::Kernel;
use lru::LruCache;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// Lookups of rows of one table.
struct Rows {
    table: TensorId,
    indices: Vec<i64>,
    /// The bytes of the lines of a row.
    bytes: u64,
}

/// Returns the share of additions to a row that find it in no cache, by the tensor's name in terms. Rows that are looked
/// up for what is added pass the cache with them, and may displace each other: what they then miss in addition counts as
/// lines of the sum.
pub(super) fn scattered(
    model: &Model,
    instance: &Instance,
    machine: &Machine,
) -> FxHashMap<Symbol, f64> {
    let shares = model.statements.iter().filter_map(|statement| {
        let lookups = lookups(model, instance, machine, statement)?;
        let own = lookups.first()?;
        let (all, room) = (own.indices.len() as u64 * own.bytes, machine.llc_share());
        let alone = lookups[1..].iter().map(|own| missed(&[own], room)).sum::<u64>();
        let together = missed(&lookups.iter().collect::<Vec<_>>(), room);
        let share = together.saturating_sub(alone) as f64 / (all as f64).max(1.0);
        Some((in_terms(model, statement.target), share))
    });
    shares.collect()
}

/// Returns the rows that a statement adds to, and those that it looks up for each; `None` if it adds to none.
fn lookups(
    model: &Model,
    instance: &Instance,
    machine: &Machine,
    statement: &Statement,
) -> Option<Vec<Rows>> {
    let applied = statement.value.applied()?;
    if !matches!(applied.kernel(), Kernel::Scatter(_) | Kernel::Columns) {
        return None;
    }
    let rows = |indices: TensorId, table: TensorId| {
        let indices = instance.tensors.get(&model.tensor(indices).name)?;
        let tensor = instance.tensors.get(&model.tensor(table).name)?;
        let elements = tensor.shape.iter().skip(1).product();
        let bytes = tensor.dtype.bytes_of(elements).next_multiple_of(machine.dram.line_bytes);
        let indices = (0..indices.len()).filter_map(|at| indices.get(at)?.as_i64()).collect();
        Some(Rows { table, indices, bytes })
    };
    let own = rows(applied.stored("indices")?, statement.target)?;
    let parts = applied.value("rows").into_iter().flat_map(Expr::walk);
    let gathered = parts.filter(|part| part.kernel() == Some(Kernel::Rows)).filter_map(|part| {
        let part = part.applied()?;
        rows(part.stored("indices")?, part.value("table")?.source()?)
    });
    let gathered = gathered.filter(|other| other.indices.len() == own.indices.len());
    let gathered: Vec<Rows> = gathered.collect();
    Some(std::iter::once(own).chain(gathered).collect())
}

/// Returns the bytes that lookups miss in a cache of so many bytes, which replaces the least recently used rows. Of each
/// table, one row is looked up after the other.
fn missed(tables: &[&Rows], room: u64) -> u64 {
    let mut cache = LruCache::unbounded_with_hasher(FxBuildHasher);
    let (mut held, mut missed) = (0, 0);
    for at in 0..tables.first().map_or(0, |own| own.indices.len()) {
        for Rows { table, indices, bytes } in tables {
            if cache.put((*table, indices[at]), *bytes).is_none() {
                (held, missed) = (held + bytes, missed + bytes);
            }
            while held > room
                && let Some((_, bytes)) = cache.pop_lru()
            {
                held -= bytes;
            }
        }
    }
    missed
}

#[cfg(test)]
mod tests {
    use super::{Rows, missed};
    use ember_model::TensorId;

    #[test]
    fn rows_of_two_tables_displace_each_other() {
        let rows = |table, indices: [i64; 4]| Rows {
            table: TensorId(table),
            indices: indices.into(),
            bytes: 64,
        };
        let (sum, looked_up) = (rows(0, [3, 3, 7, 3]), rows(1, [0, 1, 0, 1]));
        // Two rows of a table stay where there is room for two.
        assert_eq!(missed(&[&looked_up], 128), 128);
        assert_eq!(missed(&[&sum], 128), 128);
        // Row 3 alone is found again: before, only row 0 was looked up.
        assert_eq!(missed(&[&sum, &looked_up], 128), 7 * 64);
        assert_eq!(missed(&[&sum, &looked_up], 256), 4 * 64);
        assert_eq!(missed(&[], 128), 0);
    }
}
