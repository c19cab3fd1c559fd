//! Writes steps that the checker verifies by arithmetic and declarations alone.
//!
//! The search knows the value of a class, the checker that of a term. For the extent of a computed tensor only rules
//! lead to the value, so that they come first.

use super::certificate::Uncertified::{self, Lost};
use super::certificate::{Writer, placed};
use super::chain::COMPUTED;
use super::forms::form;
use crate::chains::Terms;
use egg::{Id, Language};
use ember_language::sexp::Sexp;
use ember_language::term::{Node, Term};

impl Writer<'_> {
    /// Adds a computed step from one term to another. If the checker does not know the value of an operand, the steps
    /// to the shortest term of each operand come before, and the steps back after.
    pub(super) fn computed(
        &mut self,
        (old, new): (&Term, &Term),
        (depth, place): (usize, &[usize]),
        steps: &mut Vec<Sexp>,
    ) -> Result<(), Uncertified> {
        let texts = [self.term(old)?, self.term(new)?];
        let why = match self.checker.computed(&texts[0], &texts[1]) {
            Ok((_, loose)) => {
                self.note_loose(&loose);
                self.say_computed(texts, place, steps);
                return Ok(());
            }
            Err(why) => why,
        };
        let (before, after) = (self.by_operands(old)?, self.by_operands(new)?);
        if (&before, &after) == (old, new) {
            return Err(why.into());
        }
        self.operands((old, &before), (depth, place), steps)?;
        let texts = [self.term(&before)?, self.term(&after)?];
        let (_, loose) = self.checker.computed(&texts[0], &texts[1])?;
        self.note_loose(&loose);
        self.say_computed(texts, place, steps);
        self.operands((&after, new), (depth, place), steps)
    }

    fn say_computed(&self, [old, new]: [Sexp; 2], place: &[usize], steps: &mut Vec<Sexp>) {
        steps.push(form(COMPUTED, [placed(place), old, new]));
    }

    /// Returns a term with the shortest term of each operand.
    fn by_operands(&self, term: &Term) -> Result<Term, Uncertified> {
        let mut made = Terms::default();
        let (node, operands) = parts(term)?;
        let shortest = operands.iter().map(|operand| {
            let class = self.hidden.class(operand)?;
            Some(made.put(&self.hidden.smallest(class)?))
        });
        let shortest: Option<Vec<Id>> = shortest.collect();
        let shortest = shortest.ok_or(Lost("an operand that is not in the search"))?;
        let root = made.add(Node::new(node.head(), &shortest));
        Ok(made.part(root))
    }

    /// Adds the steps from the operands of one term to those of another.
    fn operands(
        &mut self,
        (from, to): (&Term, &Term),
        (depth, place): (usize, &[usize]),
        steps: &mut Vec<Sexp>,
    ) -> Result<(), Uncertified> {
        let (from, to) = (parts(from)?.1, parts(to)?.1);
        for (at, (from, to)) in from.iter().zip(&to).enumerate() {
            if from != to {
                let place = [place, &[at]].concat();
                self.lead(from, to, (depth + 1, &place), steps)?;
            }
        }
        Ok(())
    }
}

/// Returns the root of a term and its operands.
fn parts(term: &Term) -> Result<(&Node, Vec<Term>), Uncertified> {
    let node = term.as_ref().last().ok_or(Lost("a term without a root"))?;
    Ok((node, node.children().iter().map(|child| Terms::of(term, *child)).collect()))
}
