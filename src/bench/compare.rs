//! Compares published figures with ours; the error is in log space.

use super::Row;
use super::row::{Loads, Programs};
use super::table::geometric_mean;
use ember_host::Files;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::load::TEXT_LIMIT;
use ember_tools::tables::{narrow, wrapped};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The file of published figures; further keys are ignored.
#[derive(Debug, Deserialize)]
pub(crate) struct Published {
    source: String,
    speedup_over_opt0: BTreeMap<String, BTreeMap<String, f64>>,
    #[serde(default)]
    throughput_percent_opt0_to_opt3: BTreeMap<String, Throughput>,
    #[serde(default)]
    spattn_llc_apke: BTreeMap<String, BlockLoads>,
    #[serde(default)]
    percent_of_hand_optimised: BTreeMap<String, f64>,
}

/// Loads of a block gather that reach the last-level cache, by the cache level that serves its temporal loads. Any
/// other value in the file, for example a note, is ignored.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum BlockLoads {
    Levels { llc: Loads, l2: Loads },
    Other(serde::de::IgnoredAny),
}

/// Percent of the peak of each unit, from `emb-opt0` to `emb-opt3`.
#[derive(Debug, Deserialize)]
struct Throughput {
    compute: Vec<f64>,
    access: Vec<f64>,
}

/// A published figure with ours.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub struct Beside {
    /// The published figure.
    pub published: f64,
    /// Our figure.
    pub ours: f64,
    /// The natural logarithm of our figure over the published one.
    pub ln_ratio: f64,
}

impl Beside {
    fn new(published: f64, ours: f64) -> Beside {
        Beside { published, ours, ln_ratio: (ours / published).ln() }
    }
}

/// The programs with a published throughput.
const PROGRAMS: [&str; 4] = ["emb-opt0", "emb-opt1", "emb-opt2", "emb-opt3"];

