//! Terms of the cost model that only finished programs have. They depend on what is around a part, which is not known
//! where parts are chosen one by one: the innermost loop, the operations that the core sees at once, the order of
//! streams, the neighbours of a line in memory, and what the caches hold by then.

use super::term::Priced;
use super::{Cost, Few, Model, Passed, Pricing, StreamUse, Summary};
use egg::Id;

/// The part by which the latency of memory grows when the core has as many misses in flight as it can keep: they wait for
/// each other's banks. Fitted to `misses-numbers` and `misses-rows` of the tests.
const BUSY: f64 = 0.4;

/// The lines of a run after which the core's prefetcher follows it.
const FOLLOWED: f64 = 4.0;

/// The variables that the indices of an address depend on.
#[derive(Clone, Debug, Default)]
struct Moves {
    /// Variables of all indices but the last.
    leading: Few<Id>,
    /// Variables of the last index.
    last: Few<Id>,
    /// Variables along which neighbours in memory follow each other.
    in_order: Few<Id>,
}

/// Neighbouring lines that the core reads one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The loop variables along which they follow each other.
    in_order: Few<Id>,
    /// Their number.
    pub(super) lines: f64,
    /// True if the last-level cache holds the tensor, so that lines beyond the run are found there later.
    kept: bool,
}

impl Run {
    /// Adds another run in the same tensor.
    pub(super) fn unite(&mut self, other: &Run) {
        if self.in_order != other.in_order {
            self.in_order = Few::new();
        }
        self.lines = self.lines.max(other.lines);
        self.kept |= other.kept;
    }
}

/// Properties of a part of a finished program; empty where parts are chosen.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// The keys of the streams that are used, in the order in which the access unit defines them.
    order: Vec<u64>,
    /// The operations that compute addresses while their innermost loop is not known, by the variables that they depend
    /// on.
    addresses: Vec<(Few<Id>, f64)>,
    /// The variables that the indices of an address depend on.
    moves: Moves,
}

impl Finished {
    /// Adds those of another part, which follows.
    pub(super) fn absorb(&mut self, other: &Finished) {
        for key in &other.order {
            self.define(*key);
        }
        self.addresses.extend(other.addresses.iter().cloned());
    }

    /// Adds a stream after those that are defined.
    fn define(&mut self, key: u64) {
        if !self.order.contains(&key) {
            self.order.push(key);
        }
    }

    /// Returns the place of a stream in the order of all.
    pub(super) fn place(&self, key: u64) -> usize {
        self.order.iter().position(|own| *own == key).unwrap_or(usize::MAX)
    }
}

