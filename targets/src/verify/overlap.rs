//! Overlap: the access unit runs ahead of the execute unit, so between two barriers neither may write a tensor that the
//! other uses.

use super::structure::{Tree, events};
use super::{Errors, Kind, Part, Place};
use crate::dlc::{Action, Addr, Expr, Program, Stmt, StreamId, StreamKind, TensorId, UnitId};
use crate::uses::action_streams;
use std::collections::{BTreeMap, BTreeSet};

/// The effects between two barriers at the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Tensors that streams load.
    loads: BTreeSet<TensorId>,
    /// Tensors that the access unit stores to.
    stores: BTreeSet<TensorId>,
    /// Tensors that the execute unit reads.
    reads: BTreeSet<TensorId>,
    /// Tensors that the execute unit writes.
    writes: BTreeSet<TensorId>,
    /// True if a callback is pushed.
    callbacks: bool,
}

/// Checks that the effects of the two units commute.
pub fn check(program: &Program, tree: &Tree, errors: &mut Errors) {
    let advancing = advancing(program, tree);
    let mut epochs = vec![Footprint::default()];
    effects(&program.main, &mut epochs[0]);
    for action in &program.access {
        if matches!(action, Action::Barrier) {
            let mut next = Footprint::default();
            // A barrier waits for callbacks; `main` is known to be over only after one of them.
            if let Some(last) = epochs.last().filter(|e| !e.callbacks) {
                (next.reads, next.writes) = (last.reads.clone(), last.writes.clone());
            }
            epochs.push(next);
        } else if let Some(epoch) = epochs.last_mut() {
            performs(program, action, epoch);
            if let Action::Traverse(unit) = action {
                epoch.loads.extend(advancing.get(unit).into_iter().flatten());
            }
        }
    }
    let written: BTreeSet<TensorId> =
        epochs.iter().flat_map(|e| e.stores.iter().chain(&e.writes)).copied().collect();
    for (stream, tensor) in program.loaded_first() {
        if written.contains(&tensor) {
            let name = &program.tensors[tensor.index()].name;
            let message = format!("loads `{name}`, which is written, outside every unit");
            let stream = &program.streams[stream.index()].name;
            errors.push(Kind::Overlap, &Place::new(Part::Stream, stream), message);
        }
    }
    for epoch in &epochs {
        report(program, epoch, errors);
    }
}

impl Footprint {
    /// Returns the effects of a whole program, or of a step of one, as if it had no barrier.
    pub fn of(program: &Program) -> Footprint {
        let mut whole = Footprint::default();
        effects(&program.main, &mut whole);
        program.access.iter().for_each(|action| performs(program, action, &mut whole));
        program.used_streams().into_iter().for_each(|stream| loads(program, stream, &mut whole));
        whole
    }

    /// Returns the tensors that either unit reads.
    pub fn read(&self) -> impl Iterator<Item = TensorId> + '_ {
        self.loads.union(&self.reads).copied()
    }

    /// Returns the tensors that either unit writes.
    pub fn written(&self) -> impl Iterator<Item = TensorId> + '_ {
        self.stores.union(&self.writes).copied()
    }

    /// Returns true if the access unit stores to a tensor.
    pub fn stores(&self, tensor: TensorId) -> bool {
        self.stores.contains(&tensor)
    }

    /// Returns true if the execute unit reads a tensor.
    pub fn reads(&self, tensor: TensorId) -> bool {
        self.reads.contains(&tensor)
    }

    /// Returns true if the execute unit writes a tensor.
    pub fn writes(&self, tensor: TensorId) -> bool {
        self.writes.contains(&tensor)
    }

    /// Returns true if either unit reads or writes a tensor.
    pub fn uses(&self, tensor: TensorId) -> bool {
        [&self.loads, &self.stores, &self.reads, &self.writes]
            .iter()
            .any(|own| own.contains(&tensor))
    }

    /// Returns the footprint with other tensor ids; a tensor without a new id is left out.
    pub fn renumbered(&self, id: impl Fn(TensorId) -> Option<TensorId>) -> Footprint {
        let set = |set: &BTreeSet<TensorId>| set.iter().filter_map(|t| id(*t)).collect();
        Footprint {
            loads: set(&self.loads),
            stores: set(&self.stores),
            reads: set(&self.reads),
            writes: set(&self.writes),
            callbacks: self.callbacks,
        }
    }

    /// Returns the union of both footprints without a barrier between them; `None` if one is needed.
    pub fn beside(&self, other: &Footprint) -> Option<Footprint> {
        let union = |a: &BTreeSet<TensorId>, b| a.union(b).copied().collect();
        let both = Footprint {
            loads: union(&self.loads, &other.loads),
            stores: union(&self.stores, &other.stores),
            reads: union(&self.reads, &other.reads),
            writes: union(&self.writes, &other.writes),
            callbacks: self.callbacks || other.callbacks,
        };
        let free = both.clashes().iter().all(|(a, b, _)| a.is_disjoint(b));
        free.then_some(both)
    }

    /// Returns pairs of tensor sets that must be disjoint, each with the message of its violation.
    fn clashes(&self) -> [(&BTreeSet<TensorId>, &BTreeSet<TensorId>, &'static str); 4] {
        let Footprint { loads, stores, reads, writes, .. } = self;
        [
            (loads, writes, "streams load it while the execute unit writes it"),
            (loads, stores, "streams load it while the access unit stores to it"),
            (stores, reads, "the access unit stores to it while the execute unit reads it"),
            (stores, writes, "both units write it"),
        ]
    }
}

