//! The access half: streams, traversal units, and what these register.

use super::{NoDialect, Writer, memory, typed};
use ember_targets::dlc::{Action, Addr, Hint, Lanes, StreamId, StreamKind, TraversalUnit};

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
                    self.action(at, event, action)?;
                }
            }
        }
        for action in &program.access {
            if !matches!(action, Action::Traverse(_)) {
                return Err(NoDialect("an action outside of every loop".to_owned()));
            }
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

    /// Returns the attributes of a load: its hint, and the number that lanes end below, unless that is the end of the
    /// loop of the last index.
    fn load_attributes(&self, addr: &Addr<StreamId>, hint: Hint) -> Result<String, NoDialect> {
        let kind = |id: StreamId| self.program.streams.get(id.index()).map(|stream| &stream.kind);
        let mut attributes = Vec::new();
        match hint {
            Hint::NonTemporal => attributes.push("nontemporal = true".to_owned()),
            Hint::TemporalL2 => attributes.push(format!("hint = \"{}\"", hint.name())),
            Hint::Temporal => {}
        }
        if let Some(Lanes { limit, .. }) = addr.lanes {
            let end = match addr.index.last().and_then(|last| kind(*last)) {
                Some(StreamKind::IndVar(unit)) => {
                    self.program.units.get(unit.index()).map(|unit| unit.hi)
                }
                _ => None,
            };
            let own = kind(limit);
            match own {
                _ if end.is_some_and(|end| end == limit || kind(end) == own) => {}
                Some(StreamKind::Const(n)) => attributes.push(format!("limit = {n} : i64")),
                _ => return Err(NoDialect("lanes that end elsewhere than their loop".to_owned())),
            }
        }
        Ok(match attributes.is_empty() {
            true => String::new(),
            false => format!(" {{{}}}", attributes.join(", ")),
        })
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
                let tensor = &program.tensors[addr.tensor.index()];
                let places: Vec<String> = addr.index.iter().map(|id| self.stream(*id)).collect();
                let types: Vec<String> =
                    addr.index.iter().map(|id| self.stream_type(*id)).collect();
                // The artifact's streams carry the mask of a loop; here it is a limit of lanes.
                let (dialect, note) = match &addr.lanes {
                    Some(lanes) => {
                        ("slcvec", format!(" // lanes below {}", self.stream(lanes.limit)))
                    }
                    None => ("slc", String::new()),
                };
                let attribute = self.load_attributes(addr, *hint)?;
                self.out.define(format!(
                    "{dialect}.mem_stream %{}[{}]{attribute} : {}[{}] into !slc.stream<{of}>{note}",
                    tensor.name,
                    places.join(", "),
                    memory(tensor),
                    types.join(", "),
                ))
            }
            StreamKind::Alu { op, a, b } => self.out.define(format!(
                "slc.alu_stream< {}> {}, {} : {}, {} -> !slc.stream<{of}>",
                op.name(),
                self.stream(*a),
                self.stream(*b),
                self.stream_type(*a),
                self.stream_type(*b),
            )),
            StreamKind::Broadcast(_) => {
                return Err(NoDialect("a stream copied into every lane".to_owned()));
            }
            StreamKind::IndexCast(_) => {
                return Err(NoDialect("a stream converted to i64".to_owned()));
            }
        };
        Ok(())
    }

    /// Writes what a unit does at an event.
    fn action(&mut self, unit: usize, event: &str, action: &Action) -> Result<(), NoDialect> {
        let unit = self.units.get(unit).cloned().unwrap_or_default();
        match action {
            Action::Traverse(_) => {}
            Action::Operand(id) => {
                let (name, of) = (self.stream(*id), self.stream_type(*id));
                self.out
                    .line(format!("dlc.register_operand {unit},  {event}, {name} : !dlc.tu, {of}"));
            }
            Action::Callback(case) => {
                let id = case.index() + 1;
                self.out.line(format!(
                    "dlc.register_callback {unit},  {event} {{id = {id} : i64}} : !dlc.tu"
                ));
            }
            Action::Prefetch(_) => return Err(NoDialect("a prefetch".to_owned())),
            Action::Store { .. } => return Err(NoDialect("a store of the access unit".to_owned())),
            Action::Barrier => return Err(NoDialect("a barrier".to_owned())),
        }
        Ok(())
    }
}
