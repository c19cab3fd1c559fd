//! Values of the execute unit: the lowering of terms to typed expressions. Coupled programs and callbacks share this
//! code; they differ in the form of constants and streams.

use super::DecoupleError;
use super::builder::Lowering;
use egg::Id;
use ember_language::rules::Unit;
use ember_targets::dlc::{Dim, Expr, SizeId, Stmt, StreamId, StreamKind, Type};
use ember_values::primitive::Typing;
use ember_values::primitive::form::{Condition, Early, Form, Number, Operation};
use ember_values::scalar::{BinaryOp, DType, Scalar};

/// The maximum depth of an expression; deeper parts are first stored in a register.
const MAX_DEPTH: u32 = 64;

/// An expression and its type.
#[derive(Clone)]
pub(super) struct Typed {
    pub expr: Expr,
    pub ty: Type,
    depth: u32,
}

impl Typed {
    /// Builds an expression without nested expressions.
    pub fn leaf(expr: Expr, ty: Type) -> Typed {
        Typed { expr, ty, depth: 0 }
    }

    /// Builds an expression from operands of these depths.
    fn over(expr: Expr, ty: Type, operands: &[u32]) -> Typed {
        Typed { expr, ty, depth: 1 + operands.iter().max().unwrap_or(&0) }
    }

    /// Builds a scalar constant.
    pub fn constant(value: Scalar) -> Typed {
        Typed::leaf(Expr::Const(value), Type::scalar(value.dtype()))
    }

    /// Returns true if the value can be an index or a bound.
    pub fn is_index(&self) -> bool {
        self.ty.lanes == 1 && !self.ty.dtype.is_float()
    }
}

