//! The cost of statements and values of the execute unit, or of the only core in a coupled program.

use super::access::moves;
use super::summary::{Load, identity};
use super::term::{Operand, Priced};
use super::{Cost, Fetches, Goal, Model, Pricing, Summary};
use ember_analysis::effects::variable_key;
use ember_analysis::facts::dtype_named;
use ember_language::rules::{Kind, Loop, OpInfo, Unit};
use ember_values::capability::Capability;
use ember_values::primitive::form::{Early, Form, Sequence, View};
use ember_values::primitive::{Price, Typing};
use ember_values::scalar::DType;

/// Returns true if an operator means a value that is computed once and held in a register over the loops inside.
pub fn is_held(info: &OpInfo) -> bool {
    let execute = Some(Unit::Execute);
    info.kind == Some(Kind::Value) && info.unit == execute && info.carries_from() == Some(execute)
}

impl Model<'_> {
    /// Prices a statement or value that the execute unit (or the only core) runs.
    pub(super) fn execute(&self, term: &Priced<'_>) -> Option<Summary> {
        let form = term.form()?;
        if let Some(variable) = form.as_iv() {
            return self.index(term, variable.id, false);
        }
        match form {
            Form::Sequence(Sequence::Empty | Sequence::Barrier) | Form::Extent { .. } => {
                Some(Summary::passive(term.operands))
            }
            Form::Sequence(Sequence::Two(_)) => self.sequence(term.operands),
            Form::Loop(Loop { folds: None, .. }) => self.execute_loop(term, None),
            Form::Loop(Loop { folds: Some(_), .. }) => self.reduction(term),
            Form::Product { out, factors: [a, b], block, transposed } => {
                self.product(term, [out, a, b], block, transposed)
            }
            Form::Write { op: None, address, .. } => {
                let mut summary = self.write(term, address.summary)?;
                let memory = self.written_back(address.summary.written());
                self.access_memory(&mut summary, address.summary, true, memory);
                Some(summary)
            }
            Form::Write { op: Some(_), address, .. } => {
                let mut summary = self.write(term, address.summary)?;
                let read = self.rates.load(address.summary.bytes());
                summary.cost = summary.cost + read + self.arithmetic(address.summary, 1.0);
                let written = match self.pricing {
                    Pricing::Program => 0.0,
                    Pricing::Choice | Pricing::Bound => address.summary.written(),
                };
                summary.chain(&address.summary.variables(), written);
                self.add_in_memory(&mut summary, address.summary);
                Some(summary)
            }
            Form::Carried { x, to: None } => self.carried(term, x),
            Form::Root { name, .. } => Some(term.tensor(name.id)),
            Form::View { address, view: View::ReadOnly } => Some(address.summary.clone()),
            Form::View { address, view: View::At(index) } => {
                Some(self.indexed(term, address.summary, index.summary))
            }
            Form::Spread { lanes, x, below: Some(below) } => Some(term.run(lanes, x, below)),
            Form::Loaded { address, early } => match early {
                None => Some(self.load(address.summary)),
                Some(Early::Fetched(ahead)) => self.fetch(term, ahead, address.summary),
                Some(Early::Asked { later, again, .. }) => {
                    Some(self.ahead([later, again], address.summary))
                }
            },
            Form::Spread { lanes, x, below: None } => {
                let mut summary = term.broadcast(lanes, x)?;
                summary.cost = summary.cost + self.spread(x.summary);
                Some(summary)
            }
            Form::Carried { to: Some(_), .. } => self.conversion(term),
            form => match form.as_fold() {
                Some([_, lanes]) => self.folded_lanes(term, lanes.summary),
                None => self.operation(term),
            },
        }
    }

    /// Prices arithmetic, lane by lane.
    fn operation(&self, term: &Priced<'_>) -> Option<Summary> {
        let each = match term.info.price? {
            Price::Operation => 1.0,
            Price::Exponential => self.rates.exponential,
            Price::Nothing | Price::Folded => return None,
        };
        let mut summary = Summary::merge(term.operands)?;
        let value = term.operands.last()?;
        (summary.element, summary.lanes) = (value.element, value.lanes);
        // Estimates of coupled programs are too rough to compare two whose addresses are computed.
        if self.goal == Goal::Decoupled
            && let Form::Binary(op, [a, b]) = term.form()?
        {
            summary.stride = term.operation(op).and_then(|op| moves(op, a.summary, b.summary));
        }
        summary.cost = summary.cost + self.arithmetic(&summary, each);
        Some(summary)
    }

    /// Prices a term that means its operand: a popped stream, a constant, or a value that is held in a register.
    fn carried(&self, term: &Priced<'_>, x: Operand<'_>) -> Option<Summary> {
        let is_value = term.info.kind == Some(Kind::Value);
        match (term.info.carries_from()?, term.info.unit) {
            _ if is_held(term.info) => self.held(term, x.summary),
            (from, to) if from == to => Some(x.summary.clone()),
            (None, _) if is_value => term.constant(x),
            (Some(Unit::Access), _) if is_value => Some(self.popped(x.summary)),
            _ => None,
        }
    }

    /// Prices a value that is computed once. It depends on the loops of its streams; without streams it is a constant.
    fn held(&self, term: &Priced<'_>, value: &Summary) -> Option<Summary> {
        let known = value.execute_scope.is_subset(&value.stream_scope);
        if value.stream_scope.is_empty() || !known {
            return None;
        }
        let mut summary = Summary { cost: Cost::default(), ..value.clone() };
        self.stream(term, &mut summary, |held| held.computed = value.cost);
        Some(summary)
    }

    /// Prices a statement that writes to an address.
    fn write(&self, term: &Priced<'_>, address: &Summary) -> Option<Summary> {
        let mut summary = Summary::merge(term.operands)?;
        let registers = self.rates.registers(address.bytes());
        summary.touched.extend(address.tensor);
        summary.cost = summary.cost + self.rates.operations(registers);
        if self.is_finished_program() {
            summary.cost.stored += registers;
        }
        self.reach(&mut summary, address);
        summary.admissible().then_some(summary)
    }

    /// Prices a load of the execute unit, or of the only core.
    fn load(&self, address: &Summary) -> Summary {
        // A value that is loaded moves along no variable.
        let mut summary = Summary { stride: None, row: None, whole: false, ..address.clone() };
        summary.touched.extend(address.tensor);
        summary.cost = summary.cost + self.rates.load(address.bytes());
        // The latency of an isolated load depends on whether its line was just used.
        let stride = address.stride.or(address.row);
        let lines = if stride.is_some() {
            address.bytes() / self.rates.line_bytes
        } else {
            (address.bytes() / self.rates.line_bytes).max(1.0)
        };
        let memory = self.brought(address, lines);
        self.reach(&mut summary, address);
        self.access_memory(&mut summary, address, false, memory);
        if self.goal == Goal::Coupled {
            summary.loads.push(Load {
                scope: address.execute_scope.clone(),
                stride,
                part: (address.bytes() / self.rates.line_bytes).min(1.0),
            });
        }
        summary
    }

    /// Returns the cost of bringing so many lines of an address from memory, as far as no cache holds them.
    fn brought(&self, address: &Summary, lines: f64) -> Cost {
        let misses = self.misses(address);
        Cost {
            dram_bytes: lines * misses * self.rates.line_bytes,
            activated: lines * misses * self.activations(address),
            uneven_bytes: lines * misses * self.rates.line_bytes * self.uneven(address),
            ..self.missed(address, lines, misses)
        }
    }

    /// Prices a load of what earlier iterations asked for: its latency is hidden, unless a request was dropped that was
    /// not made again, and its lines are asked for by an operation each.
    fn ahead(&self, [later, again]: [Operand<'_>; 2], address: &Summary) -> Summary {
        let load = self.load(address);
        let lines = (address.bytes() / self.rates.line_bytes).max(1.0);
        let mut execute = address.cost.execute;
        let mut requests = later.summary.cost + self.rates.operations(lines);
        if again.id != later.id {
            // The index was read with the first request.
            let Cost { issued, loaded, .. } = again.summary.cost;
            requests = requests
                + self.rates.operations(lines + issued)
                + Cost { loaded, ..Cost::default() };
        } else if self.workload.bytes > self.rates.llc_bytes {
            let dropped = self.rates.dropped * lines * self.misses(address);
            execute += dropped * self.rates.exposed_latency;
        }
        Summary { cost: Cost { execute, ..load.cost } + requests, ..load }
    }

    /// Prices a load of prefetched data; `None` if the machine cannot prefetch, or the address depends on no loop of the
    /// access unit.
    fn fetch(&self, term: &Priced<'_>, ahead: Operand<'_>, address: &Summary) -> Option<Summary> {
        let never = match self.fetches {
            Fetches::Never => true,
            Fetches::Vectors => address.lanes <= 1.0,
            Fetches::Each | Fetches::Shared | Fetches::Waited => false,
        };
        let able = self.rates.capabilities.has(Capability::Prefetch);
        if never || !able || ahead.summary.stream_scope.is_empty() {
            return None;
        }
        let mut summary = Summary::merge(term.operands)?;
        summary.touched.extend(address.tensor);
        (summary.element, summary.lanes) = (address.element, address.lanes);
        self.reach(&mut summary, address);
        self.prefetch(term, ahead, &mut summary);
        // Programs that prefetch vectors of other tensors are of other kinds, so that the simulator sees both: whether a vector
        // that an outer loop uses is prefetched or passes the queue hardly changes an estimate.
        if self.fetches == Fetches::Vectors {
            summary.loops = identity(&(address.tensor, summary.loops));
        }
        Some(summary)
    }

    /// Prices a conversion to the type that an operand names, or to i64.
    fn conversion(&self, term: &Priced<'_>) -> Option<Summary> {
        let mut summary = Summary::merge(term.operands)?;
        let dtype = match term.info.typing? {
            Typing::Named(at) => dtype_named(term.egraph, term.child(at)?)?,
            Typing::I64 => DType::I64,
            Typing::Of(_) => return None,
        };
        summary.element = dtype.bits() as f64 / 8.0;
        summary.lanes = term.operands.last()?.lanes;
        summary.cost = summary.cost + self.arithmetic(&summary, 1.0);
        Some(summary)
    }

    /// Prices a fold of lanes into a scalar.
    fn folded_lanes(&self, term: &Priced<'_>, value: &Summary) -> Option<Summary> {
        let mut summary = Summary::merge(term.operands)?;
        (summary.element, summary.lanes) = (value.element, 1.0);
        // Registers are combined into one. Its halves are then combined repeatedly, with a permutation and an operation
        // each.
        let registers = self.rates.registers(value.bytes());
        let lanes = (self.rates.simd_bytes / value.element.max(1.0)).min(value.lanes);
        let operations = registers - 1.0 + 2.0 * lanes.max(1.0).log2().ceil();
        summary.cost = summary.cost + self.rates.vector(operations);
        Some(summary)
    }

    /// Returns the cost of a number of operations on a value. A scalar of 8 bytes is assumed to be an index, which does
    /// not use the vector ports. Latencies that other iterations hide cost nothing.
    fn arithmetic(&self, value: &Summary, operations: f64) -> Cost {
        if value.lanes <= 1.0 && value.element >= 8.0 {
            return self.rates.operations(operations);
        }
        self.rates.vector(operations * self.rates.registers(value.bytes()))
    }

    /// Prices a reduction: its body folded in a loop, and its start.
    fn reduction(&self, term: &Priced<'_>) -> Option<Summary> {
        let (_, Loop { body, folds, .. }) = term.looped()?;
        let (_, start) = folds?;
        let body = self.fold(body)?;
        let looped = self.execute_loop(term, Some(&body))?.and(start)?;
        Some(Summary { element: body.element, lanes: body.lanes, ..looped })
    }

    /// Prices a loop of the execute unit, which the access unit also runs if the loop has access bounds. `folded`
    /// replaces the body for a reduction.
    fn execute_loop(&self, term: &Priced<'_>, folded: Option<&Summary>) -> Option<Summary> {
        let (variable, Loop { lo, hi, body, access, .. }) = term.looped()?;
        let key = variable_key(term.egraph, variable)?;
        let mut body = folded.unwrap_or(body).clone();
        match access {
            None if body.walks || body.stream_scope.contains(&key) => return None,
            None => {
                body.execute_scope.remove(&key);
            }
            Some(_) => {
                self.bind(key, &mut body);
                body.cost.steps += 1.0;
            }
        }
        // In the innermost loop that moves an address, one that does not move to the neighbouring element leaves the line
        // that the first-level cache has just fetched.
        for load in body.loads.extract_if(.., |load| load.scope.contains(&key)) {
            if load.stride != Some(key) {
                body.cost.execute += (1.0 - load.part) * self.rates.exposed_llc;
            }
        }
        self.compute_addresses(&mut body, Some(key));
        let iteration = body.cost + self.rates.operations(2.0);
        let mut settled = self.settled(&iteration);
        // An element that every iteration accumulates into is loaded only after the iteration before has stored it. In
        // loops further out, the loops inside hide that.
        let chains = std::mem::take(&mut body.chains);
        let mut written = 0.0;
        for (_, bytes) in chains.iter().filter(|(variables, _)| !variables.contains(&key)) {
            let waits = self.chained(self.rates.accumulation, &iteration, self.trips(key));
            settled.execute = settled.execute.max(waits);
            written += bytes;
        }
        if folded.is_some() && self.is_finished_program() {
            let waits = self.chained(self.rates.fold_latency, &iteration, self.trips(key));
            settled.execute = settled.execute.max(waits);
        }
        self.wait_for_lines(key, &mut body.passed, &settled);
        body.cost = settled * self.trips(key) + self.rates.write_back(written);
        let (first, last) = access.unwrap_or((lo, hi));
        self.repeat(key, &[[lo, hi], [first, last]], &mut body);
        body.enclose(key);
        let mut summary = Summary::merge(&[lo, hi])?.and(&body)?;
        if let Some((first, last)) = access {
            let known = self.read_before(lo, first) + self.read_before(hi, last);
            summary.cost = summary.cost + known * -1.0;
        }
        // The core guesses the trip count of a loop, and learns it when it has read the bounds: at once if there is no
        // iteration to issue before. Of operands that share a line of the queue, the first alone waits for it.
        let is_marshalled = |bound: &Summary| bound.streams.values().any(|own| own.marshalled);
        let popped = summary.streams.values().filter(|own| own.marshalled);
        let lines = popped.map(|own| own.element * own.lanes).sum::<f64>() / self.rates.line_bytes;
        let marshalled = if is_marshalled(lo) || is_marshalled(hi) { lines.min(1.0) } else { 0.0 };
        let issued = iteration.issued / self.rates.issue_width;
        let waits = |ahead: f64| marshalled * (self.rates.pop - ahead).max(0.0);
        // In a choice, a price of wrong guesses crowds out programs of which nothing passes the queue, and which are better
        // for short bags if the core has all of the memory.
        let guess = if self.is_finished_program() { self.rates.mispredicted } else { 0.0 };
        let lengths = self.lengths(access.and_then(|(_, last)| last.tensor));
        summary.cost.execute += match (self.pricing, lengths) {
            (Pricing::Choice | Pricing::Program, Some(lengths)) => {
                lengths.mean(|trips| waits(issued * trips) + guess)
            }
            (Pricing::Choice | Pricing::Program, None) => waits(issued * self.trips(key)),
            // Neither grows if less is issued: all of a loop's time is at least what is issued in it.
            (Pricing::Bound, Some(_)) => 0.0,
            (Pricing::Bound, None) => waits(body.cost.execute),
        };
        if let Some((lo, hi)) = access {
            summary = summary.and(&Summary::merge(&[lo, hi])?)?;
            summary.walks = true;
            summary.cost = summary.cost + self.traversal(lo, hi);
        }
        Some(summary)
    }

    /// Returns what a bound that the execute unit loads need not wait for and does not bring from memory, because the access
    /// unit has read it for the same loop. For a finished program that is known of every place.
    fn read_before(&self, bound: &Summary, read: &Summary) -> Cost {
        let is_same = bound.tensor.is_some() && bound.tensor == read.tensor;
        let outside = bound.tensor.is_some_and(|own| !self.workload.intermediate.contains(&own));
        let is_loaded = bound.stream_scope.is_empty() && !bound.execute_scope.is_empty();
        if !(is_same && outside && is_loaded) || self.is_finished_program() {
            return Cost::default();
        }
        let lines = bound.element / self.rates.line_bytes;
        self.brought(bound, lines)
    }

    /// Adds the fold of a reduction to its body: one operation per register, and the latency between dependent
    /// iterations.
    fn fold(&self, body: &Summary) -> Option<Summary> {
        let mut folded = body.clone();
        folded.cost = folded.cost + self.arithmetic(body, 1.0);
        if !self.is_finished_program() {
            let waits = self.rates.fold_latency * self.rates.vector_ports;
            folded.cost.vector = folded.cost.vector.max(waits);
        }
        Some(folded)
    }
}
