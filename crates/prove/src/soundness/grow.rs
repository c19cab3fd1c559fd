//! Generates random terms of a given type over the loop variables in scope.

use super::bank::Bank;
use super::build::Build;
use super::grammar::{Grammar, Shape};
use super::types::Types;
use super::world::{COLUMNS, ENTRIES, ROWS, SCRATCH, World, edge, tensor_name};
use egg::Id;
use ember_language::rules::Kind;
use ember_language::term::{Head, Node};
use ember_values::primitive::{Primitive, Typing, Width};
use ember_values::scalar::{BinaryOp, DType};
use fastrand::Rng;
use std::collections::BTreeMap;

/// The type of a value or an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Type {
    pub dtype: DType,
    /// The number of lanes, 1 for a scalar.
    pub lanes: usize,
}

impl Type {
    const INDEX: Type = Type { dtype: DType::I64, lanes: 1 };

    fn scalar(self) -> Type {
        Type { lanes: 1, ..self }
    }
}

/// The scope of a term.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Loop variables, innermost last.
    pub vars: Vec<Id>,
    /// True if only memory that is never written may be read.
    pub read_only: bool,
}

/// The generator of terms.
pub(super) struct Grow<'a> {
    pub grammar: &'a Grammar<'a>,
    pub bank: &'a mut Bank,
    pub world: &'a World,
    pub rng: &'a mut Rng,
    /// True if only plain finite numbers are used.
    pub tame: bool,
    /// True if most terms read and write the same few integer outputs.
    pub alias: bool,
    /// The next number that identifies a loop variable.
    pub next_variable: i64,
}

/// A loop variable and its bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub var: Id,
    pub lo: Id,
    pub hi: Id,
    pub step: Id,
}

