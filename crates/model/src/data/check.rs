//! The checks of positions: offsets must partition the lookups, and indices must be valid rows. They are made before a
//! run, so that no program reads outside a tensor.

use crate::model::{Input, Model, Source, TensorId};
use ember_language::diagnostic::{Diagnostic, Span};
use ember_targets::tensor::Tensor;

/// Iterates over the elements of a tensor of positions.
pub(super) fn positions(tensor: &Tensor) -> impl ExactSizeIterator<Item = i64> + '_ {
    (0..tensor.len() as usize).map(|i| tensor.get(i as u64).and_then(|x| x.as_i64()).unwrap_or(0))
}

/// Returns the span of an element's value: its own if it is written in the model, else the span of its source.
fn origin(source: &(Source, Span), element: usize) -> Span {
    match &source.0 {
        Source::Values(values) => values.spans.get(element).copied().unwrap_or(source.1),
        _ => source.1,
    }
}

/// Returns the name of the indexed table for messages.
pub(super) fn table(model: &Model, table: Option<TensorId>) -> String {
    table.map_or_else(|| "the table".to_owned(), |table| format!("`{}`", model.tensor(table).name))
}

/// Checks that offsets start at 0 and never fall, and returns the end of the last bag.
pub(super) fn offsets(
    input: &Input,
    source: &(Source, Span),
    tensor: &Tensor,
) -> Result<u64, Diagnostic> {
    let name = &input.tensor.name;
    let mut before = 0;
    for (i, offset) in positions(tensor).enumerate() {
        let at = origin(source, i);
        if i == 0 && offset != 0 {
            let message = format!("`{name}[0]` is {offset}, not 0");
            return Err(Diagnostic::error(message, at, "the first bag starts at lookup 0"));
        }
        if offset < before {
            let message = format!("`{name}` falls from {before} to {offset} at element {i}");
            return Err(Diagnostic::error(message, at, "a bag cannot end before it starts"));
        }
        before = offset;
    }
    u64::try_from(before).ok().filter(|_| !tensor.is_empty()).ok_or_else(|| {
        let message = format!("`{name}` is empty");
        Diagnostic::error(message, source.1, "offsets include the end of the last bag")
            .with_help("no bags have the offsets `(values 0)`")
    })
}

/// Checks that the last bag ends with the last lookup.
pub(super) fn end(
    input: &Input,
    source: &(Source, Span),
    tensor: &Tensor,
    end: u64,
    lookups: u64,
) -> Result<(), Diagnostic> {
    if end == lookups {
        return Ok(());
    }
    let message = format!("`{}` ends at {end}, but there are {lookups} lookups", input.tensor.name);
    let at = origin(source, (tensor.len() as usize).saturating_sub(1));
    Err(Diagnostic::error(message, at, "the last bag ends with the last lookup"))
}

/// Checks that indices are rows of a table with this number of rows.
pub(super) fn indices(
    input: &Input,
    source: &(Source, Span),
    tensor: &Tensor,
    table: &str,
    rows: u64,
) -> Result<(), Diagnostic> {
    let outside = |index: i64| !u64::try_from(index).is_ok_and(|index| index < rows);
    let mut bad = positions(tensor).enumerate().filter(|(_, index)| outside(*index));
    let Some((i, index)) = bad.next() else { return Ok(()) };
    let name = &input.tensor.name;
    let message = format!("`{name}[{i}]` is {index}, but {table} has {rows} rows");
    let error = Diagnostic::error(message, origin(source, i), "no such row");
    if rows == 0 {
        return Err(error.with_help("a table without rows takes no lookups"));
    }
    let mut help = format!("rows are numbered from 0 to {}", rows - 1);
    match bad.count() {
        0 => {}
        n => help.push_str(&format!("; {n} more indices are outside")),
    }
    let least = positions(tensor).min().unwrap_or(0);
    let most = positions(tensor).max().unwrap_or(0);
    if least >= 1 && u64::try_from(most) == Ok(rows) {
        help.push_str(&format!("; `{name}` seems to count from 1, so subtract 1 from it"));
    } else if least == -1 {
        help.push_str(&format!("; if `{name}` had 1 subtracted, it counted from 0 before"));
    }
    Err(error.with_help(help))
}
