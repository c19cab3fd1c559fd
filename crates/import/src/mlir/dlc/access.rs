//! The access half: streams, traversal units, and what these register.

use super::{NoDialect, Writer, memory, typed};
use crate::mlir::lines::{loaded, own_operation};
use ember_targets::dlc::{Action, Addr, Hint, Lanes, StreamId, StreamKind, TraversalUnit};
use ember_values::scalar::Scalar;

/// The end of the lanes of an address.
enum End {
    /// The end of the loop that the last index counts; also stands for an address without lanes.
    OfLoop,
    /// A number.
    At(Scalar),
    /// A stream.
    Below(StreamId),
}

impl Writer<'_> {
    /// Returns the name of a stream.
    fn stream(&self, id: StreamId) -> String {
        self.streams.get(id.index()).cloned().unwrap_or_default()
    }

    /// Returns the type of a stream.
    fn stream_type(&self, id: StreamId) -> String {
        let of = self.program.streams.get(id.index()).map(|stream| typed(stream.ty));
        of.map_or_else(String::new, |of| format!("!slc.stream<{of}>"))
    }

    /// Writes the access half. Constants and sizes become streams before it.
    pub(super) fn access(&mut self) -> Result<(), NoDialect> {
        let program = self.program;
        if program.access.is_empty() {
            return Err(NoDialect("a program of one processor".to_owned()));
        }
        let mut steps = Vec::new();
        self.streams = vec![String::new(); program.streams.len()];
        for (at, stream) in program.streams.iter().enumerate() {
            let own = match &stream.kind {
                StreamKind::Const(scalar) => self.out.scalar(*scalar),
                StreamKind::Size(id) => self.sizes[id.index()].clone(),
                _ => continue,
            };
            let of = typed(stream.ty);
            self.streams[at] =
                self.out.define(format!("slc.to_stream {own} : {of} to !slc.stream<{of}>"));
        }
        for unit in &program.units {
            let step = self.out.number(unit.step);
            steps.push(
                self.out.define(format!("slc.to_stream {step} : index to !slc.stream<index>")),
            );
        }
        self.out.line("dlc.configure_access_engine {");
        self.out.indent += 1;
        let mut units = program.units.iter().zip(steps).peekable();
        for at in 0..program.streams.len() {
            while let Some((unit, step)) =
                units.next_if(|(unit, _)| unit.lo.index() < at && unit.hi.index() < at)
            {
                self.unit(unit, &step);
            }
            self.derived(at)?;
        }
        for (unit, step) in units {
            self.unit(unit, &step);
        }
        for (at, unit) in program.units.iter().enumerate() {
            for (event, actions) in [("beg", &unit.beg), ("ite", &unit.ite), ("end", &unit.end)] {
                for action in actions {
                    self.action(Some((at, event)), action)?;
                }
            }
        }
        for action in &program.access {
            self.action(None, action)?;
        }
        self.out.indent -= 1;
        self.out.line("} :");
        Ok(())
    }

    /// Writes a unit. The artifact nests units by their bounds alone; attributes say which actions of which unit the
    /// traversal stands between.
    fn unit(&mut self, unit: &TraversalUnit, step: &str) {
        let (lo, hi) = (self.stream(unit.lo), self.stream(unit.hi));
        let place = self.traversal(self.units.len());
        let name = self.out.define(format!(
            "dlc.new_tu {lo} to {hi} step {step} {place} : !slc.stream<index> into !dlc.tu"
        ));
        self.units.push(name);
    }

    /// Returns the attributes that say where a unit is traversed.
    fn traversal(&self, unit: usize) -> String {
        let among = |actions: &[Action]| {
            actions
                .iter()
                .position(|action| matches!(action, Action::Traverse(own) if own.index() == unit))
        };
        let within = self.program.units.iter().enumerate().flat_map(|(at, own)| {
            [("beg", &own.beg), ("ite", &own.ite), ("end", &own.end)].map(|own| (at, own))
        });
        let mut nested =
            within.filter_map(|(at, (event, actions))| Some((at, event, among(actions)?)));
        match nested.next() {
            Some((at, event, place)) => {
                format!("{{in = {at} : i64, event = \"{event}\", place = {place} : i64}}")
            }
            None => format!("{{place = {} : i64}}", among(&self.program.access).unwrap_or(0)),
        }
    }

    /// Returns where the lanes of an address end.
    fn end(&self, addr: &Addr<StreamId>) -> End {
        let kind = |id: StreamId| self.program.streams.get(id.index()).map(|stream| &stream.kind);
        let Some(Lanes { limit, .. }) = addr.lanes else { return End::OfLoop };
        let end = match addr.index.last().and_then(|last| kind(*last)) {
            Some(StreamKind::IndVar(unit)) => {
                self.program.units.get(unit.index()).map(|unit| unit.hi)
            }
            _ => None,
        };
        match kind(limit) {
            own if end.is_some_and(|end| end == limit || kind(end) == own) => End::OfLoop,
            Some(StreamKind::Const(n)) => End::At(*n),
            _ => End::Below(limit),
        }
    }

    /// Returns the memory and the indices of an address as operands, and the attributes that say where lanes end. A stream
    /// that they end below is the last operand.
    fn operands(&self, addr: &Addr<StreamId>) -> (Vec<(String, String)>, Vec<String>) {
        let tensor = &self.program.tensors[addr.tensor.index()];
        let memory = (format!("%{}", tensor.name), memory(tensor));
        let places = addr.index.iter().map(|id| self.stream_operand(*id));
        let mut operands: Vec<_> = std::iter::once(memory).chain(places).collect();
        let attribute = match self.end(addr) {
            End::OfLoop => None,
            End::At(n) => Some(format!("limit = {n} : i64")),
            End::Below(limit) => {
                operands.push(self.stream_operand(limit));
                Some("limited = true".to_owned())
            }
        };
        (operands, attribute.into_iter().collect())
    }

    /// Writes a stream that the access unit computes.
    fn derived(&mut self, at: usize) -> Result<(), NoDialect> {
        let program = self.program;
        let stream = &program.streams[at];
        let of = typed(stream.ty);
        self.streams[at] = match &stream.kind {
            StreamKind::Const(_) | StreamKind::Size(_) => return Ok(()),
            StreamKind::IndVar(unit) => {
                let unit = self.units.get(unit.index()).cloned().unwrap_or_default();
                self.out.define(format!("dlc.get_ind_var {unit} : !slc.stream<index>"))
            }
            StreamKind::Mem { addr, hint } => {
                let (operands, ends) = self.operands(addr);
                let hint = match hint {
                    Hint::NonTemporal => Some("nontemporal = true".to_owned()),
                    Hint::TemporalL2 => Some(format!("hint = \"{}\"", hint.name())),
                    Hint::Temporal => None,
                };
                let attributes: Vec<String> = hint.into_iter().chain(ends).collect();
                let of = format!("!slc.stream<{of}>");
                match self.end(addr) {
                    End::Below(_) => {
                        self.out.define(own_operation("mem_stream", &operands, &attributes, &of))
                    }
                    _ => {
                        // The artifact's streams carry the mask of a loop; here it is a limit of lanes.
                        let limit = addr.lanes.as_ref().map(|lanes| self.stream(lanes.limit));
                        self.out.define(loaded(&operands, &attributes, &of, limit.as_deref()))
                    }
                }
            }
            StreamKind::Alu { op, a, b } => self.out.define(format!(
                "slc.alu_stream< {}> {}, {} : {}, {} -> !slc.stream<{of}>",
                op.name(),
                self.stream(*a),
                self.stream(*b),
                self.stream_type(*a),
                self.stream_type(*b),
            )),
            StreamKind::Broadcast(id) => {
                let operands = [self.stream_operand(*id)];
                let of = format!("!slc.stream<{of}>");
                self.out.define(own_operation("broadcast", &operands, &[], &of))
            }
            StreamKind::IndexCast(id) => {
                let operands = [self.stream_operand(*id)];
                let of = format!("!slc.stream<{of}>");
                self.out.define(own_operation("index_cast", &operands, &[], &of))
            }
        };
        Ok(())
    }

    /// Returns a stream as an operand of an operation of our own: its name and type.
    fn stream_operand(&self, id: StreamId) -> (String, String) {
        (self.stream(id), self.stream_type(id))
    }

    /// Writes what a unit does at an event, or the access unit itself outside of every loop. An operation of our own says
    /// so by attributes.
    fn action(&mut self, within: Option<(usize, &str)>, action: &Action) -> Result<(), NoDialect> {
        let mut attributes: Vec<String> = Vec::new();
        if let Some((unit, event)) = within {
            attributes.extend([format!("in = {unit} : i64"), format!("event = \"{event}\"")]);
        }
        let registered = within.map(|(unit, event)| {
            format!("{},  {event}", self.units.get(unit).map_or("", String::as_str))
        });
        let (name, operands) = match (action, registered) {
            (Action::Traverse(_), _) => return Ok(()),
            (Action::Operand(id), Some(registered)) => {
                let (name, of) = self.stream_operand(*id);
                self.out.line(format!("dlc.register_operand {registered}, {name} : !dlc.tu, {of}"));
                return Ok(());
            }
            (Action::Callback(case), registered) => {
                let id = format!("id = {} : i64", case.index() + 1);
                if let Some(registered) = registered {
                    self.out.line(format!("dlc.register_callback {registered} {{{id}}} : !dlc.tu"));
                    return Ok(());
                }
                attributes.push(id);
                ("callback", Vec::new())
            }
            (Action::Operand(id), None) => ("operand", vec![self.stream_operand(*id)]),
            (Action::Prefetch(id), _) => ("prefetch", vec![self.stream_operand(*id)]),
            (Action::Barrier, _) => ("barrier", Vec::new()),
            (Action::Store { addr, value }, _) => {
                let (operands, ends) = self.operands(addr);
                attributes.extend(ends);
                ("store", [vec![self.stream_operand(*value)], operands].concat())
            }
        };
        self.out.line(own_operation(name, &operands, &attributes, "()"));
        Ok(())
    }
}
