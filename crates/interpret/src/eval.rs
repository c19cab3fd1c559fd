//! Evaluation of values, statements and loops. Addresses are in [`super::memory`], whole tensors in [`super::tensors`].

use super::op::{At, Does, Loop, Op};
use super::outputs::Part;
use super::value::Value;
use super::{Bound, Error, Interpreter};
use ember_language::term::Head;
use ember_values::primitive::Primitive;
use ember_values::scalar::{BinaryOp, DType, Scalar, fold_lanes};

/// The stack that one level of a term may use, and the amount by which the stack grows if less is left, in bytes.
pub(super) const RED_ZONE: usize = 64 << 10;
pub(super) const SEGMENT: usize = 1 << 20;

/// The greatest vector width in lanes.
const MAX_LANES: i64 = 1 << 16;

impl Interpreter {
    /// Counts one step; an error beyond the limit.
    pub(super) fn step(&mut self) -> Result<(), Error> {
        self.steps += 1;
        if self.steps > self.limit { Err(Error::StepLimit(self.limit)) } else { Ok(()) }
    }

    /// Evaluates the node at a position to a value.
    pub(super) fn value(&mut self, at: At) -> Result<Value, Error> {
        self.step()?;
        let op = self.program.ops[at];
        match op.does {
            Does::Known(x) => Ok(Value::Scalar(x)),
            Does::Primitive(Primitive::Iv) => {
                let [variable] = op.parts();
                self.variable(variable, op.is_stream())
            }
            Does::Primitive(primitive) => {
                stacker::maybe_grow(RED_ZONE, SEGMENT, || self.compound_value(at, primitive, &op))
            }
            _ => Err(self.wrong(at, "a value")),
        }
    }

    /// Evaluates a node that has operands.
    fn compound_value(&mut self, at: At, primitive: Primitive, op: &Op) -> Result<Value, Error> {
        match primitive {
            Primitive::Load => {
                let [address] = op.parts();
                self.load(address, op.is_stream())
            }
            Primitive::Fetched => {
                let [ahead, address] = op.parts();
                self.load(ahead, true)?;
                self.load(address, false)
            }
            Primitive::Unary(function) => {
                let operands = self.operands(op)?;
                self.lanewise(at, operands, |[x]| function.apply(x))
            }
            Primitive::Binary(function) => {
                let operands = self.operands(op)?;
                self.binary(at, op, function, operands)
            }
            Primitive::Apply => {
                let [function, a, b] = op.parts();
                let function = self.program.binary_op(function)?;
                let operands = [self.value(a)?, self.value(b)?];
                self.binary(at, op, function, operands)
            }
            Primitive::Fold => {
                let [function, x] = op.parts();
                self.fold_lanes(at, self.program.binary_op(function)?, x)
            }
            Primitive::Map => {
                let [function, x] = op.parts();
                let function = self.function(function)?;
                let x = self.scalar(x)?;
                self.mapped(at, function, x).map(Value::Scalar)
            }
            Primitive::Select => {
                let operands = self.operands(op)?;
                self.lanewise(at, operands, |[condition, a, b]| {
                    let first = condition.as_i64()? != 0;
                    (a.dtype() == b.dtype()).then_some(if first { a } else { b })
                })
            }
            Primitive::Cast => {
                let [to, x] = op.parts();
                let to = self.program.dtype(to)?;
                let x = self.value(x)?;
                self.cast(at, op, to, x)
            }
            Primitive::IndexCast => {
                let [x] = self.operands(op)?;
                self.cast(at, op, DType::I64, x)
            }
            Primitive::Convert => {
                let [like, x] = op.parts();
                let to = self.type_of(like)?;
                let x = self.value(x)?;
                self.cast(at, op, to, x)
            }
            Primitive::Identity => {
                let [function, like] = op.parts();
                let function = self.program.binary_op(function)?;
                let dtype = self.type_of(like)?;
                let identity = function.identity(dtype).map(Value::Scalar);
                identity.ok_or_else(|| Error::types(function.name().to_string(), &[dtype]))
            }
            Primitive::One => {
                let [like] = op.parts();
                let dtype = self.type_of(like)?;
                Ok(Value::Scalar(Scalar::from_f64(dtype, 1.0)))
            }
            Primitive::Dim => {
                let [of, k] = op.parts();
                self.dimension(of, k)
            }
            Primitive::Reduce => self.reduce(at, op),
            Primitive::Broadcast => {
                let [n, x] = op.parts();
                let n = self.lane_count(n)?;
                let x = self.scalar(x)?;
                Ok(Value::Lanes(vec![Some(x); n]))
            }
            Primitive::Lanes => {
                let [n, hi, x] = op.parts();
                let n = self.lane_count(n)?;
                let (hi, x) = (self.index(hi)?, self.index(x)?);
                let lane = |k: usize| x.checked_add(k as i64).filter(|i| *i < hi).map(Scalar::I64);
                Ok(Value::Lanes((0..n).map(lane).collect()))
            }
            Primitive::Element => {
                let [of] = op.parts();
                let index: Vec<At> = (1..).map_while(|place| op.part(place)).collect();
                self.element(of, &index)
            }
            Primitive::Extent => {
                let [of, k] = op.parts();
                self.extent(of, k)
            }
            Primitive::Vec => {
                let [v, e, n, hi, x] = op.parts();
                let mut lanes = Vec::new();
                self.block(v, e, n, hi, |this, active| {
                    lanes.push(if active { Some(this.scalar(x)?) } else { None });
                    Ok(())
                })?;
                Ok(Value::Lanes(lanes))
            }
            _ => match self.elsewhere(primitive, op, Self::value) {
                Some(value) => value,
                None => Err(self.wrong(at, "a value")),
            },
        }
    }

