//! Estimates of the cost model beside simulation. Programs are drawn from the e-graphs of a search, whatever they cost,
//! and run on data: the cost model must order those that the search would never choose, too, since it decides what is
//! kept on the way.

use crate::cost::{Cost, Fetches, Model, Pricing, Rates, Summary, identity};
use crate::groups::{Chooser, Plan};
use crate::pipeline::{self, Case, Inputs, Options};
use crate::search::{Candidate, Event};
use egg::{Id, Symbol};
use ember_analysis::facts::{EGraph, Facts};
use ember_extract::{CandidateId, CostModel, Limits, extract};
use ember_host::threads;
use ember_language::rules::Schedule;
use ember_language::term::Node;
use ember_targets::print::print;
use std::collections::BTreeSet;

/// The programs to draw for each group of statements.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// The most programs that are drawn.
    pub programs: usize,
    /// The seed of the choices.
    pub seed: u64,
}

/// A program that was drawn and has run.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The cycles that the cost model expects of it, as a finished program.
    pub expected: f64,
    /// The cost from which it expects them.
    pub cost: Cost,
    /// The cycles of its run.
    pub cycles: u64,
}

/// How well estimates fit the cycles of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The number of programs.
    pub programs: usize,
    /// The median of the relative errors of the estimates.
    pub error: f64,
    /// Spearman's correlation of the ranks; `None` if there is nothing to order.
    pub correlation: Option<f64>,
}

impl Fit {
    /// Compares estimates with cycles.
    pub fn of(drawn: &[&Drawn]) -> Fit {
        let errors = drawn.iter().map(|d| (d.expected / d.cycles as f64 - 1.0).abs());
        let mut errors: Vec<f64> = errors.collect();
        errors.sort_by(f64::total_cmp);
        let estimates: Vec<f64> = drawn.iter().map(|d| d.expected).collect();
        let cycles: Vec<f64> = drawn.iter().map(|d| d.cycles as f64).collect();
        Fit {
            programs: drawn.len(),
            error: errors.get(errors.len() / 2).copied().unwrap_or(0.0),
            correlation: correlation(&ranks(&estimates), &ranks(&cycles)),
        }
    }
}

/// Draws programs for a group of a plan from the e-graphs that a search extracts from, runs them, and returns those that
/// finish within the options' limit of cycles. No two have the same text.
pub fn drawn(
    inputs: &Inputs,
    case: &Case,
    options: &Options,
    schedule: &Schedule,
    (plan, at): (&Plan, usize),
    draw: Draw,
) -> Vec<Drawn> {
    let statistics = case.statistics_of_finished(inputs);
    let goal = pipeline::goal(&inputs.book, schedule);
    let rates = Rates::of(&inputs.machine);
    let mut chooser = Chooser::new(inputs, Some(case), goal);
    chooser.cycles = options.cycle_limit;
    let mut known = BTreeSet::new();
    let mut distinct: Vec<(u64, Candidate, Cost)> = Vec::new();
    let mut watch = |egraph: &EGraph, root: Id, event: Event<'_>| {
        let Event::Extracted { .. } = event else { return };
        let workload = statistics.workload(egraph);
        let model = Model::for_choice(goal, &rates, &workload, Fetches::Each);
        let finished = Model { pricing: Pricing::Program, ..model };
        for candidate in by_lot(egraph, root, &model, draw.seed, schedule.name) {
            let Ok(program) = chooser.program_of(plan, at, &candidate) else { continue };
            let text = print(program.program());
            let lot = identity(&(draw.seed, &text));
            if !known.insert(text) {
                continue;
            }
            if let Some(summary) = finished.of_term(egraph, &candidate.term) {
                distinct.push((lot, candidate, summary.alone));
            }
        }
    };
    pipeline::watch(inputs, &statistics, options, schedule, (plan, at), &mut watch);
    distinct.sort_by_key(|(lot, ..)| *lot);
    distinct.truncate(draw.programs);
    let run = |(_, candidate, cost): &(u64, Candidate, Cost)| {
        let cycles = chooser.cycles_of(plan, at, candidate).ok()?;
        Some(Drawn { expected: rates.expected(cost), cost: *cost, cycles })
    };
    threads::map(&distinct, run).into_iter().flatten().collect()
}

