//! Instances in which a term mentions a loop variable that the rule makes, although nothing should.

use super::build::Build;
use super::grow::{Setting, Type};
use super::types::Hole;
use super::world::{is_scratch, scratch_rows, tensor_name};
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

/// The number of terms that are made in the hope that one mentions a variable.
const TRIES: usize = 5;

impl<S: Setting> Build<'_, '_, '_, S> {
    /// Returns true once in `n` draws on average.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.grow.one_in(n)
    }

    /// One of several.
    pub fn choice<'t, T>(&mut self, all: &'t [T]) -> Option<&'t T> {
        self.grow.rng.choice(all)
    }

    /// Builds a term that mentions a loop variable, if some try does.
    pub(super) fn make_mentioning(&mut self, variable: Id, hole: &Hole) -> Option<Id> {
        self.free.insert(variable);
        if let Some(role) = hole.role.filter(|_| is_scratch(hole.role) && hole.rank == 1) {
            let dtype = self.ty(hole)?.dtype;
            let value = self.grow.make().iv(variable);
            let rows = self.grow.make().root(&scratch_rows(role, dtype), true);
            let row = self.grow.make().at(rows, &[value]);
            return Some(self.wrapped(hole.sort, row));
        }
        if hole.kind == Kind::Address && hole.rank == 3 {
            let dtype = self.ty(hole)?.dtype;
            let value = self.grow.make().iv(variable);
            let whole = self.grow.make().root(&tensor_name(true, dtype, 4), true);
            let part = self.grow.make().at(whole, &[value]);
            return Some(self.wrapped(hole.sort, part));
        }
        if hole.kind == Kind::Value && self.ty(hole)? == Type::INDEX && self.grow.rng.bool() {
            let value = self.grow.make().iv(variable);
            return Some(self.wrapped(hole.sort, value));
        }
        let around = std::mem::replace(&mut self.pool, vec![variable]);
        let size = self.size;
        self.size = size.max(1);
        let alone = Hole { binders: Vec::new(), ..hole.clone() };
        let mut made = None;
        for _ in 0..TRIES {
            made = self.make(&alone);
            if made.is_some_and(|made| self.has_part(made, variable)) {
                break;
            }
        }
        (self.pool, self.size) = (around, size);
        made.map(|id| self.wrapped(hole.sort, id))
    }

    /// Returns true if a term contains another.
    fn has_part(&self, term: Id, part: Id) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec![term]);
        while let Some(id) = open.pop() {
            if id == part {
                return true;
            }
            if seen.insert(id) {
                open.extend(self.grow.terms[id].children());
            }
        }
        false
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
                        let length =
                            self.said.with_length(*v).and_then(|term| self.holes.get(&term));
                        let length = length.and_then(|term| self.number(*term));
                        self.grow.terms.int(length.unwrap_or(n))
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
        let hole = self.types.holes.get(&other)?.clone();
        let again = self.make_mentioning(made, &hole)?;
        self.holes.insert(other, again);
        self.node(Id::from(self.pattern.len().checked_sub(1)?))
    }
}
