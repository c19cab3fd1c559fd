//! Turns the operations of a text in the dialect `dlc` into a DLC program: streams and units of the access half, registers
//! and cases of the execute half.
//!
//! Memory of rank 0 that the function allocates is a register. A value of the execute half is an expression where it is
//! used, so what it was read from may not change before.

mod access;
mod compute;
mod values;

use super::names::Names;
use super::read::{Helped, Reader, Refused, refused};
use super::rows::{Kind, Rows};
use super::source::{Defined, Operation, Region, Use};
use super::types::{Elem, Type};
use super::{Interface, KernelTensor, Purpose};
use ember_language::diagnostic::FileId;
use ember_model::Extent;
use ember_targets::dlc::{
    self, Action, Dim, Expr, Lanes, Program, RegisterId, SizeId, StreamId, TensorDecl, TensorId,
    UnitId,
};
use ember_values::scalar::Scalar;
use std::ops::Range;

/// The most parts of an expression.
const LARGEST_EXPRESSION: usize = 10_000;

/// The meaning of a value.
#[derive(Clone, Debug)]
enum Meaning {
    Memory(TensorId),
    Register(RegisterId),
    Stream(StreamId),
    Unit(UnitId),
    /// Lanes of a run that starts at the value, by the place of its definition.
    Mask(super::source::Value, Lanes<Expr>),
    Number(Number),
}

/// A number or lanes of the execute half.
#[derive(Clone, Debug)]
struct Number {
    expr: Expr,
    of: Type,
    /// The number of parts.
    parts: usize,
    /// The time when it was computed.
    at: u64,
}

/// The traversal of a unit, which stands at a place among the actions of another unit or of the access unit itself.
struct Nested {
    unit: UnitId,
    within: Option<(usize, String)>,
    place: usize,
    at: Range<usize>,
}

/// The state of reading a program.
pub(super) struct Halves<'r, 'a> {
    file: FileId,
    rows: &'static Rows,
    values: &'r [Defined<'a>],
    names: Names<'r>,
    program: Program,
    meanings: Vec<Option<Meaning>>,
    nested: Vec<Nested>,
    /// The time, which counts writes, and the times when registers and tensors were last written.
    clock: u64,
    registers: Vec<u64>,
    tensors: Vec<u64>,
}

impl<'r, 'a> Halves<'r, 'a> {
    pub(super) fn new(
        reader: &'r Reader<'a>,
        rows: &'static Rows,
        interface: &'r Interface,
    ) -> Halves<'r, 'a> {
        Halves {
            file: reader.file,
            rows,
            values: &reader.values,
            names: Names::new(interface),
            program: Program::default(),
            meanings: vec![None; reader.values.len()],
            nested: Vec::new(),
            clock: 0,
            registers: Vec::new(),
            tensors: Vec::new(),
        }
    }

    /// Reads the function: streams of constants and sizes, the access half, then the execute half.
    pub(super) fn program(mut self, function: &Operation<'a>) -> Result<Program, Refused> {
        self.program.name = function.symbol.unwrap_or("program").to_owned();
        let region = self.region(function, 0)?;
        self.arguments(region)?;
        let mut main = Vec::new();
        for operation in &region.operations {
            match operation.kind {
                Kind::Stream | Kind::AccessHalf => self.access(operation)?,
                Kind::ComputeHalf => self.cases(operation)?,
                Kind::Allocate => self.allocate(operation)?,
                Kind::Return if operation.operands.is_empty() => {}
                _ => self.statement(operation, &mut main)?,
            }
        }
        self.program.main = main;
        self.traversals()?;
        self.writable();
        Ok(self.program)
    }

    /// Declares the arguments of the function: tensors, and the sizes that are no tensor's extent.
    fn arguments(&mut self, region: &Region<'a>) -> Result<(), Refused> {
        let known = self.names.known(region, self.values);
        for ((value, of), known) in region.arguments.iter().zip(known) {
            let defined = &self.values[*value];
            let meaning = match of {
                Some(Type::Memory(extents, elem)) => {
                    let purpose = Purpose::Input;
                    let tensor = self.names.tensor(defined.name, extents, *elem, purpose, known);
                    Meaning::Memory(self.declared(tensor))
                }
                Some(Type::Scalar(Elem::Index)) => {
                    let name = self.names.size(defined.name);
                    let size = self.size(&name);
                    self.number_of(Expr::Size(size), Type::Scalar(Elem::Index))
                }
                _ => {
                    let message = format!("the argument `{}` is no memory or size", defined.name);
                    return Err(self.refused(message, &defined.at));
                }
            };
            self.meanings[*value] = Some(meaning);
        }
        Ok(())
    }

