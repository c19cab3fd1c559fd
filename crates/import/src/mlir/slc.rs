//! Writes programs of both units in the dialects `slc` and `slcvec` of the public Ember artifact: loops of the access
//! unit, its streams, and callbacks to the execute unit. Barriers, stores of the access unit and copies into lanes, which
//! the artifact lacks, are in the dialect `dae` of our own; what programs of two halves alone can say is refused.

mod callback;
mod loops;

use super::lines::{Lines, NoDialect, Value, loaded, own_operation};
use super::rows::Rows;
use super::types::{Elem, Type};
use super::{Kernel, KernelTensor, Purpose};
use egg::{Id, Language};
use ember_language::sexp::deeper;
use ember_language::term::{Head, Term, Terms};
use ember_model::Extent;
use ember_targets::dlc::Hint;
use ember_values::scalar::{DType, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};

/// The state of writing.
struct Writer<'a> {
    rows: &'static Rows,
    term: &'a Term,
    kernel: &'a Kernel,
    out: Lines,
    /// The streams of the loops around, and the values of the callback.
    known: Vec<FxHashMap<Id, Value>>,
    /// The variables of the loops of the execute unit alone.
    counts: FxHashMap<Id, String>,
    sizes: FxHashMap<String, String>,
}

/// Returns the text of a program of both units.
pub fn slc_text(kernel: &Kernel) -> Result<String, NoDialect> {
    let rows = Rows::shipped().map_err(NoDialect)?;
    let mut writer = Writer {
        rows,
        term: &kernel.term,
        kernel,
        out: Lines::new()?,
        known: vec![FxHashMap::default()],
        counts: FxHashMap::default(),
        sizes: FxHashMap::default(),
    };
    if let Some(root) = kernel.term.len().checked_sub(1) {
        writer.statement(Id::from(root))?;
    }
    let mut arguments = Vec::new();
    for tensor in &kernel.tensors {
        let (name, of) = (&tensor.name, memory(tensor));
        if tensor.purpose == Purpose::Scratch {
            let sizes = tensor.shape.iter().filter(|extent| !matches!(extent, Extent::Const(_)));
            let extents = sizes.map(|extent| writer.size(&extent.to_string()));
            let extents = extents.collect::<Result<Vec<_>, _>>()?.join(", ");
            writer.out.first.push(format!("%{name} = memref.alloc({extents}) : {of}"));
        } else {
            arguments.push(format!("%{name}: {of}"));
        }
    }
    arguments.extend(kernel.sizes.iter().map(|size| format!("%{size}: index")));
    Ok(writer.out.function(&kernel.name, &arguments))
}

/// An address of the access unit.
struct StreamAddress {
    /// The memory and the indices, with their types as text.
    operands: Vec<(String, String)>,
    /// The type of what is there.
    of: Type,
    end: End,
}

/// The end of an address's lanes, by the name of a stream.
enum End {
    /// There are no lanes.
    One,
    /// The end of the loop that the last index counts, which masks them.
    OfLoop(String),
    /// Another one.
    Below(String),
}

/// Returns operands with the end that no loop has as the last one, and the attribute that says so.
fn limited(mut operands: Vec<(String, String)>, end: &End) -> (Vec<(String, String)>, Vec<String>) {
    let End::Below(end) = end else { return (operands, Vec::new()) };
    operands.push((end.clone(), streamed(&Type::Scalar(Elem::Index))));
    (operands, vec!["limited = true".to_owned()])
}

/// Returns the type of a stream as text.
fn streamed(of: &Type) -> String {
    format!("!slc.stream<{of}>")
}

/// Returns the type of a tensor.
fn memory(tensor: &KernelTensor) -> String {
    let extents = tensor.shape.iter().map(|extent| match extent {
        Extent::Const(n) => format!("{n}x"),
        Extent::Size { .. } => "?x".to_owned(),
    });
    format!("memref<{}{}>", extents.collect::<String>(), Elem::of(tensor.dtype))
}

