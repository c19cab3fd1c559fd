//! Elements that are known at import: tensors of the file, and whole numbers that follow from them.

use super::Writer;
use crate::error::Problem;
use crate::graph::{Id, count};
use crate::layout::{Base, Laid};
use crate::limits::FOLDED;
use ember_model::{Extent, WholeOp};
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::{DType, Scalar};
use std::sync::Arc;

/// Converts elements to a type.
pub(super) fn converted(tensor: &Arc<Tensor>, to: DType) -> Arc<Tensor> {
    if tensor.dtype == to {
        return tensor.clone();
    }
    let elements = (0..tensor.len()).filter_map(|i| tensor.get(i)).map(|x| x.cast(to));
    let data = Data::held(to, elements);
    Arc::new(Tensor { dtype: to, shape: tensor.shape.clone(), data })
}

/// Takes a part of one dimension: so many elements from one on.
pub(super) fn sliced(
    tensor: &Tensor,
    extents: &[Extent],
    axis: usize,
    first: u64,
    n: u64,
) -> Option<Arc<Tensor>> {
    let mut shape: Vec<u64> = extents.iter().map(Extent::constant).collect::<Option<_>>()?;
    let inner: u64 = shape[axis + 1..].iter().product();
    let outer: u64 = shape[..axis].iter().product();
    let own = std::mem::replace(&mut shape[axis], n);
    let places = (0..outer).flat_map(|o| {
        (0..n).flat_map(move |i| {
            let row = (o * own + first + i) * inner;
            row..row + inner
        })
    });
    let data = Data::held(tensor.dtype, places.filter_map(|at| tensor.get(at)));
    Some(Arc::new(Tensor { dtype: tensor.dtype, shape, data }))
}

/// Makes a tensor of whole numbers.
fn whole(values: Vec<i64>, shape: &[Extent]) -> Arc<Tensor> {
    let shape = shape.iter().filter_map(Extent::constant).collect();
    Arc::new(Tensor { dtype: DType::I64, shape, data: Data::I64(Arc::new(values)) })
}

impl Writer<'_> {
    /// A tensor of the file.
    pub(super) fn weight(
        &mut self,
        at: usize,
        shape: &[Extent],
        dtype: DType,
    ) -> Result<Laid, Problem> {
        let weight = &self.graph.weights[at];
        let tensor = match self.weights.get(&at) {
            Some(tensor) => tensor.clone(),
            None => {
                let tensor = converted(&Arc::new(weight.tensor.clone()), dtype);
                self.weights.entry(at).or_insert(tensor).clone()
            }
        };
        let base = Base::Constant { name: weight.name.clone(), tensor };
        Ok(Laid::plain(base, shape, dtype))
    }

    /// Whole numbers at equal distances.
    pub(super) fn iota(
        &mut self,
        first: i64,
        step: i64,
        shape: &[Extent],
    ) -> Result<Laid, Problem> {
        let n = count(shape).filter(|n| *n <= FOLDED);
        let n = n.ok_or_else(|| Problem::Overflow(crate::graph::shown(shape)))?;
        let values = (0..n as i64).map(|i| first.wrapping_add(step.wrapping_mul(i))).collect();
        let base = Base::Constant { name: "iota".to_owned(), tensor: whole(values, shape) };
        Ok(Laid::plain(base, shape, DType::I64))
    }

    /// Returns whole numbers that are known, in the order of the value's dimensions.
    pub(super) fn known(&mut self, id: Id, shape: &[Extent]) -> Result<Option<Vec<i64>>, Problem> {
        if self.conditions.contains_key(&id) {
            return Ok(None);
        }
        let by = shape.len() - self.graph.shape(id).len();
        let laid = self.laid(id)?.shifted(by);
        let shape: Option<Vec<u64>> = shape.iter().map(Extent::constant).collect();
        let Some(shape) = shape.filter(|s| s.iter().product::<u64>() <= FOLDED) else {
            return Ok(None);
        };
        if laid.dtype.is_float() {
            return Ok(None);
        }
        let n: u64 = shape.iter().product();
        let tensor = match &laid.base {
            Base::Number(x) => return Ok(Some(vec![*x as i64; n as usize])),
            Base::Constant { tensor, .. } => tensor,
            _ => return Ok(None),
        };
        let held: Option<Vec<u64>> = laid.extents.iter().map(Extent::constant).collect();
        let Some(held) = held else { return Ok(None) };
        let value = |n: u64| {
            let mut at = 0;
            for (extent, axis) in held.iter().zip(&laid.axes) {
                let behind = |axis: usize| shape[axis + 1..].iter().product::<u64>();
                // What is held once is repeated.
                let axis = axis.filter(|_| *extent != 1);
                let index = axis.map_or(0, |axis| n / behind(axis) % shape[axis]);
                at = at * extent + index;
            }
            tensor.get(at).and_then(Scalar::as_i64).unwrap_or(0)
        };
        Ok(Some((0..n).map(value).collect()))
    }

    /// An operation on whole numbers that are known, with a result of some type.
    pub(super) fn folded(
        &mut self,
        word: &str,
        a: Id,
        b: Id,
        shape: &[Extent],
        to: DType,
    ) -> Result<Option<Laid>, Problem> {
        let Some(operation) = WholeOp::named(word) else { return Ok(None) };
        let (Some(x), Some(y)) = (self.known(a, shape)?, self.known(b, shape)?) else {
            return Ok(None);
        };
        let wrapped = |x: i64| Scalar::I64(x).cast(to).as_i64().unwrap_or(x);
        let values = x.into_iter().zip(y).map(|(a, b)| wrapped(operation.of(&[a, b]))).collect();
        let base = Base::Constant { name: "positions".to_owned(), tensor: whole(values, shape) };
        Ok(Some(Laid::plain(base, shape, DType::I64)))
    }

    /// Whole numbers that are known, one after the other.
    pub(super) fn concat_constants(
        &mut self,
        parts: &[Id],
        axis: usize,
        shape: &[Extent],
    ) -> Result<Option<Laid>, Problem> {
        let mut known = Vec::new();
        for part in parts {
            let own = self.shape(*part);
            let Some(values) = self.known(*part, &own)? else { return Ok(None) };
            let inner: Option<u64> = own[axis..].iter().map(Extent::constant).product();
            known.push((values, inner.unwrap_or(0) as usize));
        }
        let outer: Option<u64> = shape[..axis].iter().map(Extent::constant).product();
        let mut all = Vec::new();
        for row in 0..outer.unwrap_or(0) as usize {
            for (values, width) in &known {
                all.extend(values.get(row * width..(row + 1) * width).unwrap_or_default());
            }
        }
        let base = Base::Constant { name: "positions".to_owned(), tensor: whole(all, shape) };
        Ok(Some(Laid::plain(base, shape, DType::I64)))
    }

    /// Returns positions that are known, of one dimension; those below 0 count from the end of the rows.
    pub(super) fn known_positions(
        &mut self,
        id: Id,
        rows: Option<u64>,
    ) -> Result<Option<Arc<Tensor>>, Problem> {
        let shape = self.shape(id);
        let Some(mut values) = self.known(id, &shape)? else { return Ok(None) };
        for value in values.iter_mut().filter(|value| **value < 0) {
            *value = value.saturating_add(rows.unwrap_or(0) as i64);
        }
        Ok(Some(whole(values, &shape)))
    }
}