    /// Runs the statement at a position.
    pub(super) fn statement(&mut self, at: At) -> Result<(), Error> {
        self.step()?;
        let op = self.program.ops[at];
        let Some(primitive) = op.primitive() else { return Err(self.wrong(at, "a statement")) };
        stacker::maybe_grow(RED_ZONE, SEGMENT, || self.compound_statement(at, primitive, &op))
    }

    fn compound_statement(&mut self, at: At, primitive: Primitive, op: &Op) -> Result<(), Error> {
        match primitive {
            Primitive::Skip => Ok(()),
            Primitive::Seq => {
                let [first, second] = op.parts();
                self.statement(first)?;
                self.statement(second)
            }
            Primitive::For => {
                let [variable, lo, hi, step, body] = op.parts();
                let over = op.looped([variable, lo, hi, step], [op.part(5), op.part(6)]);
                self.each(over, |this| this.statement(body))
            }
            Primitive::Store => {
                let [address, value] = op.parts();
                let address = self.address(address)?;
                let value = self.value(value)?;
                self.store_lanes(at, address, value)
            }
            Primitive::Accumulate => {
                let [function, address, value] = op.parts();
                let function = self.program.binary_op(function)?;
                let address = self.address(address)?;
                let value = self.value(value)?;
                self.accumulate(at, function, address, value)
            }
            Primitive::Output => {
                let [to, from] = op.parts();
                self.output(to, Part::Whole, from)
            }
            Primitive::OutputSlot => {
                let [to, slot, from] = op.parts();
                self.output(to, Part::Slot(slot), from)
            }
            Primitive::OutputColumns => {
                let [to, column, from] = op.parts();
                self.output(to, Part::Columns(column), from)
            }
            Primitive::Barrier => {
                self.barrier();
                Ok(())
            }
            Primitive::Matmul(transposed) => {
                let [out, a, b] = op.parts();
                self.matmul(at, out, a, b, transposed)
            }
            Primitive::Vec => {
                let [v, e, n, hi, x] = op.parts();
                self.block(v, e, n, hi, |this, active| match active {
                    true => this.statement(x),
                    false => Ok(()),
                })
            }
            Primitive::Forget => {
                let [of, statement] = op.parts();
                self.statement(statement)?;
                self.clear(of)
            }
            _ => match self.elsewhere(primitive, op, Self::statement) {
                Some(done) => done,
                None => Err(self.wrong(at, "a statement")),
            },
        }
    }

    /// Evaluates a term of any sort in another environment or store; `None` for other primitives.
    pub(super) fn elsewhere<T>(
        &mut self,
        primitive: Primitive,
        op: &Op,
        evaluate: fn(&mut Self, At) -> Result<T, Error>,
    ) -> Option<Result<T, Error>> {
        Some(match primitive {
            Primitive::Rename => {
                let [from, to, x] = op.parts();
                self.renamed(from, to, |this| evaluate(this, x))
            }
            Primitive::Fix => {
                let [variable, value, x] = op.parts();
                self.fixed(variable, value, |this| evaluate(this, x))
            }
            Primitive::After => {
                let [first, x] = op.parts();
                self.after(first, |this| evaluate(this, x))
            }
            _ => return None,
        })
    }

    /// Evaluates all operands.
    fn operands<const N: usize>(&mut self, op: &Op) -> Result<[Value; N], Error> {
        let mut values = [const { Value::Scalar(Scalar::I64(0)) }; N];
        for (value, at) in values.iter_mut().zip(op.parts::<N>()) {
            *value = self.value(at)?;
        }
        Ok(values)
    }

    fn binary(
        &self,
        at: At,
        op: &Op,
        function: BinaryOp,
        operands: [Value; 2],
    ) -> Result<Value, Error> {
        self.scalar_stream(at, op, &operands)?;
        self.lanewise(at, operands, |[a, b]| function.apply(a, b))
    }

    fn cast(&self, at: At, op: &Op, to: DType, x: Value) -> Result<Value, Error> {
        let x = [x];
        self.scalar_stream(at, op, &x)?;
        self.lanewise(at, x, |[x]| Some(x.cast(to)))
    }

