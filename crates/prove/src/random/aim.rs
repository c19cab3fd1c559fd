//! Instances that violate one condition of a rule, so that a rule without the condition can be refuted. Terms are made
//! for the condition's arguments in view of each other; everything else is random as always.

use super::again::Used;
use super::anywhere::Anywhere;
use super::build::Build;
use super::grow::{Scope, Setting, Type};
use super::integers::Side;
use super::types::Hole;
use super::world::is_scratch;
use egg::{ENodeOrVar, Id, Var};
use ember_language::rules::{Arg, Call, Kind, New, Rule};
use ember_values::scalar::DType;
use fastrand::Rng;

/// What an instance should violate.
#[derive(Clone, Debug)]
pub(crate) enum Aim {
    /// A condition on what is matched.
    Condition(Call),
    /// That a variable which the rule makes is new.
    New(New),
}

/// Conditions on memory that several terms touch.
pub(super) const OF_MEMORY: [&str; 11] = [
    "independent",
    "independent-lanes",
    "interchangeable",
    "only-writes",
    "own-lane",
    "reads-only-in",
    "separable",
    "speculable",
    "undisturbed",
    "unread",
    "unwritten",
];

impl Aim {
    /// Returns the same about a part of a term, where a condition on a term alone is about one that has a pattern: it is
    /// violated by one of the variables in that.
    pub fn within(&self, rule: &Rule, rng: &mut Rng) -> Aim {
        let Aim::Condition(call) = self else { return self.clone() };
        let of_term = call.args.len() == 1 || call.what.name == "not-free";
        let mut args = call.args.clone();
        let Some((Arg::Var(v), first)) = args.split_last_mut().filter(|_| of_term) else {
            return self.clone();
        };
        let first: &[Arg] = first;
        // A pattern may mention itself.
        for _ in 0..rule.wheres.len() {
            let Some((_, pattern)) = rule.wheres.iter().find(|(x, _)| x == v) else { break };
            let parts = pattern.as_ref().iter().filter_map(|node| match node {
                ENodeOrVar::Var(part) => Some(*part),
                ENodeOrVar::ENode(_) => None,
            });
            // A part of which the same condition is asked violates nothing.
            let is_asked = |part: Var| {
                let alike = |own: &[Arg]| own.split_last() == Some((&Arg::Var(part), first));
                rule.guards
                    .iter()
                    .any(|guard| guard.what.name == call.what.name && alike(&guard.args))
            };
            let parts: Vec<Var> = parts.filter(|part| part != v && !is_asked(*part)).collect();
            let Some(part) = rng.choice(&parts) else { break };
            *v = *part;
        }
        Aim::Condition(Call { what: call.what, args })
    }

    /// Returns the arguments of the condition with this name.
    fn of(&self, name: &str) -> Option<&[Arg]> {
        match self {
            Aim::Condition(call) if call.what.name == name => Some(&call.args),
            _ => None,
        }
    }

    /// True if most terms should touch the same memory.
    pub fn is_of_memory(&self) -> bool {
        matches!(self, Aim::Condition(call) if OF_MEMORY.contains(&call.what.name))
    }

    /// True if the loop over a variable should not run, so that it does not evaluate what its body has.
    pub fn is_of_idle(&self, v: Var) -> bool {
        self.of("speculable").is_some_and(|args| args.first() == Some(&Arg::Var(v)))
    }

    /// True if the value of a variable of the pattern should be another after some writes.
    pub fn is_of_value(&self, v: Var) -> bool {
        self.of("reads-only-in").is_some_and(|args| args == [Arg::Var(v)])
    }

    /// True if terms should have several lanes, which may then be at one place.
    pub fn is_of_lanes(&self) -> bool {
        self.of("scalar").is_some()
    }

    /// True if a tensor should have another rank.
    pub fn is_of_rank(&self) -> bool {
        self.of("rank").is_some()
    }

    /// True if one variable should be bound twice.
    pub fn is_of_twins(&self) -> bool {
        self.of("different").is_some()
    }

    /// True if terms should mention variables that are bound elsewhere.
    pub fn is_of_scopes(&self) -> bool {
        self.of("not-free").is_some() || self.is_of_twins()
    }
}

