//! Loads of the execute unit that the access unit prefetches. The prefetch and the load both happen once, on entry to
//! the level of the stream's innermost loop, like the marshalling and popping of a stream.

use super::DecoupleError;
use super::builder::Lowering;
use super::frames::FrameKind;
use super::values::Typed;
use egg::Id;
use ember_targets::dlc::{Action, Expr, Hint, Stmt};

impl Lowering<'_> {
    /// Lowers a fetched value from its address on the access unit and on the execute unit. The access unit prefetches
    /// it into the L2, and the execute unit loads it into a register.
    pub(super) fn fetched(&mut self, ahead: Id, address: Id) -> Result<Typed, DecoupleError> {
        let (stream, spread) = self.mem_stream(Hint::TemporalL2, ahead)?;
        let unit = self.innermost[stream.index()];
        let frame = self.frames.iter().rposition(|f| unit.is_some() && f.unit() == unit);
        let Some(frame) = frame else {
            let error = self.terms.error(ahead, "is the same in every loop of the access unit");
            return Err(error.with_help("nothing can be read ahead; load it as it is"));
        };
        if let Some(register) = self.frames[frame].fetched.get(&(stream, spread)) {
            let ty = self.program.registers[register.index()].ty;
            return Ok(Typed::leaf(Expr::Register(*register), ty));
        }
        // The load moves to another body, so it must not use the registers of the current one.
        let (block, kept) = (std::mem::take(&mut self.block), std::mem::take(&mut self.kept));
        let loaded = self.load(address)?;
        let name = self.program.streams[stream.index()].name.clone();
        let register = self.register(&name, loaded.ty);
        self.block.push(Stmt::Set(register, loaded.expr));
        let loads = std::mem::replace(&mut self.block, block);
        self.kept = kept;
        let frame = &mut self.frames[frame];
        frame.fetched.insert((stream, spread), register);
        let action = Action::Prefetch(stream);
        let fetches = match &mut frame.kind {
            FrameKind::Walk(walk) => &mut walk.fetches,
            FrameKind::Access(level) => &mut level.callback().fetches,
            FrameKind::Execute(_) => {
                return Err(self.terms.error(ahead, "depends on a loop of the execute unit alone"));
            }
        };
        // One stream may be loaded both as a scalar and into every lane.
        if !fetches.prefetches.contains(&action) {
            fetches.prefetches.push(action);
        }
        fetches.loads.extend(loads);
        Ok(Typed::leaf(Expr::Register(register), loaded.ty))
    }
}
