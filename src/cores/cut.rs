//! Rows that are cut at the borders between cores, so that each core has equally many lookups.
//!
//! A row that is a sum over its lookups is the sum of the sums of its pieces, up to rounding. The first piece of a row stays
//! in its place; the others are rows of their own behind all rows, and so are their lookups behind all lookups. The program
//! runs on these rows as on any others. Behind a barrier, a second program adds the pieces of each row.

use ember_compile::pipeline::Case;
use ember_compile::rows::{Rows, integers, rows_of};
use ember_language::diagnostic::Checked;
use ember_language::rules::Exactness;
use ember_model::data::Instance;
use ember_model::{Extent, Model, OffsetsUse, Part};
use ember_sim::{Bindings, Division, Phase};
use ember_targets::dlc::{Program, SizeId};
use ember_targets::tensor::{Data, Tensor};
use ember_values::operation::{Kernel, Mode};
use ember_values::scalar::DType;
use itertools::Itertools;
use std::ops::Range;
use std::sync::Arc;

/// A row at a border is cut if it is more than such a part of a core's work: that costs the start of a program for its second
/// piece, and the border of a row that is not cut may be off by half of it.
const PARTS: u64 = 16;

/// The program that adds pieces, among the shipped files.
pub(crate) const ADDER: &str = "programs/cores/add_pieces.dlc";

/// The rows of a model, cut for some cores.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    /// The data with pieces as rows.
    instance: Instance,
    /// The pieces of each core, and the rows.
    pub(super) division: Division,
    /// The work before the pieces of each core, and all work.
    pub(super) borders: Vec<u64>,
    /// The rows that are cut, and where the pieces of each begin and end behind all rows.
    rows: Vec<i64>,
    pieces: Vec<i64>,
    /// The rows before they were cut.
    whole: u64,
    output: String,
}

/// A place among the rows: a row, and a number of its lookups.
type Place = (u64, u64);

impl Cut {
    /// Returns true if rows of a model may be cut: its output is a sum over the lookups of each row, and may be rounded
    /// otherwise.
    pub(super) fn fits(model: &Model, rows: &Rows, exact: Exactness) -> bool {
        let [statement] = &model.statements[..] else { return false };
        let output = model.tensor(statement.target);
        let sums = statement.value.applied().is_some_and(|applied| match applied.kernel() {
            Kernel::Rows => applied.mode() == Some(Mode::Sum),
            Kernel::Edges => applied.argument("edge").is_some(),
            _ => false,
        });
        let whole = statement.part == Part::Whole && output.shape.len() == 2;
        let plain = output.dtype == DType::F32 && rows.apart() && rows.own.len() == 1;
        exact != Exactness::Bitwise && sums && whole && plain
    }

    /// Cuts rows that fit, given the work before the rows of each core and all work; `None` if no border is in a long row.
    pub(super) fn of(model: &Model, rows: &Rows, case: &Case, borders: &[u64]) -> Option<Cut> {
        let (places, whole) = (places(rows, borders), rows.count());
        let mut extra: Vec<(u64, Range<u64>)> = Vec::new();
        let mut parts: Vec<Range<u64>> = Vec::new();
        let mut own: Vec<Vec<usize>> = Vec::new();
        for (&(from, begin), &(to, end)) in places.iter().tuple_windows() {
            let mut mine = Vec::new();
            let mut has = |part: Range<u64>| {
                mine.push(parts.len());
                parts.push(part);
            };
            if begin > 0 {
                let last = if to == from { end } else { rows.lookups_of(from) };
                has(whole + extra.len() as u64..whole + extra.len() as u64 + 1);
                extra.push((from, begin..last));
            }
            let first = from + u64::from(begin > 0);
            let last = (to + u64::from(end > 0)).max(first);
            if first < last {
                has(first..last);
            }
            own.push(mine);
        }
        let before = |(row, lookups): &Place| rows.weight(&(0..*row)) + lookups;
        let borders = places.iter().map(before).collect();
        let [use_of_offsets] = rows.own[..] else { return None };
        let instance = with_pieces(model, rows, &case.instance, use_of_offsets, &extra);
        let cut: Vec<u64> = extra.iter().map(|(row, _)| *row).dedup().collect();
        let before = |row: u64| extra.iter().filter(|(own, _)| *own < row).count() as u64;
        let ends = cut.iter().map(|row| whole + before(*row));
        let pieces = ends.chain([whole + extra.len() as u64]).map(|n| n as i64).collect();
        let division = Division { parts, own, ..Division::undivided(0) };
        let output = model.tensor(model.statements[0].target).name.clone();
        let rows = cut.iter().map(|row| *row as i64).collect_vec();
        let cut = Cut { instance, division, borders, rows, pieces, whole, output };
        (!cut.rows.is_empty()).then_some(cut)
    }

