//! Published figures beside ours, with the error in log space.

use super::Row;
use super::table::geometric_mean;
use crate::diagnostic::{Checked, Diagnostic};
use crate::load::{TEXT_LIMIT, read_bytes};
use crate::report::table as styled;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The file of published figures; further keys are ignored.
#[derive(Debug, Deserialize)]
pub(super) struct Published {
    source: String,
    speedup_over_opt0: BTreeMap<String, BTreeMap<String, f64>>,
    #[serde(default)]
    throughput_percent_opt0_to_opt3: BTreeMap<String, Throughput>,
    #[serde(default)]
    spattn_llc_apke: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    percent_of_hand_optimised: BTreeMap<String, f64>,
}

/// Percent of the peak of each unit, from `opt0` to `opt3`.
#[derive(Debug, Deserialize)]
struct Throughput {
    compute: Vec<f64>,
    access: Vec<f64>,
}

/// A published figure and ours.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Beside {
    /// Theirs.
    pub published: f64,
    /// Ours.
    pub ours: f64,
    /// The natural logarithm of ours over theirs.
    pub ln_ratio: f64,
}

impl Beside {
    fn new(published: f64, ours: f64) -> Beside {
        Beside { published, ours, ln_ratio: (ours / published).ln() }
    }
}

/// The programs of a published throughput.
const PROGRAMS: [&str; 4] = ["opt0", "opt1", "opt2", "opt3"];

impl Published {
    pub(super) fn read(path: &Path) -> Checked<Published> {
        let fail =
            |reason: String| vec![Diagnostic::global(format!("{}: {reason}", path.display()))];
        let bytes = read_bytes(path, TEXT_LIMIT).map_err(fail)?;
        serde_json::from_slice(&bytes).map_err(|e| fail(format!("not published figures: {e}")))
    }

    /// A workload's speedups over `opt0`, those that were published and that we have.
    pub(super) fn beside(&self, row: &Row) -> BTreeMap<String, Beside> {
        let published = self.speedup_over_opt0.get(&row.workload).into_iter().flatten();
        published
            .filter_map(|(program, published)| {
                let ours = row.cycles.speedup(program)?;
                Some((program.clone(), Beside::new(*published, ours)))
            })
            .collect()
    }

    /// Every figure beside ours.
    pub(super) fn report(&self, rows: &[Row]) -> String {
        let mut out = format!("\nCompared with: {}\n\nSpeedup over opt0\n", self.source);
        out += &speedups(rows);
        out += &self.throughput(rows);
        out += &self.llc(rows);
        let named = |key: &str| self.percent_of_hand_optimised.get(key);
        let published = named("geomean_23_workloads").zip(named("worst"));
        let ours = |pick: fn(&Row) -> Option<f64>| {
            let values = || rows.iter().filter_map(pick);
            geometric_mean(values()).zip(values().min_by(f64::total_cmp))
        };
        let hand = [
            ("published, of hand-optimised code", published.map(|(mean, worst)| (*mean, *worst))),
            ("ours, of `expert`", ours(|row| row.percent_of_expert)),
            ("ours, of `paper`", ours(|row| row.percent_of_paper)),
        ];
        out += "\nPercent of hand-written code\n";
        let mut table = styled(&["", "mean", "worst"]);
        for (name, figures) in hand {
            if let Some((mean, worst)) = figures {
                table.add_row([name.to_owned(), format!("{mean:.2}"), format!("{worst:.2}")]);
            }
        }
        out += &format!("{table}\n");
        out
    }

