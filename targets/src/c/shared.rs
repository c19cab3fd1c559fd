//! Loops that several threads share: those whose iterations touch different elements of what they write, so that the
//! result is the same to the bit.

use super::declare::{Block, Declarations};
use super::statement::last;
use crate::addresses::affine;
use crate::dlc::{Addr, Expr, Loop, Program, RegisterId, Stmt, TensorId};
use ember_values::scalar::{DType, Scalar};
use itertools::Itertools;
use std::collections::{BTreeMap, BTreeSet};

/// The rows of a loop that threads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// They are alike.
    Even,
    /// Row `t` has the elements from the tensor's element `t` up to its element `t + 1`.
    Ragged(TensorId),
}

/// Returns the rows of a loop at a place; `None` unless no iteration can depend on another one. A product in the loop may be
/// one of batches, which the loop's variable numbers.
pub(super) fn rows(
    program: &Program,
    declarations: &Declarations,
    counted: &Loop,
    block: &Block,
    batch: impl Fn(&Stmt) -> bool,
) -> Option<Rows> {
    let from_start = matches!(counted.lo, Expr::Const(Scalar::I64(0)));
    let fixed = matches!(counted.hi, Expr::Const(_) | Expr::Size(_));
    if !from_start || !fixed || !declarations.of_loops.contains(&counted.var) {
        return None;
    }
    let seen = Seen::of(&counted.body, counted.var, batch);
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
    /// The least and the greatest value of the variables of its loops, where constants decide them. Behind its loop no
    /// variable is read that is not set as well, which the verifier checks.
    ranges: BTreeMap<RegisterId, Option<[i64; 2]>>,
}

impl Seen {
    /// Returns the accesses of a loop's body. A product in it may be one of batches, which the loop's variable numbers.
    pub fn of(body: &[Stmt], var: RegisterId, batch: impl Fn(&Stmt) -> bool) -> Seen {
        let mut seen = Seen::default();
        for stmt in body {
            match stmt {
                Stmt::Matmul { out, a, b, .. } if batch(stmt) => {
                    let [out, a, b] = [out, a, b].map(|addr| addr.tensor);
                    seen.written.insert(out);
                    seen.read.extend([a, b]);
                    for tensor in [out, a, b] {
                        let index = vec![Expr::Register(var)];
                        let own = Addr { tensor, index, lanes: None, rows: None };
                        seen.accesses.entry(tensor).or_default().push(own);
                    }
                }
                _ => seen.body(std::slice::from_ref(stmt)),
            }
        }
        seen
    }

    /// Adds the accesses of statements.
    pub fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Set(register, value) => {
                    self.sets(*register);
                    self.value(value);
                }
                Stmt::Pop(register) => self.sets(*register),
                Stmt::Store(addr, value) => self.store(addr, value),
                Stmt::Accumulate(_, addr, value) => {
                    self.read.insert(addr.tensor);
                    self.store(addr, value);
                }
                // A hint reads nothing.
                Stmt::Prefetch(..) => {}
                Stmt::Matmul { .. } => self.matmul = true,
                Stmt::For(counted) | Stmt::Walk(_, counted) => {
                    self.set.insert(counted.var);
                    let range = last(counted).and_then(|last| match counted.lo {
                        Expr::Const(Scalar::I64(lo)) if lo <= last => Some([lo, last]),
                        _ => None,
                    });
                    let known = self.ranges.entry(counted.var).or_insert(range);
                    // A register that counts several loops counts them alike, or is not known.
                    *known = known.filter(|known| Some(*known) == range);
                    self.value(&counted.lo);
                    self.value(&counted.hi);
                    self.body(&counted.body);
                }
            }
        }
    }

    fn sets(&mut self, register: RegisterId) {
        self.set.insert(register);
        self.ranges.insert(register, None);
    }

    fn store(&mut self, addr: &Addr<Expr>, value: &Expr) {
        self.written.insert(addr.tensor);
        self.accesses.entry(addr.tensor).or_default().push(addr.clone());
        addr.expressions().for_each(|index| self.value(index));
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
    /// a multiple of its own variable and that of the next one's.
    pub fn apart(&self, tensor: TensorId, counted: &Loop) -> bool {
        let accesses = self.accesses.get(&tensor).map_or(&[][..], Vec::as_slice);
        let dimensions = accesses.first().map_or(0, |addr| addr.index.len());
        let own = |addr: &Addr<Expr>, at: usize| {
            let last = at + 1 == addr.index.len();
            let lanes = addr.lanes.as_ref().filter(|_| last).map_or(1, |lanes| lanes.count);
            let [multiple, least, most] = self.span(addr.index.get(at)?, counted.var)?;
            let ends = most.checked_add(i64::from(lanes))?;
            (least >= 0 && ends <= multiple.checked_mul(counted.step)?).then_some(multiple)
        };
        let alike = |at| {
            let mut multiples = accesses.iter().map(|addr| own(addr, at));
            multiples.all_equal_value().is_ok_and(|multiple| multiple.is_some())
        };
        (0..dimensions).any(alike)
    }

    /// Returns an index as a multiple of a variable and the least and the greatest number that is added to it; `None` if
    /// it is no such sum.
    fn span(&self, index: &Expr, var: RegisterId) -> Option<[i64; 3]> {
        let form = affine(index)?;
        let others = form.terms.iter().filter(|(own, _)| **own != var);
        let start = [form.coefficient(&var), form.constant, form.constant];
        others.map(|(own, times)| (self.ranges.get(own).copied().flatten(), times)).try_fold(
            start,
            |[multiple, least, most], (range, times)| {
                let [first, last] = range?;
                let (first, last) = (first.checked_mul(*times)?, last.checked_mul(*times)?);
                let (least, most) =
                    (least.checked_add(first.min(last))?, most.checked_add(first.max(last))?);
                Some([multiple, least, most])
            },
        )
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
