//! The cost model of extraction: the cost of a term on a machine.
//!
//! The summary of a candidate holds its cost per evaluation as a vector, its scope on each unit, and the streams it
//! uses that no enclosing loop has paid for yet. A stream is paid for once, at the loop that binds its deepest
//! variable, however often the body uses it. The rates and prices come from the machine description; trip counts and
//! reuse come from the data.

mod access;
mod awaited;
mod execute;
mod few;
mod finished;
mod floor;
mod lengths;
mod memory;
mod product;
mod summary;
mod term;
mod vector;

pub use awaited::Awaited;
pub use execute::is_held;
pub use few::Few;
pub use finished::Finished;
pub use floor::floor;
pub use lengths::Lengths;
pub(crate) use summary::identity;
pub use summary::{Load, Passed, StreamUse, Streams, Summary};
pub use vector::{Cost, Rates};

use access::POLLUTION;
use egg::{Id, Language, Symbol};
use ember_analysis::effects::variable_key;
use ember_analysis::facts::{EGraph, Facts, single_value};
use ember_extract::CostModel;
use ember_language::rules::{Kind, Unit};
use ember_language::term::{Head, Node, Term};
use ember_values::primitive::Price;
use ember_values::primitive::form::{Form, Number, Operation};
use finished::found;
use rustc_hash::{FxHashMap, FxHashSet};
use term::{Operand, Priced};

/// The statistics of the data for the loops and loads of a program.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// The average trip count of each loop, by the key of its variable.
    pub trips: FxHashMap<Id, f64>,
    /// The share of line requests that touch a line for the first time, by tensor name in terms.
    pub first_touch: FxHashMap<Symbol, f64>,
    /// The share of line requests that the core's first cache could not serve, by tensor name in terms.
    pub past_l1: FxHashMap<Symbol, f64>,
    /// The share of line requests that the core's L2 could not serve if all went through it, by tensor name in terms.
    pub past_l2: FxHashMap<Symbol, f64>,
    /// The share of additions to rows that find them in no cache, for rows that indices say, by tensor name in terms.
    pub scattered: FxHashMap<Symbol, f64>,
    /// The extents of each tensor, by its name in terms.
    pub extents: FxHashMap<Symbol, Vec<f64>>,
    /// The bytes of all tensors of the model together, those of other groups, too.
    pub bytes: f64,
    /// The intermediate tensors, which nothing outside of the program reads, by their names in terms.
    pub intermediate: FxHashSet<Symbol>,
    /// The lengths of bags, by the name of the offsets tensor in terms.
    pub lengths: FxHashMap<Symbol, Lengths>,
    /// The share of a tensor's lines from DRAM by which the half of the run with more of them has more than the other half, by
    /// its name in terms; for finished programs.
    pub uneven: FxHashMap<Symbol, f64>,
}

/// The kind of program that an extraction looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Access and execute code: terms of sort Slc.
    Decoupled,
    /// One sequential program: terms of sort Stmt.
    Coupled,
}

/// The price of prefetches while the loops around a candidate are not known. None is right in every context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetches {
    /// There are none.
    Never,
    /// Each evaluation pays for all of them.
    Each,
    /// One that does not depend on a loop is made once for all its iterations, so that an evaluation pays a part. Otherwise
    /// a row that an outer loop prefetches ranks programs that prefetch one in each inner iteration as well after those
    /// that wait for it.
    Shared,
    /// Each evaluation pays for all of them, and the execute unit waits for those that nothing announces.
    Waited,
    /// Each evaluation pays for all of them, and only vectors are prefetched: numbers pass the queue. The core's first cache
    /// holds the vectors that it would hold if nothing else passed it.
    Vectors,
}

/// The use of a model's prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pricing {
    /// To choose among terms, the parts of which are chosen apart.
    Choice,
    /// To bound programs: none costs more than for a choice, and prices are monotone. Equal streams of a class are one.
    Bound,
    /// To estimate a finished program, all parts of which are known: a place that several loads of an iteration ask for comes
    /// from memory once, and so does each place that does not depend on a loop.
    Program,
}

/// The cost model of one machine and workload.
pub struct Model<'a> {
    /// The kind of program.
    pub goal: Goal,
    /// The rates and prices of the machine.
    pub rates: &'a Rates,
    /// The statistics of the data.
    pub workload: &'a Workload,
    /// How data that the access unit prefetches for the execute unit is priced.
    pub fetches: Fetches,
    /// The use of the prices.
    pub pricing: Pricing,
}

