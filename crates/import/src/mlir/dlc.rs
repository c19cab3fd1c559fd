//! Writes DLC programs in the dialects of the public Ember artifact: `slc` and `slcvec` for streams, `dlc` for the two
//! halves. What the artifact has no operation for has one in the dialect `dae` of our own, in the generic form.
//!
//! Registers of the execute unit, which hold their values from one callback to the next, are memory of rank 0.

mod access;
mod compute;

use super::lines::{Lines, NoDialect};
use super::types::{Elem, Type};
use ember_targets::dlc::{self, Dim, Program, Purpose, TensorDecl, TensorId};
use ember_targets::verify::Footprint;

/// The state of writing.
struct Writer<'a> {
    program: &'a Program,
    out: Lines,
    sizes: Vec<String>,
    streams: Vec<String>,
    units: Vec<String>,
}

/// Returns the text of a program.
pub fn dlc_text(program: &Program) -> Result<String, NoDialect> {
    let mut writer = Writer {
        program,
        out: Lines::new()?,
        sizes: Vec::new(),
        streams: Vec::new(),
        units: Vec::new(),
    };
    let (mut arguments, mut sizes) = (Vec::new(), Vec::new());
    // A tensor that a model declares and its program does not use is no argument.
    let footprint = Footprint::of(program);
    let used = |at: usize| u32::try_from(at).is_ok_and(|at| footprint.uses(TensorId(at)));
    let tensors = program.tensors.iter().enumerate().filter(|(at, _)| used(*at));
    let tensors = tensors.map(|(_, tensor)| tensor);
    let (own, tensors): (Vec<&TensorDecl>, Vec<&TensorDecl>) =
        tensors.partition(|tensor| tensor.purpose == Purpose::Scratch);
    for tensor in &tensors {
        arguments.push(format!("%{}: {}", tensor.name, memory(tensor)));
    }
    for (at, name) in program.sizes.iter().enumerate() {
        let extent = |dim: &Dim| matches!(dim, Dim::Size(id) if id.index() == at);
        let holder =
            tensors.iter().find_map(|tensor| Some((tensor, tensor.shape.iter().position(extent)?)));
        sizes.push(match holder {
            Some((tensor, dimension)) => {
                let dimension = writer.out.number(i64::try_from(dimension).unwrap_or(0));
                let own = writer.out.fresh();
                let of = memory(tensor);
                writer
                    .out
                    .first
                    .push(format!("{own} = memref.dim %{}, {dimension} : {of}", tensor.name));
                own
            }
            None => {
                arguments.push(format!("%{name}: index"));
                format!("%{name}")
            }
        });
    }
    writer.sizes = sizes;
    for tensor in own {
        let sizes = tensor.shape.iter().filter_map(|dim| match dim {
            Dim::Const(_) => None,
            Dim::Size(id) => Some(writer.sizes[id.index()].as_str()),
        });
        let extents = sizes.collect::<Vec<_>>().join(", ");
        let (name, of) = (&tensor.name, memory(tensor));
        writer.out.first.push(format!("%{name} = memref.alloc({extents}) : {of}"));
    }
    writer.access()?;
    writer.compute()?;
    Ok(writer.out.function(&program.name, &arguments))
}

/// Returns the type of a stream's or register's elements.
fn typed(of: dlc::Type) -> Type {
    match of.lanes {
        1 => Type::Scalar(Elem::of(of.dtype)),
        lanes => Type::Vector(u64::from(lanes), Elem::of(of.dtype)),
    }
}

/// Returns the type of a tensor.
fn memory(tensor: &TensorDecl) -> String {
    let extents = tensor.shape.iter().map(|dim| match dim {
        Dim::Const(n) => format!("{n}x"),
        Dim::Size(_) => "?x".to_owned(),
    });
    format!("memref<{}{}>", extents.collect::<String>(), Elem::of(tensor.dtype))
}
