//! Compiles the access half: the fetcher of each stream, and the marshaller's steps.
//!
//! The streams of a unit are assigned to levels. Level 0 steps the loop and makes the streams that need no load of the
//! same unit; a stream that is indexed by a load of its own unit is one level above that load. Each level runs ahead by
//! itself, so that a gather does not delay the indices it needs next.

use super::{Address, Context, address, check_index, check_lanes};
use crate::data::raw;
use crate::error::SimError;
use crate::queue::Format;
use ember_targets::dlc::{Action, Addr, Hint, StreamId, StreamKind, Type, UnitId};
use ember_targets::machine::Machine;
use ember_values::scalar::{BinaryOp, Scalar};

/// The access half. Unit 0 represents the program itself: one iteration that holds the streams of no unit.
#[derive(Debug)]
pub(crate) struct AccessCode {
    pub(crate) streams: Vec<StreamCode>,
    pub(crate) units: Vec<UnitCode>,
    /// Outermost first.
    pub(crate) fetchers: Vec<FetcherCode>,
    pub(crate) steps: Vec<Step>,
    /// The root traversals; the engine is configured for each in turn.
    pub(crate) epochs: Vec<Epoch>,
    /// Bytes of storage that the units of one root traversal share.
    pub(crate) storage: u64,
    /// True if an integer follows from a floating-point value.
    pub(crate) mixes: bool,
}

impl AccessCode {
    /// Divides room for `lines` lines in the core's L2 among the streams of each root traversal that read into it, by what
    /// an element of each requests; returns each stream's share, at least 1.
    pub(crate) fn shares_of_l2(&self, lines: u64, line_bytes: u64) -> Vec<u64> {
        let requests = |s: usize| self.streams[s].ty.bytes().div_ceil(line_bytes);
        let mut shares = vec![1; self.streams.len()];
        for epoch in &self.epochs {
            let all = epoch.fetchers.iter().flat_map(|&f| &self.fetchers[f].streams);
            let throttled: Vec<usize> =
                all.copied().filter(|&s| self.streams[s].throttled()).collect();
            let together: u64 = throttled.iter().map(|&s| requests(s)).sum();
            for s in throttled {
                shares[s] = (lines * requests(s) / together).max(1);
            }
        }
        shares
    }
}

/// The fetchers of one root traversal and of the streams of no unit that are needed with it.
#[derive(Debug, Default)]
pub(crate) struct Epoch {
    pub(crate) fetchers: Vec<usize>,
    /// True if it may begin while the marshaller still drains the previous traversal: no barrier lies between them.
    pub(crate) ahead: bool,
}

/// A stream.
#[derive(Debug)]
pub(crate) struct StreamCode {
    pub(crate) unit: usize,
    /// The fetcher that makes it; `None` for a constant.
    pub(crate) fetcher: Option<usize>,
    pub(crate) ty: Type,
    /// The number of lanes that are computed.
    pub(crate) lanes: usize,
    pub(crate) format: Format,
    pub(crate) kind: Kind,
    /// True if only prefetches use it: its lines are requested and no value is kept.
    pub(crate) dropped: bool,
}

impl StreamCode {
    /// Returns true if the stream fills the core's L2, and so must not run too far ahead of the execute unit.
    #[inline(always)]
    pub(crate) fn throttled(&self) -> bool {
        self.dropped || matches!(self.kind, Kind::Mem(_, Hint::TemporalL2))
    }
}

/// The source of a stream's elements.
#[derive(Debug)]
pub(crate) enum Kind {
    Const(u64),
    IndVar,
    Mem(Address<usize>, Hint),
    Alu(BinaryOp, usize, usize),
    /// Another stream's scalar in every lane; with a single lane, that scalar itself.
    Spread(usize),
}

/// A traversal unit.
#[derive(Debug)]
pub(crate) struct UnitCode {
    pub(crate) name: String,
    pub(crate) parent: usize,
    pub(crate) lo: usize,
    pub(crate) hi: usize,
    pub(crate) step: i64,
    /// The number of records it keeps: the capacity of its roomiest fetcher.
    pub(crate) capacity: u64,
    /// The fetcher that steps it.
    pub(crate) stepper: usize,
    /// The fetcher that completes an iteration.
    pub(crate) last: usize,
    /// The fetchers that step the units directly inside it.
    pub(crate) children: Vec<usize>,
    /// Its throttled streams whose data is used in the access unit: the marshaller is past an element of them once it is
    /// past the iteration.
    pub(crate) throttled: Vec<usize>,
}

