//! Branches, with results and without.

use super::{Lowering, Refused};
use crate::mlir::rows::Kind;
use crate::mlir::source::{Operation, Region};
use crate::mlir::types::{Elem, Type};
use egg::Id;

/// The places of a branch's results.
enum Results<'o, 'a> {
    /// Memory of the kernel's own.
    Own(&'o [usize]),
    /// The place of the store that is the result's only use.
    Stored(&'o Operation<'a>),
}

impl<'a> Lowering<'_, 'a> {
    /// True for a branch whose only result is used by the next operation alone, which stores it.
    pub(super) fn stores_branch(&self, branch: &Operation<'a>, next: &Operation<'a>) -> bool {
        let (Kind::Branch | Kind::AffineBranch, Kind::Store) = (branch.kind, next.kind) else {
            return false;
        };
        match (&branch.results[..], &next.operands[..]) {
            (&[result], [(stored, _), rest @ ..]) => {
                let once = self.values[result].uses == 1 && !self.spilled.contains(&result);
                let both = branch.regions.len() == 2 && branch.types.len() == 1;
                result == *stored && once && both && rest.iter().all(|(own, _)| *own != result)
            }
            _ => false,
        }
    }

    /// Lowers a branch whose regions store its result.
    pub(super) fn stored_branch(
        &mut self,
        branch: &Operation<'a>,
        store: &Operation<'a>,
    ) -> Result<(), Refused> {
        let condition = self.condition(branch)?;
        self.taken(branch, condition, &Results::Stored(store))
    }

    /// Returns the truth value of a branch.
    fn condition(&mut self, operation: &Operation<'a>) -> Result<Id, Refused> {
        match operation.maps.first().cloned() {
            Some(set) => self.holds(&set, operation),
            None => {
                let operand = self.operand(operation, 0)?;
                self.number_of(operand, &Type::Scalar(Elem::Bit))
            }
        }
    }

    /// Lowers a branch.
    pub(super) fn branch(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let condition = self.condition(operation)?;
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
            (0, _) => self.taken(operation, condition, &Results::Own(&[])),
            (_, Some(other)) if chooses(then) && chooses(other) => {
                self.choice(operation, condition, then, other)
            }
            (_, Some(_)) => {
                let mut memories = Vec::new();
                for of in &operation.types {
                    memories.push(self.own_memory(of)?);
                }
                self.taken(operation, condition, &Results::Own(&memories))
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
            self.afresh();
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

    /// Lowers a branch as a statement; each region stores the results.
    fn taken(
        &mut self,
        operation: &Operation<'a>,
        condition: Id,
        results: &Results<'_, 'a>,
    ) -> Result<(), Refused> {
        let mut bodies = Vec::new();
        for region in &operation.regions {
            let outer = std::mem::take(&mut self.statements);
            let end = self.operations(region)?;
            let given = end.map_or(&[][..], |end| &end.operands);
            if given.len() != operation.types.len() {
                return Err(
                    self.refused("a branch gives too few or too many values", &operation.at)
                );
            }
            for (at, (operand, of)) in given.iter().zip(&operation.types).enumerate() {
                self.afresh();
                let term = self.number_of(operand, of)?;
                match results {
                    Results::Own(memories) => {
                        self.all_lanes(&operand.1)?;
                        self.keep(memories[at], of, term)?;
                    }
                    Results::Stored(store) => self.stored(store, operand, (term, of.clone()))?,
                }
            }
            let statements = std::mem::replace(&mut self.statements, outer);
            bodies.push(self.sequence(&statements)?);
        }
        match bodies[..] {
            [body] => self.state("when", &[("condition", condition), ("body", body)])?,
            [body, other] => {
                let parts = [("condition", condition), ("body", body), ("other", other)];
                self.state("either", &parts)?;
            }
            _ => return Err(self.refused("a branch has one region or two", &operation.at)),
        }
        let Results::Own(memories) = results else { return Ok(()) };
        for ((result, of), memory) in operation.results.iter().zip(&operation.types).zip(*memories)
        {
            self.held(*result, of.clone(), *memory)?;
        }
        Ok(())
    }
}