impl Grow<'_> {
    /// Returns true with probability 1/n.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(0..n) == 0
    }

    fn pick<T: Copy>(&mut self, choices: &[T], default: T) -> T {
        self.rng.choice(choices).copied().unwrap_or(default)
    }

    /// Adds a primitive with operands in the order of its row.
    pub fn op(&mut self, primitive: Primitive, operands: &[Id]) -> Id {
        let node = self.grammar.operators().node(primitive, None, operands);
        self.bank.add(node)
    }

    /// Adds a name of the model.
    pub fn name(&mut self, name: &str) -> Id {
        self.bank.op(&format!("%{name}"), &[])
    }

    /// Chooses a variable in scope, most often the innermost.
    pub fn variable(&mut self, scope: &Scope) -> Option<Id> {
        let last = scope.vars.len().checked_sub(1)?;
        let at = if self.rng.u8(0..3) > 0 { last } else { self.rng.usize(0..=last) };
        Some(scope.vars[at])
    }

    /// Returns one of the extents as a term.
    pub fn extent(&mut self, k: usize) -> Id {
        match self.world.extents[k] {
            Some(n) => self.bank.int(n as i64),
            None => {
                let name = self.name(&self.world.sizes[k].clone());
                self.op(Primitive::Size, &[name])
            }
        }
    }

    /// Generates an i64 that often is a valid index of some tensor.
    pub fn index(&mut self, scope: &Scope, depth: u32) -> Id {
        match self.rng.u8(0..10) {
            0..=5 => match self.variable(scope) {
                Some(var) => self.op(Primitive::Iv, &[var]),
                None => self.bank.int(0),
            },
            6 => {
                let n = self.rng.i64(0..3);
                self.bank.int(n)
            }
            7 => {
                let (a, n) = (self.index(scope, 0), self.rng.i64(0..2));
                let b = self.bank.int(n);
                self.op(Primitive::Binary(BinaryOp::Add), &[a, b])
            }
            _ if depth == 0 => self.bank.int(0),
            8 => {
                let address = self.address(Type::INDEX, 0, false, scope, depth - 1);
                self.op(Primitive::Load, &[address])
            }
            _ => self.value(Type::INDEX, scope, depth - 1),
        }
    }

    /// Generates a tensor, as an address without indices.
    pub fn tensor(&mut self, dtype: DType, rank: usize, written: bool, scope: &Scope) -> Id {
        let often = if self.alias { self.rng.u8(0..4) > 0 } else { self.one_in(3) };
        let writable = written || (!scope.read_only && often);
        let name = self.name(&tensor_name(writable, dtype, rank));
        let tensor = self.op(Primitive::Root(writable), &[name]);
        if writable && !written && self.one_in(6) {
            return self.op(Primitive::Freeze, &[tensor]);
        }
        tensor
    }

    /// Returns the tensor of a type that is reserved for a role.
    pub fn own_tensor(&mut self, role: &str, dtype: DType) -> Id {
        let name = self.name(&format!("{role}_{dtype}"));
        self.op(Primitive::Root(role == SCRATCH), &[name])
    }

    /// Generates an address that lacks `missing` indices.
    pub fn address(
        &mut self,
        ty: Type,
        missing: usize,
        written: bool,
        scope: &Scope,
        depth: u32,
    ) -> Id {
        let least = missing.max(usize::from(ty.lanes > 1) + missing).max(1);
        let rank = match least {
            3.. => 3,
            _ if self.alias || self.one_in(3) => least,
            _ => 2 + usize::from(self.one_in(6)),
        };
        let mut address = self.tensor(ty.dtype, rank, written, scope);
        let fixed = rank.saturating_sub(missing);
        // Most loops walk along rows: the last index is the innermost variable, and no other index is.
        let innermost = scope.vars.last().copied().filter(|_| self.rng.bool());
        let mut outer = scope.clone();
        if innermost.is_some() {
            outer.vars.pop();
        }
        for k in 0..fixed {
            let last = k + 1 == fixed;
            let index = match innermost {
                _ if last && ty.lanes > 1 => self.run(ty.lanes, scope, depth),
                Some(var) if last => self.op(Primitive::Iv, &[var]),
                _ => self.index(&outer, depth),
            };
            address = self.op(Primitive::Index, &[address, index]);
        }
        address
    }

    /// Generates a run of lanes as an index.
    fn run(&mut self, lanes: usize, scope: &Scope, depth: u32) -> Id {
        let extent = self.pick(&[ROWS, COLUMNS, COLUMNS, ENTRIES], COLUMNS);
        let (n, hi) = (self.bank.int(lanes as i64), self.extent(extent));
        let x = self.index(scope, depth);
        self.op(Primitive::Lanes, &[n, hi, x])
    }

    /// Generates a constant.
    pub fn constant(&mut self, dtype: DType) -> Id {
        if dtype == DType::I64 {
            let n = self.pick(&[0, 0, 1, 1, 2, 3, 4, 7, -1], 0);
            return self.bank.int(n);
        }
        let x = if dtype == DType::I32 || self.tame {
            f64::from(self.rng.u8(1..8))
        } else {
            edge(self.rng.usize(0..18))
        };
        let dtype = self.bank.op(dtype.name(), &[]);
        let x = self.bank.add(Node::new(Head::real(x), &[]));
        self.op(Primitive::Constant, &[dtype, x])
    }

    /// Generates a value.
    pub fn value(&mut self, ty: Type, scope: &Scope, depth: u32) -> Id {
        let choice = self.rng.u8(0..16);
        if ty.lanes > 1 && (choice < 4 || depth == 0) {
            let n = self.bank.int(ty.lanes as i64);
            if ty.dtype == DType::I64 && self.rng.bool() {
                return self.run(ty.lanes, scope, depth);
            }
            let x = self.value(ty.scalar(), scope, depth);
            return self.op(Primitive::Broadcast, &[n, x]);
        }
        if depth == 0 {
            return match (ty.dtype, choice) {
                (DType::I64, 0..=6) => self.index(scope, 0),
                (DType::I64, 7) => {
                    let k = self.rng.usize(0..3);
                    self.extent(k)
                }
                (_, 0..=7) => self.load(ty, scope, 0),
                _ => self.constant(ty.dtype),
            };
        }
        let depth = depth - 1;
        match choice {
            0..=2 => self.value(ty, scope, 0),
            3..=6 => self.load(ty, scope, depth),
            _ => {
                let grammar = self.grammar;
                let fits = grammar.values.iter().filter(|shape| gives(shape, ty));
                let fits: Vec<&Shape> = fits.collect();
                let shape = self.rng.choice(&fits).copied();
                let grown = shape.and_then(|shape| self.instance(shape, ty, 0, scope, depth));
                grown.unwrap_or_else(|| self.constant_of(ty))
            }
        }
    }

    /// Generates an instance of an operator with this type and rank.
    fn instance(
        &mut self,
        shape: &Shape,
        ty: Type,
        rank: usize,
        scope: &Scope,
        depth: u32,
    ) -> Option<Id> {
        let grammar = self.grammar;
        let Shape { pattern, sort, .. } = shape;
        let none = BTreeMap::new();
        let mut types = Types::of(grammar.signature, pattern, &[], *sort, rank, &none)?;
        match (shape.info.kind, shape.info.typing) {
            (Some(Kind::Statement), _) => types.decide_others(ty.dtype, ty.lanes)?,
            (_, Some(Typing::Named(_))) => {
                types.decide(ty.dtype, ty.lanes)?;
                // A conversion from a float could give the ends of i64, where sums of indices wrap; it converts from
                // i32 instead.
                let from = if ty.dtype == DType::I64 { DType::I32 } else { DType::I64 };
                types.decide_others(from, ty.lanes)?;
            }
            _ => types.decide(ty.dtype, ty.lanes)?,
        }
        Build::within(pattern, types, self, scope, depth).node(Id::from(pattern.len() - 1))
    }

    fn constant_of(&mut self, ty: Type) -> Id {
        let x = self.constant(ty.dtype);
        if ty.lanes == 1 {
            return x;
        }
        let n = self.bank.int(ty.lanes as i64);
        self.op(Primitive::Broadcast, &[n, x])
    }

    fn load(&mut self, ty: Type, scope: &Scope, depth: u32) -> Id {
        let address = self.address(ty, 0, false, scope, depth);
        self.op(Primitive::Load, &[address])
    }

    /// Generates a loop variable, usually over the whole of some extent.
    pub fn range(&mut self, scope: &Scope, depth: u32) -> Range {
        let lo = match self.rng.u8(0..8) {
            0..=4 => self.bank.int(0),
            5 => self.bank.int(1),
            6 => self.bank.int(3),
            _ => self.index(scope, depth),
        };
        let hi = self.bound(scope, depth);
        let step = self.step();
        let var = self.var(lo, hi, step);
        Range { var, lo, hi, step }
    }

    /// Generates the upper bound of a loop.
    pub fn bound(&mut self, scope: &Scope, depth: u32) -> Id {
        match self.rng.u8(0..8) {
            0..=3 if self.alias => {
                let tensor = self.tensor(DType::I64, 1, false, scope);
                let at = self.constant(DType::I64);
                let address = self.op(Primitive::Index, &[tensor, at]);
                self.op(Primitive::Load, &[address])
            }
            0..=4 => {
                let k = self.pick(&[ROWS, COLUMNS, COLUMNS, ENTRIES], COLUMNS);
                self.extent(k)
            }
            5 => {
                let n = self.rng.i64(0..5);
                self.bank.int(n)
            }
            _ => self.index(scope, depth.max(1)),
        }
    }

    /// Generates a step.
    pub fn step(&mut self) -> Id {
        let n = self.pick(&[1, 1, 1, 1, 2, 3], 1);
        self.bank.int(n)
    }

    /// Creates a variable that no other loop has.
    pub fn var(&mut self, lo: Id, hi: Id, step: Id) -> Id {
        self.next_variable += 1;
        let depth = self.bank.int(self.next_variable);
        let name = self.bank.add(self.grammar.operators().numbered_node(depth));
        self.op(Primitive::Variable, &[name, lo, hi, step])
    }

    /// Generates a statement.
    pub fn statement(&mut self, scope: &Scope, depth: u32) -> Id {
        let dtypes = [DType::F32, DType::F32, DType::I64, DType::I32];
        let dtype = if self.alias { DType::I64 } else { self.pick(&dtypes, DType::F32) };
        let lanes = if self.one_in(8) { 2 } else { 1 };
        let ty = Type { dtype, lanes };
        let grammar = self.grammar;
        // Statements with values or statements as operands, such as stores and loops, are chosen most often.
        let weight = |shape: &Shape| match () {
            () if depth == 0 && shape.operands(Kind::Statement) > 0 => 0,
            () if shape.operands(Kind::Value) + shape.operands(Kind::Statement) > 0 => 4,
            () => 1,
        };
        let shapes = grammar.statements.iter();
        let fits: Vec<&Shape> =
            shapes.flat_map(|shape| std::iter::repeat_n(shape, weight(shape))).collect();
        let shape = self.rng.choice(&fits).copied();
        let grown = shape.and_then(|shape| self.instance(shape, ty, 0, scope, depth.max(1) - 1));
        grown.unwrap_or_else(|| self.op(Primitive::Skip, &[]))
    }

    /// Generates a tensor of a rank as a function of its indices.
    pub fn whole_tensor(&mut self, dtype: DType, rank: usize, scope: &Scope, depth: u32) -> Id {
        let ty = Type { dtype, lanes: 1 };
        let grammar = self.grammar;
        // An operator that writes memory on the way is excluded, because nothing else may read that memory.
        let fits = grammar
            .tensors
            .iter()
            .filter(|shape| shape.info.rank.is_none_or(|own| own == rank) && !shape.writes());
        let fits: Vec<&Shape> = fits.collect();
        let grows = depth > 0 && self.rng.u8(0..8) >= 3;
        let shape = self.rng.choice(&fits).copied().filter(|_| grows);
        let grown = shape.and_then(|shape| self.instance(shape, ty, rank, scope, depth - 1));
        grown.unwrap_or_else(|| {
            let stored = self.tensor(dtype, rank, false, scope);
            self.op(Primitive::Stored, &[stored])
        })
    }
}

/// Returns true if an operator over values may have this type.
fn gives(shape: &Shape, ty: Type) -> bool {
    let takes = match shape.info.primitive() {
        Some(Primitive::Unary(op)) => op.takes(ty.dtype),
        _ => true,
    };
    let typed = match shape.info.typing {
        Some(Typing::I64) => ty.dtype == DType::I64,
        Some(Typing::Of(_) | Typing::Named(_)) => true,
        None => false,
    };
    let wide = match shape.info.width {
        Some(Width::One) => ty.lanes == 1,
        Some(Width::Count(_)) => ty.lanes > 1,
        Some(Width::Of(_)) => true,
        None => false,
    };
    takes && typed && wide && shape.operands(Kind::Value) > 0
}
