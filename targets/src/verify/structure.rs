//! Structure and scope: ids are valid, names are unique, units form a tree, and a stream is used only where its units
//! run.

use super::{Errors, Kind, MAX_UNIT_DEPTH, Part, Place};
use crate::dlc::{
    Action, Addr, Dim, Expr, Program, RegisterId, SizeId, Stmt, StreamId, StreamKind, TensorId,
    UnitId,
};
use crate::uses::{action_streams, stream_inputs};
use std::collections::BTreeSet;

/// The events of a unit, in the order of [`Place::path`].
const EVENTS: [&str; 3] = ["beg", "ite", "end"];

/// The tree of units, and the unit of each stream.
pub struct Tree {
    /// The unit whose `ite` traverses each unit; `None` at the root.
    pub parent: Vec<Option<UnitId>>,
    /// The nesting depth of each unit, itself included.
    pub depth: Vec<usize>,
    /// The innermost unit that each stream depends on.
    pub innermost: Vec<Option<UnitId>>,
}

impl Tree {
    /// Returns true if `inner` is `outer` or runs inside it.
    pub fn runs_in(&self, inner: UnitId, outer: UnitId) -> bool {
        let mut at = Some(inner);
        while let Some(unit) = at {
            if unit == outer {
                return true;
            }
            at = self.parent[unit.index()];
        }
        false
    }

    /// Returns the root of the tree that contains a unit.
    pub fn root_of(&self, unit: UnitId) -> UnitId {
        let mut at = unit;
        while let Some(parent) = self.parent[at.index()] {
            at = parent;
        }
        at
    }
}

/// Returns the actions of a unit's three events.
pub fn events(unit: &crate::dlc::TraversalUnit) -> [&[Action]; 3] {
    [&unit.beg, &unit.ite, &unit.end]
}

/// Checks the structure; returns `None` if an id is invalid or the units form no tree.
pub fn check(program: &Program, errors: &mut Errors) -> Option<Tree> {
    let before = errors.list.len();
    let mut checker = Checker { program, errors, pushed: BTreeSet::new() };
    checker.names();
    checker.declarations();
    checker.all_actions();
    checker.statements(&program.main, &Place::new(Part::Main, ""));
    for (at, case) in program.cases.iter().enumerate() {
        let place = Place::new(Part::Case, &case.name);
        checker.statements(&case.body, &place);
        if !checker.pushed.contains(&at) {
            checker.errors.push(Kind::Structure, &place, "no callback runs this case");
        }
    }
    let parent = checker.parents();
    if errors.list.len() > before {
        return None;
    }
    let mut depth = vec![1; program.units.len()];
    for at in 0..program.units.len() {
        if let Some(parent) = parent[at] {
            depth[at] = depth[parent.index()] + 1;
        }
        if depth[at] > MAX_UNIT_DEPTH {
            let place = Place::new(Part::Unit, &program.units[at].name);
            errors.push(Kind::Structure, &place, format!("nests deeper than {MAX_UNIT_DEPTH}"));
            return None;
        }
    }
    let mut tree = Tree { parent, depth, innermost: Vec::with_capacity(program.streams.len()) };
    for stream in &program.streams {
        let mut innermost = None;
        for unit in stream_units(&stream.kind, &tree) {
            innermost = match innermost {
                None => Some(unit),
                Some(other) if tree.runs_in(other, unit) => Some(other),
                Some(other) if tree.runs_in(unit, other) => Some(unit),
                Some(other) => {
                    let name = |u: UnitId| &program.units[u.index()].name;
                    let message = format!(
                        "depends on units `{}` and `{}`, which never run together",
                        name(other),
                        name(unit)
                    );
                    errors.push(Kind::Scope, &Place::new(Part::Stream, &stream.name), message);
                    Some(other)
                }
            };
        }
        tree.innermost.push(innermost);
    }
    (errors.list.len() == before).then_some(tree)
}

