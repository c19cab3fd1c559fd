//! Turns operations into a statement. One pass over the text keeps what each value is: a term, memory, or a structure.

mod allocate;
mod branches;
mod carried;
mod forms;
mod interface;
mod loops;
mod masks;
mod memory;
mod places;
mod plain;
mod products;

use super::names::Names;
use super::read::{Helped, Reader, Refused, refused};
use super::rows::{Kind, Rows};
use super::source::{Defined, Operation, Region, Use, Value};
use super::types::{Elem, Type};
use super::{Interface, Kernel, KernelTensor, Purpose};
use egg::Id;
use ember_language::diagnostic::FileId;
use ember_language::term::Terms;
use masks::{Active, Mask};
pub(super) use plain::{NAMES, literal_of};
pub(super) use products::{common, fills_before};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

/// The meaning of a value.
#[derive(Clone, Debug)]
enum Meaning {
    /// A number or lanes.
    Number {
        term: Id,
        /// The memories that it is loaded from, in ascending order.
        loads: Rc<[usize]>,
        /// The time when it was computed.
        at: u64,
    },
    /// A memory.
    Memory(usize),
    /// A structure, by the name of its fields.
    Fields(String),
    /// A mask of lanes.
    Mask(Mask),
}

/// A memory.
struct Memory {
    tensor: KernelTensor,
    /// The time when it was last written.
    written: u64,
    /// True for memory that the kernel writes somewhere.
    changes: bool,
}

/// The state of lowering a function.
pub(super) struct Lowering<'r, 'a> {
    file: FileId,
    rows: &'static Rows,
    values: &'r [Defined<'a>],
    terms: Terms,
    types: Vec<Option<Type>>,
    meanings: Vec<Option<Meaning>>,
    memories: Vec<Memory>,
    sizes: Vec<String>,
    /// The names of all tensors and sizes.
    names: Names<'r>,
    /// The time, which counts writes.
    clock: u64,
    /// The number of loops around.
    level: i64,
    /// The statements of the innermost region so far.
    statements: Vec<Id>,
    /// The values that the function returns.
    returned: Vec<Value>,
    /// The memories that the operands of the current operation are loaded from.
    loads: Vec<usize>,
    /// The lanes that the operands of the current operation have, if a mask leaves out others.
    active: Option<Active>,
    /// The lanes that values have, of those without all lanes.
    partial: FxHashMap<Value, Active>,
    /// The values that are stored where they are computed.
    spilled: &'r BTreeSet<Value>,
    /// The values that were used although what they were loaded from has been written.
    pub(super) stale: BTreeSet<Value>,
}

/// Returns the function of a text.
pub(super) fn function<'o, 'a>(
    operations: &'o [Operation<'a>],
    reader: &Reader<'_>,
) -> Result<&'o Operation<'a>, Refused> {
    let mut found: Option<&Operation> = None;
    let mut open: Vec<&Operation> = operations.iter().rev().collect();
    while let Some(operation) = open.pop() {
        match operation.kind {
            Kind::Module => {
                open.extend(operation.regions.iter().flat_map(|region| &region.operations).rev());
            }
            Kind::Function if operation.regions.is_empty() => {}
            Kind::Function if found.is_none() => found = Some(operation),
            Kind::Function => {
                let message = "several functions in one text";
                let error = reader.refused(message, operation.at.clone(), "a second one");
                return Err(error.with_help_boxed("keep the kernel, in a file of its own"));
            }
            _ => {
                let message = format!("`{}` is in no function", operation.name);
                return Err(reader.refused(message, operation.at.clone(), "not allowed here"));
            }
        }
    }
    found.ok_or_else(|| reader.refused("the text has no function", 0..0, "nothing to run"))
}

impl<'r, 'a> Lowering<'r, 'a> {
    pub(super) fn new(
        reader: &'r Reader<'a>,
        rows: &'static Rows,
        interface: &'r Interface,
        spilled: &'r BTreeSet<Value>,
    ) -> Lowering<'r, 'a> {
        let count = reader.values.len();
        Lowering {
            file: reader.file,
            rows,
            values: &reader.values,
            terms: Terms::default(),
            types: vec![None; count],
            meanings: vec![None; count],
            memories: Vec::new(),
            sizes: Vec::new(),
            names: Names::new(interface),
            clock: 0,
            level: 0,
            statements: Vec::new(),
            returned: Vec::new(),
            loads: Vec::new(),
            active: None,
            partial: FxHashMap::default(),
            spilled,
            stale: BTreeSet::new(),
        }
    }

