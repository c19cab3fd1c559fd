//! Evaluation: values, statements, and the loops around them. Addresses are in [`super::memory`],
//! whole tensors in [`super::tensors`].

use super::op::{At, Loop, Op};
use super::value::Value;
use super::{Bound, Error, Interpreter};
use ember_language::term::Head;
use ember_values::scalar::{BinaryOp, DType, Scalar, fold_lanes};

/// Stack that one level of a term may take, and by how much the stack grows where less is left.
pub(super) const RED_ZONE: usize = 64 << 10;
pub(super) const SEGMENT: usize = 1 << 20;

/// The longest vector.
const MAX_LANES: i64 = 1 << 16;

impl Interpreter {
    /// Counts one step.
    pub(super) fn step(&mut self) -> Result<(), Error> {
        self.steps += 1;
        if self.steps > self.limit { Err(Error::StepLimit(self.limit)) } else { Ok(()) }
    }

    /// The value of the node at a position.
    pub(super) fn value(&mut self, at: At) -> Result<Value, Error> {
        self.step()?;
        match self.program.ops[at] {
            Op::Constant(x) => Ok(Value::Scalar(x)),
            Op::Iv { var, stream } => self.variable(var, stream),
            _ => stacker::maybe_grow(RED_ZONE, SEGMENT, || self.compound_value(at)),
        }
    }

    /// The value of a node that has operands.
    fn compound_value(&mut self, at: At) -> Result<Value, Error> {
        match self.program.ops[at] {
            Op::Load { address, stream } => self.load(address, stream),
            Op::Fetched { ahead, address } => {
                self.load(ahead, true)?;
                self.load(address, false)
            }
            Op::Binary { op, a, b, stream } => {
                let operands = [self.value(a)?, self.value(b)?];
                self.scalar_stream(at, stream, &operands)?;
                self.lanewise(at, operands, |[a, b]| op.apply(a, b))
            }
            Op::Unary { op, x } => {
                let x = [self.value(x)?];
                self.lanewise(at, x, |[x]| op.apply(x))
            }
            Op::Fold { op, x } => self.fold_lanes(at, op, x),
            Op::Map { f, x } => {
                let x = self.scalar(x)?;
                self.mapped(at, f, x).map(Value::Scalar)
            }
            Op::Select { c, a, b } => {
                let operands = [self.value(c)?, self.value(a)?, self.value(b)?];
                self.lanewise(at, operands, |[c, a, b]| {
                    let first = c.as_i64()? != 0;
                    (a.dtype() == b.dtype()).then_some(if first { a } else { b })
                })
            }
            Op::Cast { to, x, stream } => {
                let x = [self.value(x)?];
                self.scalar_stream(at, stream, &x)?;
                self.lanewise(at, x, |[x]| Some(x.cast(to)))
            }
            Op::Convert { like, x } => {
                let to = self.type_of(like)?;
                let x = [self.value(x)?];
                self.lanewise(at, x, |[x]| Some(x.cast(to)))
            }
            Op::Identity { op, like } => {
                let dtype = self.type_of(like)?;
                let identity = op.identity(dtype).map(Value::Scalar);
                identity.ok_or_else(|| Error::types(op.name().to_string(), &[dtype]))
            }
            Op::One(like) => {
                let dtype = self.type_of(like)?;
                Ok(Value::Scalar(Scalar::from_f64(dtype, 1.0)))
            }
            Op::Dim { of, k } => self.dimension(of, k),
            Op::Reduce { op, over, start, body } => {
                let mut sum = self.value(start)?;
                self.each(over, |this| {
                    let x = this.value(body)?;
                    let before = std::mem::replace(&mut sum, Value::Scalar(Scalar::I64(0)));
                    sum = this.fold(at, op, before, x)?;
                    Ok(())
                })?;
                Ok(sum)
            }
            Op::Broadcast { n, x } => {
                let n = self.lane_count(n)?;
                let x = self.scalar(x)?;
                Ok(Value::Lanes(vec![Some(x); n]))
            }
            Op::Lanes { n, hi, x } => {
                let n = self.lane_count(n)?;
                let (hi, x) = (self.index(hi)?, self.index(x)?);
                let lane = |k: usize| x.checked_add(k as i64).filter(|i| *i < hi).map(Scalar::I64);
                Ok(Value::Lanes((0..n).map(lane).collect()))
            }
            Op::Element { of, index, rank } => self.element(of, &index[..rank.min(3)]),
            Op::Extent { of, k } => self.extent(of, k),
            Op::Vec { v, e, n, hi, x } => {
                let mut lanes = Vec::new();
                self.block(v, e, n, hi, |this, active| {
                    lanes.push(if active { Some(this.scalar(x)?) } else { None });
                    Ok(())
                })?;
                Ok(Value::Lanes(lanes))
            }
            Op::Rename { x, y, t } => self.renamed(x, y, |this| this.value(t)),
            Op::Fix { x, v, t } => self.fixed(x, v, |this| this.value(t)),
            Op::After { s, t } => self.after(s, |this| this.value(t)),
            _ => Err(self.wrong(at, "a value")),
        }
    }

