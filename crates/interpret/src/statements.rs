//! Statements: what each primitive that is one does, in order. What they write to memory is in [`super::memory`],
//! what they write of whole tensors in [`super::outputs`].

use super::eval::{RED_ZONE, SEGMENT};
use super::op::{At, Op};
use super::{Error, Interpreter};
use ember_values::primitive::form::{By, Form, Sequence, Undone};

impl Interpreter {
    /// Runs the statement at a position.
    pub(super) fn statement(&mut self, at: At) -> Result<(), Error> {
        self.step()?;
        let op = self.program.ops[at];
        let Some(form) = op.form() else { return Err(self.wrong(at, "a statement")) };
        stacker::maybe_grow(RED_ZONE, SEGMENT, || self.compound_statement(at, form, &op))
    }

    pub(super) fn compound_statement(
        &mut self,
        at: At,
        form: Form<At>,
        op: &Op,
    ) -> Result<(), Error> {
        match form {
            Form::Sequence(Sequence::Empty) => Ok(()),
            Form::Sequence(Sequence::Two([first, second])) => {
                self.statement(first)?;
                self.statement(second)
            }
            Form::Loop(own) if own.folds.is_none() => {
                self.each(op.looped(own), |this| this.statement(own.body))
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
            Form::Product { out, factors: [a, b], transposed } => {
                self.matmul(at, out, a, b, transposed)
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
            _ => match self.elsewhere(form, Self::statement) {
                Some(done) => done,
                None => Err(self.wrong(at, "a statement")),
            },
        }
    }
}