/// Returns the innermost units of the inputs of a stream.
fn stream_units(kind: &StreamKind, tree: &Tree) -> Vec<UnitId> {
    match kind {
        StreamKind::IndVar(unit) => vec![*unit],
        other => stream_inputs(other).iter().filter_map(|s| tree.innermost[s.index()]).collect(),
    }
}

/// Checks that every stream is used only where its units run.
pub fn check_scope(program: &Program, tree: &Tree, errors: &mut Errors) {
    let mut used = |streams: &[StreamId], at: Option<UnitId>, place: &Place, what: &str| {
        for stream in streams {
            let Some(unit) = tree.innermost[stream.index()] else { continue };
            if !at.is_some_and(|at| tree.runs_in(at, unit)) {
                let message = format!(
                    "{what} `{}`, which advances with unit `{}`, and that does not run here",
                    program.streams[stream.index()].name,
                    program.units[unit.index()].name
                );
                errors.push(Kind::Scope, place, message);
            }
        }
    };
    for (at, unit) in program.units.iter().enumerate() {
        let place = Place::new(Part::Unit, &unit.name);
        let outside = tree.parent[at];
        used(&[unit.lo, unit.hi], outside, &place, "is bounded by");
        for (event, actions) in events(unit).into_iter().enumerate() {
            // The unit's own streams have no element at `beg` and `end`.
            let around = if event == 1 { Some(UnitId(at as u32)) } else { outside };
            for (k, action) in actions.iter().enumerate() {
                used(&action_streams(action), around, &place.then(event).then(k), "uses");
            }
        }
    }
    for (k, action) in program.access.iter().enumerate() {
        used(&action_streams(action), None, &Place::new(Part::Access, "").then(k), "uses");
    }
}

struct Checker<'a, 'e> {
    program: &'a Program,
    errors: &'e mut Errors,
    /// The cases that some callback runs.
    pushed: BTreeSet<usize>,
}

impl Checker<'_, '_> {
    fn structure(&mut self, place: &Place, message: impl Into<String>) {
        self.errors.push(Kind::Structure, place, message);
    }

    fn names(&mut self) {
        let program = self.program;
        let lists: [(Part, Vec<&str>); 6] = [
            (Part::Size, program.sizes.iter().map(String::as_str).collect()),
            (Part::Tensor, program.tensors.iter().map(|x| x.name.as_str()).collect()),
            (Part::Stream, program.streams.iter().map(|x| x.name.as_str()).collect()),
            (Part::Unit, program.units.iter().map(|x| x.name.as_str()).collect()),
            (Part::Register, program.registers.iter().map(|x| x.name.as_str()).collect()),
            (Part::Case, program.cases.iter().map(|x| x.name.as_str()).collect()),
        ];
        for (part, names) in lists {
            let mut known = BTreeSet::new();
            for name in names {
                if !known.insert(name) {
                    self.structure(&Place::new(part, name), "the name is taken");
                }
            }
        }
    }

    /// Reports an id past the end of its list.
    fn id(&mut self, at: usize, len: usize, what: &str, place: &Place) {
        if at >= len {
            self.structure(place, format!("{what} {at} of {len} does not exist"));
        }
    }

    fn size(&mut self, id: SizeId, place: &Place) {
        self.id(id.index(), self.program.sizes.len(), "size", place);
    }

    fn unit(&mut self, id: UnitId, place: &Place) {
        self.id(id.index(), self.program.units.len(), "unit", place);
    }

    fn stream(&mut self, id: StreamId, place: &Place) {
        self.id(id.index(), self.program.streams.len(), "stream", place);
    }

    fn tensor(&mut self, id: TensorId, place: &Place) {
        self.id(id.index(), self.program.tensors.len(), "tensor", place);
    }

    fn register(&mut self, id: RegisterId, place: &Place) {
        self.id(id.index(), self.program.registers.len(), "register", place);
    }

