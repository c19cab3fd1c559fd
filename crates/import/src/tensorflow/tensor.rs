//! Element types and tensors of a graph file.

use super::schema;
use crate::error::Problem;
use crate::graph::{Elem, count};
use crate::limits::{FOLDED, WEIGHT_BYTES};
use crate::table::{Item, Known, Whole};
use ember_model::Extent;
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::{DType, Scalar};

/// The most whole numbers that are known as such, and not as a tensor.
const KNOWN: u64 = 4096;

/// The number that references to variables add to a type.
const REFERENCE: i32 = 100;

/// Returns the element type of a number of the schema.
pub(super) fn elem(code: i32, name: &str) -> Result<Elem, Problem> {
    Ok(Elem::Of(match code % REFERENCE {
        1 => DType::F32,
        2 => DType::F64,
        3 => DType::I32,
        4 => DType::U8,
        6 => DType::I8,
        9 => DType::I64,
        10 => return Ok(Elem::Bool),
        14 => DType::BF16,
        19 => DType::F16,
        _ => {
            let dtype = match code {
                7 => "string".to_owned(),
                20 => "resource".to_owned(),
                21 => "variant".to_owned(),
                _ => format!("number {code}"),
            };
            return Err(Problem::Elements { name: name.to_owned(), dtype });
        }
    }))
}

/// Reads a constant: whole numbers that are few are known at import.
pub(super) fn constant(name: &str, tensor: &schema::Tensor) -> Result<Constant, Problem> {
    let elem = elem(tensor.dtype, name)?;
    let wrong = |reason: String| Problem::Weight { name: name.to_owned(), reason };
    let dims = tensor.shape.as_ref().map(|shape| &shape.dims[..]).unwrap_or_default();
    let shape: Result<Vec<u64>, _> = dims.iter().map(|dim| u64::try_from(dim.size)).collect();
    let shape = shape.map_err(|_| wrong("has a negative extent".to_owned()))?;
    let extents: Vec<Extent> = shape.iter().copied().map(Extent::Const).collect();
    let dtype = match elem {
        Elem::Of(dtype) => dtype,
        Elem::Bool => DType::U8,
    };
    let width = dtype.bytes_of(1);
    let bytes = count(&extents).and_then(|n| n.checked_mul(width));
    let Some(bytes) = bytes.filter(|bytes| *bytes <= WEIGHT_BYTES) else {
        return Err(Problem::Overflow(crate::graph::shown(&extents)));
    };
    let n = bytes / width;
    let data = match tensor.content.len() as u64 {
        0 => None,
        length if length == bytes => Some(Data::of_bytes(dtype, &tensor.content, true)),
        length => {
            return Err(wrong(format!("has {length} bytes, not {bytes}")));
        }
    };
    let listed = match &data {
        Some(_) => Vec::new(),
        None => listed(tensor, dtype),
    };
    if listed.len() as u64 > n {
        return Err(wrong(format!("has {} elements, not {n}", listed.len())));
    }
    let zero = Scalar::from_f64(dtype, 0.0);
    let last = listed.last().copied().unwrap_or(zero);
    // One number everywhere needs no memory.
    if data.is_none() && listed.len() < 2 && (n > KNOWN || dtype.is_float()) {
        return Ok(Constant::Full(last.as_f64(), extents, elem));
    }
    // A few bytes may not stand for many elements otherwise.
    if data.is_none() && n - listed.len() as u64 > FOLDED {
        return Err(wrong(format!("has {} elements, not {n}", listed.len())));
    }
    let data = data.unwrap_or_else(|| {
        let missing = (listed.len() as u64..n).map(|_| last);
        Data::held(dtype, listed.iter().copied().chain(missing))
    });
    let tensor = Tensor { dtype, shape, data };
    let sizes = matches!(elem, Elem::Bool | Elem::Of(DType::I32 | DType::I64));
    if !sizes || n > KNOWN {
        return Ok(Constant::Tensor(tensor, elem));
    }
    let number = |i| Whole::Int(tensor.get(i).and_then(Scalar::as_i64).unwrap_or(0));
    let values = (0..n).map(number).collect();
    Ok(Constant::Known(Item::Known(Known { shape: tensor.shape.clone(), values, elem })))
}

/// A constant of the graph.
pub(super) enum Constant {
    /// One number everywhere.
    Full(f64, Vec<Extent>, Elem),
    /// Elements.
    Tensor(Tensor, Elem),
    /// Whole numbers that may say sizes.
    Known(Item),
}

/// Returns the elements that are listed in the field of their type.
fn listed(tensor: &schema::Tensor, dtype: DType) -> Vec<Scalar> {
    let bits = |n: &i32| (*n as u16).to_le_bytes();
    let half = |n: &i32| {
        let data = Data::of_bytes(dtype, &bits(n), true);
        Tensor { dtype, shape: Vec::new(), data }.get(0)
    };
    match dtype {
        DType::F32 => tensor.floats.iter().map(|x| Scalar::F32(*x)).collect(),
        DType::F64 => tensor.doubles.iter().map(|x| Scalar::F64(*x)).collect(),
        DType::I64 => tensor.longs.iter().map(|n| Scalar::I64(*n)).collect(),
        DType::F16 | DType::BF16 => tensor.halves.iter().filter_map(half).collect(),
        _ if !tensor.bools.is_empty() => {
            let number = |b: &bool| Scalar::from_f64(dtype, f64::from(u8::from(*b)));
            tensor.bools.iter().map(number).collect()
        }
        _ => tensor.ints.iter().map(|n| Scalar::from_f64(dtype, f64::from(*n))).collect(),
    }
}
