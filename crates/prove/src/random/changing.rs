//! Memory that one term of an aimed instance reads and its statements write, so that a condition on the order of the
//! two is violated.

use super::again::Used;
use super::anywhere::Anywhere;
use super::build::Build;
use super::grow::{Scope, Setting, Type};
use super::said::Stated;
use super::types::Hole;
use super::world::tensor_name;
use egg::{ENodeOrVar, Id, Var};
use ember_language::rules::Kind;
use ember_values::primitive::form::{By, Form};
use ember_values::scalar::{DType, Linear};

impl Build<'_, '_, '_, Anywhere<'_>> {
    /// Builds a value that is read from memory which the program writes, or an address with such an index; small, so
    /// that it may be a bound.
    pub(super) fn changing(&mut self, v: Var, hole: &Hole) -> Option<Id> {
        let ty = self.ty(hole)?;
        if ty.lanes != 1 || hole.count || hole.step {
            return None;
        }
        let scope = Scope { read_only: false, ..self.scope(&hole.binders, false) };
        let term = match hole.kind {
            Kind::Value if ty.dtype == DType::I64 => {
                let loaded = self.read_target()?;
                // A condition of the rule is 0 or 1.
                let stated = self.said.numbers.get(&v);
                let is_truth = stated.is_some_and(|stated| stated.contains(&Stated::Most(1)));
                if is_truth && !self.one_in(4) {
                    let limit = self.grow.rng.i64(0..4);
                    let limit = self.grow.terms.int(limit);
                    self.below(loaded, limit)
                } else {
                    let narrowed = self.narrowed(loaded);
                    self.clamped(v, narrowed)
                }
            }
            Kind::Value => {
                let address = Anywhere::address(self.grow, ty, 0, true, &scope, 0)?;
                self.grow.make().load(address)
            }
            Kind::Address if hole.role.is_none() && hole.rank < 3 => {
                let (tensor, writable) =
                    self.grow.memory(ty.dtype, hole.rank + 1, hole.written, &scope);
                // What is written there may be the index itself.
                let loaded = if ty == Type::INDEX && writable && self.one_in(2) {
                    self.read_from(tensor, hole.rank + 1)
                } else {
                    self.read_target()?
                };
                let index = self.narrowed(loaded);
                let address = self.grow.make().at(tensor, &[index]);
                self.grow.setting.used.push(Used { ty, missing: hole.rank, writable, address });
                address
            }
            _ => return None,
        };
        Some(self.wrapped(hole.sort, term))
    }

    /// Builds a statement that writes what nothing else touches.
    pub(super) fn elsewhere(&mut self, hole: &Hole) -> Option<Id> {
        let root = self.grow.make().root(&tensor_name(true, DType::F32, 1), true);
        let at = self.grow.rng.i64(0..2);
        let at = self.grow.terms.int(at);
        let address = self.grow.make().at(root, &[at]);
        let x = self.grow.rng.u8(1..8);
        let x = self.grow.literal(DType::F32, f64::from(x));
        Some(self.stored(hole, address, x))
    }

    /// Loads an integer from near the start of memory that the program writes: a tensor that the pattern writes, or
    /// one that statements of the instance are made to write.
    fn read_target(&mut self) -> Option<Id> {
        let written = |(_, hole): &(&Var, &Hole)| {
            let lanes = self.types.lanes.get(hole.lanes);
            let dtype = self.types.dtypes.get(hole.dtype);
            hole.kind == Kind::Address
                && hole.written
                && hole.role.is_none()
                && lanes.is_none_or(|lanes| lanes == 1)
                && dtype.is_none_or(|dtype| dtype == DType::I64)
        };
        let written: Vec<Var> = self.types.holes.iter().filter(written).map(|(v, _)| *v).collect();
        let own = self.grow.rng.choice(&written).copied().filter(|_| self.grow.rng.bool());
        let (root, rank) = if let Some(v) = own {
            let hole = self.types.holes.get(&v)?.clone();
            self.types.dtypes.set(hole.dtype, DType::I64)?;
            self.types.lanes.set(hole.lanes, 1)?;
            let aim = self.aim.take();
            let address = self.hole(v);
            self.aim = aim;
            (self.unwrapped(address?), hole.rank)
        } else {
            let rank = self.grow.pick(&[1, 1, 2], 1);
            let root = self.grow.make().root(&tensor_name(true, DType::I64, rank), true);
            self.target = Some((root, rank));
            (root, rank)
        };
        Some(self.read_from(root, rank))
    }