impl CostModel<Node, Facts> for Model<'_> {
    type Summary = Summary;

    fn combine(&self, egraph: &EGraph, node: &Node, children: &[&Summary]) -> Option<Summary> {
        let mut summary = self.combined(egraph, node, children)?;
        if self.pricing == Pricing::Bound
            && let Some(class) = egraph.lookup(node.clone())
        {
            summary.identify_class(class);
        }
        Some(summary)
    }

    fn dominates(&self, a: &Summary, b: &Summary) -> bool {
        a.dominates(b)
    }

    fn rank(&self, summary: &Summary) -> f64 {
        self.rates.cycles(&summary.alone) + summary.size * 1e-6
    }

    fn alike(&self, a: &Summary, b: &Summary) -> bool {
        a.alone.is_near(&b.alone) && a.fits(b)
    }

    /// Candidates with the same loop nest have the same kind, because estimates ignore the order in which memory is
    /// accessed.
    fn kind(&self, summary: &Summary) -> u64 {
        summary.loops
    }

    fn is_finished(&self, summary: &Summary) -> bool {
        summary.stream_scope.is_empty() && summary.execute_scope.is_empty()
    }
}

impl<'a> Model<'a> {
    /// Creates the model by which a search chooses among terms.
    pub fn for_choice(
        goal: Goal,
        rates: &'a Rates,
        workload: &'a Workload,
        fetches: Fetches,
    ) -> Model<'a> {
        Model { goal, rates, workload, fetches, pricing: Pricing::Choice }
    }
}

