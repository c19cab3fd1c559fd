//! The setting in which rules are tested: all tensors of a world. Most terms have a meaning, and some fault.

use super::again::Used;
use super::bind::Range;
use super::build::Build;
use super::grammar::Shape;
use super::grow::{Grow, Scope, Setting, Type};
use super::types::Hole;
use super::world::{
    COLUMNS, ENTRIES, ROWS, SCRATCH, SPARE, World, edge, extreme, scratch_name, tensor_name,
};
use egg::{Id, Var};
use ember_language::rules::{Kind, Loop};
use ember_language::term::Node;
use ember_values::scalar::DType;
use fastrand::Rng;

/// A world and how it is used.
pub(crate) struct Anywhere<'a> {
    pub world: &'a World,
    /// True if only plain finite numbers are used.
    pub tame: bool,
    /// True if most terms read and write the same few integer outputs.
    pub alias: bool,
    /// True if several lanes may be at one place.
    pub repeats: bool,
    /// The addresses so far.
    pub(super) used: Vec<Used>,
    /// The number of loop variables so far.
    variables: i64,
    /// The last integer that was drawn because something changes there.
    pub(super) turn: i64,
}

impl Anywhere<'_> {
    /// The setting of a world without any variables.
    pub fn new(world: &World, tame: bool, alias: bool) -> Anywhere<'_> {
        Anywhere { world, tame, alias, repeats: false, used: Vec::new(), variables: 0, turn: 0 }
    }
}

