//! Extraction by prices: the cost of a shared class is divided among its users, and the shares are adapted.
//!
//! A selection must have a node of class `c` if it has a node that uses `c`. Here this may be violated, at a price for
//! each pair of a class and a class that it uses: who uses `c` pays, and `c` is paid. Then classes can be chosen one by
//! one, and what is found costs no more than the best selection, whatever the prices (Lagrangian relaxation). A price
//! rises while it is violated, by steps that Polyak's rule takes from what is still missing to the best selection that
//! is known; bounds approach that of the linear relaxation. Every few rounds the prices are read as shares: extraction
//! by tree cost, where a user pays its share of a class, gives a selection.

use crate::bound::{forced, needed, whole};
use crate::check::{Selection, check};
use crate::graph::{Class, Graph, Node};
use crate::lists::Lists;
use crate::order::Order;
use crate::{Extractor, Found, GreedyDag};

/// The extractor by prices. It begins with the result of [`GreedyDag`], and is never worse.
#[derive(Clone, Copy, Debug)]
pub struct Prices {
    /// The most rounds.
    pub rounds: usize,
    /// The most children that all rounds look at together.
    pub work: usize,
}

impl Default for Prices {
    fn default() -> Self {
        Prices { rounds: 1000, work: 200_000_000 }
    }
}

/// The rounds from one selection to the next.
const PERIOD: usize = 10;

/// The rounds without a better bound after which steps are halved.
const PATIENCE: usize = 15;

impl Extractor for Prices {
    fn name(&self) -> &'static str {
        "prices"
    }

    fn extract(&self, graph: &Graph) -> Found {
        let order = Order::of(graph);
        let mut market = Market::of(graph);
        let mut best = Best::of(graph, GreedyDag::default().extract(graph).selection);
        let rounds = self.rounds.min(self.work / (market.pairs.items() + graph.nodes().len() + 1));
        let (mut step, mut since) = (1.0, 0);
        let mut last = true;
        for round in 0..=rounds {
            let (bound, chosen) = market.choose(graph);
            since = if best.raise(graph, bound) { 0 } else { since + 1 };
            if round % PERIOD == 0 {
                best.offer(graph, market.selection(graph, &order));
            }
            if best.is_proved() || step < 1e-6 {
                last = false;
                break;
            }
            if since == PATIENCE {
                (step, since) = (step / 2.0, 0);
            }
            market.adapt(&chosen, step * (best.cost - bound));
        }
        let unfinished = last.then_some("the prices had not settled after the rounds allowed");
        Found { selection: best.selection, bound: best.bound, unfinished }
    }
}

/// The best selection and the best bound so far.
struct Best {
    selection: Selection,
    cost: f64,
    bound: f64,
}

impl Best {
    fn of(graph: &Graph, selection: Selection) -> Best {
        let cost = check(graph, &selection).map_or(f64::INFINITY, |costs| costs.dag);
        Best { selection, cost, bound: forced(graph).min(cost) }
    }

    fn offer(&mut self, graph: &Graph, selection: Selection) {
        if let Ok(costs) = check(graph, &selection)
            && costs.dag < self.cost
        {
            (self.selection, self.cost) = (selection, costs.dag);
        }
    }

    /// Raises the bound; returns true if it was lower.
    fn raise(&mut self, graph: &Graph, bound: f64) -> bool {
        // No selection is below the bound, so rounding alone can bring it above this one.
        let bound = whole(graph, bound).min(self.cost);
        let better = bound > self.bound;
        self.bound = self.bound.max(bound);
        better
    }

    fn is_proved(&self) -> bool {
        self.bound >= self.cost * (1.0 - 1e-12)
    }
}

/// The prices of all pairs of a class and a class that it uses.
struct Market {
    /// The used class of each pair, grouped by the user.
    pairs: Lists<Class>,
    prices: Vec<f64>,
    /// The place in `prices` of each node's uses, in their order.
    places: Lists<u32>,
    /// The sum of the prices that each class is paid.
    income: Vec<f64>,
    /// True for classes that every selection needs: nobody pays for them.
    needed: Vec<bool>,
}

