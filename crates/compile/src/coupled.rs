//! Coupled programs: a loop nest of the execute unit alone, the baseline without an access unit.

use crate::decouple::{DecoupleError, Lowering, ModelContext};
use ember_language::term::Term;
use ember_targets::dlc::Program;

/// Turns a finished term of sort `Stmt` (operators of `scf` and `core`, no `emb` and no `vec`) into
/// a program that is [`Program::main`] alone.
///
/// # Errors
///
/// An operator of another level, an unbound loop variable, unknown names, operands whose types do
/// not fit, or a program too large to write out.
pub fn coupled(term: &Term, context: &ModelContext) -> Result<Program, DecoupleError> {
    Lowering::coupled(term, context)
}
