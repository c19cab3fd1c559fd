//! The elements of tensors that a program uses, as far as numbers and the bounds of loops say: of two steps that read and
//! write the same tensor, whether they use different elements of it.

use crate::dlc::{
    Action, Addr, Expr, Loop, Program, RegisterId, Stmt, StreamId, StreamKind, TensorId,
};
use crate::loops::counters;
use ember_values::scalar::{BinaryOp, Linear, Scalar};
use itertools::{Itertools, iproduct};
use std::collections::{BTreeMap, BTreeSet};
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
        let (counters, found) = (counters(program), Elements::default());
        let mut walk = Walk { program, counters, bounds: BTreeMap::new(), found };
        for stream in program.used_streams() {
            if let StreamKind::Mem { addr, .. } = &program.streams[stream.index()].kind {
                walk.found.read.push(Place::of(addr, |index| stream_bounds(program, *index)));
            }
        }
        program.access.iter().for_each(|action| walk.store(action));
        program.bodies().into_iter().for_each(|body| walk.perform(body));
        walk.found
    }

    /// Returns true if none needs what the other writes, and none writes what the other does.
    pub fn apart(&self, other: &Elements) -> bool {
        let apart = |a: &[Place], b: &[Place]| iproduct!(a, b).all(|(a, b)| a.apart(b));
        apart(&self.written, &other.written)
            && apart(&self.written, &other.read)
            && apart(&self.read, &other.written)
    }
}

/// A walk over a program.
struct Walk<'a> {
    program: &'a Program,
    /// The registers that are a loop's variable and nothing else.
    counters: BTreeSet<RegisterId>,
    /// The bounds of the variables of the loops around the statement that is visited.
    bounds: BTreeMap<RegisterId, Range<i64>>,
    found: Elements,
}

impl Walk<'_> {
    /// Adds what the access unit stores to.
    fn store(&mut self, action: &Action) {
        match action {
            Action::Store { addr, .. } => {
                let place = Place::of(addr, |index| stream_bounds(self.program, *index));
                self.found.written.push(place);
            }
            Action::Traverse(unit) => {
                let unit = &self.program.units[unit.index()];
                let events = [&unit.beg, &unit.ite, &unit.end].into_iter().flatten();
                events.for_each(|action| self.store(action));
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
                    self.write(addr);
                    self.read(value);
                }
                Stmt::Accumulate(_, addr, value) => {
                    self.found.read.push(self.place(addr));
                    self.write(addr);
                    self.read(value);
                }
                Stmt::Matmul { out, a, b, .. } => {
                    self.found.read.extend([out, a, b].map(|addr| self.place(addr)));
                    [a, b].into_iter().flat_map(Addr::expressions).for_each(|x| self.read(x));
                    self.write(out);
                }
                Stmt::For(counted) | Stmt::Walk(_, counted) => self.repeat(counted),
                Stmt::Pop(_) | Stmt::Prefetch(..) => {}
            }
        }
    }

    /// Adds what a loop reads and writes.
    fn repeat(&mut self, counted: &Loop) {
        let Loop { var, lo, hi, body, .. } = counted;
        [lo, hi].into_iter().for_each(|value| self.read(value));
        let (lo, hi) = (self.bounds_of(lo), self.bounds_of(hi));
        if let (Some(lo), Some(hi), true) = (lo, hi, self.counters.contains(var)) {
            self.bounds.insert(*var, lo.start..hi.end - 1);
        }
        self.perform(body);
        self.bounds.remove(var);
    }

    /// Adds what an expression loads.
    fn read(&mut self, value: &Expr) {
        let mut loaded = Vec::new();
        value.walk(&mut |part| {
            if let Expr::Load(addr) = part {
                loaded.push(self.place(addr));
            }
        });
        self.found.read.extend(loaded);
    }

    /// Adds an address that is written, and what its indices load.
    fn write(&mut self, addr: &Addr<Expr>) {
        self.found.written.push(self.place(addr));
        addr.expressions().for_each(|index| self.read(index));
    }

    fn place(&self, addr: &Addr<Expr>) -> Place {
        Place::of(addr, |index| self.bounds_of(index))
    }

    /// Returns the bounds of a whole number, if they are known.
    fn bounds_of(&self, value: &Expr) -> Option<Range<i64>> {
        match value {
            Expr::Const(value) => alone(*value),
            Expr::Register(register) => self.bounds.get(register).cloned(),
            Expr::Binary(op, a, b) => combined(*op, self.bounds_of(a)?, self.bounds_of(b)?),
            _ => None,
        }
    }
}