    /// Checks the parts of an address that do not depend on its kind of index.
    fn address<I>(&mut self, addr: &Addr<I>, place: &Place) {
        let Some(tensor) = self.program.tensors.get(addr.tensor.index()) else {
            return self.tensor(addr.tensor, place);
        };
        let (given, rank) = (addr.index.len(), tensor.shape.len());
        if given != rank {
            let message =
                format!("`{}` has {rank} dimensions, and {given} indices are given", tensor.name);
            self.structure(place, message);
        } else if addr.lanes.is_some() && rank == 0 {
            self.structure(place, format!("`{}` has no dimension to run along", tensor.name));
        }
        if addr.rows.is_some() {
            self.structure(
                place,
                format!("`{}` is taken by rows outside of a product", tensor.name),
            );
        }
        if addr.lanes.as_ref().is_some_and(|l| l.count == 0) {
            self.structure(place, "a run has at least one lane");
        }
    }

    fn declarations(&mut self) {
        let program = self.program;
        for tensor in &program.tensors {
            let place = Place::new(Part::Tensor, &tensor.name);
            for dim in &tensor.shape {
                if let Dim::Size(size) = dim {
                    self.size(*size, &place);
                }
            }
        }
        for (at, stream) in program.streams.iter().enumerate() {
            let place = Place::new(Part::Stream, &stream.name);
            match &stream.kind {
                StreamKind::Size(size) => self.size(*size, &place),
                StreamKind::IndVar(unit) => self.unit(*unit, &place),
                StreamKind::Mem { addr, .. } => self.address(addr, &place),
                StreamKind::Const(_)
                | StreamKind::Broadcast(_)
                | StreamKind::IndexCast(_)
                | StreamKind::Alu { .. } => {}
            }
            if stream.ty.lanes == 0 {
                self.structure(&place, "has no lanes");
            }
            for input in stream_inputs(&stream.kind) {
                if input.index() >= at {
                    let message = match program.streams.get(input.index()) {
                        Some(later) => format!("uses `{}` before its definition", later.name),
                        None => format!("stream {} does not exist", input.index()),
                    };
                    self.structure(&place, message);
                }
            }
        }
        for register in &program.registers {
            if register.ty.lanes == 0 {
                self.structure(&Place::new(Part::Register, &register.name), "has no lanes");
            }
        }
    }

    fn all_actions(&mut self) {
        let program = self.program;
        for unit in &program.units {
            let place = Place::new(Part::Unit, &unit.name);
            self.stream(unit.lo, &place);
            self.stream(unit.hi, &place);
            if unit.step < 1 {
                self.structure(&place, format!("steps by {}, and must by at least 1", unit.step));
            }
            for (event, actions) in events(unit).into_iter().enumerate() {
                for (k, action) in actions.iter().enumerate() {
                    let place = place.then(event).then(k);
                    self.action(action, &place);
                    if event != 1 && matches!(action, Action::Traverse(_)) {
                        self.structure(&place, format!("traverses at `{}`", EVENTS[event]));
                    }
                }
            }
        }
        for (k, action) in program.access.iter().enumerate() {
            self.action(action, &Place::new(Part::Access, "").then(k));
        }
    }

    fn action(&mut self, action: &Action, place: &Place) {
        action_streams(action).iter().for_each(|s| self.stream(*s, place));
        match action {
            Action::Operand(_) | Action::Prefetch(_) | Action::Barrier => {}
            Action::Callback(case) => {
                self.id(case.index(), self.program.cases.len(), "case", place);
                self.pushed.insert(case.index());
            }
            Action::Traverse(unit) => self.unit(*unit, place),
            Action::Store { addr, .. } => self.address(addr, place),
        }
    }

