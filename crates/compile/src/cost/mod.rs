//! What a term costs on a machine: the model that extraction asks.
//!
//! A candidate's summary holds its cost per evaluation as a vector, its scope on each unit, and the
//! streams it uses that no enclosing loop has paid for yet. A stream is paid once, at the loop that
//! binds its deepest variable, however often the body mentions it. The rates and prices come from
//! the machine's description; trip counts and reuse from the data.

mod execute;
mod few;
mod summary;
mod vector;

pub use few::Few;
pub use summary::{Load, StreamUse, Streams, Summary};
pub use vector::{Cost, Rates};

use egg::{Id, Language, Symbol};
use ember_analysis::effects::variable_key;
use ember_analysis::facts::{EGraph, Facts, binary_op};
use ember_extract::CostModel;
use ember_language::term::{Head, Node};
use ember_values::scalar::BinaryOp;
use rustc_hash::FxHashMap;

/// What the data says about a program's loops and loads.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// Average iterations of each loop, by its variable's key.
    pub trips: FxHashMap<Id, f64>,
    /// By tensor name in terms: the share of line requests that touch a line for the first time.
    pub first_touch: FxHashMap<Symbol, f64>,
    /// By tensor name in terms, of offsets: the share of bags that are not empty.
    pub occupied: FxHashMap<Symbol, f64>,
}

/// What allocating a line in the last level cache costs, as a share of fetching one: it pushes out
/// another that might have been used again. An estimate, only large enough that what is used once
/// is not allocated.
const POLLUTION: f64 = 1e-3;

/// Which programs an extraction asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Access and execute code: terms of sort Slc.
    Decoupled,
    /// One sequential program: terms of sort Stmt.
    Coupled,
}

/// The cost model of one machine and workload.
pub struct Model<'a> {
    /// What is asked for.
    pub goal: Goal,
    /// The machine's rates and prices.
    pub rates: &'a Rates,
    /// What the data says.
    pub workload: &'a Workload,
    /// Whether the access unit may read ahead what the execute unit loads.
    pub fetches: bool,
}

impl CostModel<Node, Facts> for Model<'_> {
    type Summary = Summary;

    fn combine(&self, egraph: &EGraph, node: &Node, children: &[&Summary]) -> Option<Summary> {
        let Head::Op(name) = node.head() else { return Some(Summary::leaf(node, true)) };
        let name = name.as_str();
        let mut summary = match name.split_once('.') {
            Some(("slc" | "exe", _)) => self.unit(egraph, node, name, children)?,
            Some(("scf", operator)) if self.goal == Goal::Coupled => {
                self.execute(egraph, node, operator, children)?
            }
            Some(("scf", "for" | "seq" | "store" | "accumulate" | "skip")) => return None,
            // Arithmetic on sizes is done when the program meets its data.
            Some(("scf", operator)) => Summary {
                literal: BinaryOp::parse(operator).is_some() && children.iter().all(|c| c.literal),
                ..Summary::passive(children)
            },
            _ => self.core(egraph, node, name, children)?,
        };
        summary.identify(name, children);
        summary.alone = self.alone(&summary);
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

    /// Candidates of one nest of loops: estimates know nothing of which places of memory follow which.
    fn kind(&self, summary: &Summary) -> u64 {
        summary.loops
    }

    fn is_finished(&self, summary: &Summary) -> bool {
        summary.stream_scope.is_empty() && summary.execute_scope.is_empty()
    }
}