    /// Runs the statement at a position.
    pub(super) fn statement(&mut self, at: At) -> Result<(), Error> {
        self.step()?;
        stacker::maybe_grow(RED_ZONE, SEGMENT, || match self.program.ops[at] {
            Op::Skip => Ok(()),
            Op::Seq { a, b } => {
                self.statement(a)?;
                self.statement(b)
            }
            Op::For { over, body } => self.each(over, |this| this.statement(body)),
            Op::Store { address, value } => {
                let address = self.address(address)?;
                let value = self.value(value)?;
                self.store_lanes(at, address, value)
            }
            Op::Accumulate { op, address, value } => {
                let address = self.address(address)?;
                let value = self.value(value)?;
                self.accumulate(at, op, address, value)
            }
            Op::Output { to, part, from } => self.output(to, part, from),
            Op::Barrier => {
                self.barrier();
                Ok(())
            }
            Op::Matmul { out, a, b, transposed } => self.matmul(at, out, a, b, transposed),
            Op::Vec { v, e, n, hi, x } => self
                .block(v, e, n, hi, |this, active| if active { this.statement(x) } else { Ok(()) }),
            Op::Rename { x, y, t } => self.renamed(x, y, |this| this.statement(t)),
            Op::Fix { x, v, t } => self.fixed(x, v, |this| this.statement(t)),
            Op::After { s, t } => self.after(s, |this| this.statement(t)),
            Op::Forget { of, s } => {
                self.statement(s)?;
                self.clear(of)
            }
            _ => Err(self.wrong(at, "a statement")),
        })
    }

    /// The value of a loop variable.
    fn variable(&mut self, var: At, stream: bool) -> Result<Value, Error> {
        match self.environment[var] {
            Some(Bound { fed: false, .. }) if stream => Err(Error::Unfed(self.variable_name(var))),
            Some(Bound { value, .. }) => Ok(Value::Scalar(Scalar::I64(value))),
            None if matches!(self.program.ops[var], Op::Var { .. }) => {
                Err(Error::Unbound(self.variable_name(var)))
            }
            None => Err(self.wrong(var, "a loop variable")),
        }
    }

    /// Runs `body` for each iteration of a loop, with its variable bound.
    fn each(
        &mut self,
        over: Loop,
        mut body: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if over.follow.is_some() && self.alone > 0 {
            return Err(Error::Unfed(self.variable_name(over.var)));
        }
        let (lo, hi) = (self.index(over.lo)?, self.index(over.hi)?);
        let step = self.literal(over.step)?;
        if let Some((xlo, xhi)) = over.follow {
            let execute = (self.index(xlo)?, self.index(xhi)?);
            if execute != (lo, hi) {
                return Err(Error::Bounds { access: (lo, hi), execute });
            }
        }
        if step <= 0 {
            return Err(Error::Step(step));
        }
        if lo >= hi {
            return Ok(());
        }
        self.allowed(over.var, lo, hi, step)?;
        let outer = self.environment[over.var];
        self.alone += usize::from(over.alone);
        let mut next = Some(lo);
        let mut result = Ok(());
        while let Some(value) = next.filter(|value| *value < hi && result.is_ok()) {
            self.environment[over.var] = Some(Bound { value, fed: !over.alone });
            result = self.step().and_then(|()| body(self));
            next = value.checked_add(step);
        }
        self.alone -= usize::from(over.alone);
        self.environment[over.var] = outer;
        result
    }

    /// Runs `body` for the lanes of a block, in order, and tells it which are active.
    pub(super) fn block(
        &mut self,
        v: At,
        e: At,
        n: At,
        hi: At,
        mut body: impl FnMut(&mut Self, bool) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let n = self.lane_count(n)?;
        let hi = self.index(hi)?;
        let Value::Scalar(Scalar::I64(first)) = self.variable(v, false)? else {
            return Err(self.wrong(v, "a loop variable"));
        };
        let end = first.saturating_add(n as i64).min(hi);
        if first >= end {
            return Err(Error::EmptyBlock { first, hi });
        }
        self.allowed(e, first, end, 1)?;
        let outer = self.environment[e];
        let mut result = Ok(());
        for lane in 0..n as i64 {
            let value = first.checked_add(lane).filter(|value| *value < end);
            if let Some(value) = value {
                self.environment[e] = Some(Bound { value, fed: true });
            }
            result = self.step().and_then(|()| body(self, value.is_some()));
            if result.is_err() {
                break;
            }
        }
        self.environment[e] = outer;
        result
    }

