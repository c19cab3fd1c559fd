//! Streams of the access unit: the lowering of terms of sort `Stream` to the program's stream list.

use super::DecoupleError;
use super::builder::Lowering;
use egg::{Id, Language};
use ember_language::rules::{Kind, Unit};
use ember_targets::dlc::{Addr, Expr, Hint, Lanes, StreamId, StreamKind, Type, UnitId};
use ember_values::primitive::Typing;
use ember_values::primitive::form::Form;
use ember_values::scalar::{BinaryOp, DType, Scalar};

impl Lowering<'_> {
    /// Returns the stream of a term; equal streams in the same loops are one stream.
    pub(super) fn stream(&mut self, id: Id) -> Result<StreamId, DecoupleError> {
        self.deeper(id, |l| l.stream_here(id))
    }

    /// Returns the stream of an index or a bound, which must be a scalar integer, as i64.
    pub(super) fn index_stream(&mut self, id: Id) -> Result<StreamId, DecoupleError> {
        let stream = self.stream(id)?;
        let ty = self.stream_type(stream);
        if ty.lanes != 1 || ty.dtype.is_float() {
            return Err(self.terms.error(id, format!("an index is a scalar integer, not {ty}")));
        }
        Ok(self.index_cast(stream))
    }

    /// Converts a scalar integer stream to i64.
    fn index_cast(&mut self, stream: StreamId) -> StreamId {
        let ty = Type::scalar(DType::I64);
        if self.stream_type(stream) == ty {
            return stream;
        }
        let innermost = self.innermost[stream.index()];
        self.intern("index", ty, StreamKind::IndexCast(stream), innermost)
    }

    pub(super) fn stream_type(&self, id: StreamId) -> Type {
        self.program.streams[id.index()].ty
    }

    fn stream_here(&mut self, id: Id) -> Result<StreamId, DecoupleError> {
        if let Some(value) = self.terms.carried(id, Some(Unit::Access), None) {
            let value = self.constant(value)?;
            return self
                .constant_stream(value.expr)
                .ok_or_else(|| self.terms.error(id, "is not a constant of the access unit"));
        }
        match self.terms.on(id, Some(Unit::Access)) {
            Some(Form::Iv(var)) => {
                let frame = self.frame_of(var)?;
                let Some(unit) = self.frames[frame].unit() else {
                    let error = self.terms.error(
                        id,
                        "the access unit cannot follow a loop of the execute unit alone",
                    );
                    return Err(error.with_help("make it a loop of both units"));
                };
                let name = self.program.units[unit.index()].name.clone();
                let ty = Type::scalar(DType::I64);
                Ok(self.intern(&name, ty, StreamKind::IndVar(unit), Some(unit)))
            }
            Some(Form::Carried { x: from, to: Some(_) })
                if self.terms.result(id) == Some(Typing::I64) =>
            {
                self.index_stream(from)
            }
            Some(Form::Spread { lanes, x, below: None }) => {
                let lanes = self.lanes(lanes)?;
                let x = self.stream(x)?;
                self.spread(lanes, x).ok_or_else(|| {
                    let ty = self.stream_type(x);
                    self.terms.error(id, format!("spreads a scalar, not {ty}"))
                })
            }
            Some(Form::Loaded { address, early: None }) => {
                let hint = self.hint(id)?;
                let (loaded, spread) = self.mem_stream(hint, address)?;
                Ok(spread.and_then(|lanes| self.spread(lanes, loaded)).unwrap_or(loaded))
            }
            Some(Form::Binary(op, [a, b])) => self.arithmetic(id, self.operation(op)?, a, b),
            Some(Form::Spread { .. }) => {
                Err(self.terms.error(id, "stands only in the last index of an address"))
            }
            _ => Err(self.terms.unexpected(id, "a stream")),
        }
    }

    /// Lowers scalar arithmetic of the access unit.
    fn arithmetic(
        &mut self,
        id: Id,
        op: BinaryOp,
        a: Id,
        b: Id,
    ) -> Result<StreamId, DecoupleError> {
        let (a, b) = (self.stream(a)?, self.stream(b)?);
        self.alu(op, a, b).ok_or_else(|| {
            let (a, b) = (self.stream_type(a), self.stream_type(b));
            self.terms.error(id, format!("combines scalars of one type, not {a} with {b}"))
        })
    }

    /// Returns the caching hint of a load from its label. Without a label, loaded lines are allocated.
    fn hint(&self, id: Id) -> Result<Hint, DecoupleError> {
        let at = self.terms.info(id).and_then(|info| info.first_of(Kind::Label));
        let label = at.and_then(|at| self.terms.node(id).children().get(at));
        let Some(&label) = label else { return Ok(Hint::Temporal) };
        Hint::parse(self.terms.name(label))
            .ok_or_else(|| self.terms.error(label, "is not a temporal hint"))
    }

    /// Returns the stream that loads from an address, and the number of lanes that share the address.
    pub(super) fn mem_stream(
        &mut self,
        hint: Hint,
        address: Id,
    ) -> Result<(StreamId, Option<u32>), DecoupleError> {
        let (addr, ty, spread) = self.stream_address(address)?;
        let uses: Vec<StreamId> = addr.expressions().copied().collect();
        let innermost = self.innermost_of(&uses);
        let name = self.program.tensors[addr.tensor.index()].name.clone();
        let loaded = self.intern(&name, ty, StreamKind::Mem { addr, hint }, innermost);
        Ok((loaded, spread))
    }

    /// Lowers the address of a load or store of the access unit, and returns it with the type of its element and the
    /// number of lanes that share the address.
    pub(super) fn stream_address(
        &mut self,
        id: Id,
    ) -> Result<(Addr<StreamId>, Type, Option<u32>), DecoupleError> {
        let (tensor, indices) = self.full_address(id)?;
        let dtype = self.program.tensors[tensor.index()].dtype;
        let mut addr =
            Addr { tensor, index: Vec::with_capacity(indices.len()), lanes: None, rows: None };
        let mut spread = None;
        let last = indices.len().saturating_sub(1);
        for (at, &i) in indices.iter().enumerate() {
            let index = match self.terms.form(i) {
                Some(Form::Spread { lanes, x, below: Some(hi) }) if at == last => {
                    let count = self.lanes(lanes)?;
                    addr.lanes = Some(Lanes { count, limit: self.index_stream(hi)? });
                    x
                }
                Some(Form::Spread { lanes, x, below: None }) => {
                    spread = Some(self.lanes(lanes)?);
                    x
                }
                _ => i,
            };
            addr.index.push(self.index_stream(index)?);
        }
        let lanes = addr.lanes.as_ref().map_or(1, |l| l.count);
        if addr.lanes.is_some() && spread.is_some_and(|n| n != lanes) {
            return Err(self.terms.error(id, "its indices have different numbers of lanes"));
        }
        let spread = if addr.lanes.is_some() { None } else { spread };
        Ok((addr, Type { dtype, lanes }, spread))
    }

    /// Returns the stream of a constant expression.
    fn constant_stream(&mut self, value: Expr) -> Option<StreamId> {
        match value {
            Expr::Const(value) => {
                let name = match value {
                    Scalar::I64(n) if n >= 0 => format!("c{n}"),
                    _ => "c".to_owned(),
                };
                let ty = Type::scalar(value.dtype());
                Some(self.intern(&name, ty, StreamKind::Const(value), None))
            }
            Expr::Size(size) => {
                let name = self.program.sizes[size.index()].clone();
                let ty = Type::scalar(DType::I64);
                Some(self.intern(&name, ty, StreamKind::Size(size), None))
            }
            Expr::Broadcast(lanes, x) => {
                let x = self.constant_stream(*x)?;
                self.spread(lanes, x)
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.constant_stream(*a)?, self.constant_stream(*b)?);
                self.alu(op, a, b)
            }
            _ => None,
        }
    }

    /// Broadcasts a scalar stream to all lanes; `None` for a stream of several lanes.
    fn spread(&mut self, lanes: u32, x: StreamId) -> Option<StreamId> {
        let Type { dtype, lanes: 1 } = self.stream_type(x) else { return None };
        let innermost = self.innermost[x.index()];
        let name = format!("{}_lanes", self.program.streams[x.index()].name);
        Some(self.intern(&name, Type { dtype, lanes }, StreamKind::Broadcast(x), innermost))
    }

    fn alu(&mut self, op: BinaryOp, a: StreamId, b: StreamId) -> Option<StreamId> {
        let ty = self.stream_type(a);
        if ty != self.stream_type(b) || ty.lanes != 1 {
            return None;
        }
        let innermost = self.innermost_of(&[a, b]);
        let ty = Type::scalar(op.result(ty.dtype));
        Some(self.intern(op.name(), ty, StreamKind::Alu { op, a, b }, innermost))
    }

    /// Returns the innermost unit that any of the streams depends on. All of their units enclose the current point, and
    /// inner units are created after outer ones.
    fn innermost_of(&self, streams: &[StreamId]) -> Option<UnitId> {
        streams.iter().filter_map(|s| self.innermost[s.index()]).max()
    }
}
