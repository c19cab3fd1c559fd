//! The forms of primitives: what stages tell apart. Primitives that differ only in an operand, an operation or a number
//! have one form, and a form has its operands by name.

use super::Typing;
use crate::scalar::{BinaryOp, UnaryOp};
use std::cell::RefCell;

/// The form of a term, over its operands. It has all operands of the term, so that a term follows from its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    Iv(T),
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
        name: T,
        /// True if the program writes it.
        written: bool,
    },
    /// What is at an address, seen in another way.
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
    Unary(Operation<T, UnaryOp>, T),
    /// An operation on two scalars, lane by lane.
    Binary(Operation<T>, [T; 2]),
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
    Loop(Loop<T>),
    /// Statements in their order.
    Sequence(Sequence<T>),
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Number<T> {
    /// The literal number in an operand.
    Literal(T),
    /// The number that a reduction by an operation starts from.
    Start(Operation<T>),
    /// A size of the model, by its name.
    Size(T),
}

/// The thing that has an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder<T> {
    /// The part of a tensor at an address.
    Address(T),
    /// A tensor.
    Tensor(T),
}

/// Another way to see what is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum View<T> {
    /// The address with one more index.
    At(T),
    /// The same address, read-only after a barrier.
    ReadOnly,
    /// The tensor that is stored there, as a function of indices.
    Tensor,
}

/// An operation: a known one, or the one that an operand names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation<T, Op = BinaryOp> {
    /// This operation.
    Is(Op),
    /// The operation that an operand names.
    Named(T),
}

/// A condition of a choice between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition<T> {
    /// The operand is not 0.
    NotZero(T),
    /// Two operands compare in some way.
    Compared {
        /// The name of the comparison.
        comparison: T,
        /// The compared operands.
        of: [T; 2],
    },
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

/// A second address of a load, for what happens before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Early<T> {
    /// The access unit reads the value at this address ahead.
    Fetched(T),
    /// The cache lines of this address are asked for, which a later load reads.
    Asked(T),
}

/// Statements in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sequence<T> {
    /// No statement at all.
    Empty,
    /// The separation of what is written from what is read as read-only.
    Barrier,
    /// One statement after another.
    Two([T; 2]),
}

/// The replacement of a loop variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By<T> {
    /// Another loop variable.
    Variable(T),
    /// A value.
    Value(T),
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Undone<T> {
    /// All of it, after this term has been evaluated in the store that the statement leaves.
    After(T),
    /// The contents of the tensor at this address, which then holds zeros.
    Tensor(T),
}

/// A part of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part<T> {
    /// All of it.
    Whole,
    /// The elements with this second index.
    Slot(T),
    /// The elements whose second index is at least this.
    Columns(T),
}

