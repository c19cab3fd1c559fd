//! Values: what each primitive that has one computes. Lanes are in [`super::lanes`], loops in [`super::loops`],
//! whole tensors in [`super::tensors`].

use super::error::Fault;
use super::op::{At, Does};
use super::value::Value;
use super::{Bound, Error, Interpreter};
use ember_language::term::Head;
use ember_values::operation::Comparison;
use ember_values::primitive::Typing;
use ember_values::primitive::form::{By, Condition, Early, Form, Holder, Number, Operation};
use ember_values::scalar::{BinaryOp, DType, Scalar};

/// The greatest vector width in lanes.
const MAX_LANES: i64 = 1 << 16;

impl Interpreter {
    /// Evaluates the node at a position to a value.
    pub(super) fn value(&mut self, at: At) -> Result<Value, Fault> {
        match self.program.ops[at].wide {
            true => {
                self.step()?;
                self.deeper(at, Self::wide_value)
            }
            false => self.scalar(at).map(Value::Scalar),
        }
    }

    /// Evaluates the node at a position to a scalar.
    pub(super) fn scalar(&mut self, at: At) -> Result<Scalar, Fault> {
        if self.program.ops[at].wide {
            return match self.value(at)? {
                Value::Scalar(x) => Ok(x),
                Value::Lanes(lanes) => Err(self.lanes_error(at, lanes.len(), 1)),
            };
        }
        self.step()?;
        let op = &self.program.ops[at];
        match op.does {
            Does::Known(x) => Ok(x),
            Does::Current(variable) => self.variable(variable, op.is_stream()).map(Scalar::I64),
            Does::Size(place) => self.size_at(place).map(Scalar::I64),
            Does::Given => match self.environment[at] {
                Some(Bound { value, .. }) => Ok(Scalar::I64(value)),
                None => Err(self.wrong(at, "a number that is given")),
            },
            _ => self.deeper(at, Self::compound_scalar),
        }
    }

    /// Evaluates a node that has operands to a scalar.
    fn compound_scalar(&mut self, at: At) -> Result<Scalar, Fault> {
        let op = &self.program.ops[at];
        let Does::Form(form) = &op.does else { return Err(self.wrong(at, "a value")) };
        match *form {
            Form::Loaded { address, early: None } => self.load_one(address, op.is_stream()),
            Form::Loaded { address, early: Some(early) } => {
                self.early(early)?;
                self.load_one(address, false)
            }
            Form::Binary(function, [a, b]) => {
                let function = self.operation(function)?;
                let [a, b] = [self.scalar(a)?, self.scalar(b)?];
                self.apply(at, function, a, b)
            }
            Form::Unary(Operation::Is(function), x) => {
                let x = self.scalar(x)?;
                self.computed_from(at, [x], function.apply(x))
            }
            Form::Unary(Operation::Named(function), x) => {
                let function = self.function(function)?;
                let x = self.scalar(x)?;
                self.mapped(at, function, x)
            }
            Form::Carried { x, to: Some(to) } => {
                let to = self.type_by(to)?;
                let x = self.scalar(x)?;
                self.rounded(&[x], x.cast(to))
            }
            Form::Select {
                condition: Condition::Compared { comparison: how, of: [a, b] },
                of: [x, y],
            } => {
                let word = self.program.name(how);
                let how = Comparison::parse(word)
                    .ok_or_else(|| self.program.unexpected(how, "a comparison"))?;
                let [a, b] = [self.scalar(a)?, self.scalar(b)?];
                let first = how.scalars(a, b);
                let first =
                    first.ok_or_else(|| Error::types(self.head(at), &[a.dtype(), b.dtype()]))?;
                let [x, y] = [self.scalar(x)?, self.scalar(y)?];
                match x.dtype() == y.dtype() {
                    true => Ok(if first { x } else { y }),
                    false => Err(Error::types(self.head(at), &[x.dtype(), y.dtype()])),
                }
            }
            Form::Select { condition: Condition::NotZero(condition), of: [a, b] } => {
                let operands = [self.scalar(condition)?, self.scalar(a)?, self.scalar(b)?];
                self.computed_from(at, operands, chosen(operands))
            }
            Form::Number { value: Number::Start(function), dtype } => {
                let function = self.operation(function)?;
                let dtype = self.type_by(dtype)?;
                let identity = function.identity(dtype);
                identity.ok_or_else(|| Error::types(function.name().to_string(), &[dtype]))
            }
            Form::Extent { of: Holder::Tensor(of), k } if self.is_tensor(of) => {
                self.extent(of, k).map(Scalar::I64)
            }
            Form::Extent { of, k } => self.dimension(of.operand(), k).map(Scalar::I64),
            Form::Loop(own) if own.folds.is_some() => {
                let over = op.looped(own);
                self.reduce_scalars(at, over, own)
            }
            form => {
                if let Some([function, x]) = form.as_fold() {
                    return self.fold_lanes(at, self.program.binary_op(function)?, x);
                }
                if let Some((tensor, index)) = form.as_element() {
                    let index: Vec<At> = index.into_iter().map_while(|i| i).collect();
                    return self.element(tensor, &index);
                }
                match self.elsewhere(form, Self::scalar) {
                    Some(value) => value,
                    None => Err(self.wrong(at, "a value")),
                }
            }
        }
    }

