//! Splits over columns: cores that have the same rows compute some of the columns each.
//!
//! A lookup that combines rows of a table column by column is such a lookup in some of the columns. The program for these is
//! that of a narrower model, on the columns of the wide tensors where they are; so every core traverses all lookups of its
//! rows. No sum changes its order.

use super::split::lightest;
use ember_compile::rows::Rows;
use ember_model::{Argument, Extent, Model, Op, Part, TensorId};
use ember_sim::Division;
use ember_targets::dlc::{Dim, Program};
use ember_targets::machine::Machine;
use ember_targets::verify::{Limits, verify};
use ember_values::operation::Kernel;
use itertools::iproduct;
use std::collections::BTreeMap;
use std::ops::Range;

/// A model whose columns cores can divide.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    columns: u64,
    /// The columns of a line of memory.
    line: u64,
    table: TensorId,
    output: TensorId,
}

impl Columns {
    /// Returns the columns of a model that combines looked-up rows of a stored table.
    pub(crate) fn of(model: &Model, machine: &Machine) -> Option<Columns> {
        let [statement] = &model.statements[..] else { return None };
        let applied = statement.value.applied().filter(|a| a.kernel() == Kernel::Rows)?;
        let (table, output) = (applied.value("table")?.stored()?, statement.target);
        let line = (machine.dram.line_bytes / model.tensor(output).dtype.bytes_of(1)).max(1);
        let columns = |id: TensorId| match model.tensor(id).shape[..] {
            [_, Extent::Const(columns)] => Some(columns),
            _ => None,
        };
        let fits = model.is_input(table) && statement.part == Part::Whole;
        let same = |n: &u64| fits && columns(table) == Some(*n) && *n >= 2 * line;
        let columns = columns(output).filter(same)?;
        Some(Columns { columns, line, table, output })
    }

    /// Returns the numbers of slices that some cores may cut columns into: those that divide the cores, of whole lines.
    pub(crate) fn slices(&self, cores: u64) -> impl Iterator<Item = u64> + use<> {
        let Columns { columns, line, .. } = *self;
        let fits = move |n: &u64| cores.is_multiple_of(*n) && columns.is_multiple_of(n * line);
        (2..=cores).filter(fits)
    }

    /// Returns the model of one of some slices.
    pub(crate) fn narrow(&self, model: &Model, slices: u64) -> Model {
        let mut model = model.clone();
        let narrow = |shape: &mut Vec<Extent>| {
            if let Some(last) = shape.last_mut() {
                *last = Extent::Const(self.columns / slices);
            }
        };
        narrow(&mut model.inputs[self.table.0].tensor.shape);
        let computed = self.output.0 - model.inputs.len();
        narrow(&mut model.computed[computed].tensor.shape);
        for statement in &mut model.statements {
            narrow(&mut statement.value.shape);
            let Op::Apply(applied) = &mut statement.value.op else { continue };
            for argument in &mut applied.arguments {
                if let Argument::Tensor(expr) = argument
                    && expr.stored() == Some(self.table)
                {
                    narrow(&mut expr.shape);
                }
            }
        }
        model.programs.clear();
        model
    }

    /// Returns a program for one slice on the wide tensors of a model; `None` if it is not one.
    pub(crate) fn wide(
        &self,
        model: &Model,
        mut program: Program,
        machine: &Machine,
    ) -> Option<Program> {
        for tensor in &mut program.tensors {
            if self.is_sliced(model, &tensor.name)
                && let Some(last) = tensor.shape.last_mut()
            {
                *last = Dim::Const(self.columns);
            }
        }
        Some(verify(program, &Limits::of(machine)).ok()?.into_program())
    }

    fn is_sliced(&self, model: &Model, name: &str) -> bool {
        [self.table, self.output].iter().any(|id| model.tensor(*id).name == name)
    }

    /// Divides rows among groups of cores, each with as many cores as there are slices.
    pub(super) fn divide(
        &self,
        model: &Model,
        rows: &Rows,
        program: &Program,
        (cores, slices): (u64, u64),
    ) -> Division {
        let groups = lightest(rows, cores / slices);
        let width = self.columns / slices;
        let parts = iproduct!(&groups, 0..slices);
        let part =
            |(rows, slice): (&Range<u64>, u64)| (rows.clone(), slice * width..(slice + 1) * width);
        let (parts, columns) = parts.map(part).unzip();
        let sliced = |id: &ember_targets::dlc::TensorId| {
            self.is_sliced(model, &program.tensors[id.index()].name)
        };
        let own = (0..cores as usize).map(|core| vec![core]).collect();
        let sliced = program.ids().filter(sliced).collect();
        Division { parts, columns, sliced, own, ..Division::undivided(0) }
    }
}

/// The programs of slices, by the number of slices.
pub(crate) type Slices = BTreeMap<u64, super::Candidate>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_divide_the_cores_and_are_whole_lines() {
        let slices = |columns, cores| -> Vec<u64> {
            let (line, table, output) = (16, TensorId(0), TensorId(1));
            Columns { columns, line, table, output }.slices(cores).collect()
        };
        assert_eq!(slices(128, 8), [2, 4, 8]);
        assert_eq!(slices(128, 6), [2]);
        assert_eq!(slices(48, 6), [3]);
        assert_eq!(slices(40, 8), [0; 0]);
    }
}