impl<T: Copy> Form<T> {
    /// Returns the form over other operands; `None` if a required operand has no counterpart.
    #[inline]
    pub fn over<U>(self, of: impl Fn(T) -> Option<U>) -> Option<Form<U>> {
        let both = |[a, b]: [T; 2]| Some([of(a)?, of(b)?]);
        Some(match self {
            Form::Label => Form::Label,
            Form::Carried { x, to: None } => Form::Carried { x: of(x)?, to: None },
            Form::Carried { x, to: Some(to) } => {
                Form::Carried { x: of(x)?, to: Some(to.over(&of)?) }
            }
            Form::Number { value, dtype } => Form::Number {
                value: match value {
                    Number::Literal(number) => Number::Literal(of(number)?),
                    Number::Start(op) => Number::Start(op.over(&of)?),
                    Number::Size(name) => Number::Size(of(name)?),
                },
                dtype: dtype.over(&of)?,
            },
            Form::Iv(variable) => Form::Iv(of(variable)?),
            Form::Variable { name, range: [lo, hi, step] } => {
                Form::Variable { name: of(name)?, range: [of(lo)?, of(hi)?, of(step)?] }
            }
            Form::Extent { of: whole, k } => Form::Extent {
                of: match whole {
                    Holder::Address(address) => Holder::Address(of(address)?),
                    Holder::Tensor(tensor) => Holder::Tensor(of(tensor)?),
                },
                k: of(k)?,
            },
            Form::Root { name, written } => Form::Root { name: of(name)?, written },
            Form::View { address, view } => Form::View {
                address: of(address)?,
                view: match view {
                    View::At(index) => View::At(of(index)?),
                    View::ReadOnly => View::ReadOnly,
                    View::Tensor => View::Tensor,
                },
            },
            Form::Loaded { address, early } => Form::Loaded {
                address: of(address)?,
                early: match early {
                    None => None,
                    Some(Early::Fetched(address)) => Some(Early::Fetched(of(address)?)),
                    Some(Early::Asked(address)) => Some(Early::Asked(of(address)?)),
                },
            },
            Form::Unary(op, x) => Form::Unary(op.over(&of)?, of(x)?),
            Form::Binary(op, operands) => Form::Binary(op.over(&of)?, both(operands)?),
            Form::Select { condition, of: operands } => Form::Select {
                condition: match condition {
                    Condition::NotZero(x) => Condition::NotZero(of(x)?),
                    Condition::Compared { comparison, of: operands } => {
                        Condition::Compared { comparison: of(comparison)?, of: both(operands)? }
                    }
                },
                of: both(operands)?,
            },
            Form::Spread { lanes, x, below: None } => {
                Form::Spread { lanes: of(lanes)?, x: of(x)?, below: None }
            }
            Form::Spread { lanes, x, below: Some(below) } => {
                Form::Spread { lanes: of(lanes)?, x: of(x)?, below: Some(of(below)?) }
            }
            Form::Fold { op, x } => Form::Fold { op: of(op)?, x: of(x)? },
            Form::Loop(own) => Form::Loop(own.over(&of)?),
            Form::Sequence(sequence) => Form::Sequence(match sequence {
                Sequence::Empty => Sequence::Empty,
                Sequence::Barrier => Sequence::Barrier,
                Sequence::Two(statements) => Sequence::Two(both(statements)?),
            }),
            Form::Write { op: None, address, value } => {
                Form::Write { op: None, address: of(address)?, value: of(value)? }
            }
            Form::Write { op: Some(op), address, value } => {
                Form::Write { op: Some(of(op)?), address: of(address)?, value: of(value)? }
            }
            Form::Product { out, factors, transposed } => {
                Form::Product { out: of(out)?, factors: both(factors)?, transposed }
            }
            Form::Output { to, part, from } => Form::Output {
                to: of(to)?,
                part: match part {
                    Part::Whole => Part::Whole,
                    Part::Slot(slot) => Part::Slot(of(slot)?),
                    Part::Columns(column) => Part::Columns(of(column)?),
                },
                from: of(from)?,
            },
            Form::Replaced { variable, by, x } => Form::Replaced {
                variable: of(variable)?,
                by: match by {
                    By::Variable(to) => By::Variable(of(to)?),
                    By::Value(value) => By::Value(of(value)?),
                    By::Lanes { from, lanes, hi } => {
                        By::Lanes { from: of(from)?, lanes: of(lanes)?, hi: of(hi)? }
                    }
                },
                x: of(x)?,
            },
            Form::Undone { statement, undone } => Form::Undone {
                statement: of(statement)?,
                undone: match undone {
                    Undone::After(x) => Undone::After(of(x)?),
                    Undone::Tensor(address) => Undone::Tensor(of(address)?),
                },
            },
            Form::Element { tensor, index } => {
                Form::Element { tensor: of(tensor)?, index: index.map(|i| i.and_then(&of)) }
            }
        })
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

impl<T: Copy> Loop<T> {
    /// Returns the loop over other operands; `None` if an operand other than the access unit's bounds has no
    /// counterpart.
    #[inline]
    pub fn over<U>(self, of: impl Fn(T) -> Option<U>) -> Option<Loop<U>> {
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
        self.over(|at| operands.get(at).copied())
    }
}

impl<T, Op> Operation<T, Op> {
    /// Returns the operation over another operand; `None` if the operand has no counterpart.
    #[inline]
    pub fn over<U>(self, of: impl FnOnce(T) -> Option<U>) -> Option<Operation<U, Op>> {
        Some(match self {
            Operation::Is(op) => Operation::Is(op),
            Operation::Named(operand) => Operation::Named(of(operand)?),
        })
    }

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