impl Setting for Anywhere<'_> {
    /// Statements with values or statements as operands, such as stores and loops, are chosen most often.
    fn weight(_: &Grow<Self>, shape: &Shape, _: &Scope, depth: u32) -> usize {
        match shape.info.kind {
            Some(Kind::Statement) if depth == 0 && shape.operands(Kind::Statement) > 0 => 0,
            Some(Kind::Statement) if shape.operands(Kind::Value) > 0 => 4,
            Some(Kind::Statement) if shape.operands(Kind::Statement) > 0 => 4,
            _ => 1,
        }
    }

    fn leaf(grow: &mut Grow<Self>, ty: Type, scope: &Scope, depth: u32) -> Option<Id> {
        let choice = grow.rng.u8(0..16);
        if ty.lanes > 1 && (choice < 4 || depth == 0) {
            if ty.dtype == DType::I64 && grow.rng.bool() {
                return Some(grow.run(ty.lanes, scope, depth));
            }
            let x = grow.value(ty.scalar(), scope, depth);
            return Some(grow.make().broadcast(ty.lanes, x));
        }
        if depth == 0 {
            return match (ty.dtype, choice) {
                (DType::I64, 0..=6) => Some(grow.index(scope, 0)),
                (DType::I64, 7) => {
                    let k = grow.rng.usize(0..3);
                    Some(grow.extent(k))
                }
                (_, 0..=7) => grow.load(ty, scope, 0),
                _ => Some(Self::constant(grow, ty.dtype)),
            };
        }
        match choice {
            0..=2 => Some(grow.value(ty, scope, 0)),
            3..=6 => grow.load(ty, scope, depth - 1),
            _ => None,
        }
    }

    fn constant(grow: &mut Grow<Self>, dtype: DType) -> Id {
        if !dtype.is_float() && !dtype.is_storage() && grow.one_in(12) {
            let extreme = extreme(grow.rng, dtype);
            return grow.make().number(extreme);
        }
        let x = if dtype == DType::I64 {
            grow.pick(&[0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 4.0, 7.0, -1.0], 0.0)
        } else if dtype == DType::I32 || grow.setting.tame {
            f64::from(grow.rng.u8(1..8))
        } else {
            let edge = edge(grow.rng, dtype);
            return grow.make().number(edge);
        };
        grow.literal(dtype, x)
    }

    fn address(
        grow: &mut Grow<Self>,
        ty: Type,
        missing: usize,
        written: bool,
        scope: &Scope,
        depth: u32,
    ) -> Option<Id> {
        if let Some(again) = grow.used(ty, missing, written, scope) {
            return Some(again);
        }
        let least = missing.max(usize::from(ty.lanes > 1) + missing).max(1);
        let rank = match least {
            // No tensor of the world has more dimensions.
            4.. => return None,
            3 => 3,
            _ if grow.setting.alias && !grow.one_in(5) || grow.one_in(3) => least,
            _ => 2 + usize::from(grow.one_in(6)),
        };
        let (mut address, writable) = grow.memory(ty.dtype, rank, written, scope);
        let fixed = rank.saturating_sub(missing);
        // Most loops walk along rows: the last index is the innermost variable, and no other index is.
        let innermost = scope.vars.last().copied().filter(|_| grow.rng.bool());
        let mut outer = scope.clone();
        if innermost.is_some() {
            outer.vars.pop();
        }
        for k in 0..fixed {
            let last = k + 1 == fixed;
            let repeats = grow.setting.repeats && last && ty.lanes > 1 && grow.rng.bool();
            let index = match innermost {
                _ if repeats => {
                    let index = grow.index(&outer, 0);
                    grow.make().broadcast(ty.lanes, index)
                }
                _ if last && ty.lanes > 1 => grow.run(ty.lanes, scope, depth),
                Some(var) if last => grow.make().iv(var),
                _ => grow.index(&outer, depth),
            };
            address = grow.make().at(address, &[index]);
        }
        grow.setting.used.push(Used { ty, missing, writable, address });
        Some(address)
    }

    fn bounds(grow: &mut Grow<Self>, scope: &Scope, depth: u32) -> [Id; 2] {
        if grow.one_in(12) {
            return grow.bounds_at_ends();
        }
        // Only a loop whose iterations soon change nothing ends then.
        if grow.one_in(24) {
            let lo = grow.rng.i64(-1..4);
            return [lo, i64::MAX - grow.rng.i64(0..3)].map(|n| grow.terms.int(n));
        }
        let lo = match grow.rng.u8(0..8) {
            0..=1 if grow.setting.alias => grow.loaded(scope),
            0..=4 => grow.terms.int(0),
            5 => grow.terms.int(1),
            6 => {
                let start = grow.pick(&[3, 3, -3], 3);
                grow.terms.int(start)
            }
            _ => grow.index(scope, depth),
        };
        [lo, grow.bound(scope, depth)]
    }

    fn step(grow: &mut Grow<Self>) -> Id {
        let n = grow.pick(&[1, 1, 1, 1, 2, 3], 1);
        grow.terms.int(n)
    }

    /// No other loop has the same variable.
    fn number(&mut self, _: usize) -> i64 {
        self.variables += 1;
        self.variables
    }

    fn dtype(grow: &mut Grow<Self>, address: bool) -> DType {
        let choices = [DType::F32, DType::F32, DType::F32, DType::I64, DType::I32, DType::F64];
        // A storage type must be converted before any other operation, so that it is only chosen for addresses.
        let stored = address && grow.one_in(4);
        let storage = [DType::U8, DType::U4, DType::F16, DType::BF16, DType::U8, DType::I8];
        let choices = if stored { storage } else { choices };
        let choices = if grow.setting.alias { [DType::I64; 6] } else { choices };
        grow.pick(&choices, DType::F32)
    }

    fn computed(grow: &mut Grow<Self>) -> Type {
        let dtypes = [DType::F32, DType::F32, DType::I64, DType::I32];
        let dtype = if grow.setting.alias { DType::I64 } else { grow.pick(&dtypes, DType::F32) };
        Type { dtype, lanes: if grow.one_in(8) { 2 } else { 1 } }
    }

    fn tensor(
        grow: &mut Grow<Self>,
        dtype: DType,
        rank: usize,
        scope: &Scope,
        depth: u32,
    ) -> Option<Id> {
        // An operator that writes memory on the way is excluded, because nothing else may read that memory.
        let fits = |shape: &Shape| shape.info.rank.is_none_or(|own| own == rank) && !shape.writes();
        let grows = depth > 0 && grow.rng.u8(0..8) >= 3;
        let shape = grow.shape(&grow.grammar.tensors, fits, scope, depth).filter(|_| grows);
        let ty = Type { dtype, lanes: 1 };
        let grown = shape.and_then(|shape| grow.instance(shape, ty, rank, scope, depth - 1));
        Some(grown.unwrap_or_else(|| {
            let (stored, _) = grow.memory(dtype, rank, false, scope);
            grow.make().stored(stored)
        }))
    }

    fn reserved(grow: &mut Grow<Self>, role: &str, dtype: DType, rank: usize) -> Option<Id> {
        Some(match role {
            SCRATCH => grow.make().root(&scratch_name(dtype, rank), true),
            SPARE => grow.make().root(&format!("{SPARE}_{dtype}"), true),
            _ => grow.make().root(&format!("{role}_{dtype}"), false),
        })
    }

    fn variable(grow: &mut Grow<Self>, scope: &Scope) -> Option<Id> {
        Some(grow.range(scope, 1).var)
    }

    fn size(grow: &mut Grow<Self>) -> Option<Id> {
        let size = grow.rng.choice(grow.setting.world.sizes())?;
        Some(grow.make().name(size))
    }

    fn named(grow: &mut Grow<Self>, dtype: DType, rank: usize, written: bool) -> Option<Id> {
        Some(grow.make().name(&tensor_name(written, dtype, rank)))
    }

    fn beside(build: &mut Build<Self>, v: Var, hole: &Hole) -> Option<Id> {
        let meeting = build.meeting(v, hole);
        meeting.or_else(|| build.twin(hole)).or_else(|| build.passing(v, hole))
    }

    fn aimed(build: &mut Build<Self>, v: Var, hole: &Hole) -> Option<Id> {
        build.aimed(v, hole)
    }

    fn corner(build: &mut Build<Self>, ty: Type) -> Option<Id> {
        Some(build.grow.corner(ty, &build.said.literals))
    }

    fn bind_again(build: &mut Build<Self>, own: Loop, children: &[Id]) -> Option<()> {
        build.bind_again(own, children)
    }

    fn bind(build: &mut Build<Self>, node: &Node) -> Option<()> {
        build.bind_elsewhere(node)
    }
}

