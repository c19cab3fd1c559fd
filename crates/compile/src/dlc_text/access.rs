//! The access half: streams, units and the actions of their events.

use super::reader::{Forms, Reader};
use ember_language::diagnostic::Diagnostic;
use ember_language::sexp::Sexp;
use ember_language::suggest::unknown;
use ember_targets::dlc::{
    Action, CaseId, Hint, SizeId, Stream, StreamId, StreamKind, TraversalUnit, Type, UnitId,
};
use ember_targets::verify::{Part, Place};
use ember_values::scalar::DType;

/// The forms of streams, units and events.
pub const ACCESS: Forms = Forms {
    what: "form of the access engine",
    shapes: &[
        "(const_stream NAME TYPE NUMBER)",
        "(size_stream NAME SIZE)",
        "(get_ind_var NAME UNIT)",
        "(mem_stream NAME TYPE (at TENSOR STREAM…) HINT)",
        "(alu_stream NAME TYPE OP STREAM STREAM)",
        "(broadcast_stream NAME TYPE STREAM)",
        "(index_cast NAME STREAM)",
        "(new_tu NAME LO HI STEP)",
        "(on UNIT beg|ite|end ACTION…)",
        "(start ACTION…)",
    ],
    scalars: false,
};

/// The forms of actions at an event.
pub const ACTIONS: Forms = Forms {
    what: "action",
    shapes: &[
        "(register_callback CASE)",
        "(register_operand STREAM)",
        "(prefetch STREAM)",
        "(traverse UNIT)",
        "(store_stream (at TENSOR STREAM…) STREAM)",
        "(barrier)",
    ],
    scalars: false,
};

const EVENTS: [&str; 3] = ["beg", "ite", "end"];

impl Reader {
    /// Reads the forms of `configure_access_engine`, whose names are already declared.
    pub fn access(&mut self, forms: &[Sexp]) {
        // Units are read first, so that events find them. A form that cannot be read is skipped, and its errors keep
        // the program from being used.
        for form in forms {
            if let Some(("new_tu", items)) = form.form() {
                self.unit(form, items);
            }
        }
        for form in forms {
            let Some((head, items)) = self.form(form, &ACCESS) else {
                continue;
            };
            match head {
                "new_tu" => {}
                "on" => self.on(form, items),
                "start" => self.start(form, items),
                _ => {
                    if let Some(stream) = self.stream_form(head, form, items) {
                        self.program.streams.push(stream);
                    }
                }
            }
        }
    }

    fn unit(&mut self, form: &Sexp, items: &[Sexp]) {
        let Some([name, lo, hi, step]) = self.items(form, items) else { return };
        let (lo, hi, step) = (self.stream(lo), self.stream(hi), self.step(step));
        if let (Some(name), Some(lo), Some(hi), Some(step)) = (self.name(name), lo, hi, step) {
            let (beg, ite, end) = (Vec::new(), Vec::new(), Vec::new());
            self.program.units.push(TraversalUnit { name, lo, hi, step, beg, ite, end });
        }
    }

    fn stream(&mut self, sexp: &Sexp) -> Option<StreamId> {
        self.resolve(Part::Stream, sexp).map(StreamId)
    }

    fn unit_id(&mut self, sexp: &Sexp) -> Option<UnitId> {
        self.resolve(Part::Unit, sexp).map(UnitId)
    }

