//! The access half: streams, traversal units, and what these register.

use super::{Halves, Helped, Meaning, Nested, Refused, actions, position, typed};
use crate::mlir::rows::Kind;
use crate::mlir::source::Operation;
use crate::mlir::types::{Elem, Type};
use ember_targets::dlc::{
    Action, Addr, CaseId, Expr, Hint, Lanes, Stream, StreamId, StreamKind, TraversalUnit, UnitId,
};
use ember_values::scalar::{BinaryOp, DType, Scalar};

impl<'a> Halves<'_, 'a> {
    /// Reads an operation of the access half, or the whole half.
    pub(super) fn access(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        match operation.kind {
            Kind::AccessHalf => {
                self.region(operation, 0)?.operations.iter().try_for_each(|own| self.access(own))
            }
            Kind::Yield => Ok(()),
            Kind::Stream => self.constant_stream(operation),
            Kind::Unit => self.unit(operation),
            Kind::UnitIndex => {
                let unit = self.unit_at(operation, 0)?;
                self.stream(operation, &Type::Scalar(Elem::Index), StreamKind::IndVar(unit))
            }
            Kind::Load | Kind::StreamLoad => self.loaded(operation),
            Kind::Plain => self.computed(operation),
            Kind::UnitOperand => {
                let last = operation.operands.len().saturating_sub(1);
                let stream = self.stream_at(operation, last)?;
                self.registered(operation, Action::Operand(stream))
            }
            Kind::Prefetch => {
                let stream = self.stream_at(operation, 0)?;
                self.registered(operation, Action::Prefetch(stream))
            }
            Kind::Barrier => self.registered(operation, Action::Barrier),
            Kind::UnitStore => {
                let value = self.stream_at(operation, 0)?;
                let lanes = self.program.streams[value.index()].ty.lanes;
                let addr = self.places(operation, 1, lanes)?;
                self.stores(addr.tensor);
                self.registered(operation, Action::Store { addr, value })
            }
            Kind::StreamCopies | Kind::StreamIndex => {
                let of = operation.types.last().cloned().unwrap_or(Type::Scalar(Elem::Index));
                let stream = self.stream_at(operation, 0)?;
                let kind = match operation.kind {
                    Kind::StreamCopies => StreamKind::Broadcast(stream),
                    _ => StreamKind::IndexCast(stream),
                };
                self.stream(operation, &of, kind)
            }
            Kind::UnitCallback => {
                let id = operation.attribute("id").and_then(|id| id.parse::<u32>().ok());
                let Some(id) = id.and_then(|id| id.checked_sub(1)) else {
                    let error = self.refused("a callback has the number of a case", &operation.at);
                    return Err(error.with_help_boxed("write `{id = NUMBER : i64}`, from 1"));
                };
                self.registered(operation, Action::Callback(CaseId(id)))
            }
            _ => {
                let message = format!("`{}` in the half of the access unit", operation.name);
                Err(self.refused(message, &operation.at))
            }
        }
    }

    /// Defines the result of an operation as a stream.
    fn stream(
        &mut self,
        operation: &Operation<'a>,
        of: &Type,
        kind: StreamKind,
    ) -> Result<(), Refused> {
        let Some(ty) = typed(of) else {
            return Err(self.refused(format!("a stream of {of}"), &operation.at));
        };
        let at = self.program.streams.len();
        self.program.streams.push(Stream { name: format!("s{at}"), ty, kind });
        self.give(operation, Meaning::Stream(StreamId(position(at))))
    }

    fn stream_at(&self, operation: &Operation<'a>, at: usize) -> Result<StreamId, Refused> {
        match self.meaning(operation, at)? {
            Meaning::Stream(id) => Ok(*id),
            _ => Err(self.unfit(operation, at, "a stream")),
        }
    }

    fn unit_at(&self, operation: &Operation<'a>, at: usize) -> Result<UnitId, Refused> {
        match self.meaning(operation, at)? {
            Meaning::Unit(id) => Ok(*id),
            _ => Err(self.unfit(operation, at, "a traversal unit")),
        }
    }

    /// Reads a stream of a constant or size.
    fn constant_stream(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let number = self.number(operation, 0)?;
        let kind = match number.expr {
            Expr::Const(scalar) => StreamKind::Const(scalar),
            Expr::Size(size) => StreamKind::Size(size),
            _ => return Err(self.unfit(operation, 0, "a constant or size")),
        };
        self.stream(operation, &number.of, kind)
    }

    /// Reads a traversal unit, and where it runs.
    fn unit(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let [lo, hi, step] = [0, 1, 2].map(|at| self.stream_at(operation, at));
        let (lo, hi, step) = (lo?, hi?, step?);
        let StreamKind::Const(Scalar::I64(step)) = self.program.streams[step.index()].kind else {
            return Err(self.unfit(operation, 2, "a constant"));
        };
        let at = self.program.units.len();
        let number = |name: &str| operation.attribute(name).and_then(|n| n.parse::<usize>().ok());
        let within = number("in").map(|unit| {
            let event = operation.attribute("event").unwrap_or("ite");
            (unit, event.to_owned())
        });
        let Some(place) = number("place") else {
            let error = self.refused("the order of traversals is not known", &operation.at);
            return Err(error.with_help_boxed(
                "write `{in = UNIT, event = \"ite\", place = NUMBER}`: the unit that it runs in, and \
                 the number of actions before it, both from 0",
            ));
        };
        let unit = UnitId(position(at));
        self.nested.push(Nested { unit, within, place, at: operation.at.clone() });
        let (beg, ite, end) = (Vec::new(), Vec::new(), Vec::new());
        let name = format!("u{at}");
        self.program.units.push(TraversalUnit { name, lo, hi, step, beg, ite, end });
        self.give(operation, Meaning::Unit(unit))
    }

    /// Reads a stream of loads.
    fn loaded(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let Some(of) = operation.types.last().cloned() else {
            return Err(self.refused("a stream without a type", &operation.at));
        };
        let lanes = typed(&of).map_or(1, |of| of.lanes);
        let addr = self.places(operation, 0, lanes)?;
        let hint = match operation.attribute("hint").and_then(Hint::parse) {
            Some(hint) => hint,
            None if operation.attribute("nontemporal") == Some("true") => Hint::NonTemporal,
            None => Hint::Temporal,
        };
        self.stream(operation, &of, StreamKind::Mem { addr, hint })
    }

    /// Reads the address of memory and the indices behind it, with so many lanes.
    fn places(
        &mut self,
        operation: &Operation<'a>,
        memory: usize,
        lanes: u32,
    ) -> Result<Addr<StreamId>, Refused> {
        let Meaning::Memory(tensor) = *self.meaning(operation, memory)? else {
            return Err(self.unfit(operation, memory, "an argument"));
        };
        let index = (memory + 1..operation.operands.len()).map(|at| self.stream_at(operation, at));
        let mut index: Vec<StreamId> = index.collect::<Result<_, _>>()?;
        let limited = operation.attribute("limited") == Some("true");
        let limit = if limited { index.pop() } else { None };
        let lanes = match (lanes, limit) {
            (1, _) => None,
            (count, Some(limit)) => Some(Lanes { count, limit }),
            (count, None) => {
                Some(Lanes { count, limit: self.limit(operation, index.last().copied())? })
            }
        };
        Ok(Addr { tensor, index, lanes, rows: None })
    }

    /// Returns the stream that lanes end below: the end of the unit that the last index counts, or the number that the text
    /// gives.
    fn limit(
        &mut self,
        operation: &Operation<'a>,
        last: Option<StreamId>,
    ) -> Result<StreamId, Refused> {
        if let Some(limit) = operation.attribute("limit").and_then(|n| n.parse::<i64>().ok()) {
            let kind = StreamKind::Const(Scalar::I64(limit));
            let streams = &mut self.program.streams;
            let at = streams.iter().position(|own| own.kind == kind).unwrap_or_else(|| {
                let ty = ember_targets::dlc::Type::scalar(DType::I64);
                streams.push(Stream { name: format!("s{}", streams.len()), ty, kind });
                streams.len() - 1
            });
            return Ok(StreamId(position(at)));
        }
        match last.map(|last| &self.program.streams[last.index()].kind) {
            Some(StreamKind::IndVar(unit)) => Ok(self.program.units[unit.index()].hi),
            _ => {
                let error = self.refused("the end of these lanes is not known", &operation.at);
                Err(error.with_help_boxed(
                    "the last index is that of a unit, or `{limit = NUMBER}` says where lanes end, or with \
                     `{limited = true}` the last operand of `dae.mem_stream`",
                ))
            }
        }
    }

    /// Reads arithmetic on two streams.
    fn computed(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let words = self.rows.predicates(operation.name).unwrap_or_default();
        let word = operation.word.filter(|word| words.iter().any(|own| own == word));
        let (Some(op), Some(of)) =
            (word.and_then(BinaryOp::parse), operation.types.last().cloned())
        else {
            let message = format!("`{}` in the half of the access unit", operation.name);
            return Err(self.refused(message, &operation.at));
        };
        let (a, b) = (self.stream_at(operation, 0)?, self.stream_at(operation, 1)?);
        self.stream(operation, &of, StreamKind::Alu { op, a, b })
    }

    /// Adds an action of a unit at an event, or of the access unit itself. An operation of our own says the unit by its
    /// number.
    fn registered(&mut self, operation: &Operation<'a>, action: Action) -> Result<(), Refused> {
        let unit = match operation.word {
            Some(_) => Some(self.unit_at(operation, 0)?.index()),
            None => operation.attribute("in").map(|unit| unit.parse().unwrap_or(usize::MAX)),
        };
        let Some(unit) = unit else {
            self.program.access.push(action);
            return Ok(());
        };
        let event = operation.word.or_else(|| operation.attribute("event")).unwrap_or_default();
        let Some(own) = self.program.units.get_mut(unit) else {
            let error = self.refused("there is no such unit", &operation.at);
            return Err(
                error.with_help_boxed("units have the numbers from 0 on, as the text defines them")
            );
        };
        match actions(own, event) {
            Some(actions) => {
                actions.push(action);
                Ok(())
            }
            None => {
                let error = self.refused(format!("units have no event `{event}`"), &operation.at);
                Err(error.with_help_boxed("write beg, ite or end"))
            }
        }
    }
}