    /// Evaluates a node that may have several lanes to a value.
    fn wide_value(&mut self, at: At) -> Result<Value, Fault> {
        let op = &self.program.ops[at];
        let Does::Form(form) = &op.does else { return Err(self.wrong(at, "a value")) };
        match *form {
            Form::Loaded { address, early: None } => self.load(address, op.is_stream()),
            Form::Loaded { address, early: Some(early) } => {
                self.early(early)?;
                self.load(address, false)
            }
            Form::Unary(Operation::Is(function), x) => {
                let x = self.value(x)?;
                self.lanewise(at, [x], |[x]| function.apply(x))
            }
            Form::Binary(function, [a, b]) => {
                let function = self.operation(function)?;
                let operands = [self.value(a)?, self.value(b)?];
                self.scalar_stream(at, &operands)?;
                self.lanewise(at, operands, |[a, b]| function.apply(a, b))
            }
            Form::Select { condition: Condition::NotZero(condition), of: [a, b] } => {
                let operands = [self.value(condition)?, self.value(a)?, self.value(b)?];
                self.lanewise(at, operands, chosen)
            }
            Form::Carried { x, to: Some(to) } => {
                let to = self.type_by(to)?;
                let x = [self.value(x)?];
                self.scalar_stream(at, &x)?;
                self.lanewise(at, x, |[x]| Some(x.cast(to)))
            }
            Form::Loop(own) if own.folds.is_some() => {
                let over = op.looped(own);
                self.reduce(at, over, own)
            }
            Form::Spread { lanes, x, below: None } => {
                let n = self.lane_count(lanes)?;
                let x = self.scalar(x)?;
                Ok(Value::Lanes(vec![Some(x); n]))
            }
            Form::Spread { lanes, x, below: Some(hi) } => {
                let n = self.lane_count(lanes)?;
                let (hi, x) = (self.index(hi)?, self.index(x)?);
                let lane = |k: usize| x.checked_add(k as i64).filter(|i| *i < hi).map(Scalar::I64);
                Ok(Value::Lanes((0..n).map(lane).collect()))
            }
            Form::Replaced { variable, by: By::Lanes { from, lanes, hi }, x } => {
                let mut values = Vec::new();
                self.block(from, variable, lanes, hi, |this, active| {
                    values.push(if active { Some(this.scalar(x)?) } else { None });
                    Ok(())
                })?;
                Ok(Value::Lanes(values))
            }
            form => match self.elsewhere(form, Self::value) {
                Some(value) => value,
                None => Err(self.wrong(at, "a value")),
            },
        }
    }

    /// Does what precedes a load.
    fn early(&mut self, early: Early<At>) -> Result<(), Fault> {
        match early {
            Early::Fetched(ahead) => self.load(ahead, true).map(drop),
            Early::Asked { later, again, .. } => self.look(later).and_then(|()| self.look(again)),
        }
    }

    /// Returns a binary operation, which an operand may name.
    fn operation(&self, op: Operation<At>) -> Result<BinaryOp, Fault> {
        match op {
            Operation::Is(op) => Ok(op),
            Operation::Named(at) => self.program.binary_op(at),
        }
    }

    /// Returns the element type that a form states.
    fn type_by(&mut self, typing: Typing<At>) -> Result<DType, Fault> {
        match typing {
            Typing::I64 => Ok(DType::I64),
            Typing::Named(to) => self.program.dtype(to),
            Typing::Of(like) => self.type_of(like),
        }
    }

    /// Returns the element type of an address, a tensor or a value. Only a value has to be evaluated for this.
    pub(super) fn type_of(&mut self, like: At) -> Result<DType, Fault> {
        match self.program.ops[like].does {
            Does::Root(place, _) if self.places[place].is_some() => self.dtype(like),
            Does::Form(Form::View { .. }) => self.dtype(like),
            _ if self.is_tensor(like) => self.dtype(like),
            Does::Form(Form::Replaced { .. }) if self.dtype(like).is_ok() => self.dtype(like),
            _ => {
                let like = match self.value(like)? {
                    Value::Scalar(x) => Some(x),
                    Value::Lanes(lanes) => lanes.into_iter().flatten().next(),
                };
                Ok(like.ok_or(Error::InactiveLane)?.dtype())
            }
        }
    }

    /// Evaluates the node at a position to an i64 scalar.
    pub(super) fn index(&mut self, at: At) -> Result<i64, Fault> {
        match self.scalar(at)? {
            Scalar::I64(x) => Ok(x),
            x => Err(Error::types("an index".to_string(), &[x.dtype()])),
        }
    }

    /// Returns the literal integer at a position, such as a step or a vector width, which is a constant of the program.
    pub(super) fn literal(&self, at: At) -> Result<i64, Fault> {
        match self.program.heads[at] {
            Head::Int(n) => Ok(n),
            _ => Err(Error::Sort { expected: "a literal integer", found: self.head(at) }.into()),
        }
    }

    /// Returns the vector width at a position.
    pub(super) fn lane_count(&mut self, at: At) -> Result<usize, Fault> {
        let n = self.literal(at)?;
        if !(2..=MAX_LANES).contains(&n) {
            return Err(Error::LaneCount(n).into());
        }
        Ok(n as usize)
    }
}

/// Returns the first of two numbers of one type if a condition is not 0, else the second.
fn chosen([condition, a, b]: [Scalar; 3]) -> Option<Scalar> {
    let first = condition.as_i64()? != 0;
    (a.dtype() == b.dtype()).then_some(if first { a } else { b })
}