/// The fetcher of the streams of one level of one unit.
#[derive(Debug)]
pub(crate) struct FetcherCode {
    pub(crate) unit: usize,
    /// The fetcher of the level below, which it follows; `None` at level 0.
    pub(crate) after: Option<usize>,
    /// The root traversal that it belongs to.
    pub(crate) epoch: usize,
    /// Its streams, in definition order.
    pub(crate) streams: Vec<usize>,
    /// The number of cycles that one iteration occupies it.
    pub(crate) cycles: u64,
    /// The number of iterations that its storage holds.
    pub(crate) capacity: u64,
    /// The bytes of storage that one iteration takes; 0 outside every unit.
    pub(crate) bytes: u64,
    /// The lines that one iteration requests at most, if its loads are aligned; at least 1.
    pub(crate) requests: u64,
}

/// A step of the marshaller.
#[derive(Debug)]
pub(crate) enum Step {
    Operand(usize),
    Prefetch(usize),
    Token(usize),
    Store(Address<usize>, usize),
    Barrier,
    /// The end of a root traversal or a barrier: the next traversal has the engine to itself.
    Epoch,
    /// Waits for the unit's next iteration; an empty traversal continues at the given step.
    Enter(usize, usize),
    /// Ends an iteration; if it was not the last, continues at the given step.
    Next(usize, usize),
}

/// Compiles and checks the access half.
pub(crate) fn compile_access(
    context: Context<'_>,
    machine: &Machine,
) -> Result<AccessCode, SimError> {
    let program = context.program;
    let n = program.units.len();
    let mut c = Compiler {
        line_bytes: machine.dram.line_bytes,
        context,
        streams: Vec::new(),
        parents: vec![None; n],
        depths: vec![0; n + 1],
        epochs: vec![0; n + 1],
        used: vec![None; program.streams.len()],
        steps: Vec::new(),
        epoch: 0,
        ahead: vec![false],
        mixes: false,
    };
    for (stream, dropped) in program.streams.iter().zip(program.only_prefetched()) {
        let code = StreamCode { dropped, ..c.stream(stream)? };
        c.streams.push(code);
    }
    for action in &program.access {
        c.action(action, 0, 1, machine)?;
        if matches!(action, Action::Traverse(_) | Action::Barrier) {
            c.steps.push(Step::Epoch);
            c.epoch += 1;
            c.ahead.push(matches!(action, Action::Traverse(_)));
        }
    }
    c.finish(machine)
}

pub(super) struct Compiler<'a> {
    pub(super) line_bytes: u64,
    pub(super) context: Context<'a>,
    pub(super) streams: Vec<StreamCode>,
    /// For each unit, the number of the unit that traverses it, once known.
    pub(super) parents: Vec<Option<usize>>,
    pub(super) depths: Vec<u64>,
    pub(super) epochs: Vec<usize>,
    /// For each used stream, the first epoch that uses it.
    pub(super) used: Vec<Option<usize>>,
    pub(super) steps: Vec<Step>,
    pub(super) epoch: usize,
    /// For each epoch, true if no barrier directly precedes it.
    pub(super) ahead: Vec<bool>,
    pub(super) mixes: bool,
}

