//! Prints the bench as tables of at most 80 columns: cycles of the schedules, `search` beside the best known programs,
//! its speed relative to theirs, and its use of the machine.

use super::Row;
use ember_tools::tables::{grouped, narrow, wrapped};
use itertools::Itertools;
use std::fmt::Write;

/// The programs of the first table, and those of the second.
const SCHEDULES: [&str; 4] = ["emb-opt0", "emb-opt1", "emb-opt2", "emb-opt3"];
const BEST: [&str; 4] = ["paper", "expert", "search", "bound"];

/// Returns the tables, each with one row per workload, and the means below.
pub(super) fn table(rows: &[Row]) -> String {
    let cycles_of = |names: [&'static str; 4]| {
        move |row: &Row| {
            let cycles = row.cycles.named().into_iter().filter(|(name, _)| names.contains(name));
            cycles.map(|(_, c)| c.map_or_else(|| "-".to_owned(), grouped)).collect()
        }
    };
    let tables = [
        one("Cycles of the schedules", rows, SCHEDULES, cycles_of(SCHEDULES)),
        one("Cycles of the best programs", rows, BEST, cycles_of(BEST)),
        one(
            "The speed of `search`",
            rows,
            ["of paper", "of expert", "of bound", "gap", "bound by"],
            relative,
        ),
        one("What `search` uses", rows, ["access", "execute", "LLC/1000", "output"], uses),
    ];
    format!("{}\n\n{}", tables.iter().join("\n\n"), means(rows))
}

/// Returns a table with a row of cells for each workload.
fn one<const N: usize>(
    title: &str,
    rows: &[Row],
    columns: [&str; N],
    cells: impl Fn(&Row) -> Vec<String>,
) -> String {
    let header: Vec<&str> = std::iter::once("workload").chain(columns).collect();
    let mut table = narrow(&header);
    for row in rows {
        table.add_row(std::iter::once(row.workload.clone()).chain(cells(row)));
    }
    format!("{title}\n{table}")
}

fn relative(row: &Row) -> Vec<String> {
    let of = [row.percent_of_paper, row.percent_of_expert, row.percent_of_bound];
    let last = [percent(gap(row)), row.bound_by.clone()];
    of.into_iter().map(percent).chain(last).collect()
}

/// Returns how far the best program by the model may be from the best in the e-graph, in percent.
fn gap(row: &Row) -> Option<f64> {
    Some(100.0 * row.estimate?.gap?)
}

fn uses(row: &Row) -> Vec<String> {
    let busy = row.utilisation.get("search");
    let llc = row.llc_accesses_per_thousand_elements.get("search");
    vec![
        percent(busy.map(|busy| busy.access)),
        percent(busy.map(|busy| busy.execute)),
        llc.map_or_else(|| "-".to_owned(), |n| format!("{n:.2}")),
        if row.valid { "valid" } else { "WRONG" }.to_owned(),
    ]
}

fn percent(x: Option<f64>) -> String {
    x.map_or_else(|| "-".to_owned(), |x| format!("{x:.1} %"))
}

/// Returns the geometric mean; `None` without values.
pub(crate) fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = values.into_iter().map(f64::ln).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// Returns the geometric means of the percentages, and the worst of each.
fn means(rows: &[Row]) -> String {
    let mut out = String::new();
    type Pick = fn(&Row) -> Option<f64>;
    let picks: [(&str, Pick); 3] = [
        ("paper", |row| row.percent_of_paper),
        ("expert", |row| row.percent_of_expert),
        ("bound", |row| row.percent_of_bound),
    ];
    for (name, pick) in picks {
        let values = || rows.iter().filter_map(|row| Some((row, pick(row).filter(|x| *x > 0.0)?)));
        let worst = values().min_by(|a, b| a.1.total_cmp(&b.1));
        if let (Some(mean), Some((row, least))) = (geometric_mean(values().map(|v| v.1)), worst) {
            let line = format!(
                "`search` is at {mean:.1} % of `{name}` in the geometric mean, at least at \
                 {least:.1} % ({}).",
                row.workload
            );
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{}", wrapped(&line));
        }
    }
    let gaps = rows.iter().filter_map(|row| Some((row, gap(row)?)));
    if let Some((row, most)) = gaps.max_by(|a, b| a.1.total_cmp(&b.1)) {
        let line = format!(
            "By the cost model, `search` is within {most:.1} % of the best in every e-graph ({}).",
            row.workload
        );
        let _ = writeln!(out, "{}", wrapped(&line));
    }
    let exactness = rows.iter().map(|row| row.exactness.as_str()).filter(|e| !e.is_empty());
    let exactness = exactness.counts().into_iter().sorted();
    let counts = exactness.map(|(name, n)| format!("{n} {name}")).join(", ");
    let _ = writeln!(out, "The least exact rules of `search`: {counts}.");
    out
}