impl Model<'_> {
    /// Prices a term whose nodes are all in an e-graph.
    pub fn of_term(&self, egraph: &EGraph, term: &Term) -> Option<Summary> {
        let mut priced: Vec<(Id, Summary)> = Vec::new();
        for node in term.as_ref() {
            let own = node.clone().map_children(|child| priced[usize::from(child)].0);
            let operands: Vec<&Summary> =
                node.children().iter().map(|child| &priced[usize::from(*child)].1).collect();
            let summary = self.combine(egraph, &own, &operands)?;
            priced.push((egraph.lookup(own)?, summary));
        }
        priced.pop().map(|(_, summary)| summary)
    }

    /// Returns the summary of a node, with the structural key of its term.
    fn combined(&self, egraph: &EGraph, node: &Node, children: &[&Summary]) -> Option<Summary> {
        let Head::Op(name) = node.head() else { return Some(Summary::leaf(node, true)) };
        let name = name.as_str();
        let is_name = name.starts_with('%');
        let mut summary = match egraph.analysis.operators().of(node) {
            Some(info) => self.price(&Priced { egraph, node, info, operands: children })?,
            None if is_name => Summary::passive(children),
            // An operator that is declared nowhere has no known cost and occurs in no program.
            None => return None,
        };
        // Streams are added up in the order of their keys, so no key may depend on what a tensor is called.
        match is_name.then(|| egraph.lookup(node.clone())).flatten() {
            Some(class) => summary.identify_name(class),
            None => summary.identify(name, children),
        }
        summary.alone = self.alone(&summary);
        Some(summary)
    }

    /// Returns the cost of a candidate if nothing around it shares its streams.
    fn alone(&self, summary: &Summary) -> Cost {
        let passed = summary
            .passed
            .iter()
            .fold(summary.cost, |cost, passed| cost + passed.cost + passed.kept);
        let passed = Cost { execute: passed.execute + summary.awaited(), ..passed };
        summary.streams.values().fold(passed, |cost, stream| {
            let once = self.stream_cost(stream, None) + self.hand_over(stream, 0.0);
            // Beside prefetches, a value is held because it is computed once for all iterations.
            let held = stream.computed != Cost::default() && self.fetches != Fetches::Never;
            match held || stream.fetched && self.fetches == Fetches::Shared {
                true => cost + once * self.iterations(summary, stream).recip(),
                false => cost + once,
            }
        })
    }

    /// Returns how often a candidate is evaluated while a stream stays the same, in the loops that both need.
    fn iterations(&self, summary: &Summary, stream: &StreamUse) -> f64 {
        let loops = summary.stream_scope.union(&summary.execute_scope);
        let others = loops.filter(|key| !stream.scope.contains(key));
        others.map(|key| self.trips(*key).max(1.0)).product()
    }

    fn trips(&self, key: Id) -> f64 {
        self.workload.trips.get(&key).copied().unwrap_or(1.0)
    }

    /// Prices a term from its operands; `None` for a term that occurs in no finished program.
    fn price(&self, term: &Priced<'_>) -> Option<Summary> {
        if term.info.boundary || term.info.price == Some(Price::Folded) {
            return None;
        }
        match term.info.unit {
            Some(Unit::Access) => self.stream_term(term),
            Some(Unit::Both) => self.statement_of_both(term),
            Some(Unit::Execute) => self.execute(term),
            None => self.unplaced(term),
        }
    }

    /// Prices a term that has no unit yet: names, numbers and sizes, which any program has, and everything in a coupled
    /// program.
    fn unplaced(&self, term: &Priced<'_>) -> Option<Summary> {
        let passive = Summary::passive(term.operands);
        match (term.info.kind?, term.form()) {
            (
                Kind::Value,
                Some(Form::Number { value: Number::Size(_) | Number::Literal(_), .. }),
            ) => Some(Summary { literal: true, ..passive }),
            (Kind::Value | Kind::Address | Kind::Statement, _) if self.goal == Goal::Coupled => {
                self.execute(term)
            }
            (Kind::Statement, _) => None,
            // Arithmetic on sizes is evaluated when the program is bound to its data.
            (Kind::Value, Some(Form::Binary(Operation::Is(_), _))) => {
                Some(Summary { literal: term.operands.iter().all(|x| x.literal), ..passive })
            }
            (Kind::Value | Kind::Address, form) => form.map(|_| passive),
            // Tensors occur in the names of loop variables. The operations on them must be lowered.
            _ => Some(passive),
        }
    }

    /// Encloses the traffic of intermediate tensors in a loop with these bounds, lower and upper ones, on each unit.
    fn repeat(&self, key: Id, bounds: &[[&Summary; 2]], body: &mut Summary) {
        let trips = self.trips(key);
        // Parts of different iterations are beside each other.
        body.cost.apart = 0.0;
        body.repeat_awaited(trips);
        if self.pricing != Pricing::Program {
            body.passed.retain(|passed| !(passed.written && passed.read));
            body.passed.iter_mut().for_each(|passed| passed.cost = passed.cost * trips);
            return;
        }
        let offsets =
            bounds.iter().find_map(|[lo, hi]| lo.tensor.filter(|_| lo.tensor == hi.tensor));
        let entered = self.occupied_share(offsets);
        for passed in &mut body.passed {
            if passed.written && passed.read {
                passed.cost = Cost::default();
            }
            // What does not depend on the variable is one place in all iterations, if there are any.
            let moves = passed.scope.contains(&key);
            let times = if moves { trips } else { entered };
            passed.run.lines *= times;
            // Where a loop begins decides which places it reaches.
            if moves {
                passed.looped = true;
                bounds.iter().flatten().for_each(|bound| passed.scope.unite(&bound.variables()));
            }
            (passed.cost, passed.kept) = (passed.cost * times, passed.kept * times);
        }
    }

    /// Adds the stream by which the access unit prefetches an address to the streams that a node uses.
    fn prefetch(&self, term: &Priced<'_>, ahead: Operand<'_>, summary: &mut Summary) {
        let Operand { id: place, summary: ahead } = ahead;
        summary.identify(term.info.name.as_str(), &[ahead]);
        let known = || self.workload.past_l2.get(&ahead.tensor?).copied();
        let through_l2 = if self.is_finished_program() { known() } else { None };
        self.define(summary, summary.key);
        summary.streams.insert(
            summary.key,
            StreamUse {
                through_l2,
                scope: ahead.stream_scope.clone(),
                element: ahead.element,
                lanes: ahead.lanes,
                stride: ahead.stride,
                loads: true,
                place: Some(term.egraph.find(place)),
                stays: true,
                fetched: true,
                past_l1: self.past_l1(ahead),
                misses: self.misses(ahead) * (1.0 + POLLUTION),
                activations: self.activations(ahead),
                uneven: self.uneven(ahead),
                ..StreamUse::default()
            },
        );
    }

    /// Closes the scope of an access loop over a body, and pays for the streams that the loop binds.
    fn bind(&self, key: Id, body: &mut Summary) {
        let mut widest = 8.0f64;
        let mut paid = body.streams.take(|stream| stream.scope.contains(&key));
        // In a finished program, loads of one place are made in the order in which the access unit defines them.
        if let Some(finished) = &body.finished {
            paid.sort_by_key(|(key, _)| finished.place(*key));
        }
        let paid: Vec<&StreamUse> = paid.iter().map(|(_, stream)| stream.as_ref()).collect();
        for stream in paid.iter().filter(|s| s.marshalled) {
            widest = widest.max((stream.element * stream.lanes).min(self.rates.line_bytes));
        }
        let mut fetched = 0.0;
        for (at, stream) in paid.iter().enumerate() {
            let found = if self.is_finished_program() { found(&paid, at) } else { None };
            let stream = found.as_ref().unwrap_or(stream);
            let streamed = self.stream_cost(stream, Some(key));
            body.cost = body.cost + streamed + self.hand_over(stream, widest);
            if stream.fetched {
                fetched += streamed.dram_bytes / self.rates.line_bytes;
            }
            // The core would find data in its L2 that it also loads itself. Of a finished program, it is known that most of
            // what passes the L2 is in other places of the tensor.
            let choice = self.pricing != Pricing::Program;
            if choice && stream.past_l2.is_some_and(|tensor| body.touched.contains(&tensor)) {
                body.cost.execute += streamed.lines * self.rates.exposed_llc;
            }
        }
        if self.fetches == Fetches::Waited {
            let announces = body.cost.announces();
            body.cost = self.rates.announced(&body.cost);
            // An item of the same iteration follows the lines that it needs.
            if !announces {
                body.cost.unannounced += fetched;
            }
        }
        body.stream_scope.remove(&key);
        body.execute_scope.remove(&key);
    }

    /// Returns the cost of transferring one element of a stream to the execute unit. An operand narrower than the
    /// `widest` of its neighbours leaves a gap before the next.
    fn hand_over(&self, stream: &StreamUse, widest: f64) -> Cost {
        let bytes = stream.element * stream.lanes;
        let mut cost = Cost::default();
        if stream.fetched {
            cost = cost + Cost { l2_bytes: bytes * stream.past_l1, ..self.rates.load(bytes) };
        }
        if stream.marshalled {
            cost = cost + self.rates.load_from_l2(bytes);
            cost.queue_bytes += bytes.max(widest);
            cost.energy += bytes.max(widest) * self.rates.queue_energy;
            if self.pricing == Pricing::Bound {
                // The next operand may be so wide that this one's line is full, but no write takes less than a cycle.
                cost.queue_bytes = bytes.max(self.rates.queue_rate);
            } else if bytes.max(widest) < self.rates.queue_rate {
                cost.marshal += 1.0;
            }
        }
        cost
    }

    /// Returns the cost of one element of a stream on the access unit, in a loop over `binder`.
    fn stream_cost(&self, stream: &StreamUse, binder: Option<Id>) -> Cost {
        let mut cost = stream.computed + Cost { steps: stream.steps, ..Cost::default() };
        if stream.loads {
            let bytes = stream.element * stream.lanes;
            let part = bytes / self.rates.line_bytes;
            let consecutive = binder.is_none() || stream.stride == binder;
            let lines = if stream.lanes > 1.0 || !consecutive { part.max(1.0) } else { part };
            cost.lines += lines;
            cost.dram_bytes += lines * stream.misses * self.rates.line_bytes;
            cost.activated += lines * stream.misses * stream.activations;
            let found = match stream.through_l2 {
                Some(misses) => self.rates.l2_energy + misses * self.rates.llc_energy,
                None => self.rates.llc_energy,
            };
            let fetched = stream.misses * self.rates.line_bytes * self.rates.dram_energy;
            cost.energy += lines * (found + fetched);
            if self.is_finished_program() {
                cost.uneven_bytes += lines * stream.misses * self.rates.line_bytes * stream.uneven;
                let past_l2 = lines * stream.through_l2.unwrap_or(1.0);
                cost.llc_bytes += past_l2 * self.rates.line_bytes;
                cost.in_flight += self.in_flight(stream, past_l2, lines * stream.misses);
                if stream.past_l2.is_none() {
                    // A prefetch moves nothing if the L2 has the line.
                    let moved = if stream.fetched { past_l2 } else { lines };
                    cost.l2_bytes += moved * self.rates.line_bytes;
                }
            }
        }
        cost
    }

    /// Prices the value of a loop variable on one of the units.
    fn index(&self, term: &Priced<'_>, variable: Id, stream: bool) -> Option<Summary> {
        let key = variable_key(term.egraph, variable)?;
        let mut summary = Summary::passive(&[]);
        let scope = if stream { &mut summary.stream_scope } else { &mut summary.execute_scope };
        scope.insert(key);
        summary.element = 8.0;
        // A variable with a single value does not move, so that its value is as good as a number.
        let range = term.egraph[variable].data.range;
        let moves = range.min < range.max && single_value(term.egraph, variable).is_none();
        summary.stride = moves.then_some(key);
        Some(summary)
    }

    /// Adds the stream of a node to the streams that the summary uses.
    fn stream(
        &self,
        term: &Priced<'_>,
        summary: &mut Summary,
        describe: impl FnOnce(&mut StreamUse),
    ) {
        summary.identify(term.info.name.as_str(), term.operands);
        let mut stream = StreamUse {
            scope: summary.stream_scope.clone(),
            element: summary.element,
            lanes: summary.lanes,
            ..StreamUse::default()
        };
        describe(&mut stream);
        self.define(summary, summary.key);
        summary.streams.insert(summary.key, stream);
    }
}