impl Build<'_, '_, '_, Anywhere<'_>> {
    /// Builds a term for a variable of the pattern that violates the condition aimed at; `None` if that is about other
    /// variables, or if no term fits.
    pub(super) fn aimed(&mut self, v: Var, hole: &Hole) -> Option<Id> {
        let Some(Aim::Condition(call)) = self.aim.clone() else { return None };
        let own = Arg::Var(v);
        if hole.kind == Kind::Statement {
            let statement = match self.is_bystander(&call, v) && self.one_in(2) {
                true => self.elsewhere(hole),
                false => self.writer(v, hole),
            };
            if statement.is_some() {
                return statement;
            }
        }
        match (call.what.name, &call.args[..]) {
            ("independent" | "undisturbed", args)
                if args.contains(&own) && hole.kind != Kind::Statement && self.one_in(2) =>
            {
                self.changing(v, hole)
            }
            ("independent-lanes" | "interchangeable" | "separable", args)
                if args[1..].contains(&own) && hole.kind == Kind::Statement && self.one_in(2) =>
            {
                self.crossing(hole)
            }
            ("not-free", [Arg::Var(x), last]) if *last == own => self.mentioning(*x, v, hole),
            ("reads-only-in", [_]) if call.args[0] == own => self.changing(v, hole),
            ("bounded", [_]) if call.args[0] == own => self.unbounded(hole),
            ("at-most" | "below", [x, other]) if *x == own => {
                self.beyond(hole, Side::Lesser, *other)
            }
            ("at-most" | "below", [other, x]) if *x == own => {
                self.beyond(hole, Side::Greater, *other)
            }
            ("speculable", [_, x]) if *x == own => self.faulting(hole),
            ("unread" | "unwritten" | "undisturbed" | "independent", [a, b]) => {
                let other = match (a, b) {
                    (Arg::Var(a), Arg::Var(b)) if !self.types.holes.contains_key(b) => {
                        return self.alias(v, *a, hole);
                    }
                    (Arg::Var(a), b) if *b == own => *a,
                    (a, Arg::Var(b)) if *a == own && call.what.name.starts_with("un") => *b,
                    _ => return None,
                };
                self.touching(v, other, hole)
            }
            ("scalar" | "index", [_]) if call.args[0] == own && !hole.count && !hole.step => {
                if call.what.name == "scalar" || self.grow.rng.bool() {
                    self.types.lanes.set(hole.lanes, 2)?;
                    self.masked(hole)
                } else {
                    let dtype = self.grow.pick(&[DType::I32, DType::F32], DType::I32);
                    self.types.dtypes.set(hole.dtype, dtype)?;
                    None
                }
            }
            // The difference to a number near an end overflows for one on the other side of 0.
            ("bounded", [_]) if self.is_index(hole) && self.one_in(3) => {
                let n = self.grow.rng.i64(-9..4);
                let n = self.grow.terms.int(n);
                Some(self.wrapped(hole.sort, n))
            }
            ("float", [_]) if call.args[0] == own => {
                self.types.dtypes.set(hole.dtype, DType::I64)?;
                None
            }
            _ => None,
        }
    }

    /// Returns true if a condition is about another statement.
    fn is_bystander(&self, call: &Call, v: Var) -> bool {
        let is_other = |arg: &Arg| match arg {
            Arg::Var(x) if *x != v => {
                self.types.holes.get(x).is_some_and(|hole| hole.kind == Kind::Statement)
            }
            Arg::Var(_) | Arg::Int(_) => false,
        };
        !call.args.contains(&Arg::Var(v)) && call.args.iter().any(is_other)
    }

    /// Builds a term that mentions a loop variable.
    fn mentioning(&mut self, x: Var, v: Var, hole: &Hole) -> Option<Id> {
        let variable = match self.holes.get(&x) {
            Some(variable) => *variable,
            None => self.bind_now(x)?,
        };
        // The bounds of the variable may have been in need of this very term.
        if let Some(known) = self.holes.get(&v) {
            return Some(*known);
        }
        if hole.kind == Kind::Value && self.grow.rng.bool() {
            self.types.dtypes.set(hole.dtype, DType::I64)?;
            self.types.lanes.set(hole.lanes, 1)?;
        }
        self.make_mentioning(variable, hole)
    }

    /// Builds a value whose evaluation is a fault.
    fn faulting(&mut self, hole: &Hole) -> Option<Id> {
        let ty = self.ty(hole)?;
        if hole.kind != Kind::Value || ty.lanes != 1 {
            return None;
        }
        let scope = Scope { read_only: true, ..self.scope(&hole.binders, true) };
        let (tensor, _) = self.grow.memory(ty.dtype, 1, false, &scope);
        let far = self.grow.terms.int(1000);
        let address = self.grow.make().at(tensor, &[far]);
        let loaded = self.grow.make().load(address);
        let value = if ty == Type::INDEX { self.narrowed(loaded) } else { loaded };
        Some(self.wrapped(hole.sort, value))
    }