    /// Runs a loop that folds the values of its body into a start value, in order.
    fn reduce(&mut self, at: At, op: &Op) -> Result<Value, Error> {
        let [function, variable, lo, hi, step, start, body] = op.parts();
        let function = self.program.binary_op(function)?;
        let over = op.looped([variable, lo, hi, step], [op.part(7), op.part(8)]);
        let mut sum = self.value(start)?;
        self.each(over, |this| {
            let x = this.value(body)?;
            let before = std::mem::replace(&mut sum, Value::Scalar(Scalar::I64(0)));
            sum = this.fold(at, function, before, x)?;
            Ok(())
        })?;
        Ok(sum)
    }

    /// Returns the value of a loop variable.
    fn variable(&mut self, var: At, stream: bool) -> Result<Value, Error> {
        match self.environment[var] {
            Some(Bound { fed: false, .. }) if stream => Err(Error::Unfed(self.variable_name(var))),
            Some(Bound { value, .. }) => Ok(Value::Scalar(Scalar::I64(value))),
            None if self.program.ops[var].primitive() == Some(Primitive::Variable) => {
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

    /// Runs `body` for the lanes of a block, in order. The flag of `body` is true for active lanes.
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

    /// Runs `body` with variable `x` bound to the value of `y`.
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

    /// Runs `body` with variable `x` bound to the value of a term.
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

    /// Returns lo, hi and step of the range that a loop variable declares.
    pub(super) fn bounds(&self, var: At) -> Result<[At; 3], Error> {
        match self.program.ops[var].primitive() {
            Some(Primitive::Variable) => {
                let [_, lo, hi, step] = self.program.ops[var].parts();
                Ok([lo, hi, step])
            }
            _ => Err(self.wrong(var, "a loop variable")),
        }
    }

    /// Checks that the declared range of a variable contains lo, lo + step, … below hi. There is at least one of these
    /// values.
    fn allowed(&mut self, var: At, lo: i64, hi: i64, step: i64) -> Result<(), Error> {
        let [own_lo, own_hi, own_step] = self.bounds(var)?;
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

    /// Adds a value to a reduction; the sum keeps its lane if the value's lane is inactive.
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

    /// Applies `f` to scalars, or lane by lane to vectors of one length. A lane that is inactive in any operand is
    /// inactive in the result. `f` returns `None` for types that it does not accept.
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

    /// Folds lanes to one scalar, in the order of the vector unit.
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

    /// Returns the element type of an address, a tensor or a value. Only a value has to be evaluated for this.
    pub(super) fn type_of(&mut self, like: At) -> Result<DType, Error> {
        match self.program.ops[like].does {
            Does::Root(..)
            | Does::Operation(_)
            | Does::Primitive(Primitive::Stored | Primitive::Index | Primitive::Freeze) => {
                self.dtype(like)
            }
            Does::Primitive(Primitive::Vec | Primitive::Rename | Primitive::Fix)
                if self.dtype(like).is_ok() =>
            {
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

    /// Returns an error if the access unit, which computes only scalars, receives a vector.
    fn scalar_stream(&self, at: At, op: &Op, operands: &[Value]) -> Result<(), Error> {
        match operands.iter().map(Value::lanes).max() {
            Some(n) if op.is_stream() && n > 1 => Err(self.lanes_error(at, n, 1)),
            _ => Ok(()),
        }
    }

    /// Returns the error for numbers of lanes that do not match.
    pub(super) fn lanes_error(&self, at: At, a: usize, b: usize) -> Error {
        Error::Lanes { operator: self.head(at), found: (a, b) }
    }

    /// Evaluates the node at a position to a scalar.
    pub(super) fn scalar(&mut self, at: At) -> Result<Scalar, Error> {
        match self.value(at)? {
            Value::Scalar(x) => Ok(x),
            Value::Lanes(lanes) => Err(self.lanes_error(at, lanes.len(), 1)),
        }
    }

    /// Evaluates the node at a position to an i64 scalar.
    pub(super) fn index(&mut self, at: At) -> Result<i64, Error> {
        match self.scalar(at)? {
            Scalar::I64(x) => Ok(x),
            x => Err(Error::types("an index".to_string(), &[x.dtype()])),
        }
    }

    /// Returns the literal integer at a position, such as a step or a vector width, which is a constant of the program.
    fn literal(&self, at: At) -> Result<i64, Error> {
        match self.program.heads[at] {
            Head::Int(n) => Ok(n),
            _ => Err(Error::Sort { expected: "a literal integer", found: self.head(at) }),
        }
    }

    /// Returns the vector width at a position.
    fn lane_count(&mut self, at: At) -> Result<usize, Error> {
        let n = self.literal(at)?;
        if !(2..=MAX_LANES).contains(&n) {
            return Err(Error::LaneCount(n));
        }
        Ok(n as usize)
    }

    /// Returns the text of the variable at a position, for messages.
    fn variable_name(&self, at: At) -> String {
        self.program.text(at)
    }

    /// Returns the error for a node of the wrong sort, or the node's own error if it has no meaning at all.
    pub(super) fn wrong(&self, at: At, expected: &'static str) -> Error {
        match self.program.ops[at].does {
            Does::Wrong(error) => self.program.errors[error].clone(),
            _ => Error::Sort { expected, found: self.head(at) },
        }
    }
}
