//! Inputs that a program prepares before it runs: positions that are computed of others, and edges sorted into the rows
//! that they lead to. The sort is stable, so that the edges of a row keep their order.

use super::kinds::read_name;
use super::read::Reader;
use super::{DataSpec, Extent, IndexUse, Input, Model, Role, Source, TensorId, Whole};
use ember_language::diagnostic::Diagnostic;
use ember_language::sexp::Sexp;

/// An input that is prepared of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The input.
    pub input: TensorId,
    /// The inputs that it is made of, and how.
    pub by: Preparing,
}

/// The way to prepare an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preparing {
    /// Whole numbers, element by element.
    Computed(Whole),
    /// Where bags start, and the end of the last one.
    Sums {
        /// The lengths of the bags.
        lengths: TensorId,
    },
    /// The first edge of each row, and the number of edges.
    Offsets {
        /// The row that each edge leads to.
        positions: TensorId,
    },
    /// The values of edges, row by row.
    InRows {
        /// The values.
        values: TensorId,
        /// The row that each edge leads to.
        positions: TensorId,
    },
}

/// Reads `(running-sum LENGTHS)`.
pub(super) fn running_sum(reader: &mut Reader, _: &Input, args: &[Sexp]) -> Option<Source> {
    let [lengths] = args else { return None };
    let name = read_name(reader, lengths)?;
    let (input, own) = reader.inputs.iter_mut().find(|(own, _)| own.tensor.name == name)?;
    own.get_or_insert(Role::Values);
    if input.tensor.shape.len() != 1 || input.tensor.dtype.is_float() {
        let (dtype, rank) = (input.tensor.dtype, input.tensor.shape.len());
        let label = format!("`{name}` is {dtype} of rank {rank}");
        reader.error(lengths.span, "bags have one length each, a whole number", label);
        return None;
    }
    Some(Source::RunningSum { lengths: name })
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

/// The step in which an input is prepared: numbers are computed before edges are sorted.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Step {
    Computed,
    Sorted,
}

impl Source {
    /// Returns the inputs that the source prepares others of, and the step in which it does.
    fn prepares(&self) -> Option<(Vec<&str>, Step)> {
        match self {
            Source::Computed(whole) => Some((whole.inputs(), Step::Computed)),
            Source::RunningSum { lengths } => Some((vec![lengths], Step::Computed)),
            Source::RowOffsets { positions } => Some((vec![positions], Step::Sorted)),
            Source::InRows { values, positions } => Some((vec![values, positions], Step::Sorted)),
            _ => None,
        }
    }
}

/// Reports inputs that are prepared of what is prepared in the same step, or later.
pub(super) fn once(reader: &mut Reader, spec: &DataSpec) {
    let step = |name: &str| spec.sources.get(name).and_then(|(own, _)| own.prepares()).map(|p| p.1);
    for (name, (source, span)) in &spec.sources {
        let Some((of, own)) = source.prepares() else { continue };
        if let Some(other) = of.into_iter().find(|of| step(of).is_some_and(|step| step >= own)) {
            let message = format!("`{name}` is made of `{other}`, which is prepared itself");
            let label = match own {
                Step::Computed => "computed first",
                Step::Sorted => "sorted once",
            };
            let error = Diagnostic::error(message, *span, label);
            reader.errors.push(error.with_help("name inputs whose data is given or drawn"));
        }
    }
}

impl Model {
    /// Returns the inputs that are prepared of others, in an order in which they can be prepared: computed numbers, and
    /// for each order of edges the offsets before what they divide.
    pub fn prepared(&self) -> Vec<Prepared> {
        let id =
            |name: &str| self.inputs.iter().position(|own| own.tensor.name == name).map(TensorId);
        let prepared = self.inputs.iter().enumerate().filter_map(|(at, input)| {
            let (source, _) = self.data.sources.get(&input.tensor.name)?;
            let by = match source {
                Source::Computed(whole) => Preparing::Computed(whole.clone()),
                Source::RunningSum { lengths } => Preparing::Sums { lengths: id(lengths)? },
                Source::RowOffsets { positions } => {
                    Preparing::Offsets { positions: id(positions)? }
                }
                Source::InRows { values, positions } => {
                    Preparing::InRows { values: id(values)?, positions: id(positions)? }
                }
                _ => return None,
            };
            Some(Prepared { input: TensorId(at), by })
        });
        let mut all: Vec<Prepared> = prepared.collect();
        all.sort_by_key(|prepared| match prepared.by {
            Preparing::Computed(_) | Preparing::Sums { .. } => None,
            Preparing::Offsets { positions } => Some((positions, false)),
            Preparing::InRows { positions, .. } => Some((positions, true)),
        });
        all
    }

    /// Returns the uses of the inputs that others are prepared of.
    pub(super) fn prepared_uses(&self, own: &[IndexUse]) -> Vec<IndexUse> {
        let mut uses = Vec::new();
        for Prepared { input, by } in self.prepared() {
            let shape = &self.inputs[input.0].tensor.shape;
            match by {
                Preparing::Computed(_) | Preparing::Sums { .. } => {}
                Preparing::Offsets { positions } => {
                    let rows = shape.first().and_then(Extent::less_one);
                    uses.extend(rows.map(|rows| IndexUse {
                        indices: positions,
                        rows,
                        table: None,
                        read: Vec::new(),
                    }));
                }
                Preparing::InRows { values, .. } => {
                    let sorted = own.iter().filter(|used| used.indices == input);
                    uses.extend(sorted.map(|used| IndexUse { indices: values, ..used.clone() }));
                }
            }
        }
        uses
    }
}