    /// Builds lanes, some of which may be inactive.
    fn masked(&mut self, hole: &Hole) -> Option<Id> {
        let integer = self.types.dtypes.get(hole.dtype).is_none_or(|dtype| dtype == DType::I64);
        if hole.kind != Kind::Value || !integer || self.grow.rng.bool() {
            return None;
        }
        self.types.dtypes.set(hole.dtype, DType::I64)?;
        let lanes = self.types.lanes.get(hole.lanes)?;
        let [end, from] = [1, self.grow.rng.i64(0..2)].map(|n| self.grow.terms.int(n));
        let run = self.grow.make().lanes(lanes, end, from);
        Some(self.wrapped(hole.sort, run))
    }

    /// Returns true if terms of a variable must be scalar integers.
    fn is_index(&self, hole: &Hole) -> bool {
        hole.kind == Kind::Value
            && !hole.count
            && !hole.step
            && self.types.dtypes.get(hole.dtype) == Some(DType::I64)
            && self.types.lanes.get(hole.lanes) == Some(1)
    }

    /// Returns the address of another variable of the pattern, or what is stored there.
    fn alias(&mut self, v: Var, other: Var, hole: &Hole) -> Option<Id> {
        let there = self.types.holes.get(&other)?.clone();
        let fits = v != other
            && !is_scratch(hole.role)
            && there.role.is_none()
            && hole.rank == there.rank
            && there.kind == Kind::Address
            && self.one_in(3);
        if !fits {
            return None;
        }
        let own = self.ty(&there)?;
        self.types.dtypes.set(hole.dtype, own.dtype)?;
        let aim = self.aim.take();
        let address = self.hole(other);
        self.aim = aim;
        let address = self.unwrapped(address?);
        let term = match hole.kind {
            Kind::Address => address,
            Kind::Tensor => self.grow.make().stored(address),
            _ => return None,
        };
        Some(self.wrapped(hole.sort, term))
    }

    /// Builds a term that touches the memory of another variable's address.
    fn touching(&mut self, v: Var, other: Var, hole: &Hole) -> Option<Id> {
        let ty = self.ty(hole)?;
        let scope = self.scope(&hole.binders, false);
        if v == other {
            // An address whose index is read from its own tensor.
            let fits = hole.kind == Kind::Address && hole.rank < 3 && ty == Type::INDEX;
            if !fits {
                return None;
            }
            let rank = hole.rank + 1;
            let (tensor, writable) = self.grow.memory(DType::I64, rank, true, &scope);
            let inner = match hole.rank == 0 && self.one_in(2) {
                true => self.grow.load(Type::INDEX, &scope, 0)?,
                false => {
                    let loaded = self.read_from(tensor, rank);
                    self.narrowed(loaded)
                }
            };
            let address = self.grow.make().at(tensor, &[inner]);
            self.grow.setting.used.push(Used { ty, missing: hole.rank, writable, address });
            return Some(self.wrapped(hole.sort, address));
        }
        let there = self.types.holes.get(&other)?.clone();
        if there.kind != Kind::Address {
            return None;
        }
        // The other variable may be about to be built for this one.
        let aim = self.aim.take();
        let address = self.hole(other);
        self.aim = aim;
        let mut address = self.unwrapped(address?);
        let of = self.ty(&there)?;
        for _ in 0..there.rank {
            let at = self.grow.index(&scope, 0);
            address = self.grow.make().at(address, &[at]);
        }
        let reads = self.aim.as_ref().is_some_and(|aim| aim.of("unread").is_some());
        let reads = reads && self.grow.rng.bool();
        let term = match hole.kind {
            Kind::Value if ty == of => {
                let loaded = self.grow.make().load(address);
                match ty == Type::INDEX {
                    true => {
                        let narrowed = self.narrowed(loaded);
                        self.clamped(v, narrowed)
                    }
                    false => loaded,
                }
            }
            // An element whose index is read there.
            Kind::Address if hole.rank == 0 && of == Type::INDEX && ty.lanes == 1 => {
                let loaded = self.grow.make().load(address);
                let index = self.narrowed(loaded);
                let (tensor, writable) = self.grow.memory(ty.dtype, 1, true, &scope);
                let address = self.grow.make().at(tensor, &[index]);
                self.grow.setting.used.push(Used { ty, missing: 0, writable, address });
                address
            }
            Kind::Statement if of.lanes == 1 && reads => {
                let to = Anywhere::address(self.grow, of, 0, true, &scope, 0)?;
                let x = self.grow.make().load(address);
                self.grow.make().write(None, to, x)
            }
            Kind::Statement if of.lanes == 1 => {
                let x = Anywhere::constant(self.grow, of.dtype);
                self.grow.make().write(None, address, x)
            }
            _ => return None,
        };
        Some(self.wrapped(hole.sort, term))
    }
}