    /// Runs `body` with variable `x` in the place of `y`.
    pub(super) fn renamed<T>(
        &mut self,
        x: At,
        y: At,
        body: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.variable(y, false)?;
        let Some(bound) = self.environment[y] else { return Err(self.wrong(y, "a loop variable")) };
        self.allowed(x, bound.value, bound.value.saturating_add(1), 1)?;
        let outer = self.environment[x].replace(bound);
        let result = body(self);
        self.environment[x] = outer;
        result
    }

    /// Runs `body` with a value for variable `x`.
    pub(super) fn fixed<T>(
        &mut self,
        x: At,
        v: At,
        body: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let value = self.index(v)?;
        self.allowed(x, value, value.saturating_add(1), 1)?;
        let outer = self.environment[x].replace(Bound { value, fed: true });
        let result = body(self);
        self.environment[x] = outer;
        result
    }

    /// Whether a variable's own range has all of lo, lo + step, … below hi, which are at least one.
    fn allowed(&mut self, var: At, lo: i64, hi: i64, step: i64) -> Result<(), Error> {
        let Op::Var { lo: own_lo, hi: own_hi, step: own_step } = self.program.ops[var] else {
            return Err(self.wrong(var, "a loop variable"));
        };
        let (own_lo, own_hi) = (self.index(own_lo)?, self.index(own_hi)?);
        let own_step = self.literal(own_step)?;
        if own_step <= 0 {
            return Err(Error::Step(own_step));
        }
        let outside = |value| Error::OutsideRange { variable: self.variable_name(var), value };
        let aligned = i128::from(lo) - i128::from(own_lo);
        if lo < own_lo || aligned % i128::from(own_step) != 0 {
            return Err(outside(lo));
        }
        let trips = (i128::from(hi) - i128::from(lo) - 1) / i128::from(step);
        let last = i128::from(lo) + trips * i128::from(step);
        if last >= i128::from(own_hi) || (trips > 0 && step % own_step != 0) {
            return Err(outside(last as i64));
        }
        Ok(())
    }

    /// Adds a value to a reduction; an inactive lane of the value leaves its sum as it is.
    fn fold(&self, at: At, op: BinaryOp, sum: Value, mut x: Value) -> Result<Value, Error> {
        let kept = match (&sum, &mut x) {
            (Value::Lanes(sums), Value::Lanes(lanes)) if sums.len() == lanes.len() => {
                let idle =
                    |(sum, x): (&Option<Scalar>, &Option<Scalar>)| sum.filter(|_| x.is_none());
                sums.iter().zip(lanes.iter()).map(idle).collect()
            }
            _ => Vec::new(),
        };
        let mut folded = self.lanewise(at, [sum, x], |[sum, x]| op.apply(sum, x))?;
        if let Value::Lanes(lanes) = &mut folded {
            for (lane, kept) in lanes.iter_mut().zip(kept) {
                *lane = lane.or(kept);
            }
        }
        Ok(folded)
    }

    /// Applies `f` to scalars, or lane by lane to vectors of one length; a lane that is inactive in
    /// any operand is inactive in the result. `f` gives nothing for types that it does not take.
    pub(super) fn lanewise<const N: usize>(
        &self,
        at: At,
        operands: [Value; N],
        f: impl Fn([Scalar; N]) -> Option<Scalar>,
    ) -> Result<Value, Error> {
        let apply =
            |x: [Scalar; N]| f(x).ok_or_else(|| Error::types(self.head(at), &x.map(Scalar::dtype)));
        let mut lane = [Scalar::I64(0); N];
        let mut scalars = 0;
        let mut lengths = (usize::MAX, 0);
        for (slot, operand) in lane.iter_mut().zip(&operands) {
            if let Value::Scalar(x) = operand {
                *slot = *x;
                scalars += 1;
            }
            let n = operand.lanes();
            lengths = (lengths.0.min(n), lengths.1.max(n));
        }
        if scalars == N {
            return apply(lane).map(Value::Scalar);
        }
        if lengths.0 != lengths.1 {
            return Err(self.lanes_error(at, lengths.0, lengths.1));
        }
        let mut result = Vec::with_capacity(lengths.0);
        for i in 0..lengths.0 {
            let mut active = true;
            for (slot, operand) in lane.iter_mut().zip(&operands) {
                match operand {
                    Value::Lanes(lanes) => match lanes[i] {
                        Some(x) => *slot = x,
                        None => active = false,
                    },
                    Value::Scalar(x) => *slot = *x,
                }
            }
            result.push(if active { Some(apply(lane)?) } else { None });
        }
        Ok(Value::Lanes(result))
    }

