//! Builds an instance: a term for each variable of a pattern, with the types that the pattern requires and with the
//! loop variables that are bound around it.

use super::aim::Aim;
use super::bind::Range;
use super::grow::{Grow, Scope, Setting, Type};
use super::said::{Said, Stated};
use super::types::{Hole, Types, is_address};
use super::world::is_scratch;
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{Kind, Loop, Sort, Unit};
use ember_language::term::{Head, Node};
use ember_values::scalar::{BinaryOp, DType};
use std::collections::{BTreeMap, BTreeSet};

/// The state of building one instance.
pub(crate) struct Build<'a, 'g, 'b, S> {
    pub(super) pattern: &'a PatternAst<Node>,
    pub(super) types: Types,
    pub(super) grow: &'g mut Grow<'b, S>,
    pub(super) size: u32,
    /// The loop variables around the instance.
    pub(super) pool: Vec<Id>,
    /// True if only memory that is never written may be read.
    pub(super) read_only: bool,
    /// The terms built for the pattern's variables.
    pub holes: BTreeMap<Var, Id>,
    /// The loop variables that have a value around the instance.
    pub free: BTreeSet<Id>,
    /// True if terms may mention variables that the instance binds elsewhere.
    pub(super) capture: bool,
    /// True if terms may stand for two variables of the pattern.
    pub twins: bool,
    /// The condition that the instance should violate.
    pub aim: Option<Aim>,
    /// True if terms should touch one tensor, at places next to each other.
    pub meets: bool,
    /// True if most values should be constants at which something changes.
    pub corners: bool,
    /// The demands of the conditions on the variables of the pattern.
    pub said: Said,
    /// The loops that were bound before anything else.
    pub(super) early: Vec<Range>,
    /// The tensor that statements should write because another term reads it, and its rank.
    pub(super) target: Option<(Id, usize)>,
    /// The nodes of the pattern that the rule has a name for.
    pub named: BTreeMap<Var, Id>,
}

