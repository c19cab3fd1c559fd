//! The report of the main job: the measurements as one object for machines and as tables for people.

mod sample;
mod tables;

use crate::results::Compared;
use ember_compile::pipeline::Failure;
use ember_compile::preparation::Preparation;
use ember_language::rules::Exactness;
use ember_model::reference::Mismatch;
use ember_sim::{LoadsByHint, SimError, Stats, UnitStats};
use ember_targets::machine::Machine;
use ember_targets::verify::Verified;
use ember_tools::kernel::{Kernel, Ran};
use ember_tools::tables::EGraphReport;
use ember_tools::trace::GroupTrace;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

pub use sample::SampleReport;
pub(crate) use tables::MATTERS;
pub use tables::{one, text};

/// The explanation of every column and unit of the tables, which the book includes.
pub const HELP: &str = include_str!("report/columns.md");

/// The whole report; `--json` prints it in this form.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "MainJob")]
pub struct Report {
    /// The model's name.
    pub model: String,
    /// The machine's name.
    pub target: String,
    /// The clock of the machine's core in GHz, in whose cycles all times are counted.
    pub clock_ghz: f64,
    /// The seed of the data that programs are judged on.
    pub seed: u64,
    /// Table elements that one run reads.
    pub elements: u64,
    /// Every program.
    pub programs: Vec<Record>,
    /// The chosen program.
    pub best: Best,
    /// The inputs that are prepared before every program, in order; their cycles are those of no program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preparation: Vec<PreparedReport>,
    /// The sample that candidates were ranked on, if one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleReport>,
    /// The search that found the chosen program.
    pub egraph: EGraphReport,
    /// The outputs of the chosen program beside the arrays that the user expects, if any are given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<Compared>,
    /// The time of each stage, in milliseconds. The only part that differs between equal runs.
    pub time_ms: Times,
    /// The activity of each rule in the search of the chosen program, if requested. Its times are also in milliseconds
    /// and called `time_ms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Vec<GroupTrace>>,
}

/// An input that is prepared before the program runs: computed positions, or edges sorted by the row that they lead to.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Prepared")]
pub struct PreparedReport {
    /// The input.
    pub input: String,
    /// The input that says the row of each edge; missing for computed positions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positions: Option<String>,
    /// The cycles of the preparation on the core.
    pub cycles: u64,
}

impl From<Preparation> for PreparedReport {
    fn from(Preparation { input, positions, cycles }: Preparation) -> PreparedReport {
        PreparedReport { input, positions, cycles }
    }
}

/// One program's run.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
#[schemars(rename = "Program")]
pub struct Record {
    /// The program's name.
    pub name: String,
    /// Cycles from the start to the last result; `null` if the run did not end.
    pub cycles: Option<u64>,
    /// The same in seconds, at the clock of the machine's core.
    pub time_s: Option<f64>,
    /// Energy in joules.
    pub energy_j: f64,
    /// Bytes read from and written to main memory.
    pub dram_bytes: u64,
    /// Bytes written into the data queue.
    pub queue_bytes: u64,
    /// Floating-point operations of the execute unit: one for each lane, and two for each multiply-add.
    pub flops: u64,
    /// Accesses of the core's first-level cache.
    pub l1_accesses: u64,
    /// Accesses of the core's second-level cache, reads of the queue included.
    pub l2_accesses: u64,
    /// Accesses of the last level cache.
    pub llc_accesses: u64,
    /// The part of them that are the access unit's loads, by hint.
    #[serde(skip)]
    pub llc_loads: LoadsByHint,
    /// True if the output equals the reference's.
    pub valid: bool,
    /// True if nothing shows that the output is right, and nothing that it is wrong.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unjudged: bool,
    /// The reason why the output is not valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mismatch: Option<String>,
    /// The reason why there is no program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// The least exact rules that ran.
    pub exactness: String,
    /// The cycles of each unit by activity.
    pub stalls: Vec<UnitStats>,
    /// The rules that contributed to it.
    #[serde(skip)]
    pub rules: Vec<String>,
}

