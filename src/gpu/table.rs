//! The comparison with a GPU as text of at most 80 columns.

use super::beside::{At, Beside, Means, Summary};
use crate::bench::Row;
use ember_tools::tables::{grouped, narrow, prefixed, wrapped};
use itertools::Itertools;
use std::fmt::Write;

/// Returns the tables of each GPU at equal bandwidth and at equal power, the means beside the published claim, and what
/// all of it assumes.
pub(crate) fn text(summaries: &[Summary], rows: &[Row]) -> String {
    let mut out = String::new();
    for (at, summary) in summaries.iter().enumerate() {
        out += &one(summary, rows, at);
    }
    if let Some(published) = summaries.first().map(|summary| summary.published) {
        let line = format!(
            "Published: {} times the performance and {} times the performance per watt of GPUs \
             ({}).",
            published.speed, published.speed_per_watt, published.source
        );
        let _ = writeln!(out, "\n{}", wrapped(&line));
    }
    let _ = writeln!(out, "\nAssumed:");
    for assumption in summaries.iter().flat_map(|summary| &summary.assumptions).unique() {
        let _ = writeln!(out, "{}", wrapped(&format!("- {assumption}")));
    }
    out
}

fn one(summary: &Summary, rows: &[Row], at: usize) -> String {
    let Summary { gpu, times, gpu_gb_per_s, gpu_w, core_gb_per_s, core_w, published, .. } = summary;
    let title = format!(
        "Beside {gpu} ({times}): {} GB/s and {} W; one of our cores: {core_gb_per_s} GB/s and \
         {core_w} W",
        grouped(gpu_gb_per_s.round() as u64),
        grouped(gpu_w.round() as u64),
    );
    let mut out = format!("\n{}\n", wrapped(&title));
    type Pick = fn(&Beside) -> At;
    let sections: [(&str, &Option<Means>, Pick); 2] = [
        ("bandwidth", &summary.equal_bandwidth, |b| b.equal_bandwidth),
        ("power", &summary.equal_power, |b| b.equal_power),
    ];
    for (what, means, pick) in sections {
        let Some(means) = means else { continue };
        let table = table(rows, at, pick);
        let _ = writeln!(out, "\nAt equal {what}: {:.1} cores\n{table}", means.cores);
        let verdict = |ours: f64, published: f64| match ours {
            ours if ours < 1.0 => "less than the GPU's",
            ours if ours < published => "less than published",
            _ => "at least as published",
        };
        let line = format!(
            "In the geometric mean {:.2} times the GPU's speed, {}, and {:.2} times its speed per \
             watt, {}.",
            means.speed,
            verdict(means.speed, published.speed),
            means.speed_per_watt,
            verdict(means.speed_per_watt, published.speed_per_watt),
        );
        let _ = writeln!(out, "{}", wrapped(&line));
    }
    if let Some(error) = summary.model_error {
        let line = format!(
            "The analytic model of {gpu} is off by a factor of {:.2} in the geometric mean over {} \
             measurements, of {:.2} at most; its times are {:.2} of the measured ones.",
            error.mean, error.points, error.worst, error.bias
        );
        let _ = writeln!(out, "\n{}", wrapped(&line));
    }
    out
}

fn table(rows: &[Row], at: usize, pick: fn(&Beside) -> At) -> String {
    let mut table = narrow(&["workload", "ours", "GPU", "speed", "per watt", "energy"]);
    for row in rows {
        let cells = match row.gpus.get(at) {
            None => vec!["-".to_owned(); 5],
            Some(beside) => {
                let at = pick(beside);
                vec![
                    prefixed(beside.core_seconds, "s"),
                    prefixed(at.gpu_seconds, "s"),
                    format!("{:.2}x", at.speed),
                    format!("{:.2}x", at.speed_per_watt),
                    format!("{:.1}x", at.energy),
                ]
            }
        };
        table.add_row(std::iter::once(row.workload.clone()).chain(cells));
    }
    table.to_string()
}
