//! The readable report: the program, the tables and the lines between them, within 80 columns. `columns.md` explains
//! every column, for the command and for the book.

use super::{
    Ablation, Best, EstimateReport, GroupReport, PreparedReport, Record, Report, RunReport,
    SampleReport,
};
use crate::results::Compared;
use ember_sim::UnitStats;
use ember_targets::dlc::Program;
use ember_targets::print::print_within;
use ember_tools::tables::{COLUMNS, grouped, narrow, prefixed, wrapped};
use ember_tools::trace;
use itertools::Itertools;

/// The relative change in cycles from which on a rule set has a row of its own.
pub(crate) const MATTERS: f64 = 0.005;

/// The share of a run from which on a unit counts as idle all the time; less is shown as 0.0 %.
const ALWAYS: f64 = 0.9995;

/// The headers of the tables, each explained in `columns.md`.
mod header {
    pub const PROGRAMS: [&str; 5] = ["program", "cycles", "time", "of bound", "output"];
    pub const USES: [&str; 5] = ["program", "energy", "DRAM bytes", "LLC accesses", "queue bytes"];
    pub const UNITS: [&str; 7] = ["unit", "busy", "memory", "full", "empty", "dispatch", "idle"];
    pub const WORTH: [&str; 3] = ["without", "cycles", "slowdown"];
    pub const GROUPS: [&str; 5] = ["statements", "groups", "cycles alone", "estimate", "gap"];
    pub const EXPECTED: [&str; 6] =
        ["output", "as expected", "elements", "beyond", "largest error", "where"];
}

/// Returns the report of the main job with the chosen program.
pub fn text(report: &Report, program: &Program) -> String {
    let Report { model, target, clock_ghz, seed, .. } = report;
    let elements = grouped(report.elements);
    let sections = [
        print_within(program, COLUMNS).trim_end().to_owned(),
        format!("Assumes:\n{}", assumptions(report)),
        wrapped(&format!(
            "{model} on {target} at {clock_ghz} GHz, seed {seed}, {elements} table elements"
        )),
        programs(report),
        preparation(&report.preparation, ["every program", "which none of them counts"]),
        format!("What they move and use\n{}", uses(report)),
        format!(
            "Where the cycles of `{}` go\n{}",
            report.best.record.name,
            units(&report.best.record)
        ),
        worth(&report.best.ablation),
        pooled(&report.best),
        report.trace.as_deref().map(trace::print).unwrap_or_default(),
        groups(&report.best.groups),
        expected(&report.expected),
        summary(report),
    ];
    sections.iter().map(|section| section.trim_end()).filter(|s| !s.is_empty()).join("\n\n") + "\n"
}

/// Returns the report of one program's run by itself.
pub fn one(report: &RunReport) -> String {
    let record = &report.record;
    let output = match &record.mismatch {
        None => format!("equal to the reference ({})", record.exactness),
        Some(reason) if record.unjudged => reason.clone(),
        Some(_) => "WRONG".to_owned(),
    };
    let mut table = narrow(&["", record.name.as_str()]);
    table.add_row(["cycles".to_owned(), cycles(record)]);
    table.add_row(["time".to_owned(), time(record.time_s)]);
    table.add_row(["energy".to_owned(), prefixed(record.energy_j, "J")]);
    table.add_row(["DRAM bytes".to_owned(), grouped(record.dram_bytes)]);
    table.add_row(["LLC accesses".to_owned(), grouped(record.llc_accesses)]);
    table.add_row(["queue bytes".to_owned(), grouped(record.queue_bytes)]);
    table.add_row(["output".to_owned(), output]);
    let expected = expected(&report.expected);
    let prepared = preparation(&report.preparation, ["the program", "which it does not count"]);
    let parts = [table.to_string(), units(record), prepared, expected];
    parts.into_iter().filter(|part| !part.is_empty()).join("\n") + "\n"
}

/// Returns the cycles of what is prepared before programs; nothing if there is nothing.
fn preparation(prepared: &[PreparedReport], [before, counted]: [&str; 2]) -> String {
    if prepared.is_empty() {
        return String::new();
    }
    let sorted: Vec<&str> = prepared.iter().filter_map(|own| own.positions.as_deref()).collect();
    let by = match &sorted[..] {
        [first, rest @ ..] if rest.iter().all(|own| own == first) => format!(" by `{first}`"),
        _ => String::new(),
    };
    let steps = [
        (sorted.len() < prepared.len()).then(|| "positions are computed".to_owned()),
        (!sorted.is_empty()).then(|| format!("the edges are sorted{by}")),
    ];
    let steps = steps.into_iter().flatten().join(" and ");
    let each = prepared.iter();
    let each = each.map(|own| format!("`{}` {}", own.input, grouped(own.cycles))).join(", ");
    let sum = grouped(prepared.iter().map(|own| own.cycles).sum());
    wrapped(&format!("Preparation before {before}: {steps} in {sum} cycles, {counted} ({each})."))
}

