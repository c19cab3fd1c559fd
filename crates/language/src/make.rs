//! Terms made of primitives, one by one: each function adds one node, whose operator is the one that the dialects declare
//! for the primitive, to whatever holds the terms.

use crate::rules::Operators;
use crate::term::{Head, Node};
use egg::Id;
use ember_values::primitive::Primitive;
use ember_values::scalar::{BinaryOp, DType, Scalar};

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
        self.real(x.dtype(), x.as_f64())
    }

    /// Adds a literal number of a type other than i64.
    fn real(&mut self, dtype: DType, x: f64) -> Id {
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

    /// Adds a binary operation.
    pub fn binary(&mut self, op: BinaryOp, a: Id, b: Id) -> Id {
        self.op(Primitive::Binary(op), &[a, b])
    }

    /// Adds a sum.
    pub fn sum(&mut self, a: Id, b: Id) -> Id {
        self.binary(BinaryOp::Add, a, b)
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

    /// Adds an address with more indices.
    pub fn at(&mut self, address: Id, indices: &[Id]) -> Id {
        indices.iter().fold(address, |address, index| self.op(Primitive::Index, &[address, *index]))
    }

    /// Adds the value at an address.
    pub fn load(&mut self, address: Id) -> Id {
        self.op(Primitive::Load, &[address])
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

    /// Adds the tensor that is stored at an address.
    pub fn stored(&mut self, address: Id) -> Id {
        self.op(Primitive::Stored, &[address])
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