/// The number of drawings from one e-graph. Each gives about as many programs as an extraction keeps for a class.
const SALTS: u64 = 8;

/// The bounds of a drawing.
const LIMITS: Limits = Limits { per_class: 24, at_root: 24, per_node: 256, rounds: 16 };

/// Returns finished programs of an e-graph that a seed draws, whatever they cost. Some may be the same.
pub fn by_lot(
    egraph: &EGraph,
    root: Id,
    model: &Model<'_>,
    seed: u64,
    schedule: Symbol,
) -> Vec<Candidate> {
    let drawn = (0..SALTS).flat_map(|salt| {
        let lots = Lots { model, salt: identity(&(seed, salt)) };
        let extraction = extract(egraph, root, &lots, &LIMITS);
        let candidate = |id: &CandidateId| {
            let (summary, term) = (extraction.summary(*id), extraction.term(*id));
            let estimate = model.rank(summary);
            Candidate { schedule, place: 0, term, estimate, cost: summary.alone }
        };
        extraction.ranked().iter().map(candidate).collect::<Vec<_>>()
    });
    drawn.collect()
}

/// A cost model that prices terms like another, but draws by lot which it keeps.
struct Lots<'a> {
    model: &'a Model<'a>,
    salt: u64,
}

impl CostModel<Node, Facts> for Lots<'_> {
    type Summary = Summary;

    fn combine(&self, egraph: &EGraph, node: &Node, children: &[&Summary]) -> Option<Summary> {
        self.model.combine(egraph, node, children)
    }

    /// A term that contains another of its class replaces nothing.
    fn dominates(&self, a: &Summary, b: &Summary) -> bool {
        a.key == b.key || (a.size < b.size && a.alone == b.alone && a.dominates(b))
    }

    fn rank(&self, summary: &Summary) -> f64 {
        self.kind(summary) as f64
    }

    fn alike(&self, _: &Summary, _: &Summary) -> bool {
        false
    }

    fn kind(&self, summary: &Summary) -> u64 {
        identity(&(self.salt, summary.key))
    }

    fn is_finished(&self, summary: &Summary) -> bool {
        self.model.is_finished(summary)
    }
}

/// Returns the rank of each value; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |value: f64| values.iter().filter(|other| **other < value).count() as f64;
    let equal = |value: f64| values.iter().filter(|other| **other == value).count() as f64;
    values.iter().map(|value| below(*value) + (equal(*value) - 1.0) / 2.0).collect()
}

/// Returns Pearson's correlation of two series of one length; `None` if one of them does not vary.
fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| {
        a.iter().zip(b).map(|(a, b)| f(a - mean_a, b - mean_b)).sum::<f64>()
    };
    let scale = (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt();
    (scale > 0.0).then(|| sum(&|a, b| a * b) / scale)
}

#[cfg(test)]
mod tests {
    use super::{correlation, ranks};

    #[test]
    fn equal_values_share_a_rank() {
        assert_eq!(ranks(&[30.0, 10.0, 30.0, 20.0]), [2.5, 0.0, 2.5, 1.0]);
    }

    /// The second series is the first one's ranks with two neighbours exchanged: 1 - 6 * 2 / (5 * 24).
    #[test]
    fn correlations_of_ranks_are_those_of_spearman() {
        let spearman = |a: &[f64], b: &[f64]| correlation(&ranks(a), &ranks(b));
        let found = spearman(&[1.0, 10.0, 100.0, 1e3, 1e4], &[1.0, 2.0, 3.0, 5.0, 4.0]);
        assert!((found.expect("they vary") - 0.9).abs() < 1e-12);
        assert_eq!(spearman(&[1.0, 2.0], &[3.0, 3.0]), None);
        assert_eq!(spearman(&[1.0, 2.0], &[4.0, 3.0]), Some(-1.0));
    }
}
