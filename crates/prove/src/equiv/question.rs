//! What is asked of a search for a proof: two programs, and what may be known of them.

use super::declare::Declarations;
use super::level::Level;
use super::names::apart;
use super::sides::Sides;
use egg::Id;
use ember_analysis::facts::{EGraph, Facts, VectorUnit};
use ember_language::rules::Operators;
use ember_language::sexp::Sexp;
use ember_language::term::{Node, Term};
use ember_values::primitive::Primitive;
use std::sync::Arc;

/// Two programs that are to be proved equal.
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
    /// A model to which both may be equal.
    pub between: Option<&'a Term>,
    /// What certificates of parts before these declare.
    pub before: &'a [Sexp],
    /// Whether it may be known of offsets that they rise. Certificates of parts are put together only where
    /// none assumes more than another, so that of parts it is not.
    pub rows: bool,
}

impl Question<'_> {
    /// An e-graph with nothing in it that knows the tensors.
    pub fn egraph(&self, operators: &Arc<Operators>, unit: VectorUnit, record: bool) -> EGraph {
        let context = self.declarations.context();
        let facts = Facts::new(&context.tensors, &context.sizes, operators.clone(), unit);
        let rising = self.declarations.rising().filter(|_| self.rows);
        let facts = facts.rising(rising);
        EGraph::new(if record { facts.recording() } else { facts })
    }

    /// The programs and the model as statements behind which scratch memory is forgotten, where there is some.
    /// Since values move from one statement into another through it, no loop may have the variable of one
    /// that comes to stand around it.
    pub fn forgetful(&self, operators: &Arc<Operators>) -> Option<([Term; 2], Option<Term>)> {
        if self.level.is_crossed() || self.declarations.scratch().next().is_none() {
            return None;
        }
        let own =
            |term: &Term| apart(&forgetful(term.clone(), self.declarations, operators), operators);
        Some((self.terms.each_ref().map(own), self.between.map(own)))
    }
}

/// What is asked of both sides as a whole.
pub(super) fn question<'a>(
    sides: &'a Sides,
    terms: &'a [Term; 2],
    between: Option<&'a Term>,
) -> Question<'a> {
    let Sides { declarations, level, base, .. } = sides;
    Question { declarations, level, base, terms, between, before: &[], rows: false }
}

/// The same where it is not cut into parts.
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

/// A statement of one processor, behind which scratch memory is forgotten.
fn forgetful(mut statement: Term, declarations: &Declarations, operators: &Operators) -> Term {
    for scratch in declarations.scratch() {
        let root = Id::from(statement.len().saturating_sub(1));
        let name = statement.add(Node::op(&format!("%{scratch}"), &[]));
        let tensor = statement.add(operators.node(Primitive::Root(true), None, &[name]));
        statement.add(operators.node(Primitive::Forget, None, &[tensor, root]));
    }
    statement
}