impl Market {
    /// Begins with the costs of the cheapest trees, shared equally among all users.
    fn of(graph: &Graph) -> Market {
        let mut market = Market {
            pairs: Lists::default(),
            prices: Vec::new(),
            places: Lists::default(),
            income: vec![0.0; graph.classes().len()],
            needed: vec![false; graph.classes().len()],
        };
        needed(graph).iter().for_each(|class| market.needed[class.index()] = true);
        let mut users = vec![0_u32; graph.classes().len()];
        let mut starts = Vec::new();
        let mut start = 0;
        for class in graph.classes() {
            let nodes = graph.nodes_of(class).iter();
            let mut used: Vec<Class> = nodes.flat_map(|n| graph.uses(*n)).copied().collect();
            used.sort_unstable();
            used.dedup();
            used.iter().for_each(|class| users[class.index()] += 1);
            starts.push(start);
            start += used.len();
            market.pairs.push(used);
        }
        for node in graph.nodes() {
            let class = graph.class_of(node);
            let (pairs, start) = (market.pairs.of(class.0), starts[class.index()]);
            let place = |used: &Class| (start + pairs.binary_search(used).unwrap_or(0)) as u32;
            market.places.push(graph.uses(node).iter().map(place));
        }
        let share = |class: Class| if market.needed[class.index()] { 0.0 } else { 1.0 };
        let equal: Vec<f64> =
            graph.classes().map(|c| share(c) / f64::from(users[c.index()].max(1))).collect();
        let costs = market.values(graph, &Order::of(graph), |_, used| equal[used.index()]);
        let price = |class: &Class| costs.0[class.index()] * equal[class.index()];
        let price = |class: &Class| Some(price(class)).filter(|p| p.is_finite()).unwrap_or(0.0);
        market.prices = market.pairs.lists().flatten().map(price).collect();
        market.collect();
        market
    }

    /// Adds up what each class is paid.
    fn collect(&mut self) {
        self.income.fill(0.0);
        for (class, price) in self.pairs.lists().flatten().zip(&self.prices) {
            self.income[class.index()] += price;
        }
    }

    /// Chooses for each class the node that is cheapest at these prices, if the class is needed or earns more than it
    /// costs. Returns what all this costs, which no selection is below, and the nodes.
    fn choose(&self, graph: &Graph) -> (f64, Vec<Option<Node>>) {
        let cost = |node: &Node| {
            let paid = self.places.of(node.0).iter().map(|place| self.prices[*place as usize]);
            graph.cost(*node) + paid.sum::<f64>()
        };
        let mut bound = 0.0;
        let choice = |class: Class| {
            let nodes = graph.nodes_of(class).iter().map(|node| (cost(node), *node));
            let (cost, node) = nodes.min_by(|a, b| a.0.total_cmp(&b.0))?;
            let gain = cost - self.income[class.index()];
            let chosen = self.needed[class.index()] || gain < 0.0;
            bound += if chosen { gain } else { 0.0 };
            chosen.then_some(node)
        };
        let chosen = graph.classes().map(choice).collect();
        (bound, chosen)
    }

    /// Raises the prices of classes that are used and not chosen, and lowers those of classes that are chosen and not used.
    fn adapt(&mut self, chosen: &[Option<Node>], length: f64) {
        let mut violations = vec![0.0; self.prices.len()];
        for (violation, class) in violations.iter_mut().zip(self.pairs.lists().flatten()) {
            *violation = if chosen[class.index()].is_some() { -1.0 } else { 0.0 };
        }
        for place in chosen.iter().flatten().flat_map(|node| self.places.of(node.0)) {
            violations[*place as usize] += 1.0;
        }
        let used = self.pairs.lists().flatten();
        let mut total = 0.0;
        for ((violation, price), class) in violations.iter_mut().zip(&self.prices).zip(used) {
            // Nobody pays for a class that is needed, and no price falls below 0.
            if self.needed[class.index()] || (*violation < 0.0 && *price == 0.0) {
                *violation = 0.0;
            }
            total += *violation * *violation;
        }
        if total > 0.0 && length.is_finite() {
            for (price, violation) in self.prices.iter_mut().zip(violations) {
                *price = (*price + length / total * violation).max(0.0);
            }
        }
        self.collect();
    }

    /// Returns the selection where each user pays its share of a class, as its price is a share of all.
    fn selection(&self, graph: &Graph, order: &Order) -> Selection {
        let share = |place: usize, used: Class| {
            let income = self.income[used.index()];
            if income > 0.0 { self.prices[place] / income } else { 0.0 }
        };
        let (_, selection) = self.values(graph, order, share);
        selection
    }

    /// Returns the least cost of each class if a use costs a share of the used class's cost, and the nodes that cost this.
    fn values(
        &self,
        graph: &Graph,
        order: &Order,
        share: impl Fn(usize, Class) -> f64,
    ) -> (Vec<f64>, Selection) {
        let mut values = vec![f64::INFINITY; graph.classes().len()];
        let mut selection = Selection::new(graph);
        for class in &order.classes {
            for node in graph.nodes_of(*class).iter().filter(|node| order.admits(graph, **node)) {
                let uses = graph.uses(*node).iter().zip(self.places.of(node.0));
                let paid = uses.map(|(used, place)| match share(*place as usize, *used) {
                    // A class without a cost so far cannot be had for a share of 0 either.
                    share if values[used.index()].is_finite() => share * values[used.index()],
                    _ => f64::INFINITY,
                });
                let value = graph.cost(*node) + paid.sum::<f64>();
                if value < values[class.index()] {
                    values[class.index()] = value;
                    selection.choose(*class, *node);
                }
            }
        }
        (values, selection)
    }
}
