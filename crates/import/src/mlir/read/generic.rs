//! Operations in the generic form: `%r = "name"(%a, %b) <{…}> ({ … }) {…} : (T, T) -> T`.

use super::attributes::Attributes;
use super::{Reader, Refused};
use crate::mlir::rows::Kind;
use crate::mlir::source::{Mark, Operation};

impl<'a> Reader<'a> {
    /// Reads an operation behind its name.
    pub(super) fn generic(
        &mut self,
        mut operation: Operation<'a>,
    ) -> Result<Operation<'a>, Refused> {
        self.expect('(')?;
        while !self.takes(')') {
            if !operation.operands.is_empty() {
                self.expect(',')?;
            }
            let operand = self.operand()?;
            operation.operands.push(operand);
        }
        let mut attributes = Attributes::default();
        if self.takes('<') {
            self.expect('{')?;
            self.attributes(&mut attributes)?;
            self.expect('>')?;
        }
        if self.peek() == Mark('(') {
            self.next();
            while !self.takes(')') {
                if !operation.regions.is_empty() {
                    self.expect(',')?;
                }
                self.expect('{')?;
                let region = self.region(Vec::new())?;
                operation.regions.push(region);
            }
        }
        if self.takes('{') {
            self.attributes(&mut attributes)?;
        }
        self.described(&mut operation, attributes)?;
        self.expect(':')?;
        self.signature(&mut operation)?;
        if operation.groups.is_empty() {
            operation.groups = groups(&operation);
        }
        Ok(operation)
    }
}

/// Returns the groups of operands that an operation without their lengths has.
fn groups(operation: &Operation<'_>) -> Vec<usize> {
    let all = operation.operands.len();
    match operation.kind {
        Kind::Loop => vec![1, 1, 1, all.saturating_sub(3)],
        Kind::Walk => vec![1, 1, 1, 2, all.saturating_sub(5)],
        Kind::AffineLoop => {
            let of = |at: usize| operation.maps.get(at).map_or(0, |map| map.operands);
            vec![of(0), of(1), all.saturating_sub(of(0) + of(1))]
        }
        _ => Vec::new(),
    }
}