    /// Returns the unit that traverses each unit.
    fn parents(&mut self) -> Vec<Option<UnitId>> {
        let program = self.program;
        let mut parent = vec![None; program.units.len()];
        let mut times = vec![0usize; program.units.len()];
        let root = program.access.iter().map(|a| (None, a));
        let inner = program
            .units
            .iter()
            .enumerate()
            .flat_map(|(at, unit)| unit.ite.iter().map(move |a| (Some(UnitId(at as u32)), a)));
        for (from, action) in root.chain(inner) {
            let Action::Traverse(unit) = action else { continue };
            let Some(count) = times.get_mut(unit.index()) else { continue };
            *count += 1;
            parent[unit.index()] = from;
            if from.is_some_and(|from| from >= *unit) {
                let place = Place::new(Part::Unit, &program.units[unit.index()].name);
                self.structure(&place, "is defined before the unit that traverses it");
            }
        }
        for (unit, count) in program.units.iter().zip(times) {
            if count != 1 {
                let place = Place::new(Part::Unit, &unit.name);
                self.structure(&place, format!("is traversed in {count} places, and must in one"));
            }
        }
        parent
    }

    fn statements(&mut self, body: &[Stmt], place: &Place) {
        for (at, stmt) in body.iter().enumerate() {
            let place = place.then(at);
            match stmt {
                Stmt::Set(register, value) => {
                    self.register(*register, &place);
                    self.expr(value, &place);
                }
                Stmt::Pop(register) => self.register(*register, &place),
                Stmt::Store(addr, value) | Stmt::Accumulate(_, addr, value) => {
                    self.address_exprs(addr, &place);
                    self.expr(value, &place);
                }
                Stmt::Prefetch(addr, _) => self.address_exprs(addr, &place),
                Stmt::Matmul { out, a, b, .. } => {
                    [out, a, b].into_iter().for_each(|addr| self.matrix(addr, &place));
                }
                Stmt::For(counted) | Stmt::Walk(_, counted) => {
                    if let Stmt::Walk(unit, _) = stmt {
                        self.unit(*unit, &place);
                    }
                    self.register(counted.var, &place);
                    self.expr(&counted.lo, &place);
                    self.expr(&counted.hi, &place);
                    if counted.step < 1 {
                        let step = counted.step;
                        self.structure(&place, format!("steps by {step}, and must by at least 1"));
                    }
                    self.statements(&counted.body, &place);
                }
            }
        }
    }

    fn address_exprs(&mut self, addr: &Addr<Expr>, place: &Place) {
        self.address(addr, place);
        addr.expressions().for_each(|i| self.expr(i, place));
    }

    /// Checks an operand of a product: a tensor, one matrix of a batch, or a block of a matrix.
    fn matrix(&mut self, addr: &Addr<Expr>, place: &Place) {
        self.tensor(addr.tensor, place);
        addr.expressions().for_each(|i| self.expr(i, place));
        let rank = self.program.tensors.get(addr.tensor.index()).map_or(0, |t| t.shape.len());
        let fits = match (&addr.rows, &addr.lanes) {
            (None, None) => addr.index.len() <= 1,
            (Some(rows), Some(columns)) => {
                let some = rows.count > 0 && columns.count > 0;
                some && matches!(rank, 2 | 3) && addr.index.len() == rank
            }
            _ => false,
        };
        if !fits {
            let message =
                "multiplies a part that is neither a matrix of a batch nor a block of one";
            self.structure(place, message);
        }
    }

    fn expr(&mut self, expr: &Expr, place: &Place) {
        match expr {
            Expr::Register(register) => self.register(*register, place),
            Expr::Const(_) => {}
            Expr::Size(size) => self.size(*size, place),
            Expr::Load(addr) => self.address_exprs(addr, place),
            Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|x| self.expr(x, place)),
            Expr::Select(c, a, b) => [c, a, b].into_iter().for_each(|x| self.expr(x, place)),
            Expr::Unary(_, x) | Expr::Fold(_, x) | Expr::Cast(_, x) => self.expr(x, place),
            Expr::Broadcast(n, x) | Expr::Iota(n, x) => {
                if *n == 0 {
                    self.structure(place, "a value has at least one lane");
                }
                self.expr(x, place);
            }
        }
    }
}
