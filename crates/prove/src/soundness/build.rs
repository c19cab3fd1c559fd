//! The making of an instance: a term for each variable of a pattern, with the types that the pattern
//! asks of it and the loop variables that are bound around it.

use super::grow::{Grow, Range, Scope, Type};
use super::types::{Hole, Types, is_address, loop_operands};
use super::world::{SCRATCH, tensor_name};
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{Signature, Sort, SortTerm};
use ember_language::term::{Head, Node};
use ember_values::scalar::DType;
use std::collections::{BTreeMap, BTreeSet};

/// The making of one instance.
pub(super) struct Build<'a, 'b> {
    signature: &'a Signature,
    pattern: &'a PatternAst<Node>,
    types: Types,
    grow: Grow<'b>,
    size: u32,
    /// Loop variables around the instance.
    pool: Vec<Id>,
    /// The terms of variables.
    pub holes: BTreeMap<Var, Id>,
    /// Loop variables that have a value around the instance.
    pub free: BTreeSet<Id>,
    /// Whether terms may mention variables that the instance binds elsewhere.
    capture: bool,
    /// Loops that were bound before anything else.
    early: Vec<Range>,
}

impl<'a, 'b> Build<'a, 'b> {
    /// Nothing made yet, of terms of about `size` levels.
    pub fn new(
        signature: &'a Signature,
        pattern: &'a PatternAst<Node>,
        types: Types,
        grow: Grow<'b>,
        size: u32,
    ) -> Build<'a, 'b> {
        Build {
            signature,
            pattern,
            types,
            grow,
            size,
            pool: Vec::new(),
            holes: BTreeMap::new(),
            free: BTreeSet::new(),
            capture: false,
            early: Vec::new(),
        }
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
            let Some(at) = node.name().and_then(loop_operands) else { continue };
            let operand = |k: usize| match &pattern[node.children()[at[k]]] {
                ENodeOrVar::Var(v) if !self.holes.contains_key(v) => Some(*v),
                _ => None,
            };
            let (Some(var), Some(lo), Some(hi)) = (operand(0), operand(1), operand(2)) else {
                continue;
            };
            let bounds = [lo, hi].map(|v| self.types.holes.get(&v).map(|h| h.sort.name()));
            if bounds != [Some(Sort::VALUE); 2] {
                continue;
            }
            let step = match (&pattern[node.children()[at[3]]], operand(3)) {
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

    /// The term for a node of the pattern.
    pub fn node(&mut self, id: Id) -> Option<Id> {
        match &self.pattern[id] {
            ENodeOrVar::Var(v) => self.hole(*v),
            ENodeOrVar::ENode(node) => {
                let node = node.clone();
                let children = node.children();
                match node.name() {
                    Some(name) if loop_operands(name).is_some() => {
                        self.bind_loop(name, children)?
                    }
                    Some("vec") => self.bind_block(children)?,
                    Some("rename") => self.bind_renamed(children)?,
                    Some("fix") => self.bind_fixed(children)?,
                    _ => {}
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
    fn bind_loop(&mut self, name: &str, children: &[Id]) -> Option<()> {
        let [var, lo, hi, step] = loop_operands(name)?.map(|k| children[k]);
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
    fn bind_block(&mut self, children: &[Id]) -> Option<()> {
        let &[v, e, n, hi, _] = children else { return None };
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
            let e = self.node(e)?;
            let name = self.grow.bank.op("outer", &[e, n]);
            let v = self.grow.bank.op("var", &[name, lo, hi, n]);
            self.holes.insert(hole, v);
            self.free.insert(v);
            self.pool.insert(0, v);
        }
        Some(())
    }

    /// Gives a renaming two variables; the second has the range of the first or a part of it.
    fn bind_renamed(&mut self, children: &[Id]) -> Option<()> {
        let &[x, y, _] = children else { return None };
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
                (lo, step) = (self.grow.bank.op("scf.add", &[lo, two]), two);
            }
            let y = self.grow.var(lo, hi, step);
            self.holes.insert(hole, y);
            self.free.insert(y);
            self.pool.insert(0, y);
        }
        Some(())
    }

    /// Gives a variable that has a value its range, and mostly a value that is in it.
    fn bind_fixed(&mut self, children: &[Id]) -> Option<()> {
        let &[x, v, _] = children else { return None };
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
                self.grow.bank.op("iv", &[other])
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
            let bound = holes.filter(|(_, hole)| hole.sort.name() == "Var");
            vars.extend(bound.filter_map(|(v, _)| self.holes.get(v)));
        }
        vars.extend(binders.iter().filter_map(|b| self.holes.get(b)));
        Scope { vars, read_only }
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
        let read_only = hole.read_only || hole.sort.name() == "Stream";
        let scope = self.scope(&hole.binders, read_only);
        let size = self.size;
        Some(match hole.sort.name() {
            "Value" | "Stream" | "EValue" => {
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
            "Address" | "SAddress" | "EAddress" => {
                let ty = self.ty(hole)?;
                // Scratch is named nowhere else; offsets may be anything.
                match hole.role.filter(|role| *role == SCRATCH || !self.grow.one_in(8)) {
                    Some(role) => self.grow.own_tensor(role, ty.dtype),
                    None => self.grow.address(ty, hole.rank, hole.written, &scope, size.min(1)),
                }
            }
            "Stmt" | "Slc" | "Exec" => self.grow.statement(&scope, size),
            "Tensor" => {
                let dtype = self.ty(hole)?.dtype;
                self.grow.whole_tensor(dtype, hole.rank, &scope, size.min(2))
            }
            "Var" => {
                let range = self.grow.range(&scope, 1);
                self.free.insert(range.var);
                range.var
            }
            "VarName" => {
                let zero = self.grow.bank.int(0);
                self.grow.bank.op("depth", &[zero])
            }
            "Real" => {
                let x = self.grow.rng.u8(1..8);
                self.grow.bank.add(Node::new(Head::real(f64::from(x) / 2.0), &[]))
            }
            // A size's name; tensors have dimensions.
            "Name" if hole.rank == 0 => {
                let size = self.grow.rng.choice(&self.grow.world.sizes)?;
                self.grow.bank.op(&format!("%{size}"), &[])
            }
            "Name" => {
                let dtype = self.ty(hole)?.dtype;
                let rank = hole.rank;
                let name = format!("%{}", tensor_name(hole.written, dtype, rank));
                self.grow.bank.op(&name, &[])
            }
            "DType" => {
                let dtype = self.ty(hole)?.dtype;
                self.grow.bank.op(dtype.name(), &[])
            }
            _ => {
                // One of the names that the dialects declare.
                let of_sort = |result: SortTerm| result == SortTerm::Is(hole.sort);
                let operators = self.signature.operators().iter();
                let names: Vec<&str> = operators
                    .filter(|op| op.args.is_empty() && of_sort(op.result))
                    .map(|op| op.name.as_str())
                    .collect();
                let name = *self.grow.rng.choice(&names)?;
                self.grow.bank.op(name, &[])
            }
        })
    }

    /// The type of a variable; what nothing decides is decided here.
    fn ty(&mut self, hole: &Hole) -> Option<Type> {
        let lanes = self.lanes(hole.lanes, 1)?;
        if self.types.dtypes.get(hole.dtype).is_none() {
            let choices = [DType::F32, DType::F32, DType::F32, DType::I64, DType::I32, DType::F64];
            // What is only stored is converted before anything else is done with it.
            let stored = is_address(hole.sort) && self.grow.one_in(4);
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
        let boundary = match sort.name() {
            "Stream" => "str",
            "EValue" => "val",
            "SAddress" => "sad",
            "EAddress" => "ead",
            "Slc" => "slc",
            "Exec" => "exe",
            _ => return id,
        };
        self.grow.bank.op(boundary, &[id])
    }

    /// The term below the operators that only change the sort.
    fn unwrapped(&self, mut id: Id) -> Id {
        while let ("str" | "val" | "slc.const" | "exe.const", [inner]) =
            (self.grow.bank.node(id).name().unwrap_or_default(), self.grow.bank.node(id).children())
        {
            id = *inner;
        }
        id
    }
}
