//! What a node of a program does: the primitive that it is, with its operands in the order of the primitive's
//! row. Which operator is which primitive is in the operator table.

use ember_language::rules::Unit;
use ember_values::operation::Operation;
use ember_values::primitive::Primitive;
use ember_values::scalar::{BinaryOp, DType, Scalar};

/// A node by its position in [`super::program::Program::ops`].
pub(super) type At = usize;

/// The most operands of a primitive or an operation on whole tensors.
const MOST: usize = 9;

/// What a node does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Does {
    /// A primitive, of its operands.
    Primitive(Primitive),
    /// A scalar that no environment changes.
    Known(Scalar),
    /// A tensor of the store, and whether the program writes it.
    Root(u32, bool),
    /// An operation on whole tensors, of its operands.
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
    /// Has no meaning; the error is the one at this position.
    Wrong(usize),
}

/// A node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    /// What it does.
    pub does: Does,
    /// Where it runs; `None` for what runs nowhere yet.
    pub unit: Option<Unit>,
    /// The variable that it binds, and the operand in which it is bound.
    pub binds: Option<(At, At)>,
    parts: [Option<u32>; MOST],
}

/// A loop's variable and bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop {
    pub var: At,
    /// The bounds on the unit that feeds the loop: on the access unit, if both run it.
    pub lo: At,
    pub hi: At,
    pub step: At,
    /// The execute unit's own lo and hi, if both units run the loop.
    pub follow: Option<(At, At)>,
    /// Whether the execute unit runs the loop alone.
    pub alone: bool,
}

impl Op {
    /// A node with operands in the order of the row that it has; those that it lacks are `None`.
    pub fn new(does: Does, unit: Option<Unit>, operands: impl Iterator<Item = Option<At>>) -> Op {
        let mut parts = [None; MOST];
        for (part, operand) in parts.iter_mut().zip(operands) {
            *part = operand.and_then(|at| u32::try_from(at).ok());
        }
        Op { does, unit, binds: None, parts }
    }

    /// A node without operands.
    pub fn leaf(does: Does) -> Op {
        Op::new(does, None, std::iter::empty())
    }

    /// The primitive that it is.
    pub fn primitive(&self) -> Option<Primitive> {
        match self.does {
            Does::Primitive(primitive) => Some(primitive),
            _ => None,
        }
    }

    /// An operand by its place in the row.
    pub fn part(&self, place: usize) -> Option<At> {
        self.parts.get(place)?.map(|at| at as At)
    }

    /// The first operands. A program is made only of nodes that have all that their rows ask for.
    pub fn parts<const N: usize>(&self) -> [At; N] {
        std::array::from_fn(|place| self.part(place).unwrap_or(0))
    }

    /// The operand that an operation on whole tensors has under a name.
    pub fn named(&self, name: &str) -> Option<At> {
        match self.does {
            Does::Operation(operation) => self.part(operation.place(name)?),
            _ => None,
        }
    }

    /// Whether the access unit computes it.
    pub fn is_stream(&self) -> bool {
        self.unit == Some(Unit::Access)
    }

    /// The loop that it is, of operands of its row: the variable, lo, hi and step, and lo and hi on the access unit.
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
