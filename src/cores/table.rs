//! Several cores as tables of at most 80 columns: the best split of each number of cores, and every split.

use super::{Cores, Divided};
use ember_tools::tables::{grouped, narrow, prefixed, wrapped};
use itertools::Itertools;
use std::fmt::Write;

/// Returns the tables, with the chosen split of the most cores below.
pub(crate) fn text(cores: &Cores) -> String {
    let Cores { model, target, program, rows_of, rows, longest_row, .. } = cores;
    let what = if program == model { String::new() } else { format!("`{program}` of ") };
    let title = format!(
        "{what}{model} on several cores of {target}: {} rows, `{rows_of}`; the longest is {:.2} % \
         of the work.",
        grouped(*rows),
        100.0 * longest_row
    );
    let mut out = format!(
        "{}\n\nCycles of the best split\n{}\n\nScaling\n{}\n",
        wrapped(&title),
        best(cores),
        scaling(cores)
    );
    if cores.cores.iter().any(|count| count.splits.len() > 1) {
        let _ = write!(out, "\nCycles by split\n{}\n", splits(cores));
    }
    for count in cores.cores.iter().filter(|count| count.cores > 1) {
        let _ = writeln!(out, "{}", wrapped(&verdict(count)));
    }
    out
}

/// Returns the best split of each number of cores beside the bound.
fn best(cores: &Cores) -> String {
    let mut header = vec!["cores", "split", "cycles", "bound", "of bound", "balance"];
    let meet = cores.cores.iter().flat_map(|count| &count.splits).any(|split| split.barriers > 0);
    header.extend(meet.then_some("barriers"));
    let mut table = narrow(&header);
    for count in &cores.cores {
        let best = count.best();
        let split = best.map_or("WRONG", |best| if count.cores == 1 { "-" } else { &best.split });
        let mut row = vec![
            count.cores.to_string(),
            split.to_owned(),
            best.and_then(|best| best.cycles).map_or_else(|| "-".to_owned(), grouped),
            grouped(count.bound_cycles),
            percent(best.and_then(|best| best.of_bound)),
            percent(best.and_then(|best| best.balance)),
        ];
        row.extend(meet.then(|| percent(best.and_then(|best| best.at_barriers))));
        table.add_row(row);
    }
    table.to_string()
}

/// Returns what more cores gain and use.
fn scaling(cores: &Cores) -> String {
    let mut table = narrow(&["cores", "speed", "efficiency", "of the bound's", "GB/s", "energy"]);
    for (count, best) in cores.cores.iter().filter_map(|count| Some((count, count.best()?))) {
        table.add_row([
            count.cores.to_string(),
            best.speedup.map_or_else(|| "-".to_owned(), |x| format!("{x:.2}x")),
            percent(best.efficiency),
            percent(best.of_bound_efficiency),
            best.gb_per_s.map_or_else(|| "-".to_owned(), |x| format!("{x:.1}")),
            prefixed(best.energy_j, "J"),
        ]);
    }
    table.to_string()
}

/// Returns the cycles of every split by number of cores.
fn splits(cores: &Cores) -> String {
    let several = || cores.cores.iter().filter(|count| count.cores > 1);
    let header = several().map(|count| format!("{} cores", count.cores)).collect_vec();
    let mut table =
        narrow(&std::iter::once("split").chain(header.iter().map(String::as_str)).collect_vec());
    let names = several().flat_map(|count| &count.splits).map(|split| &split.split).unique();
    for name in names {
        let cell = |split: &Divided| match split.cycles {
            Some(cycles) if split.valid => grouped(cycles),
            _ => "WRONG".to_owned(),
        };
        let of = |count: &super::Count| count.splits.iter().find(|s| s.split == *name).map(cell);
        let cells = several().map(|count| of(count).unwrap_or_else(|| "-".to_owned()));
        table.add_row(std::iter::once(name.clone()).chain(cells));
    }
    let bounds = several().map(|count| grouped(count.bound_cycles));
    table.add_row(std::iter::once("bound".to_owned()).chain(bounds));
    table.to_string()
}

/// Returns what the split of some cores gains.
fn verdict(count: &super::Count) -> String {
    let super::Count { cores, bound_by, expected, .. } = count;
    let Some(best) = count.best() else {
        return format!("{cores} cores: no run ended with the right output.");
    };
    let name = &best.split;
    let bound = format!("; the bound is by {bound_by}");
    let contiguous = count.splits.iter().find(|split| split.split == "contiguous");
    let gain = match contiguous.and_then(|split| split.cycles).zip(best.cycles) {
        Some((contiguous, cycles)) if *name != "contiguous" => {
            format!(", {:.2} times as fast as contiguous", contiguous as f64 / cycles.max(1) as f64)
        }
        _ => String::new(),
    };
    let estimate = match count.splits.len() {
        1 => String::new(),
        _ if expected == name => ", as estimated".to_owned(),
        _ => format!(" where {expected} was estimated"),
    };
    let program = &best.program_for;
    let barriers = match best.barriers {
        0 => String::new(),
        1 => " and a barrier".to_owned(),
        n => format!(" and {n} barriers"),
    };
    format!(
        "{cores} cores: {name}{gain}{estimate}, with the program for {program}{barriers}{bound}."
    )
}

fn percent(x: Option<f64>) -> String {
    x.map_or_else(|| "-".to_owned(), |x| format!("{:.1} %", 100.0 * x))
}
