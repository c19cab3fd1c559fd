//! Statements of the access unit: loops, callbacks and its own stores; and the marshalling of the values that callbacks
//! need.

use super::DecoupleError;
use super::builder::Lowering;
use super::frames::{Callback, Counter, Frame, FrameKind, Item, Level};
use super::statements::{operands, pops};
use egg::Id;
use ember_language::rules::{Loop, Unit};
use ember_targets::dlc::{
    Action, Case, CaseId, Expr, Hint, Program, RegisterId, Stmt, StreamId, StreamKind, Type,
};
use ember_values::primitive::form::{Form, Sequence};
use ember_values::scalar::{DType, Scalar};

impl Lowering<'_> {
    /// Lowers the whole term.
    pub(super) fn decouple(mut self) -> Result<Program, DecoupleError> {
        self.both(self.terms.root())?;
        let Some(FrameKind::Access(level)) = self.frames.pop().map(|f| f.kind) else {
            return Err(self.terms.error(self.terms.root(), "a loop was left twice"));
        };
        self.program.access = self.level_actions(level);
        Ok(self.program)
    }

    /// Appends a statement of both units to the current level.
    fn both(&mut self, id: Id) -> Result<(), DecoupleError> {
        self.deeper(id, |l| l.both_here(id))
    }

    fn both_here(&mut self, id: Id) -> Result<(), DecoupleError> {
        if let Some(body) = self.terms.carried(id, Some(Unit::Both), Some(Unit::Execute)) {
            let at = self.access_level(id)?.new_callback();
            self.statement(body)?;
            let body = std::mem::take(&mut self.block);
            self.access_level(id)?.callbacks[at].body.extend(body);
            return Ok(());
        }
        match self.terms.on(id, Some(Unit::Both)) {
            Some(Form::Sequence(Sequence::Empty)) => Ok(()),
            Some(Form::Sequence(Sequence::Two([first, second]))) => {
                self.both(first)?;
                self.both(second)
            }
            Some(Form::Loop(own)) if own.folds.is_none() => self.access_loop(id, own),
            Some(Form::Write { op: None, address, value }) => {
                let (addr, ty, spread) = self.stream_address(address)?;
                if spread.is_some() {
                    return Err(self.terms.error(id, "writes one element from several lanes"));
                }
                let value = self.stream(value)?;
                if self.stream_type(value) != ty {
                    let types = format!("writes {} where {ty} stands", self.stream_type(value));
                    return Err(self.terms.error(id, types));
                }
                self.access_level(id)?.perform(Action::Store { addr, value });
                Ok(())
            }
            Some(Form::Sequence(Sequence::Ahead(address))) => {
                let (stream, _) = self.mem_stream(Hint::TemporalL2, address)?;
                self.access_level(id)?.perform(Action::Prefetch(stream));
                Ok(())
            }
            Some(Form::Sequence(Sequence::Barrier)) => {
                let level = self.access_level(id)?;
                level.perform(Action::Barrier);
                // Memory may change at a barrier, so nothing is popped across it.
                level.joinable = None;
                if let Some(frame) = self.frames.last_mut() {
                    frame.popped.clear();
                    frame.fetched.clear();
                    frame.held.clear();
                }
                Ok(())
            }
            _ => Err(self.terms.unexpected(id, "a statement of the access unit")),
        }
    }

    fn access_loop(&mut self, id: Id, own: Loop<Id>) -> Result<(), DecoupleError> {
        let Loop { variable: var, lo, hi, step, body, .. } = own;
        let (unit, _) = self.unit(var, (lo, hi), step)?;
        self.enter(var, FrameKind::Access(Level { unit: Some(unit), ..Level::default() }))?;
        self.both(body)?;
        let Some(FrameKind::Access(mut level)) = self.frames.pop().map(|f| f.kind) else {
            return Err(self.terms.error(id, "the loop was left twice"));
        };
        if let Some(counter) = &level.counter {
            let step = self.program.units[unit.index()].step;
            let next = increment(counter.register, step);
            after_last_use(&mut level).body.push(next);
        }
        let beg = std::mem::take(&mut level.beg);
        let name = self.program.units[unit.index()].name.clone();
        let beg = self.callback_actions(beg, &format!("beg_{name}"));
        let ite = self.level_actions(level);
        let made = &mut self.program.units[unit.index()];
        made.beg = beg;
        made.ite = ite;
        self.access_level(id)?.perform(Action::Traverse(unit));
        Ok(())
    }

    /// Returns the innermost level of the access unit, which must also be the innermost loop here.
    fn access_level(&mut self, id: Id) -> Result<&mut Level, DecoupleError> {
        match self.frames.last_mut().map(|f| &mut f.kind) {
            Some(FrameKind::Access(level)) => Ok(level),
            _ => Err(self.terms.error(id, "stands inside a callback")),
        }
    }

    /// Appends an action to the marshalling of the current callback or walk.
    pub(super) fn marshal(&mut self, action: Action) {
        match self.frames.last_mut().map(|f| &mut f.kind) {
            Some(FrameKind::Walk(walk)) => walk.actions.push(action),
            Some(FrameKind::Access(level)) => level.callback().actions.push(action),
            Some(FrameKind::Execute(_)) | None => {}
        }
    }

    /// Returns the register with the value of a stream, which is popped on entry to the level of its innermost loop.
    pub(super) fn popped(&mut self, stream: StreamId) -> RegisterId {
        let frame = self.level_of_stream(stream);
        if let Some(register) = self.frames[frame].popped.get(&stream) {
            return *register;
        }
        let register = self.pop_register(stream);
        let Frame { kind, popped, .. } = &mut self.frames[frame];
        popped.insert(stream, register);
        match kind {
            FrameKind::Walk(walk) => walk.pops.push((stream, register)),
            FrameKind::Access(level) => level.callback().pops.push((stream, register)),
            // No stream depends on a loop of the execute unit alone.
            FrameKind::Execute(_) => {}
        }
        register
    }

    fn pop_register(&mut self, stream: StreamId) -> RegisterId {
        let name = self.program.streams[stream.index()].name.clone();
        self.register(&name, self.stream_type(stream))
    }

    /// Returns the register with the index of a loop on the execute unit.
    pub(super) fn count(&mut self, frame: usize) -> Result<RegisterId, DecoupleError> {
        let innermost = self.frames.iter().rposition(|f| matches!(f.kind, FrameKind::Access(_)));
        let unit = match &mut self.frames[frame].kind {
            FrameKind::Execute(register) => return Ok(*register),
            FrameKind::Walk(walk) => return Ok(walk.register),
            FrameKind::Access(level) => {
                // A callback of this level is its last item. A callback further inside will belong to a loop that is
                // not an item yet.
                let used_inside = innermost != Some(frame);
                if let Some(counter) = &mut level.counter {
                    counter.used_inside |= used_inside;
                    if !used_inside {
                        counter.last_use = level.items.len().saturating_sub(1);
                    }
                    return Ok(counter.register);
                }
                level.unit
            }
        };
        let Some(unit) = unit else {
            return Err(self.terms.error(self.terms.root(), "the program itself has no counter"));
        };
        let name = format!("count_{}", self.program.units[unit.index()].name);
        let register = self.register(&name, Type::scalar(DType::I64));
        self.start_counter(frame, register, self.program.units[unit.index()].lo);
        if let FrameKind::Access(level) = &mut self.frames[frame].kind {
            let last_use = level.items.len().saturating_sub(1);
            let used_inside = innermost != Some(frame);
            level.counter = Some(Counter { register, last_use, used_inside });
        }
        Ok(register)
    }

    /// Sets a counter to its loop's `lo` before the loop is traversed. The code is put in the last callback before the
    /// loop, in `main` for a loop that is traversed once, or else at the `beg` of the loop.
    fn start_counter(&mut self, frame: usize, register: RegisterId, lo: StreamId) {
        let parent = frame - 1;
        let joinable = match &self.frames[parent].kind {
            FrameKind::Access(level) => level.joinable.is_some(),
            _ => false,
        };
        let lo_read = self.read_from(lo);
        let marshalled = !matches!(
            self.program.streams[lo_read.index()].kind,
            StreamKind::Const(_) | StreamKind::Size(_)
        );
        let own = self.innermost[lo_read.index()];
        let at_parent = marshalled && own == self.frames[parent].unit();
        if !joinable && at_parent && !self.frames[parent].popped.contains_key(&lo_read) {
            // The value is popped at the loop's `beg`, which then also sets the counter.
            let popped = self.pop_register(lo_read);
            self.frames[parent].popped.insert(lo_read, popped);
            if let FrameKind::Access(level) = &mut self.frames[frame].kind {
                level.beg.pops.push((lo_read, popped));
            }
        }
        let value = self.stream_value(lo);
        let start = Stmt::Set(register, super::values::cast(DType::I64, value).expr);
        if !joinable && parent == 0 && !marshalled {
            self.program.main.push(start);
            return;
        }
        match &mut self.frames[if joinable { parent } else { frame }].kind {
            FrameKind::Access(level) if joinable => level.callback().body.push(start),
            FrameKind::Access(level) => level.beg.body.push(start),
            _ => {}
        }
    }

    /// Returns the actions of a level, with its callbacks converted to cases.
    fn level_actions(&mut self, mut level: Level) -> Vec<Action> {
        let place = match level.unit {
            Some(unit) => format!("on_{}", self.program.units[unit.index()].name),
            None => "on_start".to_owned(),
        };
        let mut actions = Vec::with_capacity(level.items.len());
        for item in level.items {
            match item {
                Item::Action(action) => actions.push(action),
                Item::Callback(at) => {
                    let callback = std::mem::take(&mut level.callbacks[at]);
                    actions.extend(self.callback_actions(callback, &place));
                }
            }
        }
        actions
    }

    /// Returns the token of a callback with its operands; nothing for an empty callback.
    fn callback_actions(&mut self, callback: Callback, name: &str) -> Vec<Action> {
        if callback.is_empty() {
            return Vec::new();
        }
        let mut actions = callback.fetches.prefetches;
        let mut body = pops(&callback.pops);
        body.extend(callback.fetches.loads);
        body.extend(callback.body);
        let name = self.case_names.fresh(name);
        self.program.cases.push(Case { name, body });
        actions.push(Action::Callback(CaseId(self.program.cases.len() as u32 - 1)));
        actions.extend(operands(&callback.pops));
        actions.extend(callback.actions);
        actions
    }
}

/// Returns the callback that may increment the level's counter: the last one if nothing after it still uses the
/// counter, or else a new one at the end.
fn after_last_use(level: &mut Level) -> &mut Callback {
    let last_use = level.counter.as_ref().map_or(0, |c| c.last_use);
    let found =
        level.items[last_use.min(level.items.len())..].iter().rev().find_map(|item| match item {
            Item::Callback(at) => Some(*at),
            Item::Action(_) => None,
        });
    let at = match found {
        Some(at) => at,
        None => level.new_callback(),
    };
    &mut level.callbacks[at]
}

/// Returns `register := register + step`.
fn increment(register: RegisterId, step: i64) -> Stmt {
    let step = Expr::Const(Scalar::I64(step));
    let sum = Expr::sum(Expr::Register(register), step);
    Stmt::Set(register, sum)
}