impl Compiler<'_> {
    fn stream(&mut self, stream: &ember_targets::dlc::Stream) -> Result<StreamCode, SimError> {
        let place = format!("stream `{}`", stream.name);
        check_lanes(stream.ty.lanes, &place)?;
        let (unit, kind, ty) = match &stream.kind {
            StreamKind::Const(value) => (0, Kind::Const(raw(*value)), Type::scalar(value.dtype())),
            StreamKind::Size(size) => (0, Kind::Const(self.context.size(*size)? as u64), INDEX),
            StreamKind::IndVar(unit) => {
                if unit.index() >= self.parents.len() {
                    return Err(SimError::invalid(format!("{place} follows an unknown unit")));
                }
                (unit.index() + 1, Kind::IndVar, INDEX)
            }
            StreamKind::Mem { addr, hint } => {
                let ty = self.context.addressed(addr, &place)?;
                let address = self.addr(addr, &place)?;
                let units = address.index.iter().map(|&s| self.streams[s].unit);
                let unit = units.max().unwrap_or(0);
                (unit, Kind::Mem(address, *hint), ty)
            }
            StreamKind::Broadcast(from) | StreamKind::IndexCast(from) => {
                let from = self.known(*from, &place)?;
                let of = &self.streams[from];
                if of.ty.lanes != 1 {
                    return Err(SimError::invalid(format!("{place} needs a scalar")));
                }
                let ty = match stream.kind {
                    // Integers are held sign-extended, so that a conversion changes nothing.
                    StreamKind::IndexCast(_) => {
                        check_index(of.ty, &place)?;
                        INDEX
                    }
                    _ => Type { dtype: of.ty.dtype, lanes: stream.ty.lanes },
                };
                (of.unit, Kind::Spread(from), ty)
            }
            StreamKind::Alu { op, a, b } => {
                let (a, b) = (self.known(*a, &place)?, self.known(*b, &place)?);
                let (x, y) = (&self.streams[a], &self.streams[b]);
                if x.ty != y.ty || x.ty.lanes != 1 {
                    let message = format!("{place} needs two scalars of one type");
                    return Err(SimError::invalid(message));
                }
                if x.ty.dtype.is_storage() {
                    let message = format!("{place} computes with a type that is only stored");
                    return Err(SimError::invalid(message));
                }
                let ty = Type::scalar(op.result(x.ty.dtype));
                self.mixes |= x.ty.dtype.is_float() && !ty.dtype.is_float();
                (x.unit.max(y.unit), Kind::Alu(*op, a, b), ty)
            }
        };
        if ty != stream.ty {
            let (a, b) = (stream.ty, ty);
            let message = format!(
                "{place} is declared {}x{} and makes {}x{}",
                a.dtype, a.lanes, b.dtype, b.lanes
            );
            return Err(SimError::invalid(message));
        }
        let format = Format::new(ty, self.line_bytes);
        let lanes = self.context.computed(ty);
        Ok(StreamCode { unit, fetcher: None, ty, lanes, format, kind, dropped: false })
    }

    /// Returns the position of a stream that has been defined.
    fn known(&self, id: StreamId, place: &str) -> Result<usize, SimError> {
        if id.index() < self.streams.len() {
            return Ok(id.index());
        }
        Err(SimError::invalid(format!("{place} uses a stream before its definition")))
    }

    fn addr(&self, addr: &Addr<StreamId>, place: &str) -> Result<Address<usize>, SimError> {
        let mut index = Vec::new();
        let limit = addr.lanes.as_ref().map(|l| &l.limit);
        for &id in addr.index.iter().chain(limit) {
            let s = self.known(id, place)?;
            check_index(self.streams[s].ty, place)?;
            index.push(s);
        }
        let from = self.context.from(addr.tensor, || index.first().is_some_and(|s| self.own(*s)));
        Ok(address(addr, place, (from, self.context.column(addr.tensor)), 0, index))
    }

    /// Returns true if a stream counts the rows that the program runs on.
    fn own(&self, stream: usize) -> bool {
        let program = self.context.program;
        let StreamKind::IndVar(unit) = program.streams[stream].kind else { return false };
        let unit = &program.units[unit.index()];
        // A loop within a strip of rows begins at the first of them.
        if unit.lo.index() < stream && self.own(unit.lo.index()) {
            return true;
        }
        let kind = |s: StreamId| program.streams.get(s.index()).map(|s| &s.kind);
        let Some(StreamKind::Size(size)) = kind(unit.hi) else { return false };
        let begins = kind(unit.lo) == Some(&StreamKind::Const(Scalar::I64(0)));
        begins && self.context.division.counts(*size) == Some(0)
    }

    fn action(
        &mut self,
        action: &Action,
        unit: usize,
        depth: u64,
        machine: &Machine,
    ) -> Result<(), SimError> {
        let step = match action {
            Action::Operand(id) => Step::Operand(self.used_in(*id, unit, "an operand")?),
            Action::Prefetch(id) => {
                let stream = self.used_in(*id, unit, "a prefetch")?;
                if !matches!(self.streams[stream].kind, Kind::Mem(..)) {
                    return Err(SimError::invalid("a prefetched stream loads nothing"));
                }
                Step::Prefetch(stream)
            }
            Action::Callback(case) => {
                if case.index() >= self.context.program.cases.len() {
                    return Err(SimError::invalid("a callback's case is not defined"));
                }
                Step::Token(case.index())
            }
            Action::Store { addr, value } => {
                let place = "an access store";
                self.context.writable(addr.tensor, place)?;
                let ty = self.context.addressed(addr, place)?;
                let value = self.used_in(*value, unit, place)?;
                if self.streams[value].ty != ty {
                    return Err(SimError::invalid("an access store's value has another type"));
                }
                for &s in addr.index.iter().chain(addr.lanes.as_ref().map(|l| &l.limit)) {
                    self.used_in(s, unit, place)?;
                }
                Step::Store(self.addr(addr, place)?, value)
            }
            Action::Barrier => Step::Barrier,
            Action::Traverse(child) => return self.traverse(*child, unit, depth, machine),
        };
        self.steps.push(step);
        Ok(())
    }

    fn traverse(
        &mut self,
        id: UnitId,
        parent: usize,
        depth: u64,
        machine: &Machine,
    ) -> Result<(), SimError> {
        let program = self.context.program;
        let Some(unit) = program.units.get(id.index()) else {
            return Err(SimError::invalid("a traversed unit is not defined"));
        };
        let name = &unit.name;
        if self.parents[id.index()].is_some() {
            return Err(SimError::invalid(format!("unit `{name}` is traversed twice")));
        }
        if depth > machine.access.layers {
            let layers = machine.access.layers;
            return Err(SimError::limit(format!(
                "unit `{name}` is in layer {depth}, the machine has {layers}"
            )));
        }
        if unit.step < 1 {
            return Err(SimError::invalid(format!("unit `{name}` does not advance")));
        }
        let me = id.index() + 1;
        if me <= parent {
            return Err(SimError::invalid(format!("unit `{name}` is defined before its parent")));
        }
        self.parents[id.index()] = Some(parent);
        self.depths[me] = depth;
        self.epochs[me] = self.epoch;
        for bound in [unit.lo, unit.hi] {
            let place = format!("unit `{name}`");
            let s = self.used_in(bound, parent, &place)?;
            check_index(self.streams[s].ty, &place)?;
        }
        let event = |actions: &[Action], which: &str| match actions {
            a if a.iter().any(|a| matches!(a, Action::Traverse(_))) => {
                Err(SimError::invalid(format!("unit `{name}` traverses at `{which}`")))
            }
            _ => Ok(()),
        };
        event(&unit.beg, "beg")?;
        event(&unit.end, "end")?;
        for action in &unit.beg {
            self.action(action, parent, depth, machine)?;
        }
        let enter = self.steps.len();
        self.steps.push(Step::Enter(me, 0));
        for action in &unit.ite {
            self.action(action, me, depth + 1, machine)?;
        }
        self.steps.push(Step::Next(me, enter));
        self.steps[enter] = Step::Enter(me, self.steps.len());
        for action in &unit.end {
            self.action(action, parent, depth, machine)?;
        }
        Ok(())
    }

    /// Marks a stream and its inputs as used in a unit; they must be in scope there.
    fn used_in(&mut self, id: StreamId, unit: usize, place: &str) -> Result<usize, SimError> {
        let s = self.known(id, place)?;
        let mut open = vec![s];
        while let Some(s) = open.pop() {
            let mut scope = Some(unit);
            while let Some(u) = scope.filter(|&u| u != self.streams[s].unit) {
                scope = if u == 0 { None } else { self.parents[u - 1] };
            }
            if scope.is_none() {
                let name = &self.context.program.streams[s].name;
                let message = format!("{place} uses stream `{name}` outside its unit");
                return Err(SimError::invalid(message));
            }
            if self.used[s].is_none() {
                self.used[s] = Some(self.epoch);
                open.extend(self.deps(s));
            }
        }
        Ok(s)
    }

    pub(super) fn deps(&self, s: usize) -> Vec<usize> {
        match &self.streams[s].kind {
            Kind::Const(_) | Kind::IndVar => Vec::new(),
            Kind::Alu(_, a, b) => vec![*a, *b],
            Kind::Spread(from) => vec![*from],
            Kind::Mem(addr, _) => addr.index.clone(),
        }
    }
}

/// The type of induction variables and sizes.
const INDEX: Type = Type { dtype: ember_values::scalar::DType::I64, lanes: 1 };
