//! The runs of workloads at points, each made once: a line of a file for each, so that they outlast an interruption.

use super::plan::Plan;
use crate::bench;
use crate::job::{self, Scope};
use crate::journal::{self, Journal, error_of};
use crate::report::{Record, Report};
use crate::shipped;
use crate::sweep::{DERIVED, add_machine};
use ember_compile::pipeline::Options;
use ember_language::diagnostic::{Checked, Sources};
use ember_language::rules::Exactness;
use ember_tools::progress::Line;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The version of the lines. It grows by one when a member is removed or renamed, or changes its meaning.
const VERSION: u32 = 1;

/// The identity of a file of runs: its runs are of no use to a fit of another.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Identity {
    /// The version of the lines.
    calibration: u32,
    /// The version of the command, with the rules inside it.
    version: String,
    /// A digest of the workloads, machines and published figures.
    inputs: String,
}

impl journal::Identity for Identity {
    const WHAT: &'static str = "a calibration's";

    fn other(&self, other: &Identity) -> Option<&'static str> {
        let parts = [
            (
                self.calibration == other.calibration && self.version == other.version,
                "another version",
            ),
            (self.inputs == other.inputs, "other inputs"),
        ];
        parts.into_iter().find(|(same, _)| !same).map(|(_, what)| what)
    }
}

/// The programs of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Programs {
    /// The programs with published speedups: `emb-opt0` to `emb-opt3`.
    Published,
    /// `search` and the hand-written ones.
    Best,
}

/// The inputs of a run, which decide its result.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Key {
    /// The path of the model.
    pub model: String,
    /// The machine.
    pub target: String,
    /// The numbers of the machine that are replaced, as in TOML.
    pub parameters: Vec<(String, String)>,
    /// The programs that are run.
    pub programs: Programs,
}

/// The result of a run.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Found {
    /// Cycles by program.
    pub cycles: BTreeMap<String, u64>,
    /// The reason why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The wrong output, or the run that did not end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
}

/// A line of the file.
#[derive(Debug, Deserialize, Serialize)]
struct Written {
    #[serde(flatten)]
    key: Key,
    #[serde(flatten)]
    found: Found,
}

/// The runs so far.
pub(crate) struct Runs {
    journal: Journal,
    known: BTreeMap<Key, Found>,
}

impl Runs {
    /// Opens a file, which may hold runs of the same inputs; others do not count if it is restarted.
    ///
    /// # Errors
    ///
    /// Fails if the file holds something else, or cannot be written.
    pub fn open(plan: &Plan, path: &Path, restart: bool) -> Checked<Runs> {
        let identity = Identity {
            calibration: VERSION,
            version: shipped::version(),
            inputs: plan.digest.clone(),
        };
        let (journal, lines) = Journal::open(path, &identity, restart)?;
        let mut known = BTreeMap::new();
        for (number, line) in lines.iter().enumerate() {
            let Ok(Written { key, found }) = serde_json::from_str(line) else {
                let message = format!("line {} is no run of a calibration", number + 2);
                return Err(vec![error_of(path, message)]);
            };
            known.insert(key, found);
        }
        Ok(Runs { journal, known })
    }

    /// Returns a run, made now unless it is known.
    ///
    /// # Errors
    ///
    /// Fails if the run cannot be stored.
    pub(super) fn get(&mut self, plan: &Plan, key: Key, line: &Line) -> Checked<Found> {
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        line.say(&key.model);
        let found = match records(plan, &key) {
            Ok(records) => Found::of(&records),
            Err(errors) => {
                let refused = errors.first().map(|error| error.message.clone());
                Found { refused, ..Found::default() }
            }
        };
        self.journal.append(&Written { key: key.clone(), found: found.clone() })?;
        self.known.insert(key, found.clone());
        Ok(found)
    }

    /// Returns the workloads with wrong outputs, each with the reason.
    pub(super) fn wrong(&self) -> Vec<String> {
        let wrong = self.known.iter().filter_map(|(key, found)| Some((key, found.wrong.as_ref()?)));
        wrong.map(|(key, why)| format!("workload `{}`: {why}", key.model)).collect()
    }
}

/// Makes a run.
fn records(plan: &Plan, key: &Key) -> Checked<Vec<Record>> {
    match key.programs {
        Programs::Best => Ok(report(plan, key, Scope::HandWritten)?.programs),
        Programs::Published => {
            let (mut sources, options) = context(plan, key);
            let path = Path::new(&key.model);
            let (inputs, options) = bench::read(&mut sources, path, &options, 1.0)?;
            job::compared(&inputs, &options)
        }
    }
}

/// Runs the main job on the machine of a run, within a scope.
pub(super) fn report(plan: &Plan, key: &Key, scope: Scope) -> Checked<Report> {
    let (mut sources, options) = context(plan, key);
    bench::measure(&mut sources, Path::new(&key.model), &options, 1.0, scope, &Line::hidden())
}

/// Returns the sources with the machine of a run, and the options of all runs.
fn context(plan: &Plan, key: &Key) -> (Sources, Options) {
    let mut sources = Sources::new(plan.reach.clone());
    add_machine(&mut sources, &key.target, &key.parameters);
    let options = Options {
        rules: vec![shipped::resolved(PathBuf::from(shipped::DEFAULT))],
        target: DERIVED.to_owned(),
        exact: Exactness::Reassoc,
        ..Options::default()
    };
    (sources, options)
}

impl Found {
    fn of(records: &[Record]) -> Found {
        let ran = records.iter();
        let cycles = ran.filter_map(|record| Some((record.name.clone(), record.cycles?)));
        let wrong = records.iter().find(|record| record.has_failed()).map(|record| {
            format!("{}: {}", record.name, record.mismatch.as_deref().unwrap_or("no output"))
        });
        Found { cycles: cycles.collect(), refused: None, wrong }
    }
}
