//! Whether two programs do the same: the `equiv` command, on a page.
//!
//! A side is a model, or a program as SCF, SLC or DLC text. First data is looked for on which they
//! differ, small and tricky data first; then a proof, by rules applied to both in one e-graph; then more
//! data. Where nothing is found the answer is *unknown*, and says what is missing.
//!
//! *Equal* means: whatever the data, where both run without a fault, their outputs hold the same. What
//! outputs hold before and what scratch memory holds afterwards is not looked at. Data on which one
//! has a result and the other a fault is a difference.

mod alpha;
mod certificate;
mod chain;
mod data;
mod declare;
mod equation;
mod forms;
mod invariants;
mod join;
mod layout;
mod level;
mod lift;
mod means;
mod names;
mod parts;
mod primitives;
mod question;
mod refute;
mod report;
mod roles;
mod search;
mod sides;
mod simulate;
mod spelling;
mod write;

pub use certificate::{Certificate, Proved, Uncertified, certify};
pub use data::Given;
pub use declare::{Declarations, Declared, Purpose};
pub use layout::Layout;
pub use level::Level;
pub use lift::{NoStatement, lifted};
pub use names::captured;
pub use names::normalise;
pub use refute::Counterexample;
pub use report::{Report, json, text};
pub use roles::{Role, Roles};
pub use search::{Found, Reached, Search, terms};
pub use sides::{ModelFile, Side, Sides, Unread, What, read};
pub use simulate::Difference;
pub use simulate::{Failure, store_after};
pub use write::counterexample;

use ember_certify::Rules;
use ember_engine::CompiledRule;
use ember_engine::saturate::{Limits, StopReason};
use ember_host::Files;
use ember_language::diagnostic::Checked;
use ember_language::rules::{Exactness, RuleBook};
use ember_targets::machine::Machine;
use refute::Tries;
use std::path::PathBuf;

/// What may be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What counts as equal, and the least exact rules that may run.
    pub exact: Exactness,
    /// The seed of random data.
    pub seed: u64,
    /// Bounds on each saturation.
    pub limits: Limits,
    /// Random tries where no proof is found.
    pub tries: usize,
}

impl Default for Options {
    fn default() -> Options {
        let limits = Limits { iterations: 40, nodes: 60_000 };
        Options { exact: Exactness::Bitwise, seed: 1, limits, tries: 1000 }
    }
}

/// The answer.
#[derive(Debug)]
pub enum Verdict {
    /// They do the same; with the certificate, or why there is none.
    Equal(Result<Certificate, Uncertified>),
    /// They do not.
    Different(Box<Counterexample>),
    /// Neither was found.
    Unknown(Unknown),
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Unknown {
    /// A DLC program is no statement that anything could be proved of, for this reason.
    NoTerm(Unread),
    /// The search for a proof came so far.
    Open(Reached),
    /// Of the layouts that inputs should have, no data was found that has them.
    NoData,
    /// The rules lead from the one to the other, and there is no certificate that holds, for this reason.
    Uncertified(Uncertified),
}

/// An answer, and what it rests on.
#[derive(Debug)]
pub struct Answer {
    /// The answer.
    pub verdict: Verdict,
    /// Tries on which both sides had a result, or one had and the other had not.
    pub compared: usize,
    /// Whether all sizes are numbers, so that the answer is for them only.
    pub concrete: bool,
}

/// The rules' schedule for two programs of one processor, and for programs of another level.
const SCHEDULES: [&str; 2] = ["equiv", "equiv-units"];

/// The rule files that comparing needs: those that are given, and those in a folder `equiv` of each.
pub fn rule_paths(files: &dyn Files, given: &[PathBuf]) -> Vec<PathBuf> {
    let own =
        given.iter().map(|path| path.join("equiv")).filter(|path| files.folder(path).is_some());
    given.iter().cloned().chain(own).collect()
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
            match search.run(sides, &terms) {
                // What is said of data that there is not says nothing.
                Found::Equal(Ok(_))
                    if !sides.declarations.layouts.is_empty() && tries.compared == 0 =>
                {
                    Unknown::NoData
                }
                Found::Equal(Ok(certificate)) => {
                    let verdict = Verdict::Equal(Ok(certificate));
                    let (compared, concrete) = (tries.compared, tries.concrete);
                    return Ok(Answer { verdict, compared, concrete });
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
    Ok(Answer { verdict, compared: tries.compared, concrete: tries.concrete })
}

/// Looks for data on which both sides have results, and not the same, as [`compare`] does, and proves nothing.
/// Also gives how many data there were on which both had one.
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
    Answer { verdict, compared: tries.compared, concrete: tries.concrete }
}

impl Unknown {
    /// The reason, in a sentence.
    pub fn reason(&self) -> String {
        match self {
            Unknown::NoTerm(why) => {
                format!("no difference was found, and a DLC program is read as no statement: {why}")
            }
            Unknown::NoData => {
                "no data was found that is laid out so and on which both programs run".to_owned()
            }
            Unknown::Open(Reached { stop: StopReason::Saturated, .. }) => {
                "no difference was found, and the rules do not lead from the one to the other: a rule \
                 or a fact is missing"
                    .to_owned()
            }
            // Both met, but only where one loop's variable stands for that of a loop within it.
            Unknown::Open(Reached { stop: StopReason::Enough, .. }) => {
                "no difference was found, and what the rules lead to confuses two loop variables"
                    .to_owned()
            }
            Unknown::Open(Reached { stop: stop @ StopReason::Contradiction { .. }, .. }) => {
                format!("the rules contradict each other ({stop})")
            }
            Unknown::Open(Reached { stop, .. }) => {
                format!("no difference was found, and the search for a proof met a limit ({stop})")
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

    /// The operators of the project's dialects.
    pub(super) fn operators() -> Arc<Operators> {
        signature().table().clone()
    }

    /// What the project's dialects declare.
    pub(super) fn signature() -> Signature {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules");
        let (book, _) = rules::load(&mut Sources::new(Disk), &[folder]).expect("well-formed rules");
        book.signature
    }
}
