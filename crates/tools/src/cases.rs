//! Case files: a term, the rules that are applied to it, and the terms that it must or must not then equal.
//!
//! An expectation is a sketch, so that it states as much or as little as matters; see `rules/README.md`. This module
//! reads case files and runs cases ([`Case::run`]); it does not print them.

mod read;
mod run;

pub use read::{Case, Steps, read};
pub use run::{Failure, bless};

use egg::{Id, RecExpr};
use ember_language::sexp::{Kind, Sexp};
use ember_language::term::{Node, Term, parse_head};

/// Converts an S-expression to a term without interpreting its words; sketches are printed like terms.
pub(crate) fn as_term(sexp: &Sexp) -> Term {
    let mut term: Term = RecExpr::default();
    let mut open: Vec<(&Sexp, bool)> = vec![(sexp, false)];
    let mut done: Vec<Id> = Vec::new();
    while let Some((item, read)) = open.pop() {
        let (head, children) = match &item.kind {
            Kind::Atom(word) | Kind::Text(word) => (word.as_str(), &[][..]),
            Kind::List(items) => {
                let head = items.first().and_then(Sexp::atom).unwrap_or("");
                (head, items.get(1..).unwrap_or_default())
            }
        };
        if !read && !children.is_empty() {
            open.push((item, true));
            open.extend(children.iter().rev().map(|child| (child, false)));
            continue;
        }
        let below = done.split_off(done.len() - children.len());
        done.push(term.add(Node::new(parse_head(head), &below)));
    }
    term
}
