//! Values that a loop carries from one iteration to the next, in memory of the kernel's own.

use super::{Lowering, Meaning, Refused};
use crate::mlir::source::{Operation, Use, Value};
use crate::mlir::types::Type;
use std::ops::Range;
use std::rc::Rc;

/// The arguments of a region, with their types as far as the text gives them.
type Arguments = [(Value, Option<Type>)];

impl<'a> Lowering<'_, 'a> {
    /// Declares memory for what a loop carries, and stores the first values.
    pub(super) fn carry(
        &mut self,
        arguments: &Arguments,
        starts: &[Use],
    ) -> Result<Vec<usize>, Refused> {
        let mut memories = Vec::new();
        for ((argument, said), start) in arguments.iter().zip(starts) {
            let (term, of) = self.number(start)?;
            if let Some(said) = said {
                self.same(start, &of, said)?;
            }
            self.all_lanes(&start.1)?;
            let memory = self.own_memory(&of)?;
            self.keep(memory, &of, term)?;
            self.types[*argument] = Some(of);
            memories.push(memory);
        }
        Ok(memories)
    }

    /// Gives the arguments of a region their meaning: what the memory holds.
    pub(super) fn enter(
        &mut self,
        arguments: &Arguments,
        memories: &[usize],
    ) -> Result<(), Refused> {
        for ((argument, _), memory) in arguments.iter().zip(memories) {
            self.load_again(*argument, *argument, *memory)?;
        }
        Ok(())
    }

    /// Stores what an iteration gives to the next.
    pub(super) fn give_back(
        &mut self,
        end: Option<&Operation<'a>>,
        at: &Range<usize>,
        arguments: &Arguments,
        memories: &[usize],
    ) -> Result<(), Refused> {
        let given = end.map_or(&[][..], |end| &end.operands);
        if given.len() != memories.len() {
            let message =
                format!("the region gives {} values, not {}", given.len(), memories.len());
            return Err(self.refused(message, end.map_or(at, |end| &end.at)));
        }
        for (((argument, _), operand), memory) in arguments.iter().zip(given).zip(memories) {
            self.afresh();
            let of = self.types[*argument].clone().unwrap_or(Type::Struct);
            let term = self.number_of(operand, &of)?;
            self.all_lanes(&operand.1)?;
            if term != self.kept(*memory, &of)? {
                self.keep(*memory, &of, term)?;
            }
        }
        Ok(())
    }

    /// Gives the results of a loop or branch their meaning.
    pub(super) fn leave(
        &mut self,
        results: &[Value],
        arguments: &Arguments,
        memories: &[usize],
    ) -> Result<(), Refused> {
        for ((result, (argument, _)), memory) in results.iter().zip(arguments).zip(memories) {
            self.load_again(*result, *argument, *memory)?;
        }
        Ok(())
    }

    /// Makes a value what a memory holds now; it has the type of another value.
    fn load_again(&mut self, value: Value, like: Value, memory: usize) -> Result<(), Refused> {
        let Some(of) = self.types[like].clone() else { return Ok(()) };
        let term = self.kept(memory, &of)?;
        self.loads = vec![memory];
        self.give(value, of, term)
    }

    /// Makes a value what a memory holds now.
    pub(super) fn held(&mut self, value: Value, of: Type, memory: usize) -> Result<(), Refused> {
        let term = self.kept(memory, &of)?;
        self.types[value] = Some(of);
        self.meanings[value] =
            Some(Meaning::Number { term, loads: Rc::new([memory]), at: self.clock });
        Ok(())
    }
}