/// Returns the assumptions of the chosen program about its data, one line each.
fn assumptions(report: &Report) -> String {
    report.best.assumptions.iter().map(|a| wrapped(&format!("  - {a}"))).join("\n")
}

fn cycles(record: &Record) -> String {
    record.cycles.map_or_else(|| "-".to_owned(), grouped)
}

fn time(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "-".to_owned(), |seconds| prefixed(seconds, "s"))
}

/// Returns the table of every program's run, with the physical bound below, and the schedules without a program.
fn programs(report: &Report) -> String {
    let mut table = narrow(&header::PROGRAMS);
    let bound = report.best.bound_cycles;
    for record in ran(report) {
        let share = |c: u64| format!("{:.1} %", 100.0 * bound as f64 / c.max(1) as f64);
        let output = match (&record.mismatch, record.exactness.as_str()) {
            (None, "bitwise") => "equal",
            (None, exactness) => exactness,
            (Some(reason), _) if record.unjudged => reason.split(':').next().unwrap_or_default(),
            (Some(_), _) => "WRONG",
        };
        table.add_row([
            record.name.clone(),
            cycles(record),
            time(record.time_s),
            record.cycles.map_or_else(|| "-".to_owned(), share),
            output.to_owned(),
        ]);
    }
    let seconds = bound as f64 / (report.clock_ghz * 1e9);
    let by = format!("bound ({})", report.best.bound_by);
    table.add_row([by, grouped(bound), time(Some(seconds)), "100.0 %".to_owned()]);
    let missing = report.programs.iter().filter_map(|record| {
        let reason = record.missing.as_ref()?;
        Some(wrapped(&format!("no program `{}`: {reason}", record.name)))
    });
    let unjudged = report.programs.iter().filter(|record| record.unjudged).filter_map(|record| {
        Some(wrapped(&format!("output of `{}`: {}", record.name, record.mismatch.as_ref()?)))
    });
    [table.to_string()].into_iter().chain(missing).chain(unjudged).join("\n")
}

/// Returns the programs that exist.
fn ran(report: &Report) -> impl Iterator<Item = &Record> {
    report.programs.iter().filter(|record| record.missing.is_none())
}

/// Returns the table of every program's energy and traffic.
fn uses(report: &Report) -> String {
    let mut table = narrow(&header::USES);
    for record in ran(report) {
        table.add_row([
            record.name.clone(),
            prefixed(record.energy_j, "J"),
            grouped(record.dram_bytes),
            grouped(record.llc_accesses),
            grouped(record.queue_bytes),
        ]);
    }
    table.to_string()
}

/// Returns the table of a program's cycles by unit and activity, in percent of its run. Units that never begin are
/// counted below.
fn units(record: &Record) -> String {
    let total = record.cycles.unwrap_or(0).max(1) as f64;
    let always = |unit: &&UnitStats| unit.idle as f64 >= ALWAYS * total;
    let mut table = narrow(&header::UNITS);
    let share = |n: u64| format!("{:.1} %", 100.0 * n as f64 / total);
    for unit in record.stalls.iter().filter(|unit| !always(unit)) {
        let parts = [unit.busy, unit.memory, unit.full, unit.empty, unit.dispatch, unit.idle];
        table.add_row([unit.name.clone()].into_iter().chain(parts.map(share)));
    }
    match record.stalls.iter().filter(always).count() {
        0 => table.to_string(),
        1 => format!("{table}\n1 more unit is idle for 99.95 % and more"),
        n => format!("{table}\n{n} more units are idle for 99.95 % and more"),
    }
}

