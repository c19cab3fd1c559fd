//! Prints the bench as one table.

use super::Row;
use ember_tools::tables::{grouped, table as styled};
use itertools::Itertools;
use std::fmt::Write;

/// Returns the table: one row per workload, and the means below.
pub(super) fn table(rows: &[Row]) -> String {
    let header = [
        "workload",
        "emb-opt0",
        "emb-opt1",
        "emb-opt2",
        "emb-opt3",
        "paper",
        "expert",
        "search",
        "bound",
        "of paper",
        "of expert",
        "of bound",
        "bound by",
        "access",
        "execute",
        "LLC/1000",
        "output",
    ];
    let mut table = styled(&header);
    for row in rows {
        let cycles = row.cycles.named().map(|(_, c)| c.map_or_else(|| "-".to_owned(), grouped));
        let busy = row.utilisation.get("search");
        let llc = row.llc_accesses_per_thousand_elements.get("search");
        let tail = [
            percent(row.percent_of_paper),
            percent(row.percent_of_expert),
            percent(row.percent_of_bound),
            row.bound_by.clone(),
            percent(busy.map(|b| b.access)),
            percent(busy.map(|b| b.execute)),
            llc.map_or_else(|| "-".to_owned(), |n| format!("{n:.2}")),
            if row.valid { "valid" } else { "WRONG" }.to_owned(),
        ];
        table.add_row([row.workload.clone()].into_iter().chain(cycles).chain(tail));
    }
    format!("{table}\n{}", means(rows))
}

fn percent(x: Option<f64>) -> String {
    x.map_or_else(|| "-".to_owned(), |x| format!("{x:.1} %"))
}

/// Returns the geometric mean; `None` without values.
pub(super) fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
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
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "`search` is at {mean:.1} % of `{name}` in the geometric mean, at least at \
                 {least:.1} % ({}).",
                row.workload
            );
        }
    }
    let exactness = rows.iter().map(|row| row.exactness.as_str()).filter(|e| !e.is_empty());
    let exactness = exactness.counts().into_iter().sorted();
    let counts = exactness.map(|(name, n)| format!("{n} {name}")).join(", ");
    let _ = writeln!(out, "The least exact rules of `search`: {counts}.");
    out
}