impl Lowering<'_> {
    /// Lowers a value to an expression. Statements that it needs first are added to the current body.
    pub(super) fn value(&mut self, id: Id) -> Result<Typed, DecoupleError> {
        if let Some(known) = self.kept.iter().rev().find_map(|kept| kept.get(&id)) {
            return Ok(known.clone());
        }
        let value = self.deeper(id, |l| l.value_here(id))?;
        let twice = value.depth > 0 && value.ty.lanes > 1 && self.terms.is_shared(id);
        let computed = !matches!(value.expr, Expr::Broadcast(..) | Expr::Iota(..));
        if twice && computed && !self.kept.is_empty() {
            let kept = self.in_register("both", value);
            if let Some(innermost) = self.kept.last_mut() {
                innermost.insert(id, kept.clone());
            }
            return Ok(kept);
        }
        if value.depth < MAX_DEPTH { Ok(value) } else { Ok(self.in_register("part", value)) }
    }

    pub(super) fn in_register(&mut self, name: &str, value: Typed) -> Typed {
        let register = self.register(name, value.ty);
        self.block.push(Stmt::Set(register, value.expr));
        Typed::leaf(Expr::Register(register), value.ty)
    }

    /// Lowers an index or a bound, which must be a scalar integer, to i64.
    pub(super) fn index_value(&mut self, id: Id) -> Result<Typed, DecoupleError> {
        let value = self.value(id)?;
        if !value.is_index() {
            return Err(self
                .terms
                .error(id, format!("an index is a scalar integer, not {}", value.ty)));
        }
        Ok(cast(DType::I64, value))
    }

    fn value_here(&mut self, id: Id) -> Result<Typed, DecoupleError> {
        let unit = self.runs_on;
        if unit.is_none() && self.terms.number(id).is_some() {
            return self.constant(id);
        }
        match self.terms.on(id, unit) {
            Some(
                Form::Number { value: Number::Literal(_) | Number::Size(_), .. }
                | Form::Extent { .. },
            ) => self.constant(id),
            Some(Form::Carried { x, to: None }) => self.carried(id, x),
            Some(Form::Iv(var)) => self.loop_value(id, var),
            Some(Form::Number { value: Number::Start(op), .. }) => {
                let (op, dtype) = (self.operation(op)?, self.result(id)?);
                op.identity(dtype)
                    .map(Typed::constant)
                    .ok_or_else(|| self.terms.error(id, "no value is its identity"))
            }
            Some(Form::Carried { x, to: Some(_) }) => {
                let dtype = self.result(id)?;
                Ok(cast(dtype, self.value(x)?))
            }
            Some(Form::Loaded { address, early: None }) => self.load(address),
            Some(Form::Loaded { address, early: Some(Early::Fetched(stream)) }) => {
                self.fetched(stream, address)
            }
            Some(Form::Loaded { address, early: Some(Early::Asked { later, again, level }) }) => {
                for asked in [later, again] {
                    let (asked, _) = self.target(asked)?;
                    let asked = Stmt::Prefetch(asked, self.level(level)?);
                    if !self.block.contains(&asked) {
                        self.block.push(asked);
                    }
                }
                self.load(address)
            }
            Some(Form::Loop(own)) if own.folds.is_some() => self.reduce(id, own),
            Some(Form::Select { condition: Condition::NotZero(c), of: [a, b] }) => {
                let (c, a, b) = (self.value(c)?, self.value(a)?, self.value(b)?);
                let condition = Type { dtype: DType::I64, lanes: a.ty.lanes };
                if a.ty != b.ty || c.ty != condition {
                    let types = format!("selects {} by {}, else {}", a.ty, c.ty, b.ty);
                    return Err(self.terms.error(id, types));
                }
                let expr = Expr::Select(Box::new(c.expr), Box::new(a.expr), Box::new(b.expr));
                Ok(Typed::over(expr, a.ty, &[c.depth, a.depth, b.depth]))
            }
            Some(Form::Fold { op, x }) => {
                let (op, x) = (self.binary_op(op)?, self.value(x)?);
                let ty = Type::scalar(x.ty.dtype);
                if op.result(ty.dtype) != ty.dtype {
                    return Err(self.terms.error(id, "folds with a comparison"));
                }
                Ok(Typed::over(Expr::Fold(op, Box::new(x.expr)), ty, &[x.depth]))
            }
            Some(Form::Spread { lanes, x, below: None }) => {
                let lanes = self.lanes(lanes)?;
                let x = self.value(x)?;
                if x.ty.lanes != 1 {
                    return Err(self.terms.error(id, format!("spreads a scalar, not {}", x.ty)));
                }
                Ok(broadcast(lanes, x))
            }
            Some(Form::Spread { lanes, x, .. }) => {
                let lanes = self.lanes(lanes)?;
                let base = self.index_value(x)?;
                Ok(counting_up(lanes, base))
            }
            Some(Form::Unary(Operation::Is(op), x)) => {
                let x = self.value(x)?;
                if !op.takes(x.ty.dtype) {
                    return Err(self.terms.error(id, format!("is applied to {}", x.ty)));
                }
                Ok(Typed::over(Expr::Unary(op, Box::new(x.expr)), x.ty, &[x.depth]))
            }
            Some(Form::Binary(op, [a, b])) => {
                let (op, a, b) = (self.operation(op)?, self.value(a)?, self.value(b)?);
                self.binary(id, op, a, b)
            }
            _ => Err(self.unexpected(id, "value")),
        }
    }

    /// Lowers a value that means its operand: a popped stream, a held value or a constant. In a coupled program, a
    /// constant is lowered like its operand.
    fn carried(&mut self, id: Id, x: Id) -> Result<Typed, DecoupleError> {
        match (self.terms.info(id).and_then(|info| info.carries_from()), self.runs_on) {
            (Some(Some(Unit::Access)), _) => self.marshalled(x),
            (Some(Some(Unit::Execute)), _) => self.held(id, x),
            (Some(None), Some(_)) => self.constant(x),
            (Some(None), None) => self.value(x),
            (Some(Some(Unit::Both)) | None, _) => Err(self.unexpected(id, "value")),
        }
    }

    /// Returns the element type that the row of a term's primitive states.
    fn result(&mut self, id: Id) -> Result<DType, DecoupleError> {
        match self.terms.result(id) {
            Some(Typing::I64) => Ok(DType::I64),
            Some(Typing::Named(dtype)) => self.dtype(dtype),
            Some(Typing::Of(like)) => self.dtype_like(like),
            None => Err(self.terms.error(id, "has no element type")),
        }
    }

    /// Returns the element type of an address or a value.
    fn dtype_like(&mut self, id: Id) -> Result<DType, DecoupleError> {
        match self.tensor_dtype(id) {
            Ok(dtype) => Ok(dtype),
            Err(_) => self.value(id).map(|x| x.ty.dtype),
        }
    }

    /// Builds arithmetic on two values of one type.
    pub(super) fn binary(
        &self,
        at: Id,
        op: BinaryOp,
        a: Typed,
        b: Typed,
    ) -> Result<Typed, DecoupleError> {
        if a.ty != b.ty {
            let error = self.terms.error(at, format!("combines {} with {}", a.ty, b.ty));
            return Err(error.with_help("operands have one type; cast or broadcast one of them"));
        }
        let ty = Type { dtype: op.result(a.ty.dtype), lanes: a.ty.lanes };
        let depths = [a.depth, b.depth];
        Ok(Typed::over(Expr::Binary(op, Box::new(a.expr), Box::new(b.expr)), ty, &depths))
    }

    /// Returns the value of a loop variable that the execute unit knows.
    fn loop_value(&mut self, id: Id, var: Id) -> Result<Typed, DecoupleError> {
        let frame = self
            .frame_of(var)
            .map_err(|e| DecoupleError { operator: self.terms.node(id).to_string(), ..e })?;
        let register = self.count(frame)?;
        Ok(Typed::leaf(Expr::Register(register), Type::scalar(DType::I64)))
    }

    /// Returns the value of a stream on the execute unit: constants are used directly, all other streams are popped.
    fn marshalled(&mut self, id: Id) -> Result<Typed, DecoupleError> {
        if let Some([n, _, x]) = self.terms.run(id) {
            // The access unit has no stream of lane numbers, so the base is popped instead.
            let lanes = self.lanes(n)?;
            let x = self.stream(x)?;
            let base = cast(DType::I64, self.stream_value(x));
            return Ok(counting_up(lanes, base));
        }
        let stream = self.stream(id)?;
        Ok(self.stream_value(stream))
    }

    /// Returns the value of a stream of the program on the execute unit.
    pub(super) fn stream_value(&mut self, id: StreamId) -> Typed {
        let stream = &self.program.streams[id.index()];
        let ty = stream.ty;
        match stream.kind {
            StreamKind::Const(value) => Typed::constant(value),
            StreamKind::Size(size) => Typed::leaf(Expr::Size(size), ty),
            // The execute unit derives these values itself, so only their source is marshalled.
            StreamKind::Broadcast(from) => {
                let x = self.stream_value(from);
                broadcast(ty.lanes, x)
            }
            StreamKind::IndexCast(from) => cast(DType::I64, self.stream_value(from)),
            _ => Typed::leaf(Expr::Register(self.popped(id)), ty),
        }
    }

    /// Returns the stream that [`Self::stream_value`] pops for a stream, or the constant that it uses.
    pub(super) fn read_from(&self, id: StreamId) -> StreamId {
        match self.program.streams[id.index()].kind {
            // A stream is built from earlier streams, so the recursion ends.
            StreamKind::Broadcast(from) | StreamKind::IndexCast(from) => self.read_from(from),
            _ => id,
        }
    }

    /// Lowers a constant of the run: a literal, a size, an extent, or arithmetic on them.
    pub(super) fn constant(&mut self, id: Id) -> Result<Typed, DecoupleError> {
        self.deeper(id, |l| l.constant_here(id))
    }

    fn constant_here(&mut self, id: Id) -> Result<Typed, DecoupleError> {
        if let Some(n) = self.terms.int(id) {
            return Ok(Typed::constant(Scalar::I64(n)));
        }
        match self.terms.on(id, None) {
            Some(Form::Number { value: Number::Literal(number), .. }) => {
                let value = self
                    .terms
                    .number(number)
                    .ok_or_else(|| self.terms.error(number, "is not a number"))?;
                Ok(Typed::constant(Scalar::from_f64(self.result(id)?, value)))
            }
            Some(Form::Number { value: Number::Size(name), .. }) => {
                Ok(Typed::leaf(Expr::Size(self.size(name)?), Type::scalar(DType::I64)))
            }
            Some(Form::Extent { of: whole, k }) => {
                let (tensor, indices) = self.address_parts(whole.operand())?;
                let shape = &self.program.tensors[tensor.index()].shape;
                let at = self.terms.int(k).and_then(|k| usize::try_from(k).ok());
                match at.and_then(|k| shape.get(k.checked_add(indices.len())?)) {
                    Some(Dim::Const(n)) => match i64::try_from(*n) {
                        Ok(n) => Ok(Typed::constant(Scalar::I64(n))),
                        Err(_) => Err(self.terms.error(id, format!("the extent {n} exceeds i64"))),
                    },
                    Some(Dim::Size(size)) => {
                        Ok(Typed::leaf(Expr::Size(*size), Type::scalar(DType::I64)))
                    }
                    None => Err(self.terms.error(id, "the tensor has no such dimension")),
                }
            }
            Some(Form::Spread { lanes, x, below: None }) => {
                Ok(broadcast(self.lanes(lanes)?, self.constant(x)?))
            }
            Some(Form::Carried { x, to: Some(_) }) => Ok(cast(self.result(id)?, self.constant(x)?)),
            Some(Form::Binary(Operation::Is(op), [a, b])) => {
                let (a, b) = (self.constant(a)?, self.constant(b)?);
                if let (Expr::Const(a), Expr::Const(b)) = (&a.expr, &b.expr)
                    && let Some(folded) = op.apply(*a, *b)
                {
                    return Ok(Typed::constant(folded));
                }
                self.binary(id, op, a, b)
            }
            _ => Err(self.terms.unexpected(id, "a constant")),
        }
    }

    /// Returns the element type that a nullary operator names.
    fn dtype(&self, id: Id) -> Result<DType, DecoupleError> {
        DType::parse(self.terms.name(id))
            .ok_or_else(|| self.terms.error(id, "is not an element type"))
    }

    /// Returns a binary operation, which an operand may name.
    pub(super) fn operation(&self, op: Operation<Id>) -> Result<BinaryOp, DecoupleError> {
        match op {
            Operation::Is(op) => Ok(op),
            Operation::Named(id) => self.binary_op(id),
        }
    }

    /// Returns the operation that a nullary operator names.
    pub(super) fn binary_op(&self, id: Id) -> Result<BinaryOp, DecoupleError> {
        BinaryOp::parse(self.terms.name(id))
            .ok_or_else(|| self.terms.error(id, "is not a binary operation"))
    }

    /// Finds a symbolic size by its name.
    fn size(&self, id: Id) -> Result<SizeId, DecoupleError> {
        let known = self
            .terms
            .name(id)
            .strip_prefix('%')
            .and_then(|name| self.context.sizes.iter().position(|s| s == name));
        known
            .map(|at| SizeId(at as u32))
            .ok_or_else(|| self.terms.error(id, "the model has no such size"))
    }
}

/// Converts a value, unless it already has the type.
pub(super) fn cast(dtype: DType, x: Typed) -> Typed {
    if x.ty.dtype == dtype {
        return x;
    }
    if let Expr::Const(value) = x.expr {
        return Typed::constant(value.cast(dtype));
    }
    let ty = Type { dtype, lanes: x.ty.lanes };
    Typed::over(Expr::Cast(dtype, Box::new(x.expr)), ty, &[x.depth])
}

/// Returns lanes that count up from an index.
fn counting_up(lanes: u32, base: Typed) -> Typed {
    let ty = Type { dtype: DType::I64, lanes };
    Typed::over(Expr::Iota(lanes, Box::new(base.expr)), ty, &[base.depth])
}

/// Broadcasts a scalar to all lanes.
pub(super) fn broadcast(lanes: u32, x: Typed) -> Typed {
    let ty = Type { dtype: x.ty.dtype, lanes };
    Typed::over(Expr::Broadcast(lanes, Box::new(x.expr)), ty, &[x.depth])
}
