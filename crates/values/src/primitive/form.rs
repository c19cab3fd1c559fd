//! The forms of primitives, with their operands by name. A form is all that stages know of a primitive; primitives that
//! differ only in an operand, an operation or a property share a variant.

use super::Typing;
use super::over::{Over, over_operands};
use crate::scalar::{BinaryOp, UnaryOp};
use std::cell::RefCell;

over_operands! {
    /// The form of a term, over its operands. It has all operands of the term, so that a term follows from its form.
    pub enum Form<T> {
        /// A name that only the operator around it reads.
        Label,
        /// The operand itself, on any unit, converted to a type if there is one.
        Carried {
            /// The operand.
            x: T,
            /// The type that it is converted to.
            to: Option<Typing<T>>,
        },

        /// A number that is the same throughout a run.
        Number {
            /// The number.
            value: Number<T>,
            /// Its type.
            dtype: Typing<T>,
        },
        /// The value of a loop variable.
        Iv(variable: T),
        /// A loop variable.
        Variable {
            /// The name.
            name: T,
            /// The lower bound, the exclusive upper bound, and the distance between consecutive values.
            range: [T; 3],
        },
        /// Extent `k` of a tensor, or of the part of a tensor at an address.
        Extent {
            /// The tensor or the address.
            of: Holder<T>,
            /// The number of the dimension.
            k: T,
        },

        /// A tensor of the program, by its name.
        Root {
            /// The name.
            name: T;
            /// True if the program writes it.
            written: bool,
        },
        /// Another view of the memory at an address.
        View {
            /// The address.
            address: T,
            /// The difference.
            view: View<T>,
        },

        /// The value at an address.
        Loaded {
            /// The address.
            address: T,
            /// The request that precedes the load, if there is one.
            early: Option<Early<T>>,
        },
        /// A function of a scalar, lane by lane.
        Unary(op: Operation<T, UnaryOp>, x: T),
        /// An operation on two scalars, lane by lane.
        Binary(op: Operation<T>, operands: [T; 2]),
        /// The first of two operands if a condition holds, else the second, lane by lane.
        Select {
            /// The condition.
            condition: Condition<T>,
            /// The value if the condition holds, and the value otherwise.
            of: [T; 2],
        },
        /// Lanes made of a scalar: `x` in each, or the numbers from `x` on, of which those below `below` are active.
        Spread {
            /// The number of lanes.
            lanes: T,
            /// The scalar.
            x: T,
            /// The bound of active lanes, if the lanes count up.
            below: Option<T>,
        },
        /// Lanes folded into a scalar, half onto half.
        Fold {
            /// The name of the operation.
            op: T,
            /// The lanes.
            x: T,
        },

        /// A loop, which may fold the values of its body.
        Loop(own: Loop<T>),
        /// Statements in their order.
        Sequence(sequence: Sequence<T>),
        /// A value that is stored, or folded into memory by an operation.
        Write {
            /// The name of the operation that folds the value into memory.
            op: Option<T>,
            /// The address.
            address: T,
            /// The value.
            value: T,
        },
        /// A product of matrices, the second of which may be given transposed.
        Product {
            /// The address of the product.
            out: T,
            /// The addresses of the matrices.
            factors: [T; 2],
            /// The block that is computed.
            block: Block<T>;
            /// True if the second matrix is given transposed.
            transposed: bool,
        },
        /// A tensor that is written to another, or to a part of it.
        Output {
            /// The address that is written.
            to: T,
            /// The part that is written.
            part: Part<T>,
            /// The tensor.
            from: T,
        },

        /// A term in which something else stands for a loop variable.
        Replaced {
            /// The replaced variable.
            variable: T,
            /// Its replacement.
            by: By<T>,
            /// The term.
            x: T,
        },
        /// A statement of which memory does not keep everything.
        Undone {
            /// The statement.
            statement: T,
            /// The part that memory does not keep.
            undone: Undone<T>,
        },

        /// An element of a tensor.
        Element {
            /// The tensor.
            tensor: T,
            /// The indices.
            index: [Option<T>; 3],
        },
    }

    /// A number that is the same throughout a run.
    pub enum Number<T> {
        /// The literal number in an operand.
        Literal(number: T),
        /// The number that a reduction by an operation starts from.
        Start(op: Operation<T>),
        /// A size of the model, by its name.
        Size(name: T),
    }

    /// The holder of extents: an address or a tensor.
    pub enum Holder<T> {
        /// The part of a tensor at an address.
        Address(address: T),
        /// A tensor.
        Tensor(tensor: T),
    }

    /// A view of the memory at an address.
    pub enum View<T> {
        /// The address with one more index.
        At(index: T),
        /// The address itself, read-only after a barrier.
        ReadOnly,
        /// The tensor that is stored there, as a function of indices.
        Tensor,
    }

    /// A condition of a choice between two operands.
    pub enum Condition<T> {
        /// The operand is not 0.
        NotZero(x: T),
        /// Two operands compare in some way.
        Compared {
            /// The name of the comparison.
            comparison: T,
            /// The compared operands.
            of: [T; 2],
        },
    }

    /// A second address of a load, for what happens before it.
    pub enum Early<T> {
        /// The access unit reads the value at this address ahead.
        Fetched(address: T),
        /// Cache lines that a later load reads are asked for.
        Asked {
            /// The address of the later load.
            later: T,
            /// The address of a load before that, whose lines were asked for already and are asked for again.
            again: T,
            /// The level of the cache that is to have the lines, a literal.
            level: T,
        },
    }

    /// Statements in their order, and those that write nothing.
    pub enum Sequence<T> {
        /// No statement at all.
        Empty,
        /// A request for the cache lines of an address, ahead of their use.
        Ahead(address: T),
        /// The separation of what is written from what is read as read-only.
        Barrier,
        /// One statement after another.
        Two(statements: [T; 2]),
    }

    /// The replacement of a loop variable.
    pub enum By<T> {
        /// Another loop variable.
        Variable(variable: T),
        /// A value.
        Value(value: T),
        /// In each lane its own value: the numbers from the value of a variable on, of which those below `hi` are active.
        Lanes {
            /// The variable whose value the lanes count up from.
            from: T,
            /// The number of lanes.
            lanes: T,
            /// The bound of active lanes.
            hi: T,
        },
    }

    /// The part of a statement's effect that memory does not keep.
    pub enum Undone<T> {
        /// All of it, after this term has been evaluated in the store that the statement leaves.
        After(x: T),
        /// The contents of the tensor at this address, which then holds zeros.
        Tensor(address: T),
    }

    /// The block of a product of matrices that a statement computes.
    pub enum Block<T> {
        /// All of it.
        Whole,
        /// Some rows: their number, the bound that they stay below, and the first.
        Rows(rows: [T; 3]),
        /// The columns of the output from this one on, as many as the product has.
        Columns(first: T),
        /// The product of the columns of the first matrix from this one on, as many as the second has rows, added to the
        /// output.
        Added(first: T),
        /// The product of some rows of the first matrix and some columns of the second, or all of them, folded over a part of
        /// the depth alone and added to the output: of each the number, the bound that they stay below, and the first.
        Part {
            /// The rows.
            rows: [T; 3],
            /// The part of the depth.
            depth: [T; 3],
            /// The columns; all of them if there are none here.
            columns: Option<[T; 3]>,
        },
    }

    /// A part of a tensor.
    pub enum Part<T> {
        /// All of it.
        Whole,
        /// The elements with this second index.
        Slot(slot: T),
        /// The elements whose second index is at least this.
        Columns(column: T),
    }
}

