//! Values of the execute unit that are computed once, on entry to the level of the innermost loop of their streams, and
//! stay in a register while the inner loops run.

use super::DecoupleError;
use super::builder::Lowering;
use super::frames::FrameKind;
use super::values::Typed;
use egg::{Id, Language};
use ember_language::rules::Unit;
use ember_targets::dlc::{Expr, Hint, Stmt, StreamId};
use ember_values::primitive::form::{Early, Form};

impl Lowering<'_> {
    /// Returns a held value in its register, and computes it on first use.
    pub(super) fn held(&mut self, id: Id, value: Id) -> Result<Typed, DecoupleError> {
        let frame = self.level_of(value)?;
        if let Some(held) = self.frames[frame].held.get(&id) {
            return Ok(held.clone());
        }
        // The computation moves to another body, so it must not use the registers of the current one.
        let (block, kept) = (std::mem::take(&mut self.block), std::mem::take(&mut self.kept));
        let computed = self.value(value)?;
        let register = self.register("held", computed.ty);
        self.block.push(Stmt::Set(register, computed.expr));
        let computation = std::mem::replace(&mut self.block, block);
        self.kept = kept;
        let held = Typed::leaf(Expr::Register(register), computed.ty);
        let frame = &mut self.frames[frame];
        frame.held.insert(id, held.clone());
        match &mut frame.kind {
            FrameKind::Walk(walk) => walk.fetches.loads.extend(computation),
            FrameKind::Access(level) => level.callback().fetches.loads.extend(computation),
            FrameKind::Execute(_) => {
                return Err(self.terms.error(id, "depends on a loop of the execute unit alone"));
            }
        }
        Ok(held)
    }

    /// Returns the innermost level of the streams that a value depends on. A value that depends on memory or counters
    /// cannot be held, because they may differ from one use to the next.
    fn level_of(&mut self, id: Id) -> Result<usize, DecoupleError> {
        self.deeper(id, |l| l.level_here(id))
    }

    fn level_here(&mut self, id: Id) -> Result<usize, DecoupleError> {
        let unit = Some(Unit::Execute);
        if let Some(stream) = self.terms.carried(id, unit, Some(Unit::Access)) {
            let stream = self.stream(stream)?;
            return Ok(self.level_of_stream(stream));
        }
        match self.terms.on(id, unit) {
            Some(Form::Loaded { early: Some(Early::Fetched(ahead)), .. }) => {
                let (stream, _) = self.mem_stream(Hint::TemporalL2, ahead)?;
                return Ok(self.level_of_stream(stream));
            }
            Some(
                Form::Carried { .. }
                | Form::Unary(..)
                | Form::Binary(..)
                | Form::Select { .. }
                | Form::Spread { below: None, .. }
                | Form::Fold { .. },
            ) => {}
            _ => {
                let error = self.terms.error(id, "cannot be held in a register");
                return Err(error.with_help("only arithmetic on streams can"));
            }
        }
        // Constants are the same everywhere, so only the operands that run on the unit matter.
        let units = self.terms.info(id).map_or(&[][..], |info| &info.operand_units);
        let children = self.terms.node(id).children();
        let operands: Vec<Id> =
            units.iter().zip(children).filter(|(of, _)| **of == unit).map(|(_, x)| *x).collect();
        operands.into_iter().try_fold(0, |level, x| Ok(self.level_of(x)?.max(level)))
    }

    /// Returns the level of the innermost unit that a stream depends on.
    pub(super) fn level_of_stream(&self, stream: StreamId) -> usize {
        let unit = self.innermost[stream.index()];
        let entered = self.frames.iter().rposition(|f| unit.is_some() && f.unit() == unit);
        entered.unwrap_or(0)
    }
}
