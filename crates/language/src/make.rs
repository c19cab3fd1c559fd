//! Terms made of primitives, one by one: each function adds one node, whose operator is the one that the dialects declare
//! for the primitive, to whatever holds the terms.

use crate::rules::Operators;
use crate::term::{Head, Node};
use egg::Id;
use ember_values::primitive::Primitive;
use ember_values::primitive::form::{Loop, Part};
use ember_values::scalar::{BinaryOp, DType, Scalar, UnaryOp};

/// Makes terms that run on one processor.
pub struct Make<'a, F> {
    operators: &'a Operators,
    /// Adds a node whose children were added before.
    add: F,
}

impl<'a, F: FnMut(Node) -> Id> Make<'a, F> {
    /// Makes terms of the operators of some dialects; `add` puts nodes where the terms are.
    pub fn new(operators: &'a Operators, add: F) -> Make<'a, F> {
        Make { operators, add }
    }

    /// Adds a primitive with operands in the order of its row.
    pub fn op(&mut self, primitive: Primitive, operands: &[Id]) -> Id {
        (self.add)(self.operators.node(primitive, None, operands))
    }

    /// Adds a word.
    pub fn word(&mut self, word: &str) -> Id {
        (self.add)(Node::op(word, &[]))
    }

    /// Adds a name of the model.
    pub fn name(&mut self, name: &str) -> Id {
        self.word(&format!("%{name}"))
    }

    /// Adds an i64.
    pub fn int(&mut self, n: i64) -> Id {
        (self.add)(Node::int(n))
    }

    /// Adds a literal number.
    pub fn number(&mut self, x: Scalar) -> Id {
        if let Scalar::I64(n) = x {
            return self.int(n);
        }
        self.constant(x.dtype(), x.as_f64())
    }

    /// Adds a literal number of a type.
    pub fn constant(&mut self, dtype: DType, x: f64) -> Id {
        let dtype = self.word(dtype.name());
        let x = (self.add)(Node::new(Head::real(x), &[]));
        self.op(Primitive::Constant, &[dtype, x])
    }

    /// Adds a symbolic size.
    pub fn size(&mut self, name: &str) -> Id {
        let name = self.name(name);
        self.op(Primitive::Size, &[name])
    }

    /// Adds a loop variable with a number for its name.
    pub fn variable(&mut self, number: i64, [lo, hi, step]: [Id; 3]) -> Id {
        let number = self.int(number);
        let name = (self.add)(self.operators.numbered_node(number));
        self.op(Primitive::Variable, &[name, lo, hi, step])
    }

    /// Adds the value of a loop variable.
    pub fn iv(&mut self, variable: Id) -> Id {
        self.op(Primitive::Iv, &[variable])
    }

    /// Adds a function of a scalar.
    pub fn unary(&mut self, op: UnaryOp, x: Id) -> Id {
        self.op(Primitive::Unary(op), &[x])
    }

    /// Adds a binary operation.
    pub fn binary(&mut self, op: BinaryOp, a: Id, b: Id) -> Id {
        self.op(Primitive::Binary(op), &[a, b])
    }

    /// Adds a sum.
    pub fn sum(&mut self, a: Id, b: Id) -> Id {
        self.binary(BinaryOp::Add, a, b)
    }

    /// Adds a product of two values.
    pub fn times(&mut self, a: Id, b: Id) -> Id {
        self.binary(BinaryOp::Mul, a, b)
    }

    /// Adds the lesser of two values.
    pub fn least(&mut self, a: Id, b: Id) -> Id {
        self.binary(BinaryOp::Min, a, b)
    }

    /// Adds a tensor; a program may write it if it is `written`.
    pub fn root(&mut self, name: &str, written: bool) -> Id {
        let name = self.name(name);
        self.op(Primitive::Root(written), &[name])
    }

    /// Adds the tensor at an address, read-only after a barrier.
    pub fn frozen(&mut self, address: Id) -> Id {
        self.op(Primitive::Freeze, &[address])
    }

    /// Adds an address with more indices.
    pub fn at(&mut self, address: Id, indices: &[Id]) -> Id {
        indices.iter().fold(address, |address, index| self.op(Primitive::Index, &[address, *index]))
    }

    /// Adds the value at an address.
    pub fn load(&mut self, address: Id) -> Id {
        self.op(Primitive::Load, &[address])
    }

    /// Adds one of two values, the first if a condition is not 0.
    pub fn select(&mut self, condition: Id, [a, b]: [Id; 2]) -> Id {
        self.op(Primitive::Select, &[condition, a, b])
    }

    /// Adds a scalar in every lane.
    pub fn broadcast(&mut self, lanes: usize, x: Id) -> Id {
        let lanes = self.int(lanes as i64);
        self.op(Primitive::Broadcast, &[lanes, x])
    }

    /// Adds a value that is converted to a type.
    pub fn cast(&mut self, dtype: DType, x: Id) -> Id {
        let dtype = self.word(dtype.name());
        self.op(Primitive::Cast, &[dtype, x])
    }

    /// Adds lanes that count up from a number, active below another.
    pub fn lanes(&mut self, lanes: usize, hi: Id, from: Id) -> Id {
        let lanes = self.int(lanes as i64);
        self.op(Primitive::Lanes, &[lanes, hi, from])
    }

    /// Adds lanes folded into a scalar by an operation.
    pub fn fold(&mut self, op: BinaryOp, x: Id) -> Id {
        let op = self.word(op.name());
        self.op(Primitive::Fold, &[op, x])
    }

    /// Adds the tensor that is stored at an address.
    pub fn stored(&mut self, address: Id) -> Id {
        self.op(Primitive::Stored, &[address])
    }

    /// Adds a loop on one unit, which may fold the values of its body.
    pub fn looped(&mut self, own: Loop<Id>) -> Id {
        let Loop { variable, lo, hi, step, body, folds, .. } = own;
        match folds {
            None => self.op(Primitive::For, &[variable, lo, hi, step, body]),
            Some((op, start)) => {
                self.op(Primitive::Reduce, &[op, variable, lo, hi, step, start, body])
            }
        }
    }

    /// Adds a statement that stores a value, or folds it into memory by an operation.
    pub fn write(&mut self, op: Option<BinaryOp>, address: Id, value: Id) -> Id {
        match op {
            None => self.op(Primitive::Store, &[address, value]),
            Some(op) => {
                let op = self.word(op.name());
                self.op(Primitive::Accumulate, &[op, address, value])
            }
        }
    }

    /// Adds a statement that writes a product of matrices, the second of which may be given transposed.
    pub fn product(&mut self, out: Id, [a, b]: [Id; 2], transposed: bool) -> Id {
        self.op(Primitive::Matmul(transposed), &[out, a, b])
    }

    /// Adds a statement that writes a tensor to a part of another.
    pub fn output(&mut self, to: Id, part: Part<Id>, from: Id) -> Id {
        match part {
            Part::Whole => self.op(Primitive::Output, &[to, from]),
            Part::Slot(slot) => self.op(Primitive::OutputSlot, &[to, slot, from]),
            Part::Columns(column) => self.op(Primitive::OutputColumns, &[to, column, from]),
        }
    }

    /// Adds a statement after which a tensor holds zeros.
    pub fn forgotten(&mut self, tensor: Id, statement: Id) -> Id {
        self.op(Primitive::Forget, &[tensor, statement])
    }

    /// Adds the separation of what is written from what is read as frozen.
    pub fn barrier(&mut self) -> Id {
        self.op(Primitive::Barrier, &[])
    }

    /// Adds a statement that does nothing.
    pub fn skip(&mut self) -> Id {
        self.op(Primitive::Skip, &[])
    }

    /// Adds one statement after the other.
    pub fn sequence(&mut self, statements: &[Id]) -> Id {
        match statements.split_last() {
            None => self.skip(),
            Some((last, first)) => {
                let before = |rest, next: &Id| self.op(Primitive::Seq, &[*next, rest]);
                first.iter().rev().fold(*last, before)
            }
        }
    }
}