impl<'a> Writer<'a> {
    /// Returns the form of a node, and its children.
    fn parts(&self, id: Id) -> (&'static str, Vec<Id>) {
        let node = &self.term[id];
        let form = node.name().and_then(|name| self.rows.form_of(name)).unwrap_or("");
        (form, node.children().to_vec())
    }

    fn refused<T>(&self, id: Id) -> Result<T, NoDialect> {
        Err(NoDialect(self.term[id].to_string()))
    }

    /// Writes a statement of both units.
    fn statement(&mut self, id: Id) -> Result<(), NoDialect> {
        deeper(|| match self.parts(id) {
            ("units-sequence", parts) => {
                parts.into_iter().try_for_each(|part| self.statement(part))
            }
            ("units-nothing", _) => Ok(()),
            ("units-barrier", _) => {
                self.out.line(own_operation("barrier", &[], &[], "()"));
                Ok(())
            }
            ("units-read-ahead", parts) => self.read_ahead(parts[0]),
            ("units-store", parts) => {
                let (value, of) = self.stream(parts[1])?;
                let address = self.stream_address(parts[0])?;
                let operands = [vec![(value, streamed(&of))], address.operands].concat();
                let (operands, attributes) = limited(operands, &address.end);
                self.out.line(own_operation("store", &operands, &attributes, "()"));
                Ok(())
            }
            ("units-loop", parts) => {
                let [variable, lo, hi, step, body] = parts[..] else { return self.refused(id) };
                let (lo, _) = self.stream(lo)?;
                let (hi, _) = self.stream(hi)?;
                let (step, _) = self.stream(step)?;
                let index = self.out.fresh();
                self.out.line(format!(
                    "slc.for {index} = {lo} to {hi} step {step}  : !slc.stream<index> -> \
                     !slc.stream<index> {{"
                ));
                let own = (variable, (index, Type::Scalar(Elem::Index)));
                self.known.push(FxHashMap::from_iter([own]));
                self.out.indent += 1;
                self.statement(body)?;
                self.out.line("slc.yield");
                self.out.indent -= 1;
                self.known.pop();
                self.out.line("}");
                Ok(())
            }
            ("callback", parts) => {
                // What the callback pops is a stream before it.
                self.streams_of(parts[0], &mut FxHashSet::default())?;
                self.out.line("slc.callback {");
                self.known.push(FxHashMap::default());
                self.out.indent += 1;
                self.executed(parts[0])?;
                self.out.indent -= 1;
                self.known.pop();
                self.out.line("} : index");
                Ok(())
            }
            _ => self.refused(id),
        })
    }

    /// Writes what the access unit reads ahead.
    fn read_ahead(&mut self, address: Id) -> Result<(), NoDialect> {
        let operands = self.stream_address(address)?.operands;
        self.out.line(own_operation("prefetch", &operands, &[], "()"));
        Ok(())
    }

    /// Writes the streams that a callback pops, and what the access unit reads ahead for it; those of the loops of both
    /// units inside are written there.
    fn streams_of(&mut self, id: Id, seen: &mut FxHashSet<Id>) -> Result<(), NoDialect> {
        if !seen.insert(id) {
            return Ok(());
        }
        let parts = match self.parts(id) {
            ("popped", parts) => return self.stream(parts[0]).map(|_| ()),
            ("exec-fetched", parts) => {
                self.read_ahead(parts[0])?;
                vec![parts[1]]
            }
            ("exec-walk", parts) => {
                self.stream(parts[1])?;
                self.stream(parts[2])?;
                parts[3..5].to_vec()
            }
            ("exec-walk-reduce", parts) => {
                self.stream(parts[2])?;
                self.stream(parts[3])?;
                [&parts[4..6], &parts[7..8]].concat()
            }
            (_, parts) => parts,
        };
        parts.into_iter().try_for_each(|part| deeper(|| self.streams_of(part, seen)))
    }

    /// Returns what is known of a node, or computes it.
    fn kept(
        &mut self,
        id: Id,
        compute: impl FnOnce(&mut Self) -> Result<Value, NoDialect>,
    ) -> Result<Value, NoDialect> {
        if let Some(known) = self.known.iter().rev().find_map(|known| known.get(&id)) {
            return Ok(known.clone());
        }
        let value = deeper(|| compute(self))?;
        if let Some(known) = self.known.last_mut() {
            known.insert(id, value.clone());
        }
        Ok(value)
    }

