//! The nodes of a program: the form of each node over its operands, which the operator table states.

use ember_language::rules::Unit;
use ember_values::operation::Operation;
use ember_values::primitive::form::{self, Form};
use ember_values::scalar::{BinaryOp, DType, Scalar};

/// A node, as its position in [`super::program::Program::ops`].
pub(super) type At = usize;

/// The greatest number of operands of an operation on whole tensors.
const MOST: usize = 6;

/// The effect of a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Does {
    /// A form over its operands.
    Form(Form<At>),
    /// A scalar that does not depend on the environment.
    Known(Scalar),
    /// A size of the store, by its place among the program's sizes.
    Size(usize),
    /// A tensor of the store, by its place among the program's tensors; the flag is true if the program writes it.
    Root(usize, bool),
    /// The value of a loop variable.
    Current(At),
    /// An operation on whole tensors, applied to its operands.
    Operation(&'static Operation),
    /// An operator on tensors that means what rules say of it, by its place in the program.
    Lowered(usize),
    /// A number that is given where the meaning of such an operator is evaluated.
    Given,
    /// The name of a binary operation.
    Binary(BinaryOp),
    /// The name of an element type.
    Type(DType),
    /// A name that only the operator around it reads.
    Name,
    /// No meaning; the number is the position of the error in [`super::program::Program::errors`].
    Wrong(usize),
}

/// A node of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    /// The effect.
    pub does: Does,
    /// The unit that runs it; `None` if no unit is chosen yet.
    pub unit: Option<Unit>,
    /// The positions of the variable that it binds and of the operand in which the variable is bound, among its operands,
    /// of which another may be the same term.
    pub binds: Option<(usize, usize)>,
    /// True if its value or its address may have several lanes. If not, it is evaluated without any.
    pub wide: bool,
    /// True if its evaluation makes sure that there is enough stack.
    pub grows: bool,
    /// The operands of an operation on whole tensors.
    parts: [Option<u32>; MOST],
}

/// The variable and bounds of a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    pub var: At,
    /// The bounds on the unit that drives the loop: the access unit's bounds if both units run it.
    pub lo: At,
    pub hi: At,
    pub step: At,
    /// The bounds (lo, hi) of the execute unit, if both units run the loop.
    pub follow: Option<(At, At)>,
    /// True if only the execute unit runs the loop.
    pub alone: bool,
}

impl Op {
    /// Builds a node.
    pub fn new(does: Does, unit: Option<Unit>, binds: Option<(usize, usize)>) -> Op {
        Op { does, unit, binds, wide: false, grows: false, parts: [None; MOST] }
    }

    /// Builds a node that no unit runs.
    pub fn leaf(does: Does) -> Op {
        Op::new(does, None, None)
    }

    /// Builds the node of an operation on whole tensors.
    pub fn whole(operation: &'static Operation, operands: &[At]) -> Op {
        let mut parts = [None; MOST];
        for (part, operand) in parts.iter_mut().zip(operands) {
            *part = u32::try_from(*operand).ok();
        }
        Op { parts, ..Op::leaf(Does::Operation(operation)) }
    }

    /// Returns the form of the node; `None` if it has another effect.
    pub fn form(&self) -> Option<Form<At>> {
        match self.does {
            Does::Form(form) => Some(form),
            _ => None,
        }
    }

    /// Returns lo, hi and step of a loop variable.
    pub fn range(&self) -> Option<[At; 3]> {
        self.form()?.as_variable().map(|(_, range)| range)
    }

    /// Returns the operand of an operation on whole tensors at a position of its row.
    pub fn part(&self, place: usize) -> Option<At> {
        self.parts.get(place)?.map(|at| at as At)
    }

    /// Returns the operand with this name, of an operation on whole tensors.
    pub fn named(&self, name: &str) -> Option<At> {
        match self.does {
            Does::Operation(operation) => self.part(operation.place(name)?),
            _ => None,
        }
    }

    /// Returns true if the access unit computes the node.
    pub fn is_stream(&self) -> bool {
        self.unit == Some(Unit::Access)
    }

    /// Returns the variable and the bounds of a loop.
    pub fn looped(&self, own: form::Loop<At>) -> Loop {
        let form::Loop { variable: var, lo, hi, step, access, .. } = own;
        match access {
            Some((first, end)) => {
                Loop { var, lo: first, hi: end, step, follow: Some((lo, hi)), alone: false }
            }
            None => {
                let alone = self.unit == Some(Unit::Execute);
                Loop { var, lo, hi, step, follow: None, alone }
            }
        }
    }
}
