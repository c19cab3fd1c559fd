//! Decoupling: the split of one finished SLC program, with nested access and execute code, into the two halves of a DLC
//! program.
//!
//! Both halves come from one term in one pass, so that the compute half pops exactly what the access half marshals.
//! Streams become [`Stream`](ember_targets::dlc::Stream)s, each created once. Loops that the access unit runs, alone or
//! with the execute unit, become traversal units; callbacks become cases. Operators are classified by the operator
//! table, so an operator that erases to another is split like that other.
//!
//! - The value of a stream is popped once, on entry to the level of its innermost loop, and held in a register. It
//!   travels with a callback that is pushed there anyway, or else with a new one.
//! - A counter is set to its loop's `lo` before the loop is traversed and incremented at the end of each iteration,
//!   again by existing callbacks if there are any.
//! - A reduction becomes a register and a loop before the statement that uses it.
//!
//! [`ember_targets::verify`] checks the result.

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
use ember_targets::dlc::{Dim, Program, Purpose, SizeId, TensorDecl};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;

/// The parts of a program that come from its model.
#[derive(Clone, Debug, Default)]
pub struct ModelContext {
    /// The name of the program.
    pub name: String,
    /// The symbolic sizes that shapes and terms mention, without `%`.
    pub sizes: Vec<String>,
    /// The tensors, named without `%`; the shapes refer to `sizes`.
    pub tensors: Vec<TensorDecl>,
}

impl ModelContext {
    /// Returns what a term needs: the inputs and outputs, the scratch memory that it mentions, and the sizes of both.
    pub fn of_term(&self, term: &Term) -> ModelContext {
        let names = term.as_ref().iter().filter_map(|node| node.name()?.strip_prefix('%'));
        let mentioned: FxHashSet<&str> = names.collect();
        let needed = |tensor: &&TensorDecl| {
            tensor.purpose != Purpose::Scratch || mentioned.contains(tensor.name.as_str())
        };
        let mut tensors: Vec<TensorDecl> = self.tensors.iter().filter(needed).cloned().collect();
        let shapes: FxHashSet<Dim> =
            tensors.iter().flat_map(|tensor| &tensor.shape).copied().collect();
        let mut sizes = Vec::new();
        let mut renumbered = FxHashMap::default();
        for (name, dim) in self.sizes.iter().zip((0..).map(|at| Dim::Size(SizeId(at)))) {
            if shapes.contains(&dim) || mentioned.contains(name.as_str()) {
                renumbered.insert(dim, Dim::Size(SizeId(sizes.len() as u32)));
                sizes.push(name.clone());
            }
        }
        for dim in tensors.iter_mut().flat_map(|tensor| &mut tensor.shape) {
            *dim = renumbered.get(dim).copied().unwrap_or(*dim);
        }
        ModelContext { name: self.name.clone(), sizes, tensors }
    }
}

/// The reason a term cannot be lowered to DLC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecoupleError {
    /// The operator at fault, or the literal.
    pub operator: String,
    /// The description of the error.
    pub message: String,
    /// Advice on fixing it.
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
/// Fails on a leftover boundary operator, an operator that does not belong in a decoupled program, a stream that
/// depends on a loop of the execute unit alone, a walk inside such a loop, unknown names, operands whose types do not
/// fit, or a program too large to write out.
pub fn decouple(
    operators: &Operators,
    term: &Term,
    context: &ModelContext,
) -> Result<Program, DecoupleError> {
    Lowering::new(operators, term, context, Some(Unit::Execute)).decouple()
}
