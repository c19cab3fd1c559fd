//! Tests of demands: a demand claims that the operator refuses an operand that violates it. Each test puts operands of
//! another type, width, rank or operation in the place of one operand, on stores in which the operator has a meaning.
//! Some of these must be refused.

use super::claim::Found;
use super::subject::Subject;
use crate::random::tensor_name;
use crate::soundness::compare::{LOWERED_STEPS, Meaning, meaning};
use crate::soundness::instance::Instance;
use egg::Id;
use ember_interpret::Error;
use ember_language::make::Make;
use ember_language::rules::{Kind, OpInfo};
use ember_language::term::Node;
use ember_values::primitive::{Ask, OfRank, OfType, OfWidth, Part};
use ember_values::scalar::{BinaryOp, DType, Scalar};

/// The ranks of the tensors that every world has; 0 is that of an element.
const RANKS: std::ops::RangeInclusive<usize> = 0..=3;

/// The form of the operands that replace one.
#[derive(Clone, Copy, Debug)]
struct Form {
    dtype: DType,
    lanes: usize,
    rank: usize,
}

impl Subject {
    /// Tests one word of the demands on an operand.
    pub fn asked(&self, info: &OpInfo, at: usize, ask: Ask) -> Result<Found, Error> {
        let Some(kind) = self.kinds[at] else {
            return Ok(Found::Nothing("terms of every sort may stand there"));
        };
        match (ask.part, ask.rank) {
            (Some(Part::Offsets | Part::Scratch), _) => {
                return Ok(Found::Nothing("a demand on what memory holds, which nobody refuses"));
            }
            (_, OfRank::More(more)) => return self.ranked(at, more),
            _ => {}
        }
        let forms = match kind {
            Kind::Operation => return Ok(self.closed(info, at)),
            Kind::Value | Kind::Address | Kind::Tensor => self.forms(at, kind, ask)?,
            _ => return Ok(Found::Nothing("what stands there has neither type nor rank")),
        };
        let writes = info.touches.as_ref().is_some_and(|touches| touches.writes.contains(&at));
        let others = forms.into_iter().map(|form| {
            let mut instance = self.instance.clone();
            let operand = instance.of_form(kind, form, writes);
            (instance, operand)
        });
        let free = ask.typing == OfType::Any;
        Ok(self.replaced(at, others, free))
    }

    /// Tests whether the result has a rank that is so much lower than that of an operand.
    fn ranked(&self, at: usize, more: i8) -> Result<Found, Error> {
        let mut run = self.fresh()?;
        let (own, operand) = match (run.rank_at(self.instance.lhs), run.rank_at(self.operands[at]))
        {
            (Ok(own), Ok(operand)) => (own, operand),
            _ => return Ok(Found::Nothing("the result of no case has a rank")),
        };
        Ok(if own.checked_add_signed(isize::from(more)) == Some(operand) {
            Found::Agrees
        } else {
            Found::Wrong(format!(
                "claimed:    the operand's rank is {more:+} that of the result\n\
                 found:      {operand} and {own}\n"
            ))
        })
    }

    /// The forms that violate a demand, or those that it allows if it leaves the type free.
    fn forms(&self, at: usize, kind: Kind, ask: Ask) -> Result<Vec<Form>, Error> {
        let mut run = self.fresh()?;
        let operand = self.operands[at];
        let own = Form {
            dtype: run.type_at(operand)?,
            lanes: if kind == Kind::Tensor { 1 } else { self.lanes_of(at)? },
            rank: if kind == Kind::Value { 0 } else { run.rank_at(operand)? },
        };
        let typed = |dtypes: &[DType]| {
            let others = dtypes.iter().filter(|dtype| **dtype != own.dtype);
            others.map(|dtype| Form { dtype: *dtype, ..own }).collect()
        };
        Ok(match (ask.typing, ask.width, ask.rank) {
            (OfType::I64, ..) => typed(&[DType::F32]),
            (OfType::Any, ..) => typed(&[DType::F32, DType::F64, DType::I32, DType::I64]),
            (_, OfWidth::One, _) => vec![Form { lanes: 2, ..own }],
            (_, OfWidth::Several, _) => vec![Form { lanes: 1, ..own }],
            (.., OfRank::Is(n)) => RANKS
                .filter(|rank| *rank != usize::from(n))
                .map(|rank| Form { rank, ..own })
                .collect(),
            _ => Vec::new(),
        })
    }

    /// Tests an operand that must be an operation whose result is of the type of its operands.
    fn closed(&self, info: &OpInfo, at: usize) -> Found {
        let others = BinaryOp::ALL.into_iter().filter(|op| op.compares()).map(|op| {
            let mut instance = self.instance.clone();
            let operand = instance.terms.op(op.name(), &[]);
            (instance, operand)
        });
        debug_assert!(info.operand_kinds[at] == Some(Kind::Operation));
        self.replaced(at, others, false)
    }

    /// Puts each of some operands in the place of one. Most demands claim that such an operand is refused; one that
    /// leaves something `free` claims that the operator has a meaning with it.
    fn replaced(
        &self,
        at: usize,
        others: impl Iterator<Item = (Instance, Id)>,
        free: bool,
    ) -> Found {
        let mut against = None;
        for (mut instance, other) in others {
            let mut operands = self.operands.clone();
            operands[at] = other;
            let Some(term) = self.of(&mut instance, &operands) else { continue };
            let store = instance.world.completed(&self.case.store, &instance.tensors());
            let limits = (self.case.memory, LOWERED_STEPS);
            let found = meaning(&instance, term, &store, &self.case.environment, limits);
            if let Err(Error::StepLimit(_)) = found {
                continue;
            }
            // Without active lanes, any operand will do.
            if found.as_ref().is_ok_and(Meaning::is_void) {
                continue;
            }
            if found.is_ok() == free {
                return Found::Agrees;
            }
            let claimed = if free { "as any other" } else { "refused" };
            let found = found.map_or_else(|why| why.to_string(), |_| "it has a meaning".to_owned());
            let operand = instance.terms.part(other);
            against = Some(format!("claimed:    {operand} is {claimed}\nfound:      {found}\n"));
        }
        match against {
            Some(found) => Found::Against(found),
            None => Found::Nothing("nothing violates it"),
        }
    }
}

impl Instance {
    /// Adds an operand of a kind and a form.
    fn of_form(&mut self, kind: Kind, form: Form, written: bool) -> Id {
        let Form { dtype, lanes, rank } = form;
        let mut make = self.make();
        if kind == Kind::Value {
            let x = make.number(Scalar::from_f64(dtype, 1.0));
            return if lanes == 1 { x } else { make.broadcast(lanes, x) };
        }
        // An element, and a run of elements, have one index more.
        let indexed = rank == 0 || lanes > 1;
        let mut tensor =
            make.root(&tensor_name(written, dtype, rank + usize::from(indexed)), written);
        if indexed {
            let (zero, hi) = (make.int(0), make.int(lanes as i64));
            let index = if lanes == 1 { zero } else { make.lanes(lanes, hi, zero) };
            tensor = make.at(tensor, &[index]);
        }
        if kind == Kind::Tensor { make.stored(tensor) } else { tensor }
    }

    /// Makes terms of primitives.
    pub fn make(&mut self) -> Make<'_, impl FnMut(Node) -> Id> {
        Make::new(&self.operators, |node| self.terms.add(node))
    }
}
