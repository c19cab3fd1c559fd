//! The report of the job for this machine: one object for machines, and a table for people.

use super::measure::Times;
use crate::results::Compared;
use ember_model::reference::Mismatch;
use ember_native::Found;
use ember_tools::tables::{narrow, prefixed, wrapped};
use itertools::Itertools;
use schemars::JsonSchema;
use serde::Serialize;

/// The whole report; `--json` prints it in this form.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Native")]
pub(crate) struct NativeReport {
    /// The model's name.
    pub model: String,
    /// The name of the machine's description.
    pub target: String,
    /// The properties that were found out about this machine, if the description leaves them open.
    pub machine: Option<Described>,
    /// The C compiler, in its own words.
    pub compiler: String,
    /// The seed of the data.
    pub seed: u64,
    /// The least exact rules that ran.
    pub exact: String,
    /// The threads that share the rows of loops.
    pub threads: u32,
    /// Every program.
    pub programs: Vec<Row>,
    /// The fastest program.
    pub best: Program,
    /// The outputs of the best program beside the arrays that the user expects, if any are given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<Compared>,
}

/// The properties of a processor.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Processor")]
pub(crate) struct Described {
    /// The maker, by the name that the processor gives it; empty if it gives none.
    maker: String,
    /// The instructions of the widest vectors.
    vectors: String,
    /// The bytes of one vector register.
    vector_bytes: u64,
    /// The vector registers.
    vector_registers: u64,
    /// The bytes of the data caches, from the first level.
    caches: Vec<u64>,
    /// The threads that run at the same time.
    threads: usize,
}

/// A program in C.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "NativeProgram")]
pub(crate) struct Program {
    /// The schedule that found it.
    pub schedule: String,
    /// The text.
    pub text: String,
    /// The header.
    pub header: String,
}

/// One program's runs.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "NativeRuns")]
pub(crate) struct Row {
    /// The program's name.
    pub name: String,
    /// The number of runs; `null` if there is no program.
    runs: Option<usize>,
    /// The median time of a run in seconds.
    seconds: Option<f64>,
    /// The times in seconds that a quarter and three quarters of the runs stayed below.
    quartiles: Option<[f64; 2]>,
    /// The milliseconds from the model to the loaded function.
    time_ms: Option<f64>,
    /// True if every output is as it should be.
    pub valid: bool,
    /// The reason that an output is wrong or that there is no program.
    pub mismatch: Option<String>,
}

impl Row {
    /// Returns the row of a program that ran.
    pub(super) fn of(
        name: &str,
        times: &Times,
        compile_ms: f64,
        mismatch: Option<Mismatch>,
    ) -> Row {
        Row {
            name: name.to_owned(),
            runs: Some(times.runs()),
            seconds: Some(times.quantile(0.5)),
            quartiles: Some([times.quantile(0.25), times.quantile(0.75)]),
            time_ms: Some(compile_ms),
            valid: mismatch.as_ref().is_none_or(|mismatch| !mismatch.is_wrong()),
            mismatch: mismatch.map(|mismatch| mismatch.to_string()),
        }
    }

    /// Returns the row of a schedule without a program.
    pub(super) fn none(name: &str, reason: &str) -> Row {
        let (runs, seconds, quartiles, time_ms) = (None, None, None, None);
        let (name, mismatch) = (name.to_owned(), Some(reason.to_owned()));
        Row { name, runs, seconds, quartiles, time_ms, valid: true, mismatch }
    }
}

/// Returns what was found out about the processor.
pub(super) fn described(found: &Found) -> Described {
    Described {
        maker: found.maker.clone(),
        vectors: found.vectors.to_owned(),
        vector_bytes: found.vector_bytes,
        vector_registers: found.vector_registers,
        caches: found.caches.iter().map(|(_, bytes)| *bytes).collect(),
        threads: found.threads,
    }
}

/// Returns the report for people.
pub(crate) fn text(report: &NativeReport) -> String {
    let NativeReport { model, target, seed, compiler, .. } = report;
    let machine = report.machine.as_ref().map(|machine| {
        let caches = machine.caches.iter().map(|bytes| format!("{} KiB", bytes / 1024)).join(", ");
        let Described { maker, vectors, vector_registers, threads, .. } = machine;
        let made = if maker.is_empty() { String::new() } else { format!("{maker}, ") };
        format!(
            "found: {made}{vectors}, {vector_registers} vector registers, caches of {caches}, {threads} \
             threads of which {} used",
            if report.threads == 1 {
                "one is".to_owned()
            } else {
                format!("{} are", report.threads)
            }
        )
    });
    let fastest = format!("The fastest is `{}`, which is shown above.", report.best.schedule);
    let lines = [
        Some(wrapped(&format!("{model} on {target}, seed {seed}, compiled by {compiler}"))),
        machine.map(|machine| wrapped(&machine)),
        Some(programs(&report.programs)),
        Some(fastest),
    ];
    let best = report.best.text.trim_end();
    format!("{best}\n\n{}\n", lines.into_iter().flatten().join("\n\n"))
}

/// Returns the table of times.
fn programs(rows: &[Row]) -> String {
    let mut table =
        narrow(&["program", "time", "a quarter to three", "runs", "compiled in", "output"]);
    for row in rows {
        let time = |seconds: f64| prefixed(seconds, "s");
        let cell = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let output = match (&row.mismatch, row.runs) {
            (None, _) => "equal",
            (Some(_), None) => "no program",
            (Some(_), _) if row.valid => "not judged",
            (Some(_), _) => "WRONG",
        };
        table.add_row([
            row.name.clone(),
            cell(row.seconds.map(time)),
            cell(row.quartiles.map(|[low, high]| format!("{} to {}", time(low), time(high)))),
            cell(row.runs.map(|runs| runs.to_string())),
            cell(row.time_ms.map(|ms| format!("{ms:.0} ms"))),
            output.to_owned(),
        ]);
    }
    table.to_string()
}
