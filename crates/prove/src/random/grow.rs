//! Generates random terms: chooses an operator of the right kind and type from the operator table and generates its
//! operands. A setting chooses everything that the operator table does not know: memory, loops and constants.

use super::build::Build;
use super::grammar::{Grammar, Shape};
use super::types::{Hole, Types};
use egg::{Id, Var};
use ember_language::make::Make;
use ember_language::rules::{Kind, Loop};
use ember_language::term::{Node, Terms};
use ember_values::primitive::{Typing, Width};
use ember_values::scalar::{BinaryOp, DType, Scalar};
use fastrand::Rng;
use std::collections::BTreeMap;

/// The type of a value or an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    pub dtype: DType,
    /// The number of lanes, 1 for a scalar.
    pub lanes: usize,
}

impl Type {
    pub const INDEX: Type = Type { dtype: DType::I64, lanes: 1 };

    pub fn scalar(self) -> Type {
        Type { lanes: 1, ..self }
    }
}

/// The scope of a term.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// Loop variables, innermost last.
    pub vars: Vec<Id>,
    /// True if only memory that is never written may be read.
    pub read_only: bool,
}

/// The setting that terms are made in. Each function adds terms to the generator that it is given; `None` if there is
/// no such term.
pub(crate) trait Setting: Sized {
    /// The number of levels of a statement's values beyond the levels left for statements.
    const VALUES: u32 = 0;

    /// Returns how many times as often as others an operator is chosen; 0 for an operator that no term may have.
    fn weight(grow: &Grow<Self>, shape: &Shape, scope: &Scope, depth: u32) -> usize;

    /// True if folds may use an operation.
    fn folds(&self, _op: BinaryOp) -> bool {
        true
    }

    /// Decides whether a value is a leaf and generates it; at depth 0 every value is one.
    fn leaf(grow: &mut Grow<Self>, ty: Type, scope: &Scope, depth: u32) -> Option<Id>;

    /// Generates a constant.
    fn constant(grow: &mut Grow<Self>, dtype: DType) -> Id;

    /// Generates an address that lacks `missing` indices.
    fn address(
        grow: &mut Grow<Self>,
        ty: Type,
        missing: usize,
        written: bool,
        scope: &Scope,
        depth: u32,
    ) -> Option<Id>;

    /// Generates the bounds of a loop.
    fn bounds(grow: &mut Grow<Self>, scope: &Scope, depth: u32) -> [Id; 2];

    /// Generates a step.
    fn step(grow: &mut Grow<Self>) -> Id;

    /// Returns a number for the name of a loop variable within so many loops.
    fn number(&mut self, around: usize) -> i64;

    /// Chooses the element type of an operand that nothing determines.
    fn dtype(grow: &mut Grow<Self>, address: bool) -> DType;

    /// Chooses the type of what a statement computes.
    fn computed(grow: &mut Grow<Self>) -> Type;

    /// Generates a tensor of a rank as a function of its indices.
    fn tensor(
        _grow: &mut Grow<Self>,
        _dtype: DType,
        _rank: usize,
        _scope: &Scope,
        _depth: u32,
    ) -> Option<Id> {
        None
    }

    /// Returns the tensor of a type and rank that is reserved for a role.
    fn reserved(_grow: &mut Grow<Self>, _role: &str, _dtype: DType, _rank: usize) -> Option<Id> {
        None
    }

    /// Generates a loop variable that no loop of the term binds.
    fn variable(_grow: &mut Grow<Self>, _scope: &Scope) -> Option<Id> {
        None
    }

    /// Returns the name of a size.
    fn size(_grow: &mut Grow<Self>) -> Option<Id> {
        None
    }

    /// Returns the name of a tensor.
    fn named(_grow: &mut Grow<Self>, _dtype: DType, _rank: usize, _written: bool) -> Option<Id> {
        None
    }

    /// Returns a term for a variable of the pattern in view of the terms of others; `None` if it may be any.
    fn beside(_build: &mut Build<Self>, _v: Var, _hole: &Hole) -> Option<Id> {
        None
    }

    /// Returns a term for a variable of the pattern that violates the condition which the instance should violate;
    /// `None` if it may be any.
    fn aimed(_build: &mut Build<Self>, _v: Var, _hole: &Hole) -> Option<Id> {
        None
    }

    /// Generates a constant at which something changes.
    fn corner(build: &mut Build<Self>, ty: Type) -> Option<Id> {
        Some(build.grow.constant(ty))
    }

