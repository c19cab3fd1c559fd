//! Types and shapes of lookups: bags, sparse matrices, triples and blocks.

use super::Extent;
use super::operand::shown;
use super::operator::{Form, Result};
use super::read::Reader;
use ember_language::diagnostic::Diagnostic;
use ember_values::operation::{Function, Score};
use ember_values::scalar::DType;

/// Returns the number of bags that offsets define; the inner `None` if there are no offsets.
pub(super) fn bags(reader: &mut Reader, form: &Form) -> Option<Option<Extent>> {
    let Some((offsets, _)) = form.tensor("offsets") else { return Some(None) };
    let ends = &offsets.shape[0];
    let bags = ends.less_one();
    if bags.is_none() {
        let help = match ends {
            Extent::Size { name, .. } => format!("write `(+ {name} 1)` if there are `{name}` bags"),
            Extent::Const(_) => "there is one offset more than there are bags".to_owned(),
        };
        let span = reader.inputs[offsets.stored()?.0].0.extent_spans[0];
        let label = "one more than the number of bags is needed";
        reader.error_with_help(span, "offsets include the end of the last bag", label, help);
    }
    bags.map(Some)
}

/// Checks rows of a table, alone or combined in bags.
pub(super) fn rows(reader: &mut Reader, form: &Form) -> Result {
    let ((table, item), (indices, _)) = (form.tensor("table")?, form.tensor("indices")?);
    let bags = bags(reader, form)?;
    let lookups = &indices.shape[0];
    if bags.is_some() {
        reader.computable(item, form.name, &table)?;
    }
    if let Some((weights, item)) = form.tensor("weights") {
        let what = form.phrase("weights")?;
        reader.same_type(item, (what, &weights), ("the table", table.dtype))?;
        reader.same_extent(item.span, (what, &weights.shape[0]), ("indices", lookups))?;
    }
    let rows = bags.unwrap_or_else(|| lookups.clone());
    Some((table.dtype, vec![rows, table.shape[1].clone()]))
}

/// Checks products at edges, or messages passed along them. Both sides have rows of one width and type, and the left
/// side has one row per bag.
pub(super) fn edges(reader: &mut Reader, form: &Form) -> Result {
    let ((left, left_item), (right, right_item)) = (form.tensor("left")?, form.tensor("right")?);
    let bags = bags(reader, form)??;
    reader.computable(left_item, form.name, &left)?;
    reader.same_type(right_item, ("the right side", &right), ("the left side", left.dtype))?;
    let columns = ("columns of the right side", &right.shape[1]);
    reader.same_extent(right_item.span, columns, ("those of the left one", &left.shape[1]))?;
    let rows = ("rows of the left side", &left.shape[0]);
    reader.same_extent(left_item.span, rows, ("bags", &bags))?;
    let Some(edge) = form.word("edge", Function::ALL) else {
        let (indices, _) = form.tensor("indices")?;
        return Some((left.dtype, indices.shape));
    };
    if edge.is_float() {
        reader.floating(left_item, form.name, &left)?;
    }
    Some((left.dtype, vec![bags, right.shape[1].clone()]))
}

/// Checks products of a matrix that is stored by columns, which are added to a table. The right side has one row per column.
pub(super) fn columns(reader: &mut Reader, form: &Form) -> Result {
    let ((table, table_item), (right, right_item)) = (form.tensor("table")?, form.tensor("right")?);
    let ((indices, _), (weights, item)) = (form.tensor("indices")?, form.tensor("weights")?);
    let bags = bags(reader, form)??;
    reader.computable(table_item, form.name, &table)?;
    reader.same_type(right_item, ("the right side", &right), ("the table", table.dtype))?;
    reader.same_type(item, ("values", &weights), ("the table", table.dtype))?;
    let columns = ("columns of the right side", &right.shape[1]);
    reader.same_extent(right_item.span, columns, ("those of the table", &table.shape[1]))?;
    let rows = ("rows of the right side", &right.shape[0]);
    reader.same_extent(right_item.span, rows, ("columns that offsets define", &bags))?;
    reader.same_extent(item.span, ("values", &weights.shape[0]), ("indices", &indices.shape[0]))?;
    Some((table.dtype, table.shape))
}

/// Checks scores of triples.
pub(super) fn triples(reader: &mut Reader, form: &Form) -> Result {
    let (entities, item) = form.tensor("entities")?;
    let (relations, relations_item) = form.tensor("relations")?;
    let (heads, _) = form.tensor("heads")?;
    reader.floating(item, form.name, &entities)?;
    reader.same_type(relations_item, ("relations", &relations), ("entities", entities.dtype))?;
    let columns = ("columns of relations", &relations.shape[1]);
    let wanted = ("those of entities", &entities.shape[1]);
    reader.same_extent(relations_item.span, columns, wanted)?;
    for (name, what) in [("rels", "relations"), ("tails", "tails")] {
        let (positions, item) = form.tensor(name)?;
        reader.same_extent(item.span, (what, &positions.shape[0]), ("heads", &heads.shape[0]))?;
    }
    if form.word("score", Score::ALL)?.is_complex() {
        let what = "the columns of complex rows";
        let columns = reader.constant(item.span, what, &entities.shape[1])?;
        if columns % 2 != 0 {
            let message = "complex rows have as many real as imaginary parts";
            reader.error(item.span, message, format!("{columns} columns are odd"));
            return None;
        }
    }
    Some((entities.dtype, heads.shape))
}

/// Checks blocks of rows, one after another.
pub(super) fn blocks(reader: &mut Reader, form: &Form) -> Result {
    let ((table, item), (indices, indices_item)) = (form.tensor("table")?, form.tensor("indices")?);
    let (mut shape, block) = (indices.shape, table.shape[1].clone());
    if shape.len() == 1 {
        shape.push(block);
    } else {
        let what = "the blocks of one row";
        let blocks = reader.constant(indices_item.span, what, &shape[1])?;
        let rows = reader.constant(item.span, "the rows of a block", &block)?;
        let Some(rows) = blocks.checked_mul(rows) else {
            let message = "more rows than can be counted";
            reader.error(form.span, message, format!("{blocks} blocks of {rows} rows"));
            return None;
        };
        shape[1] = Extent::Const(rows);
    }
    shape.push(table.shape[2].clone());
    Some((table.dtype, shape))
}

/// Checks integers with a scale and a bias for each row.
pub(super) fn dequantise(reader: &mut Reader, form: &Form) -> Result {
    let ((codes, codes_item), (scales, item)) = (form.tensor("codes")?, form.tensor("scales")?);
    if !matches!(codes.dtype, DType::U8 | DType::U4 | DType::I8) {
        let label = format!("{} is {}", shown(codes_item), codes.dtype);
        let error = Diagnostic::error("codes must be u8, i8 or u4", codes_item.span, label);
        reader.about(&codes, error);
        return None;
    }
    reader.same_type(item, ("scales", &scales), ("the result", DType::F32))?;
    let rows = ("rows of scales", &scales.shape[0]);
    reader.same_extent(item.span, rows, ("those of codes", &codes.shape[0]))?;
    if scales.shape[1] != Extent::Const(2) {
        let label = format!("{} has {} columns", shown(item), scales.shape[1]);
        let message = "scales must have 2 columns, the scale and the bias of each row";
        reader.about(&scales, Diagnostic::error(message, item.span, label));
        return None;
    }
    Some((DType::F32, codes.shape))
}