    /// Returns the data of a program for the rows with their pieces.
    pub(super) fn bindings(&self, program: &Program) -> Checked<Bindings> {
        let (tensors, sizes) = self.instance.bind(program)?;
        Ok(Bindings { tensors, sizes })
    }

    /// Returns the second program for a model's output.
    pub(super) fn adder(&self, adder: &Program) -> Program {
        let mut adder = adder.clone();
        for tensor in &mut adder.tensors {
            // No tensor of a model has a space in its name.
            tensor.name = match tensor.writable() {
                true => self.output.clone(),
                false => format!("{} of cut rows", tensor.name),
            };
        }
        adder
    }

    /// Returns the phase of the second program, behind those of the first.
    pub(super) fn phase<'a>(&self, adder: &'a Program, cores: u64) -> Phase<'a> {
        let (cut, width) = (self.rows.len() as u64, self.width());
        let all = self.instance.tensors.get(&self.output).map_or(0, |out| out.shape[0]);
        let of = |name: &str| match name {
            "rows" => all,
            "width" => width,
            "cut" => cut,
            _ => cut + 1,
        };
        let sizes = adder.sizes.iter().map(|name| of(name) as i64).collect();
        let held = |values: &[i64]| Tensor {
            dtype: DType::I64,
            shape: vec![values.len() as u64],
            data: Data::I64(Arc::new(values.to_vec())),
        };
        let counts = |name: &str, more| {
            let at = adder.sizes.iter().position(|size| size == name)?;
            Some((SizeId(at as u32), more))
        };
        let at = |core: u64| cut * core / cores;
        let division = Division {
            sizes: [counts("cut", 0), counts("cut+1", 1)].into_iter().flatten().collect(),
            parts: (0..cores).map(|core| at(core)..at(core + 1)).collect(),
            own: (0..cores as usize).map(|core| vec![core]).collect(),
            ..Division::undivided(0)
        };
        Phase {
            program: adder,
            steps: &[],
            sizes,
            tensors: vec![held(&self.rows), held(&self.pieces)],
            division,
        }
    }

    fn width(&self) -> u64 {
        self.instance.tensors.get(&self.output).map_or(0, |out| out.shape[1])
    }

    /// Cuts the pieces behind all rows off the output.
    pub(super) fn joined(&self, program: &Program, tensors: &mut [Tensor]) {
        for (tensor, decl) in tensors.iter_mut().zip(&program.tensors) {
            if decl.name == self.output {
                *tensor = rows_of(tensor, 0..self.whole, false);
            }
        }
    }
}

/// Returns the work before the rows of each of some cores that have equally many rows and lookups, and all work.
pub(super) fn even(rows: &Rows, cores: u64) -> Vec<u64> {
    let total = u128::from(rows.weight(&(0..rows.count())));
    (0..=cores).map(|core| (total * u128::from(core) / u128::from(cores)) as u64).collect()
}

/// Returns where each core begins, and the end, given the work before it; but rows that are short are not cut.
fn places(rows: &Rows, borders: &[u64]) -> Vec<Place> {
    let [_, within @ .., total] = borders else { return Vec::new() };
    let short = total / ((within.len() as u64 + 1) * PARTS);
    let mut places = vec![(0, 0)];
    let (mut row, mut before) = (0, 0);
    for &at in within {
        while row < rows.count() && before + rows.weights()[row as usize] <= at {
            before += rows.weights()[row as usize];
            row += 1;
        }
        let lookups = if row < rows.count() { rows.lookups_of(row) } else { 0 };
        let within = (at - before).min(lookups);
        let place = match lookups + 1 > short && within > 0 && within < lookups {
            true => (row, within),
            false => (row + u64::from(within > lookups / 2), 0),
        };
        places.push(place.max(places[places.len() - 1]));
    }
    places.push((rows.count(), 0));
    places
}

