//! The table of the pool: the pairs of a workload and another search, by schedule or without a rule set, whose program
//! is better than that of the search with all rules, on data that neither was chosen on.

use super::Row;
use crate::report::PooledSearch;
use ember_tools::tables::{narrow, wrapped};
use std::fmt::Write;

/// The relative difference in cycles that does not count: other data may reverse the order.
const TIE: f64 = 0.02;

/// A workload and another search.
struct Pair<'a> {
    row: &'a Row,
    search: &'a PooledSearch,
    /// The cycles of the search's program, relative to those of the schedule's own, and to those of the pool's best.
    ratios: Option<[f64; 2]>,
}

/// Returns the pairs that count, the numbers of them, and the workloads that needed the pool; nothing if there is no
/// pool.
pub(super) fn text(rows: &[Row]) -> String {
    let pairs: Vec<Pair> = rows.iter().flat_map(pairs).collect();
    if pairs.is_empty() {
        return String::new();
    }
    let mut table = narrow(&["workload", "search", "of unpooled", "of pooled"]);
    let worse =
        |at: usize| move |pair: &&Pair| pair.ratios.is_some_and(|ratios| ratios[at] < 1.0 - TIE);
    for pair in pairs.iter().filter(worse(0)) {
        let ratios = pair.ratios.unwrap_or_default();
        let [unpooled, pooled] = ratios.map(|ratio| format!("{:.1} %", 100.0 * ratio));
        table.add_row([pair.row.workload.clone(), pair.search.to_string(), unpooled, pooled]);
    }
    let mut out = String::from("\nOther searches that find better programs, by cycles\n");
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{table}");
    for (what, of) in [("a rule set that is left out", true), ("another schedule", false)] {
        let of_kind: Vec<&Pair> =
            pairs.iter().filter(|pair| pair.search.without.is_some() == of).collect();
        let count = |at: usize| of_kind.iter().copied().filter(|pair| worse(at)(pair)).count();
        let line = format!(
            "Of {} pairs of a workload and {what}, {} are more than {:.0} % better without the pool, and {} with it.",
            of_kind.len(),
            count(0),
            100.0 * TIE,
            count(1)
        );
        let _ = writeln!(out, "{}", wrapped(&line));
    }
    let needed = rows.iter().filter_map(|row| row.pooled.as_ref()?.by.as_ref());
    let _ = writeln!(out, "{} of {} workloads needed the pool.", needed.count(), rows.len());
    out
}

fn pairs(row: &Row) -> impl Iterator<Item = Pair<'_>> {
    let of = row.pooled.iter().flat_map(|pooled| pooled.searches.iter().map(move |s| (pooled, s)));
    of.map(move |(pooled, search)| {
        let ratio = |to: Option<u64>| Some(search.cycles? as f64 / to?.max(1) as f64);
        let ratios = ratio(pooled.own_cycles).zip(ratio(row.cycles.search));
        Pair { row, search, ratios: ratios.map(|(own, best)| [own, best]) }
    })
}