    /// Lowers a function.
    pub(super) fn kernel(&mut self, function: &Operation<'a>) -> Result<Kernel, Refused> {
        let region = self.region(function, 0)?;
        let arguments = self.arguments(region)?;
        if let Some(end) = region.operations.last().filter(|end| end.kind == Kind::Return) {
            self.returned = end.operands.iter().map(|(value, _)| *value).collect();
        }
        let returned = self.operations(region)?;
        if let Some(returned) = returned {
            self.results(returned)?;
        }
        let statements = std::mem::take(&mut self.statements);
        let root = self.sequence(&statements)?;
        Ok(Kernel {
            name: function.symbol.unwrap_or("kernel").to_owned(),
            term: self.terms.part(root),
            tensors: self.memories.drain(..).map(|memory| memory.tensor).collect(),
            sizes: std::mem::take(&mut self.sizes),
            arguments,
        })
    }

    /// Lowers the operations of a region, and returns the one that ends it.
    fn operations<'o>(
        &mut self,
        region: &'o Region<'a>,
    ) -> Result<Option<&'o Operation<'a>>, Refused> {
        let mut rest = region.operations.iter().peekable();
        while let Some(operation) = rest.next() {
            if matches!(operation.kind, Kind::Yield | Kind::Return) {
                return match rest.next() {
                    None => Ok(Some(operation)),
                    Some(next) => Err(self.refused("behind the end of a region", &next.at)),
                };
            }
            if let Some(store) = rest.next_if(|next| self.stores_branch(operation, next)) {
                self.afresh();
                self.stored_branch(operation, store)?;
                continue;
            }
            if let Some(product) = rest.next_if(|next| fills_before(operation, next)) {
                self.product(operation, product)?;
                continue;
            }
            self.operation(operation)?;
        }
        Ok(None)
    }

    /// Lowers an operation.
    fn operation(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        self.afresh();
        match operation.kind {
            Kind::Plain => self.plain(operation),
            Kind::Constant => self.constant(operation),
            Kind::Load => self.load(operation),
            Kind::Store => self.store(operation),
            Kind::Allocate => self.allocate(operation),
            Kind::Release | Kind::Hint => Ok(()),
            Kind::Extent => self.extent(operation),
            Kind::View => self.view(operation),
            Kind::Copy => self.copy(operation),
            Kind::Field => self.field(operation),
            Kind::Broadcast => self.broadcast(operation),
            Kind::Fold | Kind::HalfFold => self.fold(operation),
            Kind::Mask => self.mask(operation),
            Kind::MaskedLoad => self.masked_load(operation),
            Kind::MaskedStore => self.masked_store(operation),
            Kind::StreamLoad => self.stream_load(operation),
            Kind::UnitStore => self.unit_store(operation),
            // Units that run in order wait for nothing, and memory has no caches.
            Kind::Barrier | Kind::Prefetch => Ok(()),
            Kind::StreamCopies => self.broadcast(operation),
            Kind::StreamIndex => self.indices(operation),
            Kind::LaneNumbers => Err(self.refused("the numbers of lanes", &operation.at)),
            Kind::Stream => {
                let (term, of) = self.number(self.operand(operation, 0)?)?;
                self.result(operation, of, term)
            }
            Kind::Callback => self.operations(self.region(operation, 0)?).map(|_| ()),
            Kind::Fill => {
                Err(self.refused("a memory that is filled", &operation.at).with_help_boxed(
                    "it is read before a product that adds to the memory; write a loop",
                ))
            }
            Kind::Product | Kind::ProductTransposed => Err(self
                .refused("a product that is added to a memory", &operation.at)
                .with_help_boxed("put `linalg.fill` of the memory with 0 just before it")),
            Kind::Matrix => self.matrices(operation),
            Kind::Apply | Kind::Least | Kind::Greatest => self.applied(operation),
            // The bounds of the execute unit are those of the access unit.
            Kind::Loop | Kind::Walk => self.counted(operation),
            Kind::AffineLoop => self.affine_loop(operation),
            Kind::Parallel => self.parallel(operation),
            Kind::Branch | Kind::AffineBranch => self.branch(operation),
            Kind::AccessHalf
            | Kind::ComputeHalf
            | Kind::Unit
            | Kind::UnitIndex
            | Kind::UnitCallback
            | Kind::UnitOperand
            | Kind::Pop => {
                let message = "a program of two halves is no kernel";
                Err(self
                    .refused(message, &operation.at)
                    .with_help_boxed("`run` and `equiv` take it, beside a model or a program"))
            }
            Kind::Module | Kind::Function | Kind::Yield | Kind::Return => {
                Err(self.refused(format!("`{}` inside a function", operation.name), &operation.at))
            }
        }
    }

    /// Forgets what the operands of the last operation are loaded from, and their lanes.
    fn afresh(&mut self) {
        self.loads.clear();
        self.active = None;
    }

    /// Returns a region of an operation.
    fn region<'o>(
        &self,
        operation: &'o Operation<'a>,
        at: usize,
    ) -> Result<&'o Region<'a>, Refused> {
        operation.region(at, self.file)
    }

    /// Returns an operand of an operation.
    fn operand<'o>(&self, operation: &'o Operation<'a>, at: usize) -> Result<&'o Use, Refused> {
        operation.operand(at, self.file)
    }

    /// Returns the term of a value, and its type. A value whose memory was written since is stored in the next attempt.
    fn number(&mut self, (value, at): &Use) -> Result<(Id, Type), Refused> {
        match (&self.meanings[*value], &self.types[*value]) {
            (Some(Meaning::Number { term, loads, at: since }), Some(of)) => {
                if loads.iter().any(|memory| self.memories[*memory].written > *since) {
                    self.stale.insert(*value);
                }
                self.loads.extend_from_slice(loads);
                let (term, of) = (*term, of.clone());
                self.has_lanes(self.partial.get(value).cloned(), at)?;
                Ok((term, of))
            }
            (_, of) => {
                let of = of.as_ref().map_or("unknown".to_owned(), Type::to_string);
                let name = self.values[*value].name;
                Err(self.refused(format!("`{name}` of type {of} is no number"), at))
            }
        }
    }

    /// Returns the term of a value that must have a type.
    fn number_of(&mut self, operand: &Use, of: &Type) -> Result<Id, Refused> {
        let (term, own) = self.number(operand)?;
        self.same(operand, &own, of)?;
        Ok(term)
    }

    /// Returns the term of a whole number of 64 bits.
    fn index(&mut self, operand: &Use) -> Result<Id, Refused> {
        let (term, own) = self.number(operand)?;
        match own {
            Type::Scalar(Elem::Index | Elem::Of(ember_values::scalar::DType::I64)) => Ok(term),
            other => {
                let message = format!(
                    "`{}` is {other}; an index or i64 is needed",
                    self.values[operand.0].name
                );
                Err(self.refused(message, &operand.1))
            }
        }
    }

    /// Checks that a value has a type.
    fn same(&self, (value, at): &Use, own: &Type, of: &Type) -> Result<(), Refused> {
        if own == of {
            return Ok(());
        }
        let value = &self.values[*value];
        let error = self.refused(format!("`{}` is {own}, and is used as {of}", value.name), at);
        let span = ember_language::diagnostic::Span::new(self.file, value.at.clone());
        Err(Box::new(error.with_related(span, "defined here")))
    }

    /// Gives a value its meaning, now.
    fn give(&mut self, value: Value, of: Type, term: Id) -> Result<(), Refused> {
        let mut loads = std::mem::take(&mut self.loads);
        loads.sort_unstable();
        loads.dedup();
        let mut meaning = Meaning::Number { term, loads: loads.into(), at: self.clock };
        if self.spilled.contains(&value) {
            self.all_lanes(&self.values[value].at)?;
        } else if let Some(lanes) = self.active.take() {
            self.partial.insert(value, lanes);
        }
        if self.spilled.contains(&value) {
            let memory = self.own_memory(&of)?;
            self.keep(memory, &of, term)?;
            let term = self.kept(memory, &of)?;
            meaning = Meaning::Number { term, loads: Rc::new([memory]), at: self.clock };
        }
        self.types[value] = Some(of);
        self.meanings[value] = Some(meaning);
        Ok(())
    }

    /// Gives the only result of an operation its meaning.
    fn result(&mut self, operation: &Operation<'a>, of: Type, term: Id) -> Result<(), Refused> {
        if let [written] = &operation.types[..]
            && operation.ins.is_some()
            && *written != of
        {
            let message = format!("the result of `{}` is {of}, not {written}", operation.name);
            return Err(self.refused(message, &operation.at));
        }
        match operation.results[..] {
            [] => Ok(()),
            [value] => self.give(value, of, term),
            _ => Err(self.refused(format!("`{}` has one result", operation.name), &operation.at)),
        }
    }

    fn refused(&self, message: impl Into<String>, at: &Range<usize>) -> Refused {
        refused(self.file, message, at.clone(), "here")
    }
}

/// Returns a tensor of a kernel's own.
fn scratch(name: String, elem: Elem, shape: Vec<ember_model::Extent>) -> KernelTensor {
    KernelTensor { name, dtype: elem.dtype(), shape, purpose: Purpose::Scratch }
}