    /// Loads an integer from near the start of a tensor, or from where the variable points that a term is put in the
    /// place of: what that has outside may be written inside.
    pub(super) fn read_from(&mut self, root: Id, rank: usize) -> Id {
        let mut address = root;
        for _ in 0..rank {
            let at = self.grow.rng.i64(0..2);
            let at = self.grow.terms.int(at);
            let replaced = self.replaced().filter(|_| self.grow.one_in(3));
            let at = match replaced {
                Some(variable) => {
                    self.free.insert(variable);
                    let value = self.grow.make().iv(variable);
                    self.grow.make().sum(value, at)
                }
                None => at,
            };
            address = self.grow.make().at(address, &[at]);
        }
        let used = Used { ty: Type::INDEX, missing: 0, writable: true, address };
        self.grow.setting.used.push(used);
        self.grow.make().load(address)
    }

    /// Returns a variable of the pattern that a value takes the place of.
    fn replaced(&self) -> Option<Id> {
        let operators = self.grow.grammar.operators();
        let mut nodes = self.pattern.as_ref().iter();
        nodes.find_map(|node| {
            let ENodeOrVar::ENode(node) = node else { return None };
            let Form::Replaced { variable, by: By::Value(_), .. } = operators.form(node)? else {
                return None;
            };
            match &self.pattern[variable] {
                ENodeOrVar::Var(v) => self.holes.get(v).copied(),
                ENodeOrVar::ENode(_) => None,
            }
        })
    }

    /// Builds a statement that writes what another term of the instance reads, mostly each iteration its own place.
    pub(super) fn writer(&mut self, v: Var, hole: &Hole) -> Option<Id> {
        let (root, rank) = self.target.filter(|_| !self.grow.one_in(3))?;
        let mut vars = self.scope(&hole.binders, false).vars;
        let lane = self.said.own_places(v).and_then(|variable| self.holes.get(&variable).copied());
        let mut lane = lane.filter(|_| !self.one_in(6));
        let apart = lane.is_some();
        let mut address = root;
        for _ in 0..rank {
            let own = lane.take().and_then(|lane| vars.iter().position(|v| *v == lane));
            let own = own.unwrap_or_else(|| self.grow.rng.usize(0..vars.len() + 1));
            let index = match vars.get(own).copied() {
                Some(variable) if !self.grow.one_in(5) => {
                    vars.remove(own);
                    let value = self.grow.make().iv(variable);
                    if self.grow.one_in(3) {
                        let n = self.grow.rng.i64(-1..2);
                        let n = self.grow.terms.int(n);
                        self.grow.make().sum(value, n)
                    } else {
                        value
                    }
                }
                _ => {
                    let n = self.grow.rng.i64(0..2);
                    self.grow.terms.int(n)
                }
            };
            address = self.grow.make().at(address, &[index]);
        }
        let value = self.small(&hole.binders);
        let statement = self.stored(hole, address, value);
        Some(if !apart && self.one_in(3) { self.counted(hole, statement) } else { statement })
    }