impl Record {
    /// Returns the record of a kernel's run.
    pub fn of_kernel(kernel: &Kernel, program: &Verified, ran: Ran, exact: Exactness) -> Record {
        let mut record = Record {
            name: program.program().name.clone(),
            exactness: exact.name().to_owned(),
            ..Record::default()
        };
        record.compare(ran.compared);
        record.measure(&ran.outcome.stats, &kernel.machine);
        record
    }

    /// Records the measurements of a run on a machine.
    pub fn measure(&mut self, stats: &Stats, machine: &Machine) {
        self.cycles = Some(stats.cycles);
        self.time_s = Some(machine.seconds(stats.cycles));
        self.energy_j = stats.energy_j;
        self.dram_bytes = stats.dram_bytes.read + stats.dram_bytes.written;
        self.queue_bytes = stats.queue_bytes;
        self.flops = stats.flops;
        self.l1_accesses = stats.l1_accesses;
        self.l2_accesses = stats.l2_accesses;
        self.llc_accesses = stats.llc_accesses;
        self.llc_loads = stats.llc_loads;
        self.stalls = stats.units.clone();
    }

    /// Records the comparison of the outputs with the reference.
    pub fn compare(&mut self, compared: Result<(), Mismatch>) {
        self.valid = compared.is_ok();
        self.unjudged = compared.as_ref().is_err_and(|mismatch| !mismatch.is_wrong());
        self.mismatch = compared.err().map(|mismatch| mismatch.to_string());
    }

    /// Returns true if the output is wrong or the run did not end.
    pub fn has_failed(&self) -> bool {
        !self.valid && !self.unjudged && self.missing.is_none()
    }

    /// Records the reason why there is no result.
    pub fn fail(&mut self, failure: &Failure) {
        self.mismatch = Some(match failure {
            Failure::Run(SimError::Cycles { .. }) => {
                format!("{failure}; `--cycle-limit` allows more")
            }
            _ => failure.to_string(),
        });
    }
}

/// The report of a single program's run.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Run")]
pub struct RunReport {
    /// Its run.
    #[serde(flatten)]
    pub record: Record,
    /// Its text, at the level of DLC.
    pub program: String,
    /// The inputs that are prepared before the program, in order; its cycles do not count theirs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preparation: Vec<PreparedReport>,
    /// The outputs beside the arrays that the user expects, if any are given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<Compared>,
}

/// The report of a kernel that was compiled for data, in the form of [`Report`] as far as a kernel has it: no bound, and no
/// other programs.
#[derive(Clone, Debug, Serialize)]
pub struct KernelReport {
    /// The kernel's name.
    pub model: String,
    /// The machine's name.
    pub target: String,
    /// The clock of the machine's core in GHz.
    pub clock_ghz: f64,
    /// Its only program.
    pub programs: Vec<Record>,
    /// Its program, with its text.
    pub best: RunReport,
}

/// The chosen program.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Best {
    /// Its run.
    #[serde(flatten)]
    pub record: Record,
    /// Its text, at the level of DLC.
    pub program: String,
    /// The fewest cycles that are physically possible.
    pub bound_cycles: u64,
    /// The resource that requires them.
    pub bound_by: String,
    /// The cost model's estimates of all groups of statements together.
    pub estimate: EstimateReport,
    /// The assumptions of the program about its data.
    pub assumptions: Vec<String>,
    /// The worth of each rule set.
    pub ablation: Vec<Ablation>,
    /// The programs of other searches that it was chosen from; only if programs are pooled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pooled: Option<PooledReport>,
    /// The groups of statements that were searched together, if there are several.
    #[serde(skip_serializing_if = "is_one")]
    pub groups: Vec<GroupReport>,
}

fn is_one(groups: &[GroupReport]) -> bool {
    groups.len() <= 1
}