impl Model<'_> {
    /// What a candidate costs if nothing around it uses its streams too.
    fn alone(&self, summary: &Summary) -> Cost {
        let streams = summary.streams.values();
        streams.fold(summary.cost, |cost, stream| {
            cost + self.stream_cost(stream, None) + self.hand_over(stream, 0.0)
        })
    }

    fn trips(&self, key: Id) -> f64 {
        self.workload.trips.get(&key).copied().unwrap_or(1.0)
    }

    /// Operators that every level shares, and boundaries, which no finished program contains.
    fn core(
        &self,
        egraph: &EGraph,
        node: &Node,
        name: &str,
        children: &[&Summary],
    ) -> Option<Summary> {
        match (name, self.goal) {
            ("slc" | "exe" | "val" | "ead" | "str" | "sad" | "vec", _) => None,
            // Tensors stand in the names of loop variables; what they compute must be lowered.
            ("emb.element" | "emb.extent" | "emb.edge" | "rename", _) => None,
            ("emb.output" | "emb.output_slot" | "emb.output_columns", _) => None,
            ("size" | "const", _) => Some(Summary { literal: true, ..Summary::passive(children) }),
            ("iv", Goal::Coupled) => self.index(egraph, node, false),
            ("in" | "out", Goal::Coupled) => Some(tensor(egraph, node, children)),
            ("at", Goal::Coupled) => Some(at(children)),
            ("freeze", Goal::Coupled) => Some(children[0].clone()),
            _ => Some(Summary::passive(children)),
        }
    }

    /// Operators of the two units.
    fn unit(
        &self,
        egraph: &EGraph,
        node: &Node,
        name: &str,
        children: &[&Summary],
    ) -> Option<Summary> {
        match name.split_once('.')? {
            ("exe", operator) => self.execute(egraph, node, operator, children),
            ("slc", "skip" | "barrier") => Some(Summary::passive(children)),
            ("slc", "seq") => Summary::merge(children),
            ("slc", "for") => {
                let key = variable_key(egraph, node.children()[0])?;
                let bounds = Summary::merge(&children[1..3])?;
                let mut body = children[4].clone();
                if body.execute_scope.contains(&key) {
                    // The execute unit counts this loop: a token each at beg, and each iteration
                    // unless a callback is there anyway.
                    let tokens = if body.callback_here { 1.0 } else { 1.0 + self.trips(key) };
                    let share = tokens / self.trips(key).max(1.0);
                    body.cost = body.cost + self.rates.callback(0.0) * share;
                }
                self.bind(key, &mut body);
                body.cost.steps += 1.0;
                body.cost = self.rates.settled(&body.cost) * self.trips(key);
                body.callback_here = false;
                body.enclose(key);
                let mut summary = bounds.and(&body)?;
                summary.cost.steps += 1.0;
                summary.cost.marshal += self.rates.traversal;
                Some(summary)
            }
            ("slc", "callback") => {
                let mut summary = children[0].clone();
                let operands = summary.streams.values().filter(|s| s.marshalled);
                let bytes = operands.map(|s| s.element * s.lanes).sum::<f64>();
                // A walk pops more than a line by the time it ends.
                let popped = if summary.walks { f64::INFINITY } else { bytes };
                summary.cost = summary.cost + self.rates.callback(popped);
                summary.callback_here = true;
                Some(summary)
            }
            ("slc", "store_stream") => {
                let mut summary = Summary::merge(children)?;
                summary.stored.extend(children[0].tensor);
                summary.cost.lines += (children[0].bytes() / self.rates.line_bytes).max(1.0);
                summary.cost.energy += self.rates.llc_energy;
                // The port through which the access unit writes is that of the queue.
                summary.cost.queue_bytes += children[0].bytes();
                summary.admissible().then_some(summary)
            }
            ("slc", "const") => {
                children[0].literal.then(|| Summary { element: 8.0, ..Summary::passive(&[]) })
            }
            ("slc", "iv") => self.index(egraph, node, true),
            ("slc", "in" | "out") => Some(tensor(egraph, node, children)),
            ("slc", "at") => Some(at(children)),
            ("slc", "freeze") => Some(children[0].clone()),
            ("slc", "lanes") => Some(run(egraph, node, children)),
            ("slc", "broadcast") => {
                let mut summary = Summary::merge(children)?;
                summary.element = children[1].element;
                summary.lanes = lanes(egraph, node);
                Some(summary)
            }
            ("slc", "index_cast" | "alu_stream") => {
                let mut summary = Summary::merge(children)?;
                summary.element = 8.0;
                summary.stride = moves(egraph, node, children);
                summary.share *= self.occupied(egraph, node, children);
                self.stream(node, children, &mut summary, |stream| stream.steps = 1.0);
                Some(summary)
            }
            ("slc", "mem_stream") => {
                let address = children[1];
                let mut summary = address.clone();
                let hint = egraph[node.children()[0]].nodes.iter().find_map(Node::name)?;
                summary.stride = None;
                let misses = match hint {
                    "non-temporal" => 1.0,
                    _ => self.misses(address) * (1.0 + POLLUTION),
                };
                self.stream(node, children, &mut summary, |stream| {
                    stream.stride = address.stride;
                    stream.loads = true;
                    stream.misses = misses;
                    stream.past_l2 = address.tensor.filter(|_| hint != "temporal-l2");
                });
                Some(summary)
            }
            ("slc", "from_stream") => {
                let mut summary = children[0].clone();
                let known = summary.streams.get(summary.key).cloned();
                let stream = known.unwrap_or_else(|| StreamUse {
                    scope: children[0].stream_scope.clone(),
                    element: children[0].element,
                    lanes: children[0].lanes,
                    ..StreamUse::default()
                });
                summary.streams.insert(summary.key, StreamUse { marshalled: true, ..stream });
                summary.tensor = None;
                Some(summary)
            }
            _ => None,
        }
    }

    /// The share of an address's lines that come from DRAM: all of a tensor that nothing is known of.
    pub(crate) fn misses(&self, address: &Summary) -> f64 {
        let known = address.tensor.and_then(|t| self.workload.first_touch.get(&t).copied());
        known.unwrap_or(1.0) * address.share
    }

    /// Adds the stream by which the access unit reads an address ahead to those a node uses.
    fn prefetch(&self, node: &Node, ahead: &Summary, summary: &mut Summary) {
        summary.identify(node.name().unwrap_or_default(), &[ahead]);
        summary.streams.insert(
            summary.key,
            StreamUse {
                scope: ahead.stream_scope.clone(),
                element: ahead.element,
                lanes: ahead.lanes,
                stride: ahead.stride,
                loads: true,
                fetched: true,
                misses: self.misses(ahead) * (1.0 + POLLUTION),
                ..StreamUse::default()
            },
        );
    }

    /// How often a number that says whether a bag has entries is not 0.
    fn occupied(&self, egraph: &EGraph, node: &Node, children: &[&Summary]) -> f64 {
        let &[_, lo, hi] = children else { return 1.0 };
        let compared = binary_op(egraph, node.children()[0]) == Some(BinaryOp::Lt);
        let offsets = lo.tensor.filter(|tensor| compared && hi.tensor == Some(*tensor));
        offsets.and_then(|tensor| self.workload.occupied.get(&tensor).copied()).unwrap_or(1.0)
    }

    /// Closes the scope of a loop of the access unit over a body: pays for its streams.
    fn bind(&self, key: Id, body: &mut Summary) {
        let mut widest = 8.0f64;
        let paid = body.streams.take(|stream| stream.scope.contains(&key));
        for stream in paid.iter().filter(|s| s.marshalled) {
            widest = widest.max((stream.element * stream.lanes).min(self.rates.line_bytes));
        }
        for stream in &paid {
            let streamed = self.stream_cost(stream, Some(key));
            body.cost = body.cost + streamed + self.hand_over(stream, widest);
            if stream.past_l2.is_some_and(|tensor| body.touched.contains(&tensor)) {
                // What the core loads too, it would find in its L2.
                body.cost.execute += streamed.lines * self.rates.exposed_llc;
            }
        }
        body.stream_scope.remove(&key);
        body.execute_scope.remove(&key);
    }

    /// What it costs to bring one element of a stream to the execute unit. An operand narrower than
    /// the `widest` of its neighbours leaves a gap before the next.
    fn hand_over(&self, stream: &StreamUse, widest: f64) -> Cost {
        let bytes = stream.element * stream.lanes;
        let mut cost = Cost::default();
        if stream.fetched {
            cost = cost + self.rates.load_from_l2(bytes);
        }
        if stream.marshalled {
            cost = cost + self.rates.load_from_l2(bytes);
            cost.queue_bytes += bytes.max(widest);
            cost.energy += bytes.max(widest) * self.rates.queue_energy;
            if bytes.max(widest) < self.rates.queue_rate {
                cost.marshal += 1.0;
            }
        }
        cost
    }

    /// What one element of a stream costs the access unit, in a loop over `binder`.
    fn stream_cost(&self, stream: &StreamUse, binder: Option<Id>) -> Cost {
        let mut cost = stream.computed + Cost { steps: stream.steps, ..Cost::default() };
        if stream.loads {
            let bytes = stream.element * stream.lanes;
            let part = bytes / self.rates.line_bytes;
            let consecutive = binder.is_none() || stream.stride == binder;
            let lines = if stream.lanes > 1.0 || !consecutive { part.max(1.0) } else { part };
            cost.lines += lines;
            cost.dram_bytes += lines * stream.misses * self.rates.line_bytes;
            cost.energy += lines * self.rates.llc_energy
                + lines * stream.misses * self.rates.line_bytes * self.rates.dram_energy;
        }
        cost
    }

    /// A loop variable's value on one of the units.
    fn index(&self, egraph: &EGraph, node: &Node, stream: bool) -> Option<Summary> {
        let key = variable_key(egraph, node.children()[0])?;
        let mut summary = Summary::passive(&[]);
        let scope = if stream { &mut summary.stream_scope } else { &mut summary.execute_scope };
        scope.insert(key);
        summary.element = 8.0;
        // A variable of one value moves nowhere.
        let range = egraph[node.children()[0]].data.range;
        summary.stride = (range.min < range.max).then_some(key);
        Some(summary)
    }

    /// Adds the stream that a node makes to those the summary uses.
    fn stream(
        &self,
        node: &Node,
        children: &[&Summary],
        summary: &mut Summary,
        describe: impl FnOnce(&mut StreamUse),
    ) {
        summary.identify(node.name().unwrap_or_default(), children);
        let mut stream = StreamUse {
            scope: summary.stream_scope.clone(),
            element: summary.element,
            lanes: summary.lanes,
            ..StreamUse::default()
        };
        describe(&mut stream);
        summary.streams.insert(summary.key, stream);
    }
}