    /// Builds a statement that writes the only tensor which it may write, or another statement that reads this.
    pub(super) fn passing(&mut self, v: Var, hole: &Hole) -> Option<Id> {
        if hole.kind != Kind::Statement || self.one_in(2) {
            return None;
        }
        let own = self.said.only(v);
        let tensor = own.or_else(|| self.said.written())?;
        let there = self.types.holes.get(&tensor)?.clone();
        let ty = self.ty(&there)?;
        if there.kind != Kind::Address || ty.lanes != 1 || ty.dtype.is_storage() {
            return None;
        }
        let scope = self.scope(&hole.binders, false);
        let mut address = self.hole(tensor)?;
        address = self.unwrapped(address);
        for _ in 0..there.rank {
            let at = self.grow.index(&scope, 0);
            address = self.grow.make().at(address, &[at]);
        }
        if own.is_some() {
            let value = self.grow.value(ty, &scope, 0);
            return Some(self.stored(hole, address, value));
        }
        let to = Anywhere::address(self.grow, ty, 0, true, &scope, 0)?;
        let loaded = self.grow.make().load(address);
        Some(self.stored(hole, to, loaded))
    }

    /// Builds a statement that also counts how often it runs, where nothing else looks.
    fn counted(&mut self, hole: &Hole, statement: Id) -> Id {
        let root = self.grow.make().root(&tensor_name(true, DType::F32, 1), true);
        let (zero, one) = (self.grow.terms.int(0), self.grow.literal(DType::F32, 1.0));
        let address = self.grow.make().at(root, &[zero]);
        let count = self.accumulated(address, one);
        let inner = self.unwrapped(statement);
        let both = self.grow.make().sequence(&[inner, count]);
        self.wrapped(hole.sort, both)
    }

    /// Builds a statement whose iterations write places that others touch: the indices are sums of multiples of the
    /// variables around it.
    pub(super) fn crossing(&mut self, hole: &Hole) -> Option<Id> {
        let root = self.grow.make().root(&tensor_name(true, DType::I64, 1), true);
        let index = self.combined(&hole.binders);
        let address = self.grow.make().at(root, &[index]);
        let value = if self.grow.rng.bool() {
            let other = self.combined(&hole.binders);
            let from = self.grow.make().at(root, &[other]);
            self.grow.make().load(from)
        } else {
            self.small(&hole.binders)
        };
        Some(self.stored(hole, address, value))
    }

    /// A sum of multiples of bound variables and a number.
    fn combined(&mut self, binders: &[Var]) -> Id {
        let n = self.grow.rng.i64(0..3);
        let mut sum = self.grow.terms.int(n);
        for variable in
            binders.iter().filter_map(|v| self.holes.get(v)).copied().collect::<Vec<_>>()
        {
            let by = self.grow.pick(&[0, 1, 1, 1, 2, 3, -1], 1);
            if by != 0 {
                let (by, value) = (self.grow.terms.int(by), self.grow.make().iv(variable));
                let part = self.grow.make().times(value, by);
                sum = self.grow.make().sum(sum, part);
            }
        }
        sum
    }

    /// A small number, or one that a bound variable gives.
    fn small(&mut self, binders: &[Var]) -> Id {
        let n = self.grow.rng.i64(0..5);
        let n = self.grow.terms.int(n);
        let bound = self.grow.rng.choice(binders).and_then(|v| self.holes.get(v)).copied();
        match bound.filter(|_| self.grow.rng.bool()) {
            Some(variable) => {
                let value = self.grow.make().iv(variable);
                self.grow.make().sum(value, n)
            }
            None => n,
        }
    }

    /// Builds 1 where a number is below a limit, else 0.
    pub(super) fn below(&mut self, number: Id, limit: Id) -> Id {
        self.grow.make().less(number, limit)
    }

    /// Builds a statement that adds a value to an element.
    fn accumulated(&mut self, address: Id, value: Id) -> Id {
        self.grow.make().write(Some(const { Linear::Sum.operation() }), address, value)
    }

    fn stored(&mut self, hole: &Hole, address: Id, value: Id) -> Id {
        let statement = if self.grow.one_in(4) {
            self.accumulated(address, value)
        } else {
            self.grow.make().write(None, address, value)
        };
        self.wrapped(hole.sort, statement)
    }
}
