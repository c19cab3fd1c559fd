//! The `equiv` command: compares two programs and finds a proof of equality or a difference.
//!
//! A side is a model, or a program as SCF, SLC or DLC text. The search first tries data on which the sides may differ,
//! beginning with small and tricky data. It then tries to prove them equal by applying rules to both in one e-graph,
//! and finally tries more data. If nothing is found, the answer is *unknown*, with the reason.
//!
//! *Equal* means: on memory that goes on beyond the extents of tensors, both do the same; so for all data on which both
//! run without a fault, their outputs are the same, and equalities compose. The initial contents of
//! outputs and the final contents of scratch memory are ignored. Data on which one side has a result and the other a
//! fault is a difference.

mod alpha;
mod assume;
mod certificate;
mod chain;
mod computed;
mod data;
mod declare;
mod equation;
mod forms;
mod invariants;
mod join;
mod kernel;
mod layout;
mod level;
mod lift;
mod means;
mod meeting;
mod names;
mod parts;
mod primitives;
mod question;
mod refute;
mod report;
mod roles;
mod satisfy;
mod search;
mod sides;
mod simulate;
mod spelling;
mod write;

pub use certificate::{Certificate, Proved, Uncertified, certify};
pub use data::{Before, Given, sample};
pub use declare::{Declarations, Declared, Purpose};
pub use ember_import::mlir::dlc_text;
pub use kernel::{mlir_text, read as read_kernel, slc_text};
pub use layout::Layout;
pub use level::Level;
pub use lift::{NoStatement, lifted};
pub use names::captured;
pub use names::normalise;
pub use refute::Counterexample;
pub use report::{Report, json, text};
pub use roles::{Role, Roles};
pub use search::{Found, Phase, Reached, Search, terms};
pub use sides::{ModelFile, Side, Sides, Unread, What, read};
pub use simulate::Difference;
pub use simulate::{Failure, store_after};
pub use write::counterexample;

use ember_certify::Rules;
use ember_engine::CompiledRule;
use ember_engine::saturate::{Limits, StopReason};
use ember_host::Files;
use ember_language::diagnostic::{Checked, Sources};
use ember_language::rules::{self, Exactness, Rule, RuleBook};
use ember_targets::machine::Machine;
use refute::Tries;
use std::path::PathBuf;

/// The options of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The notion of equality, which also bounds the exactness of the rules that may run.
    pub exact: Exactness,
    /// The seed of random data.
    pub seed: u64,
    /// The bounds on each saturation.
    pub limits: Limits,
    /// The number of random trials if no proof is found.
    pub tries: usize,
}

impl Default for Options {
    fn default() -> Options {
        let limits = Limits { iterations: 100, nodes: 60_000 };
        Options { exact: Exactness::Bitwise, seed: 1, limits, tries: 1000 }
    }
}

/// The outcome of a comparison.
#[derive(Debug)]
pub enum Verdict {
    /// The programs are equal, with the certificate or the reason why there is none.
    Equal(Result<Certificate, Uncertified>),
    /// The programs differ.
    Different(Box<Counterexample>),
    /// Neither a proof nor a difference was found.
    Unknown(Unknown),
}

/// The reason why there is no answer.
#[derive(Debug)]
pub enum Unknown {
    /// A DLC program cannot be read as a statement, so that there is nothing to prove.
    NoTerm(Unread),
    /// The search for a proof stopped in this state.
    Open(Reached),
    /// No data with the requested layouts and assumptions was found.
    NoData,
    /// The rules prove equality, but no valid certificate could be written.
    Uncertified(Uncertified),
}

/// The outcome of a comparison and its basis.
#[derive(Debug)]
pub struct Answer {
    /// The answer.
    pub verdict: Verdict,
    /// The number of trials in which both sides had a result, or exactly one had.
    pub compared: usize,
    /// True if all sizes are numbers, so that the answer is valid for these sizes only.
    pub concrete: bool,
    /// The outcome of each attempt at a proof, in order; none if data decided.
    pub phases: Vec<Phase>,
}

/// The schedule for two programs of one processor, and the schedule for programs of another level.
const SCHEDULES: [&str; 2] = ["equiv", "equiv-units"];

/// Returns the rule files that a comparison needs: the given paths, and the folder `equiv` of each if it exists.
pub fn rule_paths(files: &dyn Files, given: &[PathBuf]) -> Vec<PathBuf> {
    let own =
        given.iter().map(|path| path.join("equiv")).filter(|path| files.folder(path).is_some());
    given.iter().cloned().chain(own).collect()
}