fn report(program: &Program, epoch: &Footprint, errors: &mut Errors) {
    for (a, b, message) in epoch.clashes() {
        for tensor in a.intersection(b) {
            let place = Place::new(Part::Tensor, &program.tensors[tensor.index()].name);
            errors.push(Kind::Overlap, &place, format!("{message}, without a barrier between"));
        }
    }
}

/// Returns, for every unit at the root, the tensors that streams load while it runs.
fn advancing(program: &Program, tree: &Tree) -> BTreeMap<UnitId, BTreeSet<TensorId>> {
    let mut loads: BTreeMap<UnitId, BTreeSet<TensorId>> = BTreeMap::new();
    for (at, stream) in program.streams.iter().enumerate() {
        if let (Some(unit), StreamKind::Mem { addr, .. }) = (tree.innermost[at], &stream.kind) {
            loads.entry(tree.root_of(unit)).or_default().insert(addr.tensor);
        }
    }
    loads
}

fn performs(program: &Program, action: &Action, epoch: &mut Footprint) {
    action_streams(action).iter().for_each(|s| loads(program, *s, epoch));
    match action {
        Action::Callback(case) => {
            epoch.callbacks = true;
            effects(&program.cases[case.index()].body, epoch);
        }
        Action::Store { addr, .. } => {
            epoch.stores.insert(addr.tensor);
        }
        Action::Traverse(unit) => {
            let unit = &program.units[unit.index()];
            events(unit).into_iter().flatten().for_each(|a| performs(program, a, epoch));
        }
        Action::Operand(_) | Action::Prefetch(_) | Action::Barrier => {}
    }
}

fn loads(program: &Program, id: StreamId, epoch: &mut Footprint) {
    if let StreamKind::Mem { addr, .. } = &program.streams[id.index()].kind {
        epoch.loads.insert(addr.tensor);
    }
}

fn effects(body: &[Stmt], epoch: &mut Footprint) {
    for stmt in body {
        match stmt {
            Stmt::Set(_, value) => reads(value, epoch),
            Stmt::Pop(_) => {}
            Stmt::Store(addr, value) | Stmt::Accumulate(_, addr, value) => {
                epoch.writes.insert(addr.tensor);
                if matches!(stmt, Stmt::Accumulate(..)) {
                    epoch.reads.insert(addr.tensor);
                }
                reads_index(addr, epoch);
                reads(value, epoch);
            }
            Stmt::Prefetch(addr, _) => {
                epoch.reads.insert(addr.tensor);
                reads_index(addr, epoch);
            }
            Stmt::Matmul { out, a, b, adds, .. } => {
                epoch.writes.insert(out.tensor);
                epoch.reads.extend(adds.then_some(out.tensor));
                epoch.reads.extend([a.tensor, b.tensor]);
                [out, a, b].into_iter().for_each(|addr| reads_index(addr, epoch));
            }
            Stmt::For(counted) | Stmt::Walk(_, counted) => {
                reads(&counted.lo, epoch);
                reads(&counted.hi, epoch);
                effects(&counted.body, epoch);
            }
        }
    }
}

fn reads_index(addr: &Addr<Expr>, epoch: &mut Footprint) {
    addr.expressions().for_each(|i| reads(i, epoch));
}

fn reads(expr: &Expr, epoch: &mut Footprint) {
    match expr {
        Expr::Register(_) | Expr::Const(_) | Expr::Size(_) => {}
        Expr::Load(addr) => {
            epoch.reads.insert(addr.tensor);
            reads_index(addr, epoch);
        }
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|x| reads(x, epoch)),
        Expr::Select(c, a, b) => [c, a, b].into_iter().for_each(|x| reads(x, epoch)),
        Expr::Unary(_, x)
        | Expr::Fold(_, x)
        | Expr::Cast(_, x)
        | Expr::Broadcast(_, x)
        | Expr::Iota(_, x) => reads(x, epoch),
    }
}
