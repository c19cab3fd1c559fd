//! A bound by the cost model that no finished program of an e-graph is below.
//!
//! The estimate of a program is mainly the time of its slowest resource. If each resource has a price, and all prices
//! together are 1, then what the program uses of all resources costs no more than that (Lagrangian relaxation). At fixed
//! prices the cost of a term is nearly a sum over its parts, so that few candidates of a class can be the best, and those
//! that are too many can be replaced by a common bound. The prices are chosen so that the bound is high.

use super::{Cost, Fetches, Goal, Model, Passed, Pricing, Rates, Summary, Workload};
use egg::{Id, Language};
use ember_analysis::facts::{EGraph, Facts};
use ember_extract::{CostModel, FloorLimits, Relaxation};
use ember_language::term::{Node, Term};
use ember_values::capability::Capability;
use microlp::{ComparisonOp, OptimizationDirection, Problem};

/// The most rounds in which prices are adapted.
const ROUNDS: usize = 12;

/// The part of a bound that is too small to go on for.
const CLOSE: f64 = 1e-3;

/// The bounds on the work of a round, and on that of the last one, at the best prices. A million combinations take about
/// a second.
const ROUND: FloorLimits = FloorLimits { per_class: 8, most: 64, work: 500_000 };
const LAST: FloorLimits = FloorLimits { per_class: 32, most: 96, work: 4_000_000 };

/// Returns an estimate, in cycles, that no decoupled program of a class is below; `None` if there is none, or if it takes
/// too long to find out. The first prices are made for the programs that are known, by the node of the class that they
/// begin with and their costs.
///
/// Programs that begin with different nodes have prices of their own, since nothing is between them: the bound of all is
/// that of the lowest.
pub fn floor(
    egraph: &EGraph,
    root: Id,
    (rates, workload): (&Rates, &Workload),
    known: &[(&Term, Cost)],
) -> Option<f64> {
    let fetches = match rates.capabilities.has(Capability::Prefetch) {
        true => Fetches::Each,
        false => Fetches::Never,
    };
    let model = Model { goal: Goal::Decoupled, rates, workload, fetches, pricing: Pricing::Bound };
    let known: Vec<(Option<Node>, Cost)> =
        known.iter().map(|(term, cost)| (start(egraph, term), *cost)).collect();
    let nodes = egraph[egraph.find(root)].nodes.iter();
    let mut parts: Vec<Part> = nodes.map(|node| Part::of(egraph, node, &known)).collect();
    let best = known.iter().map(|(_, cost)| rates.cycles(cost)).fold(f64::INFINITY, f64::min);
    let round = |prices: [f64; RESOURCES], limits: &FloorLimits, parts: &mut [Part]| {
        let floor = Floor { model: &model, prices };
        let least = ember_extract::floor(egraph, root, &floor, limits)?;
        for (part, least) in parts.iter_mut().zip(least) {
            part.learn(prices, least.map(|least| (floor.cost(&least), least.alone)));
        }
        Some(())
    };
    let least = |parts: &[Part]| parts.iter().min_by(|a, b| a.bound.total_cmp(&b.bound)).cloned();
    let all = Part { bound: 0.0, at: None, costs: known.iter().map(|(_, cost)| *cost).collect() };
    round(all.prices(rates)?.0, &ROUND, &mut parts)?;
    for _ in 1..ROUNDS {
        let lowest = least(&parts)?;
        let (prices, most) = lowest.prices(rates)?;
        // What was found so far holds, even if another round takes too long.
        if lowest.bound >= best.min(most) * (1.0 - CLOSE)
            || round(prices, &ROUND, &mut parts).is_none()
        {
            break;
        }
    }
    let lowest = least(&parts)?;
    if lowest.bound < best * (1.0 - CLOSE) {
        let _ = round(lowest.at?, &LAST, &mut parts);
    }
    Some(least(&parts)?.bound).filter(|bound| bound.is_finite())
}