/// Returns data in which the pieces of rows after the first are rows behind all others, with their lookups behind all others.
fn with_pieces(
    model: &Model,
    rows: &Rows,
    instance: &Instance,
    own: OffsetsUse,
    extra: &[(u64, Range<u64>)],
) -> Instance {
    let ends = integers(instance, model.tensor(own.offsets));
    let begin = |row: u64| ends.get(row as usize).copied().unwrap_or(0);
    let firsts = (0..rows.count()).map(|row| {
        let cut = extra.iter().find(|(cut, _)| *cut == row);
        let length = cut.map_or(rows.lookups_of(row), |(_, lookups)| lookups.start);
        (row, begin(row)..begin(row) + length)
    });
    let others = extra
        .iter()
        .map(|(row, lookups)| (*row, begin(*row) + lookups.start..begin(*row) + lookups.end));
    let pieces: Vec<(u64, Range<u64>)> = firsts.chain(others).collect();
    let mut offsets = vec![0];
    let lengths = pieces.iter().map(|(_, lookups)| lookups.end - lookups.start);
    offsets.extend(lengths.scan(0, |end, length| {
        *end += length;
        Some(*end as i64)
    }));
    let mut made = instance.clone();
    for tensor in model.tensors() {
        let Some(Extent::Size { name, plus }) = tensor.shape.first() else { continue };
        let Some(data) = instance.tensors.get(&tensor.name) else { continue };
        let is_offsets = model.tensor(own.offsets).name == tensor.name;
        let order: Vec<u64> = match (name == &rows.size, plus) {
            _ if is_offsets => Vec::new(),
            (true, 0) => pieces.iter().map(|(row, _)| *row).collect(),
            (false, 0) if rows.counts_lookups(name) => {
                pieces.iter().flat_map(|(_, lookups)| lookups.clone()).collect()
            }
            _ => continue,
        };
        let held = match is_offsets {
            true => {
                let shape = vec![offsets.len() as u64];
                Tensor { dtype: data.dtype, shape, data: Data::I64(Arc::new(offsets.clone())) }
            }
            false => picked(data, &order),
        };
        made.tensors.insert(tensor.name.clone(), held);
    }
    let count = pieces.len() as u64;
    made.sizes.insert(rows.size.clone(), count);
    made.sizes.insert(Extent::Size { name: rows.size.clone(), plus: 1 }.to_string(), count + 1);
    made
}

/// Returns rows of a tensor in some order.
fn picked(tensor: &Tensor, order: &[u64]) -> Tensor {
    let width: u64 = tensor.shape.iter().skip(1).product();
    let positions = order.iter().flat_map(|row| row * width..(row + 1) * width);
    let data = Data::held(tensor.dtype, positions.filter_map(|at| tensor.get(at)));
    let shape = std::iter::once(order.len() as u64).chain(tensor.shape.iter().skip(1).copied());
    Tensor { dtype: tensor.dtype, shape: shape.collect(), data }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    quickcheck! {
        fn borders_are_even_and_in_long_rows(lengths: Vec<u16>, cores: u8) -> bool {
            let cores = u64::from(cores % 12) + 2;
            let rows = Rows::weighing(lengths.iter().map(|n| u64::from(*n) + 1).collect());
            let total = rows.weight(&(0..rows.count()));
            let short = total / (cores * PARTS);
            let before = |(row, lookups): Place| rows.weight(&(0..row)) + lookups;
            let places = places(&rows, &even(&rows, cores));
            let even = places.iter().enumerate().all(|(core, place)| {
                let at = total * core as u64 / cores;
                before(*place).abs_diff(at) <= short + 1
            });
            let inside = |&(row, lookups): &Place| {
                lookups == 0
                    || (lookups < rows.lookups_of(row) && rows.weights()[row as usize] > short)
            };
            even && places.is_sorted() && places.iter().all(inside)
                && (places[0], places[cores as usize]) == ((0, 0), (rows.count(), 0))
        }
    }
}
