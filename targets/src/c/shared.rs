//! Loops that several threads share: those whose iterations touch different elements of what they write, so that the
//! result is the same to the bit.

use super::declare::{Block, Declarations};
use crate::dlc::{Addr, Expr, Loop, Program, RegisterId, Stmt, TensorId};
use ember_values::scalar::{DType, Scalar};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of a loop that threads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// They are alike.
    Even,
    /// Row `t` has the elements from the tensor's element `t` up to its element `t + 1`.
    Ragged(TensorId),
}

/// Returns the rows of a loop at a place; `None` unless no iteration can depend on another one.
pub(super) fn rows(
    program: &Program,
    declarations: &Declarations,
    counted: &Loop,
    block: &Block,
) -> Option<Rows> {
    let from_start = matches!(counted.lo, Expr::Const(Scalar::I64(0)));
    let fixed = matches!(counted.hi, Expr::Const(_) | Expr::Size(_));
    if !from_start || !fixed || !declarations.of_loops.contains(&counted.var) {
        return None;
    }
    let mut seen = Seen::default();
    seen.body(&counted.body);
    let inside = |register: &RegisterId| {
        declarations.of_loops.contains(register)
            || declarations
                .of
                .iter()
                .any(|(own, all)| own.starts_with(block) && all.contains(register))
    };
    let half_bytes = |tensor: &TensorId| program.tensors[tensor.index()].dtype == DType::U4;
    if seen.matmul || !seen.set.iter().all(inside) || seen.written.iter().any(half_bytes) {
        return None;
    }
    seen.written.iter().all(|tensor| seen.apart(*tensor, counted)).then(|| seen.rows(counted.var))
}

/// The accesses of a loop's body.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The registers that it sets.
    pub set: BTreeSet<RegisterId>,
    /// The tensors that it writes.
    pub written: BTreeSet<TensorId>,
    /// The tensors that it reads.
    pub read: BTreeSet<TensorId>,
    /// The elements that it reads or writes, by tensor.
    pub accesses: BTreeMap<TensorId, Vec<Addr<Expr>>>,
    /// True if it multiplies whole matrices.
    pub matmul: bool,
}

impl Seen {
    /// Adds the accesses of statements.
    pub fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Set(register, value) => {
                    self.set.insert(*register);
                    self.value(value);
                }
                Stmt::Pop(register) => _ = self.set.insert(*register),
                Stmt::Store(addr, value) => self.store(addr, value),
                Stmt::Accumulate(_, addr, value) => {
                    self.read.insert(addr.tensor);
                    self.store(addr, value);
                }
                // A hint reads nothing.
                Stmt::Prefetch(_) => {}
                Stmt::Matmul { .. } => self.matmul = true,
                Stmt::For(counted) | Stmt::Walk(_, counted) => {
                    self.set.insert(counted.var);
                    self.value(&counted.lo);
                    self.value(&counted.hi);
                    self.body(&counted.body);
                }
            }
        }
    }

    fn store(&mut self, addr: &Addr<Expr>, value: &Expr) {
        self.written.insert(addr.tensor);
        self.accesses.entry(addr.tensor).or_default().push(addr.clone());
        let limits = addr.lanes.iter().map(|lanes| &lanes.limit);
        addr.index.iter().chain(limits).for_each(|index| self.value(index));
        self.value(value);
    }

    fn value(&mut self, value: &Expr) {
        value.walk(&mut |part| {
            if let Expr::Load(addr) = part {
                self.read.insert(addr.tensor);
                self.accesses.entry(addr.tensor).or_default().push((**addr).clone());
            }
        });
    }

    /// Returns true if iterations access different elements of a tensor: in one of its dimensions, each stays between
    /// its own variable and the next one's.
    pub fn apart(&self, tensor: TensorId, counted: &Loop) -> bool {
        let accesses = self.accesses.get(&tensor).map_or(&[][..], Vec::as_slice);
        let dimensions = accesses.first().map_or(0, |addr| addr.index.len());
        let own = |addr: &Addr<Expr>, at: usize| {
            let last = at + 1 == addr.index.len();
            let lanes = addr.lanes.as_ref().filter(|_| last).map_or(1, |lanes| lanes.count);
            addr.index.get(at) == Some(&Expr::Register(counted.var))
                && i64::from(lanes) <= counted.step
        };
        (0..dimensions).any(|at| accesses.iter().all(|addr| own(addr, at)))
    }

    /// Returns the rows of the loop with this variable: ragged ones between two consecutive elements of a tensor.
    fn rows(&self, var: RegisterId) -> Rows {
        let here = Expr::Register(var);
        let one = Expr::Const(Scalar::I64(1));
        let next = Expr::sum(here.clone(), one);
        let ragged = self.accesses.iter().find(|(_, accesses)| {
            let has = |index: &Expr| {
                accesses.iter().any(|addr| addr.lanes.is_none() && addr.index == [index.clone()])
            };
            has(&here) && has(&next)
        });
        ragged.map_or(Rows::Even, |(tensor, _)| Rows::Ragged(*tensor))
    }
}
