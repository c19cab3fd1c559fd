//! Applies the steps of a chain again: a rule by matching one side and building the other, arithmetic by the two
//! recorded terms.

use super::replay::{fits, number, replay};
use super::step::{By, Chain, Direction, Step, subterm};
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rebuild::{rebuild_part, try_rebuild};
use ember_language::rules::{Rule, RuleBook};
use ember_language::term::{Node, Term, Terms};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A step and the position at which to apply it.
#[derive(Clone)]
pub(super) struct Move<'a> {
    pub step: &'a Step,
    pub position: Vec<usize>,
}

impl Move<'_> {
    /// Returns a step at its own position.
    pub fn of(step: &Step) -> Move<'_> {
        Move { step, position: step.position.clone() }
    }
}

/// The two sides of a step's rule as patterns, in the direction in which the step reads the rule.
pub(super) type Sides<'a> = (&'a PatternAst<Node>, &'a PatternAst<Node>);

/// Returns the sides of a step; `None` for a computed step or one that could not be replayed.
pub(super) fn sides<'a>(step: &Step, book: &'a RuleBook) -> Option<Sides<'a>> {
    let By::Rule { direction, .. } = &step.by else { return None };
    let rule = book.rule(step.name()).filter(|_| step.doubt.is_none())?;
    Some(match direction {
        Direction::Forward => (&rule.lhs, &rule.rhs),
        Direction::Backward => (&rule.rhs, &rule.lhs),
    })
}

/// Applies steps to a term in order; `None` if one of them does not apply at its position.
pub(super) fn applied(start: &Term, moves: &[Move], book: &RuleBook) -> Option<Chain> {
    let mut chain = Chain { start: start.clone(), steps: Vec::new() };
    for next in moves {
        let step = again(chain.last(), next, book)?;
        chain.steps.push(step);
    }
    Some(chain)
}

/// Applies one step to a term.
fn again(whole: &Term, Move { step, position }: &Move, book: &RuleBook) -> Option<Step> {
    let before = subterm(whole, position)?;
    if before == step.before {
        let whole = replaced(whole, position, &step.after)?;
        return Some(Step { whole, position: position.clone(), ..(*step).clone() });
    }
    let (old, new) = sides(step, book)?;
    let By::Rule { rule, direction, substitution } = &step.by else { return None };
    let mut bound: BTreeMap<Var, Term> = BTreeMap::new();
    fits(old, &before, &mut bound).ok()?;
    // A variable that the old side does not mention keeps its term.
    for (variable, term) in substitution {
        bound.entry(*variable).or_insert_with(|| term.clone());
    }
    let after = build(new, &bound)?;
    let (left, right) = match direction {
        Direction::Forward => (&before, &after),
        Direction::Backward => (&after, &before),
    };
    let known: &Rule = book.rule(rule.as_str())?;
    let substitution = replay(known, left, right).ok()?;
    let by = By::Rule { rule: *rule, direction: *direction, substitution };
    let whole = replaced(whole, position, &after)?;
    Some(Step { by, position: position.clone(), before, after, whole, doubt: None })
}

/// Builds the term of a pattern from the terms of its variables.
fn build(pattern: &PatternAst<Node>, bound: &BTreeMap<Var, Term>) -> Option<Term> {
    let mut made = Terms::default();
    let root = try_rebuild(pattern.as_ref(), |at, node| {
        Some(match node {
            ENodeOrVar::Var(variable) => made.put(bound.get(&variable)?),
            ENodeOrVar::ENode(node) if node.name() == Some("!") => {
                made.add(Node::int(number(pattern, Id::from(at), bound)?))
            }
            ENodeOrVar::ENode(node) => made.add(node),
        })
    })?;
    Some(Terms::of(&made.finish(), root))
}

/// Replaces the subterm at a position.
fn replaced(whole: &Term, position: &[usize], part: &Term) -> Option<Term> {
    let mut made = Terms::default();
    let mut known: FxHashMap<Id, Id> = FxHashMap::default();
    let mut way = vec![Id::from(whole.len().checked_sub(1)?)];
    for argument in position {
        let next = *whole[*way.last()?].children().get(*argument)?;
        way.push(next);
    }
    let mut inside = made.put(part);
    way.pop();
    for (at, argument) in way.into_iter().zip(position).rev() {
        let node = &whole[at];
        let mut children = Vec::with_capacity(node.children().len());
        for (k, child) in node.children().iter().enumerate() {
            children.push(match k == *argument {
                true => inside,
                false => rebuild_part(whole.as_ref(), *child, &mut known, |node| made.add(node)),
            });
        }
        inside = made.add(Node::new(node.head(), &children));
    }
    Some(Terms::of(&made.finish(), inside))
}