/// Returns the node that a term of an e-graph begins with.
fn start(egraph: &EGraph, term: &Term) -> Option<Node> {
    let mut classes: Vec<Id> = Vec::with_capacity(term.len());
    let mut last = None;
    for node in term {
        let node = node.clone().map_children(|child| classes[usize::from(child)]);
        classes.push(egraph.lookup(node.clone())?);
        last = Some(node);
    }
    last
}

/// The programs that begin with one node of the root class.
#[derive(Clone)]
struct Part {
    /// The cycles that none of them is below; infinite if there is none.
    bound: f64,
    /// The prices at which this was found.
    at: Option<[f64; RESOURCES]>,
    /// The costs of some of them, and of candidates that stand for several.
    costs: Vec<Cost>,
}

impl Part {
    /// Begins with the programs that are known.
    fn of(egraph: &EGraph, node: &Node, known: &[(Option<Node>, Cost)]) -> Part {
        let node = Some(node.clone().map_children(|child| egraph.find(child)));
        let own = known.iter().filter(|(start, _)| *start == node);
        Part { bound: 0.0, at: None, costs: own.map(|(_, cost)| *cost).collect() }
    }

    /// Takes a bound at some prices into account, and the cost that it is for.
    fn learn(&mut self, at: [f64; RESOURCES], least: Option<(f64, Cost)>) {
        let bound = least.map_or(f64::INFINITY, |(bound, _)| bound);
        if bound > self.bound {
            (self.bound, self.at) = (bound, Some(at));
        }
        self.costs.extend(least.map(|(_, cost)| cost));
    }

    /// Returns the prices at which the least of the costs is the greatest, and that cost (Kelley, "The cutting-plane method
    /// for solving convex programs", 1960).
    fn prices(&self, rates: &Rates) -> Option<([f64; RESOURCES], f64)> {
        let mut problem = Problem::new(OptimizationDirection::Maximize);
        let least = problem.add_var(1.0, (0.0, MOST));
        let prices = [(); RESOURCES].map(|()| problem.add_var(0.0, (0.0, 1.0)));
        problem.add_constraint(prices.map(|price| (price, 1.0)), ComparisonOp::Eq, 1.0);
        let scale = self.costs.iter().map(|cost| rates.cycles(cost)).fold(f64::INFINITY, f64::min);
        let scale = if scale.is_finite() { scale.max(1.0) } else { 1.0 };
        for cost in &self.costs {
            let uses = rates.resources(cost).map(|(_, cycles)| -cycles / scale);
            let priced = prices.into_iter().zip(uses).chain([(least, 1.0)]);
            let beside = (cost.waits + rates.beside(cost)) / scale;
            problem.add_constraint(priced, ComparisonOp::Le, beside);
        }
        let outcome = problem.solve().ok()?;
        let solution = outcome.solution()?;
        let prices = prices.map(|price| solution.var_value(price).max(0.0));
        // By rounding, the sum may be more than 1.
        let sum = prices.iter().sum::<f64>().max(1.0);
        let prices = prices.map(|price| price / sum);
        Some((prices, solution.objective() * scale))
    }
}

/// A cost far above that of any program, relative to one of them.
const MOST: f64 = 1e6;

/// The resources of a machine.
const RESOURCES: usize = 6;

/// The relaxed cost model at fixed prices.
struct Floor<'a> {
    model: &'a Model<'a>,
    /// The price of each resource, all of them 1 together.
    prices: [f64; RESOURCES],
}

/// The parts of a cost that matter in different ways until a loop encloses them: what has a price, the time of the
/// execute unit, and the operations of its ports.
type Parts = [f64; 5];

