//! Types and shapes of operations over segments of a vector, and of rows that are added where indices say.

use super::operator::{Form, Result};
use super::read::Reader;
use super::sparse::bags;
use ember_values::operation::Function;

/// Checks a fold of each segment.
pub(super) fn fold(reader: &mut Reader, form: &Form) -> Result {
    let (values, item) = form.tensor("values")?;
    reader.computable(item, form.name, &values)?;
    Some((values.dtype, vec![bags(reader, form)??]))
}

/// Checks a function of the values and the numbers of their segments.
pub(super) fn spread(reader: &mut Reader, form: &Form) -> Result {
    let ((values, of), (numbers, item)) = (form.tensor("values")?, form.tensor("numbers")?);
    if form.word("function", Function::ALL)?.is_float() {
        reader.floating(of, form.name, &values)?;
    } else {
        reader.computable(of, form.name, &values)?;
    }
    reader.same_type(item, ("numbers", &numbers), ("the values", values.dtype))?;
    let segments = bags(reader, form)??;
    reader.same_extent(item.span, ("numbers", &numbers.shape[0]), ("segments", &segments))?;
    Some((values.dtype, values.shape))
}

/// Checks rows that are added to rows of a table.
pub(super) fn scatter(reader: &mut Reader, form: &Form) -> Result {
    let ((table, item), (rows, added)) = (form.tensor("table")?, form.tensor("rows")?);
    let (indices, _) = form.tensor("indices")?;
    reader.computable(item, form.name, &table)?;
    reader.same_type(added, ("rows", &rows), ("the table", table.dtype))?;
    let columns = ("columns of the rows", &rows.shape[1]);
    reader.same_extent(added.span, columns, ("those of the table", &table.shape[1]))?;
    reader.same_extent(added.span, ("rows", &rows.shape[0]), ("indices", &indices.shape[0]))?;
    Some((table.dtype, table.shape))
}