/// Returns the bounds of a stream of whole numbers, if they are known.
fn stream_bounds(program: &Program, stream: StreamId) -> Option<Range<i64>> {
    match program.streams[stream.index()].kind {
        StreamKind::Const(value) => alone(value),
        StreamKind::IndVar(unit) => {
            let unit = &program.units[unit.index()];
            let (lo, hi) = (stream_bounds(program, unit.lo)?, stream_bounds(program, unit.hi)?);
            Some(lo.start..hi.end - 1)
        }
        StreamKind::Alu { op, a, b } => {
            combined(op, stream_bounds(program, a)?, stream_bounds(program, b)?)
        }
        _ => None,
    }
}

/// Returns the bounds of one number.
fn alone(value: Scalar) -> Option<Range<i64>> {
    let value = value.as_i64()?;
    Some(value..value.checked_add(1)?)
}

/// Returns the bounds of a sum, a difference or a product of numbers with bounds.
fn combined(op: BinaryOp, a: Range<i64>, b: Range<i64>) -> Option<Range<i64>> {
    let of: fn(i64, i64) -> Option<i64> = match op.linear()? {
        Linear::Sum => i64::checked_add,
        Linear::Difference => i64::checked_sub,
        Linear::Product => i64::checked_mul,
    };
    let corners = iproduct!([a.start, a.end - 1], [b.start, b.end - 1]);
    let corners = corners.map(|(a, b)| of(a, b)).collect::<Option<Vec<_>>>()?;
    let (least, most) = corners.into_iter().minmax().into_option()?;
    Some(least..most.checked_add(1)?)
}

impl Place {
    fn of<I>(addr: &Addr<I>, bounds: impl Fn(&I) -> Option<Range<i64>>) -> Place {
        let last = addr.index.len().saturating_sub(1);
        let range = |(at, index): (usize, &I)| {
            let Range { start, end } = bounds(index)?;
            let run = match at {
                at if at == last => &addr.lanes,
                at if at + 1 == last => &addr.rows,
                _ => &None,
            };
            let Some(run) = run else { return Some(start..end) };
            let end = end.checked_add(i64::from(run.count) - 1)?;
            let limit = bounds(&run.limit).map_or(end, |limit| limit.end - 1);
            Some(start..end.min(limit))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dlc::Lanes;

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
        // The second 32 columns of rows of 50, in vectors of 16 that end at the 50th.
        let looped = |from: i64, to: i64| {
            let var = RegisterId(1);
            let mut addr = lanes(1, Expr::Register(RegisterId(0)), 0);
            addr.index[2] = Expr::sum(Expr::Register(var), number(from));
            addr.lanes = Some(Lanes { count: 16, limit: number(to) });
            let body = vec![Stmt::Store(addr, number(0))];
            Stmt::For(Loop { var, lo: number(0), hi: number(to - from), step: 16, body })
        };
        assert!(apart(looped(0, 50), looped(50, 100)));
        assert!(!apart(looped(0, 50), looped(49, 100)));
        assert!(!apart(adds(0), store(number(0), 0)));
        assert!(!apart(copy(0), copy(0)));
        assert!(apart(copy(0), store(number(1), 0)));
        assert!(!apart(copy(0), store(number(0), 0)));
    }
}
