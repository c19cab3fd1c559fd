//! Coupled programs: a loop nest of the execute unit alone, the baseline without an access unit.

use crate::decouple::{DecoupleError, Lowering, ModelContext};
use ember_language::rules::Operators;
use ember_language::term::Term;
use ember_targets::dlc::Program;

/// Turns a finished statement that runs nowhere yet (no tensors, no lanes that are still to be made) into a
/// program that is [`Program::main`] alone.
///
/// # Errors
///
/// An operator of another level, an unbound loop variable, unknown names, operands whose types do
/// not fit, or a program too large to write out.
pub fn coupled(
    operators: &Operators,
    term: &Term,
    context: &ModelContext,
) -> Result<Program, DecoupleError> {
    Lowering::coupled(operators, term, context)
}