/// An operation: a known one, or the one that an operand names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation<T, Op = BinaryOp> {
    /// This operation.
    Is(Op),
    /// The operation that an operand names.
    Named(T),
}

/// The operands of a loop: their positions, or values at these positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Loop<T = usize> {
    /// The loop variable.
    pub variable: T,
    /// The lower bound, on the unit that runs the body.
    pub lo: T,
    /// The exclusive upper bound.
    pub hi: T,
    /// The distance between consecutive values.
    pub step: T,
    /// The term that is run for each value.
    pub body: T,
    /// The operation and the start value of a reduction; `None` for other loops.
    pub folds: Option<(T, T)>,
    /// The lower and upper bound on the access unit, for a loop of both units.
    pub access: Option<(T, T)>,
}

impl<T, Op> Over<T> for Operation<T, Op> {
    type To<U> = Operation<U, Op>;

    #[inline]
    fn over<U>(self, of: &impl Fn(T) -> Option<U>) -> Option<Operation<U, Op>> {
        Some(match self {
            Operation::Is(op) => Operation::Is(op),
            Operation::Named(operand) => Operation::Named(of(operand)?),
        })
    }
}

/// The bounds of the access unit are optional.
impl<T> Over<T> for Loop<T> {
    type To<U> = Loop<U>;

