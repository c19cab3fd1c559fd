//! The cost of whole terms according to the cost model, if they are finished programs.

use ember_analysis::facts::{EGraph, Facts};
use ember_compile::cost::{Cost, Fetches, Goal, Model, Rates};
use ember_compile::groups::Group;
use ember_compile::pipeline::Inputs;
use ember_compile::workload::Statistics;
use ember_extract::{CostModel, Limits, extract};
use ember_language::term::Term;

/// Prices of terms of one group of statements.
pub struct Prices<'a> {
    facts: Facts,
    rates: Rates,
    goal: Goal,
    statistics: &'a Statistics<'a>,
}

/// The cost of a finished program according to the cost model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// The estimate, in cycles.
    pub estimate: f64,
    /// The components of the cost.
    pub cost: Cost,
}

impl<'a> Prices<'a> {
    /// Creates prices for the machine and the data.
    pub fn new(
        inputs: &Inputs,
        statistics: &'a Statistics<'a>,
        group: &Group,
        goal: Goal,
    ) -> Prices<'a> {
        let facts = ember_compile::pipeline::facts(inputs, group);
        Prices { facts, rates: Rates::of(&inputs.machine), statistics, goal }
    }

    /// Returns the price of a term; `None` unless it is a finished program.
    pub fn of(&self, term: &Term) -> Option<Price> {
        // Most terms of a derivation still have a boundary somewhere, and need no e-graph to be found unfinished.
        let operators = self.facts.operators();
        if term.iter().any(|node| operators.of(node).is_some_and(|info| info.boundary)) {
            return None;
        }
        let mut egraph = EGraph::new(self.facts.clone());
        let root = egraph.add_expr(term);
        egraph.rebuild();
        let workload = self.statistics.workload(&egraph);
        let (goal, rates) = (self.goal, &self.rates);
        let model = Model::for_choice(goal, rates, &workload, Fetches::Each);
        let extraction = extract(&egraph, root, &model, &Limits::default());
        let summary = extraction.summary(*extraction.ranked().first()?);
        Some(Price { estimate: model.rank(summary), cost: summary.cost })
    }
}
