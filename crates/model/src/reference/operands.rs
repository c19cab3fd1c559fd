//! The operands of an operation of a model, as its kernel reads them.

use super::evaluate::{Evaluator, Mode, Source};
use ember_kernels::{Number, Operands};
use ember_values::operation::Operation;
use ember_values::scalar::{DType, Scalar};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// An operand of an operation.
pub(super) enum Operand {
    /// A tensor.
    Tensor(Source),
    /// Positions.
    Positions(Positions),
    /// A number.
    Number(Scalar),
    /// A word, by its place among the words of the row.
    Word(usize),
    /// A type, or memory for programs: no kernel reads them.
    Unread,
}

/// Positions that an input holds.
pub(super) struct Positions {
    positions: Vec<i64>,
    shape: Vec<u64>,
    /// The places at which each position is held, in order; made when it is asked for.
    holders: OnceLock<BTreeMap<i64, Vec<i64>>>,
}

impl Positions {
    pub(super) fn new(positions: Vec<i64>, shape: Vec<u64>) -> Self {
        Positions { positions, shape, holders: OnceLock::new() }
    }

    fn holders(&self, position: i64) -> Vec<i64> {
        let holders = self.holders.get_or_init(|| {
            let mut holders: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
            for (at, position) in self.positions.iter().enumerate() {
                holders.entry(*position).or_default().push(at as i64);
            }
            holders
        });
        holders.get(&position).cloned().unwrap_or_default()
    }
}

/// An operation with its operands in the order of its row.
pub(super) struct Given {
    pub(super) operation: Cow<'static, Operation>,
    pub(super) operands: Vec<Operand>,
}

impl Given {
    /// The operands, to be read in an evaluation.
    pub(super) fn reading<'a, M>(&'a self, evaluator: &'a Evaluator<'a, M>) -> Reading<'a, M> {
        Reading { given: self, evaluator }
    }

    /// A row-major position as an index of all dimensions but the last, and the place in the last.
    pub(super) fn unravelled(&self, position: usize, shape: &[u64]) -> (Vec<i64>, i64) {
        let mut rest = position as u64;
        let mut index: Vec<i64> = shape
            .iter()
            .rev()
            .map(|n| {
                let at = rest % (*n).max(1);
                rest /= (*n).max(1);
                at as i64
            })
            .collect();
        index.reverse();
        let first = index.pop().unwrap_or(0);
        (index, first)
    }
}

/// Operands that are being read; what does not fit the instance is no more than that.
pub(super) struct Reading<'a, M> {
    given: &'a Given,
    evaluator: &'a Evaluator<'a, M>,
}

/// The row-major position of an index.
fn ravelled(shape: &[u64], at: &[i64], last: i64) -> Result<usize, ()> {
    if shape.len() != at.len() + 1 {
        return Err(());
    }
    let all = shape.iter().zip(at.iter().chain([&last]));
    let position = all.into_iter().try_fold(0u64, |position, (extent, i)| {
        let i = u64::try_from(*i).ok().filter(|i| i < extent)?;
        Some(position * extent + i)
    });
    position.and_then(|position| usize::try_from(position).ok()).ok_or(())
}

impl<M: Mode> Operands for Reading<'_, M> {
    type Error = ();
    type Operand = usize;

    fn operand(&self, name: &str) -> Option<usize> {
        self.given.operation.place(name).filter(|at| *at < self.given.operands.len())
    }

    fn word(&self, name: &str) -> Option<usize> {
        match self.given.operands[self.operand(name)?] {
            Operand::Word(at) => Some(at),
            _ => None,
        }
    }

    fn missing(&self) {}

    fn number(&mut self, of: usize) -> Result<Scalar, ()> {
        match self.given.operands[of] {
            Operand::Number(number) => Ok(number),
            _ => Err(()),
        }
    }

    fn extents(&mut self, of: usize) -> Result<Vec<i64>, ()> {
        let shape = match &self.given.operands[of] {
            Operand::Tensor(source) => &source.shape,
            Operand::Positions(positions) => &positions.shape,
            _ => return Err(()),
        };
        Ok(shape.iter().map(|n| i64::try_from(*n).unwrap_or(i64::MAX)).collect())
    }

    fn position(&mut self, of: usize, at: &[i64]) -> Result<i64, ()> {
        let Operand::Positions(positions) = &self.given.operands[of] else { return Err(()) };
        let (last, at) = at.split_last().ok_or(())?;
        let at = ravelled(&positions.shape, at, *last)?;
        positions.positions.get(at).copied().ok_or(())
    }

    fn holders(&mut self, of: usize, position: i64) -> Result<Vec<i64>, ()> {
        let Operand::Positions(positions) = &self.given.operands[of] else { return Err(()) };
        Ok(positions.holders(position))
    }

    fn read<T: Number>(
        &mut self,
        of: usize,
        at: &[i64],
        first: i64,
        dtype: DType,
        out: &mut [T],
    ) -> Result<(), ()> {
        let Operand::Tensor(source) = &self.given.operands[of] else { return Err(()) };
        if out.is_empty() {
            return Ok(());
        }
        let start = ravelled(&source.shape, at, first)?;
        ravelled(&source.shape, at, first + out.len() as i64 - 1)?;
        self.evaluator.read_as(source, start, dtype, out).ok_or(())
    }
}