impl Model<'_> {
    /// Returns true if a finished program is priced.
    pub(super) fn is_finished_program(&self) -> bool {
        self.pricing == Pricing::Program
    }

    /// Notes that a part uses a stream.
    pub(super) fn define(&self, summary: &mut Summary, key: u64) {
        if self.is_finished_program() {
            summary.finished.get_or_insert_default().define(key);
        }
    }

    /// Prices an address with one more index.
    pub(super) fn indexed(&self, term: &Priced<'_>, address: &Summary, index: &Summary) -> Summary {
        let mut summary = term.indexed(address, index);
        if self.is_finished_program() {
            let before =
                address.finished.as_deref().filter(|_| index.stride.is_some() || index.whole);
            let mut in_order = before.map(|own| own.moves.in_order.clone()).unwrap_or_default();
            in_order.extend(index.stride);
            let moves = Moves { leading: address.variables(), last: index.variables(), in_order };
            summary.finished.get_or_insert_default().moves = moves;
        }
        summary
    }

    /// Adds the operations that compute an address of the execute unit: one for each index but the last, which is part of
    /// the instruction, if any of them moves in the innermost loop, and one for the mask of a run that moves there.
    pub(super) fn reach(&self, summary: &mut Summary, address: &Summary) {
        if !self.is_finished_program() {
            return;
        }
        let Some(Finished { moves, .. }) = address.finished.as_deref() else { return };
        let leading = address.indices.saturating_sub(1) as f64;
        let masked = if address.lanes > 1.0 && !address.whole { 1.0 } else { 0.0 };
        let own = [(&moves.leading, leading), (&moves.last, masked)];
        let moves = own.into_iter().filter(|(scope, count)| *count > 0.0 && !scope.is_empty());
        let moves = moves.map(|(scope, count)| (scope.clone(), count));
        summary.finished.get_or_insert_default().addresses.extend(moves);
    }

    /// Adds the operations of addresses to one iteration of their innermost loop, over a variable, or to a callback without
    /// a loop.
    pub(super) fn compute_addresses(&self, body: &mut Summary, innermost: Option<Id>) {
        let Some(finished) = &mut body.finished else { return };
        for (scope, count) in std::mem::take(&mut finished.addresses) {
            if innermost.is_none_or(|key| scope.contains(&key)) {
                body.cost = body.cost + self.rates.operations(count);
            }
        }
    }

    /// Returns the cost of one iteration, whose operations overlap.
    pub(super) fn settled(&self, iteration: &Cost) -> Cost {
        let enclosed = iteration.enclosed + iteration.issued;
        let settled = self.rates.settled(iteration);
        match self.pricing {
            Pricing::Program => Cost { enclosed, ..settled },
            Pricing::Choice | Pricing::Bound => settled,
        }
    }

    /// Returns the cost of a callback that pops these bytes first. The next one begins when they have been read and all
    /// operations have been issued; the operations go on beside it.
    pub(super) fn called(&self, body: &Cost, popped: f64) -> Cost {
        let callback = self.rates.callback(popped);
        if !self.is_finished_program() {
            return *body + callback;
        }
        let settled = self.settled(body);
        let operations = settled.execute - body.execute;
        let line = self.rates.line_bytes;
        let more =
            if popped.is_finite() { (popped - line).max(0.0) / self.rates.l2_rate } else { 0.0 };
        let read = callback.execute + more;
        let issued = self.rates.dispatch + body.issued / self.rates.issue_width;
        Cost { execute: body.execute + operations.max(read).max(issued), ..settled + callback }
    }

    /// Returns the cycles between iterations of a loop, each of which waits for a result of the one before. The core sees
    /// the next execution of the loop while this one waits, as far as its window reaches.
    pub(super) fn chained(&self, latency: f64, iteration: &Cost, trips: f64) -> f64 {
        if !self.is_finished_program() {
            return latency;
        }
        let operations = (iteration.issued + iteration.enclosed) * trips;
        latency * (1.0 - self.rates.window / operations.max(1.0)).max(0.0)
    }

    /// Returns the cost of writing results back to memory.
    pub(super) fn written_back(&self, bytes: f64) -> Cost {
        let llc_bytes = if self.is_finished_program() { bytes } else { 0.0 };
        Cost { llc_bytes, ..self.rates.write_back(bytes) }
    }

    /// Returns the cost of a value in every lane. That of a number is in a register from the beginning.
    pub(super) fn spread(&self, x: &Summary) -> Cost {
        let number =
            x.variables().is_empty() && x.touched.is_empty() && x.streams.values().next().is_none();
        match number && self.is_finished_program() {
            true => Cost::default(),
            false => self.rates.vector(1.0),
        }
    }

    /// Returns the cost of waiting for lines of an address, of which a share comes from memory.
    pub(super) fn missed(&self, address: &Summary, lines: f64, misses: f64) -> Cost {
        if !self.is_finished_program() {
            return Cost {
                execute: lines * misses * self.rates.exposed_latency,
                ..Cost::default()
            };
        }
        let past_l2 = address.tensor.and_then(|tensor| self.workload.past_l2.get(&tensor).copied());
        let llc_bytes = lines * past_l2.unwrap_or(1.0) * self.rates.line_bytes;
        let l2_bytes = lines * self.past_l1(address) * self.rates.line_bytes;
        Cost { missed: lines * misses, l2_bytes, llc_bytes, ..Cost::default() }
    }

    /// Prices statements one after the other. What one of them writes, the next one finds in the last-level cache, if not
    /// much passes it meanwhile. If no loop encloses them, a unit with nothing to do in one of them cannot begin another.
    pub(super) fn sequence(&self, parts: &[&Summary]) -> Option<Summary> {
        if !self.is_finished_program() {
            let mut all = Summary::merge(parts)?;
            all.spare();
            return Some(all);
        }
        let passed = |part: &&Summary| part.alone.llc_bytes;
        let mut all = match parts.iter().map(passed).sum::<f64>() <= self.rates.llc_bytes {
            true => {
                let near: Vec<Summary> = parts.iter().map(|part| part.at_once()).collect();
                Summary::merge(&near.iter().collect::<Vec<_>>())?
            }
            false => Summary::merge(parts)?,
        };
        all.spare();
        let cycles = |cost: Cost| self.rates.cycles(&Cost { apart: 0.0, ..cost });
        let each: f64 = parts.iter().map(|part| cycles(part.alone)).sum();
        all.cost.apart += (each - cycles(self.alone(&all))).max(0.0);
        Some(all)
    }

    /// Returns the activations of DRAM's rows for a line of an address that is not in a cache. Neighbours that are read one
    /// after the other share them. A tensor that is read from its beginning to its end activates each row once.
    pub(super) fn activations(&self, address: &Summary) -> f64 {
        let Some(Finished { moves, .. }) = address.finished.as_deref() else { return 0.0 };
        let rates = self.rates;
        let in_order = |scope: &Few<Id>| scope.is_subset(&moves.in_order);
        if in_order(&moves.leading) && in_order(&moves.last) {
            return rates.line_bytes / rates.row_bytes;
        }
        let neighbours: f64 = moves.in_order.iter().map(|key| self.trips(*key)).product();
        let lines = (address.bytes() * neighbours / rates.line_bytes).ceil().max(1.0);
        // The channels take blocks of lines in turn. Each run begins a multiple of its length from the first one.
        let (length, block) = (lines as u64, rates.interleaved);
        let touched = (0..block).map(|at| (at * (length % block) % block + length).div_ceil(block));
        let blocks = touched.sum::<u64>() as f64 / block as f64;
        let rows = rates.channels + lines * rates.line_bytes / rates.row_bytes;
        blocks.min(rows) / lines
    }

    /// Returns the share of an address's lines from DRAM by which the half of the run with more of them has more than the other
    /// half: where lookups miss they wait for DRAM, and elsewhere for something else.
    pub(super) fn uneven(&self, address: &Summary) -> f64 {
        let known = || self.workload.uneven.get(&address.tensor?).copied();
        if self.is_finished_program() { known().unwrap_or_default() } else { 0.0 }
    }

    /// Returns the cycles in which requests of a stream are in flight, if as many are at a time as may be: of lines past the
    /// core's L2, and of those among them that come from DRAM. Of a stream through the L2, they are misses of the L2, too.
    pub(super) fn in_flight(&self, stream: &StreamUse, past_l2: f64, missed: f64) -> f64 {
        let rates = self.rates;
        let most = match stream.past_l2 {
            Some(_) => rates.outstanding,
            None => rates.outstanding.min(rates.l2_misses),
        };
        (past_l2 * rates.llc_latency + missed * rates.dram_latency) / most
    }

    /// Returns the run of lines that a load of the execute unit begins or goes on with.
    pub(super) fn run(&self, address: &Summary) -> Run {
        let lines = (address.bytes() / self.rates.line_bytes).max(1.0);
        let in_order = address.finished.as_deref().map(|own| own.moves.in_order.clone());
        let extents = address.tensor.and_then(|tensor| self.workload.extents.get(&tensor));
        let bytes = extents.map(|extents| extents.iter().product::<f64>() * address.element);
        let kept = bytes.is_some_and(|bytes| bytes <= self.rates.llc_bytes);
        Run { in_order: in_order.unwrap_or_default(), lines, kept }
    }

    /// Converts the lines that the execute unit asks for itself to time, at the loop whose iterations ask for others. As
    /// many misses are in flight as its window holds, and as the core can keep. The prefetcher reads the lines of a long
    /// run, after its first, and as many beyond its end as it is ahead.
    pub(super) fn wait_for_lines(&self, key: Id, passed: &mut [Passed], iteration: &Cost) {
        let jumps = |own: &Passed| {
            own.cost.missed > 0.0 && own.scope.contains(&key) && !own.run.in_order.contains(&key)
        };
        let beyond = |own: &Passed| match own.run.lines >= FOLLOWED {
            true => self.rates.expected / own.run.lines,
            false => 0.0,
        };
        let awaited = |own: &Passed| match (beyond(own), own.run.kept) {
            (0.0, _) => own.cost.missed,
            (beyond, true) => own.cost.missed * FOLLOWED / own.run.lines / (1.0 + beyond),
            (_, false) => own.cost.missed * FOLLOWED / own.run.lines,
        };
        let missed: f64 = passed.iter().filter(|own| jumps(own)).map(awaited).sum();
        let operations = iteration.issued + iteration.enclosed;
        let seen = (self.rates.window / operations.max(1.0)).max(1.0);
        let latency = self.rates.latency;
        let by_misses = missed * latency * (1.0 + BUSY) / self.rates.misses;
        // Iterations that are seen go on while one waits, and several of them may wait at the same time.
        let alone = (latency + iteration.execute * (1.0 - seen)).max(0.0);
        let by_window = iteration.execute + missed / (missed * seen).max(1.0) * alone;
        let waits = (by_misses.max(by_window) - iteration.execute).max(0.0);
        for own in passed.iter_mut().filter(|own| jumps(own)) {
            own.cost.execute += waits * awaited(own) / missed;
            if !own.run.kept {
                let lines = beyond(own) * own.cost.missed;
                let bytes = lines * self.rates.line_bytes;
                own.cost.activated += lines / self.rates.interleaved as f64;
                own.cost.dram_bytes += bytes;
                own.cost.llc_bytes += bytes;
                own.cost.l2_bytes += bytes;
            }
            own.cost.missed = 0.0;
        }
    }
}

/// Returns a load of an iteration that finds in a cache what an earlier one of the same place has asked for, given the
/// streams in their order; `None` if there is no earlier one.
pub(super) fn found(streams: &[&StreamUse], at: usize) -> Option<StreamUse> {
    let own = streams[at];
    let same = |other: &&&StreamUse| other.loads && other.stays && other.place == own.place;
    let mut earlier = streams[..at].iter().filter(same).peekable();
    earlier.peek()?;
    let in_l2 = own.past_l2.is_none() && earlier.clone().any(|other| other.past_l2.is_none());
    let through_l2 = if in_l2 { Some(0.0) } else { own.through_l2 };
    let past_l1 = if earlier.any(|other| other.fetched) { 0.0 } else { own.past_l1 };
    Some(StreamUse { misses: 0.0, through_l2, past_l1, ..own.clone() })
}
