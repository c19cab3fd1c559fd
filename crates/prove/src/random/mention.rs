//! Instances in which a term mentions a loop variable that the rule makes, although nothing should.

use super::build::Build;
use super::grow::Setting;
use super::types::Hole;
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{COMPUTE, Kind};
use ember_language::term::{Head, Node, Terms};
use ember_values::scalar::BinaryOp;
use std::collections::BTreeSet;

/// Returns the value of a number that a rule computes, from the terms of its operation and operands; `None` if it does
/// not exist.
pub(crate) fn computed(terms: &Terms, [op, a, b]: [Id; 3]) -> Option<i64> {
    let number = |id: Id| match terms[id].head() {
        Head::Int(n) => Some(n),
        Head::Op(_) | Head::Real(_) => None,
    };
    BinaryOp::parse(terms[op].name()?)?.checked(number(a)?, number(b)?)
}

impl<S: Setting> Build<'_, '_, '_, S> {
    /// Returns true once in `n` draws on average.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.grow.one_in(n)
    }

    /// One of several.
    pub fn choice<'t, T>(&mut self, all: &'t [T]) -> Option<&'t T> {
        self.grow.rng.choice(all)
    }

    /// The whole pattern again, where a term that stood for one of its variables is another, which mentions a
    /// loop variable that the rule makes; `made` is that, as the right side has it, and `within` the variable that is
    /// preferred. `None` where none of them may.
    pub fn mention(&mut self, made: &PatternAst<Node>, within: Option<Var>) -> Option<Id> {
        let mut built: Vec<Id> = Vec::with_capacity(made.len());
        for node in made {
            let id = match node {
                ENodeOrVar::Var(v) => match self.holes.get(v) {
                    Some(id) => *id,
                    None => {
                        // What generators give is small, and often a power of two.
                        let power = 1 << self.grow.rng.u8(0..4);
                        let n = self.grow.rng.i64(1..8);
                        let n = if self.grow.rng.bool() { power } else { n };
                        self.grow.terms.int(n)
                    }
                },
                ENodeOrVar::ENode(node) => {
                    let children: Vec<Id> =
                        node.children().iter().map(|c| built[usize::from(*c)]).collect();
                    match (node.name(), children.as_slice()) {
                        (Some(COMPUTE), [op, a, b]) => {
                            let n = computed(self.grow.terms, [*op, *a, *b])?;
                            self.grow.terms.int(n)
                        }
                        _ => self.grow.terms.add(Node::new(node.head(), &children)),
                    }
                }
            };
            built.push(id);
        }
        let made = *built.last()?;
        // What loop variables have in their bounds must stay.
        let variables = self.types.holes.iter().filter(|(_, hole)| hole.kind == Kind::Variable);
        let variables = variables.filter_map(|(v, _)| self.holes.get(v)).chain([&made]);
        let mut kept: BTreeSet<Id> = BTreeSet::new();
        let mut open: Vec<Id> = variables.copied().collect();
        while let Some(id) = open.pop() {
            if kept.insert(id) {
                open.extend(self.grow.terms.get(id).map_or(&[][..], |node| node.children()));
            }
        }
        let mentions = |hole: &Hole| {
            matches!(hole.kind, Kind::Value | Kind::Address | Kind::Statement | Kind::Tensor)
                && !hole.count
                && !hole.step
        };
        let others = self.types.holes.iter().filter(|(v, hole)| {
            mentions(hole) && self.holes.get(*v).is_some_and(|id| !kept.contains(id))
        });
        let others: Vec<Var> = others.map(|(v, _)| *v).collect();
        let aimed = within.filter(|within| others.contains(within));
        let other = aimed.or_else(|| self.grow.rng.choice(&others).copied())?;
        self.holes.remove(&other);
        self.free.insert(made);
        let around = std::mem::replace(&mut self.pool, vec![made]);
        let again = self.hole(other);
        self.pool = around;
        again?;
        self.node(Id::from(self.pattern.len().checked_sub(1)?))
    }
}
