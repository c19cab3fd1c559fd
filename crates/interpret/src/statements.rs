//! Statements: what each primitive that is one does, in order. What they write to memory is in [`super::memory`],
//! what they write of whole tensors in [`super::outputs`] and
//! [`super::products`].

use super::Interpreter;
use super::error::Fault;
use super::op::{At, Does};
use ember_values::primitive::form::{By, Form, Sequence, Undone};

impl Interpreter {
    /// Runs the statement at a position.
    pub(super) fn statement(&mut self, at: At) -> Result<(), Fault> {
        self.step()?;
        self.deeper(at, Self::compound_statement)
    }

    fn compound_statement(&mut self, at: At) -> Result<(), Fault> {
        let op = &self.program.ops[at];
        let Does::Form(form) = &op.does else { return Err(self.wrong(at, "a statement")) };
        match *form {
            Form::Sequence(Sequence::Empty) => Ok(()),
            Form::Sequence(Sequence::Two([first, second])) => {
                self.statement(first)?;
                self.statement(second)
            }
            Form::Loop(own) if own.folds.is_none() => {
                let over = op.looped(own);
                self.repeat(over, own.body)
            }
            Form::Sequence(Sequence::Ahead(address)) => self.look(address),
            Form::Write { op: function, address, value } if !self.any_wide([address, value]) => {
                let function = function.map(|name| self.program.binary_op(name)).transpose()?;
                let place = self.place(address)?;
                let value = self.scalar(value)?;
                self.write(at, function, place, value)
            }
            Form::Write { op: None, address, value } => {
                let address = self.address(address)?;
                let value = self.value(value)?;
                self.store_lanes(at, address, value)
            }
            Form::Write { op: Some(function), address, value } => {
                let function = self.program.binary_op(function)?;
                let address = self.address(address)?;
                let value = self.value(value)?;
                self.accumulate(at, function, address, value)
            }
            Form::Output { to, part, from } => self.output(to, part, from),
            Form::Sequence(Sequence::Barrier) => {
                self.barrier();
                Ok(())
            }
            Form::Product { out, factors: [a, b], block, transposed } => {
                self.product(at, [out, a, b], block, transposed)
            }
            Form::Replaced { variable, by: By::Lanes { from, lanes, hi }, x } => {
                self.block(from, variable, lanes, hi, |this, active| match active {
                    true => this.statement(x),
                    false => Ok(()),
                })
            }
            Form::Undone { statement, undone: Undone::Tensor(address) } => {
                self.statement(statement)?;
                self.clear(address)
            }
            form => match self.elsewhere(form, Self::statement) {
                Some(done) => done,
                None => Err(self.wrong(at, "a statement")),
            },
        }
    }
}