impl Published {
    /// Reads the file.
    pub(crate) fn read(files: &dyn Files, path: &Path) -> Checked<Published> {
        let fail =
            |reason: String| vec![Diagnostic::global(format!("{}: {reason}", path.display()))];
        let bytes = files.read(path, TEXT_LIMIT).map_err(|e| fail(e.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|e| fail(format!("not published figures: {e}")))
    }

    /// Returns the published speedups of a workload over `emb-opt0`, by program.
    pub(crate) fn speedups_of(&self, workload: &str) -> Option<&BTreeMap<String, f64>> {
        self.speedup_over_opt0.get(workload)
    }

    /// Returns the names of the workloads with published speedups.
    pub(crate) fn workloads(&self) -> impl Iterator<Item = &str> {
        self.speedup_over_opt0.keys().map(String::as_str)
    }

    /// Adds the published figures of a workload to its row.
    pub(crate) fn put_beside(&self, row: &mut Row) {
        row.published = self.speedups(row);
        row.published_llc_loads = self.llc_loads(row);
    }

    /// Returns a workload's speedups over `emb-opt0`, for the programs that both the publication and the row have.
    fn speedups(&self, row: &Row) -> Programs<Beside> {
        let published = self.speedup_over_opt0.get(&row.model).into_iter().flatten();
        published
            .filter_map(|(program, published)| {
                let ours = row.cycles.speedup(program)?;
                Some((program.clone(), Beside::new(*published, ours)))
            })
            .collect()
    }

    /// Returns the text of all comparisons.
    pub(crate) fn report(&self, rows: &[Row]) -> String {
        let mut out = format!("\n{}\n", wrapped(&format!("Compared with: {}", self.source)));
        out += &speedups(rows);
        out += &self.throughput(rows);
        out += &llc_loads(rows);
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
        let mut table = narrow(&["", "mean", "worst"]);
        for (name, figures) in hand {
            if let Some((mean, worst)) = figures {
                table.add_row([name.to_owned(), format!("{mean:.2}"), format!("{worst:.2}")]);
            }
        }
        if !table.is_empty() {
            out += &format!("\nPercent of hand-written code\n{table}\n");
        }
        out
    }

    /// Returns the table of the units' utilisation.
    fn throughput(&self, rows: &[Row]) -> String {
        let mut table =
            narrow(&["percent of peak", "emb-opt0", "emb-opt1", "emb-opt2", "emb-opt3"]);
        let mut line = |name: String, figures: Vec<Option<f64>>| {
            let cells = figures
                .into_iter()
                .map(|x| x.map_or_else(|| "-".to_owned(), |x| format!("{x:.2}")));
            table.add_row([name].into_iter().chain(cells));
        };
        for row in rows {
            let Some(published) = self.throughput_percent_opt0_to_opt3.get(&row.model) else {
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

    /// Compares the loads of block gathers: the programs `temporal-llc` and `temporal-l2` of the workload `SpAttn_N`
    /// with the figures published for `N_emb_per_block`.
    fn llc_loads(&self, row: &Row) -> Programs<BTreeMap<String, Beside>> {
        let rows = row.workload.strip_prefix("SpAttn_").unwrap_or_default();
        let published = self.spattn_llc_apke.get(&format!("{rows}_emb_per_block"));
        let Some(BlockLoads::Levels { llc, l2 }) = published else { return Programs::new() };
        [("temporal-llc", llc), ("temporal-l2", l2)]
            .into_iter()
            .filter_map(|(program, published)| {
                let ours = row.llc_loads_per_thousand_elements.get(program)?;
                let hints = [
                    ("temporal", published.temporal, ours.temporal),
                    ("non-temporal", published.non_temporal, ours.non_temporal),
                ];
                let beside = hints.map(|(hint, p, o)| (hint.to_owned(), Beside::new(p, o)));
                Some((program.to_owned(), beside.into()))
            })
            .collect()
    }
}

/// Returns a table of comparisons, one per row, under a heading.
fn table_of<'a>(heading: &str, entries: impl Iterator<Item = (String, &'a Beside)>) -> String {
    let mut table = narrow(&[heading, "published", "ours", "factor", "ln"]);
    for (entry, beside) in entries {
        table.add_row([
            entry,
            format!("{:.2}", beside.published),
            format!("{:.2}", beside.ours),
            format!("{:.3}", beside.ln_ratio.exp()),
            format!("{:+.3}", beside.ln_ratio),
        ]);
    }
    format!("{table}\n")
}

/// Returns the mean error of figures as a factor of at least 1; `None` without figures.
fn mean_error<'a>(entries: impl Iterator<Item = &'a Beside>) -> Option<f64> {
    geometric_mean(entries.map(|beside| beside.ln_ratio.abs().exp()))
}

/// Returns the table of cache accesses and its mean error.
fn llc_loads(rows: &[Row]) -> String {
    let entries = || {
        rows.iter().flat_map(|row| {
            row.published_llc_loads.iter().flat_map(move |(program, hints)| {
                hints.iter().map(move |(hint, beside)| {
                    (format!("{} {program}, {hint} reads", row.workload), beside)
                })
            })
        })
    };
    let Some(mean) = mean_error(entries().map(|e| e.1)) else { return String::new() };
    let table = table_of("LLC accesses per 1000 elements", entries());
    format!("\nCache accesses\n{table}exp(mean |ln ratio|) over them: {mean:.3}\n")
}

/// Returns the table of speedups and its mean errors.
fn speedups(rows: &[Row]) -> String {
    let entries = || {
        rows.iter().flat_map(|row| {
            row.published.iter().map(move |(program, b)| (row.workload.as_str(), program, b))
        })
    };
    let named = entries().map(|(workload, program, b)| (format!("{workload} {program}"), b));
    let Some(worst) = entries().max_by(|a, b| a.2.ln_ratio.abs().total_cmp(&b.2.ln_ratio.abs()))
    else {
        return String::new();
    };
    let mut out = format!("\nSpeedup over emb-opt0\n{}", table_of("entry", named));
    let mean = |of: fn(&str) -> bool| mean_error(entries().filter(|e| of(e.0)).map(|e| e.2));
    let means = [("RM", mean(|name| name.starts_with("RM"))), ("all", mean(|_| true))];
    for (name, mean) in means {
        if let Some(mean) = mean {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "exp(mean |ln ratio|) over {name} entries: {mean:.3}");
        }
    }
    let (workload, program, beside) = worst;
    let factor = beside.ln_ratio.abs().exp();
    let _ = writeln!(out, "the worst: {workload} {program}, off by a factor of {factor:.3}");
    out
}
