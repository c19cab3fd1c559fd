//! The cost of streams of the access unit, and of the statements that both units run.

use super::term::{Operand, Priced};
use super::{Cost, Fetches, Lengths, Model, StreamUse, Summary};
use egg::{Id, Symbol};
use ember_analysis::effects::variable_key;
use ember_analysis::facts::EGraph;
use ember_language::rules::{Kind, Loop, Unit};
use ember_language::term::Node;
use ember_targets::dlc::Hint;
use ember_values::capability::Capability;
use ember_values::primitive::form::{Form, Sequence, View};
use ember_values::scalar::{BinaryOp, Linear};

/// The cost of allocating a line in the last level cache, as a share of fetching one. An allocated line evicts another
/// that might have been reused. The value is an estimate, only large enough that data used once is not allocated.
pub(super) const POLLUTION: f64 = 1e-3;

impl Model<'_> {
    /// Prices a statement of both units.
    pub(super) fn statement_of_both(&self, term: &Priced<'_>) -> Option<Summary> {
        match term.form()? {
            Form::Sequence(Sequence::Empty | Sequence::Barrier) => {
                Some(Summary::passive(term.operands))
            }
            Form::Sequence(Sequence::Two(_)) => self.sequence(term.operands),
            Form::Loop(own) if own.folds.is_none() => self.access_loop(term),
            Form::Write { op: None, address, .. } => self.access_store(term, address.summary),
            Form::Sequence(Sequence::Ahead(address)) => self.read_ahead(term, address),
            Form::Carried { x: body, to: None }
                if term.info.carries_from() == Some(Some(Unit::Execute)) =>
            {
                Some(self.callback(body.summary))
            }
            _ => None,
        }
    }

    /// Prices a loop of the access unit.
    fn access_loop(&self, term: &Priced<'_>) -> Option<Summary> {
        let (variable, Loop { lo, hi, body, .. }) = term.looped()?;
        let key = variable_key(term.egraph, variable)?;
        let bounds = Summary::merge(&[lo, hi])?;
        let mut body = body.clone();
        if body.execute_scope.contains(&key) {
            // The execute unit counts this loop, which takes one token at `beg`, and one in each iteration unless there
            // is a callback anyway.
            let tokens = if body.callback_here { 1.0 } else { 1.0 + self.trips(key) };
            let share = tokens / self.trips(key).max(1.0);
            body.cost = body.cost + self.rates.callback(0.0) * share;
        }
        self.bind(key, &mut body);
        body.cost.steps += 1.0;
        body.cost = self.settled(&body.cost);
        self.wait_for_lines(key, &mut body.passed, &body.cost);
        body.cost = body.cost * self.trips(key);
        self.repeat(key, &[[lo, hi]], &mut body);
        body.callback_here = false;
        body.enclose(key);
        let mut summary = bounds.and(&body)?;
        summary.cost = summary.cost + self.traversal(lo, hi);
        Some(summary)
    }

    /// Returns the cost of starting a traversal between two bounds, for which the marshaller takes no time if it is empty.
    pub(super) fn traversal(&self, lo: &Summary, hi: &Summary) -> Cost {
        let entered = self.occupied_share(lo.tensor.filter(|_| lo.tensor == hi.tensor));
        Cost { steps: 1.0, marshal: entered * self.rates.traversal, ..Cost::default() }
    }

    /// Prices a statement of the execute unit inside the access unit's code.
    fn callback(&self, body: &Summary) -> Summary {
        let mut summary = body.clone();
        let operands = summary.streams.values().filter(|s| s.marshalled);
        let bytes = operands.map(|s| s.element * s.lanes).sum::<f64>();
        // A walk has popped more than a line by its end.
        let popped = if summary.walks { f64::INFINITY } else { bytes };
        self.compute_addresses(&mut summary, None);
        summary.cost = self.called(&summary.cost, popped);
        summary.callback_here = true;
        summary
    }

    /// Prices lines that are asked for ahead of their use. What comes from memory is paid for where they are used. `None` if the
    /// machine cannot prefetch, or would ask too early.
    fn read_ahead(&self, term: &Priced<'_>, address: Operand<'_>) -> Option<Summary> {
        let able = self.rates.capabilities.has(Capability::Prefetch);
        if !able || self.fetches == Fetches::Never || is_early(term.egraph, address.summary) {
            return None;
        }
        let Operand { id: place, summary: address } = address;
        let mut summary = Summary { stride: None, tensor: None, ..address.clone() };
        self.stream(term, &mut summary, |stream| {
            stream.stride = address.stride;
            stream.loads = true;
            stream.place = Some(term.egraph.find(place));
            stream.stays = true;
        });
        summary.reads_ahead(address.tensor);
        Some(summary)
    }

    /// Prices a store of the access unit.
    fn access_store(&self, term: &Priced<'_>, address: &Summary) -> Option<Summary> {
        if !self.rates.capabilities.has(Capability::StoreStreams) {
            return None;
        }
        let mut summary = Summary::merge(term.operands)?;
        summary.stored.extend(address.tensor);
        summary.cost.lines += (address.bytes() / self.rates.line_bytes).max(1.0);
        summary.cost.energy += self.rates.llc_energy;
        // The access unit writes through the same port as the queue.
        summary.cost.queue_bytes += address.bytes();
        summary.cost = summary.cost + self.written_back(address.written());
        summary.admissible().then_some(summary)
    }

    /// Prices a stream or address of the access unit.
    pub(super) fn stream_term(&self, term: &Priced<'_>) -> Option<Summary> {
        let form = term.form()?;
        if let Some(variable) = form.as_iv() {
            return self.index(term, variable.id, true);
        }
        match form {
            Form::Carried { x: number, to: None } if term.info.carries_from() == Some(None) => {
                term.constant(number)
            }
            Form::Root { name, .. } => Some(term.tensor(name.id)),
            Form::View { address, view: View::ReadOnly } => Some(address.summary.clone()),
            Form::View { address, view: View::At(index) } => {
                Some(self.indexed(term, address.summary, index.summary))
            }
            Form::Spread { lanes, x, below: Some(below) } => Some(term.run(lanes, x, below)),
            Form::Spread { lanes, x, below: None } => term.broadcast(lanes, x),
            Form::Carried { x, to: Some(_) } => self.computed(term, x.summary.stride, 1.0),
            Form::Binary(op, [a, b]) => {
                let (op, a, b) = (term.operation(op)?, a.summary, b.summary);
                self.computed(term, moves(op, a, b), self.occupied(op, a, b))
            }
            Form::Loaded { address, early: None } => self.access_load(term, address),
            _ => None,
        }
    }

    /// Prices a number that the access unit computes. `stride` is the variable along which it moves, and `share` is the
    /// share of evaluations in which it has its own value.
    fn computed(&self, term: &Priced<'_>, stride: Option<Id>, share: f64) -> Option<Summary> {
        let mut summary = Summary::merge(term.operands)?;
        summary.element = 8.0;
        summary.stride = stride;
        summary.share *= share;
        self.stream(term, &mut summary, |stream| stream.steps = 1.0);
        Some(summary)
    }

    /// Prices a load through the access unit. Without a hint, the loaded lines are allocated. `None` if the machine has no
    /// such loads, or this one would be made too early.
    fn access_load(&self, term: &Priced<'_>, address: Operand<'_>) -> Option<Summary> {
        let Operand { id: place, summary: address } = address;
        if is_early(term.egraph, address) {
            return None;
        }
        let hint = match term.info.first_of(Kind::Label) {
            Some(at) => {
                let nodes = &term.egraph[term.child(at)?].nodes;
                nodes.iter().filter_map(Node::name).find_map(Hint::parse)?
            }
            None => Hint::Temporal,
        };
        let has_hints = self.rates.capabilities.has(Capability::Hints);
        if hint != Hint::Temporal && !has_hints {
            return None;
        }
        let mut summary = address.clone();
        summary.stride = None;
        let misses = match hint {
            Hint::NonTemporal => 1.0,
            Hint::Temporal | Hint::TemporalL2 => self.misses(address) * (1.0 + POLLUTION),
        };
        let known = || self.workload.past_l2.get(&address.tensor?).copied();
        let through_l2 = (hint == Hint::TemporalL2).then(known).flatten();
        self.stream(term, &mut summary, |stream| {
            stream.stride = address.stride;
            stream.through_l2 = through_l2;
            stream.loads = true;
            stream.place = Some(term.egraph.find(place));
            stream.stays = hint != Hint::NonTemporal;
            stream.misses = misses;
            stream.activations = self.activations(address);
            stream.uneven = self.uneven(address);
            stream.past_l2 = address.tensor.filter(|_| hint != Hint::TemporalL2);
        });
        Some(summary)
    }

    /// Prices a stream that the execute unit pops.
    pub(super) fn popped(&self, popped: &Summary) -> Summary {
        let mut summary = popped.clone();
        let known = summary.streams.get(summary.key).cloned();
        let stream = known.unwrap_or_else(|| StreamUse {
            scope: popped.stream_scope.clone(),
            element: popped.element,
            lanes: popped.lanes,
            ..StreamUse::default()
        });
        summary.streams.insert(summary.key, StreamUse { marshalled: true, ..stream });
        self.define(&mut summary, popped.key);
        summary.tensor = None;
        summary
    }

    /// Returns the share of evaluations in which a comparison of offsets, which is 1 if the bag has entries, is not 0.
    fn occupied(&self, op: BinaryOp, lo: &Summary, hi: &Summary) -> f64 {
        let compared = op.is_strict();
        self.occupied_share(lo.tensor.filter(|tensor| compared && hi.tensor == Some(*tensor)))
    }

    /// Returns the share of bags with entries, by the tensor of their offsets; all of them if it is not known.
    pub(super) fn occupied_share(&self, offsets: Option<Symbol>) -> f64 {
        self.lengths(offsets).map_or(1.0, Lengths::occupied)
    }

    /// Returns the lengths of bags, by the tensor of their offsets.
    pub(super) fn lengths(&self, offsets: Option<Symbol>) -> Option<&Lengths> {
        self.workload.lengths.get(&offsets?)
    }
}

/// Returns true if the access unit would load from an address before everything else, as it does if no loop moves it, though
/// a statement computes what is there.
fn is_early(egraph: &EGraph, address: &Summary) -> bool {
    let computed = address.tensor.is_some_and(|tensor| egraph.analysis.is_computed(tensor));
    computed && address.stream_scope.is_empty()
}

/// Returns the variable along which a number that a unit computes moves by at most one: the variable of the operand that is
/// moved or divided.
pub(super) fn moves(op: BinaryOp, a: &Summary, b: &Summary) -> Option<Id> {
    match (op, a.stride, b.stride) {
        // The other operand of an addition is either constant or, in a remainder, jumps back occasionally.
        (op, a, b) if op.linear() == Some(Linear::Sum) => a.xor(b),
        (op, stride, _) if op.undoes() == Some(Linear::Product) && b.variables().is_empty() => {
            stride
        }
        _ => None,
    }
}