impl Grow<'_, Anywhere<'_>> {
    /// Chooses a variable in scope, most often the innermost.
    pub fn in_scope(&mut self, scope: &Scope) -> Option<Id> {
        let last = scope.vars.len().checked_sub(1)?;
        let at = if self.rng.u8(0..3) > 0 { last } else { self.rng.usize(0..=last) };
        Some(scope.vars[at])
    }

    /// Returns one of the extents as a term.
    pub fn extent(&mut self, k: usize) -> Id {
        let world = self.setting.world;
        match world.extents[k] {
            Some(n) => self.terms.int(n as i64),
            None => self.make().size(&world.sizes()[k]),
        }
    }

    /// Generates an i64 that often is a valid index of some tensor.
    pub fn index(&mut self, scope: &Scope, depth: u32) -> Id {
        if self.setting.alias && self.one_in(6) {
            return self.loaded(scope);
        }
        match self.rng.u8(0..10) {
            0..=5 => match self.in_scope(scope) {
                Some(var) => self.make().iv(var),
                None => self.terms.int(0),
            },
            6 => {
                let n = self.rng.i64(0..3);
                self.terms.int(n)
            }
            7 => {
                let (a, n) = (self.index(scope, 0), self.rng.i64(0..2));
                let b = self.terms.int(n);
                self.make().sum(a, b)
            }
            _ if depth == 0 => self.terms.int(0),
            8 => match self.load(Type::INDEX, scope, depth - 1) {
                Some(x) => x,
                None => self.terms.int(0),
            },
            _ => self.value(Type::INDEX, scope, depth - 1),
        }
    }

