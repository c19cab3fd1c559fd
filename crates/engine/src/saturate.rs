//! Saturation: applies rules to an e-graph until nothing changes or a limit is reached.
//!
//! In every iteration, all rules are matched against the same clean e-graph; then all matches are applied, rule by rule
//! in the order given, and congruence is restored once. The same input produces the same e-graph for any number of
//! threads. The module does not know the subject of the rules.

mod apply;
mod blame;
mod plan;
mod rows;
mod search;
mod subsumed;
mod touched;

use crate::CompiledRule;
use crate::drive::Observer;
use crate::knowledge::{EGraph, Knowledge};
use apply::Run;
use ember_host::clock;
use ember_language::rules::Exactness;
use ember_values::scalar::Scalar;
use itertools::Itertools;
pub use plan::{are_new, compute};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// The limits of a run. They are counts and not times, so that a run can be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Iterations; each applies every rule to every match.
    pub iterations: usize,
    /// E-nodes: the sum over classes of their nodes. Rules never exceed it.
    pub nodes: usize,
}

impl Limits {
    /// The limit on the matches of one iteration, as a multiple of the node limit. It stops rules that match far more
    /// often than the e-graph may grow, before their matches fill the memory.
    const MATCHES_PER_NODE: usize = 64;

    fn matches(&self) -> usize {
        self.nodes.saturating_mul(Limits::MATCHES_PER_NODE)
    }
}

/// The reason why a run ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// In the last iteration every rule was applied to every match and nothing changed.
    Saturated,
    /// The caller's stopping condition held.
    Enough,
    /// The iterations were used up while the e-graph still changed.
    IterationLimit,
    /// One more application of this rule would have exceeded the node limit.
    NodeLimit {
        /// The rule.
        rule: &'static str,
    },
    /// This rule had more matches in one iteration than could ever be applied.
    MatchLimit {
        /// The rule.
        rule: &'static str,
    },
    /// Two different constants met in one class, so some rule is wrong.
    Contradiction {
        /// The rules whose equalities met in the class, the last applied first.
        rules: Vec<&'static str>,
        /// The constants.
        #[serde(skip)]
        constants: (Scalar, Scalar),
        /// The class, shown by some of its terms.
        class: String,
    },
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopReason::Saturated => write!(f, "saturated"),
            StopReason::Enough => write!(f, "enough was found"),
            StopReason::IterationLimit => write!(f, "iteration limit"),
            StopReason::NodeLimit { rule } => write!(f, "node limit, at rule `{rule}`"),
            StopReason::MatchLimit { rule } => write!(f, "match limit, at rule `{rule}`"),
            StopReason::Contradiction { rules, constants: (a, b), class } => {
                let rules = rules.iter().map(|rule| format!("`{rule}`")).join(", ");
                write!(f, "contradiction: {a} = {b} in the class of {class}, by {rules}")
            }
        }
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The iteration, from 1.
    pub iteration: usize,
    /// The e-nodes so far.
    pub nodes: usize,
    /// The e-classes so far.
    pub classes: usize,
}

/// The work of one rule in a run.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct RuleReport {
    /// The rule.
    pub rule: &'static str,
    /// New matches, to which the rule had not been applied. A match that waits for a condition counts again when its
    /// classes change.
    pub matches: usize,
    /// Matches that a condition refused, counted in every iteration.
    pub refused: usize,
    /// Applications.
    pub applications: usize,
    /// Applications that found a new equality.
    pub unions: usize,
    /// E-nodes that the rule added.
    pub nodes: usize,
    /// E-nodes that the rule added, for each iteration.
    pub growth: Vec<usize>,
    /// Time spent matching and applying the rule.
    #[serde(skip)]
    pub time: Spent,
}

/// The time that some work took. All times compare equal, so that two runs that did the same work are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent(pub Duration);

impl PartialEq for Spent {
    fn eq(&self, _: &Spent) -> bool {
        true
    }
}

impl Eq for Spent {}

