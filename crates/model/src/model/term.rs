//! The terms of statements: each operation under its name, with the dialects' operators for primitives around it.

use super::{Argument, Expr, Model, Op, Part, TensorId};
use egg::Id;
use ember_language::rules::{self, Operators};
use ember_language::term::Term;
use ember_values::operation::Role;
use ember_values::primitive::Primitive;
use ember_values::scalar::Scalar;

impl Model {
    /// Returns the term of statement `i`, which writes a tensor, a slot of it, or some of its columns. The tensors that
    /// earlier statements wrote are frozen in it.
    pub fn statement_term(&self, i: usize, operators: &Operators) -> Term {
        let mut builder = Builder { model: self, build: rules::Builder::new(operators) };
        builder.statement(i);
        builder.build.term
    }

    /// Returns the term of an expression, as it occurs in the terms of statements.
    pub fn expression_term(&self, expr: &Expr, operators: &Operators) -> Term {
        let mut builder = Builder { model: self, build: rules::Builder::new(operators) };
        builder.expr(expr);
        builder.build.term
    }

    /// Returns the term of the whole model: its statements in order, with a barrier before each statement that reads a
    /// tensor written since the last barrier.
    pub fn root_term(&self, operators: &Operators) -> Term {
        let mut builder = Builder { model: self, build: rules::Builder::new(operators) };
        let mut parts: Vec<Id> = Vec::new();
        let mut written: Vec<TensorId> = Vec::new();
        for (i, statement) in self.statements.iter().enumerate() {
            if statement.reads().iter().any(|tensor| written.contains(tensor)) {
                parts.push(builder.build.make(Primitive::Barrier, &[]));
                written.clear();
            }
            parts.push(builder.statement(i));
            written.extend(statement.writes());
        }
        builder.build.chain(Primitive::Seq, &parts);
        builder.build.term
    }
}

struct Builder<'a> {
    model: &'a Model,
    build: rules::Builder<'a>,
}

impl Builder<'_> {
    fn written(&mut self, tensor: TensorId) -> Id {
        let name = self.build.name(&self.model.tensor(tensor).name);
        self.build.make(Primitive::Root(true), &[name])
    }

    fn address(&mut self, tensor: TensorId) -> Id {
        if self.model.is_input(tensor) {
            let name = self.build.name(&self.model.tensor(tensor).name);
            return self.build.make(Primitive::Root(false), &[name]);
        }
        let written = self.written(tensor);
        self.build.make(Primitive::Freeze, &[written])
    }

    fn statement(&mut self, i: usize) -> Id {
        let statement = &self.model.statements[i];
        // The value is built before the target, so that equal statements give equal terms.
        let value = self.expr(&statement.value);
        let to = self.written(statement.target);
        match statement.part {
            Part::Whole => self.build.make(Primitive::Output, &[to, value]),
            Part::Slot(k) => {
                let k = self.build.int(k as i64);
                self.build.make(Primitive::OutputSlot, &[to, k, value])
            }
            Part::Columns(k) => {
                let k = self.build.int(k as i64);
                self.build.make(Primitive::OutputColumns, &[to, k, value])
            }
        }
    }

    fn expr(&mut self, expr: &Expr) -> Id {
        match &expr.op {
            Op::Tensor(tensor) => {
                let address = self.address(*tensor);
                self.build.make(Primitive::Stored, &[address])
            }
            Op::Apply(applied) => {
                let operation = &applied.operation;
                let operands = operation.operands.iter().zip(&applied.arguments);
                let operands: Vec<Id> =
                    operands.map(|(operand, x)| self.argument(&operand.role, x, expr)).collect();
                self.build.op(operation.name, &operands)
            }
        }
    }

    fn argument(&mut self, role: &Role, argument: &Argument, of: &Expr) -> Id {
        match (role, argument) {
            (Role::Word(words), Argument::Word(at)) => {
                let word = words.names.get(*at).copied().unwrap_or_default();
                self.build.op(&format!("{}{word}", words.prefix), &[])
            }
            (_, Argument::Word(_)) => self.build.op("", &[]),
            (_, Argument::DType(dtype)) => self.build.op(dtype.name(), &[]),
            (Role::Count, Argument::Number(Scalar::I64(count))) => self.build.int(*count),
            (_, Argument::Number(number)) => {
                let dtype = self.build.op(of.dtype.name(), &[]);
                let number = self.build.real(number.as_f64());
                self.build.make(Primitive::Constant, &[dtype, number])
            }
            (Role::Tensor(..), Argument::Tensor(x)) => self.expr(x),
            (Role::Scratch, Argument::Tensor(Expr { op: Op::Tensor(x), .. })) => self.written(*x),
            (_, Argument::Tensor(Expr { op: Op::Tensor(x), .. })) => self.address(*x),
            (_, Argument::Tensor(x)) => self.expr(x),
        }
    }
}
