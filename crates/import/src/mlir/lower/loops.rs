//! Loops, and what they reduce.

use super::{Helped, Lowering, Meaning, Refused};
use crate::mlir::rows::Kind;
use crate::mlir::source::{Operation, Region, Use, Value};
use crate::mlir::types::{Elem, Type};
use egg::Id;
use std::ops::Range;
use std::rc::Rc;

/// A loop that folds the values of its body into one number.
pub(super) struct Reduction<'o> {
    /// The reduction.
    fold: &'static str,
    /// The value of each iteration.
    value: &'o Use,
}

impl<'a> Lowering<'_, 'a> {
    /// Lowers a loop over numbers.
    pub(super) fn counted(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let mut bounds = [Id::from(0); 3];
        let mut of = Type::Scalar(Elem::Index);
        for (at, bound) in bounds.iter_mut().enumerate() {
            let operand = self.operand(operation, at)?;
            *bound = self.index(operand)?;
            let own = self.types[operand.0].clone().unwrap_or(of.clone());
            if at == 0 {
                of = own;
            } else {
                self.same(operand, &own, &of)?;
            }
        }
        let step = &operation.operands[2].1;
        self.step(bounds[2], step)?;
        if operation.kind == Kind::Walk {
            // Units with other bounds wait for each other in vain, so that no loop does what they do.
            for (at, own) in [(3, bounds[0]), (4, bounds[1])] {
                let other = self.operand(operation, at)?;
                if self.index(other)? != own {
                    let message = "a loop of both units has the same bounds on either";
                    return Err(self.refused(message, &other.1));
                }
            }
        }
        self.repeated(operation, bounds, of)
    }

    /// Lowers a loop whose bounds are maps.
    pub(super) fn affine_loop(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let [lower, upper] = &operation.maps[..] else {
            return Err(self.refused("an affine loop has two bounds", &operation.at));
        };
        let (lower, upper) = (lower.clone(), upper.clone());
        let starts = self.mapped(&lower, operation.group(0), &operation.at)?;
        let start = self.extreme("greatest", &starts, &operation.at)?;
        let ends = self.mapped(&upper, operation.group(1), &operation.at)?;
        let end = self.extreme("least", &ends, &operation.at)?;
        let step = match &operation.literal {
            Some(literal) => literal
                .whole()
                .ok_or_else(|| self.refused("the step of a loop is a whole number", &literal.at))?,
            None => 1,
        };
        let step = self.terms.int(step);
        self.step(step, &operation.at)?;
        self.repeated(operation, [start, end, step], Type::Scalar(Elem::Index))
    }

    /// Lowers a parallel loop as one loop inside the other.
    pub(super) fn parallel(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let region = self.region(operation, 0)?;
        let count = region.arguments.len();
        if operation.operands.len() != 3 * count || count == 0 {
            return Err(self.refused("a parallel loop without bounds", &operation.at));
        }
        self.repeats(region);
        let mut around = Vec::new();
        let outer = std::mem::take(&mut self.statements);
        for (at, (value, _)) in region.arguments.iter().enumerate() {
            let mut bounds = [Id::from(0); 3];
            for (group, bound) in bounds.iter_mut().enumerate() {
                *bound = self.index(&operation.operands[group * count + at])?;
            }
            self.step(bounds[2], &operation.operands[2 * count + at].1)?;
            let variable = self.variable(bounds)?;
            self.loads.clear();
            let index = self.form("index", &[("variable", variable)])?;
            self.give(*value, Type::Scalar(Elem::Index), index)?;
            around.push((variable, bounds));
            self.level += 1;
        }
        if let Some(end) = self.operations(region)?
            && !end.operands.is_empty()
        {
            return Err(self.refused("a parallel loop that reduces has no counterpart", &end.at));
        }
        let statements = std::mem::replace(&mut self.statements, outer);
        let mut body = self.sequence(&statements)?;
        for (variable, bounds) in around.into_iter().rev() {
            self.level -= 1;
            body = self.looped(variable, bounds, body)?;
        }
        self.statements.push(body);
        Ok(())
    }

    /// Checks the step of a loop.
    fn step(&self, step: Id, at: &Range<usize>) -> Result<(), Refused> {
        match self.whole(step) {
            Some(step) if step > 0 => Ok(()),
            Some(_) => Err(self.refused("the step of a loop is at least 1", at)),
            None => Err(self
                .refused("the step of a loop is no constant", at)
                .with_help_boxed("write `arith.constant` for it")),
        }
    }

    /// Returns the variable of a loop at this level.
    pub(super) fn variable(&mut self, [lo, hi, step]: [Id; 3]) -> Result<Id, Refused> {
        let level = self.terms.int(self.level);
        self.form("variable", &[("level", level), ("lo", lo), ("hi", hi), ("step", step)])
    }

    /// Returns a loop as a statement.
    pub(super) fn looped(
        &mut self,
        variable: Id,
        [lo, hi, step]: [Id; 3],
        body: Id,
    ) -> Result<Id, Refused> {
        let parts =
            [("variable", variable), ("lo", lo), ("hi", hi), ("step", step), ("body", body)];
        self.form("loop", &parts)
    }

    /// Marks what a region writes as written, since it may have run before.
    fn repeats(&mut self, region: &Region<'a>) {
        self.clock += 1;
        for value in &region.written {
            if let Some(Meaning::Memory(memory)) = self.meanings[*value] {
                self.memories[memory].written = self.clock;
            }
        }
    }

    /// Lowers a loop with its bounds.
    fn repeated(
        &mut self,
        operation: &Operation<'a>,
        bounds: [Id; 3],
        of: Type,
    ) -> Result<(), Refused> {
        let region = self.region(operation, 0)?;
        let carried = operation.groups.last().copied().unwrap_or(0);
        let first = operation.operands.len().saturating_sub(carried);
        let starts = &operation.operands[first..];
        let [(index, _), arguments @ ..] = &region.arguments[..] else {
            return Err(self.refused("a loop without a variable", &operation.at));
        };
        if arguments.len() != starts.len() || operation.results.len() > starts.len() {
            let message = format!("a loop that carries {} values", starts.len());
            return Err(self.refused(message, &operation.at));
        }
        if let Some(reduction) = self.reduction(operation) {
            return self.reduce(operation, region, bounds, of, (&starts[0], &reduction));
        }
        let carried = self.carry(arguments, starts)?;
        self.repeats(region);
        for memory in &carried {
            self.memories[*memory].written = self.clock;
        }
        let outer = std::mem::take(&mut self.statements);
        let variable = self.variable(bounds)?;
        self.count(*index, of, variable)?;
        self.level += 1;
        self.enter(arguments, &carried)?;
        let end = self.operations(region)?;
        self.give_back(end, &operation.at, arguments, &carried)?;
        self.level -= 1;
        let statements = std::mem::replace(&mut self.statements, outer);
        let body = self.sequence(&statements)?;
        let statement = self.looped(variable, bounds, body)?;
        self.statements.push(statement);
        self.leave(&operation.results, arguments, &carried)
    }

    /// Gives the variable of a loop its meaning.
    fn count(&mut self, index: Value, of: Type, variable: Id) -> Result<(), Refused> {
        self.loads.clear();
        let term = self.form("index", &[("variable", variable)])?;
        self.give(index, of, term)
    }

    /// Lowers a loop that only reduces as a value.
    fn reduce(
        &mut self,
        operation: &Operation<'a>,
        region: &Region<'a>,
        bounds: [Id; 3],
        of: Type,
        (start, reduction): (&Use, &Reduction<'_>),
    ) -> Result<(), Refused> {
        let [lo, hi, step] = bounds;
        let (start, carries) = self.number(start)?;
        let mut loads = std::mem::take(&mut self.loads);
        let active = self.active.take();
        let variable = self.variable(bounds)?;
        self.count(region.arguments[0].0, of, variable)?;
        self.level += 1;
        // The carried number is part of the fold alone, so its term is used nowhere.
        let (argument, _) = region.arguments[1];
        self.types[argument] = Some(carries.clone());
        self.meanings[argument] =
            Some(Meaning::Number { term: start, loads: Rc::new([]), at: self.clock });
        self.operations(region)?;
        self.level -= 1;
        self.loads.clear();
        self.active = active;
        let value = self.number_of(reduction.value, &carries)?;
        loads.append(&mut self.loads);
        self.loads = loads;
        let fold = self.word(reduction.fold);
        let parts = [
            ("fold", fold),
            ("variable", variable),
            ("lo", lo),
            ("hi", hi),
            ("step", step),
            ("start", start),
            ("value", value),
        ];
        let term = self.form("reduce", &parts)?;
        let result = operation.results.first().copied();
        result.map_or(Ok(()), |value| self.give(value, carries, term))
    }

    /// Returns the reduction that a loop is: it writes nothing, and carries one number, which is used once, by the
    /// operation that folds a value into it.
    pub(super) fn reduction<'o>(&self, operation: &'o Operation<'a>) -> Option<Reduction<'o>> {
        let region = operation.regions.first()?;
        let carried = operation.groups.last().copied().unwrap_or(0);
        let loops = matches!(operation.kind, Kind::Loop | Kind::Walk | Kind::AffineLoop);
        let ([_, (argument, _)], 1, true) = (&region.arguments[..], carried, loops) else {
            return None;
        };
        let (end, operations) = region.operations.split_last()?;
        let ([(result, _)], true) = (&end.operands[..], region.written.is_empty()) else {
            return None;
        };
        if self.values[*argument].uses != 1 || !operations.iter().all(|own| self.is_value(own)) {
            return None;
        }
        let last = operations.iter().rev().find(|own| own.results[..] == [*result])?;
        let fold = self.rows.fold(last.name)?;
        let value = match &last.operands[..] {
            [(carried, _), value] if carried == argument => value,
            [value, (carried, _)] if carried == argument => value,
            _ => return None,
        };
        Some(Reduction { fold, value })
    }

    /// True for an operation that is a value: it writes nothing, and needs no memory of its own.
    fn is_value(&self, operation: &Operation<'a>) -> bool {
        if operation.results.iter().any(|value| self.spilled.contains(value)) {
            return false;
        }
        match operation.kind {
            Kind::Plain
            | Kind::Constant
            | Kind::Load
            | Kind::Extent
            | Kind::View
            | Kind::Field
            | Kind::Broadcast
            | Kind::Mask
            | Kind::MaskedLoad
            | Kind::Stream
            | Kind::StreamLoad
            | Kind::StreamCopies
            | Kind::StreamIndex
            | Kind::Prefetch
            | Kind::Hint
            | Kind::Fold
            | Kind::Apply
            | Kind::Least
            | Kind::Greatest => true,
            Kind::Loop | Kind::Walk | Kind::AffineLoop => self.reduction(operation).is_some(),
            _ => false,
        }
    }
}
