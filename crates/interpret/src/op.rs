//! The nodes of a program: the primitive of each node, with its operands in the order of the primitive's row. The
//! operator table assigns primitives to operators.

use ember_language::rules::Unit;
use ember_values::operation::Operation;
use ember_values::primitive::Primitive;
use ember_values::scalar::{BinaryOp, DType, Scalar};

/// A node, as its position in [`super::program::Program::ops`].
pub(super) type At = usize;

/// The greatest number of operands of a primitive or of an operation on whole tensors.
const MOST: usize = 9;

/// The effect of a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Does {
    /// A primitive applied to its operands.
    Primitive(Primitive),
    /// A scalar that does not depend on the environment.
    Known(Scalar),
    /// A tensor of the store; the flag is true if the program writes it.
    Root(u32, bool),
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
    /// The variable that it binds, and the operand in which the variable is bound.
    pub binds: Option<(At, At)>,
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
    /// Builds a node with operands in the order of its row; missing operands are `None`.
    pub fn new(does: Does, unit: Option<Unit>, operands: impl Iterator<Item = Option<At>>) -> Op {
        let mut parts = [None; MOST];
        for (part, operand) in parts.iter_mut().zip(operands) {
            *part = operand.and_then(|at| u32::try_from(at).ok());
        }
        Op { does, unit, binds: None, parts }
    }

    /// Builds a node without operands.
    pub fn leaf(does: Does) -> Op {
        Op::new(does, None, std::iter::empty())
    }

    /// Returns the primitive of the node; `None` if it has another effect.
    pub fn primitive(&self) -> Option<Primitive> {
        match self.does {
            Does::Primitive(primitive) => Some(primitive),
            _ => None,
        }
    }

    /// Returns the operand at a position of the row.
    pub fn part(&self, place: usize) -> Option<At> {
        self.parts.get(place)?.map(|at| at as At)
    }

    /// Returns the first operands. Program nodes always have the operands that their rows require.
    pub fn parts<const N: usize>(&self) -> [At; N] {
        std::array::from_fn(|place| self.part(place).unwrap_or(0))
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

    /// Returns the loop of the node, from the operands of its row: the variable, lo, hi and step, and lo and hi on the
    /// access unit.
    pub fn looped(&self, range: [At; 4], access: [Option<At>; 2]) -> Loop {
        let [var, lo, hi, step] = range;
        match access {
            [Some(first), Some(end)] => {
                Loop { var, lo: first, hi: end, step, follow: Some((lo, hi)), alone: false }
            }
            _ => {
                let alone = self.unit == Some(Unit::Execute);
                Loop { var, lo, hi, step, follow: None, alone }
            }
        }
    }
}
