//! The question posed to a search for a proof: two programs, and the facts that it may assume.

use super::declare::Declarations;
use super::level::Level;
use super::names::apart;
use super::sides::Sides;
use egg::Id;
use ember_analysis::facts::{EGraph, Facts, VectorUnit, assume};
use ember_language::make::Make;
use ember_language::rules::{Exactness, Operators};
use ember_language::sexp::Sexp;
use ember_language::term::Term;
use std::sync::Arc;

/// Two programs to be proved equal, and their context.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    /// The tensors.
    pub declarations: &'a Declarations,
    /// The level of the programs.
    pub level: &'a Level,
    /// The level of statements of one processor.
    pub base: &'a Level,
    /// The programs.
    pub terms: &'a [Term; 2],
    /// A model to which both programs may be equal.
    pub between: Option<&'a Term>,
    /// The declarations of variables in the certificates of earlier parts.
    pub before: &'a [Sexp],
    /// True if the search may assume that offsets never decrease. This is false for parts, because their certificates
    /// can be joined only if none assumes more than another.
    pub rows: bool,
}

impl Question<'_> {
    /// Creates an e-graph with the declarations of the tensors and with the values whose ranges are assumed.
    pub fn egraph(
        &self,
        operators: &Arc<Operators>,
        unit: VectorUnit,
        exact: Exactness,
        record: bool,
    ) -> EGraph {
        let context = self.declarations.context();
        let facts = Facts::new(&context.tensors, &context.sizes, operators.clone(), unit);
        let rising = self.declarations.rising().filter(|_| self.rows);
        let facts = facts.rising(rising).telling_rows().uniting_forms().rounding(exact);
        let mut egraph = EGraph::new(if record { facts.recording() } else { facts });
        for assumption in &self.declarations.assumptions {
            if let Some((value, range)) = &assumption.range {
                assume(&mut egraph, value, *range);
            }
        }
        egraph
    }

    /// Returns the programs and the model with their scratch memory forgotten at the end; `None` if there is no scratch
    /// memory. Values move between statements through it, so that every loop variable is named by all enclosing loops;
    /// otherwise a moved loop could end up inside a loop with the same variable.
    pub fn forgetful(&self, operators: &Arc<Operators>) -> Option<([Term; 2], Option<Term>)> {
        if self.level.is_crossed() || self.declarations.scratch().next().is_none() {
            return None;
        }
        let own =
            |term: &Term| apart(&forgetful(term.clone(), self.declarations, operators), operators);
        Some((self.terms.each_ref().map(own), self.between.map(own)))
    }
}

/// Returns the question about both sides as a whole.
pub(super) fn question<'a>(
    sides: &'a Sides,
    terms: &'a [Term; 2],
    between: Option<&'a Term>,
) -> Question<'a> {
    let Sides { declarations, level, base, .. } = sides;
    Question { declarations, level, base, terms, between, before: &[], rows: false }
}

/// Returns the question for the programs as a whole: offsets never decrease, and scratch memory, if there is some, is
/// forgotten.
pub(super) fn unparted<'a>(
    question: Question<'a>,
    forgetful: &'a Option<([Term; 2], Option<Term>)>,
) -> Question<'a> {
    match forgetful {
        Some((terms, between)) => {
            Question { terms, between: between.as_ref(), rows: true, ..question }
        }
        None => Question { rows: true, ..question },
    }
}

/// Appends the forgetting of scratch memory to a statement of one processor.
fn forgetful(mut statement: Term, declarations: &Declarations, operators: &Operators) -> Term {
    for scratch in declarations.scratch() {
        let root = Id::from(statement.len().saturating_sub(1));
        let mut make = Make::new(operators, |node| statement.add(node));
        let tensor = make.root(scratch, true);
        make.forgotten(tensor, root);
    }
    statement
}
