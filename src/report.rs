//! The report of the main job: what is measured, as one object for machines and as tables for
//! people.

mod tables;

use ember_sim::{LoadsByHint, Stats, UnitStats};
use ember_tools::tables::EGraphReport;
use ember_tools::trace::GroupTrace;
use serde::Serialize;

pub use tables::{assumptions, groups, one, programs, stalls, summary, worth};

/// The whole report; with `--json` it is printed as it stands here.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The model's name.
    pub model: String,
    /// The machine's name.
    pub target: String,
    /// The seed of the data that programs are judged on.
    pub seed: u64,
    /// Table elements that one run reads.
    pub elements: u64,
    /// Every program.
    pub programs: Vec<Record>,
    /// The chosen one.
    pub best: Best,
    /// The search that found it.
    pub egraph: EGraphReport,
    /// Where the time went, in milliseconds. The only part that differs between equal runs.
    pub time_ms: Times,
    /// What each rule did in the search of the chosen program, if that was asked for. Its times, too,
    /// are in milliseconds and called `time_ms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Vec<GroupTrace>>,
}

/// One program's run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Record {
    /// The program's name.
    pub name: String,
    /// From the start to the last result; `null` where the run did not come to its end.
    pub cycles: Option<u64>,
    /// Energy in joules.
    pub energy_j: f64,
    /// Bytes read from and written to main memory.
    pub dram_bytes: u64,
    /// Bytes written into the data queue.
    pub queue_bytes: u64,
    /// Accesses of the last level cache.
    pub llc_accesses: u64,
    /// Those of them that are the access unit's loads, by their hints.
    #[serde(skip)]
    pub llc_loads: LoadsByHint,
    /// Whether the output is the reference's.
    pub valid: bool,
    /// What was found instead, where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mismatch: Option<String>,
    /// The least exact rules that ran.
    pub exactness: String,
    /// Where the cycles of each unit went.
    pub stalls: Vec<UnitStats>,
    /// The rules that had a part in it.
    #[serde(skip)]
    pub rules: Vec<String>,
}

impl Record {
    /// Fills in what a run measured.
    pub fn measure(&mut self, stats: &Stats) {
        self.cycles = Some(stats.cycles);
        self.energy_j = stats.energy_j;
        self.dram_bytes = stats.dram_bytes.read + stats.dram_bytes.written;
        self.queue_bytes = stats.queue_bytes;
        self.llc_accesses = stats.llc_accesses;
        self.llc_loads = stats.llc_loads;
        self.stalls = stats.units.clone();
    }
}

/// The chosen program.
#[derive(Clone, Debug, Serialize)]
pub struct Best {
    /// Its run.
    #[serde(flatten)]
    pub record: Record,
    /// The fewest cycles that physics allows.
    pub bound_cycles: u64,
    /// The resource that asks for them.
    pub bound_by: String,
    /// What the program assumes of its data.
    pub assumptions: Vec<String>,
    /// What each rule set is worth.
    pub ablation: Vec<Ablation>,
    /// The statements that were searched together, where there are several such groups.
    #[serde(skip_serializing_if = "is_one")]
    pub groups: Vec<GroupReport>,
}

fn is_one(groups: &[GroupReport]) -> bool {
    groups.len() <= 1
}

/// Statements that were searched together.
#[derive(Clone, Debug, Serialize)]
pub struct GroupReport {
    /// The tensors that they write.
    pub statements: Vec<String>,
    /// The statements that were searched for these, which are equal up to names; `null` where these
    /// were searched.
    pub like: Option<Vec<String>>,
    /// Cycles of their program alone, on the data that candidates are ranked on; of those that were
    /// searched. `null` where candidates are not ranked.
    pub cycles: Option<u64>,
}

/// The search without one rule set.
#[derive(Clone, Debug, Serialize)]
pub struct Ablation {
    /// The rule set that is left out.
    pub rules: String,
    /// Cycles of the best program then; `null` where there is none.
    pub cycles: Option<u64>,
    /// Those cycles over the chosen program's.
    pub slowdown: Option<f64>,
}

/// Milliseconds by stage.
#[derive(Clone, Debug, Serialize)]
pub struct Times {
    /// Reading rules, model and machine.
    pub read: f64,
    /// Saturation of the chosen program's search.
    pub saturate: f64,
    /// Extraction of the chosen program's search.
    pub extract: f64,
    /// Simulation: ranking candidates, judging programs, leaving out rule sets.
    pub simulate: f64,
    /// Everything.
    pub total: f64,
}

impl Report {
    /// The programs whose output is wrong or whose run did not come to its end.
    pub fn failed(&self) -> impl Iterator<Item = &Record> {
        self.programs.iter().filter(|record| !record.valid)
    }
}
