//! The variables that instances of rules have beside those of loops: around the instance, early in it, and in terms that
//! stand in another environment.

use super::aim::Aim;
use super::anywhere::Anywhere;
use super::build::Build;
use super::grow::{Scope, Setting};
use super::world::COLUMNS;
use egg::{ENodeOrVar, Id, Language, Var};
use ember_language::rules::{Loop, Sort};
use ember_language::term::Node;
use ember_values::primitive::form::{By, Form};

/// A loop variable and its bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub var: Id,
    pub lo: Id,
    pub hi: Id,
    pub step: Id,
}

impl Build<'_, '_, '_, Anywhere<'_>> {
    /// Creates loops around the instance.
    pub fn outer_loops(&mut self) {
        for _ in 0..self.grow.rng.usize(1..=2) {
            let scope = Scope { vars: self.pool.clone(), read_only: true };
            let range = self.grow.range(&scope, 1);
            self.pool.push(range.var);
            self.free.insert(range.var);
        }
    }

    /// Occasionally gives loops of the pattern constant bounds before anything else is built, so that their variables
    /// can be mentioned anywhere.
    pub fn bind_early(&mut self) {
        let aimed = self.aim.as_ref().is_some_and(Aim::is_of_scopes);
        if !self.grow.one_in(if aimed { 2 } else { 5 }) {
            return;
        }
        self.capture = true;
        let pattern = self.pattern;
        for node in pattern {
            let ENodeOrVar::ENode(node) = node else { continue };
            let info = self.grow.grammar.operators().of(node);
            let Some(Loop { variable, lo, hi, step, .. }) = info.and_then(|i| i.looped()) else {
                continue;
            };
            let operand = |at: usize| match &pattern[node.children()[at]] {
                ENodeOrVar::Var(v) if !self.holes.contains_key(v) => Some(*v),
                _ => None,
            };
            let (Some(var), Some(lo), Some(hi)) = (operand(variable), operand(lo), operand(hi))
            else {
                continue;
            };
            let bounds = [lo, hi].map(|v| self.types.holes.get(&v).map(|h| h.sort.name()));
            if bounds != [Some(Sort::VALUE); 2] {
                continue;
            }
            let step = match (&pattern[node.children()[step]], operand(step)) {
                (_, Some(step)) => {
                    let id = Anywhere::step(self.grow);
                    self.holes.insert(step, id);
                    id
                }
                (ENodeOrVar::ENode(step), None) => self.grow.terms.add(step.clone()),
                _ => continue,
            };
            let (zero, columns) = (self.grow.terms.int(0), self.grow.extent(COLUMNS));
            let id = self.fresh([zero, columns, step]);
            self.holes.extend([(var, id), (lo, zero), (hi, columns)]);
            self.early.push(Range { var: id, lo: zero, hi: columns, step });
            self.free.insert(id);
        }
    }

    /// Creates a loop variable.
    fn fresh(&mut self, bounds: [Id; 3]) -> Id {
        self.grow.var(self.pool.len(), bounds)
    }

    /// Creates the variables of a term in another environment.
    pub fn bind_elsewhere(&mut self, node: &Node) -> Option<()> {
        let operators = self.grow.grammar.operators();
        match operators.form(node) {
            Some(Form::Replaced { variable, by, .. }) => match by {
                By::Lanes { from, lanes, hi } => self.bind_block([from, variable, lanes, hi]),
                By::Variable(to) => self.bind_renamed([variable, to]),
                By::Value(value) => self.bind_fixed([variable, value]),
            },
            _ => match operators.variable(node) {
                Some(named) => self.bind_named(named),
                None => Some(()),
            },
        }
    }

    /// Creates the variables of a block: the loop over its elements and the loop over blocks.
    fn bind_block(&mut self, [v, e, n, hi]: [Id; 4]) -> Option<()> {
        let is_aimed = |v: &Var| self.aim.as_ref().is_some_and(|aim| aim.is_of_value(*v));
        if let Some(hole) = self.unknown(hi).filter(|hi| !is_aimed(hi)) {
            let scope = self.scope(&[], false);
            let bound = self.grow.bound(&scope, 1);
            self.holes.insert(hole, bound);
        }
        let (n, hi) = (self.node(n)?, self.node(hi)?);
        let lo = self.grow.rng.i64(0..6) / 4;
        let (lo, one) = (self.grow.terms.int(lo), self.grow.terms.int(1));
        if let Some(hole) = self.unknown(e) {
            let e = self.fresh([lo, hi, one]);
            self.holes.insert(hole, e);
        }
        if let Some(hole) = self.unknown(v) {
            self.node(e)?;
            let v = self.fresh([lo, hi, n]);
            self.holes.insert(hole, v);
            self.free.insert(v);
            self.pool.insert(0, v);
        }
        Some(())
    }

    /// Creates the two variables of a renaming; the second has the range of the first or a part of it.
    fn bind_renamed(&mut self, [x, y]: [Id; 2]) -> Option<()> {
        // A renamed variable's range must be the same at every position that the renaming is pushed to.
        let scope = Scope { vars: self.pool.clone(), read_only: true };
        let mut range = self.grow.range(&scope, 1);
        // Occasionally, one of the two is a variable that the instance binds elsewhere.
        if let Some(bound) = self.early.last().copied().filter(|_| self.grow.rng.bool()) {
            let one = if self.grow.rng.bool() { x } else { y };
            let hole = self.unknown(one);
            range = Range { var: self.fresh([bound.lo, bound.hi, bound.step]), ..bound };
            self.holes.extend(hole.map(|hole| (hole, bound.var)));
        }
        let Range { var, mut lo, hi, mut step } = range;
        if let Some(hole) = self.unknown(x) {
            self.holes.insert(hole, var);
            if self.capture {
                self.free.insert(var);
            }
        }
        if let Some(hole) = self.unknown(y) {
            if self.grow.one_in(3) {
                let two = self.grow.terms.int(2);
                (lo, step) = (self.grow.make().sum(lo, two), two);
            }
            let y = self.fresh([lo, hi, step]);
            self.holes.insert(hole, y);
            self.free.insert(y);
            self.pool.insert(0, y);
        }
        Some(())
    }

    /// Creates the range of a variable that is fixed to a value, and usually a value in this range.
    fn bind_fixed(&mut self, [x, v]: [Id; 2]) -> Option<()> {
        let scope = Scope { vars: self.pool.clone(), read_only: true };
        let mut range = self.grow.range(&scope, 1);
        // Occasionally, it is a variable that the instance binds elsewhere.
        if let Some(bound) = self.early.last().copied().filter(|_| self.grow.rng.bool()) {
            range = Range { var: self.fresh([bound.lo, bound.hi, bound.step]), ..bound };
        }
        let other = self.fresh([range.lo, range.hi, range.step]);
        if let Some(hole) = self.unknown(x) {
            self.holes.insert(hole, range.var);
            if self.capture {
                self.free.insert(range.var);
            }
        }
        let aimed = |v: Var| self.aim.as_ref().is_some_and(|aim| aim.is_of_value(v));
        let value = self.unknown(v).filter(|v| !aimed(*v));
        if let Some(hole) = value.filter(|_| !self.grow.one_in(4)) {
            let value = if self.grow.one_in(3) {
                range.lo
            } else {
                self.free.insert(other);
                self.pool.insert(0, other);
                self.grow.make().iv(other)
            };
            self.holes.insert(hole, value);
        }
        Some(())
    }
}
