//! Edges in the order of the rows that they lead to: sorted at import where they are known, else inputs that a program
//! prepares.

use super::Writer;
use super::inputs::{Content, Input, Use};
use crate::error::Problem;
use crate::graph::Id;
use crate::layout::{Base, Laid};
use ember_model::Extent;
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::DType;
use std::sync::Arc;

/// Returns a vector of whole numbers.
pub(crate) fn vector(values: Vec<i64>) -> Arc<Tensor> {
    let shape = vec![values.len() as u64];
    Arc::new(Tensor { dtype: DType::I64, shape, data: Data::I64(Arc::new(values)) })
}

impl Writer<'_> {
    /// The row of each edge, if it is known.
    fn known_rows(&mut self, to: Id, rows: &Extent) -> Result<Option<Vec<i64>>, Problem> {
        let Some(known) = self.known_positions(to, rows.constant())? else { return Ok(None) };
        let all: Vec<i64> = (0..known.len()).filter_map(|i| known.get(i)?.as_i64()).collect();
        let Some(rows) = rows.constant() else {
            return Err(Problem::Operands("known edges, in a graph of unknown size".to_owned()));
        };
        if all.iter().any(|row| *row < 0 || *row as u64 >= rows) {
            return Err(Problem::Operands("edges lead to rows that are not there".to_owned()));
        }
        Ok(Some(all))
    }

    /// Where the edges of each row start.
    pub(super) fn starts(&mut self, to: Id, shape: &[Extent]) -> Result<Laid, Problem> {
        let ends = shape.first().cloned().unwrap_or(Extent::Const(1));
        let rows = ends.less_one().unwrap_or(Extent::Const(0));
        let Some(known) = self.known_rows(to, &rows)? else {
            return Ok(Laid::plain(Base::Starts { by: to }, shape, DType::I64));
        };
        let mut offsets = vec![0i64; rows.constant().unwrap_or(0) as usize + 1];
        known.iter().for_each(|row| offsets[*row as usize + 1] += 1);
        (1..offsets.len()).for_each(|at| offsets[at] += offsets[at - 1]);
        let base = Base::Constant { name: "offsets".to_owned(), tensor: vector(offsets) };
        Ok(Laid::plain(base, shape, DType::I64))
    }

    /// Values of edges in the order of rows.
    pub(super) fn ordered(&mut self, x: Id, to: Id, rows: &Extent) -> Result<Laid, Problem> {
        let (laid, shape) = (self.laid(x)?, self.shape(x));
        let Some(known) = self.known_rows(to, rows)? else {
            return self.by_program(laid, x, to, rows);
        };
        if known.is_sorted() {
            return Ok(laid);
        }
        let values = match (&laid.base, self.known_positions(x, None)?) {
            (Base::Constant { name, tensor }, _) => (name.clone(), tensor.clone()),
            (_, Some(tensor)) => ("neighbours".to_owned(), tensor),
            _ => return self.by_program(laid, x, to, rows),
        };
        let mut order: Vec<u64> = (0..known.len() as u64).collect();
        order.sort_by_key(|edge| known[*edge as usize]);
        let (name, tensor) = values;
        let data = Data::held(tensor.dtype, order.iter().filter_map(|edge| tensor.get(*edge)));
        let sorted = Tensor { dtype: tensor.dtype, shape: vec![order.len() as u64], data };
        let base = Base::Constant { name, tensor: Arc::new(sorted) };
        let (extents, axes) = (shape[..1].to_vec(), vec![Some(0)]);
        Ok(Laid { base, extents, axes, dtype: laid.dtype })
    }

    /// Values of edges that a program brings into the order of rows.
    fn by_program(&self, laid: Laid, of: Id, by: Id, rows: &Extent) -> Result<Laid, Problem> {
        match laid.base {
            Base::Number(_) => Ok(laid),
            _ => {
                let base = Base::Sorted { of, by, rows: rows.clone() };
                let (extents, axes) = (self.shape(of)[..1].to_vec(), vec![Some(0)]);
                Ok(Laid { base, extents, axes, dtype: laid.dtype })
            }
        }
    }

    /// The input of values that a program brings into the order of rows, in the use of those that they are made of.
    pub(super) fn sorted_input(
        &mut self,
        (of, by, rows): (Id, Id, &Extent),
        used: Use,
    ) -> Result<String, Problem> {
        let extents = vec![self.shape(of).first().cloned().unwrap_or(Extent::Const(1))];
        let dtype = self.dtype_of(of);
        let values = match (&used, self.laid(of)?.base) {
            (Use::Positions(all), _) => self.positions(of, all.first().unwrap_or(rows))?,
            (_, Base::Constant { name, tensor }) => self.constant(&name, &tensor, &extents, dtype),
            (_, Base::View { argument, parts }) => {
                let wanted = self.graph.arguments[argument].name.clone();
                let content = Content::Argument { argument, parts, closed: None };
                let (extents, used) = (extents.clone(), used.clone());
                self.input(&wanted, Input { name: String::new(), dtype, extents, content, used })
            }
            _ => return Err(Problem::Positions("values of edges".to_owned())),
        };
        let positions = self.positions(by, rows)?;
        let dtype = self.inputs.dtype(&values).unwrap_or(dtype);
        let wanted = format!("{values}.sorted");
        let content = Content::Sorted { values, positions };
        Ok(self.input(&wanted, Input { name: String::new(), dtype, extents, content, used }))
    }

    /// Where bags of these lengths start.
    pub(super) fn sums(&mut self, of: Id, shape: &[Extent]) -> Result<Laid, Problem> {
        let own = self.shape(of);
        let Some(lengths) = self.known(of, &own)? else {
            return Ok(Laid::plain(Base::Sums { lengths: of }, shape, DType::I64));
        };
        let sums = lengths.into_iter().scan(0i64, |end, length| {
            *end = end.wrapping_add(length);
            Some(*end)
        });
        let tensor = vector(std::iter::once(0).chain(sums).collect());
        let base = Base::Constant { name: "offsets".to_owned(), tensor };
        Ok(Laid::plain(base, shape, DType::I64))
    }

    /// The input of the starts of bags that a program prepares.
    pub(super) fn sums_input(
        &mut self,
        of: Id,
        ends: &Extent,
        lookups: &Extent,
    ) -> Result<String, Problem> {
        let (laid, dtype) = (self.laid(of)?, self.dtype_of(of));
        let Base::View { argument, parts } = laid.base else { return Err(self.computed(of)) };
        let wanted = self.graph.arguments[argument].name.clone();
        let (extents, used) = (self.shape(of), Use::Lengths(lookups.clone()));
        let content = Content::Argument { argument, parts, closed: None };
        let new = Input { name: String::new(), dtype, extents, content, used };
        let lengths = self.input(&wanted, new);
        let (name, wanted) = (String::new(), format!("{lengths}.offsets"));
        let (dtype, extents) = (DType::I64, vec![ends.clone()]);
        let (content, used) = (Content::Sums { lengths }, Use::Offsets(lookups.clone()));
        Ok(self.input(&wanted, Input { name, dtype, extents, content, used }))
    }

    /// The input of the offsets that a program prepares.
    pub(super) fn starts_input(
        &mut self,
        by: Id,
        ends: &Extent,
        lookups: &Extent,
    ) -> Result<String, Problem> {
        let rows = ends.less_one().unwrap_or(Extent::Const(0));
        let positions = self.positions(by, &rows)?;
        let wanted = format!("{positions}.offsets");
        let (dtype, extents) = (DType::I64, vec![ends.clone()]);
        let (content, used) = (Content::Starts { positions }, Use::Offsets(lookups.clone()));
        Ok(self.input(&wanted, Input { name: String::new(), dtype, extents, content, used }))
    }
}