    /// How busy the units are.
    fn throughput(&self, rows: &[Row]) -> String {
        let mut table = styled(&["percent of peak", "opt0", "opt1", "opt2", "opt3"]);
        let mut line = |name: String, figures: Vec<Option<f64>>| {
            let cells = figures
                .into_iter()
                .map(|x| x.map_or_else(|| "-".to_owned(), |x| format!("{x:.2}")));
            table.add_row([name].into_iter().chain(cells));
        };
        for row in rows {
            let Some(published) = self.throughput_percent_opt0_to_opt3.get(&row.workload) else {
                continue;
            };
            let busy = |program: &&str| row.utilisation.get(*program).copied();
            let theirs = |figures: &[f64]| figures.iter().copied().map(Some).collect();
            let name = &row.workload;
            line(format!("{name} compute, published"), theirs(&published.compute));
            let execute = PROGRAMS.iter().map(|p| Some(busy(p)?.execute)).collect();
            line(format!("{name} execute unit busy, ours"), execute);
            line(format!("{name} access, published"), theirs(&published.access));
            let access = PROGRAMS.iter().map(|p| Some(busy(p)?.access)).collect();
            line(format!("{name} access unit busy, ours"), access);
            let speed = PROGRAMS.iter().map(|p| row.cycles.percent_of_bound(p)).collect();
            line(format!("{name} speed in percent of the bound, ours"), speed);
        }
        if table.is_empty() { String::new() } else { format!("\nThroughput\n{table}\n") }
    }

    /// Accesses of the last-level cache of block gathers: the programs of the workload `SpAttn_N`
    /// that are called `LEVEL-HINT`, beside what is published for `N_emb_per_block`.
    fn llc(&self, rows: &[Row]) -> String {
        let mut table = styled(&["LLC accesses per 1000 elements", "published", "ours", "factor"]);
        for row in rows {
            let blocks = row.workload.strip_prefix("SpAttn_").unwrap_or_default();
            let Some(levels) = self.spattn_llc_apke.get(&format!("{blocks}_emb_per_block")) else {
                continue;
            };
            for level in ["llc", "l2"] {
                for hint in ["non_temporal", "temporal"] {
                    let program = format!("{level}-{}", hint.replace('_', "-"));
                    let ours = row.llc_accesses_per_thousand_elements.get(&program);
                    let published = levels[level][hint].as_f64();
                    let (Some(ours), Some(published)) = (ours, published) else { continue };
                    table.add_row([
                        format!("{} {program}", row.workload),
                        format!("{published:.2}"),
                        format!("{ours:.2}"),
                        format!("{:.2}", ours / published),
                    ]);
                }
            }
        }
        if table.is_empty() { String::new() } else { format!("\nCache accesses\n{table}\n") }
    }
}

/// The table of speedups and the errors of it.
fn speedups(rows: &[Row]) -> String {
    let mut table = styled(&["entry", "published", "ours", "factor", "ln"]);
    let entries = || {
        rows.iter().flat_map(|row| {
            row.published.iter().map(move |(program, b)| (row.workload.as_str(), program, b))
        })
    };
    for (workload, program, beside) in entries() {
        table.add_row([
            format!("{workload} {program}"),
            format!("{:.2}", beside.published),
            format!("{:.2}", beside.ours),
            format!("{:.3}", beside.ln_ratio.exp()),
            format!("{:+.3}", beside.ln_ratio),
        ]);
    }
    let mut out = format!("{table}\n");
    let mean = |of: fn(&str) -> bool| {
        let errors = entries().filter(|e| of(e.0)).map(|e| e.2.ln_ratio.abs().exp());
        geometric_mean(errors)
    };
    let means = [("RM", mean(|name| name.starts_with("RM"))), ("all", mean(|_| true))];
    for (name, mean) in means {
        if let Some(mean) = mean {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "exp(mean |ln ratio|) over {name} entries: {mean:.3}");
        }
    }
    let worst = entries().max_by(|a, b| a.2.ln_ratio.abs().total_cmp(&b.2.ln_ratio.abs()));
    if let Some((workload, program, beside)) = worst {
        let factor = beside.ln_ratio.abs().exp();
        let _ = writeln!(out, "the worst: {workload} {program}, off by a factor of {factor:.3}");
    }
    out
}