    /// Returns a stream.
    fn stream(&mut self, id: Id) -> Result<Value, NoDialect> {
        self.kept(id, |writer| match writer.parts(id) {
            ("stream-index", parts) => writer.variable(parts[0]),
            ("stream-load", parts) => {
                let address = writer.stream_address(parts[1])?;
                let hint = writer.term[parts[0]].name().and_then(Hint::parse);
                let hint = hint.filter(|hint| *hint == Hint::NonTemporal);
                let hint = hint.map(|_| "nontemporal = true".to_owned());
                let StreamAddress { operands, of, end } = address;
                let (operands, ends) = limited(operands, &end);
                let attributes: Vec<String> = hint.into_iter().chain(ends).collect();
                let stream = streamed(&of);
                let text = match end {
                    End::Below(_) => own_operation("mem_stream", &operands, &attributes, &stream),
                    End::OfLoop(end) => loaded(&operands, &attributes, &stream, Some(&end)),
                    End::One => loaded(&operands, &attributes, &stream, None),
                };
                Ok((writer.out.define(text), of))
            }
            ("stream-apply", parts) => {
                let fold = writer.term[parts[0]].to_string();
                let (a, of) = writer.stream(parts[1])?;
                let (b, other) = writer.stream(parts[2])?;
                let name = writer.out.define(format!(
                    "slc.alu_stream< {fold}> {a}, {b} : !slc.stream<{of}>, !slc.stream<{other}> -> \
                     !slc.stream<{of}>"
                ));
                Ok((name, of))
            }
            ("stream-copies", parts) => {
                let (value, from) = writer.stream(parts[1])?;
                let of = writer.lanes(parts[0], from.elem().unwrap_or(Elem::Index));
                let operands = [(value, streamed(&from))];
                let name = own_operation("broadcast", &operands, &[], &streamed(&of));
                Ok((writer.out.define(name), of))
            }
            ("stream-index-cast", parts) => {
                let (value, from) = writer.stream(parts[0])?;
                let of = from.of(Elem::Index);
                let operands = [(value, streamed(&from))];
                let name = own_operation("index_cast", &operands, &[], &streamed(&of));
                Ok((writer.out.define(name), of))
            }
            (form, parts) => {
                let own = if form == "stream-constant" { parts[0] } else { id };
                let (value, of) = writer.number(own)?;
                let name =
                    writer.out.define(format!("slc.to_stream {value} : {of} to !slc.stream<{of}>"));
                Ok((name, of))
            }
        })
    }

    /// Returns the stream of a loop's variable.
    fn variable(&self, id: Id) -> Result<Value, NoDialect> {
        let found = self.known.iter().rev().find_map(|known| known.get(&id));
        found.cloned().ok_or_else(|| NoDialect("a variable outside of its loop".to_owned()))
    }

    /// Returns true if a node is a number or size.
    fn is_number(&self, id: Id) -> bool {
        let literal = matches!(self.term[id].head(), Head::Int(_));
        literal || matches!(self.parts(id).0, "symbolic" | "constant")
    }

    /// Returns a number or size.
    fn number(&mut self, id: Id) -> Result<Value, NoDialect> {
        let index = Type::Scalar(Elem::Index);
        if let Head::Int(n) = self.term[id].head() {
            return Ok((self.out.number(n), index));
        }
        match self.parts(id) {
            ("symbolic", parts) => {
                let name = self.term[parts[0]].to_string();
                Ok((self.size(name.trim_start_matches('%'))?, index))
            }
            ("constant", parts) => {
                let dtype = DType::parse(&self.term[parts[0]].to_string());
                let (Some(dtype), number) = (dtype, self.term[parts[1]].head()) else {
                    return self.refused(id);
                };
                let number = match number {
                    Head::Real(bits) => f64::from_bits(bits),
                    Head::Int(n) => n as f64,
                    Head::Op(_) => return self.refused(id),
                };
                let name = self.out.scalar(Scalar::from_f64(dtype, number));
                Ok((name, Type::Scalar(Elem::of(dtype))))
            }
            _ => self.refused(id),
        }
    }

