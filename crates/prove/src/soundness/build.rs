//! The making of an instance: a term for each variable of a pattern, with the types that the pattern
//! asks of it and the loop variables that are bound around it.

use super::grow::{Grow, Range, Scope, Type};
use super::types::{Hole, Types, is_address};
use super::world::{SCRATCH, tensor_name};
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{Kind, Loop, Sort, Unit};
use ember_language::term::{Head, Node};
use ember_values::primitive::Primitive;
use ember_values::scalar::BinaryOp;
use ember_values::scalar::DType;
use std::collections::{BTreeMap, BTreeSet};

/// The making of one instance.
pub(super) struct Build<'a, 'g, 'b> {
    pattern: &'a PatternAst<Node>,
    types: Types,
    grow: &'g mut Grow<'b>,
    size: u32,
    /// Loop variables around the instance.
    pool: Vec<Id>,
    /// Whether only memory that is never written may be read.
    read_only: bool,
    /// The terms of variables.
    pub holes: BTreeMap<Var, Id>,
    /// Loop variables that have a value around the instance.
    pub free: BTreeSet<Id>,
    /// Whether terms may mention variables that the instance binds elsewhere.
    capture: bool,
    /// Loops that were bound before anything else.
    early: Vec<Range>,
}

impl<'a, 'g, 'b> Build<'a, 'g, 'b> {
    /// Nothing made yet, of terms of about `size` levels, with nothing around it.
    pub fn new(
        pattern: &'a PatternAst<Node>,
        types: Types,
        grow: &'g mut Grow<'b>,
        size: u32,
    ) -> Build<'a, 'g, 'b> {
        Build::within(pattern, types, grow, &Scope::default(), size)
    }

    /// The same where some loop variables are in scope.
    pub fn within(
        pattern: &'a PatternAst<Node>,
        types: Types,
        grow: &'g mut Grow<'b>,
        scope: &Scope,
        size: u32,
    ) -> Build<'a, 'g, 'b> {
        Build {
            pattern,
            types,
            grow,
            size,
            pool: scope.vars.clone(),
            read_only: scope.read_only,
            holes: BTreeMap::new(),
            free: BTreeSet::new(),
            capture: false,
            early: Vec::new(),
        }
    }

    /// Whether something that happens once in so many times does.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.grow.one_in(n)
    }

    /// One of several.
    pub fn choice<'t, T>(&mut self, all: &'t [T]) -> Option<&'t T> {
        self.grow.rng.choice(all)
    }

    /// Makes loops around the instance.
    pub fn outer_loops(&mut self) {
        for _ in 0..self.grow.rng.usize(1..=2) {
            let scope = Scope { vars: self.pool.clone(), read_only: true };
            let range = self.grow.range(&scope, 1);
            self.pool.push(range.var);
            self.free.insert(range.var);
        }
    }

    /// Once in a while, loops of the pattern get constant bounds before anything else is made, so
    /// that their variables can be mentioned anywhere.
    pub fn bind_early(&mut self) {
        if !self.grow.one_in(5) {
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
                    let id = self.grow.step();
                    self.holes.insert(step, id);
                    id
                }
                (ENodeOrVar::ENode(step), None) => self.grow.bank.add(step.clone()),
                _ => continue,
            };
            let (zero, columns) = (self.grow.bank.int(0), self.grow.extent(1));
            let id = self.grow.var(zero, columns, step);
            self.holes.extend([(var, id), (lo, zero), (hi, columns)]);
            self.early.push(Range { var: id, lo: zero, hi: columns, step });
            self.free.insert(id);
        }
    }

    /// The whole pattern again, where a term that stood for one of its variables is another, which mentions a
    /// loop variable that the rule makes; `made` is that, as the right side has it. `None` where none of them may.
    pub fn mention(&mut self, made: &PatternAst<Node>) -> Option<Id> {
        let mut built: Vec<Id> = Vec::with_capacity(made.len());
        for node in made {
            let id = match node {
                ENodeOrVar::Var(v) => match self.holes.get(v) {
                    Some(id) => *id,
                    None => {
                        let length = self.grow.rng.u8(0..4);
                        self.grow.bank.int(1 << length)
                    }
                },
                ENodeOrVar::ENode(node) => {
                    let children: Vec<Id> =
                        node.children().iter().map(|c| built[usize::from(*c)]).collect();
                    self.grow.bank.add(Node::new(node.head(), &children))
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
                open.extend(self.grow.bank.node(id).children());
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
        let other = self.grow.rng.choice(&others).copied()?;
        self.holes.remove(&other);
        self.free.insert(made);
        let around = std::mem::replace(&mut self.pool, vec![made]);
        let again = self.hole(other);
        self.pool = around;
        again?;
        self.node(Id::from(self.pattern.len().checked_sub(1)?))
    }

    /// The term for a node of the pattern.
    pub fn node(&mut self, id: Id) -> Option<Id> {
        match &self.pattern[id] {
            ENodeOrVar::Var(v) => self.hole(*v),
            ENodeOrVar::ENode(node) => {
                let node = node.clone();
                let children = node.children();
                if let Some(info) = self.grow.grammar.operators().of(&node) {
                    if let Some(own) = info.looped() {
                        self.bind_loop(own, children)?;
                    }
                    match info.primitive() {
                        Some(Primitive::Vec) => self.bind_block(info.parts(children)?)?,
                        Some(Primitive::Rename) => self.bind_renamed(info.parts(children)?)?,
                        Some(Primitive::Fix) => self.bind_fixed(info.parts(children)?)?,
                        _ => {}
                    }
                }
                let built: Option<Vec<Id>> = children.iter().map(|c| self.node(*c)).collect();
                Some(self.grow.bank.add(Node::new(node.head(), &built?)))
            }
        }
    }

    /// The variable that a part of the pattern is, while it is no term yet.
    fn unknown(&self, id: Id) -> Option<Var> {
        match &self.pattern[id] {
            ENodeOrVar::Var(v) if !self.holes.contains_key(v) => Some(*v),
            _ => None,
        }
    }

    /// Gives a loop's variable the loop's bounds.
    fn bind_loop(&mut self, own: Loop, children: &[Id]) -> Option<()> {
        let [var, lo, hi, step] = [own.variable, own.lo, own.hi, own.step].map(|at| children[at]);
        let (lo, hi) = own.access.map_or((lo, hi), |(lo, hi)| (children[lo], children[hi]));
        let scope = self.scope(&[], false);
        if let (Some(lo), Some(hi)) = (self.unknown(lo), self.unknown(hi)) {
            let range = self.grow.range(&scope, self.size.min(1));
            for (v, id) in [(lo, range.lo), (hi, range.hi)] {
                let id = self.wrapped(self.types.holes.get(&v)?.sort, id);
                self.holes.insert(v, id);
            }
        }
        let Some(var) = self.unknown(var) else { return Some(()) };
        let mut bounds = [lo, hi, step];
        for bound in &mut bounds {
            let id = self.node(*bound)?;
            *bound = self.unwrapped(id);
        }
        let id = self.grow.var(bounds[0], bounds[1], bounds[2]);
        self.holes.insert(var, id);
        Some(())
    }

    /// Gives a block the variables of a loop and of the loop over its blocks.
    fn bind_block(&mut self, [v, e, n, hi, _]: [Id; 5]) -> Option<()> {
        if let Some(hole) = self.unknown(hi) {
            let scope = self.scope(&[], false);
            let bound = self.grow.bound(&scope, 1);
            self.holes.insert(hole, bound);
        }
        let (n, hi) = (self.node(n)?, self.node(hi)?);
        let lo = self.grow.rng.i64(0..6) / 4;
        let (lo, one) = (self.grow.bank.int(lo), self.grow.bank.int(1));
        if let Some(hole) = self.unknown(e) {
            let e = self.grow.var(lo, hi, one);
            self.holes.insert(hole, e);
        }
        if let Some(hole) = self.unknown(v) {
            self.node(e)?;
            let v = self.grow.var(lo, hi, n);
            self.holes.insert(hole, v);
            self.free.insert(v);
            self.pool.insert(0, v);
        }
        Some(())
    }

    /// Gives a renaming two variables; the second has the range of the first or a part of it.
    fn bind_renamed(&mut self, [x, y, _]: [Id; 3]) -> Option<()> {
        // A renamed variable's range must be the same wherever the renaming is pushed to.
        let scope = Scope { vars: self.pool.clone(), read_only: true };
        let mut range = self.grow.range(&scope, 1);
        // Once in a while, one of the two is a variable that the instance binds elsewhere.
        if let Some(bound) = self.early.last().copied().filter(|_| self.grow.rng.bool()) {
            let one = if self.grow.rng.bool() { x } else { y };
            let hole = self.unknown(one);
            range = Range { var: self.grow.var(bound.lo, bound.hi, bound.step), ..bound };
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
                let two = self.grow.bank.int(2);
                (lo, step) = (self.grow.op(Primitive::Binary(BinaryOp::Add), &[lo, two]), two);
            }
            let y = self.grow.var(lo, hi, step);
            self.holes.insert(hole, y);
            self.free.insert(y);
            self.pool.insert(0, y);
        }
        Some(())
    }

    /// Gives a variable that has a value its range, and mostly a value that is in it.
    fn bind_fixed(&mut self, [x, v, _]: [Id; 3]) -> Option<()> {
        let scope = Scope { vars: self.pool.clone(), read_only: true };
        let mut range = self.grow.range(&scope, 1);
        // Once in a while, it is a variable that the instance binds elsewhere.
        if let Some(bound) = self.early.last().copied().filter(|_| self.grow.rng.bool()) {
            range = Range { var: self.grow.var(bound.lo, bound.hi, bound.step), ..bound };
        }
        let other = self.grow.var(range.lo, range.hi, range.step);
        if let Some(hole) = self.unknown(x) {
            self.holes.insert(hole, range.var);
            if self.capture {
                self.free.insert(range.var);
            }
        }
        if let Some(hole) = self.unknown(v).filter(|_| !self.grow.one_in(4)) {
            let value = if self.grow.one_in(3) {
                range.lo
            } else {
                self.free.insert(other);
                self.pool.insert(0, other);
                self.grow.op(Primitive::Iv, &[other])
            };
            self.holes.insert(hole, value);
        }
        Some(())
    }

    /// The variables that a term may mention: those around the instance and those bound around it.
    fn scope(&self, binders: &[Var], read_only: bool) -> Scope {
        let mut vars = self.pool.clone();
        if self.capture {
            let holes = self.types.holes.iter();
            let bound = holes.filter(|(_, hole)| hole.kind == Kind::Variable);
            vars.extend(bound.filter_map(|(v, _)| self.holes.get(v)));
        }
        vars.extend(binders.iter().filter_map(|b| self.holes.get(b)));
        Scope { vars, read_only: read_only || self.read_only }
    }

    fn hole(&mut self, v: Var) -> Option<Id> {
        if let Some(id) = self.holes.get(&v) {
            return Some(*id);
        }
        let hole = self.types.holes.get(&v)?.clone();
        let id = self.make(&hole)?;
        let id = self.wrapped(hole.sort, id);
        self.holes.insert(v, id);
        Some(id)
    }

    /// A term for a variable.
    fn make(&mut self, hole: &Hole) -> Option<Id> {
        let unit = self.grow.grammar.signature.sort(hole.sort.name()).and_then(|sort| sort.unit);
        let streamed = hole.kind == Kind::Value && unit == Some(Unit::Access);
        let read_only = hole.read_only || streamed;
        let scope = self.scope(&hole.binders, read_only);
        let size = self.size;
        Some(match hole.kind {
            Kind::Value => {
                if hole.count {
                    let n = self.lanes(hole.lanes, 2)?;
                    return Some(self.grow.bank.int(n as i64));
                }
                if hole.step {
                    return Some(self.grow.step());
                }
                let ty = self.ty(hole)?;
                if self.grow.one_in(5) {
                    if ty.lanes == 1 {
                        self.grow.constant(ty.dtype)
                    } else {
                        self.grow.value(ty, &scope, 0)
                    }
                } else {
                    self.grow.value(ty, &scope, size)
                }
            }
            Kind::Address => {
                let ty = self.ty(hole)?;
                // Scratch is named nowhere else; offsets may be anything.
                match hole.role.filter(|role| *role == SCRATCH || !self.grow.one_in(8)) {
                    Some(role) => self.grow.own_tensor(role, ty.dtype),
                    None => self.grow.address(ty, hole.rank, hole.written, &scope, size.min(1)),
                }
            }
            Kind::Statement => self.grow.statement(&scope, size),
            Kind::Tensor => {
                let dtype = self.ty(hole)?.dtype;
                self.grow.whole_tensor(dtype, hole.rank, &scope, size.min(2))
            }
            Kind::Variable => {
                let range = self.grow.range(&scope, 1);
                self.free.insert(range.var);
                range.var
            }
            Kind::Number => {
                let x = self.grow.rng.u8(1..8);
                self.grow.bank.add(Node::new(Head::real(f64::from(x) / 2.0), &[]))
            }
            // A size's name; tensors have dimensions.
            Kind::Name if hole.rank == 0 => {
                let size = self.grow.rng.choice(&self.grow.world.sizes)?;
                self.grow.name(size)
            }
            Kind::Name => {
                let dtype = self.ty(hole)?.dtype;
                let rank = hole.rank;
                self.grow.name(&tensor_name(hole.written, dtype, rank))
            }
            Kind::Type => {
                let dtype = self.ty(hole)?.dtype;
                self.grow.bank.op(dtype.name(), &[])
            }
            Kind::Operation | Kind::Label => {
                // One of the names that the dialects declare, or that of a loop variable.
                let mut words = self.grow.grammar.words(hole.sort);
                let closed = |word: &&str| BinaryOp::parse(word).is_none_or(|op| !op.compares());
                words.retain(|word| !hole.closed || closed(word));
                match self.grow.rng.choice(&words) {
                    Some(word) => self.grow.bank.op(word, &[]),
                    None => {
                        let zero = self.grow.bank.int(0);
                        self.grow.bank.add(self.grow.grammar.operators().numbered_node(zero))
                    }
                }
            }
        })
    }

    /// The type of a variable; what nothing decides is decided here.
    fn ty(&mut self, hole: &Hole) -> Option<Type> {
        let lanes = self.lanes(hole.lanes, 1)?;
        if self.types.dtypes.get(hole.dtype).is_none() {
            let choices = [DType::F32, DType::F32, DType::F32, DType::I64, DType::I32, DType::F64];
            // What is only stored is converted before anything else is done with it.
            let stored = is_address(hole.kind) && self.grow.one_in(4);
            let storage = [DType::U8, DType::U4, DType::F16, DType::BF16, DType::U8, DType::F16];
            let choices = if stored { storage } else { choices };
            let choices = if self.grow.alias { [DType::I64; 6] } else { choices };
            self.types.dtypes.set(hole.dtype, self.grow.rng.choice(choices)?)?;
        }
        Some(Type { dtype: self.types.dtypes.get(hole.dtype)?, lanes })
    }

    fn lanes(&mut self, class: usize, least: usize) -> Option<usize> {
        if self.types.lanes.get(class).is_none() {
            let counted = self.types.counted(class) || least > 1;
            let n = match (counted, self.grow.rng.u8(0..6)) {
                (false, 0) | (true, 0..=3) => 2,
                (true, n) => usize::from(n) - 1,
                (false, _) => 1,
            };
            self.types.lanes.set(class, n)?;
        }
        self.types.lanes.get(class)
    }

    /// A term at the level of a sort.
    fn wrapped(&mut self, sort: Sort, id: Id) -> Id {
        match self.grow.grammar.boundary(sort) {
            Some(boundary) => self.grow.bank.add(Node::new(Head::Op(boundary), &[id])),
            None => id,
        }
    }

    /// The term below the operators that only change the sort.
    fn unwrapped(&self, mut id: Id) -> Id {
        let operators = self.grow.grammar.operators();
        while let Some([inner]) = operators.parts(self.grow.bank.node(id), Primitive::Same) {
            id = inner;
        }
        id
    }
}
