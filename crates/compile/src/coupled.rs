//! Coupled programs: a loop nest of the execute unit alone, which is the baseline without an access unit.

use crate::decouple::{DecoupleError, Lowering, ModelContext};
use ember_language::rules::Operators;
use ember_language::term::Term;
use ember_targets::dlc::Program;

/// Lowers a finished statement without units, tensor operations or unfinished lanes to a program that consists of
/// [`Program::main`] alone.
///
/// # Errors
///
/// Fails on an operator of another level, an unbound loop variable, unknown names, operands whose types do not fit, or
/// a program too large to write out.
pub fn coupled(
    operators: &Operators,
    term: &Term,
    context: &ModelContext,
) -> Result<Program, DecoupleError> {
    Lowering::coupled(operators, term, context)
}