/// The variable along which a number that the access unit computes moves by one at most: that of
/// what is converted, moved or divided.
fn moves(egraph: &EGraph, node: &Node, children: &[&Summary]) -> Option<Id> {
    let &[_, a, b] = children else { return children.first()?.stride };
    match (binary_op(egraph, node.children()[0])?, a.stride, b.stride) {
        // What is added either stands still or, in a remainder, jumps back now and then.
        (BinaryOp::Add, Some(key), None) => Some(key),
        (BinaryOp::Add, None, Some(key)) => Some(key),
        (BinaryOp::Div, stride, _) if b.stream_scope.is_empty() => stride,
        _ => None,
    }
}

/// The root of an address.
fn tensor(egraph: &EGraph, node: &Node, children: &[&Summary]) -> Summary {
    let name = egraph[node.children()[0]].nodes.iter().find_map(|n| match n.head() {
        Head::Op(name) => Some(name),
        _ => None,
    });
    let element = name
        .and_then(|name| egraph.analysis.tensor(name))
        .map_or(8.0, |tensor| tensor.dtype.bits() as f64 / 8.0);
    Summary { tensor: name, element, ..Summary::passive(children) }
}

/// An address with one more index.
fn at(children: &[&Summary]) -> Summary {
    let mut summary = Summary::merge(children).unwrap_or_else(|| Summary::passive(children));
    summary.tensor = children[0].tensor;
    summary.element = children[0].element;
    summary.lanes = children[1].lanes.max(children[0].lanes);
    summary.stride = children[1].stride;
    summary
}

/// A run of indices from a scalar one.
fn run(egraph: &EGraph, node: &Node, children: &[&Summary]) -> Summary {
    let mut summary = Summary::merge(children).unwrap_or_else(|| Summary::passive(children));
    summary.element = 8.0;
    summary.lanes = lanes(egraph, node);
    summary.stride = children[2].stride;
    summary
}

/// The lanes that a node's first child says.
fn lanes(egraph: &EGraph, node: &Node) -> f64 {
    egraph[node.children()[0]].data.integer().map_or(1.0, |n| n as f64)
}
