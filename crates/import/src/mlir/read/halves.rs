//! Operations of programs of two halves in the pretty form, where it has words between the operands.

use super::{Reader, Refused};
use crate::mlir::source::Operation;

impl<'a> Reader<'a> {
    /// Reads `%lo to %hi step %s {…} : T into T`.
    pub(super) fn unit(&mut self, mut operation: Operation<'a>) -> Result<Operation<'a>, Refused> {
        operation.operands.push(self.operand()?);
        self.expect_word("to")?;
        operation.operands.push(self.operand()?);
        self.expect_word("step")?;
        operation.operands.push(self.operand()?);
        self.typed(operation)
    }

    /// Reads `%unit, EVENT {…} : T`, or `%unit, EVENT, %stream {…} : T, T`.
    pub(super) fn registered(
        &mut self,
        mut operation: Operation<'a>,
    ) -> Result<Operation<'a>, Refused> {
        operation.operands.push(self.operand()?);
        self.expect(',')?;
        operation.word = Some(self.word()?.0);
        if self.takes(',') {
            operation.operands.push(self.operand()?);
        }
        self.typed(operation)
    }

    /// Reads `case 1 { … } case 2 { … }`.
    pub(super) fn cases(&mut self, mut operation: Operation<'a>) -> Result<Operation<'a>, Refused> {
        self.described_by(&mut operation)?;
        while self.takes_word("case") {
            let literal = self.literal()?;
            let Some(number) = literal.whole() else {
                return Err(self.refused("a case has a number", literal.at, "none"));
            };
            operation.numbers.push(number);
            self.expect('{')?;
            let region = self.region(Vec::new())?;
            operation.regions.push(region);
        }
        Ok(operation)
    }

    /// Reads the attributes and types of an operation.
    fn typed(&mut self, mut operation: Operation<'a>) -> Result<Operation<'a>, Refused> {
        self.described_by(&mut operation)?;
        self.expect(':')?;
        self.signature(&mut operation)?;
        Ok(operation)
    }
}