    /// Lanes as one scalar, as the vector unit folds them.
    fn fold_lanes(&mut self, at: At, op: BinaryOp, x: At) -> Result<Value, Error> {
        let Value::Lanes(lanes) = self.value(x)? else { return Err(self.lanes_error(at, 1, 2)) };
        let lanes: Option<Vec<Scalar>> = lanes.into_iter().collect();
        let mut lanes = lanes.ok_or(Error::InactiveLane)?;
        let dtypes: Vec<DType> = lanes.iter().map(|x| x.dtype()).collect();
        if lanes.windows(2).any(|x| op.apply(x[0], x[1]).is_none_or(|y| y.dtype() != x[0].dtype()))
        {
            return Err(Error::types(self.head(at), &dtypes));
        }
        let folded = fold_lanes(&mut lanes, |a, b| op.apply(a, b).unwrap_or(a));
        folded.map(Value::Scalar).ok_or(Error::LaneCount(0))
    }

    /// The element type of an address, a tensor or a value; only a value is evaluated for it.
    fn type_of(&mut self, like: At) -> Result<DType, Error> {
        match self.program.ops[like] {
            Op::Tensor(_) | Op::Root { .. } | Op::Index { .. } | Op::Freeze { .. } => {
                self.dtype(like)
            }
            Op::Vec { .. } | Op::Rename { .. } | Op::Fix { .. } if self.dtype(like).is_ok() => {
                self.dtype(like)
            }
            _ => {
                let like = match self.value(like)? {
                    Value::Scalar(x) => Some(x),
                    Value::Lanes(lanes) => lanes.into_iter().flatten().next(),
                };
                Ok(like.ok_or(Error::InactiveLane)?.dtype())
            }
        }
    }

    /// The error where the access unit, which computes scalars only, is given a vector.
    fn scalar_stream(&self, at: At, stream: bool, operands: &[Value]) -> Result<(), Error> {
        match operands.iter().map(Value::lanes).max() {
            Some(n) if stream && n > 1 => Err(self.lanes_error(at, n, 1)),
            _ => Ok(()),
        }
    }

    /// The error for numbers of lanes that do not go together.
    pub(super) fn lanes_error(&self, at: At, a: usize, b: usize) -> Error {
        Error::Lanes { operator: self.head(at), found: (a, b) }
    }

    /// The scalar at a position.
    pub(super) fn scalar(&mut self, at: At) -> Result<Scalar, Error> {
        match self.value(at)? {
            Value::Scalar(x) => Ok(x),
            Value::Lanes(lanes) => Err(self.lanes_error(at, lanes.len(), 1)),
        }
    }

    /// The scalar i64 at a position.
    pub(super) fn index(&mut self, at: At) -> Result<i64, Error> {
        match self.scalar(at)? {
            Scalar::I64(x) => Ok(x),
            x => Err(Error::types("an index".to_string(), &[x.dtype()])),
        }
    }

    /// The number at a position; steps and numbers of lanes are known when a program is made.
    fn literal(&self, at: At) -> Result<i64, Error> {
        match self.program.heads[at] {
            Head::Int(n) => Ok(n),
            _ => Err(Error::Sort { expected: "a literal integer", found: self.head(at) }),
        }
    }

    /// The number of lanes at a position.
    fn lane_count(&mut self, at: At) -> Result<usize, Error> {
        let n = self.literal(at)?;
        if !(2..=MAX_LANES).contains(&n) {
            return Err(Error::LaneCount(n));
        }
        Ok(n as usize)
    }

    /// What the variable at a position is called, for messages.
    fn variable_name(&self, at: At) -> String {
        self.program.text(at)
    }

    /// The error for a node that is not of the sort that is needed, or has no meaning at all.
    pub(super) fn wrong(&self, at: At, expected: &'static str) -> Error {
        match self.program.ops[at] {
            Op::Wrong(error) => self.program.errors[error].clone(),
            _ => Error::Sort { expected, found: self.head(at) },
        }
    }
}
