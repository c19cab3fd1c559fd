//! Loops: iterations with their variable bound, reductions, blocks of lanes, and the ranges that variables keep to.

use super::error::Fault;
use super::op::{At, Loop};
use super::value::Value;
use super::{Bound, Error, Interpreter};
use ember_targets::tensor::Tensor;
use ember_values::primitive::form;
use ember_values::scalar::Scalar;

/// The number of iterations from which a loop is long: no run of a test has as many steps.
const LONG: u64 = 1 << 32;

/// The number of iterations of a long loop in which it may come to change nothing.
const SETTLING: usize = 4;

impl Interpreter {
    /// Runs a loop that folds the values of its body into a start value, in order.
    pub(super) fn reduce(
        &mut self,
        at: At,
        over: Loop,
        own: form::Loop<At>,
    ) -> Result<Value, Fault> {
        let Some((function, start)) = own.folds else { return Err(self.wrong(at, "a reduction")) };
        let function = self.program.binary_op(function)?;
        let mut sum = self.value(start)?;
        self.each(over, |this| {
            let x = this.value(own.body)?;
            let before = std::mem::replace(&mut sum, Value::Scalar(Scalar::I64(0)));
            sum = this.fold(at, function, before, x)?;
            Ok(())
        })?;
        Ok(sum)
    }

    /// Runs a loop that folds scalars.
    pub(super) fn reduce_scalars(
        &mut self,
        at: At,
        over: Loop,
        own: form::Loop<At>,
    ) -> Result<Scalar, Fault> {
        let Some((function, start)) = own.folds else { return Err(self.wrong(at, "a reduction")) };
        let function = self.program.binary_op(function)?;
        let mut sum = self.scalar(start)?;
        self.each(over, |this| {
            let x = this.scalar(own.body)?;
            sum = this.apply(at, function, sum, x)?;
            Ok(())
        })?;
        Ok(sum)
    }

    /// Returns the value of a loop variable.
    #[inline]
    pub(super) fn variable(&self, var: At, stream: bool) -> Result<i64, Fault> {
        match self.environment[var] {
            Some(Bound { fed: false, .. }) if stream => {
                Err(Error::Unfed(self.variable_name(var)).into())
            }
            Some(Bound { value, .. }) => Ok(value),
            None if self.program.ops[var].range().is_some() => {
                Err(Error::Unbound(self.variable_name(var)).into())
            }
            None => Err(self.wrong(var, "a loop variable")),
        }
    }

    /// Runs a statement for each iteration of a loop. Of a long loop whose iterations are all alike, it runs no more
    /// than the first that changes nothing: no later one does.
    pub(super) fn repeat(&mut self, over: Loop, body: At) -> Result<(), Fault> {
        let mut tries = SETTLING;
        self.until(over, |this, is_long| {
            let observed = this.trace.is_some() || this.noise.is_some();
            if !is_long {
                return this.statement(body).map(|()| true);
            }
            if tries == 0 || observed || this.mentions(body, over.var) {
                return this.endless().and_then(|()| this.statement(body)).map(|()| true);
            }
            tries -= 1;
            let before = this.tensors.clone();
            let others = (this.beyond.clone(), this.written.clone(), this.frozen.clone());
            this.statement(body)?;
            let alike = |(a, b): (&Tensor, &Tensor)| (0..a.len()).all(|at| a.get(at) == b.get(at));
            let settled = before.iter().zip(&this.tensors).all(alike)
                && (&others.0, &others.1, &others.2) == (&this.beyond, &this.written, &this.frozen);
            Ok(!settled)
        })
    }

    /// Fails at once in a long loop if fewer steps are allowed than it has iterations.
    fn endless(&self) -> Result<(), Fault> {
        if self.limit < LONG { Err(Error::StepLimit(self.limit).into()) } else { Ok(()) }
    }

    /// Runs `body` for each iteration of a loop, with its variable bound.
    pub(super) fn each(
        &mut self,
        over: Loop,
        mut body: impl FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.until(over, |this, is_long| {
            if is_long {
                this.endless()?;
            }
            body(this).map(|()| true)
        })
    }

    /// Runs `body` for each iteration of a loop until it returns false. It is told whether the loop is long.
    fn until(
        &mut self,
        over: Loop,
        mut body: impl FnMut(&mut Self, bool) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        if over.follow.is_some() && self.alone > 0 {
            return Err(Error::Unfed(self.variable_name(over.var)).into());
        }
        let (lo, hi) = (self.index(over.lo)?, self.index(over.hi)?);
        let step = self.literal(over.step)?;
        if let Some((xlo, xhi)) = over.follow {
            let execute = (self.index(xlo)?, self.index(xhi)?);
            if execute != (lo, hi) {
                return Err(Error::Bounds { access: (lo, hi), execute }.into());
            }
        }
        if step <= 0 {
            return Err(Error::Step(step).into());
        }
        if lo >= hi {
            return Ok(());
        }
        self.allowed(over.var, lo, hi, step)?;
        let outer = self.environment[over.var];
        self.alone += usize::from(over.alone);
        let (mut next, is_long) = (Some(lo), hi.abs_diff(lo) / step.unsigned_abs() >= LONG);
        let mut result = Ok(true);
        while let (Some(value), Ok(true)) = (next.filter(|value| *value < hi), &result) {
            self.environment[over.var] = Some(Bound { value, fed: !over.alone });
            result = self.step().and_then(|()| body(self, is_long));
            next = value.checked_add(step);
        }
        self.alone -= usize::from(over.alone);
        self.environment[over.var] = outer;
        result.map(|_| ())
    }

    /// Runs `body` for the lanes of a block, in order. The flag of `body` is true for active lanes.
    pub(super) fn block(
        &mut self,
        v: At,
        e: At,
        n: At,
        hi: At,
        mut body: impl FnMut(&mut Self, bool) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let n = self.lane_count(n)?;
        let hi = self.index(hi)?;
        let first = self.variable(v, false)?;
        let end = first.saturating_add(n as i64).min(hi);
        if first >= end {
            return Err(Error::EmptyBlock { first, hi }.into());
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

    /// Returns lo, hi and step of the range that a loop variable declares.
    pub(super) fn bounds(&self, var: At) -> Result<[At; 3], Fault> {
        self.program.ops[var].range().ok_or_else(|| self.wrong(var, "a loop variable"))
    }

    /// Checks that the declared range of a variable contains lo, lo + step, … below hi. There is at least one of these
    /// values.
    pub(super) fn allowed(&mut self, var: At, lo: i64, hi: i64, step: i64) -> Result<(), Fault> {
        let [own_lo, own_hi, own_step] = self.bounds(var)?;
        let (own_lo, own_hi) = (self.index(own_lo)?, self.index(own_hi)?);
        let own_step = self.literal(own_step)?;
        if own_step <= 0 {
            return Err(Error::Step(own_step).into());
        }
        let outside =
            |value| Error::OutsideRange { variable: self.variable_name(var), value }.into();
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

    /// Returns the text of the variable at a position, for messages.
    pub(super) fn variable_name(&self, at: At) -> String {
        self.program.text(at)
    }
}
