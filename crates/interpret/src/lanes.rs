//! Lanes: operations lane by lane, and lanes folded into one.

use super::error::Fault;
use super::op::At;
use super::value::Value;
use super::{Error, Interpreter};
use ember_values::scalar::{BinaryOp, DType, Scalar, fold_lanes};

/// Applies `f` to the active lanes, in order.
pub(super) fn each_lane<A: Copy, B>(
    lanes: &[Option<A>],
    mut f: impl FnMut(A) -> Result<B, Fault>,
) -> Result<Vec<Option<B>>, Fault> {
    let mut made = Vec::with_capacity(lanes.len());
    for lane in lanes {
        made.push(match lane {
            Some(x) => Some(f(*x)?),
            None => None,
        });
    }
    Ok(made)
}

impl Interpreter {
    /// Applies `f` to scalars, or lane by lane to vectors of one length. A lane that is inactive in any operand is
    /// inactive in the result. `f` returns `None` for types that it does not accept.
    pub(super) fn lanewise<const N: usize>(
        &self,
        at: At,
        operands: [Value; N],
        f: impl Fn([Scalar; N]) -> Option<Scalar>,
    ) -> Result<Value, Fault> {
        let apply = |x: [Scalar; N]| self.computed_from(at, x, f(x));
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
        // The lanes of the first operand become those of the result.
        let mut lanes = operands.map(|operand| match operand {
            Value::Lanes(lanes) => lanes,
            Value::Scalar(x) => vec![Some(x)],
        });
        for i in 0..lengths.0 {
            let mut active = true;
            for (slot, operand) in lane.iter_mut().zip(&lanes) {
                match operand[i] {
                    Some(x) => *slot = x,
                    None => active = false,
                }
            }
            lanes[0][i] = if active { Some(apply(lane)?) } else { None };
        }
        Ok(Value::Lanes(lanes.into_iter().next().unwrap_or_default()))
    }

    /// Returns the result of an operation on scalars; an error if it does not take their types.
    #[inline]
    pub(super) fn computed_from<const N: usize>(
        &self,
        at: At,
        operands: [Scalar; N],
        result: Option<Scalar>,
    ) -> Result<Scalar, Fault> {
        match result {
            Some(result) => self.rounded(&operands, result),
            None => Err(Error::types(self.head(at), &operands.map(Scalar::dtype))),
        }
    }

    /// Returns true if one of some operands may have several lanes.
    pub(super) fn any_wide<const N: usize>(&self, operands: [At; N]) -> bool {
        operands.iter().any(|at| self.program.ops[*at].wide)
    }

    /// Adds a value to a reduction; the sum keeps its lane if the value's lane is inactive.
    pub(super) fn fold(
        &self,
        at: At,
        op: BinaryOp,
        sum: Value,
        mut x: Value,
    ) -> Result<Value, Fault> {
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

    /// Folds lanes to one scalar, in the order of the vector unit.
    pub(super) fn fold_lanes(&mut self, at: At, op: BinaryOp, x: At) -> Result<Scalar, Fault> {
        let Value::Lanes(lanes) = self.value(x)? else { return Err(self.lanes_error(at, 1, 2)) };
        let lanes: Option<Vec<Scalar>> = lanes.into_iter().collect();
        let mut lanes = lanes.ok_or(Error::InactiveLane)?;
        let dtypes: Vec<DType> = lanes.iter().map(|x| x.dtype()).collect();
        if lanes.windows(2).any(|x| op.apply(x[0], x[1]).is_none_or(|y| y.dtype() != x[0].dtype()))
        {
            return Err(Error::types(self.head(at), &dtypes));
        }
        let mut fault = None;
        let folded = fold_lanes(&mut lanes, |a, b| {
            let sum = self.rounded(&[a, b], op.apply(a, b).unwrap_or(a));
            sum.unwrap_or_else(|error| {
                fault = Some(error);
                a
            })
        });
        match fault {
            Some(error) => Err(error),
            None => folded.ok_or_else(|| Error::LaneCount(0).into()),
        }
    }

    /// Returns an error if the access unit, which computes only scalars, receives a vector.
    pub(super) fn scalar_stream(&self, at: At, operands: &[Value]) -> Result<(), Fault> {
        match operands.iter().map(Value::lanes).max() {
            Some(n) if self.program.ops[at].is_stream() && n > 1 => Err(self.lanes_error(at, n, 1)),
            _ => Ok(()),
        }
    }

    /// Returns the error for numbers of lanes that do not match.
    pub(super) fn lanes_error(&self, at: At, a: usize, b: usize) -> Fault {
        Error::Lanes { operator: self.head(at), found: (a, b) }.into()
    }
}
