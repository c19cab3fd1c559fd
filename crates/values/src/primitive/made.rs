//! Forms by their purpose: those that compilers build and take apart by themselves. Everything else that is done with a
//! form follows from its row.

use super::form::{Form, Operation};
use crate::scalar::{BinaryOp, Chosen, Linear};

impl<T> Form<T> {
    /// Returns a loop variable with its lower bound, its exclusive upper bound and its step.
    pub fn variable(name: T, range: [T; 3]) -> Form<T> {
        Form::Variable { name, range }
    }

    /// Returns the value of a loop variable.
    pub fn iv(variable: T) -> Form<T> {
        Form::Iv(variable)
    }

    /// Returns lanes folded into a scalar by an operation.
    pub fn fold(op: T, x: T) -> Form<T> {
        Form::Fold { op, x }
    }

    /// Returns the sum of two values.
    pub fn sum(a: T, b: T) -> Form<T> {
        Form::Binary(Operation::Is(const { Linear::Sum.operation() }), [a, b])
    }

    /// Returns the product of two values.
    pub fn times(a: T, b: T) -> Form<T> {
        Form::Binary(Operation::Is(const { Linear::Product.operation() }), [a, b])
    }

    /// Returns the quotient of two values.
    pub fn quotient(a: T, b: T) -> Form<T> {
        Form::Binary(Operation::Is(const { Linear::Product.inverse() }), [a, b])
    }

    /// Returns the lesser of two values.
    pub fn least(a: T, b: T) -> Form<T> {
        Form::Binary(Operation::Is(const { Chosen::Least.operation() }), [a, b])
    }

    /// Returns the greater of two values.
    pub fn greatest(a: T, b: T) -> Form<T> {
        Form::Binary(Operation::Is(const { Chosen::Greatest.operation() }), [a, b])
    }

    /// Returns 1 if the first of two values is less, else 0.
    pub fn less(a: T, b: T) -> Form<T> {
        Form::Binary(Operation::Is(BinaryOp::Lt), [a, b])
    }

    /// Returns the name and the range of a loop variable.
    pub fn as_variable(self) -> Option<(T, [T; 3])> {
        match self {
            Form::Variable { name, range } => Some((name, range)),
            _ => None,
        }
    }

    /// Returns the loop variable of which it is the value.
    #[inline]
    pub fn as_iv(self) -> Option<T> {
        match self {
            Form::Iv(variable) => Some(variable),
            _ => None,
        }
    }

    /// Returns the operation and the lanes that it folds into a scalar.
    #[inline]
    pub fn as_fold(self) -> Option<[T; 2]> {
        match self {
            Form::Fold { op, x } => Some([op, x]),
            _ => None,
        }
    }

    /// Returns the tensor and the indices of which it is the element.
    #[inline]
    pub fn as_element(self) -> Option<(T, [Option<T>; 3])> {
        match self {
            Form::Element { tensor, index } => Some((tensor, index)),
            _ => None,
        }
    }

    /// Returns the tensor or the address of which it is an element or an extent.
    pub fn holder(self) -> Option<T> {
        match self {
            Form::Element { tensor, .. } => Some(tensor),
            Form::Extent { of, .. } => Some(of.operand()),
            _ => None,
        }
    }

    /// Returns true if it takes a number of steps that its operands state: a loop, or a fold of lanes.
    pub fn repeats(self) -> bool {
        matches!(self, Form::Fold { .. } | Form::Loop(_))
    }
}
