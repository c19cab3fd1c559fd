//! The forms of primitives: what stages tell apart. Primitives that differ only in an operand, an operation or a number
//! have one form, and a form has its operands by name.

use crate::scalar::{BinaryOp, UnaryOp};

/// The form of a term, over its operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form<T> {
    /// The meaning of its operand.
    Same(T),
    /// A name that only the operator around it reads.
    Label,

    /// The literal number in an operand, in the type of the term.
    Literal(T),
    /// The number that a reduction by an operation starts from, in the type of the term.
    Start(Operation<T>),
    /// A size of the model, by its name.
    Size(T),
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
        of: T,
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
    /// The tensor at an address, which is read-only after a barrier.
    Frozen(T),
    /// An address with one more index.
    Index {
        /// The address without the index.
        address: T,
        /// The index.
        index: T,
    },

    /// The value at an address.
    Loaded {
        /// The address.
        address: T,
        /// The request that precedes the load, if there is one.
        early: Option<Early<T>>,
    },
    /// A function of a scalar, lane by lane.
    Unary(UnaryOp, T),
    /// An operation on two scalars, lane by lane.
    Binary(Operation<T>, [T; 2]),
    /// A function of a scalar that an operand names.
    Map {
        /// The name of the function.
        function: T,
        /// The argument.
        x: T,
    },
    /// One of the last two operands, chosen by a comparison of the first two.
    Choose {
        /// The name of the comparison.
        comparison: T,
        /// The compared operands, and those of which one is chosen.
        operands: [T; 4],
    },
    /// `a` if the condition is not 0, else `b`, lane by lane.
    Select {
        /// The condition.
        condition: T,
        /// The value if the condition holds.
        a: T,
        /// The value otherwise.
        b: T,
    },
    /// An operand converted to the type of the term.
    Converted(T),
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
    /// Statements in their order, or no statement at all.
    Sequence(Option<[T; 2]>),
    /// The separation of what is written from what is read as frozen.
    Barrier,
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
    /// A term in the store that a statement leaves, which is undone afterwards.
    After {
        /// The statement.
        first: T,
        /// The term.
        x: T,
    },
    /// A statement after which a tensor holds zeros.
    Forget {
        /// The tensor.
        address: T,
        /// The statement.
        statement: T,
    },

    /// The tensor that is stored at an address.
    Stored(T),
    /// An element of a tensor.
    Element {
        /// The tensor.
        tensor: T,
        /// The indices.
        index: [Option<T>; 3],
    },
}

/// A binary operation: a known one, or the one that an operand names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation<T> {
    /// This operation.
    Is(BinaryOp),
    /// The operation that an operand names.
    Named(T),
}

/// The operands of a loop: their positions, or values at these positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Early<T> {
    /// The access unit reads the value at this address ahead.
    Fetched(T),
    /// The cache lines of this address are asked for, which a later load reads.
    Asked(T),
}

/// The replacement of a loop variable.
#[derive(Clone, Copy, Debug, PartialEq)]
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

/// A part of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
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
        let operation = |op| {
            Some(match op {
                Operation::Is(op) => Operation::Is(op),
                Operation::Named(op) => Operation::Named(of(op)?),
            })
        };
        Some(match self {
            Form::Same(x) => Form::Same(of(x)?),
            Form::Label => Form::Label,
            Form::Literal(number) => Form::Literal(of(number)?),
            Form::Start(op) => Form::Start(operation(op)?),
            Form::Size(name) => Form::Size(of(name)?),
            Form::Iv(variable) => Form::Iv(of(variable)?),
            Form::Variable { name, range: [lo, hi, step] } => {
                Form::Variable { name: of(name)?, range: [of(lo)?, of(hi)?, of(step)?] }
            }
            Form::Extent { of: whole, k } => Form::Extent { of: of(whole)?, k: of(k)? },
            Form::Root { name, written } => Form::Root { name: of(name)?, written },
            Form::Frozen(address) => Form::Frozen(of(address)?),
            Form::Index { address, index } => {
                Form::Index { address: of(address)?, index: of(index)? }
            }
            Form::Loaded { address, early } => Form::Loaded {
                address: of(address)?,
                early: match early {
                    None => None,
                    Some(Early::Fetched(address)) => Some(Early::Fetched(of(address)?)),
                    Some(Early::Asked(address)) => Some(Early::Asked(of(address)?)),
                },
            },
            Form::Unary(op, x) => Form::Unary(op, of(x)?),
            Form::Binary(op, operands) => Form::Binary(operation(op)?, both(operands)?),
            Form::Map { function, x } => Form::Map { function: of(function)?, x: of(x)? },
            Form::Choose { comparison, operands: [a, b, x, y] } => Form::Choose {
                comparison: of(comparison)?,
                operands: [of(a)?, of(b)?, of(x)?, of(y)?],
            },
            Form::Select { condition, a, b } => {
                Form::Select { condition: of(condition)?, a: of(a)?, b: of(b)? }
            }
            Form::Converted(x) => Form::Converted(of(x)?),
            Form::Spread { lanes, x, below: None } => {
                Form::Spread { lanes: of(lanes)?, x: of(x)?, below: None }
            }
            Form::Spread { lanes, x, below: Some(below) } => {
                Form::Spread { lanes: of(lanes)?, x: of(x)?, below: Some(of(below)?) }
            }
            Form::Fold { op, x } => Form::Fold { op: of(op)?, x: of(x)? },
            Form::Loop(own) => Form::Loop(own.over(of)?),
            Form::Sequence(None) => Form::Sequence(None),
            Form::Sequence(Some(statements)) => Form::Sequence(Some(both(statements)?)),
            Form::Barrier => Form::Barrier,
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
            Form::After { first, x } => Form::After { first: of(first)?, x: of(x)? },
            Form::Forget { address, statement } => {
                Form::Forget { address: of(address)?, statement: of(statement)? }
            }
            Form::Stored(address) => Form::Stored(of(address)?),
            Form::Element { tensor, index } => {
                Form::Element { tensor: of(tensor)?, index: index.map(|i| i.and_then(&of)) }
            }
        })
    }

    /// Returns true if the form evaluates a term in another environment or store. Rules reason with such terms, but no
    /// program contains them.
    pub fn is_elsewhere(self) -> bool {
        matches!(self, Form::Replaced { .. } | Form::After { .. })
    }
}

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

impl<T> Operation<T> {
    /// Returns the operand that names the operation.
    pub fn named(self) -> Option<T> {
        match self {
            Operation::Is(_) => None,
            Operation::Named(operand) => Some(operand),
        }
    }

    /// Returns true if the operation is known to be a comparison.
    pub fn compares(&self) -> bool {
        matches!(self, Operation::Is(op) if op.compares())
    }

    /// Returns the operation; `named` finds the operation that an operand names.
    #[inline]
    pub fn known(self, named: impl FnOnce(T) -> Option<BinaryOp>) -> Option<BinaryOp> {
        match self {
            Operation::Is(op) => Some(op),
            Operation::Named(operand) => named(operand),
        }
    }
}
