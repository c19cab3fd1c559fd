//! The elements of tensors that a program uses, as far as constants say: of two steps that read and write the same tensor,
//! whether they use different elements of it.

use crate::dlc::{Action, Addr, Expr, Lanes, Program, Stmt, StreamId, StreamKind, TensorId};
use itertools::iproduct;
use std::ops::Range;

/// The elements that a program reads, and those that it writes.
#[derive(Clone, Debug, Default)]
pub struct Elements {
    read: Vec<Place>,
    written: Vec<Place>,
}

/// Elements of a tensor: of each index the range, if it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    tensor: TensorId,
    index: Vec<Option<Range<i64>>>,
}

impl Elements {
    /// Returns all that either unit reads and writes in a program.
    pub fn of(program: &Program) -> Elements {
        let mut all = Elements::default();
        for stream in program.used_streams() {
            if let StreamKind::Mem { addr, .. } = &program.streams[stream.index()].kind {
                all.read.push(Place::of(addr, |index| stream_constant(program, *index)));
            }
        }
        program.access.iter().for_each(|action| all.store(program, action));
        program.bodies().into_iter().for_each(|body| all.perform(body));
        all
    }

    /// Returns true if none needs what the other writes, and none writes what the other does.
    pub fn apart(&self, other: &Elements) -> bool {
        let apart = |a: &[Place], b: &[Place]| iproduct!(a, b).all(|(a, b)| a.apart(b));
        apart(&self.written, &other.written)
            && apart(&self.written, &other.read)
            && apart(&self.read, &other.written)
    }

    /// Adds what the access unit stores to.
    fn store(&mut self, program: &Program, action: &Action) {
        match action {
            Action::Store { addr, .. } => {
                self.written.push(Place::of(addr, |index| stream_constant(program, *index)));
            }
            Action::Traverse(unit) => {
                let unit = &program.units[unit.index()];
                let events = [&unit.beg, &unit.ite, &unit.end].into_iter().flatten();
                events.for_each(|action| self.store(program, action));
            }
            _ => {}
        }
    }

    /// Adds what statements read and write.
    fn perform(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Set(_, value) => self.read(value),
                Stmt::Store(addr, value) => {
                    self.written.push(Place::of(addr, constant));
                    addr.expressions().chain([value]).for_each(|value| self.read(value));
                }
                Stmt::Accumulate(_, addr, value) => {
                    self.written.push(Place::of(addr, constant));
                    self.read.push(Place::of(addr, constant));
                    addr.expressions().chain([value]).for_each(|value| self.read(value));
                }
                Stmt::Matmul { out, a, b, .. } => {
                    self.written.push(Place::of(out, constant));
                    self.read.extend([out, a, b].map(|addr| Place::of(addr, constant)));
                    let all = [out, a, b].into_iter().flat_map(Addr::expressions);
                    all.for_each(|value| self.read(value));
                }
                Stmt::For(counted) | Stmt::Walk(_, counted) => {
                    [&counted.lo, &counted.hi].into_iter().for_each(|value| self.read(value));
                    self.perform(&counted.body);
                }
                Stmt::Pop(_) | Stmt::Prefetch(_) => {}
            }
        }
    }

    /// Adds what an expression loads.
    fn read(&mut self, value: &Expr) {
        value.walk(&mut |part| {
            if let Expr::Load(addr) = part {
                self.read.push(Place::of(addr, constant));
            }
        });
    }
}

impl Place {
    fn of<I>(addr: &Addr<I>, constant: impl Fn(&I) -> Option<i64>) -> Place {
        let last = addr.index.len().saturating_sub(1);
        let count = |lanes: &Option<Lanes<I>>| lanes.as_ref().map_or(1, |l| i64::from(l.count));
        let range = |(at, index): (usize, &I)| {
            let first = constant(index)?;
            let count = match at {
                at if at == last => count(&addr.lanes),
                at if at + 1 == last => count(&addr.rows),
                _ => 1,
            };
            Some(first..first.checked_add(count)?)
        };
        Place { tensor: addr.tensor, index: addr.index.iter().enumerate().map(range).collect() }
    }

    /// Returns true if they have no element in common.
    fn apart(&self, other: &Place) -> bool {
        let disjoint = |(a, b): (&Option<Range<i64>>, &Option<Range<i64>>)| {
            a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| a.end <= b.start || b.end <= a.start)
        };
        self.tensor != other.tensor || self.index.iter().zip(&other.index).any(disjoint)
    }
}

fn constant(index: &Expr) -> Option<i64> {
    match index {
        Expr::Const(value) => value.as_i64(),
        _ => None,
    }
}

fn stream_constant(program: &Program, stream: StreamId) -> Option<i64> {
    match program.streams[stream.index()].kind {
        StreamKind::Const(value) => value.as_i64(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dlc::RegisterId;
    use ember_values::scalar::{BinaryOp, Scalar};

    fn number(n: i64) -> Expr {
        Expr::Const(Scalar::I64(n))
    }

    /// Returns the address of 16 lanes of a tensor.
    fn lanes(tensor: u32, row: Expr, first: i64) -> Addr<Expr> {
        let index = vec![Expr::Register(RegisterId(0)), row, number(first)];
        let lanes = Some(Lanes { count: 16, limit: number(32) });
        Addr { tensor: TensorId(tensor), index, lanes, rows: None }
    }

    fn store(row: Expr, first: i64) -> Stmt {
        Stmt::Store(lanes(1, row, first), number(0))
    }

    #[test]
    fn elements_are_apart_if_constants_say_so() {
        let apart = |a: Stmt, b: Stmt| {
            let of = |stmt| Elements::of(&Program { main: vec![stmt], ..Program::default() });
            let (a, b) = (of(a), of(b));
            assert_eq!(a.apart(&b), b.apart(&a));
            a.apart(&b)
        };
        let adds = |row| {
            let value = Expr::Load(Box::new(lanes(0, number(0), 0)));
            Stmt::Accumulate(BinaryOp::Add, lanes(1, number(row), 0), value)
        };
        let copy = |from| {
            Stmt::Store(lanes(1, number(2), 0), Expr::Load(Box::new(lanes(1, number(from), 0))))
        };
        assert!(apart(store(number(0), 0), store(number(1), 0)));
        assert!(apart(store(number(0), 0), store(number(0), 16)));
        assert!(!apart(store(number(0), 0), store(number(0), 15)));
        assert!(!apart(store(Expr::Register(RegisterId(0)), 0), store(number(1), 0)));
        assert!(apart(adds(0), adds(2)));
        assert!(!apart(adds(0), store(number(0), 0)));
        assert!(!apart(copy(0), copy(0)));
        assert!(apart(copy(0), store(number(1), 0)));
        assert!(!apart(copy(0), store(number(0), 0)));
    }
}
