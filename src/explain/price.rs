//! What whole terms cost by the cost model, where they are finished programs.

use crate::cost::{Cost, Goal, Model, Rates};
use crate::facts::{EGraph, Facts};
use crate::pipeline::Inputs;
use crate::term::Term;
use crate::whole::Group;
use crate::workload::Statistics;
use ember_extract::{CostModel, Limits, extract};

/// Prices of terms of one group of statements.
pub struct Prices<'a> {
    facts: Facts,
    rates: Rates,
    statistics: &'a Statistics<'a>,
}

/// What a finished program costs by the cost model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// The estimate, in cycles.
    pub estimate: f64,
    /// What it is made of.
    pub cost: Cost,
}

impl<'a> Prices<'a> {
    /// Prices on the machine and data at hand.
    pub fn new(inputs: &Inputs, statistics: &'a Statistics<'a>, group: &Group) -> Prices<'a> {
        let facts = crate::pipeline::facts(inputs, group);
        Prices { facts, rates: Rates::of(&inputs.machine), statistics }
    }

    /// The price of a term; `None` unless it is a finished decoupled program.
    pub fn of(&self, term: &Term) -> Option<Price> {
        let mut egraph = EGraph::new(self.facts.clone());
        let root = egraph.add_expr(term);
        egraph.rebuild();
        let workload = self.statistics.workload(&egraph);
        let (goal, rates) = (Goal::Decoupled, &self.rates);
        let model = Model { goal, rates, workload: &workload, fetches: true };
        let extraction = extract(&egraph, root, &model, &Limits::default());
        let summary = extraction.summary(*extraction.ranked().first()?);
        Some(Price { estimate: model.rank(summary), cost: summary.cost })
    }
}
