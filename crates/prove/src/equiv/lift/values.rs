//! Translates streams, expressions and addresses of a DLC program to terms of one processor.

use super::{Lift, NoStatement};
use egg::{Id, Language};
use ember_language::sexp::deeper;
use ember_language::term::Head;
use ember_targets::dlc::{Addr, Expr, SizeId, StreamId, StreamKind, TensorId};
use ember_values::primitive::form::{Form, View};
use ember_values::scalar::DType;
use std::collections::BTreeSet;

impl Lift<'_> {
    /// Returns the current value of a stream.
    pub(super) fn stream(&mut self, id: StreamId) -> Result<Id, NoStatement> {
        deeper(|| self.stream_here(id))
    }

    fn stream_here(&mut self, id: StreamId) -> Result<Id, NoStatement> {
        let program = self.program;
        let stream = &program.streams[id.index()];
        Ok(match &stream.kind {
            StreamKind::Const(value) => self.make().number(*value),
            StreamKind::Size(size) => self.size(*size),
            StreamKind::IndVar(unit) => {
                let variable = self.units.get(unit).copied();
                let variable = variable.ok_or(NoStatement::IdleLoop)?;
                self.make().iv(variable)
            }
            StreamKind::Mem { addr, .. } => {
                let address = self.place(addr, false, &mut |l, s| l.stream(*s))?;
                self.make().load(address)
            }
            StreamKind::Broadcast(from) => {
                let x = self.stream(*from)?;
                self.make().broadcast(stream.ty.lanes as usize, x)
            }
            StreamKind::IndexCast(from) => {
                let x = self.stream(*from)?;
                self.make().cast(DType::I64, x)
            }
            StreamKind::Alu { op, a, b } => {
                let (a, b) = (self.stream(*a)?, self.stream(*b)?);
                self.make().binary(*op, a, b)
            }
        })
    }

    /// Returns the current value of an expression of the execute unit.
    pub(super) fn value(&mut self, value: &Expr) -> Result<Id, NoStatement> {
        deeper(|| self.value_here(value))
    }

    fn value_here(&mut self, value: &Expr) -> Result<Id, NoStatement> {
        Ok(match value {
            Expr::Register(register) => self.registers[register.index()].ok_or_else(|| {
                NoStatement::Register(self.program.registers[register.index()].name.clone())
            })?,
            Expr::Const(value) => self.make().number(*value),
            Expr::Size(size) => self.size(*size),
            Expr::Load(addr) => {
                let address = self.place(addr, false, &mut |l, e| l.value(e))?;
                self.make().load(address)
            }
            Expr::Unary(op, x) => {
                let x = self.value(x)?;
                self.make().unary(*op, x)
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                self.make().binary(*op, a, b)
            }
            Expr::Select(c, a, b) => {
                let (c, a, b) = (self.value(c)?, self.value(a)?, self.value(b)?);
                self.make().select(c, [a, b])
            }
            Expr::Fold(op, x) => {
                let x = self.value(x)?;
                self.active(x)?;
                self.make().fold(*op, x)
            }
            Expr::Cast(dtype, x) => {
                let x = self.value(x)?;
                self.make().cast(*dtype, x)
            }
            Expr::Broadcast(lanes, x) => {
                let x = self.value(x)?;
                self.make().broadcast(*lanes as usize, x)
            }
            Expr::Iota(lanes, base) => {
                let base = self.value(base)?;
                let mut make = self.make();
                let count = make.int((*lanes).into());
                let end = make.sum(base, count);
                make.lanes(*lanes as usize, end, base)
            }
        })
    }

    fn size(&mut self, size: SizeId) -> Id {
        let program = self.program;
        self.make().size(&program.sizes[size.index()])
    }

    /// Returns a tensor. A tensor that an earlier part of the program wrote is read as frozen, as models read it.
    pub(super) fn tensor(&mut self, id: TensorId, written: bool) -> Id {
        let tensor = &self.program.tensors[id.index()];
        let out = self.make().root(&tensor.name, tensor.writable());
        let before = self.before.contains(&id) && !self.writing.contains(&id);
        match tensor.writable() && !written && before {
            true => self.make().frozen(out),
            false => out,
        }
    }

    /// Returns an address, with indices translated by `index`.
    pub(super) fn place<I>(
        &mut self,
        addr: &Addr<I>,
        written: bool,
        index: &mut dyn FnMut(&mut Self, &I) -> Result<Id, NoStatement>,
    ) -> Result<Id, NoStatement> {
        let mut at = self.tensor(addr.tensor, written);
        let last = addr.index.len().saturating_sub(1);
        for (place, i) in addr.index.iter().enumerate() {
            let mut i = index(self, i)?;
            if let Some(lanes) = addr.lanes.as_ref().filter(|_| place == last) {
                let limit = index(self, &lanes.limit)?;
                i = self.make().lanes(lanes.count as usize, limit, i);
            }
            at = self.make().at(at, &[i]);
        }
        Ok(at)
    }

    /// Returns the runs of lanes in a term.
    fn runs(&self, term: Id) -> Vec<Id> {
        let mut found = Vec::new();
        let mut open = vec![term];
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop() {
            if self.run(id).is_some() {
                found.push(id);
            }
            open.extend(self.node(id).children().iter().filter(|c| seen.insert(**c)));
        }
        found
    }

    /// Checks that a value has the same lanes as the run to which it is written. The machine fills other lanes with
    /// zeros, which the term does not express.
    fn same_lanes(&self, address: Id, value: Id) -> Result<(), NoStatement> {
        let span = |run: Id| {
            let [_, hi, base] = self.run(run)?;
            Some(self.span(hi, base))
        };
        let own = match self.form(address) {
            Some(Form::View { view: View::At(index), .. }) => span(index),
            _ => None,
        };
        let fits = |run: Id| (own.is_some() && span(run) == own) || self.full(run);
        match self.runs(value).into_iter().all(fits) {
            true => Ok(()),
            false => Err(NoStatement::UnloadedLanes),
        }
    }

    /// Checks the lanes of all writes and folds of a whole program. While a loop is read, the values that registers had
    /// before it are unknown, and with them their lanes.
    pub(super) fn lanes_fit(&self, root: Id) -> Result<(), NoStatement> {
        let mut open = vec![root];
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop() {
            let form = self.form(id);
            if let Some(Form::Write { address, value, .. }) = form {
                self.same_lanes(address, value)?;
            } else if let Some([_, x]) = form.and_then(Form::as_fold) {
                self.active(x)?;
            }
            open.extend(self.node(id).children().iter().filter(|child| seen.insert(**child)));
        }
        Ok(())
    }

    /// Checks that all lanes of a value are loaded, because a fold counts the zeros in the others.
    fn active(&self, value: Id) -> Result<(), NoStatement> {
        match self.runs(value).into_iter().all(|run| self.full(run)) {
            true => Ok(()),
            false => Err(NoStatement::InactiveFold),
        }
    }

    fn number(&self, id: Id) -> Option<i64> {
        match self.node(id).head() {
            Head::Int(n) => Some(n),
            Head::Op(_) | Head::Real(_) => None,
        }
    }

    /// Returns the bound and the start of a run without addends that both have in common.
    fn span(&self, hi: Id, base: Id) -> Span {
        let (mut hi, mut base) = (Bound { term: Some(hi), plus: 0 }, base);
        loop {
            let sum = |id: Id| self.sum(id);
            let Some([k, rest]) = sum(base) else { break };
            match (hi.term.and_then(sum), self.number(k)) {
                (Some([other, more]), _) if other == k => hi.term = Some(more),
                (_, Some(k)) if hi.term.is_none_or(|id| self.number(id).is_some()) => {
                    let n = hi.term.and_then(|id| self.number(id)).unwrap_or(0);
                    let Some(plus) = n.checked_add(hi.plus).and_then(|n| n.checked_sub(k)) else {
                        break;
                    };
                    hi = Bound { term: None, plus };
                }
                _ => break,
            }
            base = rest;
        }
        if let Some(n) = hi.term.and_then(|id| self.number(id)) {
            hi = Bound { term: None, plus: n };
        }
        // Between two numbers, only the distance matters.
        let start = self.number(base).filter(|_| hi.term.is_none());
        match start.and_then(|start| hi.plus.checked_sub(start)) {
            Some(plus) => Span { hi: Bound { term: None, plus }, base: None },
            None => Span { hi, base: Some(base) },
        }
    }

    /// Returns the number of lanes that count up, the bound of active lanes and the number from which they count.
    fn run(&self, id: Id) -> Option<[Id; 3]> {
        match self.form(id)? {
            Form::Spread { lanes, x, below } => Some([lanes, below?, x]),
            _ => None,
        }
    }

    /// Returns true if all lanes of a run are known to be active.
    fn full(&self, run: Id) -> bool {
        let Some([count, hi, base]) = self.run(run) else { return false };
        let Span { hi: Bound { term, plus }, base: start } = self.span(hi, base);
        let Some(count) = self.number(count) else { return false };
        // The bound of the run is its start plus its number of lanes.
        if let Some([a, b]) = self.sum(hi)
            && a == base
            && self.number(b) == Some(count)
        {
            return true;
        }
        let reaches =
            |from: i64| term.is_none() && from.checked_add(count).is_some_and(|end| end <= plus);
        let Some(start) = start else { return reaches(0) };
        if let Some(from) = self.number(start) {
            return reaches(from);
        }
        let Some(variable) = self.operators.iv(&self.node(start)) else { return false };
        let Some([_, lo, end, step]) = self.operators.variable(&self.node(variable)) else {
            return false;
        };
        let (Some(lo), Some(end), Some(step)) =
            (self.number(lo), self.number(end), self.number(step))
        else {
            return false;
        };
        // It suffices that the run at the last index of the loop is full.
        let last = end.checked_sub(1).and_then(|n| n.checked_sub(lo)).filter(|n| *n >= 0);
        last.is_none_or(|n| reaches(lo + n / step.max(1) * step))
    }
}

/// The bound of a run: a term, or a number if there is no term.
#[derive(PartialEq)]
struct Bound {
    term: Option<Id>,
    plus: i64,
}

/// A run of lanes, by its bound and its start.
#[derive(PartialEq)]
struct Span {
    hi: Bound,
    /// The start of the run; `None` for 0.
    base: Option<Id>,
}
