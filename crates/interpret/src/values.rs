//! Values: what each primitive that has one computes. Lanes are in [`super::lanes`], loops in [`super::loops`],
//! whole tensors in [`super::tensors`].

use super::eval::{RED_ZONE, SEGMENT};
use super::op::{At, Does, Op};
use super::value::Value;
use super::{Bound, Error, Interpreter};
use ember_language::term::Head;
use ember_values::operation::Comparison;
use ember_values::primitive::Primitive;
use ember_values::scalar::{BinaryOp, DType, Scalar};

/// The greatest vector width in lanes.
const MAX_LANES: i64 = 1 << 16;

impl Interpreter {
    /// Evaluates the node at a position to a value.
    pub(super) fn value(&mut self, at: At) -> Result<Value, Error> {
        self.step()?;
        let op = self.program.ops[at];
        match op.does {
            Does::Known(x) => Ok(Value::Scalar(x)),
            Does::Given => match self.environment[at] {
                Some(Bound { value, .. }) => Ok(Value::Scalar(Scalar::I64(value))),
                None => Err(self.wrong(at, "a number that is given")),
            },
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
    pub(super) fn compound_value(
        &mut self,
        at: At,
        primitive: Primitive,
        op: &Op,
    ) -> Result<Value, Error> {
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
            Primitive::Ahead => {
                let [later, address] = op.parts();
                self.look(later)?;
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
            Primitive::Choose => {
                let [how, a, b, x, y] = op.parts();
                let word = self.program.name(how);
                let how = Comparison::parse(word)
                    .ok_or_else(|| self.program.unexpected(how, "a comparison"))?;
                let [a, b] = [self.scalar(a)?, self.scalar(b)?];
                let first = how.scalars(a, b);
                let first =
                    first.ok_or_else(|| Error::types(self.head(at), &[a.dtype(), b.dtype()]))?;
                let [x, y] = [self.scalar(x)?, self.scalar(y)?];
                match x.dtype() == y.dtype() {
                    true => Ok(Value::Scalar(if first { x } else { y })),
                    false => Err(Error::types(self.head(at), &[x.dtype(), y.dtype()])),
                }
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

    /// Evaluates all operands.
    pub(super) fn operands<const N: usize>(&mut self, op: &Op) -> Result<[Value; N], Error> {
        let mut values = [const { Value::Scalar(Scalar::I64(0)) }; N];
        for (value, at) in values.iter_mut().zip(op.parts::<N>()) {
            *value = self.value(at)?;
        }
        Ok(values)
    }

    pub(super) fn binary(
        &self,
        at: At,
        op: &Op,
        function: BinaryOp,
        operands: [Value; 2],
    ) -> Result<Value, Error> {
        self.scalar_stream(at, op, &operands)?;
        self.lanewise(at, operands, |[a, b]| function.apply(a, b))
    }

    pub(super) fn cast(&self, at: At, op: &Op, to: DType, x: Value) -> Result<Value, Error> {
        let x = [x];
        self.scalar_stream(at, op, &x)?;
        self.lanewise(at, x, |[x]| Some(x.cast(to)))
    }

    /// Returns the element type of an address, a tensor or a value. Only a value has to be evaluated for this.
    pub(super) fn type_of(&mut self, like: At) -> Result<DType, Error> {
        match self.program.ops[like].does {
            Does::Root(..)
            | Does::Operation(_)
            | Does::Lowered(_)
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
    pub(super) fn literal(&self, at: At) -> Result<i64, Error> {
        match self.program.heads[at] {
            Head::Int(n) => Ok(n),
            _ => Err(Error::Sort { expected: "a literal integer", found: self.head(at) }),
        }
    }

    /// Returns the vector width at a position.
    pub(super) fn lane_count(&mut self, at: At) -> Result<usize, Error> {
        let n = self.literal(at)?;
        if !(2..=MAX_LANES).contains(&n) {
            return Err(Error::LaneCount(n));
        }
        Ok(n as usize)
    }
}
