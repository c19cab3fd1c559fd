//! The tables of the readable report.

use super::{Record, Report, RunReport};
use crate::results::Compared;
use ember_sim::UnitStats;
use ember_tools::tables::{grouped, table};
use std::fmt::Write;

fn cycles(record: &Record) -> String {
    record.cycles.map_or_else(|| "-".to_owned(), grouped)
}

/// Returns the table of every program's run, with the physical bound below.
pub fn programs(report: &Report) -> String {
    let header = ["program", "cycles", "of bound", "energy", "DRAM bytes", "queue bytes", "output"];
    let mut table = table(&header);
    let bound = report.best.bound_cycles;
    for record in &report.programs {
        let share = record.cycles.map_or_else(
            || "-".to_owned(),
            |c| format!("{:.1} %", 100.0 * bound as f64 / c.max(1) as f64),
        );
        if let Some(reason) = &record.missing {
            table.add_row([record.name.as_str(), "-", "-", "-", "-", "-", reason]);
            continue;
        }
        let output = match (&record.mismatch, record.exactness.as_str()) {
            (None, "bitwise") => "equal".to_owned(),
            (None, exactness) => format!("within the bound ({exactness})"),
            (Some(reason), _) if record.unjudged => reason.clone(),
            (Some(_), _) => "WRONG".to_owned(),
        };
        table.add_row([
            record.name.clone(),
            cycles(record),
            share,
            format!("{:.1} µJ", record.energy_j * 1e6),
            grouped(record.dram_bytes),
            grouped(record.queue_bytes),
            output,
        ]);
    }
    let by = format!("bound ({})", report.best.bound_by);
    table.add_row([by, grouped(bound), "100.0 %".to_owned()]);
    table.to_string()
}

/// Returns the table of the chosen program's cycles by unit and activity, in percent of its run.
pub fn stalls(report: &Report) -> String {
    unit_table(&report.best.record.stalls, report.best.record.cycles)
}

fn unit_table(units: &[UnitStats], cycles: Option<u64>) -> String {
    let header = ["unit", "busy", "memory", "full queue", "empty queue", "dispatch", "idle"];
    let mut table = table(&header);
    let total = cycles.unwrap_or(0).max(1) as f64;
    let share = |n: u64| format!("{:.1} %", 100.0 * n as f64 / total);
    for unit in units {
        let parts = [unit.busy, unit.memory, unit.full, unit.empty, unit.dispatch, unit.idle];
        table.add_row([unit.name.clone()].into_iter().chain(parts.map(share)));
    }
    table.to_string()
}

/// Returns the table of the worth of each rule set: the cycles without it.
pub fn worth(report: &Report) -> String {
    let mut table = table(&["without", "cycles", "slowdown"]);
    for row in &report.best.ablation {
        table.add_row([
            row.rules.clone(),
            row.cycles.map_or_else(|| "no program".to_owned(), grouped),
            row.slowdown.map_or_else(|| "-".to_owned(), |s| format!("{s:.3}x")),
        ]);
    }
    table.to_string()
}

/// Returns the table of the groups of statements that were searched, if there are several.
pub fn groups(report: &Report) -> String {
    let groups = &report.best.groups;
    if groups.len() <= 1 {
        return String::new();
    }
    let mut table = table(&["statements", "groups", "cycles alone"]);
    for group in groups.iter().filter(|group| group.like.is_none()) {
        let same = |other: &&super::GroupReport| other.like.as_ref() == Some(&group.statements);
        let alone = group.cycles.map_or_else(|| "-".to_owned(), grouped);
        let times = 1 + groups.iter().filter(same).count();
        table.add_row([group.statements.join(", "), times.to_string(), alone]);
    }
    format!("\nWhat was searched by itself\n{table}\n")
}

/// Returns the assumptions of the chosen program about its data, one line each.
pub fn assumptions(report: &Report) -> String {
    report.best.assumptions.iter().map(|a| format!("  - {a}\n")).collect()
}

/// Returns the search and the time, in two lines.
pub fn summary(report: &Report) -> String {
    let (graph, time) = (&report.egraph, &report.time_ms);
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "e-graph: {} nodes, {} classes, {} iterations, {}",
        graph.nodes, graph.classes, graph.iterations, graph.stop_reason
    );
    let _ = writeln!(
        out,
        "time: read {:.1} ms, saturate {:.1} ms, extract {:.1} ms, simulate {:.0} ms, total {:.0} ms",
        time.read, time.saturate, time.extract, time.simulate, time.total
    );
    out
}

/// Returns the table of the outputs beside the arrays that the user expects, if any are given.
pub fn expected(compared: &[Compared]) -> String {
    if compared.is_empty() {
        return String::new();
    }
    let mut table =
        table(&["output", "as expected", "elements", "beyond", "largest error", "where"]);
    for row in compared {
        let within = match row.within {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "not compared",
        };
        let distance = row.distance.as_ref();
        let count = |n: Option<u64>| n.map_or_else(|| "-".to_owned(), grouped);
        let largest = distance.and_then(|d| d.largest.as_ref());
        table.add_row([
            row.output.clone(),
            within.to_owned(),
            count(distance.map(|d| d.elements)),
            count(distance.map(|d| d.beyond)),
            largest.map_or_else(|| "-".to_owned(), |at| format!("{:.3e}", at.error)),
            largest.map_or_else(|| "-".to_owned(), |at| format!("{:?}", at.index)),
        ]);
    }
    format!("\nThe outputs beside the expected arrays\n{table}\n")
}

/// Returns the report of one program's run by itself.
pub fn one(report: &RunReport) -> String {
    let record = &report.record;
    let output = match &record.mismatch {
        None => format!("equal to the reference ({})", record.exactness),
        Some(reason) if record.unjudged => reason.clone(),
        Some(_) => "WRONG".to_owned(),
    };
    let mut table = table(&["", record.name.as_str()]);
    table.add_row(["cycles".to_owned(), cycles(record)]);
    table.add_row(["energy".to_owned(), format!("{:.1} µJ", record.energy_j * 1e6)]);
    table.add_row(["DRAM bytes".to_owned(), grouped(record.dram_bytes)]);
    table.add_row(["queue bytes".to_owned(), grouped(record.queue_bytes)]);
    table.add_row(["output".to_owned(), output]);
    let stalls = unit_table(&record.stalls, record.cycles);
    format!("{table}\n{stalls}\n{}", expected(&report.expected))
}
