//! The substitution of a rule in one step of a proof, obtained by matching the two terms that the step makes equal, in
//! which loop variables are words; and the instantiation of patterns with it.

use super::chain::{is_word, word};
use crate::chains::Terms;
use egg::{ENodeOrVar, Id, Language, PatternAst, RecExpr, Var};
use ember_language::rebuild::rebuild_part;
use ember_language::rules::Operators;
use ember_language::sexp::deeper;
use ember_language::term::{Head, Node, Term};
use ember_values::scalar::BinaryOp;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The terms of a rule's variables, and the loop variables that its patterns denote, by the text of the pattern.
pub(super) struct Means<'a> {
    operators: &'a Operators,
    pub of: BTreeMap<Var, Term>,
    pub targets: Vec<(PatternAst<Node>, Id)>,
}

impl<'a> Means<'a> {
    /// Creates an empty substitution.
    pub fn new(operators: &'a Operators) -> Means<'a> {
        Means { operators, of: BTreeMap::new(), targets: Vec::new() }
    }

    fn is_variable(&self, node: &Node) -> bool {
        self.operators.is_variable(node)
    }

    /// Adds the bindings from matching a term against a pattern.
    pub fn fit(&mut self, pattern: &PatternAst<Node>, term: &Term) {
        let Some(last) = term.len().checked_sub(1) else { return };
        let mut open = vec![(root(pattern), Id::from(last))];
        while let Some((p, t)) = open.pop() {
            match &pattern[p] {
                ENodeOrVar::Var(v) => {
                    self.of.entry(*v).or_insert_with(|| Terms::of(term, t));
                }
                ENodeOrVar::ENode(node) => match is_word(&term[t]) {
                    Some(class) if self.is_variable(node) => {
                        self.targets.push((written(pattern, p), class));
                    }
                    _ if node.name() == Some("!") => {}
                    _ => {
                        let pairs = node.children().iter().zip(term[t].children());
                        open.extend(pairs.map(|(p, t)| (*p, *t)));
                    }
                },
            }
        }
    }

    /// Returns the loop variable that a part of a pattern denotes.
    pub fn target(&self, pattern: &PatternAst<Node>, at: Id) -> Option<Id> {
        let part = written(pattern, at);
        self.targets.iter().find(|(known, _)| *known == part).map(|(_, class)| *class)
    }

    /// Instantiates a part of a pattern.
    pub fn build(&self, pattern: &PatternAst<Node>, at: Id) -> Option<Term> {
        let mut made = Terms::default();
        let id = self.put(pattern, at, &mut made)?;
        Some(Terms::of(&made.finish(), id))
    }

    fn put(&self, pattern: &PatternAst<Node>, at: Id, made: &mut Terms) -> Option<Id> {
        let node = match &pattern[at] {
            ENodeOrVar::Var(v) => return Some(made.put(self.of.get(v)?)),
            ENodeOrVar::ENode(node) => node,
        };
        if self.is_variable(node)
            && let Some(class) = self.target(pattern, at)
        {
            return Some(made.add(Node::op(&word(class), &[])));
        }
        let mut parts = Vec::new();
        for child in node.children() {
            parts.push(deeper(|| self.put(pattern, *child, made))?);
        }
        match (node.name(), parts.as_slice()) {
            (Some("!"), [op, a, b]) => {
                let number = |id: Id| match made.get(id)?.head() {
                    Head::Int(n) => Some(n),
                    _ => None,
                };
                let op = BinaryOp::parse(made.get(*op)?.name()?)?;
                let n = ember_engine::saturate::compute(op, number(*a)?, number(*b)?)?;
                Some(made.add(Node::int(n)))
            }
            _ => Some(made.add(Node::new(node.head(), &parts))),
        }
    }
}

/// Returns the root of a pattern.
pub(super) fn root(pattern: &PatternAst<Node>) -> Id {
    Id::from(pattern.len().saturating_sub(1))
}

/// Extracts a part of a pattern.
pub(super) fn written(pattern: &PatternAst<Node>, at: Id) -> PatternAst<Node> {
    let mut made: PatternAst<Node> = RecExpr::default();
    rebuild_part(pattern.as_ref(), at, &mut FxHashMap::default(), |node| made.add(node));
    made
}
