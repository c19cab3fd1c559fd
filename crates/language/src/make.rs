//! Terms made node by node: each function adds one node, whose operator is the one that the dialects declare for its
//! form, to whatever holds the terms.

use crate::rules::Operators;
use crate::term::{Head, Node};
use egg::Id;
use ember_values::primitive::Typing;
use ember_values::primitive::form::{
    Block, Condition, Form, Loop, Number, Operation, Part, Sequence, Undone, View,
};
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

    /// Adds a node that has a form.
    pub fn form(&mut self, form: Form<Id>) -> Id {
        (self.add)(self.operators.node(form, None))
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
        self.form(Form::Number { value: Number::Literal(x), dtype: Typing::Named(dtype) })
    }

    /// Adds a symbolic size.
    pub fn size(&mut self, name: &str) -> Id {
        let name = self.name(name);
        self.form(Form::Number { value: Number::Size(name), dtype: Typing::I64 })
    }

    /// Adds a loop variable with a number for its name.
    pub fn variable(&mut self, number: i64, range: [Id; 3]) -> Id {
        let number = self.int(number);
        let name = (self.add)(self.operators.numbered_node(number));
        self.form(Form::variable(name, range))
    }

    /// Adds the value of a loop variable.
    pub fn iv(&mut self, variable: Id) -> Id {
        self.form(Form::iv(variable))
    }

    /// Adds a function of a scalar.
    pub fn unary(&mut self, op: UnaryOp, x: Id) -> Id {
        self.form(Form::Unary(Operation::Is(op), x))
    }

    /// Adds a binary operation.
    pub fn binary(&mut self, op: BinaryOp, a: Id, b: Id) -> Id {
        self.form(Form::Binary(Operation::Is(op), [a, b]))
    }

    /// Adds a sum.
    pub fn sum(&mut self, a: Id, b: Id) -> Id {
        self.form(Form::sum(a, b))
    }

    /// Adds a product of two values.
    pub fn times(&mut self, a: Id, b: Id) -> Id {
        self.form(Form::times(a, b))
    }

    /// Adds the lesser of two values.
    pub fn least(&mut self, a: Id, b: Id) -> Id {
        self.form(Form::least(a, b))
    }

    /// Adds the greater of two values.
    pub fn greatest(&mut self, a: Id, b: Id) -> Id {
        self.form(Form::greatest(a, b))
    }

    /// Adds 1 if the first of two values is less, else 0.
    pub fn less(&mut self, a: Id, b: Id) -> Id {
        self.form(Form::less(a, b))
    }

    /// Adds the quotient of two values.
    pub fn quotient(&mut self, a: Id, b: Id) -> Id {
        self.form(Form::quotient(a, b))
    }

    /// Adds a tensor; a program may write it if it is `written`.
    pub fn root(&mut self, name: &str, written: bool) -> Id {
        let name = self.name(name);
        self.form(Form::Root { name, written })
    }

    /// Adds the tensor at an address, read-only after a barrier.
    pub fn frozen(&mut self, address: Id) -> Id {
        self.form(Form::View { address, view: View::ReadOnly })
    }

    /// Adds an address with more indices.
    pub fn at(&mut self, address: Id, indices: &[Id]) -> Id {
        let one = |address, index: &Id| self.form(Form::View { address, view: View::At(*index) });
        indices.iter().fold(address, one)
    }

    /// Adds the value at an address.
    pub fn load(&mut self, address: Id) -> Id {
        self.form(Form::Loaded { address, early: None })
    }

    /// Adds one of two values, the first if a condition is not 0.
    pub fn select(&mut self, condition: Id, of: [Id; 2]) -> Id {
        self.form(Form::Select { condition: Condition::NotZero(condition), of })
    }

    /// Adds a scalar in every lane.
    pub fn broadcast(&mut self, lanes: usize, x: Id) -> Id {
        let lanes = self.int(lanes as i64);
        self.form(Form::Spread { lanes, x, below: None })
    }

    /// Adds a value that is converted to a type.
    pub fn cast(&mut self, dtype: DType, x: Id) -> Id {
        let dtype = self.word(dtype.name());
        self.form(Form::Carried { x, to: Some(Typing::Named(dtype)) })
    }

    /// Adds lanes that count up from a number, active below another.
    pub fn lanes(&mut self, lanes: usize, hi: Id, from: Id) -> Id {
        let lanes = self.int(lanes as i64);
        self.form(Form::Spread { lanes, x: from, below: Some(hi) })
    }

    /// Adds lanes folded into a scalar by an operation.
    pub fn fold(&mut self, op: BinaryOp, x: Id) -> Id {
        let op = self.word(op.name());
        self.form(Form::fold(op, x))
    }

    /// Adds the tensor that is stored at an address.
    pub fn stored(&mut self, address: Id) -> Id {
        self.form(Form::View { address, view: View::Tensor })
    }

    /// Adds a loop on one unit, which may fold the values of its body.
    pub fn looped(&mut self, own: Loop<Id>) -> Id {
        self.form(Form::Loop(Loop { access: None, ..own }))
    }

    /// Adds a statement that stores a value, or folds it into memory by an operation.
    pub fn write(&mut self, op: Option<BinaryOp>, address: Id, value: Id) -> Id {
        let op = op.map(|op| self.word(op.name()));
        self.form(Form::Write { op, address, value })
    }

    /// Adds a statement that writes a product of matrices, the second of which may be given transposed, or a block of it.
    pub fn product(&mut self, out: Id, factors: [Id; 2], transposed: bool, block: Block<Id>) -> Id {
        self.form(Form::Product { out, factors, block, transposed })
    }

    /// Adds a statement that writes a tensor to a part of another.
    pub fn output(&mut self, to: Id, part: Part<Id>, from: Id) -> Id {
        self.form(Form::Output { to, part, from })
    }

    /// Adds a statement after which a tensor holds zeros.
    pub fn forgotten(&mut self, tensor: Id, statement: Id) -> Id {
        self.form(Form::Undone { statement, undone: Undone::Tensor(tensor) })
    }

    /// Adds the separation of what is written from what is read as frozen.
    pub fn barrier(&mut self) -> Id {
        self.form(Form::Sequence(Sequence::Barrier))
    }

    /// Adds a statement that does nothing.
    pub fn skip(&mut self) -> Id {
        self.form(Form::Sequence(Sequence::Empty))
    }

    /// Adds one statement after the other.
    pub fn sequence(&mut self, statements: &[Id]) -> Id {
        match statements.split_last() {
            None => self.skip(),
            Some((last, first)) => {
                let before =
                    |rest, next: &Id| self.form(Form::Sequence(Sequence::Two([*next, rest])));
                first.iter().rev().fold(*last, before)
            }
        }
    }
}
