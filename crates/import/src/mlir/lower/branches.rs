//! Branches, with results and without.

use super::{Lowering, Refused};
use crate::mlir::rows::Kind;
use crate::mlir::source::{Operation, Region};
use crate::mlir::types::{Elem, Type};
use egg::Id;

impl<'a> Lowering<'_, 'a> {
    /// Lowers a branch by a truth value.
    pub(super) fn branch(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let operand = self.operand(operation, 0)?;
        let condition = self.number_of(operand, &Type::Scalar(Elem::Bit))?;
        self.either(operation, condition)
    }

    /// Lowers a branch by a set.
    pub(super) fn affine_branch(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let Some(set) = operation.maps.first().cloned() else {
            return Err(self.refused("a set was expected", &operation.at));
        };
        let condition = self.holds(&set, operation)?;
        self.either(operation, condition)
    }

    /// Lowers a branch by a term. Results of branches that only compute are a choice between two values, of which both
    /// are evaluated; others are stored by each branch.
    fn either(&mut self, operation: &Operation<'a>, condition: Id) -> Result<(), Refused> {
        let then = self.region(operation, 0)?;
        let other = operation.regions.get(1);
        let chooses = |region: &Region<'a>| {
            region.operations.iter().all(|own| {
                matches!(
                    own.kind,
                    Kind::Plain | Kind::Constant | Kind::Extent | Kind::Apply | Kind::Yield
                ) && own.results.iter().all(|value| !self.spilled.contains(value))
            })
        };
        match (operation.results.len(), other) {
            (0, _) => self.taken(operation, condition, &[]),
            (_, Some(other)) if chooses(then) && chooses(other) => {
                self.choice(operation, condition, then, other)
            }
            (_, Some(_)) => {
                let mut memories = Vec::new();
                for of in &operation.types {
                    memories.push(self.own_memory(of)?);
                }
                self.taken(operation, condition, &memories)
            }
            (_, None) => Err(self.refused("a branch with results has both regions", &operation.at)),
        }
    }

    /// Lowers a branch as values.
    fn choice(
        &mut self,
        operation: &Operation<'a>,
        condition: Id,
        then: &Region<'a>,
        other: &Region<'a>,
    ) -> Result<(), Refused> {
        let conditions = std::mem::take(&mut self.loads);
        let ends = [self.operations(then)?, self.operations(other)?];
        let mut loads = conditions;
        for (at, result) in operation.results.iter().enumerate() {
            let mut values = [condition; 2];
            let mut of = Type::Scalar(Elem::Bit);
            self.loads.clear();
            for (value, end) in values.iter_mut().zip(ends) {
                let given = end.and_then(|end| end.operands.get(at));
                let Some(given) = given else {
                    return Err(self.refused("a branch gives too few values", &operation.at));
                };
                of = operation.types.get(at).cloned().unwrap_or(of);
                *value = self.number_of(given, &of)?;
            }
            loads.append(&mut self.loads);
            self.loads = loads.clone();
            let [value, other] = values;
            let parts = [("condition", condition), ("value", value), ("other", other)];
            let term = self.form("choice", &parts)?;
            self.give(*result, of, term)?;
        }
        Ok(())
    }

    /// Lowers a branch as a statement; each region stores its results.
    fn taken(
        &mut self,
        operation: &Operation<'a>,
        condition: Id,
        memories: &[usize],
    ) -> Result<(), Refused> {
        let mut bodies = Vec::new();
        for region in &operation.regions {
            let outer = std::mem::take(&mut self.statements);
            let end = self.operations(region)?;
            let given = end.map_or(&[][..], |end| &end.operands);
            if given.len() != memories.len() {
                return Err(
                    self.refused("a branch gives too few or too many values", &operation.at)
                );
            }
            for ((operand, memory), of) in given.iter().zip(memories).zip(&operation.types) {
                self.loads.clear();
                let term = self.number_of(operand, of)?;
                self.keep(*memory, of, term)?;
            }
            let statements = std::mem::replace(&mut self.statements, outer);
            bodies.push(self.sequence(&statements, &operation.at)?);
        }
        match bodies[..] {
            [body] => self.state("when", &[("condition", condition), ("body", body)])?,
            [body, other] => {
                let parts = [("condition", condition), ("body", body), ("other", other)];
                self.state("either", &parts)?;
            }
            _ => return Err(self.refused("a branch has one region or two", &operation.at)),
        }
        for ((result, of), memory) in operation.results.iter().zip(&operation.types).zip(memories) {
            self.held(*result, of.clone(), *memory)?;
        }
        Ok(())
    }
}