    /// Declares a tensor.
    fn declared(&mut self, tensor: KernelTensor) -> TensorId {
        let shape = tensor.shape.iter().map(|extent| match extent {
            Extent::Const(n) => Dim::Const(*n),
            Extent::Size { .. } => Dim::Size(self.size(&extent.to_string())),
        });
        let shape = shape.collect();
        let (name, dtype) = (tensor.name, tensor.dtype);
        self.program.tensors.push(TensorDecl { name, dtype, shape, purpose: Purpose::Input });
        self.tensors.push(0);
        TensorId(position(self.program.tensors.len() - 1))
    }

    /// Returns a size by its name.
    fn size(&mut self, name: &str) -> SizeId {
        let sizes = &mut self.program.sizes;
        let at = sizes.iter().position(|own| own == name).unwrap_or_else(|| {
            sizes.push(name.to_owned());
            sizes.len() - 1
        });
        SizeId(position(at))
    }

    /// Marks the tensors that the execute half writes.
    fn writable(&mut self) {
        for (tensor, written) in self.program.tensors.iter_mut().zip(&self.tensors) {
            if tensor.purpose != Purpose::Scratch {
                tensor.purpose = Purpose::of(*written > 0);
            }
        }
    }

    /// Puts the traversals of units to their places among the actions of others.
    fn traversals(&mut self) -> Result<(), Refused> {
        let mut nested = std::mem::take(&mut self.nested);
        nested.sort_by_key(|nested| nested.place);
        for Nested { unit, within, place, at } in nested {
            let actions = match &within {
                None => Some(&mut self.program.access),
                Some((outer, event)) => {
                    let outer = self.program.units.get_mut(*outer);
                    outer.and_then(|outer| actions(outer, event))
                }
            };
            match actions.filter(|actions| place <= actions.len()) {
                Some(actions) => actions.insert(place, Action::Traverse(unit)),
                None => {
                    let message = "a unit is traversed at a place that there is not";
                    return Err(self.refused(message, &at).with_help_boxed(
                        "write `{in = UNIT, event = \"ite\", place = NUMBER}`, all from 0, and only \
                         `{place = NUMBER}` for the outermost unit",
                    ));
                }
            }
        }
        Ok(())
    }

    /// Returns a number as the meaning of a value.
    fn number_of(&self, expr: Expr, of: Type) -> Meaning {
        Meaning::Number(Number { expr, of, parts: 1, at: self.clock })
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

    /// Returns the meaning of an operand.
    fn meaning(&self, operation: &Operation<'a>, at: usize) -> Result<&Meaning, Refused> {
        let (value, place) = self.operand(operation, at)?;
        self.meanings[*value].as_ref().ok_or_else(|| {
            self.refused(format!("`{}` has no meaning here", self.values[*value].name), place)
        })
    }

    /// Gives the only result of an operation its meaning.
    fn give(&mut self, operation: &Operation<'a>, meaning: Meaning) -> Result<(), Refused> {
        match operation.results[..] {
            [] => Ok(()),
            [value] => {
                self.meanings[value] = Some(meaning);
                Ok(())
            }
            _ => Err(self.refused(format!("`{}` has one result", operation.name), &operation.at)),
        }
    }

    /// Returns the error for an operand that is something else than it should be.
    fn unfit(&self, operation: &Operation<'a>, at: usize, wanted: &str) -> Refused {
        let (value, place) = match operation.operands.get(at) {
            Some((value, place)) => (self.values[*value].name, place),
            None => (operation.name, &operation.at),
        };
        self.refused(format!("`{value}` is not {wanted}"), place)
    }

    fn refused(&self, message: impl Into<String>, at: &Range<usize>) -> Refused {
        refused(self.file, message, at.clone(), "here")
    }
}

/// Returns the actions of a unit at an event.
fn actions<'u>(unit: &'u mut dlc::TraversalUnit, event: &str) -> Option<&'u mut Vec<Action>> {
    match event {
        "beg" => Some(&mut unit.beg),
        "ite" => Some(&mut unit.ite),
        "end" => Some(&mut unit.end),
        _ => None,
    }
}

/// Returns the type of a stream or register.
fn typed(of: &Type) -> Option<dlc::Type> {
    match of {
        Type::Scalar(elem) => Some(dlc::Type::scalar(elem.dtype())),
        Type::Vector(lanes, elem) => {
            Some(dlc::Type { dtype: elem.dtype(), lanes: u32::try_from(*lanes).ok()? })
        }
        _ => None,
    }
}

/// Returns a position as that of an id. A text has fewer operations than ids.
fn position(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Returns a whole number as a constant of the execute half.
fn whole(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Const(Scalar::I64(n)) => Some(*n),
        _ => None,
    }
}