/// Statements that were searched together.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct GroupReport {
    /// The tensors that the statements write.
    pub statements: Vec<String>,
    /// The searched statements whose result these reuse, equal up to names; `null` if these statements were searched.
    pub like: Option<Vec<String>>,
    /// Cycles of the program of the searched statements alone, on the data that candidates are ranked on. `null` if
    /// candidates are not ranked.
    pub cycles: Option<u64>,
    /// The cost model's estimates.
    pub estimate: EstimateReport,
}

/// The cost model's estimate of a chosen program, beside all programs of the e-graph that it was extracted from.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub struct EstimateReport {
    /// The estimate of the chosen program, in cycles.
    pub cycles: f64,
    /// The least estimate of the candidates that were extracted, in cycles.
    pub least: f64,
    /// An estimate that no program of the e-graph is below, in cycles. `null` if there is no such bound: for programs of
    /// one processor, or if it takes too long.
    pub at_least: Option<f64>,
    /// The part by which the least estimate is above that: 0.05 if the best of all programs costs up to 5 % less.
    pub gap: Option<f64>,
}

impl EstimateReport {
    /// Reports the estimates of one choice.
    pub fn new(cycles: f64, least: f64, at_least: Option<f64>) -> EstimateReport {
        let gap = at_least.filter(|at_least| *at_least > 0.0);
        let gap = gap.map(|at_least| (least / at_least - 1.0).max(0.0));
        EstimateReport { cycles, least, at_least, gap }
    }

    /// Adds up the estimates of several choices, which run one after the other.
    pub fn sum(parts: impl IntoIterator<Item = EstimateReport>) -> EstimateReport {
        parts.into_iter().fold(EstimateReport::new(0.0, 0.0, Some(0.0)), |sum, part| {
            let at_least = sum.at_least.zip(part.at_least).map(|(a, b)| a + b);
            EstimateReport::new(sum.cycles + part.cycles, sum.least + part.least, at_least)
        })
    }
}

/// The result of the search without one rule set.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Ablation {
    /// The omitted rule set.
    pub rules: String,
    /// Cycles of the best program without it; `null` if there is none, or none that ends in time.
    pub cycles: Option<u64>,
    /// The ratio of those cycles to the chosen program's.
    pub slowdown: Option<f64>,
    /// A ratio that every program without it exceeds. Their runs were stopped there, and their cycles are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_than: Option<f64>,
}

/// The programs of all schedules and of the searches without a rule set, which are candidates for the whole. That one of
/// them is the best is a defect of the search.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct PooledReport {
    /// The search that found the best program; `null` if it is the schedule's own.
    pub by: Option<PooledSearch>,
    /// Cycles of the schedule's own program.
    pub own_cycles: Option<u64>,
    /// The other searches that found a program.
    pub searches: Vec<PooledSearch>,
}

/// A search beside that of the schedule: by another schedule, or without a rule set.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PooledSearch {
    /// The other schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// The omitted rule set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without: Option<String>,
    /// Cycles of its program on the data that programs are judged on; missing if they are more than 1.1 times those of
    /// the schedule's own program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
}

impl fmt::Display for PooledSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.schedule, &self.without) {
            (_, Some(rules)) => write!(f, "without {rules}"),
            (schedule, None) => f.write_str(schedule.as_deref().unwrap_or_default()),
        }
    }
}

/// Milliseconds by stage.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Times {
    /// Reading rules, model and machine.
    pub read: f64,
    /// Saturation of the chosen program's search.
    pub saturate: f64,
    /// Extraction of the chosen program's search.
    pub extract: f64,
    /// Simulation: ranking candidates, judging programs, ablation of rule sets; and the searches of the programs that
    /// the chosen one is compared with.
    pub simulate: f64,
    /// The total.
    pub total: f64,
}

impl Report {
    /// Returns the programs whose output is wrong or whose run did not end.
    pub fn failed(&self) -> impl Iterator<Item = &Record> {
        self.programs.iter().filter(|record| record.has_failed())
    }
}
