//! The output's operation: its operands' roles, ranks, types and extents, and the output's shape.

use super::read::{Reader, head_span};
use super::{Extent, Mode, Operation, Role};
use crate::diagnostic::{Diagnostic, Span};
use crate::sexp::Sexp;
use crate::suggest;
use ember_targets::scalar::DType;

/// An operation with the element type and extents of its result.
pub(super) type Typed = (Operation, DType, Vec<Extent>);

/// The operations and what they take.
const BAG: (&str, &str) = ("emb.bag", "(emb.bag sum|mean|max TABLE INDICES OFFSETS [WEIGHTS])");
const GATHER: (&str, &str) = ("emb.gather", "(emb.gather TABLE INDICES)");

/// Reads an operation and settles the roles of the inputs it takes.
pub(super) fn read(reader: &mut Reader, item: &Sexp) -> Option<Typed> {
    match item.form() {
        Some(("emb.bag", [mode, operands @ ..])) if matches!(operands.len(), 3 | 4) => {
            let roles = [Role::Table, Role::Indices, Role::Offsets, Role::Weights];
            let mode = read_mode(reader, mode);
            let at = read_operands(reader, operands, &roles)?;
            if let [table, indices, _, weights] = at[..] {
                check_weights(reader, table, indices, weights, operands[3].span)?;
            }
            let (table, indices, offsets) = (at[0], at[1], at[2]);
            let shape = vec![bags(reader, offsets)?, extent(reader, table, 1)?];
            let weights = at.get(3).copied();
            let operation = Operation::Bag { mode: mode?, table, indices, offsets, weights };
            Some((operation, reader.inputs[table].0.dtype, shape))
        }
        Some(("emb.gather", operands @ [_, _])) => {
            let at = read_operands(reader, operands, &[Role::Table, Role::Indices])?;
            let (table, indices) = (at[0], at[1]);
            let shape = vec![extent(reader, indices, 0)?, extent(reader, table, 1)?];
            let operation = Operation::Gather { table, indices };
            Some((operation, reader.inputs[table].0.dtype, shape))
        }
        Some((head, rest)) => {
            match [BAG, GATHER].iter().find(|(name, _)| *name == head) {
                Some((name, form)) => reader.error_with_help(
                    item.span,
                    format!("`{name}` has the wrong number of operands"),
                    format!("{} operands", rest.len()),
                    format!("write `{form}`"),
                ),
                None => {
                    let names = [BAG.0, GATHER.0];
                    let error = suggest::unknown("operation", head, head_span(item), names);
                    reader.errors.push(error);
                }
            }
            None
        }
        None => {
            reader.error_with_help(
                item.span,
                "an operation was expected",
                "not an operation",
                format!("write `{}`", BAG.1),
            );
            None
        }
    }
}

fn read_mode(reader: &mut Reader, item: &Sexp) -> Option<Mode> {
    let word = reader.word("a mode", item)?;
    let mode = Mode::ALL.into_iter().find(|mode| mode.name() == word);
    if mode.is_none() {
        let names = Mode::ALL.iter().map(|mode| mode.name());
        reader.errors.push(suggest::unknown("mode", word, item.span, names));
    }
    mode
}

/// The positions of the operands among the inputs, each with the role of its place.
fn read_operands(reader: &mut Reader, operands: &[Sexp], roles: &[Role]) -> Option<Vec<usize>> {
    let pairs = operands.iter().zip(roles);
    let at: Vec<_> = pairs.map(|(item, role)| read_operand(reader, item, *role)).collect();
    at.into_iter().collect()
}

fn read_operand(reader: &mut Reader, item: &Sexp, role: Role) -> Option<usize> {
    let word = reader.word("an input", item)?;
    let Some(at) = reader.inputs.iter().position(|(input, _)| input.name == word) else {
        if !reader.broken.contains(word) {
            let names = reader.inputs.iter().map(|(input, _)| input.name.as_str());
            let error = suggest::unknown("input", word, item.span, names);
            reader.errors.push(error);
        }
        return None;
    };
    let (input, before) = &mut reader.inputs[at];
    if let Some(before) = before.replace(role) {
        let message = format!("`{word}` is passed twice");
        let label = format!("as {}, and before as {}", role.name(), before.name());
        reader.error(item.span, message, label);
        return None;
    }
    let need = if role == Role::Table { 2 } else { 1 };
    let rank_is_wrong = input.shape.len() != need;
    let type_is_wrong = role.is_index() && input.dtype.is_float();
    let (span, dtype, found) = (input.span, input.dtype, input.shape.len());
    if rank_is_wrong {
        let message = format!("{} must have rank {need}", role.name());
        let error = Diagnostic::error(message, item.span, format!("`{word}` has rank {found}"));
        reader.errors.push(error.with_related(span, "declared here"));
    }
    if type_is_wrong {
        let message = format!("{} must be i32 or i64", role.name());
        let error = Diagnostic::error(message, item.span, format!("`{word}` is {dtype}"));
        reader.errors.push(error.with_related(span, "declared here"));
    }
    (!rank_is_wrong && !type_is_wrong).then_some(at)
}

/// Weights have the table's element type and the indices' extent.
fn check_weights(
    reader: &mut Reader,
    table: usize,
    indices: usize,
    weights: usize,
    span: Span,
) -> Option<()> {
    let [table, indices, weights] = [table, indices, weights].map(|i| reader.inputs[i].0.clone());
    if weights.dtype != table.dtype {
        let message = "weights must have the table's element type";
        let label =
            format!("`{}` is {}, the table is {}", weights.name, weights.dtype, table.dtype);
        let error = Diagnostic::error(message, span, label);
        reader.errors.push(error.with_related(weights.span, "declared here"));
        return None;
    }
    if weights.shape != indices.shape {
        let message = "weights and indices must have the same extent";
        let of =
            |input: &super::Input| format!("`{}` has the extent {}", input.name, input.shape[0]);
        let error = Diagnostic::error(message, weights.extent_spans[0], of(&weights));
        reader.errors.push(error.with_related(indices.extent_spans[0], of(&indices)));
        return None;
    }
    Some(())
}

/// The number of bags: one less than the number of offsets.
fn bags(reader: &mut Reader, offsets: usize) -> Option<Extent> {
    let (input, _) = &reader.inputs[offsets];
    match &input.shape[0] {
        Extent::Const(n) if *n > 0 => Some(Extent::Const(n - 1)),
        Extent::Size { name, plus } if *plus > 0 => {
            Some(Extent::Size { name: name.clone(), plus: plus - 1 })
        }
        short => {
            let help = match short {
                Extent::Size { name, .. } => {
                    format!("write `(+ {name} 1)` if there are `{name}` bags")
                }
                Extent::Const(_) => "there is one offset more than there are bags".to_owned(),
            };
            let span = input.extent_spans[0];
            let label = "one more than the number of bags is needed";
            reader.error_with_help(span, "offsets include the end of the last bag", label, help);
            None
        }
    }
}

fn extent(reader: &Reader, input: usize, dimension: usize) -> Option<Extent> {
    reader.inputs[input].0.shape.get(dimension).cloned()
}