impl Floor<'_> {
    /// Returns the parts of a cost.
    fn parts(&self, cost: &Cost) -> Parts {
        let apart = Cost { execute: 0.0, issued: 0.0, vector: 0.0, loaded: 0.0, ..*cost };
        [self.cycles(&apart), cost.execute, cost.issued, cost.vector, cost.loaded]
    }

    /// Returns true if no part of a cost is greater than that of the other.
    fn is_at_most(&self, a: &Cost, b: &Cost) -> bool {
        self.parts(a).iter().zip(self.parts(b)).all(|(a, b)| *a <= b)
    }

    /// Returns the cycles that the resources cost at these prices.
    fn cycles(&self, cost: &Cost) -> f64 {
        let rates = self.model.rates;
        let uses = rates.resources(cost).map(|(_, cycles)| cycles);
        let priced: f64 = uses.iter().zip(self.prices).map(|(used, price)| used * price).sum();
        priced + cost.waits + rates.beside(cost)
    }

    /// Returns the traffic of intermediate tensors of two candidates, of which none is greater than that of either.
    fn least_passed(&self, a: &Summary, b: &Summary) -> Vec<Passed> {
        let least = |own: &Passed| {
            let other = b.passed.iter().find(|other| own.is_like(other));
            let cost = other.map_or(own.cost, |other| self.common(&own.cost, &other.cost));
            Passed { cost, ..own.clone() }
        };
        a.passed.iter().map(least).collect()
    }

    /// Returns true if the traffic of each intermediate tensor of a candidate costs no more than in the other one.
    fn passes_no_more(&self, a: &Summary, b: &Summary) -> bool {
        a.passed.iter().all(|own| {
            let other = b.passed.iter().find(|other| own.is_like(other));
            other.is_some_and(|other| self.is_at_most(&own.cost, &other.cost))
        })
    }

    /// Returns a cost of which no part is greater than that of either.
    fn common(&self, a: &Cost, b: &Cost) -> Cost {
        let [first, second] = [a, b].map(|cost| self.parts(cost)[0]);
        Cost {
            execute: a.execute.min(b.execute),
            issued: a.issued.min(b.issued),
            vector: a.vector.min(b.vector),
            loaded: a.loaded.min(b.loaded),
            ..if first <= second { *a } else { *b }
        }
    }
}

impl Relaxation<Node, Facts> for Floor<'_> {
    type Summary = Summary;

    fn combine(&self, egraph: &EGraph, node: &Node, children: &[&Summary]) -> Option<Summary> {
        self.model.combine(egraph, node, children)
    }

    fn dominates(&self, a: &Summary, b: &Summary) -> bool {
        // What costs least to find out stands first.
        a.share <= b.share
            && a.walks <= b.walks
            && a.callback_here >= b.callback_here
            && is_like(a, b)
            && a.stored.is_subset(&b.stored)
            && a.touched.is_subset(&b.touched)
            && self.is_at_most(&a.cost, &b.cost)
            && a.streams.is_included(&b.streams)
            && self.passes_no_more(a, b)
    }

    fn meet(&self, a: &Summary, b: &Summary) -> Option<Summary> {
        is_like(a, b).then(|| {
            let mut meet = Summary {
                size: a.size.min(b.size),
                cost: self.common(&a.cost, &b.cost),
                streams: a.streams.common(&b.streams),
                share: a.share.min(b.share),
                walks: a.walks && b.walks,
                callback_here: a.callback_here || b.callback_here,
                stored: a.stored.common(&b.stored),
                touched: a.touched.common(&b.touched),
                passed: self.least_passed(a, b),
                ..a.clone()
            };
            meet.alone = self.model.alone(&meet);
            meet
        })
    }

    fn cost(&self, summary: &Summary) -> f64 {
        self.cycles(&summary.alone)
    }

    fn is_finished(&self, summary: &Summary) -> bool {
        self.model.is_finished(summary)
    }
}

/// Returns true if both candidates can have the same parts around them, apart from what these store and touch.
fn is_like(a: &Summary, b: &Summary) -> bool {
    a.element == b.element
        && a.lanes == b.lanes
        && a.stride == b.stride
        && a.literal == b.literal
        && a.tensor == b.tensor
        && a.stream_scope == b.stream_scope
        && a.execute_scope == b.execute_scope
        && a.loads == b.loads
        && a.chains == b.chains
        && a.passes_like(b)
}
