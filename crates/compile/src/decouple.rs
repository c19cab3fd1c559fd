//! Decoupling: one finished SLC program, in which access and execute code are still nested, is
//! split into the two halves of a DLC program.
//!
//! Both halves come from one term in one pass, so what the access half marshals is what the compute
//! half pops. Streams become [`Stream`](ember_targets::dlc::Stream)s, each made once; loops that the access
//! unit runs, alone or with the execute unit, become traversal units; callbacks become cases. The
//! operator table says what an operator is, so that one which erases to another is split as the other is.
//!
//! - A stream's value is popped once, where the level of its innermost loop is entered, and held in
//!   a register. It travels with a callback that is pushed there anyway, else with one of its own.
//! - A counter is set to its loop's `lo` before the loop is traversed and stepped at the end of each
//!   iteration, again by callbacks that exist anyway where there are some.
//! - A reduction becomes a register and a loop in front of the statement that uses it.
//!
//! What the result must satisfy is proved by [`ember_targets::verify`], not here.

mod access;
mod address;
mod builder;
mod frames;
mod held;
mod names;
mod prefetch;
mod statements;
mod streams;
mod terms;
mod values;

pub(crate) use builder::Lowering;
use ember_language::rules::{Operators, Unit};
use ember_language::term::Term;
use ember_targets::dlc::{Program, TensorDecl};
use std::fmt;

/// What a program takes from its model.
#[derive(Clone, Debug, Default)]
pub struct ModelContext {
    /// The program's name.
    pub name: String,
    /// The symbolic sizes that shapes and terms mention, without `%`.
    pub sizes: Vec<String>,
    /// The tensors, named without `%`; the shapes refer to `sizes`.
    pub tensors: Vec<TensorDecl>,
}

/// Why a term cannot be lowered to DLC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecoupleError {
    /// The operator at fault, or the literal.
    pub operator: String,
    /// What is wrong with it.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl fmt::Display for DecoupleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.operator, self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for DecoupleError {}

/// Splits a finished term of sort `Slc` into a DLC program.
///
/// # Errors
///
/// A boundary operator that is left over, an operator that does not belong in such a program, a
/// stream that mentions a loop of the execute unit alone, a walk below such a loop, unknown names,
/// operands whose types do not fit, or a program too large to write out.
pub fn decouple(
    operators: &Operators,
    term: &Term,
    context: &ModelContext,
) -> Result<Program, DecoupleError> {
    Lowering::new(operators, term, context, Some(Unit::Execute)).decouple()
}