    fn stream_form(&mut self, head: &str, form: &Sexp, items: &[Sexp]) -> Option<Stream> {
        let index = Type::scalar(DType::I64);
        let (name, ty, kind) = match head {
            "const_stream" => {
                let [name, ty, value] = self.items(form, items)?;
                let ty = self.ty(ty)?;
                (name, ty, StreamKind::Const(self.scalar(ty.dtype, value)?))
            }
            "size_stream" => {
                let [name, size] = self.items(form, items)?;
                (name, index, StreamKind::Size(SizeId(self.resolve(Part::Size, size)?)))
            }
            "get_ind_var" => {
                let [name, unit] = self.items(form, items)?;
                (name, index, StreamKind::IndVar(self.unit_id(unit)?))
            }
            "mem_stream" => {
                let [name, ty, addr, hint] = self.items(form, items)?;
                let (ty, addr) = (self.ty(ty), self.addr(addr, Self::stream));
                let word = hint.atom().unwrap_or_default();
                let parsed = Hint::parse(word);
                if parsed.is_none() {
                    let hints = [Hint::Temporal, Hint::TemporalL2, Hint::NonTemporal];
                    let names = hints.map(Hint::name);
                    self.errors.push(unknown("temporal hint", word, hint.span, names));
                }
                (name, ty?, StreamKind::Mem { addr: addr?, hint: parsed? })
            }
            "broadcast_stream" => {
                let [name, ty, from] = self.items(form, items)?;
                let (ty, from) = (self.ty(ty), self.stream(from));
                (name, ty?, StreamKind::Broadcast(from?))
            }
            "index_cast" => {
                let [name, from] = self.items(form, items)?;
                (name, index, StreamKind::IndexCast(self.stream(from)?))
            }
            _ => {
                let [name, ty, op, a, b] = self.items(form, items)?;
                let (ty, op, a, b) = (self.ty(ty), self.op(op), self.stream(a), self.stream(b));
                (name, ty?, StreamKind::Alu { op: op?, a: a?, b: b? })
            }
        };
        Some(Stream { name: self.name(name)?, ty, kind })
    }

    fn on(&mut self, form: &Sexp, items: &[Sexp]) {
        let Some(([name, event], actions)) = self.leading(form, items) else { return };
        let unit = self.unit_id(name);
        let word = event.atom().unwrap_or_default();
        let Some(at) = EVENTS.iter().position(|e| *e == word) else {
            self.errors.push(unknown("event", word, event.span, EVENTS));
            return;
        };
        let Some(part) = self.name(name) else { return };
        let place = Place { part: Part::Unit, name: part, path: vec![at] };
        self.once(form, &place, &format!("event `{word}` of {place}"));
        let actions = self.actions(actions, &place);
        let unit = unit.and_then(|id| self.program.units.get_mut(id.index()));
        if let Some(unit) = unit {
            match at {
                0 => unit.beg = actions,
                1 => unit.ite = actions,
                _ => unit.end = actions,
            }
        }
    }

    fn start(&mut self, form: &Sexp, actions: &[Sexp]) {
        let place = Place { part: Part::Access, name: String::new(), path: Vec::new() };
        self.once(form, &place, "`start`");
        self.program.access = self.actions(actions, &place);
    }

    /// Records the span of a form that may be given only once.
    pub(super) fn once(&mut self, form: &Sexp, place: &Place, what: &str) {
        if let Some(first) = self.places.get(place) {
            let message = format!("{what} is given twice");
            let error = Diagnostic::error(message, form.span, "a second time here");
            self.errors.push(error.with_related(*first, "first here"));
        }
        self.stands(place, form.span);
    }

    fn actions(&mut self, actions: &[Sexp], place: &Place) -> Vec<Action> {
        let mut read = Vec::with_capacity(actions.len());
        for (at, action) in actions.iter().enumerate() {
            let mut place = place.clone();
            place.path.push(at);
            self.stands(&place, action.span);
            read.extend(self.action(action));
        }
        read
    }

    fn action(&mut self, sexp: &Sexp) -> Option<Action> {
        let (head, items) = self.form(sexp, &ACTIONS)?;
        match head {
            "register_callback" => {
                let [case] = self.items(sexp, items)?;
                Some(Action::Callback(CaseId(self.resolve(Part::Case, case)?)))
            }
            "register_operand" => {
                let [stream] = self.items(sexp, items)?;
                self.stream(stream).map(Action::Operand)
            }
            "prefetch" => {
                let [stream] = self.items(sexp, items)?;
                self.stream(stream).map(Action::Prefetch)
            }
            "traverse" => {
                let [unit] = self.items(sexp, items)?;
                self.unit_id(unit).map(Action::Traverse)
            }
            "store_stream" => {
                let [addr, value] = self.items(sexp, items)?;
                let (addr, value) = (self.addr(addr, Self::stream), self.stream(value));
                Some(Action::Store { addr: addr?, value: value? })
            }
            _ => {
                let [] = self.items(sexp, items)?;
                Some(Action::Barrier)
            }
        }
    }
}