    /// Gives a loop the variable of another loop; `None` if it gets one of its own.
    fn bind_again(_build: &mut Build<Self>, _own: Loop, _children: &[Id]) -> Option<()> {
        None
    }

    /// Creates the variables of an operator that is no loop, before its operands are built.
    fn bind(_build: &mut Build<Self>, _node: &Node) -> Option<()> {
        Some(())
    }
}

/// The generator of terms.
pub(crate) struct Grow<'a, S> {
    pub grammar: &'a Grammar<'a>,
    pub terms: &'a mut Terms,
    pub setting: S,
    pub rng: &'a mut Rng,
}

/// The number of tries to make a statement before it becomes one that does nothing.
const TRIES: usize = 4;

impl<S: Setting> Grow<'_, S> {
    /// Returns true with probability 1/n.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(0..n) == 0
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T], default: T) -> T {
        self.rng.choice(choices).copied().unwrap_or(default)
    }

    /// Makes terms of primitives.
    pub fn make(&mut self) -> Make<'_, impl FnMut(Node) -> Id> {
        Make::new(self.grammar.operators(), |node| self.terms.add(node))
    }

    /// Adds a literal number of a type.
    pub fn literal(&mut self, dtype: DType, x: f64) -> Id {
        self.make().number(Scalar::from_f64(dtype, x))
    }

    /// Creates a loop variable within so many loops.
    pub fn var(&mut self, around: usize, bounds: [Id; 3]) -> Id {
        let number = self.setting.number(around);
        self.make().variable(number, bounds)
    }

    /// Generates a load.
    pub fn load(&mut self, ty: Type, scope: &Scope, depth: u32) -> Option<Id> {
        let address = S::address(self, ty, 0, false, scope, depth)?;
        Some(self.make().load(address))
    }

    /// Generates a constant, in every lane.
    pub fn constant(&mut self, ty: Type) -> Id {
        let x = S::constant(self, ty.dtype);
        if ty.lanes == 1 { x } else { self.make().broadcast(ty.lanes, x) }
    }

    /// Generates a value.
    pub fn value(&mut self, ty: Type, scope: &Scope, depth: u32) -> Id {
        if let Some(leaf) = S::leaf(self, ty, scope, depth) {
            return leaf;
        }
        let depth = depth.saturating_sub(1);
        let shape = self.shape(&self.grammar.values, |shape| gives(shape, ty), scope, depth);
        let grown = shape.and_then(|shape| self.instance(shape, ty, 0, scope, depth));
        grown.unwrap_or_else(|| self.constant(ty))
    }

    /// Generates a statement.
    pub fn statement(&mut self, scope: &Scope, depth: u32) -> Id {
        for _ in 0..TRIES {
            let ty = S::computed(self);
            let shape = self.shape(&self.grammar.statements, |_| true, scope, depth);
            let below = depth.saturating_sub(1);
            let grown = shape.and_then(|shape| {
                let values = shape.operands(Kind::Statement) == 0;
                let depth = if values { below + S::VALUES } else { below };
                self.instance(shape, ty, 0, scope, depth)
            });
            if let Some(statement) = grown {
                return statement;
            }
        }
        self.make().skip()
    }

    /// Chooses one of the operators that fit.
    pub fn shape<'g>(
        &mut self,
        shapes: &'g [Shape<'g>],
        fits: impl Fn(&Shape) -> bool,
        scope: &Scope,
        depth: u32,
    ) -> Option<&'g Shape<'g>> {
        let fits = shapes.iter().filter(|shape| fits(shape));
        let weighted = fits.map(|shape| (shape, S::weight(self, shape, scope, depth)));
        let weighted: Vec<(&Shape, usize)> = weighted.collect();
        let all: usize = weighted.iter().map(|(_, weight)| weight).sum();
        if all == 0 {
            return None;
        }
        let mut at = self.rng.usize(0..all);
        let chosen = weighted.into_iter().find(|(_, weight)| {
            let here = at < *weight;
            at = at.saturating_sub(*weight);
            here
        });
        chosen.map(|(shape, _)| shape)
    }

    /// Generates an instance of an operator with this type and rank.
    pub fn instance(
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
        let mut types = Types::of(grammar.signature, pattern, &[], *sort, rank, &none, 2)?;
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
}

/// Returns true if an operator over values may have this type.
fn gives(shape: &Shape, ty: Type) -> bool {
    let unary = shape.info.function();
    let takes = unary.is_none_or(|op| op.takes(ty.dtype));
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
