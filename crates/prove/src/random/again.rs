//! Terms that stand a second time in an instance: an address that another part reads or writes, one term for two of the
//! pattern's variables, and one loop variable for two loops. Conditions of rules exclude most of these.

use super::anywhere::Anywhere;
use super::build::Build;
use super::grow::{Grow, Scope, Type};
use super::types::Hole;
use egg::{ENodeOrVar, Id, Language, Var};
use ember_language::rules::{Kind, Loop};
use ember_language::term::Node;

/// An address that a term has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Used {
    pub ty: Type,
    pub missing: usize,
    /// True if it may be written.
    pub writable: bool,
    pub address: Id,
}

impl Grow<'_, Anywhere<'_>> {
    /// Chooses an address of this type that was used before, if it is defined in the scope.
    pub(super) fn used(
        &mut self,
        ty: Type,
        missing: usize,
        written: bool,
        scope: &Scope,
    ) -> Option<Id> {
        let again = if self.setting.alias { self.rng.bool() } else { self.one_in(8) };
        if !again {
            return None;
        }
        let fits = |used: &Used| {
            (used.ty, used.missing) == (ty, missing)
                && (used.writable || !written)
                && !(used.writable && scope.read_only)
        };
        let fits: Vec<Id> =
            self.setting.used.iter().filter(|used| fits(used)).map(|used| used.address).collect();
        let address = self.rng.choice(&fits).copied()?;
        self.is_defined(address, scope).then_some(address)
    }

    /// Returns true if a term depends on loop variables in scope only.
    fn is_defined(&self, term: Id, scope: &Scope) -> bool {
        let operators = self.grammar.operators();
        let mut open = vec![term];
        while let Some(id) = open.pop() {
            let node = &self.terms[id];
            match operators.iv(node) {
                Some(variable) if scope.vars.contains(&variable) => {}
                Some(_) => return false,
                None => open.extend(node.children()),
            }
        }
        true
    }
}

impl Build<'_, '_, '_, Anywhere<'_>> {
    /// Returns the term of another variable of the pattern that fits here, too.
    pub(super) fn twin(&mut self, hole: &Hole) -> Option<Id> {
        if !hole.kind.is_evaluated() || !self.twins || !self.one_in(3) {
            return None;
        }
        let fits = |other: &Hole| {
            (other.sort, other.rank, other.role) == (hole.sort, hole.rank, hole.role)
                && (other.step, other.count) == (hole.step, hole.count)
                && (other.written || !hole.written)
                && (other.read_only || !hole.read_only)
                && other.binders.iter().all(|binder| hole.binders.contains(binder))
        };
        let known = self.types.holes.iter().filter(|(_, other)| fits(other));
        let known: Vec<(Id, usize, usize)> = known
            .filter_map(|(v, other)| Some((*self.holes.get(v)?, other.dtype, other.lanes)))
            .collect();
        let (id, dtype, lanes) = self.grow.rng.choice(&known).copied()?;
        if hole.kind != Kind::Statement {
            self.types.dtypes.set(hole.dtype, self.types.dtypes.get(dtype)?)?;
            self.types.lanes.set(hole.lanes, self.types.lanes.get(lanes)?)?;
        }
        Some(id)
    }

    /// Gives a loop the variable and the bounds of another loop, as far as they are open.
    pub(super) fn bind_again(&mut self, own: Loop, children: &[Id]) -> Option<()> {
        if !self.twins || self.one_in(2) {
            return None;
        }
        let variable = self.unknown(children[own.variable])?;
        let others = self.types.holes.iter().filter(|(_, hole)| hole.kind == Kind::Variable);
        let others: Vec<Id> = others.filter_map(|(v, _)| self.holes.get(v)).copied().collect();
        let other = self.grow.rng.choice(&others).copied()?;
        let bounds = self.grow.grammar.operators().variable(&self.grow.terms[other])?;
        let [lo, hi] = own.access.map_or([own.lo, own.hi], |(lo, hi)| [lo, hi]);
        let mut open: Vec<(Var, Id)> = vec![(variable, other)];
        for (at, bound) in [lo, hi, own.step].into_iter().zip(&bounds[1..]) {
            match &self.pattern[children[at]] {
                ENodeOrVar::Var(v) => match self.holes.get(v) {
                    Some(known) if self.unwrapped(*known) != *bound => return None,
                    Some(_) => {}
                    None => {
                        let sort = self.types.holes.get(v)?.sort;
                        open.push((*v, self.wrapped(sort, *bound)));
                    }
                },
                ENodeOrVar::ENode(node) if *node == self.grow.terms[*bound] => {}
                ENodeOrVar::ENode(_) => return None,
            }
        }
        self.holes.extend(open);
        Some(())
    }

    /// Occasionally names a loop variable of a further pattern as another variable of the instance is named.
    pub(super) fn bind_named(&mut self, [name, ..]: [Id; 4]) -> Option<()> {
        let ENodeOrVar::ENode(label) = &self.pattern[name] else { return Some(()) };
        let [number] = label.children() else { return Some(()) };
        let Some(hole) = self.unknown(*number).filter(|_| self.one_in(4)) else { return Some(()) };
        let others = self.types.holes.iter().filter(|(_, hole)| hole.kind == Kind::Variable);
        let others = others.filter_map(|(v, _)| self.holes.get(v)).copied();
        let operators = self.grow.grammar.operators();
        let numbers = others.filter_map(|other| {
            let [name, ..] = operators.variable(&self.grow.terms[other])?;
            let same = |node: &Node| node.head() == label.head();
            let node = Some(&self.grow.terms[name]).filter(|node| same(node))?;
            node.children().first().copied()
        });
        let numbers: Vec<Id> = numbers.collect();
        let number = self.grow.rng.choice(&numbers).copied();
        self.holes.extend(number.map(|number| (hole, number)));
        Some(())
    }
}