    #[inline]
    fn over<U>(self, of: &impl Fn(T) -> Option<U>) -> Option<Loop<U>> {
        Some(Loop {
            variable: of(self.variable)?,
            lo: of(self.lo)?,
            hi: of(self.hi)?,
            step: of(self.step)?,
            body: of(self.body)?,
            folds: match self.folds {
                Some((op, start)) => Some((of(op)?, of(start)?)),
                None => None,
            },
            access: self.access.and_then(|(lo, hi)| of(lo).zip(of(hi))),
        })
    }
}

impl<T: Copy> Form<T> {
    /// Returns the form over other operands; `None` if a required operand has no counterpart.
    #[inline]
    pub fn over<U>(self, of: impl Fn(T) -> Option<U>) -> Option<Form<U>> {
        Over::over(self, &of)
    }

    /// Returns the operands, in an order that all forms of one shape share.
    pub fn operands(self) -> Vec<T> {
        let found = RefCell::new(Vec::new());
        // The result is the same form, of which nothing is needed.
        let _ = self.over(|operand| {
            found.borrow_mut().push(operand);
            Some(operand)
        });
        found.into_inner()
    }

    /// Returns the form without its operands, and without those that are optional. Each row of the table has a shape of
    /// its own.
    pub fn shape(self) -> Shape {
        let whole = self.over(|_| Some(())).unwrap_or(Form::Label);
        match whole {
            Form::Loop(own) => Form::Loop(Loop { access: None, ..own }),
            Form::Element { tensor, .. } => Form::Element { tensor, index: [None; 3] },
            whole => whole,
        }
    }

    /// Returns true if the form evaluates a term in another environment or store. Rules reason with such terms, but no
    /// program contains them.
    pub fn is_elsewhere(self) -> bool {
        matches!(self, Form::Replaced { .. } | Form::Undone { undone: Undone::After(_), .. })
    }
}

/// A form without operands.
pub type Shape = Form<()>;

impl<T> By<T> {
    /// Returns the operand that is evaluated: a value, or the bound of active lanes.
    pub fn evaluated(self) -> Option<T> {
        match self {
            By::Variable(_) => None,
            By::Value(value) => Some(value),
            By::Lanes { hi, .. } => Some(hi),
        }
    }
}

impl Form<usize> {
    /// Returns the form over the values at these positions.
    #[inline]
    pub fn of<T: Copy>(self, operands: &[T]) -> Option<Form<T>> {
        self.over(|at| operands.get(at).copied())
    }
}

impl Loop {
    /// Returns the loop over the values at these positions.
    #[inline]
    pub fn of<T: Copy>(&self, operands: &[T]) -> Option<Loop<T>> {
        Over::<usize>::over(*self, &|at| operands.get(at).copied())
    }
}

impl<T, Op> Operation<T, Op> {
    /// Returns the operand that names the operation.
    pub fn named(self) -> Option<T> {
        match self {
            Operation::Is(_) => None,
            Operation::Named(operand) => Some(operand),
        }
    }

    /// Returns the operation; `named` finds the operation that an operand names.
    #[inline]
    pub fn known(self, named: impl FnOnce(T) -> Option<Op>) -> Option<Op> {
        match self {
            Operation::Is(op) => Some(op),
            Operation::Named(operand) => named(operand),
        }
    }
}

impl<T> Operation<T> {
    /// Returns true if the operation is known to be a comparison.
    pub fn compares(&self) -> bool {
        matches!(self, Operation::Is(op) if op.compares())
    }
}

impl<T> View<T> {
    /// Returns the index that the address gets.
    pub fn index(self) -> Option<T> {
        match self {
            View::At(index) => Some(index),
            View::ReadOnly | View::Tensor => None,
        }
    }
}

impl<T> Holder<T> {
    /// Returns the address or the tensor.
    pub fn operand(self) -> T {
        match self {
            Holder::Address(operand) | Holder::Tensor(operand) => operand,
        }
    }
}