/// Loads the rules of the given paths and of their folders `equiv`. The rules of paths without such a folder are the
/// user's own: they run in every step of the schedules, whatever their sets are called.
pub fn load_rules(sources: &mut Sources, given: &[PathBuf]) -> Checked<RuleBook> {
    let files = sources.files().clone();
    let (book, _) = rules::load(sources, &rule_paths(files.as_ref(), given))?;
    let whole = |path: &&PathBuf| files.folder(&path.join("equiv")).is_some();
    let whole: Vec<PathBuf> = given.iter().filter(whole).cloned().collect();
    if whole.len() == given.len() || whole.is_empty() {
        return Ok(book);
    }
    let shared = rules::files(sources, &rule_paths(files.as_ref(), &whole));
    let own = |rule: &Rule| !shared.contains(&rule.span.file);
    let own: Vec<usize> = (0..book.rules.len()).filter(|at| own(&book.rules[*at])).collect();
    let schedules = book.schedules.iter().map(|schedule| schedule.extended(&own)).collect();
    Ok(RuleBook { schedules, ..book })
}

/// Compares both sides.
pub fn compare(
    sides: &Sides,
    book: &RuleBook,
    compiled: &[CompiledRule],
    rules: &Rules,
    machine: &Machine,
    options: &Options,
) -> Checked<Answer> {
    let mut tries = Tries::new(sides, machine, options.exact, options.seed);
    if let Some(found) = tries.given().or_else(|| tries.quick()).or_else(|| tries.large()) {
        return Ok(different(tries, found));
    }
    let mut phases = Vec::new();
    let unknown = match terms(sides, book) {
        Err(why) => Unknown::NoTerm(why),
        Ok(terms) => {
            let search = Search {
                book,
                compiled,
                schedule: book
                    .require_schedule(SCHEDULES[usize::from(sides.level.is_crossed())])?,
                machine,
                exact: options.exact,
                limits: options.limits,
                certify: Some(rules),
            };
            let (found, sought) = search.sought(sides, &terms);
            phases = sought;
            match found {
                // If no such data was found, equality on it is vacuous.
                Found::Equal(Ok(_)) if sides.declarations.restricts() && tries.compared == 0 => {
                    Unknown::NoData
                }
                Found::Equal(Ok(certificate)) => {
                    let verdict = Verdict::Equal(Ok(certificate));
                    let (compared, concrete) = (tries.compared, tries.concrete);
                    return Ok(Answer { verdict, compared, concrete, phases });
                }
                Found::Open(reached) => Unknown::Open(reached),
                Found::Equal(Err(why)) => Unknown::Uncertified(why),
            }
        }
    };
    if let Some(found) = tries.long(options.tries) {
        return Ok(different(tries, found));
    }
    let verdict = Verdict::Unknown(unknown);
    Ok(Answer { verdict, compared: tries.compared, concrete: tries.concrete, phases })
}

/// Searches for data on which both sides have results that differ, as [`compare`] does, without attempting a proof.
/// Also returns the number of trials in which both had a result.
pub fn apart(
    sides: &Sides,
    machine: &Machine,
    options: &Options,
) -> (Option<Counterexample>, usize) {
    let mut tries = Tries::new(sides, machine, options.exact, options.seed);
    tries.faults = false;
    let found = tries.given().or_else(|| tries.quick()).or_else(|| tries.large());
    let found = found.or_else(|| tries.long(options.tries));
    (found, tries.compared)
}

fn different(mut tries: Tries<'_>, found: Counterexample) -> Answer {
    let smaller = tries.shrink(found);
    let verdict = Verdict::Different(Box::new(smaller));
    Answer { verdict, compared: tries.compared, concrete: tries.concrete, phases: Vec::new() }
}

impl Unknown {
    /// Returns the reason as a sentence.
    pub fn reason(&self) -> String {
        match self {
            Unknown::NoTerm(why) => {
                format!("no difference was found, and a DLC program is read as no statement: {why}")
            }
            Unknown::NoData => {
                "no data was found that is laid out and assumed so, and on which both programs run"
                    .to_owned()
            }
            Unknown::Open(Reached { stop: StopReason::Saturated, .. }) => {
                "no difference was found, and the rules do not lead from the one to the other: a rule \
                 or a fact is missing"
                    .to_owned()
            }
            // The roots met, but only by confusing the variables of two nested loops.
            Unknown::Open(Reached { stop: StopReason::Enough, .. }) => {
                "no difference was found, and what the rules lead to confuses two loop variables"
                    .to_owned()
            }
            Unknown::Open(Reached { stop: stop @ StopReason::Contradiction { .. }, .. }) => {
                format!("the rules contradict each other ({stop})")
            }
            Unknown::Open(_) => {
                "no difference was found, and the search for a proof met a limit".to_owned()
            }
            Unknown::Uncertified(why) => {
                format!("no difference was found, and of a proof there is no certificate that holds: {why}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ember_host::Disk;
    use ember_language::diagnostic::Sources;
    use ember_language::rules::{self, Operators, Signature};
    use std::path::Path;
    use std::sync::Arc;

    /// Returns the operators of the project's dialects.
    pub(super) fn operators() -> Arc<Operators> {
        signature().table().clone()
    }

    /// Returns the declarations of the project's dialects.
    pub(super) fn signature() -> Signature {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules");
        let (book, _) = rules::load(&mut Sources::new(Disk), &[folder]).expect("well-formed rules");
        book.signature
    }
}