    /// Returns a size: an argument, or the extent of a tensor.
    fn size(&mut self, name: &str) -> Result<String, NoDialect> {
        if self.kernel.sizes.iter().any(|size| size == name) {
            return Ok(format!("%{name}"));
        }
        if let Some(known) = self.sizes.get(name) {
            return Ok(known.clone());
        }
        let given = self.kernel.tensors.iter().filter(|own| own.purpose != Purpose::Scratch);
        let holder = given.into_iter().find_map(|tensor| {
            let at = tensor.shape.iter().position(|extent| extent.to_string() == name)?;
            Some((tensor, at))
        });
        let (tensor, at) = holder.ok_or_else(|| NoDialect(name.to_owned()))?;
        let at = self.out.number(i64::try_from(at).unwrap_or(0));
        let own = self.out.fresh();
        let of = memory(tensor);
        self.out.first.push(format!("{own} = memref.dim %{}, {at} : {of}", tensor.name));
        self.sizes.insert(name.to_owned(), own.clone());
        Ok(own)
    }

    /// Returns the tensor of an address, and its indices. Frozen memory is that memory: a barrier stands before.
    fn address(&self, id: Id, forms: [&str; 3]) -> Result<(&'a KernelTensor, Vec<Id>), NoDialect> {
        let (mut places, mut at) = (Vec::new(), id);
        loop {
            match self.parts(at) {
                (form, parts) if form == forms[0] => {
                    places.push(parts[1]);
                    at = parts[0];
                }
                ("stream-frozen" | "exec-frozen", parts) => at = parts[0],
                (form, parts) if form == forms[1] || form == forms[2] => {
                    let name = self.term[parts[0]].to_string();
                    let name = name.trim_start_matches('%');
                    let found = self.kernel.tensors.iter().find(|own| own.name == name);
                    places.reverse();
                    return match found {
                        Some(tensor) => Ok((tensor, places)),
                        None => self.refused(at),
                    };
                }
                _ => return self.refused(at),
            }
        }
    }

    /// Returns an address of the access unit.
    fn stream_address(&mut self, id: Id) -> Result<StreamAddress, NoDialect> {
        let forms = ["stream-element", "stream-input", "stream-output"];
        let (tensor, places) = self.address(id, forms)?;
        let mut of = Type::Scalar(Elem::of(tensor.dtype));
        let mut operands = vec![(format!("%{}", tensor.name), memory(tensor))];
        let mut end = End::One;
        for place in places {
            let place = match self.parts(place) {
                ("stream-lanes", parts) => {
                    let name = self.stream(parts[1])?.0;
                    end = match self.counts_to(parts[2], parts[1]) {
                        true => End::OfLoop(name),
                        false => End::Below(name),
                    };
                    of = self.lanes(parts[0], Elem::of(tensor.dtype));
                    parts[2]
                }
                _ => place,
            };
            let (name, own) = self.stream(place)?;
            operands.push((name, streamed(&own)));
        }
        Ok(StreamAddress { operands, of, end })
    }

    /// Returns true if a stream counts a loop to an end, which is a number or a size.
    fn counts_to(&self, place: Id, end: Id) -> bool {
        let ("stream-index", variable) = self.parts(place) else { return false };
        let ("variable", range) = self.parts(variable[0]) else { return false };
        let plain = |id: Id| match self.parts(id) {
            ("stream-constant", parts) => parts[0],
            _ => id,
        };
        Terms::of(self.term, plain(end)) == Terms::of(self.term, range[2])
    }

    /// Returns the type of some lanes.
    fn lanes(&self, count: Id, of: Elem) -> Type {
        match self.term[count].head() {
            Head::Int(n) => Type::Vector(u64::try_from(n).unwrap_or(1), of),
            _ => Type::Scalar(of),
        }
    }
}