/// Returns the table of the worth of each rule set that matters, and the number of the others.
fn worth(ablation: &[Ablation]) -> String {
    if ablation.is_empty() {
        return String::new();
    }
    let matters =
        |row: &&Ablation| row.slowdown.is_none_or(|slowdown| (slowdown - 1.0).abs() >= MATTERS);
    let mut table = narrow(&header::WORTH);
    for row in ablation.iter().filter(matters) {
        let [cycles, slowdown] = match (row.cycles, row.slowdown, row.more_than) {
            (Some(cycles), Some(slowdown), _) => [grouped(cycles), format!("{slowdown:.3}x")],
            (_, _, Some(ratio)) => ["-".to_owned(), format!("> {ratio}x")],
            _ => ["no program".to_owned(), "-".to_owned()],
        };
        table.add_row([row.rules.clone(), cycles, slowdown]);
    }
    let table = format!("What each rule set is worth\n{table}");
    match ablation.iter().filter(|row| !matters(row)).count() {
        0 => table,
        1 => format!("{table}\n1 other rule set is worth less than 0.5 %"),
        n => format!("{table}\n{n} other rule sets are worth less than 0.5 % each"),
    }
}

/// Returns what the pool of programs was needed for; nothing if there is none.
fn pooled(best: &Best) -> String {
    let Some(pooled) = &best.pooled else { return String::new() };
    let searches = pooled.searches.len();
    let Some(by) = &pooled.by else {
        return wrapped(&format!(
            "The pool was not needed: none of {searches} other searches has a better program."
        ));
    };
    let own = pooled.own_cycles.map_or_else(|| "no end".to_owned(), grouped);
    wrapped(&format!(
        "The pool was needed, which is a defect of the search: the best of {searches} other programs is that of the \
         search `{by}`. The program of `{}` itself takes {own} cycles.",
        best.record.name
    ))
}

/// Returns the table of the groups of statements that were searched, if there are several.
fn groups(groups: &[GroupReport]) -> String {
    if groups.len() <= 1 {
        return String::new();
    }
    let mut table = narrow(&header::GROUPS);
    for group in groups.iter().filter(|group| group.like.is_none()) {
        let same = |other: &&GroupReport| other.like.as_ref() == Some(&group.statements);
        let alone = group.cycles.map_or_else(|| "-".to_owned(), grouped);
        let times = 1 + groups.iter().filter(same).count();
        let estimate = grouped(group.estimate.cycles.round() as u64);
        let gap = group.estimate.gap.map_or_else(|| "-".to_owned(), percent);
        table.add_row([group.statements.join(", "), times.to_string(), alone, estimate, gap]);
    }
    format!("What was searched by itself\n{table}")
}

fn percent(part: f64) -> String {
    format!("{:.2} %", 100.0 * part)
}

/// Returns the table of the outputs beside the arrays that the user expects, if any are given.
fn expected(compared: &[Compared]) -> String {
    if compared.is_empty() {
        return String::new();
    }
    let mut table = narrow(&header::EXPECTED);
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
    format!("The outputs beside the expected arrays\n{table}")
}

/// Returns the search and the time, each on a line.
fn summary(report: &Report) -> String {
    let (graph, time) = (&report.egraph, &report.time_ms);
    let EstimateReport { cycles, least, gap, .. } = report.best.estimate;
    let [cycles, least] = [cycles, least].map(|cycles| grouped(cycles.round() as u64));
    let within = gap.map_or_else(
        || "not bounded".to_owned(),
        |gap| format!("within {} of the best in the e-graph", percent(gap)),
    );
    let estimate =
        format!("estimate: {cycles} cycles; the least of those extracted, {least}, is {within}");
    let graph = format!(
        "e-graph: {} nodes, {} classes, {} iterations, {}",
        graph.nodes, graph.classes, graph.iterations, graph.stop_reason
    );
    let time = format!(
        "time: read {:.0} ms, saturate {:.0} ms, extract {:.0} ms, simulate {:.0} ms, in all {:.0} ms",
        time.read, time.saturate, time.extract, time.simulate, time.total
    );
    let sample = report.sample.as_ref().map(SampleReport::line);
    let lines = [Some(graph), Some(estimate), sample, Some(time)];
    lines.iter().flatten().map(|line| wrapped(line)).join("\n")
}

#[cfg(test)]
mod tests {
    use super::header;
    use crate::report::HELP;

    #[test]
    fn every_column_is_explained() {
        let all = [
            &header::PROGRAMS[1..],
            &header::USES[1..],
            &header::UNITS[1..],
            &header::WORTH,
            &header::GROUPS,
            &header::EXPECTED[1..],
        ];
        for name in all.concat() {
            assert!(HELP.contains(&format!("`{name}`")), "{name} is not explained");
        }
    }
}
