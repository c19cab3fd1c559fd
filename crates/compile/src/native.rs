//! Programs for one core as C.

use crate::pipeline::{Inputs, Options};
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::rules::Exactness;
use ember_model::{Extent, IndexUse, Model, OffsetsUse, TensorId as ModelTensor};
use ember_targets::c::{self, Core, Requirement, Source};
use ember_targets::dlc::{Dim, Program, SizeId, TensorId};
use ember_targets::verify::Verified;
use itertools::Itertools;

/// Writes a program for one core as C, which checks what the model requires of its data. Several threads share the rows
/// of its loops where they can.
///
/// # Errors
///
/// Fails on a program for two units, and on conversions that C does not have.
pub fn source(inputs: &Inputs, program: &Verified, options: &Options) -> Checked<Source> {
    let requirements = requirements(&inputs.model, program);
    let core = Core {
        vector_bytes: inputs.machine.core.simd_bytes,
        threads: options.threads,
        approximate: options.exact == Exactness::Approx,
        row_swap: inputs.machine.core.row_swap,
        llc_bytes: inputs.machine.llc_share(),
    };
    let scratch = scratch(&inputs.model, program);
    c::print(program, &requirements, &scratch, core)
        .map_err(|error| vec![Diagnostic::global(format!("no C for this program: {error}"))])
}

/// Returns the requirements of a model on the tensors of its program.
fn requirements(model: &Model, program: &Program) -> Vec<Requirement> {
    let tensor = |id: ModelTensor| {
        let name = &model.tensor(id).name;
        let at = program.tensors.iter().position(|tensor| tensor.name == *name)?;
        Some(TensorId(u32::try_from(at).ok()?))
    };
    let below = model.index_uses().into_iter().filter_map(|IndexUse { indices, rows, .. }| {
        let below = dimension(program, &rows)?;
        Some(Requirement::Below { indices: tensor(indices)?, below })
    });
    let partition =
        model.offsets_uses().into_iter().filter_map(|OffsetsUse { offsets, indices }| {
            let end = *program.tensors[tensor(indices)?.index()].shape.first()?;
            Some(Requirement::Partition { offsets: tensor(offsets)?, end })
        });
    // Several statements may use the same indices.
    below.chain(partition).unique().collect()
}

/// Returns the tensors that a program writes and that are no outputs of its model.
fn scratch(model: &Model, program: &Program) -> Vec<TensorId> {
    let outputs: Vec<&str> = model.outputs().map(|output| output.name.as_str()).collect();
    let tensors = program.tensors.iter().zip(0..);
    let own =
        tensors.filter(|(tensor, _)| tensor.writable() && !outputs.contains(&tensor.name.as_str()));
    own.map(|(_, at)| TensorId(at)).collect()
}

/// Returns an extent of a model as an extent of its program, whose sizes are called as the model's extents are written.
fn dimension(program: &Program, extent: &Extent) -> Option<Dim> {
    if let Extent::Const(n) = extent {
        return Some(Dim::Const(*n));
    }
    let name = extent.to_string();
    let at = program.sizes.iter().position(|size| *size == name)?;
    Some(Dim::Size(SizeId(u32::try_from(at).ok()?)))
}