impl RuleReport {
    /// Returns the report of a rule that has done nothing yet.
    pub fn new(rule: &'static str) -> RuleReport {
        RuleReport {
            rule,
            matches: 0,
            refused: 0,
            applications: 0,
            unions: 0,
            nodes: 0,
            growth: Vec::new(),
            time: Spent::default(),
        }
    }

    /// Adds the rule's work in another run.
    pub fn add(&mut self, other: &RuleReport) {
        self.matches += other.matches;
        self.refused += other.refused;
        self.applications += other.applications;
        self.unions += other.unions;
        self.nodes += other.nodes;
        self.growth.extend(&other.growth);
        self.time.0 += other.time.0;
    }

    /// Returns true if the rule was applied and changed anything. The numbers in its conditions, which are added before it
    /// is applied, do not count.
    pub fn fired(&self) -> bool {
        self.applications > 0 && (self.unions > 0 || self.nodes > 0)
    }
}

/// The result of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Saturation {
    /// Iterations begun.
    pub iterations: usize,
    /// The reason why the run ended.
    pub stop: StopReason,
    /// E-nodes at the end.
    pub nodes: usize,
    /// E-classes at the end.
    pub classes: usize,
    /// The reports of the rules, in the order given.
    pub rules: Vec<RuleReport>,
    /// The least exact of the rules that changed something; `None` if none did.
    pub exact: Option<Exactness>,
}

impl Saturation {
    /// Returns the reports of the rules that changed something, in the order given.
    pub fn fired(&self) -> impl Iterator<Item = &RuleReport> {
        self.rules.iter().filter(|report| report.fired())
    }
}

/// Applies rules to an e-graph until nothing changes or a limit is reached. The e-graph is clean afterwards.
pub fn saturate<A: Knowledge>(
    egraph: &mut EGraph<A>,
    rules: &[&CompiledRule],
    limits: &Limits,
) -> Saturation {
    saturate_observed(egraph, rules, limits, &mut ())
}

/// Does the same, observed: the observer hears of each iteration, and may end the run before the next.
pub fn saturate_observed<A: Knowledge>(
    egraph: &mut EGraph<A>,
    rules: &[&CompiledRule],
    limits: &Limits,
    observer: &mut impl Observer<A>,
) -> Saturation {
    let mut run = Run::new(egraph, rules, limits);
    let mut iterations = 0;
    let stop = run.start().err().unwrap_or_else(|| {
        loop {
            if observer.enough(run.egraph) {
                break StopReason::Enough;
            }
            if iterations == limits.iterations {
                break StopReason::IterationLimit;
            }
            iterations += 1;
            let result = iteration(&mut run);
            observer.progress(Progress {
                iteration: iterations,
                nodes: run.nodes(),
                classes: run.egraph.number_of_classes(),
            });
            match result {
                Ok(true) => {}
                Ok(false) => break StopReason::Saturated,
                Err(stop) => break stop,
            }
        }
    });
    let reports = run.finish();
    let fired = reports.iter().zip(rules).filter(|(report, _)| report.fired());
    let exact = fired.map(|(_, rule)| rule.exact).max();
    Saturation {
        iterations,
        stop,
        nodes: egraph.total_number_of_nodes(),
        classes: egraph.number_of_classes(),
        rules: reports,
        exact,
    }
}

/// Applies every rule to every match that it has not been applied to. Returns true if anything changed.
fn iteration<A: Knowledge>(run: &mut Run<'_, A>) -> Result<bool, StopReason> {
    let changes = run.changes();
    let found = run.search()?;
    // Every rule occurs in `found`, even if it has no matches.
    for matches in found.chunk_by(|a, b| a.rule == b.rule) {
        let start = clock::start();
        let rule = matches[0].rule;
        let applied = matches.iter().try_for_each(|matches| run.apply_all(rule, &matches.rows));
        run.applied_in(rule, start.elapsed());
        applied?;
    }
    run.rebuild()?;
    Ok(run.changes() != changes)
}
