//! The level at which two programs are compared: statements of one processor, or a sort that boundaries convert them
//! to.

use super::sides::{Side, What};
use crate::chains::Terms;
use egg::{Id, Symbol};
use ember_language::rules::{Kind, Signature, Sort, SortTerm, Unit};
use ember_language::term::{Head, Node, Term};
use ember_values::primitive::form::{Form, Sequence, Shape};
use std::collections::BTreeSet;

/// A level of programs.
#[derive(Clone, Debug)]
pub struct Level {
    /// The sort of its programs.
    pub(super) sort: Sort,
    /// The boundaries from a statement of one processor to this level, innermost first.
    crossing: Vec<Symbol>,
    /// The operators for sequences and barriers of this sort.
    seq: Option<Symbol>,
    barrier: Option<Symbol>,
}

/// The shape of one statement after another.
const TWO: Shape = Form::Sequence(Sequence::Two([(); 2]));

/// Returns the sort of statements that run on one processor: the result of the first sequence operator.
pub(super) fn statements(signature: &Signature) -> Sort {
    let seq = signature.table().named(TWO, None);
    let seq = seq.and_then(|name| signature.operator(name, 2)?.result.named());
    seq.unwrap_or_else(|| Sort::named(""))
}

/// Returns true if terms of a sort are whole programs: statements that do not run on one unit alone.
pub(super) fn is_program(signature: &Signature, sort: Sort) -> bool {
    signature.sort(sort.name()).is_some_and(|declared| {
        let alone = matches!(declared.unit, Some(Unit::Access | Unit::Execute));
        declared.kind == Some(Kind::Statement) && !alone
    })
}

impl Level {
    /// Returns the level of two sides and the level of statements of one processor. The former is the common level of
    /// both, or the higher one, to which boundaries lead from the other.
    pub(super) fn of(signature: &Signature, sides: [&Side; 2]) -> [Level; 2] {
        let base = statements(signature);
        let [left, right] = sides.map(|side| match &side.what {
            What::Term { sort, .. } => *sort,
            What::Dlc { .. } => base,
        });
        let higher = if way(signature, left, right).is_some() { right } else { left };
        [Level::at(signature, higher), Level::base(signature)]
    }

    /// Returns the level of statements of one processor.
    pub(super) fn base(signature: &Signature) -> Level {
        Level::at(signature, statements(signature))
    }

    fn at(signature: &Signature, sort: Sort) -> Level {
        let is = |shape: Shape| {
            let mut operators = signature.operators().iter();
            let found = operators.find(|op| {
                let info = signature.table().get(op.name, op.args.len());
                op.result == SortTerm::Is(sort)
                    && info.is_some_and(|info| info.shape == Some(shape))
            });
            found.map(|op| op.name)
        };
        Level {
            sort,
            crossing: way(signature, statements(signature), sort).unwrap_or_default(),
            seq: is(TWO),
            barrier: is(Form::Sequence(Sequence::Barrier)),
        }
    }

    /// Returns true if boundaries separate this level from statements of one processor.
    pub(super) fn is_crossed(&self) -> bool {
        !self.crossing.is_empty()
    }

    /// Wraps a statement of one processor in the boundaries that lead to this level, node by node.
    pub(super) fn cross(&self, statement: Id, mut add: impl FnMut(Node) -> Id) -> Id {
        let around = |inner, boundary: &Symbol| add(Node::new(Head::Op(*boundary), &[inner]));
        self.crossing.iter().fold(statement, around)
    }

    /// Returns the sequence of two programs of this level.
    pub(super) fn seq(&self, first: Id, then: Id) -> Option<Node> {
        Some(Node::new(Head::Op(self.seq?), &[first, then]))
    }

    /// Returns the operators of sequences and barriers.
    pub(super) fn joints(&self) -> Option<(Symbol, Symbol)> {
        self.seq.zip(self.barrier)
    }
}

/// Converts the program of a side to a level.
pub(super) fn reached(
    signature: &Signature,
    level: &Level,
    (term, sort): (&Term, Sort),
) -> Option<Term> {
    let mut made = Terms::default();
    if term.is_empty() {
        return None;
    }
    let statement = made.put(term);
    let around = |inner, boundary: Symbol| made.add(Node::new(Head::Op(boundary), &[inner]));
    let root = way(signature, sort, level.sort)?.into_iter().fold(statement, around);
    Some(Terms::of(&made.finish(), root))
}

/// Returns the shortest path of boundaries from one sort to another, innermost first.
fn way(signature: &Signature, from: Sort, to: Sort) -> Option<Vec<Symbol>> {
    let mut seen = BTreeSet::from([from]);
    let mut open = vec![(from, Vec::new())];
    while !open.is_empty() {
        if let Some((_, way)) = open.iter().find(|(sort, _)| *sort == to) {
            return Some(way.clone());
        }
        let mut next = Vec::new();
        for (sort, way) in open {
            let crossings = signature.operators().iter().filter(|op| op.boundary);
            for op in crossings.filter(|op| op.args == [SortTerm::Is(sort)]) {
                if let Some(result) = op.result.named().filter(|result| seen.insert(*result)) {
                    next.push((result, way.iter().copied().chain([op.name]).collect()));
                }
            }
        }
        open = next;
    }
    None
}
