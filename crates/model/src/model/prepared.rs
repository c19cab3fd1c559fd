//! Inputs that a program prepares before it runs: edges sorted into the rows that they lead to. The sort is stable, so
//! that the edges of a row keep their order.

use super::kinds::read_name;
use super::read::Reader;
use super::{DataSpec, Extent, IndexUse, Input, Model, Role, Source, TensorId};
use ember_language::diagnostic::Diagnostic;
use ember_language::sexp::Sexp;

/// An input that is prepared of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The input.
    pub input: TensorId,
    /// The row that each edge leads to.
    pub positions: TensorId,
    /// The values of edges to be sorted; `None` for the offsets of the rows.
    pub values: Option<TensorId>,
}

/// Reads `(row-offsets POSITIONS)`.
pub(super) fn row_offsets(reader: &mut Reader, _: &Input, args: &[Sexp]) -> Option<Source> {
    let [positions] = args else { return None };
    Some(Source::RowOffsets { positions: vector(reader, positions, Role::Indices)? })
}

/// Reads `(in-rows VALUES POSITIONS)`.
pub(super) fn in_rows(reader: &mut Reader, input: &Input, args: &[Sexp]) -> Option<Source> {
    let [values, positions] = args else { return None };
    let own = reader.inputs.iter().find(|(own, _)| own.tensor.name == input.tensor.name);
    let role = own.and_then(|(_, role)| *role).unwrap_or(Role::Values);
    let name = vector(reader, values, role)?;
    let found = reader.inputs.iter().find(|(own, _)| own.tensor.name == name);
    let other = &found?.0.tensor;
    if other.dtype != input.tensor.dtype || other.shape != input.tensor.shape {
        let (own, label) = (&input.tensor.name, format!("`{name}` has another type or shape"));
        let message = format!("`{own}` has the elements of `{name}` in another order");
        let error = Diagnostic::error(message, values.span, label);
        reader.errors.push(error.with_related(input.tensor.span, "declared here"));
        return None;
    }
    let positions = vector(reader, positions, Role::Indices)?;
    Some(Source::InRows { values: name, positions })
}

/// Reads the name of an input of rank 1, which is thereby used.
fn vector(reader: &mut Reader, item: &Sexp, role: Role) -> Option<String> {
    let name = read_name(reader, item)?;
    let (input, own) = reader.inputs.iter_mut().find(|(own, _)| own.tensor.name == name)?;
    let rank = input.tensor.shape.len();
    own.get_or_insert(role);
    let fits = rank == 1 && (role == Role::Values || !input.tensor.dtype.is_float());
    if !fits {
        let label = format!("`{name}` is {} of rank {rank}", input.tensor.dtype);
        let message = "edges have one whole number each, the row that they lead to or come from";
        reader.errors.push(Diagnostic::error(message, item.span, label));
    }
    fits.then_some(name)
}

/// Reports inputs that are prepared of what is prepared itself.
pub(super) fn once(reader: &mut Reader, spec: &DataSpec) {
    for (name, (source, span)) in &spec.sources {
        let of = match source {
            Source::RowOffsets { positions } => vec![positions],
            Source::InRows { values, positions } => vec![values, positions],
            _ => continue,
        };
        let is_prepared = |name: &&&String| {
            let source = spec.sources.get(**name).map(|(source, _)| source);
            matches!(source, Some(Source::RowOffsets { .. } | Source::InRows { .. }))
        };
        if let Some(other) = of.iter().find(is_prepared) {
            let message = format!("`{name}` is made of `{other}`, which is sorted itself");
            let error = Diagnostic::error(message, *span, "edges are sorted once");
            reader.errors.push(error.with_help("name inputs whose data is given or drawn"));
        }
    }
}

impl Model {
    /// Returns the inputs that are prepared of others, the offsets before what they divide.
    pub fn prepared(&self) -> Vec<Prepared> {
        let id = |name: &str| self.inputs.iter().position(|own| own.tensor.name == name);
        let prepared = self.inputs.iter().enumerate().filter_map(|(at, input)| {
            let (source, _) = self.data.sources.get(&input.tensor.name)?;
            let (positions, values) = match source {
                Source::RowOffsets { positions } => (positions, None),
                Source::InRows { values, positions } => (positions, Some(id(values)?)),
                _ => return None,
            };
            let positions = TensorId(id(positions)?);
            Some(Prepared { input: TensorId(at), positions, values: values.map(TensorId) })
        });
        let mut all: Vec<Prepared> = prepared.collect();
        all.sort_by_key(|prepared| (prepared.positions, prepared.values.is_some()));
        all
    }

    /// Returns the uses of the inputs that others are prepared of.
    pub(super) fn prepared_uses(&self, own: &[IndexUse]) -> Vec<IndexUse> {
        let mut uses = Vec::new();
        for Prepared { input, positions, values } in self.prepared() {
            let shape = &self.inputs[input.0].tensor.shape;
            match values {
                None => {
                    let rows = shape.first().and_then(Extent::less_one);
                    uses.extend(rows.map(|rows| IndexUse {
                        indices: positions,
                        rows,
                        table: None,
                        read: Vec::new(),
                    }));
                }
                Some(values) => {
                    let sorted = own.iter().filter(|used| used.indices == input);
                    uses.extend(sorted.map(|used| IndexUse { indices: values, ..used.clone() }));
                }
            }
        }
        uses
    }
}