    /// Generates a tensor, as an address without indices. The flag is true if the address may be written.
    pub fn memory(
        &mut self,
        dtype: DType,
        rank: usize,
        written: bool,
        scope: &Scope,
    ) -> (Id, bool) {
        let often = if self.setting.alias { self.rng.u8(0..4) > 0 } else { self.one_in(3) };
        // Only outputs have as many dimensions as 4.
        let writable = written || rank > 3 || (!scope.read_only && often);
        let tensor = self.make().root(&tensor_name(writable, dtype, rank), writable);
        if writable && !written && self.one_in(6) {
            return (self.make().frozen(tensor), false);
        }
        (tensor, writable)
    }

    /// Generates a run of lanes as an index.
    fn run(&mut self, lanes: usize, scope: &Scope, depth: u32) -> Id {
        let extent = self.pick(&[ROWS, COLUMNS, COLUMNS, ENTRIES], COLUMNS);
        let (hi, x) = (self.extent(extent), self.index(scope, depth));
        self.make().lanes(lanes, hi, x)
    }

    /// Generates a loop variable, usually over the whole of some extent.
    pub fn range(&mut self, scope: &Scope, depth: u32) -> Range {
        let [mut lo, mut hi] = Anywhere::bounds(self, scope, depth);
        // No run counts through the values of a variable that no loop binds.
        if self.one_in(16) {
            let extreme = extreme(self.rng, DType::I64).as_i64().unwrap_or(0);
            lo = self.terms.int(extreme.min(0));
            hi = self.terms.int(extreme.max(1));
        }
        let step = Anywhere::step(self);
        let var = self.var(scope.vars.len(), [lo, hi, step]);
        Range { var, lo, hi, step }
    }

    /// Generates bounds of a few iterations, or of none, next to the ends of i64.
    fn bounds_at_ends(&mut self) -> [Id; 2] {
        let near = |rng: &mut Rng, end: i64| {
            let distance = rng.i64(0..8);
            if end < 0 { end + distance } else { end - distance }
        };
        let end = self.pick(&[i64::MAX, i64::MIN], i64::MAX);
        let other = if self.one_in(6) { !end } else { end };
        let [lo, hi] = [end, other].map(|end| near(self.rng, end));
        // Usually the loop runs.
        let [lo, hi] = if lo > hi && !self.one_in(4) && end == other { [hi, lo] } else { [lo, hi] };
        [lo, hi].map(|n| self.terms.int(n))
    }

    /// Generates an integer that is loaded from near the start of a tensor.
    fn loaded(&mut self, scope: &Scope) -> Id {
        let used = self.used(Type::INDEX, 0, false, scope);
        let address = used.unwrap_or_else(|| {
            let (tensor, writable) = self.memory(DType::I64, 1, false, scope);
            let at = self.pick(&[0, 0, 0, 1, 1, 2], 0);
            let at = self.terms.int(at);
            let address = self.make().at(tensor, &[at]);
            self.setting.used.push(Used { ty: Type::INDEX, missing: 0, writable, address });
            address
        });
        self.make().load(address)
    }

    /// Generates the upper bound of a loop.
    pub fn bound(&mut self, scope: &Scope, depth: u32) -> Id {
        match self.rng.u8(0..8) {
            0..=3 if self.setting.alias => self.loaded(scope),
            0..=4 => {
                let k = self.pick(&[ROWS, COLUMNS, COLUMNS, ENTRIES], COLUMNS);
                self.extent(k)
            }
            5 => {
                let n = self.rng.i64(0..5);
                self.terms.int(n)
            }
            _ => self.index(scope, depth.max(1)),
        }
    }
}
