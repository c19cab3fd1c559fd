//! Statements: what each primitive that is one does, in order. What they write to memory is in [`super::memory`],
//! what they write of whole tensors in [`super::outputs`].

use super::eval::{RED_ZONE, SEGMENT};
use super::op::{At, Op};
use super::outputs::Part;
use super::{Error, Interpreter};
use ember_values::primitive::Primitive;

impl Interpreter {
    /// Runs the statement at a position.
    pub(super) fn statement(&mut self, at: At) -> Result<(), Error> {
        self.step()?;
        let op = self.program.ops[at];
        let Some(primitive) = op.primitive() else { return Err(self.wrong(at, "a statement")) };
        stacker::maybe_grow(RED_ZONE, SEGMENT, || self.compound_statement(at, primitive, &op))
    }

    pub(super) fn compound_statement(
        &mut self,
        at: At,
        primitive: Primitive,
        op: &Op,
    ) -> Result<(), Error> {
        match primitive {
            Primitive::Skip => Ok(()),
            Primitive::Seq => {
                let [first, second] = op.parts();
                self.statement(first)?;
                self.statement(second)
            }
            Primitive::For => {
                let [variable, lo, hi, step, body] = op.parts();
                let over = op.looped([variable, lo, hi, step], [op.part(5), op.part(6)]);
                self.each(over, |this| this.statement(body))
            }
            Primitive::Store => {
                let [address, value] = op.parts();
                let address = self.address(address)?;
                let value = self.value(value)?;
                self.store_lanes(at, address, value)
            }
            Primitive::Accumulate => {
                let [function, address, value] = op.parts();
                let function = self.program.binary_op(function)?;
                let address = self.address(address)?;
                let value = self.value(value)?;
                self.accumulate(at, function, address, value)
            }
            Primitive::Output => {
                let [to, from] = op.parts();
                self.output(to, Part::Whole, from)
            }
            Primitive::OutputSlot => {
                let [to, slot, from] = op.parts();
                self.output(to, Part::Slot(slot), from)
            }
            Primitive::OutputColumns => {
                let [to, column, from] = op.parts();
                self.output(to, Part::Columns(column), from)
            }
            Primitive::Barrier => {
                self.barrier();
                Ok(())
            }
            Primitive::Matmul(transposed) => {
                let [out, a, b] = op.parts();
                self.matmul(at, out, a, b, transposed)
            }
            Primitive::Vec => {
                let [v, e, n, hi, x] = op.parts();
                self.block(v, e, n, hi, |this, active| match active {
                    true => this.statement(x),
                    false => Ok(()),
                })
            }
            Primitive::Forget => {
                let [of, statement] = op.parts();
                self.statement(statement)?;
                self.clear(of)
            }
            _ => match self.elsewhere(primitive, op, Self::statement) {
                Some(done) => done,
                None => Err(self.wrong(at, "a statement")),
            },
        }
    }
}