impl<'a, 'g, 'b, S: Setting> Build<'a, 'g, 'b, S> {
    /// Starts an instance with terms of about `size` levels and nothing around it.
    pub fn new(
        pattern: &'a PatternAst<Node>,
        types: Types,
        grow: &'g mut Grow<'b, S>,
        size: u32,
    ) -> Build<'a, 'g, 'b, S> {
        Build::within(pattern, types, grow, &Scope::default(), size)
    }

    /// Starts an instance with some loop variables in scope.
    pub fn within(
        pattern: &'a PatternAst<Node>,
        types: Types,
        grow: &'g mut Grow<'b, S>,
        scope: &Scope,
        size: u32,
    ) -> Build<'a, 'g, 'b, S> {
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
            twins: false,
            aim: None,
            meets: false,
            corners: false,
            said: Said::default(),
            early: Vec::new(),
            target: None,
            named: BTreeMap::new(),
        }
    }

    /// Builds the term for a node of the pattern.
    pub fn node(&mut self, id: Id) -> Option<Id> {
        match &self.pattern[id] {
            ENodeOrVar::Var(v) => self.hole(*v),
            ENodeOrVar::ENode(node) => {
                let node = node.clone();
                let children = node.children();
                self.bind_node(&node)?;
                let built: Option<Vec<Id>> = children.iter().map(|c| self.node(*c)).collect();
                Some(self.grow.terms.add(Node::new(node.head(), &built?)))
            }
        }
    }

    /// Returns the variable at a node of the pattern if it has no term yet.
    pub(super) fn unknown(&self, id: Id) -> Option<Var> {
        match &self.pattern[id] {
            ENodeOrVar::Var(v) if !self.holes.contains_key(v) => Some(*v),
            _ => None,
        }
    }

    /// Creates the variables that a node of the pattern binds.
    fn bind_node(&mut self, node: &Node) -> Option<()> {
        let Some(info) = self.grow.grammar.operators().of(node) else { return Some(()) };
        if let Some(own) = info.looped() {
            self.bind_loop(own, node.children())?;
        }
        S::bind(self, node)
    }

    /// Binds a variable of the pattern before its turn comes.
    pub(super) fn bind_now(&mut self, x: Var) -> Option<Id> {
        let pattern = self.pattern;
        let aim = self.aim.take();
        for node in pattern.as_ref().iter().filter_map(|node| match node {
            ENodeOrVar::ENode(node) => Some(node),
            ENodeOrVar::Var(_) => None,
        }) {
            let info = self.grow.grammar.operators().of(node);
            let looped = info.and_then(|info| Some(info.looped()?.variable));
            let binds = looped.or_else(|| info?.binds.map(|(variable, _)| variable));
            if binds.is_some_and(|at| pattern[node.children()[at]] == ENodeOrVar::Var(x)) {
                self.bind_node(node)?;
                break;
            }
        }
        let bound = match (self.holes.get(&x), self.named.get(&x)) {
            (None, Some(named)) => self.node(*named),
            (bound, _) => bound.copied(),
        };
        self.aim = aim;
        bound
    }

    /// Gives a loop's variable the loop's bounds.
    fn bind_loop(&mut self, own: Loop, children: &[Id]) -> Option<()> {
        let [var, lo, hi, step] = [own.variable, own.lo, own.hi, own.step].map(|at| children[at]);
        let (lo, hi) = own.access.map_or((lo, hi), |(lo, hi)| (children[lo], children[hi]));
        if S::bind_again(self, own, children).is_some() {
            return Some(());
        }
        let scope = self.scope(&[], false);
        if let (Some(lo), Some(hi)) = (self.unknown(lo), self.unknown(hi)) {
            let mut bounds = S::bounds(self.grow, &scope, self.size.min(1));
            let idle = self.unknown(var).filter(|_| self.grow.rng.bool());
            if idle.is_some_and(|v| self.aim.as_ref().is_some_and(|aim| aim.is_of_idle(v))) {
                bounds[1] = bounds[0];
            }
            for (v, id) in [lo, hi].into_iter().zip(bounds) {
                // A bound that mentions the variable had the loop bound before its turn.
                if self.holes.contains_key(&v) {
                    continue;
                }
                let hole = self.types.holes.get(&v)?.clone();
                let id = match self.demanded(v, &hole).or_else(|| self.few_trips(v, &hole)) {
                    Some(id) => id,
                    None => self.wrapped(hole.sort, id),
                };
                self.holes.insert(v, id);
            }
        }
        if let (None, Some(end)) = (self.unknown(lo), self.unknown(hi)) {
            self.bind_end(end)?;
        }
        let Some(var) = self.unknown(var) else { return Some(()) };
        let mut bounds = [lo, hi, step];
        for bound in &mut bounds {
            let id = self.node(*bound)?;
            *bound = self.unwrapped(id);
        }
        let id = self.grow.var(scope.vars.len(), bounds);
        self.holes.insert(var, id);
        Some(())
    }

    /// Occasionally gives a loop whose start is known an end next to the greatest integer.
    fn bind_end(&mut self, end: Var) -> Option<()> {
        let hole = self.types.holes.get(&end)?.clone();
        if hole.kind == Kind::Value && self.grow.one_in(24) {
            let id = self.grow.rng.i64(0..3);
            let id = self.grow.terms.int(i64::MAX - id);
            let id = self.wrapped(hole.sort, id);
            self.holes.insert(end, id);
        }
        Some(())
    }

    /// Returns the end of a loop of a few iterations, if they must be counted; the start need not be a number.
    fn few_trips(&mut self, end: Var, hole: &Hole) -> Option<Id> {
        let start = self.said.start(end)?;
        let start = self.unwrapped(*self.holes.get(&start)?);
        if self.grow.one_in(3) {
            return None;
        }
        let trips = self.grow.pick(&[0, 1, 1, 1, 2, 3], 1);
        let trips = self.grow.terms.int(trips);
        let end = self.grow.make().sum(start, trips);
        Some(self.wrapped(hole.sort, end))
    }

    /// Returns the variables that a term may mention: the variables around the instance, and the variables bound around
    /// the term.
    pub(super) fn scope(&self, binders: &[Var], read_only: bool) -> Scope {
        let mut vars = self.pool.clone();
        if self.capture {
            let holes = self.types.holes.iter();
            let bound = holes.filter(|(_, hole)| hole.kind == Kind::Variable);
            vars.extend(bound.filter_map(|(v, _)| self.holes.get(v)));
        }
        vars.extend(binders.iter().filter_map(|b| self.holes.get(b)));
        Scope { vars, read_only: read_only || self.read_only }
    }

    pub(super) fn hole(&mut self, v: Var) -> Option<Id> {
        if let Some(id) = self.holes.get(&v) {
            return Some(*id);
        }
        let hole = self.types.holes.get(&v)?.clone();
        if let Some(id) = self.demanded(v, &hole).or_else(|| S::beside(self, v, &hole)) {
            self.holes.insert(v, id);
            return Some(id);
        }
        let id = self.make(&hole)?;
        let id = self.wrapped(hole.sort, id);
        self.holes.insert(v, id);
        Some(id)
    }

    /// Returns a number that satisfies a condition of the rule, or a term that violates the one aimed at.
    fn demanded(&mut self, v: Var, hole: &Hole) -> Option<Id> {
        let aims = self.aim.is_some() && !self.holes.contains_key(&v);
        if aims && self.grow.rng.bool() {
            S::aimed(self, v, hole).or_else(|| self.as_stated(v, hole))
        } else {
            let stated = self.as_stated(v, hole);
            stated.or_else(|| aims.then(|| S::aimed(self, v, hole)).flatten())
        }
    }

    /// Returns a number that satisfies a condition of the rule.
    fn as_stated(&mut self, v: Var, hole: &Hole) -> Option<Id> {
        let stated = self.said.numbers.get(&v).filter(|_| hole.kind == Kind::Value)?;
        let stated = self.grow.rng.choice(stated).copied()?;
        let n = match stated {
            _ if self.grow.one_in(8) => return None,
            // Some lengths are neither powers of two nor divide one another, unless lanes are as many.
            Stated::Length if !hole.count && self.grow.one_in(3) => self.grow.rng.i64(2..=64),
            Stated::Length => self.grow.pick(&[2, 2, 3, 4, 4, 6, 8, 12, 16], 2),
            Stated::Multiple => self.grow.pick(&[0, 0, 0, 2, 4, 8, 12, 16, 24], 0),
            _ if self.grow.one_in(3) => return None,
            Stated::Least(n) => n.saturating_add(self.grow.pick(&[0, 0, 1, 1, 2, 3, 7], 0)),
            Stated::Most(n) => n.saturating_sub(self.grow.pick(&[0, 0, 0, 1, 1, 2], 0)),
            Stated::AtLeast(other, more) => {
                let other = self.known(other, 0)?;
                other.saturating_add(more).saturating_add(self.grow.pick(&[0, 0, 1, 2, 7], 0))
            }
            Stated::AtMost(other, less) => {
                let other = self.known(other, 8)?;
                other.saturating_sub(less).saturating_sub(self.grow.pick(&[0, 0, 1, 2, 7], 0))
            }
        };
        if hole.count {
            self.types.lanes.set(hole.lanes, usize::try_from(n).ok()?)?;
        }
        let n = self.grow.terms.int(n);
        Some(self.wrapped(hole.sort, n))
    }

    /// Returns the number that a variable of the pattern is, or one that it may become if nothing is known of it yet;
    /// `None` if it is no number.
    fn known(&self, v: Var, open: i64) -> Option<i64> {
        self.holes.get(&v).map_or(Some(open), |term| self.number(*term))
    }

    /// Builds a term for a variable of the pattern.
    pub(super) fn make(&mut self, hole: &Hole) -> Option<Id> {
        let unit = self.grow.grammar.signature.sort(hole.sort.name()).and_then(|sort| sort.unit);
        let streamed = hole.kind == Kind::Value && unit == Some(Unit::Access);
        let read_only = hole.read_only || streamed;
        let scope = self.scope(&hole.binders, read_only);
        let size = self.size;
        Some(match hole.kind {
            Kind::Value => {
                if hole.count {
                    let n = self.lanes(hole.lanes, 2)?;
                    return Some(self.grow.terms.int(n as i64));
                }
                if hole.step {
                    return Some(S::step(self.grow));
                }
                let ty = self.ty(hole)?;
                if self.corners && !self.grow.one_in(8) {
                    return S::corner(self, ty);
                }
                if self.grow.one_in(5) {
                    match ty.lanes {
                        1 => self.grow.constant(ty),
                        _ => self.grow.value(ty, &scope, 0),
                    }
                } else {
                    self.grow.value(ty, &scope, size)
                }
            }
            Kind::Address => {
                let ty = self.ty(hole)?;
                // Scratch memory has no other name; a tensor of offsets may sometimes be any tensor.
                match hole.role.filter(|_| is_scratch(hole.role) || !self.grow.one_in(8)) {
                    Some(role) => S::reserved(self.grow, role, ty.dtype, hole.rank)?,
                    None => {
                        S::address(self.grow, ty, hole.rank, hole.written, &scope, size.min(1))?
                    }
                }
            }
            Kind::Statement => self.grow.statement(&scope, size),
            Kind::Tensor => {
                let dtype = self.ty(hole)?.dtype;
                S::tensor(self.grow, dtype, hole.rank, &scope, size.min(2))?
            }
            Kind::Variable => {
                let variable = S::variable(self.grow, &scope)?;
                self.free.insert(variable);
                variable
            }
            Kind::Number => {
                let x = self.grow.rng.u8(1..8);
                self.grow.terms.add(Node::new(Head::real(f64::from(x) / 2.0), &[]))
            }
            // A name of rank 0 is the name of a size; tensors have dimensions.
            Kind::Name if hole.rank == 0 => S::size(self.grow)?,
            Kind::Name => {
                let dtype = self.ty(hole)?.dtype;
                S::named(self.grow, dtype, hole.rank, hole.written)?
            }
            Kind::Type => {
                let dtype = self.ty(hole)?.dtype;
                self.grow.terms.op(dtype.name(), &[])
            }
            Kind::Operation | Kind::Label => {
                // The word is one of the names that the dialects declare, or the name of a loop variable.
                let mut words = self.grow.grammar.words(hole.sort);
                let setting = &self.grow.setting;
                let fits = |op: BinaryOp| !(hole.closed && op.compares()) && setting.folds(op);
                words.retain(|word| BinaryOp::parse(word).is_none_or(fits));
                match self.grow.rng.choice(&words) {
                    Some(word) => self.grow.terms.op(word, &[]),
                    None => {
                        let zero = self.grow.terms.int(0);
                        self.grow.terms.add(self.grow.grammar.operators().numbered_node(zero))
                    }
                }
            }
        })
    }

    /// Returns the type of a variable of the pattern, chosen at random if nothing determines it.
    pub(super) fn ty(&mut self, hole: &Hole) -> Option<Type> {
        let lanes = self.lanes(hole.lanes, 1)?;
        if self.types.dtypes.get(hole.dtype).is_none() {
            let dtype = match self.types.is_integer(hole.dtype) {
                true => self.grow.pick(&[DType::I64, DType::I64, DType::I32], DType::I64),
                false => S::dtype(self.grow, is_address(hole.kind)),
            };
            self.types.dtypes.set(hole.dtype, dtype)?;
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

    /// Wraps a term in the boundary that leads to a sort.
    pub(super) fn wrapped(&mut self, sort: Sort, id: Id) -> Id {
        match self.grow.grammar.boundary(sort) {
            Some(boundary) => self.grow.terms.add(Node::new(Head::Op(boundary), &[id])),
            None => id,
        }
    }

    /// Returns the number that a term is.
    pub(super) fn number(&self, term: Id) -> Option<i64> {
        match self.grow.terms[self.unwrapped(term)].head() {
            Head::Int(n) => Some(n),
            Head::Op(_) | Head::Real(_) => None,
        }
    }

    /// Returns the term below the operators that only change the sort.
    pub(super) fn unwrapped(&self, mut id: Id) -> Id {
        let operators = self.grow.grammar.operators();
        while operators.is_transparent(&self.grow.terms[id]) {
            let Some(inner) = self.grow.terms[id].children().first() else { break };
            id = *inner;
        }
        id
    }
}
