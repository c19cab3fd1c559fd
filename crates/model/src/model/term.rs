//! The terms of statements: each operation under its name, with the dialects' operators for primitives around it.

use super::{Argument, Expr, Model, Op, Part, TensorId};
use egg::Id;
use ember_language::make::Make;
use ember_language::rules::Operators;
use ember_language::term::{Node, Term};
use ember_values::operation::Role;
use ember_values::primitive::form;
use ember_values::scalar::Scalar;

impl Model {
    /// Returns the term of statement `i`, which writes a tensor, a slot of it, or some of its columns. The tensors that
    /// earlier statements wrote are frozen in it.
    pub fn statement_term(&self, i: usize, operators: &Operators) -> Term {
        let mut builder = Builder { model: self, operators, term: Term::default() };
        builder.statement(i);
        builder.term
    }

    /// Returns the term of an expression, as it occurs in the terms of statements.
    pub fn expression_term(&self, expr: &Expr, operators: &Operators) -> Term {
        let mut builder = Builder { model: self, operators, term: Term::default() };
        builder.expr(expr);
        builder.term
    }

    /// Returns the term of the whole model: its statements in order, with a barrier before each statement that reads a
    /// tensor written since the last barrier.
    pub fn root_term(&self, operators: &Operators) -> Term {
        let mut builder = Builder { model: self, operators, term: Term::default() };
        let mut parts: Vec<Id> = Vec::new();
        let mut written: Vec<TensorId> = Vec::new();
        for (i, statement) in self.statements.iter().enumerate() {
            if statement.reads().iter().any(|tensor| written.contains(tensor)) {
                parts.push(builder.make().barrier());
                written.clear();
            }
            parts.push(builder.statement(i));
            written.extend(statement.writes());
        }
        builder.make().sequence(&parts);
        builder.term
    }
}

struct Builder<'a> {
    model: &'a Model,
    operators: &'a Operators,
    term: Term,
}

impl Builder<'_> {
    fn make(&mut self) -> Make<'_, impl FnMut(Node) -> Id> {
        Make::new(self.operators, |node| self.term.add(node))
    }

    fn written(&mut self, tensor: TensorId) -> Id {
        let name = &self.model.tensor(tensor).name;
        self.make().root(name, true)
    }

    fn address(&mut self, tensor: TensorId) -> Id {
        if self.model.is_input(tensor) {
            let name = &self.model.tensor(tensor).name;
            return self.make().root(name, false);
        }
        let written = self.written(tensor);
        self.make().frozen(written)
    }

    fn statement(&mut self, i: usize) -> Id {
        let statement = &self.model.statements[i];
        // The value is built before the target, so that equal statements give equal terms.
        let value = self.expr(&statement.value);
        let to = self.written(statement.target);
        let part = match statement.part {
            Part::Whole => form::Part::Whole,
            Part::Slot(k) => form::Part::Slot(self.make().int(k as i64)),
            Part::Columns(k) => form::Part::Columns(self.make().int(k as i64)),
        };
        self.make().output(to, part, value)
    }

    fn expr(&mut self, expr: &Expr) -> Id {
        match &expr.op {
            Op::Tensor(tensor) => {
                let address = self.address(*tensor);
                self.make().stored(address)
            }
            Op::Apply(applied) => {
                let operation = &applied.operation;
                let operands = operation.operands.iter().zip(&applied.arguments);
                let operands: Vec<Id> =
                    operands.map(|(operand, x)| self.argument(&operand.role, x, expr)).collect();
                self.term.add(Node::op(operation.name, &operands))
            }
        }
    }

    fn argument(&mut self, role: &Role, argument: &Argument, of: &Expr) -> Id {
        match (role, argument) {
            (Role::Word(words), Argument::Word(at)) => {
                let word = words.names.get(*at).copied().unwrap_or_default();
                self.make().word(&format!("{}{word}", words.prefix))
            }
            (_, Argument::Word(_)) => self.make().word(""),
            (_, Argument::DType(dtype)) => self.make().word(dtype.name()),
            (Role::Count, Argument::Number(Scalar::I64(count))) => self.make().int(*count),
            (_, Argument::Number(number)) => self.make().constant(of.dtype, number.as_f64()),
            (Role::Tensor(..), Argument::Tensor(x)) => self.expr(x),
            (Role::Scratch(_), Argument::Tensor(Expr { op: Op::Tensor(x), .. })) => {
                self.written(*x)
            }
            (_, Argument::Tensor(Expr { op: Op::Tensor(x), .. })) => self.address(*x),
            (_, Argument::Tensor(x)) => self.expr(x),
        }
    }
}
